//! Values of withheld variables, kept only as fingerprints. A search needs no copy of a secret.

use std::hash::{BuildHasher, RandomState};

use cellist_kernel::environment::SECRET_WORDS;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::SecretSpan;

/// Shorter values are words that occur in many texts.
const SHORTEST: usize = 8;
/// Values of this length do not occur by chance, even within a word.
const UNMISTAKABLE: usize = 16;

/// More words in the names of variables whose value grants access. Other withheld variables hold a
/// region, an address or a path.
const TELLING: [&str; 6] = ["PASS", "PWD", "PGPASSWORD", "URL", "URI", "STRING"];

/// The withheld values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WithheldValues {
    salt: u64,
    values: Vec<Fingerprint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    name: String,
    length: usize,
    /// Of the first bytes.
    first: u32,
    /// Of the whole value.
    digest: [u8; 32],
}

impl WithheldValues {
    /// Adds the value of a variable, if the name and the value suggest a secret.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        let value = inner(value.trim());
        if !is_named(name) || !is_telling(value) {
            return;
        }
        if self.values.is_empty() {
            self.salt = RandomState::new().hash_one(name);
        }
        let (name, length, digest) = (name.to_owned(), value.len(), Sha256::digest(value).into());
        if let Some(first) = first(value.as_bytes(), self.salt) {
            self.values.push(Fingerprint { name, length, first, digest });
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| value.name.as_str())
    }

    /// Finds the values in a text.
    pub(super) fn find(&self, text: &str) -> Vec<SecretSpan<'_>> {
        let (mut found, mut at) = (Vec::new(), 0);
        let Some(longest) = text.len().checked_sub(SHORTEST).filter(|_| !self.values.is_empty()) else {
            return found;
        };
        let mut begins = [false; 256];
        self.values.iter().for_each(|value| begins[usize::from(value.first as u8)] = true);
        while at <= longest {
            let here =
                first(&text.as_bytes()[at..], self.salt).filter(|first| begins[usize::from(*first as u8)]);
            let value = here.and_then(|first| {
                self.values.iter().find(|value| value.first == first && value.is_at(text, at))
            });
            match value {
                Some(value) => {
                    found.push(SecretSpan { range: at..at + value.length, label: &value.name });
                    at += value.length;
                }
                None => at += 1,
            }
        }
        found
    }
}

impl Fingerprint {
    fn is_at(&self, text: &str, at: usize) -> bool {
        let Some(value) = text.get(at..at + self.length) else { return false };
        let is_letter = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let is_within =
            is_letter(text[..at].chars().next_back()) || is_letter(text[at + self.length..].chars().next());
        (!is_within || self.length >= UNMISTAKABLE) && Sha256::digest(value)[..] == self.digest
    }
}

/// A cheap hash that tells most values apart.
fn first(bytes: &[u8], salt: u64) -> Option<u32> {
    let first = bytes.get(..SHORTEST)?.try_into().ok()?;
    let mixed = (u64::from_le_bytes(first) ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Some(((mixed ^ (mixed >> 29)) >> 32) as u32)
}

/// Returns whether the name of a variable suggests that its value grants access.
fn is_named(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    upper.split('_').any(|word| SECRET_WORDS.contains(&word) || TELLING.contains(&word))
}

/// Returns the password of a URL; any other value as it is.
fn inner(value: &str) -> &str {
    let Some((_, rest)) = value.split_once("://") else { return value };
    let user = rest.split('/').next().unwrap_or_default().rsplit_once('@').map(|(user, _)| user);
    user.and_then(|user| user.split_once(':')).map_or("", |(_, password)| password)
}

/// Returns whether a value is unlikely to be an ordinary word or a path.
fn is_telling(value: &str) -> bool {
    let is_path = value.starts_with(['/', '~', '.']) || value.contains(":\\");
    let kinds = [
        value.contains(|letter: char| letter.is_ascii_lowercase()),
        value.contains(|letter: char| letter.is_ascii_uppercase()),
        value.contains(|letter: char| letter.is_ascii_digit()),
        value.contains(|letter: char| !letter.is_ascii_alphanumeric()),
    ];
    let kinds = kinds.into_iter().filter(|has| *has).count();
    value.len() >= SHORTEST && !is_path && (kinds >= 2 || value.len() >= UNMISTAKABLE)
}
