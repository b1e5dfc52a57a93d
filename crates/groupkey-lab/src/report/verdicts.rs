//! Findings of studies as cards, and the matrix of their outcomes.

mod effects;

use minijinja::{Value, context};

use self::effects::effects;
use super::page::PageBlock;
use super::text::capitalised;
use crate::verdict::{ConditionTest, Outcome, Statement, Thresholds, Verdict};

/// Builds the cards of a study's findings. Their anchors begin with `prefix`.
pub(super) fn cards(verdicts: &[Verdict], prefix: &str) -> PageBlock {
    PageBlock::Cards { cards: verdicts.iter().map(|verdict| card(verdict, prefix)).collect() }
}

/// Builds the matrix: a line of squares for each study, by its name and the prefix of its cards.
pub(super) fn matrix(studies: &[(String, &[Verdict], String)]) -> PageBlock {
    let row = |(name, verdicts, prefix): &(String, &[Verdict], String)| {
        (name.clone(), verdicts.iter().map(|verdict| square(verdict, prefix)).collect())
    };
    PageBlock::Matrix { rows: studies.iter().map(row).collect(), legend: legend() }
}

/// Counts the findings of each outcome, for the head of a page.
pub(super) fn tiles(verdicts: &[&Verdict]) -> Vec<(String, String)> {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let tile = |outcome: Outcome| {
        (count(outcome).to_string(), format!("of {} {}", verdicts.len(), outcome.name()))
    };
    Outcome::ALL.map(tile).to_vec()
}

fn card(verdict: &Verdict, prefix: &str) -> Value {
    let Verdict {
        id,
        claim,
        outcome,
        ground,
        margin,
        share,
        condition,
        sentence,
        dissent,
        remark,
        statements,
    } = verdict;
    let name = format!("{prefix}{id}");
    context! {
        anchor => &name,
        id,
        claim,
        sentence,
        dissent,
        remark,
        margin,
        share => share.to_string(),
        condition => condition.as_ref().map(tested),
        ground => capitalised(&ground.name()),
        class => class(*outcome),
        word => capitalised(outcome.name()),
        chart => effects(verdict, &name),
        comparisons => statements.iter().map(Statement::total).sum::<usize>(),
        statements => statements.iter().map(statement).collect::<Vec<Value>>(),
    }
}

fn statement(statement: &Statement) -> Value {
    let settings = statement.settings.iter().map(|compared| {
        context! {
            words => &compared.words,
            ruling => if compared.void.is_some() { "void" } else { compared.ruling.name() },
            why => compared.void.as_ref().map(|void| &void.why),
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

fn tested(condition: &ConditionTest) -> String {
    let ConditionTest { words, confirmed, p_value, p_holm, .. } = condition;
    format!(
        "{words}: p = {}, {} after Holm; {:.0} % of random halves are confirmed by the others",
        probability(*p_value),
        probability(*p_holm),
        100.0 * confirmed,
    )
}

fn probability(p: f64) -> String {
    match p {
        ..0.001 => format!("{p:.4}"),
        ..0.1 => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

fn square(verdict: &Verdict, prefix: &str) -> Value {
    let outcome = verdict.outcome.name();
    context! {
        anchor => format!("{prefix}{}", verdict.id),
        class => class(verdict.outcome),
        title => format!("{} {outcome}", verdict.claim),
    }
}

/// Explains the outcomes.
fn legend() -> Vec<Value> {
    let thresholds = Thresholds::in_use();
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let most = percent(1.0 - thresholds.exceptions.value);
    let few = percent(thresholds.exceptions.value);
    let broad = percent(thresholds.condition.value);
    let each = Outcome::ALL.into_iter().map(|outcome| {
        let meaning = match outcome {
            Outcome::HoldsEverywhere => "in every setting".to_owned(),
            Outcome::HoldsWithExceptions => format!("in at least {most} of the settings"),
            Outcome::HoldsConditionally => {
                format!(
                    "where a condition is met that covers at least {broad} of the settings, and that chance \
                     does not explain"
                )
            }
            Outcome::Mixed => "holds in a part of the settings".to_owned(),
            Outcome::Refuted => format!("holds in at most {few} of the settings"),
            Outcome::NotDecidable => "and the card says what would decide it".to_owned(),
            Outcome::NotComparable => "ours is another algorithm or definition".to_owned(),
            Outcome::Circular => {
                "rests on the statement itself, or cannot fail in the model".to_owned()
            }
        };
        context! { class => class(outcome), word => capitalised(outcome.name()), meaning }
    });
    each.collect()
}

const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::HoldsEverywhere => "everywhere",
        Outcome::HoldsWithExceptions => "mostly",
        Outcome::HoldsConditionally => "condition",
        Outcome::Mixed => "mixed",
        Outcome::NotDecidable => "open",
        Outcome::Refuted => "refuted",
        Outcome::NotComparable => "other",
        Outcome::Circular => "circular",
    }
}
