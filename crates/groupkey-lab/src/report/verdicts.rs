//! Findings of studies as cards, and the matrix of their outcomes.

mod effects;

use minijinja::{Value, context};

use self::effects::effects;
use super::page::PageBlock;
use super::text::capitalised;
use crate::verdict::{BROAD, MOST, Outcome, Statement, Verdict};

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
        chart => effects(verdict, &name),
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

/// Builds the square of a finding in the matrix.
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

const fn class(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::HoldsEverywhere => "everywhere",
        Outcome::HoldsWithExceptions => "mostly",
        Outcome::HoldsConditionally => "condition",
        Outcome::NotDecidable => "open",
        Outcome::Refuted => "refuted",
    }
}
