//! Puts the parts into the page's template.

use groupkey_choose::number::fixed;
use minijinja::{Value, context};
use serde_json::json;

use super::super::content::Report;
use super::super::template::fill;
use super::super::{page as network, scheme as network_scheme};
use super::content::{Benchmark, Entry};
use super::figures::{self, Figure};
use super::measure::Measure;
use super::published::PrintedValue;
use super::series::{Styles, thinned};
use super::{audit, reproduction, scheme, table};
use crate::audit::Finding;
use crate::results::{Header, NetworkRow};

/// The most rows that a page shows. A browser must hold all of them.
const MOST_ROWS: usize = 3_000;

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render_benchmark(benchmark: &Benchmark) -> String {
    let styles = Styles::of(&benchmark.entries);
    let entries = thinned(benchmark.entries.clone(), MOST_ROWS);
    let figures = figures::of_entries(benchmark, &entries, &styles);
    let mut parts: Vec<(String, Vec<Value>)> = Vec::new();
    for figure in &figures {
        match parts.last_mut() {
            Some((part, values)) if *part == figure.part => values.push(value(figure)),
            _ => parts.push((figure.part.clone(), vec![value(figure)])),
        }
    }
    let parts: Vec<Value> = parts
        .into_iter()
        .enumerate()
        .map(|(number, (title, figures))| context! { id => format!("part-{number}"), title, figures })
        .collect();
    let sources: Vec<Value> = benchmark
        .sources
        .iter()
        .map(|source| {
            context! {
                name => &source.name,
                seed => source.seed,
                commit => &source.commit,
                machine => &source.machine,
                rows => fixed(source.rows as f64, 0),
                lacking => &source.lacking,
                assumptions => &source.assumptions,
            }
        })
        .collect();
    let mut devices: Vec<String> =
        entries.iter().filter_map(|entry| entry.row.device.clone()).collect();
    devices.sort_unstable();
    devices.dedup();
    let findings = benchmark.audited();
    let page = context! {
        study => benchmark.reproduction.as_ref().map(reproduction::part),
        sources,
        schemes => styles.schemes().iter()
            .map(|id| context! { id, glyph => table::glyph(styles.of_scheme(id)) })
            .collect::<Vec<Value>>(),
        total => fixed(benchmark.entries.len() as f64, 0),
        shown => fixed(entries.len() as f64, 0),
        left_out => benchmark.entries.len() > entries.len(),
        devices,
        parts,
        published => match &benchmark.reproduction {
            Some(reproduction) => reproduction::published(reproduction),
            None => published(&benchmark.printed, &entries),
        },
        sections => scheme::sections(benchmark, &entries, &findings, &styles),
        rows => table::rows(&entries, &styles),
        findings => audit::findings(&findings, None),
        features => audit::features(&findings),
        networks => benchmark.networks.iter().enumerate()
            .map(|(number, (header, rows))| network_study(number, header, rows))
            .collect::<Vec<Value>>(),
        data => Value::from_safe_string(data(&entries, &findings)),
    };
    fill("benchmark.html", page)
}

fn value(figure: &Figure) -> Value {
    context! {
        id => &figure.id,
        title => &figure.title,
        caption => &figure.caption,
        kind => figure.kind,
        class => &figure.filter[0],
        bits => &figure.filter[1],
        device => &figure.filter[2],
        has_published => figure.has_published,
        legend => figure.legend.iter()
            .map(|(label, style)| context! {
                label, number => style.number, glyph => table::glyph(*style),
            })
            .collect::<Vec<Value>>(),
        panels => figure.panels.iter()
            .map(|(heading, svg)| context! { heading, svg => Value::from_safe_string(svg.clone()) })
            .collect::<Vec<Value>>(),
    }
}

/// Lists the published values for which we have a value. Measured and modelled values are separate.
fn published(printed: &[PrintedValue], entries: &[Entry]) -> Vec<Value> {
    let lines = printed.iter().filter_map(|printed| {
        let modelled = printed.measure();
        let (measured, modelled) = match modelled {
            Measure::DeviceTime => {
                (printed.ours(entries, Measure::Time), printed.ours(entries, modelled))
            }
            Measure::DeviceEnergy => (None, printed.ours(entries, modelled)),
            other => (printed.ours(entries, other), None),
        };
        if measured.is_none() && modelled.is_none() {
            return None;
        }
        let words = |value: Option<f64>| value.map(|value| printed.measure().words(value));
        Some(context! {
            what => what(printed),
            published => printed.amount(),
            measured => words(measured),
            modelled => words(modelled),
            note => printed.note.as_str(),
        })
    });
    lines.collect()
}

fn what(printed: &PrintedValue) -> String {
    let PrintedValue { source, role, operation, members: (from, to), .. } = printed;
    let who = printed.whose();
    let operation = operation.unwrap_or("all operations");
    let members = if from == to { from.to_string() } else { format!("{from} to {to}") };
    format!("{source}: {who}, {role}, {operation}, {members} members")
}

/// Builds the figures of a network study, as its own report has them.
fn network_study(number: usize, header: &Header, rows: &[NetworkRow]) -> Value {
    let report = Report {
        header: header.clone(),
        rows: rows.to_vec(),
        published: Vec::new(),
        verdicts: Vec::new(),
        calibration: Vec::new(),
        method: Vec::new(),
        reproduce: String::new(),
        replay: String::new(),
    };
    let schemes = network_scheme::of_rows(rows);
    context! {
        study => &header.study,
        number,
        figures => network::figures(&report, &schemes, &format!("network-{number}-")),
    }
}

/// Returns the rows that the page shows, without their samples, and the findings, for further use
/// by readers.
fn data(entries: &[Entry], findings: &[Finding]) -> String {
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            let mut row = json!(entry.row);
            if let Some(fields) = row.as_object_mut() {
                fields.remove("samples_ns");
                fields.insert("source".to_owned(), json!(entry.source));
            }
            row
        })
        .collect();
    let data = json!({ "rows": rows, "findings": findings });
    network::in_script(&data)
}
