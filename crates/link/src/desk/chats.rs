//! Conversations, one for a notebook at a time. They outlive those who take part.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_assistant::Conversation;
use cellist_session::execution::Cancel;
use cellist_session::live::{Actor, ActorKind};
use cellist_session::{Home, Talks};
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
    /// Those about one cell each, by their names.
    about_cells: HashMap<String, AboutCell>,
    begun: u64,
    /// Where conversations are kept for later, if they are.
    talks: Option<Talks>,
}

/// A conversation about one cell.
#[derive(Clone, Debug)]
pub struct AboutCell {
    /// Its name.
    pub chat: String,
    /// The cell.
    pub cell: String,
    /// The conversation.
    pub conversation: Conversation,
}

/// How many conversations about cells there may be; those that were begun first are ended.
const MOST_ABOUT_CELLS: usize = 64;

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
            ChatAsk::Open { notebook, is_new } => {
                let (chat, conversation) = self.conversation(&notebook, is_new);
                let heard = conversation.heard(usize::MAX);
                Ok(ChatReply::Open { chat, told: heard.next, is_answering: heard.is_answering })
            }
            ChatAsk::Send { chat, ask } => {
                Ok(ChatReply::Sent(self.chats.find(&chat)?.send(*ask, client.0.clone())))
            }
            ChatAsk::Withdraw { chat, number } => {
                Ok(ChatReply::Done(self.chats.find(&chat)?.withdraw(number)))
            }
            ChatAsk::Stop { chat, stop } => Ok(ChatReply::Done(self.chats.find(&chat)?.stop(stop))),
            ChatAsk::Approve { chat, call, verdict } => {
                Ok(ChatReply::Done(self.chats.find(&chat)?.approve(&call, verdict)))
            }
            ChatAsk::Hear { chat, from, mark } => {
                let conversation = self.chats.find(&chat)?;
                tokio::select! {
                    () = conversation.more_than(from, mark) => {}
                    () = cancel.asked() => {}
                    () = sleep(PATIENCE) => {}
                }
                Ok(ChatReply::Heard(conversation.heard(from)))
            }
            ChatAsk::Undo { chat, turn } => {
                let author = Actor::new(ActorKind::Person, "person").into();
                Ok(ChatReply::Restored(self.chats.find(&chat)?.undo(&turn, author).await?))
            }
        }
    }

    /// The same desk; its conversations are kept in a state folder, and those that were kept there go on.
    #[must_use]
    pub fn keeping_chats(self, home: &Home) -> Desk {
        self.chats.lock().talks = Some(Talks::new(home));
        self
    }

    /// The conversation about a notebook, and its name. It begins now if there is none, or if a new one is wanted.
    pub fn conversation(&self, notebook: &Path, is_new: bool) -> (String, Conversation) {
        let mut open = self.chats.lock();
        let known = open.by_notebook.get(notebook).cloned();
        let begun = match known {
            Some(known) if !is_new => return known,
            Some((_, over)) => over.anew(),
            None => {
                let (toolbox, notebook) = (self.toolbox.clone(), notebook.to_owned());
                match open.talks.clone() {
                    Some(talks) => {
                        if is_new {
                            talks.forget(&notebook);
                        }
                        Conversation::kept(toolbox, notebook, talks)
                    }
                    None => Conversation::new(toolbox, notebook),
                }
            }
        };
        let begun = (open.name(), begun);
        open.by_notebook.insert(notebook.to_owned(), begun.clone());
        begun
    }

    /// The conversation about one cell of a notebook. It begins now if there is none.
    pub fn about_cell(&self, notebook: &Path, cell: &str) -> AboutCell {
        let mut open = self.chats.lock();
        let known = open
            .about_cells
            .values()
            .find(|known| known.cell == cell && known.conversation.notebook() == notebook);
        if let Some(known) = known {
            return known.clone();
        }
        let conversation = Conversation::new(self.toolbox.clone(), notebook.to_owned());
        let begun = AboutCell { chat: open.name(), cell: cell.to_owned(), conversation };
        open.about_cells.insert(begun.chat.clone(), begun.clone());
        if open.about_cells.len() > MOST_ABOUT_CELLS {
            let oldest = open.about_cells.keys().min_by_key(|name| (name.len(), (*name).clone())).cloned();
            if let Some(over) = oldest.and_then(|name| open.about_cells.remove(&name)) {
                over.conversation.end();
            }
        }
        begun
    }

    /// All conversations about single cells of a notebook.
    pub fn about_cells(&self, notebook: &Path) -> Vec<AboutCell> {
        let open = self.chats.lock();
        let of_notebook = |known: &&AboutCell| known.conversation.notebook() == notebook;
        open.about_cells.values().filter(of_notebook).cloned().collect()
    }

    /// Ends a conversation about a cell. Tells whether there was one.
    pub fn end_about_cell(&self, chat: &str) -> bool {
        let over = self.chats.lock().about_cells.remove(chat);
        over.inspect(|over| over.conversation.end()).is_some()
    }
}

impl Open {
    fn name(&mut self) -> String {
        self.begun += 1;
        format!("chat-{}-{}", std::process::id(), self.begun)
    }
}
