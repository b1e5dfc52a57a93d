//! Says in one sentence how a finding came out.

use groupkey_lab::verdict::{
    Compared, ConditionTest, Outcome, Ruling, Share, Statement, Thresholds, Verdict, VerdictGround,
    VoidKind,
};

use crate::grade::{Grade, grade};

/// Everything about a finding that its comparisons do not say.
pub(crate) struct FindingDescription {
    pub(crate) id: String,
    pub(crate) claim: String,
    pub(crate) ground: VerdictGround,
    pub(crate) margin: String,
    pub(crate) remark: String,
}

/// Makes the verdict on a finding, as if it were the only one.
pub(crate) fn tell(
    told: FindingDescription,
    statements: Vec<Statement>,
    thresholds: &Thresholds,
) -> Verdict {
    let Grade { outcome, share, condition } = grade(&told.id, &statements, thresholds);
    let FindingDescription { id, claim, ground, margin, remark } = told;
    let mut verdict = Verdict {
        sentence: String::new(),
        dissent: None,
        outcome,
        share,
        condition,
        id,
        claim,
        ground,
        margin,
        remark,
        statements,
    };
    verdict.sentence = sentence(&verdict);
    verdict
}

/// Says how a finding came out, and which of its settings are no evidence.
pub(crate) fn sentence(verdict: &Verdict) -> String {
    let Verdict { outcome, share, statements, ground, .. } = verdict;
    let Share { holds, settings: all } = *share;
    let count = |ruling| statements.iter().map(|s| s.count(ruling)).sum::<usize>();
    let (fails, open, ties) = (count(Ruling::Fails), count(Ruling::Open), count(Ruling::Tie));
    let not_run: usize = statements.iter().map(|statement| statement.not_run).sum();
    let undecided = undecided_words(open, ties, not_run);
    let most = |ruling| clearest(statements, ruling).unwrap_or_default();
    let told = match outcome {
        Outcome::HoldsEverywhere if all == 1 => format!("Holds: {}.", most(Ruling::Holds)),
        Outcome::HoldsEverywhere => {
            let such = if has_sizes(statements) { "; the closest" } else { ", such as" };
            format!("Holds in all {all} settings{such}: {}.", most(Ruling::Holds))
        }
        Outcome::HoldsWithExceptions => {
            let failing = match fails {
                0 => None,
                1 => Some(format!("fails in one: {}", most(Ruling::Fails))),
                _ => Some(format!("fails in {fails}, most clearly: {}", most(Ruling::Fails))),
            };
            let exceptions: Vec<String> = failing.into_iter().chain(undecided).collect();
            format!("Holds in {holds} of {all} settings; {}.", exceptions.join("; "))
        }
        Outcome::HoldsConditionally | Outcome::Mixed => {
            let failing = match fails {
                0 => String::new(),
                _ => format!("; most clearly against it: {}", most(Ruling::Fails)),
            };
            let undecided = undecided.map_or_else(String::new, |words| format!("; {words}"));
            let condition = verdict.condition.as_ref().map_or_else(String::new, condition_words);
            format!("Holds in {holds} of {all} settings{failing}{undecided}.{condition}")
        }
        Outcome::Refuted if all == 1 => format!("Fails: {}.", most(Ruling::Fails)),
        Outcome::Refuted => {
            format!("Fails in {fails} of {all} settings, most clearly: {}.", most(Ruling::Fails))
        }
        Outcome::NotDecidable => {
            let such =
                clearest(statements, Ruling::Open).or_else(|| clearest(statements, Ruling::Tie));
            let such = such.map_or_else(String::new, |words| format!(", such as: {words}"));
            let undecided = undecided.unwrap_or_else(|| "nothing is compared".to_owned());
            let remedy = match (ties > 0, open + not_run > 0) {
                (true, false) => "a larger difference than the margin".to_owned(),
                _ => ground.remedy().to_owned(),
            };
            format!(
                "Holds in {holds} and fails in {fails} of {all} settings; {undecided}{such}. It would take {remedy}."
            )
        }
        Outcome::NotComparable | Outcome::Circular => "No setting is evidence.".to_owned(),
    };
    told + &void_words(statements)
}

fn undecided_words(open: usize, ties: usize, not_run: usize) -> Option<String> {
    let told = [(open, "open"), (ties, "a tie"), (not_run, "not run")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{what} in {count}"));
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join(", "))
}

fn condition_words(condition: &ConditionTest) -> String {
    let ConditionTest { words, within, elsewhere, confirmed, p_holm, .. } = condition;
    format!(
        " Holds {words} in {within}, elsewhere in {elsewhere}: p = {p_holm:.3} after Holm, and {:.0} % of random \
         halves are confirmed by the others.",
        100.0 * confirmed
    )
}

/// Says which settings are no evidence, and why.
fn void_words(statements: &[Statement]) -> String {
    let mut reasons: Vec<(VoidKind, &str, Share)> = Vec::new();
    for compared in statements.iter().flat_map(|statement| &statement.settings) {
        let Some(void) = &compared.void else { continue };
        let known =
            reasons.iter().position(|(kind, why, _)| (*kind, *why) == (void.kind, &void.why));
        let place = known.unwrap_or_else(|| {
            reasons.push((void.kind, &void.why, Share::default()));
            reasons.len() - 1
        });
        let share = &mut reasons[place].2;
        share.settings += 1;
        share.holds += usize::from(compared.ruling == Ruling::Holds);
    }
    let told = reasons.into_iter().map(|(kind, why, Share { holds, settings })| {
        let what = match kind {
            VoidKind::Circular => "circular",
            VoidKind::NotComparable => "not comparable",
            VoidKind::StandIn => "with a stand-in",
        };
        let settings = match settings {
            1 => "One more setting is".to_owned(),
            _ => format!("{settings} more settings are"),
        };
        format!(" {settings} {what} and no evidence (as claimed in {holds}): {why}.")
    });
    told.collect()
}

/// Whether the settings differ in how clear they are: what is seen or not has no size.
fn has_sizes(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| statement.evidence().any(|found| found.effect.is_some()))
}

fn clearest(statements: &[Statement], ruling: Ruling) -> Option<String> {
    let of_ruling = statements
        .iter()
        .flat_map(|statement| statement.evidence().map(move |found| (statement, found)))
        .filter(|(_, found)| found.ruling == ruling);
    let effect = |compared: &Compared| compared.effect.unwrap_or(f64::NEG_INFINITY);
    let (statement, found) = of_ruling.max_by(|(_, a), (_, b)| effect(a).total_cmp(&effect(b)))?;
    let words = &found.words;
    Some(match statements.len() {
        1 => words.clone(),
        _ => format!("{words} ({})", statement.claim),
    })
}
