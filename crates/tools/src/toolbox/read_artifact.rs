//! `read_artifact`: output that was cut, as it was written, by lines, from its end, or by what a line holds.

use cellist_notebook::{LineRange, Selector};
use cellist_output::{Ansi, clean};
use cellist_session::artifact::{ArtifactError, ArtifactId, Artifacts, Part};
use cellist_session::aside::aside;

use super::read::{SCHEME, shown};
use super::target::with_hint;
use super::{Call, Toolbox};
use crate::answer::Answer;
use crate::budget;

/// How many lines that match are shown at most.
const MOST_HITS: usize = 200;

impl Toolbox {
    pub(super) async fn read_artifact(&self, call: Call<'_>) -> Result<Answer, Answer> {
        let arguments = call.arguments;
        let budget = budget::budget(arguments);
        let id = arguments.text("id").unwrap_or_default();
        match (arguments.text("lines"), arguments.whole("tail"), arguments.text("search")) {
            (lines, None, None) => self.artifact_lines(id, lines, budget).await,
            (None, Some(count), None) => {
                self.artifact_part(id, vec![Part::Tail(count.unsigned_abs())], budget).await
            }
            (None, None, Some(pattern)) => self.search_artifact(id, pattern, budget).await,
            _ => Err(Answer::failure("give one of `lines`, `tail` and `search`")),
        }
    }

    /// Some lines of an artifact, or its beginning.
    pub(super) async fn artifact_lines(
        &self,
        id: &str,
        lines: Option<&str>,
        budget: usize,
    ) -> Result<Answer, Answer> {
        let parts = match lines {
            None => vec![Part::Whole],
            Some(lines) => parse_lines(lines)?,
        };
        self.artifact_part(id, parts, budget).await
    }

    async fn artifact_part(&self, id: &str, parts: Vec<Part>, budget: usize) -> Result<Answer, Answer> {
        let id = parse_id(id)?;
        let (artifacts, asked) = (self.artifacts.clone(), id.clone());
        let read = off_thread(move || read(&artifacts, &asked, &parts, budget)).await?;
        let (text, left) = read.map_err(|error| failed(&error))?;
        let about = match left {
            0 => format!("{SCHEME}{id}"),
            left => {
                format!("{SCHEME}{id}: {left} more bytes are left out; ask for other `lines`, or `search`")
            }
        };
        Ok(shown(text, about))
    }

    async fn search_artifact(&self, id: &str, pattern: &str, budget: usize) -> Result<Answer, Answer> {
        let id = parse_id(id)?;
        let (artifacts, asked, pattern) = (self.artifacts.clone(), id.clone(), pattern.to_owned());
        let found = off_thread(move || artifacts.search(&asked, &pattern, MOST_HITS)).await?;
        let found = found.map_err(|error| failed(&error))?;
        let mut text = String::new();
        let mut count = 0;
        for hit in &found.hits {
            let line = format!("{}: {}\n", hit.line, hit.text);
            if text.len() + line.len() > budget {
                break;
            }
            text.push_str(&line);
            count += 1;
        }
        let (all, total) = (found.matching_lines, found.total_lines);
        let about = match all {
            0 => format!("{SCHEME}{id}: none of {total} lines matches"),
            _ if all > count => {
                format!("{SCHEME}{id}: {all} of {total} lines match, the first {count} are shown")
            }
            _ => format!("{SCHEME}{id}: {all} of {total} lines match"),
        };
        Ok(shown(text, about))
    }
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Answer> {
    aside(work).await.map_err(|_| Answer::failure("the artifact could not be read"))
}

/// The parts as a reader sees them, and how many bytes are left out.
fn read(
    artifacts: &Artifacts,
    id: &ArtifactId,
    parts: &[Part],
    budget: usize,
) -> Result<(String, u64), ArtifactError> {
    let (mut text, mut left) = (String::new(), 0);
    for part in parts {
        let piece = artifacts.read(id, *part, budget.saturating_sub(text.len()))?;
        text.push_str(&clean(&piece.bytes, Ansi::Remove));
        left += piece.left_out;
    }
    let shown = budget::head(&text, budget).len();
    left += (text.len() - shown) as u64;
    text.truncate(shown);
    Ok((text, left))
}

fn parse_id(named: &str) -> Result<ArtifactId, Answer> {
    let named = named.trim();
    let id = named.strip_prefix(SCHEME).unwrap_or(named);
    id.parse().map_err(|error: ArtifactError| failed(&error))
}

fn parse_lines(text: &str) -> Result<Vec<Part>, Answer> {
    let part = |range: &LineRange| Part::Lines {
        first: range.first as u64,
        last: range.last.map(|last| last as u64),
    };
    match Selector::split(&format!(":{}", text.trim())) {
        Ok(Some((_, Selector::Lines(ranges)))) => Ok(ranges.iter().map(part).collect()),
        _ => Err(Answer::failure(format_args!(
            "`lines` {text:?} are none: give 5-9, 5- or several as 5-9,30-44"
        ))),
    }
}

fn failed(error: &ArtifactError) -> Answer {
    Answer::failure(with_hint(error.to_string(), error.hint()))
}
