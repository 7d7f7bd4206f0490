//! The client of one kernel process: sends requests on its lanes and matches replies to them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::lane::Lane;
use super::listener::ListenerCommand;
use super::message::{Message, Session};
use super::pending::Pending;
use super::setup::{self, Given};
use crate::Backend;
use crate::error::{Error, Result};
use crate::kernel::Identity;
use crate::late::LateOutput;

/// How long to wait for a first message before asking once more: the kernel may not know of us yet.
const NUDGE: Duration = Duration::from_millis(50);

/// How long to wait for the first answer before asking once more; twice as long each time.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct Client {
    pub(crate) session: Arc<Session>,
    pub(crate) shell: Lane,
    pub(crate) control: Lane,
    pub(crate) pending: Arc<Pending>,
    pub(crate) commands: mpsc::Sender<ListenerCommand>,
    pub(crate) late: LateOutput,
    pub(crate) info: KernelInfo,
    /// The language from the kernelspec, for kernels that do not report one.
    pub(crate) presumed_language: String,
    /// Whether the kernel is busy for another client.
    pub(crate) taken: watch::Receiver<bool>,
    /// The variables that were last set by hidden code.
    pub(crate) variables: Mutex<HashMap<String, Option<String>>>,
}

/// A kernel's own description.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct KernelInfo {
    #[serde(default)]
    pub(crate) language_info: serde_json::Value,
}

impl Client {
    /// The language, in lower case.
    pub(crate) fn language(&self) -> String {
        let said = self.info.language_info["name"].as_str().unwrap_or(&self.presumed_language);
        said.to_lowercase()
    }

    pub(crate) fn is_python(&self) -> bool {
        matches!(self.language().as_str(), "python" | "ipython")
    }

    /// The identity of a kernel from its own description alone.
    pub(crate) fn identity(&self, backend: Backend, name: String) -> Identity {
        let info = &self.info.language_info;
        Identity {
            backend,
            name,
            language: self.language(),
            version: info["version"].as_str().map(str::to_owned),
            python: None,
            pid: None,
            language_info: Some(info.clone()).filter(serde_json::Value::is_object),
        }
    }

    /// Asks and waits for the answer; none when the kernel is gone. Forgotten when dropped.
    pub(crate) async fn ask(&self, kind: &str, content: &serde_json::Value) -> Option<Message> {
        let (id, frames) = self.session.build(kind, None, content);
        let answer = self.pending.expect(id);
        self.shell.send(frames).await;
        answer.get().await
    }

    /// Returns the kernel's description, when it has replied and its output was heard.
    pub(crate) async fn until_ready(&self, mut heard: watch::Receiver<bool>) -> Result<KernelInfo> {
        let mut patience = PATIENCE;
        loop {
            let nothing = json!({});
            let asking = self.ask("kernel_info_request", &nothing);
            let Ok(reply) = tokio::time::timeout(patience, asking).await else {
                // A server that is still connecting may lose a question. A kernel that is only slow answers all.
                patience *= 2;
                continue;
            };
            let reply = reply.ok_or_else(|| self.gone())?;
            if let Ok(Ok(_)) = tokio::time::timeout(NUDGE, heard.wait_for(|heard| *heard)).await {
                return reply.read().map_err(|error| Error::Protocol { what: error.to_string() });
            }
        }
    }

    fn gone(&self) -> Error {
        Error::Dead { death: self.pending.death() }
    }

    /// Sets up a kernel of Python; others are let be.
    pub(crate) async fn set_up(&self, given: &Given<'_>) -> Result<Vec<String>> {
        if !self.is_python() {
            return Ok(Vec::new());
        }
        let reply = self.ask("execute_request", &setup::request(given)).await;
        let reply = reply.ok_or_else(|| self.gone())?;
        let setup = setup::answer(&reply);
        if setup.kernel_waits {
            let _ = self.commands.send(ListenerCommand::KernelWaits).await;
        }
        Ok(setup.notices)
    }

    /// The messages that bring a process's variables to these values; none when they have them.
    pub(crate) fn set_variables(&self, wanted: &[(String, Option<String>)]) -> Option<Vec<Bytes>> {
        let mut known = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        let changes: Vec<_> =
            wanted.iter().filter(|(name, value)| known.get(name) != Some(value)).cloned().collect();
        if changes.is_empty() {
            return None;
        }
        let code = setup::variables(&changes);
        known.extend(changes);
        Some(self.session.build("execute_request", None, &setup::execute(&code, true)).1)
    }
}

/// Delivers replies to their callers.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(super) pending: Arc<Pending>,
    pub(super) commands: mpsc::Sender<ListenerCommand>,
}

impl Answering {
    pub(crate) async fn take(&self, message: Message) {
        let unclaimed = self.pending.answer(message).filter(|message| message.kind == "execute_reply");
        if let Some(reply) = unclaimed {
            let _ = self.commands.send(ListenerCommand::Reply(reply)).await;
        }
    }
}
