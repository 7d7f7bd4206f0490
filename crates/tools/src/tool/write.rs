//! `write`: replaces the whole text that `read` shows.

use super::{Access, Answer, Call, Refusal, Tool, ToolFacts, Toolbox, Writing, WrittenFile, input};
use crate::toolbox::file_change::{Change, FileChange, change_access};

input! {
    /// Writes the text that `read` shows. Cells named by `cell:N` keep id, metadata and outputs;
    /// others are deleted.
    struct Write {
        path | notebook: String,
        content | source: String,
        revision: Option<String> = "As read",
    }
}

impl Tool for Write {
    const FACTS: ToolFacts = ToolFacts { repeats: true, ..ToolFacts::new(Access::ChangeFile) };

    fn access(&self) -> Access {
        change_access(&self.path)
    }

    fn writing(&self) -> Option<Writing<'_>> {
        Some(Writing { file: WrittenFile::Path(&self.path), texts: vec![&self.content] })
    }

    async fn run(self, toolbox: &Toolbox, call: Call<'_>) -> Result<Answer, Refusal> {
        let change = Change::Whole(self.content);
        let revision = self.revision.as_deref();
        toolbox.change_text(call, FileChange { path: &self.path, change, revision, run: None }).await
    }
}
