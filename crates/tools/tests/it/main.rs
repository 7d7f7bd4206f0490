//! Tools as an agent calls them, on real files.

mod bed;
mod cells;
mod modes;
mod paths;
