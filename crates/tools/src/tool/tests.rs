use serde_json::{Value, json};

use super::*;
use crate::offer::ToolOffer;

#[test]
fn every_tool_is_found_by_its_name() {
    for tool in ToolName::ALL {
        assert_eq!(ToolName::from_name(tool.as_str()), Some(tool));
    }
    assert_eq!(ToolName::from_name("fly"), None);
}

#[test]
fn a_tool_for_notebooks_has_a_line_in_prompts() {
    for mode in Mode::ALL {
        for tool in ToolOffer::new(mode, true).notebook_tools() {
            assert!(!tool.in_mode(mode).facts.prompt.is_empty(), "{tool}");
        }
    }
}

#[test]
fn the_page_for_agents_lists_each_tool_once() {
    let page = include_str!("../../../../docs/agents.md");
    let table = page.split_once("### The tools").unwrap().1.split("\n\n").nth(1).unwrap();
    let names = table.lines().skip(2).filter_map(|row| row.split('|').nth(1));
    let mut listed: Vec<ToolName> = names
        .flat_map(|names| names.split(',').map(|name| name.trim().trim_matches('`').to_owned()))
        .map(|name| ToolName::from_name(&name).unwrap_or_else(|| panic!("there is no tool {name}")))
        .collect();
    listed.sort_by_key(|tool| *tool as usize);
    assert_eq!(listed, ToolName::ALL);
}

#[test]
fn every_tool_has_a_definition_of_its_own() {
    for name in ToolName::ALL {
        let definition = name.definition();
        assert_eq!(definition.name, name);
        assert!(!definition.description.is_empty());
        assert!(definition.description.len() <= 420, "{name}: {}", definition.description.len());
        assert!(definition.fields.len() <= 11, "{name}");
    }
}

#[test]
fn all_descriptions_and_schemas_together_are_small() {
    let size = |names: &mut dyn Iterator<Item = ToolName>| -> usize {
        let told = |name: ToolName| {
            let definition = name.definition();
            json!({ "name": name.as_str(), "description": definition.description, "inputSchema": definition.schema() })
        };
        names.map(|name| told(name).to_string().len()).sum()
    };
    let usual = size(&mut ToolName::ALL.into_iter().filter(|name| *name != ToolName::Bash));
    let all = size(&mut ToolName::ALL.into_iter());
    assert!(usual <= 11_000, "{usual}");
    assert!(all <= 12_000, "{all}");
}

#[test]
fn a_schema_has_required_and_optional_arguments() {
    let schema = ToolName::UpdateNotebookCell.definition().schema();
    assert_eq!(schema["required"], json!(["cell", "content"]));
    assert_eq!(schema["properties"]["cell"]["anyOf"], json!([{ "type": "string" }, { "type": "integer" }]));
    assert_eq!(schema["properties"]["run"]["type"], "boolean");
    let schema = ToolName::Python.definition().schema();
    assert_eq!(schema["properties"]["cells"]["items"]["required"], json!(["code"]));
    assert_eq!(schema.get("required"), None);
}

#[test]
fn arguments_have_one_name_and_a_description() {
    let fields =
        ToolName::ALL.into_iter().flat_map(|name| name.definition().fields.iter().map(move |it| (name, it)));
    for (tool, field) in fields {
        let is_described = !field.description.is_empty();
        match field.kind {
            FieldKind::Cell => assert!(["cell", "after"].contains(&field.name), "{tool}.{}", field.name),
            FieldKind::Cells => assert_eq!(field.name, "cells", "{tool}"),
            FieldKind::Seconds => {
                assert!(["timeout", "soft_wait"].contains(&field.name), "{tool}.{}", field.name);
                let is_timeout = field.name == "timeout";
                assert!(!is_timeout || field.description.starts_with("Seconds"), "{tool}");
            }
            _ => {}
        }
        assert!(field.name != "revision" || is_described, "{tool}");
        // The compact tool keeps its old names.
        let is_old = ["cell_index", "cell_type", "cell_id", "kernelId", "source"].contains(&field.name);
        assert!(!is_old || tool == ToolName::Notebook, "{tool}.{}", field.name);
    }
    // A model reads all tools together: a shared argument is described where it comes first.
    for name in ["notebook", "cell", "cells", "max_output", "soft_wait"] {
        let all = ToolName::ALL.into_iter().flat_map(|tool| tool.definition().fields);
        let first = all.filter(|field| field.name == name).find(|field| !field.description.is_empty());
        assert!(first.is_some(), "{name}");
    }
}

#[test]
fn every_tool_that_runs_cells_takes_the_same_limits() {
    let runs = |name: &ToolName| {
        let has_run = name.definition().fields.iter().any(|field| field.name == "run");
        has_run || [ToolName::RunNotebookCells, ToolName::Python, ToolName::Eval].contains(name)
    };
    let tools: Vec<ToolName> = ToolName::ALL.into_iter().filter(runs).collect();
    assert_eq!(tools.len(), 6);
    for tool in tools {
        for name in ["timeout", "max_output", "images", "soft_wait"] {
            let mut fields = tool.definition().fields.iter();
            assert!(fields.any(|field| field.name == name), "{tool}.{name}");
        }
    }
}

#[test]
fn a_mode_lists_no_choice_that_it_refuses() {
    let actions = |mode: Mode| {
        let schema = ToolName::WantedKernel.in_mode(mode).schema();
        schema["properties"]["action"]["enum"].clone()
    };
    assert_eq!(actions(Mode::Ask), json!(["status"]));
    assert_eq!(actions(Mode::Edit), json!(["status"]));
    assert_eq!(actions(Mode::Agent), json!(["status", "interrupt", "restart"]));
}

#[test]
fn read_only_tools_never_change_anything() {
    let looks = |mode: Mode| {
        let names = ToolName::ALL.into_iter().filter(|name| name.definition().only_looks(mode));
        names.map(ToolName::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        looks(Mode::Agent),
        "get_notebook_cells get_cell_outputs search_notebook read get_variables wait read_artifact"
    );
    assert_eq!(
        looks(Mode::Ask),
        "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read get_variables wait read_artifact"
    );
}

/// Lists the modes that allow a call.
fn modes(tool: ToolName, arguments: Value) -> String {
    let access = ToolRequest::read(tool, &arguments).unwrap().access();
    let allowed = Mode::ALL.into_iter().filter(|mode| mode.allows(access));
    allowed.map(Mode::as_str).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_whole_table_of_tools_and_modes() {
    use super::ToolName::*;
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
        (WantedKernel, json!({ "action": "status" }), all),
        (WantedKernel, json!({ "action": "interrupt" }), agent),
        (WantedKernel, json!({ "action": "restart" }), agent),
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
fn a_change_with_run_is_a_run() {
    let run = |run: bool| {
        let given = json!({ "cell": 0, "content": "", "run": run });
        Toolbox::access_of(ToolName::UpdateNotebookCell, &given)
    };
    assert_eq!((run(false), run(true)), (CallAccess::ChangeNotebook, CallAccess::Run));
}

#[test]
fn aliases_are_accepted_and_errors_name_the_tool() {
    let refused = |tool, given| ToolRequest::read(tool, &given).err().unwrap().to_string();
    assert_eq!(
        refused(ToolName::Python, json!({ "session": "a", "kernelId": "b" })),
        "`session` and `kernelId` are the same argument; give only one"
    );
    assert_eq!(
        refused(ToolName::UpdateNotebookCell, json!({ "cell": 1, "content": "x", "colour": "red" })),
        "unknown argument `colour`; update_notebook_cell takes notebook, cell, content, run, revision, timeout, max_output, images, soft_wait"
    );
    assert_eq!(
        refused(ToolName::Python, json!({ "cells": [{ "code": "1" }, { "title": "t" }] })),
        "`cells[1].code` is missing: it must be text"
    );
    for (tool, given) in [
        (ToolName::UpdateNotebookCell, json!({ "path": "n.ipynb", "cell_index": 3, "source": "x" })),
        (ToolName::Edit, json!({ "notebook": "n.ipynb", "old": "a", "new": "b" })),
        (ToolName::Notebook, json!({ "notebook": "n.ipynb", "action": "delete", "cell": 0 })),
        (ToolName::Notebook, json!({ "path": "n.ipynb", "action": "insert", "index": 0, "type": "raw" })),
        (ToolName::Eval, json!({ "cells": [], "kernelId": "s" })),
    ] {
        assert!(ToolRequest::read(tool, &given).is_ok(), "{tool}");
    }
}
