//! How members leave: at once, or together with the joins and evictions that wait for the next change of
//! the key.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use groupkey::{Epoch, Error, MemberId, Operation};
use rand_chacha::ChaCha20Rng;

use super::admission::Applicant;
use super::error::OperationError;
use super::event::ServiceEvent;
use super::group::has;
use super::joining::{BACKLOG, RETRY};
use super::log_entry::LogEntry;
use super::trail::{Actor, TrailOperation};
use super::{AT_ONCE, ENTRIES_OF_AN_OPERATION, Service};
use crate::local_parties::OwnedCommand;
use crate::runtime::{Fatal, after};
use crate::store::StoreError;

/// What became of each eviction, or why none took place.
pub type EvictionResults = Result<Vec<Result<Epoch, OperationError>>, OperationError>;

/// Hears what became of evictions that waited, once that is durable. It is dropped if the service ends.
pub type EvictionAnswer = Box<dyn FnOnce(&Service, EvictionResults) + Send>;

#[derive(Default)]
pub(super) struct WaitingEvictions {
    waiting: Vec<WaitingEviction>,
    /// When they take place, ns.
    due: Option<u64>,
}

/// Evictions that were asked for together.
struct WaitingEviction {
    actor: Actor,
    names: Vec<String>,
    answer: EvictionAnswer,
}

impl WaitingEvictions {
    /// Returns when they take place, if there are any, ns.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Lets evictions wait, until `due` at the latest.
    fn add(&mut self, eviction: WaitingEviction, due: u64) {
        self.waiting.push(eviction);
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    fn take(&mut self) -> Vec<WaitingEviction> {
        self.due = None;
        core::mem::take(&mut self.waiting)
    }
}

impl Service {
    /// Evicts a member and bars it from rejoining. A former member is only barred. A group has at
    /// least two members. An eviction from a group of two takes effect when a third member joins,
    /// and returns [`OperationError::BarredOnly`] until then.
    pub fn evict(
        &mut self,
        name: &str,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Epoch, OperationError> {
        let actor = self.trail.take_actor();
        let unknown = || Err(OperationError::Unknown(name.to_owned()));
        self.evict_all(&[(actor, name)], now, rng)?.pop().unwrap_or_else(unknown)
    }

    /// Evicts members as [`Self::evict`] does, each for its actor: in one transaction and, if the scheme
    /// has such an operation, in one change of the key for 64 of them. The change takes in devices that
    /// wait, too. Returns what became of each.
    pub fn evict_all(
        &mut self,
        evictions: &[(Actor, &str)],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> EvictionResults {
        self.require_confirmed()?;
        self.has_room_for(ENTRIES_OF_AN_OPERATION + 3 * evictions.len() as u64)?;
        let barred: Vec<_> = evictions.iter().map(|(_, name)| self.bar(name)).collect();
        let members: BTreeSet<_> = barred.iter().flatten().copied().collect();
        let is_current = |member: &u32| self.roster.is_current(*member);
        let leaving: Vec<_> = members.into_iter().filter(is_current).collect();
        let stuck = self.exchange(&leaving, now, rng)?;
        let epoch = self.group.epoch();
        let result = |member: Result<u32, OperationError>| match stuck.get(&member?) {
            Some(error) => Err(OperationError::BarredOnly(*error)),
            None => Ok(epoch),
        };
        let results: Vec<_> = barred.into_iter().map(result).collect();
        for ((actor, name), result) in evictions.iter().zip(&results) {
            self.trail.begin_by(actor.clone(), TrailOperation::Evict, Some(name));
            result.as_ref().err().into_iter().for_each(|error| self.trail.refuse(error));
        }
        self.commit(now)?;
        Ok(results)
    }

    /// Evicts members as [`Self::evict_all`] does, with the next tick: at once, or if the key has changed
    /// less than [`Policy::batch`](crate::Policy::batch) ago, when that is over, but within a second.
    /// Evictions and joins that come until then become one change with them. `answer` hears of it.
    ///
    /// # Errors
    ///
    /// [`OperationError::Unconfirmed`]: nothing waits then, and the answer hears nothing.
    pub fn evict_soon(
        &mut self,
        actor: Actor,
        names: Vec<String>,
        answer: EvictionAnswer,
        now: u64,
    ) -> Result<(), OperationError> {
        self.require_confirmed()?;
        let last = self.rekeying.at().filter(|&at| at <= now);
        let next = last.map_or(now, |at| after(at, self.policy.batch.min(LONGEST_WAIT)));
        let due = next.max(now);
        self.evictions.add(WaitingEviction { actor, names, answer }, due);
        Ok(())
    }

    pub(super) fn evict_waiting(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let waiting = self.evictions.take();
        let evictions: Vec<_> = (waiting.iter())
            .flat_map(|WaitingEviction { actor, names, .. }| {
                names.iter().map(|name| (actor.clone(), name.as_str()))
            })
            .collect();
        let mut results = match self.evict_all(&evictions, now, rng) {
            Ok(results) => Ok(results.into_iter()),
            Err(OperationError::Fatal(Fatal::Store(StoreError::Full { limit }))) => Err(limit),
            Err(OperationError::Fatal(fatal)) => return Err(fatal),
            // A service that ticks is confirmed, and all other refusals are of one eviction each.
            Err(_) => return Ok(()),
        };
        for WaitingEviction { names, answer, .. } in waiting {
            let own = match &mut results {
                Ok(results) => Ok(results.by_ref().take(names.len()).collect()),
                Err(limit) => Err(Fatal::Store(StoreError::Full { limit: *limit }).into()),
            };
            answer(self, own);
        }
        Ok(())
    }

    fn bar(&mut self, name: &str) -> Result<u32, OperationError> {
        let Some((member, record)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        let is_barred = record.standing.is_barred();
        self.admission.dismiss(name);
        if !is_barred {
            self.log(&LogEntry::Barred(member, true));
            self.roster.bar(member);
            self.succession.forget(member);
        }
        Ok(member)
    }

    /// Removes evicted members and takes in the devices that wait, in one change of the key if the scheme
    /// has such an operation. Returns those that cannot leave yet.
    fn exchange(
        &mut self,
        leaving: &[u32],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<BTreeMap<u32, Error>, Fatal> {
        let applicants = self.joining_with(leaving, now);
        let joining = self.enrol(&applicants, now, rng)?;
        if !joining.is_empty() {
            let batch = OwnedCommand::Batch(joining.clone(), leaving.to_vec());
            if self.may_command(batch, now, rng)? {
                self.say_farewell(leaving);
                return Ok(BTreeMap::new());
            }
            // Some of them may still leave.
            self.make_members(joining, now, rng)?;
        }
        self.remove_evicted(leaving, now, rng)
    }

    /// Returns the devices that join in the change with which these members leave.
    fn joining_with(&mut self, leaving: &[u32], now: u64) -> Vec<Applicant> {
        let may_batch = has(self.group.form(), Operation::Batch) && !self.staging.is_on();
        let may_admit = self.group.key().is_some()
            && self.publisher.unacknowledged() <= BACKLOG
            && self.ready().is_ok();
        if !may_batch || !may_admit || !(1..=AT_ONCE).contains(&leaving.len()) {
            return Vec::new();
        }
        let room = self.group.most_members().saturating_sub(self.roster.current());
        let later = after(now, self.policy.batch.max(RETRY));
        self.admission.take_fresh(&self.roster, AT_ONCE.min(room), later)
    }

    /// Removes members, in one change of the key if the scheme has such an operation. Returns those that
    /// cannot leave, because the group would be too small.
    pub(super) fn remove_all(
        &mut self,
        members: &[u32],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<BTreeMap<u32, Error>, Fatal> {
        let mut stuck = BTreeMap::new();
        for leaving in members.chunks(AT_ONCE) {
            // Members take a batch for joins, and might wait with its key.
            let may_batch = has(self.group.form(), Operation::Batch) && !self.staging.is_on();
            if leaving.len() > 1 && may_batch {
                let batch = OwnedCommand::Batch(Vec::new(), leaving.to_vec());
                if self.may_command(batch, now, rng)? {
                    continue;
                }
                // Some of them may still leave.
            }
            for &member in leaving {
                match self.command(OwnedCommand::Remove(member), now, rng) {
                    Err(OperationError::Fatal(fatal)) => return Err(fatal),
                    Err(OperationError::Refused(error)) => {
                        stuck.insert(member, error);
                    }
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(stuck)
    }

    /// Removes evicted members, and tells each that it has left. Returns those that cannot leave yet.
    pub(super) fn remove_evicted(
        &mut self,
        members: &[u32],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<BTreeMap<u32, Error>, Fatal> {
        let stuck = self.remove_all(members, now, rng)?;
        let left = members.iter().copied().filter(|member| !stuck.contains_key(member));
        self.say_farewell(&left.collect::<Vec<_>>());
        Ok(stuck)
    }

    fn say_farewell(&mut self, members: &[u32]) {
        for &member in members {
            if let Some(name) = self.roster.at(member).map(|record| record.name.clone()) {
                self.publish(self.topics.welcome(&name), self.group.farewell(member), false);
                self.publisher.report(ServiceEvent::Left { name, member: MemberId(member) });
            }
        }
    }

    fn may_command(
        &mut self,
        command: OwnedCommand,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<bool, Fatal> {
        match self.command(command, now, rng) {
            Ok(_) => Ok(true),
            Err(OperationError::Fatal(fatal)) => Err(fatal),
            Err(_) => Ok(false),
        }
    }
}

/// How long an eviction waits at most, however long joins are collected.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
