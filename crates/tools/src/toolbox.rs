//! Where calls are carried out: a call is checked against the definition of its tool and against the mode of whoever
//! calls, and only then handed to the tool. One tool a file.

mod access;
mod bash;
mod begun;
mod bridge;
mod changes;
mod context;
mod create_notebook;
mod edit;
mod eval;
mod excerpt;
mod get_cell_outputs;
mod get_notebook_cells;
mod get_variables;
mod listing;
mod notebook;
mod notebook_kernel;
mod ongoing;
mod open;
mod python;
mod read;
mod read_artifact;
mod redacted;
mod run_notebook_cells;
mod runs;
mod search_notebook;
mod target;
mod text;
mod undo;
mod wait;

use std::sync::Arc;

use cellist_session::artifact::Artifacts;
use cellist_session::contained::contained;
use cellist_session::execution::Cancel;
use cellist_session::fault;
use cellist_session::live::Documents;
use cellist_session::sessions::Sessions;
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::agent::Agent;
use crate::answer::{Answer, Progress};
use crate::arguments::Arguments;
use crate::caller::Caller;
use crate::definition::Definition;
use crate::editor::{Editor, EditorReport};
use crate::executions::Executions;
use crate::glance::{Glance, Glances};
use crate::mode::Access;
use crate::result::Gallery;
use crate::tool::{Offer, ToolName};
use access::{access, names_notebook};
pub use bridge::NotCalled;
use runs::Introduced;

/// All tools. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Toolbox {
    sessions: Sessions,
    documents: Documents,
    artifacts: Artifacts,
    /// What an editor reported last.
    editor: Arc<watch::Sender<Editor>>,
    executions: Executions,
    gallery: Gallery,
    introduced: Arc<Introduced>,
    glances: Glances,
}

/// A call that was checked.
struct Call<'a> {
    agent: &'a Arc<Agent>,
    arguments: &'a Arguments,
    /// What carrying it out amounts to.
    access: Access,
    /// Who hears how far it is.
    news: &'a watch::Sender<Option<Progress>>,
    /// Whether it is still wanted.
    cancel: Cancel,
}

impl Call<'_> {
    /// Who calls.
    fn caller(&self) -> &Caller {
        self.agent.caller()
    }
}

impl Toolbox {
    /// Tools that work on these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> Toolbox {
        let gallery = Gallery::new(artifacts.clone());
        let (editor, executions, introduced) = (Arc::default(), Executions::default(), Arc::default());
        let glances = Glances::default();
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
        self.glances.listen()
    }

    /// Takes what an editor reports, and tells what is in front of a person now.
    pub fn hear(&self, report: EditorReport) -> Editor {
        self.editor.send_modify(|editor| editor.hear(report));
        self.editor()
    }

    /// What carrying out a call would amount to, as far as its arguments tell. A call that is not one amounts to
    /// nothing, and is refused when it is made.
    pub fn amounts_to(tool: ToolName, arguments: &Value) -> Access {
        let Ok(arguments) = Arguments::check(Definition::of(tool), arguments) else { return Access::Look };
        access(tool, &arguments, arguments.text("path").is_some_and(names_notebook))
    }

    /// Carries a call out. Dropping the future gives up on the answer, not on what was begun; what is not wanted any
    /// more is said through `cancel`.
    pub async fn call(
        &self,
        agent: &Arc<Agent>,
        tool: ToolName,
        arguments: &Value,
        news: &watch::Sender<Option<Progress>>,
        cancel: Cancel,
    ) -> Answer {
        let (caller, _busy) = (agent.caller(), agent.begin());
        if let Err(refusal) = Offer::set(caller).check(tool) {
            return match self.stand_in(caller, refusal).await {
                Some(why) => Answer::failure(why),
                None => Answer::failure(refusal),
            };
        }
        let arguments = match Arguments::check(Definition::of(tool), arguments) {
            // Code takes in what a model cannot.
            Ok(arguments) if agent.within().is_some() => arguments.without_budget(),
            Ok(arguments) => arguments,
            Err(error) => return Answer::failure(error),
        };
        let on_notebook = arguments.text("path").is_some_and(names_notebook);
        let access = access(tool, &arguments, on_notebook);
        if let Err(refusal) = caller.mode.check(access) {
            return Answer::failure(refusal);
        }
        let call = Call { agent, arguments: &arguments, access, news, cancel };
        // Code gets what is there; a model does not, whoever ran the code.
        let is_read_by_code = agent.within().is_some();
        let answer = match is_read_by_code {
            true => self.contain(tool, call).await,
            false => match self.check_marks(&call).await {
                Ok(()) => self.contain(tool, call).await,
                Err(refusal) => Err(refusal),
            },
        };
        let answer = answer.unwrap_or_else(|failure| failure);
        match is_read_by_code {
            true => answer,
            false => answer.redacted(&caller.asker.redaction),
        }
    }

    /// A fault of ours fails the one call.
    async fn contain(&self, tool: ToolName, call: Call<'_>) -> Result<Answer, Answer> {
        let called = contained(async {
            fault::panic_point("tool");
            self.hand_to(tool, call).await
        });
        called.await.unwrap_or_else(|panicked| Err(Answer::failure(panicked)))
    }

    async fn hand_to(&self, tool: ToolName, call: Call<'_>) -> Result<Answer, Answer> {
        match tool {
            ToolName::GetNotebookCells => self.get_notebook_cells(call).await,
            ToolName::GetCellOutputs => self.get_cell_outputs(call).await,
            ToolName::SearchNotebook => self.search_notebook(call).await,
            ToolName::AddNotebookCell => self.add_notebook_cell(call).await,
            ToolName::UpdateNotebookCell => self.update_notebook_cell(call).await,
            ToolName::DeleteNotebookCells => self.delete_notebook_cells(call).await,
            ToolName::MoveNotebookCell => self.move_notebook_cell(call).await,
            ToolName::Undo => self.undo(call).await,
            ToolName::CreateNotebook => self.create_notebook(call).await,
            ToolName::Notebook => self.edit_notebook(call).await,
            ToolName::Read => self.read(call).await,
            ToolName::Edit => self.edit(call).await,
            ToolName::Write => self.write(call).await,
            ToolName::ReadArtifact => self.read_artifact(call).await,
            ToolName::RunNotebookCells => self.run_notebook_cells(call).await,
            ToolName::NotebookKernel => self.notebook_kernel(call).await,
            ToolName::GetVariables => self.get_variables(call).await,
            ToolName::Python => self.python(call).await,
            ToolName::Eval => self.eval(call).await,
            ToolName::Bash => self.bash(call).await,
            ToolName::Wait => self.wait(call).await,
        }
    }
}
