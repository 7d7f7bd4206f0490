//! The bridge from code in a kernel to the tools: HTTP on the loopback interface. A call needs the
//! token of a session whose code is running.

use std::io;
use std::net::Ipv4Addr;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use cellist_host::HostService;
use cellist_session::execution::{Cancel, Canceller};
use cellist_session::sessions::SessionKey;
use cellist_tools::{AnswerBlock, NotCalled, ToolAnswer};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::guard::only;
use crate::listen;

/// The path of calls.
const PATH: &str = "/call";
/// Limit on the body of a call.
const MOST_BODY: usize = 16 << 20;

/// The body of a call.
#[derive(Deserialize)]
struct BridgeCall {
    session: String,
    tool: String,
    #[serde(default)]
    arguments: Value,
}

/// The service that executes calls, and the only `Host` header that is accepted.
#[derive(Clone)]
struct ToolBridge {
    service: HostService,
    host: String,
}

/// Starts to listen for the sessions of a service. Needs a runtime, and ends with it.
pub async fn open(service: &HostService) -> io::Result<()> {
    let listener = listen::bind((Ipv4Addr::LOCALHOST, 0).into())?;
    let bridge = ToolBridge { service: service.clone(), host: listener.local_addr()?.to_string() };
    let url = format!("http://{}{PATH}", bridge.host);
    let router = Router::new().route(PATH, post(answer)).with_state(bridge);
    tokio::spawn(listen::serve(listener, router, std::future::pending()));
    service.sessions().bridge().open(url);
    Ok(())
}

async fn answer(State(bridge): State<ToolBridge>, request: Request) -> Response {
    match execute(&bridge, request).await {
        Ok(answer) => json_response(StatusCode::OK, &answer_json(&answer)),
        Err((status, why)) => json_response(status, &json!({ "text": why, "failed": true })),
    }
}

fn json_response(status: StatusCode, content: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], content.to_string()).into_response()
}

async fn execute(bridge: &ToolBridge, request: Request) -> Result<ToolAnswer, (StatusCode, String)> {
    let key = authenticate(bridge, request.headers())?;
    listen::mark_authenticated(request.extensions());
    let too_large = || {
        let why = format!("the call is too large: at most {MOST_BODY} bytes");
        (StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    if length.and_then(|length| length.parse::<usize>().ok()).is_some_and(|length| length > MOST_BODY) {
        return Err(too_large());
    }
    let body = to_bytes(request.into_body(), MOST_BODY).await.map_err(|_| too_large())?;
    let BridgeCall { session, tool, arguments } = serde_json::from_slice(&body)
        .map_err(|error| (StatusCode::BAD_REQUEST, format!("malformed call: {error}")))?;
    if session != key.id {
        let why = format!("the token does not belong to session {session}");
        return Err((StatusCode::FORBIDDEN, why));
    }
    let (canceller, cancel) = Cancel::channel();
    let _cancel_on_drop = CancelOnDrop(canceller);
    let called = bridge.service.toolbox().call_from(&key, &tool, &arguments, cancel).await;
    called.map_err(|not| match &not {
        NotCalled::Nobody { .. } => (StatusCode::CONFLICT, not.to_string()),
        NotCalled::Unknown { .. } => (StatusCode::NOT_FOUND, not.to_string()),
    })
}

/// Authenticates the calling session. Refuses requests of browsers.
fn authenticate(
    ToolBridge { service, host }: &ToolBridge,
    headers: &HeaderMap,
) -> Result<SessionKey, (StatusCode, String)> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let is_ours = only(headers, &header::HOST) == Ok(Some(host));
    if !is_ours || headers.contains_key(header::ORIGIN) {
        return Err((StatusCode::FORBIDDEN, "only code in a kernel may call tools".to_owned()));
    }
    let token = text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
    token.and_then(|token| service.sessions().bridge().session(token.trim())).ok_or_else(|| {
        let why = "the token is missing or wrong: send `Authorization: Bearer TOKEN`";
        (StatusCode::UNAUTHORIZED, why.to_owned())
    })
}

/// The complete answer as JSON for a program, with its text apart from the notices about it.
fn answer_json(answer: &ToolAnswer) -> Value {
    let image = |block: &AnswerBlock| match block {
        AnswerBlock::Image { mime, data } => Some(json!({ "mime": mime, "data": data })),
        AnswerBlock::Text(_) | AnswerBlock::Link { .. } => None,
    };
    let images: Vec<Value> = answer.blocks.iter().filter_map(image).collect();
    let (text, about) = answer.text_and_about();
    json!({
        "text": text,
        "about": about,
        "images": images,
        "data": answer.keys,
        "failed": answer.is_failure,
    })
}

/// Cancels the run of a call when its HTTP request is dropped.
struct CancelOnDrop(Canceller);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
