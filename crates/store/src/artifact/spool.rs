//! The thread that writes one artifact to disk, and the bounded queue before it.

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

use super::note::Note;
use super::{ArtifactId, Artifacts, FOLDER, Kept, Origin};

/// Bytes that may wait for the disk: enough for a busy one, little beside what a host may use in all.
const CAPACITY: usize = 2 * 1024 * 1024;
/// How long a disk may take without writing anything at all.
const PATIENCE: Duration = Duration::from_secs(10);
const TOO_SLOW: &str = "the disk is too slow";
/// How often a name that is taken is tried again with another.
const TRIES: usize = 8;

/// Hands bytes to the thread.
#[derive(Debug)]
pub(super) struct Spool(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    artifacts: Artifacts,
    state: Mutex<State>,
    /// Told to the thread: there is something to write, or nothing more comes.
    news: Condvar,
    /// Told by the thread: something was written, failed, or all is done.
    progress: Condvar,
    progress_async: Notify,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Bytes>,
    /// Bytes in the queue and in the hands of the thread.
    queued: usize,
    is_closed: bool,
    /// Bytes and lines on disk.
    written: Counted,
    id: Option<ArtifactId>,
    /// Nothing more is written.
    failure: Option<String>,
    kept: Option<Kept>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counted {
    bytes: u64,
    newlines: u64,
    has_open_line: bool,
}

impl Spool {
    pub(super) fn start(artifacts: Artifacts, origin: Origin) -> Spool {
        let shared = Arc::new(Shared {
            artifacts,
            state: Mutex::default(),
            news: Condvar::new(),
            progress: Condvar::new(),
            progress_async: Notify::new(),
        });
        let at_work = Arc::clone(&shared);
        let work = move || keep(&at_work, origin);
        let builder = thread::Builder::new().name("artifact".into());
        if let Err(error) = fault::thread(Site::ArtifactThread, builder, work) {
            let mut state = shared.lock();
            state.fail(&in_words(&error));
            state.kept = Some(state.outcome(&shared.artifacts));
        }
        Spool(shared)
    }

    /// Puts bytes into the queue; waits while it is full and the disk still moves.
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

    /// Waits until half of the queue is free, or the disk has stopped moving.
    pub(super) async fn room(&self) {
        self.wait_until(|state| state.failure.is_some() || state.queued <= CAPACITY / 2).await;
    }

    pub(super) fn id(&self) -> Option<ArtifactId> {
        self.0.lock().id.clone()
    }

    pub(super) async fn finish(self) -> Kept {
        self.0.close();
        self.wait_until(|state| state.kept.is_some()).await;
        let state = self.0.lock();
        state.kept.clone().unwrap_or_else(|| state.outcome(&self.0.artifacts))
    }

    async fn wait_until(&self, is_so: impl Fn(&State) -> bool) {
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
    // One that nobody waits for any more is written to its end all the same.
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().is_closed = true;
        self.news.notify_one();
    }

    /// Changes the state and tells everybody.
    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.progress.notify_all();
        self.progress_async.notify_waiters();
    }

    /// What is to be written next; nothing when nothing more comes.
    fn next(&self) -> Option<VecDeque<Bytes>> {
        let mut state = self.lock();
        while state.queue.is_empty() && !state.is_closed && state.failure.is_none() {
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        (!state.queue.is_empty()).then(|| std::mem::take(&mut state.queue))
    }
}

impl State {
    fn is_full(&self, more: usize) -> bool {
        self.failure.is_none() && self.queued > 0 && self.queued + more > CAPACITY
    }

    /// Gives up, for the first reason there was.
    fn fail(&mut self, why: &str) {
        let bytes = self.written.bytes;
        self.failure.get_or_insert_with(|| match self.id {
            Some(_) => notices::partly_kept(bytes, why),
            None => notices::not_kept(why),
        });
        self.queue.clear();
        self.queued = 0;
    }

    fn outcome(&self, artifacts: &Artifacts) -> Kept {
        Kept {
            id: self.id.clone(),
            path: self.id.as_ref().map(|id| artifacts.path(id)),
            bytes: self.written.bytes,
            lines: self.written.newlines + u64::from(self.written.has_open_line),
            failure: self.failure.clone(),
        }
    }
}

/// What the thread does.
fn keep(shared: &Shared, origin: Origin) {
    let artifacts = &shared.artifacts;
    let mut note = Note::new(origin);
    let file = match create(artifacts, &note) {
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
        // Before its bytes, to make room for them; after them too, as far as there is time.
        artifacts.sweep(SystemTime::now());
        while let Some(pieces) = shared.next() {
            pieces.iter().for_each(|piece| write(shared, file, piece));
        }
    }
    let kept = shared.lock().outcome(artifacts);
    if let Some(id) = &kept.id {
        note.lines = Some(kept.lines);
        note.is_whole = kept.failure.is_none();
        // A list can do without; the bytes are there.
        let _ = note.save(&artifacts.note_path(id));
    }
    shared.change(|state| state.kept = Some(kept));
    // While the file is still held, so that others leave it alone.
    artifacts.sweep(SystemTime::now());
    drop(file);
}

/// Makes the file, marked as being written as long as it is open.
fn create(artifacts: &Artifacts, note: &Note) -> io::Result<(ArtifactId, File)> {
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
                // Whoever looks whether it is free holds it for a moment.
                let _ = file.lock();
                let _ = note.save(&artifacts.note_path(&id));
                return Ok((id, file));
            }
        }
    }
}

/// Writes a piece, or as much of it as the disk takes.
fn write(shared: &Shared, mut file: &File, piece: &Bytes) {
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
