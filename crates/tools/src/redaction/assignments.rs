//! Finds values after the name of a secret: assignments, headers, tables, markup, command flags.

use std::ops::Range;

use super::SecretSpan;
use super::names::{self, SecretKind, SecretName};
use super::values::{
    alternations, entropy, has_both_cases, has_digit, has_letter, is_hex, is_not_placeholder, is_password,
    is_path, is_random, is_uuid, line_before, line_behind,
};

/// The separator between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    /// `NAME=value` at the start of a line or of a word of a command, and `?name=value` in a URL.
    Variable,
    /// `name = value`, which may be code.
    Equals,
    /// `name: value`.
    Colon,
    /// `<name>value</name>`, `--name value`, `"name", "value"`.
    Beside,
    /// Only space, as in a table.
    Space,
}

struct NamedValue {
    range: Range<usize>,
    separator: Separator,
    is_quoted: bool,
    /// Whether a call, an index or the rest of an expression follows.
    is_code: bool,
}

/// Finds the secret after the name around a keyword, if name and value look like one.
pub(super) fn find(text: &str, word: Range<usize>) -> Option<SecretSpan<'static>> {
    let name = names::around(text, word)?;
    let value = value(text, &name)?;
    let is_one = is_secret(&text[value.range.clone()], &name, &value);
    let label = match name.strength {
        SecretKind::Password | SecretKind::Auth => "password",
        SecretKind::Secret | SecretKind::Key | SecretKind::Cookie => "secret",
    };
    let is_aws = || text[name.range.clone()].eq_ignore_ascii_case("aws_secret_access_key");
    let label = if is_aws() { "AWS secret key" } else { label };
    is_one.then_some(SecretSpan { range: value.range, label })
}

/// Finds the token after `Bearer`.
pub(super) fn bearer(text: &str, word: Range<usize>) -> Option<SecretSpan<'static>> {
    let rest = &text[word.end..];
    let start = word.end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    let length = text.as_bytes()[start..].iter().take_while(|byte| is_part(byte)).count();
    let range = start..start + length;
    let is_one = start > word.end && length >= 20 && is_random(&text[range.clone()]);
    is_one.then_some(SecretSpan { range, label: "bearer token" })
}

const QUOTES: &[u8] = b"\"'`";

fn value(text: &str, name: &SecretName) -> Option<NamedValue> {
    let bytes = text.as_bytes();
    let before = &bytes[..name.range.start];
    let is_quoted_name = before.last().is_some_and(|byte| QUOTES.contains(byte));
    let closing = bytes[name.range.end..].iter().take(6);
    let closed = name.range.end + closing.take_while(|byte| b"\\\"'`])".contains(byte)).count();
    if let Some(start) = named_value(text, closed) {
        return read(text, start, Separator::Colon);
    }
    let rest = &text[closed..];
    let spaces = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let rest = &rest[spaces..];
    let is_markup = before.last() == Some(&b'<') || before.ends_with(b"</") || before.last() == Some(&b':');
    let is_flag =
        before.ends_with(b"--") || before.last() == Some(&b'-') || text[name.range.clone()].starts_with("--");
    let is_start = || {
        let line = line_before(text, name.range.start);
        let line = line.trim_end_matches(['"', '\'']);
        line.trim().is_empty()
            || line.ends_with(' ') && is_command(line)
            || line.ends_with(['?', '&', ';', '\0'])
    };
    let (separator, length) = match rest.as_bytes() {
        [b'=', b'>', ..] | [b':', b'=', ..] | [b'=', b'=', ..] => (Separator::Equals, 2),
        [b':', b':', ..] => return None,
        [b'=', ..] if spaces == 0 && is_start() && !rest[1..].starts_with([' ', '"', '\'']) => {
            (Separator::Variable, 1)
        }
        [b'=', ..] if is_flag => (Separator::Beside, 1),
        [b'=', ..] => (Separator::Equals, 1),
        [b':', ..] => (Separator::Colon, 1),
        [b'>', ..] if is_markup => (Separator::Beside, 1),
        [b',', ..] if is_quoted_name => (Separator::Beside, 1),
        [b'|', ..] => (Separator::Space, 1),
        _ if rest.starts_with('│') => (Separator::Space, '│'.len_utf8()),
        _ if spaces > 0 && is_flag => (Separator::Beside, 0),
        _ if spaces > 1 || rest.len() < text.len() - closed && is_netrc(text, name) => (Separator::Space, 0),
        _ => return None,
    };
    let mut start = closed + spaces + length;
    if separator == Separator::Colon
        && let Some(typed) = behind_type(line_behind(text, start))
    {
        return read(text, start + typed, Separator::Equals);
    }
    start += text[start..].len() - text[start..].trim_start_matches([' ', '\t']).len();
    read(text, start, separator)
}

/// Returns whether a variable may follow these words of a line.
fn is_command(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "export",
        "set",
        "setx",
        "env",
        "-e",
        "--env",
        "--build-arg",
        "ENV",
        "ARG",
        "declare",
        "-x",
        "$",
        ">",
    ];
    line.split_whitespace().next_back().is_some_and(|word| WORDS.contains(&word) || word.contains('='))
}

/// Returns whether the name is part of a `.netrc` line: `machine … login … password …`.
fn is_netrc(text: &str, name: &SecretName) -> bool {
    const AROUND: usize = 200;
    let from = text.floor_char_boundary(name.range.start.saturating_sub(AROUND));
    let before = &text[from..name.range.start];
    name.strength == SecretKind::Password && before.contains("login ")
        || before.ends_with("ENV ")
        || before.ends_with("setx ")
}

/// Returns the start of the value in `"name": "TOKEN", "value": "…"` and similar forms. `closed` is
/// the end of the name.
fn named_value(text: &str, closed: usize) -> Option<usize> {
    const FAR: usize = 48;
    let rest = &text[closed..text.floor_char_boundary((closed + FAR).min(text.len()))];
    let inner = rest.trim_start_matches(|letter: char| letter.is_whitespace() || ",\"'\\".contains(letter));
    let inner = inner.strip_prefix("value").or_else(|| inner.strip_prefix("Value"))?;
    let inner = inner.trim_start_matches(['"', '\'', '\\']).trim_start();
    let inner = inner.strip_prefix([':', '=']).filter(|_| rest.len() > inner.len())?;
    Some(closed + rest.len() - inner.trim_start().len())
}

/// Returns the length of `: str = ` in `password: str = "…"`.
fn behind_type(line: &str) -> Option<usize> {
    let (kind, rest) = line.split_once(" = ")?;
    let is_type = kind.len() <= 40 && kind.trim().starts_with(|letter: char| letter.is_ascii_alphabetic());
    let is_type =
        is_type && kind.chars().all(|letter| letter.is_alphanumeric() || " .[]|,_".contains(letter));
    is_type.then(|| line.len() - rest.trim_start().len())
}

/// Reads the value that starts at `start`.
fn read(text: &str, start: usize, separator: Separator) -> Option<NamedValue> {
    const LONGEST: usize = 4096;
    let bytes = text.as_bytes();
    let rest = &bytes[start..];
    // Prefix letters of a Python string, and backslashes before a quote in JSON.
    let letters = rest.iter().take(2).take_while(|byte| b"bBrRuUfF".contains(byte)).count();
    let escapes = rest[letters..].iter().take_while(|byte| **byte == b'\\').count();
    let quote = rest.get(letters + escapes).copied().filter(|byte| QUOTES.contains(byte));
    let mut from = start;
    if let Some(quote) = quote {
        let quotes = rest[letters + escapes..].iter().take(3).take_while(|byte| **byte == quote).count();
        from += letters + escapes + if quotes == 3 { 3 } else { 1 };
    }
    from += scheme(&text[from..]);
    let limit = text.floor_char_boundary((from + LONGEST).min(text.len()));
    let inner = &text[from..limit];
    let stops: &[char] = match (quote, separator) {
        (Some(b'"'), _) => &['"'],
        (Some(b'\''), _) => &['\''],
        (Some(_), _) => &['`'],
        (None, Separator::Variable) => &['"', '\'', '`', '&', '<', '\\'],
        (None, _) => &['"', '\'', '`', ',', ';', '&', '<', '>', '|', ')', ']', '}', '(', '[', '{', '\\', '│'],
    };
    let end = inner.find(|letter: char| letter.is_whitespace() || stops.contains(&letter));
    let end = end.unwrap_or(inner.len());
    let stop = inner[end..].chars().next();
    // A string with spaces is a sentence.
    if quote.is_some() && stop.is_some_and(char::is_whitespace) {
        return None;
    }
    let value = inner[..end].trim_end_matches('\\');
    let is_code = quote.is_none() && matches!(stop, Some('(' | '[' | '{'));
    (!value.is_empty()).then(|| NamedValue {
        range: from..from + value.len(),
        separator,
        is_quoted: quote.is_some(),
        is_code,
    })
}

/// Returns the length of the scheme before the credentials in a header.
fn scheme(text: &str) -> usize {
    const SCHEMES: &[&str] = &["bearer ", "basic ", "token ", "apikey ", "digest ", "negotiate "];
    let is_one =
        |scheme: &&&str| text.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme));
    SCHEMES.iter().find(is_one).map_or(0, |scheme| scheme.len())
}

fn is_secret(text: &str, name: &SecretName, value: &NamedValue) -> bool {
    if value.is_code || !is_not_placeholder(text) || is_path(text) {
        return false;
    }
    let (length, is_quoted) = (text.len(), value.is_quoted);
    let is_plain_variable = value.separator == Separator::Variable && !text.contains(['$', '(', '[']);
    let is_symbolic =
        || text.contains(|letter: char| !letter.is_ascii_alphanumeric() && !"_-.".contains(letter));
    match name.strength {
        SecretKind::Password if is_quoted => length >= 6 && is_password(text),
        SecretKind::Password => {
            let is_chosen = is_password(text) && (has_digit(text) || is_symbolic());
            match value.separator {
                Separator::Variable => is_plain_variable && length >= 6 && is_chosen,
                Separator::Colon | Separator::Beside => length >= 6 && is_chosen && !is_expression(text),
                Separator::Equals => length >= 7 && is_chosen && !is_expression(text) && !is_numbered(text),
                Separator::Space => {
                    length >= 6 && is_chosen && has_digit(text) && !is_expression(text) && !is_numbered(text)
                }
            }
        }
        SecretKind::Secret => {
            let is_made = is_random(text) && length >= 16 || is_uuid(text);
            let is_dense =
                has_digit(text) && has_letter(text) && alternations(text) >= 3 && entropy(text) >= 2.8;
            match value.separator {
                Separator::Variable if !is_quoted => {
                    is_plain_variable && length >= 8 && is_password(text) && has_digit(text)
                }
                _ if is_quoted => is_made || length >= 8 && is_dense,
                Separator::Space => is_made && !is_expression(text),
                _ => (is_made || length >= 10 && is_dense) && !is_expression(text),
            }
        }
        SecretKind::Key if name.is_upper && value.separator == Separator::Variable => {
            is_plain_variable && length >= 8 && is_password(text) && has_digit(text)
        }
        SecretKind::Key => {
            let is_strong = length >= 20 && is_random(text) && entropy(text) >= 3.5 && !is_hex(text);
            is_strong && has_both_cases(text) && !is_expression(text) && value.separator != Separator::Space
        }
        SecretKind::Auth => {
            length >= 12 && (is_pair(text) || is_random(text) && length >= 20) && !is_expression(text)
        }
        SecretKind::Cookie => length >= 20 && text.contains('=') && is_random(text),
    }
}

/// Returns whether a text reads as code: names joined by dots.
fn is_expression(text: &str) -> bool {
    let is_name = |piece: &str| {
        piece.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
            && piece.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && alternations(piece) < 3
    };
    text.contains('.') && text.split('.').all(is_name)
}

/// Returns whether a text is a variable name that ends in a number.
fn is_numbered(text: &str) -> bool {
    let name = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    !has_digit(name) && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_')
}

/// Returns whether a text is `user:password` in base64.
fn is_pair(text: &str) -> bool {
    super::encoded::base64(text).is_some_and(|plain| plain.contains(':'))
}
