//! The kinds of failure that programs tell apart, by words that stay the same.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! failure_kinds {
    ($($kind:ident $word:literal,)+) => {
        /// The kind of a failure: `kind` in the JSON of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[expect(missing_docs, reason = "the word of each describes it")]
        pub enum FailureKind {
            $(#[serde(rename = $word)] $kind,)+
        }

        impl FailureKind {
            /// The word for programs.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(FailureKind::$kind => $word,)+
                }
            }
        }
    };
}

failure_kinds! {
    AlreadyExists "already_exists",
    AlreadyRunning "already_running",
    Answering "answering",
    BadName "bad_name",
    BadPromptFile "bad_prompt_file",
    BadSettings "bad_settings",
    Busy "busy",
    CannotListen "cannot_listen",
    CannotSave "cannot_save",
    CannotWrite "cannot_write",
    Closed "closed",
    Conflict "conflict",
    Git "git",
    HostConfused "host_confused",
    HostDoesNotAnswer "host_does_not_answer",
    HostDoesNotStart "host_does_not_start",
    HostEnds "host_ends",
    HostFull "host_full",
    HostLost "host_lost",
    InternalError "internal_error",
    Interrupted "interrupted",
    InvalidId "invalid_id",
    InvalidJson "invalid_json",
    InvalidName "invalid_name",
    InvalidNotebook "invalid_notebook",
    InvalidOperation "invalid_operation",
    InvalidParameter "invalid_parameter",
    InvalidPattern "invalid_pattern",
    InvalidSelector "invalid_selector",
    InvalidSetting "invalid_setting",
    InvalidText "invalid_text",
    IsFolder "is_folder",
    MissingContent "missing_content",
    NoBrowser "no_browser",
    NoFolder "no_folder",
    NoGateway "no_gateway",
    NoGit "no_git",
    NoHome "no_home",
    NoHost "no_host",
    NoKernel "no_kernel",
    NoMatch "no_match",
    NoMessage "no_message",
    NoModel "no_model",
    NoPage "no_page",
    NoPython "no_python",
    NoRepository "no_repository",
    NoShell "no_shell",
    NoState "no_state",
    NoSuchCell "no_such_cell",
    NoSuchChange "no_such_change",
    NoSuchChat "no_such_chat",
    NoSuchCommand "no_such_command",
    NoSuchFolder "no_such_folder",
    NoSuchSession "no_such_session",
    NoSuchTurn "no_such_turn",
    NoTerminal "no_terminal",
    NotANotebook "not_a_notebook",
    NotFollowed "not_followed",
    NotFound "not_found",
    NotKept "not_kept",
    NotPermitted "not_permitted",
    NothingToTrust "nothing_to_trust",
    NothingToUndo "nothing_to_undo",
    OnlyAPerson "only_a_person",
    OtherKernel "other_kernel",
    OtherPort "other_port",
    OtherUser "other_user",
    OtherVersion "other_version",
    Protocol "protocol",
    Provider "provider",
    QueueFull "queue_full",
    Refused "refused",
    ResetUnderWay "reset_under_way",
    RunLost "run_lost",
    SessionBusy "session_busy",
    SessionEnded "session_ended",
    SessionsBusy "sessions_busy",
    SeveralMatches "several_matches",
    SeveralSessions "several_sessions",
    Stale "stale",
    System "system",
    Terminal "terminal",
    TooLarge "too_large",
    TooNew "too_new",
    TooOld "too_old",
    UnknownCaller "unknown_caller",
    UnknownRevision "unknown_revision",
    UnknownTool "unknown_tool",
    Unreadable "unreadable",
    UnreadableAnswer "unreadable_answer",
    Usage "usage",
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
