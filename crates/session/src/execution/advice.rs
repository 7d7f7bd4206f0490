//! Hints about common exceptions.

use std::path::Path;

use cellist_kernel::environment::hint_for_key_error;

pub use cellist_kernel::order::KernelSurroundings as Surroundings;

/// Returns a hint about an exception, if one is known.
pub(crate) fn advice(
    name: &str,
    message: &str,
    python: Option<&Path>,
    around: &Surroundings,
) -> Option<String> {
    match name {
        "KeyError" => hint_for_key_error(message, &around.hidden_variables),
        "ModuleNotFoundError" => {
            let module = message.strip_prefix("No module named ")?.trim_matches(['\'', '"']);
            // Installing a package does not add a submodule that an installed package lacks.
            if module.is_empty() || !module.chars().all(|c| c.is_alphanumeric() || c == '_') {
                return None;
            }
            let (python, package) = (python?.display(), package(module));
            Some(match around.has_pip {
                true => format!("{module} is not installed in {python}: {python} -m pip install {package}"),
                false => format!(
                    "{module} is not installed in {python}, and neither is pip: {python} -m ensurepip --upgrade && \
                     {python} -m pip install {package}, or uv pip install --python {python} {package}"
                ),
            })
        }
        _ => None,
    }
}

/// Maps a module to its package on PyPI, if the names differ.
fn package(module: &str) -> &str {
    match module {
        "bs4" => "beautifulsoup4",
        "Crypto" => "pycryptodome",
        "cv2" => "opencv-python",
        "dateutil" => "python-dateutil",
        "docx" => "python-docx",
        "dotenv" => "python-dotenv",
        "fitz" => "pymupdf",
        "jwt" => "pyjwt",
        "OpenSSL" => "pyopenssl",
        "PIL" => "pillow",
        "pptx" => "python-pptx",
        "serial" => "pyserial",
        "skimage" => "scikit-image",
        "sklearn" => "scikit-learn",
        "usb" => "pyusb",
        "yaml" => "pyyaml",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_missing_module_gets_its_installation_command() {
        let around = Surroundings { has_pip: true, ..Surroundings::default() };
        let python = Some(Path::new("/v/bin/python"));
        let said = |message, around: &Surroundings| advice("ModuleNotFoundError", message, python, around);
        assert_eq!(
            said("No module named 'sklearn'", &around).as_deref(),
            Some("sklearn is not installed in /v/bin/python: /v/bin/python -m pip install scikit-learn")
        );
        assert_eq!(
            said("No module named 'pandas'", &Surroundings::default()).as_deref(),
            Some(
                "pandas is not installed in /v/bin/python, and neither is pip: /v/bin/python -m ensurepip --upgrade && \
                 /v/bin/python -m pip install pandas, or uv pip install --python /v/bin/python pandas"
            )
        );
        for other in
            ["No module named 'json.nothing'", "No module named 'os.x'; 'os' is not a package", "else"]
        {
            assert_eq!(said(other, &around), None);
        }
    }

    #[test]
    fn a_hidden_variable_gets_a_hint_and_an_ordinary_key_does_not() {
        let hidden_variables = BTreeSet::from(["GITHUB_TOKEN".to_owned()]);
        let around = Surroundings { hidden_variables, has_pip: true };
        assert!(advice("KeyError", "'GITHUB_TOKEN'", None, &around).is_some());
        assert_eq!(advice("KeyError", "'x'", None, &around), None);
        assert_eq!(advice("ValueError", "'GITHUB_TOKEN'", None, &around), None);
    }
}
