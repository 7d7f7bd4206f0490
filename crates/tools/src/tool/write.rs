//! `write`: replaces the whole text that `read` shows.

use super::{
    CallAccess, CallContext, PendingWrite, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, WriteTarget,
    input,
};
use crate::toolbox::file_change::{FileChange, TextChange, change_access};

input! {
    /// Writes the text that `read` shows. Cells named by `cell:N` keep id, metadata and outputs;
    /// others are deleted.
    struct WriteInput {
        path | notebook: String,
        content | source: String,
        revision: Option<String> = "As read",
    }
}

impl Tool for WriteInput {
    const FACTS: ToolFacts = ToolFacts { repeats: true, ..ToolFacts::new(CallAccess::ChangeFile) };

    fn access(&self) -> CallAccess {
        change_access(&self.path)
    }

    fn writing(&self) -> Option<PendingWrite<'_>> {
        Some(PendingWrite { file: WriteTarget::Path(&self.path), texts: vec![&self.content] })
    }

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let change = TextChange::Whole(self.content);
        let revision = self.revision.as_deref();
        toolbox.change_text(call, FileChange { path: &self.path, change, revision, run: None }).await
    }
}
