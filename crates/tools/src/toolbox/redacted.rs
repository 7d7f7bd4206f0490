//! What a model was not shown must not be written over with the mark that it saw in its place.

use tokio::task::spawn_blocking;

use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::arguments::Arguments;

impl Toolbox {
    /// Refuses a text with a mark of ours in it, unless the file has the very letters of it.
    pub(super) async fn check_marks(&self, call: &Call<'_>) -> Result<(), Answer> {
        let redaction = &call.caller().asker.redaction;
        let marks: Vec<&str> =
            written(call.arguments).into_iter().flat_map(|text| redaction.marks_in(text)).collect();
        if marks.is_empty() {
            return Ok(());
        }
        let editor = self.editor();
        let sight = self.sight(call, &editor);
        let place = match call.arguments.text("path") {
            Some(path) => sight.target(path)?.place,
            None => sight.notebook(call.arguments.text("notebook"))?,
        };
        let path = place.real.clone();
        let before = spawn_blocking(move || std::fs::read_to_string(path)).await;
        let before = before.ok().and_then(Result::ok).unwrap_or_default();
        match marks.into_iter().find(|mark| !before.contains(mark)) {
            None => Ok(()),
            Some(mark) => Err(place.failure(
                format_args!(
                    "`{mark}` stands for a credential that you were not shown, and nothing was changed: it would have been \
                     lost. Change only what stands around it, with `edit`, or ask the person"
                ),
                None,
            )),
        }
    }
}

/// The texts that a call brings for a file. Code that only runs is nobody's text.
fn written(arguments: &Arguments) -> Vec<&str> {
    const NAMES: [&str; 3] = ["content", "old", "new"];
    let operations = arguments.objects("operations").unwrap_or_default();
    let all = std::iter::once(arguments).chain(operations);
    all.flat_map(|one| NAMES.into_iter().filter_map(|name| one.text(name))).collect()
}
