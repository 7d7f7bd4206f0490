//! The configuration of the assistant: settings, API keys, working folder and instructions. Terminal and page read it again
//! for each message or command.

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_platform::Variables;
use cellist_session::orders::ClientEnvironment;
use cellist_settings::{Chat, Faults, Home, Settings, Sources, resolve};
use cellist_tools::prompt::{BadPrompt, FOLDER, Prompts};
use cellist_tools::redaction::Redaction;
use cellist_tools::{Caller, EditorState, FilePolicy, Mode, ToolSet, nearby_notebooks};
use serde::{Deserialize, Serialize};

use crate::conversation::{AnswerRules, ChatRequest, MessageId};
use crate::provider::{Account, AccountError, Vendor};

/// The API keys in a client's environment variables. They stay in memory and are never passed to a kernel.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKeys(Vec<(String, String)>);

/// The variable of the setting `chat.api_key`.
const OUR_KEY: &str = "CELLIST_CHAT_API_KEY";

impl ApiKeys {
    /// Extracts the keys from environment variables.
    pub fn from_variables(variables: &Variables) -> ApiKeys {
        let names = Vendor::all_variables().chain([OUR_KEY]);
        ApiKeys(names.filter_map(|name| Some((name.to_owned(), variables.text(name)?))).collect())
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKeys({})", self.0.len())
    }
}

/// The client of a conversation and its environment.
#[derive(Clone, Debug)]
pub struct ChatScope {
    /// The state folder.
    pub home: Home,
    /// The client's working folder.
    pub cwd: PathBuf,
    /// The environment that kernels are chosen by.
    pub environment: ClientEnvironment,
    /// The secrets that are removed from prompts.
    pub redaction: Redaction,
    /// The API keys of the client.
    pub keys: ApiKeys,
    /// The path of the notebook.
    pub notebook: PathBuf,
}

/// The configuration for messages about a notebook.
#[derive(Clone, Debug)]
pub struct AssistantSetup {
    /// The resolved settings.
    pub settings: Settings,
    /// Notices for the user about the settings.
    pub notices: Vec<String>,
    /// The provider, model and key.
    pub account: Account,
    caller: Caller,
    prompts: Prompts,
    home: Home,
}

/// A message as the user writes it, with the state of the editor.
#[derive(Clone, Debug, Default)]
pub struct UserMessage {
    /// The client's name for the message.
    pub id: MessageId,
    /// The text of the message.
    pub words: String,
    /// The mode of the answer.
    pub mode: Mode,
    /// The state of the user's editor.
    pub front: EditorState,
    /// The cells whose outputs go into the prompt.
    pub outputs: Vec<String>,
}

/// Why the assistant is not configured.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant describes it")]
pub enum SetupError {
    #[error(transparent)]
    Settings(#[from] Faults),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Prompt(#[from] BadPrompt),
}

impl SetupError {
    /// A hint for the user.
    pub fn hint(&self) -> String {
        match self {
            SetupError::Settings(_) => "fix the setting; `cellist settings` lists all settings".to_owned(),
            SetupError::Account(error) => error.hint(),
            SetupError::Prompt(bad) => bad.hint().to_owned(),
        }
    }
}

impl AssistantSetup {
    /// Reads settings, keys and prompts. `change` overrides settings for this time. Blocks on a few small files.
    pub fn read(scope: ChatScope, change: impl FnOnce(&mut Chat)) -> Result<AssistantSetup, SetupError> {
        let ChatScope { home, cwd, mut environment, mut redaction, keys, notebook } = scope;
        let mut variables = environment.variables();
        keys.0.into_iter().for_each(|(name, value)| variables.set(name, value));
        let sources =
            Sources { home: &home, folder: Some(&cwd), variables: &variables, flags: &environment.set };
        let resolved = resolve(&sources)?;
        let mut settings = resolved.settings;
        change(&mut settings.chat);
        let account = Account::find(&settings.chat, &variables)?;
        let prompts = Prompts::with_folder(&home.path().join(FOLDER))?.with_files(&resolved.prompts)?;
        let (tool_mode, tool_notices) = environment.tool_mode(&home, &cwd, &settings);
        // The kernel's environment must not contain secrets. The API key is part of the account only.
        redaction.withhold_from(&mut environment, &settings);
        let caller = Caller {
            name: "assistant".into(),
            session: format!("assistant-{}", stem(&notebook)),
            mode: Mode::Ask,
            tools: ToolSet::All,
            tool_mode,
            roots: settings.tools.roots.iter().map(|root| cwd.join(root)).collect(),
            cwd,
            requires_active: true,
            is_shared: false,
            front: None,
            excluded: settings.chat.exclude.clone(),
            allowed: settings.tools.allow_writes.clone(),
            attached: Vec::new(),
            environment,
            redaction,
        };
        let notices = resolved.notices.into_iter().chain(tool_notices).collect();
        Ok(AssistantSetup { settings, notices, account, caller, prompts, home })
    }

    /// Lists the notebooks near the working folder that a message may attach, without `own`.
    pub fn notebooks(&self, own: &Path) -> Vec<String> {
        nearby_notebooks(&self.caller.cwd, own, &FilePolicy::of(&self.caller, &self.home))
    }

    /// Completes a message to a request.
    pub fn request(&self, message: UserMessage) -> ChatRequest {
        let UserMessage { id, words, mode, front, outputs } = message;
        ChatRequest {
            id,
            words,
            caller: Caller { mode, front: Some(front), ..self.caller.clone() },
            account: self.account.clone(),
            rules: AnswerRules::from(&self.settings.chat),
            instructions: self.prompts.for_mode(mode).0,
            outputs,
            about: None,
        }
    }

    /// Completes a message about one cell of the active notebook. Its answer is a proposal.
    pub fn request_about_cell(&self, message: UserMessage, cell: &str) -> ChatRequest {
        let mut request = self.request(UserMessage { mode: Mode::Ask, ..message });
        // A session of its own: the model of the chat has not read this conversation.
        request.caller.session.push_str("-inline");
        request.about = Some(cell.to_owned());
        request
    }
}

fn stem(notebook: &Path) -> String {
    notebook.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use testkit::Scratch;

    use super::*;

    fn scope(scratch: &Scratch, config: &str, keys: &[(&str, &str)]) -> ChatScope {
        let home = Home::at(scratch.path().join("home"));
        scratch.write("home/config.toml", config);
        let variables: Variables =
            keys.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let keys = ApiKeys::from_variables(&variables);
        assert!(!format!("{keys:?}").contains("hush"));
        let cwd = scratch.path().to_owned();
        ChatScope {
            home,
            notebook: cwd.join("nb.ipynb"),
            cwd,
            environment: ClientEnvironment::default(),
            redaction: Redaction::default(),
            keys,
        }
    }

    #[test]
    fn the_account_comes_from_settings_and_keys_and_no_kernel_gets_the_key() {
        let scratch = Scratch::new();
        let keys = [("OPENAI_API_KEY", "hush-hush"), ("OTHER", "o")];
        let missing = AssistantSetup::read(scope(&scratch, "", &keys), |_| {}).unwrap_err();
        assert_eq!(missing.to_string(), "no model is set for openai");
        assert!(missing.hint().contains("config.toml"), "{}", missing.hint());
        let setup = AssistantSetup::read(
            scope(&scratch, "[chat]\nmodel = \"m\"\nexclude = [\"x\"]\n", &keys),
            |_| {},
        );
        let request =
            setup.unwrap().request(UserMessage { words: "hello".to_owned(), ..UserMessage::default() });
        assert_eq!((request.account.model(), request.caller.session.as_str()), ("m", "assistant-nb"));
        assert!(!serde_json::to_string(&request.caller).unwrap().contains("hush"));
        assert_eq!(request.caller.excluded, ["x"]);
        let broken =
            AssistantSetup::read(scope(&scratch, "[chat]\nmax_steps = \"x\"\n", &keys), |_| {}).unwrap_err();
        assert!(matches!(broken, SetupError::Settings(_)), "{broken}");
        let changed =
            AssistantSetup::read(scope(&scratch, "", &keys), |chat| chat.model = Some("other".to_owned()));
        assert_eq!(changed.unwrap().account.model(), "other");
    }

    #[test]
    fn cellists_own_key_variable_is_read_and_no_other_variable() {
        let scratch = Scratch::new();
        let keys = [("CELLIST_CHAT_API_KEY", "hush"), ("CELLIST_CHAT_MODEL", "other"), ("PATH", "/bin")];
        let scope = scope(&scratch, "[chat]\nprovider = \"anthropic\"\nmodel = \"m\"\n", &keys);
        assert_eq!(scope.keys.0.len(), 1);
        assert_eq!(AssistantSetup::read(scope, |_| {}).unwrap().account.model(), "m");
    }
}
