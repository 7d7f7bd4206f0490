//! The tests' provider of models as a program, for tests that are not written in Rust. It reads what to say as lines of
//! JSON, prints its port and what it was asked the same way, and ends with its input. Each order is answered when it is
//! done, after all that was asked before.

#![expect(clippy::print_stdout, reason = "that is how it is read")]

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::json;
use testkit::{Models, Said};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// Says this too, after what is left.
    Say(Said),
    /// Says nothing of what is left.
    Forget,
    /// Lets so many answers that are held go on.
    Release(usize),
    /// Does nothing, and is answered as all orders are.
    Wait,
}

fn main() -> ExitCode {
    let models = Models::start_telling([], |news| {
        let mut out = io::stdout().lock();
        // Nobody reads any more only when the input has ended too.
        let _ = writeln!(out, "{}", json!(news)).and_then(|()| out.flush());
    });
    println!("{}", json!({ "port": models.port() }));
    for (number, line) in io::stdin().lines().map_while(Result::ok).enumerate() {
        match serde_json::from_str(&line) {
            Ok(Order::Say(said)) => models.say([said]),
            Ok(Order::Forget) => models.forget(),
            Ok(Order::Release(count)) => (0..count).for_each(|_| models.release()),
            Ok(Order::Wait) => {}
            Err(error) => {
                eprintln!("{line}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{}", json!({ "done": number + 1 }));
    }
    // Connections that are open end with the process; nobody waits for what they would say.
    std::process::exit(0)
}
