//! Makes a page of a report: a section of each kind of content that the report has.

use groupkey_choose::number::fixed;
use serde_json::{Value, json};

use super::content::{Entry, Report, Reproduction, Source};
use super::network::{self, StudyRows, factors};
use super::page::{Data, Page, PageBlock, Part, Section};
use super::style::{Style, Styles};
use super::table::{PageColumn, PageTable};
use super::text::capitalised;
use super::{audit, benchmark, comparison, published, scheme, verdicts};
use crate::audit::Finding;

/// The most rows of benchmarks that a page shows. A browser must hold all of them.
const MOST_ROWS: usize = 3_000;

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render(report: &Report) -> String {
    let styles = Styles::of(report);
    let entries = shown_entries(report);
    let findings = report.audited();
    let study = report.reproduction.as_ref();
    let (title, lead) = match study {
        Some(study) => (
            study.title.clone(),
            format!(
                "A published study, run again with the code that a device would run. {}.",
                study.source
            ),
        ),
        None if report.schemes().next().is_none() => (
            "What attacks on group key schemes find".to_owned(),
            "The claims of schemes, and what was found against them.".to_owned(),
        ),
        None => (
            "What group key schemes cost".to_owned(),
            "What each role computes, keeps and sends, and how long a group waits, when it is created, \
             joined and left: the very code that a device would run, measured and simulated."
                .to_owned(),
        ),
    };
    let lacking =
        report.sources.iter().filter_map(|source| Some((source, source.lacking.as_ref()?)));
    let page = Page {
        kind: if study.is_some() { "study" } else { "report" }.to_owned(),
        title,
        lead: vec![lead],
        warnings: lacking
            .map(|(source, lacking)| format!("{} is {lacking}.", source.name))
            .collect(),
        tiles: tiles(report, &styles, &findings),
        sections: [
            findings_section(report),
            published_section(report, &entries),
            networks_section(report, &styles),
            figures_section(report, &entries, &styles),
            rows_section(report, &entries, &styles),
            schemes_section(report, &findings, &styles),
            audit_section(&findings),
            Some(method_section(report)),
            study.map(again_section),
        ]
        .into_iter()
        .flatten()
        .collect(),
        footer: "Figures follow those of the studies of Prantl et al.: doi 10.1007/s44248-024-00015-1 \
                 (networks), 10.1007/s44248-024-00010-6 and 10.1145/3427921.3450252 (benchmarks). The \
                 data are ours.",
        data: Data::of(&data(report, &entries, &findings)),
    };
    page.render()
}

fn tiles(report: &Report, styles: &Styles, findings: &[Finding]) -> Vec<(String, String)> {
    let study = report.reproduction.as_ref();
    let mut tiles = study
        .map_or_else(Vec::new, |study| verdicts::tiles(&study.verdicts.iter().collect::<Vec<_>>()));
    let mut tile = |count: usize, one: &str, more: &str| {
        let words = if count == 1 { one } else { more };
        if count > 0 {
            tiles.push((fixed(count as f64, 0), words.to_owned()));
        }
    };
    let mut devices: Vec<&String> =
        report.entries.iter().filter_map(|entry| entry.row.device.as_ref()).collect();
    devices.sort_unstable();
    devices.dedup();
    let (settings, runs) = network::settings_and_runs(report.network_rows());
    tile(styles.iter().count(), "scheme", "schemes");
    tile(report.entries.len(), "measured row", "measured rows");
    tile(settings, "setting simulated", "settings simulated");
    tile(runs, "run of them", "runs of them");
    tile(report.traces.len(), "row of traces", "rows of traces");
    tile(report.choices.len(), "candidate", "candidates");
    tile(devices.len(), "device modelled", "devices modelled");
    tile(findings.len(), "claim or attack audited", "claims and attacks audited");
    tiles
}

fn findings_section(report: &Report) -> Option<Section> {
    let Reproduction { verdicts, .. } = report.reproduction.as_ref()?;
    let note = "What the study concludes, and how far our rows bear it out. A square leads to its card. In \
                brackets behind a time: the counted primitives that cost most.";
    let prefix = "finding-".to_owned();
    let matrix = verdicts::matrix(&[("Findings".to_owned(), verdicts, prefix.clone())]);
    let blocks = vec![PageBlock::note(note), matrix, verdicts::cards(verdicts, &prefix)];
    Some(Section::new("findings", "Findings", blocks))
}

fn published_section(report: &Report, entries: &[Entry]) -> Option<Section> {
    let table = published::table(report, entries);
    let note = "Measured: real parties, times on this machine. Modelled: counted primitives, priced for \
                the study's device. Simulated: whole groups in simulated networks. Ratio: our modelled or \
                simulated value divided by the published one; its strip runs from an eighth to eight \
                times, with agreement in the middle. Beside an upper bound is the greatest of our values.";
    let section = || {
        let blocks = vec![PageBlock::note(note), PageBlock::Table(table.clone())];
        Section::new("published", "Published values beside ours", blocks)
    };
    (!table.is_empty()).then(section)
}

fn networks_section(report: &Report, styles: &Styles) -> Option<Section> {
    let blocks = factors(&network::placed(report, 0), styles)?;
    Some(Section::new("networks", "What the network costs", blocks))
}

fn figures_section(report: &Report, entries: &[Entry], styles: &Styles) -> Option<Section> {
    let parts = figure_parts(report, entries, styles);
    let note = "Point at a mark, or tab to a panel and use the arrow keys, to read its values; press a \
                scheme in a legend to hide it. What is measured, modelled or simulated never shares a \
                chart. Panels of simulations share one axis, unless their headings say otherwise.";
    let filters = [
        ("class", "Class"),
        ("operation", "Operation"),
        ("bits", "Security bits"),
        ("device", "Device"),
    ];
    let is_empty = parts.is_empty();
    let blocks = vec![PageBlock::note(note), PageBlock::Figures { filters, parts }];
    (!is_empty).then(|| Section::new("figures", "Figures", blocks))
}

pub(super) fn figure_parts(report: &Report, entries: &[Entry], styles: &Styles) -> Vec<Part> {
    let mut parts = benchmark::parts(report, entries, styles);
    let rows = network::placed(report, entries.len());
    let after = entries.len() + rows.len();
    let published = report.published_times();
    let study = StudyRows { prefix: "network-0-", rows, published, styles };
    let figures: Vec<PageBlock> =
        network::figures(&study).into_iter().map(PageBlock::Figure).collect();
    if !figures.is_empty() {
        let mut names: Vec<&str> =
            report.networks.iter().map(|(_, header, _)| &*header.study).collect();
        names.dedup();
        let title = match names[..] {
            [name] => capitalised(&name.replace('-', " ")),
            _ => "Networks".to_owned(),
        };
        parts.push(Part { id: "network-0".to_owned(), title, figures });
    }
    parts.extend(comparison::parts(report, after, styles));
    parts
}

pub(super) fn shown_entries(report: &Report) -> Vec<Entry> {
    benchmark::thinned(report.entries.clone(), MOST_ROWS)
}

fn rows_section(report: &Report, entries: &[Entry], styles: &Styles) -> Option<Section> {
    let replay = report.reproduction.as_ref().map_or("", |study| &study.replay);
    let tables = [
        benchmark::table(entries, styles),
        network::table(report.network_rows(), styles, replay),
        comparison::trace_table(report, styles),
        comparison::choice_table(report, styles),
    ];
    let mut blocks = Vec::new();
    for mut table in tables.into_iter().filter(|table| !table.is_empty()) {
        let shared = table.without_shared();
        if !shared.is_empty() {
            blocks.push(PageBlock::note(format!("The same for every row: {shared}.")));
        }
        blocks.push(PageBlock::Table(table.sortable(styles.iter().map(Style::choice).collect())));
    }
    if entries.len() < report.entries.len() {
        let note = format!(
            "The page shows {} of {} rows of benchmarks: of each line the smallest and the largest group, \
             and sizes between them in even ratios; the results files have them all.",
            fixed(entries.len() as f64, 0),
            fixed(report.entries.len() as f64, 0)
        );
        blocks.insert(0, PageBlock::note(note));
    }
    let note = "Choose schemes, narrow the rows down, sort by any column. Compare rows of one security level.";
    (!blocks.is_empty()).then(|| {
        blocks.insert(0, PageBlock::note(note));
        Section::new("rows", "All rows", blocks)
    })
}

fn schemes_section(report: &Report, findings: &[Finding], styles: &Styles) -> Option<Section> {
    let folds = scheme::folds(report, findings, styles);
    let blocks: Vec<PageBlock> =
        [PageBlock::note(scheme::DRAWINGS)].into_iter().chain(folds).collect();
    (blocks.len() > 1).then(|| Section::new("schemes", "Schemes", blocks))
}

fn audit_section(findings: &[Finding]) -> Option<Section> {
    let note = "What schemes claim, beside what attacking them found. What holds is what nothing was found \
                against, in what was searched.";
    let mut blocks = vec![PageBlock::note(note)];
    blocks.extend(audit::findings(&findings.iter().collect::<Vec<_>>(), "trace", false));
    let features = audit::features(findings);
    if !features.is_empty() {
        let note =
            "What the studies print, beside what the audit finds for each form of the scheme.";
        let heading = PageBlock::heading("Published feature tables");
        blocks.extend([heading, PageBlock::note(note), PageBlock::Table(features)]);
    }
    (!findings.is_empty()).then(|| Section::new("audit", "Audit", blocks))
}

fn method_section(report: &Report) -> Section {
    let mut blocks = vec![PageBlock::text(
        "Every party runs the scheme's own code. What a benchmark computes is timed on its machine; what \
         it counts is the same everywhere. A device's time and energy are the counted primitives at the \
         prices of its profile: modelled, never measured here. Rows of networks come from simulated \
         links, TCP and MQTT, on modelled devices.",
    )];
    if let Some(study) = &report.reproduction {
        blocks.extend(study.method.iter().map(|words| PageBlock::text(words.as_str())));
    }
    for (number, source) in report.sources.iter().enumerate() {
        let Source { name, seed, commit, machine, assumptions, rows, .. } = source;
        blocks.push(PageBlock::heading(format!("{}. {name}", number + 1)));
        blocks.push(PageBlock::note(format!(
            "{name}: {} rows, seed {seed}, commit {commit}, {machine}.",
            fixed(*rows as f64, 0)
        )));
        if !assumptions.is_empty() {
            blocks.push(PageBlock::List { items: assumptions.clone() });
        }
    }
    let calibration = report.reproduction.iter().flat_map(|study| &study.calibration);
    let columns = vec![
        PageColumn::text("Parameter", |set: &super::Calibration| set.name.clone()),
        PageColumn::text("Value", |set: &super::Calibration| set.value.clone()),
        PageColumn::text("Source", |set: &super::Calibration| set.source.clone()),
    ];
    let calibration = PageTable::of("Calibration", calibration, columns);
    if !calibration.is_empty() {
        let note = PageBlock::note("Numbers that were set rather than measured here.");
        blocks.extend([PageBlock::heading("Calibration"), note, PageBlock::Table(calibration)]);
    }
    Section::new("method", "Method", blocks)
}

fn again_section(study: &Reproduction) -> Section {
    let words =
        "Counts, sizes and simulations come out the same; measured times are the machine's.";
    let mut blocks = vec![PageBlock::text(words), PageBlock::code(study.command.as_str())];
    if !study.replay.is_empty() {
        let words = "This runs a single row of a network study again, with the row's own values in the \
                     braces; the last column of the table has it filled in:";
        blocks.extend([PageBlock::text(words), PageBlock::code(study.replay.as_str())]);
    }
    Section::new("again", "Run it again", blocks)
}

/// Returns the rows that the page shows, without their samples, and what is beside them.
fn data(report: &Report, entries: &[Entry], findings: &[Finding]) -> Value {
    let measured = entries.iter().map(|entry| {
        let mut row = json!(entry.row);
        row["source"] = json!(entry.source);
        row
    });
    let simulated = report.network_rows().map(|row| json!(row));
    let traced = report.traces.iter().map(|(_, row)| json!(row));
    let chosen = report.choices.iter().map(|(_, row)| json!(row));
    let mut rows: Vec<Value> = measured.chain(simulated).chain(traced).chain(chosen).collect();
    for fields in rows.iter_mut().filter_map(Value::as_object_mut) {
        fields.retain(|name, _| !name.starts_with("samples"));
    }
    let headers: Vec<_> = report.networks.iter().map(|(_, header, _)| header).collect();
    let study = report.reproduction.as_ref();
    json!({
        "headers": headers,
        "rows": rows,
        "findings": findings,
        "published": study.map(|study| json!([study.published, study.published_times])),
        "verdicts": study.map(|study| &study.verdicts),
    })
}
