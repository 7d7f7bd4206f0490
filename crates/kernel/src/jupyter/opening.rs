//! Puts a client and its listener together, the same way for every transport.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::client::{Answering, Client, KernelInfo};
use super::listener::{Listener, ListenerCommand, Peer, Source};
use super::message::{Key, Session};
use super::pending::Pending;
use crate::error::Result;
use crate::late::LateOutput;

/// Commands that wait for the listener, which is never long away.
const COMMANDS: usize = 64;

/// A client that has no connection yet.
pub(crate) struct ClientOpening {
    pub(crate) session: Arc<Session>,
    pub(crate) pending: Arc<Pending>,
    pub(crate) commands: mpsc::Sender<ListenerCommand>,
    receiver: mpsc::Receiver<ListenerCommand>,
}

impl ClientOpening {
    pub(crate) fn new(key: Key) -> io::Result<ClientOpening> {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        let (session, pending) = (Arc::new(Session::new(key)?), Arc::new(Pending::default()));
        Ok(ClientOpening { session, pending, commands, receiver })
    }

    /// The handler of incoming replies.
    pub(crate) fn answering(&self) -> Answering {
        Answering { pending: self.pending.clone(), commands: self.commands.clone() }
    }

    /// Starts the listener. Returns the client when the kernel has answered and was heard. The language is the one to
    /// presume where the kernel does not report any.
    pub(crate) async fn connect(
        self,
        source: impl Source + 'static,
        peer: Peer,
        presumed_language: String,
    ) -> Result<(Arc<Client>, ListenerHandle)> {
        let (heard, has_heard) = watch::channel(false);
        let (taking, taken) = watch::channel(false);
        let late = LateOutput::default();
        let mut client = Client {
            session: self.session.clone(),
            shell: peer.shell.clone(),
            control: peer.control.clone(),
            pending: self.pending,
            commands: self.commands,
            late: late.clone(),
            info: KernelInfo::default(),
            presumed_language,
            taken,
            variables: Mutex::default(),
        };
        let (session, commands) = (self.session, self.receiver);
        let listener = Listener { source, session, commands, peer, heard, taken: taking, late };
        let listener = ListenerHandle(Mutex::new(Some(tokio::spawn(listener.run()))));
        client.info = client.until_ready(has_heard).await?;
        Ok((Arc::new(client), listener))
    }
}

/// The task of a listener, which is aborted when this is dropped.
pub(crate) struct ListenerHandle(Mutex<Option<JoinHandle<()>>>);

impl ListenerHandle {
    /// Returns when the listener has ended.
    pub(crate) async fn ended(&self) {
        let listener = self.take();
        if let Some(listener) = listener {
            let _ = listener.await;
        }
    }

    fn take(&self) -> Option<JoinHandle<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for ListenerHandle {
    fn drop(&mut self) {
        if let Some(listener) = self.take() {
            listener.abort();
        }
    }
}
