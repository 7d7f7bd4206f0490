//! The state of the viewer's screen: its content and the effect of keys, without terminal and host.

mod replica;

use std::time::{Duration, Instant};

use cellist_host::{Activity, CellCondition, NotebookStatus, Reply, Status};
use cellist_notebook::CellId;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use super::keys::{HELP, ViewerCommand, command};
use crate::block::{BlockSource, BlockState, CellBlock, OutputPiece, format_duration};
use crate::block_list::BlockList;
use crate::graphics::ImageSupport;
use crate::markdown::render_markdown;
use crate::screen::FrameOutput;
use crate::style::TextRole;
use crate::text::{display_width, fit_to_width, visible};
use replica::NotebookReplica;

/// The rows of a folded cell's output.
const PREVIEW: usize = 20;

/// The effect of a key outside of the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ViewerAction {
    Nothing,
    Leave,
    Run(Vec<CellId>),
    Interrupt,
    Restart,
}

/// The meaning of keys.
#[derive(Debug, PartialEq, Eq)]
enum ViewerMode {
    Moving,
    Help,
    /// The text of a search is being typed.
    Searching(String),
}

pub(super) struct ViewerModel {
    name: String,
    /// The blocks, in the order of the replica's cells.
    list: BlockList,
    replica: NotebookReplica,
    mode: ViewerMode,
    /// The text of the last search.
    searched: String,
    /// The first of two keys.
    pending_key: Option<char>,
    /// Shown in the last line until the next key.
    message: String,
    /// The number of the animation frame.
    frame: usize,
    /// The progress of the cell that was run from here.
    progress: Option<(CellId, (Option<f64>, String))>,
    /// The running cell, and the time when the viewer first saw it run.
    since: Option<(CellId, Instant)>,
}

impl ViewerModel {
    pub(super) fn new(name: String, images: ImageSupport) -> ViewerModel {
        ViewerModel {
            name,
            list: BlockList::new(PREVIEW, images),
            replica: NotebookReplica::default(),
            mode: ViewerMode::Moving,
            searched: String::new(),
            pending_key: None,
            message: String::new(),
            frame: 0,
            progress: None,
            since: None,
        }
    }

    fn set_status(&mut self, status: NotebookStatus) {
        (self.replica.saved, self.replica.problem) = (status.saved, status.problem);
    }

    /// Shows a message in the last line until the next key.
    pub(super) fn show_message(&mut self, message: &str) {
        self.message = visible(&message.replace('\n', " "));
    }

    /// Shows how a run from here has ended.
    pub(super) fn show_run_result(&mut self, reply: &cellist_host::Result<Reply>) {
        match reply {
            Ok(Reply::Ran(report)) => {
                let time = format_duration(Duration::from_millis(report.duration_ms));
                let how = match report.status {
                    Status::Ok => "done in",
                    Status::Error => "failed after",
                    Status::Timeout => "timed out after",
                    Status::Cancelled => "interrupted after",
                };
                let notices: String = report.notices.iter().map(|notice| format!(" · {notice}")).collect();
                self.show_message(&format!("{how} {time}{notices}"));
            }
            Ok(_) => self.show_message("nothing ran"),
            Err(error) => self.show_message(&error.to_string()),
        }
    }

    /// The index of the running cell.
    fn running(&self) -> Option<usize> {
        let is = |condition: &Option<CellCondition>| {
            condition.as_ref().is_some_and(|it| it.activity == Activity::Running)
        };
        self.replica.conditions.iter().position(is)
    }

    /// Whether a cell runs, so that the screen is animated.
    pub(super) fn is_running(&self) -> bool {
        self.running().is_some()
    }

    /// Updates the spinner and the time of the running cell.
    pub(super) fn tick(&mut self, now: Instant) {
        self.frame = self.frame.wrapping_add(1);
        let Some(at) = self.running() else { return };
        let block = self.list.block(at).cloned();
        if let Some(block) = block {
            let time = self.since.as_ref().map(|(_, since)| now.saturating_duration_since(*since));
            self.list.set(at, CellBlock { state: BlockState::Running(self.frame), time, ..block });
        }
    }

    /// Handles an input of the terminal.
    pub(super) fn handle(&mut self, event: &Event) -> ViewerAction {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.message.clear();
                match &mut self.mode {
                    ViewerMode::Help => {
                        self.mode = ViewerMode::Moving;
                        ViewerAction::Nothing
                    }
                    ViewerMode::Searching(_) => self.search_key(*key),
                    ViewerMode::Moving => self.key(*key),
                }
            }
            _ => ViewerAction::Nothing,
        }
    }

    fn search_key(&mut self, key: KeyEvent) -> ViewerAction {
        let ViewerMode::Searching(text) = &mut self.mode else { return ViewerAction::Nothing };
        match key.code {
            KeyCode::Char(letter) => text.push(letter),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Enter => {
                self.searched = std::mem::take(text);
                self.mode = ViewerMode::Moving;
                self.go_to_match(1);
            }
            KeyCode::Esc => self.mode = ViewerMode::Moving,
            _ => {}
        }
        ViewerAction::Nothing
    }

    fn key(&mut self, key: KeyEvent) -> ViewerAction {
        let before = self.pending_key.take();
        let Some(command) = command(key, before) else {
            self.pending_key = match key.code {
                KeyCode::Char(letter) => Some(letter),
                _ => None,
            };
            return ViewerAction::Nothing;
        };
        let at = self.list.selected();
        match command {
            ViewerCommand::Step(by) => self.list.select(at.saturating_add_signed(by)),
            ViewerCommand::Rows(by) => self.list.scroll(by),
            ViewerCommand::Halves(by) => self.list.scroll(by * self.list.half()),
            ViewerCommand::First => self.list.select(0),
            ViewerCommand::Last => {
                self.list.select(self.list.len());
                self.list.scroll_to_end();
            }
            ViewerCommand::Toggle => self.list.toggle(at),
            ViewerCommand::ToggleAll => self.list.toggle_all(),
            ViewerCommand::Search => self.mode = ViewerMode::Searching(String::new()),
            ViewerCommand::Match(by) => self.go_to_match(by),
            ViewerCommand::Error(by) => {
                self.go_to(by, "no cell has failed", |block, _| block.state == BlockState::Failed)
            }
            ViewerCommand::Stale(by) => {
                self.go_to(by, "no cell is stale", |_, state| {
                    state.is_some_and(|state| !state.stale.is_empty())
                });
            }
            ViewerCommand::Run => return self.run([at]),
            ViewerCommand::RunAndAdvance => {
                self.list.select(at + 1);
                return self.run([at]);
            }
            ViewerCommand::RunAll => return self.run(0..self.replica.cells.len()),
            ViewerCommand::Interrupt => return ViewerAction::Interrupt,
            ViewerCommand::Restart => return ViewerAction::Restart,
            ViewerCommand::Help => self.mode = ViewerMode::Help,
            ViewerCommand::Leave => return ViewerAction::Leave,
        }
        ViewerAction::Nothing
    }

    fn run(&mut self, cells: impl IntoIterator<Item = usize>) -> ViewerAction {
        let can_run = |at: &usize| self.replica.conditions.get(*at).is_some_and(Option::is_some);
        let cells: Vec<CellId> =
            cells.into_iter().filter(can_run).map(|at| self.replica.cells[at].id.clone()).collect();
        if cells.is_empty() {
            self.show_message("this cell has no code to run");
            return ViewerAction::Nothing;
        }
        ViewerAction::Run(cells)
    }

    fn go_to_match(&mut self, by: isize) {
        if self.searched.is_empty() {
            return self.show_message("no search yet; / starts one");
        }
        let text = self.searched.to_lowercase();
        let missing = format!("not found: {}", self.searched);
        self.go_to(by, &missing, |block, _| contains(block, &text));
    }

    /// Selects the next or previous matching cell, wrapping around at the ends.
    fn go_to(
        &mut self,
        by: isize,
        missing: &str,
        is_match: impl Fn(&CellBlock, Option<&CellCondition>) -> bool,
    ) {
        let count = self.list.len();
        let conditions = &self.replica.conditions;
        let state = |at: usize| conditions.get(at).and_then(Option::as_ref);
        let matches: Vec<bool> =
            self.list.blocks().enumerate().map(|(at, block)| is_match(block, state(at))).collect();
        let from = self.list.selected();
        let steps = (1..=count).map(|step| match by > 0 {
            true => (from + step) % count,
            false => (from + count - step % count) % count,
        });
        match steps.into_iter().find(|at| matches[*at]) {
            Some(at) => self.list.select(at),
            None => self.show_message(missing),
        }
    }

    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer) -> FrameOutput {
        let body = Rect { height: area.height.saturating_sub(1), ..area };
        let before = self.list.draw(body, buffer, true);
        if self.list.is_empty() {
            Line::from(Span::styled("  The notebook has no cells.", TextRole::Aside.style()))
                .render(body, buffer);
        }
        if self.mode == ViewerMode::Help {
            help(body, buffer);
        }
        let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        let cursor = match &self.mode {
            ViewerMode::Searching(text) => {
                let line = format!("/{text}");
                Line::from(line.clone()).render(foot, buffer);
                let x = (display_width(&line) as u16).min(area.width.saturating_sub(1));
                Some(Position { x, y: foot.y })
            }
            ViewerMode::Moving | ViewerMode::Help => {
                self.status_line(foot.width.into()).render(foot, buffer);
                None
            }
        };
        FrameOutput { before, cursor }
    }

    /// The last line: the message, or position and status.
    fn status_line(&self, width: usize) -> Line<'static> {
        if !self.message.is_empty() {
            return Line::from(Span::styled(fit_to_width(&self.message, width), TextRole::Warning.style()));
        }
        if let Some(problem) = &self.replica.problem {
            let line = format!("NOT SAVED: {}", visible(problem));
            return Line::from(Span::styled(fit_to_width(&line, width), TextRole::Bad.style()));
        }
        let place = match self.list.len() {
            0 => String::new(),
            count => format!(" · cell {} of {count}", self.list.selected()),
        };
        let saved = if self.replica.saved < self.replica.version { " · unsaved" } else { "" };
        let running = match self.running() {
            Some(at) => format!(" · cell {at} is running"),
            None => String::new(),
        };
        let all = format!("{}{place}{running}{saved} · ? help · q quit", visible(&self.name));
        Line::from(Span::styled(fit_to_width(&all, width), TextRole::Aside.style()))
    }
}

fn help(area: Rect, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        Line::from(" ".repeat(area.width.into())).render(Rect { y, height: 1, ..area }, buffer);
    }
    for (line, y) in
        render_markdown(HELP, usize::from(area.width).saturating_sub(2)).iter().zip(area.top()..area.bottom())
    {
        line.render(Rect { x: area.x + 1, y, width: area.width.saturating_sub(1), height: 1 }, buffer);
    }
}

/// Whether a cell's source or output contains a text in lower case.
fn contains(block: &CellBlock, text: &str) -> bool {
    let has = |it: &str| it.to_lowercase().contains(text);
    let in_source = match &block.source {
        BlockSource::Code { text, .. } | BlockSource::Markdown(text) | BlockSource::Raw(text) => has(text),
        BlockSource::Hidden => false,
    };
    in_source
        || block.pieces.iter().any(|piece| match piece {
            OutputPiece::Text(text)
            | OutputPiece::Stderr(text)
            | OutputPiece::Markdown(text)
            | OutputPiece::Json(text)
            | OutputPiece::Warning(text) => has(text),
            OutputPiece::Error { name, message, traceback } => has(name) || has(message) || has(traceback),
            OutputPiece::Image(..) | OutputPiece::ImageNotice(_) | OutputPiece::Status(_) => false,
        })
}

#[cfg(test)]
mod tests;
