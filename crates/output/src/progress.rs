//! How far a program is, read from the bar that it draws as text: tqdm's, and the like.

/// How far a bar is.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    /// The label of the bar, in the program's words.
    pub label: String,
    /// Steps done.
    pub done: f64,
    /// Steps in all, where known.
    pub total: Option<f64>,
}

/// The bar that a piece of output ends with, if it draws one.
pub fn drawn(bytes: &[u8]) -> Option<Drawn> {
    /// Longer lines are no bars.
    const LONGEST: usize = 600;
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let lines = bytes.rsplit(is_end).filter(|line| !line.is_empty()).take(2);
    lines.filter(|line| line.len() <= LONGEST).find_map(|line| read(&String::from_utf8_lossy(line)))
}

fn read(line: &str) -> Option<Drawn> {
    let line = crate::clean::clean(line.as_bytes(), crate::clean::Ansi::Remove);
    // `label:  75%|███▊ | 30/40 [00:01<00:00, 25.1it/s]`
    if let Some((before, behind)) = line.split_once("%|") {
        let label = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == ' ');
        let count =
            behind.rsplit_once("| ").map(|(_, count)| count).and_then(|count| count.split(" [").next())?;
        let (done, total) = count.split_once('/')?;
        return Some(Drawn { label: named(label), done: number(done)?, total: Some(number(total)?) });
    }
    // `label: 30it [00:01, 25.1it/s]`
    if let Some((before, behind)) = line.split_once(" [")
        && behind.contains("/s]")
        && let Some(count) = before.rsplit(' ').next()
    {
        let label = &before[..before.len() - count.len()];
        let digits = count.trim_end_matches(|c: char| c.is_alphabetic() && !"kMGTP".contains(c));
        return Some(Drawn { label: named(label), done: number(digits)?, total: None });
    }
    // `30/40 ━━━━━━━ 0s 25ms/step`
    let (count, rest) = line.trim_start().split_once(' ')?;
    let (done, total) = count.split_once('/')?;
    let is_bar = rest.trim_start().starts_with(['━', '[', '╸']);
    match (is_bar, number(done), number(total)) {
        (true, Some(done), Some(total)) => Some(Drawn { label: String::new(), done, total: Some(total) }),
        _ => None,
    }
}

fn named(label: &str) -> String {
    label.trim().trim_end_matches(':').to_owned()
}

/// A number as bars have it: `30`, `1.5k`, `12.0MB`.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let times = match unit.chars().next() {
        None => 1.0,
        Some('k' | 'K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        Some('P') => 1e15,
        Some(c) if c.is_alphabetic() => 1.0,
        Some(_) => return None,
    };
    digits.parse::<f64>().ok().map(|number| number * times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(&str, f64, Option<f64>)>) {
        let expected = expected.map(|(label, done, total)| Drawn { label: label.to_owned(), done, total });
        assert_eq!(drawn(text.as_bytes()), expected, "{text:?}");
    }

    #[test]
    fn bars_of_tqdm_are_read_with_and_without_label_and_total() {
        check("\r 75%|███████▌  | 30/40 [00:00<00:00, 123.45it/s]", Some(("", 30.0, Some(40.0))));
        check("\rwork:   0%|          | 0/40 [00:00<?, ?it/s]", Some(("work", 0.0, Some(40.0))));
        check(
            "\ra: b:  50%|#####     | 1.50k/3.00k [00:01<00:01, 1.50kB/s]",
            Some(("a: b", 1500.0, Some(3000.0))),
        );
        check("x\rwork: 30it [00:00, 25.1it/s]\n", Some(("work", 30.0, None)));
        check("\r\u{1b}[32m100%\u{1b}[0m|██████████| 40/40 [00:00<00:00]", Some(("", 40.0, Some(40.0))));
        check("30/40 ━━━━━━━━━━ 0s 25ms/step", Some(("", 30.0, Some(40.0))));
    }

    #[test]
    fn what_is_no_bar_is_none() {
        for text in
            ["", "\n", "50%|", "a %| b", "1/2 of it", "[1/3]", "x [y/s]", "12/31 was a Monday", "%| | x/y ["]
        {
            check(text, None);
        }
        check(&format!("{}%| | 1/2 [", "x".repeat(1000)), None);
    }
}
