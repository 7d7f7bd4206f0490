//! The terminal interface: cells as blocks of styled lines, images, and the screens made of them.

#![doc = include_str!("../README.md")]

mod ansi;
mod block;
mod block_list;
mod cache;
mod chat_view;
mod composer;
mod console;
mod editor;
mod graphics;
mod highlight;
mod markdown;
mod prompt;
mod repl;
mod screen;
mod screen_loop;
mod style;
mod table;
mod terminal;
mod text;
mod viewer;

pub use ansi::to_terminal;
pub use block::{
    BlockDetail, BlockSource, BlockState, CellBlock, ImagePlacement, OutputPiece, RenderOptions,
    RenderedLines, format_duration, format_progress, output_pieces, report_pieces,
};
pub use block_list::BlockList;
pub use cache::CachedBlock;
pub use chat_view::ChatView;
pub use console::{Completions, Console, PromptOutcome, UserSignal};
pub use graphics::{
    CellArea, DEFAULT_CELL, ImageProtocol, ImageSupport, Pixels, PreparedImage, TerminalImage,
};
pub use highlight::highlight;
pub use markdown::render_markdown;
pub use repl::{Repl, ReplStorage};
pub use screen::{FrameOutput, TerminalScreen, events, restore};
pub use style::TextRole;
pub use table::{ColumnAlignment, Table};
pub use terminal::{detect_images, size, width_of};
pub use text::{display_width, fit_to_width, to_plain, visible};
pub use viewer::NotebookViewer;
