//! The definitions: a long list of one shape.

use super::{Definition, Field, Kind};
use crate::tool::ToolName;

// What many tools have is explained with the first of them alone, or by its name: a model reads it with each.
const NOTEBOOK: Field = Field::new("notebook", Kind::Text, "Path");
const CELL: Field = Field::new("cell", Kind::Cell, "Id or 0-based index").required();
const CONTENT: Field = Field::new("content", Kind::Text, "").required();
const RUN: Field = Field::new("run", Kind::Flag, "Also run it");
const REVISION: Field = Field::new("revision", Kind::Text, "");
const MAX_OUTPUT: Field = Field::new("max_output", Kind::Whole(200), "Bytes");
const SOFT_WAIT: Field = Field::new("soft_wait", Kind::Seconds, "Then return a handle for `wait`");
const TIMEOUT: Field = Field::new("timeout", Kind::Seconds, "Interrupt after so long");
const CALL_TIMEOUT: Field = Field::new("timeout", Kind::Seconds, "1 to 600, default 30");
const CWD: Field = Field::new("cwd", Kind::Text, "");
const SESSION: Field =
    Field::new("session", Kind::Text, "Whose variables to use; left out: your own").also(&["kernelId"]);
const RESET: Field = Field::new("reset", Kind::Flag, "Start with an empty kernel");
const TITLE: Field = Field::new("title", Kind::Text, "");
const CODE: Field = Field::new("code", Kind::Text, "").required();
const PATH: Field = Field::new("path", Kind::Text, "").required();

const TYPES: &[&str] = &["code", "markdown", "raw"];

pub(super) fn of(name: ToolName) -> &'static Definition {
    &DEFINITIONS[name as usize]
}

/// In the order of the names.
static DEFINITIONS: [Definition; ToolName::ALL.len()] = [
    Definition {
        name: ToolName::GetNotebookCells,
        description: "Text and state of a notebook's cells: all, or those named. A long notebook without `cells` comes as an \
                          outline. Returns the revision that edits are based on.",
        fields: &[
            Field { description: "Path; left out: the active notebook", ..NOTEBOOK },
            Field::new("cells", Kind::Cells, "Ids or 0-based indexes"),
        ],
    },
    Definition {
        name: ToolName::GetCellOutputs,
        description: "What a cell shows, as saved: text, tables, images, errors. Says when it is stale.",
        fields: &[NOTEBOOK, CELL, MAX_OUTPUT],
    },
    Definition {
        name: ToolName::RunNotebookCells,
        description: "Runs cells in the notebook's kernel, in the notebook's order, and returns what they show; outputs are saved \
                          in the file. Stops at the first cell that fails. Variables last until the kernel is restarted.",
        fields: &[
            NOTEBOOK,
            Field::new("cells", Kind::Cells, "Left out: all code cells"),
            Field::new("continue_on_error", Kind::Flag, ""),
            TIMEOUT,
            MAX_OUTPUT,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::AddNotebookCell,
        description: "Inserts a cell. Returns its id.",
        fields: &[
            NOTEBOOK,
            Field::new("type", Kind::Choice(TYPES), "").required(),
            Field::new("index", Kind::Whole(-1), "Position, 0-based; left out or -1: at the end"),
            CONTENT,
            RUN,
            REVISION,
            MAX_OUTPUT,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::UpdateNotebookCell,
        description: "Replaces the whole text of a cell. Type, metadata and outputs stay.",
        fields: &[NOTEBOOK, CELL, CONTENT, RUN, REVISION, MAX_OUTPUT, SOFT_WAIT],
    },
    Definition {
        name: ToolName::DeleteNotebookCells,
        description: "Deletes cells and returns their text.",
        fields: &[NOTEBOOK, Field::new("cells", Kind::Cells, "Ids or 0-based indexes").required(), REVISION],
    },
    Definition {
        name: ToolName::MoveNotebookCell,
        description: "Moves a cell; `index` is where it stands afterwards.",
        fields: &[NOTEBOOK, CELL, Field::new("index", Kind::Whole(0), "").required(), REVISION],
    },
    Definition {
        name: ToolName::CreateNotebook,
        description: "Makes a new, empty notebook. A file that exists is left alone.",
        fields: &[
            Field::new("notebook", Kind::Text, "Path of the new .ipynb").required(),
            Field::new("kernel", Kind::Text, "Kernel by name; left out: Python"),
        ],
    },
    Definition {
        name: ToolName::NotebookKernel,
        description: "What a kernel does now; interrupts what it runs (variables stay), or restarts it (variables are lost).",
        fields: &[
            NOTEBOOK,
            Field::new("session", Kind::Text, "Instead of a notebook").also(&["kernelId"]),
            Field::new("execution", Kind::Text, "Only this execution"),
            Field::new("action", Kind::Choice(&["status", "interrupt", "restart"]), "").required(),
        ],
    },
    Definition {
        name: ToolName::Notebook,
        description: "Edits cells of a notebook file by index without a kernel: one action, or several `operations` at once, all or \
                          none, indexes as before the call.",
        fields: &[
            PATH,
            ACTION,
            CELL_INDEX,
            Field::new("content", Kind::Text, ""),
            CELL_TYPE,
            Field::new(
                "operations",
                Kind::Objects(&[
                    Field { required: true, ..ACTION },
                    Field { required: true, description: "", ..CELL_INDEX },
                    Field::new("content", Kind::Text, ""),
                    Field { description: "", ..CELL_TYPE },
                ]),
                "",
            ),
            REVISION,
        ],
    },
    Definition {
        name: ToolName::Read,
        description: "Reads a notebook as text with a line `# %% [type] cell:N` before each cell. `nb.ipynb:12-40` for lines, \
                          `nb.ipynb#ID` for a cell, `nb.ipynb:raw` for the JSON, `artifact://ID:1-50` for output that was cut.",
        fields: &[PATH],
    },
    Definition {
        name: ToolName::Edit,
        description: "Replaces one exact piece of the text that `read` shows. It must occur exactly once.",
        fields: &[
            PATH,
            Field::new("old", Kind::Text, "").required(),
            Field::new("new", Kind::Text, "").required(),
            REVISION,
        ],
    },
    Definition {
        name: ToolName::Write,
        description: "Writes the whole text as `read` shows it. Cells named by `cell:N` keep id, metadata and outputs; those not \
                          named are deleted.",
        fields: &[PATH, CONTENT, REVISION],
    },
    Definition {
        name: ToolName::Python,
        description: "Runs Python. Variables last in the session. Output streams and is cut in the middle, the whole of it is in an \
                          artifact. `plt.show()` is headless: return the figure or save it. `helpers()` lists \
                          helpers for files, search, shell and tools. To work on a notebook use its own tools.",
        fields: &[
            Field::new("code", Kind::Text, ""),
            Field::new(
                "cells",
                Kind::Objects(&[CODE, TITLE]),
                "Or several; the first that fails stops the call",
            ),
            SESSION,
            RESET,
            CWD,
            CALL_TIMEOUT,
            MAX_OUTPUT,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::Eval,
        description: "Runs cells in `py` or in the language of any installed kernel. Variables last in the session.",
        fields: &[
            Field::new(
                "cells",
                Kind::Objects(&[Field::new("language", Kind::Text, "").required(), CODE, TITLE, RESET]),
                "",
            )
            .required(),
            SESSION,
            CWD,
            CALL_TIMEOUT,
            MAX_OUTPUT,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::Bash,
        description: "Runs a shell command. Output streams and is cut in the middle, the whole of it is in an artifact.",
        fields: &[Field::new("command", Kind::Text, "").required(), CWD, CALL_TIMEOUT, MAX_OUTPUT, SOFT_WAIT],
    },
    Definition {
        name: ToolName::GetVariables,
        description: "Variables of a kernel: names, types, shapes, columns and short previews. Starts nothing.",
        fields: &[
            NOTEBOOK,
            Field::new("session", Kind::Text, "Instead of a notebook").also(&["kernelId"]),
            Field::new("names", Kind::Texts, "Left out: all"),
        ],
    },
    Definition {
        name: ToolName::Wait,
        description: "Goes on waiting for an execution that a call has returned a handle for. Interrupts nothing.",
        fields: &[
            Field::new("execution", Kind::Text, "").required(),
            Field::new("timeout", Kind::Seconds, "How long to wait"),
            MAX_OUTPUT,
        ],
    },
    Definition {
        name: ToolName::ReadArtifact,
        description: "Reads output that was cut, whole as it was written: a range of lines, its end, or the lines that match.",
        fields: &[
            Field::new("id", Kind::Text, "").required(),
            Field::new("lines", Kind::Text, "As 100-180"),
            Field::new("tail", Kind::Whole(1), "How many lines"),
            Field::new("search", Kind::Text, "Regular expression"),
            MAX_OUTPUT,
        ],
    },
];

const ACTION: Field = Field::new("action", Kind::Choice(&["edit", "insert", "delete"]), "");
const CELL_INDEX: Field = Field::new("cell_index", Kind::Whole(0), "0-based");
const CELL_TYPE: Field = Field::new("cell_type", Kind::Choice(TYPES), "Of an inserted cell; default code");
