//! The service that front ends call, in this process or over the host's socket: its requests, replies and events (`protocol`),
//! the service itself (`service`), and the client that reaches it (`client`, `process`).

#![doc = include_str!("../README.md")]

mod client;
mod error;
mod notebook_handle;
mod process;
mod protocol;
mod service;

pub use cellist_platform::FailureKind;
pub use client::{HostClient, Pending, Stop};
pub use error::{Class, Error, Failure, Result, conflict_json};
pub use notebook_handle::{NotebookError, NotebookHandle, OpenNotebook};
pub use process::{Address, FirstWords, Host, Starter, Stopped};
pub use protocol::call::{CallRequest, Named};
pub use protocol::chat::{ChatAccount, ChatAsk, ChatMessage, ChatReply, ChatSetup, ToolReference};
pub use protocol::follow::{
    CellCondition, Doing, Focus, FolderListing, KernelState, NotebookKernel, NotebookNews, NotebookStatus,
    NotebookWhole, Participant, RunStop, TurnSummary,
};
pub use protocol::notebook::{
    EditResult, NotebookAsk, NotebookContent, NotebookEdit, NotebookEdited, NotebookReply, NotebookState,
    OnNotebook,
};
pub use protocol::outputs::{
    CellOutputs, FoldedText, OutputForm, PageOutput, PageValue, SentOutputs, encoded, stored_value,
};
pub use protocol::request::{
    BrowserView, ContextTold, Event, OpeningFile, PageAsk, PageLink, Reply, Request, StartedKernel,
};
pub use protocol::run::NotebookRun;
pub use protocol::{frame, hello, wire};
pub use service::{Client, HostService, Keeping, PageUser, RunPlace};

// The parts of requests and replies, for front ends that stand on this crate alone.
pub use cellist_assistant::{
    AnswerEnding, Approval, ConversationUpdate, MessageId, TokenUsage, TranscriptEntry,
};
pub use cellist_live::{Activity, Actor, Author, CellText, Change, Effect, LastRun, follow};
pub use cellist_session::execution::{Bar, Report, Status};
pub use cellist_session::sessions::{
    CallReport, CallView, Code, CodeReport, RunEvent, RunState, SessionKey, Stage,
};
