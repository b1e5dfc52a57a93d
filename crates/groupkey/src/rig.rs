//! A whole group in virtual time: controller, members and the wires between them.
//!
//! The rig is what tests of schemes stand on, ours and those of a scheme written elsewhere. It
//! enrols, creates, adds and removes, delivers every message after a latency drawn from its seed,
//! and knows what must be true afterwards: [`Rig::agreed_key`]. Members can sleep through operations,
//! subgroup controllers too, and parties that were evicted stay on and are offered whatever goes over an open channel.
//!
//! In [`Settings::hostile`] mode every message is preceded by tampered copies of itself and followed
//! by a replay; a party that takes one of them fails the run.

pub mod boneh;
pub mod fractions;
mod history;
mod hostility;
mod interception;
mod report;
mod trace;
mod transcript;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap};
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::context::{Context, PeerKeys, Setting};
use crate::credentials::Credentials;
use crate::crypto::Suite;
use crate::crypto::meter::Meter;
use crate::error::Error;
use crate::identity::{Epoch, GroupId, MemberId, PartyId, SubgroupId};
use crate::outbox::{Channel, Event, Outbox, Recipient, SubsetId};
use crate::party::{Command, KeyNode, Party};
use crate::protection::{Protection, PublicIdentity};
use crate::schemes::catalogue::{Class, Configuration, Law, Profile, Recovery, Scheme};
use crate::secret::Key;

pub use self::history::Move;
use self::interception::Adversary;
pub use self::interception::{Fate, Forger, Transit};
pub use self::report::{Report, RigError, Sent};
pub use self::trace::{Act, Message as TracedMessage, Trace, ValueId};
pub use self::transcript::transcript;
pub use crate::protection::Guard;

/// What can be chosen for a rig.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The form of the scheme.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(&'static str, u32)>,
    /// The algorithms.
    pub suite: Suite,
    /// How messages are protected: if nothing else is said, by a MAC, whatever the scheme, so that sizes
    /// compare. What is usual for a scheme, [`Scheme::usual_protection`] says.
    pub protection: Guard,
    /// Everything drawn by chance follows from this.
    pub seed: u64,
    /// Messages take a random time up to this, in ns; those from one party to another keep their order.
    pub latency: u64,
    /// Whether tampered and replayed messages accompany every message.
    pub hostile: bool,
}

/// A group in virtual time.
pub struct Rig {
    configuration: Configuration,
    settings: Settings,
    credentials: Credentials,
    rng: ChaCha20Rng,
    now: u64,
    sequence: u64,
    queue: BinaryHeap<Reverse<Delivery>>,
    /// The latest arrival by sender and receiver, so that no message overtakes another.
    latest: BTreeMap<(PartyId, PartyId), u64>,
    seats: BTreeMap<PartyId, Seat>,
    current: BTreeSet<MemberId>,
    /// Members that are out of the others' reach and go on by themselves.
    apart: BTreeSet<MemberId>,
    report: Report,
    deployment: Vec<Sent>,
    /// Who has the wire, if somebody has.
    adversary: Option<Adversary>,
    trace: Option<Box<Trace>>,
}

/// One suite for every way of wrapping, each with its smallest group. Schemes cannot tell groups
/// apart but by lengths, so tests of schemes run these; `tests/groups.rs` runs all.
pub const SUITES: [Suite; 3] = [Suite::Standard, Suite::Constrained, Suite::Published];

/// Messages delivered before a run counts as not settling.
const DELIVERY_LIMIT: usize = 4_000_000;

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: Profile::Sound,
            parameters: Vec::new(),
            suite: Suite::Standard,
            protection: Guard::Mac,
            seed: 1,
            latency: 1_000_000,
            hostile: false,
        }
    }
}

impl Rig {
    /// A rig for a scheme, with no members yet.
    ///
    /// # Panics
    ///
    /// If the scheme does not have one of the parameters, or not with that value.
    pub fn new(scheme: &'static Scheme, settings: Settings) -> Self {
        let mut configuration = scheme.configuration(settings.profile);
        for &(name, value) in &settings.parameters {
            configuration.set(name, value).expect("the scheme has this parameter");
        }
        let mut seats = BTreeMap::new();
        if let Some(controller) = configuration.controller() {
            seats.insert(PartyId::Controller, Seat::new(controller));
        }
        for (subgroup, party) in configuration.subgroup_controllers() {
            seats.insert(subgroup.into(), Seat::new(party));
        }
        Self {
            credentials: Credentials::new(settings.protection, settings.seed),
            rng: ChaCha20Rng::seed_from_u64(settings.seed),
            configuration,
            settings,
            now: 0,
            sequence: 0,
            queue: BinaryHeap::new(),
            latest: BTreeMap::new(),
            seats,
            current: BTreeSet::new(),
            apart: BTreeSet::new(),
            report: Report::default(),
            deployment: Vec::new(),
            adversary: None,
            trace: None,
        }
    }

    /// Traces everything from now on: which byte strings every party used and what it made of them.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = Some(Box::default());
        self
    }

    /// What was traced so far, if [`Self::traced`] asked for it.
    pub fn trace(&mut self) -> Option<&mut Trace> {
        self.trace.as_deref_mut()
    }

    /// Creates a group of the members 0 to `count - 1`.
    pub fn create(&mut self, count: u32) -> Result<Report, RigError> {
        self.create_of(&(0..count).collect::<Vec<_>>())
    }

    /// Creates a group of these members.
    pub fn create_of(&mut self, members: &[u32]) -> Result<Report, RigError> {
        let members: Vec<_> = members.iter().copied().map(MemberId).collect();
        self.enroll(&members)?;
        self.begin();
        let everybody = members.iter().copied().collect();
        self.command(Command::Create(&members), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Takes a member in.
    pub fn add(&mut self, member: u32) -> Result<Report, RigError> {
        let member = MemberId(member);
        if !self.current.contains(&member) {
            self.enroll(&[member])?;
        }
        self.begin();
        let mut everybody = self.current.clone();
        everybody.insert(member);
        self.command(Command::Add(member), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Evicts a member. It stays in the rig as an outsider that hears everything.
    pub fn remove(&mut self, member: u32) -> Result<Report, RigError> {
        let member = MemberId(member);
        self.begin();
        let mut everybody = self.current.clone();
        everybody.remove(&member);
        self.evict(&[member], Command::Remove(member), &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Lets go of those who were evicted: they hear nothing any more. For long histories, in which they
    /// would come to outnumber the members.
    pub fn forget_former(&mut self) {
        self.seats.retain(|_, seat| seat.standing != Standing::Former);
    }

    /// Takes members in and evicts others in one change. Those evicted stay on as outsiders.
    pub fn batch(&mut self, joining: &[u32], leaving: &[u32]) -> Result<Report, RigError> {
        let joining: Vec<_> = joining.iter().copied().map(MemberId).collect();
        let leaving: Vec<_> = leaving.iter().copied().map(MemberId).collect();
        self.enroll(&joining)?;
        self.begin();
        let mut everybody = self.current.clone();
        everybody.extend(&joining);
        everybody.retain(|member| !leaving.contains(member));
        let batch = Command::Batch { joining: &joining, leaving: &leaving };
        self.evict(&leaving, batch, &everybody)?;
        self.current = everybody;
        self.finish()
    }

    /// Promises a member the keys of these epochs and no others; it need not be a member yet.
    pub fn grant(&mut self, member: u32, first: u64, last: u64) -> Result<Report, RigError> {
        let member = MemberId(member);
        if !self.seats.contains_key(&member.into()) {
            self.enroll(&[member])?;
        }
        self.begin();
        let (first, last) = (Epoch(first), Epoch(last));
        self.command(Command::Grant { member, first, last }, &self.current.clone())?;
        self.finish()
    }

    /// Has a member begin a message to the group.
    pub fn send(&mut self, member: u32) -> Result<Report, RigError> {
        self.begin();
        self.command_to(MemberId(member).into(), Command::Send).map_err(RigError::Command)?;
        self.finish()
    }

    /// Begins a new period with the same members.
    pub fn rekey(&mut self) -> Result<Report, RigError> {
        self.begin();
        self.command(Command::Rekey, &self.current.clone())?;
        self.finish()
    }

    /// Splits the group in two. These members go on by themselves, and the others too; the rig's other
    /// operations concern the others.
    pub fn partition(&mut self, apart: &[u32]) -> Result<Report, RigError> {
        let apart: BTreeSet<_> = apart.iter().copied().map(MemberId).collect();
        let rest: BTreeSet<_> = self.current.difference(&apart).copied().collect();
        self.begin();
        self.apart = apart.clone();
        let (out_of_reach, others) = (Vec::from_iter(apart.clone()), Vec::from_iter(rest.clone()));
        self.command(Command::Partition(&out_of_reach), &rest)?;
        self.command(Command::Partition(&others), &apart)?;
        self.current = rest;
        self.finish()
    }

    /// Turns to the part of the group that went on by itself; the one that was in hand is apart now.
    pub fn change_sides(&mut self) {
        core::mem::swap(&mut self.current, &mut self.apart);
    }

    /// Brings the two parts of the group together again.
    pub fn merge(&mut self) -> Result<Report, RigError> {
        let epoch = self.latest_epoch().next();
        self.begin();
        let (current, apart) = (self.current.clone(), core::mem::take(&mut self.apart));
        for (part, other) in [(&current, &apart), (&apart, &current)] {
            let members = &Vec::from_iter(other.clone())[..];
            self.command(Command::Merge { members, epoch }, part)?;
        }
        self.current.extend(apart);
        self.finish()
    }

    /// Lets a member miss everything from now on.
    pub fn sleep(&mut self, member: u32) {
        self.put_to_sleep(MemberId(member).into());
    }

    /// Lets a party miss everything from now on: a member, or the controller of a subgroup.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn put_to_sleep(&mut self, party: PartyId) {
        self.seat(party).standing = Standing::Asleep;
    }

    /// Wakes a member and has it ask for what it missed.
    pub fn catch_up(&mut self, member: u32) -> Result<Report, RigError> {
        self.wake(MemberId(member).into())
    }

    /// Wakes a party and has it ask for what it missed.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn wake(&mut self, party: PartyId) -> Result<Report, RigError> {
        self.seat(party).standing = Standing::Awake;
        self.begin();
        self.command_to(party, Command::CatchUp).map_err(RigError::Command)?;
        self.finish()
    }

    /// Whether the controller of a member's subgroup is asleep, so that the member gets nothing.
    pub fn is_cut_off(&self, member: u32) -> bool {
        let member = MemberId(member).into();
        self.seats.get(&member).is_some_and(|seat| self.has_no_server(member, seat))
    }

    /// The key that the controller and all current members that are awake hold: the group's, or where
    /// there is none that of the last message. A subgroup controller need not hold it, but holds no
    /// other of the same epoch. Where members hand keys on and somebody sleeps, that goes for all: the
    /// key is that of the latest epoch, and who is held up is in an earlier one. Members whose subgroup's
    /// controller sleeps do not count.
    pub fn agreed_key(&self) -> Result<&Key, RigError> {
        let hybrid = self.configuration.scheme().class == Class::Hybrid;
        let held_up = self.configuration.scheme().recovery == Recovery::Relay
            && self.seats.values().any(|seat| seat.standing == Standing::Asleep);
        let mut agreed: Option<(Epoch, &Key)> = None;
        let mut held = Vec::new();
        for (&id, seat) in self.seats.iter().filter(|&(&id, seat)| self.is_at_hand(id, seat)) {
            if self.has_no_server(id, seat) {
                continue;
            }
            match self.held_key(seat) {
                Some(own) => held.push((id, own)),
                None if hybrid && !matches!(id, PartyId::Member(_)) => {}
                // Not its time.
                None if self.configuration.scheme().law == Law::PlannedPeriods => {}
                None => return Err(RigError::Disagreement(id)),
            }
        }
        for &(id, own) in &held {
            if held_up && agreed.is_none_or(|(latest, _)| latest < own.0) {
                agreed = Some(own);
            } else if !hybrid || matches!(id, PartyId::Member(_)) {
                agreed.get_or_insert(own);
            }
        }
        // In a period that no member was promised, the controllers have the key to themselves.
        let agreed = agreed.or_else(|| held.first().map(|&(_, own)| own));
        let (epoch, key) = agreed.ok_or(RigError::Disagreement(PartyId::Controller))?;
        for (id, (its_epoch, its_key)) in held {
            let may_be_behind = held_up || hybrid && !matches!(id, PartyId::Member(_));
            let outdated = may_be_behind && its_epoch < epoch;
            if !outdated && (its_epoch, its_key) != (epoch, key) {
                return Err(RigError::Disagreement(id));
            }
        }
        Ok(key)
    }

    /// Whether an evicted party or a sleeping member holds the key that the group agreed on.
    pub fn outsider_knows_key(&self) -> bool {
        let agreed = self.agreed_key().ok();
        self.seats
            .values()
            .filter(|seat| seat.standing == Standing::Former)
            .filter_map(|seat| self.held_key(seat))
            .any(|(_, key)| Some(key) == agreed)
    }

    /// The current members, in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = u32> {
        self.current.iter().map(|member| member.0)
    }

    /// The key that a party holds.
    pub fn key_of(&self, party: PartyId) -> Option<(Epoch, &Key)> {
        self.seats.get(&party).and_then(|seat| seat.party.group_key())
    }

    /// The key that a party has of an epoch, where the scheme heals.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn past_key_of(&mut self, party: PartyId, epoch: Epoch) -> Option<Key> {
        self.ask(party, |cx, party| party.past_key(cx, epoch))
    }

    /// The key tree as a party knows it; empty where the scheme has none.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn key_tree_of(&mut self, party: PartyId) -> Vec<KeyNode> {
        self.ask(party, |cx, party| party.key_tree(cx))
    }

    /// A party's state machine.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn party(&self, party: PartyId) -> &dyn Party {
        &*self.seats[&party].party
    }

    /// Does something at a member that is not a step of its party: its context is the member's, now.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn at<T>(
        &mut self,
        member: MemberId,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
    ) -> T {
        let id = member.into();
        self.credentials.issue(id);
        let setting = Setting { group: GROUP, suite: self.settings.suite };
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let protection = self.credentials.protection(id);
        let mut cx =
            Context::new(setting, id, protection, &mut self.rng, self.now, &mut outbox, &mut probe);
        what(&mut cx, &*self.seats[&id].party)
    }

    /// The key that a member's signatures verify under, if signatures protect the group.
    pub fn public_identity(&mut self, member: MemberId) -> Option<PublicIdentity> {
        self.credentials.issue(member.into());
        match self.credentials.protection(member.into()) {
            Protection::Signature { identity, .. } => Some(identity.public()),
            Protection::Mac(_) | Protection::None => None,
        }
    }

    /// Lets time pass, in ns.
    pub fn wait(&mut self, time: u64) {
        self.now += time;
    }

    /// Gives a party bytes as if they had come from the wire; what it sends in return is dropped.
    pub fn inject(&mut self, party: PartyId, bytes: &[u8]) -> Result<(), Error> {
        self.step(party, Given::Bytes(Channel::Open, bytes)).map(drop)
    }

    /// Gives a party a command; what it sends in return is delivered.
    pub fn command_to(&mut self, party: PartyId, command: Command<'_>) -> Result<(), Error> {
        let outbox = self.step(party, Given::Command(command))?;
        self.post(party, &outbox);
        Ok(())
    }

    /// Has a party tell something that needs no protection and sends nothing.
    fn ask<T>(
        &mut self,
        party: PartyId,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
    ) -> T {
        let setting = Setting { group: GROUP, suite: self.settings.suite };
        let (protection, mut outbox) = (Protection::None, Outbox::new());
        let (rng, mut probe) = (&mut self.rng, ());
        let mut cx =
            Context::new(setting, party, protection, rng, self.now, &mut outbox, &mut probe);
        what(&mut cx, &*self.seats[&party].party)
    }

    /// Whether a member waits for the controller of its subgroup, which is asleep. Who was not enrolled
    /// because of that listens to no subgroup yet.
    fn has_no_server(&self, id: PartyId, seat: &Seat) -> bool {
        let asleep = |subgroup: SubgroupId| {
            let server = self.seats.get(&subgroup.into());
            server.is_some_and(|server| server.standing == Standing::Asleep)
        };
        let somebody_sleeps = || {
            self.seats.iter().any(|(id, seat)| {
                matches!(id, PartyId::SubgroupController(_)) && seat.standing == Standing::Asleep
            })
        };
        match (id, seat.subscriptions.is_empty()) {
            (PartyId::Member(_), true) => somebody_sleeps(),
            (PartyId::Member(_), false) => {
                seat.subscriptions.iter().any(|subset| asleep(SubgroupId(subset.0)))
            }
            _ => false,
        }
    }

    fn enroll(&mut self, members: &[MemberId]) -> Result<(), RigError> {
        for &member in members {
            if !self.current.contains(&member) {
                let party = self.configuration.member(member);
                self.seats.insert(member.into(), Seat::new(party));
            }
        }
        if self.configuration.scheme().has_controller() {
            self.begin();
            self.command_to(PartyId::Controller, Command::Enroll(members))
                .map_err(RigError::Command)?;
            self.drive()?;
            self.deployment = core::mem::take(&mut self.report.messages);
        }
        Ok(())
    }

    /// Gives a command by which members are evicted. They are outsiders before anything is sent, so
    /// that they hear what evicts them; if nothing comes of the command, they are what they were.
    fn evict(
        &mut self,
        leaving: &[MemberId],
        command: Command<'_>,
        everybody: &BTreeSet<MemberId>,
    ) -> Result<(), RigError> {
        let dismissed: Vec<_> = leaving.iter().filter_map(|&member| self.dismiss(member)).collect();
        let result = self.command(command, everybody);
        if result.is_err() {
            for (ghost, member, standing) in dismissed {
                let Some(mut seat) = self.seats.remove(&ghost) else { continue };
                seat.standing = standing;
                seat.acts_as = None;
                self.seats.insert(member.into(), seat);
            }
        }
        result
    }

    /// Makes an evicted member an outsider. Its id may come back as a new party; the old one listens
    /// on under an id of its own. Returns that, and what it was.
    fn dismiss(&mut self, member: MemberId) -> Option<(PartyId, MemberId, Standing)> {
        let mut seat = self.seats.remove(&member.into())?;
        let before = core::mem::replace(&mut seat.standing, Standing::Former);
        seat.acts_as = Some(member.into());
        let ghost = PartyId::Member(MemberId(u32::MAX - self.sequence as u32));
        self.sequence += 1;
        self.seats.insert(ghost, seat);
        Some((ghost, member, before))
    }

    fn begin(&mut self) {
        self.report = Report::default();
    }

    /// Gives a command to those whom it is for and who are awake: the controller, or where there is
    /// none all members; a new period of a hybrid scheme to all parties, those too that are enrolled
    /// but not in the group: clocks tick for everybody.
    fn command(
        &mut self,
        command: Command<'_>,
        everybody: &BTreeSet<MemberId>,
    ) -> Result<(), RigError> {
        let class = self.configuration.scheme().class;
        let parties: Vec<_> = match (class, command) {
            (Class::Hybrid, Command::Rekey) => self.seats.keys().copied().collect(),
            (Class::Distributed, _) => everybody.iter().map(|&id| id.into()).collect(),
            (Class::Centralized | Class::Hybrid, _) => vec![PartyId::Controller],
        };
        for party in parties {
            if self.seats[&party].standing == Standing::Awake {
                self.command_to(party, command).map_err(RigError::Command)?;
            }
        }
        Ok(())
    }

    /// The group key that a party holds, or where there is none that of the last message.
    fn held_key<'s>(&self, seat: &'s Seat) -> Option<(Epoch, &'s Key)> {
        match self.configuration.scheme().law {
            Law::OneKey | Law::PlannedPeriods => seat.party.group_key(),
            Law::OneMessage => seat.party.message_key().map(|key| (Epoch(0), key)),
        }
    }

    fn finish(&mut self) -> Result<Report, RigError> {
        self.drive()?;
        let deployment = core::mem::take(&mut self.deployment);
        Ok(Report { deployment, ..core::mem::take(&mut self.report) })
    }

    fn drive(&mut self) -> Result<(), RigError> {
        for _ in 0..DELIVERY_LIMIT {
            let Some(Reverse(delivery)) = self.queue.pop() else { return Ok(()) };
            self.now = delivery.at;
            self.deliver(&delivery)?;
        }
        Err(RigError::Unsettled)
    }

    fn deliver(&mut self, delivery: &Delivery) -> Result<(), RigError> {
        let Some(seat) = self.seats.get(&delivery.to) else { return Ok(()) };
        match seat.standing {
            Standing::Asleep => return Ok(()),
            Standing::Former => {
                // It may try, and whatever it makes of the message is its own business.
                let _ = self.step(delivery.to, Given::Bytes(delivery.channel, &delivery.bytes));
                return Ok(());
            }
            Standing::Awake => {}
        }
        let hostile = self.settings.hostile && delivery.channel == Channel::Open;
        if hostile {
            self.tamper(delivery)?;
        }
        let Some(bytes) = self.pass(delivery) else { return Ok(()) };
        let outbox = match self.step(delivery.to, Given::Bytes(delivery.channel, &bytes)) {
            Ok(outbox) => outbox,
            Err(error) if self.adversary.is_some() => {
                self.report.refusals.push((delivery.to, error));
                return Ok(());
            }
            Err(error) => return Err(RigError::Refused(delivery.to, error)),
        };
        if hostile {
            self.replay(delivery)?;
        }
        self.post(delivery.to, &outbox);
        Ok(())
    }

    fn step(&mut self, id: PartyId, given: Given<'_>) -> Result<Outbox, Error> {
        let Some(seat) = self.seats.get_mut(&id) else { return Ok(Outbox::new()) };
        let me = seat.acts_as.unwrap_or(id);
        let keys_of = seat.keys_of.unwrap_or(me);
        self.credentials.issue(me);
        self.credentials.issue(keys_of);
        let protection = self.credentials.protection(keys_of);
        let setting = Setting { group: GROUP, suite: self.settings.suite };
        let mut outbox = Outbox::new();
        let mut meter = Meter::new();
        let peer_keys = self.credentials.peer_keys(keys_of, self.settings.suite);
        let (rng, now) = (seat.rng.as_mut().unwrap_or(&mut self.rng), self.now);
        let mut cx = Context::new(setting, me, protection, rng, now, &mut outbox, &mut meter)
            .with_peer_keys(&peer_keys);
        // What a former member makes of things is the auditor's business.
        if let (Some(trace), Standing::Awake) = (self.trace.as_deref_mut(), seat.standing) {
            trace.begin(me, &peer_keys.secret());
            cx = cx.with_tracer(trace);
        }
        let result = match given {
            Given::Bytes(channel, bytes) => cx.deliver(&mut *seat.party, channel, bytes),
            Given::Command(command) => cx.command(&mut *seat.party, command),
        };
        // A refused step must have left nothing, and its cost is not the operation's; nor is an
        // outsider's.
        result?;
        if seat.standing != Standing::Former {
            self.report.meters.entry(id).or_default().add(&meter);
        }
        for event in outbox.events() {
            match *event {
                Event::Subscribed(subset) => drop(seat.subscriptions.insert(subset)),
                Event::Unsubscribed(subset) => drop(seat.subscriptions.remove(&subset)),
                Event::MessageKey | Event::Rekeyed(_) => {}
            }
        }
        Ok(outbox)
    }

    /// Puts what a party sent on its way to everybody it is for, and to all outsiders.
    fn post(&mut self, from: PartyId, outbox: &Outbox) {
        for message in outbox.messages() {
            let bytes: Rc<[u8]> = message.bytes.into();
            if let (Some(trace), Channel::Open) = (&mut self.trace, message.channel) {
                trace.published(from, Rc::clone(&bytes));
            }
            self.report.messages.push(Sent {
                from,
                to: message.to,
                channel: message.channel,
                bytes: Rc::clone(&bytes),
                body_bytes: message.body_bytes,
            });
            let receivers: Vec<_> = self
                .seats
                .iter()
                .filter(|&(&id, seat)| {
                    let overhears =
                        seat.standing == Standing::Former && message.channel == Channel::Open;
                    let receives =
                        seat.receives(id, message.to) && self.is_apart(id) == self.is_apart(from);
                    id != from && (overhears || receives)
                })
                .map(|(&id, _)| id)
                .collect();
            for to in receivers {
                if let (Some(trace), Channel::Confidential) = (&mut self.trace, message.channel) {
                    trace.entrusted(from, to, Rc::clone(&bytes));
                }
                let latency = match self.settings.latency {
                    0 => 0,
                    latency => self.rng.next_u64() % latency,
                };
                let latest = self.latest.entry((from, to)).or_default();
                *latest = (self.now + latency).max(*latest);
                self.sequence += 1;
                self.queue.push(Reverse(Delivery {
                    at: *latest,
                    sequence: self.sequence,
                    to,
                    channel: message.channel,
                    bytes: Rc::clone(&bytes),
                }));
            }
        }
    }

    /// Whether a party is awake and in the part of the group that is in hand.
    fn is_at_hand(&self, id: PartyId, seat: &Seat) -> bool {
        seat.standing == Standing::Awake && !self.is_apart(id)
    }

    fn is_apart(&self, id: PartyId) -> bool {
        matches!(id, PartyId::Member(member) if self.apart.contains(&member))
    }

    fn latest_epoch(&self) -> Epoch {
        let keys = self.seats.values().filter_map(|seat| seat.party.group_key());
        keys.map(|(epoch, _)| epoch).max().unwrap_or_default()
    }

    fn seat(&mut self, party: PartyId) -> &mut Seat {
        self.seats.get_mut(&party).expect("the party is in the rig")
    }
}

impl fmt::Debug for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rig")
            .field("scheme", &self.configuration.scheme().id)
            .field("members", &self.current)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

const GROUP: GroupId = GroupId(7);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Asleep,
    Awake,
    Former,
}

struct Seat {
    party: Box<dyn Party>,
    standing: Standing,
    subscriptions: BTreeSet<SubsetId>,
    /// The id under which a former member goes on.
    acts_as: Option<PartyId>,
    /// Whose keys it has, where somebody else plays the party.
    keys_of: Option<PartyId>,
    /// What it draws from, where that is its own.
    rng: Option<ChaCha20Rng>,
}

impl Seat {
    fn new(party: Box<dyn Party>) -> Self {
        Self {
            party,
            standing: Standing::Awake,
            subscriptions: BTreeSet::new(),
            acts_as: None,
            keys_of: None,
            rng: None,
        }
    }

    fn receives(&self, id: PartyId, to: Recipient) -> bool {
        match to {
            Recipient::Controller => id == PartyId::Controller,
            Recipient::Group => matches!(id, PartyId::Member(_)),
            Recipient::Member(member) => id == member.into(),
            Recipient::SubgroupController(subgroup) => id == subgroup.into(),
            Recipient::Subset(subset) => self.subscriptions.contains(&subset),
        }
    }
}

#[derive(Clone, Copy)]
enum Given<'a> {
    Bytes(Channel, &'a [u8]),
    Command(Command<'a>),
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delivery {
    at: u64,
    sequence: u64,
    to: PartyId,
    channel: Channel,
    bytes: Rc<[u8]>,
}
