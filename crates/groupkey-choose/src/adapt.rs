//! When a living group should change its scheme.
//!
//! [`Adaptation`] sees what happens in a group, and proposes a change if another candidate would
//! save more than the change costs. It changes rarely: there is a floor between changes, what a
//! change saves within the horizon must exceed its cost by a margin, and a part of its cost must
//! have been lost already because it was not made. So numbers of members that go up and down move
//! nothing. Candidates that are [equal](crate::equals) as far as the model knows save nothing, so
//! none of them takes another one's place. It has no clock and no randomness: the same observations
//! give the same proposals.
//!
//! [`replay`] runs it over a recorded life of a group, and compares what that cost with the best
//! sequence of candidates in hindsight and with every candidate kept throughout. [`replay_judged`]
//! leaves it to the caller what a candidate costs: a simulation may say so instead of the model by
//! which the policy decides.

mod averages;
mod replay;
mod rivals;

use groupkey::catalogue::Recovery;
use serde::{Deserialize, Serialize};

use self::averages::{Rates, RollingAverages};
pub use self::replay::{Judge, ReplayedCost, replay, replay_judged};
use self::rivals::{Rival, Rivals};
use crate::assessment::{Grounds, change_cost};
use crate::choice::{ChooseError, assess_on, equals_on};
use crate::decision::{Assessment, Candidate, Reason};
use crate::equals::{equals, is_equal};
use crate::registry;
use crate::requirements::{Requirements, Sleep};

/// How readily a group changes its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AdaptationPolicy {
    /// The least time between two changes (s).
    pub floor: f64,
    /// The time within which a change must pay (s).
    pub horizon: f64,
    /// The share by which what it saves must exceed its cost.
    pub margin: f64,
    /// The time over which joins and leaves, and what another candidate saves, are averaged (s).
    pub window: f64,
    /// How many times its own cost the other candidate must have been able to save already.
    pub patience: f64,
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
    /// Members that had missed a change and asked for the key. A member of a scheme without
    /// catching up leaves and joins instead, and counts there.
    pub catch_ups: f64,
    /// Time until the broker had acknowledged the first message of a change (ms), in the median of
    /// the changes. It shows the delay of the service's link. `None` without a change, and at QoS 0.
    pub round_trip: Option<f64>,
    /// Time until the broker had acknowledged all messages of a change (ms), in the median. No
    /// change is complete sooner. `None` without a change.
    pub complete: Option<f64>,
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

/// What the policy would do now, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Outlook {
    /// The requirements, with what was seen.
    pub requirements: Requirements,
    /// The candidate in force.
    pub present: Candidate,
    /// The change to what is best for these requirements, whether it is made or not. `None` if the
    /// candidate in force is best, or equal to the best one as far as the model knows.
    pub change: Option<Proposal>,
    /// Why the group keeps the candidate in force. `None` if the policy changes it now.
    pub stays: Option<Stays>,
}

/// Why a group keeps its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stays {
    /// It is the best one, or equal to it as far as the model knows.
    Best,
    /// Nothing meets the requirements.
    NothingFits,
    /// The change costs more than it saves within the horizon, or not enough less.
    DoesNotPay,
    /// The change would pay if all stays as it is, but has not been better for long enough.
    Unproven,
    /// The operator does not want the better one.
    Vetoed,
    /// The operator keeps it.
    Pinned,
    /// The last change, or the beginning, is too short ago.
    Floor {
        /// What is left of the least time between two changes (s).
        seconds: f64,
    },
    /// The group has fewer than two members.
    TooFew,
}

/// A policy at work.
#[derive(Clone, Debug)]
pub struct Adaptation {
    policy: AdaptationPolicy,
    requirements: Requirements,
    present: Candidate,
    /// Time since the last change (s).
    age: f64,
    seen: RollingAverages,
    rivals: Rivals,
    is_pinned: bool,
    vetoed: Vec<Candidate>,
}

impl Adaptation {
    /// Begins with a candidate in force. The requirements say what does not change: the network,
    /// devices, limits, security and weights.
    pub fn new(policy: AdaptationPolicy, requirements: Requirements, present: Candidate) -> Self {
        Self {
            policy,
            requirements,
            present,
            age: 0.0,
            seen: RollingAverages::default(),
            rivals: Rivals::default(),
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

    /// Returns whether the candidate in force is kept.
    pub const fn is_pinned(&self) -> bool {
        self.is_pinned
    }

    /// Never proposes this candidate again.
    pub fn veto(&mut self, candidate: Candidate) {
        if !self.vetoed.contains(&candidate) {
            self.vetoed.push(candidate);
        }
    }

    /// Returns the candidates that are never proposed.
    pub fn vetoed(&self) -> &[Candidate] {
        &self.vetoed
    }

    /// Proposes every candidate again.
    pub fn lift_vetoes(&mut self) {
        self.vetoed.clear();
    }

    /// Notes that the group has changed to this candidate.
    pub fn changed(&mut self, to: Candidate) {
        (self.present, self.age) = (to, 0.0);
        self.seen.forget_changes();
        self.rivals.clear();
    }

    /// Takes an observation. Returns a change that would pay now, if there is one.
    pub fn observe(
        &mut self,
        observation: &Observation,
        grounds: &Grounds<'_>,
    ) -> Result<Option<Proposal>, ChooseError> {
        self.note(observation);
        self.compare(observation, grounds)?;
        if self.is_pinned || self.age < self.policy.floor {
            return Ok(None);
        }
        let outlook = self.outlook(observation.members, grounds)?;
        Ok(outlook.change.filter(|_| outlook.stays.is_none()))
    }

    /// Takes an observation, and decides nothing.
    pub fn note(&mut self, observation: &Observation) {
        self.age += observation.seconds;
        self.seen.note(observation, self.policy.window, self.present.qos);
    }

    /// Returns the change that would pay in a group of this many members if all stays as it is,
    /// although the candidate in force is pinned, or the last change is too short ago.
    pub fn propose(
        &self,
        members: u32,
        grounds: &Grounds<'_>,
    ) -> Result<Option<Proposal>, ChooseError> {
        let Outlook { change, stays, .. } = self.outlook(members, grounds)?;
        let pays =
            matches!(stays, None | Some(Stays::Unproven | Stays::Pinned | Stays::Floor { .. }));
        Ok(change.filter(|_| pays))
    }

    /// Returns what the policy would do in a group of this many members, and why.
    pub fn outlook(&self, members: u32, grounds: &Grounds<'_>) -> Result<Outlook, ChooseError> {
        let seen = self.requirements_at(members, self.seen.rates());
        let present = self.present.clone();
        let outlook =
            |change, stays| Outlook { requirements: seen.clone(), present, change, stays };
        if members < 2 {
            return Ok(outlook(None, Some(Stays::TooFew)));
        }
        let equals = self.equals(&seen, grounds)?;
        let Some(best) = equals.first() else {
            return Ok(outlook(None, Some(Stays::NothingFits)));
        };
        if equals.iter().any(|equal| equal.candidate == self.present) {
            return Ok(outlook(None, Some(Stays::Best)));
        }
        let (is_needed, saves) = self.savings(&seen, members, best, grounds)?;
        let costs = change_cost(grounds, &self.requirements, &best.candidate, members);
        let Some(costs) = costs else { return Ok(outlook(None, Some(Stays::NothingFits))) };
        let from = self.present.clone();
        let of_now = Proposal { from, to: best.candidate.clone(), saves, costs, is_needed };
        let proven = if is_needed { None } else { self.proven(members, grounds) };
        let is_proven = is_needed || proven.is_some();
        let left = self.policy.floor - self.age;
        let proposal = proven.unwrap_or(of_now);
        let stays = match () {
            () if self.vetoed.contains(&proposal.to) => Some(Stays::Vetoed),
            () if !is_proven && !self.pays(saves, costs) => Some(Stays::DoesNotPay),
            () if !is_proven => Some(Stays::Unproven),
            () if self.is_pinned => Some(Stays::Pinned),
            () if left > 0.0 => Some(Stays::Floor { seconds: left }),
            () => None,
        };
        Ok(outlook(Some(proposal), stays))
    }

    /// Returns the change that saves most, of those that have been better for long enough.
    fn proven(&self, members: u32, grounds: &Grounds<'_>) -> Option<Proposal> {
        let rivals = self.rivals.iter().filter(|rival| !self.vetoed.contains(&rival.candidate));
        let proposals = rivals.filter_map(|Rival { candidate, saved, rate }| {
            let costs = change_cost(grounds, &self.requirements, candidate, members)?;
            let is_proven = *saved >= self.policy.patience * costs && self.pays(*rate, costs);
            let (from, to) = (self.present.clone(), candidate.clone());
            is_proven.then_some(Proposal { from, to, saves: *rate, costs, is_needed: false })
        });
        proposals.max_by(|one, other| one.saves.total_cmp(&other.saves))
    }

    fn pays(&self, saves: f64, costs: f64) -> bool {
        saves * self.policy.horizon / DAY > (1.0 + self.policy.margin) * costs
    }

    /// Notes what others would have saved.
    fn compare(
        &mut self,
        observation: &Observation,
        grounds: &Grounds<'_>,
    ) -> Result<(), ChooseError> {
        let Observation { members, seconds, .. } = *observation;
        if members < 2 || seconds <= 0.0 {
            return Ok(());
        }
        let rates = self.seen.rates();
        let seen = self.requirements_at(members, rates);
        let equals = self.equals(&seen, grounds)?;
        let Some(best) = equals.into_iter().next() else { return Ok(()) };
        let present = self.assess(&seen, &self.present, rates, grounds)?;
        let Some((present, _)) = present else { return Ok(()) };
        let share = -(-seconds / self.policy.window).exp_m1();
        let mut rivals = std::mem::take(&mut self.rivals);
        let noted = rivals.note(best.candidate, seconds / DAY, share, |rival| {
            let assessed = self.assess(&seen, rival, rates, grounds)?;
            let fits = assessed.filter(|(_, exceeded)| exceeded.is_empty());
            Ok(fits.map(|(rival, _)| saving(&present, &rival)))
        });
        self.rivals = rivals;
        noted
    }

    /// Returns the candidates that are equal to the cheapest one, if members without a way to catch
    /// up join again. The preferred one comes first.
    fn equals(
        &self,
        seen: &Requirements,
        grounds: &Grounds<'_>,
    ) -> Result<Vec<Assessment>, ChooseError> {
        let catch_ups = self.seen.rates()[3];
        if catch_ups == 0.0 {
            return equals_on(seen, grounds);
        }
        let mut catching_up = seen.clone();
        catching_up.presence.sleep = seen.presence.sleep.max(Sleep::CatchUp);
        let rejoining = with_rejoins(seen, catch_ups);
        let mut found = equals_on(&catching_up, grounds)?;
        found.extend(equals_on(&rejoining, grounds)?);
        Ok(equals(&found).into_iter().cloned().collect())
    }

    /// Returns whether the candidate in force exceeds a limit, and what the best one saves a day.
    fn savings(
        &self,
        seen: &Requirements,
        members: u32,
        best: &Assessment,
        grounds: &Grounds<'_>,
    ) -> Result<(bool, f64), ChooseError> {
        let limit = seen.limits.complete;
        let is_late = limit.zip(self.seen.complete()).is_some_and(|(limit, seen)| seen > limit);
        // The candidate in force may stay while it keeps the limits; another one must have room for
        // more members.
        let mut kept = seen.clone();
        kept.members.most = 0;
        let (is_needed, saves) =
            match self.assess(&kept, &self.present, self.seen.rates(), grounds)? {
                Some((present, exceeded)) => {
                    (is_late || !exceeded.is_empty(), saving(&present, best))
                }
                None => (true, 0.0),
            };
        // After a busy time the average still says that it is busy. A change must pay by both.
        let last = self.seen.last;
        let lately = self.requirements_at(members, last);
        let assess = |candidate| self.assess(&lately, candidate, last, grounds);
        Ok(match (assess(&self.present)?, assess(&best.candidate)?) {
            (Some((present, _)), Some((other, _))) => {
                (is_needed, saves.min(saving(&present, &other)))
            }
            _ => (is_needed, saves),
        })
    }

    fn assess(
        &self,
        requirements: &Requirements,
        candidate: &Candidate,
        [.., catch_ups]: Rates,
        grounds: &Grounds<'_>,
    ) -> Result<Option<(Assessment, Vec<Reason>)>, ChooseError> {
        match rejoins(candidate) {
            true => assess_on(&with_rejoins(requirements, catch_ups), grounds, candidate),
            false => assess_on(requirements, grounds, candidate),
        }
    }

    fn requirements_at(&self, members: u32, [joins, leaves, rekeys, _]: Rates) -> Requirements {
        let mut requirements = self.requirements.clone();
        let of = &mut requirements.members;
        // A group that grows further changes again.
        of.most = members.saturating_add(members / 4);
        (of.now, of.joins, of.leaves) = (members, joins, leaves);
        // A scheme without rekeys is no reason to change away: it was chosen without them.
        of.rekeys = if self.requirements.members.rekeys > 0.0 { rekeys } else { 0.0 };
        let delay = &mut requirements.network.delay;
        *delay = delay.max(self.seen.delay().unwrap_or_default().min(LONGEST_DELAY));
        requirements
    }
}

/// Returns what another candidate saves a day. What the model cannot tell from nothing is nothing.
fn saving(present: &Assessment, other: &Assessment) -> f64 {
    let saving = present.cost - other.cost;
    if is_equal(present, other) { saving.min(0.0) } else { saving }
}

/// Returns whether members of a scheme that missed a change must leave and join again.
fn rejoins(candidate: &Candidate) -> bool {
    let scheme = registry::scheme(&candidate.variant.scheme);
    scheme.is_some_and(|scheme| scheme.recovery == Recovery::Rejoin)
}

/// Returns requirements in which so many members an hour leave and join again.
fn with_rejoins(requirements: &Requirements, catch_ups: f64) -> Requirements {
    let mut requirements = requirements.clone();
    requirements.members.joins += catch_ups;
    requirements.members.leaves += catch_ups;
    requirements
}

const HOUR: f64 = 3_600.0;
const DAY: f64 = 24.0 * HOUR;

/// The longest delay that requirements may have (ms).
const LONGEST_DELAY: f64 = 60_000.0;

impl Default for AdaptationPolicy {
    fn default() -> Self {
        Self { floor: HOUR, horizon: 6.0 * HOUR, margin: 0.25, window: HOUR, patience: 4.0 }
    }
}
