//! One message and its answer: the model is asked, its calls are carried out, and it is asked again with what came of
//! them, until it has said all.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cellist_platform::clock::in_milliseconds;
use cellist_session::execution::Cancel;
use cellist_settings::RunCode;
use cellist_tools::{Agent, AnswerBlock, CallAccess, EditorState, Mode, ToolAnswer, ToolName, Toolbox};
use tokio::sync::{oneshot, watch};

use super::deeds::Watched;
use super::told::{Approval, Ask, Ending, Stop, Told};
use super::{Inner, Message, Past, Sent};
use crate::briefing::{Briefing, brief, caller, readable};
use crate::message::{Image, Part, ToolCall, ToolResult};
use crate::proposal;
use crate::provider::{Event, Fault, Finish, Prompt, Provider, Tool, Usage};

/// How many files one call may need consent for: a file and its other names.
const MOST_CONSENTS: usize = 4;

pub(super) struct Turn<'a> {
    inner: &'a Inner,
    ask: Ask,
    agent: Arc<Agent>,
    provider: Provider,
    stop: watch::Receiver<Option<Stop>>,
    tools: Vec<Tool>,
    usage: Usage,
    /// How many calls were given another name.
    renamed: usize,
    /// Files that are no notebooks and that it changed.
    files: BTreeSet<String>,
}

/// What a turn begins with.
pub(super) struct Opening {
    instructions: String,
    /// The message, with what was found out for it.
    message: String,
    /// The message as the next one repeats it.
    words: String,
    tools: Vec<Tool>,
    pub(super) notes: Vec<String>,
    pub(super) notebook_mode: bool,
}

impl Opening {
    pub(super) async fn of(
        inner: &Inner,
        agent: &Arc<Agent>,
        ask: &Ask,
        notes: Vec<String>,
        aside: &[String],
    ) -> Opening {
        let briefing = brief(&inner.toolbox, agent, ask, notes).await;
        let Briefing { instructions, message, tools, notes, notebook_mode } = briefing;
        let with_aside = |words: &str| [aside, &[words.to_owned()]].concat().join("\n\n");
        let read = |text: String| ask.caller.redaction.text(&text).into_owned();
        let (message, words) = (read(with_aside(&message)), read(with_aside(&ask.words)));
        Opening { instructions, message, words, tools, notes, notebook_mode }
    }

    /// What the model is asked first, after what was said before.
    pub(super) fn prompt(&self, ask: &Ask, mut before: Vec<Message>) -> Prompt {
        before.push(Message::person(self.message.clone()));
        Prompt {
            instructions: self.instructions.clone(),
            messages: before,
            tools: self.tools.clone(),
            max_tokens: ask.rules.max_tokens,
        }
    }
}

/// What a model said when it was asked.
struct Step {
    parts: Vec<Part>,
    finish: Finish,
}

/// Why it was not heard to the end.
enum Halt {
    Stopped(Vec<Part>),
    Failed(Fault),
}

impl<'a> Turn<'a> {
    /// Answers a message. Its end is not told yet.
    pub(super) async fn answer(
        inner: &'a Inner,
        Sent { ask, owner }: Sent,
        stop: watch::Receiver<Option<Stop>>,
    ) -> Told {
        let mut notes = Vec::new();
        let agent = Arc::new(Agent::new(caller(&ask, inner.home(), &mut notes), owner).for_one_turn());
        inner.lock().consents.iter().for_each(|path| agent.consent(path));
        let aside = std::mem::take(&mut inner.lock().aside);
        let opening = Opening::of(inner, &agent, &ask, notes, &aside).await;
        inner.tell(asked(&ask, &agent, &opening));
        let history = inner.lock().history.clone();
        let before = history.len();
        let mut prompt = opening.prompt(&ask, history);
        let Opening { words, tools, .. } = opening;
        let provider = Provider::new(ask.account.clone());
        let usage = Usage::default();
        let files = BTreeSet::new();
        let mut turn = Turn { inner, ask, agent, provider, stop, tools, usage, renamed: 0, files };
        let ending = turn.converse(&mut prompt).await;
        let mut kept = prompt.messages.split_off(before);
        // What was told of the notebook is old by the next message.
        kept[0] = Message::person(words);
        let (usage, files) = (turn.usage, std::mem::take(&mut turn.files));
        let (name, notebooks) = (turn.agent.turn_name(), turn.agent.notebooks());
        inner.remember(kept, usage, Past { turn: name, notebooks, files, is_undone: false });
        // Its notebooks are let go of before anyone hears of the end.
        drop(turn);
        Told::Ended { ending, usage }
    }

    /// Talks with the model. What was said ends with a word of the model, whatever happens.
    async fn converse(&mut self, prompt: &mut Prompt) -> Ending {
        let aside = |words: &str| Message::model(vec![Part::Text(words.to_owned())]);
        for _ in 0..self.ask.rules.max_steps {
            let answered = self.step(prompt).await;
            let said = &mut prompt.messages;
            let Step { parts, finish } = match answered {
                Ok(step) => step,
                Err(Halt::Stopped(parts)) => {
                    let words = parts.into_iter().filter(|part| matches!(part, Part::Text(_)));
                    let mark = Part::Text("\n(The person stopped this answer.)".to_owned());
                    said.push(Message::model(words.chain([mark]).collect()));
                    return Ending::Stopped;
                }
                Err(Halt::Failed(fault)) => {
                    said.push(aside("(There was no answer: the provider failed.)"));
                    return Ending::Failed { message: fault.to_string(), hint: fault.hint().to_owned() };
                }
            };
            let message = Message::model(parts);
            let calls: Vec<ToolCall> = message.calls().cloned().collect();
            said.push(if message.parts.is_empty() { aside("(nothing)") } else { message });
            match finish {
                Finish::Refused => return self.unanswered(said, &calls, Ending::Refused),
                Finish::Length => return self.unanswered(said, &calls, Ending::TooLong),
                Finish::Done if calls.is_empty() => return Ending::Done,
                Finish::Done => {}
            }
            let mut results = Vec::new();
            for call in &calls {
                let is_stopped = self.stop.borrow().is_some();
                results.push(match is_stopped {
                    true => not_called(call, "the person stopped the answer, and nothing was done"),
                    false => self.carry_out(call).await,
                });
            }
            said.push(Message::results(results));
            if self.stop.borrow().is_some() {
                said.push(aside("(The person stopped this answer.)"));
                return Ending::Stopped;
            }
        }
        prompt.messages.push(aside("(This answer had to end here.)"));
        Ending::TooManySteps
    }

    /// Calls that were cut off are not made, and a provider wants to hear of each.
    fn unanswered(&self, said: &mut Vec<Message>, calls: &[ToolCall], ending: Ending) -> Ending {
        if !calls.is_empty() {
            let none = |call| not_called(call, "the answer ended before this call was made");
            said.push(Message::results(calls.iter().map(none).collect()));
            said.push(Message::model(vec![Part::Text("(This answer had to end here.)".to_owned())]));
        }
        ending
    }

    /// Asks the model once, again where that helps.
    async fn step(&mut self, prompt: &Prompt) -> Result<Step, Halt> {
        let mut tries = 0;
        loop {
            tries += 1;
            let fault = match self.listen(prompt).await {
                Ok(step) => return Ok(step),
                Err(Halt::Failed(fault)) => fault,
                Err(stopped) => return Err(stopped),
            };
            let Some(wait) = fault.next_try(tries) else { return Err(Halt::Failed(fault)) };
            self.inner.tell(Told::Again { message: fault.to_string(), after_ms: in_milliseconds(wait) });
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                _ = self.stop.wait_for(Option::is_some) => return Err(Halt::Stopped(Vec::new())),
            }
        }
    }

    async fn listen(&mut self, prompt: &Prompt) -> Result<Step, Halt> {
        // Nobody is asked for an answer that is not wanted any more.
        if self.stop.borrow().is_some() {
            return Err(Halt::Stopped(Vec::new()));
        }
        let mut heard = self.provider.ask(prompt);
        let (mut text, mut calls) = (String::new(), Vec::new());
        let parts = |text: String, calls: Vec<ToolCall>| {
            let text = Some(text).filter(|text| !text.is_empty()).map(Part::Text);
            text.into_iter().chain(calls.into_iter().map(Part::Call)).collect::<Vec<_>>()
        };
        loop {
            let event = tokio::select! {
                biased;
                _ = self.stop.wait_for(Option::is_some) => return Err(Halt::Stopped(parts(text, calls))),
                event = heard.recv() => event,
            };
            match event {
                Some(Ok(Event::Text(more))) => {
                    text.push_str(&more);
                    self.inner.tell(Told::Text(more));
                }
                Some(Ok(Event::Call(mut call))) => {
                    let said = prompt.messages.iter().flat_map(Message::calls);
                    // A word of the person about one call must not count for another.
                    if said.chain(&calls).any(|known| known.id == call.id) {
                        self.renamed += 1;
                        call.id = format!("{}-{}", self.agent.turn_name(), self.renamed);
                    }
                    calls.push(call);
                }
                Some(Ok(Event::Usage(usage))) => self.usage += usage,
                Some(Ok(Event::End(finish))) => return Ok(Step { parts: parts(text, calls), finish }),
                Some(Err(fault)) => return Err(Halt::Failed(fault)),
                None => {
                    let why = "the connection was given up".to_owned();
                    return Err(Halt::Failed(Fault::Broken { host: self.ask.account.host(), why }));
                }
            }
        }
    }

    /// Carries out a call and tells what really came of it.
    async fn carry_out(&mut self, call: &ToolCall) -> ToolResult {
        let (id, arguments) = (call.id.clone(), call.arguments.clone());
        self.inner.tell(Told::Call { id: id.clone(), tool: call.tool.clone(), arguments });
        let since = Instant::now();
        let (access, needs_mode) = amounts_to(call, self.ask.caller.mode);
        let watched = match access {
            CallAccess::Look => None,
            CallAccess::ChangeFile | CallAccess::ChangeNotebook | CallAccess::Run => {
                Watched::new(&self.inner.toolbox, &self.inner.notebook).await
            }
        };
        let answer = self.answer_to(call, access).await;
        if access == CallAccess::ChangeFile && !answer.is_failure {
            self.files.extend(call.arguments["path"].as_str().map(str::to_owned));
        }
        let deeds = match &watched {
            Some(watched) => watched.deeds_of(&self.agent.caller().author(), access == CallAccess::Run).await,
            None => Vec::new(),
        };
        let images: Vec<Image> = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                AnswerBlock::Image { mime, data } => Some(Image { mime: mime.clone(), data: data.clone() }),
                AnswerBlock::Text(_) | AnswerBlock::Link { .. } => None,
            })
            .collect();
        // Whoever listens is told what the model reads.
        let text = self.provider.as_sent(&readable(&answer));
        self.inner.tell(Told::Result {
            id: id.clone(),
            text: text.clone(),
            images: images.len(),
            is_failure: answer.is_failure,
            duration_ms: in_milliseconds(since.elapsed()),
            deeds,
            // Inline there is no mode that would allow it.
            needs_mode: needs_mode.filter(|_| answer.is_failure && self.ask.about.is_none()),
        });
        ToolResult { call: id, tool: call.tool.clone(), text, images, is_failure: answer.is_failure }
    }

    async fn answer_to(&mut self, call: &ToolCall, access: CallAccess) -> ToolAnswer {
        if let Some(cell) = &self.ask.about {
            if call.tool == proposal::TOOL {
                return self.propose(cell, call).await;
            }
            if access != CallAccess::Look {
                return ToolAnswer::failure(proposal::ONLY_LOOKS);
            }
        }
        let Some(tool) = ToolName::from_name(&call.tool) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            return ToolAnswer::failure(format_args!(
                "there is no tool `{}`; there are {}",
                call.tool,
                known.join(", ")
            ));
        };
        if access == CallAccess::Run
            && self.agent.caller().mode.allows(CallAccess::Run)
            && !self.may_run(call).await
        {
            return ToolAnswer::failure("the person did not allow this to run, and nothing was done");
        }
        for _ in 0..MOST_CONSENTS {
            let answer = self.call_tool(tool, call).await;
            let Some(path) = answer.needs_consent.as_deref().map(str::to_owned) else { return answer };
            if self.ask_person(call, Some(path.clone())).await == Approval::No {
                return ToolAnswer::failure(format_args!(
                    "the person did not allow a change of {path}, and nothing was done"
                ));
            }
            // For this file and this conversation, and no further.
            self.agent.consent(&path);
            self.inner.lock().consents.push(path.into());
        }
        self.call_tool(tool, call).await
    }

    /// Calls a tool, until it has answered or the person stops that.
    async fn call_tool(&mut self, tool: ToolName, call: &ToolCall) -> ToolAnswer {
        let (news, _heard) = watch::channel(None);
        let (canceller, cancel) = Cancel::channel();
        let toolbox = self.inner.toolbox.clone();
        let calling = toolbox.call(&self.agent, tool, &call.arguments, &news, cancel);
        tokio::pin!(calling);
        let stop = tokio::select! {
            answer = &mut calling => return answer,
            stop = self.stop.wait_for(Option::is_some) => stop.ok().and_then(|stop| *stop),
        };
        match stop {
            Some(Stop::Kernel) => {
                canceller.cancel();
                // Also what earlier calls have begun.
                toolbox.interrupt_turn(&self.agent.turn_name());
                calling.await
            }
            Some(Stop::Answer) | None => {
                toolbox.hand_over_turn(&self.agent.turn_name());
                ToolAnswer::failure("the person stopped the answer; what this call has begun goes on")
            }
        }
    }

    /// Tells what the one cell could be.
    async fn propose(&self, cell: &str, call: &ToolCall) -> ToolAnswer {
        let Some(source) = call.arguments.get("source").and_then(serde_json::Value::as_str) else {
            return ToolAnswer::failure(
                "`source` is missing: give the whole new source of the cell, as text",
            );
        };
        // The person gets all of it, also what the model was not shown.
        match self.agent.caller().redaction.restored(source, &self.source(cell).await) {
            Ok(source) => {
                self.inner.tell(Told::Proposal { cell: cell.to_owned(), source });
                ToolAnswer::text(proposal::SHOWN)
            }
            Err(mark) => ToolAnswer::failure(format_args!(
                "nobody can tell what belongs in the place of `{mark}`, and nothing was proposed: keep each of these marks where \
                 it stands in the cell, or say in words what to change"
            )),
        }
    }

    /// What a cell is now.
    async fn source(&self, cell: &str) -> String {
        let document = self.inner.toolbox.documents().open(&self.inner.notebook).await;
        let notebook = document.map(|document| document.view().notebook.clone());
        let cell = notebook.ok().and_then(|notebook| {
            let cell = notebook.cells().iter().find(|known| known.id().to_string() == cell)?;
            Some(cell.source().into_owned())
        });
        cell.unwrap_or_default()
    }

    /// Whether code may run, after a question where one is needed.
    async fn may_run(&mut self, call: &ToolCall) -> bool {
        if self.inner.may_run.load(Ordering::Relaxed) || self.ask.rules.run_code == RunCode::Allow {
            return true;
        }
        let verdict = self.ask_person(call, None).await;
        if verdict == Approval::Always {
            self.inner.may_run.store(true, Ordering::Relaxed);
        }
        verdict != Approval::No
    }

    /// Asks the person whether a call may run code, or change a file.
    async fn ask_person(&mut self, call: &ToolCall, path: Option<String>) -> Approval {
        let answer = {
            let mut state = self.inner.lock();
            let (question, answer) = oneshot::channel();
            let Some(answering) = &mut state.answering else { return Approval::No };
            answering.questions.insert(call.id.clone(), question);
            answer
        };
        self.inner.tell(Told::Question { id: call.id.clone(), path });
        let verdict = tokio::select! {
            verdict = answer => verdict.unwrap_or(Approval::No),
            _ = self.stop.wait_for(Option::is_some) => Approval::No,
        };
        self.inner.tell(Told::Verdict { id: call.id.clone(), verdict });
        verdict
    }
}

/// What a call amounts to, and the mode that it needs where this one does not do.
fn amounts_to(call: &ToolCall, mode: Mode) -> (CallAccess, Option<Mode>) {
    let Some(tool) = ToolName::from_name(&call.tool) else { return (CallAccess::Look, None) };
    let access = match tool.facts().access {
        CallAccess::Look | CallAccess::ChangeFile => Toolbox::access_of(tool, &call.arguments),
        // A call that is not one may have been meant to be more, and is never less.
        least @ (CallAccess::ChangeNotebook | CallAccess::Run) => {
            match Toolbox::access_of(tool, &call.arguments) {
                CallAccess::Look => least,
                access => access,
            }
        }
    };
    (access, mode.check(access).err().map(|refusal| refusal.needs()))
}

/// What is told of a message when its answer begins.
fn asked(ask: &Ask, agent: &Agent, opening: &Opening) -> Told {
    let EditorState { attached, selection, .. } = agent.caller().front.clone().unwrap_or_default();
    Told::Asked {
        message: ask.id.clone(),
        words: ask.words.clone(),
        mode: ask.caller.mode,
        model: ask.account.model().to_owned(),
        turn: agent.turn_name(),
        notebook_mode: opening.notebook_mode,
        notes: opening.notes.clone(),
        attached: attached.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        selected: selection.cells,
        outputs: ask.outputs.clone(),
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
