//! A policy at work over a recorded life of a group, and what other ways would have cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Adaptation, AdaptationPolicy, DAY, HOUR, Observation, rejoins};
use crate::assessment::{Grounds, change_cost};
use crate::choice::{ChooseError, assess_on, recommend_on};
use crate::decision::Candidate;
use crate::requirements::Requirements;

/// What a recorded life of a group cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReplayedCost {
    /// The candidate at the beginning.
    pub start: Candidate,
    /// With the policy, its changes included.
    pub adaptive: f64,
    /// The observations in which the candidate in force exceeded a limit, because the group had
    /// just changed.
    pub exceeded: usize,
    /// The changes, each with the index of the observation after which it was made.
    pub changes: Vec<(usize, Candidate)>,
    /// With the best sequence of candidates in hindsight that keeps all limits, its changes included.
    pub hindsight: f64,
    /// The changes of that sequence.
    pub best_changes: Vec<(usize, Candidate)>,
    /// With each candidate kept throughout, the cheapest first; infinite if it exceeds a limit.
    pub kept: Vec<(Candidate, f64)>,
}

/// Runs a policy over a recorded life, beginning with what is best for the first observation. The
/// candidates in hindsight are those that are best in some part of the life. `None` if nothing meets
/// the requirements at the beginning.
pub fn replay(
    life: &[Observation],
    policy: AdaptationPolicy,
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Option<ReplayedCost>, ChooseError> {
    let judge = &mut |requirements: &Requirements, candidate: &Candidate| {
        let assessed = assess_on(requirements, grounds, candidate)?;
        Ok(assessed.map(|(assessment, reasons)| (assessment.cost, !reasons.is_empty())))
    };
    replay_judged(life, policy, requirements, grounds, judge, &|_| {})
}

/// What a candidate costs a day in a group with these requirements, and whether it exceeds a limit.
/// `None` if it cannot do what the group needs.
pub type Judge<'a, E> =
    &'a mut dyn FnMut(&Requirements, &Candidate) -> Result<Option<(f64, bool)>, E>;

/// As [`replay`], with another judge of what candidates cost. What a change costs is modelled.
/// `on_progress` is told how many observations are done.
pub fn replay_judged<E: From<ChooseError>>(
    life: &[Observation],
    policy: AdaptationPolicy,
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    judge: Judge<'_, E>,
    on_progress: &dyn Fn(usize),
) -> Result<Option<ReplayedCost>, E> {
    let Some(first) = life.first() else { return Ok(None) };
    let mut start = Adaptation::new(policy, requirements.clone(), Candidate::default());
    start.note(first);
    let begin = start.requirements_at(first.members, start.seen.last);
    let Some(best) = recommend_on(&begin, grounds)? else { return Ok(None) };
    let start = best.candidate;
    let mut adaptation = Adaptation::new(policy, requirements.clone(), start.clone());
    let mut candidates = vec![start.clone()];
    let mut costs = ObservedCosts { requirements, judge, known: BTreeMap::new() };
    let every = life.len() / LOOKS + 1;
    let (mut adaptive, mut exceeded, mut changes) = (0.0, 0, Vec::new());
    for (index, observation) in life.iter().enumerate() {
        let (cost, exceeds) = costs.of(adaptation.present(), observation)?;
        adaptive += cost;
        exceeded += usize::from(exceeds);
        if let Some(proposal) = adaptation.observe(observation, grounds)? {
            let costs = change_cost(grounds, requirements, &proposal.to, observation.members);
            adaptive += costs.unwrap_or_default();
            changes.push((index, proposal.to.clone()));
            if !candidates.contains(&proposal.to) {
                candidates.push(proposal.to.clone());
            }
            adaptation.changed(proposal.to);
        }
        let members = observation.members;
        if index % every == 0
            && let Some(change) = adaptation.outlook(members, grounds)?.change
            && !candidates.contains(&change.to)
        {
            candidates.push(change.to);
        }
        on_progress(index + 1);
    }
    let kept = kept_throughout(&candidates, life, &mut costs)?;
    let (hindsight, best_changes) = best_sequence(&candidates, life, &mut costs, grounds)?;
    Ok(Some(ReplayedCost { start, adaptive, exceeded, changes, hindsight, best_changes, kept }))
}

/// The most observations at which candidates in hindsight are looked for, about.
const LOOKS: usize = 1_000;

/// What an observed time costs with a candidate.
struct ObservedCosts<'a, E> {
    requirements: &'a Requirements,
    judge: Judge<'a, E>,
    known: BTreeMap<(Candidate, [u64; 5]), (f64, bool)>,
}

impl<E> ObservedCosts<'_, E> {
    /// Returns the cost, which is infinite if the candidate exceeds a limit.
    fn within_limits(
        &mut self,
        candidate: &Candidate,
        observation: &Observation,
    ) -> Result<f64, E> {
        let (cost, exceeds) = self.of(candidate, observation)?;
        Ok(if exceeds { f64::INFINITY } else { cost })
    }

    /// Returns the cost, and whether the candidate exceeds a limit.
    fn of(&mut self, candidate: &Candidate, observation: &Observation) -> Result<(f64, bool), E> {
        let Observation { seconds, members, mut joins, mut leaves, rekeys, .. } = *observation;
        if rejoins(candidate) {
            joins += observation.catch_ups;
            leaves += observation.catch_ups;
        }
        let key = [f64::from(members), seconds, joins, leaves, rekeys].map(f64::to_bits);
        let key = (candidate.clone(), key);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let (mut cost, mut exceeds) = (0.0, false);
        if members >= 2 && joins + leaves + rekeys > 0.0 && seconds > 0.0 {
            let mut then = self.requirements.clone();
            let hourly = |count: f64| count * HOUR / seconds;
            let of = &mut then.members;
            of.most = 0;
            (of.now, of.joins, of.leaves) = (members, hourly(joins), hourly(leaves));
            of.rekeys = hourly(rekeys);
            // Who cannot do what is needed may not be chosen, whatever it costs.
            let (a_day, exceeds_then) =
                (self.judge)(&then, candidate)?.unwrap_or((f64::INFINITY, true));
            (cost, exceeds) = (a_day * seconds / DAY, exceeds_then);
        }
        self.known.insert(key, (cost, exceeds));
        Ok((cost, exceeds))
    }
}

fn kept_throughout<E>(
    candidates: &[Candidate],
    life: &[Observation],
    costs: &mut ObservedCosts<'_, E>,
) -> Result<Vec<(Candidate, f64)>, E> {
    let mut kept = Vec::new();
    for candidate in candidates {
        let mut sum = 0.0;
        for observation in life {
            sum += costs.within_limits(candidate, observation)?;
        }
        kept.push((candidate.clone(), sum));
    }
    kept.sort_by(|one, other| one.1.total_cmp(&other.1));
    Ok(kept)
}

/// The cheapest sequence of candidates, by dynamic programming over the observations.
fn best_sequence<E>(
    candidates: &[Candidate],
    life: &[Observation],
    costs: &mut ObservedCosts<'_, E>,
    grounds: &Grounds<'_>,
) -> Result<(f64, Vec<(usize, Candidate)>), E> {
    // The cheapest way to be with each candidate, and its changes.
    let mut ways: Vec<(f64, Vec<(usize, usize)>)> = vec![(0.0, Vec::new()); candidates.len()];
    for (index, observation) in life.iter().enumerate() {
        if index > 0 {
            let cheapest = (0..ways.len()).min_by(|&a, &b| ways[a].0.total_cmp(&ways[b].0));
            let Some(cheapest) = cheapest else { break };
            let (from, changes) = ways[cheapest].clone();
            for (to, candidate) in candidates.iter().enumerate() {
                let members = life[index - 1].members;
                let change = change_cost(grounds, costs.requirements, candidate, members);
                let with = from + change.unwrap_or(f64::INFINITY);
                if with < ways[to].0 {
                    let mut changes = changes.clone();
                    changes.push((index - 1, to));
                    ways[to] = (with, changes);
                }
            }
        }
        for (way, candidate) in ways.iter_mut().zip(candidates) {
            way.0 += costs.within_limits(candidate, observation)?;
        }
    }
    let best = ways.into_iter().min_by(|one, other| one.0.total_cmp(&other.0));
    let (cost, changes) = best.unwrap_or_default();
    let named = changes.into_iter().map(|(index, to)| (index, candidates[to].clone()));
    Ok((cost, named.collect()))
}
