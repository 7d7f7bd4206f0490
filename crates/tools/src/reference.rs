//! References in a prompt: `#runNotebookCells` and similar, and `@file.ipynb`. A reference is
//! context for the model. It forces no call and lifts no restriction.

use serde::Serialize;

use crate::mode::Mode;
use crate::offer::ToolOffer;
use crate::tool::ToolName;

/// The tools that a prompt may name, as users write them.
const NAMES: [(&str, ToolName); 7] = [
    ("runNotebookCells", ToolName::RunNotebookCells),
    ("addNotebookCell", ToolName::AddNotebookCell),
    ("updateNotebookCell", ToolName::UpdateNotebookCell),
    ("getCellOutputs", ToolName::GetCellOutputs),
    ("getNotebookCells", ToolName::GetNotebookCells),
    ("searchNotebook", ToolName::SearchNotebook),
    ("undo", ToolName::Undo),
];

/// The references of a prompt, each once, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct References {
    /// Tools.
    pub tools: Vec<ToolMention>,
    /// Files.
    pub attachments: Vec<Attachment>,
}

/// A reference to a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolMention {
    /// The reference as written, without the `#`.
    pub reference: String,
    /// The name of the tool.
    pub tool: String,
    /// The reason why the tool is not available now.
    pub note: Option<String>,
}

/// An attached notebook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attachment {
    /// The path as written.
    pub path: String,
}

/// Lists the tools that a prompt may name, each with the mode that it needs.
pub fn tool_references() -> impl Iterator<Item = (&'static str, Mode)> {
    NAMES.into_iter().map(|(name, tool)| {
        let needed = Mode::ALL.into_iter().find(|mode| mode.allows(tool.facts().access));
        (name, needed.unwrap_or(Mode::Agent))
    })
}

/// Finds the references in a prompt.
pub fn references(prompt: &str, offer: ToolOffer) -> References {
    let mut found = References::default();
    let mut before = None;
    let mut rest = prompt;
    while let Some(first) = rest.chars().next() {
        // E-mail addresses, URL fragments and headings are not references.
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

fn tool(text: &str, offer: ToolOffer, found: &mut References) -> usize {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let word = &text[..end];
    let Some((reference, tool)) = NAMES.iter().find(|(name, _)| *name == word) else { return 0 };
    if found.tools.iter().all(|known| known.reference != *reference) {
        found.tools.push(ToolMention {
            reference: (*reference).to_owned(),
            tool: tool.to_string(),
            note: note(*tool, offer),
        });
    }
    end
}

fn note(tool: ToolName, offer: ToolOffer) -> Option<String> {
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
            // Punctuation after a path is not part of it.
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

    fn full() -> ToolOffer {
        ToolOffer::new(Mode::Agent, true)
    }

    fn check(prompt: &str, tools: &[&str], files: &[&str]) {
        let found = references(prompt, full());
        let named: Vec<&str> = found.tools.iter().map(|tool| tool.tool.as_str()).collect();
        let attached: Vec<&str> = found.attachments.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((named.as_slice(), attached.as_slice()), (tools, files), "{prompt}");
    }

    #[test]
    fn tools_and_files_are_found() {
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
    fn lookalikes_are_not_references() {
        check("number #12, #runnotebookcells, #runNotebookCellsNow", &[], &[]);
        check("me@a.ipynb and https://x.org/#runNotebookCells", &[], &[]);
        check("@notes.md @.ipynb @ # ## #", &[], &[]);
        check("an open quote @\"a.ipynb", &[], &[]);
    }

    #[test]
    fn an_unavailable_tool_has_a_note() {
        let note = |mode, notebook_mode, prompt| {
            references(prompt, ToolOffer::new(mode, notebook_mode)).tools.remove(0).note
        };
        assert_eq!(note(Mode::Agent, true, "#runNotebookCells"), None);
        assert_eq!(note(Mode::Ask, true, "#getCellOutputs"), None);
        assert_eq!(note(Mode::Ask, true, "#runNotebookCells").unwrap(), "it needs Agent mode");
        assert_eq!(note(Mode::Edit, false, "#addNotebookCell").unwrap(), "it needs Agent mode");
        let apart = "it needs a notebook that is attached and active";
        assert_eq!(note(Mode::Agent, false, "#addNotebookCell").unwrap(), apart);
    }
}
