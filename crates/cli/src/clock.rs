//! Times as people read them.

use std::time::Duration;

/// `3 ms`, `0.42 s`, `12.3 s`, `2 min 05 s`.
pub(crate) fn spoken(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match time.as_millis() {
        0..100 => format!("{} ms", time.as_millis()),
        100..10_000 => format!("{seconds:.2} s"),
        10_000..100_000 => format!("{seconds:.1} s"),
        _ => format!("{} min {:02} s", time.as_secs() / 60, time.as_secs() % 60),
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_exact_as_it_is_interesting() {
        let said = [3, 420, 12_345, 125_000].map(|it| spoken(Duration::from_millis(it)));
        assert_eq!(said, ["3 ms", "0.42 s", "12.3 s", "2 min 05 s"]);
    }

    #[test]
    fn how_long_ago_is_told_in_one_unit() {
        let said = [59, 60, 7199, 90_000, 172_800].map(|it| ago(Duration::from_secs(it)));
        assert_eq!(said, ["just now", "1 minute ago", "1 hour ago", "1 day ago", "2 days ago"]);
    }
}
