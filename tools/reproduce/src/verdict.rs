//! Says in one sentence how a finding came out.

use groupkey_lab::verdict::{Compared, Outcome, Ruling, Statement, Verdict, VerdictGround};

use crate::grade::{FactorCondition, Grade, STATEMENT, grade};

/// Everything about a finding that its comparisons do not say.
pub(crate) struct FindingDescription {
    pub(crate) id: String,
    pub(crate) claim: String,
    pub(crate) ground: VerdictGround,
    pub(crate) margin: String,
    pub(crate) remark: String,
}

/// Makes the verdict on a finding.
pub(crate) fn tell(told: FindingDescription, statements: Vec<Statement>) -> Verdict {
    let grade = grade(&statements);
    let FindingDescription { id, claim, ground, margin, remark } = told;
    Verdict {
        sentence: sentence(&grade, ground, &statements),
        outcome: grade.outcome,
        dissent: None,
        id,
        claim,
        ground,
        margin,
        remark,
        statements,
    }
}

fn sentence(grade: &Grade, ground: VerdictGround, statements: &[Statement]) -> String {
    let all: usize = statements.iter().map(Statement::total).sum();
    let count = |ruling| statements.iter().map(|s| s.count(ruling)).sum::<usize>();
    let (holds, fails, open) = (count(Ruling::Holds), count(Ruling::Fails), count(Ruling::Open));
    let not_run: usize = statements.iter().map(|statement| statement.not_run).sum();
    match grade.outcome {
        Outcome::HoldsEverywhere if all == 1 => {
            format!("Holds: {}.", clearest(statements, Ruling::Holds).unwrap_or_default())
        }
        Outcome::HoldsEverywhere => {
            let closest = clearest(statements, Ruling::Holds).unwrap_or_default();
            format!("Holds in all {all} settings; the closest: {closest}.")
        }
        Outcome::HoldsWithExceptions => {
            let mut exceptions = Vec::new();
            if let Some(words) = clearest(statements, Ruling::Fails) {
                exceptions.push(match fails {
                    1 => format!("fails in one: {words}"),
                    _ => format!("fails in {fails}, most clearly: {words}"),
                });
            }
            if let Some(words) = clearest(statements, Ruling::Open) {
                exceptions.push(format!("open in {open}, such as: {words}"));
            }
            if not_run > 0 {
                exceptions.push(format!("{not_run} not run"));
            }
            format!("Holds in {holds} of {all} settings; {}.", exceptions.join("; "))
        }
        Outcome::HoldsConditionally => {
            let Some(condition) = &grade.condition else { return String::new() };
            let failure = clearest(statements, Ruling::Fails)
                .map_or_else(String::new, |words| format!("; most clearly against it: {words}"));
            let FactorCondition { within, elsewhere, .. } = condition;
            format!(
                "Holds {} ({} of {} settings), elsewhere in {} of {}{failure}.",
                condition_words(condition),
                within.0,
                within.1,
                elsewhere.0,
                elsewhere.1,
            )
        }
        Outcome::Refuted if all == 1 => {
            format!("Fails: {}.", clearest(statements, Ruling::Fails).unwrap_or_default())
        }
        Outcome::Refuted => {
            let words = clearest(statements, Ruling::Fails).unwrap_or_default();
            format!("Fails in {fails} of {all} settings, most clearly: {words}.")
        }
        Outcome::NotDecidable => {
            let such = clearest(statements, Ruling::Open)
                .map_or_else(String::new, |words| format!(", such as: {words}"));
            let not_run = match not_run {
                0 => String::new(),
                _ => format!(" {not_run} were not run."),
            };
            format!(
                "Holds in {holds}, fails in {fails} and is open in {open} of {all} settings{such}.\
                 {not_run} It would take {}.",
                ground.remedy(),
            )
        }
    }
}

/// Says under which condition a finding holds.
fn condition_words(condition: &FactorCondition) -> String {
    let FactorCondition { factor, values, others, .. } = condition;
    let quoted = |these: &[String]| match *factor {
        STATEMENT => these.iter().map(|value| format!("“{value}”")).collect::<Vec<_>>().join(", "),
        _ => these.join(", "),
    };
    let few = others.len() < values.len();
    match (*factor, few) {
        (STATEMENT, false) => format!("only in what it says of {}", quoted(values)),
        (STATEMENT, true) => format!("in all that it says but {}", quoted(others)),
        (factor, false) => format!("only for {factor} {}", quoted(values)),
        (factor, true) => format!("for every {factor} but {}", quoted(others)),
    }
}

/// Returns the words of the setting of this ruling with the largest effect.
fn clearest(statements: &[Statement], ruling: Ruling) -> Option<String> {
    let of_ruling = statements
        .iter()
        .flat_map(|statement| statement.settings.iter().map(move |found| (statement, found)))
        .filter(|(_, found)| found.ruling == ruling);
    let effect = |compared: &Compared| compared.effect.unwrap_or(f64::NEG_INFINITY);
    let (statement, found) = of_ruling.max_by(|(_, a), (_, b)| effect(a).total_cmp(&effect(b)))?;
    let words = &found.words;
    Some(match statements.len() {
        1 => words.clone(),
        _ => format!("{words} ({})", statement.claim),
    })
}
