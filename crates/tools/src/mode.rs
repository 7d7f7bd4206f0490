//! Modes, and what each of them allows: one table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How far an agent may go. Set by a person when it is started, never by a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Looks and answers.
    Ask,
    /// Changes files, but no notebooks, and runs nothing.
    Edit,
    /// Does all that its tools can do.
    #[default]
    Agent,
}

/// What carrying out a call amounts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Nothing changes and nothing runs.
    Look,
    /// A file that is not a notebook changes.
    ChangeFile,
    /// A notebook changes.
    ChangeNotebook,
    /// Code runs, or what runs is stopped.
    Run,
}

impl Mode {
    /// All of them, the most careful first.
    pub const ALL: [Mode; 3] = [Mode::Ask, Mode::Edit, Mode::Agent];

    /// Whether it allows something.
    pub fn allows(self, access: Access) -> bool {
        match (self, access) {
            (_, Access::Look) => true,
            (Mode::Agent, Access::ChangeFile | Access::ChangeNotebook | Access::Run) => true,
            (Mode::Edit, Access::ChangeFile) => true,
            (Mode::Ask, Access::ChangeFile) => false,
            (Mode::Ask | Mode::Edit, Access::ChangeNotebook | Access::Run) => false,
        }
    }

    /// Refuses what it does not allow.
    pub fn check(self, access: Access) -> Result<(), ModeRefusal> {
        if self.allows(access) { Ok(()) } else { Err(ModeRefusal { mode: self, access }) }
    }

    /// As it is written in settings and on a command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::Edit => "edit",
            Mode::Agent => "agent",
        }
    }
}

impl fmt::Display for Mode {
    /// As people read it.
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
#[error("{0:?} is not a mode: it is one of ask, edit, agent")]
pub struct UnknownMode(pub String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Mode, UnknownMode> {
        let known = |mode: &Mode| mode.as_str().eq_ignore_ascii_case(word);
        Mode::ALL.into_iter().find(known).ok_or_else(|| UnknownMode(word.to_owned()))
    }
}

/// Something that a mode does not allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeRefusal {
    /// The mode.
    pub mode: Mode,
    /// What it does not allow.
    pub access: Access,
}

impl ModeRefusal {
    /// The most careful mode that would allow it.
    pub fn needs(&self) -> Mode {
        Mode::ALL.into_iter().find(|mode| mode.allows(self.access)).unwrap_or(Mode::Agent)
    }
}

impl fmt::Display for ModeRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.access {
            Access::Look => "look at things",
            Access::ChangeFile => "change files",
            Access::ChangeNotebook => "change notebooks",
            Access::Run => "run code or stop what runs",
        };
        write!(
            f,
            "{} mode does not {what}, and nothing was done: that needs {} mode, which only a person can switch to",
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
    fn the_whole_table() {
        let table = [
            (Access::Look, [true, true, true]),
            (Access::ChangeFile, [false, true, true]),
            (Access::ChangeNotebook, [false, false, true]),
            (Access::Run, [false, false, true]),
        ];
        for (access, expected) in table {
            assert_eq!(Mode::ALL.map(|mode| mode.allows(access)), expected, "{access:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_mode_to_switch_to() {
        let refused = |mode: Mode, access| mode.check(access).unwrap_err().to_string();
        assert_eq!(
            refused(Mode::Ask, Access::ChangeFile),
            "Ask mode does not change files, and nothing was done: that needs Edit mode, which only a person can switch to"
        );
        assert_eq!(
            refused(Mode::Edit, Access::Run),
            "Edit mode does not run code or stop what runs, and nothing was done: that needs Agent mode, which only a \
             person can switch to"
        );
    }

    #[test]
    fn a_mode_is_known_by_its_name_however_it_is_written() {
        assert_eq!("Ask".parse(), Ok(Mode::Ask));
        assert_eq!("agent".parse(), Ok(Mode::Agent));
        let error = "plan".parse::<Mode>().unwrap_err();
        assert_eq!(error.to_string(), "\"plan\" is not a mode: it is one of ask, edit, agent");
    }
}
