//! The binary: takes the arguments apart, runs the command that they name, prints its answer.

mod answer;
mod args;
mod clock;
mod command;
mod editor;
mod error;
mod host;
mod input;
mod interrupts;
mod kernel;
mod limits;
mod listing;
mod memory;
mod notebook_access;
mod paint;
mod parameters;
mod patch;
mod progress;
mod report;
mod settings;
mod startup;
mod typed;
mod usage;
mod waiting;

use std::process::ExitCode;

use cellist_platform::contained::{catch, report_panics};
use clap::Parser;

fn main() -> ExitCode {
    limits::report_large_files();
    report_panics(answer::print_aside);
    let done = catch(|| match args::Cli::try_parse() {
        Ok(cli) => {
            let format = cli.format();
            cli.warn_of_exposed_state();
            answer::deliver(cli.run(), format)
        }
        Err(error) => usage::deliver(&error),
    });
    // The panic has been reported; its status is the one that Rust programs have for it.
    done.map_or(ExitCode::from(101), ExitCode::from)
}
