//! The first line of a frame, and whose code it is in.

/// How a traceback is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    Python,
    Ipython,
}

/// Whether a line begins a frame, in which layout, and the library that the frame is in.
pub(super) fn begins(line: &str) -> Option<(Layout, Option<String>)> {
    if let Some(rest) = line.strip_prefix("  File \"") {
        let (path, rest) = rest.split_once('"')?;
        return rest.starts_with(", line ").then(|| (Layout::Python, library(path)));
    }
    if line.starts_with("Cell In[") || line.starts_with("Input In [") {
        return Some((Layout::Ipython, None));
    }
    let rest = line.strip_prefix("File ")?;
    let (place, _) = rest.split_once(", in ").unwrap_or((rest, ""));
    let (path, number) = place.rsplit_once(':')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (Layout::Ipython, library(path)))
}

/// The library that a file belongs to: an installed package, a module of Python itself, or compiled code.
fn library(path: &str) -> Option<String> {
    if let Some(module) = path.strip_prefix("<frozen ") {
        return Some(module.trim_end_matches('>').split('.').next().unwrap_or(module).to_owned());
    }
    let path = path.replace('\\', "/");
    let parts: Vec<&str> = path.split('/').collect();
    let name = |at: usize| parts.get(at).map(|part| stem(part).to_owned());
    let packages = parts.iter().rposition(|part| *part == "site-packages" || *part == "dist-packages");
    if let Some(at) = packages {
        return name(at + 1);
    }
    let is_lib = |part: &str| matches!(part, "lib" | "lib64" | "Lib");
    let standard = parts.windows(2).position(|pair| is_lib(pair[0]) && pair[1].starts_with("python"));
    if let Some(at) = standard {
        return name(at + 2);
    }
    let module = parts.windows(2).position(|pair| is_lib(pair[0]) && pair[1].ends_with(".py"));
    if let Some(at) = module {
        return name(at + 1);
    }
    let is_compiled = [".pyx", ".pxi", ".pxd"].iter().any(|ending| path.ends_with(ending));
    is_compiled.then(|| name(usize::from(parts[0].is_empty()))).flatten()
}

/// A file's name without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_a_library_or_of_the_user() {
        for (path, expected) in [
            ("/v/lib/python3.11/site-packages/pandas/core/frame.py", Some("pandas")),
            ("~/v/lib/python3.11/site-packages/six.py", Some("six")),
            ("C:\\Python\\Lib\\site-packages\\numpy\\core.py", Some("numpy")),
            ("/usr/lib/python3/dist-packages/yaml/reader.py", Some("yaml")),
            ("/usr/lib/python3.11/json/decoder.py", Some("json")),
            ("/usr/lib64/python3.11/ast.py", Some("ast")),
            ("C:\\Python311\\Lib\\ast.py", Some("ast")),
            ("<frozen importlib._bootstrap>", Some("importlib")),
            ("pandas/_libs/index.pyx", Some("pandas")),
            ("index.pyx", Some("index")),
            ("/home/me/project/mine.py", None),
            ("/home/me/library/lib.py", None),
            ("<cell 1>", None),
            ("<string>", None),
        ] {
            assert_eq!(library(path).as_deref(), expected, "{path}");
        }
    }
}
