//! The controller of a live group: it admits devices, stores each step, and publishes the messages.
//!
//! A service runs the controller's party, and the subgroup controllers' parties if the scheme has
//! them. Messages between these parties do not leave the process.
//!
//! One transaction stores each step's log entry and its messages, before any message leaves.
//! [`Service::open`] replays the log, and publishes unacknowledged messages again. Members refuse
//! repeated messages (`StaleEpoch`). No epoch is used twice, because a step that is not stored has
//! published nothing.

mod admission;
mod allowance;
mod applicant;
mod chain;
mod checkpoint;
mod continuity;
mod error;
mod faults;
mod happened;
pub mod history;
mod intake;
mod log;
mod recovery;
mod roster;
mod succession;
mod welcomes;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use groupkey::{Channel, Epoch, GroupContext, Key, MemberId, Operation, PartyId, Recipient};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use zeroize::{Zeroize, Zeroizing};

use self::allowance::Verifications;
use self::applicant::Applicant;
use self::chain::Chain;
use self::continuity::{Founding, Unconfirmed};
pub use self::error::{OpenError, OperationError};
use self::faults::Faults;
pub use self::happened::{Device, Happened, Why};
use self::history::{History, Tally};
use self::log::{Draw, Entry};
use self::roster::Roster;
use self::succession::Succession;
pub use self::succession::{ChangeError, UnderWay};
use self::welcomes::Welcomes;
use crate::codec::encoded;
use crate::counters::Counters;
use crate::form::{Form, Written};
use crate::keyring::Secret;
use crate::notice::{Farewell, Notice, Reached};
use crate::parties::{Given, Left, Order, Parties};
use crate::policy::Policy;
use crate::runtime::{Fatal, MILLISECOND, Output, Publish, REQUEST_EXPIRY, SECOND, after};
use crate::store::{Change, Store, StoreError};
use crate::topics::Topics;

/// A controller's runtime.
pub struct Service {
    policy: Policy,
    topics: Topics,
    identity: Secret,
    /// When the group was founded, ms since 1970.
    founded: u64,
    /// Which founding of the group it is.
    instance: ByteArray<16>,
    mac: Option<Secret>,
    /// The subgroup controllers' identities, by the subgroup's number.
    subgroups: Vec<Secret>,
    /// The public keys that a new member learns.
    controllers: Vec<(i64, ByteArray<32>)>,
    parties: Parties,
    roster: Roster,
    used_tokens: BTreeSet<[u8; 32]>,
    /// Numbers that were offered to devices and are not used yet.
    offers: BTreeMap<String, u32>,
    /// The attempt and the time (ns) of the last answer to each device.
    answers: BTreeMap<String, ([u8; 8], u64)>,
    waiting: Vec<Applicant>,
    /// How many messages to parties may still be verified in vain.
    verifications: Verifications,
    /// The same for requests to join: a flood of these keeps no member from catching up.
    applications: Verifications,
    /// The place of each token in the policy, by the name that requests have for it.
    tokens: BTreeMap<[u8; 8], usize>,
    /// When the operator was told of each refused device and reason, ns.
    refusals: BTreeMap<(String, Why), u64>,
    welcomes: Welcomes,
    /// When waiting devices are admitted, ns.
    admission_due: Option<u64>,
    /// When the notice of the epoch is published again, because the broker may have lost it, ns.
    notice_due: Option<u64>,
    /// When the key last changed, ns.
    rekeyed_at: Option<u64>,
    /// When the key changes without a join or leave, ns.
    rekey_due: Option<u64>,
    store: Box<dyn Store>,
    log_length: u64,
    /// The log's hash, with the entries of the current change once that is committed.
    chain: Chain,
    /// What is known of the last state, until it is certain that the store has it.
    unconfirmed: Option<Unconfirmed>,
    /// Whether the current change is the last one.
    is_stopping: bool,
    /// The group that will succeed the present one.
    succession: Option<Succession>,
    /// When the last announced successor was to be founded, ms since 1970.
    latest_successor: u64,
    /// Whether the current change is the one in which a successor takes over.
    is_succeeding: bool,
    /// The form in the service's file, which had been the group's.
    configured: Written,
    /// Whether devices were admitted to this founding.
    founding: Founding,
    /// Whether the current change must be in the notice although the epoch is the same.
    is_news: bool,
    next_publish: u64,
    unacknowledged: BTreeSet<u64>,
    /// Acknowledged publishes that are still in the store.
    acknowledged: Vec<u64>,
    forget_due: Option<u64>,
    /// The changes of the current input so far.
    change: Change,
    tally: Tally,
    announced: Epoch,
    told: Vec<Happened>,
    outputs: VecDeque<Output<Happened>>,
    counters: Counters,
    history: History,
    faults: Faults,
}

/// A message for the confidential channel to a new member.
type Enrolment = (MemberId, Zeroizing<Vec<u8>>);

impl Service {
    /// Returns the service's public key.
    pub fn public(&self) -> [u8; 32] {
        self.identity.public()
    }

    /// Returns the context that all signatures of the group cover.
    pub const fn context(&self) -> &GroupContext {
        self.parties.group_context()
    }

    /// Returns when the group was founded, ms since 1970. A change of scheme is another founding.
    pub const fn founded(&self) -> u64 {
        self.founded
    }

    /// Returns the group key and its epoch, once there is a group.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.parties.group_key(PartyId::Controller)
    }

    /// Returns the members' names and numbers.
    pub fn members(&self) -> Vec<(String, MemberId)> {
        self.roster.members().map(|(id, record)| (record.name.clone(), MemberId(id))).collect()
    }

    /// Returns the number of members.
    pub const fn member_count(&self) -> usize {
        self.roster.current()
    }

    /// Returns the devices that are or were members, from the number `from` on.
    pub fn devices(&self, from: MemberId) -> impl Iterator<Item = Device<'_>> {
        self.roster.records(from.0).map(|(number, record)| Device {
            name: &record.name,
            member: MemberId(number),
            is_current: record.standing.is_current(),
            is_barred: record.standing.is_barred(),
        })
    }

    /// Returns the number of devices that wait to be admitted.
    pub const fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the operator's decisions.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the history of operations since the process began.
    pub const fn history(&self) -> &History {
        &self.history
    }

    /// Returns the counters of accepted and refused messages since the process began.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the number of log entries, and of publishes that the broker has not acknowledged.
    pub fn stored(&self) -> (u64, usize) {
        (self.log_length, self.unacknowledged.len())
    }

    /// Checks that the service can take all operations: it has not crashed, and the log has room
    /// for one more beside the reserve for the operator.
    pub fn ready(&self) -> Result<(), Fatal> {
        self.has_room_for(ENTRIES_OF_AN_OPERATION + RESERVED_FOR_THE_OPERATOR)
    }

    /// Checks the same for an operator's command, which may use the reserve.
    fn ready_for_the_operator(&self) -> Result<(), Fatal> {
        self.has_room_for(ENTRIES_OF_AN_OPERATION)
    }

    fn has_room_for(&self, entries: u64) -> Result<(), Fatal> {
        self.faults.alive()?;
        let limit = self.policy.limits.log;
        if self.log_length.saturating_add(entries) > limit {
            return Err(StoreError::Full { limit }.into());
        }
        Ok(())
    }

    /// Evicts a member and bars it from rejoining. A former member is only barred. A group has at
    /// least two members. An eviction from a group of two takes effect when a third member joins,
    /// and returns [`OperationError::BarredOnly`] until then.
    pub fn evict(
        &mut self,
        name: &str,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Epoch, OperationError> {
        self.require_confirmed()?;
        self.ready_for_the_operator()?;
        let Some((member, record)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        let standing = record.standing;
        self.waiting.retain(|applicant| applicant.name() != name);
        if !standing.is_barred() {
            self.log(&Entry::Barred(member, true));
            self.roster.bar(member);
            self.forget_asked(member);
        }
        let removed = if standing.is_current() { self.remove(member, now, rng) } else { Ok(()) };
        match removed {
            Err(OperationError::Refused(error)) => {
                self.commit(now)?;
                Err(OperationError::BarredOnly(error))
            }
            removed => {
                removed?;
                self.commit(now)?;
                Ok(self.epoch())
            }
        }
    }

    /// Lets an evicted device join again with its earlier credentials. Until the device rejoins,
    /// another device may also join under its name, with a token or with the identity that the
    /// policy lists. A device whose clock was ahead when it joined may then use earlier stamps.
    pub fn readmit(&mut self, name: &str, now: u64) -> Result<(), OperationError> {
        self.require_confirmed()?;
        self.ready_for_the_operator()?;
        let Some((member, _)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        // Stamps are in ms. A device whose clock was ahead cannot exceed its last stamp.
        let stamp = now / MILLISECOND;
        self.log(&Entry::Barred(member, false));
        self.log(&Entry::Restamped(member, stamp));
        self.roster.readmit(member);
        self.roster.restamp(member, stamp);
        Ok(self.commit(now)?)
    }

    /// Changes the key without a join or leave, if the scheme supports it.
    pub fn rekey(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.require_confirmed()?;
        self.ready_for_the_operator()?;
        self.change_key(now, rng)
    }

    fn change_key(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.order(Order::Rekey, now, rng)?;
        self.commit(now)?;
        Ok(self.epoch())
    }

    /// Makes the service crash at its `point`-th fault point from now on. The fault points are
    /// before a step, after it, after the commit, and before each publish. For tests.
    pub const fn crash_at(&mut self, point: u64) {
        self.faults.left = Some(point);
    }

    /// Returns how many fault points were passed.
    pub const fn fault_points(&self) -> u64 {
        self.faults.passed
    }

    /// Gives the controller a command, and adds the step's log entry and messages to the change.
    /// Returns the messages for the confidential channel to new members.
    fn order(
        &mut self,
        order: Order,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Enrolment>, OperationError> {
        self.faults.pass()?;
        let draw = Draw::at(now, rng);
        let left = self.parties.step(PartyId::Controller, Given::Order(&order), now, rng);
        let left = left.map_err(OperationError::Refused)?;
        self.note(&order);
        self.tally.order(&order);
        self.log(&Entry::Ordered(order, draw, self.key_check().into()));
        Ok(self.post(left))
    }

    /// Adds an entry to the current change.
    fn log(&mut self, entry: &Entry) {
        self.founding.note(entry);
        // A new notice for each message of a member would tell nobody anything.
        self.is_news |= !matches!(entry, Entry::Received(..) | Entry::Stopped);
        self.change.entries.push(encoded(entry));
    }

    fn note(&mut self, order: &Order) {
        self.roster.note(order);
        let gone = match order {
            Order::Remove(member) => core::slice::from_ref(member),
            Order::Batch(_, leaving) => leaving,
            _ => &[],
        };
        for &member in gone {
            self.parties.keyring.forget(MemberId(member).into());
            self.forget_asked(member);
        }
    }

    fn remove(
        &mut self,
        member: u32,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), OperationError> {
        self.order(Order::Remove(member), now, rng)?;
        let Some(name) = self.roster.at(member).map(|record| record.name.clone()) else {
            return Ok(());
        };
        let epoch = self.epoch().0;
        let farewell = Farewell::write(
            self.parties.group_context(),
            self.founded,
            member,
            epoch,
            &self.identity,
        );
        self.publish(self.topics.welcome(&name), farewell, false);
        self.told.push(Happened::Left { name, member: MemberId(member) });
        Ok(())
    }

    fn post(&mut self, left: Left) -> Vec<Enrolment> {
        let mut enrolment = Vec::new();
        for mut sent in left.sent {
            match (sent.channel, sent.to) {
                (Channel::Confidential, Recipient::Member(member)) => {
                    enrolment.push((member, sent.bytes));
                }
                (Channel::Confidential, _) => {}
                (Channel::Open, to) => {
                    self.tally.message(sent.bytes.len());
                    let expiry = Some(self.policy.rekey_expiry_s);
                    let bytes = core::mem::take(&mut *sent.bytes);
                    self.queue(self.topics.of(to), bytes, false, expiry);
                }
            }
        }
        enrolment
    }

    /// Publishes a message that no receiver can ask for again. It does not expire.
    fn publish(&mut self, topic: String, payload: Vec<u8>, retain: bool) {
        self.queue(topic, payload, retain, None);
    }

    fn queue(&mut self, topic: String, payload: Vec<u8>, retain: bool, expiry: Option<u32>) {
        let id = self.next_publish;
        self.next_publish += 1;
        self.change.queued.push(Publish { id, topic, payload, retain, expiry });
    }

    /// Publishes a retained message before all others of the current change.
    fn publish_first(&mut self, topic: String, payload: Vec<u8>) {
        self.publish(topic, payload, true);
        let mut ids: Vec<_> = self.change.queued.iter().map(|publish| publish.id).collect();
        ids.sort_unstable();
        self.change.queued.rotate_right(1);
        self.change.queued.iter_mut().zip(ids).for_each(|(publish, id)| publish.id = id);
    }

    fn notice(&self) -> Vec<u8> {
        let group = self.parties.form().group.0;
        let reached = Reached { group, founded: self.founded, epoch: self.epoch().0 };
        let members = self.roster.current() as u64;
        let state = self.chain.state();
        let state = (state.entries, state.hash);
        Notice::write(&self.policy.prefix, reached, members, state, &self.identity)
    }

    /// Publishes a message that may be lost, because the receiver asks again. The message expires
    /// unless it is retained.
    fn publish_unstored(&mut self, topic: String, payload: Vec<u8>, retain: bool) {
        let id = self.next_publish;
        self.next_publish += 1;
        let expiry = (!retain).then_some(REQUEST_EXPIRY);
        self.outputs.push_back(Output::Publish(Publish { id, topic, payload, retain, expiry }));
    }

    /// Makes the change of the current input durable, and then publishes its messages.
    fn commit(&mut self, now: u64) -> Result<(), Fatal> {
        let epoch = self.epoch();
        let tally = core::mem::take(&mut self.tally);
        self.change.entries.iter().for_each(|entry| self.chain.extend(entry));
        if core::mem::take(&mut self.is_news) {
            let notice = self.notice();
            self.publish_first(self.topics.state(), notice);
        }
        if epoch != self.announced {
            let epochs = (core::mem::replace(&mut self.announced, epoch), epoch);
            let members = self.roster.current();
            let notice = self.notice();
            self.publish(self.topics.epoch(), notice, true);
            let first = self.change.queued.first().map_or(self.next_publish, |first| first.id);
            self.history.note(&tally, epochs, now, members, first..self.next_publish);
            self.told.push(Happened::Rekeyed { epoch, members });
            self.rekeyed_at = Some(now);
            self.rekey_due = self.policy.period.map(|period| after(now, period));
        }
        self.finish_entries();
        self.is_succeeding = false;
        self.note_asked();
        self.change.acknowledged = core::mem::take(&mut self.acknowledged);
        self.forget_due = None;
        let mut change = core::mem::take(&mut self.change);
        if !change.is_empty() {
            self.faults.pass()?;
            if let Err(error) = self.store.commit(&change) {
                // The parties are ahead of the log now, so the service must end.
                self.faults.dead = true;
                change.entries.iter_mut().for_each(Zeroize::zeroize);
                return Err(error.into());
            }
            self.faults.pass()?;
        }
        self.log_length = match change.replaces {
            true => change.entries.len() as u64,
            false => self.log_length + change.entries.len() as u64,
        };
        change.entries.iter_mut().for_each(Zeroize::zeroize);
        for publish in change.queued {
            self.unacknowledged.insert(publish.id);
            self.outputs.push_back(Output::Publish(publish));
        }
        self.outputs.extend(self.told.drain(..).map(Output::Notice));
        Ok(())
    }

    /// Completes the entries of the current change, which are in the chain: numbers them, and adds a
    /// check or puts a checkpoint in their place if one is due.
    fn finish_entries(&mut self) {
        let added = self.change.entries.len() as u64;
        self.change.first = self.chain.entries() - added;
        let length = self.log_length + added;
        let is_due = length >= self.policy.limits.checkpoint.max(2);
        if added == 0 || !(is_due || self.is_stopping || self.is_succeeding) {
            if added > 0 && length / CHECKED_AFTER > self.log_length / CHECKED_AFTER {
                let check = encoded(&Entry::Checked(self.fingerprint().into()));
                self.chain.extend(&check);
                self.change.entries.push(check);
            }
            return;
        }
        if let Some(checkpoint) = self.checkpoint() {
            self.change.first = self.chain.entries();
            self.change.replaces = true;
            self.chain.extend(&checkpoint);
            self.change.entries.iter_mut().for_each(Zeroize::zeroize);
            self.change.entries = vec![checkpoint];
        }
    }

    fn connected(&mut self, now: u64) {
        // The clock may have been set back since the service last ran.
        let latest = self.policy.period.map(|period| after(now, period));
        self.rekey_due = self.rekey_due.zip(latest).map(|(due, latest)| due.min(latest));
        self.notice_due = Some(now.saturating_add(SECOND));
    }

    fn epoch(&self) -> Epoch {
        self.group_key().map_or(Epoch(0), |(epoch, _)| epoch)
    }
}

/// The maximum number of entries that one operation adds to the log. The largest admission adds one
/// for each device and two for each command.
const ENTRIES_OF_AN_OPERATION: u64 = 64;

/// The number of entries at the end of the log that only [`Service::evict`], [`Service::readmit`]
/// and [`Service::rekey`] use. Whoever fills the rest, by joining or by messages, can still be
/// evicted. An eviction takes two entries.
const RESERVED_FOR_THE_OPERATOR: u64 = 256;

/// The log has a hash of the whole state once in this many entries.
const CHECKED_AFTER: u64 = 100;

/// Returns whether the scheme of a form has an operation.
fn has(form: &Form, operation: Operation) -> bool {
    form.configuration.scheme().operations.contains(&operation)
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("policy", &self.policy)
            .field("members", &self.roster.current())
            .field("epoch", &self.epoch())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
