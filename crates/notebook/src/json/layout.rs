//! How a JSON text is laid out: on lines or not, with which indent, newline and spaces.
//! Read off the existing text, so that additions look like it.

use super::{Object, Span};

/// The layout of an object and of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Set when members stand on lines of their own.
    lines: Option<Lines>,
    /// The text between a key and its value.
    colon: String,
    /// The text after a comma within a line.
    gap: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Lines {
    newline: &'static str,
    unit: String,
}

impl Default for Layout {
    /// Jupyter's own: one space of indent.
    fn default() -> Self {
        Layout { lines: Some(Lines { newline: "\n", unit: " ".into() }), colon: ": ".into(), gap: " ".into() }
    }
}

impl Layout {
    /// Reads the layout off an object whose own line is indented by `outer`.
    pub(crate) fn of(bytes: &[u8], object: &Object, outer: &str) -> Layout {
        let default = Layout::default();
        let Some(first) = object.members.first() else {
            return default;
        };
        let text = |start, end| std::str::from_utf8(&bytes[start..end]).unwrap_or_default();
        let lead = text(first.lead, first.key.start);
        let colon = text(first.key.end, first.value.start);
        let colon = if colon.contains('\n') { default.colon } else { colon.to_owned() };
        let lines = lead.contains('\n').then(|| Lines {
            newline: if lead.contains("\r\n") { "\r\n" } else { "\n" },
            unit: indent_of(lead)
                .strip_prefix(outer)
                .filter(|unit| !unit.is_empty())
                .unwrap_or(" ")
                .to_owned(),
        });
        let gap = match object.members.get(1) {
            Some(second) if lines.is_none() => text(second.lead, second.key.start).to_owned(),
            Some(_) | None => default.gap,
        };
        Layout { lines, colon, gap }
    }

    /// The text before an element or member inside a container whose own line is indented by `indent`.
    pub(crate) fn lead(&self, indent: &str, first: bool) -> String {
        match &self.lines {
            Some(Lines { newline, unit }) => [newline, indent, unit].concat(),
            None if first => String::new(),
            None => self.gap.clone(),
        }
    }

    /// The text before the bracket that closes a container that is not empty.
    pub(crate) fn tail(&self, indent: &str) -> String {
        self.lines.as_ref().map_or_else(String::new, |lines| [lines.newline, indent].concat())
    }

    /// Writes the text before the item at `position` of a container whose own line is indented by `indent`, with the
    /// comma behind the item before it.
    pub(crate) fn separate(&self, position: usize, indent: &str, out: &mut Vec<u8>) {
        if position > 0 {
            out.push(b',');
        }
        match &self.lines {
            Some(Lines { newline, unit }) => {
                [newline, indent, unit].iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
            }
            None if position == 0 => {}
            None => out.extend_from_slice(self.gap.as_bytes()),
        }
    }

    /// Writes the text before the bracket that closes a container that is not empty.
    pub(crate) fn write_tail(&self, indent: &str, out: &mut Vec<u8>) {
        if let Some(lines) = &self.lines {
            [lines.newline, indent].iter().for_each(|part| out.extend_from_slice(part.as_bytes()));
        }
    }

    /// The indent of the lines inside a container whose own line is indented by `indent`.
    pub(crate) fn inside(&self, indent: &str) -> String {
        match &self.lines {
            Some(Lines { unit, .. }) => [indent, unit].concat(),
            None => indent.to_owned(),
        }
    }

    pub(crate) fn colon(&self) -> &str {
        &self.colon
    }
}

/// The indent of the line that white space before a value leads to.
pub(crate) fn indent_of(lead: &str) -> &str {
    lead.rsplit_once('\n').map_or("", |(_, indent)| indent)
}

/// The indent of the line on which the value at `span` begins; white space before it starts at `lead`.
pub(crate) fn indent_before(bytes: &[u8], lead: usize, span: Span) -> &str {
    indent_of(std::str::from_utf8(&bytes[lead..span.start]).unwrap_or_default())
}
