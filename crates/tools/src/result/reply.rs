//! A finished reply, independent of its length. Each caller gets an answer within its own budget,
//! without outputs that it already has.

use std::sync::atomic::{AtomicU64, Ordering};

use cellist_output::{notices, ranges};
use cellist_store::artifact::{ArtifactOrigin, Artifacts};
use tokio::sync::OnceCell;

use super::draft::{block, line};
use super::layout::{Extent, MOST_FAILED, SectionView, extents};
use super::{Budget, ReplyDraft, Section, fit, short};
use crate::agent::Agent;
use crate::answer::{AnswerBlock, ToolAnswer, ToolRefusal};

/// Bytes of a list of cells in a notice.
const LIST: usize = 120;
/// Bytes of a notice about omitted cells or pictures, without its list.
const NOTICE: usize = 80;

/// A reply for any number of callers.
#[derive(Debug)]
pub(crate) struct ToolReply {
    /// The identity of the reply.
    id: u64,
    composed: ReplyDraft,
    /// The converted pictures of each section.
    shown: Vec<ShownPictures>,
    /// Artifacts of pictures that are neither shown nor in a notebook.
    originals: Vec<String>,
    /// Stores the whole text when some of it is left out.
    keeper: Option<(Artifacts, ArtifactOrigin)>,
    whole: OnceCell<Option<String>>,
}

/// The converted pictures of a section.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownPictures {
    pub(super) blocks: Vec<AnswerBlock>,
    /// Notes on conversions, or the reason why a picture is not shown.
    pub(super) notes: Vec<String>,
    /// Pictures that are not shown.
    pub(super) more: usize,
}

impl From<ToolRefusal> for ToolReply {
    /// Creates a reply that is the same for every caller.
    fn from(refusal: ToolRefusal) -> ToolReply {
        ReplyDraft::text(refusal.text(), true).into()
    }
}

impl From<ReplyDraft> for ToolReply {
    /// Creates a reply without pictures, and without an artifact for omitted text.
    fn from(composed: ReplyDraft) -> ToolReply {
        ToolReply::new(composed, Vec::new())
    }
}

impl ToolReply {
    pub(super) fn new(composed: ReplyDraft, shown: Vec<ShownPictures>) -> ToolReply {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let shown =
            if shown.is_empty() { vec![ShownPictures::default(); composed.sections.len()] } else { shown };
        ToolReply { id, composed, shown, originals: Vec::new(), keeper: None, whole: OnceCell::new() }
    }

    /// Sets the artifact store for omitted text.
    pub(super) fn with_store(
        self,
        artifacts: Artifacts,
        origin: ArtifactOrigin,
        originals: Vec<String>,
    ) -> ToolReply {
        ToolReply { keeper: Some((artifacts, origin)), originals, ..self }
    }

    /// Returns the lines before all sections.
    #[cfg(test)]
    pub(crate) fn top(&self) -> String {
        self.composed.top.join("\n")
    }

    /// Estimates the memory of the reply.
    pub(crate) fn size(&self) -> usize {
        let image = |block: &AnswerBlock| match block {
            AnswerBlock::Image { data, .. } => data.len(),
            AnswerBlock::Text(_) | AnswerBlock::Link { .. } => 0,
        };
        let lines = self.composed.top.iter().chain(&self.composed.bottom).map(String::len);
        let texts = self.composed.sections.iter().map(|section| section.text.len());
        let images = self.shown.iter().flat_map(|shown| &shown.blocks).map(image);
        lines.chain(texts).chain(images).sum()
    }

    /// Renders the answer for a caller, within its budget. The summary always ends the text.
    pub(crate) async fn answer(&self, budget: Budget, agent: &Agent) -> ToolAnswer {
        let ReplyDraft { sections, .. } = &self.composed;
        let skipped: Vec<bool> = sections.iter().map(|section| self.is_known(section, agent)).collect();
        let images = budget.images;
        let full: Vec<String> = (0..sections.len()).map(|at| self.text(at, skipped[at], images)).collect();
        let all = vec![Extent::Full; sections.len()];
        let more = self.more_pictures(&all, &skipped).filter(|_| images);
        let mut page = AnswerBuilder::new(&self.composed, budget.bytes);
        let size = |text: &String| text.len() + 1;
        let pictures = more.as_ref().map_or(0, size);
        let (extents, views, cut) = if full.iter().map(size).sum::<usize>() + pictures <= page.room {
            (all, full.into_iter().map(SectionView::full).collect(), None)
        } else if let [only] = full.as_slice() {
            let text = fit(only, page.room.saturating_sub(pictures + 1));
            (all, vec![SectionView::full(text)], None)
        } else {
            let room = page.room.saturating_sub(2 * (NOTICE + LIST.min(page.room / 8)));
            let views = self.views(full, room);
            let extents = extents(&views, room);
            let cut = self.left_out(&extents, page.room / 8).await;
            (extents, views, Some(cut))
        };
        for (at, view) in views.iter().enumerate() {
            match (extents[at], &view.short) {
                (Extent::Full, _) => page.section(&view.full, self.blocks(at, skipped[at] || !images)),
                (Extent::Short, Some(short)) => page.section(short, &[]),
                (Extent::Short, None) | (Extent::Nothing, _) => {}
            }
        }
        let more = self.more_pictures(&extents, &skipped).filter(|_| images);
        cut.iter().chain(&more).for_each(|notice| page.line(notice));
        self.note_sent(&extents, &skipped, images, agent);
        page.answer(&self.composed)
    }

    /// Returns whether another reply has sent these outputs to the caller.
    fn is_known(&self, section: &Section, agent: &Agent) -> bool {
        // Code reads every output; only a model may skip one that it has.
        let reads_all = agent.within().is_some() || agent.caller().is_shared;
        section.may_be_skipped
            && !reads_all
            && section.mark.as_ref().is_some_and(|mark| agent.sent().was_sent(mark, self.id))
    }

    fn note_sent(&self, extents: &[Extent], skipped: &[bool], images: bool, agent: &Agent) {
        for (at, section) in self.composed.sections.iter().enumerate() {
            let is_whole = extents[at] == Extent::Full
                && !skipped[at]
                && self.shown[at].more == 0
                && (images || self.shown[at].blocks.is_empty())
                && self.shown[at].notes.is_empty();
            if let Some(mark) = section.mark.clone().filter(|_| is_whole) {
                agent.sent().add(mark, self.id);
            }
        }
    }

    fn text(&self, at: usize, is_skipped: bool, images: bool) -> String {
        let Section { heading, text, notices, .. } = &self.composed.sections[at];
        let mut told = heading.clone().unwrap_or_default();
        match is_skipped {
            true => line(&mut told, UNCHANGED),
            false => block(&mut told, text),
        }
        let notes = self.shown[at].notes.iter().filter(|_| images && !is_skipped);
        notices.iter().chain(notes).for_each(|notice| line(&mut told, notice));
        told
    }

    fn blocks(&self, at: usize, is_skipped: bool) -> &[AnswerBlock] {
        if is_skipped { &[] } else { &self.shown[at].blocks }
    }

    fn views(&self, full: Vec<String>, room: usize) -> Vec<SectionView> {
        let sections = &self.composed.sections;
        let failed = sections.iter().filter(|section| section.has_failed).count().clamp(1, MOST_FAILED);
        let least = |section: &Section| {
            let heading = section.heading.as_deref().unwrap_or_default();
            let error = section.error.as_deref().unwrap_or_default();
            let most = (room / failed).saturating_sub(heading.len() + 4).clamp(40, 200);
            let mut least = heading.to_owned();
            block(&mut least, &short(error, most));
            least
        };
        let view = |(section, full): (&Section, String)| SectionView {
            short: section.has_failed.then(|| least(section)),
            full,
        };
        sections.iter().zip(full).map(view).collect()
    }

    /// Names the sections that are not shown in full, and the artifact that has them.
    async fn left_out(&self, extents: &[Extent], list: usize) -> String {
        let cells = self.cells(extents, |at| usize::from(extents[at] != Extent::Full));
        let cells = ranges(&cells, LIST.min(list));
        match self.whole().await {
            Some(id) => format!("[Not shown in full: cells {cells}. All of it: {}]", notices::artifact(id)),
            None => format!("[Not shown in full: cells {cells}]"),
        }
    }

    /// States in a line which pictures are not shown.
    fn more_pictures(&self, extents: &[Extent], skipped: &[bool]) -> Option<String> {
        let more = |at: usize| match (extents[at], skipped[at]) {
            (_, true) => 0,
            (Extent::Full, false) => self.shown[at].more,
            (Extent::Short | Extent::Nothing, false) => self.shown[at].more + self.shown[at].blocks.len(),
        };
        let count: usize = (0..extents.len()).map(more).sum();
        let mut said = match count {
            0 => return None,
            1 => "[1 more image not shown".to_owned(),
            count => format!("[{count} more images not shown"),
        };
        let cells = self.cells(extents, more);
        if !cells.is_empty() {
            let word = if cells.len() == 1 { "cell" } else { "cells" };
            said.push_str(&format!(": {word} {}", ranges(&cells, LIST)));
        }
        match (self.composed.is_in_notebook, self.originals.as_slice()) {
            (true, _) => said.push_str("; get_cell_outputs shows them"),
            (false, []) => {}
            (false, originals) => {
                let addresses: Vec<String> = originals.iter().map(|id| notices::artifact(id)).collect();
                let rest = if originals.len() < count { ", …" } else { "" };
                said.push_str(&format!(" ({}{rest})", addresses.join(", ")));
            }
        }
        Some(said + "]")
    }

    /// Lists the cells of the sections with a count above zero.
    fn cells(&self, extents: &[Extent], count: impl Fn(usize) -> usize) -> Vec<usize> {
        let counted = (0..extents.len()).filter(|at| count(*at) > 0);
        let mut cells: Vec<usize> =
            counted.flat_map(|at| self.composed.sections[at].cells.iter().copied()).collect();
        cells.sort_unstable();
        cells
    }

    /// Returns the artifact with the text of all sections, stored on first use.
    async fn whole(&self) -> Option<&str> {
        let (artifacts, origin) = self.keeper.as_ref()?;
        let kept = self.whole.get_or_init(|| async {
            let mut writer = artifacts.begin(origin.clone(), 0);
            writer.keep_anyway();
            for at in 0..self.composed.sections.len() {
                writer.write(format!("{}\n", self.text(at, false, true)));
                writer.room().await;
            }
            writer.finish().await.id.map(String::from)
        });
        kept.await.as_deref()
    }
}

const UNCHANGED: &str = "[Output unchanged since you last saw it]";

impl SectionView {
    fn full(full: String) -> SectionView {
        SectionView { full, short: None }
    }
}

/// An answer under construction.
struct AnswerBuilder {
    blocks: Vec<AnswerBlock>,
    text: String,
    bottom: String,
    /// Bytes left for sections and notices about them.
    room: usize,
}

impl AnswerBuilder {
    fn new(composed: &ReplyDraft, bytes: usize) -> AnswerBuilder {
        let summary = composed.summary.as_ref().map(|summary| summary.line((bytes / 5).min(300)));
        let summary = summary.unwrap_or_default();
        let mut bottom = fit(composed.bottom.join("\n"), bytes / 4);
        block(&mut bottom, &summary);
        let left = bytes.saturating_sub(bottom.len() + 2);
        let most = if composed.sections.is_empty() { left } else { left / 2 };
        let text = fit(composed.top.join("\n"), most);
        let room = left.saturating_sub(text.len() + usize::from(!text.is_empty()));
        AnswerBuilder { blocks: Vec::new(), text, bottom, room }
    }

    fn line(&mut self, text: &str) {
        line(&mut self.text, text);
    }

    fn section(&mut self, text: &str, pictures: &[AnswerBlock]) {
        block(&mut self.text, text);
        if !pictures.is_empty() {
            self.end_text();
            self.blocks.extend(pictures.iter().cloned());
        }
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        if !text.is_empty() {
            self.blocks.push(AnswerBlock::Text(text));
        }
    }

    fn answer(mut self, composed: &ReplyDraft) -> ToolAnswer {
        let bottom = std::mem::take(&mut self.bottom);
        block(&mut self.text, &bottom);
        self.end_text();
        if self.blocks.is_empty() {
            self.blocks.push(AnswerBlock::Text(String::new()));
        }
        self.blocks.extend(composed.artifacts.iter().map(|id| AnswerBlock::Link {
            uri: notices::artifact(id),
            name: format!("output {id}"),
            mime: "text/plain".to_owned(),
        }));
        ToolAnswer { blocks: self.blocks, is_failure: composed.is_failure, ..ToolAnswer::default() }
    }
}
