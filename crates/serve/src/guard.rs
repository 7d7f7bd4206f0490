//! What every request over HTTP has to pass, to the page and to programs' addresses alike: it must be meant for this machine,
//! not come from a page of elsewhere, and show what lets it in. Every answer tells a browser how little it may do with it.

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

/// Where MCP is served.
pub(crate) const MCP: &str = "/mcp";
/// Where editors report what is in front of a person.
pub(crate) const EDITOR: &str = "/editor";

/// The names that this machine has for itself.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Checks where requests come from.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    port: u16,
    /// What programs have to show; nothing means that every program on this machine may come.
    token: Option<Arc<str>>,
}

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is meant for another machine.
    Elsewhere,
    /// It comes from a page that is not ours.
    Foreign,
    /// It does not show the token.
    Unknown,
}

impl Guard {
    pub(crate) fn new(port: u16, token: Option<&str>) -> Guard {
        Guard { port, token: token.map(Arc::from) }
    }

    /// The port that it guards.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn is_host(&self, host: &str) -> bool {
        NAMES.iter().any(|name| host == format!("{name}:{}", self.port))
    }

    /// Why a request is turned away, if it is. Browsers are let in by the cookie, which whoever answers looks at.
    pub(crate) fn refusal(&self, method: &Method, path: &str, headers: &HeaderMap) -> Option<Refusal> {
        // Of several values nobody knows which one counts for others.
        let Ok((host, origin)) = only(headers, &HOST).and_then(|host| Ok((host, only(headers, &ORIGIN)?)))
        else {
            return Some(Refusal::Elsewhere);
        };
        let host = host.unwrap_or_default();
        if is_for_programs(path) {
            // They may come through a tunnel, so the port is any.
            let is_local_page = |origin: &str| {
                let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
                host.is_some_and(is_local)
            };
            return match (is_local(host), origin.is_none_or(is_local_page), self.is_shown(headers)) {
                (false, _, _) => Some(Refusal::Elsewhere),
                (true, false, _) => Some(Refusal::Foreign),
                (true, true, false) => Some(Refusal::Unknown),
                (true, true, true) => None,
            };
        }
        if !self.is_host(host) {
            return Some(Refusal::Elsewhere);
        }
        let acts = !matches!(*method, Method::GET | Method::HEAD) || path == "/socket";
        let is_ours = match origin {
            Some(origin) => origin.strip_prefix("http://").is_some_and(|host| self.is_host(host)),
            None => !acts,
        };
        (!is_ours || is_fetched_elsewhere(path, headers)).then_some(Refusal::Foreign)
    }

    fn is_shown(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.split_once(' '));
        shown.is_some_and(|(scheme, shown)| {
            scheme.eq_ignore_ascii_case("bearer") && is_same(shown.trim(), token)
        })
    }

    /// The cookie of our page.
    pub(crate) fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';')).find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    }

    /// Cookies are shared between the ports of a machine.
    pub(crate) fn cookie_name(&self) -> String {
        format!("cellist-{}", self.port)
    }
}

/// Whether a browser says that a page of elsewhere fetches something. Another port counts as elsewhere, though the browser
/// sends our cookie from there. To be shown our page is the one thing that a link may do.
fn is_fetched_elsewhere(path: &str, headers: &HeaderMap) -> bool {
    let is = |name: &str, wanted: &str| headers.get(name).is_some_and(|value| value == wanted);
    let elsewhere = is("sec-fetch-site", "same-site") || is("sec-fetch-site", "cross-site");
    elsewhere && !(path == "/" && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document"))
}

fn is_for_programs(path: &str) -> bool {
    [MCP, EDITOR].contains(&path)
}

/// The value of a header that may come once.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Ambiguous> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| Ambiguous)).transpose()?;
    if values.next().is_some() { Err(Ambiguous) } else { Ok(first) }
}

/// A header that came twice, or that is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ambiguous;

/// Whether a host, with its port or without, is this machine.
fn is_local(host: &str) -> bool {
    NAMES.iter().any(|name| match host.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    })
}

impl Refusal {
    fn response(self, is_program: bool) -> Response {
        match self {
            // The protocol for programs knows one answer to both.
            Refusal::Elsewhere if !is_program => {
                (StatusCode::MISDIRECTED_REQUEST, "this is another machine\n").into_response()
            }
            Refusal::Elsewhere | Refusal::Foreign => {
                (StatusCode::FORBIDDEN, "only this machine and its own pages are let in\n").into_response()
            }
            Refusal::Unknown => {
                let told = "the token is missing or wrong: send `Authorization: Bearer TOKEN`\n";
                (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], told).into_response()
            }
        }
    }
}

/// Turns away what is not for us, and closes every answer in.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let refusal = guard.refusal(request.method(), path, request.headers());
    let mut response = match refusal {
        Some(refusal) => refusal.response(is_for_programs(path)),
        None => {
            if is_for_programs(path) {
                listen::known(request.extensions());
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
        expected: Option<Refusal>,
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin), (AUTHORIZATION, shown)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        let refusal = Guard::new(80, Some("secret")).refusal(method, path, &headers);
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
            check(&get, "/", (host, None, None), Some(Refusal::Elsewhere));
        }
        check(&get, "/", (ours, Some("http://evil.test"), None), Some(Refusal::Foreign));
        check(&get, "/socket", (ours, Some("http://127.0.0.1:80"), None), None);
        check(&get, "/socket", (ours, Some("http://localhost:80"), None), None);
        for origin in [
            None,
            Some("null"),
            Some("http://evil.test"),
            Some("https://127.0.0.1:80"),
            Some("http://127.0.0.1:81"),
        ] {
            // A token is for programs, and opens nothing of the page.
            check(&get, "/socket", (ours, origin, Some("Bearer secret")), Some(Refusal::Foreign));
            check(&Method::POST, "/", (ours, origin, None), Some(Refusal::Foreign));
        }
    }

    #[test]
    fn programs_show_the_token_wherever_on_this_machine_they_are() {
        let (ours, shown) = (Some("127.0.0.1:80"), Some("Bearer secret"));
        for path in [MCP, EDITOR] {
            for method in [Method::GET, Method::POST, Method::DELETE] {
                check(&method, path, (ours, None, shown), None);
                check(&method, path, (Some("localhost"), None, Some("bearer secret")), None);
                check(&method, path, (Some("[::1]:9000"), Some("http://localhost:3000"), shown), None);
                for host in [None, Some("evil.test"), Some("localhost.evil.test:80"), Some("127.0.0.1:x")] {
                    check(&method, path, (host, None, shown), Some(Refusal::Elsewhere));
                }
                for origin in ["null", "http://evil.test", "file://localhost", "http://localhost.evil.test"] {
                    check(&method, path, (ours, Some(origin), shown), Some(Refusal::Foreign));
                }
                for shown in
                    [None, Some("secret"), Some("Bearer"), Some("Bearer other1"), Some("Basic secret")]
                {
                    check(&method, path, (ours, None, shown), Some(Refusal::Unknown));
                }
            }
        }
        let open = Guard::new(80, None);
        let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("localhost:80"))]);
        assert_eq!(open.refusal(&Method::POST, MCP, &headers), None);
    }

    #[test]
    fn two_hosts_or_two_origins_are_refused_even_where_they_agree() {
        for (name, value) in [(HOST, "127.0.0.1:80"), (ORIGIN, "http://127.0.0.1:80")] {
            for path in ["/", "/socket", MCP] {
                let mut headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static("127.0.0.1:80"))]);
                headers.insert(ORIGIN, HeaderValue::from_static("http://127.0.0.1:80"));
                let open = Guard::new(80, None);
                assert_eq!(open.refusal(&Method::GET, path, &headers), None);
                headers.append(name.clone(), HeaderValue::from_static(value));
                assert_eq!(
                    open.refusal(&Method::GET, path, &headers),
                    Some(Refusal::Elsewhere),
                    "{name} {path}"
                );
            }
        }
    }

    #[test]
    fn a_page_of_another_port_may_lead_to_ours_and_fetch_nothing() {
        let ours = Guard::new(80, None);
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
        assert_eq!(Guard::new(80, None).cookie(&headers), Some("yes"));
        assert_eq!(Guard::new(82, None).cookie(&headers), None);
    }
}
