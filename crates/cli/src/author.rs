//! Who works on the command line.

use std::env;

use cellist_session::live::{Actor, ActorKind, Author};

/// The author of what a command changes.
pub(crate) fn author() -> Author {
    let user = ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let name = user.into_iter().find(|name| !name.is_empty());
    let mut actor = Actor::new(ActorKind::Person, "command-line");
    if let Some(name) = name {
        actor.name = name;
    }
    actor.into()
}
