//! Records one output: in memory while it is small, then through a thread to disk.

use std::path::PathBuf;

use bytes::Bytes;

use super::spool::Spool;
use super::{ArtifactId, ArtifactOrigin, Artifacts};

/// Records an output as it arrives.
///
/// Bytes are kept in the order of the writes. Disk errors never fail a write;
/// [`ArtifactWriter::finish`] reports them. Dropping the writer ends the output: bytes already
/// handed over still reach the disk.
#[derive(Debug)]
pub struct ArtifactWriter {
    artifacts: Artifacts,
    origin: ArtifactOrigin,
    spill: usize,
    memory: Vec<u8>,
    keep_anyway: bool,
    spool: Option<Spool>,
}

/// The result of recording an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArtifactSummary {
    /// The artifact, if one was made.
    pub id: Option<ArtifactId>,
    /// The file with the output.
    pub path: Option<PathBuf>,
    /// The size in bytes.
    pub bytes: u64,
    /// The number of lines.
    pub lines: u64,
    /// The reason why the output is missing or incomplete, as a notice for the user.
    pub failure: Option<String>,
}

impl ArtifactWriter {
    pub(super) fn new(artifacts: Artifacts, origin: ArtifactOrigin, spill: usize) -> ArtifactWriter {
        ArtifactWriter { artifacts, origin, spill, memory: Vec::new(), keep_anyway: false, spool: None }
    }

    /// Adds bytes. Blocks only if the disk is much slower than the output, and then for a limited
    /// time. Callers that must not block await [`ArtifactWriter::room`] after each write.
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

    /// Waits until the next write would not block. Safe to cancel.
    pub async fn room(&self) {
        if let Some(spool) = &self.spool {
            spool.room().await;
        }
    }

    /// Keeps the output even if it is small. An empty one leaves no file.
    pub fn keep_anyway(&mut self) {
        self.keep_anyway = true;
    }

    /// The id, once the file exists.
    pub fn id(&self) -> Option<ArtifactId> {
        self.spool.as_ref().and_then(Spool::id)
    }

    /// Ends the output and waits until it is on disk, or has failed.
    pub async fn finish(mut self) -> ArtifactSummary {
        if self.spool.is_none() && self.keep_anyway && !self.memory.is_empty() {
            self.spill();
        }
        match self.spool.take() {
            Some(spool) => spool.finish().await,
            None => ArtifactSummary::default(),
        }
    }

    fn spill(&mut self) {
        let spool = Spool::start(self.artifacts.clone(), self.origin.clone());
        spool.push(std::mem::take(&mut self.memory).into());
        self.spool = Some(spool);
    }
}
