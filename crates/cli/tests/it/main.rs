//! The binary from outside: what each command prints, how it exits, and what it leaves in the file.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]
mod artifact;
mod base;
mod bench;
mod cell;
mod completions;
mod context;
mod corpus;
mod desk;
mod diff;
mod doctor;
mod edit;
mod exec;
mod git;
mod history;
mod host;
mod kernels;
mod loading;
mod many_writers;
mod mcp;
mod merge;
mod new;
mod notebooks;
mod old_host;
mod read;
mod run;
mod selectors;
mod sessions;
mod settings;
mod streams;
mod suite;
mod terminal;
mod trust;
mod usage;
mod write;
