//! The assistant: a conversation with a model that works through the same tools, under the same modes, as every other
//! agent. Knows providers of models and nothing of those who show the conversation.

#![doc = include_str!("../README.md")]

mod briefing;
mod conversation;
mod message;
mod proposal;
mod provider;
mod setup;

pub use conversation::{
    Approval, Ask, CannotRestore, Conversation, Deed, DeedKind, Ending, Heard, MessageId, Restored, Rules,
    Seen, SeenMessage, SeenTool, Stop, Told, Waiting,
};
pub use message::{Image, Message, Part, Role, ToolCall, ToolResult};
pub use provider::{
    Account, Event, Fault, Finish, Key, NoAccount, Patience, Prompt, Provider, Tool, Usage, Vendor,
};
pub use setup::{CannotAsk, Keys, Place, Setup, Words};
