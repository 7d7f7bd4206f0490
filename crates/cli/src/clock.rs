//! Durations in arguments and output.

use std::time::Duration;

pub(crate) use cellist_tui::format_duration;

/// How long ago something was: `just now`, `5 minutes ago`, `3 days ago`.
pub(crate) fn ago(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

/// A practically unlimited time that can be added to any instant.
const ALWAYS: f64 = 1e9;

/// Parses a number of seconds, whole or with a fraction.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let valid = "expected a number of seconds, such as 30 or 0.5";
    let seconds: f64 = text.trim().parse().map_err(|_| valid.to_owned())?;
    if !seconds.is_finite() {
        return Err(valid.to_owned());
    }
    if seconds < 0.0 {
        return Err("must not be negative".to_owned());
    }
    Duration::try_from_secs_f64(seconds.min(ALWAYS)).map_err(|_| valid.to_owned())
}

/// Parses a time limit, which must be more than 0 seconds.
pub(crate) fn some_seconds(text: &str) -> Result<Duration, String> {
    seconds(text).and_then(|time| match time.is_zero() {
        true => Err("a time limit must be more than 0 seconds".to_owned()),
        false => Ok(time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_seconds_is_finite_and_not_negative() {
        for (text, expected) in [
            ("30", Ok(30_000)),
            ("0.5", Ok(500)),
            ("0", Ok(0)),
            ("1e300", Ok(1_000_000_000_000)),
            ("nan", Err("expected a number of seconds, such as 30 or 0.5")),
            ("inf", Err("expected a number of seconds, such as 30 or 0.5")),
            ("-inf", Err("expected a number of seconds, such as 30 or 0.5")),
            ("soon", Err("expected a number of seconds, such as 30 or 0.5")),
            ("", Err("expected a number of seconds, such as 30 or 0.5")),
            ("-1", Err("must not be negative")),
        ] {
            let read = seconds(text).map(|time| time.as_millis());
            assert_eq!(read, expected.map_err(str::to_owned), "{text}");
        }
        assert!(some_seconds("0").is_err() && some_seconds("0.1").is_ok());
    }

    #[test]
    fn how_long_ago_is_told_in_one_unit() {
        let said = [59, 60, 7199, 90_000, 172_800].map(|it| ago(Duration::from_secs(it)));
        assert_eq!(said, ["just now", "1 minute ago", "1 hour ago", "1 day ago", "2 days ago"]);
    }
}
