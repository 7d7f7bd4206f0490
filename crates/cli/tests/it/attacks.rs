//! What goes wrong on purpose, and that nothing else goes wrong with it.

mod clients;
mod displays;
mod faults;
mod limits;
mod reach;
mod servers;
