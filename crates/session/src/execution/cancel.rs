//! Wishes about code that waits or runs: to stop it, to end its kernel, to let it go on without its caller.

use tokio::sync::watch;

use super::pace::Ending;

/// Hears wishes. A wish to stop interrupts the running code; only a forced one, or the end of the kernel, may kill it.
#[derive(Debug)]
pub struct Cancel {
    wishes: watch::Receiver<Wishes>,
    taken: Wishes,
}

/// The other end of [`Cancel`].
#[derive(Clone, Debug)]
pub struct Canceller(watch::Sender<Wishes>);

/// All that was asked so far. It only ever grows, so that nothing is missed by who looks late.
#[derive(Clone, Copy, Debug, Default)]
struct Wishes {
    stops: u32,
    forces: u32,
    ending: Option<Ending>,
    withdrawn: bool,
    handed_over: bool,
}

/// One thing that is wished for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Stop.
    Stop,
    /// Stop, and kill the kernel if the code does not stop within the grace.
    Force,
    /// Leave the queue if the code has not begun.
    Withdraw,
    /// The kernel is to end, whatever it does.
    End(Ending),
    /// Nobody waits for the end any more; a time limit that nobody asked for goes.
    HandOver,
}

impl Canceller {
    /// Asks to stop.
    pub fn cancel(&self) {
        self.0.send_modify(|wishes| wishes.stops = wishes.stops.saturating_add(1));
    }

    /// Asks to stop, unless somebody has asked already.
    pub fn interrupt(&self) {
        self.0.send_if_modified(|wishes| {
            let first = wishes.stops == 0;
            wishes.stops = wishes.stops.max(1);
            first
        });
    }

    /// Asks to stop. Kills the kernel if the code has not stopped within the grace.
    pub fn force(&self) {
        self.0.send_modify(|wishes| wishes.forces = wishes.forces.saturating_add(1));
    }

    /// Takes the code out of its queue, unless it has begun.
    pub fn withdraw(&self) {
        self.0.send_modify(|wishes| wishes.withdrawn = true);
    }

    /// Repeats a wish that was heard elsewhere.
    pub fn pass_on(&self, wish: Wish) {
        match wish {
            Wish::Stop => self.cancel(),
            Wish::Force => self.force(),
            Wish::Withdraw => self.withdraw(),
            Wish::End(ending) => self.end(ending),
            Wish::HandOver => self.hand_over(),
        }
    }

    /// Asks for the end of the kernel.
    pub fn end(&self, ending: Ending) {
        self.0.send_modify(|wishes| wishes.ending = wishes.ending.or(Some(ending)));
    }

    /// Lets the code go on without its caller.
    pub fn hand_over(&self) {
        self.0.send_modify(|wishes| wishes.handed_over = true);
    }

    /// Another one who hears all that was asked so far and will be.
    pub(crate) fn listen(&self) -> Cancel {
        Cancel { wishes: self.0.subscribe(), taken: Wishes::default() }
    }

    /// Whether anybody has asked to stop, or for the end.
    pub fn is_asked(&self) -> bool {
        let wishes = self.0.borrow();
        wishes.stops > 0 || wishes.forces > 0 || wishes.ending.is_some()
    }

    /// Whether the code was let go on without its caller.
    pub fn is_handed_over(&self) -> bool {
        self.0.borrow().handed_over
    }
}

impl Cancel {
    /// Both ends.
    pub fn channel() -> (Canceller, Cancel) {
        let (sender, receiver) = watch::channel(Wishes::default());
        (Canceller(sender), Cancel { wishes: receiver, taken: Wishes::default() })
    }

    /// Nobody will ask for anything.
    pub fn never() -> Cancel {
        Cancel::channel().1
    }

    /// Takes a wish to stop, if there is one.
    pub fn is_asked(&mut self) -> bool {
        self.stop().is_some()
    }

    /// Takes a wish to stop, if there is one, and says which.
    pub(crate) fn stop(&mut self) -> Option<Wish> {
        loop {
            match self.next()? {
                Wish::HandOver | Wish::Withdraw => {}
                stop => return Some(stop),
            }
        }
    }

    /// Whether the code was let go on without its caller.
    pub(crate) fn is_handed_over(&self) -> bool {
        self.wishes.borrow().handed_over
    }

    /// Waits until somebody asks to stop. May be dropped at any time.
    pub async fn asked(&mut self) {
        self.stopped().await;
    }

    /// Waits until somebody asks to stop, and says how. May be dropped at any time.
    pub(crate) async fn stopped(&mut self) -> Wish {
        loop {
            match self.wish().await {
                Wish::HandOver | Wish::Withdraw => {}
                stop => return stop,
            }
        }
    }

    /// Waits for the next wish. May be dropped at any time.
    pub async fn wish(&mut self) -> Wish {
        loop {
            if let Some(wish) = self.next() {
                return wish;
            }
            if self.wishes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn next(&mut self) -> Option<Wish> {
        let wishes = *self.wishes.borrow_and_update();
        if let (Some(ending), None) = (wishes.ending, self.taken.ending) {
            self.taken.ending = Some(ending);
            return Some(Wish::End(ending));
        }
        if wishes.stops > self.taken.stops {
            self.taken.stops += 1;
            return Some(Wish::Stop);
        }
        if wishes.forces > self.taken.forces {
            self.taken.forces += 1;
            return Some(Wish::Force);
        }
        if wishes.withdrawn && !self.taken.withdrawn {
            self.taken.withdrawn = true;
            return Some(Wish::Withdraw);
        }
        if wishes.handed_over && !self.taken.handed_over {
            self.taken.handed_over = true;
            return Some(Wish::HandOver);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_wish_is_heard_once_and_the_end_comes_first() {
        let (canceller, mut cancel) = Cancel::channel();
        assert!(!canceller.is_asked() && !cancel.is_asked());
        canceller.hand_over();
        canceller.interrupt();
        canceller.interrupt();
        canceller.cancel();
        canceller.force();
        canceller.withdraw();
        canceller.end(Ending::Stop);
        canceller.end(Ending::Restart);
        let mut heard = Vec::new();
        for _ in 0..6 {
            heard.push(cancel.wish().await);
        }
        let stops = [Wish::Stop, Wish::Stop, Wish::Force];
        assert_eq!(heard[0], Wish::End(Ending::Stop));
        assert_eq!(heard[1..4], stops);
        assert_eq!(heard[4..], [Wish::Withdraw, Wish::HandOver]);
        assert_eq!(cancel.next(), None);
        assert!(canceller.is_asked() && canceller.is_handed_over());
    }
}
