//! Draws the front and the maps.

use groupkey_choose::decision::{Assessment, Decision, Quantity};
use groupkey_choose::{number, words};
use minijinja::Value;

use crate::choose::winner_maps::{Map, MapKind, Winner};
use crate::report::axis::Axis;
use crate::report::page::LegendEntry;
use crate::report::style::COLOURS;
use crate::report::svg::Plot;

/// Draws cost against the time until 99 % of changes are complete.
pub(super) fn front(decision: &Decision) -> Option<Value> {
    let point = |assessment: &Assessment| {
        let time = assessment.figure(Quantity::CompletionOf99)?;
        Some((assessment.cost, time.value, time.interval))
    };
    let on_front: Vec<_> = decision.front.iter().filter_map(point).collect();
    let largest = |values: &mut dyn Iterator<Item = f64>| values.reduce(f64::max);
    let most_cost = BESIDE * largest(&mut on_front.iter().map(|point| point.0))?;
    let most_time = BESIDE * largest(&mut on_front.iter().map(|point| point.1))?;
    let beside: Vec<_> = decision
        .beaten
        .iter()
        .filter_map(|assessment| Some((assessment, point(assessment)?)))
        .filter(|(_, (cost, time, _))| *cost <= most_cost && *time <= most_time)
        .collect();
    let points = || on_front.iter().chain(beside.iter().map(|(_, point)| point));
    let costs = Axis::around(points().map(|point| point.0));
    let intervals = on_front.iter().flat_map(|point| [point.2.0.max(0.0), point.2.1]);
    let times = Axis::around(points().map(|point| point.1).chain(intervals));
    let plot = Plot::PLAIN;
    let x = |cost: f64| plot.x(costs.position(cost));
    let y = |time: f64| plot.y(times.position(time));

    let description = format!(
        "{} candidates that no other one beats, and {} that one of them beats.",
        decision.front.len(),
        decision.beaten.len()
    );
    let mut svg = plot.begin("front", "Cost against time to completion").described(&description);
    plot.up(&mut svg, &times, "99 % of changes complete within (ms)", number::rounded);
    plot.across(&mut svg, &costs, "cost a day", number::rounded);
    for (assessment, (cost, time, _)) in &beside {
        let at = (x(*cost), y(*time));
        svg.begin_mark("mark beaten", at, &described(assessment));
        svg.circle("dot", at, 2.6);
        svg.end();
    }
    // Where many lie close together, only the cheapest has room for its number. It is drawn last,
    // above the others.
    let mut numbered: Vec<(f64, f64)> = Vec::new();
    let mut marks = Vec::new();
    for (place, assessment) in decision.front.iter().enumerate() {
        let Some((cost, time, interval)) = point(assessment) else { continue };
        let at = (x(cost), y(time));
        let is_free = |&(left, top): &(f64, f64)| f64::hypot(left - at.0, top - at.1) > 17.0;
        let has_number = numbered.iter().all(is_free);
        if has_number {
            numbered.push(at);
        }
        marks.push((place, assessment, at, interval, has_number));
    }
    for (place, assessment, at, (low, high), has_number) in marks.into_iter().rev() {
        let class = if place == 0 { "mark on-front best" } else { "mark on-front" };
        svg.begin_mark(class, at, &format!("{}. {}", place + 1, described(assessment)));
        svg.path("tail", format_args!("M{:.1} {:.1}V{:.1}", at.0, y(high), y(low.max(0.0))));
        let radius = match (place, has_number) {
            (0, _) => 10.0,
            (_, true) => 8.5,
            (_, false) => 4.0,
        };
        svg.circle("dot", at, radius);
        if has_number {
            svg.text("place", (at.0, at.1 + 3.8), "middle", &(place + 1).to_string());
        }
        svg.end();
    }
    Some(svg.finish())
}

/// Candidates beside the front are shown up to this multiple of its largest cost and time.
const BESIDE: f64 = 1.25;

/// Draws a map: a letter and a colour for each winner.
pub(super) fn map(map: &Map) -> Value {
    let (columns, rows) = (map.columns.len() as f64, map.rows.len() as f64);
    let plot = Plot::of_height(24.0 * rows);
    let ranking = map.ranking();
    let (across, up) = map.kind.axes();
    let (width, height) = (plot.x(1.0 / columns) - plot.x(0.0), plot.y(0.0) - plot.y(1.0 / rows));
    let corner = |column: usize, row: usize| {
        (plot.x(column as f64 / columns), plot.y((row + 1) as f64 / rows))
    };
    let mut svg = plot.begin(map.kind.id(), map.kind.title()).described(&map.reading());
    for (cell, winner) in map.winners.iter().enumerate() {
        let (column, row) = (cell % map.columns.len(), cell / map.columns.len());
        let (left, top) = corner(column, row);
        let rank = winner.as_ref().and_then(|winner| {
            ranking.iter().position(|(candidate, _)| **candidate == winner.candidate)
        });
        let class = match rank {
            Some(rank) => format!("s{}", rank % COLOURS),
            None => "empty".to_owned(),
        };
        let is_extrapolated = winner.as_ref().is_some_and(|winner| winner.is_extrapolated);
        let beyond = if is_extrapolated { " beyond" } else { "" };
        let place = format!(
            "{across} {}, {up} {}",
            number::rounded(map.columns[column]),
            number::rounded(map.rows[row])
        );
        let middle = (left + width / 2.0, top + height / 2.0);
        let class = format!("mark cell {class}{beyond}");
        svg.begin_mark(&class, middle, &in_cell(&place, winner.as_ref()));
        svg.rect("winner", (left, top), (width - 1.5, height - 1.5), 2.0);
        let words = rank.map_or_else(|| "–".to_owned(), letter);
        svg.text("letter", (middle.0, middle.1 + 3.5), "middle", &words);
        svg.end();
    }
    let (left, top) = corner(map.present.0, map.present.1);
    svg.rect("present", (left - 1.0, top - 1.0), (width + 0.5, height + 0.5), 3.0);
    let labels = |values: &[f64]| {
        let count = values.len() as f64;
        let labels = values.iter().enumerate();
        let label =
            |(at, value): (usize, &f64)| ((at as f64 + 0.5) / count, number::rounded(*value));
        labels.map(label).collect::<Vec<_>>()
    };
    plot.labels_up(&mut svg, up, labels(&map.rows).into_iter());
    plot.labels_across(&mut svg, across, labels(&map.columns).into_iter());
    svg.finish()
}

/// Returns the winners of a map with letter, colour and number of cells.
pub(super) fn legend(map: &Map) -> Vec<LegendEntry> {
    let winners = map.ranking().into_iter().enumerate();
    let entry = |(rank, (candidate, cells)): (usize, (&_, usize))| {
        let glyph = format!(
            "<span class=\"letter s{}\"><span>{}</span></span>",
            rank % COLOURS,
            letter(rank)
        );
        let candidate: &groupkey_choose::decision::Candidate = candidate;
        LegendEntry {
            glyph: Value::from_safe_string(glyph),
            label: candidate.to_string(),
            remark: if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") },
            ..LegendEntry::default()
        }
    };
    winners.map(entry).collect()
}

impl MapKind {
    /// Returns a name for use in the page.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::MembersAndChanges => "members",
            Self::LossAndDelay => "network",
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::MembersAndChanges => "Winners over members, and joins and leaves",
            Self::LossAndDelay => "Winners over loss and delay",
        }
    }
}

fn described(assessment: &Assessment) -> String {
    let time = assessment.figure(Quantity::CompletionOf99);
    let time = time.map_or(String::new(), |figure| {
        format!(", 99 % within {}", words::amount(figure.quantity, figure.value))
    });
    let candidate = &assessment.candidate;
    format!("{candidate}: cost {}{time}", number::rounded(assessment.cost))
}

fn in_cell(place: &str, winner: Option<&Winner>) -> String {
    match winner {
        Some(winner) => {
            let beyond = if winner.is_extrapolated { ", extrapolated" } else { "" };
            let Winner { candidate, cost, .. } = winner;
            format!("{place}: {candidate}, cost {}{beyond}", number::rounded(*cost))
        }
        None => format!("{place}: nothing meets the requirements"),
    }
}

/// Returns A to Z, then AA and so on.
fn letter(rank: usize) -> String {
    let last = char::from(b'A' + (rank % 26) as u8).to_string();
    match rank / 26 {
        0 => last,
        more => letter(more - 1) + &last,
    }
}
