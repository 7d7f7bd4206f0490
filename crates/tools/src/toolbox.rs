//! Carries out calls: validates the arguments, checks the mode of the caller, then runs the tool.
//! The folder holds the parts that tools share.

mod begun;
mod bridge;
pub(crate) mod cell_runs;
pub(crate) mod changes;
mod context;
pub(crate) mod excerpt;
pub(crate) mod file_change;
pub(crate) mod listing;
pub(crate) mod ongoing;
pub(crate) mod open;
mod redacted;
pub(crate) mod runs;
pub(crate) mod target;
pub(crate) mod text;

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
use crate::answer::{Answer, Progress, Refusal};
use crate::caller::Caller;
use crate::editor::{Editor, EditorReport};
use crate::executions::Executions;
use crate::glance::{self, Glance};
use crate::input::MaxOutput;
use crate::mode::Access;
use crate::offer::Offer;
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
    editor: Arc<watch::Sender<Editor>>,
    pub(crate) executions: Executions,
    pub(crate) gallery: Gallery,
    pub(crate) introduced: Arc<Introduced>,
    glances: broadcast::Sender<Glance>,
}

/// A validated call, without its input.
pub(crate) struct Call<'a> {
    pub(crate) agent: &'a Arc<Agent>,
    /// The effect of the call.
    pub(crate) access: Access,
    /// Receives the progress.
    pub(crate) news: &'a watch::Sender<Option<Progress>>,
    pub(crate) cancel: Cancel,
}

impl Call<'_> {
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
        let glances = broadcast::Sender::new(glance::KEPT);
        Toolbox { sessions, documents, artifacts, editor, executions, gallery, introduced, glances }
    }

    /// Returns the last report of an editor.
    pub fn editor(&self) -> Editor {
        self.editor.borrow().clone()
    }

    /// Watches the reports of editors.
    pub fn editor_news(&self) -> watch::Receiver<Editor> {
        self.editor.subscribe()
    }

    /// Returns the open notebooks.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// Subscribes to the cells that agents read.
    pub fn glances(&self) -> broadcast::Receiver<Glance> {
        self.glances.subscribe()
    }

    /// Applies the report of an editor and returns the new state.
    pub fn hear(&self, report: EditorReport) -> Editor {
        self.editor.send_modify(|editor| editor.hear(report));
        self.editor()
    }

    /// Returns the effect of a call, judged by its arguments. A malformed call has none: it is
    /// refused later.
    pub fn amounts_to(tool: ToolName, arguments: &Value) -> Access {
        ToolRequest::read(tool, arguments).map_or(Access::Look, |request| request.access())
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
        news: &watch::Sender<Option<Progress>>,
        cancel: Cancel,
    ) -> Answer {
        let _busy = agent.begin();
        let call = Call { agent, access: Access::Look, news, cancel };
        let answer = self.carry_out(tool, arguments, call).await.unwrap_or_else(Answer::from);
        // Code gets the plain text. A model never does, not even for code that it ran.
        match agent.within() {
            Some(_) => answer,
            None => answer.redacted(&agent.caller().redaction),
        }
    }

    async fn carry_out(&self, tool: ToolName, arguments: &Value, call: Call<'_>) -> Result<Answer, Refusal> {
        let caller = call.caller();
        if let Err(refusal) = Offer::set(caller).check(tool) {
            let why = self.stand_in(caller, refusal).await;
            return Err(why.map_or_else(|| Refusal::new(refusal), Refusal::new));
        }
        let request = ToolRequest::read(tool, arguments).map_err(Refusal::new)?;
        let access = request.access();
        caller.mode.check(access).map_err(Refusal::new)?;
        let call = Call { access, ..call };
        if let (Some(writing), None) = (request.writing(), call.agent.within()) {
            self.check_marks(&call, writing).await?;
        }
        // A panic fails this call only.
        let called = contained(async {
            fault::panic_point("tool");
            request.run(self, call).await
        });
        called.await.unwrap_or_else(|panicked| Err(Refusal::new(panicked)))
    }
}
