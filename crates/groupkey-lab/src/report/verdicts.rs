//! Findings of studies as cards, and the matrix of their outcomes.

mod effects;

use minijinja::{Value, context};

use self::effects::effects;
use super::text::{capitalised, escaped};
use crate::verdict::{BROAD, MOST, Outcome, Statement, Verdict};

/// Builds the cards of a study's findings. Their anchors begin with `prefix`.
pub(crate) fn verdicts(verdicts: &[Verdict], prefix: &str) -> Value {
    context! {
        total => verdicts.len(),
        counts => counts(verdicts),
        cells => verdicts.iter().map(|verdict| cell(verdict, prefix)).collect::<Vec<Value>>(),
        legend => legend(),
        lines => verdicts.iter().map(|verdict| card(verdict, prefix)).collect::<Vec<Value>>(),
    }
}

/// Builds the matrix: a line of cells for each study, by its name and its [`verdicts`].
pub(crate) fn matrix<'v>(studies: impl IntoIterator<Item = (&'v str, &'v Value)>) -> Vec<Value> {
    let rows = studies.into_iter().map(|(name, verdicts)| context! { name, verdicts });
    rows.collect()
}

fn card(verdict: &Verdict, prefix: &str) -> Value {
    let Verdict { id, claim, outcome, ground, margin, sentence, dissent, remark, statements } =
        verdict;
    let name = format!("{prefix}{id}");
    context! {
        anchor => &name,
        id,
        claim,
        sentence,
        dissent,
        remark,
        margin,
        ground => capitalised(&ground.name()),
        class => class(*outcome),
        word => capitalised(outcome.name()),
        chart => Value::from_safe_string(effects(verdict)),
        comparisons => statements.iter().map(Statement::total).sum::<usize>(),
        statements => statements.iter().map(statement).collect::<Vec<Value>>(),
    }
}

fn statement(statement: &Statement) -> Value {
    let settings = statement.settings.iter().map(|compared| {
        context! {
            words => &compared.words,
            ruling => compared.ruling.name(),
            effect => compared.effect_words(),
        }
    });
    context! {
        claim => capitalised(&statement.claim),
        holds => statement.count(crate::verdict::Ruling::Holds),
        total => statement.total(),
        not_run => statement.not_run,
        note => &statement.note,
        settings => settings.collect::<Vec<Value>>(),
    }
}

/// Builds the cell of a finding in the matrix.
fn cell(verdict: &Verdict, prefix: &str) -> Value {
    let outcome = verdict.outcome.name();
    context! {
        anchor => format!("{prefix}{}", verdict.id),
        class => class(verdict.outcome),
        title => format!("{} {outcome}", verdict.claim),
    }
}

/// Counts the findings of each outcome.
fn counts(verdicts: &[Verdict]) -> Vec<Value> {
    let count = |outcome| verdicts.iter().filter(|v| v.outcome == outcome).count();
    let each = Outcome::ALL.into_iter().map(|outcome| {
        context! { class => class(outcome), word => outcome.name(), count => count(outcome) }
    });
    each.collect()
}

/// Explains the outcomes.
fn legend() -> Vec<Value> {
    let [most, broad] = [MOST, BROAD].map(|share| format!("{:.0} %", 100.0 * share));
    let each = Outcome::ALL.into_iter().map(|outcome| {
        let meaning = match outcome {
            Outcome::HoldsEverywhere => "in every setting".to_owned(),
            Outcome::HoldsWithExceptions => format!("in at least {most} of the settings"),
            Outcome::HoldsConditionally => {
                format!("where a condition is met that covers at least {broad} of the settings")
            }
            Outcome::Refuted => "by more than the finding's margin".to_owned(),
            Outcome::NotDecidable => "and the card says what would decide it".to_owned(),
        };
        context! { class => class(outcome), word => capitalised(outcome.name()), meaning }
    });
    each.collect()
}

/// Draws the share of each outcome as one bar.
pub(crate) fn bar(verdicts: &[Verdict], title: &str) -> Value {
    const WIDTH: f64 = 460.0;
    let mut svg = format!(
        "<svg class='chart bar' viewBox='0 0 {WIDTH} 26' role='img'><title>{}</title>",
        escaped(title)
    );
    let mut left = 0.0;
    for outcome in Outcome::ALL {
        let count = verdicts.iter().filter(|v| v.outcome == outcome).count();
        if count == 0 {
            continue;
        }
        let width = WIDTH * count as f64 / verdicts.len() as f64;
        let class = class(outcome);
        let middle = left + width / 2.0;
        svg += &format!(
            "<g class='mark' data-x='{middle:.1}' data-y='13'><title>{}: {count} of {}</title>\
             <rect class='share {class}' x='{left:.1}' y='1' width='{:.1}' height='24' rx='3'/>\
             <text class='share-count' x='{middle:.1}' y='18' text-anchor='middle'>{count}</text></g>",
            capitalised(outcome.name()),
            verdicts.len(),
            (width - 2.0).max(1.0),
        );
        left += width;
    }
    Value::from_safe_string(svg + "</svg>")
}

pub(crate) const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::HoldsEverywhere => "everywhere",
        Outcome::HoldsWithExceptions => "mostly",
        Outcome::HoldsConditionally => "condition",
        Outcome::NotDecidable => "open",
        Outcome::Refuted => "refuted",
    }
}
