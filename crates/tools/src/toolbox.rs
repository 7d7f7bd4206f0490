//! Where calls are carried out: a call is checked against the input of its tool and the mode of its caller, and only then
//! handed to the tool. The folder holds the parts that tools share.

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

/// All tools. Cheap to clone; all clones are one.
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

/// A call that was checked, without its input.
pub(crate) struct Call<'a> {
    pub(crate) agent: &'a Arc<Agent>,
    /// What carrying it out amounts to.
    pub(crate) access: Access,
    /// Receives its progress.
    pub(crate) news: &'a watch::Sender<Option<Progress>>,
    pub(crate) cancel: Cancel,
}

impl Call<'_> {
    /// Who calls.
    pub(crate) fn caller(&self) -> &Caller {
        self.agent.caller()
    }

    /// How much the answer may have.
    pub(crate) fn budget(&self, max_output: Option<MaxOutput>, images: Option<bool>) -> Budget {
        Budget::of(self.agent, max_output, images)
    }

    /// How many bytes of text the answer of a tool has that does not let its caller choose.
    pub(crate) fn usual_bytes(&self) -> usize {
        self.budget(None, None).bytes
    }
}

impl Toolbox {
    /// Tools that work on these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> Toolbox {
        let gallery = Gallery::new(artifacts.clone());
        let (editor, executions, introduced) = (Arc::default(), Executions::default(), Arc::default());
        let glances = broadcast::Sender::new(glance::KEPT);
        Toolbox { sessions, documents, artifacts, editor, executions, gallery, introduced, glances }
    }

    /// What an editor reported last.
    pub fn editor(&self) -> Editor {
        self.editor.borrow().clone()
    }

    /// What an editor reported last, and what it reports from now on.
    pub fn editor_news(&self) -> watch::Receiver<Editor> {
        self.editor.subscribe()
    }

    /// The open notebooks that they work on.
    pub fn documents(&self) -> &Documents {
        &self.documents
    }

    /// What agents look at from now on.
    pub fn glances(&self) -> broadcast::Receiver<Glance> {
        self.glances.subscribe()
    }

    /// Takes what an editor reports, and tells what is in front of a person now.
    pub fn hear(&self, report: EditorReport) -> Editor {
        self.editor.send_modify(|editor| editor.hear(report));
        self.editor()
    }

    /// What carrying out a call would amount to, as far as its arguments tell. A call that is not one amounts to
    /// nothing, and is refused when it is made.
    pub fn amounts_to(tool: ToolName, arguments: &Value) -> Access {
        ToolRequest::read(tool, arguments).map_or(Access::Look, |request| request.access())
    }

    /// Carries a call out. Dropping the future gives up on the answer, not on a run that it began; `cancel` stops the run.
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
        // Code gets the text itself; a model does not, whoever ran the code.
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
        // A fault of ours fails the one call.
        let called = contained(async {
            fault::panic_point("tool");
            request.run(self, call).await
        });
        called.await.unwrap_or_else(|panicked| Err(Refusal::new(panicked)))
    }
}
