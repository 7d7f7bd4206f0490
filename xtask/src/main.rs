//! The project's own commands: `cargo xtask COMMAND`.

#![expect(clippy::print_stdout, reason = "these commands print their answer")]

mod command;
mod debian;
mod failure;
mod follow;
mod gate;
mod metadata;
mod node;
mod process;
mod product;
mod prose;
mod report;
mod size;
mod svg;
mod tokens;

use std::env;
use std::process::ExitCode;

use command::COMMANDS;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", command::help());
        return ExitCode::SUCCESS;
    };
    if ["help", "--help", "-h"].contains(&name.as_str())
        || rest.iter().any(|word| word == "--help" || word == "-h")
    {
        print!("{}", command::help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("error: there is no command {name:?}\n\n{}", command::help());
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}
