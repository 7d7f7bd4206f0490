//! Who is at which notebook, and what they do there: people as their pages say, agents as what they read and change shows.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cellist_notebook::CellId;
use cellist_session::live::{Actor, ActorKind, Change, Effect};
use cellist_tools::Glance;

use super::wire::{Doing, Looking, Present};

/// How long an agent is shown at a cell after it did something there.
const LINGERS: Duration = Duration::from_secs(6);
/// How many cells an agent is shown to read at once; of more it is only said that it reads.
const MOST_READ: usize = 100;

/// Who is where.
#[derive(Debug, Default)]
pub(super) struct Presence(Mutex<HashMap<PathBuf, BTreeMap<String, Entry>>>);

#[derive(Debug)]
struct Entry {
    present: Present,
    until: Option<Instant>,
}

impl Presence {
    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, BTreeMap<String, Entry>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Someone at a page looks at something.
    pub(super) fn looks(&self, path: &Path, page: &str, actor: &Actor, looking: &Looking) {
        let doing = if looking.editing { Doing::Editing } else { Doing::Looking };
        let cells = looking.cell.iter().cloned().collect();
        let present = Present { actor: actor.clone(), cells, doing };
        self.lock()
            .entry(path.to_owned())
            .or_default()
            .insert(page.to_owned(), Entry { present, until: None });
    }

    /// A page is gone.
    pub(super) fn leaves(&self, path: &Path, page: &str) {
        let mut all = self.lock();
        if let Some(here) = all.get_mut(path) {
            here.remove(page);
            if here.is_empty() {
                all.remove(path);
            }
        }
    }

    /// Something was changed: an agent who did it is there for a while.
    pub(super) fn changed(&self, path: &Path, change: &Change, now: Instant) {
        if change.actor.kind != ActorKind::Agent {
            return;
        }
        let Some((cell, doing)) = change.effects.iter().rev().find_map(what) else { return };
        self.agent(path, Present { actor: change.actor.clone(), cells: vec![cell], doing }, now);
    }

    /// An agent read something.
    pub(super) fn read(&self, glance: Glance, now: Instant) {
        let Glance { path, actor, cells } = glance;
        let cells = if cells.len() > MOST_READ { Vec::new() } else { cells };
        self.agent(&path, Present { actor, cells, doing: Doing::Reading }, now);
    }

    fn agent(&self, path: &Path, present: Present, now: Instant) {
        let key = format!("agent {}", present.actor.id);
        let entry = Entry { present, until: Some(now + LINGERS) };
        self.lock().entry(path.to_owned()).or_default().insert(key, entry);
    }

    /// Who is at a notebook, without the page that asks.
    pub(super) fn others(&self, path: &Path, page: &str, now: Instant) -> Vec<Present> {
        let mut all = self.lock();
        let Some(here) = all.get_mut(path) else { return Vec::new() };
        here.retain(|_, entry| entry.until.is_none_or(|until| until > now));
        here.iter().filter(|(known, _)| *known != page).map(|(_, entry)| entry.present.clone()).collect()
    }
}

fn what(effect: &Effect) -> Option<(CellId, Doing)> {
    match effect {
        Effect::Outputs { cell } => Some((cell.clone(), Doing::Running)),
        Effect::Inserted { cell, .. }
        | Effect::Moved { cell, .. }
        | Effect::Retyped { cell, .. }
        | Effect::Changed { cell, .. } => Some((cell.clone(), Doing::Editing)),
        Effect::Deleted { .. } | Effect::Metadata { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_there_while_their_page_is_and_agents_for_a_while() {
        let (presence, path, start) = (Presence::default(), Path::new("/nb.ipynb"), Instant::now());
        let person = Actor::new(ActorKind::Person, "page");
        presence.looks(
            path,
            "one",
            &person,
            &Looking { cell: Some("a".into()), editing: true, ..Looking::default() },
        );
        let change = Change {
            version: 1,
            actor: Actor::new(ActorKind::Agent, "bot"),
            turn: None,
            tag: None,
            effects: vec![Effect::Outputs { cell: "b".into() }],
        };
        presence.changed(path, &change, start);
        let seen = |page: &str, now| {
            let all = presence.others(path, page, now).into_iter();
            all.map(|one| (one.actor.id, one.doing)).collect::<Vec<_>>()
        };
        let bot = ("bot".to_owned(), Doing::Running);
        assert_eq!(seen("two", start), [bot.clone(), ("page".to_owned(), Doing::Editing)]);
        assert_eq!(seen("one", start), [bot]);
        assert_eq!(seen("two", start + LINGERS), [("page".to_owned(), Doing::Editing)]);
        presence.leaves(path, "one");
        assert_eq!(seen("two", start + LINGERS), []);
    }

    #[test]
    fn an_agent_that_reads_is_shown_at_what_it_reads_unless_that_is_almost_all() {
        let (presence, path, start) = (Presence::default(), Path::new("/nb.ipynb"), Instant::now());
        let read = |count: usize| {
            let cells = (0..count).map(|number| CellId::from(format!("c{number}").as_str())).collect();
            let actor = Actor::new(ActorKind::Agent, "bot");
            presence.read(Glance { path: path.to_owned(), actor, cells }, start);
            let seen = presence.others(path, "one", start);
            assert_eq!(seen.iter().map(|one| one.doing).collect::<Vec<_>>(), [Doing::Reading]);
            seen[0].cells.len()
        };
        assert_eq!((read(2), read(MOST_READ), read(MOST_READ + 1)), (2, MOST_READ, 0));
    }
}
