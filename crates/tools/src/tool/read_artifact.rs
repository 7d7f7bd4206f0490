//! `read_artifact`: returns output that was cut: lines, the end, or matching lines.

use cellist_notebook::{LineRange, Selector};
use cellist_output::{Ansi, clean};
use cellist_platform::aside::aside;
use cellist_store::artifact::{ArtifactError, ArtifactId, ArtifactRange, Artifacts};

use super::read::shown;
use super::{
    CallAccess, CallContext, MaxOutput, Tool, ToolAnswer, ToolFacts, ToolRefusal, Toolbox, WholeNumber, input,
};
use crate::budget;
use crate::toolbox::file_resolver::SCHEME;

/// Matching lines shown at most.
const MOST_HITS: usize = 200;

input! {
    /// Stored output that was cut: lines, its end, or matches.
    struct ReadArtifactInput {
        id: String,
        lines: Option<String> = "Such as 100-180",
        tail: Option<WholeNumber<1>>,
        search: Option<String> = "Regular expression",
        max_output: Option<MaxOutput>,
    }
}

impl Tool for ReadArtifactInput {
    const FACTS: ToolFacts = ToolFacts::new(CallAccess::Look);

    async fn run(self, toolbox: &Toolbox, call: CallContext<'_>) -> Result<ToolAnswer, ToolRefusal> {
        let budget = call.budget(self.max_output, None).bytes;
        match (self.lines, self.tail, self.search) {
            (lines, None, None) => toolbox.artifact_lines(&self.id, lines.as_deref(), budget).await,
            (None, Some(count), None) => {
                let part = ArtifactRange::Tail(count.0.unsigned_abs());
                toolbox.artifact_part(&self.id, vec![part], budget).await
            }
            (None, None, Some(pattern)) => toolbox.search_artifact(&self.id, &pattern, budget).await,
            _ => Err(ToolRefusal::new("give only one of `lines`, `tail` and `search`")),
        }
    }
}

impl Toolbox {
    /// Reads lines of an artifact, or its start.
    pub(crate) async fn artifact_lines(
        &self,
        id: &str,
        lines: Option<&str>,
        budget: usize,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let parts = match lines {
            None => vec![ArtifactRange::Whole],
            Some(lines) => parse_lines(lines)?,
        };
        self.artifact_part(id, parts, budget).await
    }

    async fn artifact_part(
        &self,
        id: &str,
        parts: Vec<ArtifactRange>,
        budget: usize,
    ) -> Result<ToolAnswer, ToolRefusal> {
        let id = parse_id(id)?;
        let (artifacts, asked) = (self.artifacts.clone(), id.clone());
        let read = off_thread(move || read(&artifacts, &asked, &parts, budget)).await?;
        let (text, left) = read.map_err(|error| failed(&error))?;
        let about = match left {
            0 => format!("{SCHEME}{id}"),
            left => {
                format!("{SCHEME}{id}: {left} more bytes; read other `lines`, or `search`")
            }
        };
        Ok(shown(text, about))
    }

    async fn search_artifact(
        &self,
        id: &str,
        pattern: &str,
        budget: usize,
    ) -> Result<ToolAnswer, ToolRefusal> {
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
                format!("{SCHEME}{id}: {all} of {total} lines match; showing the first {count}")
            }
            _ => format!("{SCHEME}{id}: {all} of {total} lines match"),
        };
        Ok(shown(text, about))
    }
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ToolRefusal> {
    aside(work).await.map_err(|_| ToolRefusal::new("the artifact could not be read"))
}

/// Reads parts as clean text. Returns the text and the number of omitted bytes.
fn read(
    artifacts: &Artifacts,
    id: &ArtifactId,
    parts: &[ArtifactRange],
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

fn parse_id(named: &str) -> Result<ArtifactId, ToolRefusal> {
    let named = named.trim();
    let id = named.strip_prefix(SCHEME).unwrap_or(named);
    id.parse().map_err(|error: ArtifactError| failed(&error))
}

fn parse_lines(text: &str) -> Result<Vec<ArtifactRange>, ToolRefusal> {
    let part = |range: &LineRange| ArtifactRange::Lines {
        first: range.first as u64,
        last: range.last.map(|last| last as u64),
    };
    match Selector::split(&format!(":{}", text.trim())) {
        Ok(Some((_, Selector::Lines(ranges)))) => Ok(ranges.iter().map(part).collect()),
        _ => Err(ToolRefusal::new(format_args!("`lines` {text:?} is not valid: use 5-9, 5- or 5-9,30-44"))),
    }
}

fn failed(error: &ArtifactError) -> ToolRefusal {
    ToolRefusal::hinted(error, error.hint())
}
