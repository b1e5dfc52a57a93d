//! The decision: requirements and grounds in, an answer out.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use crate::assessment::{Grounds, GroupDevices, Prospect};
use crate::decision::{
    Assessment, Candidate, Decision, ExcludedScheme, Quantity, Reason, TippingPoint,
};
use crate::equals::{by_cost, equals};
use crate::evidence::POST_QUANTUM;
use crate::exclusion::{by_limits, by_nature, distance, given_up};
use crate::moment::Moment;
use crate::requirements::{Impossible, Requirements};
use crate::{registry, spelling, words};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ChooseError {
    /// No group can have these requirements.
    Impossible(Impossible),
    /// There is no evidence by which this requirement could be judged.
    NoGround {
        /// The requirement's field.
        field: &'static str,
        /// Why not, and what to do about it.
        why: &'static str,
    },
    /// A requirement names what is not there.
    UnknownName {
        /// The requirement's field.
        field: &'static str,
        /// What it names: `board`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
}

/// Chooses a scheme with its parameters, with the grounds that come with the program.
pub fn choose(requirements: &Requirements) -> Result<Decision, ChooseError> {
    choose_on(requirements, &Grounds::shipped())
}

/// Chooses on other grounds.
pub fn choose_on(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Decision, ChooseError> {
    let field = CandidateSet::new(requirements, grounds)?;
    let mut decision = field.decide(requirements);
    // This takes far longer than all else.
    decision.turns = turns(requirements, &field, decision.recommended.as_ref());
    decision.in_short = words::in_short(&decision, requirements);
    Ok(decision)
}

/// Does the same without looking for where the recommendation turns: faster, for whoever decides
/// anew.
pub fn decide_on(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Decision, ChooseError> {
    Ok(CandidateSet::new(requirements, grounds)?.decide(requirements))
}

/// Checks that a group can have these requirements, and that there is a ground for whatever they name.
/// What no model knows passes: it can be simulated.
pub(crate) fn check(requirements: &Requirements, grounds: &Grounds<'_>) -> Result<(), ChooseError> {
    requirements.validate().map_err(ChooseError::Impossible)?;
    CandidateSet::new(&requirements.as_modelled(), grounds).map(drop)
}

/// Returns the decision among these candidates, which meet all requirements: the part of a
/// [`Decision`] that depends on nothing else. `equals` are those that are equal to the cheapest one,
/// the recommended one first. Whoever simulates candidates decides with it.
pub fn decide_among(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    mut candidates: Vec<Assessment>,
    equals: Vec<Candidate>,
) -> Decision {
    candidates.sort_by(by_cost);
    let recommended = candidates.iter().find(|one| Some(&one.candidate) == equals.first()).cloned();
    let is_recommended = |one: &Assessment| Some(&one.candidate) == equals.first();
    let is_beaten = |one: &Assessment| candidates.iter().any(|other| beats(other, one));
    let others = candidates.iter().filter(|one| !is_recommended(one)).cloned();
    let (beaten, on_front): (Vec<_>, Vec<_>) = others.partition(is_beaten);
    let known = recommended.as_ref().and_then(|recommended| {
        let variant = &recommended.candidate.variant;
        grounds.evidence.known().iter().find(|known| known.variant == *variant)
    });
    Decision {
        given_up: known.map_or_else(Vec::new, |known| given_up(requirements, &known.confirmed)),
        equals,
        front: recommended.clone().into_iter().chain(on_front).collect(),
        beaten,
        recommended,
        ..Decision::default()
    }
}

/// Returns the recommendation alone, on other grounds: faster, for maps and tables.
pub fn recommend_on(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Option<Assessment>, ChooseError> {
    Ok(CandidateSet::new(requirements, grounds)?.equals(requirements).into_iter().next())
}

/// Returns all candidates that no requirement but a limit rules out, with their figures, by
/// ascending cost. Whoever simulates them can see which limits they keep.
pub fn contenders_on(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
) -> Result<Vec<Assessment>, ChooseError> {
    let field = CandidateSet::new(requirements, grounds)?;
    let mut all = Vec::new();
    for (candidate, reasons) in field.candidates(requirements) {
        if reasons.is_empty() {
            field.assess(requirements, &candidate, |assessment, _| all.push(assessment));
        }
    }
    all.sort_by(by_cost);
    Ok(all)
}

/// Returns the figures of one candidate, and the limits that it exceeds. `None` if it cannot do what
/// the group needs.
pub fn assess_on(
    requirements: &Requirements,
    grounds: &Grounds<'_>,
    candidate: &Candidate,
) -> Result<Option<(Assessment, Vec<Reason>)>, ChooseError> {
    let field = CandidateSet::new(requirements, grounds)?;
    let mut with_its_quality = requirements.clone();
    with_its_quality.network.qos = Some(candidate.qos);
    let mut assessed = None;
    field.assess(&with_its_quality, candidate, |assessment, exceeded| {
        assessed = Some((assessment, exceeded));
    });
    Ok(assessed)
}

struct CandidateSet<'a> {
    grounds: Grounds<'a>,
    devices: GroupDevices,
}

impl<'a> CandidateSet<'a> {
    fn new(requirements: &Requirements, grounds: &Grounds<'a>) -> Result<Self, ChooseError> {
        requirements.validate().map_err(ChooseError::Impossible)?;
        let devices = GroupDevices::of(&requirements.devices)?;
        if requirements.limits.flash.is_some() && devices.member.counts.is_none() {
            return Err(ChooseError::NoGround { field: "limits.flash", why: NOT_WEIGHED });
        }
        if let Some(field) = requirements.beyond_model() {
            return Err(ChooseError::NoGround { field, why: NOT_MODELLED });
        }
        let security = &requirements.security;
        for (field, adversary, claims) in [
            ("security.passive", "passive/", &security.passive),
            ("security.active", "active/", &security.active),
        ] {
            let confirmed = grounds.evidence.known().iter().flat_map(|known| &known.confirmed);
            let mut known: Vec<_> =
                confirmed.filter_map(|claim| claim.strip_prefix(adversary)).collect();
            known.sort_unstable();
            known.dedup();
            if let Some(name) = claims.iter().find(|claim| !known.contains(&claim.as_str())) {
                return Err(ChooseError::UnknownName {
                    field,
                    kind: "confirmed claim",
                    name: name.clone(),
                    known: known.into_iter().map(str::to_owned).collect(),
                });
            }
        }
        Ok(Self { grounds: *grounds, devices })
    }

    /// Returns each variant as a candidate, with the reasons that rule it out whatever it costs.
    fn candidates<'r>(
        &'r self,
        requirements: &'r Requirements,
    ) -> impl Iterator<Item = (Candidate, Vec<Reason>)> + 'r {
        self.grounds.evidence.known().iter().filter_map(move |known| {
            let scheme = registry::scheme(&known.variant.scheme)?;
            // Its signatures cost more in everything: nobody takes them who need not.
            if known.variant.suite == POST_QUANTUM && !requirements.security.post_quantum {
                return None;
            }
            let reasons = by_nature(requirements, scheme, known);
            let qos = *qualities(requirements).start();
            Some((Candidate { variant: known.variant.clone(), qos }, reasons))
        })
    }

    /// Assesses a variant with each quality of service. Hands over the figures for the present
    /// size, and the limits that it exceeds at the largest, at the end of the group's life.
    fn assess(
        &self,
        requirements: &Requirements,
        candidate: &Candidate,
        mut take: impl FnMut(Assessment, Vec<Reason>),
    ) {
        let Some(scheme) = registry::scheme(&candidate.variant.scheme) else { return };
        let members = &requirements.members;
        let (present, end) =
            (Moment::of_costs(scheme, members), Moment::of_limits(scheme, members));
        let prospect =
            |moment| Prospect::new(&self.grounds, &self.devices, requirements, candidate, moment);
        let Some(now) = prospect(present) else { return };
        let later = if end == present { None } else { prospect(end) };
        if end != present && later.is_none() {
            return;
        }
        for qos in qualities(requirements) {
            let Some(assessment) = now.assess(requirements, qos) else { continue };
            let exceeded = match later.as_ref().map(|later| later.assess(requirements, qos)) {
                None => by_limits(requirements, &assessment),
                Some(Some(later)) => by_limits(requirements, &later),
                Some(None) => continue,
            };
            take(assessment, exceeded);
        }
    }

    /// Returns the candidates that are equal to the cheapest one, the recommended one first.
    fn equals(&self, requirements: &Requirements) -> Vec<Assessment> {
        let mut meets = Vec::new();
        for (candidate, reasons) in self.candidates(requirements) {
            if reasons.is_empty() {
                self.assess(requirements, &candidate, |assessment, exceeded| {
                    if exceeded.is_empty() {
                        meets.push(assessment);
                    }
                });
            }
        }
        equals(&meets).into_iter().cloned().collect()
    }

    fn decide(&self, requirements: &Requirements) -> Decision {
        let mut meets = Vec::new();
        let mut misses: BTreeMap<String, ExcludedScheme> = BTreeMap::new();
        let mut miss = |candidate: &Candidate, reasons: Vec<Reason>| {
            let scheme = candidate.variant.scheme.clone();
            let candidate = Some(candidate.clone());
            let out = ExcludedScheme { candidate, scheme: scheme.clone(), reasons };
            let is_nearer =
                |known: &ExcludedScheme| distance(&out.reasons) < distance(&known.reasons);
            if misses.get(&scheme).is_none_or(is_nearer) {
                misses.insert(scheme, out);
            }
        };
        for (candidate, reasons) in self.candidates(requirements) {
            if !reasons.is_empty() {
                miss(&candidate, reasons);
                continue;
            }
            let mut is_known = false;
            self.assess(requirements, &candidate, |assessment, exceeded| {
                is_known = true;
                if exceeded.is_empty() {
                    meets.push(assessment);
                } else {
                    miss(&assessment.candidate, exceeded);
                }
            });
            if !is_known {
                miss(&candidate, vec![unknown()]);
            }
        }
        let meet = |scheme: &str| {
            meets.iter().any(|one: &Assessment| one.candidate.variant.scheme == scheme)
        };
        let out = registry::schemes().filter(|scheme| !meet(scheme.id)).map(|scheme| {
            misses.remove(scheme.id).unwrap_or_else(|| ExcludedScheme {
                candidate: None,
                scheme: scheme.id.to_owned(),
                reasons: vec![unknown()],
            })
        });
        let out = out.collect();
        let equals = equals(&meets).into_iter().map(|one| one.candidate.clone()).collect();
        Decision { out, ..decide_among(requirements, &self.grounds, meets, equals) }
    }
}

/// Returns the qualities of service that candidates may have. At QoS 0 a member that misses a change
/// stays behind, and no cost is put on that: it is only for whoever names it.
fn qualities(requirements: &Requirements) -> RangeInclusive<u8> {
    match requirements.network.qos {
        Some(qos) => qos..=qos,
        None => 1..=2,
    }
}

/// The reason of a candidate of which nothing is known in such a group.
fn unknown() -> Reason {
    Reason {
        requirement: "members".to_owned(),
        required: "counts of what the group needs, at its size".to_owned(),
        has: "nobody counted it, or the device has no price for it".to_owned(),
        nearest: None,
    }
}

/// Looks for the values of one requirement at a time at which the recommendation turns: from which
/// on no candidate of its scheme is equal to the cheapest one any more.
fn turns(
    requirements: &Requirements,
    field: &CandidateSet<'_>,
    recommended: Option<&Assessment>,
) -> Vec<TippingPoint> {
    let Some(recommended) = recommended else { return Vec::new() };
    let now = &recommended.candidate;
    let mut turns = Vec::new();
    for (requirement, axis) in AXES {
        let present = (axis.get)(requirements);
        for is_above in [false, true] {
            let at = |value: f64| {
                let mut changed = requirements.clone();
                (axis.set)(&mut changed, value);
                let is_possible = changed.validate().is_ok();
                is_possible.then(|| {
                    let mut equals = field.equals(&changed).into_iter().map(|one| one.candidate);
                    let first = equals.next();
                    match equals.find(|other| is_same_scheme(Some(other), now)) {
                        Some(still) => Some(still),
                        None => first,
                    }
                })
            };
            let mut near = present;
            for factor in [1.5, 3.0, 10.0, 30.0] {
                let base = if present == 0.0 { axis.unit } else { present };
                let far = match is_above {
                    true => axis.round(base * factor).min(axis.range.1),
                    false => axis.round(present / factor).max(axis.range.0),
                };
                let is_further = if is_above { far > near } else { far < near };
                if !is_further {
                    continue;
                }
                match at(far) {
                    Some(other) if is_same_scheme(other.as_ref(), now) => near = far,
                    Some(instead) => {
                        turns.push(axis.narrow(requirement, near, far, instead, now, at));
                        break;
                    }
                    None => break,
                }
            }
        }
    }
    turns
}

/// A turn into another quality of service or degree alone is not worth a sentence.
fn is_same_scheme(one: Option<&Candidate>, other: &Candidate) -> bool {
    one.is_some_and(|one| one.variant.scheme == other.variant.scheme)
}

struct VariedRequirement {
    get: fn(&Requirements) -> f64,
    set: fn(&mut Requirements, f64),
    /// The least and the largest value.
    range: (f64, f64),
    /// Where the search begins if the present value is zero.
    unit: f64,
    is_whole: bool,
}

const AXES: [(&str, VariedRequirement); 4] = [
    (
        "members.now",
        VariedRequirement {
            get: |requirements| f64::from(requirements.members.now),
            set: |requirements, value| {
                let members = &mut requirements.members;
                let most = f64::from(members.at_most()) / f64::from(members.now) * value;
                (members.now, members.most) = (value as u32, most.ceil() as u32);
            },
            range: (2.0, 1_000_000.0),
            unit: 10.0,
            is_whole: true,
        },
    ),
    (
        "members.leaves",
        VariedRequirement {
            get: |requirements| requirements.members.leaves,
            set: |requirements, value| requirements.members.leaves = value,
            range: (0.01, 100_000.0),
            unit: 0.1,
            is_whole: false,
        },
    ),
    (
        "network.loss",
        VariedRequirement {
            get: |requirements| requirements.network.loss,
            set: |requirements, value| requirements.network.loss = value,
            range: (0.0, 20.0),
            unit: 0.5,
            is_whole: false,
        },
    ),
    (
        "network.delay",
        VariedRequirement {
            get: |requirements| requirements.network.delay,
            set: |requirements, value| requirements.network.delay = value,
            range: (1.0, 1_000.0),
            unit: 5.0,
            is_whole: false,
        },
    ),
];

impl VariedRequirement {
    fn round(&self, value: f64) -> f64 {
        if self.is_whole { value.round() } else { value }
    }

    /// Halves the interval in which the recommendation turns, until its ends are 3 % apart.
    fn narrow(
        &self,
        requirement: &str,
        mut near: f64,
        mut far: f64,
        mut instead: Option<Candidate>,
        now: &Candidate,
        at: impl Fn(f64) -> Option<Option<Candidate>>,
    ) -> TippingPoint {
        let is_above = far > near;
        for _ in 0..6 {
            let middle = self.round(f64::midpoint(near, far));
            if middle == near || middle == far || (far - near).abs() < 0.03 * far.max(near) {
                break;
            }
            match at(middle) {
                Some(other) if is_same_scheme(other.as_ref(), now) => near = middle,
                Some(other) => (far, instead) = (middle, other),
                None => break,
            }
        }
        TippingPoint { requirement: requirement.to_owned(), at: far, is_above, instead }
    }
}

/// Whether one candidate is at least as good in all that a member or its owner pays, and better in
/// something.
fn beats(one: &Assessment, other: &Assessment) -> bool {
    let mut is_better = one.cost < other.cost;
    for quantity in COMPARED {
        let (Some(ours), Some(theirs)) = (one.figure(quantity), other.figure(quantity)) else {
            return false;
        };
        // Differences below a thousandth are no reason for anything.
        if ours.value > theirs.value * 1.001 {
            return false;
        }
        is_better |= ours.value * 1.001 < theirs.value;
    }
    is_better && one.cost <= other.cost
}

const NOT_WEIGHED: &str = "programs were weighed for microcontrollers alone; give a devices.member \
                           such as cortex-m4 or nrf52840";
const NOT_MODELLED: &str = "this is not in the model of completion times; leave it out, or let \
                            groupkey choose simulate candidates with it";

const COMPARED: [Quantity; 5] = [
    Quantity::Completion,
    Quantity::CompletionOf99,
    Quantity::Energy,
    Quantity::Received,
    Quantity::Keys,
];

impl ChooseError {
    /// Returns the requirement's field, as in a file: `network.loss`.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Impossible(Impossible { field, .. })
            | Self::NoGround { field, .. }
            | Self::UnknownName { field, .. } => field,
        }
    }

    /// Returns what is wrong with the field, to be read behind its name.
    pub fn problem(&self) -> String {
        match self {
            Self::Impossible(impossible) => format!("must be {}", impossible.expected),
            Self::NoGround { why, .. } => format!("cannot be judged: {why}"),
            Self::UnknownName { kind, name, known, .. } => {
                let known = known.iter().map(String::as_str);
                format!("names what is not there: {}", spelling::unknown(kind, name, known))
            }
        }
    }
}

impl fmt::Display for ChooseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.field(), self.problem())
    }
}

impl std::error::Error for ChooseError {}
