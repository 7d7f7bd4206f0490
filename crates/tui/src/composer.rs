//! The input of a prompt: the text, its history and completions. Keys become changes; REPL and line prompt draw it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::editor::TextEditor;

/// A text in progress, with history and completions.
#[derive(Debug, Default)]
pub(crate) struct Composer {
    editor: TextEditor,
    /// Whether new lines are indented as code.
    is_code: bool,
    /// Earlier texts, oldest first.
    history: Vec<String>,
    /// The index of the earlier text in the editor.
    recalled: Option<usize>,
    /// The text from before a recall.
    draft: String,
    completions: Option<CompletionMenu>,
}

/// Several completions to choose from.
#[derive(Debug)]
pub(crate) struct CompletionMenu {
    pub(crate) matches: Vec<String>,
    /// The index of the completion in the text.
    pub(crate) at: Option<usize>,
    /// The characters that a completion replaces.
    start: usize,
    end: usize,
}

/// The effect of a key outside of the composer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ComposerAction {
    Nothing,
    /// The user finished the text.
    Enter,
    /// Completions are needed for this text at this character.
    Complete(String, usize),
}

impl Composer {
    /// Makes a composer of code.
    pub(crate) fn of_code(history: Vec<String>) -> Composer {
        Composer { is_code: true, history, ..Composer::default() }
    }

    /// Makes a composer of prose.
    pub(crate) fn of_words(history: Vec<String>) -> Composer {
        Composer { history, ..Composer::default() }
    }

    pub(crate) fn editor(&self) -> &TextEditor {
        &self.editor
    }

    pub(crate) fn completions(&self) -> Option<&CompletionMenu> {
        self.completions.as_ref()
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        self.completions = None;
        self.editor.insert(text);
    }

    pub(crate) fn new_line(&mut self) {
        match self.is_code {
            true => self.editor.new_line(),
            false => self.editor.insert("\n"),
        }
    }

    /// Discards the text.
    pub(crate) fn clear(&mut self) {
        (self.editor, self.recalled, self.completions) = (TextEditor::default(), None, None);
    }

    /// Returns the text, clears the editor and adds the text to the history.
    pub(crate) fn take(&mut self) -> String {
        let text = self.editor.text().trim_end().to_owned();
        self.clear();
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        text
    }

    pub(crate) fn key(&mut self, key: KeyEvent) -> ComposerAction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let special = key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT);
        let menu = self.completions.take();
        match key.code {
            KeyCode::Char('j') if control => self.new_line(),
            KeyCode::Enter if special || control => self.new_line(),
            KeyCode::Enter => return ComposerAction::Enter,
            KeyCode::Tab => return self.tab(menu),
            KeyCode::Up if self.editor.is_on_first() => self.recall(-1),
            KeyCode::Down if self.editor.is_on_last() => self.recall(1),
            _ => self.editor.key(key),
        }
        ComposerAction::Nothing
    }

    /// Offers completions for the characters `start..end`. They are ignored if the cursor has moved since the request.
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
        self.completions = Some(CompletionMenu { matches, at: None, start, end });
    }

    fn tab(&mut self, menu: Option<CompletionMenu>) -> ComposerAction {
        if let Some(mut menu) = menu {
            let at = menu.at.map_or(0, |at| (at + 1) % menu.matches.len());
            let chosen = &menu.matches[at];
            self.editor.replace(menu.start, menu.end, chosen);
            menu.end = menu.start + chosen.chars().count();
            menu.at = Some(at);
            self.completions = Some(menu);
            return ComposerAction::Nothing;
        }
        let (_, before) = self.editor.cursor();
        if self.is_code && before.trim().is_empty() {
            self.editor.insert("\t");
            return ComposerAction::Nothing;
        }
        ComposerAction::Complete(self.editor.text(), self.editor.offset())
    }

    fn recall(&mut self, by: isize) {
        let count = self.history.len();
        let at = self.recalled.unwrap_or(count);
        let to = at.saturating_add_signed(by).min(count);
        if to == at {
            return;
        }
        if self.recalled.is_none() {
            self.draft = self.editor.text();
        }
        let text = self.history.get(to).cloned().unwrap_or_else(|| std::mem::take(&mut self.draft));
        self.editor = TextEditor::new(&text);
        self.recalled = (to < count).then_some(to);
    }
}

fn common_start(matches: &[String]) -> String {
    let Some(first) = matches.first() else { return String::new() };
    let common = |text: &str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).count();
    let count = matches.iter().map(|text| common(text)).min().unwrap_or(0);
    first.chars().take(count).collect()
}
