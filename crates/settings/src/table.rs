//! The one table of settings: names, types, defaults, valid values, and whether a folder may set them unasked.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::domain::{
    Base, Count, Domain, Folders, Hidden, LARGEST, Names, OrNone, Paths, Patterns, Secret, Size, Switch,
    TextLine, Time, Words, Written,
};
use super::values::{BackendWish, GRACE, KernelMode, MAX_OUTPUT, OnStuck, Policy, Retention, RetryOnCrash};

/// A row of the table.
pub struct Row {
    /// The name, as files have it.
    pub name: &'static str,
    /// Access to a setting.
    pub access: Access,
    meaning: &'static str,
    valid: fn() -> String,
    read: fn(&mut Settings, &Written, Base<'_>) -> bool,
    to_json: fn(&Settings) -> Value,
    to_text: fn(&Settings) -> String,
}

/// Whether the file of a project may set something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It may.
    Open,
    /// Only where the user trusts the folder.
    Trusted,
    /// Never: it is for the user to say.
    User,
    /// Never, and no flag either: other users see those.
    Secret,
}

impl Access {
    /// Whether a project's file may set it at all.
    pub fn is_for_projects(self) -> bool {
        match self {
            Access::Open | Access::Trusted => true,
            Access::User | Access::Secret => false,
        }
    }
}

impl Row {
    /// The effect, in a sentence without a full stop.
    pub fn meaning(&self) -> &'static str {
        self.meaning.trim()
    }

    /// The valid values, in words.
    pub fn valid(&self) -> String {
        (self.valid)()
    }

    /// Its value, for programs: times in seconds, sizes in bytes.
    pub fn json_of(&self, settings: &Settings) -> Value {
        (self.to_json)(settings)
    }

    /// Its value, as it could be written in a file.
    pub fn text_of(&self, settings: &Settings) -> String {
        (self.to_text)(settings)
    }

    /// The variable that sets it.
    pub fn variable(&self) -> String {
        format!("CELLIST_{}", self.name.replace('.', "_").to_ascii_uppercase())
    }

    /// Takes a value over, or does nothing and says that it is not valid.
    pub(super) fn put(&self, settings: &mut Settings, written: &Written, base: Base<'_>) -> bool {
        (self.read)(settings, written, base)
    }
}

/// The row of a name.
pub(crate) fn row(name: &str) -> Option<(usize, &'static Row)> {
    TABLE.iter().enumerate().find(|(_, row)| row.name == name)
}

macro_rules! table {
    ($(
        $(#[doc = $about:literal])*
        $section:ident: $Section:ident {
            $( #[doc = $meaning:literal] $key:ident: $type:ty = $default:expr, $domain:expr, $access:ident; )*
        }
    )*) => {
        /// All settings, with their values.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Settings {
            $( $(#[doc = $about])* pub $section: $Section, )*
        }

        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section {
                $( #[doc = $meaning] pub $key: $type, )*
            }

            impl Default for $Section {
                fn default() -> $Section {
                    $Section { $( $key: $default, )* }
                }
            }
        )*

        /// Every setting there is.
        pub const TABLE: &[Row] = &[ $( $( Row {
            name: concat!(stringify!($section), ".", stringify!($key)),
            access: Access::$access,
            meaning: $meaning,
            valid: || Domain::<$type>::valid(&$domain),
            read: |settings, written, base| match $domain.read(written, base) {
                Some(value) => {
                    settings.$section.$key = value;
                    true
                }
                None => false,
            },
            to_json: |settings| $domain.to_json(&settings.$section.$key),
            to_text: |settings| $domain.to_text(&settings.$section.$key),
        }, )* )* ];
    };
}

table! {
    /// Kernels and the sessions that keep them.
    python: Python {
        /// The way to run code
        backend: BackendWish = BackendWish::Auto, BACKENDS, Open;
        /// Whether a session keeps its kernel, or each call has its own
        kernel_mode: KernelMode = KernelMode::Session, KERNEL_MODES, Trusted;
        /// Which tools that run code an agent is offered
        tool_mode: ToolMode = ToolMode::Both, TOOL_MODES, Trusted;
        /// Whether the gateway backend may use the gateway that all programs of the user share
        shared_gateway: bool = true, Switch, Open;
        /// Whether code runs once more when its kernel died: auto means only where no state was lost
        retry_on_crash: RetryOnCrash = RetryOnCrash::Auto, RETRIES, Open;
        /// How many sessions the host keeps at once
        max_sessions: usize = Policy::default().max_sessions, SESSIONS, Open;
        /// How long the host keeps a session that nobody uses, other than that of a notebook
        idle_timeout: Duration = Policy::default().idle_timeout, A_SECOND_OR_MORE, Open;
        /// How often the host looks whether kernels are alive
        heartbeat: Duration = Policy::default().heartbeat, A_SECOND_OR_MORE, Open;
        /// How long interrupted code may take to stop before it is reported as not stopped
        interrupt_grace: Duration = GRACE, ANY_TIME, Open;
        /// Whether code that does not stop then runs on or its kernel is killed; none means killed only where no session can lose its state
        on_stuck: Option<OnStuck> = None, OrNone(ON_STUCK), Open;
        /// How long a kernel may take to be ready; the runner has 10 s where this is not set
        startup_timeout: Duration = Duration::from_secs(60), A_SECOND_OR_MORE, Open;
        /// Variables that kernels get although they are not on the list of harmless ones
        pass_env: Vec<String> = Vec::new(), Names, Trusted;
    }

    /// Sessions of notebooks.
    session: Session {
        /// How long the host keeps a notebook's kernel after its last page, agent or terminal has left
        idle: Duration = Policy::default().notebook_idle, A_SECOND_OR_MORE, Open;
    }

    /// The process that keeps sessions and open notebooks.
    host: HostStay {
        /// How long a host in the background stays while nothing needs it
        idle: Duration = Duration::from_secs(300), A_SECOND_OR_MORE, Open;
    }

    /// The part of an output that a reader gets. The rest is kept as an artifact.
    output: Output {
        /// How many bytes of an output are shown
        max_bytes: u64 = 50 << 10, WHAT_A_READER_CAN_TAKE, Open;
        /// How many lines of an output are shown
        max_lines: usize = 2000, LINES, Open;
    }

    /// Runs that tools ask for.
    run: Run {
        /// How long a tool waits for a run before it hands over a handle
        soft_wait: Duration = Duration::from_secs(20), ANY_TIME, Open;
    }

    /// Outputs in notebook files, and reading them.
    notebook: Notebook {
        /// Whether runs write their times into the metadata of cells, as JupyterLab does
        timing: bool = false, Switch, Open;
        /// How many bytes of a cell's outputs are saved
        max_output: Option<u64> = Some(MAX_OUTPUT as u64), OrNone(AT_LEAST_A_KIB), Open;
        /// Whether changes of agents wait for review, in notebooks where nobody has said otherwise
        review: bool = true, Switch, Trusted;
    }

    /// Outputs kept in full.
    artifacts: Artifacts {
        /// How much room all artifacts together may take
        max_bytes: u64 = Retention::default().max_bytes, AT_LEAST_A_KIB, Trusted;
        /// How long an artifact is kept
        max_age: Duration = Retention::default().max_age, A_SECOND_OR_MORE, Trusted;
    }

    /// Tools that code in a kernel can call.
    bridge: Bridge {
        /// Whether processes that code starts can call tools too
        inherit: bool = false, Switch, Trusted;
    }

    /// Display on a terminal.
    terminal: Terminal {
        /// How pictures are shown on a terminal: auto means as well as it can
        images: Images = Images::Auto, IMAGES, Open;
    }

    /// The reach of tools.
    tools: Tools {
        /// Folders that file tools may use besides the one they work in
        roots: Vec<PathBuf> = Vec::new(), Folders, Trusted;
        /// Whether credentials are redacted from text for models: keys, tokens and passwords that look like it, and the values of variables that kernels do not get
        redact: bool = true, Switch, User;
        /// Files that agents may change unasked although other programs run or obey them, each with all below it
        allow_writes: Vec<String> = Vec::new(), Paths, User;
    }

    /// The assistant.
    chat: Chat {
        /// Provider of the model: auto means the one whose key is in the environment
        provider: ChatProvider = ChatProvider::Auto, CHAT_PROVIDERS, User;
        /// The model that answers
        model: Option<String> = None, OrNone(TextLine("the name of a model")), User;
        /// Where the provider is, if not at its usual address
        base_url: Option<String> = None, OrNone(TextLine("an address that begins with http:// or https://")), User;
        /// The key that lets in; without it, the one in the provider's own variable
        api_key: Option<Secret> = None, OrNone(Hidden), Secret;
        /// Whether the assistant asks before it runs code
        run_code: RunCode = RunCode::Ask, RUN_CODE, User;
        /// How much of notebooks and files goes along with a message; selected cells come on top
        context: u64 = 32 << 10, WHAT_A_READER_CAN_TAKE, User;
        /// How often a model may be asked before an answer has to end
        max_steps: usize = 100, STEPS, User;
        /// How long a model's answer may be, in tokens, where the provider wants to know
        max_tokens: usize = 8192, TOKENS, User;
        /// Files that never reach a model, in chat or over MCP, besides those that hold secrets by their name
        exclude: Vec<String> = Vec::new(), Patterns, User;
    }
}

/// Providers of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatProvider {
    /// The provider that a key is set for.
    #[default]
    Auto,
    /// OpenAI, or any server that speaks as it does.
    OpenAi,
    /// Anthropic.
    Anthropic,
    /// Google.
    Gemini,
    /// A server on this machine.
    Ollama,
}

/// Whether the assistant asks before it runs code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunCode {
    /// It asks.
    #[default]
    Ask,
    /// It need not.
    Allow,
}

/// Which tools that run code are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolMode {
    /// Python and the shell.
    #[default]
    Both,
    /// Python.
    IpyOnly,
    /// The shell.
    BashOnly,
}

/// How pictures are shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Images {
    /// As the terminal can.
    Auto,
    /// By kitty's protocol.
    Kitty,
    /// By that of iTerm2.
    Iterm,
    /// As sixels.
    Sixel,
    /// As coloured letters.
    Blocks,
    /// Not at all.
    Off,
}

impl Settings {
    /// How the host keeps sessions.
    pub fn policy(&self) -> Policy {
        let Python { max_sessions, idle_timeout, heartbeat, .. } = self.python;
        let notebook_idle = self.session.idle;
        Policy { max_sessions, idle_timeout, notebook_idle, heartbeat, ..Policy::default() }
    }
}

const BACKENDS: Words<BackendWish> = Words {
    words: &[
        ("auto", BackendWish::Auto),
        ("runner", BackendWish::Runner),
        ("jupyter", BackendWish::Jupyter),
        ("gateway", BackendWish::Gateway),
    ],
    also: &[],
};

const KERNEL_MODES: Words<KernelMode> =
    Words { words: &[("session", KernelMode::Session), ("per-call", KernelMode::PerCall)], also: &[] };

const TOOL_MODES: Words<ToolMode> = Words {
    words: &[("both", ToolMode::Both), ("ipy-only", ToolMode::IpyOnly), ("bash-only", ToolMode::BashOnly)],
    also: &[],
};

const CHAT_PROVIDERS: Words<ChatProvider> = Words {
    words: &[
        ("auto", ChatProvider::Auto),
        ("openai", ChatProvider::OpenAi),
        ("anthropic", ChatProvider::Anthropic),
        ("gemini", ChatProvider::Gemini),
        ("ollama", ChatProvider::Ollama),
    ],
    also: &[("google", ChatProvider::Gemini)],
};

const RUN_CODE: Words<RunCode> =
    Words { words: &[("ask", RunCode::Ask), ("allow", RunCode::Allow)], also: &[] };

const IMAGES: Words<Images> = Words {
    words: &[
        ("auto", Images::Auto),
        ("kitty", Images::Kitty),
        ("iterm", Images::Iterm),
        ("sixel", Images::Sixel),
        ("blocks", Images::Blocks),
        ("off", Images::Off),
    ],
    also: &[("false", Images::Off)],
};

const ON_STUCK: Words<OnStuck> =
    Words { words: &[("wait", OnStuck::Wait), ("kill", OnStuck::Kill)], also: &[] };
const RETRIES: Words<RetryOnCrash> = Words {
    words: &[("auto", RetryOnCrash::Auto), ("always", RetryOnCrash::Always), ("never", RetryOnCrash::Never)],
    also: &[("true", RetryOnCrash::Auto), ("false", RetryOnCrash::Never)],
};

const SESSIONS: Count = Count { least: 1, most: 1000 };
const STEPS: Count = Count { least: 1, most: 10_000 };
const TOKENS: Count = Count { least: 1, most: 10_000_000 };
const LINES: Count = Count { least: 1, most: 1_000_000_000 };
const ANY_TIME: Time = Time { least: Duration::ZERO };
const A_SECOND_OR_MORE: Time = Time { least: Duration::from_secs(1) };
const AT_LEAST_A_KIB: Size = Size { least: 1024, most: LARGEST };
/// It is held in memory and may end up in a prompt, whatever set it.
const WHAT_A_READER_CAN_TAKE: Size = Size { least: 1024, most: 64 << 20 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_valid_and_says_what_it_is() {
        for row in TABLE {
            let mut settings = Settings::default();
            let text = row.text_of(&settings);
            let written = match row.json_of(&settings) {
                Value::Bool(value) => Written::Switch(value),
                Value::Number(value) => Written::Integer(value.as_i64().unwrap()),
                Value::Array(_) => Written::List(Vec::new()),
                _ => Written::Text(text.trim_matches('"').to_owned()),
            };
            for written in [written, Written::Text(text.trim_matches('"').replace("[]", ""))] {
                assert!(row.put(&mut settings, &written, Base::default()), "{}: {written}", row.name);
                assert_eq!(settings, Settings::default(), "{}", row.name);
            }
            assert!(!row.put(&mut settings, &Written::Other("a date"), Base::default()));
            assert!(!row.meaning().ends_with('.') && !row.valid().is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn a_variable_is_the_name_in_capitals() {
        assert_eq!(row("python.pass_env").unwrap().1.variable(), "CELLIST_PYTHON_PASS_ENV");
        assert!(row("python").is_none());
    }

    #[test]
    fn the_defaults_are_those_of_whatever_is_set() {
        assert_eq!(Settings::default().policy(), Policy::default());
        let Settings { output, run, .. } = Settings::default();
        assert_eq!((output.max_bytes, output.max_lines, run.soft_wait.as_secs()), (51200, 2000, 20));
    }

    #[test]
    fn what_reaches_beyond_a_folder_needs_trust() {
        let guarded: Vec<&str> =
            TABLE.iter().filter(|row| row.access == Access::Trusted).map(|row| row.name).collect();
        let is_for_users = |row: &Row| {
            row.name.starts_with("chat.") || matches!(row.name, "tools.redact" | "tools.allow_writes")
        };
        assert!(TABLE.iter().all(|row| is_for_users(row) != row.access.is_for_projects()));
        assert_eq!(
            guarded,
            [
                "python.kernel_mode",
                "python.tool_mode",
                "python.pass_env",
                "notebook.review",
                "artifacts.max_bytes",
                "artifacts.max_age",
                "bridge.inherit",
                "tools.roots"
            ]
        );
    }
}
