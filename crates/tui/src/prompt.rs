//! A prompt on a terminal whose lines scroll away. Pure: what happens becomes text for the terminal.

use crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui_core::text::{Line, Span};
use unicode_width::UnicodeWidthChar;

use crate::block::Drawn;
use crate::composer::{Composer, Wish};
use crate::look::Role;
use crate::stream::to_terminal;
use crate::text::{columns, fitting, visible};

/// Matches that are shown at once.
const MATCHES: usize = 8;

/// Something that is asked for in words.
#[derive(Debug, Default)]
pub(crate) struct Prompt {
    label: String,
    has_colour: bool,
    composer: Composer,
    /// How many rows of what was drawn stand above the cursor.
    above: usize,
}

/// What became of something that happened at the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// It may look different now.
    Nothing,
    /// This was written.
    Written(String),
    /// How the text could go on at this character.
    Complete(String, usize),
    /// Nothing was written, and nothing will be.
    Dropped,
    /// Its user wants to leave.
    Leave,
}

impl Prompt {
    pub(crate) fn new(has_colour: bool, history: Vec<String>) -> Prompt {
        Prompt { has_colour, composer: Composer::of_words(history), ..Prompt::default() }
    }

    /// Asks anew, with these words before what is written.
    pub(crate) fn ask(&mut self, label: &str) {
        self.label = visible(label);
    }

    pub(crate) fn take(&mut self, event: &Event) -> Entry {
        let key = match event {
            Event::Paste(text) => {
                self.composer.write(text);
                return Entry::Nothing;
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => *key,
            _ => return Entry::Nothing,
        };
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => {
                let had_none = self.composer.editor().is_empty();
                self.composer.clear();
                if had_none { Entry::Dropped } else { Entry::Nothing }
            }
            KeyCode::Char('d') if control && self.composer.editor().is_empty() => Entry::Leave,
            _ => match self.composer.key(key) {
                Wish::Nothing => Entry::Nothing,
                Wish::Enter if self.composer.editor().is_empty() => Entry::Written(String::new()),
                Wish::Enter => Entry::Written(self.composer.editor().text()),
                Wish::Complete(text, cursor) => Entry::Complete(text, cursor),
            },
        }
    }

    /// Hears how the text could go on.
    pub(crate) fn offer(&mut self, matches: Vec<String>, start: usize, end: usize, cursor: usize) {
        self.composer.offer(matches, start, end, cursor);
    }

    /// Draws it in place of what was drawn before.
    pub(crate) fn draw(&mut self, (width, height): (usize, usize)) -> String {
        let (rows, (row, column)) = self.rows(width);
        let choices = self.choices(width, height);
        // As much as the screen has, around the cursor.
        let most = height.saturating_sub(choices.len() + 1).max(1);
        let first = (row + 1).saturating_sub(most);
        let count = rows.len().saturating_sub(first).min(most);
        let lines: Vec<Line<'static>> = rows.into_iter().skip(first).take(count).chain(choices).collect();
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

    /// Leaves all of it on the terminal as it is, and the prompt empty.
    pub(crate) fn settle(&mut self, (width, _): (usize, usize)) -> String {
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
        to_terminal(&Drawn { lines, ..Drawn::default() }, self.has_colour)
    }

    /// What is written, broken where the terminal ends; and the row and column of the cursor.
    fn rows(&self, width: usize) -> (Vec<Line<'static>>, (usize, usize)) {
        let label = fitting(&self.label, width.saturating_sub(2));
        let inset = columns(&label);
        let room = width.saturating_sub(inset + 1).max(1);
        let editor = self.composer.editor();
        let (at, before) = editor.cursor();
        let (mut rows, mut cursor) = (Vec::new(), (0, inset));
        for (number, line) in editor.text().split('\n').enumerate() {
            if number == at {
                let before = broken(before, room);
                let column = columns(before.last().map_or("", String::as_str));
                cursor = (rows.len() + before.len() - 1, inset + column);
            }
            for piece in broken(line, room) {
                let head = match rows.is_empty() {
                    true => Span::styled(label.clone(), Role::Position.style()),
                    false => Span::raw(" ".repeat(inset)),
                };
                rows.push(Line::from(vec![head, Span::raw(piece)]));
            }
        }
        (rows, cursor)
    }

    fn choices(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let Some(choice) = self.composer.choice() else { return Vec::new() };
        let most = MATCHES.min(height.saturating_sub(2));
        let first = (choice.at.unwrap_or(0) + 1).saturating_sub(most);
        let line = |(number, text): (usize, &String)| {
            let role = if Some(number) == choice.at { Role::Found } else { Role::Aside };
            let text = fitting(&format!("    {}", visible(text)), width.saturating_sub(1));
            Line::from(Span::styled(text, role.style()))
        };
        choice.matches.iter().enumerate().skip(first).take(most).map(line).collect()
    }
}

/// A line in pieces that fit; at least one.
fn broken(line: &str, room: usize) -> Vec<String> {
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

    fn prompt() -> Prompt {
        let mut prompt = Prompt::new(false, vec!["before".into()]);
        prompt.ask("ask> ");
        prompt
    }

    fn key(prompt: &mut Prompt, code: KeyCode, modifiers: KeyModifiers) -> Entry {
        prompt.take(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    fn type_in(prompt: &mut Prompt, text: &str) -> Entry {
        let press = |letter| key(prompt, KeyCode::Char(letter), KeyModifiers::NONE);
        text.chars().map(press).last().unwrap_or(Entry::Nothing)
    }

    #[test]
    fn what_is_written_is_drawn_in_its_place_and_stays_when_it_was_sent() {
        let mut prompt = prompt();
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> \r\x1b[5C");
        type_in(&mut prompt, "why?");
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> why?\r\x1b[9C");
        assert_eq!(key(&mut prompt, KeyCode::Enter, KeyModifiers::NONE), Entry::Written("why?".into()));
        assert_eq!(prompt.settle(SIZE), "\r\x1b[Jask> why?\n");
        // It can be had again.
        key(&mut prompt, KeyCode::Up, KeyModifiers::NONE);
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> why?\r\x1b[9C");
    }

    #[test]
    fn long_lines_are_broken_and_new_lines_begin_where_the_first_did() {
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
        assert_eq!(entry, Entry::Written("abcdefghijklmnop:\n日本".into()));
    }

    #[test]
    fn a_text_that_is_longer_than_the_screen_is_shown_around_the_cursor_and_left_whole() {
        let mut prompt = prompt();
        prompt.take(&Event::Paste((0..9).map(|line| format!("line {line}\n")).collect()));
        let shown = prompt.draw(SIZE);
        assert!(!shown.contains("line 3") && shown.contains("line 8"), "{shown:?}");
        assert!(prompt.settle(SIZE).contains("ask> line 0\n"));
        for size in [(1, 1), (2, 3), (5, 2), (6, 1)] {
            type_in(&mut prompt, "some words");
            prompt.draw(size);
        }
    }

    #[test]
    fn ways_to_go_on_are_offered_below() {
        let mut prompt = prompt();
        type_in(&mut prompt, "/m");
        let asked = key(&mut prompt, KeyCode::Tab, KeyModifiers::NONE);
        assert_eq!(asked, Entry::Complete("/m".into(), 2));
        prompt.offer(vec!["/mode".into(), "/more".into()], 0, 2, 2);
        let shown = prompt.draw(SIZE);
        assert_eq!(shown, "\r\x1b[Jask> /mo\n    /mode\n    /more\x1b[2A\r\x1b[8C");
        key(&mut prompt, KeyCode::Tab, KeyModifiers::NONE);
        assert!(prompt.draw(SIZE).contains("ask> /mode\n"));
        assert_eq!(prompt.settle(SIZE), "\r\x1b[Jask> /mode\n");
    }

    #[test]
    fn what_was_begun_can_be_dropped_and_an_empty_prompt_left() {
        let mut prompt = prompt();
        type_in(&mut prompt, "no");
        assert_eq!(key(&mut prompt, KeyCode::Char('d'), KeyModifiers::CONTROL), Entry::Nothing);
        assert_eq!(key(&mut prompt, KeyCode::Char('c'), KeyModifiers::CONTROL), Entry::Nothing);
        assert_eq!(prompt.draw(SIZE), "\r\x1b[Jask> \r\x1b[5C");
        assert_eq!(key(&mut prompt, KeyCode::Char('c'), KeyModifiers::CONTROL), Entry::Dropped);
        assert_eq!(key(&mut prompt, KeyCode::Char('d'), KeyModifiers::CONTROL), Entry::Leave);
    }
}
