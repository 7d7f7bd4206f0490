//! Code for a session, as a front end asks for it. Whoever asks decides how a kernel is started, but has to find that
//! out only when one is needed: mostly the session is there.

use std::path::PathBuf;
use std::time::Duration;

use cellist_kernel::order::Order;
use cellist_platform::FailureKind;
use cellist_session::execution::{Limit, OnStuck, Reading};
use cellist_session::sessions::{
    Call as SessionCall, Code, KernelMode, Kind, OwnerId, RetryOnCrash, SessionKey,
};
use serde::{Deserialize, Serialize};

use crate::error::Failure;

/// A session, as far as whoever asks says which one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its name.
    pub id: String,
    /// Its folder; without one, the name has to be enough.
    #[serde(with = "cellist_platform::portable_path")]
    pub cwd: Option<PathBuf>,
}

/// Code to run in a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Call {
    /// The session.
    pub session: Named,
    /// The folder of the session, if it has to be made and none was named.
    #[serde(with = "cellist_platform::portable_path")]
    pub here: PathBuf,
    /// How to start its kernel. Without one the answer may be that one is needed.
    pub order: Option<Order>,
    /// Whether the kernel must be the one that the order says.
    pub is_particular: bool,
    /// What the session is there for, if the call is its first.
    pub kind: Kind,
    /// Whether the session stays for as long as whoever asks does, and goes then; otherwise it stays until it was idle
    /// for long.
    pub is_owned: bool,
    /// What to run.
    pub cells: Vec<Code>,
    /// How long all of it may take.
    pub limit: Limit,
    /// How long it may take to stop.
    pub grace: Duration,
    /// The rule for code that does not stop within the grace; without one, the purpose of the session decides.
    pub on_stuck: Option<OnStuck>,
    /// How long the call waits behind code that does not stop before it is answered as busy.
    pub soft_wait: Duration,
    /// Whether the kernel is to be restarted first.
    pub reset: bool,
    /// What is done when the kernel dies.
    pub retry: RetryOnCrash,
    /// How long the kernel stays.
    pub mode: KernelMode,
    /// What a reader gets.
    pub reading: Reading,
    /// What whoever asks may do, in the word that tools have for it.
    pub rights: Option<String>,
    /// Whether anyone wants to hear how it stands.
    pub is_watched: bool,
}

/// By which order a call is carried out.
#[derive(Debug, PartialEq)]
pub(crate) enum Ordered {
    /// By this one.
    By(Box<Order>),
    /// Whoever asks has to write one.
    Missing,
    /// The session has a kernel of another kind, and whoever asks does not want that.
    Other(Box<Failure>),
}

impl Call {
    /// Decides which order counts, where the session, if it is there, has a kernel by the order `known`.
    pub(crate) fn ordered(&self, known: Option<Order>) -> Ordered {
        let is_kept = !self.reset;
        match (&self.order, known) {
            (None, Some(known)) if is_kept && !self.is_particular => Ordered::By(Box::new(known)),
            (None, _) => Ordered::Missing,
            (Some(order), Some(known)) if is_kept && self.is_particular && order.way != known.way => {
                Ordered::Other(Box::new(self.other_kernel(order, &known)))
            }
            (Some(order), _) => Ordered::By(Box::new(order.clone())),
        }
    }

    /// The call as sessions take it, by someone.
    pub(crate) fn into_session_call(self, key: SessionKey, order: Order, client: OwnerId) -> SessionCall {
        SessionCall {
            key,
            kind: self.kind,
            owner: self.is_owned.then_some(client),
            order,
            cells: self.cells,
            limit: self.limit,
            grace: self.grace,
            on_stuck: self.on_stuck,
            reset: self.reset,
            retry: self.retry,
            mode: self.mode,
            reading: self.reading,
            rights: self.rights,
            caller: None,
            outputs: None,
        }
    }

    fn other_kernel(&self, wanted: &Order, known: &Order) -> Failure {
        let id = &self.session.id;
        let message = format!("session {id} runs on {}, not on {}", in_words(known), in_words(wanted));
        Failure::bad_input(FailureKind::OtherKernel, message)
            .with_hint("--reset starts its kernel anew, and loses its state; or use another session")
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

    use super::*;

    fn order(python: &str) -> Order {
        Order::new(Way::Runner { python: python.into() }, "/work")
    }

    fn call(order: Option<Order>) -> Call {
        Call {
            session: Named { id: "s".into(), cwd: None },
            here: "/work".into(),
            order,
            is_particular: false,
            kind: Kind::Tool,
            is_owned: false,
            cells: Vec::new(),
            limit: Limit::None,
            grace: Duration::ZERO,
            on_stuck: None,
            soft_wait: Duration::ZERO,
            reset: false,
            retry: RetryOnCrash::Auto,
            mode: KernelMode::Session,
            reading: Reading::new(Limits::for_screen(), Ansi::Remove),
            rights: None,
            is_watched: false,
        }
    }

    #[test]
    fn an_order_is_asked_for_where_a_kernel_has_to_be_started_or_is_to_be_a_certain_one() {
        let (one, other) = (order("/one"), order("/other"));
        let by = |order: &Order| Ordered::By(Box::new(order.clone()));
        let fresh = |call: Call| Call { reset: true, ..call };
        let particular = |call: Call| Call { is_particular: true, ..call };
        let table = [
            (call(None), None, Ordered::Missing),
            (call(None), Some(&one), by(&one)),
            (fresh(call(None)), Some(&one), Ordered::Missing),
            (particular(call(None)), Some(&one), Ordered::Missing),
            (call(Some(other.clone())), None, by(&other)),
            // Its environment is another one, which counts when the kernel has to be replaced.
            (call(Some(other.clone())), Some(&one), by(&other)),
            (particular(call(Some(one.clone()))), Some(&one), by(&one)),
            (fresh(particular(call(Some(other.clone())))), Some(&one), by(&other)),
        ];
        for (call, known, expected) in table {
            assert_eq!(call.ordered(known.cloned()), expected, "{call:?} where {known:?}");
        }
    }

    #[test]
    fn a_session_with_another_kernel_than_the_one_asked_for_is_told() {
        let call = Call { is_particular: true, ..call(Some(order("/other"))) };
        let Ordered::Other(failure) = call.ordered(Some(order("/one"))) else { panic!("refused") };
        assert_eq!(failure.message, "session s runs on runner /one, not on runner /other");
        assert!(failure.hint.unwrap().contains("--reset"));
    }
}
