//! The searches whose figures are in `docs/order.md`.

use super::MembershipMends;
use super::invariants::{AGAIN, BARRED, ENDED, ONWARD, STAYS};
use super::model::{ServiceBudget, ServiceScene};
use crate::ModelRun;

/// The runs of all searches: of each a title, how much may happen, and the rules with one mend less,
/// with the invariant that they break.
pub fn runs() -> Vec<ModelRun> {
    let (all, none) = (MembershipMends::ALL, ServiceBudget::default());
    let returns = ServiceBudget { requests: 2, restarts: 1, ..none };
    let readmits = ServiceBudget { evictions: 1, readmissions: 1, ..returns };
    let searches = [
        (
            "a recorded farewell, after a readmission",
            ServiceBudget { evictions: 2, readmissions: 2, ..readmits },
            Some((MembershipMends { farewells: false, ..all }, ENDED)),
        ),
        (
            "a recorded welcome, after a restart",
            ServiceBudget { rekeys: 1, ..returns },
            Some((MembershipMends { answers: false, ..all }, ONWARD)),
        ),
        (
            "a recorded request, after a restart",
            ServiceBudget { requests: 3, ..returns },
            Some((MembershipMends { stamps: false, ..all }, STAYS)),
        ),
        (
            "an old copy of the store",
            ServiceBudget { openings: 1, ..readmits },
            Some((MembershipMends { continuity: false, ..all }, BARRED)),
        ),
        ("an evicted device asks again", ServiceBudget { lies: 1, ..readmits }, None),
        ("the group is founded anew", ServiceBudget { foundings: 1, ..returns }, None),
    ];
    let of = |(title, budget, attack)| {
        let run = |rules, mends, broken| {
            ModelRun::new(title, rules, ServiceScene { mends, budget }, broken, AGAIN)
        };
        let attacked =
            Option::map(attack, |(mends, broken)| run("without the mend", mends, Some(broken)));
        attacked.into_iter().chain([run("rules of now", all, None)]).collect::<Vec<_>>()
    };
    searches.into_iter().flat_map(of).collect()
}
