//! Panics that end the piece of work that they happen in, and nothing else. A panic is a fault of ours: its place is
//! written down, and every waiter gets an error.

use std::any::Any;
use std::cell::Cell;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook};

use futures_util::FutureExt;

thread_local! {
    /// The message of this thread's last panic, with its place.
    static LAST: Cell<Option<String>> = const { Cell::new(None) };
}

/// A piece of work panicked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("internal error: {what}; this is a fault of cellist, and all else goes on")]
pub struct Panicked {
    what: String,
}

impl Panicked {
    /// One of which nothing is known.
    pub(crate) fn unknown() -> Panicked {
        Panicked { what: "the work was lost".to_owned() }
    }

    fn of(payload: &(dyn Any + Send)) -> Panicked {
        let what = LAST.take().unwrap_or_else(|| said(payload));
        Panicked { what }
    }

    /// Lets it end the caller, too.
    pub fn go_on(self) -> ! {
        LAST.set(Some(self.what.clone()));
        resume_unwind(Box::new(self.what))
    }
}

/// Has every panic written as one line, with its place.
pub fn report_panics(write: impl Fn(&str) + Send + Sync + 'static) {
    set_hook(Box::new(move |panic| {
        let place = panic.location().map(|place| format!(" ({}:{})", place.file(), place.line()));
        let what = format!("{}{}", said(panic.payload()), place.unwrap_or_default());
        write(&format!("internal error: {what}"));
        LAST.set(Some(what));
    }));
}

/// Does something that may panic.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| Panicked::of(&*payload))
}

/// Does something that takes its time and may panic.
pub async fn contained<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| Panicked::of(&*payload))
}

/// The message of a panic, in one line.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without words").lines().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_ends_its_own_work_and_says_what_happened() {
        let failed: Result<(), Panicked> = contained(async { panic!("no\nluck") }).await;
        let told = failed.unwrap_err();
        assert!(told.to_string().starts_with("internal error: no luck"), "{told}");
        let through: Result<(), Panicked> = catch(|| told.clone().go_on());
        assert_eq!(through, Err(told));
        assert_eq!(catch(|| 3), Ok(3));
    }
}
