//! The steps of a live run. They depend on the seed alone; whom they meet depends on who is there.

use std::fmt;
use std::time::Duration;

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use crate::history::below;

/// A step. A `u64` selects a device among those that fit. The first group are operations; the second
/// are faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LiveAction {
    Arrive,
    Evict(u64),
    Readmit(u64),
    Rekey,
    Say(u64),
    /// The operator changes the scheme.
    Change,

    /// The broker restarts, with its memory, this long after the operator changes the scheme.
    BrokerInChange(Duration, Duration),
    /// The service is killed this long after the operator changes the scheme.
    KillInChange(Duration, Duration),
    /// The broker restarts, and is away for some time.
    Broker(LiveBrokerMemory, Duration),
    /// The service's disk is full for some time.
    DiskFull(Duration),
    /// A device that was evicted starts again, and asks.
    EvictedAsks(u64),
    /// The service is killed this long after the operator evicts a device, and is away for some time.
    KillInEviction(u64, Duration, Duration),
    /// Some members are killed, and are away for some time.
    KillMembers(u64, u64, Duration),
    /// The service is killed, and is away for some time.
    KillService(Duration),
    /// The service restarts with an earlier copy of its store.
    OldStore(u64),
    PauseBroker(Duration),
    PauseMembers(u64, u64, Duration),
    PauseService(Duration),
    /// A stranger publishes some recorded messages again, perhaps for the broker to retain.
    Replay(u64, u64, bool),
    /// The service is killed, and the last bytes of its store are missing.
    TornStore(u64),
}

/// What a broker remembers when it restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveBrokerMemory {
    /// Everything.
    All,
    /// What it had saved up to 20 s before.
    LastSave,
    /// Nothing.
    Nothing,
}

impl LiveAction {
    /// Draws an operation or a fault, and the pause after it. The first faults of a run are of each
    /// kind once: `place` is the fault's number.
    pub(super) fn draw(rng: &mut ChaCha20Rng, place: u64) -> (Self, Duration) {
        let act = if below(rng, 3) == 0 { operation(rng) } else { fault(rng, place) };
        let longest = [0, 10, 300, 3_000][below(rng, 4) as usize];
        (act, Duration::from_millis(below(rng, longest + 1)))
    }

    /// Returns the name under which a fault is counted, or `None` for an operation.
    pub(super) const fn fault(&self) -> Option<&'static str> {
        Some(match self {
            Self::Arrive
            | Self::Change
            | Self::Evict(_)
            | Self::Readmit(_)
            | Self::Rekey
            | Self::Say(_) => return None,
            Self::BrokerInChange(..) => "broker restarts in a change of scheme",
            Self::KillInChange(..) => "service killed in a change of scheme",
            Self::Broker(LiveBrokerMemory::All, _) => "broker restarts",
            Self::Broker(LiveBrokerMemory::LastSave, _) => "broker killed, has its last save",
            Self::Broker(LiveBrokerMemory::Nothing, _) => "broker killed, has nothing",
            Self::DiskFull(_) => "disk full",
            Self::EvictedAsks(_) => "evicted device asks",
            Self::KillInEviction(..) => "service killed in an eviction",
            Self::KillMembers(..) => "members killed",
            Self::KillService(_) => "service killed",
            Self::OldStore(_) => "old store",
            Self::PauseBroker(_) => "broker paused",
            Self::PauseMembers(..) => "members paused",
            Self::PauseService(_) => "service paused",
            Self::Replay(..) => "recordings replayed",
            Self::TornStore(_) => "store torn",
        })
    }
}

fn operation(rng: &mut ChaCha20Rng) -> LiveAction {
    match below(rng, 9) {
        0 => LiveAction::Arrive,
        8 => LiveAction::Change,
        1..=3 => LiveAction::Evict(rng.next_u64()),
        4 | 5 => LiveAction::Readmit(rng.next_u64()),
        6 => LiveAction::Rekey,
        _ => LiveAction::Say(rng.next_u64()),
    }
}

fn fault(rng: &mut ChaCha20Rng, place: u64) -> LiveAction {
    let kind = if place < KINDS { place } else { below(rng, KINDS) };
    let away = Duration::from_millis(below(rng, 3_000));
    // Some pauses are longer than the broker's patience with a silent client, 22 s.
    let most = if below(rng, 8) == 0 { 30_000 } else { 5_000 };
    let pause = Duration::from_millis(50 + below(rng, most));
    // Members ask for their places within a second.
    let in_change = Duration::from_millis(below(rng, 2_500));
    match kind {
        0 => LiveAction::KillService(away),
        1 => LiveAction::KillMembers(1 + below(rng, 10), rng.next_u64(), away),
        2 => LiveAction::Broker(LiveBrokerMemory::All, away),
        3 => LiveAction::OldStore(rng.next_u64()),
        4 => LiveAction::KillInEviction(
            rng.next_u64(),
            Duration::from_micros(below(rng, 8_000)),
            away,
        ),
        5 => LiveAction::Broker(LiveBrokerMemory::Nothing, away),
        6 => LiveAction::PauseMembers(1 + below(rng, 10), rng.next_u64(), pause),
        7 => LiveAction::Replay(1 + below(rng, 50), rng.next_u64(), false),
        8 => LiveAction::DiskFull(away),
        9 => LiveAction::EvictedAsks(rng.next_u64()),
        10 => LiveAction::PauseBroker(pause),
        11 => LiveAction::TornStore(1 + below(rng, 65_536)),
        12 => LiveAction::PauseService(pause),
        13 => LiveAction::Broker(LiveBrokerMemory::LastSave, away),
        14 => LiveAction::Replay(1, rng.next_u64(), true),
        15 => LiveAction::KillInChange(in_change, away),
        16 => LiveAction::BrokerInChange(in_change, away),
        _ => LiveAction::KillMembers(1 + below(rng, 3), rng.next_u64(), away),
    }
}

const KINDS: u64 = 18;

impl fmt::Display for LiveAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: &Duration| time.as_millis();
        match self {
            Self::Arrive => write!(f, "a device arrives"),
            Self::Evict(_) => write!(f, "a device is evicted"),
            Self::Readmit(_) => write!(f, "a device is readmitted"),
            Self::Rekey => write!(f, "the operator asks for a new key"),
            Self::Say(_) => write!(f, "a member sends a group message"),
            Self::Change => write!(f, "the operator changes the scheme"),
            Self::BrokerInChange(after, away) => write!(
                f,
                "the broker restarts {} ms after a change of scheme began, away for {} ms",
                ms(after),
                ms(away)
            ),
            Self::KillInChange(after, away) => write!(
                f,
                "the service is killed {} ms after a change of scheme began, away for {} ms",
                ms(after),
                ms(away)
            ),
            Self::Broker(memory, away) => {
                let kept = match memory {
                    LiveBrokerMemory::All => "with its memory",
                    LiveBrokerMemory::LastSave => "with its last save",
                    LiveBrokerMemory::Nothing => "without memory",
                };
                write!(f, "the broker restarts {kept}, away for {} ms", ms(away))
            }
            Self::DiskFull(time) => write!(f, "the service's disk is full for {} ms", ms(time)),
            Self::EvictedAsks(_) => write!(f, "an evicted device starts again and asks"),
            Self::KillInEviction(_, after, away) => write!(
                f,
                "the service is killed {} us after an eviction, away for {} ms",
                after.as_micros(),
                ms(away)
            ),
            Self::KillMembers(count, _, away) => {
                write!(f, "{count} members are killed, away for {} ms", ms(away))
            }
            Self::KillService(away) => write!(f, "the service is killed, away for {} ms", ms(away)),
            Self::OldStore(_) => write!(f, "the service restarts with an old copy of its store"),
            Self::PauseBroker(time) => write!(f, "the broker is paused for {} ms", ms(time)),
            Self::PauseMembers(count, _, time) => {
                write!(f, "{count} members are paused for {} ms", ms(time))
            }
            Self::PauseService(time) => write!(f, "the service is paused for {} ms", ms(time)),
            Self::Replay(count, _, retain) => {
                let how = if *retain { ", for the broker to retain" } else { "" };
                write!(f, "{count} recorded messages are published again{how}")
            }
            Self::TornStore(bytes) => {
                write!(f, "the service is killed, and its store lacks the last {bytes} bytes")
            }
        }
    }
}
