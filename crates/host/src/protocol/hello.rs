//! The first frame in each direction. It is the one thing that every version understands, so its fields are only ever
//! added to: whoever comes says its version and its wish, and the host says what it is and what it keeps.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a client says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The client's version.
    pub cellist: String,
    /// What it wants.
    pub wish: ConnectPurpose,
}

/// What a client wants of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectPurpose {
    /// To ask things; needs the same version.
    Attach,
    /// That the host leaves if it keeps nothing for anyone.
    Replace,
    /// That the host ends, with all that it keeps.
    Stop,
    /// To be told what the host is. A wish of a later version means no more than that.
    #[serde(other)]
    Look,
}

/// What a host says first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// What it does about the wish.
    pub answer: ConnectAnswer,
    /// What it is.
    pub host: HostState,
}

/// What a host does about a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectAnswer {
    /// Requests may follow.
    Attached,
    /// It ends now.
    Leaving,
    /// It has as many clients as it takes.
    Full,
    /// It goes on, and there is nothing more to say.
    #[serde(other)]
    Staying,
}

/// What a host is and what it keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// Its version.
    pub version: String,
    /// Its process.
    pub pid: u32,
    /// When it started, in milliseconds of Unix time.
    pub started: u64,
    /// Whether it leaves by itself when nobody needs it.
    pub background: bool,
    /// How many kernel sessions it keeps.
    pub sessions: usize,
    /// How many of them run code now.
    pub busy: usize,
    /// How many notebooks are open.
    pub notebooks: usize,
    /// Conversations that someone may come back to.
    #[serde(default)]
    pub chats: usize,
    /// How many others are attached.
    pub clients: usize,
    /// Where it writes down what it does, if anywhere.
    pub log: Option<PathBuf>,
    /// The port at which it serves the page and programs, if it does.
    pub page: Option<u16>,
}

impl HostState {
    /// Whether someone would miss it.
    pub fn is_needed(&self) -> bool {
        self.sessions > 0 || self.notebooks > 0 || self.clients > 0 || self.chats > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_later_version_are_understood_as_far_as_they_go() {
        let greeting = r#"{"cellist": "9.0.0", "wish": "levitate", "mood": "good"}"#;
        let greeting: Greeting = serde_json::from_str(greeting).unwrap();
        assert_eq!((greeting.cellist.as_str(), greeting.wish), ("9.0.0", ConnectPurpose::Look));
        let welcome = r#"{"answer": "levitating", "host": {"version": "9.0.0", "mood": "good"}}"#;
        let welcome: Welcome = serde_json::from_str(welcome).unwrap();
        assert_eq!((welcome.answer, welcome.host.version.as_str()), (ConnectAnswer::Staying, "9.0.0"));
        assert!(!welcome.host.is_needed());
    }

    #[test]
    fn a_host_is_needed_while_it_keeps_anything_for_anyone() {
        let nothing = HostState::default();
        assert!(!nothing.is_needed());
        assert!(HostState { sessions: 1, ..nothing.clone() }.is_needed());
        assert!(HostState { notebooks: 1, ..nothing.clone() }.is_needed());
        assert!(HostState { chats: 1, ..nothing.clone() }.is_needed());
        assert!(HostState { clients: 1, ..nothing }.is_needed());
    }
}
