//! The host service and its client. `protocol` has the requests, replies and events, `service` answers them, and `client` and
//! `process` connect to the service, in this process or over the host's socket.

#![doc = include_str!("../README.md")]

mod client;
mod error;
mod notebook_handle;
mod process;
mod protocol;
mod service;

pub use cellist_platform::FailureKind;
pub use client::{HostClient, PendingRequest, RequestCanceller};
pub use error::{Error, Failure, FailureClass, Result, conflict_json};
pub use notebook_handle::{NotebookError, NotebookHandle, OpenNotebook};
pub use process::{Host, HostAddress, HostStarter, StartupReport, StopOutcome};
pub use protocol::call::{CallRequest, SessionName};
pub use protocol::chat::{ChatAccount, ChatAction, ChatMessage, ChatReply, ChatSetup, ToolReference};
pub use protocol::follow::{
    CellCondition, FolderListing, FullNotebook, NotebookKernel, NotebookKernelState, NotebookStatus,
    NotebookUpdate, PageFocus, Participant, ParticipantActivity, RunStop, TurnSummary,
};
pub use protocol::notebook::{
    EditReply, EditResult, NotebookAction, NotebookContent, NotebookEdit, NotebookReply, NotebookRequest,
    NotebookState,
};
pub use protocol::outputs::{
    FoldedText, OutputForm, PageOutput, PageValue, SentCellOutputs, SentOutputs, encoded, stored_value,
};
pub use protocol::request::{
    BrowserView, ContextReply, Event, OpeningFile, PageLink, PageLinkRequest, Reply, Request, StartedKernel,
};
pub use protocol::run::NotebookRunRequest;
pub use protocol::{frame, hello, wire};
pub use service::{HostService, HostedCounts, PageUser, RunSlot, ServiceClient};

// Types of requests and replies, so that front ends need only this crate.
pub use cellist_assistant::{
    AnswerEnding, Approval, ConversationUpdate, MessageId, TokenUsage, TranscriptEntry,
};
pub use cellist_live::{Activity, Actor, Author, CellText, Change, Effect, LastRun, follow};
pub use cellist_session::execution::{Bar, Report, Status};
pub use cellist_session::sessions::{
    CallReport, CallView, Code, CodeReport, RunEvent, RunState, SessionKey, Stage,
};
