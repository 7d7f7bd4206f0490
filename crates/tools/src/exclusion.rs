//! Files that no model is to see: those that hold secrets by their name, and what a person adds.

use std::path::Path;

/// Names of files and folders that hold secrets.
const SECRETS: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.kdbx",
    "*.keystore",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cellist",
    "credentials",
    "credentials.*",
    "client_secret*.json",
    "service-account*.json",
    "secrets.*",
];

/// Whether a file is kept from models. A pattern means a file or folder of that name, or a path that it begins with.
pub fn is_excluded(path: &Path, patterns: &[String]) -> bool {
    let named = |pattern: &str| {
        let pattern = pattern.trim_end_matches('/');
        if pattern.starts_with('/') {
            return path.starts_with(pattern);
        }
        let names = path.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase());
        match pattern.contains('/') {
            false => names.into_iter().any(|name| matches(&pattern.to_lowercase(), &name)),
            true => {
                let whole = names.collect::<Vec<_>>().join("/");
                matches(&format!("*/{}", pattern.to_lowercase()), &whole)
                    || matches(&format!("*/{}/*", pattern.to_lowercase()), &whole)
            }
        }
    };
    SECRETS.iter().copied().any(named) || patterns.iter().map(String::as_str).any(named)
}

/// Whether a name fits a pattern, in which `*` is any letters and `?` is one.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read, mut star) = (0, 0, None);
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((place, from)) => {
                    star = Some((place, from + 1));
                    at = place + 1;
                    read = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_name_and_others_by_what_a_person_says() {
        let check = |path: &str, patterns: &[&str], expected: bool| {
            let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
            assert_eq!(is_excluded(Path::new(path), &patterns), expected, "{path} {patterns:?}");
        };
        for secret in [
            "/a/.env",
            "/a/.env.local",
            "/a/prod.env",
            "/a/ID_RSA",
            "/a/server.PEM",
            "/a/.ssh/config",
            "/a/.aws/x/y",
            "/a/.cellist/config.toml",
            "/a/client_secret_12.json",
        ] {
            check(secret, &[], true);
        }
        for plain in ["/a/nb.ipynb", "/a/environment.yml", "/a/keys.py", "/a/secret_santa.py", "/a/b.keynote"]
        {
            check(plain, &[], false);
        }
        check("/a/data/patients.csv", &["patients.*"], true);
        check("/a/data/patients.csv", &["data/"], true);
        check("/a/data/sub/x.csv", &["a/data"], true);
        check("/a/b/data.csv", &["b/*.csv"], true);
        check("/a/data.csv", &["b/*.csv"], false);
        check("/state/x", &["/state"], true);
        check("/a/x?", &["x??"], false);
    }
}
