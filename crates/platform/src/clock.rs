//! Moments as text and as numbers: ISO 8601 in UTC, and milliseconds of Unix time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment to the second: `2026-11-15T12:30:00Z`.
pub fn utc(moment: SystemTime) -> String {
    format!("{}Z", date_and_time(since_epoch(moment).0))
}

/// A moment to the microsecond, as Jupyter writes it: `2026-11-15T12:30:00.123456Z`.
pub fn utc_exact(moment: SystemTime) -> String {
    let (seconds, micros) = since_epoch(moment);
    format!("{}.{micros:06}Z", date_and_time(seconds))
}

/// A moment in milliseconds since 1970.
pub fn milliseconds(moment: SystemTime) -> u64 {
    in_milliseconds(moment.duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// This moment in milliseconds since 1970.
pub fn now_ms() -> u64 {
    milliseconds(SystemTime::now())
}

/// A time in milliseconds.
pub fn in_milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn since_epoch(moment: SystemTime) -> (u64, u32) {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs(), since.subsec_micros())
}

/// Seconds of Unix time as date and time.
fn date_and_time(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Counted in eras of 400 years that begin in March, so that a leap day is the last of its year.
    let day = days + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_people_know() {
        let check = |seconds, text| assert_eq!(utc(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        check(0, "1970-01-01T00:00:00Z");
        check(951_782_399, "2000-02-28T23:59:59Z");
        check(951_782_400, "2000-02-29T00:00:00Z");
        check(1_794_700_800, "2026-11-15T00:00:00Z");
        check(4_107_542_400, "2100-03-01T00:00:00Z");
        assert_eq!(utc_exact(UNIX_EPOCH + Duration::from_micros(1_000_042)), "1970-01-01T00:00:01.000042Z");
    }
}
