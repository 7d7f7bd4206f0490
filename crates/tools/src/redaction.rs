//! Redacts credentials in text that a model reads: tokens of known kinds, values after the name of
//! a secret, and the values of variables withheld from kernels. Pure: text in, text out. Files,
//! artifacts and users' screens stay as they are.
//!
//! Best effort: a secret that looks like an ordinary word is not detected.

mod assignments;
mod decoding;
mod encoded;
mod names;
mod positions;
mod private_key;
mod rules;
mod scan;
mod tokens;
mod values;
mod withheld;

use std::borrow::Cow;
use std::ops::Range;

use cellist_session::orders::ClientEnvironment;
use cellist_settings::Settings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use withheld::WithheldValues;

/// The redaction of one caller: withheld values, and whether redaction is on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redaction {
    is_off: bool,
    withheld: WithheldValues,
}

/// The range of a credential in a text, and the label that replaces it.
struct SecretSpan<'a> {
    range: Range<usize>,
    label: &'a str,
}

impl Redaction {
    /// Redacts credentials and the values of these variables. Keeps only a fingerprint of each
    /// value.
    pub fn withholding<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Redaction {
        let mut redaction = Redaction::default();
        redaction.withhold(variables);
        redaction
    }

    /// Also redacts the values of these variables.
    pub fn withhold<'a>(&mut self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in variables {
            self.withheld.add(name, value);
        }
    }

    /// Moves the secrets of an environment into the redaction. The settings switch redaction on or
    /// off.
    pub fn withhold_from(&mut self, environment: &mut ClientEnvironment, settings: &Settings) {
        let secrets = environment.withhold(settings);
        self.withhold(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        self.switch(settings.tools.redact);
    }

    /// Switches redaction on or off.
    pub fn switch(&mut self, is_on: bool) {
        self.is_off = !is_on;
    }

    /// Redacts a text.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        /// A replacement may uncover a credential beside it.
        const MOST: usize = 4;
        let mut shown = Cow::Borrowed(text);
        for _ in 0..MOST {
            match self.redact_once(&shown) {
                Some(next) => shown = Cow::Owned(next),
                None => break,
            }
        }
        shown
    }

    /// Redacts a text once. Returns `None` if nothing was found.
    fn redact_once(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let (mut shown, mut at) = (String::with_capacity(text.len()), 0);
        for SecretSpan { range, label } in found {
            shown.push_str(&text[at..range.start]);
            shown.push_str(&mark(label));
            at = range.end;
        }
        shown.push_str(&text[at..]);
        Some(shown)
    }

    /// Finds credentials, in order and without overlap.
    fn find(&self, text: &str) -> Vec<SecretSpan<'_>> {
        if self.is_off {
            return Vec::new();
        }
        let mut found = self.withheld.find(text);
        found.extend(scan::find(text));
        // A stable sort: the name of a variable takes precedence over the kind of a token.
        found.sort_by_key(|found| found.range.start);
        let mut apart: Vec<SecretSpan<'_>> = Vec::with_capacity(found.len());
        for next in found {
            match apart.last_mut().filter(|last| next.range.start < last.range.end) {
                Some(last) => last.range.end = last.range.end.max(next.range.end),
                None => apart.push(next),
            }
        }
        apart
    }

    /// Puts the redacted values back into a text that a model derived from `of`. Fails with the
    /// first mark whose value is ambiguous or unknown.
    pub fn restored(&self, made: &str, of: &str) -> Result<String, String> {
        let mut text = made.to_owned();
        let hidden = self.find(of);
        let mut marks = self.marks_in(made);
        marks.sort_unstable();
        marks.dedup();
        for mark_here in marks {
            let here = hidden.iter().filter(|found| mark(found.label) == mark_here);
            let known: Vec<&str> = here.map(|found| &of[found.range.clone()]).collect();
            let is_told = of.contains(mark_here);
            match known.as_slice() {
                [] if is_told => {}
                [first, rest @ ..] if !is_told && rest.iter().all(|value| value == first) => {
                    text = text.replace(mark_here, first);
                }
                values if !is_told && text.matches(mark_here).count() == values.len() => {
                    for value in values {
                        text = text.replacen(mark_here, value, 1);
                    }
                }
                _ => return Err(mark_here.to_owned()),
            }
        }
        Ok(text)
    }

    /// Redacts every string in a JSON value.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(shown) = self.text(text) {
                    *text = shown;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.json(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Finds redaction marks in a text. A model that writes one has mistaken it for the value.
    pub fn marks_in<'a>(&self, text: &'a str) -> Vec<&'a str> {
        if self.is_off {
            return Vec::new();
        }
        let marks = text.match_indices(OPENING).filter_map(|(start, _)| {
            let label = &text[start + OPENING.len()..];
            let label = &label[..label.find(']')?];
            let is_ours = scan::is_label(label) || self.withheld.names().any(|name| name == label);
            is_ours.then(|| &text[start..start + OPENING.len() + label.len() + 1])
        });
        marks.collect()
    }
}

const OPENING: &str = "[redacted: ";

fn mark(label: &str) -> String {
    format!("{OPENING}{label}]")
}

#[cfg(test)]
mod tests;
