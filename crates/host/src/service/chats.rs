//! The registry of conversations: one per notebook, and those about single cells. They outlive their clients.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_assistant::{ChatRequest, Conversation};
use cellist_platform::FailureKind;
use cellist_platform::contained::contained;
use cellist_session::execution::Cancel;
use cellist_settings::Home;
use cellist_store::ConversationFiles;
use tokio::time::sleep;

use super::chat_front::{cell_message, notebook_message};
use super::{HostService, ServiceClient};
use crate::error::Failure;
use crate::protocol::chat::{ChatAction, ChatMessage, ChatReply};

/// All conversations.
#[derive(Clone, Debug, Default)]
pub(super) struct ChatRegistry(Arc<Mutex<OpenChats>>);

#[derive(Debug, Default)]
struct OpenChats {
    by_notebook: HashMap<PathBuf, NamedChat>,
    /// The conversations about one cell, by name.
    about_cells: HashMap<String, NamedChat>,
    begun: u64,
    /// The stored transcripts, if conversations are stored.
    talks: Option<ConversationFiles>,
}

/// A conversation and its name.
#[derive(Clone, Debug)]
struct NamedChat {
    name: String,
    /// The cell of a conversation about one cell.
    cell: Option<String>,
    conversation: Conversation,
}

/// Maximum number of conversations about cells. The oldest one is ended.
const MOST_ABOUT_CELLS: usize = 64;

/// The maximum wait for an update. The client then asks again.
const PATIENCE: Duration = Duration::from_secs(60);

/// The minimum time between two updates of a conversation. Text within it is sent together.
const PACE: Duration = Duration::from_millis(15);

/// The time after which an unused conversation no longer keeps the host running.
const AWAY: Duration = Duration::from_secs(30 * 60);

impl ChatRegistry {
    fn lock(&self) -> MutexGuard<'_, OpenChats> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, name: &str) -> Result<NamedChat, Failure> {
        let open = self.lock();
        let found = open.by_notebook.values().find(|chat| chat.name == name);
        found.or_else(|| open.about_cells.get(name)).cloned().ok_or_else(|| {
            Failure::bad_input(FailureKind::NoSuchChat, format!("there is no conversation {name}"))
                .with_hint("open it again: it has ended, or the host was restarted")
        })
    }

    /// Counts the recent conversations.
    pub(super) fn count(&self) -> usize {
        self.lock().by_notebook.values().filter(|chat| chat.conversation.is_recent(AWAY)).count()
    }
}

impl HostService {
    pub(super) async fn chat(
        &self,
        client: &ServiceClient,
        ask: ChatAction,
        mut cancel: Cancel,
    ) -> Result<ChatReply, Failure> {
        if let ChatAction::Hear { chat, from, mark } = ask {
            let conversation = self.chats.find(&chat)?.conversation;
            if let Some(mark) = mark {
                let more = async {
                    sleep(PACE).await;
                    conversation.wait_for_update(from, mark).await;
                };
                tokio::select! {
                    () = more => {}
                    () = cancel.asked() => {}
                    () = sleep(PATIENCE) => {}
                }
            }
            return Ok(ChatReply::Heard(conversation.update_since(from)));
        }
        let (service, client) = (self.clone(), client.clone());
        // In its own task, so that the action is completed even if the client disconnects.
        let done = tokio::spawn(contained(async move { service.change_chat(&client, ask).await })).await;
        done.map_err(Failure::internal)?.map_err(Failure::internal)?
    }

    async fn change_chat(&self, client: &ServiceClient, ask: ChatAction) -> Result<ChatReply, Failure> {
        let conversation = |name: &str| self.chats.find(name).map(|chat| chat.conversation);
        Ok(match ask {
            ChatAction::Open { notebook, cell, is_new } => {
                let notebook = self.real_path(notebook);
                let chat = match cell {
                    Some(cell) => self.about_cell(&notebook, cell.as_str()),
                    None => self.about_notebook(&notebook, is_new),
                };
                ChatReply::Open { told: chat.conversation.update_since(usize::MAX).next, chat: chat.name }
            }
            ChatAction::Setup { notebook } => {
                ChatReply::Setup(self.chat_setup(client, &self.real_path(notebook)).await?)
            }
            ChatAction::Send { chat, ask } => {
                conversation(&chat)?.send(*ask, client.owner().clone());
                ChatReply::Done(true)
            }
            ChatAction::Say { chat, message } => {
                let chat = self.chats.find(&chat)?;
                let ask = self.message(client, &chat, message).await?;
                chat.conversation.send(ask, client.owner().clone());
                ChatReply::Done(true)
            }
            ChatAction::Preview { chat, message } => {
                let chat = self.chats.find(&chat)?;
                let ask = self.message(client, &chat, message).await?;
                ChatReply::Preview(chat.conversation.preview(ask).await)
            }
            ChatAction::Withdraw { chat, message } => {
                ChatReply::Done(conversation(&chat)?.withdraw(&message))
            }
            ChatAction::Stop { chat, stop } => ChatReply::Done(conversation(&chat)?.stop(stop)),
            ChatAction::Approve { chat, call, verdict } => {
                ChatReply::Done(conversation(&chat)?.approve(&call, verdict))
            }
            ChatAction::Undo { chat, turn } => {
                let restored = conversation(&chat)?.undo(&turn, client.author(None)).await?;
                ChatReply::Restored { summary: restored.to_string(), is_any: restored.is_any() }
            }
            ChatAction::Restore { chat, turn } => {
                let restored = conversation(&chat)?.restore(&turn, client.author(None)).await?;
                ChatReply::Restored { summary: restored.to_string(), is_any: restored.is_any() }
            }
            ChatAction::End { chat } => {
                let over = self.chats.lock().about_cells.remove(&chat);
                ChatReply::Done(over.inspect(|over| over.conversation.end()).is_some())
            }
            ChatAction::Hear { .. } => ChatReply::Done(false),
        })
    }

    /// Completes a message with the settings and keys of the page's user.
    async fn message(
        &self,
        client: &ServiceClient,
        chat: &NamedChat,
        message: ChatMessage,
    ) -> Result<ChatRequest, Failure> {
        let notebook = chat.conversation.notebook();
        // Read before any wait: the page has just reported its editor state.
        let (editor, folder) = (self.toolbox.editor(), client.page()?.folder());
        let setup = self.read_setup(client, notebook).await?;
        Ok(match &chat.cell {
            Some(cell) => setup.request_about_cell(cell_message(notebook, &folder, cell, message), cell),
            None => setup.request(notebook_message(notebook, &folder, &editor, message)),
        })
    }

    fn real_path(&self, path: PathBuf) -> PathBuf {
        self.documents.store().real_path(&path).unwrap_or(path)
    }

    /// Stores conversations in a state folder, and resumes those that are stored there.
    #[must_use]
    pub fn keeping_chats(self, home: &Home) -> HostService {
        self.chats.lock().talks = Some(ConversationFiles::new(home));
        self
    }

    /// Returns the conversation about a notebook. Starts one if there is none or `is_new` is set.
    fn about_notebook(&self, notebook: &Path, is_new: bool) -> NamedChat {
        let mut open = self.chats.lock();
        let known = open.by_notebook.get(notebook).cloned();
        let conversation = match known {
            Some(known) if !is_new => return known,
            Some(over) => over.conversation.start_over(),
            None => {
                let (toolbox, notebook) = (self.toolbox.clone(), notebook.to_owned());
                match open.talks.clone() {
                    Some(talks) => {
                        if is_new {
                            talks.forget(&notebook);
                        }
                        Conversation::resume(toolbox, notebook, talks)
                    }
                    None => Conversation::new(toolbox, notebook),
                }
            }
        };
        let begun = NamedChat { name: open.name(), cell: None, conversation };
        open.by_notebook.insert(notebook.to_owned(), begun.clone());
        begun
    }

    /// Returns the conversation about one cell. Starts one if there is none.
    fn about_cell(&self, notebook: &Path, cell: &str) -> NamedChat {
        let mut open = self.chats.lock();
        let is_about = |chat: &&NamedChat| {
            chat.cell.as_deref() == Some(cell) && chat.conversation.notebook() == notebook
        };
        if let Some(known) = open.about_cells.values().find(is_about) {
            return known.clone();
        }
        let conversation = Conversation::new(self.toolbox.clone(), notebook.to_owned());
        let begun = NamedChat { name: open.name(), cell: Some(cell.to_owned()), conversation };
        open.about_cells.insert(begun.name.clone(), begun.clone());
        if open.about_cells.len() > MOST_ABOUT_CELLS {
            let oldest = open.about_cells.keys().min_by_key(|name| (name.len(), (*name).clone())).cloned();
            if let Some(over) = oldest.and_then(|name| open.about_cells.remove(&name)) {
                over.conversation.end();
            }
        }
        begun
    }
}

impl OpenChats {
    fn name(&mut self) -> String {
        self.begun += 1;
        format!("chat-{}-{}", std::process::id(), self.begun)
    }
}
