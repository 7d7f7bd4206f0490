//! An output that is being kept: in memory while it is small, then handed to a thread that writes it to disk.

use std::path::PathBuf;

use bytes::Bytes;

use super::spool::Spool;
use super::{ArtifactId, Artifacts, Origin};

/// Takes an output as it comes. Nothing that goes wrong with the disk is an error here; [`Writer::finish`] says it.
#[derive(Debug)]
pub struct Writer {
    artifacts: Artifacts,
    origin: Origin,
    spill: usize,
    memory: Vec<u8>,
    keep_anyway: bool,
    spool: Option<Spool>,
}

/// What became of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// The artifact, where one was made.
    pub id: Option<ArtifactId>,
    /// Its file.
    pub path: Option<PathBuf>,
    /// Bytes in it.
    pub bytes: u64,
    /// Lines in it.
    pub lines: u64,
    /// Why the output is not kept, or not all of it: a notice for whoever reads the result.
    pub failure: Option<String>,
}

impl Writer {
    pub(super) fn new(artifacts: Artifacts, origin: Origin, spill: usize) -> Writer {
        Writer { artifacts, origin, spill, memory: Vec::new(), keep_anyway: false, spool: None }
    }

    /// Takes bytes. It waits only when a disk is much slower than the output, and not for ever; callers that must
    /// not wait at all call [`Writer::room`] after each write.
    pub fn write(&mut self, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        if let Some(spool) = &self.spool {
            return spool.push(bytes);
        }
        self.memory.extend_from_slice(&bytes);
        if self.memory.len() > self.spill {
            self.spill();
        }
    }

    /// Waits until the disk has caught up enough for the next write not to wait. May be dropped at any time.
    pub async fn room(&self) {
        if let Some(spool) = &self.spool {
            spool.room().await;
        }
    }

    /// Keeps the output however small it is, unless it is empty.
    pub fn keep_anyway(&mut self) {
        self.keep_anyway = true;
    }

    /// The artifact, once it is on disk.
    pub fn id(&self) -> Option<ArtifactId> {
        self.spool.as_ref().and_then(Spool::id)
    }

    /// Ends the output and says what became of it.
    pub async fn finish(mut self) -> Kept {
        if self.spool.is_none() && self.keep_anyway && !self.memory.is_empty() {
            self.spill();
        }
        match self.spool.take() {
            Some(spool) => spool.finish().await,
            None => Kept::default(),
        }
    }

    fn spill(&mut self) {
        let spool = Spool::start(self.artifacts.clone(), self.origin.clone());
        spool.push(std::mem::take(&mut self.memory).into());
        self.spool = Some(spool);
    }
}
