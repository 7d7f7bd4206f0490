//! Content that a command is given in a file or on standard input.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use cellist_notebook as notebook;

use crate::error::{CliError, FailureKind};
use crate::notebook_access::files;

/// No cell and no notebook is this large; something endless was piped in.
const LARGEST: u64 = 512 * 1024 * 1024;

/// Where content comes from.
#[derive(Clone, Debug)]
pub(crate) enum InputSource {
    /// A file.
    File(PathBuf),
    /// Standard input, unless that is a terminal.
    Stdin,
}

impl InputSource {
    /// A file by its name, where `-` means standard input, as no name does.
    pub(crate) fn of_file(path: Option<PathBuf>) -> InputSource {
        match path {
            Some(path) if path != Path::new("-") => InputSource::File(path),
            Some(_) | None => InputSource::Stdin,
        }
    }

    /// The content, whatever bytes it holds. `action` is what wants it.
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

    /// The content as text.
    pub(crate) fn text(&self, action: &'static str) -> Result<String, CliError> {
        notebook::utf8(self.bytes(action)?)
            .map_err(|error| CliError::input(FailureKind::InvalidText, error.to_string()).about(&self.name()))
    }

    /// What to call it in messages.
    pub(crate) fn name(&self) -> String {
        match self {
            InputSource::File(path) => path.display().to_string(),
            InputSource::Stdin => "standard input".into(),
        }
    }
}

/// What to say when there is no content for an action.
pub(crate) fn missing(action: &'static str) -> CliError {
    CliError::asked(&notebook::Error::MissingContent { action }).with_hint(match action {
        "write" => "pass a file, or pipe the text in",
        "batch" => "pass a file, or pipe the operations in",
        _ => "pass --source TEXT or --file FILE, or pipe the source in",
    })
}

/// All that a reader has, about `length` bytes, or nothing when that is too much.
fn read_bounded(reader: impl Read, length: u64) -> io::Result<Option<Vec<u8>>> {
    // One more, so that its end can be seen without a larger buffer.
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(LARGEST) + 1).unwrap_or_default());
    reader.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= LARGEST).then_some(bytes))
}

fn too_large(name: &str) -> CliError {
    CliError::input(FailureKind::TooLarge, format!("{name} is larger than {} MiB", LARGEST >> 20))
}
