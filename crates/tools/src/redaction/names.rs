//! Recognises names that announce a secret: `DB_PASSWORD`, `apiKey`, `client-secret`, but not
//! `max_tokens` or `tokenizer`.

use std::ops::Range;

/// Keywords in names, ignoring case.
pub(super) const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "cookie",
    "sig",
];

/// The kind of secret that a name announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SecretKind {
    /// Chosen by a user: may be short.
    Password,
    /// Made by a program: looks random.
    Secret,
    /// A key of some kind, perhaps of a table or a cache.
    Key,
    /// An encoded user name and password.
    Auth,
    /// Pairs of names and values.
    Cookie,
}

/// Words before `key` that make it a secret.
const QUALIFIERS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "account",
    "shared",
    "signing",
    "encryption",
    "encrypt",
    "master",
    "auth",
    "service",
    "client",
    "app",
    "application",
    "license",
    "licence",
    "storage",
    "subscription",
    "deploy",
    "webhook",
    "session",
    "ssh",
    "admin",
    "token",
    "hmac",
    "jwt",
    "cipher",
    "consumer",
    "server",
    "function",
    "functions",
    "project",
];

/// Words before `key` for tables, caches and similar uses.
const PLAIN_KEYS: &[&str] = &[
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "public",
    "dict",
    "idempotency",
    "index",
    "group",
    "row",
    "column",
    "hash",
    "object",
    "s3",
    "blob",
    "lookup",
    "routing",
    "unique",
    "pub",
    "host",
    "map",
    "join",
    "merge",
];

/// Words before `token` for language models and pagination.
const PLAIN_TOKENS: &[&str] = &[
    "max",
    "min",
    "num",
    "pad",
    "eos",
    "bos",
    "unk",
    "sep",
    "cls",
    "mask",
    "next",
    "page",
    "stop",
    "special",
    "input",
    "output",
    "total",
    "start",
    "end",
    "image",
    "sync",
    "continuation",
    "cancellation",
    "prompt",
    "completion",
];

/// Words after the keyword which show that the value only describes a secret.
const ABOUT: &[&str] = &[
    "count",
    "counts",
    "len",
    "length",
    "limit",
    "limits",
    "size",
    "sizes",
    "type",
    "types",
    "name",
    "names",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "url",
    "uri",
    "endpoint",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "ttl",
    "timeout",
    "age",
    "lifetime",
    "index",
    "idx",
    "field",
    "fields",
    "column",
    "policy",
    "min",
    "max",
    "prefix",
    "suffix",
    "pattern",
    "regex",
    "format",
    "usage",
    "budget",
    "rate",
    "id",
    "ids",
    "embedding",
    "embeddings",
    "vocab",
    "mask",
    "ratio",
    "cost",
    "price",
    "hint",
    "label",
    "prompt",
    "required",
    "strength",
    "input",
    "class",
    "func",
    "function",
    "method",
    "provider",
    "manager",
    "service",
    "client",
    "version",
    "arn",
    "ref",
    "location",
    "header",
    "param",
    "mode",
    "status",
    "valid",
    "error",
    "at",
    "by",
    "url",
    "algorithm",
    "bits",
    "error",
    "list",
    "map",
    "set",
    "fingerprint",
    "digest",
    "env",
    "sha256",
    "checksum",
];

/// A name with a keyword in it.
pub(super) struct SecretName {
    pub(super) range: Range<usize>,
    pub(super) strength: SecretKind,
    pub(super) is_upper: bool,
}

/// Returns the name around a keyword, if it announces a secret.
pub(super) fn around(text: &str, word: Range<usize>) -> Option<SecretName> {
    const LONGEST: usize = 64;
    let bytes = text.as_bytes();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let left = bytes[..word.start].iter().rev().take(LONGEST).take_while(is_part).count();
    let right = bytes[word.end..].iter().take(LONGEST).take_while(is_part).count();
    let range = word.start - left..word.end + right;
    let before = text[range.start..word.start].to_ascii_lowercase();
    let behind = &text[word.end..range.end];
    let letters = &text[word.clone()];
    let is_new = starts_anew(text, &word);
    let is_query = bytes[..range.start].last().is_some_and(|byte| b"?&;".contains(byte));
    let lower = letters.to_ascii_lowercase();
    let is_pass_phrase = matches!(lower.as_str(), "password" | "passwd" | "passwort" | "passphrase");
    let tail = before.trim_end_matches(['_', '-', '.']);
    let last = tail.rsplit(['_', '-', '.']).next().unwrap_or_default();
    let strength = match lower.as_str() {
        _ if is_pass_phrase => SecretKind::Password,
        "pass" | "pwd" if is_new && !goes_on(letters, behind) => SecretKind::Password,
        "secret" => SecretKind::Secret,
        "token" if !PLAIN_TOKENS.iter().any(|word| last.ends_with(word)) => SecretKind::Secret,
        "cred" if ["s", "ential"].iter().any(|rest| starts_with(behind, rest)) => SecretKind::Secret,
        "key" if QUALIFIERS.iter().any(|word| tail.ends_with(word)) => SecretKind::Secret,
        "key" if is_new && !PLAIN_KEYS.contains(&last) && (!tail.is_empty() || is_query) => SecretKind::Key,
        "auth" if is_new && (behind.is_empty() || starts_with(behind, "orization")) => SecretKind::Auth,
        "cookie" if is_new && !goes_on(letters, behind) => SecretKind::Cookie,
        "sig" if tail.is_empty() && behind.is_empty() && is_query => SecretKind::Secret,
        _ => return None,
    };
    let known = ["ential", "entials", "s", "orization"];
    let rest = known
        .iter()
        .rev()
        .find(|rest| starts_with(behind, rest))
        .map_or(behind, |rest| &behind[rest.len()..]);
    let is_known = lower == "cred"
        || lower == "auth"
        || !goes_on(letters, behind)
        || !goes_on("s", rest) && starts_with(behind, "s");
    let is_about = words(rest).iter().any(|word| ABOUT.contains(&word.as_str()));
    let is_upper = !text[range.clone()].contains(|letter: char| letter.is_ascii_lowercase());
    (is_known && !is_about).then_some(SecretName { range, strength, is_upper })
}

fn starts_with(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Returns whether a word starts here: not after a letter, or with a capital after a small letter.
fn starts_anew(text: &str, word: &Range<usize>) -> bool {
    let first = text.as_bytes()[word.start];
    let before = text.as_bytes()[..word.start].last();
    before.is_none_or(|before| {
        !before.is_ascii_alphabetic() || before.is_ascii_lowercase() && first.is_ascii_uppercase()
    })
}

/// Returns whether the word continues, as in `tokenizer`.
fn goes_on(word: &str, behind: &str) -> bool {
    let is_small = word.ends_with(|letter: char| letter.is_ascii_lowercase());
    behind.starts_with(|letter: char| match is_small {
        true => letter.is_ascii_lowercase(),
        false => letter.is_ascii_alphabetic(),
    })
}

/// Splits a name into words, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let is_new = !letter.is_ascii_alphanumeric() || was_small && letter.is_ascii_uppercase();
        if is_new {
            words.push(String::new());
        }
        if letter.is_ascii_alphanumeric() {
            words.last_mut().expect("there is one from the beginning").push(letter.to_ascii_lowercase());
        }
        was_small = letter.is_ascii_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        let strength = |name: &str| {
            let lower = name.to_ascii_lowercase();
            WORDS.iter().find_map(|word| {
                let at = lower.rfind(word)?;
                around(name, at..at + word.len()).map(|name| name.strength)
            })
        };
        for name in [
            "password",
            "DB_PASSWORD",
            "dbPassword",
            "PGPASSWORD",
            "password2",
            "db_password_prod",
            "userPwd",
            "DB_PASS",
            "spring.datasource.password",
            "ssh-passphrase",
        ] {
            assert_eq!(strength(name), Some(SecretKind::Password), "{name}");
        }
        for name in [
            "secret",
            "client_secret",
            "clientSecret",
            "SECRET_KEY_BASE",
            "token",
            "authToken",
            "accessToken",
            "api_key",
            "apiKey",
            "X-Api-Key",
            "APIKEY",
            "AccountKey",
            "SharedAccessKey",
            "private_key",
            "_authToken",
            "secrets",
            "tokens",
            "credentials",
            "TOKEN_GITHUB",
        ] {
            assert_eq!(strength(name), Some(SecretKind::Secret), "{name}");
        }
        for name in [
            "max_tokens",
            "token_count",
            "tokenizer",
            "token_type_ids",
            "pad_token",
            "secretary",
            "keyboard",
            "monkey",
            "primary_key",
            "author",
            "authority",
            "bypass",
            "compass",
            "passenger",
            "password_field_name",
            "passwordless",
            "keys",
            "key_size",
            "encryption_key_size",
            "TOKENIZERS_PARALLELISM",
            "nextPageToken",
        ] {
            assert_eq!(strength(name), None, "{name}");
        }
    }
}
