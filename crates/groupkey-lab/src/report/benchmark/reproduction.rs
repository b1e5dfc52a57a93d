//! The findings and values of a study, and our results beside them.

use minijinja::{Value, context};

use super::super::text::fixed;
use super::super::verdicts::{matrix, verdicts};
use super::content::Reproduction;

/// Builds the study's part of the page.
pub(super) fn part(reproduction: &Reproduction) -> Value {
    let found = verdicts(&reproduction.verdicts, "finding-");
    context! {
        title => &reproduction.title,
        source => &reproduction.source,
        matrix => matrix([("Findings", &found)]),
        verdicts => found,
        command => &reproduction.command,
    }
}

/// Lists the study's values beside our values.
pub(super) fn published(reproduction: &Reproduction) -> Vec<Value> {
    let values = reproduction.published.iter().map(|value| {
        let unit = value.unit;
        let amount = |value: f64| format!("{} {unit}", figure(value));
        context! {
            what => &value.what,
            published => match value.error {
                Some(error) => format!("{} ± {}", figure(value.published), amount(error)),
                None => amount(value.published),
            },
            measured => value.measured.map(amount),
            modelled => value.modelled.map(amount),
            note => &value.note,
        }
    });
    values.collect()
}

/// Formats a number for readers.
fn figure(value: f64) -> String {
    match value.abs() {
        1_000.0.. => fixed(value, 0),
        10.0.. if value.fract() != 0.0 => fixed(value, 1),
        _ if value.fract() == 0.0 => format!("{value}"),
        1.0.. => fixed(value, 2),
        0.001.. => fixed(value, 3),
        _ => format!("{value:.2e}"),
    }
}
