//! What goes wrong on purpose or is tried by others, and that nothing else goes wrong with it.

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
