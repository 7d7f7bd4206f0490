//! An editor of a few lines. Keys become changes; the composer's users draw it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Lines of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextEditor {
    lines: Vec<String>,
    row: usize,
    /// The column of the cursor, in characters.
    column: usize,
}

const INDENT: &str = "    ";

impl TextEditor {
    pub(crate) fn new(text: &str) -> TextEditor {
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let row = lines.len() - 1;
        let column = lines[row].chars().count();
        TextEditor { lines, row, column }
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.trim().is_empty())
    }

    pub(crate) fn lines(&self) -> usize {
        self.lines.len().max(1)
    }

    /// The row of the cursor, and the text before it in that row.
    pub(crate) fn cursor(&self) -> (usize, &str) {
        let line = self.lines.get(self.row).map_or("", String::as_str);
        (self.row, &line[..byte_at(line, self.column)])
    }

    /// The number of characters before the cursor.
    pub(crate) fn offset(&self) -> usize {
        self.lines.iter().take(self.row).map(|line| line.chars().count() + 1).sum::<usize>() + self.column
    }

    pub(crate) fn is_on_first(&self) -> bool {
        self.row == 0
    }

    pub(crate) fn is_on_last(&self) -> bool {
        self.row + 1 >= self.lines.len()
    }

    /// Inserts text at the cursor. Tabs become spaces; other control characters are removed.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\t', INDENT);
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                self.split_line();
            }
            let piece: String = piece.chars().filter(|letter| !letter.is_control()).collect();
            let (line, column) = self.current_line();
            line.insert_str(byte_at(line, column), &piece);
            self.column += piece.chars().count();
        }
    }

    /// Replaces the characters `start..end`.
    pub(crate) fn replace(&mut self, start: usize, end: usize, text: &str) {
        let all: Vec<char> = self.text().chars().collect();
        let (start, end) = (start.min(all.len()), end.min(all.len()).max(start.min(all.len())));
        let before: String = all[..start].iter().collect::<String>() + text;
        let behind: String = all[end..].iter().collect();
        let cursor = TextEditor::new(&before);
        *self = TextEditor { row: cursor.row, column: cursor.column, ..TextEditor::new(&(before + &behind)) };
    }

    /// Starts a new line of code, with the indent of the line before, and one more level after a colon.
    pub(crate) fn new_line(&mut self) {
        let (_, before) = self.cursor();
        let inside = before.len() - before.trim_start().len();
        let more = if before.trim_end().ends_with(':') { INDENT } else { "" };
        let indent = format!("{}{more}", &before[..inside]);
        self.split_line();
        self.insert(&indent);
    }

    /// Moves the cursor or changes the text. Unknown keys have no effect.
    pub(crate) fn key(&mut self, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Char('a') if control => self.column = 0,
            KeyCode::Char('e') if control => self.column = self.line_length(),
            KeyCode::Char('b') if control => self.left(),
            KeyCode::Char('f') if control => self.right(),
            KeyCode::Char('b') if alt => self.word_left(),
            KeyCode::Char('f') if alt => self.word_right(),
            KeyCode::Char('k') if control => {
                let (line, column) = self.current_line();
                line.truncate(byte_at(line, column));
            }
            KeyCode::Char('u') if control => {
                let (line, column) = self.current_line();
                line.drain(..byte_at(line, column));
                self.column = 0;
            }
            KeyCode::Char('w') if control => {
                let end = self.offset();
                self.word_left();
                self.replace(self.offset(), end, "");
            }
            KeyCode::Char(letter) if !control && !alt => self.insert(&letter.to_string()),
            KeyCode::Backspace => self.backspace(),
            KeyCode::Delete => {
                let at = self.offset();
                let end = (at + 1).min(self.text().chars().count());
                self.replace(at, end, "");
            }
            KeyCode::Left if control => self.word_left(),
            KeyCode::Right if control => self.word_right(),
            KeyCode::Left => self.left(),
            KeyCode::Right => self.right(),
            KeyCode::Up => self.go_to_row(self.row.saturating_sub(1)),
            KeyCode::Down => self.go_to_row((self.row + 1).min(self.lines() - 1)),
            KeyCode::Home => self.column = 0,
            KeyCode::End => self.column = self.line_length(),
            _ => {}
        }
    }

    /// The line of the cursor, and its column.
    fn current_line(&mut self) -> (&mut String, usize) {
        if self.lines.is_empty() {
            self.lines.push(String::new());
        }
        self.row = self.row.min(self.lines.len() - 1);
        (&mut self.lines[self.row], self.column)
    }

    fn split_line(&mut self) {
        let (line, column) = self.current_line();
        let behind = line.split_off(byte_at(line, column));
        self.row += 1;
        self.lines.insert(self.row, behind);
        self.column = 0;
    }

    fn line_length(&self) -> usize {
        self.lines.get(self.row).map_or(0, |line| line.chars().count())
    }

    fn left(&mut self) {
        if self.column > 0 {
            self.column -= 1;
        } else if self.row > 0 {
            self.row -= 1;
            self.column = self.line_length();
        }
    }

    fn right(&mut self) {
        if self.column < self.line_length() {
            self.column += 1;
        } else if self.row + 1 < self.lines.len() {
            (self.row, self.column) = (self.row + 1, 0);
        }
    }

    fn go_to_row(&mut self, row: usize) {
        self.row = row;
        self.column = self.column.min(self.line_length());
    }

    fn backspace(&mut self) {
        let (_, before) = self.cursor();
        let is_indent = !before.is_empty() && before.trim().is_empty() && before.len() % INDENT.len() == 0;
        let at = self.offset();
        let count = if is_indent { INDENT.len() } else { 1 };
        self.replace(at.saturating_sub(count), at, "");
    }

    fn word_left(&mut self) {
        let letters: Vec<char> = self.text().chars().collect();
        let mut at = self.offset();
        while at > 0 && !is_word(letters[at - 1]) {
            at -= 1;
        }
        while at > 0 && is_word(letters[at - 1]) {
            at -= 1;
        }
        self.go_to(at);
    }

    fn word_right(&mut self) {
        let letters: Vec<char> = self.text().chars().collect();
        let mut at = self.offset();
        while at < letters.len() && !is_word(letters[at]) {
            at += 1;
        }
        while at < letters.len() && is_word(letters[at]) {
            at += 1;
        }
        self.go_to(at);
    }

    fn go_to(&mut self, offset: usize) {
        let mut left = offset;
        for (row, line) in self.lines.iter().enumerate() {
            let wide = line.chars().count();
            if left <= wide {
                (self.row, self.column) = (row, left);
                return;
            }
            left -= wide + 1;
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The byte offset of a character.
fn byte_at(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut TextEditor, codes: &[KeyCode]) {
        codes.iter().for_each(|code| editor.key(KeyEvent::from(*code)));
    }

    #[test]
    fn text_is_inserted_at_the_cursor() {
        let mut editor = TextEditor::default();
        editor.insert("ab日");
        press(
            &mut editor,
            &[
                KeyCode::Left,
                KeyCode::Char('x'),
                KeyCode::Home,
                KeyCode::Delete,
                KeyCode::End,
                KeyCode::Backspace,
            ],
        );
        assert_eq!(editor.text(), "bx");
        assert_eq!(editor.offset(), 2);
    }

    #[test]
    fn a_new_line_is_indented_as_the_code_requires() {
        let mut editor = TextEditor::default();
        editor.insert("def f():");
        editor.new_line();
        editor.insert("if x:");
        editor.new_line();
        assert_eq!(editor.text(), "def f():\n    if x:\n        ");
        press(&mut editor, &[KeyCode::Backspace]);
        assert_eq!(editor.text(), "def f():\n    if x:\n    ");
    }

    #[test]
    fn pasted_text_keeps_its_lines_and_loses_control_characters() {
        let mut editor = TextEditor::default();
        editor.insert("a\r\n\tb\u{1b}[31m");
        assert_eq!(editor.text(), "a\n    b[31m");
    }

    #[test]
    fn a_completion_replaces_the_started_word() {
        let mut editor = TextEditor::new("x = 1\nma");
        editor.replace(6, 8, "math");
        assert_eq!((editor.text().as_str(), editor.offset()), ("x = 1\nmath", 10));
    }

    #[test]
    fn words_are_skipped_and_deleted() {
        let mut editor = TextEditor::new("one two");
        editor.key(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(editor.text(), "one ");
        editor.key(KeyEvent::new(KeyCode::Left, KeyModifiers::CONTROL));
        assert_eq!(editor.offset(), 0);
    }
}
