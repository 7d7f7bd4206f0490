//! What goes wrong on purpose, and that nothing else goes wrong with it.

mod faults;
mod limits;
