//! Which sessions end, and when: decided from a table of them alone.

use std::time::Duration;

use tokio::time::Instant;

/// As much as the decisions need to know of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Whether it is one of those that only so many are kept of.
    pub(super) counts: bool,
    /// Whether it runs or starts something, or something waits in it.
    pub(super) is_busy: bool,
    /// Whether somebody is there who uses it.
    pub(super) has_owner: bool,
    /// When it last did something, or its last user left.
    pub(super) used: Instant,
    /// How long it stays after that.
    pub(super) stays: Duration,
}

/// Whether there is room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// There is.
    Enough,
    /// There is when this one has gone.
    Without(usize),
    /// There is none.
    None,
}

/// Finds room for one more session that counts. The least recently used idle one goes, never a busy one.
pub(super) fn room(rows: &[Row], max: usize) -> Room {
    let counted = || rows.iter().enumerate().filter(|(_, row)| row.counts);
    if counted().count() < max {
        return Room::Enough;
    }
    let oldest = counted().filter(|(_, row)| !row.is_busy).min_by_key(|(_, row)| row.used);
    oldest.map_or(Room::None, |(index, _)| Room::Without(index))
}

/// The sessions that have been idle for too long.
pub(super) fn expired(rows: &[Row], now: Instant) -> Vec<usize> {
    let is_expired =
        |row: &Row| !row.is_busy && !row.has_owner && now.saturating_duration_since(row.used) >= row.stays;
    rows.iter().enumerate().filter(|(_, row)| is_expired(row)).map(|(index, _)| index).collect()
}

/// The sessions that can be done without when the system has nothing left to give.
pub(super) fn dispensable(rows: &[Row]) -> Vec<usize> {
    let is_free = |row: &Row| !row.is_busy && !row.has_owner;
    rows.iter().enumerate().filter(|(_, row)| is_free(row)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One session a word: `t` of a tool or `n` of a notebook, `b` busy or `i` idle, `o` with an owner or `-`, and
    /// how many seconds ago it was used.
    fn rows(now: Instant, words: &str) -> Vec<Row> {
        let row = |word: &str| {
            let flags = word.as_bytes();
            let seconds: u64 = word[3..].parse().unwrap();
            Row {
                counts: flags[0] == b't',
                is_busy: flags[1] == b'b',
                has_owner: flags[2] == b'o',
                used: now - Duration::from_secs(seconds),
                stays: Duration::from_secs(if flags[0] == b't' { 300 } else { 3600 }),
            }
        };
        words.split_whitespace().map(row).collect()
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(100_000)
    }

    #[test]
    fn the_least_recently_used_idle_session_makes_room_and_a_busy_one_never_does() {
        let now = later();
        for (words, max, expected) in [
            ("", 1, Room::Enough),
            ("", 0, Room::None),
            ("ti-1 ti-2 ti-3", 4, Room::Enough),
            ("ti-1 ti-9 ti-3 ti-4", 4, Room::Without(1)),
            ("ti-1 tb-9 ti-3 ti-4", 4, Room::Without(3)),
            ("tio1 tb-9 tio3 tio2", 4, Room::Without(2)),
            ("tb-1 tb-9 tb-3 tbo4", 4, Room::None),
            // Those of notebooks and terminals neither count nor go.
            ("tb-1 ni-9 ni-3 nb-4", 4, Room::Enough),
            ("tb-1 ni-9 tb-3", 2, Room::None),
            ("ti-1 ni-9 ti-3", 2, Room::Without(2)),
            // A limit that was lowered is not made up for at once.
            ("ti-5 ti-4 ti-3", 1, Room::Without(0)),
        ] {
            assert_eq!(room(&rows(now, words), max), expected, "{words} of {max}");
        }
    }

    #[test]
    fn what_nobody_uses_ends_when_it_was_idle_for_long_enough() {
        let now = later();
        let words = "ti-299 ti-300 tio999 tb-999 ni-301 ni-3600 nio3601 nb-3601";
        assert_eq!(expired(&rows(now, words), now), [1, 5]);
    }

    #[test]
    fn in_need_all_go_that_are_idle_and_unused() {
        assert_eq!(dispensable(&rows(later(), "ti-0 tio9 tb-9 ni-1 nio9")), [0, 3]);
    }
}
