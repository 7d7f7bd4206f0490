//! `cellist artifact read`. Also serves `cellist read` for the address of an artifact.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use cellist_notebook::{LineRange, Selector};
use cellist_output::{Ansi, Cleaner};
use cellist_store::artifact::{ArtifactError, ArtifactId, ArtifactRange, Artifacts};
use clap::Args;
use serde_json::json;

use super::artifacts;
use crate::error::{CliError, FailureKind};
use crate::notebook_access::files;
use crate::output::{CommandOutput, OutputFormat};
use crate::paint::{ColourMode, Ink, Paint};
use crate::spinner::Spinner;

pub(crate) const SCHEME: &str = "artifact://";
/// The most that one JSON object contains. Larger artifacts are read from their file.
const JSON_LIMIT: usize = 1024 * 1024;

/// Print an artifact or part of it
///
/// Pipes and files receive the original bytes; on a terminal, control sequences other than colour are removed.
/// Lines are numbered from 1. --search prints matching lines with their numbers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cellist artifact read 4t7wq2zn
  cellist artifact read 4t7wq2zn --lines 100-200
  cellist artifact read artifact://4t7wq2zn --tail 50
  cellist artifact read 4t7wq2zn --search 'loss=\\d' --max 20
  cellist artifact read 4t7wq2zn -o all.txt")]
pub(crate) struct ArtifactReadArgs {
    /// The artifact's id or address
    #[arg(value_name = "ID")]
    id: String,
    /// Print only these lines, such as 5-9 or 5-9,30-
    #[arg(long, value_name = "A-B", conflicts_with_all = ["tail", "search"])]
    lines: Option<String>,
    /// Print only the last N lines
    #[arg(long, value_name = "N", conflicts_with = "search")]
    tail: Option<u64>,
    /// Print only lines that match a regular expression
    #[arg(long, value_name = "RE", conflicts_with = "output", allow_hyphen_values = true)]
    search: Option<String>,
    /// Maximum number of matches to print
    #[arg(long, value_name = "N", default_value_t = 100, requires = "search")]
    max: usize,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn read_artifact(
    arguments: ArtifactReadArgs,
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    let (artifacts, id) = (artifacts(), arguments.id.parse()?);
    if let Some(pattern) = &arguments.search {
        let _waiting = Spinner::new("searching the artifact");
        return search(&artifacts, &id, pattern, arguments.max);
    }
    let parts = match (&arguments.lines, arguments.tail) {
        (Some(lines), _) => parse_lines(lines)?,
        (None, Some(count)) => vec![ArtifactRange::Tail(count)],
        (None, None) => vec![ArtifactRange::Whole],
    };
    match (&arguments.output, format) {
        (Some(file), _) => {
            let _waiting = Spinner::new("saving the artifact");
            save(&artifacts, &id, &parts, file)
        }
        (None, format) => show(&artifacts, &id, &parts, format),
    }
}

/// The output of `cellist read artifact://ID` or `artifact://ID:LINES`.
pub(crate) fn read_address(address: &str, format: OutputFormat) -> Result<CommandOutput, CliError> {
    let name = address.strip_prefix(SCHEME).unwrap_or(address);
    let (id, parts) = match name.split_once(':') {
        Some((id, lines)) => (id, parse_lines(lines)?),
        None => (name, vec![ArtifactRange::Whole]),
    };
    show(&artifacts(), &id.parse()?, &parts, format)
}

fn parse_lines(text: &str) -> Result<Vec<ArtifactRange>, CliError> {
    let part = |range: &LineRange| ArtifactRange::Lines {
        first: range.first as u64,
        last: range.last.map(|last| last as u64),
    };
    match Selector::split(&format!(":{text}")) {
        Ok(Some((_, Selector::Lines(ranges)))) => Ok(ranges.iter().map(part).collect()),
        _ => Err(CliError::input(FailureKind::InvalidSelector, format!("`{text}` is not a range of lines"))
            .with_hint("use 5-9, 5- or several ranges: 5-9,30-44")),
    }
}

fn show(
    artifacts: &Artifacts,
    id: &ArtifactId,
    parts: &[ArtifactRange],
    format: OutputFormat,
) -> Result<CommandOutput, CliError> {
    if format == OutputFormat::Json {
        let (mut text, mut left_out) = (Vec::new(), 0);
        for part in parts {
            let piece = artifacts.read(id, *part, JSON_LIMIT - text.len())?;
            text.extend(piece.bytes);
            left_out += piece.left_out;
        }
        let json = json!({
            "id": id,
            "path": artifacts.path(id).to_string_lossy(),
            "text": String::from_utf8_lossy(&text),
            "left_out_bytes": left_out,
        });
        return Ok(CommandOutput::new("", json));
    }
    let stdout = io::stdout();
    let copied = match stdout.is_terminal() {
        true => {
            let colour = Paint::for_stdout(ColourMode::Auto).is_on();
            let ansi = if colour { Ansi::KeepColour } else { Ansi::Remove };
            let mut screen =
                TerminalWriter { cleaner: Cleaner::new(ansi), text: String::new(), out: stdout.lock() };
            copy(artifacts, id, parts, &mut screen)
                .and_then(|()| screen.end().map_err(|error| ArtifactError::Copy { id: id.clone(), error }))
        }
        false => copy(artifacts, id, parts, &mut stdout.lock()),
    };
    match copied {
        // A closed pipe is no error.
        Err(ArtifactError::Copy { error, .. }) if error.kind() == io::ErrorKind::BrokenPipe => {}
        copied => copied?,
    }
    Ok(CommandOutput::new("", json!({})))
}

fn copy(
    artifacts: &Artifacts,
    id: &ArtifactId,
    parts: &[ArtifactRange],
    out: &mut dyn Write,
) -> Result<(), ArtifactError> {
    for part in parts {
        artifacts.copy(id, *part, out)?;
    }
    out.flush().map_err(|error| ArtifactError::Copy { id: id.clone(), error })
}

fn save(
    artifacts: &Artifacts,
    id: &ArtifactId,
    parts: &[ArtifactRange],
    path: &Path,
) -> Result<CommandOutput, CliError> {
    files::check_change(path)?;
    // Check that all parts can be read before truncating the file.
    for part in parts {
        artifacts.read(id, *part, 0)?;
    }
    let mut file = File::create(path).map_err(|error| CliError::unwritable(path, &error))?;
    match copy(artifacts, id, parts, &mut file) {
        Err(ArtifactError::Copy { error, .. }) => return Err(CliError::unwritable(path, &error)),
        copied => copied?,
    }
    let bytes = file.metadata().map(|file| file.len()).unwrap_or_default();
    let text = format!("wrote {bytes} bytes to {}\n", path.display());
    Ok(CommandOutput::new(text, json!({ "id": id, "output": path.to_string_lossy(), "bytes": bytes })))
}

fn search(
    artifacts: &Artifacts,
    id: &ArtifactId,
    pattern: &str,
    max: usize,
) -> Result<CommandOutput, CliError> {
    let found = artifacts.search(id, pattern, max)?;
    let paint = Paint::for_stdout(ColourMode::Auto);
    let lines = found
        .hits
        .iter()
        .map(|hit| format!("{}:{}\n", paint.line(Ink::Position, &hit.line.to_string()), hit.text));
    let text: String = lines.collect();
    let (all, shown, total) = (found.matching_lines, found.hits.len(), found.total_lines);
    let said = match all {
        0 => Some(format!("no match in {total} lines")),
        _ if all > shown as u64 => {
            Some(format!("{all} of {total} lines match, showing the first {shown}; use --max N for more"))
        }
        _ => None,
    };
    let mut json = json!(found);
    json["id"] = json!(id);
    json["path"] = json!(artifacts.path(id).to_string_lossy());
    Ok(CommandOutput::new(text, json).with_notices(said.into_iter().collect()))
}

/// Writes to a terminal. Colour passes; all other control sequences are removed.
struct TerminalWriter<W> {
    cleaner: Cleaner,
    text: String,
    out: W,
}

impl<W: Write> TerminalWriter<W> {
    fn end(&mut self) -> io::Result<()> {
        self.cleaner.finish(&mut self.text);
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.pass()?;
        self.out.flush()
    }

    fn pass(&mut self) -> io::Result<()> {
        self.out.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }
}

impl<W: Write> Write for TerminalWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cleaner.push(bytes, &mut self.text);
        self.pass()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
