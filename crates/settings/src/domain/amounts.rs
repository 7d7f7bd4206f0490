//! Settings that are so much of something: lengths of time and sizes, with or without a unit.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Base, Domain, Written};

/// A length of time.
pub(crate) struct Time {
    pub(crate) least: Duration,
}

/// Longer than anyone waits, and short enough to be added to any moment.
const LONGEST: Duration = Duration::from_secs(10 * 365 * DAY);
const DAY: u64 = 24 * 60 * 60;
const TIMES: &[(&str, f64)] = &[("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", DAY as f64)];

impl Domain<Duration> for Time {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<Duration> {
        let time = Duration::try_from_secs_f64(amount(written, TIMES)?).ok()?;
        (self.least..=LONGEST).contains(&time).then_some(time)
    }

    fn valid(&self) -> String {
        let units = "seconds, or with a unit: 250ms, 30s, 5m, 2h, 30d";
        match self.least {
            Duration::ZERO => units.into(),
            least => format!("{units}; at least {}", self.to_text(&least).trim_matches('"')),
        }
    }

    fn to_json(&self, value: &Duration) -> Value {
        match value.subsec_nanos() {
            0 => json!(value.as_secs()),
            _ => json!(value.as_secs_f64()),
        }
    }

    fn to_text(&self, value: &Duration) -> String {
        let seconds = value.as_secs();
        if value.subsec_nanos() != 0 || seconds == 0 {
            return format!("\"{}ms\"", value.as_millis());
        }
        let units = [("d", DAY), ("h", 3600), ("m", 60)];
        let unit = units.into_iter().find(|(_, size)| seconds.is_multiple_of(*size)).unwrap_or(("s", 1));
        format!("\"{}{}\"", seconds / unit.1, unit.0)
    }
}

/// A number of bytes within bounds.
pub(crate) struct Size {
    pub(crate) least: u64,
    pub(crate) most: u64,
}

/// Far more than there is, and small enough to be added up.
pub(crate) const LARGEST: u64 = 1 << 50;
const SIZES: &[(&str, f64)] = &[
    ("B", 1.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("KiB", (1_u64 << 10) as f64),
    ("MiB", (1_u64 << 20) as f64),
    ("GiB", (1_u64 << 30) as f64),
    ("TiB", (1_u64 << 40) as f64),
];

impl Domain<u64> for Size {
    fn read(&self, written: &Written, _: Base<'_>) -> Option<u64> {
        let bytes = amount(written, SIZES)?;
        // Beyond the largest it is refused, so nothing is cut off here.
        let bytes = (bytes.fract() == 0.0 && bytes <= LARGEST as f64).then_some(bytes as u64)?;
        (self.least..=self.most).contains(&bytes).then_some(bytes)
    }

    fn valid(&self) -> String {
        let units = "bytes, or with a unit: 50KiB, 10MiB, 8GiB";
        let said = |bytes: &u64| self.to_text(bytes).trim_matches('"').to_owned();
        match (self.least, self.most) {
            (0, LARGEST) => units.into(),
            (least, LARGEST) => format!("{units}; at least {}", said(&least)),
            (least, most) => format!("{units}; from {} to {}", said(&least), said(&most)),
        }
    }

    fn to_json(&self, value: &u64) -> Value {
        json!(value)
    }

    fn to_text(&self, value: &u64) -> String {
        let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        match units.into_iter().find(|(_, bits)| *value > 0 && value.is_multiple_of(1 << bits)) {
            Some((unit, bits)) => format!("\"{}{unit}\"", value >> bits),
            None => value.to_string(),
        }
    }
}

/// A number with or without a unit, in the unit that stands alone.
fn amount(written: &Written, units: &[(&str, f64)]) -> Option<f64> {
    let amount = match written {
        Written::Integer(value) => *value as f64,
        Written::Number(value) => *value,
        Written::Text(text) => {
            let text = text.trim().replace('_', "");
            let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
            let (number, unit) = (text[..end].trim(), &text[end..]);
            let factor = match unit {
                "" => 1.0,
                unit => units.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit))?.1,
            };
            number.parse::<f64>().ok()? * factor
        }
        Written::Switch(_) | Written::List(_) | Written::Other(_) => return None,
    };
    (amount.is_finite() && amount >= 0.0).then_some(amount)
}

#[cfg(test)]
mod tests {
    use super::super::OrNone;
    use super::super::tests::{check, text};
    use super::*;

    #[test]
    fn times_are_seconds_unless_they_have_a_unit() {
        let time = Time { least: Duration::from_millis(1) };
        let seconds = |seconds: f64| Some(Duration::from_secs_f64(seconds));
        for (written, expected) in [
            (Written::Integer(300), seconds(300.0)),
            (Written::Number(0.5), seconds(0.5)),
            (text("20"), seconds(20.0)),
            (text("1_000"), seconds(1000.0)),
            (text("250ms"), seconds(0.25)),
            (text("5 m"), seconds(300.0)),
            (text("1.5H"), seconds(5400.0)),
            (text("30d"), seconds(30.0 * 86400.0)),
            (Written::Integer(0), None),
            (Written::Integer(-1), None),
            (Written::Number(f64::NAN), None),
            (text("5 minutes"), None),
            (text("99999d"), None),
            (text("é"), None),
            (text(""), None),
            (Written::Switch(true), None),
        ] {
            check(&time, written, expected);
        }
    }

    #[test]
    fn sizes_are_bytes_unless_they_have_a_unit() {
        let size = OrNone(Size { least: 1, most: LARGEST });
        for (written, expected) in [
            (Written::Integer(51200), Some(Some(51200))),
            (text("50KiB"), Some(Some(51200))),
            (text("50 kib"), Some(Some(51200))),
            (text("1.5MB"), Some(Some(1_500_000))),
            (text("8GiB"), Some(Some(8 << 30))),
            (text("none"), Some(None)),
            (text("0.5"), None),
            (Written::Integer(0), None),
            (text("9999TiB"), None),
            (text("10 apples"), None),
        ] {
            check(&size, written, expected);
        }
    }

    #[test]
    fn what_is_shown_can_be_written() {
        for seconds in [0.25, 5.0, 60.0, 90.0, 300.0, 7200.0, 30.0 * 86400.0] {
            let value = Duration::from_secs_f64(seconds);
            let shown = Time { least: Duration::ZERO }.to_text(&value);
            check(&Time { least: Duration::ZERO }, text(shown.trim_matches('"')), Some(value));
        }
        for bytes in [0, 1, 51200, 10 << 20, 8 << 30, 1_500_000] {
            let shown = Size { least: 0, most: LARGEST }.to_text(&bytes);
            check(&Size { least: 0, most: LARGEST }, text(shown.trim_matches('"')), Some(bytes));
        }
    }
}
