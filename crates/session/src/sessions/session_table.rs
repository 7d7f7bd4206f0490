//! The table of all sessions and calls. Admits calls and ends sessions. Nothing here waits; methods return
//! receivers for the caller to await.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use cellist_kernel::{Identity, Order};
use cellist_platform::contained::Panicked;
use cellist_settings::Policy;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::call::{Principal, SessionCall, SessionKind};
use super::error::SessionError;
use super::key::{ExecutionId, OwnerId, SessionKey};
use super::lookup::Lookup;
use super::loss::LossReason;
use super::policy::{self, Room, SessionRow};
use super::session_slot::SessionSlot;
use super::ticket::{QueuedCall, Ticket};
use super::view::{SessionView, Stage};
use crate::execution::CancelRequest;

/// Maximum number of queued calls in one session. More indicate a faulty caller.
const QUEUE: usize = 1000;
/// Number of ended calls that can still be found.
const ENDED: usize = 100;
/// Number of ended sessions that are remembered.
const PAST: usize = 1000;

/// The table of sessions.
#[derive(Default)]
pub(super) struct SessionTable {
    /// Sessions by number. Numbers are never reused, because an ending session may already have a successor with
    /// the same key.
    slots: BTreeMap<u64, SessionSlot>,
    next: u64,
    /// Connected owners.
    owners: HashSet<OwnerId>,
    /// Calls, the oldest first.
    tickets: VecDeque<Ticket>,
    /// Ended sessions with results, and why their kernels are gone.
    past: HashMap<SessionKey, LossReason>,
    is_closed: bool,
}

/// A session that was just created.
pub(super) struct NewSession {
    pub(super) slot: u64,
    /// Why the kernel of an earlier session with the same key is gone.
    pub(super) before: Option<LossReason>,
}

/// The next step of a session's task.
pub(super) enum NextStep {
    Work(super::session_slot::SessionJob),
    Wait,
    End,
}

impl SessionTable {
    /// Creates a table after a host that had these sessions.
    pub(super) fn after(known: impl Iterator<Item = SessionKey>) -> SessionTable {
        SessionTable {
            past: known.map(|key| (key, LossReason::HostEnded)).collect(),
            ..SessionTable::default()
        }
    }

    /// Queues a call, or returns it with an error. Returns a new session if one has to be started.
    pub(super) fn admit(
        &mut self,
        policy: &Policy,
        queued: Box<QueuedCall>,
        ticket: &Ticket,
    ) -> Result<Option<NewSession>, (Box<QueuedCall>, SessionError)> {
        let newcomer = match self.place(policy, &queued.call) {
            Ok(found) => found,
            Err(error) => return Err((queued, error)),
        };
        self.remember(ticket);
        let owner = queued.call.owner.clone();
        let owner_is_there = owner.as_ref().is_some_and(|owner| self.owners.contains(owner));
        let number = match &newcomer {
            Some(newcomer) => newcomer.slot,
            None => self.find(&queued.call.key).unwrap_or_default(),
        };
        if let Some(slot) = self.slots.get_mut(&number) {
            match owner {
                Some(owner) if owner_is_there => drop(slot.owners.insert(owner)),
                // An owner that has already left keeps nothing alive.
                Some(_) => {}
                None => slot.lasts = true,
            }
            let before = slot.before();
            queued.show(Stage::Queued { before, behind: slot.stuck() });
            slot.push(queued);
        }
        Ok(newcomer)
    }

    /// Finds the session of a call, or creates one.
    fn place(&mut self, policy: &Policy, call: &SessionCall) -> Result<Option<NewSession>, SessionError> {
        let id = || call.key.id.clone();
        if self.is_closed {
            return Err(SessionError::Closed);
        }
        if let Some(slot) = self.find(&call.key).and_then(|number| self.slots.get(&number)) {
            let waiting = slot.waiting();
            return if call.resets() && slot.is_resetting() {
                Err(SessionError::ResetUnderWay { id: id() })
            } else if waiting >= QUEUE {
                Err(SessionError::QueueFull { id: id(), waiting })
            } else {
                Ok(None)
            };
        }
        if call.kind == SessionKind::Tool {
            let (numbers, rows) = self.rows(policy);
            match policy::room(&rows, policy.max_sessions) {
                Room::Enough => {}
                Room::Without(index) => drop(self.end(numbers[index], LossReason::MadeRoom)),
                Room::None => {
                    let busy = numbers.iter().zip(&rows).filter(|(_, row)| row.counts);
                    let busy = busy.map(|(number, _)| self.slots[number].key.id.clone()).collect();
                    return Err(SessionError::Full { id: id(), max: policy.max_sessions, busy });
                }
            }
        }
        self.next += 1;
        let before = self.past.remove(&call.key);
        let mut slot = SessionSlot::new(call);
        slot.has_result = before.is_some();
        self.slots.insert(self.next, slot);
        Ok(Some(NewSession { slot: self.next, before }))
    }

    /// Keeps a ticket for lookups by id. Drops the oldest tickets of ended calls.
    fn remember(&mut self, ticket: &Ticket) {
        let ended = self.tickets.iter().filter(|ticket| ticket.is_done()).count();
        let mut excess = ended.saturating_sub(ENDED);
        self.tickets.retain(|ticket| {
            let goes = excess > 0 && ticket.is_done();
            excess -= usize::from(goes);
            !goes
        });
        self.tickets.push_back(ticket.clone());
    }

    /// Returns the next step of a session's task.
    pub(super) fn next(&mut self, number: u64) -> NextStep {
        let Some(slot) = self.slots.get_mut(&number) else { return NextStep::End };
        if slot.ending.is_some() {
            return NextStep::End;
        }
        match slot.take() {
            Some(job) => NextStep::Work(job),
            None if slot.leaves => {
                drop(self.end(number, LossReason::Left));
                NextStep::End
            }
            None => NextStep::Wait,
        }
    }

    /// Returns a session for its task to update.
    pub(super) fn slot(&mut self, number: u64) -> Option<&mut SessionSlot> {
        self.slots.get_mut(&number)
    }

    /// Notes that a result was delivered. Returns the key of the session if it was its first.
    pub(super) fn note_result(&mut self, number: u64) -> Option<SessionKey> {
        let slot = self.slots.get_mut(&number)?;
        slot.has_result = true;
        let first = !std::mem::replace(&mut slot.was_told, true);
        let first = first.then(|| slot.key.clone());
        let late = slot.ending.clone().map(|why| (slot.key.clone(), why));
        if let Some((key, why)) = late.filter(|(key, _)| self.find(key).is_none()) {
            self.remember_past(key, why);
        }
        first
    }

    fn remember_past(&mut self, key: SessionKey, why: LossReason) {
        if self.past.len() >= PAST {
            self.past.clear();
        }
        self.past.insert(key, why);
    }

    /// Removes a session that has ended.
    pub(super) fn ended(&mut self, number: u64) {
        if let Some(slot) = self.slots.remove(&number) {
            slot.gone.send_replace(true);
        }
    }

    /// Ends a session. Returns a receiver of its end.
    pub(super) fn end(&mut self, number: u64, why: LossReason) -> Option<watch::Receiver<bool>> {
        let refused = SessionError::Ended { id: self.slots.get(&number)?.key.id.clone() };
        self.end_with(number, why, &refused)
    }

    /// Ends a session after a panic.
    pub(super) fn fail(&mut self, number: u64, panicked: &Panicked) {
        if let Some(slot) = self.slots.get(&number) {
            let refused = SessionError::failed(slot.key.id.clone(), panicked);
            drop(self.end_with(number, LossReason::Failed, &refused));
        }
    }

    fn end_with(
        &mut self,
        number: u64,
        why: LossReason,
        refused: &SessionError,
    ) -> Option<watch::Receiver<bool>> {
        let slot = self.slots.get_mut(&number)?;
        let gone = slot.gone.subscribe();
        if slot.ending.is_none() {
            slot.end(why.clone()).into_iter().for_each(|job| job.refuse(refused.clone()));
            if slot.has_result {
                let key = slot.key.clone();
                self.remember_past(key, why);
            }
        }
        Some(gone)
    }

    /// Ends all sessions that were idle for too long.
    pub(super) fn sweep(&mut self, policy: &Policy, now: Instant) {
        let (numbers, rows) = self.rows(policy);
        for index in policy::expired(&rows, now) {
            drop(self.end(numbers[index], LossReason::Idle(rows[index].stays)));
        }
    }

    /// Ends all unused sessions to free resources. Returns receivers of their ends.
    pub(super) fn shed(&mut self, policy: &Policy) -> Vec<watch::Receiver<bool>> {
        let (numbers, rows) = self.rows(policy);
        let ended = policy::dispensable(&rows);
        ended.into_iter().filter_map(|index| self.end(numbers[index], LossReason::OutOfFiles)).collect()
    }

    /// Ends all sessions and rejects new calls.
    pub(super) fn close(&mut self) -> Vec<watch::Receiver<bool>> {
        self.is_closed = true;
        let numbers: Vec<u64> = self.slots.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.end(number, LossReason::HostEnded)).collect()
    }

    /// Removes a queued call.
    pub(super) fn withdraw(&mut self, id: &ExecutionId) -> Option<Box<QueuedCall>> {
        self.slots.values_mut().find_map(|slot| slot.withdraw(id))
    }

    /// Puts a restart at the front of a session's queue.
    pub(super) fn restart(
        &mut self,
        key: &SessionKey,
        answer: oneshot::Sender<Result<(), SessionError>>,
    ) -> Result<(), SessionError> {
        let slot = self.existing(key)?;
        if slot.is_resetting() {
            return Err(SessionError::ResetUnderWay { id: key.id.clone() });
        }
        slot.push_restart(answer);
        Ok(())
    }

    /// Queues a lookup. Returns `false` if the session is busy or missing.
    pub(super) fn look(&mut self, key: &SessionKey, look: Lookup) -> bool {
        self.existing(key).is_ok_and(|slot| slot.push_look(look))
    }

    /// Forwards a cancel request to the running call. Returns whether one runs.
    pub(super) fn forward(&mut self, key: &SessionKey, request: CancelRequest) -> Result<bool, SessionError> {
        self.existing(key).map(|slot| slot.forward(request))
    }

    /// Returns the running call of a session.
    pub(super) fn running(&mut self, key: &SessionKey) -> Result<Option<Ticket>, SessionError> {
        let id = self.existing(key)?.running();
        Ok(id.and_then(|id| self.ticket(&id)))
    }

    pub(super) fn stop(&mut self, key: &SessionKey) -> Result<watch::Receiver<bool>, SessionError> {
        let gone = self.find(key).and_then(|number| self.end(number, LossReason::Stopped));
        gone.ok_or_else(|| SessionError::NoSuchSession { id: key.id.clone() })
    }

    /// Registers an owner.
    pub(super) fn join(&mut self, owner: OwnerId) {
        self.owners.insert(owner);
    }

    /// Lets a registered owner use a session.
    pub(super) fn attach(&mut self, owner: &OwnerId, key: &SessionKey) -> Result<(), SessionError> {
        let is_there = self.owners.contains(owner);
        let slot = self.existing(key)?;
        if is_there {
            slot.owners.insert(owner.clone());
            slot.leaves = false;
        }
        Ok(())
    }

    /// Removes an owner. Sessions without other users end when they are idle.
    pub(super) fn leave(&mut self, owner: &OwnerId) {
        self.owners.remove(owner);
        for slot in self.slots.values_mut() {
            if !slot.owners.remove(owner) || !slot.owners.is_empty() {
                continue;
            }
            // The idle time starts when the last owner leaves.
            slot.touch();
            if !slot.lasts {
                slot.leaves = true;
                slot.end_if_left();
                slot.news.notify_one();
            }
        }
    }

    /// Returns the sessions with this name.
    pub(super) fn named(&self, id: &str) -> Vec<SessionKey> {
        let slots = self.slots.values().filter(|slot| slot.ending.is_none() && slot.key.id == id);
        slots.map(|slot| slot.key.clone()).collect()
    }

    pub(super) fn list(&self, policy: &Policy) -> Vec<SessionView> {
        let slots = self.slots.values().filter(|slot| slot.ending.is_none());
        slots.map(|slot| slot.view(policy)).collect()
    }

    /// Why the kernel of an earlier session with this key is gone.
    pub(super) fn gone(&self, key: &SessionKey) -> Option<&LossReason> {
        self.past.get(key)
    }

    /// Returns the identity of a session's kernel.
    pub(super) fn identity(&self, key: &SessionKey) -> Option<Identity> {
        self.find(key).and_then(|number| self.slots.get(&number)?.identity())
    }

    pub(super) fn order(&self, key: &SessionKey) -> Option<Arc<Order>> {
        self.find(key).and_then(|number| self.slots.get(&number)).map(|slot| slot.order.clone())
    }

    /// Returns the caller of the running code of a session.
    pub(super) fn acting(&self, key: &SessionKey) -> Option<Option<Principal>> {
        self.find(key).and_then(|number| self.slots.get(&number)).and_then(SessionSlot::acting)
    }

    pub(super) fn ticket(&self, id: &ExecutionId) -> Option<Ticket> {
        self.tickets.iter().find(|ticket| ticket.id() == id).cloned()
    }

    fn find(&self, key: &SessionKey) -> Option<u64> {
        let mut slots = self.slots.iter().filter(|(_, slot)| slot.ending.is_none());
        slots.find(|(_, slot)| slot.key == *key).map(|(number, _)| *number)
    }

    fn existing(&mut self, key: &SessionKey) -> Result<&mut SessionSlot, SessionError> {
        let missing = || SessionError::NoSuchSession { id: key.id.clone() };
        let number = self.find(key).ok_or_else(missing)?;
        self.slots.get_mut(&number).ok_or_else(missing)
    }

    /// Returns the sessions that are not ending, for the session policy.
    fn rows(&self, policy: &Policy) -> (Vec<u64>, Vec<SessionRow>) {
        let slots = self.slots.iter().filter(|(_, slot)| slot.ending.is_none());
        slots.map(|(number, slot)| (*number, slot.row(policy))).unzip()
    }
}
