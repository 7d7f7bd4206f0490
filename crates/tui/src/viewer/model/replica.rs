//! The viewer's copy of the notebook: loaded whole, then updated by changes.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use cellist_host::{
    Activity, Bar, CellCondition, CellText, Effect, FullNotebook, NotebookUpdate, SentCellOutputs,
    SentOutputs, follow,
};
use cellist_notebook::{CellId, CellType};

use super::ViewerModel;
use crate::block::{BlockSource, BlockState, CellBlock, OutputPiece, format_progress, output_pieces};

/// The viewer's copy of the notebook. `cells`, `conditions` and `counts` have one element per cell.
#[derive(Debug)]
pub(super) struct NotebookReplica {
    pub(super) cells: Vec<CellText>,
    /// The run states. Cells without code have none.
    pub(super) conditions: Vec<Option<CellCondition>>,
    /// The execution counts.
    pub(super) counts: Vec<Option<i64>>,
    pub(super) version: u64,
    /// The newest version in the file.
    pub(super) saved: u64,
    /// Why the notebook cannot be saved.
    pub(super) problem: Option<String>,
    pub(super) language: String,
}

impl Default for NotebookReplica {
    fn default() -> NotebookReplica {
        NotebookReplica {
            cells: Vec::new(),
            conditions: Vec::new(),
            counts: Vec::new(),
            version: 0,
            saved: 0,
            problem: None,
            language: "python".to_owned(),
        }
    }
}

/// The part of a block that shows the status of its cell.
#[derive(Debug, Default)]
struct CellStatusView {
    state: BlockState,
    label: String,
    time: Option<Duration>,
    remarks: Vec<String>,
    progress: Option<(Option<f64>, String)>,
}

impl CellStatusView {
    fn is_shown_by(&self, block: &CellBlock) -> bool {
        self.state == block.state
            && self.label == block.label
            && self.time == block.time
            && self.remarks == block.remarks
            && self.progress == block.progress
    }

    fn applied_to(self, block: CellBlock) -> CellBlock {
        let CellStatusView { state, label, time, remarks, progress } = self;
        CellBlock { state, label, time, remarks, progress, ..block }
    }
}

impl ViewerModel {
    /// Replaces the whole notebook.
    pub(in crate::viewer) fn load(&mut self, whole: FullNotebook) {
        let FullNotebook { language, version, cells, mut outputs, mut conditions, status, .. } = whole;
        (self.replica.language, self.replica.version) = (language, version);
        self.arrange(cells);
        for at in 0..self.replica.cells.len() {
            let id = &self.replica.cells[at].id;
            self.replica.conditions[at] = conditions.remove(id);
            let outputs = outputs.remove(id);
            self.fill(at, Some(outputs));
        }
        self.set_status(status);
        self.refresh();
    }

    /// Applies changes. Returns false if that is not possible; the whole notebook must be loaded then.
    pub(in crate::viewer) fn apply(&mut self, news: NotebookUpdate) -> bool {
        let effects: Vec<&Effect> = news.changes.iter().flat_map(|change| &change.effects).collect();
        let mut cells = self.replica.cells.clone();
        let is_followed = effects.iter().all(|effect| follow(&mut cells, effect).is_ok());
        // The language may have changed.
        let is_other = effects.iter().any(|effect| matches!(effect, Effect::Metadata { cell: None }));
        if news.is_behind || is_other || !is_followed {
            return false;
        }
        let mut touched: BTreeSet<CellId> = effects.into_iter().filter_map(edited_cell).cloned().collect();
        self.replica.version = news.changes.last().map_or(self.replica.version, |change| change.version);
        self.arrange(cells);
        for (id, condition) in news.conditions {
            if let Some(at) = self.position(&id) {
                self.replica.conditions[at] = condition;
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
            self.set_status(status);
        }
        self.refresh();
        true
    }

    /// Shows the progress of the cell that was run from here.
    pub(in crate::viewer) fn set_progress(&mut self, cell: Option<CellId>, bar: Option<&Bar>) {
        self.progress = cell.zip(bar.map(format_progress));
        if let Some(at) = self.running() {
            self.show_status(at);
        }
    }

    fn position(&self, cell: &CellId) -> Option<usize> {
        self.replica.cells.iter().position(|known| known.id == *cell)
    }

    fn arrange(&mut self, cells: Vec<CellText>) {
        let before: HashMap<&CellId, usize> =
            self.replica.cells.iter().map(|cell| &cell.id).zip(0..).collect();
        let from: Vec<Option<usize>> = cells.iter().map(|cell| before.get(&cell.id).copied()).collect();
        if from.len() != self.replica.cells.len() || from.iter().zip(0..).any(|(from, at)| *from != Some(at))
        {
            self.list.arrange(&from);
            let old =
                |at: &Option<usize>| at.and_then(|at| self.replica.conditions.get(at).cloned().flatten());
            self.replica.conditions = from.iter().map(old).collect();
            let old = |at: &Option<usize>| at.and_then(|at| self.replica.counts.get(at).copied().flatten());
            self.replica.counts = from.iter().map(old).collect();
        }
        self.replica.cells = cells;
    }

    /// Fills a block from its cell. Without new outputs, the old ones stay.
    fn fill(&mut self, at: usize, outputs: Option<Option<SentCellOutputs>>) {
        let (kind, text, language) = (
            self.replica.cells[at].kind,
            self.replica.cells[at].source.clone(),
            self.replica.language.clone(),
        );
        let old = self.list.block(at).map(|block| block.pieces.clone()).unwrap_or_default();
        let shown = match outputs {
            None => old,
            Some(outputs) => {
                self.replica.counts[at] = outputs.as_ref().and_then(|outputs| outputs.count);
                match outputs.map(|outputs| outputs.outputs) {
                    Some(SentOutputs::Whole(outputs)) => output_pieces(&outputs),
                    Some(SentOutputs::Bounded(_)) | None => Vec::new(),
                }
            }
        };
        let (source, pieces) = match kind {
            CellType::Markdown => (BlockSource::Markdown(text), Vec::new()),
            CellType::Raw => (BlockSource::Raw(text), Vec::new()),
            CellType::Code => (BlockSource::Code { text, language }, shown),
        };
        if kind != CellType::Code {
            self.replica.conditions[at] = None;
        }
        let status = self.status(at, &source, &pieces);
        self.list.set(at, status.applied_to(CellBlock { source, pieces, ..CellBlock::default() }));
    }

    /// Refreshes the status of all blocks.
    fn refresh(&mut self) {
        let running = self.running().map(|at| self.replica.cells[at].id.clone());
        if self.since.as_ref().map(|(id, _)| id) != running.as_ref() {
            self.since = running.map(|id| (id, Instant::now()));
        }
        for at in 0..self.list.len() {
            self.show_status(at);
        }
    }

    /// Shows the status of a cell. An unchanged block keeps its rendered lines.
    fn show_status(&mut self, at: usize) {
        let Some(block) = self.list.block(at) else { return };
        let status = self.status(at, &block.source, &block.pieces);
        if !status.is_shown_by(block) {
            let block = status.applied_to(block.clone());
            self.list.set(at, block);
        }
    }

    fn status(&self, at: usize, source: &BlockSource, pieces: &[OutputPiece]) -> CellStatusView {
        let count = self.replica.counts.get(at).copied().flatten();
        let label = match count {
            Some(count) => format!("[{at}] In[{count}]"),
            None => format!("[{at}]"),
        };
        if !matches!(source, BlockSource::Code { .. }) {
            return CellStatusView { label, ..CellStatusView::default() };
        }
        let known = self.replica.conditions.get(at).and_then(Option::as_ref);
        let last = known.and_then(|known| known.last.as_ref());
        let has_failed = pieces.iter().any(|piece| matches!(piece, OutputPiece::Error { .. }));
        let state = match (known.map(|known| known.activity).unwrap_or_default(), last) {
            (Activity::Pending, _) => BlockState::Pending,
            (Activity::Running, _) => BlockState::Running(self.frame),
            (Activity::Idle, Some(last)) if !last.success => BlockState::from(last.status),
            (Activity::Idle, _) if has_failed => BlockState::Failed,
            (Activity::Idle, Some(_)) => BlockState::Complete,
            (Activity::Idle, None) if count.is_some() => BlockState::Complete,
            (Activity::Idle, None) => BlockState::Resting,
        };
        let time = match state {
            BlockState::Running(_) => self.since.as_ref().map(|(_, since)| since.elapsed()),
            // The known time is that of the previous run.
            BlockState::Pending => None,
            _ => last.map(|last| Duration::from_millis(last.duration_ms)),
        };
        let stale = known.map(|known| known.stale.join(", ")).filter(|stale| !stale.is_empty());
        let remarks = stale.map(|stale| format!("stale: {stale}")).into_iter().collect();
        let progress = match (state, &self.progress) {
            (BlockState::Running(_), Some((cell, progress)))
                if self.replica.cells.get(at).map(|known| &known.id) == Some(cell) =>
            {
                Some(progress.clone())
            }
            _ => None,
        };
        CellStatusView { state, label, time, remarks, progress }
    }
}

/// The cell whose text or type an effect changes.
fn edited_cell(effect: &Effect) -> Option<&CellId> {
    match effect {
        Effect::Inserted { cell, .. } | Effect::Retyped { cell, .. } | Effect::Changed { cell, .. } => {
            Some(cell)
        }
        Effect::Deleted { .. } | Effect::Moved { .. } | Effect::Outputs { .. } | Effect::Metadata { .. } => {
            None
        }
    }
}
