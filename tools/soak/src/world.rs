//! A group in virtual time: processes, their clocks, the operator, and the faults.

mod agreement;
mod deaths;
mod intrusion;
mod lives;
mod operator;
mod processes;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use groupkey::MemberId;
use groupkey::event_order::{Evict, Rules};
use groupkey_mqtt::store::{DecisionStore, Decisions, StoreError, Transaction};
use groupkey_mqtt::{Member, Peer, Policy, Service};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::flash::DeviceFlash;
use crate::history::{HistoryAction, HistoryStep, SECOND, SoakHistory};
use crate::insider::Liar;
use crate::journal::Journal;
use crate::ledger::{Invariant, Ledger, Violation, violated};
use crate::live_scheme::LiveScheme;
use crate::network::{ClientNumber, NetworkTask, VirtualNetwork};
use crate::nonces::NonceRecorder;

/// What a history came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryOutcome {
    /// The first violation.
    pub violation: Option<Violation>,
    /// The step (from 1) in which it was seen.
    pub step: usize,
    /// How many faults had an effect.
    pub faults: u64,
    /// How often a device that ran died.
    pub kills: u64,
    /// How many nonces were recorded.
    pub nonces: u64,
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
        kills: world.kills,
        nonces: world.nonces.pairs() as u64,
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
    nonces: NonceRecorder,
    policy: Policy,
    journal: Journal,
    /// Whether an old copy is in the store's place. The operator knows it.
    is_old: bool,
    /// The last copy of the store, while an old one is in its place, unless it was lost.
    last_copy: Option<Vec<Transaction>>,
    service: VirtualProcess<Service>,
    pub(crate) devices: BTreeMap<u32, SoakDevice>,
    founders: Vec<u32>,
    /// Who may evict, among peers.
    rules: Rules,
    /// The member that is dishonest.
    liar: Option<Liar>,
    /// Group messages in a device's name that it has not heard, with the epoch of its key then.
    unheard: Vec<(u32, u64, Vec<u8>)>,
    disk_free_at: u64,
    /// What the operator wants, and since when.
    wanted: Vec<Wanted>,
    /// The last epoch that the service acknowledged to the operator, in this life of the group.
    acknowledged: u64,
    /// The lives of the group, by its context: each founding is one.
    lives: BTreeMap<[u8; 32], u32>,
    is_founded: bool,
    readmitted: BTreeSet<u32>,
    said: u64,
    /// Who dropped out although nothing failed, and how.
    restless: Option<String>,
    events: u64,
    faults: u64,
    kills: u64,
    longest: u64,
}

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
    /// What a member keeps of its membership.
    flash: DeviceFlash,
    /// Until when it can keep nothing, ns.
    flash_full_until: u64,
    /// How long it is away after it has died at a fault point, ns.
    away: u64,
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
            nonces: NonceRecorder::default(),
            policy,
            journal: Journal::default(),
            is_old: false,
            last_copy: None,
            service: VirtualProcess::new(),
            devices: BTreeMap::new(),
            founders,
            rules: rules(history),
            liar: history.insider.map(Liar::new),
            unheard: Vec::new(),
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
            kills: 0,
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
            HistoryAction::Deceive(deceit, which) => self.deceive(*deceit, *which),
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
            HistoryAction::FlashFull(device, time) => self.with(*device, |world, device| {
                world.devices.get_mut(&device)?.flash_full_until = now + time;
                Some(())
            }),
            HistoryAction::InterruptDevice(device, point, time) => {
                self.interrupt(*device, *point, *time)
            }
            HistoryAction::KillDevice(device, time, memory) => {
                self.kill(*device, *time, *memory)?
            }
            HistoryAction::Lose(percent, time) => {
                self.network.faults.lose = (*percent, now + time);
                true
            }
            HistoryAction::Misroute(percent, time) => {
                self.network.faults.misroute = (*percent, now + time);
                true
            }
            HistoryAction::OldStore(age, lost) => self.old_store(*age, *lost),
            HistoryAction::PowerCut(time) => self.power_cut(*time)?,
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

/// Returns who may evict: any member where all are honest, and otherwise two members, or operators.
fn rules(history: &SoakHistory) -> Rules {
    let evict = match history.insider {
        None => Evict::One,
        Some(_) if history.seed[0].is_multiple_of(2) => Evict::Members(2),
        Some(_) => Evict::Operators,
    };
    Rules { evict, ..Rules::default() }
}

fn roster(service: &Service) -> BTreeSet<u32> {
    service.members().iter().map(|(name, _)| processes::number(name)).collect()
}

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
pub(crate) mod tests {
    use groupkey::catalogue;

    use super::*;
    use crate::history::{HistoryStep, Obedient};

    /// A group of four that has come to rest.
    pub(super) fn settled(scheme: &str) -> World {
        let subject = LiveScheme::new(catalogue::scheme(scheme).unwrap(), 4).unwrap();
        let history = SoakHistory::new(subject, 1, 0);
        let arrivals = (0..4)
            .map(|device| HistoryStep { act: HistoryAction::Arrive(device), pause: 0 })
            .collect();
        let history = SoakHistory { steps: arrivals, periodic: false, insider: None, ..history };
        let mut world = World::new(&history);
        history.steps.iter().for_each(|step| world.act(&step.act).unwrap());
        world.settle().unwrap();
        world
    }

    pub(super) fn kind<T>(result: Result<T, Violation>) -> Option<Invariant> {
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
        let device = world.devices.get_mut(&3).unwrap();
        device.process.stop();
        device.flash.erase();
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
