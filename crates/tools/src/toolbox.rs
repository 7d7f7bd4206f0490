//! Where calls are carried out: a call is checked against the definition of its tool and against the mode of whoever
//! calls, and only then handed to the tool. One tool a file.

mod read_artifact;

use std::sync::Arc;

use cellist_session::artifact::Artifacts;
use cellist_session::execution::Cancel;
use cellist_session::live::Documents;
use cellist_session::sessions::Sessions;
use serde_json::Value;
use tokio::sync::watch;

use crate::answer::{Answer, Progress};
use crate::arguments::Arguments;
use crate::caller::Caller;
use crate::definition::Definition;
use crate::tool::ToolName;

/// All tools. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Toolbox {
    sessions: Sessions,
    documents: Documents,
    artifacts: Artifacts,
}

/// A call that was checked.
struct Call<'a> {
    caller: &'a Arc<Caller>,
    arguments: &'a Arguments,
    /// Who hears how far it is.
    news: &'a watch::Sender<Option<Progress>>,
    /// Whether it is still wanted.
    cancel: Cancel,
}

impl Toolbox {
    /// Tools that work on these sessions, notebooks and artifacts.
    pub fn new(sessions: Sessions, documents: Documents, artifacts: Artifacts) -> Toolbox {
        Toolbox { sessions, documents, artifacts }
    }

    /// Carries a call out. Dropping the future gives up on the answer, not on what was begun; what is not wanted any
    /// more is said through `cancel`.
    pub async fn call(
        &self,
        caller: &Arc<Caller>,
        tool: ToolName,
        arguments: &Value,
        news: &watch::Sender<Option<Progress>>,
        cancel: Cancel,
    ) -> Answer {
        let arguments = match Arguments::check(Definition::of(tool), arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Answer::failure(error),
        };
        if let Err(refusal) = caller.mode.check(tool.access()) {
            return Answer::failure(refusal);
        }
        let call = Call { caller, arguments: &arguments, news, cancel };
        match tool {
            ToolName::ReadArtifact => self.read_artifact(call).await,
            _ => Answer::failure(format_args!("{tool} cannot be called yet")),
        }
    }
}
