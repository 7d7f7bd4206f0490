//! The bridge from kernel code to tools: the address of its server, and the session of each token.

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cellist_kernel::Order;
use cellist_kernel::order::Way;
use cellist_kernel::prelude::{self, Tools};

use super::key::SessionKey;

/// The bridge from kernel code to tools. Clones share it.
#[derive(Clone, Default)]
pub struct Bridge(Arc<BridgeState>);

#[derive(Default)]
struct BridgeState {
    url: OnceLock<String>,
    passes: Mutex<HashMap<String, SessionKey>>,
}

impl Bridge {
    /// Sets the address of the server.
    pub fn open(&self, url: String) {
        // There is one server; later addresses are ignored.
        let _ = self.0.url.set(url);
    }

    /// Returns the session of a token, while its kernel lives.
    pub fn session(&self, token: &str) -> Option<SessionKey> {
        self.passes().get(token).cloned()
    }

    fn passes(&self) -> MutexGuard<'_, HashMap<String, SessionKey>> {
        self.0.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Issues a token for a session's kernel, if the kernel can reach the server.
    pub(super) fn pass(&self, order: &Order, key: &SessionKey) -> Option<BridgePass> {
        let url = self.0.url.get().filter(|_| is_near(order))?.clone();
        let mut bytes = [0_u8; 32];
        // Without randomness, no token is issued.
        getrandom::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.passes().insert(token.clone(), key.clone());
        Some(BridgePass { bridge: self.clone(), url, token, session: key.id.clone() })
    }
}

/// The token of one kernel. Dropping it revokes the token.
pub(super) struct BridgePass {
    bridge: Bridge,
    url: String,
    token: String,
    session: String,
}

impl Drop for BridgePass {
    fn drop(&mut self) {
        self.bridge.passes().remove(&self.token);
    }
}

/// Whether a kernel runs on this machine and may get a token. A shell gets one only if its order says so.
fn is_near(order: &Order) -> bool {
    match order.way {
        Way::Runner { .. } | Way::Jupyter(_) | Way::SharedGateway { .. } => true,
        Way::Shell { .. } => order.inherits_bridge,
        Way::Gateway(_) | Way::Existing { .. } => false,
    }
}

/// Adds helpers and the bridge to a launch order. The token goes into the environment, which child processes
/// inherit, only on request.
pub(super) fn equip(order: &mut Order, pass: Option<&BridgePass>) {
    if let Some(BridgePass { url, token, session, .. }) = pass {
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
            (Some(BridgePass { url, token, session, .. }), _) => Tools::At { url, token, session },
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
    fn a_kernel_without_access_gets_the_reason() {
        let mut order = order();
        equip(&mut order, None);
        assert!(order.prelude.unwrap().contains(ALONE));
        assert!(order.environment.iter().all(|(name, _)| !name.to_string_lossy().contains("BRIDGE")));
    }
}
