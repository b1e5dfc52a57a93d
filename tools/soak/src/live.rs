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

mod act;
mod broker;
mod device;
mod era;
mod files;
mod operator;
mod process;
mod report;
mod stranger;
mod world;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use groupkey::catalogue::Scheme;

pub use self::report::{Broken, Kind, LiveError, LiveReport, Progress};
use self::world::{Stop, World};

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
    pub on_progress: &'a dyn Fn(&Progress),
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
    let mut world = World::new(settings)?;
    let end = world.run();
    let report = world.report();
    match end {
        Ok(()) => Ok(Some(report)),
        Err(Stop::Interrupted) => Ok(None),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Broken(kind, seen)) => {
            let broken = world.keep(kind, seen);
            Ok(Some(LiveReport { broken: Some(broken), ..report }))
        }
    }
}
