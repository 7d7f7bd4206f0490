//! A conversation about a notebook: its transcript, the active answer and the queue of messages. It continues without
//! clients, and a late client can read all of it.

mod answer_turn;
mod cell_edits;
mod checkpoint;
mod preview;
mod request;
mod storage;
mod transcript;

use std::collections::{HashMap, VecDeque};
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
use tokio::sync::{oneshot, watch};

use crate::message::{MessagePart, MessageRole, ModelMessage};
use crate::provider::{Account, TokenUsage};

use answer_turn::AnswerTurn;
pub use cell_edits::{CellEdit, CellEditKind};
pub use checkpoint::{RestoreError, RestoreReport};
pub use preview::{PreviewMessage, PreviewTool, PromptPreview};
pub use request::{AnswerRules, Approval, ChatRequest, MessageId, StopScope};
use storage::TranscriptFile;
pub use transcript::{AnswerEnding, ConversationUpdate, QueuedMessage, TranscriptEntry};
use transcript::{ChatTranscript, FinishedTurn};

/// A conversation about a notebook. Cheap to clone; all clones share one state.
///
/// - **Order**: one message is answered at a time, in the order of [`send`](Conversation::send). Entries are only
///   appended to the transcript, so a client reads from its last position on.
/// - **Ownership**: answers run in tasks of their own. A client may leave at any time; the answer continues.
/// - **Cancellation**: [`stop`](Conversation::stop) ends the active answer, [`withdraw`](Conversation::withdraw) a queued
///   message, [`end`](Conversation::end) both.
/// - **Errors**: a failure, even a panic of an answer, becomes its [`AnswerEnding`]. The next message is answered as usual.
#[derive(Clone)]
pub struct Conversation(Arc<SharedConversation>);

pub(crate) struct SharedConversation {
    toolbox: Toolbox,
    notebook: PathBuf,
    state: Mutex<ConversationState>,
    /// Whether the user has allowed code for this notebook. Later conversations about the notebook inherit it.
    run_allowed: Arc<AtomicBool>,
    /// The file of the transcript. Conversations about one cell have none.
    file: Option<Arc<TranscriptFile>>,
    /// Wakes clients after each change.
    changed: watch::Sender<()>,
}

struct ConversationState {
    transcript: ChatTranscript,
    queue: VecDeque<QueuedRequest>,
    active: Option<ActiveAnswer>,
    /// Whether a new conversation has replaced this one.
    is_over: bool,
    /// Counts every change that a client should read.
    mark: u64,
    /// Notes for the model, sent with the next message.
    model_notes: Vec<String>,
    /// The protected files that the user has allowed to change in this conversation.
    consents: Vec<PathBuf>,
    /// All accounts that were used. Their keys are removed before the transcript is stored.
    accounts: Vec<Account>,
    last_activity: Instant,
}

struct QueuedRequest {
    request: ChatRequest,
    owner: OwnerId,
}

struct ActiveAnswer {
    message: MessageId,
    stop: watch::Sender<Option<StopScope>>,
    /// The calls that wait for an approval.
    questions: HashMap<String, oneshot::Sender<Approval>>,
}

/// Receives the user's request to stop an answer.
type StopReceiver = watch::Receiver<Option<StopScope>>;

/// Maximum bytes of earlier messages that a model reads again.
const LONGEST_HISTORY: usize = 512 << 10;

impl Conversation {
    /// Starts an empty conversation that is not stored.
    pub fn new(toolbox: Toolbox, notebook: PathBuf) -> Conversation {
        Conversation::with(toolbox, notebook, Arc::default(), None)
    }

    /// Resumes the stored conversation about the notebook and stores its changes.
    pub fn resume(toolbox: Toolbox, notebook: PathBuf, talks: ConversationFiles) -> Conversation {
        let file = Some(TranscriptFile::new(talks));
        let conversation = Conversation::with(toolbox, notebook, Arc::default(), file);
        conversation.0.load();
        conversation
    }

    fn with(
        toolbox: Toolbox,
        notebook: PathBuf,
        run_allowed: Arc<AtomicBool>,
        file: Option<Arc<TranscriptFile>>,
    ) -> Conversation {
        let (state, changed) = (Mutex::new(ConversationState::new()), watch::Sender::new(()));
        Conversation(Arc::new(SharedConversation { toolbox, notebook, state, run_allowed, file, changed }))
    }

    /// Ends this conversation, deletes its stored transcript, and starts a new one about the same notebook. The user's
    /// permission to run code is inherited.
    pub fn start_over(&self) -> Conversation {
        let SharedConversation { toolbox, notebook, run_allowed, file, .. } = &*self.0;
        self.end();
        self.0.delete_stored();
        Conversation::with(toolbox.clone(), notebook.clone(), Arc::clone(run_allowed), file.clone())
    }

    /// Stops the active answer and drops the queue.
    pub fn end(&self) {
        let mut state = self.0.lock();
        state.queue.clear();
        state.is_over = true;
        drop(state);
        self.stop(StopScope::Answer);
        self.0.notify();
    }

    /// The path of the notebook.
    pub fn notebook(&self) -> &Path {
        &self.0.notebook
    }

    /// Sends a message. It is queued while another answer is active. Panics without a tokio runtime.
    pub fn send(&self, request: ChatRequest, owner: OwnerId) {
        let mut state = self.0.lock();
        if !state.accounts.contains(&request.account) {
            state.accounts.push(request.account.clone());
        }
        let queued = QueuedRequest { request, owner };
        state.last_activity = Instant::now();
        let begun = match &state.active {
            Some(_) => {
                state.queue.push_back(queued);
                None
            }
            // The answer can be stopped from now on, even before its task has run.
            None => {
                let stop = state.begin(&queued);
                Some((queued, stop))
            }
        };
        drop(state);
        self.0.notify();
        if let Some((queued, stop)) = begun {
            let shared = Arc::clone(&self.0);
            tokio::spawn(async move { shared.answer_queue(queued, stop).await });
        }
    }

    /// Removes a queued message. Returns whether it was queued.
    pub fn withdraw(&self, message: &MessageId) -> bool {
        let mut state = self.0.lock();
        let before = state.queue.len();
        state.queue.retain(|queued| queued.request.id != *message);
        let is_gone = state.queue.len() < before;
        drop(state);
        self.0.notify();
        is_gone
    }

    /// Stops the active answer. Without one, [`StopScope::Kernel`] interrupts all code that earlier answers left running.
    /// Returns whether there was anything to stop.
    pub fn stop(&self, scope: StopScope) -> bool {
        let state = self.0.lock();
        match (&state.active, scope) {
            (Some(active), _) => {
                active.stop.send_replace(Some(scope));
                true
            }
            (None, StopScope::Answer) => false,
            (None, StopScope::Kernel) => {
                let turns = state.transcript.turns.iter();
                turns.filter(|past| self.0.toolbox.interrupt_turn(&past.turn)).count() > 0
            }
        }
    }

    /// Delivers the user's decision about a call. Returns whether the call was waiting for it.
    pub fn approve(&self, call: &str, verdict: Approval) -> bool {
        let mut state = self.0.lock();
        let question = state.active.as_mut().and_then(|active| active.questions.remove(call));
        question.is_some_and(|question| question.send(verdict).is_ok())
    }

    /// Returns the transcript from a position on, up to a limit, and the current state.
    pub fn update_since(&self, from: usize) -> ConversationUpdate {
        const MOST_ENTRIES: usize = 2000;
        let state = self.0.lock();
        let ChatTranscript { entries, turns, .. } = &state.transcript;
        let from = from.min(entries.len());
        let told: Vec<TranscriptEntry> = entries[from..].iter().take(MOST_ENTRIES).cloned().collect();
        let queue = state.queue.iter().map(|QueuedRequest { request, .. }| QueuedMessage {
            message: request.id.clone(),
            words: request.words.clone(),
        });
        ConversationUpdate {
            next: from + told.len(),
            told,
            answering: state.active.as_ref().map(|active| active.message.clone()),
            waiting: queue.collect(),
            runs_on: state.active.is_none()
                && turns.iter().any(|past| self.0.toolbox.is_turn_running(&past.turn)),
            mark: state.mark,
            is_over: state.is_over,
        }
    }

    /// Waits until the transcript has more than `known` entries, or the mark is higher than `mark`. Safe to cancel.
    pub async fn wait_for_update(&self, known: usize, mark: u64) {
        let mut changed = self.0.changed.subscribe();
        loop {
            let is_new = {
                let state = self.0.lock();
                state.transcript.entries.len() > known || state.mark > mark
            };
            if is_new {
                return;
            }
            // The sender lives as long as the conversation.
            let _ = changed.changed().await;
        }
    }

    /// Whether an answer is active, or a non-empty transcript changed within this time.
    pub fn is_recent(&self, within: Duration) -> bool {
        let state = self.0.lock();
        state.active.is_some()
            || !state.transcript.entries.is_empty() && state.last_activity.elapsed() < within
    }
}

impl ConversationState {
    fn new() -> ConversationState {
        ConversationState {
            transcript: ChatTranscript::default(),
            queue: VecDeque::new(),
            active: None,
            is_over: false,
            mark: 0,
            model_notes: Vec::new(),
            consents: Vec::new(),
            accounts: Vec::new(),
            last_activity: Instant::now(),
        }
    }

    /// Marks an answer as active.
    fn begin(&mut self, queued: &QueuedRequest) -> StopReceiver {
        let (stop, receiver) = watch::channel(None);
        let message = queued.request.id.clone();
        self.active = Some(ActiveAnswer { message, stop, questions: HashMap::new() });
        receiver
    }
}

impl SharedConversation {
    fn lock(&self) -> MutexGuard<'_, ConversationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state folder of the process that carries out tool calls.
    fn home(&self) -> &Home {
        self.toolbox.documents().store().home()
    }

    fn append(&self, entry: TranscriptEntry) {
        let mut state = self.lock();
        state.transcript.entries.push(entry);
        state.last_activity = Instant::now();
        drop(state);
        self.notify();
    }

    /// Wakes all waiting clients.
    fn notify(&self) {
        self.lock().mark += 1;
        self.changed.send_replace(());
    }

    /// Answers a message, then the queued ones in order.
    async fn answer_queue(self: Arc<SharedConversation>, first: QueuedRequest, stop: StopReceiver) {
        let mut next = Some((first, stop));
        while let Some((queued, stop)) = next {
            let ended = contained(AnswerTurn::answer(&self, queued, stop)).await.unwrap_or_else(|panicked| {
                let hint =
                    "send the message again; report the line `internal error` of the host's log".to_owned();
                let ending = AnswerEnding::Failed { message: panicked.to_string(), hint };
                TranscriptEntry::Ended { ending, usage: TokenUsage::default() }
            });
            next = self.finish_answer(ended);
            self.notify_when_runs_end();
            self.store_transcript().await;
        }
    }

    /// Notifies clients when the code that the last answer left running has ended. Each answer is the last one once, so
    /// earlier answers are covered.
    fn notify_when_runs_end(self: &Arc<SharedConversation>) {
        let turn = self.lock().transcript.turns.last().map(|past| past.turn.clone());
        if let Some(turn) = turn.filter(|turn| self.toolbox.is_turn_running(turn)) {
            let shared = Arc::clone(self);
            tokio::spawn(async move {
                shared.toolbox.wait_for_turn(&turn).await;
                shared.notify();
            });
        }
    }

    /// Appends the end of an answer and starts the next queued message. Both happen under one lock: a client that reads
    /// the end can send at once.
    fn finish_answer(&self, ended: TranscriptEntry) -> Option<(QueuedRequest, StopReceiver)> {
        let mut state = self.lock();
        state.transcript.entries.push(ended);
        state.last_activity = Instant::now();
        // A stop applies to this answer alone. It may concern code of a call that has already returned.
        let stop = state.active.take().and_then(|active| *active.stop.borrow());
        if let (Some(StopScope::Kernel), Some(past)) = (stop, state.transcript.turns.last()) {
            self.toolbox.interrupt_turn(&past.turn);
        }
        let next = state.queue.pop_front().map(|queued| {
            let stop = state.begin(&queued);
            (queued, stop)
        });
        drop(state);
        self.notify();
        next
    }

    /// Adds the messages of a turn to the history. The oldest turns are dropped beyond [`LONGEST_HISTORY`].
    fn record_turn(&self, messages: Vec<ModelMessage>, turn: FinishedTurn) {
        let mut state = self.lock();
        let ChatTranscript { history, turns, .. } = &mut state.transcript;
        turns.push(turn);
        history.extend(messages.into_iter().map(without_images));
        while history.iter().map(ModelMessage::size).sum::<usize>() > LONGEST_HISTORY {
            let next = history.iter().skip(1).position(begins_turn);
            let Some(next) = next else { break };
            history.drain(..=next);
        }
    }
}

/// Whether a message is text of the user rather than results of tool calls.
fn begins_turn(message: &ModelMessage) -> bool {
    message.role == MessageRole::Person && matches!(message.parts.first(), Some(MessagePart::Text(_)))
}

fn without_images(mut message: ModelMessage) -> ModelMessage {
    for part in &mut message.parts {
        if let MessagePart::Result(result) = part {
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
