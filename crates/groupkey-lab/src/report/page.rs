//! Puts the parts into the page's template.

use std::collections::BTreeMap;

use groupkey_choose::number::fixed;
use minijinja::{Value, context};
use serde_json::json;

use super::content::Report;
use super::figures::{self, Figure};
use super::overview::{factors, glyph};
use super::scheme::{self, Scheme};
use super::tables;
use super::template::fill;
use super::verdicts::{matrix, verdicts};
use crate::results::NetworkRow;

/// Renders the page: complete HTML, with styles, script, charts and data inside.
pub fn render(report: &Report) -> String {
    let schemes = scheme::of_rows(&report.rows);
    let figures = figures::of_report(report, &schemes);
    let found = verdicts(&report.verdicts, "finding-");
    let page = context! {
        header => header(report),
        figures => figures.iter().map(figure).collect::<Vec<Value>>(),
        factors => factors(&report.rows, &schemes),
        matrix => matrix([("Findings", &found)]),
        legend => found.get_attr("legend").ok(),
        verdicts => &found,
        published => tables::published(&report.published, &schemes),
        rows => tables::rows(report, &schemes),
        method => &report.method,
        assumptions => &report.header.assumptions,
        calibration => report.calibration.iter()
            .map(|c| context! { name => &c.name, value => &c.value, source => &c.source })
            .collect::<Vec<Value>>(),
        reproduce => &report.reproduce,
        replay => &report.replay,
        data => Value::from_safe_string(data(report, &schemes)),
    };
    fill("network-impact.html", page)
}

fn header(report: &Report) -> Value {
    let header = &report.header;
    let (settings, runs) = settings_and_runs(&report.rows);
    context! {
        study => &header.study,
        seed => header.seed,
        runs => header.runs,
        commit => &header.commit,
        machine => &header.machine,
        suite => &header.suite,
        format => format!("{} {}", header.format, header.version),
        settings => fixed(settings as f64, 0),
        total_runs => fixed(runs as f64, 0),
    }
}

/// Counts the settings, and their runs. A run does all operations of a setting, and each operation
/// has a row.
fn settings_and_runs(rows: &[NetworkRow]) -> (usize, u64) {
    let mut runs = BTreeMap::new();
    for row in rows {
        let names =
            (&row.setting.scheme, &row.setting.profile, &row.setting.suite, &row.setting.device);
        let network =
            (row.setting.loss_percent.to_bits(), row.setting.delay_ms.to_bits(), row.setting.qos);
        let most = runs.entry((names, row.setting.members, network)).or_insert(0);
        *most = row.runs.max(*most);
    }
    (runs.len(), runs.values().copied().map(u64::from).sum())
}

/// Builds the figures of a study for a page that shows more than this study. Their anchors begin
/// with `prefix`.
pub(super) fn figures(report: &Report, schemes: &[Scheme], prefix: &str) -> Vec<Value> {
    let mut figures = figures::of_report(report, schemes);
    for one in &mut figures {
        let plain = one.id.clone();
        one.id = format!("{prefix}{plain}");
        for (_, svg) in &mut one.panels {
            // Panels are named after their figures.
            *svg = svg.replace(&plain, &one.id);
        }
    }
    figures.iter().map(figure).collect()
}

fn figure(figure: &Figure) -> Value {
    context! {
        id => &figure.id,
        title => &figure.title,
        caption => &figure.caption,
        reading => figure.reading.iter()
            .map(|s| context! { topic => s.topic, words => &s.words })
            .collect::<Vec<Value>>(),
        stacked => figure.stacked,
        has_published => figure.has_published,
        panels => figure.panels.iter()
            .map(|(heading, svg)| context! {
                heading => heading,
                svg => Value::from_safe_string(svg.clone()),
            })
            .collect::<Vec<Value>>(),
        schemes => figure.schemes.iter()
            .map(|s| context! { label => &s.label, colour => s.colour, glyph => glyph(s) })
            .collect::<Vec<Value>>(),
    }
}

/// Returns the data for the script and for other readers of the page: rows without their samples.
fn data(report: &Report, schemes: &[Scheme]) -> String {
    let mut rows = json!(report.rows);
    for row in rows.as_array_mut().into_iter().flatten() {
        if let Some(fields) = row.as_object_mut() {
            fields.remove("samples");
        }
    }
    let labels: BTreeMap<&str, &str> =
        schemes.iter().map(|s| (s.id.as_str(), s.label.as_str())).collect();
    let data = json!({
        "header": report.header,
        "labels": labels,
        "rows": rows,
        "published": report.published,
        "verdicts": report.verdicts,
    });
    in_script(&data)
}

/// Formats JSON for use inside `<script>`. Markup in the data must not end the element.
pub(super) fn in_script(data: &serde_json::Value) -> String {
    data.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
