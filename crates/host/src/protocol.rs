//! The requests, replies and events between a front end and the service, and the frames that carry them over the socket.

pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod follow;
pub mod frame;
pub mod hello;
pub(crate) mod notebook;
pub(crate) mod outputs;
pub(crate) mod request;
pub(crate) mod run;
pub mod wire;
