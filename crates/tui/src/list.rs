//! A list of blocks on a screen: which part of it is seen, and which block is selected. Only what is seen is drawn, so a
//! list of any length costs the same.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};
use ratatui_core::widgets::Widget;

use crate::block::{Block, Frame, Shown};
use crate::cache::Cached;
use crate::look::Role;
use crate::picture::{Picturing, Protocol};

/// Columns at the left that show which block is selected.
const GUTTER: u16 = 1;

/// Blocks, one below the other, with a free line between them.
#[derive(Debug)]
pub struct List {
    items: Vec<Item>,
    /// The first block that is seen, and how many of its rows are not.
    top: (usize, usize),
    selected: usize,
    width: u16,
    height: u16,
    preview: usize,
    picturing: Picturing,
}

#[derive(Debug, Default)]
struct Item {
    cached: Cached,
    is_unfolded: bool,
}

/// What shows the rest of a block.
const KEY: &str = "Ctrl-O";

impl List {
    /// An empty list that shows so many rows of a block that is folded.
    pub fn new(preview: usize, picturing: Picturing) -> List {
        // What is drawn over letters cannot scroll with them.
        let protocol = match picturing.protocol {
            Protocol::Iterm | Protocol::Sixel => Protocol::HalfBlocks,
            Protocol::Kitty | Protocol::HalfBlocks | Protocol::Words => picturing.protocol,
        };
        let picturing = Picturing { protocol, ..picturing };
        List { items: Vec::new(), top: (0, 0), selected: 0, width: 80, height: 24, preview, picturing }
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The blocks.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = &Block> + ExactSizeIterator {
        self.items.iter().map(|item| item.cached.block())
    }

    /// One of them.
    pub fn block(&self, at: usize) -> Option<&Block> {
        self.items.get(at).map(|item| item.cached.block())
    }

    /// Which block is selected.
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Puts a block where one was, or at the end. What did not change is not drawn again.
    pub fn set(&mut self, at: usize, block: Block) {
        match self.items.get_mut(at) {
            Some(item) => item.cached.set(block),
            None => self.items.push(Item { cached: Cached::new(block), is_unfolded: false }),
        }
    }

    /// Moves blocks to where they are now; `from` says for each where it was, if it was anywhere.
    pub fn arrange(&mut self, from: &[Option<usize>]) {
        let selected = from.iter().position(|at| *at == Some(self.selected));
        let top = from.iter().position(|at| *at == Some(self.top.0));
        let mut old: Vec<Option<Item>> = std::mem::take(&mut self.items).into_iter().map(Some).collect();
        let taken = from.iter().map(|at| at.and_then(|at| old.get_mut(at)?.take()).unwrap_or_default());
        self.items = taken.collect();
        self.selected = selected.unwrap_or(self.selected).min(self.items.len().saturating_sub(1));
        self.top = match top {
            Some(top) => (top, self.top.1),
            None => (self.top.0.min(self.items.len().saturating_sub(1)), 0),
        };
    }

    /// Shows more or less of a block.
    pub fn toggle(&mut self, at: usize) {
        if let Some(item) = self.items.get_mut(at) {
            item.is_unfolded = !item.is_unfolded;
        }
    }

    /// Shows all of every block, or folds them where all of every one is shown.
    pub fn toggle_all(&mut self) {
        let unfold = !self.items.iter().all(|item| item.is_unfolded);
        self.items.iter_mut().for_each(|item| item.is_unfolded = unfold);
    }

    /// Whether all of a block is shown.
    pub fn is_unfolded(&self, at: usize) -> bool {
        self.items.get(at).is_some_and(|item| item.is_unfolded)
    }

    /// Makes room for as many columns and rows as there are.
    pub fn resize(&mut self, width: u16, height: u16) {
        (self.width, self.height) = (width, height);
    }

    /// Selects a block and brings it into sight.
    pub fn select(&mut self, at: usize) {
        self.selected = at.min(self.items.len().saturating_sub(1));
        let (first, _) = self.top;
        if self.selected < first || (self.selected == first && self.top.1 > 0) {
            self.top = (self.selected, 0);
            return;
        }
        let room = usize::from(self.height);
        // Down until its end is seen, or it begins at the top.
        while self.top.0 < self.selected && self.rows_until(self.selected) > room {
            let left = self.height_of(self.top.0) - self.top.1;
            let over = self.rows_until(self.selected) - room;
            self.scroll_down(over.min(left));
        }
    }

    /// Moves by so many rows; the selection stays in sight.
    pub fn scroll(&mut self, rows: isize) {
        match usize::try_from(rows) {
            Ok(rows) => self.scroll_down(rows),
            Err(_) => self.scroll_up(rows.unsigned_abs()),
        }
        let (first, last) = self.seen();
        self.selected = self.selected.clamp(first, last);
    }

    /// Half the rows that there are.
    pub fn half(&self) -> isize {
        isize::try_from(self.height / 2).unwrap_or(1).max(1)
    }

    /// Shows the end.
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

    /// Whether the end is in sight.
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

    /// The first and the last block of which anything is seen.
    fn seen(&mut self) -> (usize, usize) {
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

    /// Rows from the top of the screen to the end of a block.
    fn rows_until(&mut self, last: usize) -> usize {
        let rows: usize = (self.top.0..=last).map(|at| self.height_of(at)).sum();
        rows.saturating_sub(self.top.1)
    }

    fn frame(&self, is_unfolded: bool) -> Frame {
        let shown = if is_unfolded { Shown::All } else { Shown::Preview(self.preview) };
        let width = usize::from(self.width.saturating_sub(GUTTER + 1)).max(1);
        Frame { width, shown, key: KEY, picturing: self.picturing }
    }

    /// Rows of a block, with the free line behind it.
    fn height_of(&mut self, at: usize) -> usize {
        let is_unfolded = self.is_unfolded(at);
        let frame = self.frame(is_unfolded);
        self.items.get_mut(at).map_or(1, |item| item.cached.draw(&frame).lines.len() + 1)
    }

    /// Draws what is seen. Returns what has to be sent to the terminal before, for pictures that are new.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, marks_selection: bool) -> Vec<String> {
        self.resize(area.width, area.height);
        let mut before = Vec::new();
        let (mut at, mut skip) = self.top;
        let mut y = area.y;
        while y < area.bottom() && at < self.items.len() {
            let frame = self.frame(self.is_unfolded(at));
            let is_selected = marks_selection && at == self.selected;
            let drawn = self.items[at].cached.draw(&frame);
            before.extend(drawn.before.iter().cloned());
            for line in drawn.lines.iter().skip(skip) {
                if y >= area.bottom() {
                    break;
                }
                if is_selected {
                    let mark = Span::styled("▎", Role::Position.style());
                    mark.render(Rect { x: area.x, y, width: 1, height: 1 }, buffer);
                }
                let x = area.x + GUTTER;
                line_in(line, Rect { x, y, width: area.width.saturating_sub(GUTTER), height: 1 }, buffer);
                y += 1;
            }
            skip = skip.saturating_sub(drawn.lines.len());
            if skip == 0 && y < area.bottom() {
                y += 1;
            }
            skip = 0;
            at += 1;
        }
        before
    }
}

fn line_in(line: &Line<'static>, area: Rect, buffer: &mut Buffer) {
    line.render(area, buffer);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Piece;

    fn list(heights: &[usize]) -> List {
        let mut list = List::new(20, Picturing::WORDS);
        for (at, height) in heights.iter().enumerate() {
            let text: Vec<String> = (1..*height).map(|row| format!("{at}.{row}")).collect();
            let pieces = if text.is_empty() { Vec::new() } else { vec![Piece::Text(text.join("\n"))] };
            list.set(at, Block { title: format!("block {at}"), pieces, ..Block::default() });
        }
        list
    }

    fn shown(list: &mut List, height: u16) -> Vec<String> {
        let area = Rect { x: 0, y: 0, width: 20, height };
        let mut buffer = Buffer::empty(area);
        list.draw(area, &mut buffer, true);
        let row = |y: u16| (0..20).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
        (0..height).map(row).collect()
    }

    #[test]
    fn blocks_stand_below_each_other_and_the_selected_one_is_marked() {
        let mut list = list(&[2, 1]);
        assert_eq!(shown(&mut list, 5), ["▎· block 0", "▎  0.1", "", " · block 1", ""]);
        list.select(1);
        assert_eq!(shown(&mut list, 5), [" · block 0", "   0.1", "", "▎· block 1", ""]);
    }

    #[test]
    fn the_selected_block_is_brought_into_sight() {
        let mut list = list(&[3, 3, 3, 3]);
        list.resize(20, 6);
        list.select(2);
        assert_eq!(shown(&mut list, 6), ["   1.2", "", "▎· block 2", "▎  2.1", "▎  2.2", ""]);
        list.select(0);
        assert_eq!(shown(&mut list, 2), ["▎· block 0", "▎  0.1"]);
    }

    #[test]
    fn scrolling_goes_row_by_row_and_not_past_either_end() {
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
    fn a_block_keeps_its_fold_and_its_selection_when_others_come_and_go() {
        let mut list = list(&[1, 1, 1]);
        list.select(2);
        list.toggle(2);
        list.arrange(&[None, Some(2)]);
        assert_eq!(list.selected(), 1);
        assert!(list.is_unfolded(1) && !list.is_unfolded(0));
    }

    #[test]
    fn only_what_is_seen_is_drawn() {
        let mut list = list(&vec![3; 1000]);
        shown(&mut list, 10);
        let frame = list.frame(false);
        assert_eq!(list.items.iter().filter(|item| item.cached.is_drawn(&frame)).count(), 3);
    }
}
