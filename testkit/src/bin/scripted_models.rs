//! The scripted provider of models as a program, for tests that are not in Rust. Reads commands as
//! JSON lines. Prints its port and all events as JSON lines, and ends with its input. Confirms each
//! command after all earlier requests.

#![expect(clippy::print_stdout, reason = "that is how it is read")]

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;
use testkit::{Models, Said};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ScriptCommand {
    /// Appends an answer to the script.
    Say(Said),
    /// Clears the script.
    Forget,
    /// Lets this many held answers continue.
    Release(usize),
    /// Does nothing. The confirmation orders it after earlier requests.
    Wait,
}

fn main() -> ExitCode {
    let models = Models::start_telling([], |news| {
        let mut out = io::stdout().lock();
        // The reader is gone only when the input has ended too.
        let _ = writeln!(out, "{}", json!(news)).and_then(|()| out.flush());
    });
    println!("{}", json!({ "port": models.port() }));
    for (number, line) in io::stdin().lines().map_while(Result::ok).enumerate() {
        match serde_json::from_str(&line) {
            Ok(ScriptCommand::Say(said)) => models.say([said]),
            Ok(ScriptCommand::Forget) => models.forget(),
            Ok(ScriptCommand::Release(count)) => (0..count).for_each(|_| models.release()),
            Ok(ScriptCommand::Wait) => {}
            Err(error) => {
                eprintln!("{line}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{}", json!({ "done": number + 1 }));
    }
    // Open connections end with the process. No client waits for them.
    std::process::exit(0)
}
