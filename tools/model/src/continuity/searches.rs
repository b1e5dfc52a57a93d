//! The searches whose figures are in `docs/operate.md`.

use super::invariants::{ALONE, LATEST, NONCES, ONE_KEY};
use super::model::{StoreBudget, StoreScene};
use super::rules::StoreMends;

/// A scene and what the search is to find there.
#[derive(Clone, Debug)]
pub struct StoreSearch {
    /// What is searched.
    pub title: &'static str,
    /// Where it begins, with the rules of now.
    pub scene: StoreScene,
    /// The rules with one mend less, which one, and the invariant that they break.
    pub attacks: Vec<(&'static str, StoreMends, &'static str)>,
    /// The invariants that the rules of now break, the last that is found first. The others hold.
    pub limits: &'static [&'static str],
}

/// All searches.
pub fn searches() -> Vec<StoreSearch> {
    let all = StoreMends::ALL;
    let one = StoreBudget { copies: 1, openings: 3, changes: 2, ..StoreBudget::default() };
    let both = StoreBudget { openings: 2, ..one };
    vec![
        search(
            "a store is copied, and services crash",
            1,
            StoreBudget { crashes: 2, losses: 1, ..one },
        )
        .attack("no comparison", StoreMends { compares: false, ..all }, LATEST)
        .attack("the notice last", StoreMends { notice_first: false, ..all }, LATEST)
        .attack("earlier notices again", StoreMends { gives_up: false, ..all }, LATEST),
        search(
            "a store is copied, and services stop",
            1,
            StoreBudget { stops: 1, crashes: 1, ..one },
        ),
        search("a broker forgets", 1, StoreBudget { forgets: 1, crashes: 1, ..one }),
        search("two copies of a stopped store", 2, both)
            .attack("openings are no entries", StoreMends { openings: false, ..all }, ALONE)
            .attack("a nonce of epoch and label", StoreMends { synthetic: false, ..all }, NONCES)
            .limits(&[ONE_KEY]),
        search("two copies, and one crashes", 2, StoreBudget { crashes: 1, ..one })
            .limits(&[ALONE, ONE_KEY, LATEST]),
        search(
            "the broker forgets, and the operator accepts an old copy",
            1,
            StoreBudget { forgets: 1, words: 1, crashes: 1, ..one },
        )
        .limits(&[ONE_KEY, LATEST]),
        search(
            "a stranger repeats a notice to an old copy",
            1,
            StoreBudget { recordings: 1, crashes: 1, ..one },
        )
        .limits(&[ONE_KEY, LATEST]),
    ]
}

fn search(title: &'static str, services: usize, budget: StoreBudget) -> StoreSearch {
    let scene = StoreScene { services, mends: StoreMends::ALL, budget, known: &[] };
    StoreSearch { title, scene, attacks: Vec::new(), limits: &[] }
}

impl StoreSearch {
    /// Each run of it: which rules, the scene with them, and the invariant that breaks.
    pub fn runs(&self) -> Vec<(&'static str, StoreScene, Option<&'static str>)> {
        let attacked = self.attacks.iter().map(|&(without, mends, invariant)| {
            (without, StoreScene { mends, ..self.scene.clone() }, Some(invariant))
        });
        let limits = self.limits.first();
        let limits = limits.map(|&limit| ("rules of now", self.scene.clone(), Some(limit)));
        let others = StoreScene { known: self.limits, ..self.scene.clone() };
        let others = ("rules of now, the other invariants", others, None);
        let all = ("rules of now", self.scene.clone(), None);
        let last = if self.limits.is_empty() { all } else { others };
        attacked.chain(limits).chain([last]).collect()
    }

    fn attack(mut self, without: &'static str, mends: StoreMends, invariant: &'static str) -> Self {
        self.attacks.push((without, mends, invariant));
        self
    }

    fn limits(self, limits: &'static [&'static str]) -> Self {
        Self { limits, ..self }
    }
}
