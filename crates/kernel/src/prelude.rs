//! The code that gives a Python kernel its helpers, and their access to the host.

use serde_json::json;

const SOURCE: &str = include_str!("../runner/cellist_prelude.py");
const BOOT: &str = include_str!("../runner/cellist_prelude_boot.py");

/// The helpers, in the order in which they are listed.
pub const NAMES: [&str; 12] = [
    "read", "write", "append", "find", "grep", "bash", "run", "getenv", "setenv", "output", "tool", "helpers",
];

/// Which tools of the host code may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tools<'a> {
    /// Those that are offered at an address of this machine.
    At {
        /// The address.
        url: &'a str,
        /// The credential of the session.
        token: &'a str,
        /// The session.
        session: &'a str,
    },
    /// None, for this reason.
    None(&'a str),
}

/// The code. It leaves no name behind, and reads the helpers themselves only when one is used.
pub fn code(tools: Tools<'_>) -> String {
    let given = match tools {
        Tools::At { url, token, session } => {
            json!({"names": NAMES, "url": url, "token": token, "session": session})
        }
        Tools::None(why) => json!({"names": NAMES, "why": why}),
    };
    // Texts, lists and objects are written in JSON as they are in Python.
    format!("exec({}, {{\"source\": {}, \"given\": {given}}})\n", json!(BOOT), json!(SOURCE))
}
