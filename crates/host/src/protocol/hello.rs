//! The first frame in each direction: the client's version and purpose, and the host's answer and state. All versions
//! understand these frames, so fields may be added but never changed or removed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The first frame of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// The client's version.
    pub cellist: String,
    /// The purpose of the connection.
    pub wish: ConnectPurpose,
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectPurpose {
    /// To send requests. Needs the same version.
    Attach,
    /// To make the host exit, if it is not needed.
    Replace,
    /// To make the host exit, with its sessions and notebooks.
    Stop,
    /// To read the state of the host. Unknown purposes of later versions mean this too.
    #[serde(other)]
    Look,
}

/// The first frame of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The answer to the client's purpose.
    pub answer: ConnectAnswer,
    /// The state of the host.
    pub host: HostState,
}

/// The answer of a host to a client's purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectAnswer {
    /// The client may send requests.
    Attached,
    /// The host exits now.
    Leaving,
    /// The host has its maximum of clients.
    Full,
    /// The host stays, and closes the connection.
    #[serde(other)]
    Staying,
}

/// The state of a host, and the number of its sessions, notebooks and clients.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// Its version.
    pub version: String,
    /// Its process id.
    pub pid: u32,
    /// Its start, in milliseconds of Unix time.
    pub started: u64,
    /// Whether it exits when it is not needed.
    pub background: bool,
    /// The number of kernel sessions.
    pub sessions: usize,
    /// The number of sessions that run code.
    pub busy: usize,
    /// The number of open notebooks.
    pub notebooks: usize,
    /// The number of recent conversations.
    #[serde(default)]
    pub chats: usize,
    /// The number of other clients.
    pub clients: usize,
    /// Its log file, if it has one.
    pub log: Option<PathBuf>,
    /// The port of the page and of HTTP clients, if it serves them.
    pub page: Option<u16>,
}

impl HostState {
    /// Whether it has sessions, notebooks, clients or recent conversations.
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
