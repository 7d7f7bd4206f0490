//! The address of a gateway and its credentials.

use std::fmt;
use std::path::Path;

use hyper::Uri;
use serde::{Deserialize, Serialize};

/// The variable that holds the token.
pub const TOKEN_VARIABLE: &str = "PI_PYTHON_GATEWAY_TOKEN";

/// Variables that name a file of certificates.
const BUNDLES: [&str; 3] = ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];

/// A gateway: a Jupyter Kernel Gateway, an Enterprise Gateway, a Jupyter Server or a user's server of a Hub.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    url: String,
    token: Option<String>,
    shared: bool,
    /// A file of certificates that are trusted in place of those that this machine trusts.
    #[serde(default)]
    bundle: Option<String>,
}

/// Why an address is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url:?} is not the address of a gateway: {reason}")]
pub struct BadAddress {
    url: String,
    reason: &'static str,
}

impl Gateway {
    /// An address as people write it; a token in it counts only when none is given.
    pub fn new(url: &str, token: Option<String>) -> Result<Gateway, BadAddress> {
        // The query string may be secret.
        let said = url.split('?').next().unwrap_or_default();
        let bad = |reason| BadAddress { url: said.to_owned(), reason };
        let uri: Uri = url.trim().parse().map_err(|_| bad("it cannot be read as one"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(bad("it must begin with http:// or https://"));
        }
        let authority = uri.authority().ok_or_else(|| bad("it names no machine"))?;
        if authority.host().is_empty() {
            return Err(bad("it names no machine"));
        }
        if authority.as_str().contains('@') {
            return Err(bad("names and passwords do not belong into it"));
        }
        let scheme = uri.scheme_str().unwrap_or("http");
        let path = uri.path().trim_end_matches('/');
        let in_query = uri.query().and_then(|query| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.filter(|(name, _)| *name == "token").map(|(_, token)| token.to_owned()).next()
        });
        let token = token.or(in_query).filter(|token| !token.is_empty());
        Ok(Gateway { url: format!("{scheme}://{authority}{path}"), token, shared: false, bundle: None })
    }

    /// The same, where a variable may name a file of certificates to trust, as other programs take it.
    pub fn trusting(self, variable: impl Fn(&str) -> Option<String>) -> Gateway {
        let bundle = BUNDLES.iter().find_map(|name| variable(name).filter(|path| !path.is_empty()));
        Gateway { bundle, ..self }
    }

    pub(super) fn bundle(&self) -> Option<&Path> {
        self.bundle.as_ref().map(Path::new)
    }

    /// The gateway that we started ourselves, for all of this user's processes.
    pub fn shared(port: u16, token: String) -> Gateway {
        Gateway { url: format!("http://127.0.0.1:{port}"), token: Some(token), shared: true, bundle: None }
    }

    /// The address, without the token and without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is the one that we started ourselves, on this machine.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(super) fn uri(&self, path: &str) -> Uri {
        format!("{}{path}", self.url).parse().unwrap_or_default()
    }

    /// The credentials in a request.
    pub(super) fn authorization(&self) -> Option<String> {
        self.token.as_ref().map(|token| format!("token {token}"))
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("url", &self.url)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_people_write_it() {
        let read = |url: &str, token: Option<&str>| {
            let gateway = Gateway::new(url, token.map(str::to_owned)).unwrap();
            (gateway.url().to_owned(), gateway.token().map(str::to_owned))
        };
        let table = [
            ("http://127.0.0.1:8888/", None, "http://127.0.0.1:8888", None),
            ("https://hub.example/user/ann/", Some("t"), "https://hub.example/user/ann", Some("t")),
            ("http://host:1/lab?token=abc", None, "http://host:1/lab", Some("abc")),
            ("http://host:1/?a=b&token=abc", Some("mine"), "http://host:1", Some("mine")),
            ("http://[::1]:8888", Some(""), "http://[::1]:8888", None),
        ];
        for (url, token, address, found) in table {
            assert_eq!(read(url, token), (address.to_owned(), found.map(str::to_owned)), "{url}");
        }
    }

    #[test]
    fn what_is_no_address_says_why_and_keeps_its_token() {
        for url in
            ["localhost:8888?token=hush", "ftp://x?token=hush", "http://", "", "http://a:b@c?token=hush"]
        {
            let said = Gateway::new(url, None).unwrap_err().to_string();
            assert!(said.contains("is not the address of a gateway") && !said.contains("hush"), "{said}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let gateway = Gateway::new("http://x", Some("hush".into())).unwrap();
        assert!(!format!("{gateway:?}").contains("hush"));
    }
}
