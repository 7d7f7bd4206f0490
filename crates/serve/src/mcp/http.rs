//! MCP over HTTP on the loopback interface. Requests need a token, and foreign pages are refused.

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

use super::server::McpServer;
use super::source::McpSource;
use crate::guard::{HttpGuard, MCP, check};
use crate::listen;

/// Time until an idle client is forgotten.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The access rule of an MCP server.
#[derive(Clone, Debug)]
pub struct HttpAccess {
    /// The token of clients. Without one, every process on this machine is accepted.
    pub token: Option<String>,
}

/// A bound MCP server.
#[derive(Debug)]
pub struct McpHttpServer {
    /// The address of the listener.
    pub address: SocketAddr,
    listener: TcpListener,
    router: Router,
}

/// Binds an address. Each client gets its own source. Needs a runtime.
pub async fn listen<S: McpSource>(
    address: SocketAddr,
    door: HttpAccess,
    another: impl Fn() -> McpServer<S> + Send + Sync + 'static,
) -> io::Result<McpHttpServer> {
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines; use 127.0.0.1 or [::1]");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let listener = listen::bind(address)?;
    let address = listener.local_addr()?;
    let guard = HttpGuard::new(address.port(), door.token.as_deref());
    let router = router(another).layer(from_fn_with_state(guard, check));
    Ok(McpHttpServer { address, listener, router })
}

impl McpHttpServer {
    /// The URL for clients.
    pub fn url(&self) -> String {
        format!("http://{}{MCP}", self.address)
    }

    /// Serves until it is dropped.
    pub async fn run(self) {
        listen::serve(self.listener, self.router, std::future::pending()).await;
    }
}

/// The routes of MCP.
pub(crate) fn router<S: McpSource>(another: impl Fn() -> McpServer<S> + Send + Sync + 'static) -> Router {
    // The guard checks host and origin.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        // Above the limit of a call, so that a call that is too large gets a proper result.
        .with_max_request_body_bytes(MCP_MESSAGE);
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(REMEMBERED);
    let service = StreamableHttpService::new(move || Ok(another()), Arc::new(sessions), config);
    Router::new().route_service(MCP, service).layer(from_fn(bounded))
}

/// Refuses a request by its announced length, before the body is read.
async fn bounded(request: Request, next: Next) -> Response {
    match wire::check("a request", request.body().size_hint().lower(), MCP_MESSAGE) {
        Ok(()) => next.run(request).await,
        Err(error) => (StatusCode::PAYLOAD_TOO_LARGE, error.to_string()).into_response(),
    }
}
