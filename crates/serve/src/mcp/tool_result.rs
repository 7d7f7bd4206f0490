//! Converts answers of tools to MCP results.

use std::fmt::Display;

use cellist_tools::{AnswerBlock, ToolAnswer};
use rmcp::model::{CallToolResult, ContentBlock, Resource};

/// The result of a call.
pub(super) fn result(answer: ToolAnswer) -> CallToolResult {
    let ToolAnswer { blocks, is_failure, keys, .. } = answer;
    let blocks = blocks.into_iter().map(block).collect();
    let mut result = if is_failure { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = keys;
    result
}

/// The result of a call that was refused.
pub(super) fn refusal(reason: impl Display) -> CallToolResult {
    result(ToolAnswer::failure(reason))
}

fn block(block: AnswerBlock) -> ContentBlock {
    match block {
        AnswerBlock::Text(text) => ContentBlock::text(text),
        AnswerBlock::Image { mime, data } => ContentBlock::image(data, mime),
        AnswerBlock::Link { uri, name, mime } => {
            ContentBlock::resource_link(Resource::new(uri, name).with_mime_type(mime))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn blocks_are_converted_and_failures_are_marked() {
        let blocks = vec![
            AnswerBlock::Text("done".into()),
            AnswerBlock::Image { mime: "image/png".into(), data: "aGk=".into() },
            AnswerBlock::Link {
                uri: "artifact://a1".into(),
                name: "output".into(),
                mime: "text/plain".into(),
            },
        ];
        let answer = ToolAnswer {
            blocks,
            is_failure: false,
            keys: Some(json!({ "total_cells": 3 })),
            ..ToolAnswer::default()
        };
        let mut told = serde_json::to_value(result(answer)).unwrap();
        told.as_object_mut().unwrap().remove("resultType");
        let expected = json!({
            "content": [
                { "type": "text", "text": "done" },
                { "type": "image", "data": "aGk=", "mimeType": "image/png" },
                { "type": "resource_link", "uri": "artifact://a1", "name": "output", "mimeType": "text/plain" },
            ],
            "structuredContent": { "total_cells": 3 },
            "isError": false,
        });
        assert_eq!(told, expected);
        let told = serde_json::to_value(refusal("no such cell")).unwrap();
        assert_eq!(told["isError"], true);
        assert_eq!(told["content"][0]["text"], "Error: no such cell");
    }
}
