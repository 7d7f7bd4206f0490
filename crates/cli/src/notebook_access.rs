//! Access to notebooks, in the host or as files, and the author of changes.

mod author;
pub(crate) mod files;
mod target;

use std::path::Path;

use cellist_host::{NotebookHandle, OpenNotebook};
use clap::Args;

use crate::allocation;
use crate::host::user_host;

pub(crate) use author::{author, require_person};
pub(crate) use target::PathTarget;

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StandaloneFlag {
    /// Use the file even if the notebook is open in the host
    #[arg(long)]
    standalone: bool,
}

/// Opens a notebook for a command that reads or changes it once.
pub(crate) fn notebook(path: &Path, StandaloneFlag { standalone }: StandaloneFlag) -> NotebookHandle {
    allocation::preallocate();
    if standalone {
        return NotebookHandle::of_file(files::store(), path, author());
    }
    NotebookHandle::find(&user_host(), files::store(), path, author())
}

/// The notebook at a path, if it is open in the host.
pub(crate) fn open_notebook(
    path: &Path,
    StandaloneFlag { standalone }: StandaloneFlag,
) -> Option<OpenNotebook> {
    if standalone {
        return None;
    }
    OpenNotebook::find(&user_host(), &files::store(), path, &author())
}
