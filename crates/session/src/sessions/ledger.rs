//! The ledger of sessions with results. A later host reads it to report that their state is gone.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cellist_platform::clock::in_milliseconds;
use cellist_platform::files::save_private;
use cellist_settings::Home;
use serde::{Deserialize, Serialize};

use super::key::SessionKey;

const FILE: &str = "sessions.json";
/// Entries older than this are dropped.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Maximum number of entries.
const MOST: usize = 500;

/// The sessions, each with the time of its first result in milliseconds since 1970.
#[derive(Default)]
pub(super) struct SessionLedger {
    path: Option<PathBuf>,
    sessions: BTreeMap<SessionKey, u64>,
}

#[derive(Serialize, Deserialize)]
struct LedgerEntry {
    #[serde(flatten)]
    key: SessionKey,
    told_ms: u64,
}

impl SessionLedger {
    /// Loads the ledger of an earlier host. A missing or invalid file is an empty ledger.
    pub(super) fn load(home: &Home, now: u64) -> SessionLedger {
        let path = home.path().join(FILE);
        let read = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let entries: Vec<LedgerEntry> = read.unwrap_or_default();
        let mut known = SessionLedger { path: Some(path), sessions: BTreeMap::new() };
        known.sessions.extend(entries.into_iter().map(|entry| (entry.key, entry.told_ms)));
        known.forget(now);
        known
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &SessionKey> {
        self.sessions.keys()
    }

    /// Adds a session. Best effort: a failed write only loses a later notice.
    pub(super) fn add(&mut self, key: &SessionKey, now: u64) {
        let Some(path) = &self.path else { return };
        self.sessions.insert(key.clone(), now);
        let path = path.clone();
        self.forget(now);
        let entries =
            self.sessions.iter().map(|(key, told_ms)| LedgerEntry { key: key.clone(), told_ms: *told_ms });
        let saved = serde_json::to_vec(&entries.collect::<Vec<_>>()).map_err(Into::into);
        let _ = saved.and_then(|text| save_private(&path, &text));
    }

    fn forget(&mut self, now: u64) {
        let oldest = now.saturating_sub(in_milliseconds(REMEMBERED));
        self.sessions.retain(|_, told| *told >= oldest);
        while self.sessions.len() > MOST {
            let first = self.sessions.iter().min_by_key(|(_, told)| **told).map(|(key, _)| key.clone());
            let Some(first) = first else { return };
            self.sessions.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use testkit::Scratch;

    use super::*;

    const DAY: u64 = 24 * 60 * 60 * 1000;

    #[test]
    fn the_ledger_remembers_sessions_for_a_week() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        let keys = |now| -> Vec<String> {
            SessionLedger::load(&home, now).keys().map(|key| key.id.clone()).collect()
        };
        let mut known = SessionLedger::load(&home, 10 * DAY);
        known.add(&SessionKey::new("a", "/"), 10 * DAY);
        known.add(&SessionKey::new("b", "/"), 15 * DAY);
        assert_eq!(keys(15 * DAY), ["a", "b"]);
        assert_eq!(keys(18 * DAY), ["b"]);
        assert_eq!(keys(30 * DAY), Vec::<String>::new());
    }

    #[test]
    fn a_file_that_is_no_list_is_none_and_no_more_are_kept_than_may_be() {
        let scratch = Scratch::new();
        let home = Home::at(scratch.path());
        scratch.write(FILE, "{");
        let mut known = SessionLedger::load(&home, 1);
        assert_eq!(known.keys().count(), 0);
        for number in 0..MOST as u64 + 5 {
            known.add(&SessionKey::new(number.to_string(), "/"), number);
        }
        assert_eq!(SessionLedger::load(&home, 600).keys().count(), MOST);
        assert!(known.keys().all(|key| key.id.parse::<u64>().unwrap() >= 5));
    }
}
