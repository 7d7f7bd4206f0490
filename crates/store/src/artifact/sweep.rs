//! Removes artifacts by age and total size.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cellist_platform::clock::milliseconds;

use super::metadata::{list, path};
use super::{ArtifactId, Retention, is_free};

/// A file exists for a moment before its writer locks it. Younger files are left alone.
const SETTLE: Duration = Duration::from_secs(10);

/// The facts that decide on one artifact.
struct SweepCandidate {
    id: ArtifactId,
    bytes: u64,
    age: Duration,
    is_being_written: bool,
}

/// Removes artifacts. An unreadable folder counts as empty.
pub(super) fn sweep(folder: &Path, keep: &Retention, now: SystemTime) -> Vec<ArtifactId> {
    let now = milliseconds(now);
    let entries: Vec<SweepCandidate> = list(folder)
        .unwrap_or_default()
        .into_iter()
        .map(|row| SweepCandidate {
            bytes: row.bytes,
            age: Duration::from_millis(now.saturating_sub(row.modified_ms)),
            is_being_written: row.is_being_written,
            id: row.id,
        })
        .collect();
    let mut removed = expired(&entries, keep);
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

/// The artifacts to remove. `entries` are sorted newest first.
fn expired(entries: &[SweepCandidate], keep: &Retention) -> Vec<ArtifactId> {
    let mut total = 0_u64;
    let mut expired = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let grown = total.saturating_add(entry.bytes);
        let is_safe = entry.is_being_written || entry.age < SETTLE;
        let may_stay = entry.age <= keep.max_age && (index == 0 || grown <= keep.max_bytes);
        if is_safe || may_stay {
            total = grown;
        } else {
            expired.push(entry.id.clone());
        }
    }
    expired
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries are size, age in seconds and whether it is being written, newest first. `stay` are
    /// the indexes that remain.
    #[track_caller]
    fn check(entries: &[(u64, u64, bool)], stay: &[usize]) {
        let keep = Retention { max_bytes: 100, max_age: Duration::from_secs(1000) };
        let entries: Vec<SweepCandidate> = entries
            .iter()
            .map(|&(bytes, age, is_being_written)| SweepCandidate {
                id: ArtifactId::random(),
                bytes,
                age: Duration::from_secs(age),
                is_being_written,
            })
            .collect();
        let expired = expired(&entries, &keep);
        let staying: Vec<usize> =
            (0..entries.len()).filter(|index| !expired.contains(&entries[*index].id)).collect();
        assert_eq!(staying, stay);
    }

    #[test]
    fn the_oldest_are_removed_until_the_rest_fits() {
        check(&[(40, 20, false), (60, 30, false), (1, 40, false)], &[0, 1]);
        check(&[(40, 20, false), (61, 30, false), (60, 40, false)], &[0, 2]);
    }

    #[test]
    fn expired_artifacts_are_removed_though_there_is_room() {
        check(&[(1, 1000, false), (1, 1001, false)], &[0]);
        check(&[(1, 1001, false)], &[]);
    }

    #[test]
    fn the_newest_stays_even_if_it_is_too_large() {
        check(&[(500, 20, false), (1, 30, false)], &[0]);
    }

    #[test]
    fn artifacts_that_are_new_or_being_written_stay() {
        check(&[(500, 20, false), (500, 5000, true), (500, 9, false), (500, 10, false)], &[0, 1, 2]);
    }
}
