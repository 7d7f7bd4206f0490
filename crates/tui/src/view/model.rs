//! What the viewer shows and what its keys do, without a terminal or a host.

mod copy;

use std::time::{Duration, Instant};

use cellist_host::{Activity, CellCondition, CellText, NotebookStatus, Reply, Status};
use cellist_notebook::CellId;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use super::keys::{HELP, Wish, wish};
use crate::block::{Block, Piece, Source, State, spoken};
use crate::list::List;
use crate::look::Role;
use crate::markdown::markdown;
use crate::picture::Picturing;
use crate::screen::Drawing;
use crate::text::{columns, fitting, visible};

/// Rows of a cell's output that are shown when it is folded.
const PREVIEW: usize = 20;

/// What is to be done about a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Nothing,
    Leave,
    Run(Vec<CellId>),
    Interrupt,
    Restart,
}

/// Where keys go.
#[derive(Debug, PartialEq, Eq)]
enum Mode {
    Moving,
    Help,
    /// What is searched for is being typed.
    Searching(String),
}

pub(super) struct Model {
    name: String,
    list: List,
    cells: Vec<CellText>,
    conditions: Vec<Option<CellCondition>>,
    /// The numbers of their last runs.
    counts: Vec<Option<i64>>,
    /// The version that is shown.
    version: u64,
    saved: u64,
    problem: Option<String>,
    language: String,
    mode: Mode,
    searched: String,
    before: Option<char>,
    said: String,
    frame: usize,
    /// How far the cell is that is run from here.
    progress: Option<(CellId, (Option<f64>, String))>,
    /// When the cell that runs was first seen to run.
    since: Option<(CellId, Instant)>,
}

impl Model {
    pub(super) fn new(name: String, picturing: Picturing) -> Model {
        Model {
            name,
            list: List::new(PREVIEW, picturing),
            cells: Vec::new(),
            conditions: Vec::new(),
            counts: Vec::new(),
            version: 0,
            saved: 0,
            problem: None,
            language: "python".to_owned(),
            mode: Mode::Moving,
            searched: String::new(),
            before: None,
            said: String::new(),
            frame: 0,
            progress: None,
            since: None,
        }
    }

    /// Notes how far the notebook is saved.
    fn note(&mut self, status: NotebookStatus) {
        (self.saved, self.problem) = (status.saved, status.problem);
    }

    /// Says something at the bottom until the next key.
    pub(super) fn say(&mut self, what: &str) {
        self.said = visible(&what.replace('\n', " "));
    }

    /// A run that was asked for has ended.
    pub(super) fn ran(&mut self, reply: &cellist_host::Result<Reply>) {
        match reply {
            Ok(Reply::Ran(report)) => {
                let time = spoken(Duration::from_millis(report.duration_ms));
                let how = match report.status {
                    Status::Ok => "done in",
                    Status::Error => "failed after",
                    Status::Timeout => "timed out after",
                    Status::Cancelled => "interrupted after",
                };
                let notices: String = report.notices.iter().map(|notice| format!(" · {notice}")).collect();
                self.say(&format!("{how} {time}{notices}"));
            }
            Ok(_) => self.say("nothing ran"),
            Err(error) => self.say(&error.to_string()),
        }
    }

    fn running(&self) -> Option<usize> {
        let is = |condition: &Option<CellCondition>| {
            condition.as_ref().is_some_and(|it| it.activity == Activity::Running)
        };
        self.conditions.iter().position(is)
    }

    /// Whether anything moves by itself.
    pub(super) fn is_moving(&self) -> bool {
        self.running().is_some()
    }

    /// Moves what moves.
    pub(super) fn tick(&mut self, now: Instant) {
        self.frame = self.frame.wrapping_add(1);
        let Some(at) = self.running() else { return };
        let block = self.list.block(at).cloned();
        if let Some(block) = block {
            let time = self.since.as_ref().map(|(_, since)| now.saturating_duration_since(*since));
            self.list.set(at, Block { state: State::Running(self.frame), time, ..block });
        }
    }

    /// What comes of something that happened at the terminal.
    pub(super) fn take(&mut self, event: &Event) -> Deed {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.said.clear();
                match &mut self.mode {
                    Mode::Help => {
                        self.mode = Mode::Moving;
                        Deed::Nothing
                    }
                    Mode::Searching(_) => self.search_key(*key),
                    Mode::Moving => self.key(*key),
                }
            }
            _ => Deed::Nothing,
        }
    }

    fn search_key(&mut self, key: KeyEvent) -> Deed {
        let Mode::Searching(text) = &mut self.mode else { return Deed::Nothing };
        match key.code {
            KeyCode::Char(letter) => text.push(letter),
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Enter => {
                self.searched = std::mem::take(text);
                self.mode = Mode::Moving;
                self.go_to_found(1);
            }
            KeyCode::Esc => self.mode = Mode::Moving,
            _ => {}
        }
        Deed::Nothing
    }

    fn key(&mut self, key: KeyEvent) -> Deed {
        let before = self.before.take();
        let Some(wish) = wish(key, before) else {
            // The first of two keys.
            self.before = match key.code {
                KeyCode::Char(letter) => Some(letter),
                _ => None,
            };
            return Deed::Nothing;
        };
        let at = self.list.selected();
        match wish {
            Wish::Step(by) => self.list.select(at.saturating_add_signed(by)),
            Wish::Rows(by) => self.list.scroll(by),
            Wish::Halves(by) => self.list.scroll(by * self.list.half()),
            Wish::First => self.list.select(0),
            Wish::Last => {
                self.list.select(self.list.len());
                self.list.scroll_to_end();
            }
            Wish::Toggle => self.list.toggle(at),
            Wish::ToggleAll => self.list.toggle_all(),
            Wish::Search => self.mode = Mode::Searching(String::new()),
            Wish::Found(by) => self.go_to_found(by),
            Wish::Error(by) => self.go_to(by, "no cell has failed", |block, _| block.state == State::Failed),
            Wish::Stale(by) => {
                self.go_to(by, "no cell is stale", |_, state| {
                    state.is_some_and(|state| !state.stale.is_empty())
                });
            }
            Wish::Run => return self.run([at]),
            Wish::RunAndGoOn => {
                self.list.select(at + 1);
                return self.run([at]);
            }
            Wish::RunAll => return self.run(0..self.cells.len()),
            Wish::Interrupt => return Deed::Interrupt,
            Wish::Restart => return Deed::Restart,
            Wish::Help => self.mode = Mode::Help,
            Wish::Leave => return Deed::Leave,
        }
        Deed::Nothing
    }

    fn run(&mut self, cells: impl IntoIterator<Item = usize>) -> Deed {
        let can_run = |at: &usize| self.conditions.get(*at).is_some_and(Option::is_some);
        let cells: Vec<CellId> =
            cells.into_iter().filter(can_run).map(|at| self.cells[at].id.clone()).collect();
        if cells.is_empty() {
            self.say("there is no code to run here");
            return Deed::Nothing;
        }
        Deed::Run(cells)
    }

    fn go_to_found(&mut self, by: isize) {
        if self.searched.is_empty() {
            return self.say("nothing was searched for: / begins");
        }
        let text = self.searched.to_lowercase();
        let missing = format!("not found: {}", self.searched);
        self.go_to(by, &missing, |block, _| holds(block, &text));
    }

    /// Selects the next cell of a kind, or the one before; the last is followed by the first.
    fn go_to(&mut self, by: isize, missing: &str, is_meant: impl Fn(&Block, Option<&CellCondition>) -> bool) {
        let count = self.list.len();
        let conditions = &self.conditions;
        let state = |at: usize| conditions.get(at).and_then(Option::as_ref);
        let meant: Vec<bool> =
            self.list.blocks().enumerate().map(|(at, block)| is_meant(block, state(at))).collect();
        let from = self.list.selected();
        let steps = (1..=count).map(|step| match by > 0 {
            true => (from + step) % count,
            false => (from + count - step % count) % count,
        });
        match steps.into_iter().find(|at| meant[*at]) {
            Some(at) => self.list.select(at),
            None => self.say(missing),
        }
    }

    /// Draws everything.
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer) -> Drawing {
        let body = Rect { height: area.height.saturating_sub(1), ..area };
        let before = self.list.draw(body, buffer, true);
        if self.list.is_empty() {
            Line::from(Span::styled("  the notebook has no cells", Role::Aside.style())).render(body, buffer);
        }
        if self.mode == Mode::Help {
            help(body, buffer);
        }
        let foot = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
        let cursor = match &self.mode {
            Mode::Searching(text) => {
                let line = format!("/{text}");
                Line::from(line.clone()).render(foot, buffer);
                let x = (columns(&line) as u16).min(area.width.saturating_sub(1));
                Some(Position { x, y: foot.y })
            }
            Mode::Moving | Mode::Help => {
                self.foot(foot.width.into()).render(foot, buffer);
                None
            }
        };
        Drawing { before, cursor }
    }

    /// The last line: what was said, or where one is and how things stand.
    fn foot(&self, width: usize) -> Line<'static> {
        if !self.said.is_empty() {
            return Line::from(Span::styled(fitting(&self.said, width), Role::Warning.style()));
        }
        if let Some(problem) = &self.problem {
            let said = format!("NOT SAVED: {}", visible(problem));
            return Line::from(Span::styled(fitting(&said, width), Role::Bad.style()));
        }
        let place = match self.list.len() {
            0 => String::new(),
            count => format!(" · cell {} of {count}", self.list.selected()),
        };
        let saved = if self.saved < self.version { " · not yet saved" } else { "" };
        let running = match self.running() {
            Some(at) => format!(" · cell {at} runs"),
            None => String::new(),
        };
        let all = format!("{}{place}{running}{saved} · ? helps, q leaves", visible(&self.name));
        Line::from(Span::styled(fitting(&all, width), Role::Aside.style()))
    }
}

fn help(area: Rect, buffer: &mut Buffer) {
    for y in area.top()..area.bottom() {
        Line::from(" ".repeat(area.width.into())).render(Rect { y, height: 1, ..area }, buffer);
    }
    for (line, y) in
        markdown(HELP, usize::from(area.width).saturating_sub(2)).iter().zip(area.top()..area.bottom())
    {
        line.render(Rect { x: area.x + 1, y, width: area.width.saturating_sub(1), height: 1 }, buffer);
    }
}

/// Whether a text is in a cell's source or in what it showed.
fn holds(block: &Block, text: &str) -> bool {
    let has = |it: &str| it.to_lowercase().contains(text);
    let in_source = match &block.source {
        Source::Code { text, .. } | Source::Markdown(text) | Source::Raw(text) => has(text),
        Source::Hidden => false,
    };
    in_source
        || block.pieces.iter().any(|piece| match piece {
            Piece::Text(text)
            | Piece::Aside(text)
            | Piece::Markdown(text)
            | Piece::Json(text)
            | Piece::Warning(text) => has(text),
            Piece::Error { name, message, traceback } => has(name) || has(message) || has(traceback),
            Piece::Picture(..) | Piece::Unshown(_) | Piece::Status(_) => false,
        })
}

#[cfg(test)]
mod tests;
