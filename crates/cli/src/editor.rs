//! The editor's state: notebooks and cells from flags, or from the editor's last report to the host.

use std::fs;
use std::path::{Path, PathBuf};

use cellist_host::{ContextReply, Host, HostAddress, HostClient, Reply, Request};
use cellist_notebook::CellRef;
use cellist_settings::Home;
use cellist_tools::context::NotebookContext;
use cellist_tools::redaction::Redaction;
use cellist_tools::{EditorSelection, EditorState, Mode, UnknownMode};
use clap::Args;
use serde_json::json;
use tokio::runtime::Builder;

use crate::command::exec::working_folder;
use crate::error::CliError;
use crate::host::user_host;
use crate::kernel::KernelFlags;
use crate::notebook_access::files;
use crate::settings::settings_in;

/// Flags for the active and attached notebooks and the selection.
#[derive(Args, Debug)]
pub(crate) struct EditorFlags {
    /// A notebook attached to the conversation; may be repeated
    #[arg(long, value_name = "NB", num_args = 1..)]
    attach: Vec<PathBuf>,
    /// The notebook that is active in the editor
    #[arg(long, value_name = "NB")]
    active: Option<PathBuf>,
    /// A selected cell, by index or id; may be repeated
    #[arg(long, value_name = "CELL", num_args = 1.., allow_negative_numbers = true)]
    select: Vec<String>,
    /// The cell being edited
    #[arg(long, value_name = "CELL", allow_negative_numbers = true)]
    editing: Option<String>,
    /// The agent's mode: ask, edit or agent
    #[arg(long, value_name = "MODE", default_value = "agent", value_parser = mode)]
    pub(crate) mode: Mode,
}

pub(crate) fn mode(word: &str) -> Result<Mode, UnknownMode> {
    word.parse()
}

impl EditorFlags {
    /// The state from the flags; without flags, the editor's last report to the host. `also` are notebooks
    /// attached in another way.
    pub(crate) fn editor(&self, also: &[PathBuf]) -> Result<EditorState, CliError> {
        let says_nothing = self.attach.is_empty() && self.active.is_none();
        if says_nothing && let Some(Reply::Editor(editor)) = ask_host(Request::Editor(None)) {
            let mut editor = *editor;
            if !self.select.is_empty() || self.editing.is_some() {
                editor.selection = self.selection();
            }
            editor.attached.extend(also.iter().map(|path| real(path)).collect::<Result<Vec<_>, _>>()?);
            return Ok(editor);
        }
        let attached =
            self.attach.iter().chain(also).map(|path| real(path)).collect::<Result<Vec<_>, _>>()?;
        Ok(EditorState {
            active: self.active.as_deref().map(real).transpose()?,
            attached,
            selection: self.selection(),
        })
    }

    /// The context of the active notebook, if notebook mode is on. The selected cells must exist.
    pub(crate) fn context(&self, editor: &EditorState) -> Result<Option<ContextReply>, CliError> {
        if let Some(path) = editor.notebook() {
            let selection = self.selection();
            let cells: Vec<CellRef> = selection.references().chain(selection.editing()).collect();
            if !cells.is_empty() {
                let notebook = files::store().open(path)?.notebook;
                let found: Result<Vec<usize>, _> = cells.iter().map(|cell| notebook.find(cell)).collect();
                found.map_err(|error| CliError::notebook(path, &error))?;
            }
        }
        context(editor)
    }

    fn selection(&self) -> EditorSelection {
        EditorSelection { cells: self.select.clone(), editing: self.editing.clone() }
    }
}

/// The context of the active notebook, if notebook mode is on: from the host if it runs, else from the file.
fn context(editor: &EditorState) -> Result<Option<ContextReply>, CliError> {
    let Some(path) = editor.notebook() else { return Ok(None) };
    // The editor may have reported a notebook that agents must not read.
    files::check_look(path)?;
    let redaction = redaction()?;
    let request = Request::Context { editor: Box::new(editor.clone()), redaction: redaction.clone() };
    if let Some(Reply::Context(told)) = ask_host(request) {
        return Ok(told.map(|told| *told));
    }
    let notebook = files::store().open(path)?.notebook;
    let context = NotebookContext::of(&notebook, path, None, &editor.selection, |_| None);
    let context = context.map_err(|error| CliError::notebook(path, &error))?.redacted(&notebook, &redaction);
    Ok(Some(ContextReply { json: json!(context), text: context.text() }))
}

/// The redaction of secrets, as for agents started here.
fn redaction() -> Result<Redaction, CliError> {
    let settings = settings_in(&working_folder(None)?, &[])?;
    let mut environment = KernelFlags::default().environment();
    let mut redaction = Redaction::default();
    redaction.withhold_from(&mut environment, &settings.settings);
    Ok(redaction)
}

/// The host's reply, if a host is running. Does not start one.
fn ask_host(request: Request) -> Option<Reply> {
    // Usually no host has registered, and this check is cheap.
    Host::place(&Home::from_env()).said::<HostAddress>()?;
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async { HostClient::attach(&user_host()).await.ok()?.ask(request).await.ok() })
}

/// The reason that notebook mode is off.
pub(crate) fn notebook_mode_off_reason(editor: &EditorState) -> &'static str {
    match (editor.attached.is_empty(), &editor.active) {
        (true, None) => "Notebook mode is off: no notebook is attached or active.",
        (true, Some(_)) => "Notebook mode is off: the active notebook is not attached.",
        (false, None) => "Notebook mode is off: no attached notebook is active.",
        (false, Some(_)) => "Notebook mode is off: the active file is not an attached notebook.",
    }
}

/// The canonical path of a file that agents may read.
pub(crate) fn real(path: &Path) -> Result<PathBuf, CliError> {
    files::check_look(path)?;
    fs::canonicalize(path).map_err(|error| CliError::unreadable(path, &error))
}
