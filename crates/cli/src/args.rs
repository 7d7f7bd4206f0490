//! The command line as a whole: which commands there are, and what holds for all of them.

use cellist_settings::Home;
use clap::{Parser, Subcommand};

use crate::answer::{Answer, Format, print_aside};
use crate::command::{
    artifact, cell, chat, completions, context, diff, doctor, edit, editor, exec, gateway, git_setup, guard,
    history, kernels, man, mcp, merge, new, open, prompt, read, repl, revoke, run, serve, sessions, settings,
    status, stop, trust, undo, view, write,
};
use crate::error::CliError;

/// Notebooks on the command line: run, read, change, compare and merge them, and lose nothing
///
/// A change touches only the bytes of what was edited. Files that other programs change at the same time are
/// merged by cell. Exit status: 0 done, 1 differences or code that failed, 2 bad usage or bad input (nothing
/// changed), 3 no Python or kernel, 4 could not save, or a conflict, 124 timed out, 130 interrupted.
#[derive(Parser, Debug)]
#[command(
    name = "cellist",
    version,
    arg_required_else_help = true,
    max_term_width = 79,
    after_help = "Examples:
  cellist open nb.ipynb          in the browser, beside agents
  cellist chat nb.ipynb          with a model, on the terminal
  cellist run nb.ipynb           its cells, with their outputs saved
  cellist exec 'print(6 * 7)'    code alone
  cellist read nb.ipynb          a notebook as text
  cellist read nb.ipynb > t; cellist write nb.ipynb t
  cellist cell insert nb.ipynb end --source 'print(1)'
  cellist diff old.ipynb new.ipynb

State is kept in ~/.cellist, or where CELLIST_HOME says.
CELLIST_AGENT=NAME marks changes as an agent's, for review and undo."
)]
pub(crate) struct Cli {
    /// Print one JSON object, for errors too
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Open(open::Arguments),
    Run(run::Arguments),
    Exec(exec::Arguments),
    Repl(repl::Arguments),
    View(view::Arguments),
    Chat(chat::Arguments),
    Sessions(sessions::Arguments),
    Artifact(artifact::Arguments),
    Read(read::Arguments),
    Write(write::Arguments),
    Edit(edit::Arguments),
    New(new::Arguments),
    Cell(cell::Arguments),
    History(history::Arguments),
    Undo(undo::Arguments),
    Diff(diff::Arguments),
    Merge(merge::Arguments),
    GitSetup(git_setup::Arguments),
    Kernels(kernels::Arguments),
    Editor(editor::Arguments),
    Gateway(gateway::Arguments),
    Context(context::Arguments),
    Prompt(prompt::Arguments),
    Mcp(mcp::Arguments),
    Serve(serve::Arguments),
    Status(status::Arguments),
    Revoke(revoke::Arguments),
    Stop(stop::Arguments),
    Settings(settings::Arguments),
    Trust(trust::Arguments),
    Doctor(doctor::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    Guard(guard::Arguments),
}

impl Cli {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { Format::People }
    }

    /// Says on standard error when other users can reach the state folder.
    pub(crate) fn warn_of_exposed_state(&self) {
        let uses_none = matches!(self.command, Command::Guard(_) | Command::Completions(_) | Command::Man(_));
        // The doctor tells it in its own words.
        if uses_none || matches!(self.command, Command::Doctor(_)) {
            return;
        }
        if let Some(exposure) = Home::from_env().exposure() {
            print_aside(&format!("warning: {exposure}\nhint: {}", exposure.remedy()));
        }
    }

    pub(crate) fn run(self) -> Result<Answer, CliError> {
        let format = self.format();
        match self.command {
            Command::Open(arguments) => open::run(arguments),
            Command::Run(arguments) => run::run(arguments, format),
            Command::Exec(arguments) => exec::run(arguments, format),
            Command::Repl(arguments) => repl::run(arguments),
            Command::View(arguments) => view::run(arguments),
            Command::Chat(arguments) => chat::run(arguments, format),
            Command::Sessions(arguments) => sessions::run(arguments),
            Command::Artifact(arguments) => artifact::run(arguments, format),
            Command::Read(arguments) => read::run(arguments, format),
            Command::Write(arguments) => write::run(arguments),
            Command::Edit(arguments) => edit::run(arguments),
            Command::New(arguments) => new::run(arguments),
            Command::Cell(arguments) => cell::run(arguments),
            Command::History(arguments) => history::run(arguments),
            Command::Undo(arguments) => undo::run(arguments),
            Command::Diff(arguments) => diff::run(arguments),
            Command::Merge(arguments) => merge::run(arguments),
            Command::GitSetup(arguments) => git_setup::run(arguments),
            Command::Kernels(arguments) => kernels::run(arguments),
            Command::Editor(arguments) => editor::run(arguments),
            Command::Gateway(arguments) => gateway::run(arguments),
            Command::Context(arguments) => context::run(arguments),
            Command::Prompt(arguments) => prompt::run(arguments),
            Command::Mcp(arguments) => mcp::run(arguments),
            Command::Serve(arguments) => serve::run(arguments),
            Command::Status(arguments) => status::run(arguments),
            Command::Revoke(arguments) => revoke::run(arguments),
            Command::Stop(arguments) => stop::run(arguments),
            Command::Settings(arguments) => settings::run(arguments),
            Command::Trust(arguments) => trust::run(arguments),
            Command::Doctor(arguments) => doctor::run(arguments),
            Command::Completions(arguments) => completions::run(arguments),
            Command::Man(arguments) => man::run(arguments),
            Command::Guard(arguments) => guard::run(arguments),
        }
    }
}
