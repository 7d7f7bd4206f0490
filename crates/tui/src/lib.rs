//! The terminal: cells as blocks of styled lines, pictures, and the screens that are made of them.

#![doc = include_str!("../README.md")]

mod block;
mod cache;
mod chat;
mod composer;
mod console;
mod editor;
mod highlight;
mod list;
mod look;
mod markdown;
mod motion;
mod picture;
mod prompt;
mod repl;
mod screen;
mod stream;
mod table;
mod terminal;
mod text;
mod view;

pub use block::{
    Block, Drawn, Frame, Piece, Placed, Shown, Source, State, counted, pieces, report_pieces, spoken,
};
pub use cache::Cached;
pub use chat::Talk;
pub use console::{Console, Entered, Matches, Wanted};
pub use highlight::highlighted;
pub use list::List;
pub use look::Role;
pub use markdown::markdown;
pub use picture::{Cells, Picture, Picturing, Pixels, Prepared, Protocol, USUAL_CELL};
pub use repl::{Keeper, Repl};
pub use screen::{Drawing, Screen, events, restore};
pub use stream::to_terminal;
pub use table::{Side, Table};
pub use terminal::{picturing, size, width_of};
pub use text::{columns, fitting, to_plain, visible};
pub use view::Viewing;
