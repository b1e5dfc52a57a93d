//! Processes that start, run, and die.

use std::collections::BTreeSet;

use groupkey::{GroupContext, MemberId};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::runtime::Fatal;
use groupkey_mqtt::service::{OpenError, ServiceEvent};
use groupkey_mqtt::{Input, Member, Output, Peer, Runtime, Service, member, peer};
use rand_chacha::ChaCha20Rng;

use super::{Remembered, Runs, SERVICE, SoakDevice, VirtualProcess, Wanted, World, roster};
use crate::flash::DeviceFlash;
use crate::history::{MILLISECOND, SECOND};
use crate::ledger::{Invariant, Violation, violated};
use crate::network::{ClientNumber, ExpiringMessage};

/// Whom a client's input concerns.
type ConcernedClient = Result<(), Fatal>;

impl<R> VirtualProcess<R> {
    pub(super) const fn new() -> Self {
        Self { runtime: None, ahead: 0, rests_until: 0, key: None }
    }

    pub(super) const fn clock(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead)
    }

    pub(super) fn stop(&mut self) {
        self.runtime = None;
        self.key = None;
    }

    /// Returns when it wants to be called, in time of the world.
    fn due(&self, deadline: Option<u64>) -> Option<u64> {
        let due = deadline?.saturating_add_signed(-self.ahead);
        Some(due.max(self.rests_until))
    }
}

impl SoakDevice {
    pub(super) fn new() -> Self {
        Self {
            process: VirtualProcess::new(),
            is_evicted: false,
            is_adversary: false,
            deaf_until: 0,
            memory: Remembered::default(),
            flash: DeviceFlash::default(),
            flash_full_until: 0,
            away: 0,
            starts: 0,
        }
    }
}

impl Runs {
    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> ConcernedClient {
        match self {
            Self::Member(member) => member.handle(input, now, rng),
            Self::Peer(peer) => peer.handle(input, now, rng),
        }
    }

    pub(super) fn poll(&mut self) -> Option<Output<MemberEvent>> {
        match self {
            Self::Member(member) => member.poll().ok().flatten(),
            Self::Peer(peer) => peer.poll().ok().flatten(),
        }
    }

    fn deadline(&self) -> Option<u64> {
        match self {
            Self::Member(member) => member.deadline(),
            Self::Peer(peer) => peer.deadline(),
        }
    }

    fn founding(&self) -> Option<Vec<u8>> {
        match self {
            Self::Member(member) => member.founded().map(|founded| founded.to_be_bytes().to_vec()),
            Self::Peer(peer) => peer.instance().map(|instance| instance.0.to_vec()),
        }
    }

    pub(super) fn context(&self) -> Option<GroupContext> {
        match self {
            Self::Member(member) => member.context().copied(),
            Self::Peer(peer) => Some(*peer.context()),
        }
    }

    fn key(&self) -> Option<(u64, Vec<u8>)> {
        let key = match self {
            Self::Member(member) => member.group_key(),
            Self::Peer(peer) => peer.group_key(),
        };
        key.map(|(epoch, key)| (epoch.0, key.as_bytes().to_vec()))
    }
}

impl World {
    pub(super) fn next_tick(&self) -> Option<u64> {
        let seats = self.devices.values().filter_map(|seat| {
            let deadline = seat.process.runtime.as_ref().and_then(Runs::deadline);
            seat.process.due(deadline)
        });
        let deadline = self.service.runtime.as_ref().and_then(Runtime::deadline);
        seats.chain(self.service.due(deadline)).min()
    }

    pub(super) fn tick(&mut self) -> Result<(), Violation> {
        let now = self.network.now;
        let devices: Vec<_> = self.devices.keys().copied().collect();
        for client in std::iter::once(SERVICE).chain(devices.into_iter().map(|device| device + 1)) {
            let (due, rests) = match client.checked_sub(1) {
                None => {
                    let deadline = self.service.runtime.as_ref().and_then(Runtime::deadline);
                    (self.service.due(deadline), &mut self.service.rests_until)
                }
                Some(device) => {
                    let Some(seat) = self.devices.get_mut(&device) else { continue };
                    let deadline = seat.process.runtime.as_ref().and_then(Runs::deadline);
                    (seat.process.due(deadline), &mut seat.process.rests_until)
                }
            };
            if due.is_some_and(|due| due <= now) {
                *rests = now + MILLISECOND;
                self.give(client, Input::Tick)?;
            }
        }
        Ok(())
    }

    pub(super) fn acknowledge(&mut self, client: ClientNumber, id: u64) -> Result<(), Violation> {
        self.give(client, Input::Acknowledged(id))
    }

    pub(super) fn receive(
        &mut self,
        client: ClientNumber,
        message: &ExpiringMessage,
    ) -> Result<(), Violation> {
        let seat = client.checked_sub(1).and_then(|device| self.devices.get(&device));
        if let Some(seat) = seat
            && seat.is_adversary
            && self.network.now < seat.deaf_until
            && (self.subject.has_peers() || message.topic.contains("/welcome/"))
        {
            return Ok(());
        }
        if let Some(device) = client.checked_sub(1) {
            if self.is_dishonest(device) {
                self.answer_falsely(&message.payload);
            }
            self.hears(device, &message.payload);
        }
        self.give(client, Input::Arrived { topic: &message.topic, payload: &message.payload })
    }

    pub(super) fn connected(&mut self, client: ClientNumber) -> Result<(), Violation> {
        self.network.publish_again(client);
        self.give(client, Input::Connected)
    }

    fn give(&mut self, client: ClientNumber, input: Input<'_>) -> Result<(), Violation> {
        let mut rng = self.fresh();
        match client.checked_sub(1) {
            None => {
                let now = self.service.clock(self.network.now);
                let Some(service) = &mut self.service.runtime else { return Ok(()) };
                if let Err(fatal) = service.handle(input, now, &mut rng) {
                    self.service_ended(&fatal);
                }
                self.observe_service()?;
            }
            Some(device) => {
                let Some(seat) = self.devices.get_mut(&device) else { return Ok(()) };
                let now = seat.process.clock(self.network.now);
                let Some(runs) = &mut seat.process.runtime else { return Ok(()) };
                seat.flash.fill(self.network.now < seat.flash_full_until);
                if seat.flash.reach() {
                    return self.die(device);
                }
                let _ = runs.handle(input, now, &mut rng);
                let is_dead = seat.flash.reach();
                self.observe(device)?;
                if is_dead {
                    return self.die(device);
                }
            }
        }
        self.flush(client)
    }

    /// Takes a process's outputs.
    pub(super) fn flush(&mut self, client: ClientNumber) -> Result<(), Violation> {
        let Some(device) = client.checked_sub(1) else { return self.flush_service() };
        loop {
            let Some(seat) = self.devices.get_mut(&device) else { return Ok(()) };
            let Some(output) = seat.process.runtime.as_mut().and_then(Runs::poll) else {
                return Ok(());
            };
            let (is_evicted, is_dead) = (seat.is_evicted, seat.flash.reach());
            if let Output::Publish(publish) = &output {
                self.record(device, publish)?;
            }
            if is_dead {
                return self.die(device);
            }
            match output {
                Output::Publish(publish) if !self.is_mute(device) => {
                    self.network.publish(client, publish);
                }
                Output::Subscribe(topic) => self.network.subscribe(client, topic, true),
                Output::Unsubscribe(topic) => self.network.subscribe(client, topic, false),
                Output::Event(MemberEvent::Evicted)
                    if !is_evicted && !self.is_dishonest(device) =>
                {
                    let seen = format!("device {device} was told that it is evicted");
                    return violated(Invariant::NotDecided, seen);
                }
                Output::Event(MemberEvent::Heard(received)) => {
                    if let Ok(message) = received.content.try_into() {
                        self.ledger.heard(u64::from_be_bytes(message), device)?;
                    }
                }
                Output::Event(MemberEvent::JoinsAgain)
                    if !is_evicted && !self.is_dishonest(device) =>
                {
                    self.restless = Some(format!("device {device} drops out, and joins again"));
                }
                _ => {}
            }
        }
    }

    fn is_mute(&self, device: u32) -> bool {
        let now = self.network.now;
        self.liar.as_ref().is_some_and(|liar| liar.device == device && liar.is_mute(now))
    }

    fn flush_service(&mut self) -> Result<(), Violation> {
        loop {
            let Some(service) = &mut self.service.runtime else { return Ok(()) };
            match service.poll() {
                Ok(Some(Output::Publish(publish))) => {
                    self.nonces.welcome(&publish.payload)?;
                    self.network.publish(SERVICE, publish);
                }
                Ok(Some(Output::Subscribe(topic))) => self.network.subscribe(SERVICE, topic, true),
                Ok(Some(Output::Unsubscribe(topic))) => {
                    self.network.subscribe(SERVICE, topic, false);
                }
                Ok(Some(Output::Event(ServiceEvent::Unconfirmed))) => self.vouch(),
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(fatal) => self.service_ended(&fatal),
            }
        }
    }

    pub(super) fn observe(&mut self, device: u32) -> Result<(), Violation> {
        let Some(seat) = self.devices.get_mut(&device) else { return Ok(()) };
        for kept in seat.flash.take_made() {
            self.nonces.at_rest(device, &kept)?;
        }
        let key = seat.process.runtime.as_ref().and_then(Runs::key);
        if key != seat.process.key {
            seat.process.key.clone_from(&key);
            let founding = seat.process.runtime.as_ref().and_then(Runs::founding);
            if let Some((epoch, key)) = key {
                self.ledger.shows(device, founding.unwrap_or_default(), epoch)?;
                return self.ledger.holds(device, &key, self.network.now);
            }
        }
        Ok(())
    }

    pub(super) fn observe_service(&mut self) -> Result<(), Violation> {
        let Some(service) = &self.service.runtime else { return Ok(()) };
        if !service.is_confirmed() {
            return Ok(());
        }
        let was_old = self.is_old;
        if was_old {
            // It goes on from the copy, because nobody has seen what came after.
            (self.is_old, self.last_copy) = (false, None);
            if service.group_key().is_none() {
                // A copy from before the group existed becomes a later group.
                self.begin_life();
                self.stop_service();
                self.network.start_at(SERVICE, self.network.now + SECOND);
                return Ok(());
            }
        }
        let Some((epoch, key)) = service.group_key() else { return Ok(()) };
        // A change of scheme is another founding, and so another life.
        let context = *service.context().as_bytes();
        if !self.lives.contains_key(&context) {
            if self.is_founded {
                self.network.life += 1;
                self.acknowledged = 0;
            }
            self.is_founded = true;
            self.lives.insert(context, self.network.life);
        }
        let life = self.lives[&context];
        if was_old {
            self.ledger.went_back(life, epoch.0);
            // The operator repeats what is lost.
            self.acknowledged = self.acknowledged.min(epoch.0);
            for known in service.devices(MemberId(0)) {
                let device = number(known.name);
                let wanted = match self.devices.get(&device).map(|seat| seat.is_evicted) {
                    Some(true) if !known.is_barred => Wanted::Evict(device),
                    Some(false) if known.is_barred => Wanted::Readmit(device),
                    _ => continue,
                };
                if !self.wanted.contains(&wanted) {
                    self.wanted.push(wanted);
                }
            }
        }
        let key = Some((epoch.0, key.as_bytes().to_vec()));
        if key == self.service.key {
            return Ok(());
        }
        let members: BTreeSet<u32> = roster(service);
        self.service.key = key;
        let Some((epoch, key)) = &self.service.key else { return Ok(()) };
        let epoch = Some((life, *epoch));
        self.ledger.committed(epoch, key, &members, self.network.now)
    }

    pub(super) fn stop_service(&mut self) {
        self.service.stop();
        self.network.end(SERVICE);
    }

    pub(super) fn service_ended(&mut self, fatal: &Fatal) {
        self.stop_service();
        let is_old = matches!(
            fatal,
            Fatal::EarlierGroup { .. }
                | Fatal::GroupExists { .. }
                | Fatal::OldStore { .. }
                | Fatal::OtherHistory { .. }
        );
        if is_old {
            self.refused_old_store();
        }
        self.network.start_at(SERVICE, self.network.now + SECOND);
    }

    /// The broker has no notice, so the operator says whether the store is the last one.
    fn vouch(&mut self) {
        if self.is_old {
            self.stop_service();
            self.refused_old_store();
            self.network.start_at(SERVICE, self.network.now + SECOND);
            return;
        }
        let mut rng = self.fresh();
        let now = self.service.clock(self.network.now);
        let Some(service) = &mut self.service.runtime else { return };
        if let Err(fatal) = service.accept_state(now, &mut rng) {
            self.service_ended(&fatal);
        }
    }

    /// The operator puts the last copy back, or founds the group anew.
    fn refused_old_store(&mut self) {
        match self.last_copy.take() {
            Some(last) => {
                self.journal.put_back(last);
                self.is_old = false;
            }
            None => self.found_anew(),
        }
    }

    pub(super) fn start_service(&mut self) -> Result<(), Violation> {
        if self.service.runtime.is_some() || self.subject.has_peers() {
            return Ok(());
        }
        let mut rng = self.fresh();
        let now = self.service.clock(self.network.now);
        let store = Box::new(self.journal.clone());
        // Only the operator lets a second group of one identity be founded.
        let is_ordered = !self.is_founded;
        let opened = Service::open(self.policy.clone(), store, now, &mut rng);
        let ready = opened.and_then(|mut service| {
            if is_ordered {
                service.found_anew(now, &mut rng)?;
            }
            Ok(service)
        });
        match ready {
            Ok(service) => self.service.runtime = Some(service),
            Err(OpenError::Fatal(fatal)) => {
                self.service_ended(&fatal);
                return Ok(());
            }
            Err(error) => unreachable!("the configuration is good: {error}"),
        }
        self.network.begin(SERVICE);
        self.observe_service()?;
        self.flush(SERVICE)
    }

    pub(super) fn start_device(&mut self, device: u32) -> Result<(), Violation> {
        let founders = self.founders.clone();
        let prefix = self.policy.prefix.clone();
        let Some(seat) = self.devices.get_mut(&device) else { return Ok(()) };
        if seat.process.runtime.is_some() {
            return Ok(());
        }
        seat.starts += 1;
        seat.flash.revive();
        let runs = if self.subject.has_peers() {
            let most = self.subject.most_devices();
            let directory = (0..most).map(|id| (MemberId(id + 1), identity(id).public()));
            let settings = peer::PeerSettings {
                prefix,
                me: MemberId(device + 1),
                identity: identity(device),
                form: self.subject.form().clone(),
                directory: directory.collect(),
                founders: founders.iter().map(|id| MemberId(id + 1)).collect(),
                rules: self.rules,
                operators: vec![identity(u32::MAX).public()],
                words: Vec::new(),
                messages: Default::default(),
                period: None,
            };
            let memory = Box::new(seat.memory.clone());
            let peer = Peer::open(settings, memory);
            let peer = peer.expect("the scheme was checked, and the keys are good");
            Runs::Peer(Box::new(peer))
        } else {
            let settings = member::MemberSettings {
                prefix,
                name: name(device),
                identity: identity(device),
                shared: Some(shared(device)),
                service: self.policy.identity.as_ref().map(Secret::public),
                allowed: self.policy.allowed,
                messages: Default::default(),
                freshness: Default::default(),
            };
            let member = Member::new(settings).expect("the settings are good");
            Runs::Member(Box::new(member.remembering(Box::new(seat.flash.clone()))))
        };
        seat.process.runtime = Some(runs);
        self.network.begin(device + 1);
        self.flush(device + 1)
    }
}

pub(crate) fn name(device: u32) -> String {
    format!("device-{device}")
}

pub(super) fn number(name: &str) -> u32 {
    name.strip_prefix("device-").and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}

pub(crate) fn identity(device: u32) -> Secret {
    secret(1, device)
}

pub(super) fn shared(device: u32) -> Secret {
    secret(2, device)
}

fn secret(purpose: u8, device: u32) -> Secret {
    let mut bytes = [purpose; 32];
    bytes[..4].copy_from_slice(&device.to_be_bytes());
    Secret::from_bytes(bytes)
}
