//! What to say about an exception beyond what it says itself.

use std::collections::BTreeSet;
use std::path::Path;

use cellist_kernel::environment::hint_for_key_error;

/// What is known of a kernel's surroundings that its exceptions may be about.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Names of variables that are set and were kept from the kernel.
    pub hidden_variables: BTreeSet<String>,
    /// Whether the interpreter has pip.
    pub has_pip: bool,
}

/// A hint about an exception, if there is one to give.
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
            let top = module.split('.').next().filter(|top| !top.is_empty())?;
            let python = python?.display();
            let install = if around.has_pip {
                format!("{python} -m pip install {}", package(top))
            } else {
                format!("{python} -m ensurepip && {python} -m pip install {}", package(top))
            };
            Some(format!("{top} is not installed in {python}: {install}"))
        }
        _ => None,
    }
}

/// The package that a module comes from, where its name is another.
fn package(module: &str) -> &str {
    match module {
        "PIL" => "pillow",
        "bs4" => "beautifulsoup4",
        "cv2" => "opencv-python",
        "dateutil" => "python-dateutil",
        "dotenv" => "python-dotenv",
        "sklearn" => "scikit-learn",
        "skimage" => "scikit-image",
        "yaml" => "pyyaml",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_module_is_told_with_the_command_that_installs_it() {
        let around = Surroundings { has_pip: true, ..Surroundings::default() };
        let python = Some(Path::new("/v/bin/python"));
        let said = |message, around: &Surroundings| advice("ModuleNotFoundError", message, python, around);
        assert_eq!(
            said("No module named 'sklearn.svm'", &around).as_deref(),
            Some("sklearn is not installed in /v/bin/python: /v/bin/python -m pip install scikit-learn")
        );
        assert_eq!(
            said("No module named 'pandas'", &Surroundings::default()).as_deref(),
            Some(
                "pandas is not installed in /v/bin/python: /v/bin/python -m ensurepip && /v/bin/python -m pip \
                 install pandas"
            )
        );
        assert_eq!(said("something else", &around), None);
    }

    #[test]
    fn a_hidden_variable_is_told_and_an_ordinary_key_is_not() {
        let hidden_variables = BTreeSet::from(["GITHUB_TOKEN".to_owned()]);
        let around = Surroundings { hidden_variables, has_pip: true };
        assert!(advice("KeyError", "'GITHUB_TOKEN'", None, &around).is_some());
        assert_eq!(advice("KeyError", "'x'", None, &around), None);
        assert_eq!(advice("ValueError", "'GITHUB_TOKEN'", None, &around), None);
    }
}
