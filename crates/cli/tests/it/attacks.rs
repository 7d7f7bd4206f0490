//! Deliberate faults and attacks, and that they harm nothing else.

mod clients;
mod commands;
mod displays;
mod faults;
mod host_faults;
mod kills;
mod limits;
mod missing;
mod opening;
mod reach;
mod removed;
mod save_faults;
mod servers;
mod state_folder;
mod terminal_text;
