//! Simulates candidates for one group's requirements, instead of modelling how long changes take.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{error, fmt, thread};

use groupkey_choose::decision::{Assessment, Figure, Ground, Quantity, Reason};
use groupkey_choose::evidence::{CountTable, Evidence};
use groupkey_choose::requirements::{Devices, NetworkConditions};
use groupkey_choose::{Candidate, ChooseError, Grounds, Requirements, Variant, assess_on};
use groupkey_sim::group::GroupError;

use super::evidence::{EvidenceRunError, operations};
use super::message_flow::{MessageFlow, NoFlow, is_impossible};
use super::plan::plan;
use super::variants::CountedScheme;
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
    /// What 99 % of changes do not exceed at the largest number of members (ms), if there is a
    /// limit of it: the upper end of the interval, by which modelled times are judged, too.
    pub of_99_at_most: Option<f64>,
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
    let next = AtomicUsize::new(0);
    let measured: Mutex<BTreeMap<usize, Result<SimulatedCandidate, MeasureError>>> =
        Mutex::default();
    let work = || {
        let mut laboratory = Laboratory::default();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = candidates.get(place) else { return };
            let outcome = match options.stop.load(Ordering::Relaxed) {
                true => Err(MeasureError::Interrupted),
                false => laboratory.measure(requirements, candidate, options.runs, options.seed),
            };
            let mut measured = measured.lock().expect("no thread panics while it has it");
            measured.insert(place, outcome);
            (options.on_progress)(measured.len(), candidates.len());
        }
    };
    thread::scope(|scope| {
        (1..options.threads.max(1)).for_each(|_| drop(scope.spawn(work)));
        work();
    });
    let measured = measured.into_inner().expect("no thread panics while it has it");
    measured.into_values().collect()
}

/// Groups, and what was recorded, counted and simulated of them.
#[derive(Default)]
pub(super) struct Laboratory {
    recorded: BTreeMap<VariantKind, RecordedKind>,
    /// Where the known times are from.
    place: Option<(NetworkConditions, Devices)>,
}

/// A variant, whatever its protection and quality of service are, at the present and the largest
/// size of a group.
type VariantKind = (String, BTreeMap<String, u32>, String, (u32, u32));

/// What is known of one kind.
struct RecordedKind {
    evidence: Evidence,
    flows: BTreeMap<ChangeKey, MessageFlow>,
    times: BTreeMap<RunKey, Vec<f64>>,
}

/// An operation, the group's size and the protection of messages.
type ChangeKey = (String, u32, String);

/// What was simulated: a change and the quality of service, how often, and with which seed.
type RunKey = (ChangeKey, u8, u32, u64);

impl Laboratory {
    /// Simulates a candidate's changes. Those that it knows it does not simulate again.
    pub(super) fn measure(
        &mut self,
        requirements: &Requirements,
        candidate: &Candidate,
        runs: u32,
        seed: u64,
    ) -> Result<SimulatedCandidate, MeasureError> {
        let unknown = || MeasureError::Candidate(candidate.clone());
        let place = (requirements.network, requirements.devices.clone());
        if self.place.as_ref() != Some(&place) {
            self.recorded.values_mut().for_each(|recorded| recorded.times.clear());
            self.place = Some(place);
        }
        let Variant { scheme, parameters, suite, .. } = candidate.variant.clone();
        let (now, most) = (requirements.members.now, requirements.members.at_most());
        let key = (scheme, parameters, suite, (now, most));
        if !self.recorded.contains_key(&key) {
            let recorded = RecordedKind::new(&candidate.variant, now, most)
                .map_err(|error| error.of(candidate))?;
            self.recorded.insert(key.clone(), recorded);
        }
        let recorded = self.recorded.get_mut(&key).expect("it is there now");
        let evidence = recorded.evidence.clone();
        let grounds = Grounds { evidence: &evidence, ..Grounds::shipped() };
        let assessed = assess_on(&requirements.as_modelled(), &grounds, candidate)
            .map_err(MeasureError::Requirements)?;
        let (mut assessment, reasons) = assessed.ok_or_else(unknown)?;
        let counted = reasons.iter().filter(|reason| reason.requirement != COMPLETE);
        let mut exceeded: Vec<String> =
            counted.map(|Reason { requirement, .. }| requirement.clone()).collect();
        let changes = grounds.changes(requirements, candidate, now).ok_or_else(unknown)?;
        let sum: f64 = changes.iter().map(|(_, rate)| rate).sum();
        let share = |rate: f64| if sum > 0.0 { rate / sum } else { 1.0 / changes.len() as f64 };
        let mut mean = Interval::default();
        let mut far: Option<Interval> = None;
        for (operation, rate) in &changes {
            let times = recorded.times(requirements, candidate, operation, now, runs, seed)?;
            mean.add(&Interval::of_mean(&times), share(*rate));
            let of_99 = Interval::of_99(&times);
            if far.is_none_or(|far| of_99.value > far.value) {
                far = Some(of_99);
            }
        }
        let far = far.unwrap_or_default();
        let mut of_99_at_most = None;
        if let Some(limit) = requirements.limits.complete {
            let (mut low, mut high) = (far.low, far.high);
            if most != now {
                (low, high) = (0.0, 0.0);
                for (operation, _) in &changes {
                    let times =
                        recorded.times(requirements, candidate, operation, most, runs, seed)?;
                    let of_99 = Interval::of_99(&times);
                    (low, high) = (low.max(of_99.low), high.max(of_99.high));
                }
            }
            of_99_at_most = Some(high);
            if low > limit {
                exceeded.push(COMPLETE.to_owned());
            }
        }
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
        Ok(SimulatedCandidate { assessment, exceeded, of_99_at_most })
    }
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

impl RecordedKind {
    fn new(variant: &Variant, now: u32, most: u32) -> Result<Self, SimulationFailure> {
        let sizes: BTreeSet<u32> = [now, most, now.max(LEAST)].into();
        let sizes: Vec<u32> = sizes.into_iter().collect();
        let subject =
            CountedScheme::of(variant, sizes.clone()).ok_or(SimulationFailure::Unknown)?;
        let mut samples = BTreeMap::new();
        for members in sizes {
            let counted = operations(&subject, members, 1).map_err(|error| match error {
                EvidenceRunError::Incomplete { error, .. } => SimulationFailure::Group(error),
                EvidenceRunError::Interrupted => SimulationFailure::Unknown,
            })?;
            for sample in counted {
                samples.entry(sample.operation.clone()).or_insert_with(Vec::new).push(sample);
            }
        }
        let tables = samples.into_iter().filter_map(|(operation, samples)| {
            CountTable::of(subject.variant("none"), operation, &samples)
        });
        let facts = Evidence::shipped().facts();
        let facts = facts.filter(|facts| facts.scheme == variant.scheme).cloned().collect();
        let evidence = Evidence::new(facts, tables.collect());
        Ok(Self { evidence, flows: BTreeMap::new(), times: BTreeMap::new() })
    }

    fn times(
        &mut self,
        requirements: &Requirements,
        candidate: &Candidate,
        operation: &str,
        members: u32,
        runs: u32,
        seed: u64,
    ) -> Result<Vec<f64>, MeasureError> {
        let unknown = || MeasureError::Candidate(candidate.clone());
        let members = if operation == "remove" { members.max(LEAST) } else { members };
        let change = (operation.to_owned(), members, candidate.variant.guard.clone());
        let run = (change.clone(), candidate.qos, runs, seed);
        if let Some(times) = self.times.get(&run) {
            return Ok(times.clone());
        }
        let refused = |no_flow| SimulationFailure::from(no_flow).of(candidate);
        let known = plan_of(requirements, candidate, members, operation).ok_or_else(unknown)?;
        let plan = Plan { runs, seed, ..known };
        if !self.flows.contains_key(&change) {
            let flow = MessageFlow::record(&plan, plan.steps.len() - 1).map_err(refused)?;
            self.flows.insert(change.clone(), flow);
        }
        let times = self.flows[&change].replay(&plan).map_err(refused)?;
        self.times.insert(run, times.clone());
        Ok(times)
    }
}

/// The smallest group that a member can leave: two must remain.
const LEAST: u32 = 3;

fn plan_of(
    requirements: &Requirements,
    candidate: &Candidate,
    members: u32,
    operation: &str,
) -> Option<Plan> {
    let scheme = registry::scheme(&candidate.variant.scheme)?;
    let operation = scheme.operations.iter().find(|known| known.name() == operation)?;
    plan(requirements, candidate, members, &[*operation])
}

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    value: f64,
    low: f64,
    high: f64,
}

impl Interval {
    fn of_mean(times: &[f64]) -> Self {
        let count = times.len() as f64;
        let value = times.iter().sum::<f64>() / count;
        let squares: f64 = times.iter().map(|time| (time - value).powi(2)).sum();
        let half = 1.96 * (squares / (count - 1.0).max(1.0) / count).sqrt();
        Self { value, low: value - half, high: value + half }
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
