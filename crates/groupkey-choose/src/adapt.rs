//! When a living group should change its scheme.
//!
//! [`Adaptation`] sees what happens in a group, and proposes a change if another candidate would
//! save more than the change costs. It changes rarely: there is a floor between changes, and what a
//! change saves within the horizon must exceed its cost by a margin. It has no clock and no
//! randomness: the same observations give the same proposals.
//!
//! [`replay`] runs it over a recorded life of a group, and compares what that cost with the best
//! sequence of candidates in hindsight and with every candidate kept throughout.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::assessment::{Grounds, change_cost};
use crate::candidate::Candidate;
use crate::choice::{ChooseError, assess_on, recommend_on};
use crate::decision::Assessment;
use crate::requirements::Requirements;

/// How readily a group changes its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Policy {
    /// The least time between two changes (s).
    pub floor: f64,
    /// The time within which a change must pay (s).
    pub horizon: f64,
    /// The share by which what it saves must exceed its cost.
    pub margin: f64,
    /// The time over which joins and leaves are averaged (s).
    pub window: f64,
}

/// What happened in a group since the last observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Observation {
    /// How long it was (s).
    pub seconds: f64,
    /// Members now.
    pub members: u32,
    /// Members that joined.
    pub joins: f64,
    /// Members that left or were evicted.
    pub leaves: f64,
    /// Changes of the key without a join or leave.
    pub rekeys: f64,
}

/// A change that would pay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Proposal {
    /// The candidate in force.
    pub from: Candidate,
    /// The better one.
    pub to: Candidate,
    /// What it saves a day, by the weights of the requirements.
    pub saves: f64,
    /// What the change costs, by the same weights.
    pub costs: f64,
    /// Whether the candidate in force exceeds a limit. Then a change need not pay.
    pub is_needed: bool,
}

/// A policy at work.
#[derive(Clone, Debug)]
pub struct Adaptation {
    policy: Policy,
    requirements: Requirements,
    present: Candidate,
    /// Time since the last change (s).
    age: f64,
    /// Averages (an hour): joins, leaves, rekeys.
    rates: Option<[f64; 3]>,
    /// The same of the last observation alone.
    last: [f64; 3],
    is_pinned: bool,
    vetoed: Vec<Candidate>,
}

impl Adaptation {
    /// Begins with a candidate in force. The requirements say what does not change: the network,
    /// devices, limits, security and weights.
    pub fn new(policy: Policy, requirements: Requirements, present: Candidate) -> Self {
        Self {
            policy,
            requirements,
            present,
            age: 0.0,
            rates: None,
            last: [0.0; 3],
            is_pinned: false,
            vetoed: Vec::new(),
        }
    }

    /// Returns the candidate in force.
    pub const fn present(&self) -> &Candidate {
        &self.present
    }

    /// Keeps the candidate in force until it is unpinned.
    pub const fn pin(&mut self, is_pinned: bool) {
        self.is_pinned = is_pinned;
    }

    /// Never proposes this candidate again.
    pub fn veto(&mut self, candidate: Candidate) {
        self.vetoed.push(candidate);
    }

    /// Notes that the group has changed to this candidate.
    pub fn changed(&mut self, to: Candidate) {
        (self.present, self.age) = (to, 0.0);
    }

    /// Takes an observation. Returns a change that would pay now, if there is one.
    pub fn observe(
        &mut self,
        observation: &Observation,
        grounds: &Grounds<'_>,
    ) -> Result<Option<Proposal>, ChooseError> {
        self.age += observation.seconds;
        self.average(observation);
        if self.is_pinned || self.age < self.policy.floor || observation.members < 2 {
            return Ok(None);
        }
        self.propose(observation.members, grounds)
    }

    /// Returns the change that would pay in a group of this many members, whatever the floor says.
    pub fn propose(
        &self,
        members: u32,
        grounds: &Grounds<'_>,
    ) -> Result<Option<Proposal>, ChooseError> {
        let rates = self.rates.unwrap_or_default();
        let requirements = self.requirements_at(members, rates);
        let present = assess_on(&requirements, grounds, &self.present)?;
        let Some(best) = recommend_on(&requirements, grounds)? else { return Ok(None) };
        if best.candidate == self.present || self.vetoed.contains(&best.candidate) {
            return Ok(None);
        }
        let (is_needed, mut saves) = match &present {
            Some((present, exceeded)) => (!exceeded.is_empty(), present.cost - best.cost),
            None => (true, 0.0),
        };
        // After a busy time the average still says that it is busy. A change must pay by both.
        let lately = self.requirements_at(members, self.last);
        let of_late = [&self.present, &best.candidate].map(|one| assess_on(&lately, grounds, one));
        let [present, other] = of_late;
        if let (Some((present, _)), Some((other, _))) = (present?, other?) {
            saves = saves.min(present.cost - other.cost);
        }
        let costs = change_cost(grounds, &requirements, &best.candidate, members);
        let Some(costs) = costs else { return Ok(None) };
        let within = saves * self.policy.horizon / DAY;
        let pays = within > (1.0 + self.policy.margin) * costs;
        let proposal = || Proposal {
            from: self.present.clone(),
            to: best.candidate.clone(),
            saves,
            costs,
            is_needed,
        };
        Ok((pays || is_needed).then(proposal))
    }

    fn average(&mut self, observation: &Observation) {
        let Observation { seconds, joins, leaves, rekeys, .. } = *observation;
        if seconds <= 0.0 {
            return;
        }
        let seen = [joins, leaves, rekeys].map(|count| count * HOUR / seconds);
        self.last = seen;
        let share = -(-seconds / self.policy.window).exp_m1();
        let mut rates = self.rates.unwrap_or(seen);
        for (rate, seen) in rates.iter_mut().zip(seen) {
            *rate += share * (seen - *rate);
        }
        self.rates = Some(rates);
    }

    fn requirements_at(&self, members: u32, rates: [f64; 3]) -> Requirements {
        let mut requirements = self.requirements.clone();
        let [joins, leaves, rekeys] = rates;
        let of = &mut requirements.members;
        // A group that grows further changes again.
        of.most = members.saturating_add(members / 4);
        (of.now, of.joins, of.leaves) = (members, joins, leaves);
        // A scheme without rekeys is no reason to change away: it was chosen without them.
        of.rekeys = if self.requirements.members.rekeys > 0.0 { rekeys } else { 0.0 };
        requirements
    }
}

/// What a recorded life of a group cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Replay {
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
    policy: Policy,
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Option<Replay>, ChooseError> {
    let Some(first) = life.first() else { return Ok(None) };
    let mut start = Adaptation::new(policy, requirements.clone(), Candidate::default());
    start.average(first);
    let Some(best) = recommend_on(&start.requirements_at(first.members, start.last), grounds)?
    else {
        return Ok(None);
    };
    let mut adaptation = Adaptation::new(policy, requirements.clone(), best.candidate.clone());
    let mut candidates = vec![best.candidate];
    let mut costs = Costs { requirements, grounds, known: BTreeMap::new() };
    let (mut adaptive, mut exceeded, mut changes) = (0.0, 0, Vec::new());
    for (index, observation) in life.iter().enumerate() {
        let (cost, exceeds) = costs.of(adaptation.present(), observation)?;
        adaptive += cost;
        exceeded += usize::from(exceeds);
        let window = Policy { floor: 0.0, margin: 0.0, ..policy };
        let mut greedy = adaptation.clone();
        greedy.policy = window;
        if let Some(proposal) = adaptation.observe(observation, grounds)? {
            let costs = change_cost(grounds, requirements, &proposal.to, observation.members);
            adaptive += costs.unwrap_or_default();
            changes.push((index, proposal.to.clone()));
            adaptation.changed(proposal.to);
        }
        if let Some(proposal) = greedy.observe(observation, grounds)?
            && !candidates.contains(&proposal.to)
        {
            candidates.push(proposal.to);
        }
    }
    let kept = kept_throughout(&candidates, life, &mut costs)?;
    let (hindsight, best_changes) = best_sequence(&candidates, life, &mut costs)?;
    Ok(Some(Replay { adaptive, exceeded, changes, hindsight, best_changes, kept }))
}

/// What an observed time costs with a candidate.
struct Costs<'a> {
    requirements: &'a Requirements,
    grounds: &'a Grounds<'a>,
    known: BTreeMap<(Candidate, [u64; 4]), (f64, bool)>,
}

impl Costs<'_> {
    /// Returns the cost, which is infinite if the candidate exceeds a limit.
    fn within_limits(
        &mut self,
        candidate: &Candidate,
        observation: &Observation,
    ) -> Result<f64, ChooseError> {
        let (cost, exceeds) = self.of(candidate, observation)?;
        Ok(if exceeds { f64::INFINITY } else { cost })
    }

    /// Returns the cost, and whether the candidate exceeds a limit.
    fn of(
        &mut self,
        candidate: &Candidate,
        observation: &Observation,
    ) -> Result<(f64, bool), ChooseError> {
        let Observation { seconds, members, joins, leaves, rekeys } = *observation;
        let key = [f64::from(members), joins, leaves, rekeys].map(f64::to_bits);
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
            let assessed = assess_on(&then, self.grounds, candidate)?;
            // Who cannot do what is needed may not be chosen, whatever it costs.
            let (a_day, reasons) = assessed
                .map_or((f64::INFINITY, Vec::new()), |(Assessment { cost, .. }, out)| (cost, out));
            (cost, exceeds) = (a_day * seconds / DAY, !reasons.is_empty());
        }
        self.known.insert(key, (cost, exceeds));
        Ok((cost, exceeds))
    }
}

fn kept_throughout(
    candidates: &[Candidate],
    life: &[Observation],
    costs: &mut Costs<'_>,
) -> Result<Vec<(Candidate, f64)>, ChooseError> {
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
fn best_sequence(
    candidates: &[Candidate],
    life: &[Observation],
    costs: &mut Costs<'_>,
) -> Result<(f64, Vec<(usize, Candidate)>), ChooseError> {
    // The cheapest way to be with each candidate, and its changes.
    let mut ways: Vec<(f64, Vec<(usize, usize)>)> = vec![(0.0, Vec::new()); candidates.len()];
    for (index, observation) in life.iter().enumerate() {
        if index > 0 {
            let cheapest = (0..ways.len()).min_by(|&a, &b| ways[a].0.total_cmp(&ways[b].0));
            let Some(cheapest) = cheapest else { break };
            let (from, changes) = ways[cheapest].clone();
            for (to, candidate) in candidates.iter().enumerate() {
                let members = life[index - 1].members;
                let change = change_cost(costs.grounds, costs.requirements, candidate, members);
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

const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;

impl Default for Policy {
    fn default() -> Self {
        Self { floor: HOUR, horizon: 6.0 * HOUR, margin: 0.25, window: HOUR / 2.0 }
    }
}
