//! The participants of each notebook: users by the reports of their pages, agents by the cells that they read and change.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cellist_live::{Actor, ActorKind, Change, Effect};
use cellist_notebook::CellId;
use cellist_session::sessions::OwnerId;
use cellist_tools::CellsRead;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::protocol::follow::{PageFocus, Participant, ParticipantActivity};

/// The time that an agent is shown at a cell after its last action there.
const LINGERS: Duration = Duration::from_secs(6);
/// Maximum cells that an agent is shown to read. With more, only the activity is shown.
const MOST_READ: usize = 100;

/// The participants, by notebook. Cheap to clone; all clones are one.
#[derive(Clone, Debug)]
pub(super) struct Presence(Arc<SharedPresence>);

#[derive(Debug)]
struct SharedPresence {
    here: Mutex<HashMap<PathBuf, BTreeMap<String, PresenceEntry>>>,
    /// Wakes the feeds.
    changes: watch::Sender<()>,
}

#[derive(Debug)]
struct PresenceEntry {
    participant: Participant,
    until: Option<Instant>,
}

impl Default for Presence {
    fn default() -> Presence {
        Presence(Arc::new(SharedPresence { here: Mutex::default(), changes: watch::Sender::new(()) }))
    }
}

impl Presence {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, BTreeMap<String, PresenceEntry>>> {
        self.0.here.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes after each possible change of participants.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Records the active cells of a page.
    pub(super) fn looks(&self, path: &Path, page: &OwnerId, actor: Actor, focus: &PageFocus) {
        let doing = if focus.editing { ParticipantActivity::Editing } else { ParticipantActivity::Looking };
        let participant = Participant { actor, cells: focus.cell.iter().cloned().collect(), doing };
        self.put(path, page.to_string(), PresenceEntry { participant, until: None });
    }

    /// Removes a page. Returns whether it was present.
    pub(super) fn leaves(&self, path: &Path, page: &OwnerId) -> bool {
        let mut all = self.lock();
        let Some(here) = all.get_mut(path) else { return false };
        let was_there = here.remove(&page.0).is_some();
        if here.is_empty() {
            all.remove(path);
        }
        self.0.changes.send_replace(());
        was_there
    }

    /// Records a change. An agent is shown at its cell for a while.
    pub(super) fn changed(&self, path: &Path, change: &Change) {
        if change.actor.kind != ActorKind::Agent {
            return;
        }
        let Some((cell, doing)) = change.effects.iter().rev().find_map(activity_of) else { return };
        self.agent(path, Participant { actor: change.actor.clone(), cells: vec![cell], doing });
    }

    /// Records that an agent has read cells.
    pub(super) fn read(&self, glance: CellsRead) {
        let CellsRead { path, actor, cells } = glance;
        let cells = if cells.len() > MOST_READ { Vec::new() } else { cells };
        self.agent(&path, Participant { actor, cells, doing: ParticipantActivity::Reading });
    }

    fn agent(&self, path: &Path, participant: Participant) {
        let key = format!("agent {}", participant.actor.id);
        self.put(path, key, PresenceEntry { participant, until: Some(Instant::now() + LINGERS) });
    }

    fn put(&self, path: &Path, key: String, entry: PresenceEntry) {
        self.lock().entry(path.to_owned()).or_default().insert(key, entry);
        self.0.changes.send_replace(());
    }

    /// Returns the participants of a notebook, without the given client.
    pub(super) fn others(&self, path: &Path, client: &OwnerId) -> Vec<Participant> {
        let mut all = self.lock();
        let Some(here) = all.get_mut(path) else { return Vec::new() };
        let now = Instant::now();
        here.retain(|_, entry| entry.until.is_none_or(|until| until > now));
        let others = here.iter().filter(|(known, _)| **known != client.0);
        others.map(|(_, entry)| entry.participant.clone()).collect()
    }

    /// Returns the time when the next agent disappears.
    pub(super) fn lingers(&self, path: &Path) -> Option<Instant> {
        self.lock().get(path)?.values().filter_map(|entry| entry.until).min()
    }
}

fn activity_of(effect: &Effect) -> Option<(CellId, ParticipantActivity)> {
    match effect {
        Effect::Outputs { cell } => Some((cell.clone(), ParticipantActivity::Running)),
        Effect::Inserted { cell, .. }
        | Effect::Moved { cell, .. }
        | Effect::Retyped { cell, .. }
        | Effect::Changed { cell, .. } => Some((cell.clone(), ParticipantActivity::Editing)),
        Effect::Deleted { .. } | Effect::Metadata { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn people_are_there_while_their_page_is_and_agents_for_a_while() {
        let (presence, path) = (Presence::default(), Path::new("/nb.ipynb"));
        let (one, two) = (OwnerId("one".into()), OwnerId("two".into()));
        let person = Actor::new(ActorKind::Person, "page");
        presence.looks(
            path,
            &one,
            person,
            &PageFocus { cell: Some("a".into()), editing: true, ..PageFocus::default() },
        );
        let change = Change {
            version: 1,
            actor: Actor::new(ActorKind::Agent, "bot"),
            turn: None,
            tag: None,
            effects: vec![Effect::Outputs { cell: "b".into() }],
        };
        presence.changed(path, &change);
        let seen = |client: &OwnerId| {
            let all = presence.others(path, client).into_iter();
            all.map(|other| (other.actor.id, other.doing)).collect::<Vec<_>>()
        };
        let bot = ("bot".to_owned(), ParticipantActivity::Running);
        assert_eq!(seen(&two), [bot.clone(), ("page".to_owned(), ParticipantActivity::Editing)]);
        assert_eq!(seen(&one), [bot]);
        tokio::time::sleep_until(presence.lingers(path).unwrap()).await;
        assert_eq!(seen(&two), [("page".to_owned(), ParticipantActivity::Editing)]);
        assert!(presence.leaves(path, &one) && !presence.leaves(path, &two));
        assert_eq!((seen(&two), presence.lingers(path)), (vec![], None));
    }

    #[test]
    fn a_reading_agent_is_shown_at_its_cells_unless_there_are_too_many() {
        let (presence, path) = (Presence::default(), Path::new("/nb.ipynb"));
        let read = |count: usize| {
            let cells = (0..count).map(|number| CellId::from(format!("c{number}").as_str())).collect();
            let actor = Actor::new(ActorKind::Agent, "bot");
            presence.read(CellsRead { path: path.to_owned(), actor, cells });
            let seen = presence.others(path, &OwnerId("one".into()));
            assert_eq!(seen.iter().map(|one| one.doing).collect::<Vec<_>>(), [ParticipantActivity::Reading]);
            seen[0].cells.len()
        };
        assert_eq!((read(2), read(MOST_READ), read(MOST_READ + 1)), (2, MOST_READ, 0));
    }
}
