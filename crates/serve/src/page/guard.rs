//! What every request has to pass: it must be meant for this machine, come from our own page where it could do something,
//! and every answer tells the browser how little it may do with it.

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The names that this machine has for itself.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Checks where requests come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    pub(crate) port: u16,
}

impl Guard {
    fn is_host(self, host: &str) -> bool {
        NAMES.iter().any(|name| host == format!("{name}:{}", self.port))
    }

    fn is_origin(self, origin: &str) -> bool {
        origin.strip_prefix("http://").is_some_and(|host| self.is_host(host))
    }

    /// Why a request is turned away, if it is.
    pub(crate) fn refusal(self, method: &Method, path: &str, headers: &HeaderMap) -> Option<StatusCode> {
        let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        if !text(&HOST).is_some_and(|host| self.is_host(host)) {
            return Some(StatusCode::MISDIRECTED_REQUEST);
        }
        let acts = !matches!(*method, Method::GET | Method::HEAD) || path == "/socket";
        let is_ours = match text(&ORIGIN) {
            Some(origin) => self.is_origin(origin),
            None => !acts,
        };
        (!is_ours).then_some(StatusCode::FORBIDDEN)
    }

    /// The cookie of our page.
    pub(crate) fn cookie(self, headers: &HeaderMap) -> Option<&str> {
        let name = self.cookie_name();
        let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        all.flat_map(|value| value.split(';')).find_map(|pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
    }

    /// Cookies are shared between the ports of a machine.
    pub(crate) fn cookie_name(self) -> String {
        format!("cellist-{}", self.port)
    }
}

/// Turns away what is not for us, and closes every answer in.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let refusal = guard.refusal(request.method(), request.uri().path(), request.headers());
    let mut response = match refusal {
        Some(status) => (status, "not for this page\n").into_response(),
        None => next.run(request).await,
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

    fn check(method: Method, path: &str, host: Option<&str>, origin: Option<&str>, expected: Option<u16>) {
        let mut headers = HeaderMap::new();
        for (name, value) in [(HOST, host), (ORIGIN, origin)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        let refusal = Guard { port: 80 }.refusal(&method, path, &headers).map(|status| status.as_u16());
        assert_eq!(refusal, expected, "{method} {path} for {host:?} from {origin:?}");
    }

    #[test]
    fn only_our_own_page_on_this_machine_gets_in() {
        let (get, ours) = (Method::GET, Some("127.0.0.1:80"));
        check(get.clone(), "/", ours, None, None);
        check(get.clone(), "/", Some("localhost:80"), None, None);
        check(get.clone(), "/", Some("[::1]:80"), None, None);
        for host in [
            None,
            Some("evil.test:80"),
            Some("127.0.0.1"),
            Some("127.0.0.1:81"),
            Some("127.0.0.1:80.evil.test"),
        ] {
            check(get.clone(), "/", host, None, Some(421));
        }
        check(get.clone(), "/", ours, Some("http://evil.test"), Some(403));
        check(get.clone(), "/socket", ours, Some("http://127.0.0.1:80"), None);
        check(get.clone(), "/socket", ours, Some("http://localhost:80"), None);
        for origin in [
            None,
            Some("null"),
            Some("http://evil.test"),
            Some("https://127.0.0.1:80"),
            Some("http://127.0.0.1:81"),
        ] {
            check(get.clone(), "/socket", ours, origin, Some(403));
            check(Method::POST, "/", ours, origin, Some(403));
        }
    }

    #[test]
    fn the_cookie_is_that_of_our_port() {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, "a=b; cellist-81=no; cellist-80=yes".parse().unwrap());
        assert_eq!(Guard { port: 80 }.cookie(&headers), Some("yes"));
        assert_eq!(Guard { port: 82 }.cookie(&headers), None);
    }
}
