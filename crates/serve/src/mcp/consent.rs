//! Asks the user of a client whether an agent may change a file that other programs execute.

use std::time::Duration;

use cellist_tools::ToolName;
use rmcp::RoleServer;
use rmcp::model::{CustomRequest, ServerRequest};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::timeout;

/// Time limit for the answer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Whether the user consents to the change of a file. A client that cannot ask counts as a refusal.
pub(super) async fn consents(context: &RequestContext<RoleServer>, tool: ToolName, path: &str) -> bool {
    let can_ask = context.peer.peer_info().is_some_and(|client| {
        let asking = client.capabilities.elicitation.as_ref();
        asking.is_some_and(|asking| asking.form.is_some() || asking.url.is_none())
    });
    if !can_ask {
        return false;
    }
    let request = CustomRequest::new("elicitation/create", Some(question(tool, path)));
    let asked = context.peer.send_request(ServerRequest::CustomRequest(request));
    tokio::select! {
        answer = timeout(PATIENCE, asked) => match answer {
            Ok(Ok(answer)) => is_yes(&serde_json::to_value(answer).unwrap_or_default()),
            Ok(Err(_)) | Err(_) => false,
        },
        () = context.ct.cancelled() => false,
    }
}

fn question(tool: ToolName, path: &str) -> Value {
    let shown: String = path.chars().filter(|letter| !letter.is_control()).collect();
    let message = format!(
        "An agent wants to change {shown} with the tool {tool}. Other programs run or obey this file. Allow the agent to \
         change it for as long as it is connected?"
    );
    let allow = json!({ "type": "boolean", "title": "Allow changes of this file", "default": false });
    json!({
        "mode": "form",
        "message": message,
        "requestedSchema": { "type": "object", "properties": { "allow": allow }, "required": ["allow"] },
    })
}

fn is_yes(answer: &Value) -> bool {
    answer["action"] == "accept" && answer["content"]["allow"] == true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_explicit_yes_is_consent() {
        let check = |answer: Value, expected: bool| assert_eq!(is_yes(&answer), expected, "{answer}");
        check(json!({ "action": "accept", "content": { "allow": true } }), true);
        check(json!({ "action": "accept", "content": { "allow": "true" } }), false);
        check(json!({ "action": "accept", "content": { "allow": false } }), false);
        check(json!({ "action": "accept" }), false);
        check(json!({ "action": "decline", "content": { "allow": true } }), false);
        check(json!({ "action": "cancel" }), false);
        check(json!({}), false);
    }
}
