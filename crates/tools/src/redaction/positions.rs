//! Finds passwords by their position: in URLs, in `.pgpass` lines, after flags of curl and sshpass.
//! Also finds bot tokens, which start with a number.

use std::ops::Range;

use super::SecretSpan;
use super::values::{has_both_cases, has_digit, is_not_placeholder, is_random, line_before, line_behind};

/// A detector: the characters to search for, and a function that examines the text around them.
pub(super) type PositionRule = (&'static str, fn(&str, Range<usize>) -> Option<SecretSpan<'static>>);

pub(super) const PLACES: &[PositionRule] = &[
    ("://", address),
    (":5432:", pgpass),
    ("*:*:", pgpass),
    (":aa", telegram),
    (" -u ", user),
    ("--user ", user),
    ("sshpass -p", sshpass),
    ("bearer", super::assignments::bearer),
];

/// `://user:password@host`, and `://token@host`.
fn address(text: &str, slashes: Range<usize>) -> Option<SecretSpan<'static>> {
    const LONGEST: usize = 1024;
    let rest = &text[slashes.end..text.floor_char_boundary((slashes.end + LONGEST).min(text.len()))];
    let end = rest.find(|letter: char| letter.is_whitespace() || "/'\"<>@".contains(letter))?;
    if !rest[end..].starts_with('@') {
        return None;
    }
    let (range, is_one) = match rest[..end].split_once(':') {
        Some((user, password)) => (user.len() + 1..end, password.len() >= 3 && is_not_placeholder(password)),
        None => (0..end, end >= 20 && is_random(&rest[..end])),
    };
    let range = slashes.end + range.start..slashes.end + range.end;
    is_one.then_some(SecretSpan { range, label: "password" })
}

/// `host:port:database:user:password` on a line of its own.
fn pgpass(text: &str, port: Range<usize>) -> Option<SecretSpan<'static>> {
    let start = port.start - line_before(text, port.start).len();
    let line = line_behind(text, start);
    let parts: Vec<&str> = line.splitn(5, ':').collect();
    let [.., password] = parts.as_slice() else { return None };
    let is_one = parts.len() == 5 && password.len() >= 4 && !password.contains(char::is_whitespace);
    let range = start + line.len() - password.len()..start + line.len();
    (is_one && is_not_placeholder(password)).then_some(SecretSpan { range, label: "password" })
}

/// `123456789:AA…`, the token of a Telegram bot.
fn telegram(text: &str, colon: Range<usize>) -> Option<SecretSpan<'static>> {
    let bytes = text.as_bytes();
    let digits = bytes[..colon.start].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let letters = bytes[colon.end..].iter().take_while(is_part).count();
    let range = colon.start - digits..colon.end + letters;
    let is_one = (8..=10).contains(&digits) && letters == 33 && text[colon].ends_with("AA");
    is_one.then_some(SecretSpan { range, label: "Telegram token" })
}

/// `curl -u name:password`.
fn user(text: &str, flag: Range<usize>) -> Option<SecretSpan<'static>> {
    const COMMANDS: &[&str] = &["curl", "wget", "http ", "https "];
    let line = line_before(text, flag.start);
    let (start, pair) = argument(text, flag.end)?;
    let (name, password) = pair.split_once(':')?;
    let is_one = COMMANDS.iter().any(|command| line.contains(command)) && password.len() >= 4;
    let start = start + name.len() + 1;
    (is_one && is_not_placeholder(password))
        .then_some(SecretSpan { range: start..start + password.len(), label: "password" })
}

fn sshpass(text: &str, flag: Range<usize>) -> Option<SecretSpan<'static>> {
    let (start, password) = argument(text, flag.end)?;
    let is_one = password.len() >= 4 && is_not_placeholder(password);
    is_one.then_some(SecretSpan { range: start..start + password.len(), label: "password" })
}

/// Returns the next argument of a command, without its quotes.
fn argument(text: &str, at: usize) -> Option<(usize, &str)> {
    let near = line_behind(text, at);
    let rest = near.trim_start_matches([' ', '=', '"', '\'']);
    let end =
        rest.find(|letter: char| letter.is_whitespace() || "\"'".contains(letter)).unwrap_or(rest.len());
    (end > 0).then(|| (at + near.len() - rest.len(), &rest[..end]))
}

/// `MTk4N….Cl2FMQ.ZnCj…`: the number of a bot in base64, and two more parts.
pub(super) fn is_discord(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let [number, stamp, sign] = parts.as_slice() else { return false };
    let is_number = || {
        super::encoded::base64(number)
            .is_some_and(|plain| plain.len() >= 16 && plain.bytes().all(|byte| byte.is_ascii_digit()))
    };
    stamp.len() == 6
        && (27..=38).contains(&sign.len())
        && has_digit(sign)
        && has_both_cases(sign)
        && is_number()
}
