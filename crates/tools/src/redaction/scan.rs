//! Searches a text for credentials: one pass for all keywords, then a check at each hit. Decoded
//! text and the contents of encoded runs are searched too.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::names::WORDS;
use super::positions::PLACES;
use super::rules::RULES;
use super::tokens::TOKENS;
use super::{SecretSpan, assignments, decoding, encoded, private_key};

/// The check to run at a keyword.
#[derive(Clone, Copy)]
enum KeywordCheck {
    Token(usize),
    Rule(usize),
    Place(usize),
    Name,
}

/// Characters of a keyword that the search uses. Fewer characters mean fewer states; the check
/// reads the rest.
const LONGEST: usize = 6;

/// All keywords, and the checks of each.
struct Keywords {
    search: AhoCorasick,
    looks: Vec<Vec<KeywordCheck>>,
}

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let start = |word: &'static str| &word[..word.len().min(LONGEST)];
    let (mut words, mut looks) = (Vec::<String>::new(), Vec::<Vec<KeywordCheck>>::new());
    let mut add = |word: &str, look: KeywordCheck| {
        let word = word.to_ascii_lowercase();
        match words.iter().position(|known| *known == word) {
            Some(at) => looks[at].push(look),
            None => {
                words.push(word);
                looks.push(vec![look]);
            }
        }
    };
    for (at, token) in TOKENS.iter().enumerate() {
        token.prefixes.iter().for_each(|prefix| add(start(prefix), KeywordCheck::Token(at)));
    }
    for (at, rule) in RULES.iter().enumerate() {
        rule.keywords.iter().for_each(|word| add(start(word), KeywordCheck::Rule(at)));
    }
    PLACES.iter().enumerate().for_each(|(at, (word, _))| add(word, KeywordCheck::Place(at)));
    WORDS.iter().for_each(|word| add(word, KeywordCheck::Name));
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&words)
        .expect("a test makes this one");
    Keywords { search, looks }
});

/// Returns whether a label belongs to a redaction mark.
pub(super) fn is_label(label: &str) -> bool {
    const OTHERS: &[&str] = &[
        "password",
        "secret",
        "AWS secret key",
        "bearer token",
        "Telegram token",
        "Discord token",
        private_key::LABEL,
    ];
    OTHERS.contains(&label)
        || TOKENS.iter().any(|token| token.label == label)
        || RULES.iter().any(|rule| rule.label == label)
}

/// Finds credentials in a text.
pub(super) fn find(text: &str) -> Vec<SecretSpan<'static>> {
    let mut found = plain(text, 0);
    for part in decoding::parts(text) {
        let Some(view) = decoding::view(&text[part.clone()]) else { continue };
        found.extend(plain(&view.text, 0).into_iter().map(|it| {
            let range = view.range(it.range);
            SecretSpan { range: part.start + range.start..part.start + range.end, label: it.label }
        }));
    }
    found
}

/// Finds credentials in a text as it is, and in encoded runs.
pub(super) fn plain(text: &str, depth: usize) -> Vec<SecretSpan<'static>> {
    let mut found = private_key::find(text);
    let keywords = &*KEYWORDS;
    // For each rule, the end of the text that it has examined.
    let mut looked = Vec::new();
    let (mut tokens, mut ruled, mut placed, mut assigned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for hit in keywords.search.find_overlapping_iter(text) {
        let word: Range<usize> = hit.start()..hit.end();
        for look in &keywords.looks[hit.pattern().as_usize()] {
            match look {
                KeywordCheck::Token(at) => {
                    tokens.extend(TOKENS[*at].find(text, word.start).map(|it| (*at, it)))
                }
                KeywordCheck::Place(at) => placed.extend((PLACES[*at].1)(text, word.clone())),
                KeywordCheck::Name => assigned.extend(assignments::find(text, word.clone())),
                KeywordCheck::Rule(at) => {
                    if looked.is_empty() {
                        looked = vec![0; RULES.len()];
                    }
                    if looked[*at] <= word.start && RULES[*at].is_at(text, word.start) {
                        looked[*at] = RULES[*at].find(text, word.start, &mut ruled).max(word.end);
                    }
                }
            }
        }
    }
    // The first finding at a position gives the label. Kinds of tokens come first, in table order,
    // then rules, then names.
    tokens.sort_by_key(|(at, _)| *at);
    found.extend(tokens.into_iter().map(|(_, it)| it));
    found.append(&mut ruled);
    found.append(&mut placed);
    found.append(&mut assigned);
    found.extend(encoded::find(text, depth));
    found
}
