//! What decides on answers: the user's settings and key, the notebook in front of the person, the mode.

use std::path::PathBuf;

use cellist_assistant::{Account, Ask, Rules};
use cellist_kernel::environment::Variables;
use cellist_session::Home;
use cellist_session::settings::{RunCode, Settings};
use cellist_tools::prompt::{FOLDER, Prompts};
use cellist_tools::{Caller, Editor, Mode, Selection, ToolSet, nearby_notebooks};

use super::Arguments;
use crate::answer::print_aside;
use crate::command::exec::working_folder;
use crate::error::CliError;
use crate::load;
use crate::target::Target;

pub(super) struct Setup {
    pub(super) notebook: PathBuf,
    pub(super) settings: Settings,
    pub(super) mode: Mode,
    account: Account,
    caller: Caller,
    rules: Rules,
    prompts: Prompts,
    outputs: Vec<String>,
}

impl Setup {
    pub(super) fn of(arguments: &Arguments) -> Result<Setup, CliError> {
        let target = Target { path: arguments.notebook.clone(), part: None };
        target.check_name()?;
        let opened = load::store().open(&target.path)?.notebook;
        let selection = Selection { cells: arguments.select.clone(), editing: None };
        for cell in selection.references() {
            opened.find(&cell).map_err(|error| CliError::notebook(&target.path, &error))?;
        }
        let notebook =
            target.path.canonicalize().map_err(|error| CliError::unreadable(&target.path, &error))?;
        let (cwd, home) = (working_folder(None)?, Home::from_env());
        let resolved = arguments.flags.settings(&cwd)?;
        resolved.notices.iter().for_each(|notice| print_aside(&format!("note: {notice}")));
        let mut settings = resolved.settings;
        if let Some(model) = &arguments.model {
            settings.chat.model = Some(model.clone());
        }
        if arguments.yes {
            settings.chat.run_code = RunCode::Allow;
        }
        let account = Account::find(&settings.chat, &Variables::of_process())
            .map_err(|error| CliError::input("no_model", error.to_string()).with_hint(error.hint()))?;
        let bad = |error: cellist_tools::prompt::BadPrompt| {
            CliError::input("bad_prompt_file", error.to_string()).with_hint(error.hint())
        };
        let prompts = Prompts::with_folder(&home.path().join(FOLDER)).map_err(bad)?;
        let prompts = prompts.with_files(&resolved.prompts).map_err(bad)?;
        let mut asker = arguments.flags.asker();
        let (tool_mode, notices) = asker.tool_mode(&home, &cwd, &settings);
        notices.iter().for_each(|notice| print_aside(&format!("note: {notice}")));
        // Secrets stay in this process; the key travels with the account alone.
        asker.withhold(&settings);
        let mut excluded = settings.chat.exclude.clone();
        excluded.push(home.path().to_string_lossy().into_owned());
        let stem = notebook.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let caller = Caller {
            name: "assistant".into(),
            session: format!("assistant-{stem}"),
            mode: arguments.mode,
            tools: ToolSet::All,
            tool_mode,
            roots: settings.tools.roots.iter().map(|root| cwd.join(root)).collect(),
            cwd,
            requires_active: true,
            front: Some(Editor {
                active: Some(notebook.clone()),
                attached: vec![notebook.clone()],
                selection,
            }),
            excluded: Some(excluded),
            attached: Vec::new(),
            asker,
        };
        let rules = Rules::from(&settings.chat);
        let (mode, outputs) = (arguments.mode, arguments.output.clone());
        Ok(Setup { notebook, settings, mode, account, caller, rules, prompts, outputs })
    }

    /// A message in a mode.
    pub(super) fn message(&self, words: &str, mode: Mode) -> Box<Ask> {
        Box::new(Ask {
            words: words.to_owned(),
            caller: Caller { mode, ..self.caller.clone() },
            account: self.account.clone(),
            rules: self.rules,
            instructions: self.prompts.for_mode(mode).0,
            outputs: self.outputs.clone(),
        })
    }

    /// The notebooks that a message may point at.
    pub(super) fn notebooks(&self) -> Vec<String> {
        let excluded = self.caller.excluded.as_deref().unwrap_or_default();
        nearby_notebooks(&self.caller.cwd, &self.notebook, excluded)
    }

    /// The model, and who provides it.
    pub(super) fn model(&self) -> String {
        format!("{} at {}", self.account.model(), self.account.host())
    }

    pub(super) fn model_name(&self) -> &str {
        self.account.model()
    }
}
