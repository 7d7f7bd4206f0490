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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_as_exact_as_it_is_interesting() {
        let said = [3, 420, 12_345, 125_000].map(|it| spoken(Duration::from_millis(it)));
        assert_eq!(said, ["3 ms", "0.42 s", "12.3 s", "2 min 05 s"]);
    }
}
