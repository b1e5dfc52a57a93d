//! Schemes side by side in what a trace costs, and in what a choice is made by.

use std::collections::BTreeMap;

use groupkey_choose::decision::Quantity;
use groupkey_choose::number;

use super::content::{Report, Source};
use super::network::axes::{self, Extent};
use super::network::marks::{self, Category, Facet, MarkValues, Panel};
use super::network::quantity::Spread;
use super::page::{PageBlock, PageFigure, Part};
use super::style::{Style, Styles};
use super::table::{PageCell, PageColumn, PageTable};
use super::text::{bytes, capitalised, energy, time};
use crate::bench::trace::ReplayRow;
use crate::choose::{CandidateFigure, ChoiceRow};

/// Makes the figures of traces and of choices. The rows of traces are at `first` in the page's data,
/// and those of choices follow.
pub(super) fn parts(report: &Report, first: usize, styles: &Styles) -> Vec<Part> {
    let traces = traces(report, first, styles);
    let choices = choices(report, first + report.traces.len(), styles);
    let part = |id: &str, title: &str, figures: Vec<PageFigure>| Part {
        id: id.to_owned(),
        title: title.to_owned(),
        figures: figures.into_iter().map(PageBlock::Figure).collect(),
    };
    [part("traces", "Traces", traces), part("choices", "Choices", choices)]
        .into_iter()
        .filter(|part| !part.figures.is_empty())
        .collect()
}

/// A value of a scheme in one file.
struct SideValue {
    /// Place of its row in the page's data.
    row: usize,
    source: usize,
    scheme: String,
    value: f64,
    interval: (f64, f64),
    words: String,
}

/// A quantity by which schemes are compared.
struct SideBySide<'a> {
    id: String,
    heading: String,
    quantity: &'static str,
    format: fn(f64) -> String,
    values: Vec<SideValue>,
    sources: &'a [Source],
}

impl SideBySide<'_> {
    fn draw(&self, styles: &[Style]) -> (String, minijinja::Value) {
        let mut sources: Vec<usize> = self.values.iter().map(|value| value.source).collect();
        sources.sort_unstable();
        sources.dedup();
        let mark = |value: &SideValue| MarkValues {
            row: value.row,
            spread: Spread::exactly(value.value),
            whisker: value.interval,
            transmission: 0.0,
            words: format!("{}: {}", value.scheme, value.words),
            published: None,
        };
        let facet = |source: &usize| {
            let of = |style: &Style| {
                let is_it =
                    |value: &&SideValue| value.source == *source && value.scheme == style.scheme;
                self.values.iter().find(is_it).map(mark)
            };
            let name = self.sources.get(*source).map_or("", |source| &source.name);
            Facet {
                label: name.to_owned(),
                categories: vec![Category {
                    label: String::new(),
                    points: styles.iter().map(of).collect(),
                }],
            }
        };
        let extent = self.values.iter().fold(Extent::NOTHING, |extent, value| {
            extent.with(Spread { p99: value.interval.1, ..Spread::exactly(value.value) })
        });
        let axis = axes::axes(&[extent], false).remove(0);
        let panel = Panel {
            id: self.id.clone(),
            title: self.heading.clone(),
            description: format!("{}, scheme by scheme.", capitalised(self.quantity)),
            quantity: self.quantity,
            format: self.format,
            axis: &axis,
            styles,
            facets: sources.iter().map(facet).collect(),
            categories: "",
        };
        (self.heading.clone(), marks::marks(&panel))
    }
}

fn figure(
    file: &str,
    title: String,
    nature: &'static str,
    caption: &str,
    sides: Vec<SideBySide<'_>>,
    styles: &Styles,
) -> Option<PageFigure> {
    let drawn: Vec<SideBySide<'_>> =
        sides.into_iter().filter(|side| !side.values.is_empty()).collect();
    let has_value = |style: &&Style| {
        drawn.iter().flat_map(|side| &side.values).any(|value| value.scheme == style.scheme)
    };
    let shown: Vec<Style> = styles.iter().filter(has_value).cloned().collect();
    (!drawn.is_empty()).then(|| PageFigure {
        id: file.to_owned(),
        file: file.to_owned(),
        title,
        nature,
        legend: shown.iter().map(Style::entry).collect(),
        panels: drawn.iter().map(|side| side.draw(&shown)).collect(),
        caption: caption.to_owned(),
        filter: BTreeMap::new(),
        ..PageFigure::default()
    })
}

struct TraceSubject {
    file: &'static str,
    title: &'static str,
    quantity: &'static str,
    format: fn(f64) -> String,
    nature: &'static str,
    find: fn(&ReplayRow) -> Option<(f64, f64)>,
}

const TRACE_SUBJECTS: [TraceSubject; 3] = [
    TraceSubject {
        file: "trace-bytes",
        title: "bytes sent",
        quantity: "bytes sent",
        format: bytes,
        nature: "",
        find: |row| Some((row.wire_bytes as f64, 0.0)),
    },
    TraceSubject {
        file: "trace-time",
        title: "computation of the busiest party",
        quantity: "time, modelled",
        format: time,
        nature: "modelled",
        find: |row| row.busiest_seconds.map(|seconds| (1e3 * seconds, 0.0)),
    },
    TraceSubject {
        file: "trace-energy",
        title: "energy of the busiest party",
        quantity: "energy, modelled",
        format: energy,
        nature: "modelled",
        find: |row| row.busiest_joule.map(|energy| (energy.value, energy.error)),
    },
];

fn traces(report: &Report, first: usize, styles: &Styles) -> Vec<PageFigure> {
    let mut roles: Vec<&str> = Vec::new();
    for (_, row) in &report.traces {
        if !roles.contains(&&*row.role) {
            roles.push(&row.role);
        }
    }
    let figures = TRACE_SUBJECTS.into_iter().filter_map(|subject| {
        let TraceSubject { file, title, quantity, format, nature, find } = subject;
        let side = |(number, role): (usize, &&str)| {
            let rows = report.traces.iter().enumerate().filter(|(_, (_, row))| row.role == **role);
            let value = |(place, (source, row)): (usize, &(usize, ReplayRow))| {
                let (value, error) = find(row).filter(|(value, _)| *value > 0.0)?;
                let device = row.device.as_deref().map_or(String::new(), |it| format!("; {it}"));
                Some(SideValue {
                    row: first + place,
                    source: *source,
                    scheme: row.scheme.clone(),
                    value,
                    interval: (value - error, value + error),
                    words: format!(
                        "{quantity} {}; {} joins, {} leaves; {} messages{device}",
                        format(value),
                        row.joins,
                        row.leaves,
                        row.messages
                    ),
                })
            };
            SideBySide {
                id: format!("{file}-{number}"),
                heading: capitalised(&role.replace('-', " ")),
                quantity,
                format,
                values: rows.filter_map(value).collect(),
                sources: &report.sources,
            }
        };
        let sides = roles.iter().enumerate().map(side).collect();
        let caption = "Everything in the trace together, a panel for each role. Bytes are those of \
                       operational messages that the role sent; times and energies are counted primitives at \
                       the prices of the device.";
        figure(file, format!("Trace: {title}"), nature, caption, sides, styles)
    });
    figures.collect()
}

/// Formats a value with its unit.
type Format = fn(f64) -> String;

/// The quantities of a choice that figures show, and what their axes say.
const SHOWN: [(Quantity, &str, Format); 4] = [
    (Quantity::CompletionOf99, "99 % of changes complete within", time),
    (Quantity::Energy, "energy a day", energy),
    (Quantity::Received, "bytes a day", bytes),
    (Quantity::Keys, "bytes of keys", bytes),
];

fn choices(report: &Report, first: usize, styles: &Styles) -> Vec<PageFigure> {
    // Rows are in the order of the answer: the first of a scheme is its best candidate.
    let mut best: BTreeMap<(usize, &str), (usize, &ChoiceRow)> = BTreeMap::new();
    for (place, (source, row)) in report.choices.iter().enumerate() {
        best.entry((*source, &row.scheme)).or_insert((first + place, row));
    }
    let value =
        |source: usize, place: usize, row: &ChoiceRow, value: f64, interval, words| SideValue {
            row: place,
            source,
            scheme: row.scheme.clone(),
            value,
            interval,
            words: format!("{words}; place {}, {}; {}", row.place, row.standing, candidate(row)),
        };
    let cost = SideBySide {
        id: "choice-0".to_owned(),
        heading: "Cost a day".to_owned(),
        quantity: "by the weights of the requirements",
        format: number::rounded,
        values: best
            .iter()
            .map(|((source, _), (place, row))| {
                let words = format!("cost {}", number::rounded(row.cost));
                value(*source, *place, row, row.cost, (row.cost, row.cost), words)
            })
            .collect(),
        sources: &report.sources,
    };
    let others = SHOWN.into_iter().enumerate().map(|(number, (quantity, axis, format))| {
        let (name, _) = quantity.name_and_unit();
        let of = |((source, _), (place, row)): (&(usize, &str), &(usize, &ChoiceRow))| {
            let CandidateFigure { value: at, low, high, ground, .. } = row.figure(quantity)?;
            let words = format!("{name} {}, {ground}", format(*at));
            (*at > 0.0).then(|| value(*source, *place, row, *at, (*low, *high), words))
        };
        SideBySide {
            id: format!("choice-{}", number + 1),
            heading: capitalised(name),
            quantity: axis,
            format,
            values: best.iter().filter_map(of).collect(),
            sources: &report.sources,
        }
    });
    let caption = "The best candidate of each scheme that meets the requirements, by the file's cost. Lines: \
                   95 % intervals. Energy, bytes and keys are of the member with most, a day.";
    let sides = [cost].into_iter().chain(others).collect();
    figure(
        "choice",
        "Choice: the best candidate of each scheme".to_owned(),
        "",
        caption,
        sides,
        styles,
    )
    .into_iter()
    .collect()
}

fn candidate(row: &ChoiceRow) -> String {
    let ChoiceRow { parameters, suite, protection, qos, .. } = row;
    let parameters = if parameters.is_empty() { String::new() } else { format!("{parameters}, ") };
    format!("{parameters}{suite}, {protection}, QoS {qos}")
}

pub(super) fn trace_table(report: &Report, styles: &Styles) -> PageTable {
    type Own<'a> = PageColumn<'a, (usize, ReplayRow)>;
    let whole = |name: &'static str, unit, of: fn(&ReplayRow) -> u64| {
        Own::number(name, unit, move |(_, row): &(usize, ReplayRow)| {
            PageCell::of(of(row) as f64, number::fixed(of(row) as f64, 0))
        })
    };
    let text = |name: &'static str, of: fn(&ReplayRow) -> &str| {
        Own::text(name, move |(_, row): &(usize, ReplayRow)| of(row).to_owned())
    };
    let columns = vec![
        Own::text("Scheme", |(_, row)| styles.of_scheme(&row.scheme).cell()).key("scheme"),
        text("Class", |row| &row.class).filter("class"),
        text("Role", |row| &row.role).filter("role"),
        whole("Parties", "", |row| row.parties),
        whole("Joins", "", |row| row.joins),
        whole("Leaves", "", |row| row.leaves),
        whole("Messages", "", |row| row.messages),
        whole("Payload", "B", |row| row.payload_bytes),
        whole("Whole", "B", |row| row.wire_bytes),
        Own::text("Device", |(_, row)| row.device.clone()).filter("device"),
        Own::number("All", "s, modelled", |(_, row)| {
            row.device_seconds.map(|s| PageCell::of(s, time(1e3 * s)))
        }),
        Own::number("Busiest", "s, modelled", |(_, row)| {
            row.busiest_seconds.map(|s| PageCell::of(s, time(1e3 * s)))
        }),
        Own::number("Busiest", "J, modelled", |(_, row)| {
            row.busiest_joule.map(|it| PageCell::of(it.value, energy(it.value)))
        }),
        text("Profile", |row| &row.profile),
        text("Suite", |row| &row.suite),
        text("Protection", |row| &row.protection),
        text("Provenance", |row| &row.provenance),
        file_column(report),
    ];
    PageTable::of("Rows of traces", &report.traces, columns)
}

pub(super) fn choice_table(report: &Report, styles: &Styles) -> PageTable {
    type Own<'a> = PageColumn<'a, (usize, ChoiceRow)>;
    let mut columns = vec![
        Own::text("Scheme", |(_, row)| styles.of_scheme(&row.scheme).cell()).key("scheme"),
        Own::number("Place", "", |(_, row)| row.place.to_string()).key("place"),
        Own::text("Standing", |(_, row)| row.standing.clone()).filter("standing"),
        Own::number("Cost", "a day", |(_, row)| PageCell::of(row.cost, number::rounded(row.cost))),
        Own::text("Candidate", |(_, row)| candidate(row)),
    ];
    columns.extend(Quantity::ALL.map(|quantity| {
        let (name, unit) = quantity.name_and_unit();
        Own::number(capitalised(name), unit, move |(_, row): &(usize, ChoiceRow)| {
            row.figure(quantity)
                .map(|figure| PageCell::of(figure.value, number::rounded(figure.value)))
        })
    }));
    columns.push(Own::text("Provenance", |(_, row)| row.provenance.clone()));
    columns.push(file_column(report));
    PageTable::of("Candidates", &report.choices, columns)
}

fn file_column<R>(report: &Report) -> PageColumn<'_, (usize, R)> {
    PageColumn::text("File", |(source, _): &(usize, R)| {
        let name = report.sources.get(*source).map_or("", |source| &source.name);
        format!("{}. {name}", source + 1)
    })
}
