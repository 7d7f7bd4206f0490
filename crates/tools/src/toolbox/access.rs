//! What a call amounts to, with its arguments: one table.

use crate::arguments::Arguments;
use crate::mode::Access;
use crate::tool::ToolName;

/// What carrying out a call amounts to. `on_notebook` says whether the file that it names is a notebook.
pub(crate) fn access(tool: ToolName, arguments: &Arguments, on_notebook: bool) -> Access {
    match tool {
        ToolName::AddNotebookCell | ToolName::UpdateNotebookCell | ToolName::Edit
            if arguments.flag("run") =>
        {
            Access::Run
        }
        ToolName::NotebookKernel => match arguments.text("action") {
            Some("interrupt" | "restart") => Access::Run,
            Some(_) | None => Access::Look,
        },
        ToolName::Edit | ToolName::Write if on_notebook => Access::ChangeNotebook,
        _ => tool.access(),
    }
}

/// Whether a path, with a selector behind it or not, is that of a notebook.
pub(crate) fn names_notebook(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.ends_with(".ipynb") || lower.contains(".ipynb:") || lower.contains(".ipynb#")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::definition::Definition;
    use crate::mode::Mode;

    /// The modes in which a call is carried out.
    fn modes(tool: ToolName, arguments: Value) -> String {
        let path = arguments["path"].as_str().unwrap_or_default().to_owned();
        let arguments = Arguments::check(Definition::of(tool), &arguments).unwrap();
        let access = access(tool, &arguments, names_notebook(&path));
        let allowed = Mode::ALL.into_iter().filter(|mode| mode.allows(access));
        allowed.map(Mode::as_str).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_whole_table_of_tools_and_modes() {
        use ToolName::*;
        let (all, edit, agent) = ("ask edit agent", "edit agent", "agent");
        let table = [
            (GetNotebookCells, json!({}), all),
            (GetCellOutputs, json!({ "cell": 0 }), all),
            (SearchNotebook, json!({ "query": "x" }), all),
            (RunNotebookCells, json!({}), agent),
            (AddNotebookCell, json!({ "type": "code", "content": "" }), agent),
            (AddNotebookCell, json!({ "type": "code", "content": "", "run": true }), agent),
            (UpdateNotebookCell, json!({ "cell": 0, "content": "" }), agent),
            (UpdateNotebookCell, json!({ "cell": 0, "content": "", "run": "true" }), agent),
            (DeleteNotebookCells, json!({ "cells": [0] }), agent),
            (MoveNotebookCell, json!({ "cell": 0, "index": 1 }), agent),
            (Undo, json!({}), agent),
            (CreateNotebook, json!({ "notebook": "n.ipynb" }), agent),
            (NotebookKernel, json!({ "action": "status" }), all),
            (NotebookKernel, json!({ "action": "interrupt" }), agent),
            (NotebookKernel, json!({ "action": "restart" }), agent),
            (Notebook, json!({ "path": "n.ipynb", "action": "delete", "cell_index": 0 }), agent),
            (Read, json!({ "path": "n.ipynb" }), all),
            (Edit, json!({ "path": "a.py", "old": "a", "new": "b" }), edit),
            (Edit, json!({ "path": "n.ipynb", "old": "a", "new": "b" }), agent),
            (Edit, json!({ "path": "N.IPYNB:raw", "old": "a", "new": "b" }), agent),
            (Edit, json!({ "path": "n.ipynb", "old": "a", "new": "b", "run": true }), agent),
            (Write, json!({ "path": "a.py", "content": "" }), edit),
            (Write, json!({ "path": "n.ipynb", "content": "" }), agent),
            (Write, json!({ "path": "n.ipynb:raw", "content": "" }), agent),
            (Python, json!({ "code": "1" }), agent),
            (Eval, json!({ "cells": [] }), agent),
            (Bash, json!({ "command": "ls" }), agent),
            (GetVariables, json!({}), all),
            (Wait, json!({ "execution": "e" }), all),
            (ReadArtifact, json!({ "id": "a" }), all),
        ];
        for (tool, arguments, expected) in &table {
            assert_eq!(modes(*tool, arguments.clone()), *expected, "{tool} {arguments}");
        }
        for tool in ToolName::ALL {
            assert!(table.iter().any(|(known, ..)| *known == tool), "{tool}");
        }
    }

    #[test]
    fn with_run_it_is_a_run_and_not_only_a_change() {
        let run = |run: bool| {
            let given = json!({ "cell": 0, "content": "", "run": run });
            let tool = ToolName::UpdateNotebookCell;
            access(tool, &Arguments::check(Definition::of(tool), &given).unwrap(), false)
        };
        assert_eq!((run(false), run(true)), (Access::ChangeNotebook, Access::Run));
    }
}
