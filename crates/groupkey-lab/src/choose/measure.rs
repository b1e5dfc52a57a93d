//! Simulates candidates for one group's requirements, instead of modelling how long changes take.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::{error, fmt};

use groupkey::Operation;
use groupkey::protection::Guard;

use groupkey_choose::decision::{Assessment, Figure, Ground, Quantity, Reason};
use groupkey_choose::evidence::{CountTable, Evidence, Sample, counted_suite};
use groupkey_choose::requirements::{Devices, Limits, NetworkConditions};
use groupkey_choose::{Candidate, ChooseError, Grounds, Moment, Requirements, Variant, assess_on};
use groupkey_sim::group::{GroupError, SimulatedGroup};

use super::counting::{count, sample};
use super::in_parallel::in_parallel;
use super::message_flow::{MessageFlow, NoFlow, is_impossible};
use super::plan::{end, plan, present};
use super::variants::CountedScheme;
use super::wave_carrier::Waves;
use crate::plan::{Plan, PlanError};
use crate::registry;
use crate::statistics::percentile;

/// How candidates are measured.
#[derive(Clone, Copy)]
pub struct MeasureOptions<'o> {
    /// Seed of everything that is random.
    pub seed: u64,
    /// How often each change is simulated.
    pub runs: u32,
    /// Threads. The figures do not depend on their number.
    pub threads: usize,
    /// When this becomes true, measuring stops at the next opportunity.
    pub stop: &'o AtomicBool,
    /// Called with the number of candidates that were measured, and with the total.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

/// A candidate as it was simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedCandidate {
    /// Its figures and its cost at the present number of members. Times until changes are complete
    /// are simulated, and counts are of groups of just this size.
    pub assessment: Assessment,
    /// The limits that it exceeds at the largest number of members, by the lower end of the
    /// interval.
    pub exceeded: Vec<String>,
}

/// Why candidates cannot be measured.
#[derive(Clone, Debug, PartialEq)]
pub enum MeasureError {
    /// The requirements are wrong.
    Requirements(ChooseError),
    /// There is no such candidate, or it cannot do what the group needs.
    Candidate(Candidate),
    /// A group of it did not complete a change.
    Incomplete(Box<Candidate>, GroupError),
    /// Its changes cannot be simulated in this network.
    Plan(Box<Candidate>, PlanError),
    /// It was stopped.
    Interrupted,
}

/// Simulates candidates and returns their figures, in the same order.
pub fn measure(
    requirements: &Requirements,
    candidates: &[Candidate],
    options: &MeasureOptions<'_>,
) -> Result<Vec<SimulatedCandidate>, MeasureError> {
    let work = |candidate: &Candidate| {
        Laboratory::default().measure(requirements, candidate, options.runs, options.seed)
    };
    let on_done = |done| (options.on_progress)(done, candidates.len());
    let measured = in_parallel(candidates, options.threads, options.stop, &on_done, &work);
    let measured = measured.into_iter();
    measured.map(|measured| measured.unwrap_or(Err(MeasureError::Interrupted))).collect()
}

/// Groups, and what was recorded, counted and simulated of them.
#[derive(Default)]
pub(super) struct Laboratory {
    recorded: BTreeMap<VariantKind, RecordedKind>,
    times: BTreeMap<(VariantKind, ChangeKey, RunKey), Vec<f64>>,
    /// Where the known times are from.
    place: Option<(NetworkConditions, Devices)>,
}

/// A variant, whatever its protection and quality of service are, with the operations that are
/// needed, at the moments that were counted.
type VariantKind = (String, BTreeMap<String, u32>, String, Vec<String>, Vec<Moment>);

/// An operation, the moment in the group's life and the protection of messages.
type ChangeKey = (String, Moment, String);

/// The quality of service, how often, and with which seed.
type RunKey = (u8, u32, u64);

impl Laboratory {
    /// Simulates a candidate's changes. Those that it knows it does not simulate again.
    pub(super) fn measure(
        &mut self,
        requirements: &Requirements,
        candidate: &Candidate,
        runs: u32,
        seed: u64,
    ) -> Result<SimulatedCandidate, MeasureError> {
        let place = (requirements.network, requirements.devices.clone());
        if self.place.as_ref() != Some(&place) {
            self.times.clear();
            self.place = Some(place);
        }
        let Variant { scheme, parameters, suite, guard } = candidate.variant.clone();
        let (now, later_on) = (present(requirements, candidate), end(requirements, candidate));
        let changes = changes(requirements, candidate)?;
        let operations: Vec<String> = changes.iter().map(|change| change.0.clone()).collect();
        let moments = counted_moments(requirements, candidate);
        let kind = (scheme, parameters, suite, operations.clone(), moments);
        if !self.recorded.contains_key(&kind) {
            self.recorded.insert(kind.clone(), RecordedKind::of(requirements, candidate)?);
        }
        let recorded = self.recorded.get_mut(&kind).expect("it is there now");
        let mut times = |operation: &String, moment: Moment| -> Result<Vec<f64>, MeasureError> {
            let change = (operation.clone(), moment, guard.clone());
            let key = (kind.clone(), change, (candidate.qos, runs, seed));
            if let Some(times) = self.times.get(&key) {
                return Ok(times.clone());
            }
            recorded.record(requirements, candidate, &operations, moment)?;
            let run = RunOf { requirements, candidate, operation, moment, seed };
            let times = recorded.replay(&run, 0..runs)?;
            self.times.insert(key, times.clone());
            Ok(times)
        };
        let mut present = Vec::new();
        for (operation, _) in &changes {
            present.push(times(operation, now)?);
        }
        let mut later = Vec::new();
        if requirements.limits.complete.is_some() && later_on != now {
            for (operation, _) in &changes {
                later.push(times(operation, later_on)?);
            }
        }
        let (assessment, mut exceeded) = recorded.figures(requirements, candidate)?;
        let assessment = with_times(assessment, requirements, &changes, &present);
        let far = Interval::of_slowest(if later.is_empty() { &present } else { &later });
        if requirements.limits.complete.is_some_and(|limit| far.low > limit) {
            exceeded.push(COMPLETE.to_owned());
        }
        Ok(SimulatedCandidate { assessment, exceeded })
    }
}

/// Returns the operations by which a candidate follows the changes of the group, each with how often
/// it happens in a day.
pub(super) fn changes(
    requirements: &Requirements,
    candidate: &Candidate,
) -> Result<Vec<(String, f64)>, MeasureError> {
    let changes = Grounds::shipped().changes(requirements, candidate, requirements.members.now);
    changes.ok_or_else(|| MeasureError::Candidate(candidate.clone()))
}

/// Puts simulated times into a candidate's figures and cost. `times` has those of each change (ms).
pub(super) fn with_times(
    mut assessment: Assessment,
    requirements: &Requirements,
    changes: &[(String, f64)],
    times: &[Vec<f64>],
) -> Assessment {
    let sum: f64 = changes.iter().map(|(_, rate)| rate).sum();
    let share = |rate: f64| if sum > 0.0 { rate / sum } else { 1.0 / changes.len() as f64 };
    let mut mean = Interval::default();
    for ((_, rate), times) in changes.iter().zip(times) {
        mean.add(&Interval::of_mean(times), share(*rate));
    }
    let far = Interval::of_slowest(times);
    let modelled = assessment.figure(Quantity::Completion).map_or(0.0, |figure| figure.value);
    assessment.cost += requirements.weights.second * sum * (mean.value - modelled) / 1e3;
    assessment.error = 0.0;
    for figure in &mut assessment.figures {
        let simulated = match figure.quantity {
            Quantity::Completion => mean,
            Quantity::CompletionOf99 => far,
            _ => continue,
        };
        *figure = Figure {
            quantity: figure.quantity,
            value: simulated.value,
            interval: (simulated.low, simulated.high),
            ground: Ground::Simulated,
            is_extrapolated: false,
        };
    }
    assessment
}

pub(super) const COMPLETE: &str = "limits.complete";

enum SimulationFailure {
    Unknown,
    Group(GroupError),
    Plan(PlanError),
}

impl From<NoFlow> for SimulationFailure {
    fn from(no_flow: NoFlow) -> Self {
        match no_flow {
            NoFlow::Group(error) if is_impossible(&error) => Self::Unknown,
            NoFlow::Group(error) => Self::Group(error),
            NoFlow::Plan(PlanError::Members { .. } | PlanError::Steps { .. }) => Self::Unknown,
            NoFlow::Plan(error) => Self::Plan(error),
        }
    }
}

impl SimulationFailure {
    fn of(self, candidate: &Candidate) -> MeasureError {
        match self {
            Self::Unknown => MeasureError::Candidate(candidate.clone()),
            Self::Group(error) => MeasureError::Incomplete(Box::new(candidate.clone()), error),
            Self::Plan(error) => MeasureError::Plan(Box::new(candidate.clone()), error),
        }
    }
}

/// What is known of one kind of variants.
pub(super) struct RecordedKind {
    /// Counts of groups at just these moments. `None` if those that ship are of them, or if what is
    /// recorded is counted.
    counted: Option<Evidence>,
    flows: BTreeMap<ChangeKey, MessageFlow>,
}

/// What is replayed: a candidate's change in a group at this moment.
#[derive(Clone, Copy)]
pub(super) struct RunOf<'a> {
    pub(super) requirements: &'a Requirements,
    pub(super) candidate: &'a Candidate,
    pub(super) operation: &'a str,
    pub(super) moment: Moment,
    pub(super) seed: u64,
}

impl RecordedKind {
    /// Counts the operations that a candidate needs, unless evidence of just these moments ships.
    pub(super) fn of(
        requirements: &Requirements,
        candidate: &Candidate,
    ) -> Result<Self, MeasureError> {
        let needed = changes(requirements, candidate)?;
        let operations: Vec<&str> = needed.iter().map(|(operation, _)| &**operation).collect();
        let moments = counted_moments(requirements, candidate);
        let is_counted_later = moments.len() == 1 && moments[0].members > MOST_COUNTED;
        let is_known = is_counted_later || is_shipped(&candidate.variant, &operations, &moments);
        let counted = match is_known {
            true => None,
            false => Some(
                count_at(&candidate.variant, &operations, &moments)
                    .map_err(|failure| failure.of(candidate))?,
            ),
        };
        Ok(Self { counted, flows: BTreeMap::new() })
    }

    /// Returns a candidate's figures, whose times are modelled, and the limits that it exceeds, that
    /// of the time left out.
    pub(super) fn figures(
        &self,
        requirements: &Requirements,
        candidate: &Candidate,
    ) -> Result<(Assessment, Vec<String>), MeasureError> {
        let shipped = Grounds::shipped();
        let evidence = self.counted.as_ref().unwrap_or(shipped.evidence);
        let mut judged = requirements.as_modelled();
        if counted_moments(requirements, candidate).len() < 2 {
            // No limit is of what is counted.
            judged.members.most = 0;
        }
        let assessed = assess_on(&judged, &Grounds { evidence, ..shipped }, candidate)?;
        let (assessment, reasons) =
            assessed.ok_or_else(|| MeasureError::Candidate(candidate.clone()))?;
        let counted = reasons.into_iter().filter(|reason| reason.requirement != COMPLETE);
        Ok((assessment, counted.map(|Reason { requirement, .. }| requirement).collect()))
    }

    /// Records these changes of a candidate's group, unless they are.
    pub(super) fn record(
        &mut self,
        requirements: &Requirements,
        candidate: &Candidate,
        operations: &[String],
        moment: Moment,
    ) -> Result<(), MeasureError> {
        let mut by_moment: BTreeMap<Moment, Vec<&String>> = BTreeMap::new();
        for operation in operations {
            if !self.flows.contains_key(&flow_key(operation, moment, candidate)) {
                by_moment.entry(at_least(operation, moment)).or_default().push(operation);
            }
        }
        for (possible, operations) in by_moment {
            let names: Vec<&str> = operations.iter().map(|operation| &***operation).collect();
            let plan = plan_of(requirements, candidate, possible, &names)
                .ok_or_else(|| MeasureError::Candidate(candidate.clone()))?;
            let (mut samples, is_counted) = (Vec::new(), possible.members > MOST_COUNTED);
            let mut count = |group: &SimulatedGroup<Waves>, operation| {
                if is_counted {
                    samples.push((possible, sample(group, operation, possible)));
                }
            };
            let flows = MessageFlow::record(&plan, &mut count)
                .map_err(|no_flow| SimulationFailure::from(no_flow).of(candidate))?;
            let is_present = moment == present(requirements, candidate);
            if self.counted.is_none() && is_present && is_counted {
                self.counted = Some(evidence_of(&candidate.variant, samples));
            }
            for ((_, action), flow) in plan.reported().zip(flows) {
                let key = flow_key(action.operation().name(), moment, candidate);
                self.flows.insert(key, flow);
            }
        }
        Ok(())
    }

    /// Returns how many messages a run of a recorded change hands over.
    pub(super) fn deliveries(&self, of: &RunOf<'_>) -> Result<u64, MeasureError> {
        let (flow, plan) = self.recorded(of)?;
        flow.deliveries_of_a_run(&plan)
            .map_err(|no_flow| SimulationFailure::from(no_flow).of(of.candidate))
    }

    /// Returns the times (ms) of these runs of a recorded change.
    pub(super) fn replay(
        &self,
        of: &RunOf<'_>,
        runs: Range<u32>,
    ) -> Result<Vec<f64>, MeasureError> {
        let (flow, plan) = self.recorded(of)?;
        flow.replay(&plan, runs)
            .map_err(|no_flow| SimulationFailure::from(no_flow).of(of.candidate))
    }

    fn recorded(&self, of: &RunOf<'_>) -> Result<(&MessageFlow, Plan), MeasureError> {
        let RunOf { requirements, candidate, operation, moment, seed } = *of;
        let unknown = || MeasureError::Candidate(candidate.clone());
        let flow = self.flows.get(&flow_key(operation, moment, candidate)).ok_or_else(unknown)?;
        let possible = at_least(operation, moment);
        let known = plan_of(requirements, candidate, possible, &[operation]).ok_or_else(unknown)?;
        Ok((flow, Plan { seed, ..known }))
    }
}

fn flow_key(operation: &str, moment: Moment, candidate: &Candidate) -> ChangeKey {
    (operation.to_owned(), moment, candidate.variant.guard.clone())
}

/// Returns the moments whose counts decide: the present one, and the end of the group's life if a
/// limit of what is counted must hold there.
fn counted_moments(requirements: &Requirements, candidate: &Candidate) -> Vec<Moment> {
    let (now, end) = (present(requirements, candidate), end(requirements, candidate));
    let Limits { complete: _, flash: _, sent, received, keys, memory, message, .. } =
        requirements.limits;
    let devices = &requirements.devices;
    let board = devices.prices(&devices.member).and_then(|device| device.capacity);
    let is_limited = [sent, received, keys, memory, message].iter().any(Option::is_some)
        || requirements.energy_limit().is_some()
        || board.is_some();
    if end != now && is_limited { vec![now, end] } else { vec![now] }
}

fn at_least(operation: &str, moment: Moment) -> Moment {
    let least = if operation == "remove" { LEAST } else { 2 };
    Moment { members: moment.members.max(least), ..moment }
}

fn is_shipped(variant: &Variant, operations: &[&str], moments: &[Moment]) -> bool {
    operations.iter().all(|operation| {
        let is_it = |table: &&CountTable| {
            let Variant { scheme, parameters, suite, .. } = &table.variant;
            table.operation == *operation
                && (scheme, parameters, &**suite)
                    == (&variant.scheme, &variant.parameters, counted_suite(&variant.suite))
        };
        let has = |moment: &Moment| {
            let moment = at_least(operation, *moment);
            let mut tables = Evidence::shipped().tables().filter(is_it);
            tables.any(|table| {
                table.turnover() == moment.turnover() && table.members().contains(&moment.members)
            })
        };
        moments.iter().all(has)
    })
}

/// Counts these operations of a variant in groups at just these moments.
fn count_at(
    variant: &Variant,
    operations: &[&str],
    moments: &[Moment],
) -> Result<Evidence, SimulationFailure> {
    let sizes = moments.iter().map(|moment| moment.members).collect();
    let subject = CountedScheme::of(variant, sizes).ok_or(SimulationFailure::Unknown)?;
    let mut samples = Vec::new();
    for name in operations {
        let known = subject.scheme.operations.iter().find(|known| known.name() == *name);
        let operation = *known.ok_or(SimulationFailure::Unknown)?;
        let mut counted: Vec<Moment> =
            moments.iter().map(|moment| at_least(name, *moment)).collect();
        counted.dedup();
        for moment in counted {
            match count(&subject, operation, false, moment, Guard::None, 1) {
                Ok(counted) => samples.extend(counted.into_iter().map(|sample| (moment, sample))),
                // A group of this size is too large for the scheme.
                Err(error) if is_impossible(&error) => {}
                Err(error) => return Err(SimulationFailure::Group(error)),
            }
        }
    }
    Ok(evidence_of(variant, samples))
}

/// Puts evidence together that is of one variant alone, or of the one whose counts it has.
fn evidence_of(variant: &Variant, samples: Vec<(Moment, Sample)>) -> Evidence {
    let mut by_operation: BTreeMap<(String, u32), Vec<Sample>> = BTreeMap::new();
    for (moment, sample) in samples {
        let key = (sample.operation.clone(), moment.turnover());
        by_operation.entry(key).or_default().push(sample);
    }
    let suite = counted_suite(&variant.suite).to_owned();
    let open = Variant { guard: "none".to_owned(), suite, ..variant.clone() };
    let tables = by_operation.into_iter().filter_map(|((operation, turnover), samples)| {
        Some(CountTable::of(open.clone(), operation, &samples)?.after(turnover))
    });
    let facts = Evidence::shipped().facts();
    let facts = facts.filter(|facts| facts.scheme == variant.scheme).cloned().collect();
    Evidence::new(facts, tables.collect())
}

/// The smallest group that a member can leave: two must remain.
const LEAST: u32 = 3;

/// The largest group of which operations are counted each in a group of its own. In a larger one,
/// what is recorded is counted: an eviction then follows a join.
const MOST_COUNTED: u32 = 5_000;

fn plan_of(
    requirements: &Requirements,
    candidate: &Candidate,
    moment: Moment,
    operations: &[&str],
) -> Option<Plan> {
    let scheme = registry::scheme(&candidate.variant.scheme)?;
    let known = scheme.operations.iter().copied();
    let operations: Vec<Operation> =
        known.filter(|known| operations.contains(&known.name())).collect();
    plan(requirements, candidate, moment, &operations)
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Interval {
    fn of_mean(times: &[f64]) -> Self {
        let count = times.len() as f64;
        let value = times.iter().sum::<f64>() / count;
        let squares: f64 = times.iter().map(|time| (time - value).powi(2)).sum();
        let half = 1.96 * (squares / (count - 1.0).max(1.0) / count).sqrt();
        Self { value, low: value - half, high: value + half }
    }

    /// Returns the 99th percentile of the slowest change, and the ends that no change exceeds.
    pub(super) fn of_slowest(times: &[Vec<f64>]) -> Self {
        let all = times.iter().map(|times| Self::of_99(times));
        all.reduce(|one, other| {
            let slower = if other.value > one.value { other } else { one };
            Self {
                value: slower.value,
                low: one.low.max(other.low),
                high: one.high.max(other.high),
            }
        })
        .unwrap_or_default()
    }

    /// The percentile is that of rows of results; its interval is by order statistics, whose ranks
    /// are binomial.
    fn of_99(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let half = 1.96 * (count * 0.99 * 0.01).sqrt();
        let at = |rank: f64| {
            let place = rank.ceil().clamp(1.0, count) as usize - 1;
            sorted.get(place).copied().unwrap_or_default()
        };
        let rank = 0.99 * count;
        let told = Some(&sorted).filter(|sorted| !sorted.is_empty());
        let told = told.map(|sorted| percentile(sorted, 0.99)).filter(|told| told.is_finite());
        let value = told.unwrap_or_else(|| at(rank));
        Self { value, low: at(rank - half), high: at(rank + half) }
    }

    /// Adds a share of another interval; the parts are independent.
    fn add(&mut self, other: &Self, share: f64) {
        let half = |interval: &Self| (interval.high - interval.low) / 2.0;
        let half = half(self).hypot(share * half(other));
        self.value += share * other.value;
        (self.low, self.high) = (self.value - half, self.value + half);
    }
}

impl fmt::Debug for MeasureOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, runs, threads, .. } = self;
        let mut told = f.debug_struct("MeasureOptions");
        told.field("seed", seed).field("runs", runs).field("threads", threads);
        told.finish_non_exhaustive()
    }
}

impl From<ChooseError> for MeasureError {
    fn from(error: ChooseError) -> Self {
        Self::Requirements(error)
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requirements(error) => error.fmt(f),
            Self::Candidate(candidate) => {
                write!(f, "{candidate}: it cannot do what the group needs")
            }
            Self::Incomplete(candidate, error) => write!(f, "{candidate}: {error}"),
            Self::Plan(candidate, error) => write!(f, "{candidate}: {error}"),
            Self::Interrupted => f.write_str("stopped before all candidates were measured"),
        }
    }
}

impl error::Error for MeasureError {}
