//! Carries out calls: validates the arguments, checks the mode of the caller, then runs the tool.
//! The folder holds the parts that tools share.

mod bridge;
pub(crate) mod cell_runs;
pub(crate) mod changes;
mod context;
pub(crate) mod excerpt;
pub(crate) mod file_change;
pub(crate) mod file_resolver;
pub(crate) mod listing;
mod mark_check;
pub(crate) mod opened_notebook;
pub(crate) mod run_status;
pub(crate) mod runs;
pub(crate) mod text;
mod turn_runs;

use std::sync::Arc;

use cellist_live::Documents;
use cellist_platform::contained::contained;
use cellist_platform::fault;
use cellist_session::execution::Cancel;
use cellist_session::sessions::Sessions;
use cellist_store::artifact::Artifacts;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::agent::Agent;
use crate::answer::{CallProgress, ToolAnswer, ToolRefusal};
use crate::caller::Caller;
use crate::cells_read::{self, CellsRead};
use crate::editor::{EditorReport, EditorState};
use crate::executions::Executions;
use crate::input::MaxOutput;
use crate::mode::CallAccess;
use crate::offer::ToolOffer;
use crate::result::{Budget, Gallery};
use crate::tool::{ToolName, ToolRequest};

pub use bridge::NotCalled;
use runs::Introduced;

/// The tools of one host, with their shared state.
///
/// Clones share one toolbox. It owns the registry of runs and the last editor report; sessions,
/// open notebooks and artifacts are shared with other parts of the host. Calls may run at the same
/// time. Two calls in one session run in the order in which they arrive; calls in different
/// sessions do not wait for each other.
#[derive(Clone)]
pub struct Toolbox {
    pub(crate) sessions: Sessions,
    pub(crate) documents: Documents,
    pub(crate) artifacts: Artifacts,
    /// The last report of an editor.
    editor: Arc<watch::Sender<EditorState>>,
    pub(crate) executions: Executions,
    pub(crate) gallery: Gallery,
    pub(crate) introduced: Arc<Introduced>,
    reads: broadcast::Sender<CellsRead>,
}

/// A validated call, without its input.
pub(crate) struct CallContext<'a> {
    pub(crate) agent: &'a Arc<Agent>,
    /// The effect of the call.
    pub(crate) access: CallAccess,
    /// Receives the progress.
    pub(crate) news: &'a watch::Sender<Option<CallProgress>>,
    pub(crate) cancel: Cancel,
}

impl CallContext<'_> {
    /// Returns the configuration of the calling agent.
    pub(crate) fn caller(&self) -> &Caller {
        self.agent.caller()
    }

    /// Returns the size limits of the answer.
    pub(crate) fn budget(&self, max_output: Option<MaxOutput>, images: Option<bool>) -> Budget {
        Budget::of(self.agent, max_output, images)
    }

    /// Returns the default size of an answer, for tools without a size argument.
    pub(crate) fn usual_bytes(&self) -> usize {
        self.budget(None, None).bytes
    }
}

impl Toolbox {
    /// Creates the tools for these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> Toolbox {
        let gallery = Gallery::new(artifacts.clone());
        let (editor, executions, introduced) = (Arc::default(), Executions::default(), Arc::default());
        let reads = broadcast::Sender::new(cells_read::KEPT);
        Toolbox { sessions, documents, artifacts, editor, executions, gallery, introduced, reads }
    }

    /// Returns the last report of an editor.
    pub fn editor(&self) -> EditorState {
        self.editor.borrow().clone()
    }

    /// Watches the reports of editors.
    pub fn watch_editor(&self) -> watch::Receiver<EditorState> {
        self.editor.subscribe()
    }

    /// Returns the open notebooks.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Subscribes to the cells that agents read.
    pub fn cells_read(&self) -> broadcast::Receiver<CellsRead> {
        self.reads.subscribe()
    }

    /// Applies the report of an editor and returns the new state.
    pub fn apply_report(&self, report: EditorReport) -> EditorState {
        self.editor.send_modify(|editor| editor.apply(report));
        self.editor()
    }

    /// Returns the effect of a call, judged by its arguments. A malformed call has none: it is
    /// refused later.
    pub fn access_of(tool: ToolName, arguments: &Value) -> CallAccess {
        ToolRequest::read(tool, arguments).map_or(CallAccess::Look, |request| request.access())
    }

    /// Carries out a call.
    ///
    /// Returns an answer in every case: refusals, failures and panics of a tool become failed
    /// answers. `news` receives progress until the answer. Dropping the future abandons the answer,
    /// not a run that it started. `cancel` interrupts the run; the answer then tells whether it
    /// stopped.
    pub async fn call(
        &self,
        agent: &Arc<Agent>,
        tool: ToolName,
        arguments: &Value,
        news: &watch::Sender<Option<CallProgress>>,
        cancel: Cancel,
    ) -> ToolAnswer {
        let _busy = agent.begin();
        let call = CallContext { agent, access: CallAccess::Look, news, cancel };
        let answer = self.carry_out(tool, arguments, call).await.unwrap_or_else(ToolAnswer::from);
        // Code gets the plain text. A model never does, not even for code that it ran.
        match agent.within() {
            Some(_) => answer,
            None => answer.redacted(&agent.caller().redaction),
        }
    }

    async fn carry_out(
        &self,
        tool: ToolName,
        arguments: &Value,
        call: CallContext<'_>,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let caller = call.caller();
        if let Err(refusal) = ToolOffer::of_caller(caller).check(tool) {
            let why = self.missing_python(caller, refusal).await;
            return Err(why.map_or_else(|| ToolRefusal::new(refusal), ToolRefusal::new));
        }
        let request = ToolRequest::read(tool, arguments).map_err(ToolRefusal::new)?;
        let access = request.access();
        caller.mode.check(access).map_err(ToolRefusal::new)?;
        let call = CallContext { access, ..call };
        if let (Some(writing), None) = (request.writing(), call.agent.within()) {
            self.check_marks(&call, writing).await?;
        }
        // A panic fails this call only.
        let called = contained(async {
            fault::panic_point("tool");
            request.run(self, call).await
        });
        called.await.unwrap_or_else(|panicked| Err(ToolRefusal::new(panicked)))
    }
}
