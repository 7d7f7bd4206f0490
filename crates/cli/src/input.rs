//! Input of a command, from a file or standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use cellist_notebook as notebook;

use crate::error::{CliError, FailureKind};
use crate::notebook_access::files;

/// Larger input is certainly a mistake, such as an endless pipe.
const LARGEST: u64 = 512 * 1024 * 1024;

#[derive(Clone, Debug)]
pub(crate) enum InputSource {
    /// A file.
    File(PathBuf),
    /// Standard input, unless that is a terminal.
    Stdin,
}

impl InputSource {
    /// A file; `-` or no path is standard input.
    pub(crate) fn of_file(path: Option<PathBuf>) -> InputSource {
        match path {
            Some(path) if path != Path::new("-") => InputSource::File(path),
            Some(_) | None => InputSource::Stdin,
        }
    }

    /// Reads the raw bytes. `action` names the purpose in errors.
    pub(crate) fn bytes(&self, action: &'static str) -> Result<Vec<u8>, CliError> {
        match self {
            InputSource::File(path) => {
                files::check_look(path)?;
                File::open(path)
                    .and_then(|file| {
                        let length = file.metadata().map_or(0, |metadata| metadata.len());
                        read_bounded(file, length)
                    })
                    .map_err(|error| CliError::unreadable(path, &error))?
                    .ok_or_else(|| too_large(&path.display().to_string()))
            }
            InputSource::Stdin if io::stdin().is_terminal() => Err(missing(action)),
            InputSource::Stdin => read_bounded(io::stdin().lock(), 0)
                .map_err(|error| CliError::unreadable(Path::new("standard input"), &error))?
                .ok_or_else(|| too_large("standard input")),
        }
    }

    /// Reads UTF-8 text.
    pub(crate) fn text(&self, action: &'static str) -> Result<String, CliError> {
        notebook::utf8(self.bytes(action)?)
            .map_err(|error| CliError::input(FailureKind::InvalidText, error.to_string()).about(&self.name()))
    }

    /// The name of the source in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            InputSource::File(path) => path.display().to_string(),
            InputSource::Stdin => "standard input".into(),
        }
    }
}

/// The error for missing input.
pub(crate) fn missing(action: &'static str) -> CliError {
    CliError::rejected(&notebook::Error::MissingContent { action }).with_hint(match action {
        "write" => "pass a file, or pipe the text in",
        "batch" => "pass a file, or pipe the operations in",
        _ => "pass --source TEXT or --file FILE, or pipe the source in",
    })
}

/// Reads everything, about `length` bytes; `None` if it is too large.
fn read_bounded(reader: impl Read, length: u64) -> io::Result<Option<Vec<u8>>> {
    // One more byte, so that the end is detected without growing the buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(LARGEST) + 1).unwrap_or_default());
    reader.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
}

fn too_large(name: &str) -> CliError {
    CliError::input(FailureKind::TooLarge, format!("{name} is larger than {} MiB", LARGEST >> 20))
}
