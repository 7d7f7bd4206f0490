//! Open notebooks: each is owned by one task that puts all changes in one order, saves them, and tells everyone
//! who looks.

mod change_set;

pub use change_set::{BadChange, ChangeSet, Order, units};
