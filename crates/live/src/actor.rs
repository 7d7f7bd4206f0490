//! Authors of changes, and the turns they belong to.

use serde::{Deserialize, Serialize};

/// The kind of an actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A user at a page, a terminal or a command line.
    Person,
    /// An agent that works for a user; its changes can be reviewed.
    Agent,
    /// Another program that wrote the file.
    Disk,
}

/// An author of changes to a notebook.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Unique id.
    pub id: String,
    /// Name for display.
    pub name: String,
    /// Kind of actor.
    pub kind: ActorKind,
}

impl Actor {
    /// Creates an actor whose name is its id.
    pub fn new(kind: ActorKind, id: &str) -> Actor {
        Actor { id: id.to_owned(), name: id.to_owned(), kind }
    }

    /// The unknown program that wrote the file.
    pub fn disk() -> Actor {
        Actor::new(ActorKind::Disk, "disk")
    }
}

/// The author of a change: an actor and a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// The actor.
    pub actor: Actor,
    /// The turn. Without one, changes shortly after each other form a turn.
    pub turn: Option<String>,
}

impl From<Actor> for Author {
    fn from(actor: Actor) -> Author {
        Author { actor, turn: None }
    }
}

/// Identifies a submission, so that its client recognizes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tag {
    /// Id of the client.
    pub client: String,
    /// Increases with each submission.
    pub number: u64,
}
