//! The copy of the notebook that is shown: all of it at first, then what is new.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use cellist_host::{
    Activity, Bar, CellOutputs, CellText, Effect, NotebookNews, NotebookWhole, SentOutputs, follow,
};
use cellist_notebook::{CellId, CellType};

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
    /// Takes the whole notebook over.
    pub(in crate::view) fn update(&mut self, whole: NotebookWhole) {
        let NotebookWhole { language, version, cells, mut outputs, mut conditions, status, .. } = whole;
        (self.language, self.version) = (language, version);
        self.arrange(cells);
        for at in 0..self.cells.len() {
            let id = &self.cells[at].id;
            self.conditions[at] = conditions.remove(id);
            let outputs = outputs.remove(id);
            self.fill(at, Some(outputs));
        }
        self.note(status);
        self.settle();
    }

    /// Takes over what is new. Returns whether the whole notebook is needed.
    pub(in crate::view) fn renew(&mut self, news: NotebookNews) -> bool {
        let effects: Vec<&Effect> = news.changes.iter().flat_map(|change| &change.effects).collect();
        let mut cells = self.cells.clone();
        let is_followed = effects.iter().all(|effect| follow(&mut cells, effect).is_ok());
        // The language may be another.
        let is_other = effects.iter().any(|effect| matches!(effect, Effect::Metadata { cell: None }));
        if news.is_behind || is_other || !is_followed {
            return true;
        }
        let mut touched: BTreeSet<CellId> = effects.into_iter().filter_map(text_of).cloned().collect();
        self.version = news.changes.last().map_or(self.version, |change| change.version);
        self.arrange(cells);
        for (id, condition) in news.conditions {
            if let Some(at) = self.position(&id) {
                self.conditions[at] = condition;
            }
        }
        for (id, outputs) in news.outputs {
            touched.remove(&id);
            if let Some(at) = self.position(&id) {
                self.fill(at, Some(Some(outputs)));
            }
        }
        for id in touched {
            if let Some(at) = self.position(&id) {
                self.fill(at, None);
            }
        }
        if let Some(status) = news.status {
            self.note(status);
        }
        self.settle();
        false
    }

    /// How far the cell is that a run from here is at.
    pub(in crate::view) fn goes(&mut self, cell: Option<CellId>, bar: Option<&Bar>) {
        self.progress = cell.zip(bar.map(counted));
        if let Some(at) = self.running() {
            self.stand(at);
        }
    }

    fn position(&self, cell: &CellId) -> Option<usize> {
        self.cells.iter().position(|known| known.id == *cell)
    }

    fn arrange(&mut self, cells: Vec<CellText>) {
        let before: HashMap<&CellId, usize> = self.cells.iter().map(|cell| &cell.id).zip(0..).collect();
        let from: Vec<Option<usize>> = cells.iter().map(|cell| before.get(&cell.id).copied()).collect();
        if from.len() != self.cells.len() || from.iter().zip(0..).any(|(from, at)| *from != Some(at)) {
            self.list.arrange(&from);
            let old = |at: &Option<usize>| at.and_then(|at| self.conditions.get(at).cloned().flatten());
            self.conditions = from.iter().map(old).collect();
            let old = |at: &Option<usize>| at.and_then(|at| self.counts.get(at).copied().flatten());
            self.counts = from.iter().map(old).collect();
        }
        self.cells = cells;
    }

    /// Puts into a block what its cell holds. Without news of its outputs, those stay.
    fn fill(&mut self, at: usize, outputs: Option<Option<CellOutputs>>) {
        let (kind, text, language) =
            (self.cells[at].kind, self.cells[at].source.clone(), self.language.clone());
        let old = self.list.block(at).map(|block| block.pieces.clone()).unwrap_or_default();
        let shown = match outputs {
            None => old,
            Some(outputs) => {
                self.counts[at] = outputs.as_ref().and_then(|outputs| outputs.count);
                match outputs.map(|outputs| outputs.outputs) {
                    Some(SentOutputs::Whole(outputs)) => pieces(&outputs),
                    Some(SentOutputs::Bounded(_)) | None => Vec::new(),
                }
            }
        };
        let (source, pieces) = match kind {
            CellType::Markdown => (Source::Markdown(text), Vec::new()),
            CellType::Raw => (Source::Raw(text), Vec::new()),
            CellType::Code => (Source::Code { text, language }, shown),
        };
        if kind != CellType::Code {
            self.conditions[at] = None;
        }
        let standing = self.standing(at, &source, &pieces);
        self.list.set(at, standing.of(Block { source, pieces, ..Block::default() }));
    }

    /// Everything that was told is taken over.
    fn settle(&mut self) {
        let running = self.running().map(|at| self.cells[at].id.clone());
        if self.since.as_ref().map(|(id, _)| id) != running.as_ref() {
            self.since = running.map(|id| (id, Instant::now()));
        }
        for at in 0..self.list.len() {
            self.stand(at);
        }
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
        let known = self.conditions.get(at).and_then(Option::as_ref);
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
        let stale = known.map(|known| known.stale.join(", ")).filter(|stale| !stale.is_empty());
        let remarks = stale.map(|stale| format!("stale: {stale}")).into_iter().collect();
        let progress = match (state, &self.progress) {
            (State::Running(_), Some((cell, progress)))
                if self.cells.get(at).map(|known| &known.id) == Some(cell) =>
            {
                Some(progress.clone())
            }
            _ => None,
        };
        Standing { state, label, time, remarks, progress }
    }
}

/// The cell whose text or type an effect changes.
fn text_of(effect: &Effect) -> Option<&CellId> {
    match effect {
        Effect::Inserted { cell, .. } | Effect::Retyped { cell, .. } | Effect::Changed { cell, .. } => {
            Some(cell)
        }
        Effect::Deleted { .. } | Effect::Moved { .. } | Effect::Outputs { .. } | Effect::Metadata { .. } => {
            None
        }
    }
}
