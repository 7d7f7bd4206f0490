//! The state of the REPL's screen: its content and the effect of keys, without terminal and host.

use std::time::{Duration, Instant};

use cellist_host::{CallReport, CallView, Stage};
use cellist_output::{Ansi, clean};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use super::completeness::is_complete;
use super::export::{ReplCell, ReplRecord};
use super::only;
use crate::ansi::to_terminal;
use crate::block::{
    BlockDetail, BlockSource, BlockState, CellBlock, OutputPiece, RenderOptions, format_progress,
    report_pieces,
};
use crate::block_list::BlockList;
use crate::composer::{Composer, ComposerAction};
use crate::graphics::ImageSupport;
use crate::highlight::highlight;
use crate::screen::FrameOutput;
use crate::style::TextRole;
use crate::text::{display_width, fit_to_width, visible};

/// The rows of a folded block's output.
const PREVIEW: usize = 20;
/// Maximum completions on the screen.
const MATCHES: usize = 8;
const PROMPT: &str = ">>> ";
const CONTINUATION: &str = "... ";
const HELP: &str = "Tab complete · name? help · Ctrl-O unfold · Ctrl-D quit";

/// The effect of an input outside of the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplAction {
    Nothing,
    Leave,
    Run(String),
    Interrupt,
    Restart,
    Save(String),
    Complete(String, usize),
    Inspect(String),
}

pub(super) struct ReplModel {
    session: String,
    list: BlockList,
    images: ImageSupport,
    /// The input line with its history.
    composer: Composer,
    record: ReplRecord,
    language: String,
    /// The index of the running block, and its start.
    running: Option<(usize, Instant)>,
    /// The number of the animation frame.
    frame: usize,
    /// Shown in the last line until the next key.
    message: String,
    /// Whether the list scrolls with new output.
    follows: bool,
}

impl ReplModel {
    pub(super) fn new(session: String, images: ImageSupport, history: Vec<String>) -> ReplModel {
        ReplModel {
            session,
            list: BlockList::new(PREVIEW, images),
            images,
            composer: Composer::of_code(history),
            record: ReplRecord::default(),
            language: "python".to_owned(),
            running: None,
            frame: 0,
            message: String::new(),
            follows: true,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Shows a message in the last line until the next key.
    pub(super) fn show_message(&mut self, message: &str) {
        self.message = visible(&message.replace('\n', " "));
    }

    /// Everything that ran, as a notebook file.
    pub(super) fn notebook(&self) -> Vec<u8> {
        self.record.to_notebook()
    }

    /// The text that remains on the terminal after the REPL.
    pub(super) fn transcript(&self, has_colour: bool) -> String {
        let (width, _) = crate::terminal::size();
        let detail = BlockDetail::Preview(PREVIEW);
        let options = RenderOptions { width, detail, key: "`cellist repl`", images: self.images };
        self.list.blocks().map(|block| to_terminal(&block.render(&options), has_colour) + "\n").collect()
    }

    pub(super) fn tick(&mut self, now: Instant) {
        self.frame = self.frame.wrapping_add(1);
        if let Some((at, since)) = self.running {
            let frame = self.frame;
            self.change(at, |block| {
                block.state = BlockState::Running(frame);
                block.time = Some(now.saturating_duration_since(since));
            });
        }
    }

    fn change(&mut self, at: usize, change: impl FnOnce(&mut CellBlock)) {
        let block = self.list.blocks().nth(at).cloned();
        if let Some(mut block) = block {
            change(&mut block);
            self.list.set(at, block);
        }
    }

    /// Shows the progress of the running code.
    pub(super) fn show_progress(&mut self, view: &CallView) {
        let Some((at, _)) = self.running else { return };
        let text = match view.stage {
            Stage::Queued { before: 0, .. } | Stage::Ended => return,
            Stage::Queued { before: 1, .. } => "waiting for another call in this session".to_owned(),
            Stage::Queued { before, .. } => format!("waiting for {before} other calls in this session"),
            Stage::Starting => "starting the kernel".to_owned(),
            Stage::Running { .. } => clean(view.text.as_bytes(), Ansi::KeepColour),
        };
        let progress = view.bar.as_ref().map(format_progress);
        self.change(at, |block| {
            block.pieces = if text.is_empty() { Vec::new() } else { vec![OutputPiece::Text(text)] };
            block.progress = progress;
        });
    }

    /// Shows the report of the code that has ended.
    pub(super) fn end_run(&mut self, report: CallReport) {
        let Some((at, _)) = self.running.take() else { return };
        let (ran, notices) = only(report);
        let Some(ran) = ran else {
            let why = notices.last().cloned().unwrap_or_else(|| "nothing ran".to_owned());
            return self.end(at, BlockState::Cancelled, None, vec![OutputPiece::Warning(why)]);
        };
        if let Some(info) = ran.language_info {
            if let Some(name) = info["name"].as_str() {
                self.language = name.to_owned();
            }
            self.record.language_info = Some(info);
        }
        let report = ran.report;
        let mut pieces = report_pieces(&report);
        pieces.extend(notices.into_iter().map(OutputPiece::Warning));
        if let Some(cell) = self.record.cells.last_mut() {
            cell.outputs = report.outputs;
            cell.count = report.execution_count;
        }
        let time = Duration::from_millis(report.duration_ms);
        self.end(at, report.status.into(), Some(time), pieces);
        if let Some(count) = report.execution_count {
            self.change(at, |block| block.label = format!("In[{count}]"));
        }
    }

    /// Ends the code as interrupted before it ran.
    pub(super) fn end_interrupted(&mut self, why: &str) {
        if let Some((at, _)) = self.running.take() {
            self.end(at, BlockState::Cancelled, None, vec![OutputPiece::Warning(why.to_owned())]);
        }
    }

    /// Ends the code as failed before it ran.
    pub(super) fn end_failed(&mut self, why: &str) {
        if let Some((at, _)) = self.running.take() {
            self.end(at, BlockState::Failed, None, vec![OutputPiece::Warning(why.to_owned())]);
        }
    }

    fn end(&mut self, at: usize, state: BlockState, time: Option<Duration>, pieces: Vec<OutputPiece>) {
        self.change(at, |block| {
            (block.state, block.time, block.pieces, block.progress) = (state, time, pieces, None);
        });
    }

    /// Offers completions, unless the code has changed since the request.
    pub(super) fn complete(&mut self, matches: Vec<String>, start: usize, end: usize, cursor: usize) {
        self.composer.offer(matches, start, end, cursor);
    }

    /// Adds the documentation of a name.
    pub(super) fn show_inspection(&mut self, code: &str, text: Option<String>) {
        let at = self.list.len();
        let (state, piece) = match text {
            Some(text) => (BlockState::Complete, OutputPiece::Text(clean(text.as_bytes(), Ansi::KeepColour))),
            None => (BlockState::Failed, OutputPiece::Warning(format!("no information about {code}"))),
        };
        self.list.set(
            at,
            CellBlock { state, title: format!("{code}?"), pieces: vec![piece], ..CellBlock::default() },
        );
        self.follows = true;
    }

    /// Handles an input of the terminal.
    pub(super) fn handle(&mut self, event: &Event) -> ReplAction {
        match event {
            Event::Paste(text) => {
                self.composer.insert(text);
                ReplAction::Nothing
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.message.clear();
                self.key(*key)
            }
            _ => ReplAction::Nothing,
        }
    }

    fn key(&mut self, key: KeyEvent) -> ReplAction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control && self.is_running() => return ReplAction::Interrupt,
            KeyCode::Char('c') if control => self.composer.clear(),
            KeyCode::Char('d') if control && self.composer.editor().is_empty() => return ReplAction::Leave,
            KeyCode::Char('o') if control => {
                self.list.toggle(self.list.len().saturating_sub(1));
                self.follows = true;
            }
            KeyCode::PageUp => self.scroll(-2),
            KeyCode::PageDown => self.scroll(2),
            _ => match self.composer.key(key) {
                ComposerAction::Nothing => {}
                ComposerAction::Enter => return self.enter(),
                ComposerAction::Complete(code, cursor) => return ReplAction::Complete(code, cursor),
            },
        }
        ReplAction::Nothing
    }

    fn scroll(&mut self, halves: isize) {
        self.list.scroll(halves * self.list.half());
        self.follows = self.list.is_at_end();
    }

    fn enter(&mut self) -> ReplAction {
        let editor = self.composer.editor();
        if editor.is_empty() {
            self.composer.clear();
            return ReplAction::Nothing;
        }
        if !editor.is_on_last() || !is_complete(&editor.text()) {
            self.composer.new_line();
            return ReplAction::Nothing;
        }
        if self.is_running() {
            self.show_message("code is running; Ctrl-C interrupts it");
            return ReplAction::Nothing;
        }
        self.follows = true;
        let code = self.composer.take();
        self.action_for(code)
    }

    fn action_for(&mut self, code: String) -> ReplAction {
        let line = code.trim();
        if matches!(line, "exit" | "quit" | "exit()" | "quit()") {
            return ReplAction::Leave;
        }
        if line == "%restart" {
            return ReplAction::Restart;
        }
        if let Some(path) = line.strip_prefix("%notebook ").map(str::trim).filter(|path| !path.is_empty()) {
            return ReplAction::Save(path.to_owned());
        }
        if let Some(name) = line.strip_suffix('?').filter(|name| is_name(name)) {
            return ReplAction::Inspect(name.to_owned());
        }
        let at = self.list.len();
        let source = BlockSource::Code { text: code.clone(), language: self.language.clone() };
        self.list.set(at, CellBlock { state: BlockState::Running(0), source, ..CellBlock::default() });
        self.running = Some((at, Instant::now()));
        self.record.cells.push(ReplCell { code: code.clone(), ..ReplCell::default() });
        ReplAction::Run(code)
    }

    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer) -> FrameOutput {
        let most = (area.height / 2).max(1);
        let rows = (self.composer.editor().lines() as u16).min(most);
        let choices = self.composer.completions().map_or(0, |menu| menu.matches.len().min(MATCHES) as u16);
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
        self.draw_completions(Rect { y: top + rows, height: choices, ..area }, buffer);
        self.foot(foot.width.into()).render(foot, buffer);
        FrameOutput { before, cursor: Some(cursor) }
    }

    fn draw_editor(&self, area: Rect, buffer: &mut Buffer) -> Position {
        let (row, before) = self.composer.editor().cursor();
        let first = (row + 1).saturating_sub(area.height.into());
        let room = usize::from(area.width).saturating_sub(PROMPT.len() + 1).max(1);
        // A line that is too wide scrolls with the cursor.
        let moved = display_width(before).saturating_sub(room);
        let lines = highlight(&self.composer.editor().text(), &self.language);
        for (at, line) in lines.iter().enumerate().skip(first).take(area.height.into()) {
            let y = area.y + (at - first) as u16;
            let prompt = if at == 0 { PROMPT } else { CONTINUATION };
            Span::styled(prompt, TextRole::Position.style()).render(Rect { y, height: 1, ..area }, buffer);
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
        let x = area.x
            + (PROMPT.len() + display_width(before) - moved).min(area.width.saturating_sub(1).into()) as u16;
        Position { x, y: area.y + (row - first) as u16 }
    }

    fn draw_completions(&self, area: Rect, buffer: &mut Buffer) {
        let Some(choice) = self.composer.completions() else { return };
        let at = choice.at.unwrap_or(0);
        let first = (at + 1).saturating_sub(area.height.into());
        let shown = choice.matches.iter().enumerate().skip(first).take(area.height.into());
        for ((number, text), y) in shown.zip(area.top()..) {
            let role = if Some(number) == choice.at { TextRole::Selected } else { TextRole::Aside };
            let text = fit_to_width(&format!("    {}", visible(text)), area.width.into());
            Line::from(Span::styled(text, role.style())).render(Rect { y, height: 1, ..area }, buffer);
        }
    }

    fn foot(&self, width: usize) -> Line<'static> {
        if !self.message.is_empty() {
            return Line::from(Span::styled(fit_to_width(&self.message, width), TextRole::Warning.style()));
        }
        let all = format!("{} · {HELP}", visible(&self.session));
        Line::from(Span::styled(fit_to_width(&all, width), TextRole::Aside.style()))
    }
}

/// Whether a text is an expression that the kernel can describe.
fn is_name(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || "_.[]'\"%".contains(letter);
    !text.is_empty() && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests;
