//! The screens of the README, drawn from real runs on a terminal.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testkit::{NeededBy, Scratch, Terminal};

use super::{no_arguments, setup};
use crate::failure::Failure;
use crate::process::{cargo, show};
use crate::svg::drawn;

const WAVES: &str = "import math

def load():
    return [(at, math.sin(at / 3)) for at in range(6)]

def summary(rows):
    import pandas
    return pandas.DataFrame({'mean': [0.12, -0.04], 'max': [0.99, 0.87]}, index=['north', 'south'])

def plot(rows):
    import matplotlib.pyplot as plt
    _, axes = plt.subplots(figsize=(5, 1.6))
    wave = [math.sin(at / 8) for at in range(120)]
    axes.plot(wave, linewidth=3)
    axes.fill_between(range(120), wave, alpha=0.3)
    axes.set_axis_off()
";

const CELLS: [&str; 4] = [
    "# Load\nfrom waves import load, plot, summary\nrows = load()\nfor at, value in rows:\n    print(f'{at:>3}  {value:+.3f}')",
    "# Summary\nsummary(rows)",
    "# Plot\nplot(rows)",
    "rows[99]",
];

pub(super) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    setup::provide(NeededBy::Tests)?;
    show(cargo().args(["build", "--package", "cellist"]))?;
    let desk = Desk::new();
    let terminal = desk.open(&["run", "waves.ipynb"], (112, 48));
    terminal.wait_for("cell 3 failed");
    desk.draw(&terminal, "run")?;
    drop(terminal);
    let mut terminal = desk.open(&["view", "waves.ipynb", "--standalone"], (96, 30));
    terminal.wait_for("cell 0 of 4");
    terminal.keys("jj");
    terminal.wait_for("cell 2 of 4");
    desk.draw(&terminal, "view")?;
    terminal.keys("q");
    terminal.end();
    let mut terminal = desk.open(&["repl", "--standalone"], (96, 30));
    for (typed, seen) in [
        ("from waves import load, summary\r", "In[1]"),
        ("summary(load())\r", "south"),
        ("for at, value in load()[:3]:\rprint(at, round(value, 2))\r\r", "2 0.62"),
        ("load?\r", "Signature"),
    ] {
        terminal.wait_for(">>>");
        terminal.keys(typed);
        terminal.wait_for(seen);
    }
    desk.draw(&terminal, "repl")?;
    terminal.keys("\u{4}");
    terminal.end();
    Ok(())
}

/// A folder to work in, as a person has one.
struct Desk(Scratch);

impl Desk {
    fn new() -> Desk {
        let scratch = Scratch::new();
        let cells: Vec<serde_json::Value> = CELLS
            .iter()
            .zip('a'..)
            .map(|(source, id)| {
                serde_json::json!({
                    "cell_type": "code", "execution_count": null, "id": id.to_string(), "metadata": {}, "outputs": [],
                    "source": source,
                })
            })
            .collect();
        let notebook =
            serde_json::json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        scratch.write("waves.ipynb", notebook.to_string());
        scratch.write("waves.py", WAVES);
        let python = testkit::python("kernels");
        let environment = python.parent().and_then(Path::parent).expect("it is in an environment");
        symlink(environment, scratch.path().join("env")).expect("the scratch folder is writable");
        Desk(scratch)
    }

    fn open(&self, words: &[&str], size: (u16, u16)) -> Terminal {
        let mut command = Command::new(testkit::target_dir().join("debug/cellist"));
        command
            .args(words)
            .arg("--python")
            .arg(self.0.path().join("env"))
            .current_dir(self.0.path())
            .env("CELLIST_HOME", self.0.path().join("state"))
            .env("CELLIST_TERMINAL_IMAGES", "blocks")
            .env("TERM", "xterm-256color")
            .env("COLORTERM", "truecolor")
            .env_remove("NO_COLOR");
        Terminal::start(&command, size)
    }

    fn draw(&self, terminal: &Terminal, name: &str) -> Result<(), Failure> {
        let home = self.0.path().display().to_string();
        let picture = drawn(&terminal.screen(), |text| text.replace(&home, "~"));
        let file = testkit::repo_root().join("docs/screens").join(format!("{name}.svg"));
        fs::write(&file, picture)
            .map_err(|error| Failure::new(format!("{} cannot be written: {error}", file.display())))
    }
}
