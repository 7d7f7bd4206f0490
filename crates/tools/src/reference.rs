//! What a prompt points at: `#runNotebookCells` and the like, and `@file.ipynb`. A reference is context for the
//! model. It forces no call and lifts no restriction.

use serde::Serialize;

use crate::mode::Mode;
use crate::offer::Offer;
use crate::tool::ToolName;

/// The tools that a prompt may name, as people write them.
const NAMES: [(&str, ToolName); 7] = [
    ("runNotebookCells", ToolName::RunNotebookCells),
    ("addNotebookCell", ToolName::AddNotebookCell),
    ("updateNotebookCell", ToolName::UpdateNotebookCell),
    ("getCellOutputs", ToolName::GetCellOutputs),
    ("getNotebookCells", ToolName::GetNotebookCells),
    ("searchNotebook", ToolName::SearchNotebook),
    ("undo", ToolName::Undo),
];

/// All that a prompt points at, each thing once, in the order in which it was named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct References {
    /// Tools.
    pub tools: Vec<ToolReference>,
    /// Files.
    pub attachments: Vec<Attachment>,
}

/// A tool that was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolReference {
    /// As it was written, without the `#`.
    pub reference: String,
    /// The tool, as it is called.
    pub tool: String,
    /// Why it cannot be used now.
    pub note: Option<String>,
}

/// A notebook that was attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The path as it was written.
    pub path: String,
}

/// The tools that a prompt may name, each with the mode that it needs.
pub fn tool_references() -> impl Iterator<Item = (&'static str, Mode)> {
    NAMES.into_iter().map(|(name, tool)| {
        let needed = Mode::ALL.into_iter().find(|mode| mode.allows(tool.facts().access));
        (name, needed.unwrap_or(Mode::Agent))
    })
}

/// Finds what a prompt points at.
pub fn references(prompt: &str, offer: Offer) -> References {
    let mut found = References::default();
    let mut before = None;
    let mut rest = prompt;
    while let Some(first) = rest.chars().next() {
        // An e-mail address, a fragment of a URL or a heading is no reference.
        let begins = before.is_none_or(|c: char| c.is_whitespace() || "([{\"'`,;:".contains(c));
        let taken = match first {
            '#' if begins => tool(&rest[1..], offer, &mut found),
            '@' if begins => attachment(&rest[1..], &mut found),
            _ => 0,
        };
        let step = first.len_utf8() + taken;
        before = rest[..step].chars().next_back();
        rest = &rest[step..];
    }
    found
}

fn tool(text: &str, offer: Offer, found: &mut References) -> usize {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let word = &text[..end];
    let Some((reference, tool)) = NAMES.iter().find(|(name, _)| *name == word) else { return 0 };
    if found.tools.iter().all(|known| known.reference != *reference) {
        found.tools.push(ToolReference {
            reference: (*reference).to_owned(),
            tool: tool.to_string(),
            note: note(*tool, offer),
        });
    }
    end
}

fn note(tool: ToolName, offer: Offer) -> Option<String> {
    if offer.has(tool) {
        None
    } else if offer.mode.allows(tool.facts().access) {
        Some("it needs a notebook that is attached and active".to_owned())
    } else {
        Some(format!("it needs {} mode", Mode::Agent))
    }
}

fn attachment(text: &str, found: &mut References) -> usize {
    let (path, end) = match text.strip_prefix('"').map(|quoted| quoted.split_once('"')) {
        Some(Some((path, _))) => (path, path.len() + 2),
        Some(None) => return 0,
        None => {
            let word = text.split(char::is_whitespace).next().unwrap_or_default();
            // What follows a name in a sentence does not belong to it.
            let path = match word.rfind(".ipynb") {
                Some(at) => &word[..at + ".ipynb".len()],
                None => word,
            };
            (path, path.len())
        }
    };
    if !path.ends_with(".ipynb") || path == ".ipynb" {
        return 0;
    }
    if found.attachments.iter().all(|known| known.path != path) {
        found.attachments.push(Attachment { path: path.to_owned() });
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Offer {
        Offer::new(Mode::Agent, true)
    }

    fn check(prompt: &str, tools: &[&str], files: &[&str]) {
        let found = references(prompt, full());
        let named: Vec<&str> = found.tools.iter().map(|tool| tool.tool.as_str()).collect();
        let attached: Vec<&str> = found.attachments.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((named.as_slice(), attached.as_slice()), (tools, files), "{prompt}");
    }

    #[test]
    fn tools_and_files_are_found_where_a_person_would_see_them() {
        check("#runNotebookCells the first one", &["run_notebook_cells"], &[]);
        check("please (#getCellOutputs), of cell 2", &["get_cell_outputs"], &[]);
        check(
            "#addNotebookCell #updateNotebookCell #addNotebookCell",
            &["add_notebook_cell", "update_notebook_cell"],
            &[],
        );
        check("look at @a.ipynb and @sub/b.ipynb.", &[], &["a.ipynb", "sub/b.ipynb"]);
        check("in @\"my notes.ipynb\", #getNotebookCells", &["get_notebook_cells"], &["my notes.ipynb"]);
        check("@a.ipynb, @a.ipynb; @é.ipynb?", &[], &["a.ipynb", "é.ipynb"]);
    }

    #[test]
    fn what_only_looks_like_one_is_left_alone() {
        check("number #12, #runnotebookcells, #runNotebookCellsNow", &[], &[]);
        check("me@a.ipynb and https://x.org/#runNotebookCells", &[], &[]);
        check("@notes.md @.ipynb @ # ## #", &[], &[]);
        check("an open quote @\"a.ipynb", &[], &[]);
    }

    #[test]
    fn a_tool_that_is_not_there_carries_a_note_and_stays_away() {
        let note = |mode, notebook_mode, prompt| {
            references(prompt, Offer::new(mode, notebook_mode)).tools.remove(0).note
        };
        assert_eq!(note(Mode::Agent, true, "#runNotebookCells"), None);
        assert_eq!(note(Mode::Ask, true, "#getCellOutputs"), None);
        assert_eq!(note(Mode::Ask, true, "#runNotebookCells").unwrap(), "it needs Agent mode");
        assert_eq!(note(Mode::Edit, false, "#addNotebookCell").unwrap(), "it needs Agent mode");
        let apart = "it needs a notebook that is attached and active";
        assert_eq!(note(Mode::Agent, false, "#addNotebookCell").unwrap(), apart);
    }
}
