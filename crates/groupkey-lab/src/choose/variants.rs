//! The variants that are counted, and the sizes at which they are.

use std::collections::BTreeMap;

use groupkey::Suite;
use groupkey::catalogue::{Class, Configuration, Departures, Profile, SCHEMES, Scheme};
use groupkey_choose::{Moment, Variant};

use crate::registry;

/// The suites that a choice is among. The others reproduce papers.
pub(super) const SUITES: [Suite; 2] = [Suite::Standard, Suite::Constrained];

/// Returns the suite of this name that a choice is among: one that was counted, or the one whose counts
/// follow from another's.
pub(super) fn suite_named(name: &str) -> Option<Suite> {
    SUITES.into_iter().chain([Suite::Pq]).find(|suite| suite.name() == name)
}

/// A scheme with parameters, whose counts are taken at some sizes.
#[derive(Clone, Debug)]
pub(super) struct CountedScheme {
    pub(super) scheme: &'static Scheme,
    pub(super) parameters: Vec<(&'static str, u32)>,
    pub(super) suite: Suite,
    pub(super) sizes: Vec<u32>,
}

/// Returns all variants with their sizes: every scheme in its sound form, with the values of its
/// parameters that can pay, in the suites for live groups.
pub(super) fn subjects(is_quick: bool) -> Vec<CountedScheme> {
    SCHEMES.iter().flat_map(|scheme| subjects_of(scheme, is_quick)).collect()
}

/// Returns the variants of the schemes that the program registered, at sizes that take seconds to
/// count.
pub(super) fn own_subjects() -> Vec<CountedScheme> {
    let mut subjects: Vec<_> =
        registry::own_schemes().flat_map(|scheme| subjects_of(scheme, false)).collect();
    subjects.iter_mut().for_each(|subject| subject.sizes.retain(|size| *size <= MOST_OF_OWN));
    subjects
}

fn subjects_of(scheme: &'static Scheme, is_quick: bool) -> Vec<CountedScheme> {
    let mut subjects = Vec::new();
    for parameters in settings(scheme) {
        for suite in SUITES {
            let sizes = sizes(scheme, &parameters, is_quick);
            subjects.push(CountedScheme { scheme, parameters: parameters.clone(), suite, sizes });
        }
    }
    subjects
}

/// The largest group of a registered scheme that is counted. Larger ones are extrapolated, and
/// simulations count them.
const MOST_OF_OWN: u32 = 264;

impl CountedScheme {
    /// Returns what a variant is of. `None` if there is no such scheme, parameter or suite.
    pub(super) fn of(variant: &Variant, sizes: Vec<u32>) -> Option<Self> {
        let scheme = registry::scheme(&variant.scheme)?;
        let parameter = |(name, value): (&String, &u32)| {
            let parameter = scheme.parameters.iter().find(|parameter| parameter.name == *name)?;
            let (low, high) = parameter.range;
            (low..=high).contains(value).then_some((parameter.name, *value))
        };
        let parameters = variant.parameters.iter().map(parameter).collect::<Option<_>>()?;
        let suite = suite_named(&variant.suite)?;
        Some(Self { scheme, parameters, suite, sizes })
    }

    /// Returns the moments at which it is counted, each with the turnover that it stands for, in
    /// millionths. Departures of small groups are more than the turnover says.
    pub(super) fn moments(&self) -> Vec<(Moment, u32)> {
        let fresh = self.sizes.iter().map(|&members| (Moment::fresh(members), 0));
        let mut moments: Vec<_> = fresh.collect();
        if self.scheme.departures != Departures::Forgotten {
            let sizes = self.sizes.iter().filter(|size| WITH_A_PAST.contains(size));
            for &members in sizes {
                let after = TURNOVERS.map(|(departures, of)| {
                    let departed = (members * departures).div_ceil(of);
                    (Moment { members, departed }, departures * 1_000_000 / of)
                });
                moments.extend(after);
            }
        }
        moments
    }

    pub(super) fn configuration(&self) -> Configuration {
        let mut configuration = self.scheme.configuration(Profile::Sound);
        for (name, value) in &self.parameters {
            configuration.set(name, *value).expect("it is in the range");
        }
        configuration
    }

    pub(super) fn variant(&self, guard: &str) -> Variant {
        let sound = |name: &str| {
            let parameter = self.scheme.parameters.iter().find(|parameter| parameter.name == name);
            parameter.map(|parameter| parameter.sound)
        };
        let parameters = self.parameters.iter().filter(|(name, value)| sound(name) != Some(*value));
        Variant {
            scheme: self.scheme.id.to_owned(),
            parameters: parameters
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect::<BTreeMap<_, _>>(),
            suite: self.suite.name().to_owned(),
            guard: guard.to_owned(),
        }
    }
}

const DEGREES: [u32; 5] = [2, 3, 4, 8, 16];
const SUBGROUPS: [u32; 7] = [2, 4, 8, 16, 32, 55, 128];

/// The sizes at which a scheme with a controller is counted. A join into a full key tree costs more
/// than any other, so there are sizes close to the powers of two, too.
const SERVED: [u32; 47] = [
    2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 25, 30, 32, 33, 40, 50, 60, 64, 66, 80, 100,
    125, 128, 132, 160, 200, 250, 256, 264, 350, 500, 512, 528, 700, 1_000, 1_024, 1_056, 1_500,
    2_000, 2_048, 3_000, 4_096, 5_000,
];
/// The sizes at which groups with a past are counted. Their costs have no steps. Powers of two would
/// tell too little: their trees are covered best. In a larger group each member searches a long
/// message in each of sixteen changes.
const WITH_A_PAST: [u32; 11] = [2, 3, 5, 10, 20, 40, 80, 160, 350, 700, 1_000];
/// Departures for so many members each, after which they are counted.
const TURNOVERS: [(u32, u32); 6] =
    [(1, 16), (1, 4), (1, 2), (1, 1), (2, 1), (Moment::MOST_TURNOVERS, 1)];
/// Pairings are slow, and their number does not turn between these sizes.
const WITH_PAIRINGS: [u32; 7] = [2, 4, 8, 16, 32, 64, 128];
const QUICK: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// The largest group without a controller that is counted. Each member works in each change.
const MOST_AMONG_PEERS: u32 = 128;

fn settings(scheme: &Scheme) -> Vec<Vec<(&'static str, u32)>> {
    let of = |name: &'static str, values: &[u32]| {
        values.iter().map(|value| vec![(name, *value)]).collect::<Vec<_>>()
    };
    let has = |name: &str| scheme.parameters.iter().any(|parameter| parameter.name == name);
    if has("degree") {
        of("degree", &DEGREES)
    } else if has("subgroups") {
        of("subgroups", &SUBGROUPS)
    } else {
        vec![Vec::new()]
    }
}

fn sizes(scheme: &Scheme, parameters: &[(&'static str, u32)], is_quick: bool) -> Vec<u32> {
    let most = match scheme.class() {
        Class::Distributed => MOST_AMONG_PEERS,
        Class::Centralized | Class::Hybrid => u32::MAX,
    };
    // With few members for many subgroups most are empty, and others would do better.
    let subgroups = parameters.iter().find(|(name, _)| *name == "subgroups");
    let least = subgroups.map_or(2, |(_, subgroups)| *subgroups);
    let all: &[u32] = match (is_quick, scheme.computes_pairings()) {
        (true, _) => &QUICK,
        (false, true) => &WITH_PAIRINGS,
        (false, false) => &SERVED,
    };
    let most = most.min(scheme.members.1);
    let least = least.max(scheme.members.0);
    all.iter().copied().filter(|size| (least..=most).contains(size)).collect()
}
