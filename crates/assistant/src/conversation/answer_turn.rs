//! One message and its answer: a loop of prompts and tool calls. It ends when the model makes no more calls.

mod tool_calls;

use std::collections::BTreeSet;
use std::sync::Arc;

use cellist_platform::clock::in_milliseconds;
use cellist_tools::{Agent, EditorState};

use super::request::{ChatRequest, StopScope};
use super::transcript::{AnswerEnding, FinishedTurn, TranscriptEntry};
use super::{ModelMessage, QueuedRequest, SharedConversation, StopReceiver};
use crate::briefing::{Briefing, brief, caller};
use crate::message::{MessagePart, ToolCall, ToolResult};
use crate::provider::{FinishReason, ModelEvent, ModelPrompt, Provider, ProviderError, TokenUsage, ToolSpec};

pub(super) struct AnswerTurn<'a> {
    shared: &'a SharedConversation,
    request: ChatRequest,
    agent: Arc<Agent>,
    provider: Provider,
    stop: StopReceiver,
    tools: Vec<ToolSpec>,
    usage: TokenUsage,
    /// The number of calls that were renamed because their id was not unique.
    renamed: usize,
    /// Changed files that are not notebooks.
    files: BTreeSet<String>,
}

/// The first prompt of a turn.
pub(super) struct TurnOpening {
    instructions: String,
    /// The message with the state of notebook and attachments.
    message: String,
    /// The message alone, for the history.
    words: String,
    tools: Vec<ToolSpec>,
    pub(super) notes: Vec<String>,
    pub(super) notebook_mode: bool,
}

impl TurnOpening {
    pub(super) async fn prepare(
        shared: &SharedConversation,
        agent: &Arc<Agent>,
        request: &ChatRequest,
        notes: Vec<String>,
        model_notes: &[String],
    ) -> TurnOpening {
        let briefing = brief(&shared.toolbox, agent, request, notes).await;
        let Briefing { instructions, message, tools, notes, notebook_mode } = briefing;
        let with_notes = |words: &str| [model_notes, &[words.to_owned()]].concat().join("\n\n");
        let redacted = |text: String| request.caller.redaction.text(&text).into_owned();
        let (message, words) = (redacted(with_notes(&message)), redacted(with_notes(&request.words)));
        TurnOpening { instructions, message, words, tools, notes, notebook_mode }
    }

    /// The prompt, with the earlier messages first.
    pub(super) fn prompt(&self, request: &ChatRequest, mut history: Vec<ModelMessage>) -> ModelPrompt {
        history.push(ModelMessage::person(self.message.clone()));
        ModelPrompt {
            instructions: self.instructions.clone(),
            messages: history,
            tools: self.tools.clone(),
            max_tokens: request.rules.max_tokens,
        }
    }
}

/// One complete response of the model.
struct ModelStep {
    parts: Vec<MessagePart>,
    finish: FinishReason,
}

/// Why a response is incomplete.
enum StepFailure {
    /// The user stopped it after these parts.
    Stopped(Vec<MessagePart>),
    Failed(ProviderError),
}

/// A note in the model's name, so that the history always ends with a message of the model.
fn model_note(text: &str) -> ModelMessage {
    ModelMessage::model(vec![MessagePart::Text(text.to_owned())])
}

const STOPPED: &str = "(The user stopped this answer.)";
const CUT: &str = "(This answer was cut off here.)";

impl<'a> AnswerTurn<'a> {
    /// Answers a message. Returns the last entry, which the caller appends.
    pub(super) async fn answer(
        shared: &'a SharedConversation,
        QueuedRequest { request, owner }: QueuedRequest,
        stop: StopReceiver,
    ) -> TranscriptEntry {
        let mut notes = Vec::new();
        let caller = caller(&request, shared.home(), &mut notes);
        let agent = Arc::new(Agent::new(caller, owner).for_one_turn());
        shared.lock().consents.iter().for_each(|path| agent.consent(path));
        let model_notes = std::mem::take(&mut shared.lock().model_notes);
        let opening = TurnOpening::prepare(shared, &agent, &request, notes, &model_notes).await;
        shared.append(asked(&request, &agent, &opening));
        let history = shared.lock().transcript.history.clone();
        let before = history.len();
        let mut prompt = opening.prompt(&request, history);
        let TurnOpening { words, tools, .. } = opening;
        let provider = Provider::new(request.account.clone());
        let usage = TokenUsage::default();
        let files = BTreeSet::new();
        let mut turn = AnswerTurn { shared, request, agent, provider, stop, tools, usage, renamed: 0, files };
        let ending = turn.converse(&mut prompt).await;
        let mut messages = prompt.messages.split_off(before);
        // The state of the notebook is outdated by the next message.
        messages[0] = ModelMessage::person(words);
        let (usage, files) = (turn.usage, std::mem::take(&mut turn.files));
        let (name, notebooks) = (turn.agent.turn_name(), turn.agent.notebooks());
        shared.record_turn(messages, FinishedTurn { turn: name, notebooks, files, is_undone: false });
        // Releases the turn's notebooks before a client reads the end.
        drop(turn);
        TranscriptEntry::Ended { ending, usage }
    }

    /// ConversationFiles with the model until the answer ends. In every case the last message of the prompt is the model's.
    async fn converse(&mut self, prompt: &mut ModelPrompt) -> AnswerEnding {
        for _ in 0..self.request.rules.max_steps {
            let step = self.step(prompt).await;
            let messages = &mut prompt.messages;
            let ModelStep { parts, finish } = match step {
                Ok(step) => step,
                Err(StepFailure::Stopped(parts)) => {
                    let words = parts.into_iter().filter(|part| matches!(part, MessagePart::Text(_)));
                    let note = MessagePart::Text(format!("\n{STOPPED}"));
                    messages.push(ModelMessage::model(words.chain([note]).collect()));
                    return AnswerEnding::Stopped;
                }
                Err(StepFailure::Failed(error)) => {
                    messages.push(model_note("(No answer: the provider failed.)"));
                    return AnswerEnding::Failed {
                        message: error.to_string(),
                        hint: error.hint().to_owned(),
                    };
                }
            };
            let message = ModelMessage::model(parts);
            let calls: Vec<ToolCall> = message.calls().cloned().collect();
            messages.push(if message.parts.is_empty() { model_note("(nothing)") } else { message });
            match finish {
                FinishReason::Refused => return drop_calls(messages, &calls, AnswerEnding::Refused),
                FinishReason::Length => return drop_calls(messages, &calls, AnswerEnding::TooLong),
                FinishReason::Done if calls.is_empty() => return AnswerEnding::Done,
                FinishReason::Done => {}
            }
            let mut results = Vec::new();
            for call in &calls {
                let is_stopped = self.stop.borrow().is_some();
                results.push(match is_stopped {
                    true => not_called(call, "nothing was done: the user stopped the answer"),
                    false => self.carry_out(call).await,
                });
            }
            messages.push(ModelMessage::results(results));
            if self.stop.borrow().is_some() {
                messages.push(model_note(STOPPED));
                return AnswerEnding::Stopped;
            }
        }
        prompt.messages.push(model_note(CUT));
        AnswerEnding::TooManySteps
    }

    /// Prompts the model once, with retries.
    async fn step(&mut self, prompt: &ModelPrompt) -> Result<ModelStep, StepFailure> {
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.receive(prompt).await {
                Ok(step) => return Ok(step),
                Err(StepFailure::Failed(error)) => error,
                Err(stopped) => return Err(stopped),
            };
            let Some(delay) = error.retry_delay(tries) else { return Err(StepFailure::Failed(error)) };
            let (message, after_ms) = (error.to_string(), in_milliseconds(delay));
            self.shared.append(TranscriptEntry::Again { message, after_ms });
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                _ = self.stop.wait_for(Option::is_some) => return Err(StepFailure::Stopped(Vec::new())),
            }
        }
    }

    /// Sends the prompt and appends the text of the response as it arrives.
    async fn receive(&mut self, prompt: &ModelPrompt) -> Result<ModelStep, StepFailure> {
        // A stopped answer causes no more requests.
        if self.stop.borrow().is_some() {
            return Err(StepFailure::Stopped(Vec::new()));
        }
        let mut events = self.provider.send(prompt);
        let (mut text, mut calls) = (String::new(), Vec::new());
        let parts = |text: String, calls: Vec<ToolCall>| {
            let text = Some(text).filter(|text| !text.is_empty()).map(MessagePart::Text);
            text.into_iter().chain(calls.into_iter().map(MessagePart::Call)).collect::<Vec<_>>()
        };
        loop {
            let event = tokio::select! {
                biased;
                _ = self.stop.wait_for(Option::is_some) => {
                    return Err(StepFailure::Stopped(parts(text, calls)));
                }
                event = events.recv() => event,
            };
            match event {
                Some(Ok(ModelEvent::Text(more))) => {
                    text.push_str(&more);
                    self.shared.append(TranscriptEntry::Text(more));
                }
                Some(Ok(ModelEvent::Call(mut call))) => {
                    let earlier = prompt.messages.iter().flat_map(ModelMessage::calls);
                    // The user's approval names a call by its id, so ids must be unique.
                    if earlier.chain(&calls).any(|known| known.id == call.id) {
                        self.renamed += 1;
                        call.id = format!("{}-{}", self.agent.turn_name(), self.renamed);
                    }
                    calls.push(call);
                }
                Some(Ok(ModelEvent::Usage(usage))) => self.usage += usage,
                Some(Ok(ModelEvent::End(finish))) => {
                    return Ok(ModelStep { parts: parts(text, calls), finish });
                }
                Some(Err(error)) => return Err(StepFailure::Failed(error)),
                None => {
                    let (host, why) = (self.request.account.host(), "the connection was closed".to_owned());
                    return Err(StepFailure::Failed(ProviderError::Interrupted { host, why }));
                }
            }
        }
    }
}

/// Adds failed results for calls that are not made, since providers expect a result for each call.
fn drop_calls(messages: &mut Vec<ModelMessage>, calls: &[ToolCall], ending: AnswerEnding) -> AnswerEnding {
    if !calls.is_empty() {
        let dropped = |call| not_called(call, "nothing was done: the answer ended before this call");
        messages.push(ModelMessage::results(calls.iter().map(dropped).collect()));
        messages.push(model_note(CUT));
    }
    ending
}

/// The first entry of an answer.
fn asked(request: &ChatRequest, agent: &Agent, opening: &TurnOpening) -> TranscriptEntry {
    let EditorState { attached, selection, .. } = agent.caller().front.clone().unwrap_or_default();
    TranscriptEntry::Asked {
        message: request.id.clone(),
        words: request.words.clone(),
        mode: request.caller.mode,
        model: request.account.model().to_owned(),
        turn: agent.turn_name(),
        notebook_mode: opening.notebook_mode,
        notes: opening.notes.clone(),
        attached: attached.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        selected: selection.cells,
        outputs: request.outputs.clone(),
    }
}

fn not_called(call: &ToolCall, why: &str) -> ToolResult {
    ToolResult {
        call: call.id.clone(),
        tool: call.tool.clone(),
        text: format!("Error: {why}"),
        images: Vec::new(),
        is_failure: true,
    }
}
