//! The rule that makes one outcome of a finding's settings.
//!
//! 1. A statement fails in a setting only if the effect is beyond the finding's margin.
//! 2. A finding *holds everywhere* if it holds in all settings, and *with exceptions* if it holds
//!    in at least [`MOST`] of them.
//! 3. Otherwise the rule looks for one condition: values of one factor (a scheme, an operation, a
//!    loss, one of the finding's statements) in which the finding holds in at least [`MOST`] of the
//!    settings. If they cover at least [`BROAD`] of all settings, the finding *holds only under
//!    this condition*. Of several conditions the broadest counts.
//! 4. Otherwise it is *refuted*.
//! 5. Settings that are open or were not run are taken as failing, then as holding. If that makes
//!    no difference to whether and where the finding holds, it is decided. Otherwise it is *not
//!    decidable*.

use std::collections::BTreeMap;

use groupkey_lab::verdict::{BROAD, MOST, Outcome, Ruling, Statement};

/// The factor by which the statements of a finding differ.
pub(super) const STATEMENT: &str = "statement";

/// The outcome of a finding, and how it came about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grade {
    pub(crate) outcome: Outcome,
    /// The condition under which the finding holds, if it holds only under a condition.
    pub(crate) condition: Option<FactorCondition>,
}

/// Values of a factor with which a finding holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FactorCondition {
    pub(crate) factor: &'static str,
    /// The values with which it holds.
    pub(crate) values: Vec<String>,
    /// The values with which it does not hold.
    pub(crate) others: Vec<String>,
    /// Settings with these values in which it holds, and all settings with these values.
    pub(crate) within: (usize, usize),
    /// Settings with other values in which it holds, and all settings with other values.
    pub(crate) elsewhere: (usize, usize),
}

/// Grades a finding by its statements.
pub(crate) fn grade(statements: &[Statement]) -> Grade {
    let [worst, best] = [false, true].map(|open_holds| as_if(statements, open_holds));
    let (outcome, condition) = match (worst.0, best.0) {
        (outcome, _) if outcome.holds() => worst,
        (_, Outcome::Refuted) => best,
        (Outcome::HoldsConditionally, Outcome::HoldsConditionally) => worst,
        (worst_outcome, best_outcome) if worst_outcome == best_outcome => worst,
        _ => (Outcome::NotDecidable, None),
    };
    Grade { outcome, condition }
}

/// Grades as if settings that are open all held, or all failed.
fn as_if(statements: &[Statement], open_holds: bool) -> (Outcome, Option<FactorCondition>) {
    let held = |ruling| ruling == Ruling::Holds || open_holds && ruling == Ruling::Open;
    let all: usize = statements.iter().map(Statement::total).sum();
    let holds = statements.iter().map(|statement| {
        let run = statement.settings.iter().filter(|compared| held(compared.ruling)).count();
        run + if open_holds { statement.not_run } else { 0 }
    });
    let holds: usize = holds.sum();
    if all == 0 {
        return (Outcome::NotDecidable, None);
    }
    if holds == all {
        return (Outcome::HoldsEverywhere, None);
    }
    if is_most(holds, all) {
        return (Outcome::HoldsWithExceptions, None);
    }
    match broadest(statements, &held, all) {
        Some(condition) => (Outcome::HoldsConditionally, Some(condition)),
        None => (Outcome::Refuted, None),
    }
}

fn is_most(holds: usize, all: usize) -> bool {
    holds as f64 >= MOST * all as f64
}

/// Returns the broadest condition under which the finding holds.
fn broadest(
    statements: &[Statement],
    held: &dyn Fn(Ruling) -> bool,
    all: usize,
) -> Option<FactorCondition> {
    let mut by_factor: BTreeMap<&'static str, Vec<(String, usize, usize)>> = BTreeMap::new();
    for statement in statements {
        for compared in &statement.settings {
            let own = (STATEMENT, statement.claim.clone());
            for (factor, value) in compared.factors.iter().chain([&own]) {
                let values = by_factor.entry(factor).or_default();
                let place = values.iter().position(|(known, ..)| known == value);
                let place = place.unwrap_or_else(|| {
                    values.push((value.clone(), 0, 0));
                    values.len() - 1
                });
                values[place].1 += usize::from(held(compared.ruling));
                values[place].2 += 1;
            }
        }
    }
    let conditions = by_factor.into_iter().filter_map(|(factor, values)| {
        let (good, bad): (Vec<_>, Vec<_>) =
            values.into_iter().partition(|&(_, holds, all)| is_most(holds, all));
        let sum = |these: &[(String, usize, usize)]| {
            these.iter().fold((0, 0), |(h, a), &(_, holds, all)| (h + holds, a + all))
        };
        let names = |these: &[(String, usize, usize)]| {
            these.iter().map(|(value, ..)| value.clone()).collect::<Vec<_>>()
        };
        let within = sum(&good);
        (!bad.is_empty() && within.1 as f64 >= BROAD * all as f64).then(|| FactorCondition {
            factor,
            values: names(&good),
            others: names(&bad),
            within,
            elsewhere: sum(&bad),
        })
    });
    // Of equally broad conditions, the one that is told in the fewest values.
    conditions.max_by_key(|condition| {
        let told = condition.values.len().min(condition.others.len());
        (condition.within.1, std::cmp::Reverse(told))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groupkey_lab::verdict::Compared;

    #[test]
    fn one_exception_of_many_does_not_refute() {
        for (holds, fails, expected) in [
            (11, 0, Outcome::HoldsEverywhere),
            (10, 1, Outcome::HoldsWithExceptions),
            (9, 1, Outcome::HoldsWithExceptions),
            (8, 1, Outcome::Refuted),
            (0, 1, Outcome::Refuted),
            (0, 0, Outcome::NotDecidable),
        ] {
            let found = grade(&[statement("s", holds, fails, 0)]);
            assert_eq!(found.outcome, expected, "{holds} hold, {fails} fail");
        }
    }

    #[test]
    fn an_open_setting_matters_only_if_it_can_change_the_outcome() {
        let outcome = |holds, fails, open| grade(&[statement("s", holds, fails, open)]).outcome;
        assert_eq!(outcome(215, 0, 1), Outcome::HoldsWithExceptions);
        assert_eq!(outcome(0, 9, 1), Outcome::Refuted);
        assert_eq!(outcome(5, 0, 5), Outcome::NotDecidable);
    }

    #[test]
    fn a_setting_that_was_not_run_counts_as_open() {
        let mut one = statement("s", 3, 0, 0);
        one.not_run = 2;
        assert_eq!(grade(&[one]).outcome, Outcome::NotDecidable);
    }

    #[test]
    fn a_statement_that_holds_alone_is_a_condition() {
        let found = grade(&[statement("first", 6, 0, 0), statement("second", 0, 9, 0)]);
        assert_eq!(found.outcome, Outcome::HoldsConditionally);
        let condition = found.condition.expect("there is one");
        assert_eq!(
            (condition.factor, &condition.values[..]),
            (STATEMENT, &["first".to_owned()][..])
        );
        assert_eq!((condition.within, condition.elsewhere), ((6, 6), (0, 9)));
    }

    #[test]
    fn of_two_conditions_the_broader_counts() {
        // It fails with loss, for one of the schemes only.
        let settings = ["a", "b", "c"].iter().flat_map(|scheme| {
            ["0 %", "10 %"].map(|loss| Compared {
                factors: vec![("scheme", (*scheme).to_owned()), ("loss", loss.to_owned())],
                ..compared(if *scheme == "c" && loss == "10 %" {
                    Ruling::Fails
                } else {
                    Ruling::Holds
                })
            })
        });
        let statement = Statement {
            claim: "s".to_owned(),
            settings: settings.collect(),
            ..Statement::default()
        };
        let condition = grade(&[statement]).condition.expect("there is one");
        assert_eq!(condition.values, ["a", "b"]);
        assert_eq!(condition.others, ["c"]);
    }

    #[test]
    fn a_narrow_condition_does_not_save_a_finding() {
        let found = grade(&[statement("first", 2, 0, 0), statement("second", 0, 10, 0)]);
        assert_eq!(found.outcome, Outcome::Refuted);
    }

    fn statement(claim: &str, holds: usize, fails: usize, open: usize) -> Statement {
        let of = |ruling, count| std::iter::repeat_n(compared(ruling), count);
        let settings = of(Ruling::Holds, holds)
            .chain(of(Ruling::Fails, fails))
            .chain(of(Ruling::Open, open))
            .collect();
        Statement { claim: claim.to_owned(), settings, ..Statement::default() }
    }

    fn compared(ruling: Ruling) -> Compared {
        Compared { words: String::new(), ruling, effect: None, factors: Vec::new() }
    }
}
