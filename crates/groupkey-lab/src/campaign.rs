//! A campaign: many plans, run on several threads. The number of threads does not change the rows.

mod energy;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::{error, fmt, io, thread};

use groupkey_sim::group::{Carrier, GroupError, OperationResult, SimulatedGroup, SimulatedNetwork};

use self::energy::MemberPrices;
use crate::interruptible_carrier::InterruptibleCarrier;
use crate::plan::{Plan, PlanAction, PlanError, turn_over};
use crate::results::{NetworkRow, RowSetting, RunSample};

/// How a campaign is run.
#[derive(Clone, Copy)]
pub struct CampaignOptions<'a> {
    /// Number of threads; 0 counts as 1.
    pub threads: usize,
    /// When this becomes true the campaign stops, also within a run.
    pub stop: &'a AtomicBool,
    /// Called whenever a run is done.
    pub on_progress: &'a (dyn Fn(Progress) + Sync),
}

/// The progress of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs done.
    pub runs_done: usize,
    /// Runs in all.
    pub runs_total: usize,
    /// Plans whose rows were handed over.
    pub plans_done: usize,
    /// Plans in all.
    pub plans_total: usize,
}

/// How a campaign ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignOutcome {
    /// Everything was run.
    Finished,
    /// The campaign was stopped.
    Interrupted {
        /// Plans whose rows were handed over.
        done: usize,
        /// Plans in all.
        total: usize,
    },
}

/// Why a campaign failed.
#[derive(Debug)]
pub enum CampaignError {
    /// A plan cannot be run. No plan was run.
    Plan {
        /// [The plan's description](Plan::description).
        plan: String,
        /// The reason.
        error: PlanError,
    },
    /// A run failed.
    Run {
        /// [The plan's description](Plan::description).
        plan: String,
        /// The run, from 0.
        run: u32,
        /// The action that failed.
        action: PlanAction,
        /// Why it failed.
        error: GroupError,
    },
    /// The sink could not take the rows.
    Sink(io::Error),
}

/// Which rows of an interrupted campaign are complete, and which plans are left to run.
#[derive(Clone, Copy, Debug)]
pub struct Remainder<'a> {
    /// Number of rows, from the start, that belong to finished plans. The other rows must be run
    /// again.
    pub complete_rows: usize,
    /// The plans to run.
    pub plans: &'a [Plan],
}

/// Runs the plans and hands their rows over in the order of the plans, then of the steps.
///
/// The rows of a plan are handed over as soon as this plan and all plans before it are done. If a
/// run fails, its plan has no rows. The other plans are still run, and then the first failure is
/// reported.
pub fn run(
    plans: &[Plan],
    options: &CampaignOptions<'_>,
    sink: &mut dyn FnMut(&NetworkRow) -> io::Result<()>,
) -> Result<CampaignOutcome, CampaignError> {
    run_after(plans, &vec![0; plans.len()], options, sink)
}

/// Runs plans more often, and replaces their rows by rows of all runs.
///
/// The rows have the first runs of these plans already, and may have rows of other plans. The result
/// is the same as if the plans had been run as often at once.
pub fn extend(
    plans: &[Plan],
    rows: &mut [NetworkRow],
    options: &CampaignOptions<'_>,
) -> Result<CampaignOutcome, CampaignError> {
    let place = |rows: &[NetworkRow], setting: &RowSetting| {
        rows.iter().position(|row| row.setting == *setting)
    };
    let done = plans.iter().map(|plan| {
        let setting = plan.reported().next().map(|(step, _)| plan.setting(step));
        setting.and_then(|setting| place(rows, &setting)).map_or(0, |place| rows[place].runs)
    });
    let done: Vec<u32> = done.collect();
    run_after(plans, &done, options, &mut |new| {
        if let Some(place) = place(rows, &new.setting) {
            let row = &mut rows[place];
            let samples = row.samples.iter().chain(&new.samples).cloned().collect();
            *row = NetworkRow::from_samples(row.setting.clone(), samples);
        }
        Ok(())
    })
}

/// Runs the plans from the run with the given number on. The rows that are handed over have these
/// runs alone.
fn run_after(
    plans: &[Plan],
    done: &[u32],
    options: &CampaignOptions<'_>,
    sink: &mut dyn FnMut(&NetworkRow) -> io::Result<()>,
) -> Result<CampaignOutcome, CampaignError> {
    for plan in plans {
        plan.validate().map_err(|error| CampaignError::Plan { plan: plan.description(), error })?;
    }
    // Stops the threads after a failure, in addition to the caller's own request to stop.
    let failed = AtomicBool::new(false);
    let runs = |(plan, (done, all)): (usize, (&u32, &Plan))| {
        (*done..all.runs).map(move |run| PlannedRun { plan, run })
    };
    let work: Vec<_> = done.iter().zip(plans).enumerate().flat_map(runs).collect();
    let next = AtomicUsize::new(0);
    // A thread hands over each run before it begins another. A request to stop, which may come with
    // the progress, therefore takes effect at once.
    let (sender, outcomes) = mpsc::sync_channel(0);
    let at_once = options.threads.clamp(1, work.len().max(1));
    // If there are more threads than runs, each run gets several threads.
    let threads = options.threads / at_once;
    thread::scope(|scope| {
        for _ in 0..at_once {
            let (sender, work, next, failed) = (sender.clone(), &work, &next, &failed);
            scope.spawn(move || {
                while !options.stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
                    let Some(&unit) = work.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    let outcome = simulate(&plans[unit.plan], unit.run, threads, options.stop);
                    // A run that was stopped is not over.
                    if outcome.is_err() && options.stop.load(Ordering::Relaxed) {
                        break;
                    }
                    // The receiver is gone only after a failure.
                    let _ = sender.send((unit, outcome));
                }
            });
        }
        drop(sender);
        let result = collect(plans, done, work.len(), outcomes, options, sink);
        failed.store(result.is_err(), Ordering::Relaxed);
        result
    })
}

/// Returns what is left of an interrupted campaign, given the rows that it handed over. A row may
/// have more runs than its plan.
pub fn remaining<'a>(plans: &'a [Plan], rows: &[NetworkRow]) -> Remainder<'a> {
    let mut complete_rows = 0;
    for (index, plan) in plans.iter().enumerate() {
        let rows = &rows[complete_rows..];
        let expected = plan.reported().count();
        let finished = rows.len() >= expected
            && plan.reported().zip(rows).all(|((step, _), row)| is_row_of(plan, step, row));
        if !finished {
            return Remainder { complete_rows, plans: &plans[index..] };
        }
        complete_rows += expected;
    }
    Remainder { complete_rows, plans: &[] }
}

#[derive(Clone, Copy, Debug)]
struct PlannedRun {
    plan: usize,
    run: u32,
}

type RunOutcome = Result<Vec<RunSample>, CampaignError>;

fn collect(
    plans: &[Plan],
    done: &[u32],
    runs_total: usize,
    outcomes: mpsc::Receiver<(PlannedRun, RunOutcome)>,
    options: &CampaignOptions<'_>,
    sink: &mut dyn FnMut(&NetworkRow) -> io::Result<()>,
) -> Result<CampaignOutcome, CampaignError> {
    let mut first = 0;
    let mut failure = None;
    let mut pending: VecDeque<Gathering> =
        plans.iter().zip(done).map(|(plan, &done)| Gathering::new(done, plan.runs)).collect();
    for (count, (unit, outcome)) in outcomes.into_iter().enumerate() {
        pending[unit.plan - first].take(unit.run, outcome);
        while pending.front().is_some_and(|plan| plan.missing == 0) {
            let Some(gathered) = pending.pop_front() else { break };
            match gathered.failed {
                None => {
                    for (place, (step, _)) in plans[first].reported().enumerate() {
                        let samples = gathered.runs.iter().map(|run| run[place]).collect();
                        let row = NetworkRow::from_samples(plans[first].setting(step), samples);
                        sink(&row).map_err(CampaignError::Sink)?;
                    }
                }
                Some((_, error)) => {
                    failure.get_or_insert(error);
                }
            }
            first += 1;
        }
        (options.on_progress)(Progress {
            runs_done: count + 1,
            runs_total,
            plans_done: first,
            plans_total: plans.len(),
        });
    }
    if let Some(error) = failure {
        return Err(error);
    }
    if first == plans.len() {
        return Ok(CampaignOutcome::Finished);
    }
    Ok(CampaignOutcome::Interrupted { done: first, total: plans.len() })
}

/// The runs of a plan, collected as they finish.
struct Gathering {
    /// Number of the first run.
    first: u32,
    runs: Vec<Vec<RunSample>>,
    missing: usize,
    /// The first run that failed.
    failed: Option<(u32, CampaignError)>,
}

impl Gathering {
    fn new(first: u32, end: u32) -> Self {
        let runs = end.saturating_sub(first) as usize;
        Self { first, runs: vec![Vec::new(); runs], missing: runs, failed: None }
    }

    fn take(&mut self, run: u32, outcome: RunOutcome) {
        self.missing -= 1;
        match outcome {
            Ok(samples) => self.runs[(run - self.first) as usize] = samples,
            // Threads finish in any order, but the first failed run is always the reported one.
            Err(error) if self.failed.as_ref().is_none_or(|(other, _)| run < *other) => {
                self.failed = Some((run, error));
            }
            Err(_) => {}
        }
    }
}

fn is_row_of(plan: &Plan, step: usize, row: &NetworkRow) -> bool {
    // A row follows from its setting and its samples, so this compares everything.
    let setting = plan.setting(step);
    row.runs >= plan.runs && NetworkRow::from_samples(setting, row.samples.clone()) == *row
}

fn simulate(plan: &Plan, run: u32, threads: usize, stop: &AtomicBool) -> RunOutcome {
    let settings = plan.group_settings(run);
    let mut settings =
        settings.map_err(|error| CampaignError::Plan { plan: plan.description(), error })?;
    settings.network.threads = threads;
    let carrier = SimulatedNetwork::new(settings.network.clone());
    let mut group = SimulatedGroup::on(InterruptibleCarrier { carrier, stop }, settings);
    let mut samples = Vec::new();
    let prices = MemberPrices::of(plan);
    for step in &plan.steps {
        let action = step.action;
        group.skip_network(!step.reported && plan.links_stay());
        let result = perform(plan, action, &mut group);
        let result = result.map_err(|error| CampaignError::Run {
            plan: plan.description(),
            run,
            action,
            error,
        })?;
        if step.reported {
            samples.push(sample(&result, prices.mean_joule(&group)));
        }
    }
    Ok(samples)
}

/// Lets an action happen to a plan's group.
pub(crate) fn perform<C: Carrier>(
    plan: &Plan,
    action: PlanAction,
    group: &mut SimulatedGroup<C>,
) -> Result<OperationResult, GroupError> {
    match action {
        PlanAction::Add => group.add(),
        PlanAction::Batch { joining, leaving } => {
            let leaving = group.members_in_the_middle(leaving as usize);
            group.batch(joining, &leaving)
        }
        PlanAction::Create => group.create(plan.members),
        PlanAction::Rekey => group.rekey(),
        PlanAction::Remove(member) => group.remove(member),
        PlanAction::Send => group.send_message(),
        PlanAction::Turnover(departures) => turn_over(plan.scheme, departures, group),
    }
}

fn sample(result: &OperationResult, member_joule: Option<f64>) -> RunSample {
    RunSample {
        total_ms: result.total_ns as f64 / 1e6,
        transmission_ms: result.transmission_ns as f64 / 1e6,
        computation_ms: result.computation_ns as f64 / 1e6,
        member_mean_ms: result.member_mean_ns / 1e6,
        messages: result.messages,
        payload_bytes: result.payload_bytes,
        wire_bytes: result.wire_bytes,
        retransmissions: result.retransmissions,
        member_joule,
        behind: result.behind,
        catch_ups: result.catch_ups,
    }
}

impl fmt::Debug for CampaignOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CampaignOptions").field("threads", &self.threads).finish_non_exhaustive()
    }
}

impl fmt::Display for CampaignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan { plan, error } => write!(f, "{error} ({plan})"),
            Self::Run { plan, run, action, error } => {
                write!(f, "run {run}, {action}: {error} ({plan})")
            }
            Self::Sink(error) => write!(f, "the results cannot be written: {error}"),
        }
    }
}

impl error::Error for CampaignError {}
