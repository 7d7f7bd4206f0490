//! Measured figures beside their targets.

/// One figure.
pub(crate) struct Figure {
    /// The promise.
    pub(crate) promise: &'static str,
    /// The peer, and its result.
    pub(crate) other: (&'static str, String),
    /// Our result.
    pub(crate) ours: String,
    /// The ratio or difference that counts.
    pub(crate) value: f64,
    /// The unit of `value`, such as `x` in `1.2x`.
    pub(crate) unit: &'static str,
    /// The allowed range.
    pub(crate) target: Target,
}

#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Figure {
    pub(crate) fn is_met(&self) -> bool {
        match self.target {
            Target::AtMost(most) => self.value <= most,
            Target::AtLeast(least) => self.value >= least,
        }
    }
}

/// Formats the figures as aligned columns.
pub(crate) fn render(figures: &[Figure]) -> String {
    let mut rows = vec![["", "against", "it took", "ours took", "figure", "target", ""].map(str::to_owned)];
    for figure in figures {
        let target = match figure.target {
            Target::AtMost(most) => format!("<= {most}{}", figure.unit),
            Target::AtLeast(least) => format!(">= {least}{}", figure.unit),
        };
        rows.push([
            figure.promise.to_owned(),
            figure.other.0.to_owned(),
            figure.other.1.clone(),
            figure.ours.clone(),
            format!("{:.2}{}", figure.value, figure.unit),
            target,
            if figure.is_met() { "met" } else { "MISSED" }.to_owned(),
        ]);
    }
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("  {}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
