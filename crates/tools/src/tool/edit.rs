//! `edit`: replaces a piece of the text that `read` shows.

use super::{
    CallAccess, CallContext, MaxOutput, PendingWrite, Seconds, Tool, ToolAnswer, ToolFacts, ToolRefusal,
    Toolbox, WriteTarget, input,
};
use crate::toolbox::cell_runs::CellRunOptions;
use crate::toolbox::file_change::{FileChange, TextChange, change_access};

input! {
    /// Replaces text that `read` shows. It must occur once, unless `replace_all`.
    struct EditInput {
        path | notebook: String,
        old: String,
        new: String,
        replace_all: bool,
        run: bool = "Run changed cells",
        revision: Option<String> = "As read",
        timeout: Option<Seconds> = "Seconds",
        max_output: Option<MaxOutput>,
        images: Option<bool>,
        soft_wait: Option<Seconds>,
    }
}

impl Tool for EditInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::ChangeFile);

    fn access(&self) -> CallAccess {
        if self.run { CallAccess::Run } else { change_access(&self.path) }
    }

    fn writing(&self) -> Option<PendingWrite<'_>> {
        Some(PendingWrite { file: WriteTarget::Path(&self.path), texts: vec![&self.old, &self.new] })
    }

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let budget = call.budget(self.max_output, self.images);
        let run = CellRunOptions::after_change(self.run, budget, self.timeout, self.soft_wait);
        let change = TextChange::Replace { old: self.old, new: self.new, all: self.replace_all };
        let wanted = FileChange { path: &self.path, change, revision: self.revision.as_deref(), run };
        toolbox.change_text(call, wanted).await
    }
}
