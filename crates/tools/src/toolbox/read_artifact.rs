//! `read_artifact`: output that was cut, as it was written.

use cellist_session::artifact::{ArtifactError, ArtifactId, Part};

use super::{Call, Toolbox};
use crate::answer::Answer;

/// How many bytes are shown when nothing is said.
const USUAL: usize = 16 * 1024;

impl Toolbox {
    pub(super) async fn read_artifact(&self, call: Call<'_>) -> Answer {
        let arguments = call.arguments;
        let budget = arguments.whole("max_output").and_then(|bytes| usize::try_from(bytes).ok());
        let budget = budget.unwrap_or(USUAL);
        let part = arguments.whole("tail").map(|lines| Part::Tail(lines.unsigned_abs()));
        let read = || -> Result<String, ArtifactError> {
            let id: ArtifactId = arguments.text("id").unwrap_or_default().parse()?;
            let piece = self.artifacts.read(&id, part.unwrap_or(Part::Whole), budget)?;
            Ok(String::from_utf8_lossy(&piece.bytes).into_owned())
        };
        match read() {
            Ok(text) => Answer::text(text),
            Err(error) => Answer::failure(error),
        }
    }
}
