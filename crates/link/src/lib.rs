//! What a front end may ask and hear, typed: carried in the process, or over the socket of a host that keeps kernels and
//! open notebooks for everyone.

mod call;
mod chat;
mod connection;
mod desk;
mod error;
pub mod frame;
pub mod hello;
mod host;
mod link;
mod notebook;
mod request;
mod run;
pub mod wire;

pub use call::{Call, Named};
pub use chat::{ChatAsk, ChatReply};
pub use desk::{AboutCell, Client, Desk, Keeping};
pub use error::{Class, Error, Failure, Result, conflict_json};
pub use host::{Address, FirstWords, Host, Starter, Stopped};
pub use link::{Link, Pending, Stop};
pub use notebook::{
    NotebookAsk, NotebookCell, NotebookEdit, NotebookEdited, NotebookNewer, NotebookNews, NotebookReply,
    NotebookState, OnNotebook,
};
pub use request::{BrowserView, ContextTold, Event, OpeningFile, PageAsk, PageLink, Reply, Request};
pub use run::{NotebookRun, RunNews, RunView};

// What requests and replies are made of, for front ends that stand on this crate alone.
pub use cellist_assistant::{Ending, Heard, Told, Usage, Verdict};
pub use cellist_session::execution::{Bar, Report, Status};
pub use cellist_session::live::{Activity, Actor, Author, CellState, LastRun};
pub use cellist_session::order::Order;
pub use cellist_session::sessions::{CallReport, CallView, Code, CodeReport, SessionKey, Stage};
