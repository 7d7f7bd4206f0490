//! The protocol over HTTP, on this machine alone: whoever comes shows a token, and a page of elsewhere is turned away.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use cellist_output::wire::{self, MCP_MESSAGE};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::server::Server;
use super::source::Source;
use crate::guard::{Guard, MCP, check};
use crate::listen;

/// How long a client that says nothing is remembered.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Who is let in.
#[derive(Clone, Debug)]
pub struct Door {
    /// What a client has to show; nothing means that everybody on this machine may come.
    pub token: Option<String>,
}

/// A server that can be reached.
#[derive(Debug)]
pub struct Listening {
    /// Its address.
    pub address: SocketAddr,
    listener: TcpListener,
    router: Router,
}

/// Takes a place to listen at. Each client is served by a source of its own. Needs a runtime.
pub async fn listen<S: Source>(
    address: SocketAddr,
    door: Door,
    another: impl Fn() -> Server<S> + Send + Sync + 'static,
) -> io::Result<Listening> {
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines; use 127.0.0.1 or [::1]");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let listener = listen::bind(address)?;
    let address = listener.local_addr()?;
    let guard = Guard::new(address.port(), door.token.as_deref());
    let router = router(another).layer(from_fn_with_state(guard, check));
    Ok(Listening { address, listener, router })
}

impl Listening {
    /// Its address for a client.
    pub fn url(&self) -> String {
        format!("http://{}{MCP}", self.address)
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        listen::serve(self.listener, self.router, std::future::pending()).await;
    }
}

/// What answers requests that were let in.
pub(crate) fn router<S: Source>(another: impl Fn() -> Server<S> + Send + Sync + 'static) -> Router {
    // Who may come is for the guard to say.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // Above what a call may hold, so that a call that is too large is told so in its result.
        .with_max_request_body_bytes(MCP_MESSAGE);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(REMEMBERED);
    let service = StreamableHttpService::new(move || Ok(another()), Arc::new(sessions), config);
    Router::new().route_service(MCP, service).layer(from_fn(bounded))
}

/// Refuses a request that announces more than is taken, before any of it is read.
async fn bounded(request: Request, next: Next) -> Response {
    match wire::check("a request", request.body().size_hint().lower(), MCP_MESSAGE) {
        Ok(()) => next.run(request).await,
        Err(error) => (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
    }
}
