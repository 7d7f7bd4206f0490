//! A cache of rendered blocks. It is valid until the block or the options change.

use std::cell::OnceCell;

use crate::block::{CellBlock, RenderOptions, RenderedLines};

/// A block with its rendered lines. A change of the block discards them.
#[derive(Clone, Debug, Default)]
pub struct CachedBlock {
    block: CellBlock,
    rendered: OnceCell<RenderedLines>,
    options: Option<RenderOptions>,
}

impl CachedBlock {
    /// Wraps a block. It is rendered on demand.
    pub fn new(block: CellBlock) -> CachedBlock {
        CachedBlock { block, rendered: OnceCell::new(), options: None }
    }

    /// The block.
    pub fn block(&self) -> &CellBlock {
        &self.block
    }

    /// Replaces the block. An equal block keeps the rendered lines.
    pub fn set(&mut self, block: CellBlock) {
        if self.block != block {
            self.block = block;
            self.options = None;
        }
    }

    /// Returns the rendered lines.
    pub fn render(&mut self, options: &RenderOptions) -> &RenderedLines {
        if self.options != Some(*options) {
            self.options = Some(*options);
            self.rendered = OnceCell::new();
        }
        self.rendered.get_or_init(|| self.block.render(options))
    }

    /// Whether the lines for these options are cached.
    pub fn is_rendered(&self, options: &RenderOptions) -> bool {
        self.options == Some(*options) && self.rendered.get().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BlockDetail;
    use crate::graphics::ImageSupport;

    #[test]
    fn a_block_is_rendered_again_only_for_other_options_or_content() {
        let options = RenderOptions {
            width: 40,
            detail: BlockDetail::Preview(20),
            key: "Ctrl-O",
            images: ImageSupport::WORDS,
        };
        let block = CellBlock { title: "one".into(), ..CellBlock::default() };
        let mut cached = CachedBlock::new(block.clone());
        assert!(!cached.is_rendered(&options));
        cached.render(&options);
        cached.set(block.clone());
        assert!(cached.is_rendered(&options));
        for other in
            [RenderOptions { width: 41, ..options }, RenderOptions { detail: BlockDetail::All, ..options }]
        {
            assert!(!cached.is_rendered(&other));
        }
        cached.set(CellBlock { title: "two".into(), ..block });
        assert!(!cached.is_rendered(&options));
    }
}
