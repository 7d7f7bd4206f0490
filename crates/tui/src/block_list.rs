//! A scrollable list of blocks with a selection. Only visible blocks are rendered, so the length of the list does not
//! matter.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Span;
use ratatui_core::widgets::Widget;

use crate::block::{BlockDetail, CellBlock, RenderOptions};
use crate::cache::CachedBlock;
use crate::graphics::{ImageProtocol, ImageSupport};
use crate::style::TextRole;

/// The columns of the selection mark.
const GUTTER: u16 = 1;

/// Blocks below each other, with an empty line between them.
///
/// The list keeps scroll position and selection when blocks are replaced or moved. Blocks are rendered when their height is
/// needed, and cached until they change.
#[derive(Debug)]
pub struct BlockList {
    items: Vec<ListItem>,
    /// The first visible block, and the number of its hidden rows.
    top: (usize, usize),
    selected: usize,
    width: u16,
    height: u16,
    preview: usize,
    images: ImageSupport,
}

#[derive(Debug, Default)]
struct ListItem {
    cached: CachedBlock,
    is_unfolded: bool,
}

/// The key that unfolds a block.
const KEY: &str = "Ctrl-O";

impl BlockList {
    /// Makes an empty list. Folded blocks show `preview` rows of output.
    pub fn new(preview: usize, images: ImageSupport) -> BlockList {
        // Images that are drawn over text do not scroll with it.
        let protocol = match images.protocol {
            ImageProtocol::Iterm | ImageProtocol::Sixel => ImageProtocol::HalfBlocks,
            ImageProtocol::Kitty | ImageProtocol::HalfBlocks | ImageProtocol::Words => images.protocol,
        };
        let images = ImageSupport { protocol, ..images };
        BlockList { items: Vec::new(), top: (0, 0), selected: 0, width: 80, height: 24, preview, images }
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the list has no blocks.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All blocks, in order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = &CellBlock> + ExactSizeIterator {
        self.items.iter().map(|item| item.cached.block())
    }

    /// The block at an index.
    pub fn block(&self, at: usize) -> Option<&CellBlock> {
        self.items.get(at).map(|item| item.cached.block())
    }

    /// The index of the selected block.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Replaces a block, or appends it at the end. An equal block is not rendered again.
    pub fn set(&mut self, at: usize, block: CellBlock) {
        match self.items.get_mut(at) {
            Some(item) => item.cached.set(block),
            None => self.items.push(ListItem { cached: CachedBlock::new(block), is_unfolded: false }),
        }
    }

    /// Rearranges the blocks. `from` has the old index of each, or nothing for a new one.
    pub fn arrange(&mut self, from: &[Option<usize>]) {
        let selected = from.iter().position(|at| *at == Some(self.selected));
        let top = from.iter().position(|at| *at == Some(self.top.0));
        let mut old: Vec<Option<ListItem>> = std::mem::take(&mut self.items).into_iter().map(Some).collect();
        let taken = from.iter().map(|at| at.and_then(|at| old.get_mut(at)?.take()).unwrap_or_default());
        self.items = taken.collect();
        self.selected = selected.unwrap_or(self.selected).min(self.items.len().saturating_sub(1));
        self.top = match top {
            Some(top) => (top, self.top.1),
            None => (self.top.0.min(self.items.len().saturating_sub(1)), 0),
        };
    }

    /// Folds or unfolds a block.
    pub fn toggle(&mut self, at: usize) {
        if let Some(item) = self.items.get_mut(at) {
            item.is_unfolded = !item.is_unfolded;
        }
    }

    /// Unfolds all blocks, or folds them if all are unfolded.
    pub fn toggle_all(&mut self) {
        let unfold = !self.items.iter().all(|item| item.is_unfolded);
        self.items.iter_mut().for_each(|item| item.is_unfolded = unfold);
    }

    /// Whether a block is unfolded.
    pub fn is_unfolded(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|item| item.is_unfolded)
    }

    /// Sets the size of the visible area.
    pub fn resize(&mut self, width: u16, height: u16) {
        (self.width, self.height) = (width, height);
    }

    /// Selects a block and scrolls to it.
    pub fn select(&mut self, at: usize) {
        self.selected = at.min(self.items.len().saturating_sub(1));
        let (first, _) = self.top;
        if self.selected < first || (self.selected == first && self.top.1 > 0) {
            self.top = (self.selected, 0);
            return;
        }
        let room = usize::from(self.height);
        // Scrolls until the end of the block is visible, or its start is at the top.
        while self.top.0 < self.selected && self.rows_until(self.selected) > room {
            let left = self.height_of(self.top.0) - self.top.1;
            let over = self.rows_until(self.selected) - room;
            self.scroll_down(over.min(left));
        }
    }

    /// Scrolls by rows. The selection moves to a visible block.
    pub fn scroll(&mut self, rows: isize) {
        match usize::try_from(rows) {
            Ok(rows) => self.scroll_down(rows),
            Err(_) => self.scroll_up(rows.unsigned_abs()),
        }
        let (first, last) = self.visible_range();
        self.selected = self.selected.clamp(first, last);
    }

    /// Half the visible rows.
    pub fn half(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Scrolls to the end.
    pub fn scroll_to_end(&mut self) {
        let mut left = usize::from(self.height);
        let mut at = self.items.len();
        while at > 0 && left > 0 {
            at -= 1;
            let rows = self.height_of(at);
            if rows >= left {
                self.top = (at, rows - left);
                return;
            }
            left -= rows;
        }
        self.top = (0, 0);
    }

    /// Whether the end is visible.
    pub fn is_at_end(&mut self) -> bool {
        let last = self.items.len().saturating_sub(1);
        self.top.0 + usize::from(self.height) > last && self.rows_until(last) <= usize::from(self.height)
    }

    fn scroll_down(&mut self, mut rows: usize) {
        while rows > 0 {
            let left = self.height_of(self.top.0).saturating_sub(self.top.1);
            if rows < left {
                self.top.1 += rows;
                return;
            }
            if self.top.0 + 1 >= self.items.len() {
                self.top.1 += left.saturating_sub(1);
                return;
            }
            rows -= left;
            self.top = (self.top.0 + 1, 0);
        }
    }

    fn scroll_up(&mut self, mut rows: usize) {
        while rows > 0 {
            if rows <= self.top.1 {
                self.top.1 -= rows;
                return;
            }
            rows -= self.top.1;
            if self.top.0 == 0 {
                self.top.1 = 0;
                return;
            }
            self.top.0 -= 1;
            self.top.1 = self.height_of(self.top.0);
        }
    }

    /// The first and the last visible block.
    fn visible_range(&mut self) -> (usize, usize) {
        let mut used = 0;
        let (first, hidden) = self.top;
        let mut at = first;
        while at < self.items.len() {
            used += self.height_of(at) - if at == first { hidden } else { 0 };
            if used >= usize::from(self.height) {
                break;
            }
            at += 1;
        }
        (first, at.min(self.items.len().saturating_sub(1)).max(first))
    }

    /// The rows from the top of the screen to the end of a block.
    fn rows_until(&mut self, last: usize) -> usize {
        let rows: usize = (self.top.0..=last).map(|at| self.height_of(at)).sum();
        rows.saturating_sub(self.top.1)
    }

    fn options(&self, is_unfolded: bool) -> RenderOptions {
        let detail = if is_unfolded { BlockDetail::All } else { BlockDetail::Preview(self.preview) };
        let width = usize::from(self.width.saturating_sub(GUTTER + 1)).max(1);
        RenderOptions { width, detail, key: KEY, images: self.images }
    }

    /// The rows of a block and the empty line after it.
    fn height_of(&mut self, at: usize) -> usize {
        let is_unfolded = self.is_unfolded(at);
        let options = self.options(is_unfolded);
        self.items.get_mut(at).map_or(1, |item| item.cached.render(&options).lines.len() + 1)
    }

    /// Draws the visible part. Returns the sequences that the terminal needs before, for images.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, marks_selection: bool) -> Vec<String> {
        self.resize(area.width, area.height);
        let mut before = Vec::new();
        let (mut at, mut skip) = self.top;
        let mut y = area.y;
        while y < area.bottom() && at < self.items.len() {
            let options = self.options(self.is_unfolded(at));
            let is_selected = marks_selection && at == self.selected;
            let rendered = self.items[at].cached.render(&options);
            before.extend(rendered.before.iter().cloned());
            for line in rendered.lines.iter().skip(skip) {
                if y >= area.bottom() {
                    break;
                }
                if is_selected {
                    let mark = Span::styled("▎", TextRole::Position.style());
                    mark.render(Rect { x: area.x, y, width: 1, height: 1 }, buffer);
                }
                let x = area.x + GUTTER;
                let width = area.width.saturating_sub(GUTTER);
                line.render(Rect { x, y, width, height: 1 }, buffer);
                y += 1;
            }
            skip = skip.saturating_sub(rendered.lines.len());
            if skip == 0 && y < area.bottom() {
                y += 1;
            }
            skip = 0;
            at += 1;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::OutputPiece;

    fn list(heights: &[usize]) -> BlockList {
        let mut list = BlockList::new(20, ImageSupport::WORDS);
        for (at, height) in heights.iter().enumerate() {
            let text: Vec<String> = (1..*height).map(|row| format!("{at}.{row}")).collect();
            let pieces = if text.is_empty() { Vec::new() } else { vec![OutputPiece::Text(text.join("\n"))] };
            list.set(at, CellBlock { title: format!("block {at}"), pieces, ..CellBlock::default() });
        }
        list
    }

    fn shown(list: &mut BlockList, height: u16) -> Vec<String> {
        let area = Rect { x: 0, y: 0, width: 20, height };
        let mut buffer = Buffer::empty(area);
        list.draw(area, &mut buffer, true);
        let row = |y: u16| (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect()
    }

    #[test]
    fn blocks_are_separated_by_an_empty_line_and_the_selected_one_is_marked() {
        let mut list = list(&[2, 1]);
        assert_eq!(shown(&mut list, 5), ["▎· block 0", "▎  0.1", "", " · block 1", ""]);
        list.select(1);
        assert_eq!(shown(&mut list, 5), [" · block 0", "   0.1", "", "▎· block 1", ""]);
    }

    #[test]
    fn selecting_a_block_scrolls_to_it() {
        let mut list = list(&[3, 3, 3, 3]);
        list.resize(20, 6);
        list.select(2);
        assert_eq!(shown(&mut list, 6), ["   1.2", "", "▎· block 2", "▎  2.1", "▎  2.2", ""]);
        list.select(0);
        assert_eq!(shown(&mut list, 2), ["▎· block 0", "▎  0.1"]);
    }

    #[test]
    fn scrolling_stops_at_both_ends() {
        let mut list = list(&[3, 3]);
        list.resize(20, 4);
        list.scroll(1);
        assert_eq!(shown(&mut list, 2), ["▎  0.1", "▎  0.2"]);
        list.scroll(100);
        assert_eq!(shown(&mut list, 2).len(), 2);
        list.scroll(-100);
        assert_eq!(shown(&mut list, 1), ["▎· block 0"]);
        list.resize(20, 4);
        list.scroll_to_end();
        assert_eq!(shown(&mut list, 4)[0], " · block 1");
    }

    #[test]
    fn a_block_keeps_its_fold_and_selection_when_others_are_added_or_removed() {
        let mut list = list(&[1, 1, 1]);
        list.select(2);
        list.toggle(2);
        list.arrange(&[None, Some(2)]);
        assert_eq!(list.selected(), 1);
        assert!(list.is_unfolded(1) && !list.is_unfolded(0));
    }

    #[test]
    fn only_visible_blocks_are_rendered() {
        let mut list = list(&vec![3; 1000]);
        shown(&mut list, 10);
        let options = list.options(false);
        assert_eq!(list.items.iter().filter(|item| item.cached.is_rendered(&options)).count(), 3);
    }
}
