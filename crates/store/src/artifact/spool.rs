//! The thread that writes one artifact to disk, and the bounded queue in front of it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use cellist_output::notices;
use cellist_platform::fault::{self, Site};
use cellist_platform::{files, in_words};
use memchr::memchr_iter;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::metadata::ArtifactMetadata;
use super::{ArtifactId, ArtifactOrigin, ArtifactSummary, Artifacts, FOLDER};

/// Bytes that may wait for the disk. Absorbs the pauses of a busy disk, and is small beside the
/// memory of a host.
const CAPACITY: usize = 2 * 1024 * 1024;
/// Time without any written byte after which the disk counts as too slow.
const PATIENCE: Duration = Duration::from_secs(10);
const TOO_SLOW: &str = "the disk is too slow";
/// Retries with another id when a file name is taken.
const TRIES: usize = 8;

/// The sending side of the queue. The thread ends when the queue is closed and empty.
#[derive(Debug)]
pub(super) struct Spool(Arc<SpoolShared>);

#[derive(Debug)]
struct SpoolShared {
    artifacts: Artifacts,
    state: Mutex<SpoolState>,
    /// Wakes the thread: the queue has bytes, or was closed.
    news: Condvar,
    /// Wakes the callers: bytes were written, writing failed, or the thread is done.
    progress: Condvar,
    progress_async: Notify,
}

#[derive(Debug, Default)]
struct SpoolState {
    queue: VecDeque<Bytes>,
    /// Bytes in the queue, and bytes that the thread has taken and not written yet.
    queued: usize,
    is_closed: bool,
    /// Size of the part on disk.
    written: SpooledSize,
    id: Option<ArtifactId>,
    /// Once set, nothing more is written.
    failure: Option<String>,
    kept: Option<ArtifactSummary>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SpooledSize {
    bytes: u64,
    newlines: u64,
    has_open_line: bool,
}

impl Spool {
    pub(super) fn start(artifacts: Artifacts, origin: ArtifactOrigin) -> Spool {
        let shared = Arc::new(SpoolShared {
            artifacts,
            state: Mutex::default(),
            news: Condvar::new(),
            progress: Condvar::new(),
            progress_async: Notify::new(),
        });
        let at_work = Arc::clone(&shared);
        let work = move || run(&at_work, origin);
        let builder = thread::Builder::new().name("artifact".into());
        if let Err(error) = fault::thread(Site::ArtifactThread, builder, work) {
            let mut state = shared.lock();
            state.fail(&in_words(&error));
            state.kept = Some(state.outcome(&shared.artifacts));
        }
        Spool(shared)
    }

    /// Queues bytes. Blocks while the queue is full and the disk makes progress.
    pub(super) fn push(&self, bytes: Bytes) {
        let mut state = self.0.lock();
        let mut seen = (state.written, Instant::now());
        while state.is_full(bytes.len()) {
            state = self.0.progress.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
            if state.written != seen.0 {
                seen = (state.written, Instant::now());
            } else if seen.1.elapsed() >= PATIENCE {
                state.fail(TOO_SLOW);
            }
        }
        if state.failure.is_none() && !bytes.is_empty() {
            state.queued += bytes.len();
            state.queue.push_back(bytes);
            self.0.news.notify_one();
        }
    }

    /// Waits until half of the queue is free, or the disk counts as too slow.
    pub(super) async fn room(&self) {
        self.wait_until(|state| state.failure.is_some() || state.queued <= CAPACITY / 2).await;
    }

    pub(super) fn id(&self) -> Option<ArtifactId> {
        self.0.lock().id.clone()
    }

    pub(super) async fn finish(self) -> ArtifactSummary {
        self.0.close();
        self.wait_until(|state| state.kept.is_some()).await;
        let state = self.0.lock();
        state.kept.clone().unwrap_or_else(|| state.outcome(&self.0.artifacts))
    }

    async fn wait_until(&self, is_so: impl Fn(&SpoolState) -> bool) {
        loop {
            let told = self.0.progress_async.notified();
            let written = {
                let state = self.0.lock();
                if is_so(&state) {
                    return;
                }
                state.written
            };
            if timeout(PATIENCE, told).await.is_ok() {
                continue;
            }
            let mut state = self.0.lock();
            if state.written == written {
                return state.fail(TOO_SLOW);
            }
        }
    }
}

impl Drop for Spool {
    // The thread writes the rest of the queue even if no caller waits for it.
    fn drop(&mut self) {
        self.0.close();
    }
}

impl SpoolShared {
    fn lock(&self) -> MutexGuard<'_, SpoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.news.notify_one();
    }

    /// Changes the state and wakes all callers.
    fn change(&self, change: impl FnOnce(&mut SpoolState)) {
        change(&mut self.lock());
        self.progress.notify_all();
        self.progress_async.notify_waiters();
    }

    /// Takes the queue, after waiting for bytes. `None` once it is closed and empty.
    fn next(&self) -> Option<VecDeque<Bytes>> {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.is_closed && state.failure.is_none() {
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.queue.is_empty()).then(|| std::mem::take(&mut state.queue))
    }
}

impl SpoolState {
    fn is_full(&self, more: usize) -> bool {
        self.failure.is_none() && self.queued > 0 && self.queued + more > CAPACITY
    }

    /// Stops writing. The first reason wins.
    fn fail(&mut self, why: &str) {
        let bytes = self.written.bytes;
        self.failure.get_or_insert_with(|| match self.id {
            Some(_) => notices::partly_kept(bytes, why),
            None => notices::not_kept(why),
        });
        self.queue.clear();
        self.queued = 0;
    }

    fn outcome(&self, artifacts: &Artifacts) -> ArtifactSummary {
        ArtifactSummary {
            id: self.id.clone(),
            path: self.id.as_ref().map(|id| artifacts.path(id)),
            bytes: self.written.bytes,
            lines: self.written.newlines + u64::from(self.written.has_open_line),
            failure: self.failure.clone(),
        }
    }
}

/// The body of the thread.
fn run(shared: &SpoolShared, origin: ArtifactOrigin) {
    let artifacts = &shared.artifacts;
    let mut metadata = ArtifactMetadata::new(origin);
    let file = match create(artifacts, &metadata) {
        Ok((id, file)) => {
            shared.change(|state| state.id = Some(id));
            Some(file)
        }
        Err(error) => {
            let why = format!("{}: {}", artifacts.folder().display(), in_words(&error));
            shared.change(|state| state.fail(&why));
            None
        }
    };
    if let Some(file) = &file {
        // Makes room before the first byte. The sweep at the end repeats this.
        artifacts.sweep(SystemTime::now());
        while let Some(pieces) = shared.next() {
            pieces.iter().for_each(|piece| write(shared, file, piece));
        }
    }
    let kept = shared.lock().outcome(artifacts);
    if let Some(id) = &kept.id {
        metadata.lines = Some(kept.lines);
        metadata.is_whole = kept.failure.is_none();
        // Optional: only lists read it, and the bytes are on disk.
        let _ = metadata.save(&artifacts.metadata_path(id));
    }
    shared.change(|state| state.kept = Some(kept));
    // The file is still locked, so that no other sweep removes it.
    artifacts.sweep(SystemTime::now());
    drop(file);
}

/// Creates the file and locks it while it is open.
fn create(artifacts: &Artifacts, metadata: &ArtifactMetadata) -> io::Result<(ArtifactId, File)> {
    artifacts.home.folder(FOLDER)?;
    let mut tries = 0;
    loop {
        let id = ArtifactId::random();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        match fault::open(Site::ArtifactFile, files::private(&mut options), &artifacts.path(&id)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => tries += 1,
            Err(error) => return Err(error),
            Ok(file) => {
                // A sweep holds the lock for a moment to test it, so this may wait.
                let _ = file.lock();
                let _ = metadata.save(&artifacts.metadata_path(&id));
                return Ok((id, file));
            }
        }
    }
}

/// Writes a chunk, or as much of it as the disk accepts.
fn write(shared: &SpoolShared, mut file: &File, piece: &Bytes) {
    let mut rest = &piece[..];
    while !rest.is_empty() {
        let state = shared.lock();
        let room = shared.artifacts.keep.max_bytes.saturating_sub(state.written.bytes);
        let has_failed = state.failure.is_some();
        drop(state);
        let within = usize::try_from(room).map_or(rest.len(), |room| room.min(rest.len()));
        if has_failed {
            break;
        }
        if within == 0 {
            return shared.change(|state| state.fail("it reached the limit set by artifacts.max_bytes"));
        }
        match file.write(&rest[..within]) {
            Ok(0) => return shared.change(|state| state.fail("the disk is full")),
            Ok(length) => {
                let (done, later) = rest.split_at(length);
                rest = later;
                let newlines = memchr_iter(b'\n', done).count() as u64;
                shared.change(|state| {
                    state.written.bytes += length as u64;
                    state.written.newlines += newlines;
                    state.written.has_open_line = done.last() != Some(&b'\n');
                    state.queued = state.queued.saturating_sub(length);
                });
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let why = in_words(&error);
                return shared.change(|state| state.fail(&why));
            }
        }
    }
}
