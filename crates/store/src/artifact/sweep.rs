//! What is removed for its age, or to make room.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cellist_platform::clock::milliseconds;

use super::note::{list, path};
use super::{ArtifactId, Retention, is_free};

/// There is a moment between a file's name and the lock that says it is being written.
const SETTLE: Duration = Duration::from_secs(10);

/// As much as the decision needs to know of an artifact.
struct Entry {
    id: ArtifactId,
    bytes: u64,
    age: Duration,
    is_being_written: bool,
}

/// Removes what must go. A folder that cannot be read has nothing to be removed.
pub(super) fn sweep(folder: &Path, keep: &Retention, now: SystemTime) -> Vec<ArtifactId> {
    let now = milliseconds(now);
    let entries: Vec<Entry> = list(folder)
        .unwrap_or_default()
        .into_iter()
        .map(|row| Entry {
            bytes: row.bytes,
            age: Duration::from_millis(now.saturating_sub(row.modified_ms)),
            is_being_written: row.is_being_written,
            id: row.id,
        })
        .collect();
    let mut removed = doomed(&entries, keep);
    removed.retain(|id| {
        let file = folder.join(id.file_name());
        let gone = is_free(&file) && fs::remove_file(&file).is_ok();
        if gone {
            let _ = fs::remove_file(path(folder, id));
        }
        gone
    });
    removed
}

/// Which artifacts go, given all of them with the newest first.
fn doomed(entries: &[Entry], keep: &Retention) -> Vec<ArtifactId> {
    let mut total = 0_u64;
    let mut doomed = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let grown = total.saturating_add(entry.bytes);
        let is_safe = entry.is_being_written || entry.age < SETTLE;
        let may_stay = entry.age <= keep.max_age && (index == 0 || grown <= keep.max_bytes);
        if is_safe || may_stay {
            total = grown;
        } else {
            doomed.push(entry.id.clone());
        }
    }
    doomed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes and ages in seconds, the newest first, `true` where it is being written; then which stay.
    #[track_caller]
    fn check(entries: &[(u64, u64, bool)], stay: &[usize]) {
        let keep = Retention { max_bytes: 100, max_age: Duration::from_secs(1000) };
        let entries: Vec<Entry> = entries
            .iter()
            .map(|&(bytes, age, is_being_written)| Entry {
                id: ArtifactId::random(),
                bytes,
                age: Duration::from_secs(age),
                is_being_written,
            })
            .collect();
        let doomed = doomed(&entries, &keep);
        let staying: Vec<usize> =
            (0..entries.len()).filter(|index| !doomed.contains(&entries[*index].id)).collect();
        assert_eq!(staying, stay);
    }

    #[test]
    fn the_oldest_go_until_the_rest_has_room() {
        check(&[(40, 20, false), (60, 30, false), (1, 40, false)], &[0, 1]);
        check(&[(40, 20, false), (61, 30, false), (60, 40, false)], &[0, 2]);
    }

    #[test]
    fn what_is_too_old_goes_though_there_is_room() {
        check(&[(1, 1000, false), (1, 1001, false)], &[0]);
        check(&[(1, 1001, false)], &[]);
    }

    #[test]
    fn the_newest_stays_however_large_it_is() {
        check(&[(500, 20, false), (1, 30, false)], &[0]);
    }

    #[test]
    fn what_is_being_written_or_has_just_begun_stays() {
        check(&[(500, 20, false), (500, 5000, true), (500, 9, false), (500, 10, false)], &[0, 1, 2]);
    }
}
