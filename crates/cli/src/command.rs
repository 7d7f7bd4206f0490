//! The commands, one file each.

pub(crate) mod artifact;
pub(crate) mod cell;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod exec;
pub(crate) mod git_setup;
pub(crate) mod guard;
pub(crate) mod history;
pub(crate) mod kernels;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod prompt;
pub(crate) mod read;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod write;
