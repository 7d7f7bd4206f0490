//! The result of the hidden code, and its text.

use std::fmt::Write;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct VariableList {
    variables: Vec<Variable>,
    functions: Vec<String>,
    classes: Vec<String>,
    modules: Vec<String>,
    /// Variables not listed.
    more: usize,
    /// Requested names that do not exist.
    missing: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Variable {
    name: String,
    r#type: String,
    shape: Option<Vec<Option<i64>>>,
    dtype: Option<String>,
    columns: Option<Vec<String>>,
    #[serde(default)]
    more_columns: usize,
    length: Option<i64>,
    preview: Option<String>,
    details: Option<VariableDetails>,
}

/// Details of a variable requested by name.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct VariableDetails {
    columns: Vec<ColumnDetails>,
    /// The first rows of a table.
    head: Vec<Vec<String>>,
    /// The first items of a sequence or mapping, and the number of further ones.
    items: Vec<String>,
    more: usize,
    /// Whether each item has its own line.
    lines: bool,
    #[serde(flatten)]
    values: ValueRange,
    /// The type of the error that stopped the inspection.
    failed: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ColumnDetails {
    /// As Python writes it.
    name: String,
    dtype: String,
    #[serde(flatten)]
    values: ValueRange,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ValueRange {
    missing: Option<u64>,
    range: Option<[String; 2]>,
    /// Whether there were too many values to read.
    left_out: bool,
}

impl VariableList {
    pub(super) fn in_words(&self, name: &str) -> String {
        let VariableList { variables, functions, classes, modules, more, missing } = self;
        let mut text = match variables.len() + more {
            1 => format!("{name}: 1 variable"),
            count => format!("{name}: {count} variables"),
        };
        variables.iter().for_each(|variable| variable.write(&mut text));
        if *more > 0 {
            let _ = write!(text, "\n{more} more; pass `names` to see them");
        }
        for (kind, names) in [("functions", functions), ("classes", classes), ("modules", modules)] {
            if !names.is_empty() {
                let _ = write!(text, "\n{kind}: {}", names.join(", "));
            }
        }
        if !missing.is_empty() {
            let _ = write!(text, "\nnot found: {}", missing.join(", "));
        }
        text
    }
}

impl Variable {
    fn write(&self, text: &mut String) {
        let Variable { name, r#type, shape, dtype, columns, more_columns, length, preview, details } = self;
        let _ = write!(text, "\n{name}: {type}", r#type = r#type);
        if let Some(shape) = shape {
            let sizes: Vec<String> = shape
                .iter()
                .map(|size| size.map_or_else(|| "?".to_owned(), |size| size.to_string()))
                .collect();
            let _ = write!(text, " {}", if sizes.is_empty() { "scalar".to_owned() } else { sizes.join("×") });
        }
        if let Some(dtype) = dtype {
            let _ = write!(text, " {dtype}");
        }
        if let Some(length) = length {
            let _ = write!(text, " of {length}");
        }
        if let Some(preview) = preview {
            let _ = write!(text, " = {preview}");
        }
        if let Some(columns) = columns {
            let _ = write!(text, ", columns {}", columns.join(", "));
            if *more_columns > 0 {
                let _ = write!(text, " and {more_columns} more");
            }
        }
        if let Some(details) = details {
            details.write(text, *more_columns);
        }
    }
}

impl VariableDetails {
    fn write(&self, text: &mut String, more_columns: usize) {
        let VariableDetails { columns, head, items, more, lines, values, failed } = self;
        values.write(text);
        for column in columns {
            let _ = write!(text, "\n  {} {}", column.name, column.dtype);
            column.values.write(text);
        }
        if more_columns > 0 {
            let _ = write!(text, "\n  {more_columns} more columns");
        }
        if !head.is_empty() {
            text.push_str("\n  head:");
        }
        for row in head {
            let _ = write!(text, "\n  {}", row.join(" | "));
        }
        if !items.is_empty() {
            let gap = if *lines { "\n  " } else { ", " };
            let _ = write!(text, "\n  {}", items.join(gap));
            if *more > 0 {
                let _ = write!(text, "{gap}… {more} more");
            }
        }
        if let Some(failed) = failed {
            let _ = write!(text, ", incomplete: {failed}");
        }
    }
}

impl ValueRange {
    fn write(&self, text: &mut String) {
        if let Some(missing) = self.missing.filter(|missing| *missing > 0) {
            let _ = write!(text, ", {missing} NaN");
        }
        if let Some([least, most]) = &self.range {
            let _ = write!(text, ", {least} to {most}");
        }
        if self.left_out {
            text.push_str(", too large for a range");
        }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn words(json: &str) -> String {
        serde_json::from_str::<VariableList>(json).unwrap().in_words("nb.ipynb")
    }

    #[test]
    fn each_variable_has_a_line() {
        let list = r#"{"variables": [
                {"name": "x", "type": "int", "preview": "1"},
                {"name": "df", "type": "DataFrame", "shape": [3, 2], "columns": ["' a' int64", "'b' str"], "more_columns": 4},
                {"name": "a", "type": "ndarray", "shape": [], "dtype": "float64"},
                {"name": "l", "type": "list", "length": 3, "preview": "[1, 2, 3]"}],
            "functions": ["f", "g"], "classes": [], "modules": ["np"], "more": 2, "missing": ["z"]}"#;
        assert_snapshot!(words(list), @r"
        nb.ipynb: 6 variables
        x: int = 1
        df: DataFrame 3×2, columns ' a' int64, 'b' str and 4 more
        a: ndarray scalar float64
        l: list of 3 = [1, 2, 3]
        2 more; pass `names` to see them
        functions: f, g
        modules: np
        not found: z
        ");
    }

    #[test]
    fn a_named_variable_has_details() {
        let list = r#"{"variables": [
                {"name": "df", "type": "DataFrame", "shape": [3, 40], "more_columns": 38, "details": {
                    "columns": [{"name": "' Age'", "dtype": "float64", "missing": 1, "range": ["22.0", "80.0"]},
                                {"name": "'n'", "dtype": "int64", "missing": 0, "left_out": true}],
                    "head": [["22.0", "1"], ["nan", "2"]]}},
                {"name": "a", "type": "ndarray", "shape": [20], "dtype": "int64",
                    "details": {"range": ["0", "19"], "items": ["0", "1"], "more": 18}},
                {"name": "d", "type": "dict", "length": 3,
                    "details": {"items": ["'k': 1", "'l': 2"], "more": 1, "lines": true}}],
            "functions": [], "classes": [], "modules": [], "more": 0, "missing": []}"#;
        assert_snapshot!(words(list), @r"
        nb.ipynb: 3 variables
        df: DataFrame 3×40
          ' Age' float64, 1 NaN, 22.0 to 80.0
          'n' int64, too large for a range
          38 more columns
          head:
          22.0 | 1
          nan | 2
        a: ndarray 20 int64, 0 to 19
          0, 1, … 18 more
        d: dict of 3
          'k': 1
          'l': 2
          … 1 more
        ");
    }
}
