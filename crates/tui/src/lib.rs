//! The terminal: cells as blocks of styled lines, pictures, and the screens that are made of them.

mod block;
mod cache;
mod highlight;
mod look;
mod markdown;
mod picture;
mod stream;
mod table;
mod text;

pub use block::{Block, Drawn, Frame, Piece, Placed, Shown, Source, State, pieces, spoken};
pub use cache::Cached;
pub use highlight::highlighted;
pub use look::{Role, without_colour};
pub use markdown::markdown;
pub use picture::{Cells, Picture, Picturing, Pixels, Prepared, Protocol, USUAL_CELL};
pub use stream::to_terminal;
pub use table::{Side, Table};
pub use text::{columns, fitting, to_plain, visible};
