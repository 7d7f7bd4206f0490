//! The assistant: a conversation with a model. The model uses the same tools, under the same modes, as every agent. This
//! crate talks to the providers of models; terminal and page display the conversation.

#![doc = include_str!("../README.md")]

mod briefing;
mod conversation;
mod message;
mod proposal;
mod provider;
mod setup;

pub use conversation::{
    AnswerEnding, AnswerRules, Approval, CellEdit, CellEditKind, ChatRequest, Conversation,
    ConversationUpdate, MessageId, PreviewMessage, PreviewTool, PromptPreview, QueuedMessage, RestoreError,
    RestoreReport, StopScope, TranscriptEntry,
};
pub use message::{MessageImage, MessagePart, MessageRole, ModelMessage, ToolCall, ToolResult};
pub use provider::{
    Account, AccountError, ApiKey, FinishReason, ModelEvent, ModelPrompt, Provider, ProviderError,
    ProviderTimeouts, TokenUsage, ToolSpec, Vendor,
};
pub use setup::{ApiKeys, AssistantSetup, ChatScope, SetupError, UserMessage};
