//! A request to run code in a session.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_platform::FailureKind;
use cellist_session::orders::KernelRequest;
use cellist_session::sessions::{Code, OwnerId, RunRules, SessionCall, SessionKey, SessionKind};
use serde::{Deserialize, Serialize};

use crate::error::Failure;

/// The name of a session, as a client gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionName {
    /// The name.
    pub id: String,
    /// The folder. Without one, the name must be unique.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: Option<PathBuf>,
}

/// Code to run in a session. Without code, the kernel is started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallRequest {
    /// The session.
    pub session: SessionName,
    /// The folder of a new session whose name has none.
    #[serde(with = "cellist_platform::portable_path")]
    pub here: PathBuf,
    /// The kernel of a new session. The client's environment supplies the rest.
    pub kernel: KernelRequest,
    /// The purpose of a new session.
    pub kind: SessionKind,
    /// Whether the session ends with its client. Otherwise it ends after its idle timeout.
    pub is_owned: bool,
    /// The code.
    pub cells: Vec<Code>,
    /// The time that the call waits behind stuck code before it is refused as busy.
    pub soft_wait: Duration,
    /// Whether the kernel is restarted first.
    pub reset: bool,
    /// The limits and the form of outputs.
    pub rules: RunRules,
    /// Whether the client wants events.
    pub is_watched: bool,
}

impl CallRequest {
    /// Whether the call can use a session with this order as it is.
    pub(crate) fn takes(&self, known: &Option<Arc<Order>>) -> bool {
        known.is_some() && !self.reset && !self.kernel.is_particular
    }

    /// Refuses a session with another kernel than the one that the client requires.
    pub(crate) fn check(&self, wanted: &Order, known: Option<&Order>) -> Result<(), Failure> {
        match known.filter(|known| !self.reset && self.kernel.is_particular && known.way != wanted.way) {
            None => Ok(()),
            Some(known) => {
                let (id, has, wants) = (&self.session.id, in_words(known), in_words(wanted));
                let message = format!("session {id} runs on {has}, not on {wants}");
                Err(Failure::bad_input(FailureKind::OtherKernel, message)
                    .with_hint("--reset restarts the kernel, which loses its state; or use another session"))
            }
        }
    }

    /// Converts the request into a call of the session.
    pub(crate) fn into_session_call(
        self,
        key: SessionKey,
        order: Arc<Order>,
        client: OwnerId,
    ) -> SessionCall {
        SessionCall {
            owner: self.is_owned.then_some(client),
            cells: self.cells,
            reset: self.reset,
            ..SessionCall::new(key, self.kind, order, self.rules)
        }
    }
}

fn in_words(order: &Order) -> String {
    match order.python() {
        Some(python) => format!("{} {}", order.backend(), python.display()),
        None => order.backend().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use cellist_kernel::order::Way;
    use cellist_output::{Ansi, Limits};
    use cellist_session::execution::Reading;
    use cellist_settings::Settings;

    use super::*;

    fn order(python: &str) -> Order {
        Order::new(Way::Runner { python: python.into() }, "/work")
    }

    fn call(is_particular: bool, reset: bool) -> CallRequest {
        CallRequest {
            session: SessionName { id: "s".into(), cwd: None },
            here: "/work".into(),
            kernel: KernelRequest { is_particular, ..KernelRequest::default() },
            kind: SessionKind::Tool,
            is_owned: false,
            cells: Vec::new(),
            soft_wait: Duration::ZERO,
            reset,
            rules: RunRules::new(&Settings::default(), Reading::new(Limits::for_screen(), Ansi::Remove)),
            is_watched: false,
        }
    }

    #[test]
    fn a_running_kernel_is_taken_unless_the_call_asks_for_a_new_or_particular_one() {
        let known = Some(Arc::new(order("/one")));
        assert!(call(false, false).takes(&known));
        assert!(!call(false, false).takes(&None));
        assert!(!call(false, true).takes(&known));
        assert!(!call(true, false).takes(&known));
    }

    #[test]
    fn a_session_with_another_kernel_than_the_particular_one_is_refused() {
        let (one, other) = (order("/one"), order("/other"));
        for (is_particular, reset, wanted, is_refused) in [
            (true, false, &one, false),
            (true, false, &other, true),
            (true, true, &other, false),
            (false, false, &other, false),
        ] {
            let checked = call(is_particular, reset).check(wanted, Some(&one));
            assert_eq!(checked.is_err(), is_refused, "{is_particular} {reset} {wanted:?}");
        }
        assert!(call(true, false).check(&other, None).is_ok());
        let failure = call(true, false).check(&other, Some(&one)).unwrap_err();
        assert_eq!(failure.message, "session s runs on runner /one, not on runner /other");
        assert!(failure.hint.unwrap().contains("--reset"));
    }
}
