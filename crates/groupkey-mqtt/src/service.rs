//! The controller's side of a live group: who may join, what is stored, what leaves.
//!
//! A service holds the controller's party, and those of the subgroups' controllers where the scheme has
//! such: what these say to each other does not leave the process. Every step is in the store's log,
//! in one transaction with the messages that it left, before one of them leaves. [`Service::open`]
//! replays the log and sends again what the broker had not acknowledged; members refuse what they
//! have seen (`StaleEpoch`), so that sending twice does no harm. No epoch is used twice, because a
//! step that was not stored has sent nothing.

mod admission;
mod log;
mod roster;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;

use groupkey::protection::Guard;
use groupkey::{Channel, Epoch, Error, Key, MemberId, Operation, PartyId, Recipient};
use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroize;

use self::log::{Draw, Entry, Secrets};
use self::roster::Roster;
use crate::counters::Counters;
use crate::form::{Form, FormError};
use crate::join::{MAX_PAYLOAD, Request, encoded};
use crate::keyring::{Keyring, Secret};
use crate::notice::{Farewell, Notice};
use crate::parties::{Given, Left, Order, Parties, number_of, party_of};
use crate::policy::{Limits, Policy};
use crate::runtime::{Fatal, Input, Output, Publish, Runtime, SECOND};
use crate::store::{Change, Saved, Store, StoreError};
use crate::topics::{BadPrefix, Place, Topics};

/// A controller's runtime.
pub struct Service {
    policy: Policy,
    topics: Topics,
    identity: Secret,
    mac: Option<Secret>,
    /// The public keys that a new member learns.
    controllers: Vec<(i64, ByteArray<32>)>,
    parties: Parties,
    roster: Roster,
    used_tokens: BTreeSet<[u8; 32]>,
    /// Numbers that were offered to devices which have not come back with them.
    offers: BTreeMap<String, u32>,
    waiting: Vec<Applicant>,
    /// When those who wait are taken in.
    admission_due: Option<u64>,
    /// When the key is changed if nothing else changes it.
    rekey_due: Option<u64>,
    store: Box<dyn Store>,
    log_length: u64,
    next_publish: u64,
    unacknowledged: BTreeSet<u64>,
    /// Acknowledged, but still in the store.
    acknowledged: Vec<u64>,
    forget_due: Option<u64>,
    /// What the input at hand has led to so far.
    change: Change,
    announced: Epoch,
    told: Vec<Happened>,
    outputs: VecDeque<Output<Happened>>,
    counters: Counters,
    faults: Faults,
}

/// What a service tells its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A device is a member now.
    Admitted {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// A member is out.
    Left {
        /// Its name.
        name: String,
        /// Its number.
        member: MemberId,
    },
    /// The group has a new key.
    Rekeyed {
        /// Its epoch.
        epoch: Epoch,
        /// How many members have it.
        members: usize,
    },
}

/// Why a service cannot begin.
#[derive(Debug)]
pub enum OpenError {
    /// The form does not run live.
    Form(FormError),
    /// The store holds a group of another form.
    FormChanged,
    /// The store failed.
    Fatal(Fatal),
    /// The scheme has no controller: its members need no service.
    NoController,
    /// Topics cannot have this prefix.
    Prefix(BadPrefix),
}

/// Why an operator's command was not carried out.
#[derive(Debug)]
pub enum OperationError {
    /// The service cannot go on.
    Fatal(Fatal),
    /// The scheme or the group's state does not allow it.
    Refused(Error),
    /// Nobody ever joined under this name.
    Unknown(String),
}

impl Service {
    /// Founds a group in an empty store, or goes on with the one that is there.
    pub fn open(
        policy: Policy,
        mut store: Box<dyn Store>,
        rng: &mut ChaCha20Rng,
    ) -> Result<Self, OpenError> {
        let topics = Topics::new(&policy.prefix).map_err(OpenError::Prefix)?;
        if !policy.form.configuration.scheme().has_controller() {
            return Err(OpenError::NoController);
        }
        policy.form.check(policy.published_allowed).map_err(OpenError::Form)?;
        let mut saved = store.load().map_err(Fatal::Store)?;
        if saved.entries.is_empty() {
            let founded = encoded(&found(&policy, rng));
            let change = Change { entries: vec![founded.clone()], ..Change::default() };
            store.commit(&change).map_err(Fatal::Store)?;
            saved.entries.push(founded);
        }
        let service = Self::replay(policy, topics, store, &saved)?;
        saved.entries.iter_mut().for_each(Zeroize::zeroize);
        Ok(service)
    }

    /// The public key that members check the service by.
    pub fn public(&self) -> [u8; 32] {
        self.identity.public()
    }

    /// The group key and its epoch, once there is a group.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.parties.group_key(PartyId::Controller)
    }

    /// The members' names and numbers.
    pub fn members(&self) -> Vec<(String, MemberId)> {
        self.roster.members().map(|(id, record)| (record.name.clone(), MemberId(id))).collect()
    }

    /// What was taken and refused since the process began.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Entries in the log, and messages that the broker has not acknowledged.
    pub fn stored(&self) -> (u64, usize) {
        (self.log_length, self.unacknowledged.len())
    }

    /// Evicts a member and bars it from coming back. It is no error if it is out already.
    pub fn evict(
        &mut self,
        name: &str,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Epoch, OperationError> {
        self.ready()?;
        let Some((member, record)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        let (is_current, is_barred) = (record.is_current, record.is_barred);
        if is_current {
            self.remove(member, now, rng)?;
        }
        self.waiting.retain(|applicant| applicant.name() != name);
        if !is_barred {
            self.change.entries.push(encoded(&Entry::Barred(member, true)));
            self.roster.at(member).into_iter().for_each(|record| record.is_barred = true);
        }
        self.commit(now)?;
        Ok(self.epoch())
    }

    /// Lets a device that was evicted join again.
    pub fn readmit(&mut self, name: &str, now: u64) -> Result<(), OperationError> {
        self.ready()?;
        let Some((member, _)) = self.roster.record(name) else {
            return Err(OperationError::Unknown(name.to_owned()));
        };
        self.change.entries.push(encoded(&Entry::Barred(member, false)));
        self.roster.at(member).into_iter().for_each(|record| record.is_barred = false);
        Ok(self.commit(now)?)
    }

    /// Changes the key though nobody comes or goes, where the scheme can.
    pub fn rekey(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<Epoch, OperationError> {
        self.ready()?;
        self.order(Order::Rekey, now, rng)?;
        self.commit(now)?;
        Ok(self.epoch())
    }

    /// From here on, the service dies at the `point`-th place where dying is different from dying at
    /// the one before: before a step, after it, after the commit, before each publish. For tests.
    pub const fn crash_at(&mut self, point: u64) {
        self.faults.left = Some(point);
    }

    /// How many such places were passed.
    pub const fn fault_points(&self) -> u64 {
        self.faults.passed
    }

    fn replay(
        policy: Policy,
        topics: Topics,
        store: Box<dyn Store>,
        saved: &Saved,
    ) -> Result<Self, OpenError> {
        let damaged = || OpenError::Fatal(Fatal::Store(StoreError::Unreadable));
        let (first, entries) = saved.entries.split_first().ok_or_else(damaged)?;
        let Ok(Entry::Founded(form, secrets)) = minicbor::decode(first) else {
            return Err(damaged());
        };
        if encoded(&form) != encoded(&policy.form.write()) {
            return Err(OpenError::FormChanged);
        }
        let form = Form::read(&form).map_err(OpenError::Form)?;
        let mut service = Self::founded(policy, topics, store, form, &secrets);
        for entry in entries {
            service.redo(minicbor::decode(entry).map_err(|_| damaged())?).map_err(|_| damaged())?;
        }
        service.log_length = saved.entries.len() as u64;
        service.next_publish = saved.next;
        service.announced = service.epoch();
        service.unacknowledged = saved.queue.keys().copied().collect();
        service.outputs.extend(saved.queue.values().cloned().map(Output::Publish));
        Ok(service)
    }

    fn founded(
        policy: Policy,
        topics: Topics,
        store: Box<dyn Store>,
        form: Form,
        secrets: &Secrets,
    ) -> Self {
        let identity = Secret::from_bytes(secrets.identity.into());
        let mac = secrets.mac.map(|key| Secret::from_bytes(key.into()));
        let mut keyring = Keyring::default();
        let mut controllers = vec![(0, identity.public().into())];
        keyring.own(PartyId::Controller, &identity);
        mac.iter().for_each(|key| keyring.share_mac(key));
        let subgroups = form.configuration.subgroup_controllers();
        for ((subgroup, _), secret) in subgroups.iter().zip(&secrets.subgroups) {
            let secret = Secret::from_bytes((*secret).into());
            controllers.push((number_of((*subgroup).into()), secret.public().into()));
            keyring.own((*subgroup).into(), &secret);
        }
        let mut outputs = VecDeque::new();
        outputs.push_back(Output::Subscribe(topics.join()));
        outputs.push_back(Output::Subscribe(topics.of(Recipient::Controller)));
        let controller = form.configuration.controller();
        let mut parties = Parties::new(form, keyring);
        parties.seat(PartyId::Controller, controller.expect("the scheme was checked to have one"));
        for (subgroup, party) in subgroups {
            let topic = topics.of(Recipient::SubgroupController(subgroup));
            outputs.push_back(Output::Subscribe(topic));
            parties.seat(subgroup.into(), party);
        }
        Self {
            policy,
            topics,
            identity,
            mac,
            controllers,
            parties,
            roster: Roster::default(),
            used_tokens: BTreeSet::new(),
            offers: BTreeMap::new(),
            waiting: Vec::new(),
            admission_due: None,
            rekey_due: None,
            store,
            log_length: 0,
            next_publish: 0,
            unacknowledged: BTreeSet::new(),
            acknowledged: Vec::new(),
            forget_due: None,
            change: Change::default(),
            announced: Epoch(0),
            told: Vec::new(),
            outputs,
            counters: Counters::default(),
            faults: Faults::default(),
        }
    }

    fn redo(&mut self, entry: Entry) -> Result<(), Error> {
        match entry {
            Entry::Founded(..) => {}
            Entry::Admitted(admission) => self.admit_to_roster(&admission),
            Entry::Barred(member, barred) => {
                self.roster.at(member).into_iter().for_each(|record| record.is_barred = barred);
            }
            Entry::Ordered(order, draw) => {
                let given = Given::Order(&order);
                self.parties.step(PartyId::Controller, given, draw.now, &mut draw.rng())?;
                self.note(&order);
            }
            Entry::Received(party, bytes, draw) => {
                let given = Given::Message(Channel::Open, &bytes);
                let party = party_of(party).unwrap_or(PartyId::Controller);
                self.parties.step(party, given, draw.now, &mut draw.rng())?;
            }
        }
        Ok(())
    }

    /// Gives the controller a command: a step, its entry in the log, and what is to be sent. What went
    /// to new members over the confidential channel is returned.
    fn order(
        &mut self,
        order: Order,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<(MemberId, Vec<u8>)>, OperationError> {
        self.faults.pass()?;
        let draw = Draw::at(now, rng);
        let left = self.parties.step(PartyId::Controller, Given::Order(&order), now, rng);
        let left = left.map_err(OperationError::Refused)?;
        self.note(&order);
        self.change.entries.push(encoded(&Entry::Ordered(order, draw)));
        Ok(self.post(left))
    }

    fn note(&mut self, order: &Order) {
        self.roster.note(order);
        let gone = match order {
            Order::Remove(member) => std::slice::from_ref(member),
            Order::Batch(_, leaving) => leaving,
            _ => &[],
        };
        for &member in gone {
            self.parties.keyring.forget(MemberId(member).into());
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
        let farewell = Farewell::write(&self.policy.prefix, member, epoch, &self.identity);
        self.publish(self.topics.welcome(&name), farewell, false);
        self.told.push(Happened::Left { name, member: MemberId(member) });
        Ok(())
    }

    fn post(&mut self, left: Left) -> Vec<(MemberId, Vec<u8>)> {
        let mut enrolment = Vec::new();
        for sent in left.sent {
            match (sent.channel, sent.to) {
                (Channel::Confidential, Recipient::Member(member)) => {
                    enrolment.push((member, sent.bytes));
                }
                (Channel::Confidential, _) => {}
                (Channel::Open, to) => self.publish(self.topics.of(to), sent.bytes, false),
            }
        }
        enrolment
    }

    fn publish(&mut self, topic: String, payload: Vec<u8>, retain: bool) {
        let id = self.next_publish;
        self.next_publish += 1;
        self.change.queued.push(Publish { id, topic, payload, retain });
    }

    fn notice(&self) -> Vec<u8> {
        let (group, members) = (self.parties.form().group.0, self.roster.current() as u64);
        Notice::write(group, self.epoch().0, members, &self.identity)
    }

    /// Publishes what may be lost: who misses it asks again.
    fn publish_unstored(&mut self, topic: String, payload: Vec<u8>, retain: bool) {
        let id = self.next_publish;
        self.next_publish += 1;
        self.outputs.push_back(Output::Publish(Publish { id, topic, payload, retain }));
    }

    /// Makes durable what the input at hand has led to, and lets it leave.
    fn commit(&mut self, now: u64) -> Result<(), Fatal> {
        let epoch = self.epoch();
        if epoch != self.announced {
            self.announced = epoch;
            let members = self.roster.current();
            let notice = self.notice();
            self.publish(self.topics.epoch(), notice, true);
            self.told.push(Happened::Rekeyed { epoch, members });
            self.rekey_due = self.policy.period.map(|period| now.saturating_add(period));
        }
        self.change.first = self.log_length;
        self.change.acknowledged = std::mem::take(&mut self.acknowledged);
        self.forget_due = None;
        let mut change = std::mem::take(&mut self.change);
        if !change.is_empty() {
            self.faults.pass()?;
            if let Err(error) = self.store.commit(&change) {
                // The parties are ahead of the log now, so nothing may follow.
                self.faults.dead = true;
                return Err(error.into());
            }
            self.faults.pass()?;
        }
        self.log_length += change.entries.len() as u64;
        change.entries.iter_mut().for_each(Zeroize::zeroize);
        for publish in change.queued {
            self.unacknowledged.insert(publish.id);
            self.outputs.push_back(Output::Publish(publish));
        }
        self.outputs.extend(self.told.drain(..).map(Output::Notice));
        Ok(())
    }

    /// Refuses operations where the log has no room for one.
    fn ready(&self) -> Result<(), Fatal> {
        self.faults.alive()?;
        let limit = self.policy.limits.log;
        if self.log_length.saturating_add(ENTRIES_OF_AN_OPERATION) > limit {
            return Err(StoreError::Full { limit }.into());
        }
        Ok(())
    }

    fn epoch(&self) -> Epoch {
        self.group_key().map_or(Epoch(0), |(epoch, _)| epoch)
    }

    /// Takes a message from a member, to the controller or to that of a subgroup.
    fn receive(
        &mut self,
        party: PartyId,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if self.ready().is_err() {
            self.counters.overflowed += 1;
            return self.faults.alive();
        }
        if !self.allows(bytes, now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        self.faults.pass()?;
        let draw = Draw::at(now, rng);
        match self.parties.step(party, Given::Message(Channel::Open, bytes), now, rng) {
            Ok(left) => {
                self.counters.taken += 1;
                let entry = Entry::Received(number_of(party), bytes.to_vec().into(), draw);
                self.change.entries.push(encoded(&entry));
                let _ = self.post(left);
                self.commit(now)
            }
            Err(error) => {
                self.counters.count(&error);
                Ok(())
            }
        }
    }

    /// Whether the member that a message claims to be from may make another request yet. A forger can use
    /// up somebody's allowance for some seconds; it cannot fill the log.
    fn allows(&mut self, bytes: &[u8], now: u64) -> bool {
        let Some(PartyId::Member(member)) = sender(bytes) else { return true };
        let limit = self.policy.limits.allowance;
        let Some(record) = self.roster.at(member.0) else { return true };
        let (count, since) = &mut record.requests;
        if now.saturating_sub(*since) > Limits::ALLOWANCE_TIME {
            (*count, *since) = (0, now);
        }
        *count += 1;
        *count <= limit
    }

    fn tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= now);
        if due(self.admission_due) {
            self.admission_due = None;
            self.admit(now, rng)?;
        }
        if due(self.rekey_due) {
            self.rekey_due = self.policy.period.map(|period| now.saturating_add(period));
            match self.rekey(now, rng) {
                Err(OperationError::Fatal(Fatal::Store(StoreError::Full { .. }))) => {}
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Ok(_) | Err(OperationError::Refused(_) | OperationError::Unknown(_)) => {}
            }
        }
        if due(self.forget_due) {
            self.commit(now)?;
        }
        Ok(())
    }
}

impl Runtime for Service {
    type Notice = Happened;

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        match input {
            Input::Acknowledged(id) => {
                if self.unacknowledged.remove(&id) {
                    self.acknowledged.push(id);
                    self.forget_due.get_or_insert_with(|| now.saturating_add(SECOND));
                }
            }
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(Place::Join) => match Request::read(payload) {
                    Some(request) => self.apply(request, now),
                    None => self.counters.malformed += 1,
                },
                Some(Place::To(Recipient::Controller)) => {
                    self.receive(PartyId::Controller, payload, now, rng)?;
                }
                Some(Place::To(Recipient::SubgroupController(subgroup))) => {
                    self.receive(subgroup.into(), payload, now, rng)?;
                }
                _ => self.counters.malformed += 1,
            },
            Input::Connected => {
                // The broker may have forgotten what it retained.
                if self.group_key().is_some() {
                    let notice = self.notice();
                    self.publish_unstored(self.topics.epoch(), notice, true);
                }
            }
            Input::Tick => self.tick(now, rng)?,
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<Happened>>, Fatal> {
        self.faults.alive()?;
        if matches!(self.outputs.front(), Some(Output::Publish(_))) {
            self.faults.pass()?;
        }
        Ok(self.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        [self.admission_due, self.rekey_due, self.forget_due].into_iter().flatten().min()
    }
}

/// One who may join and waits for it.
struct Applicant {
    request: Request,
    /// What it proved to know.
    shared: Option<Secret>,
    token: Option<[u8; 32]>,
}

impl Applicant {
    fn name(&self) -> &str {
        &self.request.body.name
    }
}

/// Where a service may die.
#[derive(Default)]
struct Faults {
    left: Option<u64>,
    passed: u64,
    dead: bool,
}

impl Faults {
    const fn alive(&self) -> Result<(), Fatal> {
        if self.dead { Err(Fatal::Crashed) } else { Ok(()) }
    }

    fn pass(&mut self) -> Result<(), Fatal> {
        self.dead |= self.left == Some(0);
        self.left = self.left.map(|left| left.saturating_sub(1));
        self.passed += 1;
        self.alive()
    }
}

/// Entries that one operation adds to the log, at most: of the largest admission, one for each device and
/// two for each command.
const ENTRIES_OF_AN_OPERATION: u64 = 64;

fn found(policy: &Policy, rng: &mut ChaCha20Rng) -> Entry {
    let form = &policy.form;
    let mut secret = || {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        ByteArray::from(secret)
    };
    let secrets = Secrets {
        identity: match &policy.identity {
            Some(identity) => (*identity.as_bytes()).into(),
            None => secret(),
        },
        mac: (form.guard == Guard::Mac).then(&mut secret),
        subgroups: form.configuration.subgroup_controllers().iter().map(|_| secret()).collect(),
    };
    Entry::Founded(form.write(), secrets)
}

/// Who a message says that it is from, unchecked.
fn sender(bytes: &[u8]) -> Option<PartyId> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.array().ok()?;
    for _ in 0..5 {
        decoder.skip().ok()?;
    }
    party_of(decoder.i64().ok()?)
}

/// Whether the scheme of a form has an operation.
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

impl From<Fatal> for OpenError {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl From<Fatal> for OperationError {
    fn from(fatal: Fatal) -> Self {
        Self::Fatal(fatal)
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(error) => write!(f, "{error}"),
            Self::FormChanged => write!(
                f,
                "the store holds a group of another scheme, parameters or algorithms: give the new \
                 group a store of its own"
            ),
            Self::Fatal(error) => write!(f, "{error}"),
            Self::NoController => {
                write!(f, "the scheme has no controller: its members need no service")
            }
            Self::Prefix(error) => write!(f, "{error}"),
        }
    }
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fatal(error) => write!(f, "{error}"),
            Self::Refused(error) => write!(f, "{error}"),
            Self::Unknown(name) => write!(f, "nobody ever joined as {name}"),
        }
    }
}

impl std::error::Error for OpenError {}
impl std::error::Error for OperationError {}
