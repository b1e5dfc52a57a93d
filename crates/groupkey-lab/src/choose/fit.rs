//! Fits the model of completion times to simulated groups.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use groupkey::Operation;
use groupkey::catalogue::Class;
use groupkey::protection::Guard;
use groupkey_choose::Moment;
use groupkey_choose::completion::{CompletionFit, Latencies, Model, Situation, TERMS, Terms};
use groupkey_choose::evidence::Evidence;
use groupkey_choose::requirements::NetworkConditions;
use groupkey_sim::group::{GroupError, Rest};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::devices::prices;
use super::in_parallel::in_parallel;
use super::latency;
use super::message_flow::{MessageFlow, NoFlow, is_impossible};
use super::variants::{CountedScheme, subjects};
use crate::conditions::Conditions;
use crate::device::DeviceProfile;
use crate::plan::{Plan, PlanAction, PlanStep};

/// How the model is fitted.
#[derive(Clone, Copy)]
pub struct FitOptions<'o> {
    /// Seed of everything that is random.
    pub seed: u64,
    /// Whether a few small groups do, for a first look.
    pub is_quick: bool,
    /// Threads. The model does not depend on their number.
    pub threads: usize,
    /// When this becomes true, no model is made.
    pub stop: &'o AtomicBool,
    /// Called with the number of groups that were simulated, and with the total.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

/// A simulated operation and the terms of its time.
#[derive(Clone, Debug)]
struct FitObservation {
    /// The class of its scheme and its quality of service: `hybrid 2`.
    kind: String,
    members: u32,
    terms: Terms,
    /// The simulated mean (ms).
    mean: f64,
    /// The simulated 99th percentile (ms).
    of_99: f64,
}

/// How long a simulated operation took.
#[derive(Clone, Debug)]
struct OperationTimes {
    operation: Operation,
    /// The mean (ms).
    mean: f64,
    /// The 99th percentile (ms).
    of_99: f64,
}

/// Simulates messages and groups, and fits the model to them. `None` if it was stopped. Every third
/// group is left out of the fit, for the errors that the model states.
pub fn fit_completion(
    evidence: &Evidence,
    options: &FitOptions<'_>,
) -> Result<Option<Model>, GroupError> {
    let groups = groups(options);
    let on_done = |done| (options.on_progress)(done, groups.len());
    let simulate = |group: &FittedGroup| group.simulate();
    let done = in_parallel(&groups, options.threads, options.stop, &on_done, &simulate);
    let done: Option<Result<Vec<_>, _>> = done.into_iter().collect();
    let Some(done) = done.transpose()? else { return Ok(None) };
    let latencies = latencies(options);
    let observations: Vec<_> = (groups.iter().zip(&done))
        .flat_map(|(group, times)| group.observe(times, evidence, &latencies))
        .collect();
    Ok(Some(fit(latencies, &observations)))
}

/// Simulates single messages in many networks.
fn latencies(options: &FitOptions<'_>) -> Latencies {
    latency::latencies(if options.is_quick { 100 } else { 3_000 }, options.seed)
}

fn fit(latencies: Latencies, observations: &[FitObservation]) -> Model {
    let mut by_kind: BTreeMap<String, Vec<&FitObservation>> = BTreeMap::new();
    for observation in observations {
        by_kind.entry(observation.kind.clone()).or_default().push(observation);
    }
    let fits = by_kind.into_iter().map(|(kind, observations)| (kind, fit_kind(&observations)));
    Model { latencies, fits: fits.collect() }
}

/// A group in a network, to be simulated.
struct FittedGroup {
    subject: CountedScheme,
    guard: Guard,
    members: u32,
    network: NetworkConditions,
    qos: u8,
    member: Arc<DeviceProfile>,
    gateway: Arc<DeviceProfile>,
    controller: Arc<DeviceProfile>,
    runs: u32,
    seed: u64,
}

impl FittedGroup {
    fn simulate(&self) -> Result<Vec<OperationTimes>, GroupError> {
        let mut simulated = Vec::new();
        let known = &self.subject.scheme.operations;
        for operation in OPERATIONS.into_iter().filter(|operation| known.contains(operation)) {
            let Some(mut times) = self.times(operation)? else { continue };
            times.retain(|time| time.is_finite());
            times.sort_by(f64::total_cmp);
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            // Nothing happens over the network, or at once.
            if times.len() < self.runs as usize / 2 || mean <= 0.0 {
                continue;
            }
            let rank = (0.99 * times.len() as f64).ceil() as usize;
            let of_99 = times[rank.clamp(1, times.len()) - 1];
            simulated.push(OperationTimes { operation, mean, of_99 });
        }
        Ok(simulated)
    }

    /// Sets the terms of the model beside what was simulated.
    fn observe(
        &self,
        simulated: &[OperationTimes],
        evidence: &Evidence,
        latencies: &Latencies,
    ) -> Vec<FitObservation> {
        let devices = [&self.member, &self.gateway, &self.controller];
        let [member, gateway, controller] =
            devices.map(|device| prices(device).expect("only such devices are drawn"));
        let (suite, guard) = (self.subject.suite.name(), self.guard.name());
        let variant = self.subject.variant(guard);
        let observation = |OperationTimes { operation, mean, of_99 }: &OperationTimes| {
            let sample =
                evidence.counts(&variant, operation.name(), Moment::fresh(self.members))?;
            let situation = Situation {
                class: self.subject.scheme.class().name(),
                sample: &sample.value,
                suite,
                member: &member,
                gateway: &gateway,
                controller: &controller,
                network: &self.network,
                qos: self.qos,
            };
            let terms = latencies.terms(&situation)?;
            let kind = format!("{} {}", situation.class, self.qos);
            let (members, mean, of_99) = (self.members, *mean, *of_99);
            Some(FitObservation { kind, members, terms, mean, of_99 })
        };
        simulated.iter().filter_map(observation).collect()
    }

    /// Simulates an operation. `None` if it cannot be.
    fn times(&self, operation: Operation) -> Result<Option<Vec<f64>>, GroupError> {
        let Self { subject, network, .. } = self;
        let is_one = |step: &PlanStep| step.reported || step.action == PlanAction::Create;
        let parameters = subject.parameters.iter();
        let mut plan = Plan {
            parameters: parameters.map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            suite: subject.suite,
            protection: self.guard,
            // What was counted is the first change of a group, too.
            steps: PlanStep::history(subject.scheme, &[operation])
                .into_iter()
                .filter(is_one)
                .collect(),
            rest: Rest::Settled,
            qos: self.qos,
            device: Arc::clone(&self.member),
            controller_device: Arc::clone(&self.controller),
            subgroup_device: Arc::clone(&self.gateway),
            runs: self.runs,
            seed: self.seed,
            ..Plan::new(subject.scheme, self.members)
        };
        plan.set_conditions(Conditions {
            jitter_ms: network.jitter,
            bandwidth_kbit_s: network.bandwidth,
            ..Conditions::of(network.loss, network.delay)
        });
        let recorded = MessageFlow::record(&plan, &mut |_, _| ()).map(|mut flows| flows.remove(0));
        match recorded.and_then(|flow| flow.replay(&plan, 0..plan.runs)) {
            Ok(times) => Ok(Some(times)),
            Err(NoFlow::Group(error)) if !is_impossible(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }
}

/// The operations of groups that have been there for a while.
const OPERATIONS: [Operation; 3] = [Operation::Add, Operation::Remove, Operation::Rekey];

fn groups(options: &FitOptions<'_>) -> Vec<FittedGroup> {
    let subjects = subjects(false);
    let mut draw = GroupDraw(ChaCha20Rng::seed_from_u64(options.seed));
    let [m4, rv32, host] = ["cortex-m4", "rv32imac", "host"]
        .map(|name| Arc::new(DeviceProfile::named(name).expect("it is built in")));
    let (count, runs) = if options.is_quick { (45, 10) } else { (600, 400) };
    let classes = [Class::Centralized, Class::Hybrid, Class::Distributed];
    let group = |number: usize| {
        let class = classes[number % 3];
        // Their messages are as others' are, but their steps take long here.
        let is_slow = |subject: &&CountedScheme| subject.scheme.computes_pairings();
        let of_class: Vec<&CountedScheme> = (subjects.iter())
            .filter(|subject| subject.scheme.class() == class && !is_slow(subject))
            .collect();
        let subject = of_class[draw.below(of_class.len())].clone();
        let sizes = (subject.sizes[0].max(3), subject.sizes[subject.sizes.len() - 1]);
        let most = match (class, options.is_quick) {
            (Class::Distributed, _) => 40.0,
            (_, true) => 60.0,
            (_, false) => 1_500.0,
        };
        let most = f64::from(sizes.1 - 1).min(most);
        let members = draw.log(f64::from(sizes.0), most.max(f64::from(sizes.0))).round() as u32;
        let loss = if draw.share() < 0.35 { 0.0 } else { draw.log(0.1, 12.0) };
        let delay = if draw.share() < 0.1 { 0.0 } else { draw.log(1.0, 300.0) };
        let jitter = if draw.share() < 0.7 { 0.0 } else { delay * 0.5 * draw.share() };
        let bandwidth = if draw.share() < 0.7 { None } else { Some(draw.log(50.0, 10_000.0)) };
        let member = [&m4, &rv32, &host][draw.below(3)];
        let gateway = [&rv32, &host][draw.below(2)];
        let guard = [Guard::Mac, Guard::Signature][draw.below(2)];
        let network =
            NetworkConditions { loss, delay, jitter, bandwidth, ..NetworkConditions::default() };
        let qos = (number / 3 % 3) as u8;
        FittedGroup {
            subject,
            guard,
            members,
            network,
            qos,
            member: Arc::clone(member),
            gateway: Arc::clone(gateway),
            controller: Arc::clone(&host),
            runs: if members > 100 { runs / 4 } else { runs },
            seed: options.seed,
        }
    };
    (0..count).map(group).collect()
}

pub(super) struct GroupDraw(pub(super) ChaCha20Rng);

impl GroupDraw {
    /// From 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        (self.share() * count as f64) as usize
    }

    /// Evenly on a logarithmic axis.
    pub(super) fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.share())
    }
}

fn fit_kind(observations: &[&FitObservation]) -> CompletionFit {
    let is_held_out = |index: &usize| index % 3 == 2;
    let pick = |held_out: bool| {
        let chosen = (observations.iter().enumerate())
            .filter(move |(index, _)| is_held_out(index) == held_out);
        chosen.map(|(_, observation)| *observation).collect::<Vec<_>>()
    };
    let (fitted, held_out) = (pick(false), pick(true));
    let mean = weights(&fitted);
    let spread = {
        // The median of ratios does not follow a few groups of which no packet was lost.
        let ratio = |observation: &&FitObservation| {
            let Terms { spread, .. } = observation.terms;
            (spread > 0.05 * observation.mean)
                .then(|| (observation.of_99 - observation.terms.mean(&mean)) / spread)
        };
        let mut ratios: Vec<f64> = fitted.iter().filter_map(ratio).collect();
        ratios.sort_by(f64::total_cmp);
        ratios.get(ratios.len() / 2).copied().unwrap_or(1.0).max(0.0)
    };
    let errors = |told: &dyn Fn(&FitObservation) -> (f64, f64)| {
        let error = |observation: &&FitObservation| {
            let (modelled, simulated) = told(observation);
            ((modelled - simulated) / simulated).abs()
        };
        let mut errors: Vec<f64> = held_out.iter().map(error).collect();
        errors.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * errors.len() as f64) as usize;
            errors.get(place.min(errors.len().saturating_sub(1))).copied().unwrap_or_default()
        };
        (at(0.5), at(0.95))
    };
    let members = fitted.iter().map(|observation| observation.members).max();
    CompletionFit {
        mean,
        spread,
        error: errors(&|observation| (observation.terms.mean(&mean), observation.mean)),
        error_of_99: errors(&|observation| {
            let Terms { spread: far, .. } = observation.terms;
            (spread.mul_add(far, observation.terms.mean(&mean)), observation.of_99)
        }),
        held_out: held_out.len() as u32,
        members: members.unwrap_or_default(),
    }
}

/// Returns the weights, none negative, that make the relative errors least. Where observations say
/// nothing a weight stays at 1: the terms are times.
fn weights(observations: &[&FitObservation]) -> [f64; TERMS] {
    const PULL: f64 = 0.3;
    let mut weights = [1.0; TERMS];
    // Coordinate descent: each weight in turn is the best one for the others.
    for _ in 0..300 {
        for term in 0..TERMS {
            let (mut product, mut square) = (PULL, PULL);
            for observation in observations {
                let FitObservation { terms, mean, .. } = observation;
                let own = terms.values[term] / mean;
                let others = terms.mean(&weights) / mean - weights[term] * own;
                product += own * (1.0 - others);
                square += own * own;
            }
            weights[term] = (product / square).max(0.0);
        }
    }
    weights.map(|weight| (weight * 1e4).round() / 1e4)
}

impl fmt::Debug for FitOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, is_quick, threads, .. } = self;
        let mut told = f.debug_struct("FitOptions");
        told.field("seed", seed).field("is_quick", is_quick).field("threads", threads);
        told.finish_non_exhaustive()
    }
}
