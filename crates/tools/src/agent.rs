//! A connected agent: its configuration, its turn, and the notebooks held open for it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cellist_live::{Author, Document};
use cellist_notebook::Revision;
use cellist_session::sessions::{OwnerId, SessionKey};
use cellist_settings::Settings;

use crate::caller::Caller;
use crate::known_outputs::KnownOutputs;

/// Notebooks held open for one agent. Releasing the least recently used one saves it.
const MOST_HELD: usize = 16;

/// A pause between two calls longer than this ends the turn: the user has probably answered.
const PAUSE: Duration = Duration::from_secs(90);

/// How long settings read for one call are reused by later calls.
const FRESH: Duration = Duration::from_millis(100);

/// A connected agent: its [`Caller`] and the state that lasts from call to call.
///
/// Calls share the agent through an `Arc` and may run at the same time; each lock is held briefly
/// and never across an `.await`. Dropping the agent releases its notebooks. Runs and sessions live
/// on: they belong to the `OwnerId`, not to this value.
pub struct Agent {
    caller: Caller,
    owner: OwnerId,
    /// Notebooks held open, least recently used first.
    held: Mutex<Vec<Document>>,
    turn: Mutex<AgentTurn>,
    /// The revision of each notebook whose whole text the agent has read.
    texts: Mutex<HashMap<PathBuf, Revision>>,
    sent: Mutex<KnownOutputs>,
    /// Paths that a user has allowed the agent to change since it connected.
    consents: Mutex<Vec<PathBuf>>,
    /// The session of the running code, for an agent that is code in a kernel.
    within: Option<SessionKey>,
    /// Whether all calls belong to one turn, whatever the pauses.
    is_one_turn: bool,
    settings: Mutex<Option<CachedSettings>>,
}

/// A short-lived cache of the settings of one folder.
struct CachedSettings {
    folder: PathBuf,
    read: Instant,
    settings: Arc<Settings>,
}

impl Agent {
    /// Creates an agent that owns its sessions as `owner`.
    pub fn new(caller: Caller, owner: OwnerId) -> Agent {
        let (held, texts, turn) = (Mutex::default(), Mutex::default(), Mutex::new(AgentTurn::new()));
        let (sent, consents) = (Mutex::default(), Mutex::default());
        let (within, is_one_turn, settings) = (None, false, Mutex::default());
        Agent { caller, owner, held, turn, texts, sent, consents, within, is_one_turn, settings }
    }

    /// Records the user's consent to change a file. `path` is the one that a refusal named.
    pub fn consent(&self, path: impl Into<PathBuf>) {
        let (path, mut consents) =
            (path.into(), self.consents.lock().unwrap_or_else(PoisonError::into_inner));
        if !consents.contains(&path) {
            consents.push(path);
        }
    }

    /// Returns the paths that a user has allowed the agent to change.
    pub(crate) fn consents(&self) -> Vec<PathBuf> {
        self.consents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts all calls into a single turn, whatever the pauses.
    pub fn for_one_turn(self) -> Agent {
        Agent { is_one_turn: true, ..self }
    }

    /// Returns the name of the current turn.
    pub fn turn_name(&self) -> String {
        self.turn().name.clone()
    }

    /// Marks the agent as code that runs in `session`.
    pub(crate) fn inside(self, session: SessionKey) -> Agent {
        Agent { within: Some(session), ..self }
    }

    /// Returns the cached settings of a folder while they are fresh.
    pub(crate) fn known_settings(&self, folder: &Path) -> Option<Arc<Settings>> {
        let known = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.as_ref().filter(|known| known.folder == folder && known.read.elapsed() < FRESH);
        fresh.map(|known| known.settings.clone())
    }

    /// Caches the settings of a folder for the next calls.
    pub(crate) fn keep_settings(&self, folder: &Path, settings: Settings) -> Arc<Settings> {
        let settings = Arc::new(settings);
        let read =
            CachedSettings { folder: folder.to_owned(), read: Instant::now(), settings: settings.clone() };
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        settings
    }

    /// Returns the session of the running code, for an agent that is code in a kernel.
    pub(crate) fn within(&self) -> Option<&SessionKey> {
        self.within.as_ref()
    }

    /// Returns the configuration of the agent.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns the owner of the agent's sessions.
    pub fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// Returns the author of the agent's changes, with the current turn.
    pub(crate) fn author(&self) -> Author {
        Author { turn: Some(self.turn().name.clone()), ..self.caller.author() }
    }

    /// Begins a call, which ends when the guard is dropped.
    pub(crate) fn begin(&self) -> CallGuard<'_> {
        match self.is_one_turn {
            true => self.turn().calls += 1,
            false => self.turn().begin(Instant::now()),
        }
        CallGuard(self)
    }

    fn turn(&self) -> MutexGuard<'_, AgentTurn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a notebook open.
    pub(crate) fn hold(&self, document: &Document) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|known| known.path() != document.path());
        held.push(document.clone());
        if held.len() > MOST_HELD {
            held.remove(0);
        }
    }

    /// Lists the notebooks held open, least recently used first.
    pub fn notebooks(&self) -> Vec<PathBuf> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().map(|document| document.path().to_owned()).collect()
    }

    /// Returns the revision of a notebook whose whole text the agent has read.
    pub(crate) fn text_of(&self, path: &Path) -> Option<Revision> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// Returns the outputs sent to the agent.
    pub(crate) fn sent(&self) -> MutexGuard<'_, KnownOutputs> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the agent has read the whole text of a notebook.
    pub(crate) fn knows_text(&self, path: &Path, revision: Revision) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), revision);
    }
}

/// Calls without a long pause between them. An undo takes back a whole turn.
struct AgentTurn {
    name: String,
    /// Calls in progress.
    calls: usize,
    /// When the last call ended.
    ended: Option<Instant>,
}

impl AgentTurn {
    fn new() -> AgentTurn {
        AgentTurn { name: name(), calls: 0, ended: None }
    }

    fn begin(&mut self, now: Instant) {
        let pause = self.ended.filter(|_| self.calls == 0).map(|ended| now.saturating_duration_since(ended));
        if pause.is_some_and(|pause| pause > PAUSE) {
            self.name = name();
        }
        self.calls += 1;
    }

    fn end(&mut self, now: Instant) {
        self.calls = self.calls.saturating_sub(1);
        self.ended = Some(now);
    }
}

/// Makes a unique name: no two turns begin in the same microsecond.
fn name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("a{:x}", since.as_micros())
}

/// A call in progress.
pub(crate) struct CallGuard<'a>(&'a Agent);

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        self.0.turn().end(Instant::now());
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("caller", &self.caller.name).field("owner", &self.owner).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_ends_with_a_long_pause_and_not_with_a_long_call() {
        let mut turn = AgentTurn { name: "first".to_owned(), calls: 0, ended: None };
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let step = |turn: &mut AgentTurn, begun, ended| {
            turn.begin(at(begun));
            let is_first = turn.name == "first";
            turn.end(at(ended));
            is_first
        };
        assert!(step(&mut turn, 0, 1));
        assert!(step(&mut turn, 60, 1000));
        assert!(step(&mut turn, 1090, 1100));
        // Another call is in progress all the time.
        turn.begin(at(1101));
        assert!(step(&mut turn, 2000, 2001));
        turn.end(at(3000));
        assert!(!step(&mut turn, 3091, 3092));
    }
}
