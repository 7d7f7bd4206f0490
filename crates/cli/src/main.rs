//! The binary: parses the command line, runs the command and prints its output.

mod allocation;
mod args;
mod clock;
mod command;
mod edit_report;
mod editor;
mod error;
mod file_size_limit;
mod host;
mod input;
mod kernel;
mod kernel_log;
mod line_history;
mod listing;
mod notebook_access;
mod output;
mod paint;
mod parameters;
mod progress;
mod settings;
mod signals;
mod spinner;
mod unified_diff;
mod usage;

use std::process::ExitCode;

use cellist_platform::contained::{catch, report_panics};
use clap::Parser;

fn main() -> ExitCode {
    file_size_limit::turn_signal_into_error();
    report_panics(output::print_to_stderr);
    let done = catch(|| match args::Cli::try_parse() {
        Ok(cli) => {
            let format = cli.format();
            cli.warn_about_exposed_state();
            output::print_result(cli.run(), format)
        }
        Err(error) => usage::print_result(&error),
    });
    // The panic has been reported; its status is the one that Rust programs have for it.
    done.map_or(ExitCode::from(101), ExitCode::from)
}
