//! The list of commands; each has a file of its own below.

mod bench;
mod check;
mod deny;
mod format;
mod fuzz;
mod gate;
mod screens;
mod setup;
mod test;
mod torture;
mod web;

use crate::failure::Failure;

/// One command, as the help shows it and as `main` calls it.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    arguments: &'static str,
    about: &'static str,
    pub(crate) run: fn(&[String]) -> Result<(), Failure>,
}

pub(crate) const COMMANDS: &[Command] = &[
    Command {
        name: "test",
        arguments: "",
        about: "set up, then run every check and every test",
        run: test::run,
    },
    Command {
        name: "setup",
        arguments: "",
        about: "build the parts that tests run on, and nothing else",
        run: setup::run,
    },
    Command {
        name: "check",
        arguments: "",
        about: "format, lints, documentation and the gates, without tests",
        run: check::run,
    },
    Command {
        name: "format",
        arguments: "",
        about: "format Rust, TypeScript, CSS and Python",
        run: format::run,
    },
    Command {
        name: "gate",
        arguments: "[NAME]...",
        about: "check the named rules, or all of them, and print their figures",
        run: gate::run,
    },
    Command {
        name: "screens",
        arguments: "",
        about: "redraw the README's screens from real runs",
        run: screens::run,
    },
    Command { name: "web", arguments: "", about: "build the page, which is kept in web/dist", run: web::run },
    Command {
        name: "bench",
        arguments: "[NAME]... [--corpus DIR]",
        about: "measure the release build and its peers",
        run: bench::run,
    },
    Command {
        name: "fuzz",
        arguments: "[TARGET] [--seconds N]",
        about: "run one fuzz target or all of them, 60 seconds each by default",
        run: fuzz::run,
    },
    Command {
        name: "torture",
        arguments: "[--kills N] [--seed S]",
        about: "kill host, kernels, guard and front ends at random moments, 1,000 times by default",
        run: torture::run,
    },
];

/// The help text.
pub(crate) fn help() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND\n\nCommands:\n");
    for Command { name, arguments, about, .. } in COMMANDS {
        text.push_str(&format!("  {:<30}{about}\n", format!("{name} {arguments}")));
    }
    text.push_str(
        "\nEnvironment:\n  CELLIST_TEST_PYTHON3          the Python that environments are made with, instead of python3\n",
    );
    text
}

/// For commands that take no arguments.
fn no_arguments(arguments: &[String]) -> Result<(), Failure> {
    match arguments.first() {
        None => Ok(()),
        Some(word) => Err(Failure::new(format!("unexpected argument {word:?}"))),
    }
}
