//! The report of a choice: the front, two maps of winners, and a section for each candidate.

mod drawing;

use groupkey_choose::decision::{Assessment, Decision, Quantity};
use groupkey_choose::requirements::{Requirements, to_toml};
use groupkey_choose::{number, words};
use minijinja::{Value, context};
use serde_json::json;

use super::page::in_script;
use super::template::fill;
use crate::choose::commands;
use crate::choose::maps::Map;
use crate::registry;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// The requirements.
    pub requirements: &'a Requirements,
    /// The answer to them.
    pub decision: &'a Decision,
    /// Winners around the requirements.
    pub maps: &'a [Map],
    /// The commit of the command.
    pub commit: &'a str,
}

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render_choice(choice: &Choice<'_>) -> String {
    let Choice { requirements, decision, maps, commit } = *choice;
    let told = words::recommendation(decision, requirements);
    let sections: Vec<Value> = decision
        .front
        .iter()
        .enumerate()
        .map(|(number, assessment)| section(number + 1, assessment, requirements))
        .collect();
    let data = json!({ "requirements": requirements, "decision": decision });
    fill(
        "choice.html",
        context! {
            title => match &decision.recommended {
                Some(best) => format!("Take {}", best.candidate.variant.scheme),
                None => "Nothing meets the requirements".to_owned(),
            },
            told,
            tiles => tiles(decision),
            front => svg(drawing::front(decision)),
            rows => decision.front.iter().chain(&decision.beaten).take(MOST_ROWS).enumerate()
                .map(|(place, assessment)| {
                    row(place, assessment, place < decision.front.len())
                })
                .collect::<Vec<Value>>(),
            left_out => (decision.front.len() + decision.beaten.len()).saturating_sub(MOST_ROWS),
            maps => maps.iter().map(|map| context! {
                id => format!("map-{}", map.kind.id()),
                title => map.kind.title(),
                reading => map.reading(),
                svg => svg(drawing::map(map)),
                legend => drawing::legend(map),
                has_extrapolated => map.winners.iter().flatten().any(|winner| winner.is_extrapolated),
            }).collect::<Vec<Value>>(),
            turns => decision.turns.iter().map(words::turn).collect::<Vec<_>>(),
            sections,
            out => decision.out.iter().map(|out| context! {
                scheme => &out.scheme,
                nearest => out.candidate.as_ref().map(ToString::to_string),
                reasons => words::reasons(out),
            }).collect::<Vec<Value>>(),
            requirements => to_toml(requirements),
            commit,
            data => Value::from_safe_string(in_script(&data)),
        },
    )
}

/// The most candidates that the table lists.
const MOST_ROWS: usize = 400;

fn svg(drawing: String) -> Value {
    Value::from_safe_string(drawing)
}

fn tiles(decision: &Decision) -> Vec<Value> {
    let candidates = decision.front.len() + decision.beaten.len();
    let tile = |value: String, words: &str| context! { value, words };
    let mut tiles = Vec::new();
    if let Some(best) = &decision.recommended {
        tiles.push(tile(number::rounded(best.cost), "cost a day"));
        for (quantity, words) in [
            (Quantity::CompletionOf99, "99 % of changes complete"),
            (Quantity::Energy, "a member takes a day"),
        ] {
            if let Some(figure) = best.figure(quantity) {
                let amount = words::amount(quantity, figure.value);
                tiles.push(tile(amount.replace(" a day", ""), words));
            }
        }
    }
    tiles.push(tile(number::grouped(candidates as f64), "candidates meet the requirements"));
    tiles.push(tile(decision.out.len().to_string(), "schemes are out"));
    tiles
}

fn row(place: usize, assessment: &Assessment, is_on_front: bool) -> Value {
    let value = |quantity| {
        let figure = assessment.figure(quantity);
        figure.map_or_else(|| "–".to_owned(), |figure| number::rounded(figure.value))
    };
    context! {
        number => is_on_front.then_some(place + 1),
        candidate => assessment.candidate.to_string(),
        cost => number::rounded(assessment.cost),
        values => [
            Quantity::CompletionOf99,
            Quantity::Energy,
            Quantity::Sent,
            Quantity::Received,
            Quantity::Keys,
            Quantity::LargestMessage,
        ].map(value).to_vec(),
        grounds => words::grounds(assessment),
    }
}

fn section(number: usize, assessment: &Assessment, requirements: &Requirements) -> Value {
    let scheme = registry::scheme(&assessment.candidate.variant.scheme);
    context! {
        number,
        id => format!("candidate-{number}"),
        title => assessment.candidate.to_string(),
        words => words::candidate(&assessment.candidate),
        source => scheme.map(|scheme| scheme.source),
        provenance => scheme.map(|scheme| scheme.provenance.name()),
        class => scheme.map(|scheme| scheme.class().name()),
        cost => number::rounded(assessment.cost),
        figures => assessment.figures.iter().map(|figure| {
            let (name, unit) = figure.quantity.name_and_unit();
            context! {
                name,
                unit,
                value => number::rounded(figure.value),
                interval => words::interval(figure),
                ground => words::ground(figure, requirements),
            }
        }).collect::<Vec<Value>>(),
        commands => commands(assessment, requirements)
            .into_iter()
            .map(|(what, command)| context! { what, command })
            .collect::<Vec<Value>>(),
    }
}
