//! What each operation of a scheme costs a member: instructions, stack and heap, counted in an
//! emulator.
//!
//! The device runs one member alone. Its group runs on this machine, where the member's inputs are
//! recorded. The device gets the same inputs, and its member must send the same bytes and get the
//! same keys.

mod file;
mod row;
mod run;

use std::path::Path;

use groupkey::Suite;
use groupkey::catalogue::{Class, Scheme};
use groupkey::protection::Guard;

use self::run::EmulatedRecording;
use super::emulated::{EmulationError, Target};
use super::profile::DeviceProfile;
use crate::bench::recording::record;
use crate::bench::{Activity, BenchError, BenchPlan};

pub use self::file::MemberCostHeader;
pub use self::row::MemberCost;

/// The memory of a device for which [`MemberCost::fits`] is stated (bytes).
pub const RAM: u64 = 256 * 1024;

/// Memory for static variables of the program, of which the member has none (bytes).
pub const STATIC_RAM: u64 = 4 * 1024;

/// What to measure.
#[derive(Clone, Debug)]
pub struct MemberCostPlan {
    /// The processor.
    pub target: Target,
    /// The schemes.
    pub schemes: Vec<&'static Scheme>,
    /// Sizes of the group (members).
    pub members: Vec<u32>,
    /// The algorithms, and how messages are protected.
    pub settings: Vec<(Suite, Guard)>,
    /// Seed of everything that is drawn.
    pub seed: u64,
}

/// Why member costs were not measured.
#[derive(Debug)]
pub enum MemberCostError {
    /// The group on this machine failed.
    Group(BenchError),
    /// The emulator or the firmware failed.
    Emulation(EmulationError),
    /// The member on the device sent other bytes, or got another key, than the member here.
    OtherBytes(Box<MemberCost>),
}

impl MemberCostPlan {
    /// The sizes that are measured unless others are asked for.
    pub const MEMBERS: [u32; 4] = [10, 100, 1_000, 10_000];

    /// Returns the number of units of work, for a progress bar.
    pub fn units(&self) -> usize {
        self.schemes.len() * self.settings.len()
    }
}

/// Measures the plan, and hands over the rows of each scheme and setting as they are done. `take`
/// returns false to stop.
pub fn measure(
    plan: &MemberCostPlan,
    firmware: &Path,
    take: &mut dyn FnMut(Vec<MemberCost>) -> bool,
) -> Result<(), MemberCostError> {
    let device = DeviceProfile::named(plan.target.name()).expect("each target has a profile");
    for &scheme in &plan.schemes {
        for &(suite, guard) in &plan.settings {
            let rows = rows(plan, scheme, (suite, guard), &device, firmware)?;
            if !take(rows) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Runs the members of recorded rows again, here and without an emulator. Returns their rows with the
/// hash and the model's instructions computed anew; what an emulator counts is as recorded. A row
/// that was not recorded has nothing else.
pub fn run_again(
    plan: &MemberCostPlan,
    recorded: &[MemberCost],
) -> Result<Vec<MemberCost>, MemberCostError> {
    let device = DeviceProfile::named(plan.target.name()).expect("each target has a profile");
    let mut again = Vec::new();
    for &scheme in &plan.schemes {
        for &setting in &plan.settings {
            let (_, units) = units(plan, scheme, setting)?;
            again.extend(units.iter().flat_map(|unit| unit.again(recorded, &device)));
        }
    }
    Ok(again)
}

/// Measures one scheme in one setting, at all sizes.
fn rows(
    plan: &MemberCostPlan,
    scheme: &'static Scheme,
    setting: (Suite, Guard),
    device: &DeviceProfile,
    firmware: &Path,
) -> Result<Vec<MemberCost>, MemberCostError> {
    let (mut rows, units) = units(plan, scheme, setting)?;
    let outcomes = run::all(plan.target, firmware, &units).map_err(MemberCostError::Emulation)?;
    for (unit, outcome) in units.iter().zip(outcomes) {
        rows.extend(unit.rows(&outcome, device)?);
    }
    // By size, in the order in which they were recorded.
    rows.sort_by_key(|row| row.members);
    Ok(rows)
}

/// Records the groups of one scheme in one setting, at all sizes. Returns the rows of what is not
/// measured, and the recordings.
fn units(
    plan: &MemberCostPlan,
    scheme: &'static Scheme,
    (suite, guard): (Suite, Guard),
) -> Result<(Vec<MemberCost>, Vec<EmulatedRecording>), MemberCostError> {
    let mut rows = Vec::new();
    let mut units = Vec::new();
    for &members in &plan.members {
        let group = BenchPlan {
            suite,
            protection: guard,
            seed: plan.seed,
            activities: Activity::ALL.to_vec(),
            ..BenchPlan::new(scheme, vec![members])
        };
        let blank = MemberCost::blank(plan.target, &group, members);
        if let Some(reason) = not_measured(&group, members) {
            rows.push(MemberCost { reason, ..blank });
            continue;
        }
        let recorded = record(&group, members).map_err(MemberCostError::Group)?;
        for (operation, error) in recorded.refused {
            let operation = operation.to_owned();
            rows.push(MemberCost { operation, reason: error.to_string(), ..blank.clone() });
        }
        units.extend(
            recorded
                .recordings
                .into_iter()
                .map(|recording| EmulatedRecording::new(recording, &blank)),
        );
    }
    Ok((rows, units))
}

/// Why a group of this size is not measured, if it is not.
fn not_measured(group: &BenchPlan, members: u32) -> Option<String> {
    let scheme = group.scheme;
    let (least, most) = scheme.members;
    if !(least..=most).contains(&members) {
        return Some(format!("the scheme is for {least} to {most} members"));
    }
    if let Err(error) = group.validate() {
        return Some(error.to_string());
    }
    let most = match scheme.class() {
        _ if scheme.computes_pairings() => 10,
        Class::Distributed if group.suite == Suite::Standard => 100,
        // The cost of a curve does not depend on the suites that are measured.
        Class::Distributed => 10,
        Class::Centralized | Class::Hybrid => return None,
    };
    (members > most).then(|| {
        format!("a group of more than {most} that computes on a curve takes too long to record")
    })
}

impl std::fmt::Display for MemberCostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Group(error) => error.fmt(f),
            Self::Emulation(error) => error.fmt(f),
            Self::OtherBytes(row) => {
                let MemberCost { target, scheme, suite, members, .. } = &**row;
                write!(
                    f,
                    "a member of {scheme} in a group of {members}, suite {suite}, does not send on a \
                     {target} what it sends here; this is a bug"
                )
            }
        }
    }
}

impl std::error::Error for MemberCostError {}

impl MemberCost {
    /// Returns the costs that were recorded for a processor.
    pub fn recorded(target: Target) -> Vec<Self> {
        let text = match target {
            Target::CortexM4 => include_str!("../../data/cortex-m4.jsonl"),
            Target::Rv32imac => include_str!("../../data/rv32imac.jsonl"),
        };
        let rows = text.lines().skip(1).map(serde_json::from_str);
        rows.collect::<Result<_, _>>().expect("a test reads it")
    }
}
