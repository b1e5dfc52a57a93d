//! The searches whose figures are in `docs/operate.md`.

use super::invariants::{ALONE, CHANGES, LATEST, NONCES, ONE_KEY};
use super::model::{StoreBudget, StoreScene};
use super::rules::StoreMends;
use crate::ModelRun;

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
    /// Each run of it.
    pub fn runs(self) -> Vec<ModelRun> {
        let Self { title, scene, attacks, limits } = self;
        let run = |rules, scene, broken| ModelRun::new(title, rules, scene, broken, CHANGES);
        let mut runs: Vec<_> = attacks
            .into_iter()
            .map(|(without, mends, broken)| {
                run(without, StoreScene { mends, ..scene.clone() }, Some(broken))
            })
            .collect();
        if let Some(&limit) = limits.first() {
            runs.push(run("rules of now", scene.clone(), Some(limit)));
            let others = StoreScene { known: limits, ..scene };
            runs.push(run("rules of now, the other invariants", others, None));
        } else {
            runs.push(run("rules of now", scene, None));
        }
        runs
    }

    fn attack(mut self, without: &'static str, mends: StoreMends, invariant: &'static str) -> Self {
        self.attacks.push((without, mends, invariant));
        self
    }

    fn limits(self, limits: &'static [&'static str]) -> Self {
        Self { limits, ..self }
    }
}
