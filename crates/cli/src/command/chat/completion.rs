//! Completion in the chat prompt: commands, tools of the mode, and notebooks.

use cellist_tools::{Mode, tool_references};
use cellist_tui::Completions;

/// Commands of the chat prompt.
pub(super) const COMMANDS: [&str; 6] = ["/help", "/mode", "/new", "/quit", "/stop", "/undo"];

/// Completes the word at a cursor position.
pub(super) fn complete(
    text: &str,
    cursor: usize,
    mode: Mode,
    notebooks: impl FnOnce() -> Vec<String>,
) -> Completions {
    let end = text.char_indices().nth(cursor).map_or(text.len(), |(at, _)| at);
    let before = &text[..end];
    let begin = begin(before);
    let word = &before[begin..];
    let found = match word.chars().next() {
        Some('/') if before[..begin].trim().is_empty() => {
            COMMANDS.iter().map(|command| (*command).to_owned()).collect()
        }
        Some('#') => {
            let given = tool_references().filter(|(_, needed)| gives(mode, *needed));
            given.map(|(name, _)| format!("#{name}")).collect()
        }
        Some('@') => notebooks().iter().map(|path| pointed_at(path)).collect(),
        _ if before.trim_start().strip_prefix("/mode ").is_some_and(|rest| rest.trim() == word) => {
            Mode::ALL.iter().map(|mode| mode.as_str().to_owned()).collect()
        }
        _ => Vec::new(),
    };
    let is_match = |candidate: &String| is_begun(word, candidate);
    let start = text[..begin].chars().count();
    Completions { matches: found.into_iter().filter(is_match).collect(), start, end: cursor }
}

/// The start of the last word of a text. A path in quotes is one word.
fn begin(before: &str) -> usize {
    if let Some(at) = before.rfind("@\"").filter(|at| !before[at + 2..].contains('"')) {
        return at;
    }
    let is_outside = |letter: char| letter.is_whitespace() || "([{'`,;:".contains(letter);
    before.rfind(is_outside).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
}

fn gives(mode: Mode, needed: Mode) -> bool {
    let place = |mode: Mode| Mode::ALL.iter().position(|known| *known == mode);
    place(mode) >= place(needed)
}

/// A path as a reference in a message.
fn pointed_at(path: &str) -> String {
    match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\""),
        false => format!("@{path}"),
    }
}

/// Whether `whole` starts with `word`, ignoring case and quotes.
fn is_begun(word: &str, whole: &str) -> bool {
    let plain = |text: &str| text.replace('"', "").to_lowercase();
    plain(whole).starts_with(&plain(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The completions at `|`, and the text that they would replace.
    fn offered(text: &str, mode: Mode) -> (Vec<String>, String) {
        let cursor = text.chars().position(|letter| letter == '|').unwrap();
        let text = text.replace('|', "");
        let notebooks = || ["a.ipynb", "sub/b.ipynb", "my notes.ipynb"].map(str::to_owned).into();
        let Completions { matches, start, end } = complete(&text, cursor, mode, notebooks);
        (matches, text.chars().skip(start).take(end - start).collect())
    }

    #[test]
    fn commands_tools_and_notebooks_are_offered_where_they_can_stand() {
        let table: [(&str, &[&str], &str); 14] = [
            ("/|", &["/help", "/mode", "/new", "/quit", "/stop", "/undo"], "/"),
            ("  /n|", &["/new"], "/n"),
            ("see /n|", &[], "/n"),
            ("/mode |", &["ask", "edit", "agent"], ""),
            ("/mode a|", &["ask", "agent"], "a"),
            ("/mode ask a|", &[], "a"),
            ("é #get|", &["#getCellOutputs", "#getNotebookCells"], "#get"),
            ("(#RUN| it", &["#runNotebookCells"], "#RUN"),
            ("@|", &["@a.ipynb", "@sub/b.ipynb", "@\"my notes.ipynb\""], "@"),
            ("in @SUB|", &["@sub/b.ipynb"], "@SUB"),
            ("in @my|", &["@\"my notes.ipynb\""], "@my"),
            ("in @\"my n|", &["@\"my notes.ipynb\""], "@\"my n"),
            ("me@a|", &[], "me@a"),
            ("words|", &[], "words"),
        ];
        for (text, matches, replaced) in table {
            let expected = matches.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(offered(text, Mode::Agent), (expected, replaced.to_owned()), "{text}");
        }
    }

    #[test]
    fn tools_are_offered_that_the_mode_gives() {
        let look = ["#getCellOutputs", "#getNotebookCells", "#searchNotebook"].map(str::to_owned);
        assert_eq!(offered("#|", Mode::Ask).0, look);
        assert_eq!(offered("#|", Mode::Edit).0, look);
        assert_eq!(offered("#|", Mode::Agent).0.len(), 7);
    }
}
