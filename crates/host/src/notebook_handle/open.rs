//! A notebook that the host has open, for a client that asks one thing after the other.

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
    /// The file, as the caller named it.
    named: PathBuf,
    /// The file itself.
    file: PathBuf,
    author: Author,
}

impl OpenNotebook {
    /// The notebook at `path`, if the running host has it open and the store lets its owner read it.
    pub fn find(host: &Host, store: &Store, path: &Path, author: &Author) -> Option<OpenNotebook> {
        // Mostly no host has registered, and this is the only cost of looking for one.
        if !host.is_registered() {
            return None;
        }
        // A file that its user may not read is refused by the store.
        store.check_use(path, Use::Look).ok()?;
        let file = store.real_path(path).ok()?;
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        // A host that does not answer merges a change of the file, as it does with other programs.
        let client = runtime.block_on(HostClient::attach(host)).ok()?;
        match runtime.block_on(client.ask(Request::Notebooks)) {
            Ok(Reply::Notebooks(open)) if open.contains(&file) => {
                Some(OpenNotebook { client, runtime, named: path.to_owned(), file, author: author.clone() })
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// The notebook in `file`, by a client whose host opens it when it is used. `named` is its path in messages.
    pub fn new(
        client: HostClient,
        runtime: Runtime,
        named: &Path,
        file: PathBuf,
        author: Author,
    ) -> OpenNotebook {
        OpenNotebook { client, runtime, named: named.to_owned(), file, author }
    }

    /// The client of the host.
    pub fn client(&self) -> &HostClient {
        &self.client
    }

    /// The notebook's file itself.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Waits for an answer of the host.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Asks something about the notebook.
    pub async fn asked(&self, ask: NotebookAction) -> Result<NotebookReply> {
        let asked = NotebookRequest { path: self.file.clone(), ask };
        match self.client.ask(Request::Notebook(Box::new(asked))).await {
            Ok(Reply::Notebook(reply)) => Ok(reply),
            Ok(other) => Err(self.unexpected(other)),
            Err(error) => Err(NotebookError::Host { path: self.named.clone(), error }),
        }
    }

    /// Reads all of the notebook. An actor that is named may base an edit on it.
    pub async fn whole(&self, actor: Option<Actor>) -> Result<NotebookState> {
        match self.asked(NotebookAction::Read(actor)).await? {
            NotebookReply::State(state) => Ok(*state),
            other => Err(self.unexpected(Reply::Notebook(other))),
        }
    }

    pub(super) fn read(&self) -> Result<LoadedNotebook> {
        let state = self.wait(self.whole(Some(self.author.actor.clone())))?;
        let notices = state.problem.map(|problem| format!("not all of it is on disk: {problem}"));
        let notebook = Arc::unwrap_or_clone(state.content.0);
        Ok(LoadedNotebook { notebook, path: self.file.clone(), notices: notices.into_iter().collect() })
    }

    /// Has the notebook changed, if the store lets its owner change the file.
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
