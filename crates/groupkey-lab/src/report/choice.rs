//! The page of a choice: the front, two maps of winners, and a fold for each candidate.

mod drawing;

use groupkey_choose::decision::{Assessment, Decision, ExcludedScheme, Figure, Quantity};
use groupkey_choose::requirements::{Requirements, to_toml};
use groupkey_choose::{number, words};
use serde_json::json;

use super::page::{self, Data, Page, PageBlock, Section};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::escaped;
use crate::choose::commands;
use crate::choose::winner_maps::Map;
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
    let Choice { requirements, decision, .. } = *choice;
    let page = Page {
        kind: "choice".to_owned(),
        title: match &decision.recommended {
            Some(best) => format!("Take {}", best.candidate.variant.scheme),
            None => "Nothing meets the requirements".to_owned(),
        },
        lead: words::recommendation(decision, requirements),
        tiles: tiles(decision),
        sections: [
            front_section(decision),
            maps_section(choice),
            candidates_section(choice),
            out_section(decision),
            Some(requirements_section(choice)),
        ]
        .into_iter()
        .flatten()
        .collect(),
        data: Data::of(&json!({ "requirements": requirements, "decision": decision })),
        ..Page::default()
    };
    page.render()
}

/// The most candidates that the table lists.
const MOST_ROWS: usize = 400;

fn tiles(decision: &Decision) -> Vec<(String, String)> {
    let candidates = decision.front.len() + decision.beaten.len();
    let tile = |value: String, words: &str| (value, words.to_owned());
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

fn front_section(decision: &Decision) -> Option<Section> {
    let figure = drawing::front(decision).map(|svg| {
        PageBlock::Figure(page::PageFigure {
            id: "front-chart".to_owned(),
            title: "Cost against time to completion".to_owned(),
            panels: vec![(String::new(), svg)],
            caption: "Orange: the recommended candidate. Blue: candidates that no other one beats in every \
                      figure, numbered as in the table where there is room. Grey: candidates that meet the \
                      requirements, but are beaten; those far away are left out. Lines: 95 % interval of \
                      the time."
                .to_owned(),
            ..page::PageFigure::default()
        })
    });
    let all: Vec<(usize, &Assessment)> =
        decision.front.iter().chain(&decision.beaten).enumerate().collect();
    let front = decision.front.len();
    let value = |quantity| {
        move |(_, one): &(usize, &Assessment)| {
            one.figure(quantity)
                .map(|figure| PageCell::of(figure.value, number::rounded(figure.value)))
        }
    };
    let columns = vec![
        PageColumn::text("Candidate", |(place, one): &(usize, &Assessment)| {
            let name = one.candidate.to_string();
            match *place < front {
                true => PageCell::link(&format!("#candidate-{}", place + 1), &name),
                false => name.into(),
            }
        })
        .key("candidate"),
        PageColumn::number("No.", "", |(place, _): &(usize, &Assessment)| {
            (*place < front).then(|| (place + 1).to_string())
        }),
        PageColumn::number("Cost", "", |(_, one): &(usize, &Assessment)| {
            PageCell::of(one.cost, number::rounded(one.cost))
        }),
        PageColumn::number("99 %", "ms", value(Quantity::CompletionOf99)),
        PageColumn::number("Energy", "J/day", value(Quantity::Energy)),
        PageColumn::number("Sent", "B/day", value(Quantity::Sent)),
        PageColumn::number("Received", "B/day", value(Quantity::Received)),
        PageColumn::number("Keys", "B", value(Quantity::Keys)),
        PageColumn::number("Largest", "B", value(Quantity::LargestMessage)),
        PageColumn::text("Grounds", |(_, one): &(usize, &Assessment)| words::grounds(one)),
    ];
    let table = PageTable::of("All candidates", all.iter().take(MOST_ROWS), columns);
    if table.is_empty() {
        return None;
    }
    let mut blocks: Vec<PageBlock> = figure.into_iter().collect();
    blocks.push(PageBlock::Table(table.sortable(Vec::new())));
    if all.len() > MOST_ROWS {
        let left_out = all.len() - MOST_ROWS;
        blocks.push(PageBlock::note(format!("{left_out} candidates of higher cost are left out.")));
    }
    Some(Section::new("front", "The front", blocks))
}

fn maps_section(choice: &Choice<'_>) -> Option<Section> {
    let mut blocks = Vec::new();
    if !choice.decision.turns.is_empty() {
        blocks.push(PageBlock::text("If one requirement changes alone:"));
        blocks.push(PageBlock::List {
            items: choice.decision.turns.iter().map(words::turn).collect(),
        });
    }
    blocks.extend(choice.maps.iter().map(|map| {
        let mut caption = "Frame: the requirements. All others stay as they are.".to_owned();
        if map.winners.iter().flatten().any(|winner| winner.is_extrapolated) {
            caption += " Italic and underlined: beyond what was counted or simulated.";
        }
        PageBlock::Figure(page::PageFigure {
            id: format!("map-{}", map.kind.id()),
            title: map.kind.title().to_owned(),
            reading: vec![("Winners", map.reading())],
            legend: drawing::legend(map),
            is_long: true,
            panels: vec![(String::new(), drawing::map(map))],
            caption: caption + " A dash: nothing meets the requirements.",
            ..page::PageFigure::default()
        })
    }));
    (!choice.maps.is_empty()).then(|| Section::new("maps", "Where it turns", blocks))
}

fn candidates_section(choice: &Choice<'_>) -> Option<Section> {
    let front = choice.decision.front.iter().enumerate();
    let folds: Vec<PageBlock> = front.map(|(place, one)| fold(place + 1, one, choice)).collect();
    (!folds.is_empty()).then(|| Section::new("candidates", "Candidates of the front", folds))
}

fn fold(number: usize, assessment: &Assessment, choice: &Choice<'_>) -> PageBlock {
    let Choice { requirements, decision, .. } = *choice;
    let candidate = &assessment.candidate;
    let scheme = registry::scheme(&candidate.variant.scheme);
    let mut told = format!("{}.", words::candidate(candidate));
    if let Some(scheme) = scheme {
        told += &format!(" It is a {} scheme. Source: {}.", scheme.class().name(), scheme.source);
    }
    let columns = vec![
        PageColumn::text("Figure", |figure: &Figure| figure.quantity.name_and_unit().0),
        PageColumn::number("Value", "", |figure: &Figure| number::rounded(figure.value)),
        PageColumn::text("Unit", |figure: &Figure| figure.quantity.name_and_unit().1),
        PageColumn::text("95 % interval", |figure: &Figure| words::interval(figure, requirements)),
        PageColumn::text("Ground", |figure: &Figure| words::ground(figure, requirements)),
    ];
    let table = PageTable::of(format!("Figures of {candidate}"), &assessment.figures, columns);
    let mut blocks = vec![PageBlock::text(told), PageBlock::Table(table)];
    blocks.push(PageBlock::heading("These make the figures again"));
    for (what, command) in commands(assessment, requirements, decision.runs(candidate)) {
        blocks.extend([PageBlock::note(what), PageBlock::code(command)]);
    }
    let provenance = scheme.map_or("unknown", |scheme| scheme.provenance.name());
    PageBlock::Fold {
        id: format!("candidate-{number}"),
        name: format!("{number}. {}", candidate.variant.scheme),
        title: format!("{number}. {candidate}").into(),
        remark: format!("cost {}, {provenance}", number::rounded(assessment.cost)),
        is_open: number == 1,
        blocks,
    }
}

fn out_section(decision: &Decision) -> Option<Section> {
    let columns = vec![
        PageColumn::text("Scheme", |out: &ExcludedScheme| out.scheme.clone()),
        PageColumn::text("Nearest candidate", |out: &ExcludedScheme| {
            out.candidate.as_ref().map(ToString::to_string)
        }),
        PageColumn::text("Why", |out: &ExcludedScheme| {
            let reasons = words::reasons(out);
            let lines: Vec<String> = reasons.iter().map(|reason| escaped(reason)).collect();
            PageCell::markup(lines.join("<br>"), lines.join("; "))
        }),
    ];
    let table = PageTable::of("Schemes that are out", &decision.out, columns);
    (!table.is_empty()).then(|| Section::new("out", "What is out", vec![PageBlock::Table(table)]))
}

fn requirements_section(choice: &Choice<'_>) -> Section {
    let text = to_toml(choice.requirements);
    let note = format!(
        "Fields at their defaults are left out; docs/choose.md lists them all. This file makes the \
         decision again: groupkey choose --requirements requirements.toml, commit {}.",
        choice.commit
    );
    let grounds = "Counted: by running the scheme. Modelled: counted, and priced by a device's profile. \
                   Fitted: by a model that was fitted to simulations. Simulated: for these requirements. \
                   Extrapolated: outside of what was counted or simulated.";
    let blocks = vec![
        PageBlock::note(note),
        PageBlock::code(if text.is_empty() { "# all defaults".to_owned() } else { text }),
        PageBlock::heading("Grounds"),
        PageBlock::text(grounds),
    ];
    Section::new("requirements", "Requirements", blocks)
}
