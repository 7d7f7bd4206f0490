//! The assistant on a page's socket: what the person says is sent in the order in which they say it, and what is told in
//! their conversations is passed on as it comes. The conversations themselves live at the desk.

mod front;
mod setup;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cellist_assistant::{Ask, Conversation, Heard};
use cellist_link::{AboutCell, Failure};
use cellist_session::contained::contained;
use cellist_session::live::Author;
use cellist_session::sessions::OwnerId;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::Page;
use super::wire::{Answer, ChatAnswer, ChatAsk, ChatNews, Down, Message};

/// The least time between two pieces of news of a conversation: words that come in between are told together.
const PACE: Duration = Duration::from_millis(15);

/// How much a page may ask for that is not done yet; a person says one thing after the other.
const ASKED: usize = 32;

/// One page's part in conversations. What it asked for and is not done yet is done all the same when it goes.
#[derive(Debug)]
pub(super) struct Talk(mpsc::Sender<Asked>);

/// Something that a page asks for about the notebook that it has open.
#[derive(Debug)]
struct Asked {
    id: u64,
    notebook: PathBuf,
    ask: ChatAsk,
}

impl Talk {
    pub(super) fn new(page: Arc<Page>, owner: OwnerId, author: Author, answers: mpsc::Sender<Down>) -> Talk {
        let (sender, mut asked) = mpsc::channel(ASKED);
        let mut taking_part = TakingPart { page, owner, author, answers, listening: HashMap::new() };
        tokio::spawn(async move {
            while let Some(asked) = asked.recv().await {
                taking_part.answer(asked).await;
            }
        });
        Talk(sender)
    }

    /// Asks for something, after all that was asked for before.
    pub(super) fn ask(&self, id: u64, notebook: PathBuf, ask: ChatAsk) -> Result<(), Failure> {
        let busy =
            |_| Failure::bad_input("busy", "too much was asked for at once").with_hint("wait a moment");
        self.0.try_send(Asked { id, notebook, ask }).map_err(busy)
    }
}

/// Whoever does what a page asks for.
struct TakingPart {
    page: Arc<Page>,
    owner: OwnerId,
    author: Author,
    answers: mpsc::Sender<Down>,
    /// Those who pass on what is told, by the cell that the conversation is about or for the notebook.
    listening: HashMap<Option<String>, Listening>,
}

/// Someone who passes on what is told, until it is dropped.
struct Listening {
    /// The conversation that it began with.
    chat: String,
    task: JoinHandle<()>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TakingPart {
    async fn answer(&mut self, Asked { id, notebook, ask }: Asked) {
        let mut then = Then::default();
        let done = contained(self.carry_out(&notebook, ask, &mut then)).await;
        let result = done.unwrap_or_else(|panicked| Err(Failure::internal(panicked))).map(Answer::Chat);
        // A page that has gone needs no answer.
        let _ = self.answers.send(Down::Done { id, result }).await;
        // A page hears that its message was taken before it hears what comes of it.
        if let Some((conversation, ask)) = then.said {
            conversation.send(ask, self.owner.clone());
        }
        for heard in then.to_hear {
            let (key, chat) = (heard.cell.clone(), heard.chat.clone());
            let passing = pass_on(self.page.clone(), notebook.clone(), heard, self.answers.clone());
            self.listening.insert(key, Listening { chat, task: tokio::spawn(passing) });
        }
    }

    async fn carry_out(
        &mut self,
        notebook: &Path,
        ask: ChatAsk,
        then: &mut Then,
    ) -> Result<ChatAnswer, Failure> {
        let desk = &self.page.shared.desk;
        let conversation = || desk.conversation(notebook, false).1;
        match ask {
            ChatAsk::Open { is_new } => {
                let (chat, conversation) = desk.conversation(notebook, is_new);
                self.listening.clear();
                then.to_hear.push(ToHear { chat: chat.clone(), cell: None, conversation });
                then.to_hear.extend(desk.about_cells(notebook).into_iter().map(ToHear::from));
                Ok(ChatAnswer::Chat(setup::chat(&self.page, notebook, chat).await?))
            }
            ChatAsk::About => {
                let (chat, _) = desk.conversation(notebook, false);
                Ok(ChatAnswer::Chat(setup::chat(&self.page, notebook, chat).await?))
            }
            ChatAsk::Send(message) => {
                let ask = self.message(notebook, message).await?;
                then.said = Some((conversation(), ask));
                Ok(ChatAnswer::Done)
            }
            ChatAsk::Preview(message) => {
                let ask = self.message(notebook, message).await?;
                Ok(ChatAnswer::Seen(conversation().preview(ask).await))
            }
            ChatAsk::Withdraw { number } => match conversation().withdraw(number) {
                true => Ok(ChatAnswer::Done),
                false => Err(Failure::bad_input("not_waiting", "the message does not wait any more")),
            },
            ChatAsk::Stop(stop) => {
                // What has just ended needs no stop.
                conversation().stop(stop);
                Ok(ChatAnswer::Done)
            }
            ChatAsk::Approve { call, verdict } => match conversation().approve(&call, verdict) {
                true => Ok(ChatAnswer::Done),
                false => Err(Failure::bad_input("not_asked", "that is not asked any more")),
            },
            ChatAsk::Restore { turn } => {
                let restored = conversation().restore(&turn, self.author.clone()).await?;
                Ok(ChatAnswer::Restored(restored.to_string()))
            }
            ChatAsk::Inline { cell, message } => {
                let cell = cell.to_string();
                let ask = self.about_cell(notebook, &cell, message).await?;
                let about = desk.about_cell(notebook, &cell);
                about.conversation.send(ask, self.owner.clone());
                let chat = about.chat.clone();
                let known = self.listening.get(&Some(cell));
                let is_heard = known.is_some_and(|known| known.chat == chat && !known.task.is_finished());
                then.to_hear.extend((!is_heard).then(|| about.into()));
                Ok(ChatAnswer::Inline(chat))
            }
            ChatAsk::InlineStop(chat) => {
                desk.end_about_cell(&chat);
                Ok(ChatAnswer::Done)
            }
        }
    }

    async fn message(&self, notebook: &Path, message: Message) -> Result<Ask, Failure> {
        // Before anything is waited for: the page has just said that it is in front.
        let active = self.page.shared.desk.toolbox().editor();
        let setup = setup::read(&self.page, notebook).await?;
        Ok(setup.message(front::words(notebook, &self.page.folder(), &active, message)))
    }

    async fn about_cell(&self, notebook: &Path, cell: &str, message: Message) -> Result<Ask, Failure> {
        let setup = setup::read(&self.page, notebook).await?;
        Ok(setup.about_cell(front::at_cell(notebook, &self.page.folder(), cell, message), cell))
    }
}

/// What is done when a page has its answer.
#[derive(Default)]
struct Then {
    /// What is said, and where.
    said: Option<(Conversation, Ask)>,
    to_hear: Vec<ToHear>,
}

/// A conversation that a page hears of.
struct ToHear {
    chat: String,
    cell: Option<String>,
    conversation: Conversation,
}

impl From<AboutCell> for ToHear {
    fn from(AboutCell { chat, cell, conversation }: AboutCell) -> ToHear {
        ToHear { chat, cell: Some(cell), conversation }
    }
}

/// Passes on all that is told in a conversation, and in the one that takes its place.
async fn pass_on(page: Arc<Page>, notebook: PathBuf, mut of: ToHear, answers: mpsc::Sender<Down>) {
    let mut from = 0;
    loop {
        let Heard { told, next, is_answering, waiting, runs_on, mark, is_over } = of.conversation.heard(from);
        if is_over && told.is_empty() {
            if of.cell.is_some() {
                return;
            }
            let (chat, conversation) = page.shared.desk.conversation(&notebook, false);
            (of, from) = (ToHear { chat, cell: None, conversation }, 0);
            continue;
        }
        let (chat, inline) = (of.chat.clone(), of.cell.clone());
        let news = ChatNews { chat, inline, from, told, is_answering, waiting, runs_on };
        if answers.send(Down::Chat(Box::new(news))).await.is_err() {
            return;
        }
        from = next;
        // One that is over has nothing more to wait for.
        if is_over {
            continue;
        }
        // What comes after a pause is told at once.
        sleep(PACE).await;
        of.conversation.more_than(from, mark).await;
    }
}
