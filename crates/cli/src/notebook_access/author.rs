//! The author of changes made on the command line.

use std::env;

use cellist_live::{Actor, ActorKind, Author};
use cellist_settings::Home;
use cellist_store::FileGate;
use cellist_tools::FilePolicy;

use crate::error::{CliError, FailureKind};
use crate::settings::host_settings;

/// The variable that names an agent.
const AGENT: &str = "CELLIST_AGENT";

/// The maximum length of an agent's name, in characters.
const LONGEST: usize = 64;

/// The author of a command's changes: the agent that `CELLIST_AGENT` names, or else the user.
pub(crate) fn author() -> Author {
    if let Some(agent) = env::var(AGENT).ok().as_deref().and_then(agent) {
        return agent.into();
    }
    let user = ["USER", "LOGNAME"].into_iter().filter_map(|name| env::var(name).ok());
    let name = user.into_iter().find(|name| !name.is_empty());
    let mut actor = Actor::new(ActorKind::Person, "command-line");
    if let Some(name) = name {
        actor.name = name;
    }
    actor.into()
}

/// Rejects agents for commands that are reserved for people.
pub(crate) fn require_person(what: &str) -> Result<(), CliError> {
    match author().actor.kind {
        ActorKind::Agent => {
            Err(CliError::input(FailureKind::OnlyAPerson, format!("{what} is not available to agents"))
                .with_hint("ask a person to run this command, with CELLIST_AGENT unset"))
        }
        _ => Ok(()),
    }
}

/// The file policy of an agent, the same as over MCP. People have none.
pub(crate) fn gate() -> Option<FileGate> {
    if author().actor.kind != ActorKind::Agent {
        return None;
    }
    let home = Home::from_env();
    let reach = host_settings().map_err(|faults| faults.to_string()).map(|resolved| {
        let settings = resolved.settings;
        let here = env::current_dir().into_iter().collect::<Vec<_>>();
        FilePolicy::new(&home, &settings.chat.exclude, &settings.tools.allow_writes).within(&here)
    });
    Some(FileGate::new(move |named, real, wanted| {
        let named = env::current_dir().unwrap_or_default().join(named);
        let checked = reach.as_ref().map_err(Clone::clone)?.check(&named, real, wanted, &[]);
        checked.map(drop).map_err(|denial| match FilePolicy::advice(&denial, &home) {
            Some(advice) => format!("{denial}; {advice}"),
            None => denial.to_string(),
        })
    }))
}

/// The agent of this name, unless it is empty.
fn agent(name: &str) -> Option<Actor> {
    let name: String = name.trim().chars().filter(|letter| !letter.is_control()).take(LONGEST).collect();
    (!name.is_empty()).then(|| Actor { id: format!("shell-{name}"), name, kind: ActorKind::Agent })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_has_a_name_that_can_be_shown() {
        let named = |name: &str| agent(name).map(|agent| (agent.id, agent.name));
        assert_eq!(named(" scribe "), Some(("shell-scribe".into(), "scribe".into())));
        assert_eq!(named("a\u{1b}[31mb"), Some(("shell-a[31mb".into(), "a[31mb".into())));
        assert_eq!(named("x".repeat(100).as_str()).unwrap().1.len(), 64);
        assert_eq!((named(""), named(" \n")), (None, None));
    }
}
