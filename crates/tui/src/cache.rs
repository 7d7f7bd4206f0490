//! Blocks that were drawn are kept for as long as nothing changes what they look like.

use std::cell::OnceCell;

use crate::block::{Block, Drawn, Frame};

/// A block with what it looks like. Changing the block forgets that.
#[derive(Clone, Debug, Default)]
pub struct Cached {
    block: Block,
    drawn: OnceCell<Drawn>,
    frame: Option<Frame>,
}

impl Cached {
    /// A block that was not drawn yet.
    pub fn new(block: Block) -> Cached {
        Cached { block, drawn: OnceCell::new(), frame: None }
    }

    /// The block.
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// Puts another block in its place; the same block costs nothing.
    pub fn set(&mut self, block: Block) {
        if self.block != block {
            self.block = block;
            self.frame = None;
        }
    }

    /// What it looks like.
    pub fn draw(&mut self, frame: &Frame) -> &Drawn {
        if self.frame != Some(*frame) {
            self.frame = Some(*frame);
            self.drawn = OnceCell::new();
        }
        self.drawn.get_or_init(|| self.block.draw(frame))
    }

    /// Whether drawing it for this frame costs nothing.
    pub fn is_drawn(&self, frame: &Frame) -> bool {
        self.frame == Some(*frame) && self.drawn.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::Shown;
    use crate::picture::Picturing;

    #[test]
    fn a_block_is_drawn_anew_only_for_another_width_or_fold_or_content() {
        let frame =
            Frame { width: 40, shown: Shown::Preview(20), key: "Ctrl-O", picturing: Picturing::WORDS };
        let block = Block { title: "one".into(), ..Block::default() };
        let mut cached = Cached::new(block.clone());
        assert!(!cached.is_drawn(&frame));
        cached.draw(&frame);
        cached.set(block.clone());
        assert!(cached.is_drawn(&frame));
        for other in [Frame { width: 41, ..frame }, Frame { shown: Shown::All, ..frame }] {
            assert!(!cached.is_drawn(&other));
        }
        cached.set(Block { title: "two".into(), ..block });
        assert!(!cached.is_drawn(&frame));
    }
}
