//! Decides which sessions end, and when. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// The properties of a session that the decisions need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionRow {
    /// Whether it counts towards the session limit.
    pub(super) counts: bool,
    /// Whether it runs or starts code, or has queued calls.
    pub(super) is_busy: bool,
    /// Whether a connected owner uses it.
    pub(super) has_owner: bool,
    /// Time of its last activity, or when its last owner left.
    pub(super) used: Instant,
    /// How long it stays after that.
    pub(super) stays: Duration,
}

/// Whether there is room for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// There is room.
    Enough,
    /// There is room once this session has ended.
    Without(usize),
    /// There is no room.
    None,
}

/// Finds room for another counted session. The least recently used idle session ends, never a busy one.
pub(super) fn room(rows: &[SessionRow], max: usize) -> Room {
    let counted = || rows.iter().enumerate().filter(|(_, row)| row.counts);
    if counted().count() < max {
        return Room::Enough;
    }
    let oldest = counted().filter(|(_, row)| !row.is_busy).min_by_key(|(_, row)| row.used);
    oldest.map_or(Room::None, |(index, _)| Room::Without(index))
}

/// Returns the sessions that were idle for too long.
pub(super) fn expired(rows: &[SessionRow], now: Instant) -> Vec<usize> {
    let is_expired = |row: &SessionRow| {
        !row.is_busy && !row.has_owner && now.saturating_duration_since(row.used) >= row.stays
    };
    rows.iter().enumerate().filter(|(_, row)| is_expired(row)).map(|(index, _)| index).collect()
}

/// Returns the sessions to end when the system runs out of resources.
pub(super) fn dispensable(rows: &[SessionRow]) -> Vec<usize> {
    let is_free = |row: &SessionRow| !row.is_busy && !row.has_owner;
    rows.iter().enumerate().filter(|(_, row)| is_free(row)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One session per word: `t` tool or `n` notebook, `b` busy or `i` idle, `o` with an owner or `-`, and the
    /// seconds since its last use.
    fn rows(now: Instant, words: &str) -> Vec<SessionRow> {
        let row = |word: &str| {
            let flags = word.as_bytes();
            let seconds: u64 = word[3..].parse().unwrap();
            SessionRow {
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
            // Sessions of notebooks and terminals neither count nor end.
            ("tb-1 ni-9 ni-3 nb-4", 4, Room::Enough),
            ("tb-1 ni-9 tb-3", 2, Room::None),
            ("ti-1 ni-9 ti-3", 2, Room::Without(2)),
            // A lowered limit takes effect gradually.
            ("ti-5 ti-4 ti-3", 1, Room::Without(0)),
        ] {
            assert_eq!(room(&rows(now, words), max), expected, "{words} of {max}");
        }
    }

    #[test]
    fn unused_sessions_end_after_their_idle_time() {
        let now = later();
        let words = "ti-299 ti-300 tio999 tb-999 ni-301 ni-3600 nio3601 nb-3601";
        assert_eq!(expired(&rows(now, words), now), [1, 5]);
    }

    #[test]
    fn all_idle_and_unused_sessions_are_dispensable() {
        assert_eq!(dispensable(&rows(later(), "ti-0 tio9 tb-9 ni-1 nio9")), [0, 3]);
    }
}
