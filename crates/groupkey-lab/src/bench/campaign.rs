//! A whole benchmark: plan after plan and size after size, in rounds over stretches of both. It
//! runs on one thread, because threads would disturb each other's clocks.

use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use groupkey::Error;

use super::measurement::{MeasuringEffort, Ongoing};
use super::rounds::rounds;
use super::{Activity, BenchError, BenchPlan, BenchRow, HostPrices, Instruments};
use crate::results::told_parameters;

/// One scheme at one size, the unit that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'p> {
    /// The plan.
    pub plan: &'p BenchPlan,
    /// Members of the group.
    pub members: u32,
}

/// How a benchmark is run.
#[derive(Clone, Copy)]
pub struct BenchOptions<'o> {
    /// When this becomes true the benchmark stops at the next opportunity.
    pub stop: &'o AtomicBool,
    /// Called with the number of repetitions that are done, and with the total.
    pub on_progress: &'o dyn Fn(u64, u64),
    /// Called with each activity that a scheme refuses at a size.
    pub on_refusal: &'o dyn Fn(Unit<'_>, Activity, Error),
}

/// How a benchmark ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchOutcome {
    /// Everything was measured.
    Finished,
    /// The benchmark was stopped.
    Interrupted {
        /// Units whose rows were handed over.
        done: usize,
        /// Units in all.
        total: usize,
    },
}

/// Returns all units of the plans, in their order. Sizes that a scheme does not take are left out.
pub fn units(plans: &[BenchPlan]) -> Vec<Unit<'_>> {
    plans
        .iter()
        .flat_map(|plan| plan.fitting().map(move |members| Unit { plan, members }))
        .collect()
}

/// Measures the units, and hands over their rows stretch by stretch.
pub fn run(
    units: &[Unit<'_>],
    prices: &mut HostPrices,
    options: &BenchOptions<'_>,
    sink: &mut dyn FnMut(&[BenchRow]) -> io::Result<()>,
) -> Result<BenchOutcome, BenchError> {
    validate(units)?;
    let total = units.iter().map(Unit::repetitions).sum();
    let repetitions = Cell::new(0);
    let on_repetition = || {
        repetitions.set(repetitions.get() + 1);
        (options.on_progress)(repetitions.get(), total);
    };
    let instruments = Instruments { prices, stop: options.stop, on_repetition: &on_repetition };
    let mut done = 0;
    while done < units.len() {
        let begun_with = repetitions.get();
        let Some(measured) = stretch(&units[done..], &instruments)? else {
            return Ok(BenchOutcome::Interrupted { done, total: units.len() });
        };
        let of_stretch = &units[done..][..measured.len()];
        for (unit, ongoing) in of_stretch.iter().zip(measured) {
            let measurement = ongoing.end(instruments.prices);
            for &(activity, error) in &measurement.refused {
                (options.on_refusal)(*unit, activity, error);
            }
            sink(&measurement.rows).map_err(BenchError::Sink)?;
            done += 1;
        }
        // Refused activities took no repetitions.
        let expected = of_stretch.iter().map(Unit::repetitions).sum::<u64>();
        repetitions.set(begun_with + expected);
    }
    Ok(BenchOutcome::Finished)
}

/// Learns the prices that the units need, and returns about how long the units will take. It tries
/// the smallest size of each plan and a size of at most some hundred members.
pub fn pilot(
    units: &[Unit<'_>],
    prices: &mut HostPrices,
    stop: &AtomicBool,
) -> Result<Duration, BenchError> {
    validate(units)?;
    let mut expected = 0.0;
    for of_plan in units.chunk_by(|a, b| std::ptr::eq(a.plan, b.plan)) {
        let plan = of_plan[0].plan;
        let once = BenchPlan { repetitions: 1, ..plan.clone() };
        let mut effort = |members: u32| -> Result<MeasuringEffort, BenchError> {
            let instruments = &mut Instruments { prices, stop, on_repetition: &|| () };
            let mut ongoing = Ongoing::new(&once, members);
            let is_whole = ongoing.visit(instruments)?;
            let effort = ongoing.effort();
            if is_whole {
                // The rows learn the prices.
                ongoing.end(instruments.prices);
            }
            Ok(effort)
        };
        let smallest = of_plan[0].members;
        let few = (smallest, effort(smallest)?);
        let larger = of_plan.iter().rev().find(|unit| unit.members <= PILOT_MEMBERS);
        let many = match larger.map_or(smallest, |unit| unit.members) {
            members if members > smallest => (members, effort(members)?),
            _ => few,
        };
        let rounds = rounds(plan.repetitions).count() as f64;
        // Of the two repetitions that were tried one is measured, as in each round.
        let repetitions = (f64::from(plan.repetitions) + rounds) / 2.0;
        type Part = fn(&MeasuringEffort) -> Duration;
        let parts: [(f64, Part); 3] = [
            (1.0, |effort| effort.once),
            (rounds, |effort| effort.rounds),
            (repetitions, |effort| effort.repetitions),
        ];
        for (times, part) in parts {
            let at = |(members, effort): (u32, MeasuringEffort)| TimeAtSize {
                members,
                seconds: part(&effort).as_secs_f64(),
            };
            let beyond = |unit: &Unit<'_>| TimeAtSize::beyond(at(few), at(many), unit.members);
            expected += times * of_plan.iter().map(beyond).sum::<f64>();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(Duration::from_secs_f64(expected))
}

/// Returns how many rows of an interrupted benchmark are to be kept, and how many of the units are
/// done. The last unit that has rows may lack some, so it is measured again. `None` if the rows are
/// not of these units.
pub fn remaining(units: &[Unit<'_>], rows: &[BenchRow]) -> Option<(usize, usize)> {
    let (mut kept, mut done) = (0, 0);
    let mut row = 0;
    for (number, unit) in units.iter().enumerate() {
        let of_unit = rows[row..].iter().take_while(|row| unit.is_of(row)).count();
        if of_unit > 0 {
            (kept, done) = (row, number);
            row += of_unit;
        }
    }
    (row == rows.len()).then_some((kept, done))
}

impl Unit<'_> {
    fn repetitions(&self) -> u64 {
        self.plan.activities().count() as u64 * u64::from(self.plan.repetitions)
    }

    /// Whether a row belongs to this unit.
    fn is_of(&self, row: &BenchRow) -> bool {
        let Self { plan, members } = self;
        row.scheme == plan.scheme.id
            && row.members == *members
            && row.profile == plan.profile.name()
            && row.parameters == told_parameters(&plan.parameters)
            && row.suite == plan.suite.name()
            && row.protection == plan.protection.name()
            && row.workload == plan.workload
            && row.device.as_ref() == plan.device.as_ref().map(|device| &device.name)
            && (row.seed, row.repetitions) == (plan.seed, plan.repetitions)
            && row.message_bytes.is_none_or(|bytes| bytes == plan.message_bytes)
            && row.nonces.as_ref().is_none_or(|nonces| nonces == plan.nonces.name())
            && plan.activities().any(|activity| activity.name() == row.operation)
            && plan.asks_for(row)
    }
}

/// Measures as many of the units as make a round long enough, round after round. Returns `None` if
/// it was stopped.
fn stretch<'p>(
    units: &[Unit<'p>],
    instruments: &Instruments<'_>,
) -> Result<Option<Vec<Ongoing<'p>>>, BenchError> {
    let started = Instant::now();
    let mut measured = Vec::new();
    for unit in units {
        if !measured.is_empty() && started.elapsed() >= ROUND {
            break;
        }
        let mut ongoing = Ongoing::new(unit.plan, unit.members);
        if instruments.stop.load(Ordering::Relaxed) || !ongoing.visit(instruments)? {
            return Ok(None);
        }
        measured.push(ongoing);
    }
    while !measured.iter().all(Ongoing::is_complete) {
        for ongoing in &mut measured {
            if !ongoing.visit(instruments)? {
                return Ok(None);
            }
        }
    }
    Ok(Some(measured))
}

/// How long a round takes on new units. Five such rounds see more changes of the machine than those
/// of its clock. An interrupted benchmark loses no more than these rounds.
const ROUND: Duration = Duration::from_secs(20);

/// Largest group (members) that is tried before a benchmark, to see how long it takes.
const PILOT_MEMBERS: u32 = 400;

#[derive(Clone, Copy)]
struct TimeAtSize {
    members: u32,
    seconds: f64,
}

impl TimeAtSize {
    /// Returns the time with this many members, by the power law through two sizes. The exponent is
    /// between 0 and 2, as for all schemes if small terms are left out.
    fn beyond(few: Self, many: Self, members: u32) -> f64 {
        let ratio = |a: u32, b: u32| f64::from(a) / f64::from(b);
        let exponent = match many.members == few.members || few.seconds <= 0.0 {
            true => 1.0,
            false => (many.seconds / few.seconds).ln() / ratio(many.members, few.members).ln(),
        };
        many.seconds * ratio(members, many.members).powf(exponent.clamp(0.0, 2.0))
    }
}

fn validate(units: &[Unit<'_>]) -> Result<(), BenchError> {
    for of_plan in units.chunk_by(|a, b| std::ptr::eq(a.plan, b.plan)) {
        let plan = of_plan[0].plan;
        // Sizes that do not fit were left out, and need not be valid.
        let fitting = BenchPlan { members: plan.fitting().collect(), ..plan.clone() };
        let refused = |error| BenchError::Plan { scheme: plan.scheme.id, error };
        fitting.validate().map_err(refused)?;
    }
    Ok(())
}

impl std::fmt::Debug for BenchOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BenchOptions").field("stop", &self.stop).finish_non_exhaustive()
    }
}
