//! What a host writes down about itself: lines with the time, on standard error, which is its log or a terminal.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes one line. Nobody is told when that fails: there is no one left to tell.
pub(crate) fn note(what: impl Display) {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let _ = writeln!(io::stderr().lock(), "{} {what}", clock(since.as_secs()));
}

/// Seconds of Unix time as date and time, in UTC.
fn clock(seconds: u64) -> String {
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
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::clock;

    #[test]
    fn times_are_dates_people_know() {
        assert_eq!(clock(0), "1970-01-01T00:00:00Z");
        assert_eq!(clock(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(clock(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(clock(1_794_700_800), "2026-11-15T00:00:00Z");
        assert_eq!(clock(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
