//! Who changes a notebook, and as part of what.

use serde::{Deserialize, Serialize};

/// What sort of actor it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// Someone at a page, a terminal or a command line.
    Person,
    /// A program that works for someone; what it does can be reviewed.
    Agent,
    /// Another program that wrote the file.
    Disk,
}

/// Someone who changes a notebook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Tells actors apart.
    pub id: String,
    /// What to call it.
    pub name: String,
    /// What sort it is.
    pub kind: ActorKind,
}

impl Actor {
    /// An actor that goes by its id.
    pub fn new(kind: ActorKind, id: &str) -> Actor {
        Actor { id: id.to_owned(), name: id.to_owned(), kind }
    }

    /// Whoever wrote the file.
    pub fn disk() -> Actor {
        Actor::new(ActorKind::Disk, "disk")
    }
}

/// Who makes a change, and as part of what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Who.
    pub actor: Actor,
    /// The turn that it belongs to. Without one, changes that follow each other closely are a turn.
    pub turn: Option<String>,
}

impl From<Actor> for Author {
    fn from(actor: Actor) -> Author {
        Author { actor, turn: None }
    }
}

/// The name that a client gives to what it submits, so that it knows it again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// The client.
    pub client: String,
    /// Counts up with each submission.
    pub number: u64,
}
