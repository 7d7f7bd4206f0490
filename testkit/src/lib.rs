//! Real parts for tests: pinned Python environments, the corpus, nbformat as a judge, scratch
//! folders. Also records which test ran on which part. Depends on no crate of the product.

mod corpus;
#[cfg(unix)]
mod hostile;
mod judge;
mod jupyter;
mod models;
mod parts;
mod private;
mod same;
mod scratch;
mod tally;
mod target;
mod terminal;
mod waiting;

pub use corpus::{fixture, fixtures, repo_root};
#[cfg(unix)]
pub use hostile::{HostileKernel, greet_as_zmq};
pub use judge::{Invalid, assert_valid, validate, validate_bytes};
pub use jupyter::{Flavour, Jupyter, TOKEN};
pub use models::{ModelRequest, Models, News, Said};
pub use parts::{NODE, NeededBy, PARTS, PartKind, TestPart, node, node_folder, python};
pub use private::{SECRET, SECRETS, STATE_FILES};
pub use same::{comparable_cell, differences, differences_from_stored};
pub use scratch::Scratch;
pub use tally::{TALLY, tally};
pub use target::target_dir;
pub use terminal::{Terminal, TerminalEnd};
pub use waiting::{until, wait_until};
