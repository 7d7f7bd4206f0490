//! Credentials that are known by what they look like: one table, one expression that is made of it once.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, private_key};

/// A kind of credential. The one group of its pattern is what is taken out.
struct Shape {
    label: &'static str,
    pattern: &'static str,
    /// Whether what was found really is one.
    is_one: fn(&str) -> bool,
}

/// Those that begin a word, by whoever gives them out.
const WORDS: &[Shape] = &[
    Shape { label: "Anthropic key", pattern: r"(sk-ant-[A-Za-z0-9_-]{20,})", is_one: is_random },
    Shape { label: "OpenRouter key", pattern: r"(sk-or-[A-Za-z0-9_-]{20,})", is_one: is_random },
    Shape { label: "OpenAI key", pattern: r"(sk-[A-Za-z0-9_-]{20,})", is_one: is_random },
    Shape { label: "Google key", pattern: r"(AIza[A-Za-z0-9_-]{35,})", is_one: |it| it.len() == 39 },
    Shape { label: "Google token", pattern: r"(ya29\.[A-Za-z0-9_-]{20,})", is_one: always },
    Shape { label: "Google secret", pattern: r"(GOCSPX-[A-Za-z0-9_-]{20,})", is_one: always },
    Shape {
        label: "AWS key",
        pattern: r"((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,})",
        is_one: |it| it.len() == 20 && has_digit(it),
    },
    Shape { label: "GitHub token", pattern: r"(gh[pousr]_[A-Za-z0-9]{36,})", is_one: always },
    Shape { label: "GitHub token", pattern: r"(github_pat_[A-Za-z0-9_]{40,})", is_one: always },
    Shape {
        label: "GitLab token",
        pattern: r"(gl(?:pat|ptt|dt|rt|cbt|ft|soat|oas|agent|imt)-[A-Za-z0-9_.-]{20,})",
        is_one: has_digit,
    },
    Shape { label: "Slack token", pattern: r"(xox[abeoprs]-[A-Za-z0-9-]{10,})", is_one: has_digit },
    Shape { label: "Slack token", pattern: r"(xapp-[0-9]-[A-Za-z0-9-]{20,})", is_one: always },
    Shape {
        label: "Slack webhook",
        pattern: r"https://hooks\.slack\.com/services/([A-Za-z0-9/]{20,})",
        is_one: always,
    },
    Shape { label: "Hugging Face token", pattern: r"(hf_[A-Za-z0-9]{30,})", is_one: always },
    Shape { label: "Stripe key", pattern: r"([sr]k_(?:live|test)_[A-Za-z0-9]{16,})", is_one: always },
    Shape { label: "Stripe secret", pattern: r"(whsec_[A-Za-z0-9+/=]{24,})", is_one: always },
    Shape { label: "Groq key", pattern: r"(gsk_[A-Za-z0-9]{40,})", is_one: always },
    Shape { label: "xAI key", pattern: r"(xai-[A-Za-z0-9]{40,})", is_one: always },
    Shape { label: "Perplexity key", pattern: r"(pplx-[A-Za-z0-9]{40,})", is_one: always },
    Shape { label: "Replicate token", pattern: r"(r8_[A-Za-z0-9]{37,})", is_one: always },
    Shape { label: "npm token", pattern: r"(npm_[A-Za-z0-9]{36,})", is_one: always },
    Shape { label: "PyPI token", pattern: r"(pypi-AgEI[A-Za-z0-9_-]{50,})", is_one: always },
    Shape { label: "SendGrid key", pattern: r"(SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})", is_one: always },
    Shape { label: "Databricks token", pattern: r"(dapi[0-9a-f]{32})", is_one: always },
    Shape { label: "DigitalOcean token", pattern: r"(do[opr]_v1_[0-9a-f]{64})", is_one: always },
    Shape {
        label: "JWT",
        pattern: r"(eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
        is_one: always,
    },
    Shape { label: "bearer token", pattern: r"(?i:bearer)\s+([A-Za-z0-9._~+/=-]{20,})", is_one: is_random },
];

/// Those that are known by what stands around them.
const PLACES: &[Shape] = &[
    Shape { label: "password", pattern: r#"://[^\s:/@'"<>]*:([^\s@/'"<>]{3,})@"#, is_one: is_no_stand_in },
    Shape {
        label: "password",
        pattern: r#"(?i:password|passwd|passphrase|pwd)["']?\s{0,4}(?:=>|[:=])\s{0,4}["']([^"'\s]{6,})["']"#,
        is_one: is_password,
    },
    Shape {
        label: "secret",
        pattern: r#"(?i:api[_-]?key|secret|token|access[_-]?key|secret[_-]?key)["']?\s{0,4}(?:=>|[:=])\s{0,4}["']([^"'\s]{16,})["']"#,
        is_one: is_random,
    },
    Shape {
        label: "secret",
        pattern: r#"[?&;](?i:password|passwd|pwd|api[_-]?key|token|access[_-]?token|secret|client[_-]?secret|sig|accountkey|sharedaccesskey)=([^\s&;"'<>\\()\[\]]{8,})"#,
        is_one: is_password,
    },
    Shape {
        label: "secret",
        pattern: r#"(?m:^)(?:export +)?[A-Z][A-Z0-9_]*(?:PASSWORD|PASSWD|SECRET|TOKEN|KEY)=([^\s"'$()\[\]]{8,})"#,
        is_one: |it| is_password(it) && has_digit(it),
    },
    Shape {
        label: "AWS secret key",
        pattern: r#"(?i:aws_secret_access_key)["']?\s{0,4}[:=]\s{0,4}["']?([A-Za-z0-9/+=]{40})"#,
        is_one: always,
    },
    Shape {
        label: "password",
        pattern: r#"(?i:authorization)["']?\s{0,4}[:=]\s{0,4}["']?(?i:basic)\s+([A-Za-z0-9+/=]{12,})"#,
        is_one: always,
    },
];

/// How the pattern of what stands at the beginning of a line begins.
const LINE: &str = "(?m:^)";

/// Whether any stands in a text, and where. Its groups are not asked for: that would cost memory for each of its states.
static ALL: LazyLock<Regex> = LazyLock::new(|| {
    let list = |shapes: &[Shape]| shapes.iter().map(|shape| shape.pattern).collect::<Vec<_>>().join("|");
    let all = format!(r"(?-u:\b)(?:{})|{}", list(WORDS), list(PLACES));
    Regex::new(&all).expect("the table holds expressions, and a test makes this one")
});

/// Each shape by itself, from the beginning of what was found. Made when something is found at all.
static EACH: LazyLock<Vec<(&Shape, Regex)>> = LazyLock::new(|| {
    let alone = |shape: &Shape| Regex::new(&format!("^(?:{})", shape.pattern));
    let shapes = WORDS.iter().chain(PLACES);
    shapes.map(|shape| (shape, alone(shape).expect("a test makes each of them"))).collect()
});

/// What the marks of this table say.
pub(super) fn labels() -> impl Iterator<Item = &'static str> {
    WORDS.iter().chain(PLACES).map(|shape| shape.label).chain([private_key::LABEL])
}

/// Where credentials stand in a text.
pub(super) fn find(text: &str) -> Vec<Found<'static>> {
    let mut found = private_key::find(text);
    // Behind a credential a word begins, whatever it is.
    let (mut begin, mut at) = (0, 0);
    while let Some(all) = ALL.find_at(&text[begin..], at) {
        let is_line = all.start() == 0 || text.as_bytes()[begin + all.start() - 1] == b'\n';
        let hit = EACH.iter().enumerate().find_map(|(index, (shape, alone))| {
            let secret = alone.captures(all.as_str())?.get(1)?;
            let is_here = is_line || !shape.pattern.starts_with(LINE);
            is_here.then_some((shape, secret, index >= WORDS.len()))
        });
        let Some((shape, secret, is_place)) = hit else { break };
        let range = all.start() + secret.start()..all.start() + secret.end();
        match (shape.is_one)(secret.as_str()) {
            true => {
                let label = named(secret.as_str()).unwrap_or(shape.label);
                found.push(Found { label, range: begin + range.start..begin + range.end });
                (begin, at) = (begin + range.end, 0);
            }
            // What stands around it may be about one that is in it.
            false if is_place => at = range.start + secret.as_str().chars().next().map_or(1, char::len_utf8),
            false => at = range.end,
        }
    }
    found
}

/// Whose it is, where that can be seen.
fn named(secret: &str) -> Option<&'static str> {
    let mut words = EACH.iter().take(WORDS.len());
    words.find_map(|(shape, alone)| {
        let groups = alone.captures(secret).filter(|groups| groups[0].len() == secret.len())?;
        groups.get(1).map(|_| shape.label)
    })
}

fn always(_: &str) -> bool {
    true
}

fn has_digit(text: &str) -> bool {
    text.contains(|letter: char| letter.is_ascii_digit())
}

/// Whether letters and digits follow each other as in no word: so many of them without anything in between.
fn is_random(text: &str) -> bool {
    const LONG: usize = 12;
    let mixed = |piece: &str| {
        piece.len() >= LONG && has_digit(piece) && piece.contains(|letter: char| letter.is_ascii_alphabetic())
    };
    is_no_stand_in(text) && text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(mixed)
}

/// Whether it could be a password that someone uses: no word, and nothing that stands for one.
fn is_password(text: &str) -> bool {
    let is_word = text.chars().all(|letter| letter.is_ascii_lowercase())
        || text.chars().all(|letter| letter.is_ascii_uppercase())
        || text.chars().all(|letter| letter.is_ascii_digit());
    !is_word && is_no_stand_in(text)
}

/// Whether it does not say itself that something else belongs here.
fn is_no_stand_in(text: &str) -> bool {
    const WORDS: [&str; 8] = ["password", "passwd", "pass", "pwd", "secret", "token", "user", "changeme"];
    const PARTS: [&str; 10] =
        ["your", "example", "placeholder", "xxxx", "****", "....", "{", "<", "%s", "%("];
    let plain = text.to_ascii_lowercase();
    !text.starts_with('$')
        && !WORDS.contains(&plain.as_str())
        && !PARTS.iter().any(|part| plain.contains(part))
}
