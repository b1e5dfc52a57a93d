//! Soak tests of real processes: a service, members and a Mosquitto, with random faults.
//!
//! Each party is a process of the command `groupkey`. The soak kills and pauses processes,
//! restarts the broker, replaces the service's store, and lets a stranger play recordings back. It
//! sees only what an operator sees: what processes print, and how they end. After each few faults
//! everything works again, and within [`BOUND`] all members that are not evicted must have the
//! service's epoch and read what one of them says. The operator also changes the scheme of the
//! group, to another one and back.
//!
//! The steps are a function of the seed. When each falls is not: processes run in real time. So a
//! failing run cannot be shrunk. It leaves its logs.

mod action;
mod broker;
mod device;
mod files;
mod operator;
mod outsider;
mod process;
mod report;
mod world;

use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use groupkey::catalogue::Scheme;

use self::world::{LiveWorld, RunStop};

pub use self::report::{LiveError, LiveInvariant, LiveProgress, LiveReport, LiveViolation};

/// What a live soak runs.
#[expect(missing_debug_implementations, reason = "it holds functions")]
pub struct LiveSettings<'a> {
    /// The command `groupkey`.
    pub command: &'a Path,
    /// A scheme with a service.
    pub scheme: &'static Scheme,
    /// How many members found the group, 4 to 1000: each is a process.
    pub members: u32,
    /// Faults, at least.
    pub faults: u64,
    /// The time over which the faults are spread. If members need longer to come back, the run
    /// takes longer.
    pub time: Duration,
    /// Seed of the steps and of all keys.
    pub seed: u64,
    /// Ends the run early.
    pub stop: &'a AtomicBool,
    /// Is told after each few faults.
    pub on_progress: &'a dyn Fn(&LiveProgress),
}

/// The time within which all members must be back, once everything works again. Members ask the
/// service in attempts of some 100 s.
pub const BOUND: Duration = Duration::from_secs(300);

/// Soaks a group. Returns `None` if it was stopped. All processes have ended then, and their folder
/// is gone unless an invariant was broken.
///
/// # Errors
///
/// Fails if a program is missing, or a process or file cannot be made.
pub fn soak_live(settings: &LiveSettings<'_>) -> Result<Option<LiveReport>, LiveError> {
    let mut world = LiveWorld::new(settings)?;
    let end = world.run();
    let report = world.report();
    match end {
        Ok(()) => Ok(Some(report)),
        Err(RunStop::Interrupted) => Ok(None),
        Err(RunStop::Failed(error)) => Err(error),
        Err(RunStop::Broken(kind, seen)) => {
            let broken = world.keep(kind, seen);
            Ok(Some(LiveReport { broken: Some(broken), ..report }))
        }
    }
}

/// A founding (ms since 1970; 0 before there is a group) and an epoch of it. Later ones are
/// greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Era {
    pub(super) founding: u64,
    pub(super) epoch: u64,
}

impl Era {
    /// Later than every group.
    pub(super) const NEVER: Self = Self { founding: u64::MAX, epoch: 0 };

    /// Returns whether at least two keys lie between a state and a later one.
    pub(super) const fn is_well_before(self, later: Self) -> bool {
        self.founding < later.founding && later.epoch >= 2
            || self.founding == later.founding && self.epoch + 2 <= later.epoch
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of founding {}", self.epoch, self.founding)
    }
}
