//! Where code that runs can call tools: an address, once someone listens there, and which session comes with which token.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cellist_kernel::Order;
use cellist_kernel::order::Way;
use cellist_kernel::prelude::{self, Tools};

use super::key::SessionKey;

/// The way from code to tools. Cheap to clone; all clones are one.
#[derive(Clone, Default)]
pub struct Bridge(Arc<Inner>);

#[derive(Default)]
struct Inner {
    url: OnceLock<String>,
    passes: Mutex<HashMap<String, SessionKey>>,
}

impl Bridge {
    /// Someone listens at this address from now on.
    pub fn open(&self, url: String) {
        // There is one listener; a second one hears nothing.
        let _ = self.0.url.set(url);
    }

    /// The session that a token was given to, while its kernel lives.
    pub fn session(&self, token: &str) -> Option<SessionKey> {
        self.passes().get(token).cloned()
    }

    fn passes(&self) -> MutexGuard<'_, HashMap<String, SessionKey>> {
        self.0.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What lets the kernel of a session in, where it can come here and someone listens.
    pub(super) fn pass(&self, order: &Order, key: &SessionKey) -> Option<Pass> {
        let url = self.0.url.get().filter(|_| is_near(order))?.clone();
        let mut bytes = [0_u8; 32];
        // Without randomness nobody gets in.
        getrandom::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.passes().insert(token.clone(), key.clone());
        Some(Pass { bridge: self.clone(), url, token, session: key.id.clone() })
    }
}

/// What lets one kernel in. It is worth nothing any more when it was dropped.
pub(super) struct Pass {
    bridge: Bridge,
    url: String,
    token: String,
    session: String,
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.bridge.passes().remove(&self.token);
    }
}

/// Whether a kernel runs where it can reach this machine's own addresses, and can keep a token to itself or need not.
fn is_near(order: &Order) -> bool {
    match order.way {
        Way::Runner { .. } | Way::Jupyter(_) | Way::SharedGateway { .. } => true,
        Way::Shell { .. } => order.inherits_bridge,
        Way::Gateway(_) | Way::Existing { .. } => false,
    }
}

/// Gives a kernel its helpers, and the way to tools. The token goes into the environment, where all that the kernel starts
/// finds it, only where that was asked for.
pub(super) fn equip(order: &mut Order, pass: Option<&Pass>) {
    if let Some(Pass { url, token, session, .. }) = pass {
        let mut give = |name: &str, value: &str| order.environment.push((name.into(), OsString::from(value)));
        give("PI_TOOL_BRIDGE_URL", url);
        give("PI_TOOL_BRIDGE_SESSION", session);
        if order.inherits_bridge {
            give("PI_TOOL_BRIDGE_TOKEN", token);
        }
    }
    let is_shell = matches!(order.way, Way::Shell { .. });
    if order.language() == "python" && !is_shell {
        order.prelude = Some(prelude::code(match (pass, &order.way) {
            (Some(Pass { url, token, session, .. }), _) => Tools::At { url, token, session },
            (None, Way::Gateway(_)) => Tools::None(ELSEWHERE),
            (None, _) => Tools::None(ALONE),
        }));
    }
}

const ELSEWHERE: &str = "this kernel runs behind a gateway, from where the tools of the machine that asked for it cannot be reached";
const ALONE: &str =
    "tools can be called in sessions that the host keeps, and this kernel belongs to one command alone";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sessions::tests::bed::call;

    fn order() -> Order {
        Order::clone(&call("s", &[]).order)
    }

    fn key() -> SessionKey {
        SessionKey::new("s", "/w")
    }

    fn value(order: &Order, name: &str) -> Option<String> {
        let found = order.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.to_string_lossy().into_owned())
    }

    #[test]
    fn a_token_is_worth_something_while_its_kernel_lives() {
        let bridge = Bridge::default();
        assert!(bridge.pass(&order(), &key()).is_none());
        bridge.open("http://127.0.0.1:1/call".to_owned());
        let pass = bridge.pass(&order(), &key()).unwrap();
        let token = pass.token.clone();
        assert_eq!((token.len(), bridge.session(&token)), (64, Some(key())));
        assert_eq!(bridge.session("other"), None);
        drop(pass);
        assert_eq!(bridge.session(&token), None);
    }

    #[test]
    fn the_token_stands_in_the_environment_only_where_that_was_asked_for() {
        let bridge = Bridge::default();
        bridge.open("http://127.0.0.1:1/call".to_owned());
        let pass = bridge.pass(&order(), &key()).unwrap();
        for inherits_bridge in [false, true] {
            let mut order = Order { inherits_bridge, ..order() };
            equip(&mut order, Some(&pass));
            assert_eq!(value(&order, "PI_TOOL_BRIDGE_SESSION").as_deref(), Some("s"));
            let token = value(&order, "PI_TOOL_BRIDGE_TOKEN");
            assert_eq!(token, inherits_bridge.then(|| pass.token.clone()));
            assert!(order.prelude.unwrap().contains(&pass.token));
        }
    }

    #[test]
    fn a_shell_has_a_token_only_where_all_may_have_it() {
        let bridge = Bridge::default();
        bridge.open("http://127.0.0.1:1/call".to_owned());
        for inherits_bridge in [false, true] {
            let mut order = Order { inherits_bridge, way: Way::Shell { program: "sh".into() }, ..order() };
            let pass = bridge.pass(&order, &key());
            equip(&mut order, pass.as_ref());
            let names = ["URL", "SESSION", "TOKEN"].map(|name| format!("PI_TOOL_BRIDGE_{name}"));
            assert!(names.iter().all(|name| value(&order, name).is_some() == inherits_bridge));
            assert_eq!(order.prelude, None);
        }
    }

    #[test]
    fn a_kernel_that_cannot_come_here_is_told_why() {
        let mut order = order();
        equip(&mut order, None);
        assert!(order.prelude.unwrap().contains(ALONE));
        assert!(order.environment.iter().all(|(name, _)| !name.to_string_lossy().contains("BRIDGE")));
    }
}
