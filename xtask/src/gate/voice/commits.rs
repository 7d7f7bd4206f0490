//! The subjects of commits: at most 72 characters.

use crate::failure::Failure;
use crate::process::{capture, program};

/// Characters of a subject.
pub(super) const SUBJECT: usize = 72;

/// Commits written before 2026-11-18 05:00 UTC are older than the rule.
const HELD_SINCE: u64 = 1_794_978_000;

/// The commits of this clone whose subject is too long. A shallow clone has fewer commits to check.
pub(super) fn long_subjects() -> Result<Vec<String>, Failure> {
    // By the author's date, which a rebase keeps.
    let mut log = program("git");
    log.args(["-c", "safe.directory=*", "log", "--no-merges", "--format=%at %h %s"]);
    Ok(capture(&mut log)?.lines().filter_map(long_subject).collect())
}

/// The commit and its subject, from a line of the log, when the rule is broken.
fn long_subject(line: &str) -> Option<String> {
    let (time, commit) = line.split_once(' ')?;
    let (_, subject) = commit.split_once(' ')?;
    let is_held = time.parse::<u64>().is_ok_and(|time| time >= HELD_SINCE);
    (is_held && subject.chars().count() > SUBJECT).then(|| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{HELD_SINCE, SUBJECT, long_subject};

    #[test]
    fn long_subjects_of_new_commits_are_found() {
        let long = "x".repeat(SUBJECT + 1);
        let line = |time: u64, subject: &str| format!("{time} abc {subject}");
        assert_eq!(long_subject(&line(HELD_SINCE, &long)), Some(format!("abc {long}")));
        assert_eq!(long_subject(&line(HELD_SINCE, &long[1..])), None);
        assert_eq!(long_subject(&line(HELD_SINCE - 1, &long)), None);
    }
}
