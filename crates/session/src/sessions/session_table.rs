//! The table of all sessions and calls: who may come in, who has to go. Nothing here waits; what has to be waited for is
//! given back.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use cellist_kernel::{Identity, Order};
use cellist_platform::contained::Panicked;
use cellist_settings::Policy;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use super::call::{Kind, Principal, SessionCall};
use super::error::SessionError;
use super::gone::Gone;
use super::key::{ExecutionId, OwnerId, SessionKey};
use super::look::Look;
use super::policy::{self, Room, Row};
use super::session_slot::SessionSlot;
use super::ticket::{Queued, Ticket};
use super::view::{SessionView, Stage};
use crate::execution::Wish;

/// How many calls may wait in one session: more are a mistake of whoever makes them.
const QUEUE: usize = 1000;
/// How many calls that have ended can still be found.
const ENDED: usize = 100;
/// How many sessions that have ended are remembered.
const PAST: usize = 1000;

/// The table.
#[derive(Default)]
pub(super) struct SessionTable {
    /// By a number that is never used again: a session that ends may have a successor of the same name already.
    slots: BTreeMap<u64, SessionSlot>,
    next: u64,
    /// Users who are there.
    owners: HashSet<OwnerId>,
    /// Calls, the oldest first.
    tickets: VecDeque<Ticket>,
    /// Sessions that had results, and why their kernels are gone.
    past: HashMap<SessionKey, Gone>,
    is_closed: bool,
}

/// A session that was just made.
pub(super) struct Newcomer {
    pub(super) slot: u64,
    /// Why the kernel is gone that an earlier session of the same name had.
    pub(super) before: Option<Gone>,
}

/// What the task of a session has to do next.
pub(super) enum Next {
    Work(super::session_slot::Job),
    Wait,
    End,
}

impl SessionTable {
    /// An empty table, after a host that had these sessions.
    pub(super) fn after(known: impl Iterator<Item = SessionKey>) -> SessionTable {
        SessionTable { past: known.map(|key| (key, Gone::HostEnded)).collect(), ..SessionTable::default() }
    }

    /// Takes a call in, or says why not. Tells whether a session has to be started for it.
    pub(super) fn admit(
        &mut self,
        policy: &Policy,
        queued: Box<Queued>,
        ticket: &Ticket,
    ) -> Result<Option<Newcomer>, (Box<Queued>, SessionError)> {
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
                // Who has gone already counts on nothing.
                Some(_) => {}
                None => slot.lasts = true,
            }
            let before = slot.before();
            queued.show(Stage::Queued { before, behind: slot.stuck() });
            slot.push(queued);
        }
        Ok(newcomer)
    }

    /// Finds the session of a call, or makes one.
    fn place(&mut self, policy: &Policy, call: &SessionCall) -> Result<Option<Newcomer>, SessionError> {
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
        if call.kind == Kind::Tool {
            let (numbers, rows) = self.rows(policy);
            match policy::room(&rows, policy.max_sessions) {
                Room::Enough => {}
                Room::Without(index) => drop(self.end(numbers[index], Gone::MadeRoom)),
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
        Ok(Some(Newcomer { slot: self.next, before }))
    }

    /// Keeps a call to be found again, and forgets the oldest that have ended.
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

    /// What the task of a session has to do next.
    pub(super) fn next(&mut self, number: u64) -> Next {
        let Some(slot) = self.slots.get_mut(&number) else { return Next::End };
        if slot.ending.is_some() {
            return Next::End;
        }
        match slot.take() {
            Some(job) => Next::Work(job),
            None if slot.leaves => {
                drop(self.end(number, Gone::Left));
                Next::End
            }
            None => Next::Wait,
        }
    }

    /// Lets the task change how its session is seen.
    pub(super) fn slot(&mut self, number: u64) -> Option<&mut SessionSlot> {
        self.slots.get_mut(&number)
    }

    /// A result was told that stood on the session's kernel. Names the session if it is its first.
    pub(super) fn told(&mut self, number: u64) -> Option<SessionKey> {
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

    fn remember_past(&mut self, key: SessionKey, why: Gone) {
        if self.past.len() >= PAST {
            self.past.clear();
        }
        self.past.insert(key, why);
    }

    /// Nothing is left of a session.
    pub(super) fn ended(&mut self, number: u64) {
        if let Some(slot) = self.slots.remove(&number) {
            slot.gone.send_replace(true);
        }
    }

    /// Ends a session. What comes back tells when nothing is left of it.
    pub(super) fn end(&mut self, number: u64, why: Gone) -> Option<watch::Receiver<bool>> {
        let refused = SessionError::Ended { id: self.slots.get(&number)?.key.id.clone() };
        self.end_with(number, why, &refused)
    }

    /// Ends a session in which a fault of ours happened.
    pub(super) fn fail(&mut self, number: u64, panicked: &Panicked) {
        if let Some(slot) = self.slots.get(&number) {
            let refused = SessionError::failed(slot.key.id.clone(), panicked);
            drop(self.end_with(number, Gone::Failed, &refused));
        }
    }

    fn end_with(&mut self, number: u64, why: Gone, refused: &SessionError) -> Option<watch::Receiver<bool>> {
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

    /// Ends all that were idle for too long.
    pub(super) fn sweep(&mut self, policy: &Policy, now: Instant) {
        let (numbers, rows) = self.rows(policy);
        for index in policy::expired(&rows, now) {
            drop(self.end(numbers[index], Gone::Idle(rows[index].stays)));
        }
    }

    /// Ends all that can be done without. What comes back tells when nothing is left of them.
    pub(super) fn shed(&mut self, policy: &Policy) -> Vec<watch::Receiver<bool>> {
        let (numbers, rows) = self.rows(policy);
        let ended = policy::dispensable(&rows);
        ended.into_iter().filter_map(|index| self.end(numbers[index], Gone::OutOfFiles)).collect()
    }

    /// Ends everything and takes nothing in any more.
    pub(super) fn close(&mut self) -> Vec<watch::Receiver<bool>> {
        self.is_closed = true;
        let numbers: Vec<u64> = self.slots.keys().copied().collect();
        numbers.into_iter().filter_map(|number| self.end(number, Gone::HostEnded)).collect()
    }

    /// Takes a call out of the queue that it waits in.
    pub(super) fn withdraw(&mut self, id: &ExecutionId) -> Option<Box<Queued>> {
        self.slots.values_mut().find_map(|slot| slot.withdraw(id))
    }

    /// Puts a restart before all that waits in a session.
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

    /// Has something looked up in a session. `false` when it is busy, or not there.
    pub(super) fn look(&mut self, key: &SessionKey, look: Look) -> bool {
        self.existing(key).is_ok_and(|slot| slot.push_look(look))
    }

    /// Passes a wish on to the call that runs in a session. Returns whether one runs.
    pub(super) fn wish(&mut self, key: &SessionKey, wish: Wish) -> Result<bool, SessionError> {
        self.existing(key).map(|slot| slot.wish(wish))
    }

    /// The call that runs in a session.
    pub(super) fn running(&mut self, key: &SessionKey) -> Result<Option<Ticket>, SessionError> {
        let id = self.existing(key)?.running();
        Ok(id.and_then(|id| self.ticket(&id)))
    }

    pub(super) fn stop(&mut self, key: &SessionKey) -> Result<watch::Receiver<bool>, SessionError> {
        let gone = self.find(key).and_then(|number| self.end(number, Gone::Stopped));
        gone.ok_or_else(|| SessionError::NoSuchSession { id: key.id.clone() })
    }

    /// Somebody is there from now on.
    pub(super) fn join(&mut self, owner: OwnerId) {
        self.owners.insert(owner);
    }

    /// Somebody who is there uses a session from now on.
    pub(super) fn attach(&mut self, owner: &OwnerId, key: &SessionKey) -> Result<(), SessionError> {
        let is_there = self.owners.contains(owner);
        let slot = self.existing(key)?;
        if is_there {
            slot.owners.insert(owner.clone());
            slot.leaves = false;
        }
        Ok(())
    }

    /// Somebody has gone. Sessions that nobody else uses or counts on go too, when they have nothing to do.
    pub(super) fn leave(&mut self, owner: &OwnerId) {
        self.owners.remove(owner);
        for slot in self.slots.values_mut() {
            if !slot.owners.remove(owner) || !slot.owners.is_empty() {
                continue;
            }
            // The time that it stays counts from the last user.
            slot.touch();
            if !slot.lasts {
                slot.leaves = true;
                slot.end_if_left();
                slot.news.notify_one();
            }
        }
    }

    /// The sessions of this name.
    pub(super) fn named(&self, id: &str) -> Vec<SessionKey> {
        let slots = self.slots.values().filter(|slot| slot.ending.is_none() && slot.key.id == id);
        slots.map(|slot| slot.key.clone()).collect()
    }

    pub(super) fn list(&self, policy: &Policy) -> Vec<SessionView> {
        let slots = self.slots.values().filter(|slot| slot.ending.is_none());
        slots.map(|slot| slot.view(policy)).collect()
    }

    /// Why the kernel of an earlier session of this name is gone.
    pub(super) fn gone(&self, key: &SessionKey) -> Option<&Gone> {
        self.past.get(key)
    }

    /// The identity of a session's kernel.
    pub(super) fn identity(&self, key: &SessionKey) -> Option<Identity> {
        self.find(key).and_then(|number| self.slots.get(&number)?.identity())
    }

    pub(super) fn order(&self, key: &SessionKey) -> Option<Arc<Order>> {
        self.find(key).and_then(|number| self.slots.get(&number)).map(|slot| slot.order.clone())
    }

    /// Who started the code that runs in a session.
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

    /// Sessions that do not end already, as the decisions see them.
    fn rows(&self, policy: &Policy) -> (Vec<u64>, Vec<Row>) {
        let slots = self.slots.iter().filter(|(_, slot)| slot.ending.is_none());
        slots.map(|(number, slot)| (*number, slot.row(policy))).unzip()
    }
}
