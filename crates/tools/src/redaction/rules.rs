//! The gitleaks rules as data (`rules/gitleaks.toml`). A rule runs only near one of its keywords,
//! and its expression compiles when a keyword first occurs.
//!
//! To update the rules, replace the file with `config/gitleaks.toml` of a gitleaks release and run
//! the tests of this module. They name rules that do not compile, and texts that a new rule redacts
//! by mistake.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};
use toml::de::{DeTable, DeValue};

use super::SecretSpan;
use super::values::{entropy, has_digit, has_letter, is_not_placeholder};

const FILE: &str = include_str!("rules/gitleaks.toml");

/// Rules that are not used. Other parts of this module cover them better, unless a reason is given.
const UNUSED: &[&str] = &[
    // Too general for text that is not source code; `names.rs` judges assignments.
    "generic-api-key",
    "hashicorp-tf-password",
    "kubernetes-secret-yaml",
    "nuget-config-password",
    "freemius-secret-key",
    "curl-auth-header",
    "curl-auth-user",
    // Matches any git hash.
    "sourcegraph-access-token",
    // Keywords in most texts; `tokens.rs` covers these kinds.
    "airtable-personnal-access-token",
    "jwt",
    "jwt-base64",
    "twilio-api-key",
    "vault-service-token",
    "sendgrid-api-token",
    "private-key",
    // A fixed prefix without the secret.
    "aws-amazon-bedrock-api-key-short-lived",
    // Public by design.
    "adobe-client-id",
    "asana-client-id",
    "bitbucket-client-id",
    "discord-client-id",
    "flutterwave-public-key",
    "linkedin-client-id",
    "lob-pub-api-key",
    "looker-client-id",
    "mailgun-pub-key",
    "messagebird-client-id",
    "plaid-client-id",
];

/// Keywords in most source files. A rule with no other keyword is not used.
const COMMON: &[&str] = &["live_", "test_", "pat.", "sat.", "ext_", "sc_"];

/// A rule of the file.
pub(super) struct Rule {
    pub(super) label: String,
    pub(super) keywords: Vec<String>,
    pattern: String,
    /// The minimum entropy of a secret.
    least: f64,
    group: usize,
    /// Whether the name of a service beside any characters makes them a secret.
    is_by_name: bool,
    expression: OnceLock<Option<Regex>>,
}

pub(super) static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| entries(FILE).iter().filter_map(Rule::new).collect());

/// Parses the rules of a gitleaks file.
fn entries(file: &str) -> Vec<DeTable<'_>> {
    let mut file = DeTable::parse(file).expect("a test reads this file").into_inner();
    let rules = file.remove("rules").map(|rules| rules.into_inner());
    let Some(DeValue::Array(rules)) = rules else { return Vec::new() };
    let tables = rules.into_iter().filter_map(|rule| match rule.into_inner() {
        DeValue::Table(table) => Some(table),
        _ => None,
    });
    tables.collect()
}

/// How far a match may start before a keyword and end after it.
const BEFORE: usize = 64;
const BEHIND: usize = 2048;

impl Rule {
    fn new(entry: &DeTable<'_>) -> Option<Rule> {
        /// Words before the service name: slow to match, and without effect.
        const LEAD: &str = r"[\w.-]{0,50}?";
        /// The end of a secret in source code. Here a comma, a bracket or an ampersand also ends
        /// it.
        const END: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
        let value = |key: &str| entry.get(key).map(|value| value.get_ref());
        let id = value("id")?.as_str()?;
        let regex = value("regex")?.as_str()?;
        let keywords = value("keywords")?.as_array()?.iter().filter_map(|word| word.get_ref().as_str());
        let keywords: Vec<String> =
            keywords.filter(|word| !COMMON.contains(word)).map(str::to_ascii_lowercase).collect();
        if UNUSED.contains(&id) || keywords.is_empty() {
            return None;
        }
        let number = |key| match value(key) {
            Some(DeValue::Float(number)) => number.as_str().parse().unwrap_or_default(),
            Some(DeValue::Integer(number)) => number.as_str().parse().unwrap_or_default(),
            _ => 0.0,
        };
        let is_by_name = regex.contains(r"(?:[ \t\w.-]{0,20})");
        Some(Rule {
            label: id.replace('-', " "),
            keywords,
            pattern: regex.replace(LEAD, "").replace(END, "(?:[^0-9A-Za-z_-]|$)"),
            least: number("entropy"),
            group: number("secretGroup") as usize,
            is_by_name,
            expression: OnceLock::new(),
        })
    }

    fn expression(&self) -> Option<&Regex> {
        let make = || {
            // As in Go, classes such as `\w` are ASCII. Small caches, because many rules may
            // compile over time.
            RegexBuilder::new(&self.pattern).unicode(false).dfa_size_limit(128 * 1024).build().ok()
        };
        self.expression.get_or_init(make).as_ref()
    }

    /// Returns whether a keyword is at a position of the text.
    pub(super) fn is_at(&self, text: &str, at: usize) -> bool {
        let rest = &text.as_bytes()[at..];
        self.keywords.iter().any(|word| {
            rest.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word.as_bytes()))
        })
    }

    /// Finds the secrets around the keyword at a position. Returns the end of the examined text.
    pub(super) fn find(&'static self, text: &str, at: usize, found: &mut Vec<SecretSpan<'static>>) -> usize {
        let from = text.floor_char_boundary(at.saturating_sub(BEFORE));
        let to = text.ceil_char_boundary((at + BEHIND).min(text.len()));
        let window = &text.as_bytes()[..to];
        let mut next = from;
        while let Some(groups) = self.expression().and_then(|it| it.captures_at(window, next)) {
            let secret = match self.group {
                0 => groups.iter().skip(1).flatten().next().or_else(|| groups.get(0)),
                group => groups.get(group),
            };
            let Some(secret) = secret.filter(|secret| !secret.is_empty()) else { break };
            next = secret.end();
            let range = whole(text, secret.range(), to);
            if text.get(range.clone()).is_some_and(|secret| self.is_one(secret)) {
                found.push(SecretSpan { range, label: &self.label });
            }
        }
        if to == text.len() { to } else { to - BEHIND / 2 }
    }

    fn is_one(&self, secret: &str) -> bool {
        /// The minimum for a secret that only a service name announces.
        const BY_NAME: f64 = 3.0;
        let least = if self.is_by_name { self.least.max(BY_NAME) } else { self.least };
        let is_mixed = !self.is_by_name || has_digit(secret) && has_letter(secret);
        is_mixed && is_not_placeholder(secret) && entropy(secret) >= least
    }
}

/// Extends a secret that the window cut off.
fn whole(text: &str, mut range: Range<usize>, window: usize) -> Range<usize> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte);
    if range.end == window {
        range.end += text.as_bytes()[window..].iter().take_while(|byte| is_part(byte)).count();
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_every_unused_one_exists() {
        let ids: Vec<DeTable<'_>> = entries(FILE);
        let is_there = |id: &str| ids.iter().any(|rule| rule["id"].get_ref().as_str() == Some(id));
        assert!(RULES.len() > 150, "{}", RULES.len());
        for rule in RULES.iter() {
            let built = RegexBuilder::new(&rule.pattern).unicode(false).build();
            assert!(built.is_ok(), "{}: {built:?}", rule.label);
            let keyword =
                rule.keywords.iter().find(|word| word.len() < 3 && word.chars().all(char::is_alphanumeric));
            assert_eq!(keyword, None, "{}: a keyword of most texts", rule.label);
        }
        for id in UNUSED {
            assert!(is_there(id), "{id} is no rule of the file any more");
        }
    }
}
