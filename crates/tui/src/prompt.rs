//! A prompt on a scrolling terminal. Events become output; the console reads and writes them.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use crate::ansi::to_terminal;
use crate::block::RenderedLines;
use crate::composer::{Composer, ComposerAction};
use crate::style::TextRole;
use crate::text::{display_width, fit_to_width, visible};

/// Maximum completions on the screen.
const MATCHES: usize = 8;

/// A prompt for text of one or more lines.
#[derive(Debug, Default)]
pub(crate) struct LinePrompt {
    label: String,
    has_colour: bool,
    composer: Composer,
    /// The number of drawn rows above the cursor.
    above: usize,
}

/// The effect of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PromptEvent {
    /// The prompt may look different.
    Changed,
    /// The user entered this text.
    Entered(String),
    /// Completions are needed for this text at this character.
    Complete(String, usize),
    /// The user discarded an empty prompt.
    Dropped,
    /// The user leaves.
    Leave,
}

impl LinePrompt {
    pub(crate) fn new(has_colour: bool, history: Vec<String>) -> LinePrompt {
        LinePrompt { has_colour, composer: Composer::of_words(history), ..LinePrompt::default() }
    }

    /// Sets the label before the text.
    pub(crate) fn set_label(&mut self, label: &str) {
        self.label = visible(label);
    }

    pub(crate) fn handle(&mut self, event: &Event) -> PromptEvent {
        let key = match event {
            Event::Paste(text) => {
                self.composer.insert(text);
                return PromptEvent::Changed;
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => *key,
            _ => return PromptEvent::Changed,
        };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => {
                let had_none = self.composer.editor().is_empty();
                self.composer.clear();
                if had_none { PromptEvent::Dropped } else { PromptEvent::Changed }
            }
            KeyCode::Char('d') if control && self.composer.editor().is_empty() => PromptEvent::Leave,
            _ => match self.composer.key(key) {
                ComposerAction::Nothing => PromptEvent::Changed,
                ComposerAction::Enter if self.composer.editor().is_empty() => {
                    PromptEvent::Entered(String::new())
                }
                ComposerAction::Enter => PromptEvent::Entered(self.composer.editor().text()),
                ComposerAction::Complete(text, cursor) => PromptEvent::Complete(text, cursor),
            },
        }
    }

    /// Offers completions.
    pub(crate) fn offer(&mut self, matches: Vec<String>, start: usize, end: usize, cursor: usize) {
        self.composer.offer(matches, start, end, cursor);
    }

    /// Draws the prompt in place of the last drawing.
    pub(crate) fn draw(&mut self, (width, height): (usize, usize)) -> String {
        let (rows, (row, column)) = self.rows(width);
        let menu = self.completion_lines(width, height);
        // A text that is too long is shown around the cursor.
        let most = height.saturating_sub(menu.len() + 1).max(1);
        let first = (row + 1).saturating_sub(most);
        let count = rows.len().saturating_sub(first).min(most);
        let lines: Vec<Line<'static>> = rows.into_iter().skip(first).take(count).chain(menu).collect();
        let below = lines.len() - 1 - (row - first);
        let mut shown = self.clear() + self.text(lines).trim_end_matches('\n');
        if below > 0 {
            shown += &format!("\x1b[{below}A");
        }
        shown.push('\r');
        if column > 0 {
            shown += &format!("\x1b[{column}C");
        }
        self.above = row - first;
        shown
    }

    /// Leaves the whole text on the terminal and clears the prompt.
    pub(crate) fn finish(&mut self, (width, _): (usize, usize)) -> String {
        let shown = self.clear() + &self.text(self.rows(width).0);
        match self.composer.editor().is_empty() {
            true => self.composer.clear(),
            false => drop(self.composer.take()),
        }
        shown
    }

    fn clear(&mut self) -> String {
        match std::mem::take(&mut self.above) {
            0 => "\r\x1b[J".to_owned(),
            rows => format!("\x1b[{rows}A\r\x1b[J"),
        }
    }

    fn text(&self, lines: Vec<Line<'static>>) -> String {
        to_terminal(&RenderedLines { lines, ..RenderedLines::default() }, self.has_colour)
    }

    /// The rows of the text, broken at the width, and the row and column of the cursor.
    fn rows(&self, width: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let label = fit_to_width(&self.label, width.saturating_sub(2));
        let inset = display_width(&label);
        let room = width.saturating_sub(inset + 1).max(1);
        let editor = self.composer.editor();
        let (at, before) = editor.cursor();
        let (mut rows, mut cursor) = (Vec::new(), (0, inset));
        for (number, line) in editor.text().split('\n').enumerate() {
            if number == at {
                let before = split_to_width(before, room);
                let column = display_width(before.last().map_or("", String::as_str));
                cursor = (rows.len() + before.len() - 1, inset + column);
            }
            for piece in split_to_width(line, room) {
                let head = match rows.is_empty() {
                    true => Span::styled(label.clone(), TextRole::Position.style()),
                    false => Span::raw(" ".repeat(inset)),
                };
                rows.push(Line::from(vec![head, Span::raw(piece)]));
            }
        }
        (rows, cursor)
    }

    fn completion_lines(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let Some(menu) = self.composer.completions() else { return Vec::new() };
        let most = MATCHES.min(height.saturating_sub(2));
        let first = (menu.at.unwrap_or(0) + 1).saturating_sub(most);
        let line = |(number, text): (usize, &String)| {
            let role = if Some(number) == menu.at { TextRole::Selected } else { TextRole::Aside };
            let text = fit_to_width(&format!("    {}", visible(text)), width.saturating_sub(1));
            Line::from(Span::styled(text, role.style()))
        };
        menu.matches.iter().enumerate().skip(first).take(most).map(line).collect()
    }
}

/// Breaks a line into pieces that fit. Returns at least one.
fn split_to_width(line: &str, room: usize) -> Vec<String> {
    let (mut pieces, mut used) = (vec![String::new()], 0);
    for letter in line.chars() {
        let wide = letter.width().unwrap_or(0);
        if used + wide > room && used > 0 {
            pieces.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(last) = pieces.last_mut() {
            last.push(letter);
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyEvent;

    use super::*;

    const SIZE: (usize, usize) = (20, 6);

    fn prompt() -> LinePrompt {
        let mut prompt = LinePrompt::new(false, vec!["before".into()]);
        prompt.set_label("ask> ");
        prompt
    }

    fn key(prompt: &mut LinePrompt, code: KeyCode, modifiers: KeyModifiers) -> PromptEvent {
        prompt.handle(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn type_in(prompt: &mut LinePrompt, text: &str) -> PromptEvent {
        let press = |letter| key(prompt, KeyCode::Char(letter), KeyModifiers::NONE);
        text.chars().map(press).last().unwrap_or(PromptEvent::Changed)
    }

    #[test]
    fn the_text_is_drawn_in_place_and_stays_when_it_was_entered() {
        let mut prompt = prompt();
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> \r\x1b[5C");
        type_in(&mut prompt, "why?");
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> why?\r\x1b[9C");
        assert_eq!(key(&mut prompt, KeyCode::Enter, KeyModifiers::NONE), PromptEvent::Entered("why?".into()));
        assert_eq!(prompt.finish(SIZE), "\r\x1b[Jask> why?\n");
        // The history has the text.
        key(&mut prompt, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> why?\r\x1b[9C");
    }

    #[test]
    fn long_lines_are_broken_and_new_lines_align_with_the_first() {
        let mut prompt = prompt();
        type_in(&mut prompt, "abcdefghijklmnop:");
        key(&mut prompt, KeyCode::Enter, KeyModifiers::ALT);
        type_in(&mut prompt, "日本");
        let shown = prompt.draw(SIZE);
        assert_eq!(shown, "\r\x1b[Jask> abcdefghijklmn\n     op:\n     日本\r\x1b[9C");
        key(&mut prompt, KeyCode::Up, KeyModifiers::NONE);
        let shown = prompt.draw(SIZE);
        assert!(shown.starts_with("\x1b[2A\r\x1b[J") && shown.ends_with("日本\x1b[2A\r\x1b[7C"), "{shown:?}");
        let entry = key(&mut prompt, KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(entry, PromptEvent::Entered("abcdefghijklmnop:\n日本".into()));
    }

    #[test]
    fn a_text_longer_than_the_screen_is_shown_around_the_cursor_and_finished_whole() {
        let mut prompt = prompt();
        prompt.handle(&Event::Paste((0..9).map(|line| format!("line {line}\n")).collect()));
        let shown = prompt.draw(SIZE);
        assert!(!shown.contains("line 3") && shown.contains("line 8"), "{shown:?}");
        assert!(prompt.finish(SIZE).contains("ask> line 0\n"));
        for size in [(1, 1), (2, 3), (5, 2), (6, 1)] {
            type_in(&mut prompt, "some words");
            prompt.draw(size);
        }
    }

    #[test]
    fn completions_are_shown_below_the_text() {
        let mut prompt = prompt();
        type_in(&mut prompt, "/m");
        let asked = key(&mut prompt, KeyCode::Tab, KeyModifiers::NONE);
        assert_eq!(asked, PromptEvent::Complete("/m".into(), 2));
        prompt.offer(vec!["/mode".into(), "/more".into()], 0, 2, 2);
        let shown = prompt.draw(SIZE);
        assert_eq!(shown, "\r\x1b[Jask> /mo\n    /mode\n    /more\x1b[2A\r\x1b[8C");
        key(&mut prompt, KeyCode::Tab, KeyModifiers::NONE);
        assert!(prompt.draw(SIZE).contains("ask> /mode\n"));
        assert_eq!(prompt.finish(SIZE), "\r\x1b[Jask> /mode\n");
    }

    #[test]
    fn ctrl_c_discards_the_text_and_ctrl_d_leaves_an_empty_prompt() {
        let mut prompt = prompt();
        type_in(&mut prompt, "no");
        assert_eq!(key(&mut prompt, KeyCode::Char('d'), KeyModifiers::CONTROL), PromptEvent::Changed);
        assert_eq!(key(&mut prompt, KeyCode::Char('c'), KeyModifiers::CONTROL), PromptEvent::Changed);
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> \r\x1b[5C");
        assert_eq!(key(&mut prompt, KeyCode::Char('c'), KeyModifiers::CONTROL), PromptEvent::Dropped);
        assert_eq!(key(&mut prompt, KeyCode::Char('d'), KeyModifiers::CONTROL), PromptEvent::Leave);
    }
}
