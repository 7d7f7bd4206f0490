//! A notebook that the host has open, for a blocking client.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellist_live::{Actor, Author};
use cellist_store::{Changed, LoadedNotebook, Store, Use};
use tokio::runtime::{Builder, Runtime};

use super::{NotebookError, Result};
use crate::client::HostClient;
use crate::error::Error;
use crate::process::Host;
use crate::protocol::notebook::{EditReply, NotebookAction, NotebookReply, NotebookRequest, NotebookState};
use crate::protocol::request::{Reply, Request};

/// A notebook that the host has open.
#[derive(Debug)]
pub struct OpenNotebook {
    client: HostClient,
    runtime: Runtime,
    /// The path that the caller gave.
    named: PathBuf,
    /// The real path.
    file: PathBuf,
    author: Author,
}

impl OpenNotebook {
    /// Finds the notebook at `path`, if the running host has it open and the store allows reading it.
    pub fn find(host: &Host, store: &Store, path: &Path, author: &Author) -> Option<OpenNotebook> {
        // Usually no host is registered, and this check is the only cost.
        if !host.is_registered() {
            return None;
        }
        // The store refuses files that the user may not read.
        store.check_use(path, Use::Look).ok()?;
        let file = store.real_path(path).ok()?;
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        // If the host does not respond, the file is changed; the host merges that as any change by another program.
        let client = runtime.block_on(HostClient::attach(host)).ok()?;
        match runtime.block_on(client.ask(Request::Notebooks)) {
            Ok(Reply::Notebooks(open)) if open.contains(&file) => {
                Some(OpenNotebook { client, runtime, named: path.to_owned(), file, author: author.clone() })
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Uses the notebook in `file` through a client. `named` is the path in messages.
    pub fn new(
        client: HostClient,
        runtime: Runtime,
        named: &Path,
        file: PathBuf,
        author: Author,
    ) -> OpenNotebook {
        OpenNotebook { client, runtime, named: named.to_owned(), file, author }
    }

    /// The client.
    pub fn client(&self) -> &HostClient {
        &self.client
    }

    /// The real path of the notebook.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Blocks until the future has ended.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Sends a request about the notebook.
    pub async fn asked(&self, ask: NotebookAction) -> Result<NotebookReply> {
        let asked = NotebookRequest { path: self.file.clone(), ask };
        match self.client.ask(Request::Notebook(Box::new(asked))).await {
            Ok(Reply::Notebook(reply)) => Ok(reply),
            Ok(other) => Err(self.unexpected(other)),
            Err(error) => Err(NotebookError::Host { path: self.named.clone(), error }),
        }
    }

    /// Reads the notebook. A named actor may base an edit on it.
    pub async fn whole(&self, actor: Option<Actor>) -> Result<NotebookState> {
        match self.asked(NotebookAction::Read(actor)).await? {
            NotebookReply::State(state) => Ok(*state),
            other => Err(self.unexpected(Reply::Notebook(other))),
        }
    }

    pub(super) fn read(&self) -> Result<LoadedNotebook> {
        let state = self.wait(self.whole(Some(self.author.actor.clone())))?;
        let notices = state.problem.map(|problem| format!("not all changes are on disk: {problem}"));
        let notebook = Arc::unwrap_or_clone(state.content.0);
        Ok(LoadedNotebook { notebook, path: self.file.clone(), notices: notices.into_iter().collect() })
    }

    /// Changes the notebook, if the store allows changing the file.
    pub(super) fn change(&self, store: &Store, ask: NotebookAction) -> Result<Changed<EditReply>> {
        store.check_use(&self.named, Use::Change)?;
        let value = match self.wait(self.asked(ask))? {
            NotebookReply::Edited(edited) => *edited,
            other => return Err(self.unexpected(Reply::Notebook(other))),
        };
        let LoadedNotebook { notebook, notices, .. } = self.read()?;
        Ok(Changed { revision: notebook.revision(), written: value.changed, value, notebook, notices })
    }

    pub(super) fn unexpected(&self, reply: Reply) -> NotebookError {
        let error = Error::Unexpected(Box::new(reply));
        NotebookError::Host { path: self.named.clone(), error }
    }
}
