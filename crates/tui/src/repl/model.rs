//! What the REPL shows and what its keys do, without a terminal or a host.

use std::time::{Duration, Instant};

use cellist_host::{CallReport, CallView, Stage};
use cellist_output::{Ansi, clean};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;
use serde_json::Value;

use super::notebook::{Ran, notebook};
use super::only;
use super::whole::is_whole;
use crate::block::{Block, Frame, Piece, Shown, Source, State, counted, report_pieces};
use crate::composer::{Composer, Wish};
use crate::highlight::highlighted;
use crate::list::List;
use crate::look::Role;
use crate::picture::Picturing;
use crate::screen::Drawing;
use crate::stream::to_terminal;
use crate::text::{columns, fitting, visible};

/// Rows of output that are shown of a block that is folded.
const PREVIEW: usize = 20;
/// Matches that are shown at once.
const MATCHES: usize = 8;
const PROMPT: &str = ">>> ";
const GOES_ON: &str = "... ";
const HELP: &str = "Tab completes · name? explains · Ctrl-O unfolds · Ctrl-D leaves";

/// What is to be done about a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Leave,
    Run(String),
    Interrupt,
    Restart,
    Save(String),
    Complete(String, usize),
    Inspect(String),
}

pub(super) struct Model {
    session: String,
    list: List,
    picturing: Picturing,
    /// What is being written, after what was run here and before.
    composer: Composer,
    ran: Vec<Ran>,
    language: String,
    language_info: Option<Value>,
    running: Option<(usize, Instant)>,
    frame: usize,
    said: String,
    /// Whether the end is followed as it grows.
    follows: bool,
}

impl Model {
    pub(super) fn new(session: String, picturing: Picturing, history: Vec<String>) -> Model {
        Model {
            session,
            list: List::new(PREVIEW, picturing),
            picturing,
            composer: Composer::of_code(history),
            ran: Vec::new(),
            language: "python".to_owned(),
            language_info: None,
            running: None,
            frame: 0,
            said: String::new(),
            follows: true,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Says something at the bottom until the next key.
    pub(super) fn say(&mut self, what: &str) {
        self.said = visible(&what.replace('\n', " "));
    }

    /// All that was run, as a notebook.
    pub(super) fn notebook(&self) -> Vec<u8> {
        notebook(&self.ran, self.language_info.as_ref())
    }

    /// What stays on the terminal when the screen is given back.
    pub(super) fn transcript(&self, has_colour: bool) -> String {
        let (width, _) = crate::terminal::size();
        let shown = Shown::Preview(PREVIEW);
        let frame = Frame { width, shown, key: "`cellist repl`", picturing: self.picturing };
        self.list.blocks().map(|block| to_terminal(&block.draw(&frame), has_colour) + "\n").collect()
    }

    pub(super) fn tick(&mut self, now: Instant) {
        self.frame = self.frame.wrapping_add(1);
        if let Some((at, since)) = self.running {
            let frame = self.frame;
            self.change(at, |block| {
                block.state = State::Running(frame);
                block.time = Some(now.saturating_duration_since(since));
            });
        }
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut Block)) {
        let block = self.list.blocks().nth(at).cloned();
        if let Some(mut block) = block {
            change(&mut block);
            self.list.set(at, block);
        }
    }

    /// Hears the newest of what runs.
    pub(super) fn shows(&mut self, view: &CallView) {
        let Some((at, _)) = self.running else { return };
        let text = match view.stage {
            Stage::Queued { before: 0, .. } | Stage::Ended => return,
            Stage::Queued { before: 1, .. } => "waits for another call in this session".to_owned(),
            Stage::Queued { before, .. } => format!("waits for {before} other calls in this session"),
            Stage::Starting => "the kernel starts".to_owned(),
            Stage::Running { .. } => clean(view.text.as_bytes(), Ansi::KeepColour),
        };
        let progress = view.bar.as_ref().map(counted);
        self.change(at, |block| {
            block.pieces = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text)] };
            block.progress = progress;
        });
    }

    /// What ran has come to its end.
    pub(super) fn ran(&mut self, report: CallReport) {
        let Some((at, _)) = self.running.take() else { return };
        let (ran, more) = only(report);
        let Some(ran) = ran else {
            let why = more.last().cloned().unwrap_or_else(|| "nothing ran".to_owned());
            return self.end(at, State::Cancelled, None, vec![Piece::Warning(why)]);
        };
        if let Some(info) = ran.language_info {
            if let Some(name) = info["name"].as_str() {
                self.language = name.to_owned();
            }
            self.language_info = Some(info);
        }
        let report = ran.report;
        let mut pieces = report_pieces(&report);
        pieces.extend(more.into_iter().map(Piece::Warning));
        if let Some(kept) = self.ran.last_mut() {
            kept.outputs = report.outputs;
            kept.count = report.execution_count;
        }
        let time = Duration::from_millis(report.duration_ms);
        self.end(at, report.status.into(), Some(time), pieces);
        if let Some(count) = report.execution_count {
            self.change(at, |block| block.label = format!("In[{count}]"));
        }
    }

    /// What was to run is not wanted any more.
    pub(super) fn cancelled(&mut self, why: &str) {
        if let Some((at, _)) = self.running.take() {
            self.end(at, State::Cancelled, None, vec![Piece::Warning(why.to_owned())]);
        }
    }

    /// What was to run could not.
    pub(super) fn failed(&mut self, why: &str) {
        if let Some((at, _)) = self.running.take() {
            self.end(at, State::Failed, None, vec![Piece::Warning(why.to_owned())]);
        }
    }

    fn end(&mut self, at: usize, state: State, time: Option<Duration>, pieces: Vec<Piece>) {
        self.change(at, |block| {
            (block.state, block.time, block.pieces, block.progress) = (state, time, pieces, None);
        });
    }

    /// Hears how the code could go on, unless it was changed since.
    pub(super) fn complete(&mut self, matches: Vec<String>, start: usize, end: usize, cursor: usize) {
        self.composer.offer(matches, start, end, cursor);
    }

    /// Hears what is known of a name.
    pub(super) fn inspected(&mut self, code: &str, text: Option<String>) {
        let at = self.list.len();
        let (state, piece) = match text {
            Some(text) => (State::Complete, Piece::Text(clean(text.as_bytes(), Ansi::KeepColour))),
            None => (State::Failed, Piece::Warning(format!("nothing is known of {code}"))),
        };
        self.list
            .set(at, Block { state, title: format!("{code}?"), pieces: vec![piece], ..Block::default() });
        self.follows = true;
    }

    /// What comes of something that happened at the terminal.
    pub(super) fn take(&mut self, event: &Event) -> Deed {
        match event {
            Event::Paste(text) => {
                self.composer.write(text);
                Deed::Nothing
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.said.clear();
                self.key(*key)
            }
            _ => Deed::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent) -> Deed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control && self.is_running() => return Deed::Interrupt,
            KeyCode::Char('c') if control => self.composer.clear(),
            KeyCode::Char('d') if control && self.composer.editor().is_empty() => return Deed::Leave,
            KeyCode::Char('o') if control => {
                self.list.toggle(self.list.len().saturating_sub(1));
                self.follows = true;
            }
            KeyCode::PageUp => self.scroll(-2),
            KeyCode::PageDown => self.scroll(2),
            _ => match self.composer.key(key) {
                Wish::Nothing => {}
                Wish::Enter => return self.enter(),
                Wish::Complete(code, cursor) => return Deed::Complete(code, cursor),
            },
        }
        Deed::Nothing
    }

    fn scroll(&mut self, halves: isize) {
        self.list.scroll(halves * self.list.half());
        self.follows = self.list.is_at_end();
    }

    fn enter(&mut self) -> Deed {
        let editor = self.composer.editor();
        if editor.is_empty() {
            self.composer.clear();
            return Deed::Nothing;
        }
        if !editor.is_on_last() || !is_whole(&editor.text()) {
            self.composer.new_line();
            return Deed::Nothing;
        }
        if self.is_running() {
            self.say("something runs: Ctrl-C interrupts it");
            return Deed::Nothing;
        }
        self.follows = true;
        let code = self.composer.take();
        self.deed_of(code)
    }

    fn deed_of(&mut self, code: String) -> Deed {
        let line = code.trim();
        if matches!(line, "exit" | "quit" | "exit()" | "quit()") {
            return Deed::Leave;
        }
        if line == "%restart" {
            return Deed::Restart;
        }
        if let Some(path) = line.strip_prefix("%notebook ").map(str::trim).filter(|path| !path.is_empty()) {
            return Deed::Save(path.to_owned());
        }
        if let Some(name) = line.strip_suffix('?').filter(|name| is_name(name)) {
            return Deed::Inspect(name.to_owned());
        }
        let at = self.list.len();
        let source = Source::Code { text: code.clone(), language: self.language.clone() };
        self.list.set(at, Block { state: State::Running(0), source, ..Block::default() });
        self.running = Some((at, Instant::now()));
        self.ran.push(Ran { code: code.clone(), ..Ran::default() });
        Deed::Run(code)
    }

    /// Draws everything.
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer) -> Drawing {
        let most = (area.height / 2).max(1);
        let rows = (self.composer.editor().lines() as u16).min(most);
        let choices = self.composer.choice().map_or(0, |choice| choice.matches.len().min(MATCHES) as u16);
        let choices = choices.min(area.height.saturating_sub(rows + 2));
        let foot = Rect { y: area.bottom().saturating_sub(1), height: 1.min(area.height), ..area };
        let top = foot.y.saturating_sub(rows + choices);
        let body = Rect { height: top - area.y.min(top), ..area };
        self.list.resize(body.width, body.height);
        if self.follows {
            self.list.scroll_to_end();
        }
        let before = self.list.draw(body, buffer, false);
        let cursor = self.draw_editor(Rect { y: top, height: rows, ..area }, buffer);
        self.draw_choice(Rect { y: top + rows, height: choices, ..area }, buffer);
        self.foot(foot.width.into()).render(foot, buffer);
        Drawing { before, cursor: Some(cursor) }
    }

    fn draw_editor(&self, area: Rect, buffer: &mut Buffer) -> Position {
        let (row, before) = self.composer.editor().cursor();
        let first = (row + 1).saturating_sub(area.height.into());
        let room = usize::from(area.width).saturating_sub(PROMPT.len() + 1).max(1);
        // A line that is too wide is shown from where the cursor is.
        let moved = columns(before).saturating_sub(room);
        let lines = highlighted(&self.composer.editor().text(), &self.language);
        for (at, line) in lines.iter().enumerate().skip(first).take(area.height.into()) {
            let y = area.y + (at - first) as u16;
            let prompt = if at == 0 { PROMPT } else { GOES_ON };
            Span::styled(prompt, Role::Position.style()).render(Rect { y, height: 1, ..area }, buffer);
            let x = area.x + PROMPT.len() as u16;
            let place = Rect { x, y, width: area.width.saturating_sub(PROMPT.len() as u16), height: 1 };
            match moved > 0 && at == row {
                true => {
                    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
                    let seen: String = text.chars().skip(moved).collect();
                    Line::from(seen).render(place, buffer);
                }
                false => line.render(place, buffer),
            }
        }
        let x =
            area.x + (PROMPT.len() + columns(before) - moved).min(area.width.saturating_sub(1).into()) as u16;
        Position { x, y: area.y + (row - first) as u16 }
    }

    fn draw_choice(&self, area: Rect, buffer: &mut Buffer) {
        let Some(choice) = self.composer.choice() else { return };
        let at = choice.at.unwrap_or(0);
        let first = (at + 1).saturating_sub(area.height.into());
        let shown = choice.matches.iter().enumerate().skip(first).take(area.height.into());
        for ((number, text), y) in shown.zip(area.top()..) {
            let role = if Some(number) == choice.at { Role::Found } else { Role::Aside };
            let text = fitting(&format!("    {}", visible(text)), area.width.into());
            Line::from(Span::styled(text, role.style())).render(Rect { y, height: 1, ..area }, buffer);
        }
    }

    fn foot(&self, width: usize) -> Line<'static> {
        if !self.said.is_empty() {
            return Line::from(Span::styled(fitting(&self.said, width), Role::Warning.style()));
        }
        let all = format!("{} · {HELP}", visible(&self.session));
        Line::from(Span::styled(fitting(&all, width), Role::Aside.style()))
    }
}

/// Whether a text is a name that something can be known of.
fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_.[]'\"%".contains(letter);
    !text.is_empty() && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests;
