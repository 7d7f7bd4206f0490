//! A conversation about a notebook: what was said, what is being answered, and what waits. It goes on when nobody
//! listens, and tells all of it to whoever comes later.

mod checkpoint;
mod deeds;
mod kept;
mod preview;
mod told;
mod turn;

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_platform::contained::contained;
use cellist_session::sessions::OwnerId;
use cellist_settings::Home;
use cellist_store::ConversationFiles;
use cellist_tools::Toolbox;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};

use crate::message::{Message, Part, Role};
use crate::provider::{Account, Usage};

pub use checkpoint::{CannotRestore, Restored};
pub use deeds::{Deed, DeedKind};
use kept::Keeper;
pub use preview::{Seen, SeenMessage, SeenTool};
pub use told::{Approval, Ask, Ending, Heard, MessageId, Rules, Stop, Told, Waiting};
use turn::Turn;

/// A conversation. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Conversation(Arc<Inner>);

pub(crate) struct Inner {
    toolbox: Toolbox,
    notebook: PathBuf,
    state: Mutex<State>,
    /// Whether code may run without a question; for the notebook, whichever conversation was asked.
    may_run: Arc<AtomicBool>,
    /// Who keeps what is said, where it outlives the host.
    keeper: Option<Arc<Keeper>>,
    /// Wakes those who listen.
    news: watch::Sender<()>,
}

struct State {
    told: Vec<Told>,
    history: Vec<Message>,
    waiting: VecDeque<Sent>,
    answering: Option<Answering>,
    is_over: bool,
    /// Counts up with all that a listener should hear of.
    mark: u64,
    usage: Usage,
    /// The answers that have ended, the newest last.
    turns: Vec<Past>,
    /// What the model should know with the next message.
    aside: Vec<String>,
    /// Files to whose change the person has consented in this conversation.
    consents: Vec<PathBuf>,
    /// Who was asked: what is kept must not hold their keys.
    accounts: Vec<Account>,
    latest: Instant,
}

/// A message that waits.
struct Sent {
    ask: Ask,
    owner: OwnerId,
}

/// An answer that has ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Past {
    turn: String,
    /// The notebooks that it used.
    #[serde(with = "cellist_platform::portable_path")]
    notebooks: Vec<PathBuf>,
    /// Files that are no notebooks and that it changed, as it named them.
    #[serde(default)]
    files: BTreeSet<String>,
    is_undone: bool,
}

struct Answering {
    message: MessageId,
    stop: watch::Sender<Option<Stop>>,
    questions: HashMap<String, oneshot::Sender<Approval>>,
}

/// How much of what was said before a model is told again.
const LONGEST_HISTORY: usize = 512 << 10;

impl Conversation {
    /// One in which nothing was said yet.
    pub fn new(toolbox: Toolbox, notebook: PathBuf) -> Conversation {
        Conversation::with(toolbox, notebook, Arc::default(), None)
    }

    /// One that goes on with what was said about the notebook before, and is kept for later.
    pub fn kept(toolbox: Toolbox, notebook: PathBuf, talks: ConversationFiles) -> Conversation {
        let conversation = Conversation::with(toolbox, notebook, Arc::default(), Some(Keeper::new(talks)));
        conversation.0.take_up();
        conversation
    }

    fn with(
        toolbox: Toolbox,
        notebook: PathBuf,
        may_run: Arc<AtomicBool>,
        keeper: Option<Arc<Keeper>>,
    ) -> Conversation {
        let (state, news) = (Mutex::new(State::new()), watch::Sender::new(()));
        Conversation(Arc::new(Inner { toolbox, notebook, state, may_run, keeper, news }))
    }

    /// Another one about the same notebook, which takes the place of this one. What a person has allowed for the
    /// notebook still holds.
    pub fn anew(&self) -> Conversation {
        let Inner { toolbox, notebook, may_run, keeper, .. } = &*self.0;
        self.end();
        self.0.forget();
        Conversation::with(toolbox.clone(), notebook.clone(), Arc::clone(may_run), keeper.clone())
    }

    /// Ends it: what is answered stops, and what waits is dropped.
    pub fn end(&self) {
        let mut state = self.0.lock();
        state.waiting.clear();
        state.is_over = true;
        drop(state);
        self.stop(Stop::Answer);
        self.0.note();
    }

    /// The notebook that it is about.
    pub fn notebook(&self) -> &Path {
        &self.0.notebook
    }

    /// Says something. What comes while an answer is under way waits for its turn. Needs a runtime.
    pub fn send(&self, ask: Ask, owner: OwnerId) {
        let mut state = self.0.lock();
        if !state.accounts.contains(&ask.account) {
            state.accounts.push(ask.account.clone());
        }
        let sent = Sent { ask, owner };
        state.latest = Instant::now();
        let begun = match &state.answering {
            Some(_) => {
                state.waiting.push_back(sent);
                None
            }
            // From here on it can be stopped, although its answer begins in a task of its own.
            None => {
                let stop = state.begin(&sent);
                Some((sent, stop))
            }
        };
        drop(state);
        self.0.note();
        if let Some((sent, stop)) = begun {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.work(sent, stop).await });
        }
    }

    /// Takes a message back that waits for its turn. Tells whether it did.
    pub fn withdraw(&self, message: &MessageId) -> bool {
        let mut state = self.0.lock();
        let before = state.waiting.len();
        state.waiting.retain(|sent| sent.ask.id != *message);
        let is_gone = state.waiting.len() < before;
        drop(state);
        self.0.note();
        is_gone
    }

    /// Ends the answer that is under way. Where there is none, all that earlier ones began and that still runs is
    /// interrupted, if that is meant. Tells whether there was anything.
    pub fn stop(&self, stop: Stop) -> bool {
        let state = self.0.lock();
        match (&state.answering, stop) {
            (Some(answering), _) => {
                answering.stop.send_replace(Some(stop));
                true
            }
            (None, Stop::Answer) => false,
            (None, Stop::Kernel) => {
                let interrupted = state.turns.iter().filter(|past| self.0.toolbox.interrupt_turn(&past.turn));
                interrupted.count() > 0
            }
        }
    }

    /// Answers whether a call may run code. Tells whether that was asked.
    pub fn approve(&self, call: &str, verdict: Approval) -> bool {
        let mut state = self.0.lock();
        let question = state.answering.as_mut().and_then(|answering| answering.questions.remove(call));
        question.is_some_and(|question| question.send(verdict).is_ok())
    }

    /// What was told from a place on, and whether an answer is under way. Much is told in several parts.
    pub fn heard(&self, from: usize) -> Heard {
        const AT_ONCE: usize = 2000;
        let state = self.0.lock();
        let from = from.min(state.told.len());
        let told: Vec<Told> = state.told[from..].iter().take(AT_ONCE).cloned().collect();
        let waiting = state
            .waiting
            .iter()
            .map(|sent| Waiting { message: sent.ask.id.clone(), words: sent.ask.words.clone() });
        Heard {
            next: from + told.len(),
            told,
            answering: state.answering.as_ref().map(|answering| answering.message.clone()),
            waiting: waiting.collect(),
            runs_on: state.answering.is_none()
                && state.turns.iter().any(|past| self.0.toolbox.is_turn_running(&past.turn)),
            mark: state.mark,
            is_over: state.is_over,
        }
    }

    /// Waits until more was told than is known, or something else is other than it was at a mark.
    pub async fn more_than(&self, known: usize, mark: u64) {
        let mut news = self.0.news.subscribe();
        loop {
            let is_more = {
                let state = self.0.lock();
                state.told.len() > known || state.mark > mark
            };
            if is_more {
                return;
            }
            // The sender lives as long as the conversation.
            let _ = news.changed().await;
        }
    }

    /// Whether somebody may come back to it.
    pub fn is_fresh(&self, within: Duration) -> bool {
        let state = self.0.lock();
        state.answering.is_some() || !state.told.is_empty() && state.latest.elapsed() < within
    }
}

impl State {
    /// Nothing was said.
    fn new() -> State {
        State {
            told: Vec::new(),
            history: Vec::new(),
            waiting: VecDeque::new(),
            answering: None,
            is_over: false,
            mark: 0,
            usage: Usage::default(),
            turns: Vec::new(),
            aside: Vec::new(),
            consents: Vec::new(),
            accounts: Vec::new(),
            latest: Instant::now(),
        }
    }

    /// An answer is under way from now on; the wish to stop it is heard here.
    fn begin(&mut self, sent: &Sent) -> watch::Receiver<Option<Stop>> {
        let (stop, wish) = watch::channel(None);
        self.answering = Some(Answering { message: sent.ask.id.clone(), stop, questions: HashMap::new() });
        wish
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state folder of whoever carries calls out.
    fn home(&self) -> &Home {
        self.toolbox.documents().store().home()
    }

    fn tell(&self, told: Told) {
        let mut state = self.lock();
        state.told.push(told);
        state.latest = Instant::now();
        drop(state);
        self.note();
    }

    /// Whoever listens looks again.
    fn note(&self) {
        self.lock().mark += 1;
        self.news.send_replace(());
    }

    /// Answers a message, and then one after the other until none waits.
    async fn work(self: Arc<Inner>, first: Sent, stop: watch::Receiver<Option<Stop>>) {
        let mut next = Some((first, stop));
        while let Some((sent, stop)) = next {
            let ended = contained(Turn::answer(&self, sent, stop)).await.unwrap_or_else(|panicked| {
                let hint =
                    "send the message again; report the line `internal error` of the host's log".to_owned();
                let ending = Ending::Failed { message: panicked.to_string(), hint };
                Told::Ended { ending, usage: Usage::default() }
            });
            next = self.next(ended);
            self.watch_what_runs_on();
            self.keep_soon().await;
        }
    }

    /// Whoever listens hears of it when what the last answer began does not run any more; of those before it, too, since
    /// each was the last once.
    fn watch_what_runs_on(self: &Arc<Inner>) {
        let turn = self.lock().turns.last().map(|past| past.turn.clone());
        if let Some(turn) = turn.filter(|turn| self.toolbox.is_turn_running(turn)) {
            let inner = Arc::clone(self);
            tokio::spawn(async move {
                inner.toolbox.wait_for_turn(&turn).await;
                inner.note();
            });
        }
    }

    /// The next message, with the wish to stop its answer. The end of an answer and that none is under way any more are one
    /// step: whoever hears of it can go on at once.
    fn next(&self, ended: Told) -> Option<(Sent, watch::Receiver<Option<Stop>>)> {
        let mut state = self.lock();
        state.told.push(ended);
        state.latest = Instant::now();
        // A wish to stop is for this answer alone. What it wanted interrupted may have been begun by a call that is over.
        let wish = state.answering.take().and_then(|answering| *answering.stop.borrow());
        if let (Some(Stop::Kernel), Some(past)) = (wish, state.turns.last()) {
            self.toolbox.interrupt_turn(&past.turn);
        }
        let next = state.waiting.pop_front().map(|sent| {
            let stop = state.begin(&sent);
            (sent, stop)
        });
        drop(state);
        self.note();
        next
    }

    /// Keeps what was said in a turn, for the next.
    fn remember(&self, said: Vec<Message>, usage: Usage, past: Past) {
        let mut state = self.lock();
        state.usage += usage;
        state.turns.push(past);
        state.history.extend(said.into_iter().map(without_images));
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
