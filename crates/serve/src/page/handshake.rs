//! How a page and the host convince each other, on each socket, before either says anything.
//!
//! A cookie cannot do that: the browser sends it to each port of this machine and to any program that took the port
//! of a host that has ended. So a page has a key. The host puts it into the page as it is loaded, and the page keeps it
//! in memory alone. The key is an HMAC-SHA256 over the browser's id and a salt of the page, under a secret that stays
//! in the state folder, so the next host of the same user knows it too and no other program does.
//!
//! 1. The page connects to `/socket?browser=B&salt=S&challenge=C`. None of it is secret; `C` is random.
//! 2. The host sends `{"host": {"challenge": H, "standing": …, "proof": HMAC(key, "host" …)}}`. The page closes the socket
//!    if the proof is wrong, and has sent nothing.
//! 3. The page sends `{"proof": HMAC(key, "page" …)}`. The host closes the socket if it is wrong.
//! 4. Where the browser has no cookie of this host, the host sends `{"ticket": T}`. The page exchanges it for a cookie by a
//!    `POST` to `/session`; pictures and other files need that.
//!
//! Each proof covers its side, the port, `C`, `H` and the standing, so neither can be reflected, replayed, or relayed
//! from a host at another port. A host also proves itself to a page whose browser was revoked, so that the page can say so.

use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::Sha256;
use tokio::time::timeout;

use super::Page;
use crate::secret::{hex, random};

/// How many bytes of an HMAC are shown.
const PROOF: usize = 16;
/// How long a page may take to prove itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// The words of a page that connects.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Hello {
    pub(super) browser: String,
    pub(super) salt: String,
    pub(super) challenge: String,
}

/// How a browser stands with this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// It is let in, and its cookie counts.
    SignedIn,
    /// It is let in, and gets a new cookie.
    Returning,
    /// It was revoked, or not used for too long.
    SignedOut,
}

#[derive(Deserialize)]
struct PageProof {
    proof: String,
}

/// The side that a proof is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Host,
    Page,
}

impl Hello {
    /// Whether it has the form that pages send, so that the parts of a proof cannot run into each other.
    pub(super) fn is_formed(&self) -> bool {
        let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let sizes = [(&self.browser, 8), (&self.salt, 32), (&self.challenge, 32)];
        sizes.iter().all(|(text, size)| text.len() == *size && is_hex(text))
    }
}

/// The key of a page.
pub(super) fn key(secret: &str, browser: &str, salt: &str) -> String {
    hex(&mac(secret.as_bytes(), &format!("cellist page {browser} {salt}")).finalize().into_bytes())
}

/// The key that all pages share, by which tabs of one browser seal the cells that they tell each other of. It is of the
/// state folder and not of a browser: a link that is opened from a file makes a new browser for the same tabs.
pub(super) fn shared_key(secret: &str) -> String {
    hex(&mac(secret.as_bytes(), "cellist pages").finalize().into_bytes())
}

fn mac(key: &[u8], text: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac
}

/// What both sides know of a socket, once each has sent its challenge.
struct Meeting<'a> {
    key: String,
    port: u16,
    page: &'a str,
    host: String,
    standing: Standing,
}

impl Meeting<'_> {
    fn mac(&self, side: Side) -> Hmac<Sha256> {
        let side = match side {
            Side::Host => "host",
            Side::Page => "page",
        };
        let standing = match self.standing {
            Standing::SignedIn => "signed_in",
            Standing::Returning => "returning",
            Standing::SignedOut => "signed_out",
        };
        let Meeting { port, page, host, .. } = self;
        mac(self.key.as_bytes(), &format!("cellist {side} {port} {page} {host} {standing}"))
    }

    fn proof(&self, side: Side) -> String {
        hex(&self.mac(side).finalize().into_bytes()[..PROOF])
    }

    /// Takes the same time wherever a wrong proof differs.
    fn is_proof(&self, side: Side, shown: &str) -> bool {
        let bytes: Option<Vec<u8>> = (0..shown.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(shown.get(at..at + 2)?, 16).ok())
            .collect();
        let bytes = bytes.filter(|bytes| bytes.len() == PROOF);
        bytes.is_some_and(|bytes| self.mac(side).verify_truncated_left(&bytes).is_ok())
    }
}

/// Proves the host to the page and has the page prove itself; whether the page may go on.
pub(super) async fn meet(socket: &mut WebSocket, page: &Page, hello: &Hello, has_cookie: bool) -> bool {
    let Ok(host) = random().map(|host| host[..32].to_owned()) else { return false };
    let standing = match (page.door.knows(&hello.browser), has_cookie) {
        (true, true) => Standing::SignedIn,
        (true, false) => Standing::Returning,
        (false, _) => Standing::SignedOut,
    };
    let key = page.door.key(&hello.browser, &hello.salt);
    let meeting = Meeting { key, port: page.port(), page: &hello.challenge, host, standing };
    let proof = meeting.proof(Side::Host);
    let said = json!({ "host": { "challenge": meeting.host, "standing": standing, "proof": proof } });
    if send(socket, &said).await.is_err() || standing == Standing::SignedOut {
        return false;
    }
    // However often it pings meanwhile.
    let proof = timeout(PATIENCE, first_proof(socket)).await.ok().flatten();
    if !proof.is_some_and(|PageProof { proof }| meeting.is_proof(Side::Page, &proof)) {
        return false;
    }
    match standing {
        Standing::Returning => match page.door.ticket(&hello.browser) {
            Ok(ticket) => send(socket, &json!({ "ticket": ticket })).await.is_ok(),
            Err(_) => false,
        },
        Standing::SignedIn | Standing::SignedOut => true,
    }
}

/// The first message of the page, where it is a proof.
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
    fn a_proof_is_good_for_one_side_one_port_one_pair_of_challenges_and_one_standing() {
        let meeting = |key: &str, port, page: &'static str, host: &str, standing| Meeting {
            key: key.to_owned(),
            port,
            page,
            host: host.to_owned(),
            standing,
        };
        let ours = meeting("key", 80, "c", "h", Standing::SignedIn);
        let proof = ours.proof(Side::Page);
        assert!(ours.is_proof(Side::Page, &proof));
        assert!(!ours.is_proof(Side::Host, &proof));
        for wrong in ["", "0", "zz", &proof[..30], &format!("{proof}00")] {
            assert!(!ours.is_proof(Side::Page, wrong), "{wrong}");
        }
        for other in [
            meeting("other", 80, "c", "h", Standing::SignedIn),
            meeting("key", 81, "c", "h", Standing::SignedIn),
            meeting("key", 80, "d", "h", Standing::SignedIn),
            meeting("key", 80, "c", "i", Standing::SignedIn),
            meeting("key", 80, "c", "h", Standing::Returning),
        ] {
            assert!(!other.is_proof(Side::Page, &proof));
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
