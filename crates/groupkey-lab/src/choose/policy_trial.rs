//! A policy that changes a group's scheme, tried on a trace: what the months would have cost, with
//! changes whose times are simulated.

use groupkey_choose::adapt::{Observation, ReplayedCost, replay_judged};
use groupkey_choose::decision::{Assessment, Quantity};
use groupkey_choose::{Candidate, Grounds, Requirements, assess_on};
use serde::Serialize;

use super::measure::{COMPLETE, Laboratory, MeasureError};
use crate::bench::trace::{JoinOrLeave, Trace};
use crate::scenario::AdaptiveScenario;

/// How a policy did on a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PolicyTrial {
    /// What was in force, one after the other.
    pub phases: Vec<CandidatePeriod>,
    /// What it cost, beside the best sequence in hindsight and each candidate kept throughout.
    pub replay: ReplayedCost,
}

/// A time in which a candidate was in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct CandidatePeriod {
    /// When it began (s since the creation).
    pub from: f64,
    /// When it ended (s since the creation).
    pub until: f64,
    /// The candidate.
    pub candidate: Candidate,
    /// The fewest and the most members.
    pub members: (u32, u32),
    /// Members that joined and that left.
    pub churn: (u64, u64),
}

/// Tries a scenario's policy. The policy decides by the model, as a service does; what candidates
/// cost is told by counts and by simulated times. `on_progress` is told how many of
/// [`observations`] are done. `None` if nothing meets the requirements at the beginning. `stop`
/// returns true when it should end early.
pub fn try_policy(
    scenario: &AdaptiveScenario,
    stop: &dyn Fn() -> bool,
    on_progress: &dyn Fn(usize),
) -> Result<Option<PolicyTrial>, MeasureError> {
    let life = observations(&scenario.trace, scenario.observe);
    let grounds = Grounds::shipped();
    let mut laboratory = Laboratory::default();
    let judge = &mut |requirements: &Requirements, candidate: &Candidate| {
        if stop() {
            return Err(MeasureError::Interrupted);
        }
        judge(scenario, &grounds, &mut laboratory, requirements, candidate)
    };
    let AdaptiveScenario { policy, requirements, .. } = scenario;
    let replay = replay_judged(&life, *policy, requirements, &grounds, judge, on_progress)?;
    Ok(replay.map(|replay| PolicyTrial { phases: phases(&life, &replay), replay }))
}

/// Returns what a service sees of a trace if it looks at the group this often (s).
pub fn observations(trace: &Trace, every: f64) -> Vec<Observation> {
    let looks = (trace.duration_ms() as f64 / 1e3 / every).ceil().max(1.0) as usize;
    let mut events = trace.events().iter().peekable();
    let mut members = trace.initial().len() as u32;
    let look = |look: usize| {
        let until = (look + 1) as f64 * every * 1e3;
        let mut seen = Observation { seconds: every, ..Observation::default() };
        while let Some(event) = events.next_if(|event| event.time_ms as f64 <= until) {
            match event.change {
                JoinOrLeave::Join => (members, seen.joins) = (members + 1, seen.joins + 1.0),
                JoinOrLeave::Leave => (members, seen.leaves) = (members - 1, seen.leaves + 1.0),
            }
        }
        Observation { members, ..seen }
    };
    (0..looks).map(look).collect()
}

/// A group of nearly this size is simulated in place of this one. What its changes take longer than
/// the model says, they take longer here.
fn judge(
    scenario: &AdaptiveScenario,
    grounds: &Grounds<'_>,
    laboratory: &mut Laboratory,
    requirements: &Requirements,
    candidate: &Candidate,
) -> Result<Option<(f64, bool)>, MeasureError> {
    let Some((assessed, reasons)) = assess_on(requirements, grounds, candidate)? else {
        return Ok(None);
    };
    let mut stand = requirements.clone();
    stand.members.now = near(requirements.members.now);
    let (mut cost, mut exceeds) = (assessed.cost, !reasons.is_empty());
    let modelled = assess_on(&stand, grounds, candidate)?;
    let measured = match laboratory.measure(&stand, candidate, scenario.runs, scenario.seed) {
        Ok(measured) => Some(measured),
        Err(MeasureError::Candidate(_)) => None,
        Err(error) => return Err(error),
    };
    if let (Some((modelled, _)), Some(measured)) = (modelled, measured) {
        let waiting =
            |one: &Assessment| one.figure(Quantity::Completion).map_or(0.0, |figure| figure.value);
        let more = waiting(&measured.assessment) - waiting(&modelled);
        let of = &requirements.members;
        let changes = grounds.changes(requirements, candidate, of.now).unwrap_or_default();
        let changes: f64 = changes.iter().map(|(_, rate)| rate).sum();
        cost += requirements.weights.second * changes * more / 1e3;
        // The counts are of this size; whether changes are late is what was simulated.
        exceeds = reasons.iter().any(|reason| reason.requirement != COMPLETE)
            || measured.exceeded.iter().any(|limit| limit == COMPLETE);
    }
    Ok(Some((cost, exceeds)))
}

/// Returns the nearest of sizes that are a fifth apart.
fn near(members: u32) -> u32 {
    let step = 1.2_f64.ln();
    ((f64::from(members).ln() / step).round() * step).exp().round().max(2.0) as u32
}

fn phases(life: &[Observation], replay: &ReplayedCost) -> Vec<CandidatePeriod> {
    let mut candidate = replay.start.clone();
    let mut first = 0;
    let mut changes = replay.changes.iter().peekable();
    let mut phases = Vec::new();
    let mut now = 0.0;
    let mut from = 0.0;
    for (index, observation) in life.iter().enumerate() {
        now += observation.seconds;
        let next = changes.next_if(|(after, _)| *after == index);
        if next.is_none() && index + 1 < life.len() {
            continue;
        }
        let seen = &life[first..=index];
        let sizes = || seen.iter().map(|one| one.members);
        let sum = |count: fn(&Observation) -> f64| seen.iter().map(count).sum::<f64>() as u64;
        phases.push(CandidatePeriod {
            from,
            until: now,
            candidate: candidate.clone(),
            members: (sizes().min().unwrap_or_default(), sizes().max().unwrap_or_default()),
            churn: (sum(|one| one.joins), sum(|one| one.leaves)),
        });
        (first, from) = (index + 1, now);
        if let Some((_, to)) = next {
            candidate = to.clone();
        }
    }
    phases
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::bench::trace::TraceEvent;

    fn event(time_ms: u64, change: JoinOrLeave, member: u32) -> TraceEvent {
        TraceEvent { time_ms, change, member }
    }

    #[test]
    fn a_trace_is_seen_look_by_look() {
        let events = vec![
            event(1_000, JoinOrLeave::Join, 2),
            event(10_000, JoinOrLeave::Join, 3),
            event(10_001, JoinOrLeave::Leave, 0),
            event(35_000, JoinOrLeave::Leave, 1),
        ];
        let trace = Trace::new(vec![0, 1], events).expect("it can be");
        let seen = observations(&trace, 10.0);
        let told: Vec<_> = seen.iter().map(|one| (one.members, one.joins, one.leaves)).collect();
        assert_eq!(told, [(4, 2.0, 0.0), (3, 0.0, 1.0), (3, 0.0, 0.0), (2, 0.0, 1.0)]);
        assert!(seen.iter().all(|one| one.seconds == 10.0));
    }

    /// Numbers of members go up and down, and so does which scheme is best.
    #[test]
    #[ignore = "long: half a minute, random loads of a group that adapts"]
    fn a_policy_is_not_led_astray_by_numbers_that_go_up_and_down() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios/auto.toml");
        let scenario = AdaptiveScenario::load(&path).expect("it can be read").expect("it is one");
        let trial = try_policy(&scenario, &|| false, &|_| {}).expect("it runs");
        let PolicyTrial { phases, replay } = trial.expect("something fits");
        assert!(replay.changes.len() <= replay.best_changes.len() + 1, "{:?}", replay.changes);
        assert!(replay.adaptive <= 1.02 * replay.kept[0].1, "{replay:?}");
        assert!(phases.windows(2).all(|two| two[0].until == two[1].from));
    }

    #[test]
    fn sizes_are_simulated_nearly_as_they_are() {
        for members in 2..5_000 {
            let ratio = f64::from(near(members)) / f64::from(members);
            assert!((0.66..1.5).contains(&ratio), "{members}");
            assert!(members < 10 || (0.85..1.15).contains(&ratio), "{members}");
        }
    }
}
