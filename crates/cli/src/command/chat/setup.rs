//! The configuration of a conversation: notebook, flags, settings and model.

use std::path::PathBuf;

use cellist_assistant::{ApiKeys, ChatRequest, ChatScope, MessageId, SetupError, UserMessage};
use cellist_settings::{Home, RunCode, Settings};
use cellist_tools::redaction::Redaction;
use cellist_tools::{EditorSelection, EditorState, Mode};

use super::ChatArgs;
use crate::command::exec::working_folder;
use crate::error::{CliError, FailureKind};
use crate::notebook_access::PathTarget;
use crate::notebook_access::files;
use crate::output::print_to_stderr;

pub(super) struct ChatSetup {
    pub(super) notebook: PathBuf,
    pub(super) settings: Settings,
    pub(super) mode: Mode,
    shared: cellist_assistant::AssistantSetup,
    front: EditorState,
    outputs: Vec<String>,
}

impl ChatSetup {
    pub(super) fn of(arguments: &ChatArgs) -> Result<ChatSetup, CliError> {
        let target = PathTarget { path: arguments.notebook.clone(), part: None };
        target.check_name()?;
        let opened = files::store().open(&target.path)?.notebook;
        let selection = EditorSelection { cells: arguments.select.clone(), editing: None };
        for cell in selection.references() {
            opened.find(&cell).map_err(|error| CliError::notebook(&target.path, &error))?;
        }
        let notebook =
            target.path.canonicalize().map_err(|error| CliError::unreadable(&target.path, &error))?;
        let (cwd, home) = (working_folder(None)?, Home::from_env());
        let environment = arguments.flags.environment();
        let keys = ApiKeys::from_variables(&environment.variables());
        let place = ChatScope {
            home,
            cwd,
            environment,
            redaction: Redaction::default(),
            keys,
            notebook: notebook.clone(),
        };
        let shared = cellist_assistant::AssistantSetup::read(place, |chat| {
            if let Some(model) = &arguments.model {
                chat.model = Some(model.clone());
            }
            if arguments.yes {
                chat.run_code = RunCode::Allow;
            }
        });
        let shared = shared.map_err(refused)?;
        shared.notices.iter().for_each(|notice| print_to_stderr(&format!("note: {notice}")));
        let front =
            EditorState { active: Some(notebook.clone()), attached: vec![notebook.clone()], selection };
        let (mode, outputs) = (arguments.mode, arguments.output.clone());
        Ok(ChatSetup { notebook, settings: shared.settings.clone(), mode, shared, front, outputs })
    }

    /// A message in a mode.
    pub(super) fn message(&self, words: &str, mode: Mode) -> Box<ChatRequest> {
        let (front, outputs) = (self.front.clone(), self.outputs.clone());
        let words = UserMessage { id: MessageId::random(), words: words.to_owned(), mode, front, outputs };
        Box::new(self.shared.request(words))
    }

    /// Notebooks that `@` can refer to.
    pub(super) fn notebooks(&self) -> Vec<String> {
        self.shared.notebooks(&self.notebook)
    }

    /// The model and its provider.
    pub(super) fn model(&self) -> String {
        format!("{} at {}", self.shared.account.model(), self.shared.account.host())
    }

    pub(super) fn model_name(&self) -> &str {
        self.shared.account.model()
    }
}

fn refused(error: SetupError) -> CliError {
    let hint = error.hint();
    match error {
        SetupError::Settings(faults) => faults.into(),
        SetupError::Account(none) => CliError::input(FailureKind::NoModel, none.to_string()).with_hint(hint),
        SetupError::Prompt(bad) => {
            CliError::input(FailureKind::BadPromptFile, bad.to_string()).with_hint(hint)
        }
    }
}
