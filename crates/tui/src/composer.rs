//! What is written at a prompt: the text, what was written there before, and how it could go on. Pure: keys become changes,
//! and somebody else draws it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::editor::Editor;

/// Something that is being written.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    editor: Editor,
    /// Whether lines go in and out as those of code do.
    is_code: bool,
    /// What was written before; and which of it is in the editor.
    history: Vec<String>,
    recalled: Option<usize>,
    /// What was written before something was recalled.
    put_aside: String,
    choice: Option<Choice>,
}

/// How a text could go on.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) matches: Vec<String>,
    /// The one that is in the text.
    pub(crate) at: Option<usize>,
    start: usize,
    end: usize,
}

/// What a key asks for beyond a change of the text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Nothing,
    /// It is to count as written.
    Enter,
    /// How the text could go on at this character.
    Complete(String, usize),
}

impl Composer {
    /// For code.
    pub(crate) fn of_code(history: Vec<String>) -> Composer {
        Composer { is_code: true, history, ..Composer::default() }
    }

    /// For words.
    pub(crate) fn of_words(history: Vec<String>) -> Composer {
        Composer { history, ..Composer::default() }
    }

    pub(crate) fn editor(&self) -> &Editor {
        &self.editor
    }

    pub(crate) fn choice(&self) -> Option<&Choice> {
        self.choice.as_ref()
    }

    /// Writes a text at the cursor.
    pub(crate) fn write(&mut self, text: &str) {
        self.choice = None;
        self.editor.write(text);
    }

    pub(crate) fn new_line(&mut self) {
        match self.is_code {
            true => self.editor.new_line(),
            false => self.editor.write("\n"),
        }
    }

    /// Takes it all away.
    pub(crate) fn clear(&mut self) {
        (self.editor, self.recalled, self.choice) = (Editor::default(), None, None);
    }

    /// It is written: what it was, which can be recalled from now on.
    pub(crate) fn take(&mut self) -> String {
        let text = self.editor.text().trim_end().to_owned();
        self.clear();
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        text
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> Wish {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let special = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        let choice = self.choice.take();
        match key.code {
            KeyCode::Char('j') if control => self.new_line(),
            KeyCode::Enter if special || control => self.new_line(),
            KeyCode::Enter => return Wish::Enter,
            KeyCode::Tab => return self.tab(choice),
            KeyCode::Up if self.editor.is_on_first() => self.recall(-1),
            KeyCode::Down if self.editor.is_on_last() => self.recall(1),
            _ => self.editor.key(key),
        }
        Wish::Nothing
    }

    /// Hears how the text could go on, each way in place of the characters from one place to another. It was asked when
    /// the cursor was there.
    pub(crate) fn offer(&mut self, matches: Vec<String>, start: usize, end: usize, cursor: usize) {
        if matches.is_empty() || self.editor.offset() != cursor {
            return;
        }
        if let [only] = matches.as_slice() {
            self.editor.replace(start, end, only);
            return;
        }
        let common = common_start(&matches);
        let written = end.saturating_sub(start);
        let mut end = end;
        if common.chars().count() > written {
            self.editor.replace(start, end, &common);
            end = start + common.chars().count();
        }
        self.choice = Some(Choice { matches, at: None, start, end });
    }

    fn tab(&mut self, choice: Option<Choice>) -> Wish {
        if let Some(mut choice) = choice {
            let at = choice.at.map_or(0, |at| (at + 1) % choice.matches.len());
            let chosen = &choice.matches[at];
            self.editor.replace(choice.start, choice.end, chosen);
            choice.end = choice.start + chosen.chars().count();
            choice.at = Some(at);
            self.choice = Some(choice);
            return Wish::Nothing;
        }
        let (_, before) = self.editor.cursor();
        if self.is_code && before.trim().is_empty() {
            self.editor.write("\t");
            return Wish::Nothing;
        }
        Wish::Complete(self.editor.text(), self.editor.offset())
    }

    fn recall(&mut self, by: isize) {
        let count = self.history.len();
        let at = self.recalled.unwrap_or(count);
        let to = at.saturating_add_signed(by).min(count);
        if to == at {
            return;
        }
        if self.recalled.is_none() {
            self.put_aside = self.editor.text();
        }
        let text = self.history.get(to).cloned().unwrap_or_else(|| std::mem::take(&mut self.put_aside));
        self.editor = Editor::new(&text);
        self.recalled = (to < count).then_some(to);
    }
}

fn common_start(matches: &[String]) -> String {
    let Some(first) = matches.first() else { return String::new() };
    let common = |text: &str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).count();
    let count = matches.iter().map(|text| common(text)).min().unwrap_or(0);
    first.chars().take(count).collect()
}
