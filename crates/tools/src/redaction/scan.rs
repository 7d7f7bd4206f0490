//! Looks for credentials in a text: one search for all keywords, then a closer look where one stands. A text with escapes
//! is also looked at without them, and so is the plain text of encoded runs.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use super::names::WORDS;
use super::places::PLACES;
use super::rules::RULES;
use super::tokens::TOKENS;
use super::{Found, assigned, disguise, encoded, private_key};

/// Who looks closer where a keyword stands.
#[derive(Clone, Copy)]
enum Look {
    Token(usize),
    Rule(usize),
    Place(usize),
    Name,
}

/// So many letters of a keyword are looked for: fewer states, and the closer look reads the rest.
const LONGEST: usize = 6;

/// All keywords, and who looks closer at each.
struct Keywords {
    search: AhoCorasick,
    looks: Vec<Vec<Look>>,
}

static KEYWORDS: LazyLock<Keywords> = LazyLock::new(|| {
    let start = |word: &'static str| &word[..word.len().min(LONGEST)];
    let (mut words, mut looks) = (Vec::<String>::new(), Vec::<Vec<Look>>::new());
    let mut add = |word: &str, look: Look| {
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
        token.prefixes.iter().for_each(|prefix| add(start(prefix), Look::Token(at)));
    }
    for (at, rule) in RULES.iter().enumerate() {
        rule.keywords.iter().for_each(|word| add(start(word), Look::Rule(at)));
    }
    PLACES.iter().enumerate().for_each(|(at, (word, _))| add(word, Look::Place(at)));
    WORDS.iter().for_each(|word| add(word, Look::Name));
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&words)
        .expect("a test makes this one");
    Keywords { search, looks }
});

/// Labels of marks: those of tokens and rules, and a few more.
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

/// Where credentials stand in a text.
pub(super) fn find(text: &str) -> Vec<Found<'static>> {
    let mut found = plain(text, 0);
    for part in disguise::parts(text) {
        let Some(view) = disguise::view(&text[part.clone()]) else { continue };
        found.extend(plain(&view.text, 0).into_iter().map(|it| {
            let range = view.range(it.range);
            Found { range: part.start + range.start..part.start + range.end, label: it.label }
        }));
    }
    found
}

/// Where credentials stand in a text that is taken as it is, or encoded.
pub(super) fn plain(text: &str, depth: usize) -> Vec<Found<'static>> {
    let mut found = private_key::find(text);
    let keywords = &*KEYWORDS;
    // Up to where each rule has looked already, and up to where a value was found.
    let mut looked = Vec::new();
    let (mut tokens, mut ruled, mut placed, mut assigned) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for hit in keywords.search.find_overlapping_iter(text) {
        let word: Range<usize> = hit.start()..hit.end();
        for look in &keywords.looks[hit.pattern().as_usize()] {
            match look {
                Look::Token(at) => tokens.extend(TOKENS[*at].find(text, word.start).map(|it| (*at, it))),
                Look::Place(at) => placed.extend((PLACES[*at].1)(text, word.clone())),
                Look::Name => assigned.extend(assigned::find(text, word.clone())),
                Look::Rule(at) => {
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
    // Of those at the same place the first gives its label: the kind of a token, in the order of the table, says more than
    // a rule, and that more than a name.
    tokens.sort_by_key(|(at, _)| *at);
    found.extend(tokens.into_iter().map(|(_, it)| it));
    found.append(&mut ruled);
    found.append(&mut placed);
    found.append(&mut assigned);
    found.extend(encoded::find(text, depth));
    found
}
