//! Refuses writes that would replace a redacted credential with its mark.

use serde_json::Value;

use super::{CallContext, Toolbox};
use crate::answer::ToolRefusal;
use crate::tool::{PendingWrite, WriteTarget};

impl Toolbox {
    /// Refuses a text with a redaction mark, unless the file has the mark literally and hides
    /// nothing behind it.
    pub(super) async fn check_marks(
        &self,
        call: &CallContext<'_>,
        writing: PendingWrite<'_>,
    ) -> Result<(), ToolRefusal> {
        let redaction = &call.caller().redaction;
        let marks: Vec<&str> = writing.texts.iter().flat_map(|text| redaction.marks_in(text)).collect();
        if marks.is_empty() {
            return Ok(());
        }
        let editor = self.editor();
        let resolver = self.resolver(call, &editor);
        let place = match writing.file {
            WriteTarget::Path(path) => resolver.target(path)?.place,
            WriteTarget::Notebook(named) => resolver.notebook(named)?,
        };
        let before = self.text_of(&place).await.unwrap_or_default();
        let is_hidden = |mark: &str| {
            texts(&before)
                .iter()
                .any(|text| redaction.text(text).matches(mark).count() > text.matches(mark).count())
        };
        match marks.into_iter().find(|mark| !before.contains(mark) || is_hidden(mark)) {
            None => Ok(()),
            Some(mark) => Err(place.refuse(
                format_args!(
                    "`{mark}` stands for a credential that is hidden from you; nothing was changed, since the credential \
                     would be lost. Use `edit` on the text around it, or ask the user"
                ),
                None,
            )),
        }
    }
}

/// Returns the texts that a model reads of a file: the sources of a notebook, or the whole file.
fn texts(file: &str) -> Vec<String> {
    let parsed = serde_json::from_str::<Value>(file).ok();
    let cells = parsed.as_ref().and_then(|notebook| notebook["cells"].as_array());
    let source = |cell: &Value| match &cell["source"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        source => source.as_str().unwrap_or_default().to_owned(),
    };
    match cells {
        Some(cells) => cells.iter().map(source).collect(),
        None => vec![file.to_owned()],
    }
}
