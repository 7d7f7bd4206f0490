//! Mutual authentication of page and host on each socket, before either side sends data.
//!
//! A cookie is not enough: the browser sends it to every port of this machine. A program that took the port of a
//! stopped host gets it too. Therefore each page has a key. The host puts it into the HTML, and the page keeps it in
//! memory only. The key is an HMAC-SHA256 over the id of the browser and a salt of the page. Its secret stays in
//! the state folder. Only the next host of the same user can derive the key again.
//!
//! 1. The page connects to `/socket?browser=B&salt=S&challenge=C`. Nothing in it is secret; `C` is random.
//! 2. The host sends `{"host": {"challenge": H, "standing": …, "proof": HMAC(key, "host" …)}}`. If the proof is
//!    wrong, the page closes the socket without having sent data.
//! 3. The page sends `{"proof": HMAC(key, "page" …)}`. If the proof is wrong, the host closes the socket.
//! 4. If the browser has no cookie of this host, the host sends `{"ticket": T}`. The page exchanges it for a cookie
//!    by a `POST` to `/session`. Pictures and other files need the cookie.
//!
//! A proof covers its author, the port, `C`, `H` and the standing. It can therefore not be reflected, replayed, or
//! relayed from a host on another port. The host also sends its proof to a page of a revoked browser, so that the
//! page can report that.
//!
//! The host waits 20 seconds for the proof of the page. A failed handshake changes no state.

use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use tokio::time::timeout;

use super::PageServer;
use crate::secret::{hex, random};

/// Bytes of an HMAC that are sent.
const PROOF: usize = 16;
/// Time limit for the page's proof.
const PATIENCE: Duration = Duration::from_secs(20);

/// The query of a page that connects.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PageHello {
    pub(super) browser: String,
    pub(super) salt: String,
    pub(super) challenge: String,
}

/// The status of a browser at this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum BrowserStanding {
    /// Known, with a valid cookie.
    SignedIn,
    /// Known, and gets a new cookie.
    Returning,
    /// Revoked, or unused for too long.
    SignedOut,
}

#[derive(Deserialize)]
struct PageProof {
    proof: String,
}

/// The author of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HandshakeSide {
    Host,
    Page,
}

impl PageHello {
    /// Whether the fields have fixed lengths. This keeps the parts of a proof apart.
    pub(super) fn is_well_formed(&self) -> bool {
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let sizes = [(&self.browser, 8), (&self.salt, 32), (&self.challenge, 32)];
        sizes.iter().all(|(text, size)| text.len() == *size && is_hex(text))
    }
}

/// The key of a page.
pub(super) fn key(secret: &str, browser: &str, salt: &str) -> String {
    hex(&mac(secret.as_bytes(), &format!("cellist page {browser} {salt}")).finalize().into_bytes())
}

/// The key that all pages share. Tabs of one browser seal the cells that they exchange with it. It
/// belongs to the state folder: a link opened from a file makes a new browser for the same tabs.
pub(super) fn shared_key(secret: &str) -> String {
    hex(&mac(secret.as_bytes(), "cellist pages").finalize().into_bytes())
}

fn mac(key: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac
}

/// The values that a proof covers, once both sides have sent their challenges.
struct Handshake<'a> {
    key: String,
    port: u16,
    page: &'a str,
    host: String,
    standing: BrowserStanding,
}

impl Handshake<'_> {
    fn mac(&self, side: HandshakeSide) -> Hmac<Sha256> {
        let side = match side {
            HandshakeSide::Host => "host",
            HandshakeSide::Page => "page",
        };
        let standing = match self.standing {
            BrowserStanding::SignedIn => "signed_in",
            BrowserStanding::Returning => "returning",
            BrowserStanding::SignedOut => "signed_out",
        };
        let Handshake { port, page, host, .. } = self;
        mac(self.key.as_bytes(), &format!("cellist {side} {port} {page} {host} {standing}"))
    }

    fn proof(&self, side: HandshakeSide) -> String {
        hex(&self.mac(side).finalize().into_bytes()[..PROOF])
    }

    /// Compares in constant time.
    fn is_proof(&self, side: HandshakeSide, shown: &str) -> bool {
        let bytes: Option<Vec<u8>> = (0..shown.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(shown.get(at..at + 2)?, 16).ok())
            .collect();
        let bytes = bytes.filter(|bytes| bytes.len() == PROOF);
        bytes.is_some_and(|bytes| self.mac(side).verify_truncated_left(&bytes).is_ok())
    }
}

/// Runs the handshake. Returns whether the page may continue.
pub(super) async fn authenticate(
    socket: &mut WebSocket,
    page: &PageServer,
    hello: &PageHello,
    has_cookie: bool,
) -> bool {
    let Ok(host) = random().map(|host| host[..32].to_owned()) else { return false };
    let standing = match (page.access.knows(&hello.browser), has_cookie) {
        (true, true) => BrowserStanding::SignedIn,
        (true, false) => BrowserStanding::Returning,
        (false, _) => BrowserStanding::SignedOut,
    };
    let key = page.access.key(&hello.browser, &hello.salt);
    let handshake = Handshake { key, port: page.port(), page: &hello.challenge, host, standing };
    let proof = handshake.proof(HandshakeSide::Host);
    let said = json!({ "host": { "challenge": handshake.host, "standing": standing, "proof": proof } });
    if send(socket, &said).await.is_err() || standing == BrowserStanding::SignedOut {
        return false;
    }
    // One limit for all messages: pings do not extend it.
    let proof = timeout(PATIENCE, first_proof(socket)).await.ok().flatten();
    if !proof.is_some_and(|PageProof { proof }| handshake.is_proof(HandshakeSide::Page, &proof)) {
        return false;
    }
    match standing {
        BrowserStanding::Returning => match page.access.ticket(&hello.browser) {
            Ok(ticket) => send(socket, &json!({ "ticket": ticket })).await.is_ok(),
            Err(_) => false,
        },
        BrowserStanding::SignedIn | BrowserStanding::SignedOut => true,
    }
}

/// The first text message of the page, if it is a proof.
async fn first_proof(socket: &mut WebSocket) -> Option<PageProof> {
    loop {
        match socket.recv().await {
            Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).ok(),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
            Some(_) | None => return None,
        }
    }
}

async fn send(socket: &mut WebSocket, said: &serde_json::Value) -> Result<(), axum::Error> {
    socket.send(Message::Text(said.to_string().into())).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_covers_side_port_challenges_and_standing() {
        let handshake = |key: &str, port, page: &'static str, host: &str, standing| Handshake {
            key: key.to_owned(),
            port,
            page,
            host: host.to_owned(),
            standing,
        };
        let ours = handshake("key", 80, "c", "h", BrowserStanding::SignedIn);
        let proof = ours.proof(HandshakeSide::Page);
        assert!(ours.is_proof(HandshakeSide::Page, &proof));
        assert!(!ours.is_proof(HandshakeSide::Host, &proof));
        for wrong in ["", "0", "zz", &proof[..30], &format!("{proof}00")] {
            assert!(!ours.is_proof(HandshakeSide::Page, wrong), "{wrong}");
        }
        for other in [
            handshake("other", 80, "c", "h", BrowserStanding::SignedIn),
            handshake("key", 81, "c", "h", BrowserStanding::SignedIn),
            handshake("key", 80, "d", "h", BrowserStanding::SignedIn),
            handshake("key", 80, "c", "i", BrowserStanding::SignedIn),
            handshake("key", 80, "c", "h", BrowserStanding::Returning),
        ] {
            assert!(!other.is_proof(HandshakeSide::Page, &proof));
        }
    }

    #[test]
    fn keys_differ_by_secret_browser_and_salt() {
        let ours = key("secret", "b", "s");
        assert_eq!(ours, key("secret", "b", "s"));
        for other in [key("other", "b", "s"), key("secret", "c", "s"), key("secret", "b", "t")] {
            assert_ne!(other, ours);
        }
    }
}
