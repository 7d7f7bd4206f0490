//! The connections of one listener, and the choice of connections to close when limits or
//! descriptors run out. Unauthenticated connections are closed first, oldest first.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::process::{Resource, getrlimit};
use tokio::sync::watch;

/// The tables of this process, which share its descriptors.
static TABLES: Mutex<Vec<Weak<ConnectionTable>>> = Mutex::new(Vec::new());

/// Descriptors that listeners leave for the host's socket and for kernels.
const RESERVE: u64 = 128;

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    max_unauthenticated: usize,
    max_authenticated: usize,
    state: Mutex<TableState>,
}

#[derive(Debug, Default)]
struct TableState {
    /// A logical clock. It advances with each new connection and each use of one.
    next: u64,
    entries: BTreeMap<u64, ConnectionEntry>,
}

#[derive(Debug)]
struct ConnectionEntry {
    state: ConnectionState,
    /// Logical time of the last use.
    used: u64,
    order: watch::Sender<Option<Closing>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    /// No request was authenticated yet.
    Unauthenticated,
    /// A request was authenticated. It is idle or being answered.
    Authenticated,
    /// It closes after its current response.
    Closing,
    /// A WebSocket whose page has completed the handshake.
    HandshakeDone,
}

/// The way to close a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// At once.
    Now,
    /// After the response in progress, if any.
    AfterResponse,
}

impl ConnectionTable {
    /// A table with these limits, or lower ones if few files may be open.
    pub(crate) fn new(max_unauthenticated: usize, max_authenticated: usize) -> Arc<ConnectionTable> {
        let share = |most: usize| match limit() {
            Some(files) => most.min(usize::try_from(files / 8).unwrap_or(most)).max(1),
            None => most,
        };
        let table = Arc::new(ConnectionTable {
            max_unauthenticated: share(max_unauthenticated),
            max_authenticated: share(max_authenticated),
            state: Mutex::default(),
        });
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.retain(|table| table.strong_count() > 0);
        tables.push(Arc::downgrade(&table));
        table
    }

    /// Adds a connection. `None` if only the reserve of descriptors is left and no connection can
    /// be closed.
    pub(crate) fn admit(self: &Arc<ConnectionTable>, connection: &impl AsFd) -> Option<ConnectionSlot> {
        // A new descriptor gets the lowest free number, so at least this many are in use.
        let in_use = u64::try_from(connection.as_fd().as_raw_fd()).unwrap_or_default();
        let is_short = limit().is_some_and(|files| in_use >= files.saturating_sub(reserve(files)));
        if is_short && make_room() == 0 {
            return None;
        }
        Some(self.slot())
    }

    /// Adds a connection to the host's socket, which may use the reserve.
    pub(crate) fn slot(self: &Arc<ConnectionTable>) -> ConnectionSlot {
        let mut state = self.state();
        let (order, orders) = watch::channel(None);
        let number = state.tick();
        state
            .entries
            .insert(number, ConnectionEntry { state: ConnectionState::Unauthenticated, used: number, order });
        if state.count(ConnectionState::Unauthenticated) > self.max_unauthenticated {
            state.close_oldest_unauthenticated();
        }
        ConnectionSlot { handle: ConnectionHandle { table: self.clone(), number, orders } }
    }

    /// Closes all connections, each after its response.
    pub(crate) fn close(&self) {
        for entry in self.state().entries.values() {
            entry.order.send_replace(Some(Closing::AfterResponse));
        }
    }

    /// Whether the limit on authenticated connections is reached.
    pub(crate) fn is_full(&self) -> bool {
        self.state().count(ConnectionState::Authenticated) >= self.max_authenticated
    }

    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes all unauthenticated connections of this process. Returns their number.
pub(super) fn make_room() -> usize {
    let tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let tables: Vec<Arc<ConnectionTable>> = tables.iter().filter_map(Weak::upgrade).collect();
    tables.iter().map(|table| table.state().close_unauthenticated()).sum()
}

impl TableState {
    fn tick(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn count(&self, state: ConnectionState) -> usize {
        self.entries.values().filter(|entry| entry.state == state).count()
    }

    fn close_oldest_unauthenticated(&mut self) {
        let oldest = self.entries.iter().find(|(_, entry)| entry.state == ConnectionState::Unauthenticated);
        if let Some((number, entry)) = oldest {
            entry.order.send_replace(Some(Closing::Now));
            let number = *number;
            self.entries.remove(&number);
        }
    }

    fn close_unauthenticated(&mut self) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, entry| {
            let stays = entry.state != ConnectionState::Unauthenticated;
            if !stays {
                entry.order.send_replace(Some(Closing::Now));
            }
            stays
        });
        before - self.entries.len()
    }

    fn mark_authenticated(&mut self, number: u64, most: usize) {
        let used = self.tick();
        let Some(entry) = self.entries.get_mut(&number) else { return };
        entry.used = used;
        if entry.state != ConnectionState::Unauthenticated {
            return;
        }
        entry.state = ConnectionState::Authenticated;
        if self.count(ConnectionState::Authenticated) > most {
            let known =
                self.entries.values_mut().filter(|entry| entry.state == ConnectionState::Authenticated);
            if let Some(oldest) = known.min_by_key(|entry| entry.used) {
                oldest.state = ConnectionState::Closing;
                oldest.order.send_replace(Some(Closing::AfterResponse));
            }
        }
    }
}

/// The slot of a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    handle: ConnectionHandle,
}

impl ConnectionSlot {
    /// A handle for the tasks that answer requests.
    pub(crate) fn handle(&self) -> ConnectionHandle {
        self.handle.clone()
    }

    /// The orders to close this connection.
    pub(crate) fn orders(&self) -> CloseOrders {
        self.handle.orders()
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.handle.table.state().entries.remove(&self.handle.number);
    }
}

/// Receives the orders to close a connection.
#[derive(Debug)]
pub(crate) struct CloseOrders(watch::Receiver<Option<Closing>>);

impl CloseOrders {
    /// The next order. Safe to cancel.
    pub(crate) async fn next(&mut self) -> Closing {
        match self.0.changed().await {
            Ok(()) => self.0.borrow_and_update().unwrap_or(Closing::Now),
            // The slot was freed; no more orders come.
            Err(_) => std::future::pending().await,
        }
    }
}

/// A connection as its requests see it.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionHandle {
    table: Arc<ConnectionTable>,
    number: u64,
    orders: watch::Receiver<Option<Closing>>,
}

impl ConnectionHandle {
    /// The orders to close it, including earlier ones.
    pub(crate) fn orders(&self) -> CloseOrders {
        CloseOrders(self.orders.clone())
    }

    /// Marks the connection as authenticated, and records its use.
    pub(crate) fn mark_authenticated(&self) {
        self.table.state().mark_authenticated(self.number, self.table.max_authenticated);
    }

    /// Whether no request was authenticated yet.
    pub(crate) fn is_unauthenticated(&self) -> bool {
        let state = self.table.state();
        state.entries.get(&self.number).is_some_and(|entry| entry.state == ConnectionState::Unauthenticated)
    }

    /// Marks a WebSocket whose page has completed the handshake. Until then it may be closed like
    /// any other connection.
    pub(crate) fn mark_handshake_done(&self) {
        if let Some(entry) = self.table.state().entries.get_mut(&self.number) {
            entry.state = ConnectionState::HandshakeDone;
        }
    }
}

/// Limit on open files, if any.
fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

fn reserve(limit: u64) -> u64 {
    RESERVE.min(limit / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(slot: &ConnectionSlot) -> Option<Closing> {
        *slot.handle.orders.borrow()
    }

    #[test]
    fn the_oldest_unauthenticated_connection_is_closed() {
        let table = ConnectionTable::new(2, 2);
        let page = table.slot();
        page.handle().mark_authenticated();
        let (first, second) = (table.slot(), table.slot());
        assert_eq!([order(&page), order(&first), order(&second)], [None; 3]);
        let third = table.slot();
        assert_eq!([order(&page), order(&second), order(&third)], [None; 3]);
        assert_eq!(order(&first), Some(Closing::Now));
        drop(second);
        let fourth = table.slot();
        assert_eq!([order(&third), order(&fourth)], [None; 2]);
    }

    #[test]
    fn the_least_recently_used_known_connection_closes_after_its_response() {
        let table = ConnectionTable::new(9, 2);
        let slots: Vec<ConnectionSlot> = (0..4).map(|_| table.slot()).collect();
        slots[3].handle().mark_authenticated();
        slots[3].handle().mark_handshake_done();
        for used in [0, 1, 0, 2] {
            slots[used].handle().mark_authenticated();
        }
        let orders: Vec<_> = slots.iter().map(order).collect();
        assert_eq!(orders, [None, Some(Closing::AfterResponse), None, None]);
        assert!(table.is_full());
    }

    #[test]
    fn a_socket_may_be_closed_until_its_handshake_is_done() {
        let table = ConnectionTable::new(2, 9);
        let (page, socket) = (table.slot(), table.slot());
        page.handle().mark_handshake_done();
        let others = [table.slot(), table.slot()];
        assert_eq!([order(&page), order(&others[0]), order(&others[1])], [None; 3]);
        assert_eq!(order(&socket), Some(Closing::Now));
    }

    #[test]
    fn only_unauthenticated_connections_make_room() {
        let table = ConnectionTable::new(9, 9);
        let (page, unauthenticated) = (table.slot(), table.slot());
        page.handle().mark_authenticated();
        assert_eq!(table.state().close_unauthenticated(), 1);
        assert_eq!((order(&page), order(&unauthenticated)), (None, Some(Closing::Now)));
        assert!(!unauthenticated.handle().is_unauthenticated(), "it is counted no more");
    }
}
