//! A conversation about a notebook: what was said, what is being answered, and what waits. It goes on when nobody
//! listens, and tells all of it to whoever comes later.

mod told;
mod turn;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_session::sessions::OwnerId;
use cellist_tools::Toolbox;
use tokio::sync::{oneshot, watch};

use crate::message::{Message, Part, Role};
use crate::provider::Usage;

pub use told::{Ask, Ending, Heard, Rules, Stop, Told, Verdict};
use turn::Turn;

/// A conversation. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Conversation(Arc<Inner>);

pub(crate) struct Inner {
    toolbox: Toolbox,
    notebook: PathBuf,
    state: Mutex<State>,
    /// How much has been told.
    news: watch::Sender<usize>,
}

struct State {
    told: Vec<Told>,
    history: Vec<Message>,
    waiting: VecDeque<(Ask, OwnerId)>,
    answering: Option<Answering>,
    /// Whether code may run without a question, in this conversation.
    may_run: bool,
    usage: Usage,
    /// What the model should know with the next message.
    aside: Vec<String>,
    latest: Instant,
}

struct Answering {
    stop: watch::Sender<Option<Stop>>,
    questions: HashMap<String, oneshot::Sender<Verdict>>,
}

/// How much of what was said before a model is told again.
const LONGEST_HISTORY: usize = 512 << 10;

impl Conversation {
    /// One in which nothing was said yet.
    pub fn new(toolbox: Toolbox, notebook: PathBuf) -> Conversation {
        let state = State {
            told: Vec::new(),
            history: Vec::new(),
            waiting: VecDeque::new(),
            answering: None,
            may_run: false,
            usage: Usage::default(),
            aside: Vec::new(),
            latest: Instant::now(),
        };
        Conversation(Arc::new(Inner {
            toolbox,
            notebook,
            state: Mutex::new(state),
            news: watch::Sender::new(0),
        }))
    }

    /// The notebook that it is about.
    pub fn notebook(&self) -> &Path {
        &self.0.notebook
    }

    /// Says something. What comes while an answer is under way waits for its turn. Needs a runtime.
    pub fn send(&self, ask: Ask, owner: OwnerId) {
        let mut state = self.0.lock();
        state.waiting.push_back((ask, owner));
        if state.answering.is_some() {
            let waiting = state.waiting.len();
            drop(state);
            self.0.tell(Told::Waiting { count: waiting });
            return;
        }
        state.answering = Some(Answering { stop: watch::Sender::new(None), questions: HashMap::new() });
        drop(state);
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move { inner.work().await });
    }

    /// Ends the answer that is under way. Tells whether there was one.
    pub fn stop(&self, stop: Stop) -> bool {
        let state = self.0.lock();
        let answering = state.answering.as_ref();
        answering.is_some_and(|answering| answering.stop.send(Some(stop)).is_ok())
    }

    /// Answers whether a call may run code. Tells whether that was asked.
    pub fn approve(&self, call: &str, verdict: Verdict) -> bool {
        let mut state = self.0.lock();
        let question = state.answering.as_mut().and_then(|answering| answering.questions.remove(call));
        question.is_some_and(|question| question.send(verdict).is_ok())
    }

    /// A person has taken back what was changed in a turn.
    pub fn undone(&self, turn: &str) {
        let aside = "The person has taken back what you changed in the notebook with an earlier answer.";
        self.0.lock().aside.push(aside.to_owned());
        self.0.tell(Told::Undone { turn: turn.to_owned() });
    }

    /// What was told from a place on, and whether an answer is under way. Much is told in several parts.
    pub fn heard(&self, from: usize) -> Heard {
        const AT_ONCE: usize = 2000;
        let state = self.0.lock();
        let from = from.min(state.told.len());
        let told: Vec<Told> = state.told[from..].iter().take(AT_ONCE).cloned().collect();
        Heard { next: from + told.len(), told, is_answering: state.answering.is_some() }
    }

    /// Waits until more was told than is known.
    pub async fn more_than(&self, known: usize) {
        let mut news = self.0.news.subscribe();
        // The sender lives as long as the conversation.
        let _ = news.wait_for(|told| *told > known).await;
    }

    /// Whether somebody may come back to it.
    pub fn is_fresh(&self, within: Duration) -> bool {
        let state = self.0.lock();
        state.answering.is_some() || !state.told.is_empty() && state.latest.elapsed() < within
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Told) {
        let mut state = self.lock();
        state.told.push(told);
        state.latest = Instant::now();
        self.news.send_replace(state.told.len());
    }

    /// Answers one message after the other until none waits.
    async fn work(self: Arc<Inner>) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.waiting.pop_front();
                match (&next, &mut state.answering) {
                    // A wish to stop was for the answer before.
                    (Some(_), Some(answering)) => drop(answering.stop.send_replace(None)),
                    _ => state.answering = None,
                }
                next.zip(state.answering.as_ref().map(|answering| answering.stop.subscribe()))
            };
            let Some(((ask, owner), stop)) = next else {
                // Whoever waits for the end hears of it.
                self.news.send_modify(|_| {});
                return;
            };
            Turn::answer(&self, ask, owner, stop).await;
        }
    }

    /// Keeps what was said in a turn, for the next.
    fn remember(&self, turn: Vec<Message>, usage: Usage) {
        let mut state = self.lock();
        state.usage += usage;
        state.history.extend(turn.into_iter().map(without_images));
        while state.history.iter().map(Message::size).sum::<usize>() > LONGEST_HISTORY {
            let next = state.history.iter().skip(1).position(begins_turn);
            let Some(next) = next else { break };
            state.history.drain(..=next);
        }
    }
}

/// Whether a message is the words of a person, and not what came of a call.
fn begins_turn(message: &Message) -> bool {
    message.role == Role::Person && matches!(message.parts.first(), Some(Part::Text(_)))
}

fn without_images(mut message: Message) -> Message {
    for part in &mut message.parts {
        if let Part::Result(result) = part {
            result.images.clear();
        }
    }
    message
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("notebook", &self.0.notebook).finish_non_exhaustive()
    }
}
