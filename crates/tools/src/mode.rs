//! The modes of an agent, and one table of the actions that each allows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Limits the actions of an agent. A user sets it at the start; no tool can change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reads and answers.
    Ask,
    /// Changes files other than notebooks, and runs nothing.
    Edit,
    /// Uses all of its tools.
    #[default]
    Agent,
}

/// The effect of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallAccess {
    /// Changes nothing and runs nothing.
    Look,
    /// Changes a file that is not a notebook.
    ChangeFile,
    /// Changes a notebook.
    ChangeNotebook,
    /// Runs code, or stops running code.
    Run,
}

impl Mode {
    /// All modes, the most restrictive first.
    pub const ALL: [Mode; 3] = [Mode::Ask, Mode::Edit, Mode::Agent];

    /// Returns whether the mode allows an effect.
    pub fn allows(self, access: CallAccess) -> bool {
        match (self, access) {
            (_, CallAccess::Look) => true,
            (Mode::Agent, CallAccess::ChangeFile | CallAccess::ChangeNotebook | CallAccess::Run) => true,
            (Mode::Edit, CallAccess::ChangeFile) => true,
            (Mode::Ask, CallAccess::ChangeFile) => false,
            (Mode::Ask | Mode::Edit, CallAccess::ChangeNotebook | CallAccess::Run) => false,
        }
    }

    /// Refuses an effect that the mode does not allow.
    pub fn check(self, access: CallAccess) -> Result<(), ModeRefusal> {
        if self.allows(access) { Ok(()) } else { Err(ModeRefusal { mode: self, access }) }
    }

    /// Returns the name in settings and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::Edit => "edit",
            Mode::Agent => "agent",
        }
    }
}

impl fmt::Display for Mode {
    /// Writes the name as users read it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Ask => "Ask",
            Mode::Edit => "Edit",
            Mode::Agent => "Agent",
        })
    }
}

/// A word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a mode; use ask, edit or agent")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Mode, UnknownMode> {
        let known = |mode: &Mode| mode.as_str().eq_ignore_ascii_case(word);
        Mode::ALL.into_iter().find(known).ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

/// An effect that the mode does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeRefusal {
    /// The mode.
    pub mode: Mode,
    /// The refused effect.
    pub access: CallAccess,
}

impl ModeRefusal {
    /// Returns the most restrictive mode that allows the effect.
    pub fn needs(&self) -> Mode {
        Mode::ALL.into_iter().find(|mode| mode.allows(self.access)).unwrap_or(Mode::Agent)
    }
}

impl fmt::Display for ModeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = match self.access {
            CallAccess::Look => "reading",
            CallAccess::ChangeFile => "changing files",
            CallAccess::ChangeNotebook => "changing notebooks",
            CallAccess::Run => "running or interrupting code",
        };
        write!(
            f,
            "{} mode does not allow {action}, and nothing was done: that needs {} mode, and only the user can switch",
            self.mode,
            self.needs()
        )
    }
}

impl std::error::Error for ModeRefusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_decisions() {
        let table = [
            (CallAccess::Look, [true, true, true]),
            (CallAccess::ChangeFile, [false, true, true]),
            (CallAccess::ChangeNotebook, [false, false, true]),
            (CallAccess::Run, [false, false, true]),
        ];
        for (access, expected) in table {
            assert_eq!(Mode::ALL.map(|mode| mode.allows(access)), expected, "{access:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_mode_to_switch_to() {
        let refused = |mode: Mode, access| mode.check(access).unwrap_err().to_string();
        assert_eq!(
            refused(Mode::Ask, CallAccess::ChangeFile),
            "Ask mode does not allow changing files, and nothing was done: that needs Edit mode, and only the user can switch"
        );
        assert_eq!(
            refused(Mode::Edit, CallAccess::Run),
            "Edit mode does not allow running or interrupting code, and nothing was done: that needs Agent mode, and \
             only the user can switch"
        );
    }

    #[test]
    fn mode_names_ignore_case() {
        assert_eq!("Ask".parse(), Ok(Mode::Ask));
        assert_eq!("agent".parse(), Ok(Mode::Agent));
        let error = "plan".parse::<Mode>().unwrap_err();
        assert_eq!(error.to_string(), "\"plan\" is not a mode; use ask, edit or agent");
    }
}
