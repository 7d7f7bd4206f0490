//! What decides on answers: the user's settings and keys, the folder, the instructions. Read anew whenever someone wants
//! that, for a terminal as for a page.

use std::fmt;
use std::path::{Path, PathBuf};

use cellist_platform::Variables;
use cellist_session::orders::ClientEnvironment;
use cellist_settings::{Chat, Faults, Home, Settings, Sources, resolve};
use cellist_tools::prompt::{BadPrompt, FOLDER, Prompts};
use cellist_tools::redaction::Redaction;
use cellist_tools::{Caller, EditorState, FilePolicy, Mode, ToolSet, nearby_notebooks};
use serde::{Deserialize, Serialize};

use crate::conversation::{Ask, MessageId, Rules};
use crate::provider::{Account, NoAccount, Vendor};

/// What lets a person into providers, out of their variables. It is kept in memory alone, and no kernel gets it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys(Vec<(String, String)>);

/// The variable of the setting `chat.api_key`.
const OUR_KEY: &str = "CELLIST_CHAT_API_KEY";

impl Keys {
    /// Those among some variables, and nothing else of them.
    pub fn among(variables: &Variables) -> Keys {
        let names = Vendor::all_variables().chain([OUR_KEY]);
        Keys(names.filter_map(|name| Some((name.to_owned(), variables.text(name)?))).collect())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Keys({})", self.0.len())
    }
}

/// Someone who talks about a notebook, and where they are.
#[derive(Clone, Debug)]
pub struct Place {
    /// The state folder.
    pub home: Home,
    /// The folder that they work in.
    pub cwd: PathBuf,
    /// What decides which kernels they get.
    pub environment: ClientEnvironment,
    /// What is taken out of all that a model reads for them.
    pub redaction: Redaction,
    /// What lets them into providers.
    pub keys: Keys,
    /// The notebook.
    pub notebook: PathBuf,
}

/// All that does not change from one message to the next.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The settings.
    pub settings: Settings,
    /// What the person should know about them.
    pub notices: Vec<String>,
    /// Who is asked.
    pub account: Account,
    caller: Caller,
    prompts: Prompts,
    home: Home,
}

/// What a person says, and what is in front of them.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The client's name for the message.
    pub id: MessageId,
    /// What they say.
    pub words: String,
    /// How far the answer may go.
    pub mode: Mode,
    /// What is in front of them.
    pub front: EditorState,
    /// Cells whose outputs go along.
    pub outputs: Vec<String>,
}

/// Why nobody can be asked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum CannotAsk {
    #[error(transparent)]
    Settings(#[from] Faults),
    #[error(transparent)]
    NoAccount(#[from] NoAccount),
    #[error(transparent)]
    Prompt(#[from] BadPrompt),
}

impl CannotAsk {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            CannotAsk::Settings(_) => "mend it there; `cellist settings` lists what is valid".to_owned(),
            CannotAsk::NoAccount(none) => none.hint(),
            CannotAsk::Prompt(bad) => bad.hint().to_owned(),
        }
    }
}

impl Setup {
    /// Reads all of it, with what is wanted otherwise this time. Takes as long as a few files do.
    pub fn read(place: Place, change: impl FnOnce(&mut Chat)) -> Result<Setup, CannotAsk> {
        let Place { home, cwd, mut environment, mut redaction, keys, notebook } = place;
        let mut variables = environment.variables();
        keys.0.into_iter().for_each(|(name, value)| variables.set(name, value));
        let sources =
            Sources { home: &home, folder: Some(&cwd), variables: &variables, flags: &environment.set };
        let resolved = resolve(&sources)?;
        let mut settings = resolved.settings;
        change(&mut settings.chat);
        let account = Account::find(&settings.chat, &variables)?;
        let prompts = Prompts::with_folder(&home.path().join(FOLDER))?.with_files(&resolved.prompts)?;
        let (tool_mode, said) = environment.tool_mode(&home, &cwd, &settings);
        // Secrets stay with whoever asks; the key travels with the account alone.
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
        let notices = resolved.notices.into_iter().chain(said).collect();
        Ok(Setup { settings, notices, account, caller, prompts, home })
    }

    /// The notebooks that a message may attach, from the folder on, besides the one that it is about.
    pub fn notebooks(&self, own: &Path) -> Vec<String> {
        nearby_notebooks(&self.caller.cwd, own, &FilePolicy::of(&self.caller, &self.home))
    }

    /// A message.
    pub fn message(&self, words: Words) -> Ask {
        let Words { id, words, mode, front, outputs } = words;
        Ask {
            id,
            words,
            caller: Caller { mode, front: Some(front), ..self.caller.clone() },
            account: self.account.clone(),
            rules: Rules::from(&self.settings.chat),
            instructions: self.prompts.for_mode(mode).0,
            outputs,
            about: None,
        }
    }

    /// A message about one cell of the notebook that is in front, for which a change may be proposed.
    pub fn about_cell(&self, words: Words, cell: &str) -> Ask {
        let mut ask = self.message(Words { mode: Mode::Ask, ..words });
        // What it is told is not told to whoever works in the chat beside it.
        ask.caller.session.push_str("-inline");
        ask.about = Some(cell.to_owned());
        ask
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

    fn place(scratch: &Scratch, config: &str, keys: &[(&str, &str)]) -> Place {
        let home = Home::at(scratch.path().join("home"));
        scratch.write("home/config.toml", config);
        let variables: Variables =
            keys.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let keys = Keys::among(&variables);
        assert!(!format!("{keys:?}").contains("hush"));
        let cwd = scratch.path().to_owned();
        Place {
            home,
            notebook: cwd.join("nb.ipynb"),
            cwd,
            environment: ClientEnvironment::default(),
            redaction: Redaction::default(),
            keys,
        }
    }

    #[test]
    fn settings_and_keys_make_an_account_and_no_kernel_gets_the_key() {
        let scratch = Scratch::new();
        let keys = [("OPENAI_API_KEY", "hush-hush"), ("OTHER", "o")];
        let missing = Setup::read(place(&scratch, "", &keys), |_| {}).unwrap_err();
        assert_eq!(missing.to_string(), "no model is chosen for openai");
        assert!(missing.hint().contains("config.toml"), "{}", missing.hint());
        let setup = Setup::read(place(&scratch, "[chat]\nmodel = \"m\"\nexclude = [\"x\"]\n", &keys), |_| {});
        let ask = setup.unwrap().message(Words { words: "hello".to_owned(), ..Words::default() });
        assert_eq!((ask.account.model(), ask.caller.session.as_str()), ("m", "assistant-nb"));
        assert!(!serde_json::to_string(&ask.caller).unwrap().contains("hush"));
        assert_eq!(ask.caller.excluded, ["x"]);
        let broken = Setup::read(place(&scratch, "[chat]\nmax_steps = \"x\"\n", &keys), |_| {}).unwrap_err();
        assert!(matches!(broken, CannotAsk::Settings(_)), "{broken}");
        let changed = Setup::read(place(&scratch, "", &keys), |chat| chat.model = Some("other".to_owned()));
        assert_eq!(changed.unwrap().account.model(), "other");
    }

    #[test]
    fn a_key_of_our_own_counts_and_nothing_else_is_taken_along() {
        let scratch = Scratch::new();
        let keys = [("CELLIST_CHAT_API_KEY", "hush"), ("CELLIST_CHAT_MODEL", "other"), ("PATH", "/bin")];
        let place = place(&scratch, "[chat]\nprovider = \"anthropic\"\nmodel = \"m\"\n", &keys);
        assert_eq!(place.keys.0.len(), 1);
        assert_eq!(Setup::read(place, |_| {}).unwrap().account.model(), "m");
    }
}
