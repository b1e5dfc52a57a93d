//! Random histories.

use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::live_scheme::LiveScheme;

/// The steps of one group's life.
#[derive(Clone, Debug)]
pub struct SoakHistory {
    /// What runs.
    pub subject: LiveScheme,
    /// Its number among the histories of a seed.
    pub number: u64,
    /// Seeds keys, delays and everything else that is drawn while it runs.
    pub seed: [u8; 32],
    /// Whether the key also changes every minute, where the scheme can do that.
    pub periodic: bool,
    /// The device that is dishonest from the beginning, in one history of four.
    pub insider: Option<u32>,
    /// The steps, in order.
    pub steps: Vec<HistoryStep>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryStep {
    /// What happens.
    pub act: HistoryAction,
    /// The time to the next step, ns.
    pub pause: u64,
}

/// What happens in a step. The first group are operations; the second are faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryAction {
    /// A device is switched on for the first time.
    Arrive(u32),
    /// The operator evicts a device. One that is not obedient does not stop: it keeps its key,
    /// ignores that it is out, and goes on.
    Evict(u32, Obedient),
    /// The operator changes the scheme to one of the others, by its place among them.
    Change(u64),
    /// The operator readmits the device that was evicted first.
    Readmit,
    /// The operator wants a new key.
    Rekey,
    /// A device sends a group message.
    Say(u32),
    /// Everything works again, all connections are renewed, and the invariants are checked.
    Settle,

    /// All state is lost: the service's store, or the memory of all peers. Identities stay.
    Anew,
    /// The broker restarts and is away for some time, ns.
    Broker(BrokerMemory, u64),
    /// The service's clock is set back by seconds while it is restarted.
    ClockBack(u64),
    /// A device's clock, or the service's (`None`), is set forward by seconds.
    ClockForward(Option<u32>, u64),
    /// These devices, and perhaps the service, lose their connections for some time, ns.
    Cut(Vec<u32>, bool, u64),
    /// The dishonest member deceives the others.
    Deceive(Deceit, u64),
    /// The service's disk is full for some time, ns.
    DiskFull(u64),
    /// Copies of messages arrive for some time, ns.
    Duplicate(u64),
    /// Somebody answers messages with recorded messages of former lives: percent, and for how long,
    /// ns.
    Echo(u64, u64),
    /// The service dies at the n-th fault point from now.
    Kill(u64),
    /// A device's memory takes no writes for some time, ns.
    FlashFull(u32, u64),
    /// A device dies at its n-th fault point from now, and restarts with its memory after some time, ns.
    /// Fault points are before and after each input, each write, and each message.
    InterruptDevice(u32, u64, u64),
    /// A device dies, and restarts after some time, ns.
    KillDevice(u32, u64, DeviceMemory),
    /// The broker loses messages that it acknowledged: percent, and for how long, ns.
    Lose(u64, u64),
    /// The broker also delivers messages to other clients and topics: percent, and for how long, ns.
    Misroute(u64, u64),
    /// The service restarts with a copy of its store from before the last `n` commits. If the last
    /// copy is lost too, no one can put it back.
    OldStore(usize, bool),
    /// All have come to rest. Then all devices die at once, and restart with their memory after some time,
    /// ns. The key must stay.
    PowerCut(u64),
    /// Messages come up to some time late, ns, and not in order, for some time, ns.
    Reorder(u64, u64),
    /// Somebody publishes recorded messages again: of former lives only, how many, and which.
    Replay(bool, u64, u64),
    /// A device that was evicted says something that it may not.
    Speak(Speech, u64),
    /// The service's next commit is interrupted. The disk has it whole, or not at all.
    Torn(bool),
}

/// What a dishonest member does. It has its own identity, and the keys that members have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deceit {
    /// It announces events that nobody decided: it takes others for dead, makes up evictions, takes
    /// evicted devices in, names earlier and later epochs (peers).
    Announce,
    /// It asks to evict others (peers).
    Evict,
    /// It signs messages in the names of others: the controller, or other members.
    Forge,
    /// It sends group messages in others' names: of their sessions with late counters, and of new
    /// ones.
    Impersonate,
    /// For some time, ns, it answers what others ask, before its process does (peers).
    Lie(u64),
    /// It changes recorded messages, and publishes them.
    Tamper,
}

/// Whether a device stops when it is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obedient {
    /// It stops.
    Yes,
    /// It goes on with what it has.
    No,
}

/// What a broker remembers when it restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerMemory {
    /// Sessions and retained messages.
    All,
    /// Nothing.
    Nothing,
    /// Sessions, but no retained messages.
    Sessions,
    /// Retained messages, but no sessions.
    Retained,
}

/// What a device finds in its memory when it starts again. Peers remember decisions only, and always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceMemory {
    /// What it kept last.
    Kept,
    /// A copy from so many writes ago, if there were so many.
    Old(u64),
    /// Nothing.
    Lost,
}

/// What an evicted device says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// It announces a new group of itself and others (peers).
    Announce,
    /// It signs a message of the scheme, of a later epoch.
    FarEpoch,
    /// It restarts and asks to join.
    Join,
    /// It sends a group message.
    Talk,
}

/// A second in ns.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A millisecond in ns.
pub(crate) const MILLISECOND: u64 = 1_000_000;

impl HistoryAction {
    /// Returns whether this is a fault, and not an operation.
    pub const fn is_fault(&self) -> bool {
        !matches!(
            self,
            Self::Arrive(_)
                | Self::Change(_)
                | Self::Evict(..)
                | Self::Readmit
                | Self::Rekey
                | Self::Say(_)
                | Self::Settle
        )
    }
}

impl SoakHistory {
    /// Draws a history.
    pub fn new(subject: LiveScheme, seed: u64, number: u64) -> Self {
        Self::draw(subject, seed, number, StepGenerator::rounds)
    }

    /// Draws a history in which devices die over and over, and go on with what they kept.
    pub fn of_kills(subject: LiveScheme, seed: u64, number: u64) -> Self {
        let history = Self::draw(subject, seed, number, StepGenerator::rounds_of_kills);
        Self { periodic: false, ..history }
    }

    fn draw(
        subject: LiveScheme,
        seed: u64,
        number: u64,
        rounds: impl FnOnce(&mut StepGenerator, &mut Vec<HistoryStep>),
    ) -> Self {
        let mut rng = seeded(&subject, seed, number);
        let mut drawn = [0; 32];
        rng.fill_bytes(&mut drawn);
        let periodic = below(&mut rng, 2) == 0;
        let stream = |number| {
            let mut stream = rng.clone();
            stream.set_stream(number);
            stream
        };
        let (changes, mut deceits) = (stream(1), stream(2));
        let is_dishonest = below(&mut deceits, 4) == 0;
        let insider = is_dishonest.then(|| below(&mut deceits, subject.members().into()) as u32);
        let deceits = insider.map(|_| deceits);
        let memories = stream(3);
        let next = subject.members();
        let mut draw = StepGenerator { next, rng, changes, deceits, memories, subject };
        let mut steps: Vec<_> = (0..draw.next)
            .map(|device| HistoryStep {
                act: HistoryAction::Arrive(device),
                pause: below(&mut draw.rng, 200) * MILLISECOND,
            })
            .collect();
        steps.push(HistoryStep { act: HistoryAction::Settle, pause: 0 });
        rounds(&mut draw, &mut steps);
        let subject = draw.subject;
        Self { subject, number, seed: drawn, periodic, insider, steps }
    }

    /// Returns the number of faults.
    pub fn faults(&self) -> usize {
        self.steps.iter().filter(|step| step.act.is_fault()).count()
    }

    /// Returns the same history with these steps only. They are counted from 1.
    pub fn only(&self, kept: &[usize]) -> Self {
        let kept = |(place, step): (usize, &HistoryStep)| {
            kept.contains(&(place + 1)).then(|| step.clone())
        };
        let steps = self.steps.iter().enumerate().filter_map(kept).collect();
        Self { steps, ..self.clone() }
    }
}

pub(crate) fn below(rng: &mut ChaCha20Rng, limit: u64) -> u64 {
    rng.next_u64() % limit.max(1)
}

fn seeded(subject: &LiveScheme, seed: u64, number: u64) -> ChaCha20Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    bytes[8..16].copy_from_slice(&number.to_be_bytes());
    let scheme = subject.scheme().as_bytes();
    bytes[16] = subject.members() as u8;
    for (place, byte) in scheme.iter().enumerate() {
        bytes[17 + place % 15] ^= byte.rotate_left(place as u32 / 15);
    }
    ChaCha20Rng::from_seed(bytes)
}

struct StepGenerator {
    subject: LiveScheme,
    rng: ChaCha20Rng,
    /// Decides about changes of scheme, so that these leave the rest as it is.
    changes: ChaCha20Rng,
    /// Decides about deceits, if a member is dishonest.
    deceits: Option<ChaCha20Rng>,
    memories: ChaCha20Rng,
    /// The next device that has not arrived.
    next: u32,
}

impl StepGenerator {
    /// Operations and faults in turns, perhaps after a former life.
    fn rounds(&mut self, steps: &mut Vec<HistoryStep>) {
        if self.below(3) == 0 {
            // A former life.
            for _ in 0..1 + self.below(6) {
                for _ in 0..3 {
                    steps.push(self.operation());
                }
                steps.push(HistoryStep { act: HistoryAction::Settle, pause: 0 });
            }
            steps.push(HistoryStep { act: HistoryAction::Anew, pause: self.pause() });
            steps.push(HistoryStep { act: HistoryAction::Settle, pause: 0 });
        }
        for _ in 0..4 + self.below(4) {
            for _ in 0..2 + self.below(5) {
                let step = if self.below(3) == 0 { self.operation() } else { self.fault() };
                steps.push(step);
            }
            steps.push(HistoryStep { act: HistoryAction::Settle, pause: 0 });
        }
    }

    /// Mostly deaths and messages.
    fn rounds_of_kills(&mut self, steps: &mut Vec<HistoryStep>) {
        for _ in 0..3 + self.below(3) {
            for _ in 0..20 + self.below(30) {
                let device = self.device();
                steps.push(match self.below(24) {
                    0..=11 => {
                        let time = self.fault_time();
                        HistoryStep { act: self.death(device, time), pause: self.pause() }
                    }
                    12..=18 => HistoryStep { act: HistoryAction::Say(device), pause: self.pause() },
                    19 | 20 => self.operation(),
                    _ => self.fault(),
                });
            }
            if self.below(3) == 0 {
                let time = self.fault_time();
                steps.push(HistoryStep { act: HistoryAction::PowerCut(time), pause: 0 });
            }
            steps.push(HistoryStep { act: HistoryAction::Settle, pause: 0 });
        }
    }

    fn below(&mut self, limit: u64) -> u64 {
        below(&mut self.rng, limit)
    }

    fn device(&mut self) -> u32 {
        self.below(self.next.into()) as u32
    }

    /// Between steps there is often no time at all.
    fn pause(&mut self) -> u64 {
        let longest = [0, 10 * MILLISECOND, 300 * MILLISECOND, 3 * SECOND, 20 * SECOND];
        let longest = longest[self.below(longest.len() as u64) as usize];
        self.below(longest + 1)
    }

    fn operation(&mut self) -> HistoryStep {
        let act = match self.below(8) {
            0 | 1 if self.next < self.subject.most_devices() => {
                self.next += 1;
                HistoryAction::Arrive(self.next - 1)
            }
            2 | 3 => {
                let obedient = if self.below(3) == 0 { Obedient::Yes } else { Obedient::No };
                HistoryAction::Evict(self.device(), obedient)
            }
            4 => HistoryAction::Readmit,
            5 => self.another_key(),
            _ => HistoryAction::Say(self.device()),
        };
        HistoryStep { act, pause: self.pause() }
    }

    fn another_key(&mut self) -> HistoryAction {
        let which = self.changes.next_u64();
        let keeps = self.subject.has_peers() || self.subject.can_rekey() && which.is_multiple_of(2);
        if keeps { HistoryAction::Rekey } else { HistoryAction::Change(which >> 1) }
    }

    /// Every second fault of a history with a dishonest member is its doing.
    fn deceit(&mut self) -> Option<HistoryAction> {
        let has_peers = self.subject.has_peers();
        let rng = self.deceits.as_mut()?;
        if below(rng, 2) == 0 {
            return None;
        }
        let deceit = match below(rng, if has_peers { 9 } else { 3 }) {
            0 => Deceit::Forge,
            1 => Deceit::Impersonate,
            2 => Deceit::Tamper,
            3 => Deceit::Evict,
            4 | 5 => Deceit::Announce,
            _ => Deceit::Lie(below(rng, 60 * SECOND)),
        };
        Some(HistoryAction::Deceive(deceit, rng.next_u64()))
    }

    /// How long a fault lasts, ns.
    fn fault_time(&mut self) -> u64 {
        50 * MILLISECOND + self.below(15 * SECOND)
    }

    fn death(&mut self, device: u32, time: u64) -> HistoryAction {
        let memory = match below(&mut self.memories, 20) {
            _ if self.subject.has_peers() => DeviceMemory::Kept,
            0 => DeviceMemory::Lost,
            1 | 2 => DeviceMemory::Old(1 + below(&mut self.memories, 4)),
            3 => return HistoryAction::FlashFull(device, time),
            4..=10 => {
                let point = below(&mut self.memories, 40);
                return HistoryAction::InterruptDevice(device, point, time);
            }
            _ => DeviceMemory::Kept,
        };
        HistoryAction::KillDevice(device, time, memory)
    }

    fn fault(&mut self) -> HistoryStep {
        if let Some(act) = self.deceit() {
            return HistoryStep { act, pause: self.pause() };
        }
        let time = Self::fault_time;
        let act = match self.below(21) {
            0 => HistoryAction::Lose(5 + self.below(60), time(self)),
            1 => HistoryAction::Reorder(self.below(20 * SECOND), time(self)),
            2 => HistoryAction::Duplicate(time(self)),
            3 => HistoryAction::Misroute(5 + self.below(40), time(self)),
            4 | 5 => {
                let devices =
                    (0..self.next).filter(|_| self.rng.next_u64().is_multiple_of(3)).collect();
                let service = self.below(3) == 0;
                let long = self.below(4) == 0;
                let time = if long { self.below(200 * SECOND) } else { time(self) };
                HistoryAction::Cut(devices, service, time)
            }
            6 | 7 => {
                let memories = [
                    BrokerMemory::All,
                    BrokerMemory::Nothing,
                    BrokerMemory::Sessions,
                    BrokerMemory::Retained,
                ];
                HistoryAction::Broker(memories[self.below(4) as usize], time(self) / 3)
            }
            8 => {
                let (device, time) = (self.device(), time(self));
                self.death(device, time)
            }
            9 => {
                let forward = 1 + self.below(7_200);
                let who = (self.below(2) == 0).then(|| self.device());
                HistoryAction::ClockForward(who, forward)
            }
            10 | 11 => {
                HistoryAction::Replay(self.below(2) == 0, 1 + self.below(12), self.rng.next_u64())
            }
            12 | 13 => {
                let speeches = [Speech::Announce, Speech::FarEpoch, Speech::Join, Speech::Talk];
                HistoryAction::Speak(speeches[self.below(4) as usize], self.rng.next_u64())
            }
            20 => HistoryAction::Echo(2 + self.below(20), time(self)),
            14 if self.below(2) == 0 => HistoryAction::Anew,
            _ if self.subject.has_peers() => {
                HistoryAction::KillDevice(self.device(), time(self), DeviceMemory::Kept)
            }
            14 | 15 => HistoryAction::Kill(self.below(30)),
            16 => HistoryAction::DiskFull(time(self)),
            17 => HistoryAction::Torn(self.below(2) == 0),
            18 => HistoryAction::ClockBack(self.below(7_200)),
            _ => HistoryAction::OldStore(1 + self.below(24) as usize, self.below(4) == 0),
        };
        HistoryStep { act, pause: self.pause() }
    }
}

impl fmt::Display for HistoryAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arrive(device) => write!(f, "device {device} arrives"),
            Self::Evict(device, Obedient::Yes) => {
                write!(f, "device {device} is evicted, and stops")
            }
            Self::Evict(device, Obedient::No) => {
                write!(f, "device {device} is evicted, and goes on")
            }
            Self::Change(which) => {
                write!(
                    f,
                    "the operator changes the scheme to {}",
                    LiveScheme::other(*which).scheme()
                )
            }
            Self::Readmit => write!(f, "the device that was evicted first is readmitted"),
            Self::Rekey => write!(f, "the operator asks for a new key"),
            Self::Say(device) => write!(f, "device {device} sends a group message"),
            Self::Settle => write!(f, "everything works again, and all come to rest"),
            Self::Anew => {
                write!(f, "all state is lost but the identities, and the group founded anew")
            }
            Self::Broker(memory, time) => {
                let kept = match memory {
                    BrokerMemory::All => "with its memory",
                    BrokerMemory::Nothing => "without its memory",
                    BrokerMemory::Sessions => "without retained messages",
                    BrokerMemory::Retained => "without sessions",
                };
                write!(f, "the broker restarts {kept}, away for {}", Seconds(*time))
            }
            Self::ClockBack(by) => write!(f, "the service restarts, its clock {by} s back"),
            Self::ClockForward(None, by) => write!(f, "the service's clock jumps {by} s ahead"),
            Self::ClockForward(Some(device), by) => {
                write!(f, "the clock of device {device} jumps {by} s ahead")
            }
            Self::Cut(devices, service, time) => {
                let service = if *service { "the service and " } else { "" };
                write!(f, "{service}devices {devices:?} are cut off for {}", Seconds(*time))
            }
            Self::Deceive(deceit, _) => match deceit {
                Deceit::Announce => write!(f, "the dishonest member announces what nobody decided"),
                Deceit::Evict => write!(f, "the dishonest member asks to evict others"),
                Deceit::Forge => write!(f, "the dishonest member signs in others' names"),
                Deceit::Impersonate => {
                    write!(f, "the dishonest member sends group messages in others' names")
                }
                Deceit::Lie(time) => {
                    write!(f, "the dishonest member answers falsely for {}", Seconds(*time))
                }
                Deceit::Tamper => write!(f, "the dishonest member changes recorded messages"),
            },
            Self::DiskFull(time) => write!(f, "the service's disk is full for {}", Seconds(*time)),
            Self::Duplicate(time) => write!(f, "messages arrive twice, for {}", Seconds(*time)),
            Self::Echo(percent, time) => write!(
                f,
                "{percent} % of messages are followed by one of a former life, for {}",
                Seconds(*time)
            ),
            Self::Kill(point) => write!(f, "the service dies at its fault point {point} from here"),
            Self::FlashFull(device, time) => {
                write!(f, "device {device} can keep nothing for {}", Seconds(*time))
            }
            Self::InterruptDevice(device, point, time) => write!(
                f,
                "device {device} dies at its fault point {point} from here, and restarts after {}",
                Seconds(*time)
            ),
            Self::KillDevice(device, time, memory) => {
                let memory = match memory {
                    DeviceMemory::Kept => String::new(),
                    DeviceMemory::Old(age) => format!(", with its memory of {age} writes ago"),
                    DeviceMemory::Lost => ", without its memory".to_owned(),
                };
                write!(f, "device {device} dies, and restarts after {}{memory}", Seconds(*time))
            }
            Self::PowerCut(time) => write!(
                f,
                "all come to rest, then all devices die at once, and restart after {}",
                Seconds(*time)
            ),
            Self::Lose(percent, time) => {
                write!(f, "the broker loses {percent} % of messages for {}", Seconds(*time))
            }
            Self::Misroute(percent, time) => {
                write!(f, "the broker misroutes {percent} % of messages for {}", Seconds(*time))
            }
            Self::OldStore(age, lost) => {
                let lost = if *lost { ", and the last copy is lost" } else { "" };
                write!(f, "the service's store is replaced by a copy {age} commits old{lost}")
            }
            Self::Reorder(late, time) => {
                write!(f, "messages are up to {} late, for {}", Seconds(*late), Seconds(*time))
            }
            Self::Replay(former, count, _) => {
                let of = if *former { " of former lives" } else { "" };
                write!(f, "{count} recorded messages{of} are published again")
            }
            Self::Speak(speech, _) => match speech {
                Speech::Announce => write!(f, "an evicted device announces a group of its own"),
                Speech::FarEpoch => write!(f, "an evicted device signs a message of a later epoch"),
                Speech::Join => write!(f, "an evicted device restarts and asks to join"),
                Speech::Talk => write!(f, "an evicted device sends a group message"),
            },
            Self::Torn(true) => write!(f, "the next commit is interrupted after it was written"),
            Self::Torn(false) => write!(f, "the next commit is interrupted before it was written"),
        }
    }
}

struct Seconds(u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} s", self.0 as f64 / SECOND as f64)
    }
}
