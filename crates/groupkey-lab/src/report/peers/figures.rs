//! The figures of the peers: lines over the members.

use minijinja::Value;

use crate::peers::{PeerNetwork, PeerQuantity, PeerRow};
use crate::report::lines::{self, Line, Lines, Point};
use crate::report::page::{PageBlock, PageFigure};
use crate::report::style::{Style, Styles};
use crate::report::text::{bytes, capitalised, operation as noun, time};

/// A figure of each operation and past for what is simulated, what is modelled, and what is counted.
pub(super) fn figures(rows: &[PeerRow], styles: &Styles) -> Vec<PageBlock> {
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        let group = (&*row.past, &*row.operation);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|(past, _)| PASTS.iter().position(|known| known == past));
    let mut figures = Vec::new();
    for (past, operation) in groups {
        let of_group = |row: &&PeerRow| (&*row.past, &*row.operation) == (past, operation);
        let shown: Vec<&PeerRow> = rows.iter().filter(of_group).collect();
        for (nature, quantities) in NATURES {
            let title =
                format!("{}: {}, {past} groups", capitalised(noun(operation)), nature.title);
            let id = format!("{operation}-{past}-{}", nature.file);
            let panels: Vec<(String, Value)> = quantities
                .iter()
                .flat_map(|quantity| panels(*quantity, &shown, styles, &id))
                .collect();
            if panels.is_empty() {
                continue;
            }
            let has_rows = |style: &&Style| shown.iter().any(|row| row.scheme == style.scheme);
            figures.push(PageBlock::Figure(PageFigure {
                file: id.clone(),
                id,
                title,
                nature: nature.name,
                legend: styles.iter().filter(has_rows).map(Style::entry).collect(),
                panels,
                caption: nature.caption.to_owned(),
                ..PageFigure::default()
            }));
        }
    }
    figures
}

/// Draws the panels of a quantity: one, or one for each network.
fn panels(
    quantity: PeerQuantity,
    rows: &[&PeerRow],
    styles: &Styles,
    figure: &str,
) -> Vec<(String, Value)> {
    let networks =
        if quantity.is_of_a_network() { &PeerNetwork::ALL[..] } else { &[PeerNetwork::Lan] };
    let drawn = networks.iter().filter_map(|network| {
        let heading = match quantity.is_of_a_network() {
            true => network.name().to_owned(),
            false => capitalised(quantity.words()),
        };
        let of_network: Vec<&&PeerRow> =
            rows.iter().filter(|row| row.network == network.name()).collect();
        let lines = styles.iter().filter_map(|style| {
            let own = of_network.iter().filter(|row| row.scheme == style.scheme);
            let point = |row: &&&&PeerRow| {
                let value = quantity.of(row).filter(|value| *value > 0.0)?;
                let error = match quantity.is_of_a_network() {
                    true => row.completion_ci95_ms.unwrap_or(0.0),
                    false => 0.0,
                };
                let told = words(quantity, value);
                let words = format!("{}, {} members: {told}", row.scheme, row.members);
                Some(Point { row: None, members: row.members.into(), value, error, words })
            };
            let points: Vec<Point> = own.filter_map(|row| point(&row)).collect();
            (!points.is_empty()).then(|| Line { style: style.clone(), points })
        });
        let panel = Lines {
            id: format!("{figure}-{}-{}", quantity as u8, network.name()),
            title: heading.clone(),
            quantity: if quantity.is_time() { "time" } else { "bytes" },
            format: if quantity.is_time() { time } else { bytes },
            up: None,
            lines: lines.collect(),
            published: Vec::new(),
        };
        Some((heading, lines::draw(&panel)?))
    });
    drawn.collect()
}

/// How the values of a figure came about.
struct Nature {
    name: &'static str,
    title: &'static str,
    file: &'static str,
    caption: &'static str,
}

const NATURES: [(Nature, &[PeerQuantity]); 3] = [
    (
        Nature {
            name: "simulated",
            title: "time until all have the key",
            file: "completion",
            caption: "A panel for each network. Simulated: links, TCP and MQTT; where packets are lost, the \
                      mean of the runs with its 95 % interval.",
        },
        &[PeerQuantity::Completion],
    ),
    (
        Nature {
            name: "modelled",
            title: "computing",
            file: "computing",
            caption: "Modelled, not measured: counted primitives at the prices of one device, for all \
                      parties alike.",
        },
        &[PeerQuantity::Sender, PeerQuantity::Member, PeerQuantity::Newcomer],
    ),
    (
        Nature {
            name: "",
            title: "bytes",
            file: "bytes",
            caption: "Bytes of the messages that parties publish, and of the packets that reach one \
                      member, with headers of TCP and IP.",
        },
        &[PeerQuantity::Payload, PeerQuantity::Received],
    ),
];

const PASTS: [&str; 3] = ["new", "populated", "departed"];

/// Returns a value of a quantity with its unit.
pub(super) fn words(quantity: PeerQuantity, value: f64) -> String {
    if quantity.is_time() { time(value) } else { bytes(value) }
}
