//! `edit`: replaces a piece of the text that `read` shows.

use super::{
    Access, Answer, Call, MaxOutput, Refusal, Seconds, Tool, ToolFacts, Toolbox, Writing, WrittenFile, input,
};
use crate::toolbox::cell_runs::CellRun;
use crate::toolbox::file_change::{Change, FileChange, change_access};

input! {
    /// Replaces text that `read` shows. It must occur once, unless `replace_all`.
    struct Edit {
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

impl Tool for Edit {
    const FACTS: ToolFacts = ToolFacts::new(Access::ChangeFile);

    fn access(&self) -> Access {
        if self.run { Access::Run } else { change_access(&self.path) }
    }

    fn writing(&self) -> Option<Writing<'_>> {
        Some(Writing { file: WrittenFile::Path(&self.path), texts: vec![&self.old, &self.new] })
    }

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let run = self.run.then(|| {
            CellRun::of_change(call.budget(self.max_output, self.images), self.timeout, self.soft_wait)
        });
        let change = Change::Replace { old: self.old, new: self.new, all: self.replace_all };
        let wanted = FileChange { path: &self.path, change, revision: self.revision.as_deref(), run };
        toolbox.change_text(call, wanted).await
    }
}
