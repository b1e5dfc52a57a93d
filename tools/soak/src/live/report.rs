//! What a live soak found.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What a live soak did and found.
#[derive(Clone, Debug, Default)]
pub struct LiveReport {
    /// Faults of each kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Operations of each kind that the service acknowledged.
    pub operations: BTreeMap<&'static str, u64>,
    /// How often all had to come back, and did.
    pub returns: u64,
    /// The longest time that took.
    pub slowest_return: Duration,
    /// All these times together.
    pub all_returns: Duration,
    /// The last epoch that the service said.
    pub epoch: u64,
    /// Messages that the stranger recorded.
    pub messages: u64,
    /// How often the service refused a store that was old or torn.
    pub refused_stores: u64,
    /// How long the run took.
    pub time: Duration,
    /// The invariant that was broken; the run ends with the first.
    pub broken: Option<LiveViolation>,
}

/// An invariant that was broken in a live run.
#[derive(Clone, Debug)]
pub struct LiveViolation {
    /// Which one.
    pub kind: LiveInvariant,
    /// What was seen.
    pub seen: String,
    /// The number of the last step, from 1.
    pub step: u64,
    /// The last step.
    pub act: String,
    /// The folder with all that the processes printed, and their files.
    pub folder: PathBuf,
}

/// The invariants that can be seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveInvariant {
    /// What the service acknowledged, an eviction, a readmission or an epoch, is undone.
    AcknowledgedLost,
    /// A process ended by itself, with an exit code for which there was no reason.
    Ended,
    /// An evicted device has a later key.
    EvictedHasKey,
    /// An evicted device reads a later message.
    EvictedReads,
    /// A service acts on an old copy of its store.
    OldStore,
    /// Not all members are back within the bound.
    Stuck,
}

/// Why a live soak could not run.
#[derive(Debug)]
pub enum LiveError {
    /// This program is not installed.
    Missing(&'static str),
    /// Processes or files could not be made.
    Failed(String),
    /// The scheme has no service.
    NoService(&'static str),
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct LiveProgress {
    /// Faults so far.
    pub faults: u64,
    /// The time since the start.
    pub time: Duration,
    /// The last epoch that the service said.
    pub epoch: u64,
    /// How long members took to come back the last time.
    pub returned: Duration,
}

impl LiveReport {
    /// Returns the number of faults.
    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

impl LiveInvariant {
    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AcknowledgedLost => "acknowledged-lost",
            Self::Ended => "ended",
            Self::EvictedHasKey => "evicted-has-key",
            Self::EvictedReads => "evicted-reads",
            Self::OldStore => "old-store",
            Self::Stuck => "stuck",
        }
    }
}

impl fmt::Display for LiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(program) => write!(f, "{program} is not installed"),
            Self::Failed(why) => f.write_str(why),
            Self::NoService(scheme) => {
                write!(f, "{scheme} has no service: live, only groups with a service are soaked")
            }
        }
    }
}

impl std::error::Error for LiveError {}

impl From<std::io::Error> for LiveError {
    fn from(error: std::io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
