//! The controller of a live group: it admits devices, stores each step, and publishes the messages.
//!
//! A service runs the controller's party, and the subgroup controllers' parties if the scheme has
//! them. Messages between these parties do not leave the process.
//!
//! # Using it
//!
//! A service has no sockets, no clock and no randomness. A driver calls four kinds of methods:
//!
//! 1. **Inputs** change the state: [`handle`](Runtime::handle) for the broker and the clock, and the
//!    operator's commands [`evict`](Service::evict), [`evict_soon`](Service::evict_soon), [`readmit`](Service::readmit),
//!    [`rekey`](Service::rekey), [`rekey_hard`](Service::rekey_hard), [`change_scheme`](Service::change_scheme),
//!    [`cancel_change`](Service::cancel_change), [`accept_state`](Service::accept_state),
//!    [`found_anew`](Service::found_anew) and [`stop`](Service::stop).
//! 2. **Outputs** say what to do: [`poll`](Runtime::poll). Call it after each input until it returns
//!    `None`, before the next input.
//! 3. **Time**: when there is no output left, [`finished`](Runtime::finished) ends the measurement of
//!    the input, and [`deadline`](Runtime::deadline) says when the next [`Input::Tick`] is due.
//! 4. **Queries** such as [`group_key`](Service::group_key) change nothing and may be called at any
//!    time.
//!
//! After [`Fatal`] the service does nothing any more, and must be opened from its store again.
//!
//! # The way of an input
//!
//! An input becomes commands and messages for the group's parties. What a step changes is collected:
//! entries in the log, messages in the publisher. One transaction makes all of it durable, before any
//! message leaves. [`Service::open`] replays the log, and publishes unacknowledged messages again.
//! Members refuse repeated messages (`StaleEpoch`). No epoch is used twice, because a step that is
//! not stored has published nothing.

mod admission;
mod allowance;
mod changing;
mod checkpoint;
mod comparing;
mod continuity;
mod error;
mod event;
mod evicting;
mod faults;
mod group;
pub mod history;
mod joining;
mod log;
mod log_chain;
mod log_entry;
mod opening;
mod publisher;
mod resuming;
mod roster;
mod sightings;
mod staging;
mod succession;
mod timing;
pub mod trail;
mod waiting_list;
mod welcomes;

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use groupkey::{Channel, Epoch, Error, GroupContext, Key, MemberId, Operation, PartyId, Recipient};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use self::admission::Admission;
use self::continuity::Continuity;
pub use self::error::{OpenError, OperationError};
pub use self::event::{DeviceStatus, RefusalReason, ServiceEvent};
use self::evicting::WaitingEvictions;
pub use self::evicting::{EvictionAnswer, EvictionResults};
use self::faults::FaultPoints;
use self::group::{EnrolmentMessage, LiveGroup};
use self::history::OperationHistory;
use self::log::{Log, LogCompletion};
use self::log_entry::{LogEntry, StepRandomness};
use self::publisher::Publisher;
use self::resuming::Resumptions;
use self::roster::{DeviceRecord, DeviceRoster};
pub use self::sightings::Confirmations;
use self::sightings::{Sighting, Sightings};
use self::staging::Staging;
use self::succession::Succession;
pub use self::succession::{ChangeError, UnderWay};
use self::timing::Announcing;
use self::trail::{Actor, Trail, TrailOperation};
use crate::counters::Counters;
use crate::join::{JoinRequest, MAX_PAYLOAD};
use crate::local_parties::{OwnedCommand, StepOutput};
use crate::policy::Policy;
use crate::rate_limit::RateLimit;
use crate::rekeying::Rekeying;
use crate::runtime::{Fatal, Input, Output, Runtime, head};
use crate::store::StoreError;
use crate::topics::{TopicKind, Topics};

/// A controller's runtime.
pub struct Service {
    policy: Policy,
    topics: Topics,
    group: LiveGroup,
    roster: DeviceRoster,
    /// The devices that ask to join.
    admission: Admission,
    /// The members that leave with the next change of the key.
    evictions: WaitingEvictions,
    /// Which epoch members send under.
    staging: Staging,
    /// What members said of themselves.
    sightings: Sightings,
    resumptions: Resumptions,
    /// The group that will be in force next.
    succession: Succession,
    /// Whether the store is the last state.
    continuity: Continuity,
    log: Log,
    publisher: Publisher,
    /// When the key changes without a join or leave.
    rekeying: Rekeying,
    /// The retained notice of the epoch.
    announcing: Announcing,
    /// How many messages to parties may still be verified in vain.
    verifications: RateLimit,
    counters: Counters,
    history: OperationHistory,
    /// Who did what.
    trail: Trail,
    faults: FaultPoints,
}

impl Runtime for Service {
    type Event = ServiceEvent;

    /// The service compares its store with its last notice.
    fn relies_on_retained_messages(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        if !self.is_confirmed() {
            return self.wait(input, now, rng);
        }
        match input {
            Input::Acknowledged(id) => {
                self.acknowledge(id, now);
                self.broker_answered(id, now, rng)?;
            }
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(TopicKind::Join) => match JoinRequest::read(payload) {
                    Some(request) => self.apply(request, now),
                    None => self.counters.malformed += 1,
                },
                Some(TopicKind::To(Recipient::Controller)) => {
                    self.receive(PartyId::Controller, payload, now, rng)?;
                }
                Some(TopicKind::To(Recipient::SubgroupController(subgroup))) => {
                    self.receive(subgroup.into(), payload, now, rng)?;
                }
                Some(place @ (TopicKind::Epoch | TopicKind::State)) => {
                    self.compare(&place, payload, now, rng)?;
                }
                _ => self.counters.malformed += 1,
            },
            Input::Connected => self.connected(now),
            Input::Tick => self.tick(now, rng)?,
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<ServiceEvent>>, Fatal> {
        self.faults.alive()?;
        if matches!(self.publisher.next(), Some(Output::Publish(_))) {
            self.faults.pass()?;
        }
        Ok(self.publisher.pop())
    }

    fn finished(&mut self, now: u64) {
        self.history.finish(now);
    }

    fn deadline(&self) -> Option<u64> {
        if !self.is_confirmed() {
            return self.continuity.due();
        }
        [
            self.admission.due(),
            self.evictions.due(),
            self.resumptions.due(),
            self.announcing.due(),
            self.rekeying.due(),
            self.publisher.forget_due(),
            self.succession.due(),
            self.sightings.due(),
            self.staging.due(),
            // What changed nothing in the store is on record with the next tick.
            self.trail.is_pending().then_some(0),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl Service {
    /// Returns the service's public key.
    pub fn public(&self) -> [u8; 32] {
        self.group.identity().public()
    }

    /// Returns the context that all signatures of the group cover.
    pub const fn context(&self) -> &GroupContext {
        self.group.context()
    }

    /// Returns when the group was founded, ms since 1970. A change of scheme is another founding.
    pub const fn founded(&self) -> u64 {
        self.group.founded()
    }

    /// Returns the group key and its epoch, once there is a group.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group.key()
    }

    /// Fills `output` with bytes that follow from the group key, for another protocol
    /// ([`groupkey::exporter`]). Returns the epoch. Fails with
    /// [`Misuse::NotCreated`](groupkey::error::Misuse::NotCreated) before there is a group.
    pub fn export(&self, label: &str, context: &[u8], output: &mut [u8]) -> Result<Epoch, Error> {
        self.group.export(label, context, output)
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
    pub fn devices(&self, from: MemberId) -> impl Iterator<Item = DeviceStatus<'_>> {
        let present = self.group.epoch();
        self.roster.records(from.0).map(move |(number, record)| {
            let is_current = record.standing.is_current();
            let sighting = self.sightings.of(number).filter(|_| is_current);
            DeviceStatus {
                name: &record.name,
                member: MemberId(number),
                is_current,
                is_barred: record.standing.is_barred(),
                confirmed: sighting.and_then(|sighting| sighting.epoch),
                seen: sighting.map(|sighting: &Sighting| sighting.at),
                is_behind: sighting.is_some_and(|sighting| sighting.is_behind(present)),
            }
        })
    }

    /// Returns the number of devices that wait to be admitted.
    pub const fn waiting(&self) -> usize {
        self.admission.count()
    }

    /// Returns the operator's decisions.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the history of operations since the process began.
    pub const fn history(&self) -> &OperationHistory {
        &self.history
    }

    /// Returns the trail of operations: who did what, and what came of it.
    pub const fn trail(&self) -> &Trail {
        &self.trail
    }

    /// Says for whom the next operation is. Without it, the trail names the program.
    pub fn acting_for(&mut self, actor: Actor) -> &mut Self {
        self.trail.act_for(actor);
        self
    }

    /// Returns the counters of accepted and refused messages since the process began.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the number of log entries, and of publishes that the broker has not acknowledged.
    pub fn stored(&self) -> (u64, usize) {
        (self.log.length(), self.publisher.unacknowledged())
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
        Ok(self.log.has_room_for(entries, self.policy.limits.log)?)
    }

    /// Lets an evicted device join again with its earlier credentials. Until the device rejoins,
    /// another device may also join under its name, with a token or with the identity that the
    /// policy lists.
    pub fn readmit(&mut self, name: &str, now: u64) -> Result<(), OperationError> {
        self.trail.begin(TrailOperation::Readmit, Some(name));
        let done = self.unbar(name, now);
        self.settled(done, now)
    }

    fn unbar(&mut self, name: &str, now: u64) -> Result<(), OperationError> {
        self.require_confirmed()?;
        self.ready_for_the_operator()?;
        let Some((member, _)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        self.log(&LogEntry::Barred(member, false));
        self.roster.readmit(member);
        Ok(self.commit(now)?)
    }

    /// Changes the key without a join or leave. Members take messages under the key before for a while
    /// ([`MessageSettings::grace`](groupkey::messages::MessageSettings::grace)).
    pub fn rekey(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.trail.begin(TrailOperation::Rekey, None);
        let done = self.require_ready().and_then(|()| self.change_key(now, rng));
        self.settled(done, now)
    }

    /// Changes the key without a join or leave, and without grace: it may have leaked. From the notice
    /// of the new epoch on, members neither take nor send messages under an earlier key, whether they
    /// have the new one or not.
    pub fn rekey_hard(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.trail.begin(TrailOperation::RekeyHard, None);
        let done = self.require_ready().and_then(|()| self.change_key_hard(now, rng));
        self.settled(done, now)
    }

    fn change_key_hard(
        &mut self,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Epoch, OperationError> {
        self.command(OwnedCommand::Rekey, now, rng)?;
        self.staging.hurry();
        self.log(&LogEntry::Hardened);
        self.group.refuse_before(self.group.epoch());
        self.commit(now)?;
        Ok(self.group.epoch())
    }

    fn require_ready(&self) -> Result<(), OperationError> {
        self.require_confirmed()?;
        Ok(self.ready_for_the_operator()?)
    }

    /// Records an operation that was refused. What was done is recorded with it.
    fn settled<T>(
        &mut self,
        done: Result<T, OperationError>,
        now: u64,
    ) -> Result<T, OperationError> {
        match &done {
            Ok(_) => {}
            Err(OperationError::Fatal(_) | OperationError::Unconfirmed) => self.trail.withdraw(),
            Err(error) => {
                self.trail.refuse(error);
                self.commit(now)?;
            }
        }
        done
    }

    /// Writes the state in place of the log, and ends the service.
    pub fn stop(&mut self, now: u64) -> Result<(), Fatal> {
        self.faults.alive()?;
        if self.is_confirmed() {
            self.log(&LogEntry::Stopped);
            self.log.cut();
            self.commit(now)?;
        }
        self.faults.die();
        Ok(())
    }

    /// Makes the service crash at its `point`-th fault point from now on. The fault points are
    /// before a step, after it, after the commit, and before each publish. For tests.
    pub const fn crash_at(&mut self, point: u64) {
        self.faults.crash_at(point);
    }

    /// Returns how many fault points were passed.
    pub const fn fault_points(&self) -> u64 {
        self.faults.passed()
    }

    fn acknowledge(&mut self, id: u64, now: u64) {
        if self.publisher.acknowledge(id, now) {
            let publisher = &self.publisher;
            self.history.acknowledge(id, now, |publishes| publisher.is_waiting(publishes));
        }
    }

    /// Handles a message to the controller or to a subgroup controller.
    ///
    /// An answer to a member that asks for what it missed changes no controller. So it is not
    /// logged: a member could fill the log. It may be lost, because the member asks again. Its
    /// randomness is from a seed of its own, which no logged step uses and nobody keeps.
    fn receive(
        &mut self,
        party: PartyId,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        self.faults.alive()?;
        let Some((operation, sender)) = head(bytes) else {
            self.counters.malformed += 1;
            return Ok(());
        };
        let asks = operation == Operation::CatchUp as u8 && matches!(sender, PartyId::Member(_));
        let has_room = asks || self.ready().is_ok();
        if !has_room || !self.allows(sender, bytes, now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        self.faults.pass()?;
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut own = ChaCha20Rng::from_seed(*seed);
        let draw = StepRandomness::at(now, &own);
        let before = self.group.epoch();
        let left = match self.group.receive(party, bytes, now, &mut own) {
            Ok(left) => left,
            Err(error) => {
                self.verifications.failed();
                self.counters.count(&error);
                return Ok(());
            }
        };
        self.counters.taken += 1;
        if let Some(record) = self.roster.of(sender) {
            record.requests.note(bytes, now);
        }
        if asks {
            self.answer(sender, left);
            return Ok(());
        }
        if self.group.epoch() != before {
            // A member may have left.
            self.staging.hurry();
        }
        self.log(&LogEntry::Received(party.number(), bytes.to_vec().into(), draw));
        let _ = self.post(left);
        self.commit(now)
    }

    /// Publishes the answer to a member that asked for what it missed.
    fn answer(&mut self, sender: PartyId, left: StepOutput) {
        if let PartyId::Member(member) = sender
            && !left.sent.is_empty()
        {
            self.history.catch_up(member.0);
        }
        for mut sent in left.sent {
            self.history.message(sent.bytes.len());
            let bytes = core::mem::take(&mut *sent.bytes);
            self.publisher.publish_unstored(self.topics.of(sent.to), bytes, false);
        }
    }

    /// Returns whether the service may spend a verification on a message now. What counts against
    /// its sender are messages that were verified, so nobody can use up another's allowance.
    fn allows(&mut self, sender: PartyId, bytes: &[u8], now: u64) -> bool {
        let limit = self.policy.limits.allowance;
        let allows = |record: &mut DeviceRecord| record.requests.allows(bytes, limit, now);
        self.roster.of(sender).is_none_or(allows) && self.verifications.allows(now)
    }

    fn connected(&mut self, now: u64) {
        self.rekeying.connected(now);
        self.announcing.connected(now);
        self.sightings.connected(now);
    }

    fn tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= now);
        if due(self.staging.due()) {
            self.stage(now);
        }
        let evictions_wait = self.evictions.due().is_some();
        if due(self.evictions.due()) || evictions_wait && due(self.admission.due()) {
            self.evict_waiting(now, rng)?;
        }
        if due(self.admission.due()) {
            match self.staging.busy_until() {
                Some(until) => self.admission.put_off(until),
                None => self.admit(now, rng)?,
            }
        }
        if due(self.resumptions.due()) {
            self.resume_waiting(now)?;
        }
        if due(self.succession.due()) {
            self.change_tick(now, rng)?;
        }
        if due(self.announcing.due()) {
            self.announcing.repeated();
            let notice = self.notice();
            self.announcing.note(&notice);
            for topic in [self.topics.state(), self.topics.epoch()] {
                self.publisher.publish_unstored(topic, notice.clone(), true);
            }
        }
        if due(self.sightings.due()) {
            self.look_around(now);
        }
        if let Some(until) = self.staging.busy_until().filter(|_| due(self.rekeying.due())) {
            self.rekeying.put_off(until);
        }
        if due(self.rekeying.due()) {
            self.rekeying.wait(now);
            let rekeyed = match self.ready() {
                Ok(()) => {
                    let rule = Actor::Policy("period_s".to_owned());
                    self.trail.begin_by(rule, TrailOperation::Rekey, None);
                    self.change_key(now, rng).inspect_err(|_| self.trail.withdraw())
                }
                Err(fatal) => Err(fatal.into()),
            };
            match rekeyed {
                Err(OperationError::Fatal(Fatal::Store(StoreError::Full { .. }))) => {}
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Ok(_) | Err(_) => {}
            }
        }
        if due(self.publisher.forget_due()) || self.trail.is_pending() {
            self.commit(now)?;
        }
        Ok(())
    }

    fn change_key(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.command(OwnedCommand::Rekey, now, rng)?;
        self.commit(now)?;
        Ok(self.group.epoch())
    }

    /// Gives the controller a command, and adds the step's log entry and messages to the change.
    /// Returns the messages for the confidential channel to new members.
    fn command(
        &mut self,
        command: OwnedCommand,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<EnrolmentMessage>, OperationError> {
        self.faults.pass()?;
        let draw = StepRandomness::at(now, rng);
        let left = self.group.command(&command, now, rng).map_err(OperationError::Refused)?;
        self.note(&command);
        self.history.command(&command);
        self.log(&LogEntry::Command(command, draw, self.group.key_check().into()));
        Ok(self.post(left))
    }

    /// Notes who is a member after a command.
    fn note(&mut self, command: &OwnedCommand) {
        self.roster.note(command);
        self.staging.note(command);
        let gone = match command {
            OwnedCommand::Remove(member) => core::slice::from_ref(member),
            OwnedCommand::Batch(_, leaving) => leaving,
            _ => &[],
        };
        for &member in gone {
            self.group.forget(member);
            self.succession.forget(member);
        }
    }

    fn log(&mut self, entry: &LogEntry) {
        self.continuity.note(entry);
        self.trail.hear(entry);
        self.log.add(entry);
    }

    /// Adds a step's messages to the current change. Returns those for the confidential channel.
    fn post(&mut self, left: StepOutput) -> Vec<EnrolmentMessage> {
        let mut enrolment = Vec::new();
        for mut sent in left.sent {
            match (sent.channel, sent.to) {
                (Channel::Confidential, Recipient::Member(member)) => {
                    enrolment.push((member, sent.bytes));
                }
                (Channel::Confidential, _) => {}
                (Channel::Open, to) => {
                    self.history.message(sent.bytes.len());
                    let expiry = Some(self.policy.rekey_expiry_s);
                    let bytes = core::mem::take(&mut *sent.bytes);
                    self.publisher.queue(self.topics.of(to), bytes, false, expiry);
                }
            }
        }
        enrolment
    }

    /// Adds a message that no receiver can ask for again to the current change. It does not expire.
    fn publish(&mut self, topic: String, payload: Vec<u8>, retain: bool) {
        self.publisher.queue(topic, payload, retain, None);
    }

    fn notice(&self) -> Vec<u8> {
        let members = self.roster.current();
        let (prefix, expectations) = (&self.policy.prefix, self.policy.expectations());
        let (resumptions, state) = (self.resumptions.count(), self.log.state());
        let expected = (self.staging.active(), expectations);
        self.group.notice(prefix, members, resumptions, &state, expected)
    }

    /// Makes the change of the current input durable, and then publishes its messages.
    fn commit(&mut self, now: u64) -> Result<(), Fatal> {
        for (record, hash) in self.trail.settle(now, self.group.epoch()) {
            self.log(&LogEntry::Operated(Box::new(record), hash.into()));
        }
        let epoch = self.group.epoch();
        let is_news = self.log.is_news();
        let change = self.announcing.announce(epoch);
        if change.is_some() {
            self.staging.changed(epoch, now);
        }
        let notice = if is_news || change.is_some() { self.notice() } else { Vec::new() };
        if is_news {
            self.announcing.note(&notice);
            self.publisher.queue_first(self.topics.state(), notice.clone());
        }
        if let Some(before) = change {
            let members = self.roster.current();
            self.publish(self.topics.epoch(), notice, true);
            let publishes = self.publisher.queued();
            self.history.note((before, epoch), now, members, publishes);
            self.publisher.report(ServiceEvent::Rekeyed { epoch, members });
            self.rekeying.rekeyed(now);
            self.sightings.rekeyed(now);
        }
        self.history.discard();
        self.succession.update(&self.roster);
        let completion = match self.log.completion(&self.policy.limits) {
            LogCompletion::Check => {
                Some(LogEntry::Checked(self.group.fingerprint(&self.roster).into()))
            }
            LogCompletion::Checkpoint => self.checkpoint(),
            LogCompletion::Nothing => None,
        };
        let (queued, acknowledged) = self.publisher.take();
        let change = self.log.finish(completion.as_ref(), queued, acknowledged);
        let is_empty = change.is_empty();
        if !is_empty {
            self.faults.pass()?;
        }
        let published = self.log.commit(change).inspect_err(|_| {
            // The parties are ahead of the log now, so the service must end.
            self.faults.die();
        })?;
        if !is_empty {
            self.faults.pass()?;
        }
        self.publisher.committed(published);
        Ok(())
    }
}

/// The maximum number of members that one change of the key takes in, or lets go. It keeps the change's
/// message short.
const AT_ONCE: usize = 64;

/// The maximum number of entries that one operation adds to the log. An admission adds two for each
/// device, two more for a member that had lost its state, and one for the trail.
const ENTRIES_OF_AN_OPERATION: u64 = 4 * AT_ONCE as u64 + 9;

/// The number of entries at the end of the log that only [`Service::evict`], [`Service::readmit`]
/// and [`Service::rekey`] use. Whoever fills the rest, by joining or by messages, can still be
/// evicted. An eviction takes three entries.
const RESERVED_FOR_THE_OPERATOR: u64 = 2 * ENTRIES_OF_AN_OPERATION;

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("policy", &self.policy)
            .field("members", &self.roster.current())
            .field("epoch", &self.group.epoch())
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
