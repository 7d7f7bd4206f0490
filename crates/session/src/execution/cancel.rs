//! Cancellation of queued or running code: interrupt it, end its kernel, or detach it from its caller.

use tokio::sync::watch;

use super::pace::KernelEnding;

/// Receives cancel requests.
///
/// A stop request interrupts the running code. Only a forced stop or the end of the kernel may kill it. Each
/// receiver gets every request once, even if it subscribes late.
#[derive(Debug)]
pub struct Cancel {
    wishes: watch::Receiver<CancelRequests>,
    taken: CancelRequests,
}

/// Sends requests to a [`Cancel`]. Clones share one channel.
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<CancelRequests>);

/// All requests so far. Values only grow, so a late receiver misses none.
#[derive(Clone, Copy, Debug, Default)]
struct CancelRequests {
    stops: u32,
    forces: u32,
    ending: Option<KernelEnding>,
    withdrawn: bool,
    handed_over: bool,
}

/// A request about queued or running code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelRequest {
    /// Interrupt the code.
    Stop,
    /// Interrupt the code, and kill the kernel if the code does not stop within the grace period.
    Force,
    /// Leave the queue, if the code has not begun.
    Withdraw,
    /// End the kernel unconditionally.
    End(KernelEnding),
    /// Run on without the caller. A default time limit no longer applies.
    HandOver,
}

impl Canceller {
    /// Requests a stop.
    pub fn cancel(&self) {
        self.0.send_modify(|wishes| wishes.stops = wishes.stops.saturating_add(1));
    }

    /// Requests a stop, unless one was requested already.
    pub fn interrupt(&self) {
        self.0.send_if_modified(|wishes| {
            let first = wishes.stops == 0;
            wishes.stops = wishes.stops.max(1);
            first
        });
    }

    /// Requests a stop. Kills the kernel if the code does not stop within the grace period.
    pub fn force(&self) {
        self.0.send_modify(|wishes| wishes.forces = wishes.forces.saturating_add(1));
    }

    /// Removes the code from its queue, unless it has begun.
    pub fn withdraw(&self) {
        self.0.send_modify(|wishes| wishes.withdrawn = true);
    }

    /// Forwards a request from another channel.
    pub fn pass_on(&self, request: CancelRequest) {
        match request {
            CancelRequest::Stop => self.cancel(),
            CancelRequest::Force => self.force(),
            CancelRequest::Withdraw => self.withdraw(),
            CancelRequest::End(ending) => self.end(ending),
            CancelRequest::HandOver => self.hand_over(),
        }
    }

    /// Requests the end of the kernel.
    pub fn end(&self, ending: KernelEnding) {
        self.0.send_modify(|wishes| wishes.ending = wishes.ending.or(Some(ending)));
    }

    /// Detaches the code from its caller.
    pub fn hand_over(&self) {
        self.0.send_modify(|wishes| wishes.handed_over = true);
    }

    /// Returns a new receiver, which gets past and future requests.
    pub(crate) fn listen(&self) -> Cancel {
        Cancel { wishes: self.0.subscribe(), taken: CancelRequests::default() }
    }

    /// Whether a stop or the end of the kernel was requested.
    pub fn is_asked(&self) -> bool {
        let wishes = self.0.borrow();
        wishes.stops > 0 || wishes.forces > 0 || wishes.ending.is_some()
    }

    /// Whether the code was detached from its caller.
    pub fn is_handed_over(&self) -> bool {
        self.0.borrow().handed_over
    }
}

impl Cancel {
    /// Creates a connected pair.
    pub fn channel() -> (Canceller, Cancel) {
        let (sender, receiver) = watch::channel(CancelRequests::default());
        (Canceller(sender), Cancel { wishes: receiver, taken: CancelRequests::default() })
    }

    /// Returns a receiver that never gets a request.
    pub fn never() -> Cancel {
        Cancel::channel().1
    }

    /// Takes a stop request, if one is pending. Returns whether there was one.
    pub fn is_asked(&mut self) -> bool {
        self.stop().is_some()
    }

    /// Takes a stop request, if one is pending.
    pub(crate) fn stop(&mut self) -> Option<CancelRequest> {
        loop {
            match self.next()? {
                CancelRequest::HandOver | CancelRequest::Withdraw => {}
                stop => return Some(stop),
            }
        }
    }

    /// Whether the code was detached from its caller.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.wishes.borrow().handed_over
    }

    /// Waits for a stop request. Cancel-safe.
    pub async fn asked(&mut self) {
        self.stopped().await;
    }

    /// Waits for a stop request and returns it. Cancel-safe.
    pub(crate) async fn stopped(&mut self) -> CancelRequest {
        loop {
            match self.next_request().await {
                CancelRequest::HandOver | CancelRequest::Withdraw => {}
                stop => return stop,
            }
        }
    }

    /// Waits for the next request. Cancel-safe.
    pub async fn next_request(&mut self) -> CancelRequest {
        loop {
            if let Some(request) = self.next() {
                return request;
            }
            if self.wishes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn next(&mut self) -> Option<CancelRequest> {
        let wishes = *self.wishes.borrow_and_update();
        if let (Some(ending), None) = (wishes.ending, self.taken.ending) {
            self.taken.ending = Some(ending);
            return Some(CancelRequest::End(ending));
        }
        if wishes.stops > self.taken.stops {
            self.taken.stops += 1;
            return Some(CancelRequest::Stop);
        }
        if wishes.forces > self.taken.forces {
            self.taken.forces += 1;
            return Some(CancelRequest::Force);
        }
        if wishes.withdrawn && !self.taken.withdrawn {
            self.taken.withdrawn = true;
            return Some(CancelRequest::Withdraw);
        }
        if wishes.handed_over && !self.taken.handed_over {
            self.taken.handed_over = true;
            return Some(CancelRequest::HandOver);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_request_is_received_once_and_the_end_comes_first() {
        let (canceller, mut cancel) = Cancel::channel();
        assert!(!canceller.is_asked() && !cancel.is_asked());
        canceller.hand_over();
        canceller.interrupt();
        canceller.interrupt();
        canceller.cancel();
        canceller.force();
        canceller.withdraw();
        canceller.end(KernelEnding::Stop);
        canceller.end(KernelEnding::Restart);
        let mut heard = Vec::new();
        for _ in 0..6 {
            heard.push(cancel.next_request().await);
        }
        let stops = [CancelRequest::Stop, CancelRequest::Stop, CancelRequest::Force];
        assert_eq!(heard[0], CancelRequest::End(KernelEnding::Stop));
        assert_eq!(heard[1..4], stops);
        assert_eq!(heard[4..], [CancelRequest::Withdraw, CancelRequest::HandOver]);
        assert_eq!(cancel.next(), None);
        assert!(canceller.is_asked() && canceller.is_handed_over());
    }
}
