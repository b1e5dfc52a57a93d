//! Findings of studies, and our verdicts on them.

use minijinja::{Value, context};

use super::text::capitalised;
use crate::verdict::{Outcome, Verdict};

/// Lists the findings, and counts each outcome.
pub(crate) fn verdicts(verdicts: &[Verdict]) -> Value {
    let count = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count();
    let lines = verdicts.iter().map(|v| {
        let word = capitalised(v.outcome.name());
        context! { id => &v.id, claim => &v.claim, evidence => &v.sentence, class => class(v.outcome), word }
    });
    context! {
        confirmed => count(Outcome::HoldsEverywhere),
        refuted => count(Outcome::Refuted),
        open => count(Outcome::NotDecidable),
        lines => lines.collect::<Vec<Value>>(),
    }
}

const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::HoldsEverywhere => "everywhere",
        Outcome::HoldsWithExceptions => "mostly",
        Outcome::HoldsConditionally => "condition",
        Outcome::NotDecidable => "open",
        Outcome::Refuted => "refuted",
    }
}
