//! The HTTP routes of the page.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, Request, State, WebSocketUpgrade};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cellist_host::stored_value;
use cellist_notebook::CellId;
use cellist_output::wire::PAGE_MESSAGE;
use cellist_platform::aside::aside;
use cellist_session::sessions::SessionKey;

use super::PageServer;
use super::access::AdmittedBrowser;
use super::assets::{FILES, FRAME, INDEX};
use super::editor;
use super::handshake::PageHello;
use super::socket;
use crate::guard::{EDITOR, check};
use crate::listen;
use crate::secret::random;

/// A frame may use its own scripts and styles, and no network.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; \
                            style-src 'unsafe-inline'; img-src data: blob:; font-src data:; frame-ancestors 'self'";

/// The routes of the page and of programs.
pub(super) fn router(page: Arc<PageServer>, programs: Router) -> Router {
    let mut router = Router::new()
        .route("/", get(index))
        .route("/session", get(session).post(exchange))
        .route("/socket", get(connect))
        .route("/output", get(output))
        .route("/raw", get(raw))
        .route("/plotly.js", get(plotly))
        .route("/frame.html", get(frame))
        .route(EDITOR, get(editor::show).post(editor::report));
    for (name, kind, content) in FILES {
        let file = move || async move { ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache")], *content) };
        router = router.route(name, get(file));
    }
    let guard = page.guard.clone();
    let router = router.layer(middleware::from_fn_with_state(page.clone(), recognise)).with_state(page);
    router.merge(programs).layer(middleware::from_fn_with_state(guard, check))
}

/// Marks connections of signed-in browsers, which protects them from being closed for newer ones.
async fn recognise(State(page): State<Arc<PageServer>>, request: Request, next: Next) -> Response {
    if page.is_known(request.headers()) {
        listen::mark_authenticated(request.extensions());
    }
    next.run(request).await
}

type QueryMap = Query<HashMap<String, String>>;

/// Lifetime of a cookie in the browser. The host that set it may end earlier.
const COOKIE_AGE: u64 = 7 * 24 * 3600;

/// The page, for a browser with a code or a cookie. A code is answered without a redirect: a
/// browser that comes from a file would not send a strict cookie along.
async fn index(State(page): State<Arc<PageServer>>, Query(query): QueryMap, headers: HeaderMap) -> Response {
    let known = page.browser(&headers);
    let admitted = match query.get("code") {
        Some(code) => {
            let agent = headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
            match page.access.redeem(code, agent, page.guard.cookie(&headers)) {
                Ok(admitted) => admitted,
                Err(_) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
        None => None,
    };
    match (admitted, known) {
        (Some(AdmittedBrowser { browser, cookie }), _) => {
            let mut response = whole_page(&page, &browser);
            if let Ok(cookie) = cookie_header(&page, &cookie).parse() {
                response.headers_mut().insert(SET_COOKIE, cookie);
            }
            response
        }
        // A signed-in browser may open an expired link.
        (None, Some(browser)) => whole_page(&page, &browser),
        (None, None) if query.contains_key("code") => refused("This link has been used or has expired."),
        (None, None) => refused("This browser is not signed in."),
    }
}

/// The page with its own key and the shared key.
fn whole_page(page: &PageServer, browser: &str) -> Response {
    let (Ok(nonce), Ok(salt)) = (random(), random()) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; \
         font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify cellist"
    );
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    let salt = &salt[..32];
    let key = format!("{browser} {salt} {} {}", page.access.key(browser, salt), page.access.shared_key());
    (headers, INDEX.replace("NONCE", &nonce).replace("PAGE_KEY", &key)).into_response()
}

fn cookie_header(page: &PageServer, cookie: &str) -> String {
    let name = page.guard.cookie_name();
    format!("{name}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age={COOKIE_AGE}")
}

fn refused(why: &str) -> Response {
    let text = format!("{why} Run `cellist open` to get a new link.\n");
    (StatusCode::UNAUTHORIZED, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

async fn session(State(page): State<Arc<PageServer>>, headers: HeaderMap) -> StatusCode {
    if page.is_known(&headers) { StatusCode::NO_CONTENT } else { StatusCode::UNAUTHORIZED }
}

/// Exchanges the ticket of a returning page for a cookie.
async fn exchange(State(page): State<Arc<PageServer>>, ticket: String) -> Response {
    match page.access.exchange(&ticket) {
        Ok(Some(cookie)) => {
            (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie_header(&page, &cookie))]).into_response()
        }
        Ok(None) => refused("This browser is not signed in."),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Opens the socket of a page. The handshake on it authenticates the page; a cookie is not enough.
async fn connect(
    State(page): State<Arc<PageServer>>,
    hello: Result<Query<PageHello>, QueryRejection>,
    Extension(connection): Extension<listen::ConnectionHandle>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(hello) = hello.ok().map(|Query(hello)| hello).filter(PageHello::is_well_formed) else {
        return refused("The page sent no browser id.");
    };
    let upgrade = upgrade.max_message_size(PAGE_MESSAGE).max_frame_size(PAGE_MESSAGE);
    let signed_in = page.browser(&headers);
    upgrade.on_upgrade(move |stream| socket::serve(stream, connection, page, hello, signed_in))
}

async fn frame() -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, FRAME_POLICY)];
    (headers, FRAME).into_response()
}

/// One representation of an output.
async fn output(State(page): State<Arc<PageServer>>, Query(query): QueryMap, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let part = |name: &str| query.get(name).map(String::as_str).unwrap_or_default();
    let Ok(document) = page.shared.service.documents().open(Path::new(part("path"))).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let view = document.view();
    let found = view
        .notebook
        .position(&CellId::from(part("cell")))
        .and_then(|at| stored_value(&view.notebook.cells()[at], part("output").parse().ok()?, part("type")));
    match found {
        // A cached copy would be available to the next program on this port.
        Some((kind, bytes)) => {
            ([(CONTENT_TYPE, kind.as_str()), (CACHE_CONTROL, "no-store")], bytes).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The bytes of a notebook's file as text, even if it does not parse.
async fn raw(State(page): State<Arc<PageServer>>, Query(query): QueryMap, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let path = PathBuf::from(query.get("path").map(String::as_str).unwrap_or_default());
    if path.extension().is_none_or(|ending| ending != "ipynb") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let store = page.store();
    match aside(move || store.read_file(&path)).await {
        Ok(Ok(bytes)) => {
            let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, "no-store")];
            (headers, bytes).into_response()
        }
        Ok(Err(error)) => (StatusCode::NOT_FOUND, format!("{error}\n")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// The Plotly library, from the environment of the kernel.
async fn plotly(State(page): State<Arc<PageServer>>, Query(query): QueryMap, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let path = PathBuf::from(query.get("path").map(String::as_str).unwrap_or_default());
    let python = page.shared.service.sessions().order(&SessionKey::of_notebook(&path));
    let python = python.and_then(|order| order.python().map(Path::to_owned));
    let found = aside(move || bundled(&python?)).await;
    match found {
        Ok(Some(bytes)) => {
            ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], Body::from(bytes)).into_response()
        }
        Ok(None) | Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The library file of the plotly package in the environment of an interpreter.
fn bundled(python: &Path) -> Option<Vec<u8>> {
    let library = python.parent()?.parent()?.join("lib");
    let folders = std::fs::read_dir(library).ok()?.flatten();
    let files = folders.map(|folder| folder.path().join("site-packages/plotly/package_data/plotly.min.js"));
    files.into_iter().find_map(|file| std::fs::read(file).ok())
}
