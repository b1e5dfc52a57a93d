//! A service, members and a broker in one room, in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupkey::catalogue::{self, Scheme};
use groupkey::{Epoch, Key};
use groupkey_mqtt::counters::Counters;
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{Member, MemberSettings};
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::ServiceEvent;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::{Allowed, GroupForm, Input, Output, Policy, Runtime, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

pub(crate) struct VirtualGroup {
    pub(crate) policy: Policy,
    pub(crate) store: MemoryStore,
    pub(crate) service: Service,
    pub(crate) members: BTreeMap<String, VirtualDevice>,
    pub(crate) now: u64,
    pub(crate) rng: ChaCha20Rng,
    pub(crate) published: Vec<Publish>,
    pub(crate) crashes: u64,
    /// How often the operator had to accept the state of the store.
    pub(crate) accepted: u64,
    pub(crate) events: Vec<ServiceEvent>,
    /// The fault points at which a reopened service crashes again.
    pub(crate) deaths: VecDeque<u64>,
    /// How long the room must be idle to be settled, ns.
    pub(crate) patience: u64,
    pub(crate) keep_back: fn(&Publish) -> bool,
    pub(crate) kept_back: Vec<Publish>,
    /// All messages that the broker has forwarded.
    heard: Vec<Publish>,
    service_topics: BTreeSet<String>,
    retained: BTreeMap<String, Vec<u8>>,
    on_the_way: VecDeque<Publish>,
    /// All keys of all members, by founding and epoch. No epoch may have two.
    keys: BTreeMap<(u64, Epoch), Key>,
    /// Those of earlier groups. Members keep them until they know of the next group.
    former_keys: Vec<Key>,
    /// Who talks, in turn, before each message that is not talk.
    pub(crate) talkers: Vec<String>,
    /// What they said, with the number of their turn.
    pub(crate) said: Vec<(String, Vec<u8>)>,
    /// Chooses which topic's message comes next. Without it, messages come in the order in which they
    /// were published.
    pub(crate) order: Option<ChaCha20Rng>,
    /// Whether no two calls of members have the same randomness: they do not do everything at the same time.
    pub(crate) is_spread: bool,
}

pub(crate) struct VirtualDevice {
    pub(crate) member: Member,
    topics: BTreeSet<String>,
    /// Hears nothing.
    pub(crate) asleep: bool,
    pub(crate) heard: Vec<Vec<u8>>,
    pub(crate) events: Vec<MemberEvent>,
}

/// When rooms open.
const BEGIN: u64 = 1_700_000_000_000_000_000;

impl VirtualGroup {
    pub(crate) fn new(scheme: &str, parameters: &[(&str, u32)], founders: usize) -> Self {
        let mut form = GroupForm::of(catalogue::scheme(scheme).unwrap());
        for &(name, value) in parameters {
            form.configuration.set(name, value).unwrap();
        }
        let mut policy = Policy { founders, ..Policy::of(form) };
        for number in 0..64 {
            policy.keys.insert(name(number), key(number));
        }
        Self::of(policy)
    }

    pub(crate) fn of(policy: Policy) -> Self {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let store = MemoryStore::default();
        let mut service =
            Service::open(policy.clone(), Box::new(store.clone()), BEGIN, &mut rng).unwrap();
        if !service.is_confirmed() {
            // It has an identity from elsewhere, and the broker no notice of it.
            service.handle(Input::Connected, BEGIN - Service::SILENCE, &mut rng).unwrap();
            service.handle(Input::Tick, BEGIN, &mut rng).unwrap();
        }
        Self {
            policy,
            store,
            service,
            members: BTreeMap::new(),
            now: BEGIN,
            rng,
            published: Vec::new(),
            crashes: 0,
            accepted: 0,
            events: Vec::new(),
            deaths: VecDeque::new(),
            patience: 5_000_000_000,
            keep_back: |_| false,
            kept_back: Vec::new(),
            heard: Vec::new(),
            service_topics: BTreeSet::new(),
            retained: BTreeMap::new(),
            on_the_way: VecDeque::new(),
            keys: BTreeMap::new(),
            former_keys: Vec::new(),
            talkers: Vec::new(),
            said: Vec::new(),
            order: None,
            is_spread: false,
        }
    }

    /// A device with a pre-shared key begins to join.
    pub(crate) fn arrive(&mut self, number: u32) {
        let shared = Some(key(number));
        self.arrive_with(MemberSettings { shared, ..self.settings(number) });
    }

    pub(crate) fn settings(&self, number: u32) -> MemberSettings {
        MemberSettings {
            prefix: self.policy.prefix.clone(),
            name: name(number),
            identity: Secret::from_bytes([number as u8 + 100; 32]),
            shared: None,
            service: Some(self.service.public()),
            allowed: self.policy.allowed,
            messages: Default::default(),
            freshness: Default::default(),
        }
    }

    pub(crate) fn arrive_with(&mut self, settings: MemberSettings) {
        self.arrive_as(settings.name.clone(), Member::new(settings).unwrap());
    }

    pub(crate) fn arrive_as(&mut self, name: String, mut member: Member) {
        let (mut topics, mut events) = (BTreeSet::new(), Vec::new());
        while let Some(output) = member.poll().unwrap() {
            match output {
                Output::Subscribe(topic) => drop(topics.insert(topic)),
                Output::Event(event) => events.push(event),
                Output::Publish(_) | Output::Unsubscribe(_) => panic!("it is not connected"),
            }
        }
        member.handle(Input::Connected, self.now, &mut self.rng).unwrap();
        let seat = VirtualDevice { member, topics, asleep: false, heard: Vec::new(), events };
        self.members.insert(name.clone(), seat);
        self.reconnect(&name);
    }

    /// A stranger sends the first request of a device with these settings.
    pub(crate) fn intrude(&mut self, settings: MemberSettings) {
        let mut stranger = Member::new(settings).unwrap();
        stranger.handle(Input::Connected, self.now, &mut self.rng).unwrap();
        while let Some(output) = stranger.poll().unwrap() {
            if let Output::Publish(publish) = output {
                self.on_the_way.push_back(publish);
            }
        }
    }

    /// A member is online again, and gets the retained messages.
    pub(crate) fn reconnect(&mut self, name: &str) {
        let seat = self.members.get_mut(name).unwrap();
        seat.asleep = false;
        for (topic, payload) in &self.retained {
            if seat.topics.contains(topic) {
                let input = Input::Arrived { topic, payload };
                seat.member.handle(input, self.now, &mut self.rng).unwrap();
            }
        }
    }

    /// The broker delivers the messages that it held back.
    pub(crate) fn let_go(&mut self) {
        self.keep_back = |_| false;
        self.on_the_way.extend(self.kept_back.drain(..));
    }

    pub(crate) fn publish(&mut self, topic: String, payload: Vec<u8>) {
        self.on_the_way.push_back(Publish { id: 0, topic, payload, retain: false, expiry: None });
    }

    /// Runs until the room is idle for some virtual time. A service that crashes is reopened from
    /// its store.
    pub(crate) fn settle(&mut self) {
        for _ in 0..200_000 {
            match self.round() {
                Ok(false) => {}
                Ok(true) => continue,
                Err(fatal) => {
                    self.revive(&fatal);
                    continue;
                }
            }
            let deadlines = self.members.values().filter(|seat| !seat.asleep);
            let deadlines = deadlines.filter_map(|seat| seat.member.deadline());
            let next = deadlines.chain(self.service.deadline()).min();
            match next {
                Some(at) if at <= self.now + self.patience => {
                    self.now = self.now.max(at);
                    if let Err(fatal) = self.tick() {
                        self.revive(&fatal);
                    }
                }
                _ => return,
            }
        }
        panic!("the room does not settle");
    }

    /// What the driver does after a kill.
    pub(crate) fn revive(&mut self, fatal: &Fatal) {
        assert!(matches!(fatal, Fatal::Crashed), "{fatal}");
        loop {
            self.crashes += 1;
            let store = Box::new(self.store.clone());
            self.service =
                Service::open(self.policy.clone(), store, self.now, &mut self.rng).unwrap();
            if let Some(point) = self.deaths.pop_front() {
                self.service.crash_at(point);
            }
            match self.connect() {
                Ok(()) => return,
                Err(fatal) => assert!(matches!(fatal, Fatal::Crashed), "{fatal}"),
            }
        }
    }

    /// The service connects. If the broker has no notice, the operator accepts the state.
    pub(crate) fn connect(&mut self) -> Result<(), Fatal> {
        self.service.handle(Input::Connected, self.now, &mut self.rng)?;
        let topic = format!("{}/state", self.policy.prefix);
        if let Some(payload) = self.retained.get(&topic) {
            let input = Input::Arrived { topic: &topic, payload };
            self.service.handle(input, self.now, &mut self.rng)?;
        }
        if !self.service.is_confirmed() {
            self.accepted += 1;
            self.service.accept_state(self.now, &mut self.rng)?;
            self.now += Service::SILENCE;
            self.service.handle(Input::Tick, self.now, &mut self.rng)?;
        }
        assert!(self.service.is_confirmed());
        Ok(())
    }

    pub(crate) fn forget_retained(&mut self) {
        self.retained.clear();
    }

    /// The store is lost. The service restarts with an empty one and the same identity, and the
    /// operator has it found another group.
    pub(crate) fn lose_store(&mut self) {
        self.store = MemoryStore::default();
        self.found_anew(self.store.clone()).unwrap();
    }

    /// The service restarts with this store, and the operator has it found the group anew.
    pub(crate) fn found_anew(&mut self, store: MemoryStore) -> Result<(), Fatal> {
        self.store = store;
        self.former_keys.extend(std::mem::take(&mut self.keys).into_values());
        let store = Box::new(self.store.clone());
        self.service = Service::open(self.policy.clone(), store, self.now, &mut self.rng).unwrap();
        self.service.found_anew(self.now, &mut self.rng)?;
        self.connect()
    }

    /// Runs for some time.
    pub(crate) fn run_for(&mut self, seconds: u64) {
        let end = self.now + seconds * 1_000_000_000;
        while self.now < end {
            self.settle();
            self.now += 1_000_000_000;
        }
    }

    pub(crate) fn evict(&mut self, number: u32) {
        while let Err(error) = self.service.evict(&name(number), self.now, &mut self.rng) {
            match error {
                groupkey_mqtt::service::OperationError::Fatal(fatal) => self.revive(&fatal),
                error => panic!("{error}"),
            }
        }
        self.settle();
    }

    /// Asserts that exactly these are members and have the service's key.
    pub(crate) fn assert_group(&self, numbers: &[u32]) {
        let mut expected: Vec<_> = numbers.iter().copied().map(name).collect();
        expected.sort();
        let mut members: Vec<_> =
            self.service.members().into_iter().map(|(name, _)| name).collect();
        members.sort();
        assert_eq!(members, expected);
        let (epoch, key) = self.service.group_key().expect("there is a group");
        for (name, seat) in &self.members {
            let held = seat.member.group_key();
            if expected.contains(name) {
                assert_eq!(held, Some((epoch, key)), "{name}");
            } else {
                assert_ne!(held.map(|(_, key)| key), Some(key), "{name} is out");
            }
        }
    }

    pub(crate) fn heard_by_broker(&self) -> Vec<Publish> {
        self.heard.clone()
    }

    pub(crate) fn epoch(&self) -> Epoch {
        self.service.group_key().unwrap().0
    }

    /// Removes the next message: of any topic, and the first of this topic.
    fn next_on_the_way(&mut self) -> Option<Publish> {
        let Some(order) = self.order.as_mut().filter(|_| !self.on_the_way.is_empty()) else {
            return self.on_the_way.pop_front();
        };
        let chosen = (order.next_u64() % self.on_the_way.len() as u64) as usize;
        let topic = &self.on_the_way[chosen].topic;
        let first = self.on_the_way.iter().position(|publish| publish.topic == *topic);
        self.on_the_way.remove(first.unwrap_or(chosen))
    }

    /// The next talker says something before a message is delivered.
    fn talk(&mut self, before: &Publish) {
        if self.talkers.is_empty() || before.topic.ends_with("/talk") {
            return;
        }
        let talker = self.talkers[self.said.len() % self.talkers.len()].clone();
        let content = format!("{talker} says {}", self.said.len()).into_bytes();
        let member = &mut self.members.get_mut(&talker).unwrap().member;
        member.say(&content, self.now, &mut self.rng).expect("a member always has a key");
        self.said.push((talker, content));
    }

    pub(crate) fn assert_all_heard(&mut self, numbers: &[u32]) {
        for number in numbers {
            let listener = name(*number);
            let mut heard = std::mem::take(&mut self.members.get_mut(&listener).unwrap().heard);
            let others = self.said.iter().filter(|(talker, _)| *talker != listener);
            let mut said: Vec<_> = others.map(|(_, content)| content.clone()).collect();
            heard.sort();
            said.sort();
            assert_eq!(heard.len(), said.len(), "{listener}");
            assert!(heard == said, "{listener}");
        }
        self.said.clear();
    }

    fn tick(&mut self) -> Result<(), Fatal> {
        for seat in self.members.values_mut().filter(|seat| !seat.asleep) {
            if seat.member.deadline().is_some_and(|at| at <= self.now) {
                drawn(&mut self.rng, self.is_spread);
                seat.member.handle(Input::Tick, self.now, &mut self.rng)?;
            }
        }
        if self.service.deadline().is_some_and(|at| at <= self.now) {
            self.service.handle(Input::Tick, self.now, &mut self.rng)?;
        }
        Ok(())
    }

    /// Whether anything happened.
    fn round(&mut self) -> Result<bool, Fatal> {
        let mut progress = false;
        for seat in self.members.values_mut() {
            while let Some(output) = seat.member.poll()? {
                progress = true;
                match output {
                    Output::Publish(publish) => self.on_the_way.push_back(publish),
                    Output::Subscribe(topic) => drop(seat.topics.insert(topic)),
                    Output::Unsubscribe(topic) => drop(seat.topics.remove(&topic)),
                    Output::Event(MemberEvent::Heard(received)) => {
                        seat.heard.push(received.content)
                    }
                    Output::Event(event) => seat.events.push(event),
                }
            }
        }
        while let Some(publish) = self.next_on_the_way() {
            progress = true;
            self.talk(&publish);
            if (self.keep_back)(&publish) {
                self.kept_back.push(publish);
            } else {
                self.deliver(&publish)?;
            }
        }
        while let Some(output) = self.service.poll()? {
            progress = true;
            match output {
                Output::Publish(publish) => {
                    self.published.push(publish.clone());
                    self.on_the_way.push_back(publish.clone());
                    let input = Input::Acknowledged(publish.id);
                    self.service.handle(input, self.now, &mut self.rng)?;
                }
                Output::Subscribe(topic) => drop(self.service_topics.insert(topic)),
                Output::Unsubscribe(topic) => drop(self.service_topics.remove(&topic)),
                Output::Event(event) => self.events.push(event),
            }
        }
        Ok(progress)
    }

    fn deliver(&mut self, publish: &Publish) -> Result<(), Fatal> {
        let Publish { topic, payload, retain, .. } = publish;
        self.heard.push(publish.clone());
        if *retain {
            self.retained.insert(topic.clone(), payload.clone());
        }
        let awake = self.members.values_mut().filter(|seat| !seat.asleep);
        for seat in awake.filter(|seat| seat.topics.contains(topic)) {
            let (input, before) = (Input::Arrived { topic, payload }, seat.member.counters());
            drawn(&mut self.rng, self.is_spread);
            seat.member.handle(input, self.now, &mut self.rng)?;
            assert_grown(before, seat.member.counters());
            if let (Some(founded), Some((epoch, key))) =
                (seat.member.founded(), seat.member.group_key())
                && !self.former_keys.contains(key)
            {
                let known = self.keys.entry((founded, epoch)).or_insert_with(|| key.clone());
                assert_eq!(known, key, "epoch {epoch} has two keys");
            }
        }
        if self.service_topics.contains(topic) {
            let (input, before) = (Input::Arrived { topic, payload }, self.service.counters());
            let is_counted = self.service.is_confirmed()
                && !["/epoch", "/state"].iter().any(|notices| topic.ends_with(notices));
            self.service.handle(input, self.now, &mut self.rng)?;
            let after = self.service.counters();
            assert_grown(before, after);
            if is_counted {
                assert_eq!(total(after), total(before) + 1, "{topic}: {before:?}, {after:?}");
            }
        }
        Ok(())
    }
}

fn drawn(rng: &mut ChaCha20Rng, is_wanted: bool) {
    if is_wanted {
        *rng = ChaCha20Rng::seed_from_u64(rng.next_u64());
    }
}

/// Asserts that no counter became less.
pub(crate) fn assert_grown(before: Counters, after: Counters) {
    let mut pairs = before.by_reason().into_iter().zip(after.by_reason());
    assert!(pairs.all(|((_, before), (_, after))| before <= after), "{before:?}, {after:?}");
    assert!(before.taken <= after.taken, "{before:?}, {after:?}");
}

fn total(counters: Counters) -> u64 {
    counters.taken + counters.refusals()
}

/// The schemes that a service runs without any allowance.
pub(crate) fn schemes_of_services() -> impl Iterator<Item = &'static Scheme> {
    catalogue::SCHEMES.iter().filter(|scheme| {
        scheme.has_controller() && GroupForm::of(scheme).check(Allowed::default()).is_ok()
    })
}

pub(crate) fn name(number: u32) -> String {
    format!("device-{number}")
}

pub(crate) fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}
