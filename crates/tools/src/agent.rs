//! An agent at work: who it is, and the notebooks that stay open for it.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use cellist_notebook::Revision;
use cellist_session::live::Document;
use cellist_session::sessions::OwnerId;

use crate::caller::Caller;

/// How many notebooks stay open for one agent; those that it used longest ago are let go of, and saved by that.
const MOST_HELD: usize = 16;

/// An agent that is connected. When it is dropped, its notebooks are let go of.
pub struct Agent {
    caller: Caller,
    owner: OwnerId,
    /// The notebooks that it has used, the latest last.
    held: Mutex<Vec<Document>>,
    /// The revisions of notebooks whose whole text it knows.
    texts: Mutex<HashMap<PathBuf, Revision>>,
}

impl Agent {
    /// An agent, which owns what it starts under this name.
    pub fn new(caller: Caller, owner: OwnerId) -> Agent {
        Agent { caller, owner, held: Mutex::default(), texts: Mutex::default() }
    }

    /// Who it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The name under which it owns sessions.
    pub fn owner(&self) -> &OwnerId {
        &self.owner
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

    /// The revision of a notebook whose whole text it knows.
    pub(crate) fn text_of(&self, path: &Path) -> Option<Revision> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }

    /// It knows the whole text of a notebook.
    pub(crate) fn knows_text(&self, path: &Path, revision: Revision) {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), revision);
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("caller", &self.caller.name).field("owner", &self.owner).finish()
    }
}
