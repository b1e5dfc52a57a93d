//! The searches whose figures are in `docs/order.md`.

use crate::ModelRun;
use crate::invariants::{AGREES, DECIDED, GROWS, OUT};
use crate::model::{Budget, Past, Scene};
use crate::rules::{EvictionRule, Id, Mends, ModelRules};

/// A scene and what the search is to find there.
#[derive(Clone, Debug)]
pub struct Search {
    /// What is searched.
    pub title: &'static str,
    /// Where it begins, with the rules of now.
    pub scene: Scene,
    /// The rules without what mends this, and the invariant that they break.
    pub attack: Option<(Mends, &'static str)>,
    /// The invariant that the rules of now break.
    pub limit: Option<&'static str>,
    /// Whether it takes minutes.
    pub is_long: bool,
}

/// All searches, the short ones first.
pub fn searches() -> Vec<Search> {
    let all = Mends::ALL;
    let none = Budget::default();
    let asks = Budget { requests: 1, announcements: 1, lies: 1, ..none };
    let ticket = Budget { requests: 1, announcements: 2, evictions: 1, ..none };
    let lies = Budget { lies: 2, ..asks };
    vec![
        search(
            "a member makes up an eviction",
            Past::Quiet,
            3,
            &[3],
            Budget { requests: 0, ..lies },
        )
        .attack(Mends { reports: false, ..all }, DECIDED),
        search("a member takes in an evicted device", Past::Eviction, 3, &[1], asks)
            .attack(Mends { admission: false, ..all }, OUT),
        search("an old ticket undoes a later eviction", Past::OldTicket, 2, &[2], ticket)
            .attack(Mends { marks: false, words: false, ..all }, OUT),
        search("a member leads back to an earlier epoch", Past::Newcomer, 3, &[1], asks)
            .attack(Mends { epochs: false, ..all }, GROWS),
        search("an operator readmits", Past::Eviction, 3, &[1], Budget { tickets: 1, ..asks }),
        search("members restart", Past::Eviction, 3, &[1], Budget { restarts: 1, ..asks }),
        search("all begin anew", Past::Eviction, 3, &[1], Budget { restarts: 2, ..asks }),
        search("a member loses its memory", Past::Quiet, 3, &[3], Budget { losses: 1, ..asks }),
        search("two of three evict", Past::Newcomer, 3, &[3], Budget { votes: 1, ..asks })
            .evict(EvictionRule::Members(2)),
        search("three evict, two lie", Past::Quiet, 4, &[3, 4], Budget { requests: 0, ..lies })
            .evict(EvictionRule::Members(3)),
        search("two lie", Past::Newcomer, 3, &[2, 3], Budget { requests: 0, ..lies })
            .limit(DECIDED),
        search(
            "a member restarts while an operator readmits",
            Past::Eviction,
            2,
            &[1],
            Budget { restarts: 1, tickets: 1, ..asks },
        )
        .attack(Mends { words: false, ..all }, DECIDED),
        search(
            "an old ticket where a dishonest member took in a newcomer",
            Past::OldTicket,
            2,
            &[2],
            Budget { requests: 2, lies: 1, ..ticket },
        )
        .attack(Mends { words: false, ..all }, OUT)
        .long(),
    ]
}

fn search(
    title: &'static str,
    past: Past,
    members: Id,
    dishonest: &[Id],
    budget: Budget,
) -> Search {
    let rules = ModelRules { evict: EvictionRule::Operators, mends: Mends::ALL };
    let scene =
        Scene { members, past, dishonest: dishonest.iter().copied().collect(), rules, budget };
    Search { title, scene, attack: None, limit: None, is_long: false }
}

impl Search {
    /// Each run of it: without the mend, and with the rules of now.
    pub fn runs(self) -> Vec<ModelRun> {
        let run = |rules, mends, broken| {
            let mut scene = self.scene.clone();
            scene.rules.mends = mends;
            ModelRun {
                is_long: self.is_long,
                ..ModelRun::new(self.title, rules, scene, broken, AGREES)
            }
        };
        let attacked =
            self.attack.map(|(mends, broken)| run("without the mend", mends, Some(broken)));
        attacked.into_iter().chain([run("rules of now", Mends::ALL, self.limit)]).collect()
    }

    fn attack(self, mends: Mends, invariant: &'static str) -> Self {
        Self { attack: Some((mends, invariant)), ..self }
    }

    fn limit(self, invariant: &'static str) -> Self {
        Self { limit: Some(invariant), ..self }
    }

    fn long(self) -> Self {
        Self { is_long: true, ..self }
    }

    fn evict(mut self, evict: EvictionRule) -> Self {
        self.scene.rules.evict = evict;
        self
    }
}
