//! The findings and values of a study, and our results beside them.

use groupkey_choose::number;
use minijinja::{Value, context};

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
        let amount = |value: f64| format!("{} {unit}", number::published(value));
        context! {
            what => &value.what,
            published => match value.error {
                Some(error) => format!("{} ± {}", number::published(value.published), amount(error)),
                None => amount(value.published),
            },
            measured => value.measured.map(amount),
            modelled => value.modelled.map(amount),
            note => &value.note,
        }
    });
    values.collect()
}
