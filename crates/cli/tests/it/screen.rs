//! Our program on a terminal as a person has it.

use testkit::Terminal;

use crate::desk::Desk;

/// Starts our program on a terminal of this size, in columns and rows.
pub(crate) fn open(
    desk: &Desk,
    size: (u16, u16),
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Terminal {
    let mut command = desk.command(arguments);
    command.envs(variables.iter().copied());
    Terminal::start(&command, size)
}
