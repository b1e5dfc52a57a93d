//! The figures of benchmarks: by class, security level, role and subject, with a panel for each
//! operation.

use std::collections::{BTreeMap, BTreeSet};

use groupkey_choose::number::fixed;
use minijinja::Value;

use super::measure::{Measure, Subject};
use super::role_words;
use super::series::{self, Series};
use crate::bench::{Activity, BenchRow, Phase, Role};
use crate::report::content::PrintedValue;
use crate::report::content::{Entry, Report};
use crate::report::lines::{self, Line, Lines, Point, Printed};
use crate::report::page::{self, PageBlock, PageFigure, Part};
use crate::report::style::{Styles, published_entry};
use crate::report::text::capitalised;

/// What all rows of a figure share. Only a published study that compares schemes of several security
/// levels has them in one figure. A figure with times of machines never mixes machines, and a figure
/// with times of devices never mixes devices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Shared {
    class: usize,
    /// None if levels are mixed.
    security_bits: Option<u32>,
    role: usize,
    subject: Subject,
    place: String,
}

/// Builds all figures for which there are rows, by class and security level.
pub(in crate::report) fn parts(report: &Report, entries: &[Entry], styles: &Styles) -> Vec<Part> {
    let mut figures: BTreeMap<Shared, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let row = &entry.row;
        for subject in Subject::ALL {
            let place = if subject.is_of_the_machine() {
                report.sources.get(entry.source).map_or("", |source| &source.machine)
            } else if subject.is_of_a_device() {
                let Some(device) = &row.device else { continue };
                device
            } else {
                ""
            };
            let shared = Shared {
                class: place_in(&CLASSES, &row.class),
                security_bits: report.reproduction.is_none().then_some(row.security_bits),
                role: place_in(&Role::ALL.map(Role::name), &row.role),
                subject,
                place: place.to_owned(),
            };
            figures.entry(shared).or_default().push(entry);
        }
    }
    let mut parts: Vec<Part> = Vec::new();
    for (number, (shared, entries)) in figures.into_iter().enumerate() {
        let first = &entries[0].row;
        let levels = match shared.security_bits {
            Some(bits) => bits.to_string(),
            None => levels_of(&report.entries, &first.class),
        };
        let title = format!("{} schemes, {levels} bit", capitalised(&first.class));
        let Some(figure) = figure(number, &shared, &entries, &report.printed, styles) else {
            continue;
        };
        match parts.last_mut() {
            Some(part) if part.title == title => part.figures.push(PageBlock::Figure(figure)),
            _ => {
                let id = format!("part-{}", parts.len());
                parts.push(Part { id, title, figures: vec![PageBlock::Figure(figure)] });
            }
        }
    }
    parts
}

/// Names the security levels of all rows of a class: `80 and 128`.
fn levels_of(entries: &[Entry], class: &str) -> String {
    let of_class = entries.iter().filter(|entry| entry.row.class == class);
    let levels: BTreeSet<u32> = of_class.map(|entry| entry.row.security_bits).collect();
    levels.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ")
}

fn figure(
    number: usize,
    shared: &Shared,
    entries: &[&Entry],
    printed: &[PrintedValue],
    styles: &Styles,
) -> Option<PageFigure> {
    let first = &entries.first()?.row;
    let id = format!("figure-{number}");
    let mut panels: Vec<(String, Value)> = Vec::new();
    let mut legend: Vec<page::LegendEntry> = Vec::new();
    let mut has_published = false;
    for (heading, rows) in by_panel(entries) {
        for &measure in shared.subject.measures() {
            let series = series::of_entries(&rows, styles);
            let drawn: Vec<Line> =
                series.iter().filter_map(|series| line(series, measure)).collect();
            for line in &drawn {
                if !legend.iter().any(|known| known.label == line.style.scheme) {
                    legend.push(line.style.entry());
                }
            }
            let heading = match shared.subject.measures() {
                [_] => heading.clone(),
                _ => format!("{heading}: {}", measure.name()),
            };
            let title = format!("{}, {}, {heading}", role_words(&first.role), measure.name());
            let id = format!("{id}-panel-{}", panels.len());
            let published = published(printed, measure, &rows);
            let is_published = !published.is_empty();
            let (quantity, format) = (measure.name(), measure.format());
            let svg = lines::draw(&Lines {
                id,
                title,
                quantity,
                format,
                up: None,
                lines: drawn,
                published,
            });
            has_published |= svg.is_some() && is_published;
            panels.extend(svg.map(|svg| (heading, svg)));
        }
    }
    if panels.is_empty() {
        return None;
    }
    let (nature, place) =
        match (shared.subject.is_of_the_machine(), shared.subject.is_of_a_device()) {
            (true, _) => ("measured", format!(" on {}", shared.place)),
            (_, true) => ("modelled", format!(" for {}", shared.place)),
            _ => ("", String::new()),
        };
    let mut caption = shared.subject.caption().to_owned();
    if has_published {
        caption += " Rings and dashed lines are values that a study printed, measured on the study's own \
                    device, not here.";
        legend.push(published_entry("Published, on the study's device"));
    }
    let device = if nature == "modelled" { shared.place.clone() } else { String::new() };
    let file = format!(
        "{}-{}-{}-{}-bit{}{device}",
        first.role,
        shared.subject.file(),
        first.class,
        first.security_bits,
        if device.is_empty() { "" } else { "-" },
    );
    Some(PageFigure {
        id,
        file,
        title: format!("{}: {}{place}", role_words(&first.role), shared.subject.title()),
        nature,
        legend,
        panels,
        caption,
        filter: BTreeMap::from([
            ("class", first.class.clone()),
            ("bits", shared.security_bits.map_or_else(String::new, |bits| bits.to_string())),
            ("device", device),
        ]),
        ..PageFigure::default()
    })
}

/// Groups rows by operation and phase, in the order of the specification.
fn by_panel<'a>(entries: &[&'a Entry]) -> Vec<(String, Vec<&'a Entry>)> {
    let mut panels: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        let row = &entry.row;
        let operation = place_in(&Activity::ALL.map(Activity::name), &row.operation);
        let phase = place_in(&Phase::ALL.map(Phase::name), &row.phase);
        let key = (operation, &row.operation, phase, &row.phase, row.message_bytes);
        panels.entry(key).or_default().push(entry);
    }
    let heading = |row: &BenchRow| match (row.message_bytes, row.phase.as_str()) {
        (Some(bytes), _) => format!("{} {bytes} bytes", capitalised(&row.operation)),
        (None, "operational") => capitalised(&row.operation),
        (None, phase) => format!("{}, {phase}", capitalised(&row.operation)),
    };
    panels.into_values().map(|rows| (heading(&rows[0].row), rows)).collect()
}

/// Turns a series into a line, unless all its values are zero. A logarithmic axis has no place for
/// zero.
fn line(series: &Series<'_>, measure: Measure) -> Option<Line> {
    let points: Vec<Point> = series
        .entries
        .iter()
        .filter_map(|entry| {
            let (value, error) = measure.of(&entry.row).filter(|(value, _)| *value > 0.0)?;
            Some(Point {
                row: None,
                members: f64::from(entry.row.members),
                value,
                error,
                words: words(&series.label, &entry.row, measure, value, error),
            })
        })
        .collect();
    (!points.is_empty()).then_some(Line { style: series.style.clone(), points })
}

/// Returns the tooltip: the subject, a colon, and the values.
fn words(label: &str, row: &BenchRow, measure: Measure, value: f64, error: f64) -> String {
    let mut words =
        format!("{label}, {} members: {} {}", row.members, measure.name(), measure.words(value));
    if error > 0.0 {
        words += &format!(" ± {}", measure.words(error));
    }
    match measure {
        Measure::Time => {
            let ns = |value| measure.words(value);
            words += &format!(
                "; p50 {}, p90 {}, p99 {}; {} repetitions",
                ns(row.p50_ns),
                ns(row.p90_ns),
                ns(row.p99_ns),
                row.repetitions
            );
            if let Some(ratio) = row.measured_over_counted {
                words += &format!("; {} times the counted cost", fixed(ratio, 2));
            }
        }
        Measure::WireBytes => {
            words += &format!("; the scheme's own {}", measure.words(row.payload_bytes as f64));
        }
        Measure::Messages => {
            let (one, some, all) =
                (row.unicast.messages, row.multicast.messages, row.broadcast.messages);
            words += &format!("; {one} unicast, {some} multicast, {all} broadcast");
        }
        _ => {}
    }
    for warning in &row.warnings {
        words += &format!("; warning: {warning}");
    }
    words
}

/// Returns the values that a study prints for the content of a panel.
fn published(printed: &[PrintedValue], measure: Measure, rows: &[&Entry]) -> Vec<Printed> {
    let Some(row) = rows.first().map(|entry| &entry.row).filter(|row| row.phase == "operational")
    else {
        return Vec::new();
    };
    let sizes = || rows.iter().map(|entry| entry.row.members);
    let (Some(least), Some(most)) = (sizes().min(), sizes().max()) else { return Vec::new() };
    let shown = printed.iter().filter(|printed| {
        printed.is_of(measure, row)
            && rows.iter().any(|entry| printed.schemes.contains(&entry.row.scheme.as_str()))
            && printed.members.0 <= most
            && printed.members.1 >= least
    });
    let shown = shown.map(|printed| {
        let (from, to) = (printed.members.0.max(least), printed.members.1.min(most));
        Printed {
            members: (f64::from(from), f64::from(to)),
            value: printed.value,
            words: printed.words(),
        }
    });
    shown.collect()
}

const CLASSES: [&str; 3] = ["centralized", "hybrid", "distributed"];

fn place_in(known: &[&str], name: &str) -> usize {
    known.iter().position(|other| *other == name).unwrap_or(known.len())
}
