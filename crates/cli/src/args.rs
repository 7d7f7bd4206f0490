//! The command line: all commands and the global options.

use cellist_settings::Home;
use clap::{Parser, Subcommand};

use crate::command::{
    artifact, cell, chat, completions, context, diff, doctor, edit, editor, exec, gateway, git_setup, guard,
    history, kernels, man, mcp, merge, new, open, prompt, read, repl, revoke, run, serve, sessions, settings,
    status, stop, trust, undo, view, write,
};
use crate::error::CliError;
use crate::output::{CommandOutput, OutputFormat, print_to_stderr};

/// Run, read, edit, diff and merge Jupyter notebooks, with live sessions shared by people and agents
///
/// An edit changes only the bytes of the edited cells. Concurrent changes by other programs are merged cell by
/// cell.
///
/// Exit status: 0 success, 1 differences found or code failed, 2 bad usage or input (nothing changed), 3 no
/// Python or kernel, 4 conflict or failed save, 124 timeout, 130 interrupted.
#[derive(Parser, Debug)]
#[command(
    name = "cellist",
    version,
    arg_required_else_help = true,
    max_term_width = 79,
    after_help = "Examples:
  cellist open nb.ipynb          open in the browser
  cellist chat nb.ipynb          chat with a model in the terminal
  cellist run nb.ipynb           run all cells and save their outputs
  cellist exec 'print(6 * 7)'    run a piece of code
  cellist read nb.ipynb          print as text
  cellist read nb.ipynb > t; cellist write nb.ipynb t
  cellist cell insert nb.ipynb end --source 'print(1)'
  cellist diff old.ipynb new.ipynb

State is stored in ~/.cellist; set CELLIST_HOME to change that.
Set CELLIST_AGENT=NAME to attribute changes to an agent, for review and undo."
)]
pub(crate) struct Cli {
    /// Print one JSON object, also for errors
    #[arg(long, global = true, display_order = 900)]
    json: bool,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Subcommand, Debug)]
enum CliCommand {
    Open(open::OpenArgs),
    Run(run::RunArgs),
    Exec(exec::ExecArgs),
    Repl(repl::ReplArgs),
    View(view::ViewArgs),
    Chat(chat::ChatArgs),
    Sessions(sessions::SessionsArgs),
    Artifact(artifact::ArtifactArgs),
    Read(read::ReadArgs),
    Write(write::WriteArgs),
    Edit(edit::EditArgs),
    New(new::NewArgs),
    Cell(cell::CellArgs),
    History(history::HistoryArgs),
    Undo(undo::UndoArgs),
    Diff(diff::DiffArgs),
    Merge(merge::MergeArgs),
    GitSetup(git_setup::GitSetupArgs),
    Kernels(kernels::KernelsArgs),
    Editor(editor::EditorArgs),
    Gateway(gateway::GatewayArgs),
    Context(context::ContextArgs),
    Prompt(prompt::PromptArgs),
    Mcp(mcp::McpArgs),
    Serve(serve::ServeArgs),
    Status(status::StatusArgs),
    Revoke(revoke::RevokeArgs),
    Stop(stop::StopArgs),
    Settings(settings::SettingsArgs),
    Trust(trust::TrustArgs),
    Doctor(doctor::DoctorArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Guard(guard::GuardArgs),
}

impl Cli {
    pub(crate) fn format(&self) -> OutputFormat {
        if self.json { OutputFormat::Json } else { OutputFormat::Text }
    }

    /// Warns on standard error if other users can access the state folder.
    pub(crate) fn warn_about_exposed_state(&self) {
        let uses_none =
            matches!(self.command, CliCommand::Guard(_) | CliCommand::Completions(_) | CliCommand::Man(_));
        // `doctor` reports it as a check.
        if uses_none || matches!(self.command, CliCommand::Doctor(_)) {
            return;
        }
        if let Some(exposure) = Home::from_env().exposure() {
            print_to_stderr(&format!("warning: {exposure}\nhint: {}", exposure.remedy()));
        }
    }

    pub(crate) fn run(self) -> Result<CommandOutput, CliError> {
        let format = self.format();
        match self.command {
            CliCommand::Open(arguments) => open::open_page(arguments),
            CliCommand::Run(arguments) => run::run_notebook(arguments, format),
            CliCommand::Exec(arguments) => exec::exec_code(arguments, format),
            CliCommand::Repl(arguments) => repl::start_repl(arguments),
            CliCommand::View(arguments) => view::view_notebook(arguments),
            CliCommand::Chat(arguments) => chat::chat_about_notebook(arguments, format),
            CliCommand::Sessions(arguments) => sessions::run_sessions_command(arguments),
            CliCommand::Artifact(arguments) => artifact::run_artifact_command(arguments, format),
            CliCommand::Read(arguments) => read::read_path(arguments, format),
            CliCommand::Write(arguments) => write::write_notebook(arguments),
            CliCommand::Edit(arguments) => edit::edit_notebook(arguments),
            CliCommand::New(arguments) => new::create_notebook(arguments),
            CliCommand::Cell(arguments) => cell::run_cell_command(arguments),
            CliCommand::History(arguments) => history::show_history(arguments),
            CliCommand::Undo(arguments) => undo::undo_changes(arguments),
            CliCommand::Diff(arguments) => diff::diff_notebooks(arguments),
            CliCommand::Merge(arguments) => merge::merge_notebooks(arguments),
            CliCommand::GitSetup(arguments) => git_setup::set_up_git(arguments),
            CliCommand::Kernels(arguments) => kernels::list_kernels(arguments),
            CliCommand::Editor(arguments) => editor::report_editor(arguments),
            CliCommand::Gateway(arguments) => gateway::run_gateway_command(arguments),
            CliCommand::Context(arguments) => context::show_context(arguments),
            CliCommand::Prompt(arguments) => prompt::show_prompt(arguments),
            CliCommand::Mcp(arguments) => mcp::serve_mcp(arguments),
            CliCommand::Serve(arguments) => serve::serve_host(arguments),
            CliCommand::Status(arguments) => status::show_status(arguments),
            CliCommand::Revoke(arguments) => revoke::revoke_browsers(arguments),
            CliCommand::Stop(arguments) => stop::stop_host(arguments),
            CliCommand::Settings(arguments) => settings::show_settings(arguments),
            CliCommand::Trust(arguments) => trust::change_trust(arguments),
            CliCommand::Doctor(arguments) => doctor::check_installation(arguments),
            CliCommand::Completions(arguments) => completions::print_completions(arguments),
            CliCommand::Man(arguments) => man::write_man_pages(arguments),
            CliCommand::Guard(arguments) => guard::run_guard(arguments),
        }
    }
}
