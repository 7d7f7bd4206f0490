//! Conversations, one for a notebook at a time. They outlive those who take part.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_assistant::{Conversation, Stop};
use cellist_session::execution::Cancel;
use cellist_session::live::{Actor, ActorKind, Undo};
use tokio::time::sleep;

use super::{Client, Desk};
use crate::chat::{ChatAsk, ChatReply};
use crate::error::Failure;

/// All conversations.
#[derive(Clone, Debug, Default)]
pub(super) struct Chats(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    by_notebook: HashMap<PathBuf, (String, Conversation)>,
    begun: u64,
}

/// How long more is waited for; whoever asked asks again.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long someone may be away from a conversation before it is no reason to stay.
const AWAY: Duration = Duration::from_secs(30 * 60);

impl Chats {
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, chat: &str) -> Result<Conversation, Failure> {
        let open = self.lock();
        let found = open.by_notebook.values().find(|(name, _)| name == chat);
        found.map(|(_, conversation)| conversation.clone()).ok_or_else(|| {
            Failure::bad_input("no_such_chat", format!("there is no conversation {chat}"))
                .with_hint("open it anew: it ended, or the host was started again")
        })
    }

    /// How many someone may come back to.
    pub(super) fn count(&self) -> usize {
        self.lock().by_notebook.values().filter(|(_, conversation)| conversation.is_fresh(AWAY)).count()
    }
}

impl Desk {
    pub(super) async fn chat(
        &self,
        client: &Client,
        ask: ChatAsk,
        mut cancel: Cancel,
    ) -> Result<ChatReply, Failure> {
        match ask {
            ChatAsk::Open { notebook, is_new } => Ok(self.open_chat(&notebook, is_new)),
            ChatAsk::Send { chat, ask } => {
                self.chats.find(&chat)?.send(*ask, client.0.clone());
                Ok(ChatReply::Done(true))
            }
            ChatAsk::Stop { chat, stop } => Ok(ChatReply::Done(self.chats.find(&chat)?.stop(stop))),
            ChatAsk::Approve { chat, call, verdict } => {
                Ok(ChatReply::Done(self.chats.find(&chat)?.approve(&call, verdict)))
            }
            ChatAsk::Hear { chat, from } => {
                let conversation = self.chats.find(&chat)?;
                tokio::select! {
                    () = conversation.more_than(from) => {}
                    () = cancel.asked() => {}
                    () = sleep(PATIENCE) => {}
                }
                Ok(ChatReply::Heard(conversation.heard(from)))
            }
            ChatAsk::Undo { chat, turn } => {
                let conversation = self.chats.find(&chat)?;
                let document = self.documents.open(conversation.notebook()).await?;
                let author = Actor::new(ActorKind::Person, "person").into();
                document.undo(Undo::Turn(turn.clone()), author).await?;
                conversation.undone(&turn);
                Ok(ChatReply::Done(true))
            }
        }
    }

    fn open_chat(&self, notebook: &Path, is_new: bool) -> ChatReply {
        let mut open = self.chats.lock();
        let known = open.by_notebook.get(notebook).filter(|_| !is_new).cloned();
        let (chat, conversation) = known.unwrap_or_else(|| {
            open.begun += 1;
            let chat = format!("chat-{}-{}", std::process::id(), open.begun);
            let begun = (chat, Conversation::new(self.toolbox.clone(), notebook.to_owned()));
            if let Some((_, over)) = open.by_notebook.insert(notebook.to_owned(), begun.clone()) {
                over.stop(Stop::Answer);
            }
            begun
        });
        drop(open);
        let heard = conversation.heard(usize::MAX);
        ChatReply::Open { chat, told: heard.next, is_answering: heard.is_answering }
    }
}
