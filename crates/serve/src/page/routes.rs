//! What the page's server answers over HTTP.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State, WebSocketUpgrade};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cellist_notebook::CellId;
use cellist_output::wire::PAGE_MESSAGE;
use cellist_session::aside::aside;
use cellist_session::sessions::SessionKey;

use super::Page;
use super::assets::{FILES, FRAME, INDEX};
use super::editor;
use super::shown::{encoded, value};
use super::socket;
use crate::guard::{EDITOR, check};
use crate::listen;
use crate::secret::random;

/// A frame has scripts and styles of its own making, and nothing else.
const FRAME_POLICY: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; \
                            style-src 'unsafe-inline'; img-src data: blob:; font-src data:; frame-ancestors 'self'";

/// The page, and beside it what programs ask for.
pub(super) fn router(page: Arc<Page>, programs: Router) -> Router {
    let mut router = Router::new()
        .route("/", get(index))
        .route("/session", get(session))
        .route("/socket", get(connect))
        .route("/output", get(output))
        .route("/raw", get(raw))
        .route("/plotly.js", get(plotly))
        .route("/frame.html", get(frame))
        .route(EDITOR, get(editor::look).post(editor::report));
    for (name, kind, content) in FILES {
        let file = move || async move { ([(CONTENT_TYPE, *kind), (CACHE_CONTROL, "no-cache")], *content) };
        router = router.route(name, get(file));
    }
    let guard = page.guard.clone();
    let router = router.layer(middleware::from_fn_with_state(page.clone(), recognise)).with_state(page);
    router.merge(programs).layer(middleware::from_fn_with_state(guard, check))
}

/// Connections of browsers that were let in do not give way to others.
async fn recognise(State(page): State<Arc<Page>>, request: Request, next: Next) -> Response {
    if page.is_known(request.headers()) {
        listen::known(request.extensions());
    }
    next.run(request).await
}

type Asked = Query<HashMap<String, String>>;

async fn index(State(page): State<Arc<Page>>, Query(asked): Asked, headers: HeaderMap) -> Response {
    if let Some(code) = asked.get("code") {
        let path = asked.get("path").map(|path| format!("?path={}", encoded(path))).unwrap_or_default();
        return match page.door.redeem(code) {
            Some(token) => {
                let name = page.guard.cookie_name();
                let cookie = format!("{name}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
                let headers = [(SET_COOKIE, cookie), (LOCATION, format!("/{path}"))];
                (StatusCode::SEE_OTHER, headers).into_response()
            }
            // Who is signed in already may open an old link again.
            None if page.is_known(&headers) => {
                (StatusCode::SEE_OTHER, [(LOCATION, format!("/{path}"))]).into_response()
            }
            None => refused("This link was used already, or is too old."),
        };
    }
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let Ok(nonce) = random() else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data: blob:; \
         font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'none'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify cellist"
    );
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8".to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    (headers, INDEX.replace("NONCE", &nonce)).into_response()
}

fn refused(why: &str) -> Response {
    let text = format!("{why} Run `cellist open` to get a new link.\n");
    (StatusCode::UNAUTHORIZED, [(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}

async fn session(State(page): State<Arc<Page>>, headers: HeaderMap) -> StatusCode {
    if page.is_known(&headers) { StatusCode::NO_CONTENT } else { StatusCode::UNAUTHORIZED }
}

async fn connect(State(page): State<Arc<Page>>, headers: HeaderMap, upgrade: WebSocketUpgrade) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let upgrade = upgrade.max_message_size(PAGE_MESSAGE).max_frame_size(PAGE_MESSAGE);
    upgrade.on_upgrade(move |stream| socket::serve(stream, page))
}

async fn frame() -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, FRAME_POLICY)];
    (headers, FRAME).into_response()
}

/// One representation of an output.
async fn output(State(page): State<Arc<Page>>, Query(asked): Asked, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let part = |name: &str| asked.get(name).map(String::as_str).unwrap_or_default();
    let Ok(document) = page.shared.desk.documents().open(Path::new(part("path"))).await else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let view = document.view();
    let found = view
        .notebook
        .position(&CellId::from(part("cell")))
        .and_then(|at| value(&view.notebook.cells()[at], part("output").parse().ok()?, part("type")));
    match found {
        // Its address changes with its content.
        Some((kind, bytes)) => {
            ([(CONTENT_TYPE, kind.as_str()), (CACHE_CONTROL, "private, max-age=3600")], bytes).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The bytes of a notebook's file as text, also of one that cannot be read as a notebook.
async fn raw(State(page): State<Arc<Page>>, Query(asked): Asked, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let path = PathBuf::from(asked.get("path").map(String::as_str).unwrap_or_default());
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

/// The program that draws figures, from the kernel's own environment.
async fn plotly(State(page): State<Arc<Page>>, Query(asked): Asked, headers: HeaderMap) -> Response {
    if !page.is_known(&headers) {
        return refused("This browser is not signed in.");
    }
    let path = PathBuf::from(asked.get("path").map(String::as_str).unwrap_or_default());
    let python = page.shared.desk.sessions().order(&SessionKey::of_notebook(&path));
    let python = python.and_then(|order| order.python().map(Path::to_owned));
    let found = aside(move || bundled(&python?)).await;
    match found {
        Ok(Some(bytes)) => {
            ([(CONTENT_TYPE, "text/javascript; charset=utf-8")], Body::from(bytes)).into_response()
        }
        Ok(None) | Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The file that the package brings, in the environment of an interpreter.
fn bundled(python: &Path) -> Option<Vec<u8>> {
    let library = python.parent()?.parent()?.join("lib");
    let folders = std::fs::read_dir(library).ok()?.flatten();
    let files = folders.map(|folder| folder.path().join("site-packages/plotly/package_data/plotly.min.js"));
    files.into_iter().find_map(|file| std::fs::read(file).ok())
}
