//! Runs the groups.

use std::error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use groupkey::catalogue::{Profile, Scheme};
use groupkey::{Operation, Suite};
use groupkey_sim::group::{GroupError, OperationResult, Rest, SimulatedGroup, SimulatedNetwork};
use serde::{Deserialize, Serialize};

use super::contender::{GroupPast, PeerExtent};
use super::counting_carrier::CountingCarrier;
use super::network::PeerNetwork;
use super::row::PeerRow;
use super::sample::{PeerSample, sample};
use super::{CONTROLLER_DEVICE, DEVICE};
use crate::choose::in_parallel::in_parallel;
use crate::device::DeviceProfile;
use crate::interruptible_carrier::InterruptibleCarrier;
use crate::plan::{Plan, PlanError, PlanStep, turn_over};
use crate::statistics::Summary;

/// One group of one scheme, with a past, in one network.
#[derive(Clone, Debug)]
pub struct PeerPlan {
    /// The scheme, in its sound form.
    pub scheme: &'static Scheme,
    /// Members at the creation.
    pub members: u32,
    /// What the group has been through when it is measured.
    pub past: GroupPast,
    /// The network.
    pub network: PeerNetwork,
    /// How often it is run.
    pub runs: u32,
    /// Seed from which each run's own seed is derived.
    pub seed: u64,
}

/// How the study is run.
#[derive(Clone, Copy)]
pub struct PeerOptions<'o> {
    /// Threads. The rows do not depend on their number.
    pub threads: usize,
    /// When this becomes true the study stops, also within a run.
    pub stop: &'o AtomicBool,
    /// Called with the number of runs that are done, and with the total.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

/// The rows of a study, and what could not be run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PeerOutcome {
    /// The rows, in the order of the plans.
    pub rows: Vec<PeerRow>,
    /// The groups that did not complete, in the same order.
    pub failures: Vec<PeerFailure>,
}

/// A group that did not complete an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerFailure {
    /// The group, in words.
    pub group: String,
    /// Why it did not.
    pub problem: String,
}

/// Returns the plans of these schemes. Larger groups than `most_members` are left out.
pub fn plans(
    schemes: &[&'static Scheme],
    extent: PeerExtent,
    most_members: u32,
    seed: u64,
) -> Vec<PeerPlan> {
    let mut plans = Vec::new();
    for &scheme in schemes {
        for past in GroupPast::ALL.into_iter().filter(|past| past.is_felt_by(scheme)) {
            for members in extent.sizes(scheme, past).filter(|size| *size <= most_members) {
                plans.extend(PeerNetwork::ALL.map(|network| {
                    let runs = if network.is_of_chance() { extent.runs() } else { 1 };
                    PeerPlan { scheme, members, past, network, runs, seed }
                }));
            }
        }
    }
    plans
}

/// Runs the plans. Returns `None` if it was stopped.
pub fn run(plans: &[PeerPlan], options: &PeerOptions<'_>) -> Option<PeerOutcome> {
    let runs: Vec<(&PeerPlan, u32)> =
        plans.iter().flat_map(|plan| (0..plan.runs).map(move |run| (plan, run))).collect();
    let on_done = |done| (options.on_progress)(done, runs.len());
    let work = |(plan, run): &(&PeerPlan, u32)| plan.simulate(*run, options.stop);
    let done = in_parallel(&runs, options.threads, options.stop, &on_done, &work);
    let mut done = done.into_iter().collect::<Option<Vec<_>>>()?.into_iter();
    if options.stop.load(std::sync::atomic::Ordering::Relaxed) {
        return None;
    }
    let mut outcome = PeerOutcome::default();
    for plan in plans {
        let of_plan: Result<Vec<_>, _> = done.by_ref().take(plan.runs as usize).collect();
        match of_plan {
            Ok(runs) => outcome.rows.extend(plan.rows(&runs)),
            Err(error) => outcome
                .failures
                .push(PeerFailure { group: plan.to_string(), problem: error.to_string() }),
        }
    }
    Some(outcome)
}

impl PeerOutcome {
    /// Returns what parts of a study gave, each once and in the order of its plans; or the number of
    /// plans of which there is nothing. What is of no plan is left out.
    pub fn in_order_of(&self, plans: &[PeerPlan]) -> Result<Self, usize> {
        let mut whole = Self::default();
        let mut missing = 0;
        for plan in plans {
            let (first, group) = (whole.rows.len(), plan.to_string());
            for row in self.rows.iter().filter(|row| plan.is_of(row)) {
                if whole.rows[first..].iter().all(|known| known.operation != row.operation) {
                    whole.rows.push(row.clone());
                }
            }
            let failed = self.failures.iter().find(|failed| failed.group == group);
            if failed.is_none() && whole.rows.len() == first {
                missing += 1;
            }
            whole.failures.extend(failed.cloned());
        }
        if missing == 0 { Ok(whole) } else { Err(missing) }
    }
}

#[derive(Debug)]
enum PeerError {
    Group(Operation, GroupError),
    Plan(PlanError),
}

impl PeerPlan {
    fn simulate(&self, run: u32, stop: &AtomicBool) -> Result<Vec<PeerSample>, PeerError> {
        let plan = self.plan();
        plan.validate().map_err(PeerError::Plan)?;
        let settings = plan.group_settings(run).map_err(PeerError::Plan)?;
        let device = &plan.device;
        let costs = device.costs(plan.suite).expect("the plan is valid");
        let carrier = SimulatedNetwork::new(settings.network.clone());
        let carrier = CountingCarrier::new(InterruptibleCarrier { carrier, stop });
        let mut group = SimulatedGroup::on(carrier, settings);
        let failed = |operation| move |error| PeerError::Group(operation, error);

        let mut samples = Vec::new();
        let is_new = self.past == GroupPast::New;
        group.skip_network(!is_new);
        let result = group.create(self.members).map_err(failed(Operation::Create))?;
        if is_new {
            samples.push(sample(&group, Operation::Create, result, costs));
        }
        match self.past {
            GroupPast::New => {}
            GroupPast::Populated => {
                for _ in 0..self.members {
                    group.rekey().map_err(failed(Operation::Rekey))?;
                }
            }
            GroupPast::Departed => {
                let turned = turn_over(self.scheme, self.members, &mut group);
                turned.map_err(failed(Operation::Remove))?;
            }
        }
        group.skip_network(false);
        if self.members < self.scheme.members.1 {
            let result = group.add().map_err(failed(Operation::Add))?;
            samples.push(sample(&group, Operation::Add, result, costs));
        }
        if group.members() > self.scheme.members.0.max(2) as usize {
            let result = group.remove(None).map_err(failed(Operation::Remove))?;
            samples.push(sample(&group, Operation::Remove, result, costs));
        }
        Ok(samples)
    }

    fn plan(&self) -> Plan {
        let device = |name| Arc::new(DeviceProfile::named(name).expect("it is built in"));
        let mut plan = Plan::new(self.scheme, self.members);
        plan.protection = self.scheme.default_protection(Profile::Sound);
        // What follows the creation is not the plan's: it depends on the past.
        plan.steps = PlanStep::history(self.scheme, &[Operation::Create]);
        plan.suite = Suite::Standard;
        plan.set_conditions(self.network.conditions());
        plan.rest = Rest::Settled;
        plan.device = device(DEVICE);
        plan.controller_device = device(CONTROLLER_DEVICE);
        plan.subgroup_device = device(CONTROLLER_DEVICE);
        (plan.runs, plan.seed) = (self.runs, self.seed);
        plan
    }

    /// Returns whether a row is of this group.
    fn is_of(&self, row: &PeerRow) -> bool {
        let names = (&*row.scheme, &*row.past, &*row.network);
        names == (self.scheme.id, self.past.name(), self.network.name())
            && (row.members, row.runs, row.seed) == (self.members, self.runs, self.seed)
    }

    /// Returns a row for each operation. All runs have the same operations.
    fn rows(&self, runs: &[Vec<PeerSample>]) -> Vec<PeerRow> {
        let places = 0..runs.first().map_or(0, Vec::len);
        places
            .map(|place| self.row(&runs.iter().map(|run| &run[place]).collect::<Vec<_>>()))
            .collect()
    }

    fn row(&self, runs: &[&PeerSample]) -> PeerRow {
        let of = |value: fn(&OperationResult) -> f64| {
            Summary::of(&runs.iter().map(|run| value(&run.result)).collect::<Vec<_>>())
        };
        let completion = of(|result| result.total_ns as f64 / 1e6);
        let first = runs[0];
        let received: Vec<f64> = runs.iter().map(|run| run.received_bytes).collect();
        PeerRow {
            scheme: self.scheme.id.to_owned(),
            class: self.scheme.class().name().to_owned(),
            provenance: self.scheme.provenance.name().to_owned(),
            operation: first.operation.name().to_owned(),
            past: self.past.name().to_owned(),
            network: self.network.name().to_owned(),
            members: self.members,
            runs: runs.len() as u32,
            seed: self.seed,
            completion_ms: completion.mean,
            completion_ci95_ms: completion.ci95,
            transmission_ms: of(|result| result.transmission_ns as f64 / 1e6).mean,
            computation_ms: of(|result| result.computation_ns as f64 / 1e6).mean,
            messages: first.result.messages,
            payload_bytes: first.result.payload_bytes,
            wire_bytes: of(|result| result.wire_bytes as f64).mean,
            received_bytes: Summary::of(&received).mean,
            sender: first.sender.clone(),
            member: first.member.clone(),
            newcomer: first.newcomer.clone(),
            sender_keys_bytes: first.sender_keys,
            member_keys_bytes: first.member_keys,
            measured: None,
        }
    }
}

impl fmt::Display for PeerPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, members, past, network, .. } = self;
        write!(f, "{}, {members} members, {}, {}", scheme.id, past.name(), network.name())
    }
}

impl fmt::Display for PeerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Group(operation, error) => write!(f, "{}: {error}", operation.name()),
            Self::Plan(error) => write!(f, "{error}"),
        }
    }
}

impl error::Error for PeerError {}

impl fmt::Debug for PeerOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerOptions").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use groupkey::catalogue::scheme;

    use super::*;

    fn studied(ids: &[&str], threads: usize) -> PeerOutcome {
        let schemes: Vec<_> = ids.iter().map(|id| scheme(id).expect("in the catalogue")).collect();
        let stop = AtomicBool::new(false);
        let options = PeerOptions { threads, stop: &stop, on_progress: &|_, _| () };
        run(&plans(&schemes, PeerExtent::Quick, 10, 7), &options).expect("nobody stops it")
    }

    fn row<'o>(
        outcome: &'o PeerOutcome,
        scheme: &str,
        operation: &str,
        past: GroupPast,
    ) -> &'o PeerRow {
        let is_it = |row: &&PeerRow| {
            (&*row.scheme, &*row.operation, &*row.past) == (scheme, operation, past.name())
                && (row.members, &*row.network) == (10, "lan")
        };
        outcome.rows.iter().find(is_it).expect("it was run")
    }

    #[test]
    fn rows_have_what_the_schemes_do_and_do_not_depend_on_threads() {
        let outcome = studied(&["skdc", "treekem"], 2);
        assert_eq!(outcome.failures, []);
        assert_eq!(outcome, studied(&["skdc", "treekem"], 1));

        let skdc = row(&outcome, "skdc", "remove", GroupPast::New);
        assert_eq!((skdc.messages, skdc.newcomer.as_ref()), (10, None));
        assert!(skdc.sender.ms > skdc.member.as_ref().expect("there are others").ms);
        assert!(row(&outcome, "skdc", "add", GroupPast::New).newcomer.is_some());
        let parts = skdc.transmission_ms + skdc.computation_ms;
        assert!((parts - skdc.completion_ms).abs() < 1e-6);

        // A removal encrypts to everybody in a new tree, and to a path in one that is full of keys.
        let of = |past| row(&outcome, "treekem", "remove", past).payload_bytes;
        assert!(of(GroupPast::New) > of(GroupPast::Populated));
        assert!(outcome.rows.iter().any(|row| row.past == "departed"));
        let lossy = outcome.rows.iter().find(|row| row.network == "lossy").expect("it was run");
        assert!(lossy.runs == 3 && lossy.completion_ci95_ms.is_some());
    }

    #[test]
    fn what_is_stopped_has_no_rows() {
        let stop = AtomicBool::new(true);
        let options = PeerOptions { threads: 1, stop: &stop, on_progress: &|_, _| () };
        let skdc = scheme("skdc").expect("in the catalogue");
        assert_eq!(run(&plans(&[skdc], PeerExtent::Quick, 2, 1), &options), None);
    }
}
