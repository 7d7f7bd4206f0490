//! The assistant: a conversation with a model that works through the same tools, under the same modes, as every other
//! agent. Knows providers of models and nothing of those who show the conversation.

mod briefing;
mod conversation;
mod message;
mod provider;

pub use conversation::{Ask, Conversation, Ending, Heard, Rules, Stop, Told, Verdict};
pub use message::{Image, Message, Part, Role, ToolCall, ToolResult};
pub use provider::{
    Account, Event, Fault, Finish, Key, NoAccount, Patience, Prompt, Provider, Usage, Vendor,
};
