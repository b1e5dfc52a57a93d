//! A group in virtual time: processes, their clocks, the operator, and the faults.

mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use groupkey::{GroupContext, MemberId};
use groupkey_mqtt::service::OperationError;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::store::{DecisionStore, Decisions};
use groupkey_mqtt::store::{StoreError, Transaction};
use groupkey_mqtt::{Member, Peer, Policy, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::adversary;
use crate::history::{
    HistoryAction, HistoryStep, MILLISECOND, Obedient, SECOND, SoakHistory, Speech, below,
};
use crate::journal::Journal;
use crate::ledger::{Invariant, Ledger, Violation, violated};
use crate::live_scheme::LiveScheme;
use crate::network::{ClientNumber, NetworkTask, VirtualNetwork};

/// What a history came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryOutcome {
    /// The first violation.
    pub violation: Option<Violation>,
    /// The step (from 1) in which it was seen.
    pub step: usize,
    /// How many faults had an effect.
    pub faults: u64,
    /// How many messages arrived.
    pub messages: u64,
    /// The virtual time that passed, ns.
    pub time: u64,
    /// The longest virtual time until all were back, ns.
    pub longest: u64,
}

/// Runs a history until its first violation. At its end all come to rest.
pub fn run(history: &SoakHistory) -> HistoryOutcome {
    let mut world = World::new(history);
    let mut outcome = HistoryOutcome::default();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        for (place, step) in history.steps.iter().enumerate() {
            outcome.step = place + 1;
            world.act(&step.act)?;
            world.advance(world.network.now + step.pause)?;
        }
        world.settle()?;
        world.rest()
    }));
    let violation = match ran {
        Ok(result) => result.err(),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Some(Violation { kind: Invariant::Panic, seen: text.unwrap_or_default() })
        }
    };
    HistoryOutcome {
        violation,
        faults: world.faults,
        messages: world.network.delivered,
        time: world.network.now - BEGIN,
        longest: world.longest,
        ..outcome
    }
}

pub(crate) struct World {
    pub(crate) subject: LiveScheme,
    pub(crate) network: VirtualNetwork,
    rng: ChaCha20Rng,
    ledger: Ledger,
    policy: Policy,
    journal: Journal,
    /// Whether an old copy is in the store's place. The operator knows it.
    is_old: bool,
    /// The last copy of the store, while an old one is in its place, unless it was lost.
    last_copy: Option<Vec<Transaction>>,
    service: VirtualProcess<Service>,
    pub(crate) devices: BTreeMap<u32, SoakDevice>,
    /// The peers that found the group.
    founders: Vec<u32>,
    disk_free_at: u64,
    /// What the operator wants, and since when.
    wanted: Vec<Wanted>,
    /// The last epoch that the service acknowledged to the operator, in this life of the group.
    acknowledged: u64,
    /// The lives of the group, by its context: each founding is one.
    lives: BTreeMap<[u8; 32], u32>,
    /// Whether the present life has a founding.
    is_founded: bool,
    readmitted: BTreeSet<u32>,
    said: u64,
    /// Who dropped out although nothing failed, and how.
    restless: Option<String>,
    events: u64,
    faults: u64,
    longest: u64,
}

/// A process, with its clock.
struct VirtualProcess<R> {
    runtime: Option<R>,
    /// How far its clock is ahead, ns.
    ahead: i64,
    /// It is not called again before, so that time goes on.
    rests_until: u64,
    key: Option<(u64, Vec<u8>)>,
}

pub(crate) struct SoakDevice {
    process: VirtualProcess<Runs>,
    /// Whether the operator wants it out.
    pub(crate) is_evicted: bool,
    /// Whether it goes on although it is evicted.
    pub(crate) is_adversary: bool,
    /// An adversary among peers does not hear of its eviction.
    deaf_until: u64,
    /// What a peer remembers of its group's decisions.
    memory: Remembered,
    /// How often it was started.
    starts: u32,
}

/// A peer's memory. Clones share their content, and it outlives the process.
#[derive(Clone, Default)]
struct Remembered(Arc<Mutex<Decisions>>);

impl Remembered {
    fn has_evicted(&self, member: MemberId) -> bool {
        let decisions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        decisions.evicted.iter().any(|&(evicted, _)| evicted == member)
    }
}

impl DecisionStore for Remembered {
    fn load(&mut self) -> Result<Decisions, StoreError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = decisions.clone();
        Ok(())
    }
}

enum Runs {
    Member(Box<Member>),
    Peer(Box<Peer>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Change(u64),
    Evict(u32),
    Readmit(u32),
    Rekey,
}

const SERVICE: ClientNumber = 0;

impl World {
    fn new(history: &SoakHistory) -> Self {
        let mut rng = ChaCha20Rng::from_seed(history.seed);
        let subject = history.subject.clone();
        let mut policy = Policy::of(subject.form().clone());
        policy.identity = Some(processes::identity(u32::MAX));
        policy.is_identity_new = true;
        for device in 0..subject.most_devices() {
            policy.keys.insert(processes::name(device), processes::shared(device));
        }
        policy.period = history.periodic.then_some(Duration::from_secs(60));
        let founders = founders(history);
        let mut network_rng = rng.clone();
        network_rng.set_stream(1);
        rng.set_stream(2);
        let mut world = Self {
            subject,
            network: VirtualNetwork::new(BEGIN, network_rng),
            rng,
            ledger: Ledger::default(),
            policy,
            journal: Journal::default(),
            is_old: false,
            last_copy: None,
            service: VirtualProcess::new(),
            devices: BTreeMap::new(),
            founders,
            disk_free_at: u64::MAX,
            wanted: Vec::new(),
            acknowledged: 0,
            lives: BTreeMap::new(),
            is_founded: false,
            readmitted: BTreeSet::new(),
            said: 0,
            restless: None,
            events: 0,
            faults: 0,
            longest: 0,
        };
        if !world.subject.has_peers() {
            world.network.start_at(SERVICE, BEGIN);
            world.network.operate_at(BEGIN + SECOND);
        }
        world
    }

    fn act(&mut self, act: &HistoryAction) -> Result<(), Violation> {
        let now = self.network.now;
        let has_effect = match act {
            HistoryAction::Arrive(device) => self.arrive(*device),
            HistoryAction::Change(which) => {
                self.want(Wanted::Change(*which))?;
                true
            }
            HistoryAction::Evict(device, obedient) => self.evict(*device, *obedient)?,
            HistoryAction::Readmit => self.readmit(),
            HistoryAction::Rekey => {
                self.want(Wanted::Rekey)?;
                true
            }
            HistoryAction::Say(device) => self.say(*device)?,
            HistoryAction::Settle => {
                self.settle()?;
                true
            }
            HistoryAction::Anew => self.anew()?,
            HistoryAction::Broker(memory, time) => {
                self.network.restart(*memory, now + time);
                true
            }
            HistoryAction::ClockBack(by) => {
                self.stop_service();
                self.service.ahead -= (by * SECOND) as i64;
                self.network.start_at(SERVICE, now + SECOND / 2);
                true
            }
            HistoryAction::ClockForward(None, by) => {
                self.service.ahead += (by * SECOND) as i64;
                !self.subject.has_peers()
            }
            HistoryAction::ClockForward(Some(device), by) => self.with(*device, |world, device| {
                let seat = world.devices.get_mut(&device)?;
                seat.process.ahead += (by * SECOND) as i64;
                Some(())
            }),
            HistoryAction::Cut(devices, service, time) => {
                let devices = devices.iter().filter(|device| self.devices.contains_key(device));
                let mut clients: Vec<_> = devices.map(|device| device + 1).collect();
                clients.extend((*service && !self.subject.has_peers()).then_some(SERVICE));
                clients.iter().for_each(|&client| self.network.cut(client, now + time));
                !clients.is_empty()
            }
            HistoryAction::DiskFull(time) => {
                self.journal.fill(true);
                self.disk_free_at = now + time;
                true
            }
            HistoryAction::Duplicate(time) => {
                self.network.faults.duplicate = now + time;
                true
            }
            HistoryAction::Echo(percent, time) => {
                self.network.faults.echo = (*percent, now + time);
                self.network.life > 0
            }
            HistoryAction::Kill(point) => match &mut self.service.runtime {
                Some(service) => {
                    service.crash_at(*point);
                    true
                }
                None => false,
            },
            HistoryAction::KillDevice(device, time) => self.with(*device, |world, device| {
                let seat = world.devices.get_mut(&device).filter(|seat| !seat.is_adversary)?;
                seat.process.stop();
                world.network.end(device + 1);
                world.network.start_at(device + 1, now + time);
                Some(())
            }),
            HistoryAction::Lose(percent, time) => {
                self.network.faults.lose = (*percent, now + time);
                true
            }
            HistoryAction::Misroute(percent, time) => {
                self.network.faults.misroute = (*percent, now + time);
                true
            }
            HistoryAction::OldStore(age, lost) => self.old_store(*age, *lost),
            HistoryAction::Reorder(late, time) => {
                self.network.faults.late = (*late, now + time);
                true
            }
            HistoryAction::Replay(former, count, which) => self.replay(*former, *count, *which),
            HistoryAction::Speak(speech, which) => self.speak(*speech, *which)?,
            HistoryAction::Torn(kept) => {
                self.journal.tear(Some(*kept));
                true
            }
        };
        self.faults += u64::from(has_effect && act.is_fault());
        Ok(())
    }

    /// Runs the world to a time.
    fn advance(&mut self, end: u64) -> Result<(), Violation> {
        while self.events < MOST_EVENTS {
            self.events += 1;
            if self.network.now >= self.disk_free_at {
                self.journal.fill(false);
            }
            let tick = self.next_tick();
            let event = self.network.next();
            let next = [tick, event].into_iter().flatten().min();
            let Some(next) = next.filter(|&next| next <= end) else {
                self.network.now = self.network.now.max(end);
                return Ok(());
            };
            if event == Some(next) {
                let due = self.network.pop();
                self.handle(due)?;
            } else {
                self.network.now = self.network.now.max(next);
                self.tick()?;
            }
        }
        violated(Invariant::Stuck, "messages without end".to_owned())
    }

    fn handle(&mut self, due: NetworkTask) -> Result<(), Violation> {
        match due {
            NetworkTask::Acknowledged(client, id) => self.acknowledge(client, id),
            NetworkTask::Arrived(client, message) => self.receive(client, &message),
            NetworkTask::Connected(client) => self.connected(client),
            NetworkTask::Operate => {
                self.operate()?;
                self.network.operate_at(self.network.now + SECOND);
                Ok(())
            }
            NetworkTask::Start(SERVICE) => self.start_service(),
            NetworkTask::Start(client) => self.start_device(client - 1),
            NetworkTask::Nothing => Ok(()),
        }
    }

    /// Everything works again. Within the bound all honest parties have one key.
    fn settle(&mut self) -> Result<(), Violation> {
        self.network.heal();
        self.journal.fill(false);
        self.journal.tear(None);
        if let Some(service) = &mut self.service.runtime {
            service.crash_at(u64::MAX);
        } else if !self.subject.has_peers() {
            self.network.start_at(SERVICE, self.network.now);
        }
        let begin = self.network.now;
        let mut agreed_since = None;
        loop {
            self.advance(self.network.now + SECOND)?;
            if self.subject.has_peers() {
                self.expel_again()?;
            }
            let now = self.network.now;
            match self.disagreement() {
                None => {
                    let since = *agreed_since.get_or_insert(now);
                    if now - since >= QUIET {
                        self.longest = self.longest.max(since - begin);
                        break;
                    }
                }
                Some(_) if now - begin < self.subject.bound() => agreed_since = None,
                Some(why) => return violated(Invariant::Stuck, why),
            }
        }
        self.check_acknowledged()?;
        let now = self.network.now;
        for (&device, seat) in &self.devices {
            if seat.is_evicted && self.is_decided(device) {
                self.ledger.evicted(device, Some(now));
            }
        }
        Ok(())
    }

    /// Returns whether all know of an eviction. Peers that lose everything right after one of them
    /// asked for it know nothing. Whoever asked must ask again when the device is back.
    fn is_decided(&self, device: u32) -> bool {
        let evicted = MemberId(device + 1);
        !self.subject.has_peers()
            || self.honest().all(|other| self.devices[&other].memory.has_evicted(evicted))
    }

    /// Nothing fails any more, so nobody may drop out, and the key must not change by itself.
    fn rest(&mut self) -> Result<(), Violation> {
        self.restless = None;
        let key = self.group_key();
        self.advance(self.network.now + REST)?;
        if let Some(who) = self.restless.take() {
            return violated(Invariant::Restless, who);
        }
        let changes = self.policy.period.is_some() && !self.subject.has_peers();
        let (before, after) = (key, self.group_key());
        if !changes && before != after {
            let epochs = [before, after].map(|key| key.map(|(epoch, _)| epoch));
            return violated(
                Invariant::Restless,
                format!("the epoch goes from {epochs:?} by itself"),
            );
        }
        // A periodic change may be under way.
        self.settle()
    }

    fn group_key(&self) -> Option<(u64, Vec<u8>)> {
        match self.subject.has_peers() {
            true => self.honest().find_map(|device| self.devices[&device].process.key.clone()),
            false => self.service.key.clone(),
        }
    }

    /// Returns who is in the way of agreement, if anybody is.
    fn disagreement(&self) -> Option<String> {
        if let Some(wanted) = self.wanted.first() {
            return Some(format!("the operator's command {wanted:?} is not done"));
        }
        let wanted: BTreeSet<u32> = self.honest().collect();
        if wanted.len() < 2 {
            return None;
        }
        let held = |device: u32| self.devices[&device].process.key.clone();
        let key = if self.subject.has_peers() {
            wanted.iter().find_map(|&device| held(device))
        } else {
            let Some(service) = &self.service.runtime else {
                return Some("the service does not run".to_owned());
            };
            if !self.network.is_connected(SERVICE) {
                return Some("the service is not connected".to_owned());
            }
            if let Some(change) = service.change_under_way() {
                return Some(format!("the change to {} is under way", change.form));
            }
            let members = roster(service);
            if members != wanted {
                return Some(format!("the service's members are {members:?}, not {wanted:?}"));
            }
            self.service.key.clone()
        };
        let Some(key) = key else { return Some("there is no key".to_owned()) };
        for &device in &wanted {
            let held = held(device);
            if held.as_ref() != Some(&key) {
                let held = held.map(|(epoch, _)| epoch);
                return Some(format!(
                    "device {device} has the key of epoch {held:?}, others that of {:?}",
                    Some(key.0)
                ));
            }
            if let Some(Runs::Peer(peer)) = &self.devices[&device].process.runtime
                && !peer.is_settled()
            {
                return Some(format!("an event is under way at device {device}"));
            }
            let wrong = (self.devices.iter()).find(|(other, seat)| {
                seat.is_evicted && self.counts(device, **other)
                    || !seat.is_evicted && !self.counts(device, **other) && **other != device
            });
            if let Some((other, _)) = wrong {
                return Some(format!("device {device} is wrong about device {other}"));
            }
        }
        None
    }

    /// Returns whether a peer counts another as a member.
    fn counts(&self, device: u32, other: u32) -> bool {
        match &self.devices[&device].process.runtime {
            Some(Runs::Peer(peer)) => peer.counts_as_member(MemberId(other + 1)),
            _ => !self.devices[&other].is_evicted,
        }
    }

    fn honest(&self) -> impl Iterator<Item = u32> + '_ {
        let honest = self.devices.iter().filter(|(_, seat)| !seat.is_evicted);
        honest.map(|(&device, _)| device)
    }

    /// What the service acknowledged must hold.
    fn check_acknowledged(&self) -> Result<(), Violation> {
        let Some(service) = &self.service.runtime else { return Ok(()) };
        let epoch = self.service.key.as_ref().map_or(0, |(epoch, _)| *epoch);
        if epoch < self.acknowledged {
            return violated(
                Invariant::AcknowledgedLost,
                format!("epoch {} was acknowledged, and now it is {epoch}", self.acknowledged),
            );
        }
        for device in service.devices(MemberId(0)) {
            let number = processes::number(device.name);
            if self.devices.get(&number).is_some_and(|seat| seat.is_evicted) {
                if device.is_current || !device.is_barred {
                    return violated(
                        Invariant::AcknowledgedLost,
                        format!("the eviction of device {number} is undone"),
                    );
                }
            } else if device.is_barred && self.readmitted.contains(&number) {
                return violated(
                    Invariant::AcknowledgedLost,
                    format!("the readmission of device {number} is undone"),
                );
            }
        }
        Ok(())
    }

    fn with(&mut self, device: u32, act: impl FnOnce(&mut Self, u32) -> Option<()>) -> bool {
        self.devices.contains_key(&device) && act(self, device).is_some()
    }

    fn arrive(&mut self, device: u32) -> bool {
        if self.devices.contains_key(&device) {
            return false;
        }
        self.devices.insert(device, SoakDevice::new());
        self.network.start_at(device + 1, self.network.now);
        true
    }

    fn evict(&mut self, device: u32, obedient: Obedient) -> Result<bool, Violation> {
        // A group of two cannot evict.
        let is_possible = self.honest().count() > 3 && self.honest().any(|other| other == device);
        // Peers evict members only.
        let has_key = |other: u32| self.devices[&other].process.key.is_some();
        let is_member = || self.honest().any(|other| has_key(other) && self.counts(other, device));
        if !is_possible || self.subject.has_peers() && !is_member() {
            return Ok(false);
        }
        let until = self.network.now + DEAF;
        if let Some(seat) = self.devices.get_mut(&device) {
            seat.is_evicted = true;
            seat.is_adversary = obedient == Obedient::No;
            seat.deaf_until = if self.subject.has_peers() { until } else { u64::MAX };
        }
        self.readmitted.remove(&device);
        if self.subject.has_peers() {
            self.expel(device)?;
        } else {
            self.want(Wanted::Evict(device))?;
        }
        Ok(true)
    }

    fn readmit(&mut self) -> bool {
        let is_out = |(&device, seat): (&u32, &SoakDevice)| {
            (seat.is_evicted && self.ledger.is_out(device)).then_some(device)
        };
        let Some(device) = self.devices.iter().find_map(is_out) else { return false };
        if self.subject.has_peers() {
            // Nobody readmits peers.
            return false;
        }
        self.wanted.push(Wanted::Readmit(device));
        true
    }

    fn want(&mut self, wanted: Wanted) -> Result<(), Violation> {
        if !self.subject.has_peers() {
            self.wanted.push(wanted);
            self.operate()?;
        }
        Ok(())
    }

    /// The operator gives its commands until the service acknowledges them.
    fn operate(&mut self) -> Result<(), Violation> {
        for wanted in std::mem::take(&mut self.wanted) {
            let mut rng = self.fresh();
            let now = self.service.clock(self.network.now);
            let Some(service) = &mut self.service.runtime else {
                self.wanted.push(wanted);
                continue;
            };
            let done = match wanted {
                Wanted::Evict(device) => service.evict(&processes::name(device), now, &mut rng),
                Wanted::Readmit(device) => {
                    service.readmit(&processes::name(device), now).map(|()| groupkey::Epoch(0))
                }
                Wanted::Rekey => service.rekey(now, &mut rng),
                Wanted::Change(which) => {
                    let form = LiveScheme::other(which).form().clone();
                    service.change_scheme(form, now, &mut rng).map(|()| groupkey::Epoch(0))
                }
            };
            match done {
                Ok(epoch) => {
                    self.acknowledged = self.acknowledged.max(epoch.0);
                    if let Wanted::Readmit(device) = wanted {
                        self.take_back(device);
                    }
                }
                Err(OperationError::Fatal(fatal)) => {
                    self.wanted.push(wanted);
                    self.service_ended(&fatal);
                }
                // The service does not know yet whether its store is the last one.
                Err(OperationError::Unconfirmed) => self.wanted.push(wanted),
                // A device that never joined cannot, from now on.
                Err(OperationError::Unknown(name)) => self.configure(wanted, name),
                Err(OperationError::Refused(_)) if wanted == Wanted::Rekey => {}
                // It is the present scheme, or another change is under way.
                Err(OperationError::CannotChange(_)) => {}
                Err(_) => self.wanted.push(wanted),
            }
            self.observe_service()?;
            self.flush(SERVICE)?;
        }
        Ok(())
    }

    /// The service does not know the device, so the operator changes the configuration.
    fn configure(&mut self, wanted: Wanted, name: String) {
        match wanted {
            Wanted::Evict(_) => drop(self.policy.keys.remove(&name)),
            Wanted::Readmit(device) => {
                self.policy.keys.insert(name, processes::shared(device));
                self.take_back(device);
            }
            Wanted::Change(_) | Wanted::Rekey => {}
        }
        self.stop_service();
        self.network.start_at(SERVICE, self.network.now + 100 * MILLISECOND);
    }

    fn take_back(&mut self, device: u32) {
        let Some(seat) = self.devices.get_mut(&device) else { return };
        (seat.is_evicted, seat.is_adversary) = (false, false);
        seat.process.stop();
        self.ledger.evicted(device, None);
        self.readmitted.insert(device);
        self.network.end(device + 1);
        self.network.start_at(device + 1, self.network.now + SECOND);
    }

    /// A peer asks to remove another.
    fn expel(&mut self, device: u32) -> Result<(), Violation> {
        let member = MemberId(device + 1);
        let asking: Vec<_> = self.honest().collect();
        for other in asking {
            let mut rng = self.fresh();
            let Some(seat) = self.devices.get_mut(&other) else { continue };
            let now = seat.process.clock(self.network.now);
            if let Some(Runs::Peer(peer)) = &mut seat.process.runtime
                && peer.counts_as_member(member)
                && peer.group_key().is_some()
                && peer.remove(member, now, &mut rng).is_ok()
            {
                self.observe(other)?;
                return self.flush(other + 1);
            }
        }
        Ok(())
    }

    /// Somebody asks again where an eviction did not come through.
    fn expel_again(&mut self) -> Result<(), Violation> {
        if !(self.network.now / SECOND).is_multiple_of(10) {
            return Ok(());
        }
        let evicted = self.devices.iter().filter(|(_, seat)| seat.is_evicted);
        let evicted: Vec<_> = evicted.map(|(&device, _)| device).collect();
        evicted.into_iter().try_for_each(|device| self.expel(device))
    }

    fn say(&mut self, device: u32) -> Result<bool, Violation> {
        let mut rng = self.fresh();
        self.said += 1;
        let (message, now) = (self.said, self.network.now);
        let Some(seat) = self.devices.get_mut(&device) else { return Ok(false) };
        let clock = seat.process.clock(now);
        let content = message.to_be_bytes();
        let key = seat.process.key.clone();
        let said = match &mut seat.process.runtime {
            Some(Runs::Member(member)) => member.say(&content, clock, &mut rng).is_ok(),
            Some(Runs::Peer(peer)) => peer.say(&content, clock, &mut rng).is_ok(),
            None => false,
        };
        if let Some((_, key)) = key.filter(|_| said) {
            self.ledger.said(message, device, &key, now);
        }
        self.flush(device + 1)?;
        Ok(said)
    }

    fn anew(&mut self) -> Result<bool, Violation> {
        // A group of one is none.
        if self.subject.has_peers() && self.honest().count() < 2 {
            return Ok(false);
        }
        self.network.life += 1;
        (self.acknowledged, self.is_founded) = (0, false);
        let now = self.network.now;
        if self.subject.has_peers() {
            self.forget_requests();
            self.founders = self.honest().collect();
            let all: Vec<_> = self.devices.keys().copied().collect();
            for device in all {
                if let Some(seat) = self.devices.get_mut(&device) {
                    seat.process.stop();
                }
                self.network.end(device + 1);
                let at = now + below(&mut self.rng, 3 * SECOND);
                self.network.start_at(device + 1, at);
            }
        } else {
            self.stop_service();
            self.found_anew();
            self.network.start_at(SERVICE, now + SECOND);
        }
        Ok(true)
    }

    /// Peers that were asked to evict a device, and lose everything before anybody has decided it,
    /// have it as a member.
    fn forget_requests(&mut self) {
        let is_lost = |(&device, seat): (&u32, &SoakDevice)| {
            let evicted = MemberId(device + 1);
            let is_decided = self.devices.values().any(|seat| seat.memory.has_evicted(evicted));
            (seat.is_evicted && !is_decided).then_some(device)
        };
        let lost: Vec<_> = self.devices.iter().filter_map(is_lost).collect();
        lost.into_iter().for_each(|device| self.take_back(device));
    }

    /// An empty store, for a later group.
    fn found_anew(&mut self) {
        self.journal.put_back(Vec::new());
        (self.is_old, self.last_copy) = (false, None);
        self.policy.is_identity_new = false;
        self.begin_life();
    }

    /// Only those devices are in the configuration of a later group that may join.
    fn begin_life(&mut self) {
        self.network.life += 1;
        (self.acknowledged, self.is_founded) = (0, false);
        for (&device, seat) in &self.devices {
            if seat.is_evicted {
                self.policy.keys.remove(&processes::name(device));
            }
        }
        self.wanted.retain(|wanted| matches!(wanted, Wanted::Change(_) | Wanted::Rekey));
    }

    fn old_store(&mut self, age: usize, lost: bool) -> bool {
        let commits = self.journal.copy();
        let kept = commits.len().saturating_sub(age).max(1);
        if kept >= commits.len() || self.subject.has_peers() {
            return false;
        }
        self.stop_service();
        self.journal.put_back(commits[..kept].to_vec());
        if !self.is_old && !lost {
            self.last_copy = Some(commits);
        }
        self.is_old = true;
        self.network.start_at(SERVICE, self.network.now + 100 * MILLISECOND);
        true
    }

    fn replay(&mut self, former: bool, count: u64, which: u64) -> bool {
        let mut rng = ChaCha20Rng::seed_from_u64(which);
        let life = self.network.life;
        let of_life = |(of, _): &&(u32, Publish)| !former || *of < life;
        let recorded: Vec<_> = self.network.recorded.iter().filter(of_life).cloned().collect();
        if recorded.is_empty() {
            return false;
        }
        let topics: BTreeSet<_> = recorded.iter().map(|(_, publish)| &publish.topic).collect();
        for _ in 0..count {
            // Few messages have some topics.
            let topic = topics.iter().nth(below(&mut rng, topics.len() as u64) as usize);
            let on_it = || recorded.iter().filter(|(_, sent)| Some(&sent.topic) == topic.copied());
            let which = below(&mut rng, on_it().count() as u64) as usize;
            let Some((_, publish)) = on_it().nth(which) else { continue };
            self.network.intrude(publish.topic.clone(), publish.payload.clone());
        }
        true
    }

    fn speak(&mut self, speech: Speech, which: u64) -> Result<bool, Violation> {
        let adversaries = self.devices.iter().filter(|(_, seat)| seat.is_adversary);
        let adversaries: Vec<_> = adversaries.map(|(&device, _)| device).collect();
        if adversaries.is_empty() {
            return Ok(false);
        }
        let device = adversaries[which as usize % adversaries.len()];
        match speech {
            Speech::Talk => return self.say(device),
            Speech::Join => {
                if let Some(seat) = self.devices.get_mut(&device) {
                    seat.process.stop();
                    seat.deaf_until = 0;
                }
                self.network.end(device + 1);
                self.network.start_at(device + 1, self.network.now);
            }
            Speech::FarEpoch | Speech::Announce => {
                for (topic, payload) in adversary::speech(self, device, speech, which) {
                    self.network.intrude(topic, payload);
                }
            }
        }
        Ok(true)
    }

    /// Returns the member that a device is or was.
    pub(crate) fn member(&self, device: u32) -> Option<MemberId> {
        if self.subject.has_peers() {
            return Some(MemberId(device + 1));
        }
        let service = self.service.runtime.as_ref()?;
        let known =
            service.devices(MemberId(0)).find(|known| known.name == processes::name(device));
        known.map(|known| known.member)
    }

    /// Returns the context of the group's signatures.
    pub(crate) fn context(&self) -> Option<GroupContext> {
        if let Some(service) = &self.service.runtime {
            return Some(*service.context());
        }
        self.devices.values().find_map(|seat| match &seat.process.runtime {
            // The others may not know yet which founding there is.
            Some(Runs::Peer(peer)) => peer.group_key().map(|_| *peer.context()),
            _ => None,
        })
    }

    pub(crate) fn identity(device: u32) -> groupkey_mqtt::keyring::Secret {
        processes::identity(device)
    }

    pub(crate) fn topic(&self, place: &str) -> String {
        format!("{}/{place}", self.policy.prefix)
    }

    pub(crate) fn latest_epoch(&self) -> u64 {
        let keys = self.devices.values().filter_map(|seat| seat.process.key.as_ref());
        keys.map(|(epoch, _)| *epoch).max().unwrap_or(0)
    }

    /// Returns the last ticket that each peer has shown in a request to join: a number at the end of
    /// the body, before the signature.
    pub(crate) fn tickets(&self) -> BTreeMap<u32, u64> {
        let mut tickets = BTreeMap::new();
        for (_, Publish { payload, .. }) in &self.network.recorded {
            let is_join = payload.len() > 82 && payload[4..6] == [ORDER, JOIN];
            if let Some(content) = payload.len().checked_sub(66).filter(|_| is_join)
                && let Ok(ticket) = payload[content - 8..content].try_into()
            {
                tickets.insert(u32::from(payload[6]).saturating_sub(1), u64::from_be_bytes(ticket));
            }
        }
        tickets
    }

    fn fresh(&mut self) -> ChaCha20Rng {
        let mut seed = [0; 32];
        self.rng.fill_bytes(&mut seed);
        ChaCha20Rng::from_seed(seed)
    }
}

/// Returns the devices that arrive before anything else happens, or the first two.
fn founders(history: &SoakHistory) -> Vec<u32> {
    let arrival = |step: &HistoryStep| match step.act {
        HistoryAction::Arrive(device) => Some(device),
        _ => None,
    };
    let first: Vec<_> = history.steps.iter().map_while(arrival).collect();
    let later = history.steps.iter().filter_map(arrival).take(2);
    if first.len() < 2 { later.collect() } else { first }
}

fn roster(service: &Service) -> BTreeSet<u32> {
    service.members().iter().map(|(name, _)| processes::number(name)).collect()
}

/// The codes of a request to join, where a message has its operation and its kind.
const ORDER: u8 = 11;
const JOIN: u8 = 0;

/// When histories begin, ns since 1970.
const BEGIN: u64 = 1_700_000_000 * SECOND;

/// How long all must agree, ns.
const QUIET: u64 = 3 * SECOND;

/// How long nobody may drop out at the end, ns. A member tries to catch up for some 100 s.
const REST: u64 = 200 * SECOND;

/// How long an adversary among peers does not hear the group, ns.
const DEAF: u64 = 20 * SECOND;

/// More than these in one history do not end. Most histories have some thousands.
const MOST_EVENTS: u64 = 300_000;

#[cfg(test)]
mod tests {
    use groupkey::catalogue;

    use super::*;
    use crate::history::HistoryStep;

    /// A group of four that has come to rest.
    fn settled(scheme: &str) -> World {
        let subject = LiveScheme::new(catalogue::scheme(scheme).unwrap(), 4).unwrap();
        let history = SoakHistory::new(subject, 1, 0);
        let arrivals = (0..4)
            .map(|device| HistoryStep { act: HistoryAction::Arrive(device), pause: 0 })
            .collect();
        let history = SoakHistory { steps: arrivals, periodic: false, ..history };
        let mut world = World::new(&history);
        history.steps.iter().for_each(|step| world.act(&step.act).unwrap());
        world.settle().unwrap();
        world
    }

    fn kind(result: Result<(), Violation>) -> Option<Invariant> {
        result.err().map(|violation| violation.kind)
    }

    #[test]
    fn without_faults_all_agree_and_rest() {
        for scheme in ["skdc", "igkmp", "tgdh"] {
            let mut world = settled(scheme);
            assert_eq!(world.rest(), Ok(()), "{scheme}");
            assert!(world.evict(2, Obedient::No).unwrap());
            assert_eq!(world.settle(), Ok(()), "{scheme}");
            let key = world.devices[&2].process.key.clone();
            assert!(key.is_none() || key != world.group_key(), "{scheme}");
        }
    }

    #[test]
    fn a_change_of_scheme_is_another_life_in_which_the_evicted_stay_out() {
        let mut world = settled("skdc");
        assert!(world.evict(2, Obedient::No).unwrap());
        world.settle().unwrap();
        let (life, key) = (world.network.life, world.group_key());
        for which in 1..4 {
            world.act(&HistoryAction::Change(which)).unwrap();
            assert!(world.disagreement().is_some(), "it is under way");
            world.settle().unwrap();
        }
        let service = world.service.runtime.as_ref().unwrap();
        let scheme = service.policy().form.configuration.scheme().id;
        assert_eq!(scheme, LiveScheme::other(3).scheme());
        assert_eq!(world.network.life, life + 3);
        assert_ne!(world.group_key(), key);
        assert!(world.devices[&2].process.key != world.group_key());
        assert_eq!(world.rest(), Ok(()));
    }

    #[test]
    fn an_eviction_that_the_service_forgot_is_seen() {
        let mut world = settled("skdc");
        world.devices.get_mut(&2).unwrap().is_evicted = true;
        assert_eq!(kind(world.check_acknowledged()), Some(Invariant::AcknowledgedLost));
        assert_eq!(kind(world.settle()), Some(Invariant::Stuck));
        let mut world = settled("skdc");
        world.acknowledged = 50;
        assert_eq!(kind(world.check_acknowledged()), Some(Invariant::AcknowledgedLost));
    }

    #[test]
    fn a_device_that_does_not_come_back_is_seen() {
        for scheme in ["skdc", "tgdh"] {
            let mut world = settled(scheme);
            world.devices.get_mut(&3).unwrap().process.stop();
            assert_eq!(kind(world.settle()), Some(Invariant::Stuck), "{scheme}");
        }
    }

    #[test]
    fn a_key_that_changes_by_itself_is_seen() {
        let mut world = settled("skdc");
        world.network.start_at(4, world.network.now + SECOND);
        world.devices.get_mut(&3).unwrap().process.stop();
        assert_eq!(kind(world.rest()), Some(Invariant::Restless));
    }

    #[test]
    fn a_history_runs_the_same_way_again() {
        for scheme in ["lkh-group", "gdh2"] {
            let subject = LiveScheme::new(catalogue::scheme(scheme).unwrap(), 4).unwrap();
            let history = SoakHistory::new(subject, 5, 3);
            assert!(history.faults() > 5);
            assert_eq!(run(&history), run(&history), "{scheme}");
        }
    }
}
