//! The copy of the notebook that is shown: all of it at first, then what is new.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use cellist_link::{Activity, Bar, NotebookAsk, NotebookCell, NotebookNewer, NotebookNews, NotebookState};
use cellist_notebook::{CellId, CellType, Ids, Notebook};

use super::Model;
use crate::block::{Block, Piece, Source, State, counted, pieces};

/// What a block shows of how its cell stands.
#[derive(Debug, Default)]
struct Standing {
    state: State,
    label: String,
    time: Option<Duration>,
    remarks: Vec<String>,
    progress: Option<(Option<f64>, String)>,
}

impl Standing {
    fn is(&self, block: &Block) -> bool {
        self.state == block.state
            && self.label == block.label
            && self.time == block.time
            && self.remarks == block.remarks
            && self.progress == block.progress
    }

    fn of(self, block: Block) -> Block {
        let Standing { state, label, time, remarks, progress } = self;
        Block { state, label, time, remarks, progress, ..block }
    }
}

impl Model {
    /// Takes a newer state over. Says whether one is known to be newer still.
    pub(in crate::view) fn update(&mut self, state: &NotebookState) -> bool {
        let Ok(notebook) = Notebook::parse(state.text.clone().into_bytes(), Ids::seeded(0)) else {
            self.hear(&state.news);
            self.say("what the notebook holds now cannot be shown");
            return false;
        };
        self.language = language(&notebook);
        self.arrange(state.cells.iter().map(|(id, _)| id.clone()).collect());
        self.states = state.cells.iter().map(|(_, state)| state.clone()).collect();
        // Its cells have the names here that the state tells.
        for (at, cell) in notebook.cells().iter().enumerate().take(self.ids.len()) {
            self.fill(at, NotebookCell::from(cell));
        }
        self.heard(&state.news, None)
    }

    /// Takes over what is new. Says whether something is known to be newer still.
    pub(in crate::view) fn renew(&mut self, newer: NotebookNewer) -> bool {
        if let Some(order) = newer.order {
            self.arrange(order);
        }
        for (id, state) in newer.states {
            if let Some(at) = self.position(&id) {
                self.states[at] = Some(state);
            }
        }
        for cell in newer.cells {
            if let Some(at) = self.position(&cell.id) {
                self.fill(at, cell);
            }
        }
        self.heard(&newer.news, Some(newer.answer))
    }

    /// What is to be asked about what is new.
    pub(in crate::view) fn question(&self) -> NotebookAsk {
        NotebookAsk::Newer { version: self.known, answer: self.answer }
    }

    /// How far the cell is that a run from here is at.
    pub(in crate::view) fn goes(&mut self, cell: Option<CellId>, bar: Option<&Bar>) {
        self.progress = cell.zip(bar.map(counted));
        if let Some(at) = self.running() {
            self.stand(at);
        }
    }

    fn position(&self, cell: &CellId) -> Option<usize> {
        self.ids.iter().position(|id| id == cell)
    }

    fn arrange(&mut self, ids: Vec<CellId>) {
        if ids == self.ids {
            return;
        }
        let before: HashMap<&CellId, usize> = self.ids.iter().zip(0..).collect();
        let from: Vec<Option<usize>> = ids.iter().map(|id| before.get(id).copied()).collect();
        self.list.arrange(&from);
        let old = |at: &Option<usize>| at.and_then(|at| self.states.get(at).cloned().flatten());
        self.states = from.iter().map(old).collect();
        let old = |at: &Option<usize>| at.and_then(|at| self.counts.get(at).copied().flatten());
        self.counts = from.iter().map(old).collect();
        self.ids = ids;
    }

    /// Puts into a block what its cell holds.
    fn fill(&mut self, at: usize, cell: NotebookCell) {
        let (text, language) = (cell.source, self.language.clone());
        let (source, pieces) = match cell.kind {
            CellType::Markdown => (Source::Markdown(text), Vec::new()),
            CellType::Raw => (Source::Raw(text), Vec::new()),
            CellType::Code => (Source::Code { text, language }, pieces(&cell.outputs)),
        };
        if cell.kind != CellType::Code {
            self.states[at] = None;
        }
        self.counts[at] = cell.execution_count;
        let standing = self.standing(at, &source, &pieces);
        self.list.set(at, standing.of(Block { source, pieces, ..Block::default() }));
    }

    /// All is taken over that this is the news of.
    fn heard(&mut self, news: &NotebookNews, answer: Option<u64>) -> bool {
        self.hear(news);
        (self.known, self.answer) = (news.version, answer);
        let running = self.running().map(|at| self.ids[at].clone());
        if self.since.as_ref().map(|(id, _)| id) != running.as_ref() {
            self.since = running.map(|id| (id, Instant::now()));
        }
        for at in 0..self.list.len() {
            self.stand(at);
        }
        self.version > self.known
    }

    /// Shows how a cell stands; what stands as it did is not touched.
    fn stand(&mut self, at: usize) {
        let Some(block) = self.list.block(at) else { return };
        let standing = self.standing(at, &block.source, &block.pieces);
        if !standing.is(block) {
            let block = standing.of(block.clone());
            self.list.set(at, block);
        }
    }

    fn standing(&self, at: usize, source: &Source, pieces: &[Piece]) -> Standing {
        let count = self.counts.get(at).copied().flatten();
        let label = match count {
            Some(count) => format!("[{at}] In[{count}]"),
            None => format!("[{at}]"),
        };
        if !matches!(source, Source::Code { .. }) {
            return Standing { label, ..Standing::default() };
        }
        let known = self.states.get(at).and_then(Option::as_ref);
        let last = known.and_then(|known| known.last.as_ref());
        let has_failed = pieces.iter().any(|piece| matches!(piece, Piece::Error { .. }));
        let state = match (known.map(|known| known.activity).unwrap_or_default(), last) {
            (Activity::Pending, _) => State::Pending,
            (Activity::Running, _) => State::Running(self.frame),
            (Activity::Idle, Some(last)) if !last.success => State::from(last.status),
            (Activity::Idle, _) if has_failed => State::Failed,
            (Activity::Idle, Some(_)) => State::Complete,
            (Activity::Idle, None) if count.is_some() => State::Complete,
            (Activity::Idle, None) => State::Resting,
        };
        let time = match state {
            State::Running(_) => self.since.as_ref().map(|(_, since)| since.elapsed()),
            // Its time is that of the last run.
            State::Pending => None,
            _ => last.map(|last| Duration::from_millis(last.duration_ms)),
        };
        let stale: Vec<String> = known.iter().flat_map(|known| &known.stale).map(|why| why.words()).collect();
        let remarks =
            if stale.is_empty() { Vec::new() } else { vec![format!("stale: {}", stale.join(", "))] };
        let progress = match (state, &self.progress) {
            (State::Running(_), Some((cell, progress))) if self.ids.get(at) == Some(cell) => {
                Some(progress.clone())
            }
            _ => None,
        };
        Standing { state, label, time, remarks, progress }
    }
}

/// The language of a notebook's code.
fn language(notebook: &Notebook) -> String {
    let metadata = notebook.metadata();
    let name =
        metadata["kernelspec"]["language"].as_str().or_else(|| metadata["language_info"]["name"].as_str());
    name.unwrap_or("python").to_owned()
}
