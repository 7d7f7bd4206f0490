//! An agent at work: who it is, and the notebooks that stay open for it.

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
use crate::sent::SentOutputs;

/// How many notebooks stay open for one agent; those that it used longest ago are let go of, and saved by that.
const MOST_HELD: usize = 16;

/// A pause between two calls that is longer than this ends a turn: someone has answered, and was asked something else.
const PAUSE: Duration = Duration::from_secs(90);

/// How long settings that were read for a call hold for the next calls.
const FRESH: Duration = Duration::from_millis(100);

/// An agent that is connected. When it is dropped, its notebooks are let go of.
pub struct Agent {
    caller: Caller,
    owner: OwnerId,
    /// The notebooks that it has used, the latest last.
    held: Mutex<Vec<Document>>,
    turn: Mutex<Turn>,
    /// The revisions of notebooks whose whole text it knows.
    texts: Mutex<HashMap<PathBuf, Revision>>,
    /// The outputs that it was sent.
    sent: Mutex<SentOutputs>,
    /// Paths to whose change a person has consented since it came.
    consents: Mutex<Vec<PathBuf>>,
    /// The session that its code runs in, where it is code that calls.
    within: Option<SessionKey>,
    /// Whether all that it does is one turn, however long it pauses.
    is_one_turn: bool,
    settings: Mutex<Option<ReadSettings>>,
}

/// The settings of a folder, as they were read a moment ago.
struct ReadSettings {
    folder: PathBuf,
    read: Instant,
    settings: Arc<Settings>,
}

impl Agent {
    /// An agent, which owns what it starts under this name.
    pub fn new(caller: Caller, owner: OwnerId) -> Agent {
        let (held, texts, turn) = (Mutex::default(), Mutex::default(), Mutex::new(Turn::new()));
        let (sent, consents) = (Mutex::default(), Mutex::default());
        let (within, is_one_turn, settings) = (None, false, Mutex::default());
        Agent { caller, owner, held, turn, texts, sent, consents, within, is_one_turn, settings }
    }

    /// A person consents to the change of a file, by the path that a refusal named.
    pub fn consent(&self, path: impl Into<PathBuf>) {
        let (path, mut consents) =
            (path.into(), self.consents.lock().unwrap_or_else(PoisonError::into_inner));
        if !consents.contains(&path) {
            consents.push(path);
        }
    }

    /// The paths to whose change a person has consented.
    pub(crate) fn consents(&self) -> Vec<PathBuf> {
        self.consents.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same for a single turn, however long it pauses in it.
    pub fn for_one_turn(self) -> Agent {
        Agent { is_one_turn: true, ..self }
    }

    /// The turn that it is in.
    pub fn turn_name(&self) -> String {
        self.turn().name.clone()
    }

    /// The same for code that runs in a session.
    pub(crate) fn inside(self, session: SessionKey) -> Agent {
        Agent { within: Some(session), ..self }
    }

    /// The settings of a folder, if they were read for a call just before.
    pub(crate) fn known_settings(&self, folder: &Path) -> Option<Arc<Settings>> {
        let known = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.as_ref().filter(|known| known.folder == folder && known.read.elapsed() < FRESH);
        fresh.map(|known| known.settings.clone())
    }

    /// Keeps the settings of a folder for calls that follow at once.
    pub(crate) fn keep_settings(&self, folder: &Path, settings: Settings) -> Arc<Settings> {
        let settings = Arc::new(settings);
        let read =
            ReadSettings { folder: folder.to_owned(), read: Instant::now(), settings: settings.clone() };
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
        settings
    }

    /// The session that its code runs in, where it is code that calls.
    pub(crate) fn within(&self) -> Option<&SessionKey> {
        self.within.as_ref()
    }

    /// Who it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The name under which it owns sessions.
    pub fn owner(&self) -> &OwnerId {
        &self.owner
    }

    /// As the one who changes a notebook, in the turn that it is in.
    pub(crate) fn author(&self) -> Author {
        Author { turn: Some(self.turn().name.clone()), ..self.caller.author() }
    }

    /// A call begins; it lasts until what is returned is dropped.
    pub(crate) fn begin(&self) -> Busy<'_> {
        match self.is_one_turn {
            true => self.turn().calls += 1,
            false => self.turn().begin(Instant::now()),
        }
        Busy(self)
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a notebook open.
    pub(crate) fn hold(&self, document: &Document) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|known| known.path() != document.path());
        held.push(document.clone());
        if held.len() > MOST_HELD {
            held.remove(0);
        }
    }

    /// The notebooks that stay open for it, the one that it used last at the end.
    pub fn notebooks(&self) -> Vec<PathBuf> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.iter().map(|document| document.path().to_owned()).collect()
    }

    /// The revision of a notebook whose whole text it knows.
    pub(crate) fn text_of(&self, path: &Path) -> Option<Revision> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// The outputs that it was sent.
    pub(crate) fn sent(&self) -> MutexGuard<'_, SentOutputs> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It knows the whole text of a notebook.
    pub(crate) fn knows_text(&self, path: &Path, revision: Revision) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), revision);
    }
}

/// What an agent does without a longer pause: what a person would take back at once.
struct Turn {
    name: String,
    /// How many calls are under way.
    calls: usize,
    /// When the last of them ended.
    ended: Option<Instant>,
}

impl Turn {
    fn new() -> Turn {
        Turn { name: name(), calls: 0, ended: None }
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

/// A name that no other turn has: no two begin at one time.
fn name() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("a{:x}", since.as_micros())
}

/// A call that is under way.
pub(crate) struct Busy<'a>(&'a Agent);

impl Drop for Busy<'_> {
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
        let mut turn = Turn { name: "first".to_owned(), calls: 0, ended: None };
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let step = |turn: &mut Turn, begun, ended| {
            turn.begin(at(begun));
            let is_first = turn.name == "first";
            turn.end(at(ended));
            is_first
        };
        assert!(step(&mut turn, 0, 1));
        assert!(step(&mut turn, 60, 1000));
        assert!(step(&mut turn, 1090, 1100));
        // Another call is under way all the time.
        turn.begin(at(1101));
        assert!(step(&mut turn, 2000, 2001));
        turn.end(at(3000));
        assert!(!step(&mut turn, 3091, 3092));
    }
}
