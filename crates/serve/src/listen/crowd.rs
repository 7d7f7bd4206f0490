//! The connections of one listener, and which of them gives way when there are too many or when files run out. A
//! connection that has shown nothing yet gives way first, the oldest of them before all.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::process::{Resource, getrlimit};
use tokio::sync::watch;

/// Every crowd of this process: files are the process's.
static CROWDS: Mutex<Vec<Weak<Crowd>>> = Mutex::new(Vec::new());

/// Files that listeners leave for the owner's socket and for kernels, where a limit is known.
const RESERVE: u64 = 128;

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct Crowd {
    most_strangers: usize,
    most_known: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What comes next gets this number; so does a connection that was just used.
    next: u64,
    guests: BTreeMap<u64, Guest>,
}

#[derive(Debug)]
struct Guest {
    standing: Standing,
    /// When it was used last, in numbers.
    used: u64,
    order: watch::Sender<Option<Closing>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// No request of its was let in yet.
    Stranger,
    /// It waits for a request or answers one.
    Known,
    /// It was asked to end after its response.
    Leaving,
    /// It is a socket on which a page has proven itself.
    Proven,
}

/// How a connection is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// At once.
    Now,
    /// When it has answered the request that it answers, if it does.
    AfterResponse,
}

impl Crowd {
    /// Room for so many, or for less where few files may be open.
    pub(crate) fn new(most_strangers: usize, most_known: usize) -> Arc<Crowd> {
        let share = |most: usize| match limit() {
            Some(files) => most.min(usize::try_from(files / 8).unwrap_or(most)).max(1),
            None => most,
        };
        let crowd = Arc::new(Crowd {
            most_strangers: share(most_strangers),
            most_known: share(most_known),
            state: Mutex::default(),
        });
        let mut crowds = CROWDS.lock().unwrap_or_else(PoisonError::into_inner);
        crowds.retain(|crowd| crowd.strong_count() > 0);
        crowds.push(Arc::downgrade(&crowd));
        crowd
    }

    /// A seat for a connection, unless all files but the reserve are in use and nobody gives way.
    pub(crate) fn enter(self: &Arc<Crowd>, connection: &impl AsFd) -> Option<Seat> {
        // A new descriptor has the lowest number that is free, so that many are in use.
        let in_use = u64::try_from(connection.as_fd().as_raw_fd()).unwrap_or_default();
        let is_short = limit().is_some_and(|files| in_use >= files.saturating_sub(reserve(files)));
        if is_short && make_room() == 0 {
            return None;
        }
        Some(self.seat())
    }

    /// A seat for a connection of the owner, for which files are held in reserve.
    pub(crate) fn seat(self: &Arc<Crowd>) -> Seat {
        let mut state = self.state();
        let (order, orders) = watch::channel(None);
        let number = state.tick();
        state.guests.insert(number, Guest { standing: Standing::Stranger, used: number, order });
        if state.count(Standing::Stranger) > self.most_strangers {
            state.close_oldest_stranger();
        }
        Seat { visit: Visit { crowd: self.clone(), number, orders } }
    }

    /// Ends all connections, each after its response.
    pub(crate) fn close(&self) {
        for guest in self.state().guests.values() {
            guest.order.send_replace(Some(Closing::AfterResponse));
        }
    }

    /// Whether as many connections were let in as may be.
    pub(crate) fn is_full(&self) -> bool {
        self.state().count(Standing::Known) >= self.most_known
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes every connection of this process that has shown nothing yet, and says how many.
pub(super) fn make_room() -> usize {
    let crowds = CROWDS.lock().unwrap_or_else(PoisonError::into_inner);
    let crowds: Vec<Arc<Crowd>> = crowds.iter().filter_map(Weak::upgrade).collect();
    crowds.iter().map(|crowd| crowd.state().close_strangers()).sum()
}

impl State {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn count(&self, standing: Standing) -> usize {
        self.guests.values().filter(|guest| guest.standing == standing).count()
    }

    fn close_oldest_stranger(&mut self) {
        let oldest = self.guests.iter().find(|(_, guest)| guest.standing == Standing::Stranger);
        if let Some((number, guest)) = oldest {
            guest.order.send_replace(Some(Closing::Now));
            let number = *number;
            self.guests.remove(&number);
        }
    }

    fn close_strangers(&mut self) -> usize {
        let before = self.guests.len();
        self.guests.retain(|_, guest| {
            let stays = guest.standing != Standing::Stranger;
            if !stays {
                guest.order.send_replace(Some(Closing::Now));
            }
            stays
        });
        before - self.guests.len()
    }

    fn know(&mut self, number: u64, most: usize) {
        let used = self.tick();
        let Some(guest) = self.guests.get_mut(&number) else { return };
        guest.used = used;
        if guest.standing != Standing::Stranger {
            return;
        }
        guest.standing = Standing::Known;
        if self.count(Standing::Known) > most {
            let known = self.guests.values_mut().filter(|guest| guest.standing == Standing::Known);
            if let Some(oldest) = known.min_by_key(|guest| guest.used) {
                oldest.standing = Standing::Leaving;
                oldest.order.send_replace(Some(Closing::AfterResponse));
            }
        }
    }
}

/// A connection's place among the others, for as long as it is open.
#[derive(Debug)]
pub(crate) struct Seat {
    visit: Visit,
}

impl Seat {
    /// What those know of it who answer its requests.
    pub(crate) fn visit(&self) -> Visit {
        self.visit.clone()
    }

    /// What it is told to do.
    pub(crate) fn orders(&self) -> Orders {
        self.visit.orders()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.visit.crowd.state().guests.remove(&self.visit.number);
    }
}

/// What a connection is told to do.
#[derive(Debug)]
pub(crate) struct Orders(watch::Receiver<Option<Closing>>);

impl Orders {
    /// The next order. Safe to drop half-way.
    pub(crate) async fn next(&mut self) -> Closing {
        match self.0.changed().await {
            Ok(()) => self.0.borrow_and_update().unwrap_or(Closing::Now),
            // Its place was given to another, or it is counted no more.
            Err(_) => std::future::pending().await,
        }
    }
}

/// A connection among the others, as a request knows it.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    crowd: Arc<Crowd>,
    number: u64,
    orders: watch::Receiver<Option<Closing>>,
}

impl Visit {
    /// What it is told to do, from the beginning.
    pub(crate) fn orders(&self) -> Orders {
        Orders(self.orders.clone())
    }

    /// A request of it was let in.
    pub(crate) fn known(&self) {
        self.crowd.state().know(self.number, self.crowd.most_known);
    }

    /// Whether no request of it was let in yet.
    pub(crate) fn is_stranger(&self) -> bool {
        let state = self.crowd.state();
        state.guests.get(&self.number).is_some_and(|guest| guest.standing == Standing::Stranger)
    }

    /// It is a socket, and its page has proven itself. Until then a socket counts as its request did, and gives way.
    pub(crate) fn proven(&self) {
        if let Some(guest) = self.crowd.state().guests.get_mut(&self.number) {
            guest.standing = Standing::Proven;
        }
    }
}

/// How many files may be open, where there is a limit.
fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

fn reserve(limit: u64) -> u64 {
    RESERVE.min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(seat: &Seat) -> Option<Closing> {
        *seat.visit.orders.borrow()
    }

    #[test]
    fn the_oldest_connection_that_showed_nothing_gives_way() {
        let crowd = Crowd::new(2, 2);
        let page = crowd.seat();
        page.visit().known();
        let (first, second) = (crowd.seat(), crowd.seat());
        assert_eq!([order(&page), order(&first), order(&second)], [None; 3]);
        let third = crowd.seat();
        assert_eq!([order(&page), order(&second), order(&third)], [None; 3]);
        assert_eq!(order(&first), Some(Closing::Now));
        drop(second);
        let fourth = crowd.seat();
        assert_eq!([order(&third), order(&fourth)], [None; 2]);
    }

    #[test]
    fn of_known_connections_the_one_not_used_for_longest_ends_after_its_response() {
        let crowd = Crowd::new(9, 2);
        let seats: Vec<Seat> = (0..4).map(|_| crowd.seat()).collect();
        seats[3].visit().known();
        seats[3].visit().proven();
        for used in [0, 1, 0, 2] {
            seats[used].visit().known();
        }
        let orders: Vec<_> = seats.iter().map(order).collect();
        assert_eq!(orders, [None, Some(Closing::AfterResponse), None, None]);
        assert!(crowd.is_full());
    }

    #[test]
    fn a_socket_gives_way_until_its_page_has_proven_itself() {
        let crowd = Crowd::new(2, 9);
        let (page, socket) = (crowd.seat(), crowd.seat());
        page.visit().proven();
        let others = [crowd.seat(), crowd.seat()];
        assert_eq!([order(&page), order(&others[0]), order(&others[1])], [None; 3]);
        assert_eq!(order(&socket), Some(Closing::Now));
    }

    #[test]
    fn room_is_made_by_strangers_alone() {
        let crowd = Crowd::new(9, 9);
        let (page, stranger) = (crowd.seat(), crowd.seat());
        page.visit().known();
        assert_eq!(crowd.state().close_strangers(), 1);
        assert_eq!((order(&page), order(&stranger)), (None, Some(Closing::Now)));
        assert!(!stranger.visit().is_stranger(), "it is counted no more");
    }
}
