//! The definitions: a long list of one shape.

use super::{Definition, Field, Kind};
use crate::tool::ToolName;

// One meaning has one name in all schemas. Other spellings that clients send are accepted, and not listed. A model reads
// a shared field once per tool, so its description is short.
const NOTEBOOK: Field = Field::new("notebook", Kind::Text, "").also(&["path"]);
const CELL: Field = Field::new("cell", Kind::Cell, "").required().also(&["cell_index", "cell_id"]);
const CELLS: Field = Field::new("cells", Kind::Cells, "");
const TYPE: Field = Field::new("type", Kind::Choice(TYPES), "").required().also(&["cell_type"]);
const CONTENT: Field = Field::new("content", Kind::Text, "").required().also(&["source"]);
const RUN: Field = Field::new("run", Kind::Flag, "");
const REVISION: Field = Field::new("revision", Kind::Text, "As read");
const MAX_OUTPUT: Field = Field::new("max_output", Kind::Whole(200), "");
const IMAGES: Field = Field::new("images", Kind::Flag, "");
const SOFT_WAIT: Field = Field::new("soft_wait", Kind::Seconds, "");
const TIMEOUT: Field = Field::new("timeout", Kind::Seconds, "Seconds");
const CALL_TIMEOUT: Field = Field::new("timeout", Kind::Seconds, "Seconds, 1 to 600; default 30");
const CWD: Field = Field::new("cwd", Kind::Text, "");
const SESSION: Field = Field::new("session", Kind::Text, "Left out: your own").also(&["kernelId"]);
const RESET: Field = Field::new("reset", Kind::Flag, "Empty kernel");
const TITLE: Field = Field::new("title", Kind::Text, "");
const CODE: Field = Field::new("code", Kind::Text, "").required();
const PATH: Field = Field::new("path", Kind::Text, "").required().also(&["notebook"]);

const TYPES: &[&str] = &["code", "markdown", "raw"];

pub(super) fn of(name: ToolName) -> &'static Definition {
    &DEFINITIONS[name as usize]
}

/// In the order of the names.
static DEFINITIONS: [Definition; ToolName::ALL.len()] = [
    Definition {
        name: ToolName::GetNotebookCells,
        description: "Text and state of cells; without `cells`, a long notebook as an outline. Returns the revision for edits.",
        fields: &[
            Field { description: "Path; left out: the active notebook", ..NOTEBOOK },
            Field { description: "Ids, 0-based indexes, ranges \"3-7\"", ..CELLS },
        ],
    },
    Definition {
        name: ToolName::GetCellOutputs,
        description: "Saved outputs of a cell, and whether they are stale.",
        fields: &[
            NOTEBOOK,
            Field { description: "Id or 0-based index", ..CELL },
            Field { description: "Bytes", ..MAX_OUTPUT },
            IMAGES,
        ],
    },
    Definition {
        name: ToolName::SearchNotebook,
        description: "Finds lines in cells, with cell and line number.",
        fields: &[
            NOTEBOOK,
            Field::new("query", Kind::Text, "").required(),
            Field::new("regex", Kind::Flag, ""),
            Field::new("outputs", Kind::Flag, "Outputs too"),
        ],
    },
    Definition {
        name: ToolName::RunNotebookCells,
        description: "Runs cells in order, returns outputs and saves them. Stops at the first cell that fails.",
        fields: &[
            NOTEBOOK,
            Field { description: "Default: all", ..CELLS },
            Field::new("restart", Kind::Flag, ""),
            Field::new("continue_on_error", Kind::Flag, ""),
            Field { description: "Seconds per cell", ..TIMEOUT },
            MAX_OUTPUT,
            IMAGES,
            Field { description: "Seconds", ..SOFT_WAIT },
        ],
    },
    Definition {
        name: ToolName::AddNotebookCell,
        description: "Inserts a cell. Returns its id.",
        fields: &[
            NOTEBOOK,
            TYPE,
            Field::new("index", Kind::Whole(-1), "Default: at the end"),
            Field::new("after", Kind::Cell, ""),
            CONTENT,
            RUN,
            Field { description: "As read; later changes by others are merged", ..REVISION },
            TIMEOUT,
            MAX_OUTPUT,
            IMAGES,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::UpdateNotebookCell,
        description: "Replaces the text of a cell. Outputs stay.",
        fields: &[NOTEBOOK, CELL, CONTENT, RUN, REVISION, TIMEOUT, MAX_OUTPUT, IMAGES, SOFT_WAIT],
    },
    Definition {
        name: ToolName::DeleteNotebookCells,
        description: "Deletes cells and returns their text.",
        fields: &[NOTEBOOK, Field { required: true, ..CELLS }, REVISION],
    },
    Definition {
        name: ToolName::MoveNotebookCell,
        description: "Moves a cell to `index`.",
        fields: &[NOTEBOOK, CELL, Field::new("index", Kind::Whole(0), "").required(), REVISION],
    },
    Definition {
        name: ToolName::Undo,
        description: "Takes back your last change; changes by others stay.",
        fields: &[
            NOTEBOOK,
            Field::new("turn", Kind::Text, "A whole turn"),
            Field::new("since", Kind::Text, "A revision"),
        ],
    },
    Definition {
        name: ToolName::CreateNotebook,
        description: "Makes an empty notebook. Never overwrites.",
        fields: &[Field { required: true, ..NOTEBOOK }, Field::new("kernel", Kind::Text, "Left out: Python")],
    },
    Definition {
        name: ToolName::NotebookKernel,
        description: "State of a kernel; interrupts (variables stay) or restarts it (variables are lost).",
        fields: &[
            NOTEBOOK,
            Field::new("session", Kind::Text, "Instead of a notebook").also(&["kernelId"]),
            Field::new("execution", Kind::Text, "Only this execution"),
            Field::new("action", Kind::Choice(&["status", "interrupt", "restart"]), "").required(),
            Field::new("force", Kind::Flag, "Kill it if need be"),
        ],
    },
    Definition {
        name: ToolName::Notebook,
        description: "Compact form of add, update and delete: one action, or `operations`, all or none, indexes as before.",
        fields: &[
            PATH,
            ACTION,
            CELL_INDEX,
            Field::new("content", Kind::Text, ""),
            CELL_TYPE,
            Field::new(
                "operations",
                Kind::Objects(&[
                    Field { required: true, is_repeated: true, ..ACTION },
                    Field { required: true, description: "", ..CELL_INDEX },
                    Field::new("content", Kind::Text, ""),
                    Field { description: "", is_repeated: true, ..CELL_TYPE },
                ]),
                "",
            ),
            REVISION,
        ],
    },
    Definition {
        name: ToolName::Read,
        description: "A notebook as text with `# %% [type] cell:N` before each cell. `nb.ipynb:12-40`: lines, `…#ID`: a cell, `…:raw`: \
                      its JSON.",
        fields: &[PATH],
    },
    Definition {
        name: ToolName::Edit,
        description: "Replaces text that `read` shows. Without `replace_all` it must occur once.",
        fields: &[
            PATH,
            Field::new("old", Kind::Text, "").required(),
            Field::new("new", Kind::Text, "").required(),
            Field::new("replace_all", Kind::Flag, ""),
            Field { description: "Run changed cells", ..RUN },
            REVISION,
            TIMEOUT,
            MAX_OUTPUT,
            IMAGES,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::Write,
        description: "Writes the text that `read` shows. Cells named by `cell:N` keep id, metadata and outputs; others are deleted.",
        fields: &[PATH, CONTENT, REVISION],
    },
    Definition {
        name: ToolName::Python,
        description: "Runs Python. Variables last in the session. An artifact has long output whole. `helpers()` lists helpers for \
                      files, search, shell and tools. For a notebook use its own tools.",
        fields: &[
            Field::new("code", Kind::Text, ""),
            Field::new("cells", Kind::Objects(&[CODE, TITLE]), "Or several, to the first that fails"),
            SESSION,
            RESET,
            CWD,
            CALL_TIMEOUT,
            MAX_OUTPUT,
            IMAGES,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::Eval,
        description: "As `python`, in `py` or the language of an installed kernel.",
        fields: &[
            Field::new(
                "cells",
                Kind::Objects(&[
                    Field::new("language", Kind::Text, "").required(),
                    CODE,
                    TITLE,
                    Field { description: "", ..RESET },
                ]),
                "",
            )
            .required(),
            Field { description: "", ..SESSION },
            CWD,
            Field { description: "Seconds", ..CALL_TIMEOUT },
            MAX_OUTPUT,
            IMAGES,
            SOFT_WAIT,
        ],
    },
    Definition {
        name: ToolName::Bash,
        description: "Runs a shell command. An artifact has all of long output.",
        fields: &[Field::new("command", Kind::Text, "").required(), CWD, CALL_TIMEOUT, MAX_OUTPUT, SOFT_WAIT],
    },
    Definition {
        name: ToolName::GetVariables,
        description: "Variables of a kernel: types, shapes, previews; named ones with head, NaNs, ranges.",
        fields: &[
            NOTEBOOK,
            Field::new("session", Kind::Text, "").also(&["kernelId"]),
            Field::new("names", Kind::Texts, ""),
        ],
    },
    Definition {
        name: ToolName::Wait,
        description: "Waits for an execution.",
        fields: &[Field::new("execution", Kind::Text, "").required(), TIMEOUT, MAX_OUTPUT, IMAGES],
    },
    Definition {
        name: ToolName::ReadArtifact,
        description: "Output that was cut: lines, its end, or matches.",
        fields: &[
            Field::new("id", Kind::Text, "").required(),
            Field::new("lines", Kind::Text, "As 100-180"),
            Field::new("tail", Kind::Whole(1), ""),
            Field::new("search", Kind::Text, "Regular expression"),
            MAX_OUTPUT,
        ],
    },
];

/// `notebook_kernel` in a mode that neither runs nor stops code.
pub(super) static KERNEL_STATUS: Definition = Definition {
    name: ToolName::NotebookKernel,
    description: "State of a kernel: the running code and its progress.",
    fields: &[
        NOTEBOOK,
        Field::new("session", Kind::Text, "Instead of a notebook").also(&["kernelId"]),
        Field::new("execution", Kind::Text, "Only this execution"),
        Field::new("action", Kind::Choice(&["status"]), "").required(),
    ],
};

const ACTION: Field = Field::new("action", Kind::Choice(&["edit", "insert", "delete"]), "");
const CELL_INDEX: Field = Field::new("cell_index", Kind::Whole(0), "0-based").also(&["cell", "index"]);
const CELL_TYPE: Field =
    Field::new("cell_type", Kind::Choice(TYPES), "For insert; default code").also(&["type"]);
