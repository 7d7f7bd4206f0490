//! Checks that every HTTP request has to pass, for the page and for programs: the target is this
//! machine, the origin is not a foreign page, and the token is valid. Adds restrictive headers to
//! every response.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN,
    REFERRER_POLICY, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::listen;
use crate::secret::is_same;

/// The path of MCP.
pub(crate) const MCP: &str = "/mcp";
/// The path where editors report the active notebook.
pub(crate) const EDITOR: &str = "/editor";

/// Names of this machine.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Checks target, origin and token of requests.
///
/// It runs before every handler of a listener and reads headers only. Cookies are not checked here:
/// each handler of the page decides by [`HttpGuard::cookie`] whether the browser is signed in. The
/// guard has no state, so the order of requests does not matter.
#[derive(Clone, Debug)]
pub(crate) struct HttpGuard {
    port: u16,
    /// The token of programs. Without one, every program on this machine is accepted.
    token: Option<Arc<str>>,
}

/// The reason for a refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpRefusal {
    /// The `Host` header names another machine, or is ambiguous.
    Elsewhere,
    /// The origin is a foreign page.
    Foreign,
    /// The token is missing or wrong.
    Unknown,
}

impl HttpGuard {
    pub(crate) fn new(port: u16, token: Option<&str>) -> HttpGuard {
        HttpGuard { port, token: token.map(Arc::from) }
    }

    /// The port of the listener.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn is_host(&self, host: &str) -> bool {
        NAMES.iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// The reason to refuse a request, if any.
    pub(crate) fn refusal(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<HttpRefusal> {
        // With several values, other programs might use a different one than we do.
        let Ok((host, origin)) = only(headers, &HOST).and_then(|host| Ok((host, only(headers, &ORIGIN)?)))
        else {
            return Some(HttpRefusal::Elsewhere);
        };
        let host = host.unwrap_or_default();
        if is_for_programs(path) {
            // Programs may come through a tunnel, so any port is accepted.
            let is_local_page = |origin: &str| {
                let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                host.is_some_and(is_local)
            };
            return match (is_local(host), origin.is_none_or(is_local_page), self.is_shown(headers)) {
                (false, _, _) => Some(HttpRefusal::Elsewhere),
                (true, false, _) => Some(HttpRefusal::Foreign),
                (true, true, false) => Some(HttpRefusal::Unknown),
                (true, true, true) => None,
            };
        }
        if !self.is_host(host) {
            return Some(HttpRefusal::Elsewhere);
        }
        let acts = !matches!(*method, Method::GET | Method::HEAD) || path == "/socket";
        let is_ours = match origin {
            Some(origin) => origin.strip_prefix("http://").is_some_and(|host| self.is_host(host)),
            None => !acts,
        };
        (!is_ours || is_fetched_elsewhere(path, headers)).then_some(HttpRefusal::Foreign)
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        shown.is_some_and(|(scheme, shown)| {
            scheme.eq_ignore_ascii_case("bearer") && is_same(shown.trim(), token)
        })
    }

    /// The value of our page's cookie.
    pub(crate) fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';')).find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    }

    /// The name contains the port, because browsers send cookies to all ports of a machine.
    pub(crate) fn cookie_name(&self) -> String {
        format!("cellist-{}", self.port)
    }
}

/// Whether the browser reports a request of a foreign page. A page on another port is foreign,
/// though the browser sends our cookie with it. A link may only navigate to our page.
fn is_fetched_elsewhere(path: &str, headers: &HeaderMap) -> bool {
    let is = |name: &str, wanted: &str| headers.get(name).is_some_and(|value| value == wanted);
    let elsewhere = is("sec-fetch-site", "same-site") || is("sec-fetch-site", "cross-site");
    elsewhere && !(path == "/" && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document"))
}

fn is_for_programs(path: &str) -> bool {
    [MCP, EDITOR].contains(&path)
}

/// The value of a header that must not be repeated.
pub(crate) fn only<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, AmbiguousHeader> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| AmbiguousHeader)).transpose()?;
    if values.next().is_some() { Err(AmbiguousHeader) } else { Ok(first) }
}

/// A header that was repeated, or is not text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousHeader;

/// Whether a host name, with or without a port, is this machine.
fn is_local(host: &str) -> bool {
    NAMES.iter().any(|name| match host.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    })
}

impl HttpRefusal {
    fn response(self, is_program: bool) -> Response {
        match self {
            // MCP knows one status for both.
            HttpRefusal::Elsewhere if !is_program => (
                StatusCode::MISDIRECTED_REQUEST,
                "this server answers only to 127.0.0.1, localhost and [::1]\n",
            )
                .into_response(),
            HttpRefusal::Elsewhere | HttpRefusal::Foreign => {
                (StatusCode::FORBIDDEN, "refused: the request comes from another machine or web page\n")
                    .into_response()
            }
            HttpRefusal::Unknown => {
                let told = "the token is missing or wrong: send `Authorization: Bearer TOKEN`\n";
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], told).into_response()
            }
        }
    }
}

/// Refuses bad requests, and adds restrictive headers to all responses.
pub(crate) async fn check(State(guard): State<HttpGuard>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let refusal = guard.refusal(request.method(), path, request.headers());
    let mut response = match refusal {
        Some(refusal) => refusal.response(is_for_programs(path)),
        None => {
            if is_for_programs(path) {
                listen::mark_authenticated(request.extensions());
            }
            next.run(request).await
        }
    };
    let headers = response.headers_mut();
    let always = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in always {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        method: &Method,
        path: &str,
        (host, origin, shown): (Option<&str>, Option<&str>, Option<&str>),
        expected: Option<HttpRefusal>,
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin), (AUTHORIZATION, shown)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        let refusal = HttpGuard::new(80, Some("secret")).refusal(method, path, &headers);
        assert_eq!(refusal, expected, "{method} {path} for {host:?} from {origin:?} with {shown:?}");
    }

    #[test]
    fn only_our_own_page_on_this_machine_gets_in() {
        let (get, ours) = (Method::GET, Some("127.0.0.1:80"));
        check(&get, "/", (ours, None, None), None);
        check(&get, "/", (Some("localhost:80"), None, None), None);
        check(&get, "/", (Some("[::1]:80"), None, None), None);
        for host in [
            None,
            Some("evil.test:80"),
            Some("127.0.0.1"),
            Some("127.0.0.1:81"),
            Some("127.0.0.1:80.evil.test"),
        ] {
            check(&get, "/", (host, None, None), Some(HttpRefusal::Elsewhere));
        }
        check(&get, "/", (ours, Some("http://evil.test"), None), Some(HttpRefusal::Foreign));
        check(&get, "/socket", (ours, Some("http://127.0.0.1:80"), None), None);
        check(&get, "/socket", (ours, Some("http://localhost:80"), None), None);
        for origin in [
            None,
            Some("null"),
            Some("http://evil.test"),
            Some("https://127.0.0.1:80"),
            Some("http://127.0.0.1:81"),
        ] {
            // A token is for programs and gives no access to the page.
            check(&get, "/socket", (ours, origin, Some("Bearer secret")), Some(HttpRefusal::Foreign));
            check(&Method::POST, "/", (ours, origin, None), Some(HttpRefusal::Foreign));
        }
    }

    #[test]
    fn programs_on_this_machine_need_the_token() {
        let (ours, shown) = (Some("127.0.0.1:80"), Some("Bearer secret"));
        for path in [MCP, EDITOR] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                check(&method, path, (ours, None, shown), None);
                check(&method, path, (Some("localhost"), None, Some("bearer secret")), None);
                check(&method, path, (Some("[::1]:9000"), Some("http://localhost:3000"), shown), None);
                for host in [None, Some("evil.test"), Some("localhost.evil.test:80"), Some("127.0.0.1:x")] {
                    check(&method, path, (host, None, shown), Some(HttpRefusal::Elsewhere));
                }
                for origin in ["null", "http://evil.test", "file://localhost", "http://localhost.evil.test"] {
                    check(&method, path, (ours, Some(origin), shown), Some(HttpRefusal::Foreign));
                }
                for shown in
                    [None, Some("secret"), Some("Bearer"), Some("Bearer other1"), Some("Basic secret")]
                {
                    check(&method, path, (ours, None, shown), Some(HttpRefusal::Unknown));
                }
            }
        }
        let open = HttpGuard::new(80, None);
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost:80"))]);
        assert_eq!(open.refusal(&Method::POST, MCP, &headers), None);
    }

    #[test]
    fn repeated_host_or_origin_headers_are_refused() {
        for (name, value) in [(HOST, "127.0.0.1:80"), (ORIGIN, "http://127.0.0.1:80")] {
            for path in ["/", "/socket", MCP] {
                let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:80"))]);
                headers.insert(ORIGIN, HeaderValue::from_static("http://127.0.0.1:80"));
                let open = HttpGuard::new(80, None);
                assert_eq!(open.refusal(&Method::GET, path, &headers), None);
                headers.append(name.clone(), HeaderValue::from_static(value));
                assert_eq!(
                    open.refusal(&Method::GET, path, &headers),
                    Some(HttpRefusal::Elsewhere),
                    "{name} {path}"
                );
            }
        }
    }

    #[test]
    fn a_page_on_another_port_may_link_to_ours_but_not_fetch() {
        let ours = HttpGuard::new(80, None);
        let check =
            |path: &str, site: &'static str, mode: &'static str, dest: &'static str, is_let_in: bool| {
                let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:80"))]);
                for (name, value) in
                    [("sec-fetch-site", site), ("sec-fetch-mode", mode), ("sec-fetch-dest", dest)]
                {
                    headers.insert(name, HeaderValue::from_static(value));
                }
                let refusal = ours.refusal(&Method::GET, path, &headers);
                assert_eq!(refusal.is_none(), is_let_in, "{path} {site} {mode} {dest}");
            };
        for site in ["same-site", "cross-site"] {
            check("/", site, "navigate", "document", true);
            check("/", site, "navigate", "iframe", false);
            check("/", site, "no-cors", "image", false);
            check("/output", site, "no-cors", "image", false);
            check("/raw", site, "navigate", "document", false);
            check("/main.js", site, "no-cors", "script", false);
        }
        for site in ["none", "same-origin"] {
            check("/", site, "navigate", "document", true);
            check("/raw", site, "navigate", "document", true);
            check("/output", site, "no-cors", "image", true);
        }
    }

    #[test]
    fn the_cookie_is_that_of_our_port() {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, "a=b; cellist-81=no; cellist-80=yes".parse().unwrap());
        assert_eq!(HttpGuard::new(80, None).cookie(&headers), Some("yes"));
        assert_eq!(HttpGuard::new(82, None).cookie(&headers), None);
    }
}
