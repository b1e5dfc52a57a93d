//! Draws the front and the maps as inline SVG. Colours come from the page's style sheet by class.

use std::fmt::Write;

use groupkey_choose::decision::{Assessment, Decision, Quantity};
use groupkey_choose::{number, words};
use minijinja::{Value, context};

use super::super::text::escaped;
use crate::choose::maps::{Map, MapKind, Winner};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 316.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;

/// Colours of the style sheet.
const COLOURS: usize = 7;

/// Draws cost against the time until 99 % of changes are complete.
pub(super) fn front(decision: &Decision) -> String {
    let point = |assessment: &Assessment| {
        let time = assessment.figure(Quantity::CompletionOf99)?;
        Some((assessment.cost, time.value, time.interval))
    };
    let on_front: Vec<_> = decision.front.iter().filter_map(point).collect();
    if on_front.is_empty() {
        return String::new();
    }
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0_f64, f64::max);
    let most_cost = BESIDE * largest(&mut on_front.iter().map(|point| point.0));
    let most_time = BESIDE * largest(&mut on_front.iter().map(|point| point.1));
    let is_beside = |cost: f64, time: f64| cost <= most_cost && time <= most_time;
    let beside: Vec<_> = decision
        .beaten
        .iter()
        .filter_map(|assessment| Some((assessment, point(assessment)?)))
        .filter(|(_, (cost, time, _))| is_beside(*cost, *time))
        .collect();
    let points = || on_front.iter().chain(beside.iter().map(|(_, point)| point));
    let x_scale = Scale::of(points().map(|point| point.0));
    let intervals = on_front.iter().flat_map(|point| [point.2.0.max(0.0), point.2.1]);
    let y_scale = Scale::of(points().map(|point| point.1).chain(intervals));
    let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    let x = |cost: f64| LEFT + x_scale.position(cost) * width;
    let y = |time: f64| HEIGHT - BOTTOM - y_scale.position(time) * height;

    let description = format!(
        "{} candidates that no other one beats, and {} that one of them beats.",
        decision.front.len(),
        decision.beaten.len()
    );
    let mut svg = open("front", "Cost against time to completion", &description, HEIGHT);
    let _ = write!(
        svg,
        "<text class='axis-title' x='2' y='13'>{}</text>",
        escaped(&format!(
            "99 % of changes complete within (ms{})",
            if y_scale.is_logarithmic { ", logarithmic" } else { "" }
        )),
    );
    for &tick in &y_scale.ticks {
        let _ = write!(
            svg,
            "<path class='grid' d='M{LEFT} {y:.1}H{:.1}'/><text class='tick' x='{:.1}' y='{:.1}' \
             text-anchor='end'>{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(tick) + 4.0,
            number::rounded(tick),
            y = y(tick),
        );
    }
    let floor = HEIGHT - BOTTOM;
    let mut free = 0.0;
    for &tick in &x_scale.ticks {
        let text = number::rounded(tick);
        let half = text.len() as f64 * 3.6;
        if x(tick) - half < free {
            continue;
        }
        free = x(tick) + half + 6.0;
        let _ = write!(
            svg,
            "<path class='grid' d='M{x:.1} {TOP}V{floor}'/><text class='tick' x='{x:.1}' y='{:.1}' \
             text-anchor='middle'>{text}</text>",
            floor + 17.0,
            x = x(tick),
        );
    }
    let _ = write!(
        svg,
        "<path class='floor' d='M{LEFT} {floor}H{:.1}'/><text class='axis-title' x='{:.1}' \
         y='{:.1}' text-anchor='middle'>cost a day{}</text>",
        WIDTH - RIGHT,
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 6.0,
        if x_scale.is_logarithmic { " (logarithmic)" } else { "" },
    );

    for (assessment, (cost, time, _)) in &beside {
        let _ = write!(
            svg,
            "<g class='mark beaten' data-x='{x:.1}' data-y='{y:.1}'><title>{}</title><circle \
             class='dot' cx='{x:.1}' cy='{y:.1}' r='2.6'/></g>",
            escaped(&described(assessment)),
            x = x(*cost),
            y = y(*time),
        );
    }
    // Where many lie close together, only the cheapest has room for its number.
    let mut numbered: Vec<(f64, f64)> = Vec::new();
    let mut marks = Vec::new();
    for (place, assessment) in decision.front.iter().enumerate() {
        let Some((cost, time, (low, high))) = point(assessment) else { continue };
        let (x, centre) = (x(cost), y(time));
        let is_free = |&(left, top): &(f64, f64)| f64::hypot(left - x, top - centre) > 17.0;
        let has_number = numbered.iter().all(is_free);
        let radius = match (place, has_number) {
            (0, _) => 10.0,
            (_, true) => 8.5,
            (_, false) => 4.0,
        };
        let number = match has_number {
            true => {
                numbered.push((x, centre));
                format!(
                    "<text class='place' x='{x:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
                    centre + 3.8,
                    place + 1
                )
            }
            false => String::new(),
        };
        marks.push(format!(
            "<g class='mark on-front {}' data-x='{x:.1}' data-y='{centre:.1}'><title>{}</title>\
             <path class='span' d='M{x:.1} {:.1}V{:.1}'/>\
             <circle class='dot' cx='{x:.1}' cy='{centre:.1}' r='{radius}'/>{number}</g>",
            if place == 0 { "best" } else { "other" },
            escaped(&format!("{}. {}", place + 1, described(assessment))),
            y(high),
            y(low.max(0.0)),
        ));
    }
    // The cheapest is drawn last, above the others.
    marks.iter().rev().for_each(|mark| svg.push_str(mark));
    svg + "</svg>"
}

/// Candidates beside the front are shown up to this multiple of its largest cost and time.
const BESIDE: f64 = 1.25;

/// Maps values to places from 0 to 1: logarithmic if they span more than a decade.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
    ticks: Vec<f64>,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = values
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if low > 0.0 && high / low > 12.0 {
            let (low, high) = (low * 0.85, high * 1.15);
            let steps: &[f64] = if high / low < 1e3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let ticks = decades
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)))
                .filter(|tick| (low..=high).contains(tick))
                .collect();
            return Self { low, high, is_logarithmic: true, ticks };
        }
        let margin = match high - low {
            0.0 => high.max(1.0) * 0.1,
            span => span * 0.06,
        };
        let (low, high) = ((low - margin).max(0.0), high + margin);
        let rough = (high - low) / 5.0;
        let decade = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
        let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(rough);
        let (first, last) = ((low / step).ceil() as u32, (high / step).floor() as u32);
        let ticks = (first..=last).map(|tick| f64::from(tick) * step).collect();
        Self { low, high, is_logarithmic: false, ticks }
    }

    fn position(&self, value: f64) -> f64 {
        let part = match self.is_logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        part.clamp(0.0, 1.0)
    }
}

/// Draws a map: a letter and a colour for each winner.
pub(super) fn map(map: &Map) -> String {
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let height = 24.0 * rows as f64 + TOP + BOTTOM;
    let cell_width = (WIDTH - LEFT - RIGHT) / columns as f64;
    let cell_height = (height - TOP - BOTTOM) / rows as f64;
    let ranking = map.ranking();
    let (across, up) = map.kind.axes();
    let id = map.kind.id();
    let mut svg = open(id, &map.kind.title(), &map.reading(), height);
    let _ = write!(svg, "<text class='axis-title' x='2' y='13'>{}</text>", escaped(up));
    for (cell, winner) in map.winners.iter().enumerate() {
        let (column, row) = (cell % columns, cell / columns);
        let left = LEFT + column as f64 * cell_width;
        let top = height - BOTTOM - (row + 1) as f64 * cell_height;
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
        let _ = write!(
            svg,
            "<g class='mark cell {class}{beyond}' data-x='{x:.1}' data-y='{y:.1}'>\
             <title>{}</title><rect x='{left:.1}' y='{top:.1}' width='{:.1}' height='{:.1}' rx='2'/>\
             <text x='{x:.1}' y='{:.1}' text-anchor='middle'>{}</text></g>",
            escaped(&in_cell(&place, winner.as_ref())),
            cell_width - 1.5,
            cell_height - 1.5,
            top + cell_height / 2.0 + 3.5,
            rank.map_or_else(|| "–".to_owned(), letter),
            x = left + cell_width / 2.0,
            y = top + cell_height / 2.0,
        );
    }
    let (column, row) = map.present;
    let _ = write!(
        svg,
        "<rect class='present' x='{:.1}' y='{:.1}' width='{:.1}' height='{:.1}' rx='3'/>",
        LEFT + column as f64 * cell_width - 1.0,
        height - BOTTOM - (row + 1) as f64 * cell_height - 1.0,
        cell_width + 0.5,
        cell_height + 0.5,
    );
    for (row, &value) in map.rows.iter().enumerate() {
        let y = height - BOTTOM - (row as f64 + 0.5) * cell_height + 4.0;
        let _ = write!(
            svg,
            "<text class='tick' x='{:.1}' y='{y:.1}' text-anchor='end'>{}</text>",
            LEFT - 6.0,
            number::rounded(value),
        );
    }
    let mut free = 0.0;
    for (column, &value) in map.columns.iter().enumerate() {
        let x = LEFT + (column as f64 + 0.5) * cell_width;
        let text = number::rounded(value);
        let half = text.len() as f64 * 3.6;
        if x - half < free {
            continue;
        }
        free = x + half + 4.0;
        let _ = write!(
            svg,
            "<text class='tick' x='{x:.1}' y='{:.1}' text-anchor='middle'>{text}</text>",
            height - BOTTOM + 16.0,
        );
    }
    let _ = write!(
        svg,
        "<text class='axis-title' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        height - 6.0,
        escaped(across),
    );
    svg + "</svg>"
}

/// Returns the winners of a map with letter, colour and number of cells.
pub(super) fn legend(map: &Map) -> Vec<Value> {
    map.ranking()
        .into_iter()
        .enumerate()
        .map(|(rank, (candidate, cells))| {
            context! {
                letter => letter(rank),
                colour => rank % COLOURS,
                candidate => candidate.to_string(),
                cells,
            }
        })
        .collect()
}

impl MapKind {
    /// Returns a name for use in the page.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::MembersAndChanges => "members",
            Self::LossAndDelay => "network",
        }
    }

    /// Returns the map's title.
    pub(super) fn title(self) -> String {
        match self {
            Self::MembersAndChanges => "Winners over members, and joins and leaves".to_owned(),
            Self::LossAndDelay => "Winners over loss and delay".to_owned(),
        }
    }
}

fn open(id: &str, title: &str, description: &str, height: f64) -> String {
    format!(
        "<svg class='chart' viewBox='0 0 {WIDTH} {height}' role='img' \
         aria-labelledby='{id}-title {id}-description'><title id='{id}-title'>{}</title>\
         <desc id='{id}-description'>{}</desc>",
        escaped(title),
        escaped(description),
    )
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
