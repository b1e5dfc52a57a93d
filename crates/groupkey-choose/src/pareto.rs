//! The front with a tolerance: what of the candidates is left if a small difference counts as none.
//!
//! A candidate stands for another one if it is at most a share epsilon worse in every objective: the
//! multiplicative epsilon-dominance of Laumanns, Thiele, Deb and Zitzler (*Combining convergence and
//! diversity in evolutionary multiobjective optimization*, Evolutionary Computation 10(3), 2002). Those
//! kept are on the exact front. Every candidate is kept, or one that is kept stands for it.
//!
//! Prantl et al. 2023 (doi 10.1007/s10207-023-00692-0) choose within classes, and S002 (section 3) says
//! that schemes without a controller cannot be compared with the others. So they have a front of their
//! own.

use std::cmp::Ordering;

use groupkey::catalogue::Scheme;
use serde::{Deserialize, Serialize};

use crate::decision::{Assessment, Candidate, Decision, Quantity};
use crate::registry;

/// A front with a tolerance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ParetoFront {
    /// Whether its candidates have a controller.
    pub with_controller: bool,
    /// Candidates that meet all requirements, of this kind.
    pub candidates: usize,
    /// Those of them that no other one beats, without a tolerance.
    pub exact: usize,
    /// What is left, by ascending cost.
    pub kept: Vec<Representative>,
}

/// A candidate that is kept, and those that it stands for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Representative {
    /// The candidate.
    pub assessment: Assessment,
    /// Candidates of the exact front that are at most epsilon better in some objective.
    pub stands_for: Vec<Candidate>,
}

/// The objectives: what a member or its owner pays. Less is better.
pub const OBJECTIVES: [Quantity; 5] = [
    Quantity::Completion,
    Quantity::CompletionOf99,
    Quantity::Energy,
    Quantity::Received,
    Quantity::Keys,
];

/// Returns the fronts of a decision's candidates: of those with a controller, then of those without.
/// `epsilon` is a share: 0.05 is five percent. A kind without candidates has no front.
pub fn fronts(decision: &Decision, epsilon: f64) -> Vec<ParetoFront> {
    let all = || decision.front.iter().chain(&decision.beaten);
    [true, false]
        .into_iter()
        .map(|with_controller| {
            let of_kind = all().filter(|one| has_controller(one) == with_controller);
            let of_kind: Vec<&Assessment> = of_kind.collect();
            front(&of_kind, with_controller, epsilon)
        })
        .filter(|front| front.candidates > 0)
        .collect()
}

fn front(candidates: &[&Assessment], with_controller: bool, epsilon: f64) -> ParetoFront {
    let mut exact: Vec<&Assessment> = Vec::new();
    for one in candidates {
        // Of two that are alike in everything, the first is kept.
        let is_beaten = candidates.iter().any(|other| beats(other, one));
        let has_twin =
            exact.iter().any(|other| is_within(other, one, 0.0) && is_within(one, other, 0.0));
        if !is_beaten && !has_twin {
            exact.push(one);
        }
    }
    exact.sort_by(|a, b| by_cost(a, b));
    let mut kept: Vec<Representative> = Vec::new();
    for one in &exact {
        match kept.iter_mut().find(|other| is_within(&other.assessment, one, epsilon)) {
            Some(other) => other.stands_for.push(one.candidate.clone()),
            None => {
                let assessment = (*one).clone();
                kept.push(Representative { assessment, stands_for: Vec::new() });
            }
        }
    }
    ParetoFront { with_controller, candidates: candidates.len(), exact: exact.len(), kept }
}

fn has_controller(one: &Assessment) -> bool {
    registry::scheme(&one.candidate.variant.scheme).is_some_and(Scheme::has_controller)
}

/// Whether one candidate is at most a share `epsilon` worse than the other in every objective. What has
/// no ground is not compared, so nobody stands for it.
fn is_within(one: &Assessment, other: &Assessment, epsilon: f64) -> bool {
    OBJECTIVES.into_iter().all(|objective| match (one.figure(objective), other.figure(objective)) {
        (Some(one), Some(other)) => one.value <= other.value * (1.0 + epsilon),
        _ => false,
    })
}

/// Whether one candidate is nowhere worse, and somewhere better.
fn beats(one: &Assessment, other: &Assessment) -> bool {
    is_within(one, other, 0.0) && !is_within(other, one, 0.0)
}

fn by_cost(one: &Assessment, other: &Assessment) -> Ordering {
    one.cost.total_cmp(&other.cost).then_with(|| one.candidate.cmp(&other.candidate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{Figure, Ground, Variant};

    /// A candidate with these figures; its cost is the first of them.
    fn candidate(scheme: &str, figures: [f64; 5]) -> Assessment {
        let figure = |(quantity, value)| Figure {
            quantity,
            value,
            interval: (value, value),
            ground: Ground::Counted,
            is_extrapolated: false,
        };
        Assessment {
            candidate: Candidate {
                variant: Variant { scheme: scheme.to_owned(), ..Variant::default() },
                qos: 1,
            },
            cost: figures[0],
            error: 0.0,
            figures: OBJECTIVES.into_iter().zip(figures).map(figure).collect(),
        }
    }

    fn of(candidates: &[Assessment], epsilon: f64) -> ParetoFront {
        front(&candidates.iter().collect::<Vec<_>>(), true, epsilon)
    }

    fn names(front: &ParetoFront) -> Vec<&str> {
        front.kept.iter().map(|one| &*one.assessment.candidate.variant.scheme).collect()
    }

    #[test]
    fn a_tolerance_merges_what_hardly_differs() {
        let candidates = [
            candidate("skdc", [10.0, 10.0, 1.0, 1.0, 1.0]),
            candidate("lkh-group", [5.0, 5.0, 3.0, 3.0, 3.0]),
            candidate("lkh-key", [5.1, 5.1, 2.9, 3.0, 3.0]),
            candidate("oft", [12.0, 12.0, 4.0, 4.0, 4.0]),
        ];
        let exact = of(&candidates, 0.0);
        assert_eq!((exact.candidates, exact.exact), (4, 3));
        assert_eq!(names(&exact), ["lkh-group", "lkh-key", "skdc"]);
        let merged = of(&candidates, 0.05);
        assert_eq!((names(&merged), merged.exact), (vec!["lkh-group", "skdc"], 3));
        let stands_for = &merged.kept[0].stands_for;
        assert_eq!(stands_for.len(), 1);
        assert_eq!(stands_for[0].variant.scheme, "lkh-key");
    }

    #[test]
    fn what_lacks_a_figure_is_not_compared() {
        let mut unknown = candidate("oft", [1.0; 5]);
        unknown.figures.pop();
        let front = of(&[candidate("skdc", [2.0; 5]), unknown], 1.0);
        assert_eq!(names(&front), ["oft", "skdc"]);
    }

    #[test]
    fn twins_are_kept_once() {
        let front = of(&[candidate("skdc", [1.0; 5]), candidate("oft", [1.0; 5])], 0.0);
        assert_eq!((names(&front), front.exact), (vec!["skdc"], 1));
    }

    #[test]
    fn a_decision_has_a_front_of_each_kind() {
        let decision = Decision {
            front: vec![candidate("skdc", [3.0; 5]), candidate("tgdh", [1.0; 5])],
            beaten: vec![candidate("oft", [4.0; 5])],
            ..Decision::default()
        };
        let fronts = fronts(&decision, 0.05);
        let told: Vec<_> =
            fronts.iter().map(|one| (one.with_controller, one.candidates, names(one))).collect();
        assert_eq!(told, [(true, 2, vec!["skdc"]), (false, 1, vec!["tgdh"])]);
        assert_eq!(super::fronts(&Decision::default(), 0.05), []);
    }

    /// One that is kept stands for every candidate, whatever they are.
    #[test]
    fn somebody_stands_for_everybody() {
        let mut state = 1_u64;
        let mut drawn = || {
            // Knuth's linear congruential generator; the upper bits are good enough here.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            0.5 + (state >> 40) as f64 / f64::from(1 << 24)
        };
        for count in 1..60 {
            let epsilon = (drawn() - 0.5) / 2.0;
            let candidates: Vec<_> =
                (0..count).map(|_| candidate("skdc", [(); 5].map(|()| drawn()))).collect();
            let front = of(&candidates, epsilon);
            let stands =
                |one| front.kept.iter().any(|kept| is_within(&kept.assessment, one, epsilon));
            assert!(candidates.iter().all(stands));
            let merged: usize = front.kept.iter().map(|kept| kept.stands_for.len()).sum();
            assert_eq!(front.kept.len() + merged, front.exact);
            for kept in &front.kept {
                assert!(candidates.iter().all(|one| !beats(one, &kept.assessment)));
            }
        }
    }
}
