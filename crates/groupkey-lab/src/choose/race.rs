//! Races the finalists: simulates them under just the requirements that are asked for, until it is
//! settled which of them cost least.
//!
//! **Who races.** The model of completion times is unsure by its intervals. A candidate cannot win if
//! its cost is above that of another one even when both are at the ends that favour it. Of the
//! others, the cheapest of each scheme goes first.
//!
//! **The procedure** is multiple comparisons with the best ([`above_best`]): by differences of pairs
//! under common random numbers, so that what all have in common drops out. It looks at the costs at
//! fixed numbers of runs, and each look spends a part of the error ([`sequential`]). A finalist is
//! *equal* once its cost is shown to be at most 5 % above that of the cheapest one, and *dearer* once
//! it is shown to be at least 1 % above. The race ends when each is either. With a probability of
//! 95 %, all that it calls equal or dearer is so.
//!
//! Results do not depend on the number of threads: all runs of a look are done before it is looked
//! at.

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use groupkey_choose::decision::{
    Assessment, Candidate, ExcludedScheme, Figure, Finalist, Ground, Quantity, Race, RaceEnd,
    Reason, Standing,
};
use groupkey_choose::equals::by_preference;
use groupkey_choose::{
    Decision, Grounds, Moment, Requirements, Variant, decide_among, number, words,
};

use super::in_parallel::in_parallel;
use super::measure::{COMPLETE, Interval, MeasureError, RecordedKind, RunOf, changes, with_times};
use super::plan::{RUNS, end, present};
use crate::statistics::Moments;
use crate::statistics::best::{AboveBest, above_best};
use crate::statistics::sequential;

/// How finalists are raced.
#[derive(Clone, Copy)]
pub struct RaceOptions<'o> {
    /// Seed of everything that is random.
    pub seed: u64,
    /// Threads. The answer does not depend on their number.
    pub threads: usize,
    /// When this becomes true, the race ends with what is known.
    pub stop: &'o AtomicBool,
    /// Called with the number of changes that were simulated, and with the most that may be.
    pub on_progress: &'o (dyn Fn(usize, usize) + Sync),
}

/// A decision whose finalists were raced, and what is to be remarked.
#[derive(Clone, Debug, PartialEq)]
pub struct RacedDecision {
    /// The decision.
    pub decision: Decision,
    /// Remarks on single candidates.
    pub notes: Vec<String>,
}

/// The name of the procedure, with its source.
pub const PROCEDURE: &str = "multiple comparisons with the best, by differences of pairs under \
                             common random numbers (Hsu 1984; Nelson and Matejcik 1995)";
/// The probability with which all that a race settles is true.
pub const CONFIDENCE: f64 = 0.95;
/// A finalist whose cost is above that of the cheapest one by at most this share is equal to it.
pub const EQUAL_WITHIN: f64 = 0.05;
/// One whose cost is above it by at least this share is dearer.
pub const DEARER_FROM: f64 = 0.01;

/// Races the finalists of a decision that the model made, and decides anew.
///
/// # Errors
///
/// Fails if a finalist cannot be simulated for another reason than that it is impossible at this
/// size.
pub fn race(
    modelled: &Decision,
    requirements: &Requirements,
    options: &RaceOptions<'_>,
) -> Result<RacedDecision, MeasureError> {
    if modelled.recommended.is_none() {
        return Ok(RacedDecision { decision: modelled.clone(), notes: Vec::new() });
    }
    let could_win = could_win(modelled, requirements);
    let all = could_win.len();
    let mut notes = Vec::new();
    let mut field = Field::record(requirements, lined_up(could_win), options, &mut notes)?;
    let end = loop {
        let end = field.run(options)?;
        let Some(first) = field.class().first().copied() else { break end };
        if end == RaceEnd::Interrupted || field.confirm(first, options)? {
            break if options.stop.load(Ordering::Relaxed) { RaceEnd::Interrupted } else { end };
        }
    };
    Ok(RacedDecision { decision: field.decide(modelled, all, end), notes })
}

/// Returns the candidates of which the model cannot say that another one costs less, by ascending
/// cost.
fn could_win<'d>(modelled: &'d Decision, requirements: &Requirements) -> Vec<&'d Assessment> {
    let mut all: Vec<&Assessment> = modelled.front.iter().chain(&modelled.beaten).collect();
    all.sort_by(|one, other| one.cost.total_cmp(&other.cost));
    let between: Vec<(f64, f64)> = all.iter().map(|one| cost_between(one, requirements)).collect();
    let least_high = between.iter().map(|(_, high)| *high).fold(f64::INFINITY, f64::min);
    // What no model knows may be any candidate's.
    let is_sure = requirements.beyond_model().is_none();
    let may_win = all.into_iter().zip(between);
    may_win.filter(|(_, (low, _))| !is_sure || *low <= least_high).map(|(one, _)| one).collect()
}

/// Returns the ends of the interval of a candidate's cost.
pub(super) fn cost_between(assessment: &Assessment, requirements: &Requirements) -> (f64, f64) {
    let changes = changes(requirements, &assessment.candidate).unwrap_or_default();
    let rate: f64 = changes.iter().map(|(_, rate)| rate).sum();
    let Some(time) = assessment.figure(Quantity::Completion) else {
        return (assessment.cost, assessment.cost);
    };
    let at =
        |end: f64| assessment.cost + requirements.weights.second * rate * (end - time.value) / 1e3;
    (at(time.interval.0), at(time.interval.1))
}

/// Returns the finalists: the preferred one of each scheme's that the model finds equal, or else its
/// cheapest one, schemes by ascending cost; then the cheapest of the others.
fn lined_up(could_win: Vec<&Assessment>) -> Vec<Assessment> {
    let (mut first, mut others): (Vec<&Assessment>, Vec<&Assessment>) = Default::default();
    for one in could_win {
        let scheme = &one.candidate.variant.scheme;
        match first.iter().any(|known| known.candidate.variant.scheme == *scheme) {
            true => others.push(one),
            false => first.push(one),
        }
    }
    first.into_iter().chain(others).take(FINALISTS).cloned().collect()
}

/// The most candidates that race.
const FINALISTS: usize = 8;
/// Runs of the first look; each other look has twice those of the look before it.
const FIRST_LOOK: u32 = 25;
/// The least runs of a first look, of groups so large that they are costly to simulate.
const LEAST_LOOK: u32 = 4;
/// What a race may cost: messages that are handed over in the simulation. A million take a processor
/// some seconds.
const MOST_DELIVERIES: u64 = 1_000_000;
/// Runs from which on the 99th percentile has an upper end, by the ranks of what was simulated.
const LEAST_OF_99: usize = 380;
/// Changes that are simulated at once.
const AT_ONCE: u32 = 10;

/// The finalists and what is known of them.
struct Field<'r> {
    requirements: &'r Requirements,
    racers: Vec<Racer>,
    kinds: Vec<(Variant, RecordedKind)>,
    /// Messages that were handed over.
    deliveries: AtomicU64,
    /// Runs at the first look.
    first_look: u32,
    seed: u64,
}

/// A finalist.
struct Racer {
    modelled: Assessment,
    /// The moment whose costs count, and the one at which limits must hold.
    now: Moment,
    end: Moment,
    changes: Vec<(String, f64)>,
    kind: Option<usize>,
    /// How many messages a run of each change hands over.
    deliveries: Vec<u64>,
    /// Times (ms) of each of its changes.
    times: Vec<Vec<f64>>,
    standing: Standing,
    above: AboveBest,
    /// The 99 % of changes that it does not exceed (ms), if that is over the limit.
    late: Option<f64>,
}

/// Runs of a change of a finalist.
struct Heat {
    racer: usize,
    change: usize,
    moment: Moment,
    /// Messages that a run hands over.
    deliveries: u64,
    runs: Range<u32>,
}

impl<'r> Field<'r> {
    /// Counts and records the changes of all finalists. One that cannot be at this size is left out.
    fn record(
        requirements: &'r Requirements,
        finalists: Vec<Assessment>,
        options: &RaceOptions<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Self, MeasureError> {
        let mut variants: Vec<&Candidate> = Vec::new();
        for Assessment { candidate, .. } in &finalists {
            if !variants.iter().any(|known| known.variant == candidate.variant) {
                variants.push(candidate);
            }
        }
        let record = |candidate: &&Candidate| -> Result<RecordedKind, MeasureError> {
            let mut kind = RecordedKind::of(requirements, candidate)?;
            let changes = changes(requirements, candidate)?;
            let operations: Vec<String> = changes.into_iter().map(|change| change.0).collect();
            let now = present(requirements, candidate);
            kind.record(requirements, candidate, &operations, now)?;
            Ok(kind)
        };
        let on_done = |_| ();
        let recorded =
            in_parallel(&variants, options.threads, options.stop, &on_done, &record).into_iter();
        let mut kinds = Vec::new();
        let mut impossible = Vec::new();
        for (candidate, recorded) in variants.into_iter().zip(recorded) {
            match recorded {
                Some(Ok(kind)) => kinds.push((candidate.variant.clone(), kind)),
                Some(Err(MeasureError::Candidate(_))) => impossible.push(candidate.variant.clone()),
                Some(Err(error)) => return Err(error),
                None => {}
            }
        }
        let mut racers = Vec::new();
        for modelled in finalists {
            let candidate = &modelled.candidate;
            if impossible.contains(&candidate.variant) {
                notes.push(format!("{candidate} is left out: it cannot be at just this size"));
                continue;
            }
            let kind = kinds.iter().position(|(variant, _)| *variant == candidate.variant);
            let (exact, exceeded) = match kind {
                Some(kind) => kinds[kind].1.figures(requirements, candidate)?,
                None => (modelled.clone(), Vec::new()),
            };
            if !exceeded.is_empty() {
                let limits = exceeded.join(" and ");
                notes.push(format!(
                    "{candidate} is left out: counted at this size it exceeds {limits}"
                ));
            }
            let changes = changes(requirements, candidate)?;
            racers.push(Racer {
                deliveries: Vec::new(),
                times: vec![Vec::new(); changes.len()],
                standing: match exceeded.is_empty() {
                    true => Standing::Open,
                    false => Standing::OverLimit,
                },
                above: AboveBest { low: 0.0, high: f64::INFINITY },
                late: None,
                now: present(requirements, &exact.candidate),
                end: end(requirements, &exact.candidate),
                modelled: exact,
                changes,
                kind,
            });
        }
        let mut field = Self {
            requirements,
            racers,
            kinds,
            deliveries: AtomicU64::new(0),
            first_look: FIRST_LOOK,
            seed: options.seed,
        };
        for place in 0..field.racers.len() {
            let deliveries = (0..field.racers[place].changes.len())
                .map(|change| field.deliveries_at(place, change, field.racers[place].now));
            field.racers[place].deliveries = deliveries.collect::<Result<_, _>>()?;
        }
        let a_run: u64 = field.alive().map(|place| field.deliveries_of(place)).sum();
        let affordable = MOST_DELIVERIES / 2 / a_run.max(1);
        field.first_look = (affordable as u32).clamp(LEAST_LOOK, FIRST_LOOK);
        Ok(field)
    }

    /// Races until all is settled, or no runs are left.
    fn run(&mut self, options: &RaceOptions<'_>) -> Result<RaceEnd, MeasureError> {
        self.judge_again();
        for (look, runs) in (0..).zip(sequential::looks(self.first_look as usize)) {
            let racing: Vec<usize> = self.alive().collect();
            if racing.iter().any(|racer| self.racers[*racer].kind.is_none()) {
                return Ok(RaceEnd::Interrupted);
            }
            let known = |place: &usize| self.racers[*place].runs();
            let least = racing.iter().map(known).min().unwrap_or_default();
            if least < runs {
                let planned: u64 = racing.iter().map(|place| self.deliveries_of(*place)).sum();
                let planned = planned * (runs - least) as u64;
                // The other half is for the one that is recommended.
                let spent = self.deliveries.load(Ordering::Relaxed);
                if look > 0 && spent + planned > MOST_DELIVERIES / 2 {
                    return Ok(RaceEnd::Open);
                }
                if !self.simulate(&racing, runs as u32, options)? {
                    return Ok(RaceEnd::Interrupted);
                }
            }
            self.look(&racing, runs, sequential::level(1.0 - CONFIDENCE, look));
            if self.alive().all(|place| self.racers[place].standing != Standing::Open) {
                return Ok(RaceEnd::Settled);
            }
        }
        Ok(RaceEnd::Open)
    }

    /// The finalists that race on.
    fn alive(&self) -> impl Iterator<Item = usize> {
        let racers = self.racers.iter().enumerate();
        racers
            .filter(|(_, racer)| matches!(racer.standing, Standing::Equal | Standing::Open))
            .map(|(place, _)| place)
    }

    /// Begins the judgement anew among those that exceed no limit. Their runs count.
    fn judge_again(&mut self) {
        for racer in &mut self.racers {
            if racer.standing != Standing::OverLimit {
                racer.standing = Standing::Open;
                racer.above = AboveBest { low: 0.0, high: f64::INFINITY };
            }
        }
    }

    fn look(&mut self, racing: &[usize], runs: usize, error: f64) {
        let limit = self.requirements.limits.complete.unwrap_or(f64::INFINITY);
        for &place in racing {
            let racer = &mut self.racers[place];
            let far = Interval::of_slowest(&racer.times);
            if racer.now == racer.end && far.low > limit {
                (racer.standing, racer.late) = (Standing::OverLimit, Some(far.high));
            }
        }
        let racing: Vec<usize> = racing
            .iter()
            .copied()
            .filter(|place| self.racers[*place].standing != Standing::OverLimit)
            .collect();
        let costs: Vec<Vec<f64>> =
            racing.iter().map(|place| self.racers[*place].costs(self.requirements, runs)).collect();
        // Whose connections break for good never completes a change.
        let is_finite = |costs: &Vec<f64>| costs.iter().all(|cost| cost.is_finite());
        let complete: Vec<usize> = (0..racing.len()).filter(|at| is_finite(&costs[*at])).collect();
        let samples: Vec<&[f64]> = complete.iter().map(|at| &costs[*at][..]).collect();
        let means = samples.iter().map(|sample| Moments::of(sample).mean);
        let least = means.fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE);
        for (at, above) in complete.iter().zip(above_best(&samples, error)) {
            let racer = &mut self.racers[racing[*at]];
            let above = AboveBest { low: above.low / least, high: above.high / least };
            racer.above = above;
            if above.high <= EQUAL_WITHIN {
                racer.standing = Standing::Equal;
            } else if above.low >= DEARER_FROM {
                racer.standing = Standing::Dearer;
            }
        }
        for at in (0..racing.len()).filter(|at| !complete.contains(at) && !complete.is_empty()) {
            self.racers[racing[at]].standing = Standing::Dearer;
        }
    }

    /// Simulates these finalists until each has this many runs. Returns whether all were done.
    fn simulate(
        &mut self,
        racing: &[usize],
        runs: u32,
        options: &RaceOptions<'_>,
    ) -> Result<bool, MeasureError> {
        let mut heats = Vec::new();
        for &racer in racing {
            let known = self.racers[racer].runs() as u32;
            let now = self.racers[racer].now;
            for (change, deliveries) in self.racers[racer].deliveries.iter().enumerate() {
                heats.extend(heats_of((racer, change), now, *deliveries, known..runs));
            }
        }
        let Some(times) = self.replay(&heats, options)? else { return Ok(false) };
        for (Heat { racer, change, .. }, times) in heats.into_iter().zip(times) {
            self.racers[racer].times[change].extend(times);
        }
        Ok(true)
    }

    /// Replays heats on all threads. `None` if it was stopped.
    fn replay(
        &self,
        heats: &[Heat],
        options: &RaceOptions<'_>,
    ) -> Result<Option<Vec<Vec<f64>>>, MeasureError> {
        let work = |heat: &Heat| {
            let racer = &self.racers[heat.racer];
            let kind = &self.kinds[racer.kind.expect("who races was recorded")].1;
            let of = self.run_of(racer, heat.change, heat.moment);
            let handed_over = heat.deliveries * u64::from(heat.runs.end - heat.runs.start);
            self.deliveries.fetch_add(handed_over, Ordering::Relaxed);
            (options.on_progress)(
                self.deliveries.load(Ordering::Relaxed).min(MOST_DELIVERIES) as usize,
                MOST_DELIVERIES as usize,
            );
            kind.replay(&of, heat.runs.clone())
        };
        let times = in_parallel(heats, options.threads, options.stop, &|_| (), &work);
        let times: Option<Vec<_>> = times.into_iter().collect();
        times.map(|times| times.into_iter().collect()).transpose()
    }

    fn run_of<'a>(&'a self, racer: &'a Racer, change: usize, moment: Moment) -> RunOf<'a> {
        RunOf {
            requirements: self.requirements,
            candidate: &racer.modelled.candidate,
            operation: &racer.changes[change].0,
            moment,
            seed: self.seed,
        }
    }

    /// Returns how many messages a run of a finalist hands over.
    fn deliveries_of(&self, place: usize) -> u64 {
        self.racers[place].deliveries.iter().sum()
    }

    fn deliveries_at(
        &self,
        place: usize,
        change: usize,
        moment: Moment,
    ) -> Result<u64, MeasureError> {
        let racer = &self.racers[place];
        let Some(kind) = racer.kind else { return Ok(0) };
        self.kinds[kind].1.deliveries(&self.run_of(racer, change, moment))
    }

    /// Returns the finalists that cost as little as the cheapest one, the recommended one first.
    /// What the runs could not tell is equal if it looks so.
    fn class(&self) -> Vec<usize> {
        let assessments: Vec<Assessment> =
            self.racers.iter().map(|racer| racer.assessment(self.requirements)).collect();
        let alive = || self.alive().map(|place| assessments[place].cost);
        let least = alive().fold(f64::INFINITY, f64::min);
        let is_equal = |place: &usize| {
            let looks_so = assessments[*place].cost <= least * (1.0 + LOOKS_EQUAL);
            self.racers[*place].standing == Standing::Equal || looks_so
        };
        let mut class: Vec<usize> = self.alive().filter(is_equal).collect();
        class.sort_by(|one, other| by_preference(&assessments[*one], &assessments[*other]));
        class
    }

    /// Simulates the one that would be recommended as often as it pays, and checks the limit of its
    /// times. Returns whether it keeps it.
    fn confirm(&mut self, place: usize, options: &RaceOptions<'_>) -> Result<bool, MeasureError> {
        let Racer { now, end, .. } = self.racers[place];
        let known = self.racers[place].runs() as u32;
        let runs = known.saturating_add(self.affordable(self.deliveries_of(place)));
        if !self.simulate(&[place], runs.min(RUNS).max(known), options)? {
            return Ok(true);
        }
        let Some(limit) = self.requirements.limits.complete else { return Ok(true) };
        let mut times = self.racers[place].times.clone();
        if end != now {
            let (candidate, changes) = {
                let racer = &self.racers[place];
                (racer.modelled.candidate.clone(), racer.changes.clone())
            };
            let kind = self.racers[place].kind.expect("who races was recorded");
            let operations: Vec<String> = changes.into_iter().map(|change| change.0).collect();
            self.kinds[kind].1.record(self.requirements, &candidate, &operations, end)?;
            let deliveries = (0..operations.len())
                .map(|change| self.deliveries_at(place, change, end))
                .collect::<Result<Vec<u64>, _>>()?;
            let runs = self.affordable(deliveries.iter().sum()).clamp(LEAST_LOOK, RUNS);
            let heats = (0..operations.len())
                .flat_map(|change| heats_of((place, change), end, deliveries[change], 0..runs))
                .collect::<Vec<_>>();
            let Some(later) = self.replay(&heats, options)? else { return Ok(true) };
            times = vec![Vec::new(); operations.len()];
            for (Heat { change, .. }, later) in heats.into_iter().zip(later) {
                times[change].extend(later);
            }
        }
        let far = Interval::of_slowest(&times);
        let racer = &mut self.racers[place];
        if far.high > limit {
            (racer.standing, racer.late) = (Standing::OverLimit, Some(far.high));
        }
        Ok(far.high <= limit)
    }

    fn affordable(&self, deliveries: u64) -> u32 {
        let left = MOST_DELIVERIES.saturating_sub(self.deliveries.load(Ordering::Relaxed));
        u32::try_from(left / deliveries.max(1)).unwrap_or(u32::MAX)
    }

    fn decide(self, modelled: &Decision, could_win: usize, end: RaceEnd) -> Decision {
        let requirements = self.requirements;
        let is_known = self.racers.iter().any(|racer| racer.runs() > 1);
        let class = self.class();
        let mut order = class.clone();
        let mut others: Vec<usize> =
            (0..self.racers.len()).filter(|place| !class.contains(place)).collect();
        let cost = |place: &usize| self.racers[*place].assessment(requirements).cost;
        others.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
        order.extend(others);
        let kept = |racer: &&Racer| racer.standing != Standing::OverLimit;
        let raced: Vec<Assessment> =
            self.racers.iter().filter(kept).map(|racer| racer.assessment(requirements)).collect();
        let equals = class.iter().map(|place| self.racers[*place].modelled.candidate.clone());
        let grounds = Grounds::shipped();
        let decided = decide_among(requirements, &grounds, raced, equals.collect());
        let mut out = modelled.out.clone();
        // What was simulated comes first: the others were judged by the model.
        for racer in self.racers.iter().rev() {
            let scheme = &racer.modelled.candidate.variant.scheme;
            let is_in = |other: &Assessment| other.candidate.variant.scheme == *scheme;
            let is_known = out.iter().any(|other| other.scheme == *scheme)
                || decided.front.iter().chain(&decided.beaten).any(is_in);
            if let Some(of_99) = racer.late.filter(|_| !is_known) {
                let limit = requirements.limits.complete.unwrap_or_default();
                out.insert(0, late(racer.modelled.candidate.clone(), limit, of_99));
            }
        }
        let finalists = order.iter().map(|place| self.racers[*place].told()).collect();
        let race = Race {
            procedure: PROCEDURE.to_owned(),
            confidence: CONFIDENCE,
            equal_within: EQUAL_WITHIN,
            dearer_from: DEARER_FROM,
            end,
            could_win,
            finalists,
        };
        if !is_known && end == RaceEnd::Interrupted {
            let mut decision = Decision { race: Some(race), ..modelled.clone() };
            decision.in_short = words::in_short(&decision, requirements);
            return decision;
        }
        let scheme = |one: &Option<Assessment>| {
            one.as_ref().map(|best| best.candidate.variant.scheme.clone())
        };
        // Turns were sought for the modelled recommendation.
        let is_turning = scheme(&modelled.recommended) == scheme(&decided.recommended)
            && requirements.beyond_model().is_none();
        let mut decision = Decision {
            out,
            turns: if is_turning { modelled.turns.clone() } else { Vec::new() },
            race: Some(race),
            ..decided
        };
        decision.in_short = words::in_short(&decision, requirements);
        decision
    }
}

/// What the runs could not tell is equal if its mean cost is above the least one by at most this.
const LOOKS_EQUAL: f64 = 0.03;

impl Racer {
    fn runs(&self) -> usize {
        self.times.iter().map(Vec::len).min().unwrap_or_default()
    }

    /// Returns the cost of each of the first runs.
    fn costs(&self, requirements: &Requirements, runs: usize) -> Vec<f64> {
        let Self { modelled, changes, times, .. } = self;
        let sum: f64 = changes.iter().map(|(_, rate)| rate).sum();
        let time = modelled.figure(Quantity::Completion).map_or(0.0, |figure| figure.value);
        let second = requirements.weights.second;
        let rest = modelled.cost - second * sum * time / 1e3;
        let waiting = |run: usize| -> f64 {
            changes.iter().zip(times).map(|((_, rate), times)| rate * times[run]).sum()
        };
        (0..runs).map(|run| rest + second * waiting(run) / 1e3).collect()
    }

    /// Returns its figures, with simulated times as far as there are any.
    fn assessment(&self, requirements: &Requirements) -> Assessment {
        let Self { modelled, changes, times, .. } = self;
        if self.runs() < 2 {
            return modelled.clone();
        }
        let mut assessment = with_times(modelled.clone(), requirements, changes, times);
        if self.runs() < LEAST_OF_99 && requirements.beyond_model().is_none() {
            // So few runs have no upper end of what 99 % do not exceed.
            let is_it = |figure: &&mut Figure| figure.quantity == Quantity::CompletionOf99;
            let known = modelled.figure(Quantity::CompletionOf99);
            if let Some((figure, known)) = assessment.figures.iter_mut().find(is_it).zip(known) {
                *figure = Figure { ground: Ground::Fitted, ..*known };
            }
        }
        assessment
    }

    fn told(&self) -> Finalist {
        let AboveBest { low, high } = self.above;
        Finalist {
            candidate: self.modelled.candidate.clone(),
            standing: self.standing,
            above: (low, Some(high).filter(|high| high.is_finite())),
            runs: self.runs() as u32,
        }
    }
}

fn heats_of(
    (racer, change): (usize, usize),
    moment: Moment,
    deliveries: u64,
    runs: Range<u32>,
) -> impl Iterator<Item = Heat> {
    let end = runs.end;
    let heat = move |from: u32| {
        let runs = from..(from + AT_ONCE).min(end);
        Heat { racer, change, moment, deliveries, runs }
    };
    runs.step_by(AT_ONCE as usize).map(heat)
}

/// Returns a candidate as one whose changes take too long in the simulation.
fn late(candidate: Candidate, limit: f64, of_99: f64) -> ExcludedScheme {
    let reason = Reason {
        requirement: COMPLETE.to_owned(),
        required: format!("at most {} ms", number::rounded(limit)),
        has: format!("up to {} ms in the simulation", number::rounded(of_99)),
        nearest: Some(format!("{}", of_99.ceil())),
    };
    ExcludedScheme {
        scheme: candidate.variant.scheme.clone(),
        candidate: Some(candidate),
        reasons: vec![reason],
    }
}

impl fmt::Debug for RaceOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, threads, .. } = self;
        let mut told = f.debug_struct("RaceOptions");
        told.field("seed", seed).field("threads", threads).finish_non_exhaustive()
    }
}
