//! The tools in the list of MCP: equal for all clients of a mode, in a fixed order.

use std::sync::Arc;

use cellist_tools::{CallAccess, Definition, Mode, ToolFacts, ToolGroup, ToolName, ToolOffer, ToolSet};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::Value;

/// The tools of a mode and a set.
pub fn tools(mode: Mode, set: ToolSet) -> Vec<Tool> {
    // A call may always name a notebook, so notebook tools are always listed.
    let offer = ToolOffer { tools: set, ..ToolOffer::new(mode, true) };
    let offered = ToolName::ALL.into_iter().filter(|name| offer.has(*name) && is_in(*name, set));
    offered.map(|name| tool(&name.in_mode(mode), mode)).collect()
}

/// Whether a set has a tool, in any mode.
pub(super) fn is_in(name: ToolName, set: ToolSet) -> bool {
    match set {
        ToolSet::Notebook => name.facts().group != ToolGroup::Shell,
        ToolSet::All => true,
    }
}

fn tool(definition: &Definition, mode: Mode) -> Tool {
    let schema = match definition.schema() {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    let mut tool = Tool::new(definition.name.as_str(), definition.description, Arc::new(schema));
    tool.annotations = Some(annotations(definition, mode)).filter(|said| *said != ToolAnnotations::new());
    tool
}

/// Hints for a client that asks its user for permission. Omitted hints have the defaults of MCP: a
/// tool changes things, destructively, not idempotently, and reaches the outside.
fn annotations(definition: &Definition, mode: Mode) -> ToolAnnotations {
    if definition.only_looks(mode) {
        return ToolAnnotations::new().read_only(true).open_world(false);
    }
    let ToolFacts { access, destroys, repeats, .. } = definition.facts;
    let mut annotations = ToolAnnotations::new();
    annotations.destructive_hint = (!destroys).then_some(false);
    annotations.idempotent_hint = repeats.then_some(true);
    // Code can do anything.
    annotations.open_world_hint = (access != CallAccess::Run).then_some(false);
    annotations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(mode: Mode, set: ToolSet) -> String {
        tools(mode, set).iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_mode_has_its_list_in_a_fixed_order() {
        let look = "get_notebook_cells get_cell_outputs search_notebook notebook_kernel read";
        let rest = "get_variables wait read_artifact";
        assert_eq!(names(Mode::Ask, ToolSet::Notebook), format!("{look} {rest}"));
        // Edit mode changes only ordinary files, which this set has no tools for.
        assert_eq!(names(Mode::Edit, ToolSet::Notebook), format!("{look} {rest}"));
        assert_eq!(names(Mode::Edit, ToolSet::All), format!("{look} edit write {rest}"));
        assert_eq!(
            names(Mode::Agent, ToolSet::Notebook),
            "get_notebook_cells get_cell_outputs search_notebook run_notebook_cells add_notebook_cell update_notebook_cell \
             delete_notebook_cells move_notebook_cell undo create_notebook notebook_kernel notebook read edit write \
             python eval get_variables wait read_artifact"
        );
        assert!(names(Mode::Agent, ToolSet::All).contains("write python eval bash get_variables"));
    }

    #[test]
    fn the_tool_lists_are_small() {
        // The whole list, with its annotations.
        let size = |set| serde_json::to_string(&tools(Mode::Agent, set)).unwrap().len();
        assert!(size(ToolSet::Notebook) <= 12_000, "{}", size(ToolSet::Notebook));
        assert!(size(ToolSet::All) <= 18_000, "{}", size(ToolSet::All));
    }

    #[test]
    fn no_tool_has_an_output_schema() {
        assert!(tools(Mode::Agent, ToolSet::All).iter().all(|tool| tool.output_schema.is_none()));
    }

    #[test]
    fn read_only_tools_are_marked_by_mode() {
        let looks = |mode| {
            let all = tools(mode, ToolSet::Notebook);
            let reads =
                |tool: &Tool| tool.annotations.as_ref().is_some_and(|a| a.read_only_hint == Some(true));
            all.iter().filter(|tool| reads(tool)).map(|tool| tool.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(looks(Mode::Ask).join(" "), names(Mode::Ask, ToolSet::Notebook));
        assert!(!looks(Mode::Agent).contains(&"notebook_kernel".to_owned()));
    }
}
