//! The tool calls of an answer: approval by the user, execution, and the entries about them.

use std::sync::atomic::Ordering;
use std::time::Instant;

use cellist_platform::clock::in_milliseconds;
use cellist_session::execution::Cancel;
use cellist_settings::RunCode;
use cellist_tools::{AnswerBlock, CallAccess, Mode, ToolAnswer, ToolName, Toolbox};
use tokio::sync::{oneshot, watch};

use super::{AnswerTurn, StopScope, TranscriptEntry};
use crate::briefing::readable;
use crate::conversation::cell_edits::WatchedNotebook;
use crate::conversation::request::Approval;
use crate::message::{MessageImage, ToolCall, ToolResult};
use crate::proposal;

/// Maximum files that one call may need consent for: a file and its other names.
const MOST_CONSENTS: usize = 4;

impl AnswerTurn<'_> {
    /// Carries out a call and appends its entries, with the changes that it actually made.
    pub(super) async fn carry_out(&mut self, call: &ToolCall) -> ToolResult {
        let (id, arguments) = (call.id.clone(), call.arguments.clone());
        self.shared.append(TranscriptEntry::Call { id: id.clone(), tool: call.tool.clone(), arguments });
        let since = Instant::now();
        let (access, needs_mode) = access_of(call, self.request.caller.mode);
        let watched = match access {
            CallAccess::Look => None,
            CallAccess::ChangeFile | CallAccess::ChangeNotebook | CallAccess::Run => {
                WatchedNotebook::open(&self.shared.toolbox, &self.shared.notebook).await
            }
        };
        let answer = self.approve_and_call(call, access).await;
        if access == CallAccess::ChangeFile && !answer.is_failure {
            self.files.extend(call.arguments["path"].as_str().map(str::to_owned));
        }
        let deeds = match &watched {
            Some(watched) => watched.edits_by(&self.agent.caller().author(), access == CallAccess::Run).await,
            None => Vec::new(),
        };
        let images: Vec<MessageImage> = answer
            .blocks
            .iter()
            .filter_map(|block| match block {
                AnswerBlock::Image { mime, data } => {
                    Some(MessageImage { mime: mime.clone(), data: data.clone() })
                }
                AnswerBlock::Text(_) | AnswerBlock::Link { .. } => None,
            })
            .collect();
        // Clients see exactly the text that the model reads.
        let text = self.provider.as_sent(&readable(&answer));
        self.shared.append(TranscriptEntry::Result {
            id: id.clone(),
            text: text.clone(),
            images: images.len(),
            is_failure: answer.is_failure,
            duration_ms: in_milliseconds(since.elapsed()),
            deeds,
            // In a conversation about one cell, no mode would allow the call.
            needs_mode: needs_mode.filter(|_| answer.is_failure && self.request.about.is_none()),
        });
        ToolResult { call: id, tool: call.tool.clone(), text, images, is_failure: answer.is_failure }
    }

    async fn approve_and_call(&mut self, call: &ToolCall, access: CallAccess) -> ToolAnswer {
        if let Some(cell) = &self.request.about {
            if call.tool == proposal::TOOL {
                return self.propose(cell, call).await;
            }
            if access != CallAccess::Look {
                return ToolAnswer::failure(proposal::READ_ONLY);
            }
        }
        let Some(tool) = ToolName::from_name(&call.tool) else {
            let known: Vec<&str> = self.tools.iter().map(|tool| tool.name).collect();
            return ToolAnswer::failure(format_args!(
                "no tool is called `{}`; available tools: {}",
                call.tool,
                known.join(", ")
            ));
        };
        if access == CallAccess::Run
            && self.agent.caller().mode.allows(CallAccess::Run)
            && !self.may_run(call).await
        {
            return ToolAnswer::failure("nothing was done: the user did not allow this call to run");
        }
        for _ in 0..MOST_CONSENTS {
            let answer = self.call_tool(tool, call).await;
            let Some(path) = answer.needs_consent.as_deref().map(str::to_owned) else { return answer };
            if self.ask_user(call, Some(path.clone())).await == Approval::No {
                return ToolAnswer::failure(format_args!(
                    "nothing was done: the user did not allow a change to {path}"
                ));
            }
            // The consent covers this file in this conversation only.
            self.agent.consent(&path);
            self.shared.lock().consents.push(path.into());
        }
        self.call_tool(tool, call).await
    }

    /// Calls a tool until it returns or the user stops the answer.
    async fn call_tool(&mut self, tool: ToolName, call: &ToolCall) -> ToolAnswer {
        let (news, _receiver) = watch::channel(None);
        let (canceller, cancel) = Cancel::channel();
        let toolbox = self.shared.toolbox.clone();
        let calling = toolbox.call(&self.agent, tool, &call.arguments, &news, cancel);
        tokio::pin!(calling);
        let stop = tokio::select! {
            answer = &mut calling => return answer,
            stop = self.stop.wait_for(Option::is_some) => stop.ok().and_then(|stop| *stop),
        };
        match stop {
            Some(StopScope::Kernel) => {
                canceller.cancel();
                // Earlier calls of this turn may have left code running.
                toolbox.interrupt_turn(&self.agent.turn_name());
                calling.await
            }
            Some(StopScope::Answer) | None => {
                toolbox.hand_over_turn(&self.agent.turn_name());
                ToolAnswer::failure("the user stopped the answer; the code of this call keeps running")
            }
        }
    }

    /// Appends a proposal for the one cell.
    async fn propose(&self, cell: &str, call: &ToolCall) -> ToolAnswer {
        let Some(source) = call.arguments.get("source").and_then(serde_json::Value::as_str) else {
            return ToolAnswer::failure("`source` is missing: give the whole new source of the cell as text");
        };
        // The user gets the real text in place of redaction marks.
        match self.agent.caller().redaction.restored(source, &self.source(cell).await) {
            Ok(source) => {
                self.shared.append(TranscriptEntry::Proposal { cell: cell.to_owned(), source });
                ToolAnswer::text(proposal::SHOWN)
            }
            Err(mark) => ToolAnswer::failure(format_args!(
                "nothing was proposed: the mark `{mark}` cannot be matched with the cell; keep each redaction mark at its \
                 place, or describe the change in words"
            )),
        }
    }

    /// The current source of a cell.
    async fn source(&self, cell: &str) -> String {
        let document = self.shared.toolbox.documents().open(&self.shared.notebook).await;
        let notebook = document.map(|document| document.view().notebook.clone());
        let cell = notebook.ok().and_then(|notebook| {
            let cell = notebook.cells().iter().find(|known| known.id().to_string() == cell)?;
            Some(cell.source().into_owned())
        });
        cell.unwrap_or_default()
    }

    /// Whether code may run. Asks the user if the settings require it.
    async fn may_run(&mut self, call: &ToolCall) -> bool {
        if self.shared.run_allowed.load(Ordering::Relaxed) || self.request.rules.run_code == RunCode::Allow {
            return true;
        }
        let verdict = self.ask_user(call, None).await;
        if verdict == Approval::Always {
            self.shared.run_allowed.store(true, Ordering::Relaxed);
        }
        verdict != Approval::No
    }

    /// Asks the user whether a call may run code, or change the file `path`. A stop counts as a refusal.
    async fn ask_user(&mut self, call: &ToolCall, path: Option<String>) -> Approval {
        let decision = {
            let mut state = self.shared.lock();
            let (question, decision) = oneshot::channel();
            let Some(active) = &mut state.active else { return Approval::No };
            active.questions.insert(call.id.clone(), question);
            decision
        };
        self.shared.append(TranscriptEntry::Question { id: call.id.clone(), path });
        let verdict = tokio::select! {
            verdict = decision => verdict.unwrap_or(Approval::No),
            _ = self.stop.wait_for(Option::is_some) => Approval::No,
        };
        self.shared.append(TranscriptEntry::Verdict { id: call.id.clone(), verdict });
        verdict
    }
}

/// The access that a call needs, and the mode that would allow it if this mode does not.
fn access_of(call: &ToolCall, mode: Mode) -> (CallAccess, Option<Mode>) {
    let Some(tool) = ToolName::from_name(&call.tool) else { return (CallAccess::Look, None) };
    let access = match tool.facts().access {
        CallAccess::Look | CallAccess::ChangeFile => Toolbox::access_of(tool, &call.arguments),
        // Malformed arguments may hide a change, so the access is never less than the tool's own.
        least @ (CallAccess::ChangeNotebook | CallAccess::Run) => {
            match Toolbox::access_of(tool, &call.arguments) {
                CallAccess::Look => least,
                access => access,
            }
        }
    };
    (access, mode.check(access).err().map(|refusal| refusal.needs()))
}
