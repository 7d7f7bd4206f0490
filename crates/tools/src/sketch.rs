//! The outline of a cell: number of lines, kinds of outputs, and defined names. A cheap scan, not a
//! parser: names bound inside blocks are left out.

use cellist_notebook::{Cell, CellType};
use cellist_output::Output;
use serde::Serialize;

/// Larger outputs are not read for their kinds.
const MOST_OUTPUT_BYTES: usize = 4 * 1024 * 1024;
/// Longer sources are not scanned.
const MOST_SOURCE_BYTES: usize = 256 * 1024;
/// Names listed at most.
const MOST_NAMES: usize = 8;

/// The outline of a cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CellSketch {
    /// The lines of the source.
    pub lines: usize,
    /// The kinds of outputs, each once, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<&'static str>,
    /// The names defined at the top level, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub defines: Vec<String>,
}

impl CellSketch {
    /// Outlines a cell of a notebook in `language`.
    pub(crate) fn of(cell: &Cell, language: &str) -> CellSketch {
        let source = cell.source();
        let is_python = cell.cell_type() == CellType::Code && language.eq_ignore_ascii_case("python");
        let mut defines = match is_python && source.len() <= MOST_SOURCE_BYTES {
            true => defined(&source),
            false => Vec::new(),
        };
        defines.truncate(MOST_NAMES);
        CellSketch { lines: source.lines().count(), outputs: output_kinds(cell), defines }
    }

    /// Returns `, 4 lines` if there are several.
    pub(crate) fn size(&self) -> String {
        if self.lines > 1 { format!(", {} lines", self.lines) } else { String::new() }
    }

    /// Returns `, shows text+image` if there are outputs.
    pub(crate) fn shows(&self) -> String {
        let kinds = self.outputs.join("+");
        if kinds.is_empty() { kinds } else { format!(", shows {kinds}") }
    }

    /// Returns ` → a b`: the names that the first line does not have.
    pub(crate) fn further_names(&self, first_line: &str) -> String {
        let names: Vec<&str> =
            self.defines.iter().map(String::as_str).filter(|name| !first_line.contains(name)).collect();
        if names.is_empty() { String::new() } else { format!(" → {}", names.join(" ")) }
    }
}

fn output_kinds(cell: &Cell) -> Vec<&'static str> {
    let size = cell.value("outputs").map_or(0, <[u8]>::len);
    if size > MOST_OUTPUT_BYTES {
        return vec!["large"];
    }
    let mut kinds = Vec::new();
    if cell.has_outputs() {
        for output in cell.outputs() {
            let kind = output_kind(&output);
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    kinds
}

fn output_kind(output: &Output) -> &'static str {
    let data = match output {
        Output::Stream { .. } => return "text",
        Output::Error { .. } => return "error",
        Output::Display { data, .. } | Output::Result { data, .. } => data,
    };
    if data.picture().is_some() {
        return "image";
    }
    match data.get_text("text/html") {
        Some(html) if html.contains("<table") => "table",
        Some(_) => "html",
        None if data.get_text("text/plain").is_some() || data.get_text("text/markdown").is_some() => "text",
        None => "data",
    }
}

/// Lists the names that Python code binds at the top level, each once.
fn defined(source: &str) -> Vec<String> {
    let first = source.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    // The body of another cell magic is not Python.
    if first.starts_with("%%") && !["%%time", "%%capture", "%%prun"].iter().any(|it| first.starts_with(it)) {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    for statement in statements(source) {
        for name in bound(&statement) {
            // `_` is a placeholder.
            let is_read = name.contains(|letter| letter != '_');
            if is_read && names.iter().all(|known| known != name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// Splits code into top-level statements, each on one line, without comments and with empty
/// strings.
fn statements(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    let mut depth = 0_usize;
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let mut taken = letter.len_utf8();
        match letter {
            '#' => taken = rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => {
                taken = string_length(rest, letter);
                statement.push_str("''");
            }
            '\\' if rest[1..].starts_with('\n') => {
                taken = 2;
                statement.push(' ');
            }
            '\n' if depth == 0 => found.push(std::mem::take(&mut statement)),
            ';' if depth == 0 => {
                // The rest of the line is in the same block.
                let is_inner = statement.starts_with(char::is_whitespace);
                found.push(std::mem::take(&mut statement));
                taken = rest.len() - rest[1..].trim_start_matches(' ').len();
                statement.push_str(if is_inner { " " } else { "" });
            }
            '\n' => statement.push(' '),
            _ => {
                match letter {
                    '(' | '[' | '{' => depth += 1,
                    ')' | ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                statement.push(letter);
            }
        }
        rest = &rest[taken..];
    }
    found.push(statement);
    found.retain(|statement| statement.starts_with(|letter: char| !letter.is_whitespace()));
    found
}

/// Returns the length of the string literal at the start of a text. An unclosed one ends with its
/// line.
fn string_length(text: &str, quote: char) -> usize {
    let triple = [quote; 3].iter().collect::<String>();
    let (end, is_triple) = match text.starts_with(&triple) {
        true => (triple.as_str(), true),
        false => (&text[..1], false),
    };
    let mut at = end.len();
    while let Some(letter) = text[at..].chars().next() {
        if text[at..].starts_with(end) {
            return at + end.len();
        }
        match letter {
            '\n' if !is_triple => return at,
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            _ => at += letter.len_utf8(),
        }
    }
    text.len()
}

/// Lists the names that a statement binds.
fn bound(statement: &str) -> Vec<&str> {
    let (word, rest) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
    let rest = rest.trim();
    match word {
        "async" if rest.starts_with("def ") => bound(rest),
        "def" | "class" => Vec::from_iter(identifier(rest)),
        // `a.b` binds its first part, `a.b as c` its last.
        "import" => {
            rest.split(',').filter_map(|part| identifier(alias(part).unwrap_or(part).trim())).collect()
        }
        "from" => {
            let Some((_, names)) = rest.split_once(" import") else { return Vec::new() };
            let names = names.trim().trim_start_matches('(').trim_end_matches(')');
            names.split(',').filter_map(|part| identifier(alias(part).unwrap_or(part).trim())).collect()
        }
        "for" | "while" | "if" | "elif" | "else:" | "with" | "try:" | "except" | "finally:" | "return"
        | "del" | "assert" | "raise" | "global" | "match" | "case" => Vec::new(),
        _ if statement.starts_with(['%', '!', '@', '?']) => Vec::new(),
        _ => assigned(statement),
    }
}

/// Returns the name after `as`.
fn alias(part: &str) -> Option<&str> {
    part.split_once(" as ").map(|(_, name)| name)
}

/// Lists the targets of an assignment, without attributes and items.
fn assigned(statement: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let (mut depth, mut begin) = (0_usize, 0);
    let bytes = statement.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'=' if depth == 0 => {
                let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
                let is_equal = bytes.get(at + 1) == Some(&b'=') || before == b'=';
                // Comparisons, and operators such as `+=`, bind no new name.
                if is_equal || b"!<>:+-*/%&|^@".contains(&before) {
                    return targets;
                }
                targets.extend(names_in(&statement[begin..at]));
                begin = at + 1;
            }
            _ => {}
        }
    }
    targets
}

/// Lists the plain names of a target: `a`, `a: int`, `a, *b`, `(a, b)`.
fn names_in(target: &str) -> Vec<&str> {
    let unannotated = match target.split_once(':') {
        Some((name, _)) if !target.trim_start().starts_with(['(', '[']) => name,
        _ => target,
    };
    let parts = unannotated.split(',').map(|part| part.trim_matches(['(', ')', '[', ']', '*', ' ']));
    let whole = |part: &'_ &str| identifier(part) == Some(*part);
    // `table[a, b]` is an item, not a list of names.
    let is_item = unannotated.trim().find('[').is_some_and(|at| at > 0);
    if is_item { Vec::new() } else { parts.filter(whole).collect() }
}

/// Returns the identifier at the start of a text.
fn identifier(text: &str) -> Option<&str> {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    let name = &text[..end];
    let begins = name.starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
    begins.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, names: &str) {
        assert_eq!(defined(source).join(" "), names, "{source}");
    }

    #[test]
    fn names_bound_at_the_top_level_are_found() {
        check("x = 1\ny: int = 2\na, *b = c = (3, 4)\n(d, e) = 5, 6", "x y a b c d e");
        check("def f(x=1):\n    inner = 2\n\nasync def g(): pass\nclass C(Base, k=1): pass", "f g C");
        check(
            "import numpy as np, os.path\nfrom a.b import c, d as e\nfrom m import (\n    f,\n    g,\n)\nfrom n import *",
            "np os c e f g",
        );
        check("x = 1; y = 2;  import os\nif x:\n    a = 1; b = 2", "x y os");
        check("df = (\n    load()\n    .query(\"a = 1\")\n)\nout = !ls", "df out");
        check("%matplotlib inline\n%%time\nz = 1", "z");
        check("%%time\nz = 1", "z");
        check("_cache = {}\ndef _load(): pass\na, _ = pair", "_cache _load a");
    }

    #[test]
    fn statements_that_bind_no_new_name_are_left_out() {
        check("x += 1\ndf['a'] = 1\ndf.b = 2\nx == 1\nf(a=1)\nprint(x, end='')", "");
        check("if a:\n    x = 1\nfor i in y:\n    z = i", "");
        check("\"\"\"\nx = 1\n\"\"\"\n'y = 2'\n# z = 3\n_ = f()\n__ = 2", "");
        check("%%bash\nx=1", "");
        check("table[a, b] = 1\nif (n := 3) > 2: pass\nx: int", "");
    }

    #[test]
    fn any_text_is_scanned_without_a_panic() {
        for source in [
            "",
            "'",
            "\"\"\"é",
            "\\",
            "x = 'é\\",
            "é = 1",
            "((((",
            "))))=1",
            "=",
            "a=",
            "import",
            "from x import",
            "def",
            "\\\n",
        ] {
            defined(source);
        }
        check("é = 1", "é");
    }
}
