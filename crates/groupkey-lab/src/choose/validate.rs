//! How good the fast answer is: its cost against the best that simulating the candidates finds, for
//! random requirements.

use std::fmt;
use std::sync::atomic::AtomicBool;

use groupkey_choose::decision::{Assessment, Quantity};
use groupkey_choose::requirements::{
    Devices, Limits, Members, NetworkConditions, Security, Trust, Weights,
};
use groupkey_choose::{
    Candidate, Grounds, Requirements, assess_on, contenders_on, decide_on, recommend_on,
};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use super::fit::GroupDraw;
use super::in_parallel::in_parallel;
use super::latency::mixed;
use super::measure::{Laboratory, MeasureError};
use super::race::{RaceOptions, race};

/// How the choice is validated.
#[derive(Clone, Copy)]
pub struct ValidateOptions<'o> {
    /// Seed of everything that is random.
    pub seed: u64,
    /// How many requirements are drawn evenly over all that groups may have.
    pub even: usize,
    /// How many are put together from places and habits.
    pub typical: usize,
    /// The largest group (members, up to 5,000).
    pub members: u32,
    /// How often each change of the last candidates is simulated.
    pub runs: u32,
    /// Threads. The table does not depend on their number.
    pub threads: usize,
    /// When this becomes true, the requirements that are done make the table.
    pub stop: &'o AtomicBool,
    /// Called with the number of requirements that are done, and with the total.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

/// Where requirements come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequirementsSource {
    /// Each value is drawn by itself, evenly over its range.
    Even,
    /// Places and habits: networks as they are sold, round numbers of members, shifts.
    Typical,
}

/// The answer to one of the requirements, and the best one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Trial {
    /// Where the requirements come from.
    pub generator: RequirementsSource,
    /// The requirements.
    pub requirements: Requirements,
    /// The fast answer, with its modelled figures. `None` if it says that nothing meets them.
    pub answer: Option<Assessment>,
    /// What the answer costs in the simulation.
    pub cost: f64,
    /// The answer of the [race](super::race), which `groupkey choose` gives, and what it costs.
    pub raced: Option<(Candidate, f64)>,
    /// The best candidate in the simulation. `None` if nothing keeps the limits there, either.
    pub best: Option<Candidate>,
    /// What it costs.
    pub best_cost: f64,
    /// Simulated and modelled mean time of the answer's changes (ms).
    pub times: (f64, f64),
    /// The limits that the answer exceeds in the simulation, at the 95 % level.
    pub exceeded: Vec<String>,
    /// Candidates in all, and those that were simulated. The others' costs are above the best one's
    /// even with times of half of what the model says, or they exceed even looser limits.
    pub candidates: (usize, usize),
}

/// A line of the table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Regret {
    /// Requirements with an answer.
    pub answered: usize,
    /// Requirements for which the answer is that there is none, and the simulation finds one.
    pub missed: usize,
    /// Requirements for which neither finds any.
    pub impossible: usize,
    /// How much more the answer costs than the best (share of the best): median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// The worst.
    pub worst: f64,
    /// The same three of the answers of the race.
    pub raced: (f64, f64, f64),
    /// Answers that exceed a limit in the simulation, at the 95 % level.
    pub violations: usize,
}

/// Answers random requirements, and simulates all candidates that could be better. Requirements that
/// are done when it is stopped are returned.
pub fn validate(options: &ValidateOptions<'_>) -> Result<Vec<Trial>, MeasureError> {
    let drawn = requirements(options);
    let numbered: Vec<_> = (0..).zip(&drawn).collect();
    let work =
        |&(place, (generator, requirements)): &(u32, &(RequirementsSource, Requirements))| {
            try_one(*generator, requirements, options.runs, mixed(options.seed, place))
        };
    let on_done = |done| (options.on_progress)(done, numbered.len());
    let done = in_parallel(&numbered, options.threads, options.stop, &on_done, &work);
    done.into_iter().flatten().collect()
}

/// Sums trials up.
pub fn regret<'t>(trials: impl Iterator<Item = &'t Trial>) -> Regret {
    let (mut missed, mut impossible, mut violations) = (0, 0, 0);
    let (mut regrets, mut of_race) = (Vec::new(), Vec::new());
    for trial in trials {
        of_race.extend(trial.regret_of_race());
        match (&trial.answer, &trial.best) {
            (None, None) => impossible += 1,
            (None, Some(_)) => missed += 1,
            (Some(_), _) => {
                violations += usize::from(!trial.exceeded.is_empty());
                regrets.push(trial.regret());
            }
        }
    }
    let (median, p95, worst) = ranked(&mut regrets);
    let raced = ranked(&mut of_race);
    Regret { answered: regrets.len(), missed, impossible, median, p95, worst, raced, violations }
}

/// Returns the median, the 95th percentile and the largest.
fn ranked(regrets: &mut [f64]) -> (f64, f64, f64) {
    regrets.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let rank = (share * regrets.len() as f64).ceil() as usize;
        regrets.get(rank.max(1) - 1).copied().unwrap_or_default()
    };
    (at(0.5), at(0.95), at(1.0))
}

impl Trial {
    /// Returns how much more the fast answer costs than the best (share of the best).
    pub fn regret(&self) -> f64 {
        self.above_best(self.cost)
    }

    /// Returns how much more the answer of the race costs than the best (share of the best). `None`
    /// if it has none.
    pub fn regret_of_race(&self) -> Option<f64> {
        self.raced.as_ref().map(|(_, cost)| self.above_best(*cost))
    }

    fn above_best(&self, cost: f64) -> f64 {
        match self.best_cost > 0.0 {
            true => (cost / self.best_cost - 1.0).max(0.0),
            false => 0.0,
        }
    }
}

/// Runs of the first look at a candidate.
const FIRST_RUNS: u32 = 20;
/// The most candidates of the first look that are simulated on.
const FINALISTS: usize = 12;

fn try_one(
    generator: RequirementsSource,
    requirements: &Requirements,
    runs: u32,
    seed: u64,
) -> Result<Trial, MeasureError> {
    let grounds = Grounds::shipped();
    let answer = recommend_on(requirements, &grounds).map_err(MeasureError::Requirements)?;
    let contenders = contenders_on(requirements, &grounds).map_err(MeasureError::Requirements)?;
    let mut laboratory = Laboratory::default();
    let (finalists, simulated) =
        finalists(requirements, &grounds, &contenders, &mut laboratory, seed)?;
    let best = winner(requirements, &grounds, finalists, &mut laboratory, runs, mixed(seed, 1))?;
    let raced = raced(requirements, seed)?;
    let mut trial = Trial {
        generator,
        requirements: requirements.clone(),
        answer,
        cost: 0.0,
        raced: None,
        best: None,
        best_cost: 0.0,
        times: (0.0, 0.0),
        exceeded: Vec::new(),
        candidates: (contenders.len(), simulated),
    };
    // Whoever won by luck is not lucky again: both are simulated once more.
    let seed = mixed(seed, 2);
    if let Some(answer) = &trial.answer {
        let measured = laboratory.measure(requirements, &answer.candidate, runs, seed)?;
        trial.cost = measured.assessment.cost;
        trial.exceeded = measured.exceeded;
        let time = |of: &Assessment| of.figure(Quantity::Completion).map_or(0.0, |f| f.value);
        trial.times = (time(&measured.assessment), time(answer));
    }
    if let Some(raced) = raced {
        let cost = laboratory.measure(requirements, &raced, runs, seed)?.assessment.cost;
        trial.raced = Some((raced, cost));
    }
    if let Some(best) = best {
        trial.best_cost = laboratory.measure(requirements, &best, runs, seed)?.assessment.cost;
        trial.best = Some(best);
    }
    Ok(trial)
}

/// Returns what `groupkey choose` recommends.
fn raced(requirements: &Requirements, seed: u64) -> Result<Option<Candidate>, MeasureError> {
    let modelled = decide_on(&requirements.as_modelled(), &Grounds::shipped())?;
    let stop = AtomicBool::new(false);
    let options =
        RaceOptions { seed: mixed(seed, 3), threads: 1, stop: &stop, on_progress: &|_, _| () };
    let decision = race(&modelled, requirements, &options)?.decision;
    Ok(decision.recommended.map(|best| best.candidate))
}

/// Simulates every candidate that might be the best a few times. Returns those that still might,
/// and how many were simulated.
fn finalists(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    contenders: &[Assessment],
    laboratory: &mut Laboratory,
    seed: u64,
) -> Result<(Vec<Candidate>, usize), MeasureError> {
    let loose = loosened(requirements);
    let mut least_high = f64::INFINITY;
    let mut simulated = 0;
    // What they might cost at least, and who they are.
    let mut known: Vec<(f64, Candidate)> = Vec::new();
    for contender in contenders {
        let candidate = &contender.candidate;
        if least(requirements, grounds, contender) > least_high {
            continue;
        }
        let assessed = assess_on(&loose, grounds, candidate).map_err(MeasureError::Requirements)?;
        if assessed.is_none_or(|(_, reasons)| !reasons.is_empty()) {
            continue;
        }
        let measured = match laboratory.measure(requirements, candidate, FIRST_RUNS, seed) {
            Ok(measured) => measured,
            // Its evidence interpolates, and at just this size it cannot be.
            Err(MeasureError::Candidate(_)) => continue,
            Err(error) => return Err(error),
        };
        simulated += 1;
        if measured.exceeded.is_empty() {
            let (low, high) = between(requirements, grounds, &measured.assessment);
            least_high = least_high.min(high);
            known.push((low, candidate.clone()));
        }
    }
    known.retain(|(low, _)| *low <= least_high);
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok((known.into_iter().take(FINALISTS).map(|(_, candidate)| candidate).collect(), simulated))
}

/// Simulates candidates more and more often, as long as they might be the best. Returns the
/// cheapest one that exceeds no limit.
fn winner(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    mut candidates: Vec<Candidate>,
    laboratory: &mut Laboratory,
    runs: u32,
    seed: u64,
) -> Result<Option<Candidate>, MeasureError> {
    for share in [4, 2, 1] {
        let mut known = Vec::new();
        for candidate in candidates {
            let measured =
                laboratory.measure(requirements, &candidate, runs / share, mixed(seed, share))?;
            if measured.exceeded.is_empty() {
                let (low, high) = between(requirements, grounds, &measured.assessment);
                known.push((measured.assessment.cost, low, high, candidate));
            }
        }
        known.sort_by(|one, other| one.0.total_cmp(&other.0));
        let least_high = known.iter().map(|(_, _, high, _)| *high).fold(f64::INFINITY, f64::min);
        known.retain(|(_, low, _, _)| *low <= least_high);
        candidates = known.into_iter().map(|(_, _, _, candidate)| candidate).collect();
        if candidates.len() < 2 {
            break;
        }
    }
    Ok(candidates.into_iter().next())
}

/// Returns requirements whose limits are looser by more than the evidence errs between the sizes
/// that were counted, and the model about the slowest changes.
fn loosened(requirements: &Requirements) -> Requirements {
    let mut loose = requirements.clone();
    let Limits { complete, sent, received, energy, keys, memory, message, .. } = &mut loose.limits;
    for limit in [sent, received, energy, keys, memory, message].into_iter().flatten() {
        *limit *= 1.1;
    }
    if let Some(limit) = complete {
        *limit *= 3.0;
    }
    if let Some(days) = &mut loose.limits.battery_days {
        *days /= 1.1;
    }
    loose
}

/// Returns what a candidate costs at least, if its changes take at least half as long as modelled
/// and nothing else is more than 5 % less.
fn least(requirements: &Requirements, grounds: &Grounds<'_>, contender: &Assessment) -> f64 {
    let waiting = waiting(requirements, grounds, contender, |(value, _, _)| value);
    0.95 * (contender.cost - waiting) + 0.5 * waiting
}

/// Returns the ends of the interval of a measured candidate's cost.
fn between(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    measured: &Assessment,
) -> (f64, f64) {
    let now = waiting(requirements, grounds, measured, |(value, _, _)| value);
    let low = waiting(requirements, grounds, measured, |(_, low, _)| low);
    let high = waiting(requirements, grounds, measured, |(_, _, high)| high);
    (measured.cost + low - now, measured.cost + high - now)
}

/// Returns what the time of a day's changes costs.
fn waiting(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    assessment: &Assessment,
    pick: fn((f64, f64, f64)) -> f64,
) -> f64 {
    let members = requirements.members.now;
    let changes = grounds.changes(requirements, &assessment.candidate, members);
    let rate: f64 = changes.unwrap_or_default().iter().map(|(_, rate)| rate).sum();
    let time = assessment.figure(Quantity::Completion);
    let time = time.map_or(0.0, |time| pick((time.value, time.interval.0, time.interval.1)));
    requirements.weights.second * rate * time / 1e3
}

pub(super) fn requirements(
    options: &ValidateOptions<'_>,
) -> Vec<(RequirementsSource, Requirements)> {
    let most = f64::from(options.members.clamp(2, 5_000));
    let mut draw = GroupDraw(ChaCha20Rng::seed_from_u64(options.seed));
    let mut evenly = (0..options.even).map(|_| (RequirementsSource::Even, even(&mut draw, most)));
    let mut draw = GroupDraw(ChaCha20Rng::seed_from_u64(mixed(options.seed, 7)));
    let typically =
        (0..options.typical).map(|_| (RequirementsSource::Typical, typical(&mut draw, most)));
    // They take turns, so that a run that is stopped has some of both kinds.
    let turn = options.even / options.typical.max(1);
    let mut drawn = Vec::new();
    for one in typically {
        drawn.extend(evenly.by_ref().take(turn));
        drawn.push(one);
    }
    drawn.extend(evenly);
    // Requirements are drawn so that they can be; should one not, it is no trial.
    drawn.retain(|(_, requirements)| requirements.validate().is_ok());
    drawn
}

/// The most members without a controller: to record one change of a thousand of them takes an hour.
const ALONE: f64 = 100.0;

fn even(draw: &mut GroupDraw, most: f64) -> Requirements {
    let drawn = draw.log(2.0, most).round();
    let controller = draw.chance(0.85);
    let now = if controller { drawn } else { drawn.min(ALONE) };
    let joins = draw.log(0.01, 60.0);
    let leaves = joins * (0.5 + 1.5 * draw.share());
    let mut requirements = Requirements {
        members: Members {
            now: now as u32,
            most: if draw.chance(0.7) { 0 } else { (now * (1.0 + draw.share())).min(most) as u32 },
            joins,
            leaves,
            burst: if draw.chance(0.8) { 1.0 } else { draw.log(1.0, 20.0) },
            batch: 0.0,
            rekeys: if draw.chance(0.8) { 0.0 } else { draw.log(0.01, 10.0) },
            ..Members::default()
        },
        trust: Trust {
            controller,
            gateways: if draw.chance(0.6) { 0 } else { *draw.pick(&[4, 8, 16, 32, 55]) },
            gateways_know_the_key: draw.chance(0.8),
        },
        devices: Devices {
            member: (*draw.pick(&["cortex-m4", "rv32imac", "host"])).to_owned(),
            gateway: (*draw.pick(&["rv32imac", "host"])).to_owned(),
            controller: "host".to_owned(),
            ..Devices::default()
        },
        ..Requirements::default()
    };
    requirements.members.most = match requirements.members.most {
        few if few <= requirements.members.now => 0,
        more => more,
    };
    let delay = draw.log(1.0, 300.0);
    requirements.network = NetworkConditions {
        loss: if draw.chance(0.3) { 0.0 } else { draw.log(0.1, 10.0) },
        burst: None,
        delay,
        jitter: if draw.chance(0.6) { 0.0 } else { 0.5 * delay * draw.share() },
        bandwidth: if draw.chance(0.7) { None } else { Some(draw.log(20.0, 5_000.0)) },
        multicast: draw.chance(0.8),
        qos: if draw.chance(0.4) { None } else { Some(draw.below(3) as u8) },
        ..NetworkConditions::default()
    };
    if draw.chance(0.4) {
        // Only those outside are feared, so that a MAC does.
        requirements.security = Security { active: Vec::new(), ..Security::default() };
        requirements.security.post_quantum = draw.chance(0.3);
    }
    if draw.chance(0.5) {
        let limit = |draw: &mut GroupDraw, low: f64, high: f64| {
            draw.chance(0.4).then(|| draw.log(low, high))
        };
        requirements.limits = Limits {
            complete: limit(draw, 50.0, 20_000.0),
            received: limit(draw, 3e3, 1e7),
            energy: limit(draw, 1e-3, 100.0),
            keys: limit(draw, 64.0, 4_096.0),
            message: limit(draw, 200.0, 20_000.0),
            ..Limits::default()
        };
    }
    if draw.chance(0.5) {
        requirements.weights = Weights {
            joule: draw.log(0.01, 10.0),
            second: draw.log(1e-4, 1.0),
            kilobyte: if draw.chance(0.5) { 0.0 } else { draw.log(1e-4, 0.1) },
        };
    }
    requirements
}

fn typical(draw: &mut GroupDraw, most: f64) -> Requirements {
    // Cable, Wi-Fi, LTE-M, a mesh of low power, a satellite.
    let network = |loss, delay, jitter, bandwidth| NetworkConditions {
        loss,
        burst: None,
        delay,
        jitter,
        bandwidth,
        multicast: true,
        ..NetworkConditions::default()
    };
    let networks = [
        network(0.0, 1.0, 0.0, None),
        network(1.0, 5.0, 3.0, Some(20_000.0)),
        network(0.5, 60.0, 20.0, Some(300.0)),
        network(3.0, 200.0, 80.0, Some(60.0)),
        network(2.0, 270.0, 10.0, Some(500.0)),
    ];
    let sizes: [f64; 11] =
        [3.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 400.0, 1_000.0, 2_500.0, 4_000.0];
    let now = draw.pick(&sizes).min(most) as u32;
    // A change a day, a shift of eight hours, people that come and go, and vehicles that pass.
    let (joins, burst) =
        *draw.pick(&[(0.04, 1.0), (f64::from(now) / 8.0, 5.0), (5.0, 1.0), (120.0, 1.0)]);
    let mut requirements = Requirements {
        members: Members { now, joins, leaves: joins, burst, ..Members::default() },
        network: *draw.pick(&networks),
        ..Requirements::default()
    };
    requirements.devices.member = (*draw.pick(&["cortex-m4", "rv32imac"])).to_owned();
    requirements.network.qos = *draw.pick(&[None, Some(0), Some(1), Some(2)]);
    match draw.below(4) {
        0 => requirements.trust.gateways = 16,
        1 if now <= 50 => requirements.trust.controller = false,
        2 => requirements.limits.complete = Some(*draw.pick(&[200.0, 1_000.0, 5_000.0])),
        _ => {}
    }
    match draw.below(3) {
        0 => requirements.security.active.clear(),
        1 => {
            (requirements.limits.battery, requirements.limits.battery_days) =
                (Some(2_000.0), Some(365.0))
        }
        _ => {}
    }
    requirements
}

impl GroupDraw {
    fn chance(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}

impl fmt::Debug for ValidateOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, even, typical, members, runs, threads, .. } = self;
        f.debug_struct("ValidateOptions")
            .field("seed", seed)
            .field("even", even)
            .field("typical", typical)
            .field("members", members)
            .field("runs", runs)
            .field("threads", threads)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Regret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answered, missed, impossible, median, p95, worst, violations, .. } = self;
        write!(
            f,
            "{answered} answers: median {:.2} %, 95th percentile {:.2} %, worst {:.2} % above the \
             best; {violations} exceed a limit; {missed} missed, {impossible} impossible",
            100.0 * median,
            100.0 * p95,
            100.0 * worst
        )
    }
}
