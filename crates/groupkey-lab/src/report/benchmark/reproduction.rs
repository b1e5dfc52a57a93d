//! What a study says, and what our rows say to it.

use minijinja::{Value, context};

use super::super::text::fixed;
use super::super::verdicts;
use super::Reproduction;

/// The study's part of the page.
pub(super) fn part(reproduction: &Reproduction) -> Value {
    let published = reproduction.published.iter().map(|value| {
        let shown = |value: Option<f64>| value.map(figure);
        context! {
            what => &value.what,
            published => match value.error {
                Some(error) => format!("{} ± {}", figure(value.published), figure(error)),
                None => figure(value.published),
            },
            measured => shown(value.measured),
            modelled => shown(value.modelled),
            unit => value.unit,
            note => &value.note,
        }
    });
    context! {
        title => &reproduction.title,
        source => &reproduction.source,
        verdicts => verdicts(&reproduction.verdicts),
        published => published.collect::<Vec<_>>(),
        command => &reproduction.command,
    }
}

/// A number for people.
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
