//! The figures of a network study, and the data that each figure shows.

use std::collections::{BTreeMap, BTreeSet};

use groupkey_choose::number::digits;
use minijinja::Value;

use super::marks::{self, Category, Facet, MarkValues, Panel};
use super::spread::{self, Extent, Spread};
use super::{StudyRows, distinct, reading};
use crate::report::axis::Axis;
use crate::report::content::{PublishedValue, TimeQuantity};
use crate::report::page::{LegendEntry, PageFigure};
use crate::report::style::{Style, published_entry};
use crate::report::text::{capitalised, operation, time};
use crate::results::NetworkRow;

/// Builds all figures for which there are rows: by class and operation.
///
/// Schemes with a controller share figures of the whole time. Distributed schemes compute so much
/// that they have figures of transmission, and each of them one of both parts.
pub(in crate::report) fn figures(study: &StudyRows<'_>) -> Vec<PageFigure> {
    let of_class = |class: &str| -> Vec<Style> {
        let has_rows =
            |style: &&Style| study.rows.iter().any(|row| row.setting.scheme == style.scheme);
        study
            .styles
            .iter()
            .filter(|style| style.class() == class)
            .filter(has_rows)
            .cloned()
            .collect()
    };
    let mut figures = Vec::new();
    for class in ["centralized", "hybrid", "distributed"] {
        let styles = of_class(class);
        for (operation, redraws) in OPERATIONS {
            let groups = match class {
                "distributed" => {
                    let each = styles.chunks(1).map(|one| (Kind::Parts, one));
                    [(Kind::Transmission, &styles[..])].into_iter().chain(each).collect()
                }
                _ => vec![(Kind::Total, &styles[..])],
            };
            figures.extend(groups.into_iter().filter_map(|(kind, styles)| {
                Plan { operation, class, kind, styles, redraws: redraws[kind as usize] }
                    .figure(study)
            }));
        }
    }
    figures
}

/// Operations, and the figures of the network-impact study (Prantl et al. 2024) of each:
/// centralized, transmission alone, and stacked.
const OPERATIONS: [(&str, [&str; 3]); 3] = [
    ("create", ["Figures 3 and 4", "Figure 9", "Figure 10"]),
    ("add", ["Figures 5 and 6", "Figure 11", "Figure 12"]),
    ("remove", ["Figures 7 and 8", "Figure 13", "Figure 14"]),
];

/// What a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The whole time.
    Total,
    /// The part of it that the critical path spends on the network.
    Transmission,
    /// Both parts of the whole time, as stacked bars of a single scheme.
    Parts,
}

/// A figure before its rows are selected.
struct Plan<'a> {
    operation: &'static str,
    class: &'static str,
    kind: Kind,
    styles: &'a [Style],
    redraws: &'static str,
}

impl Plan<'_> {
    fn figure(&self, study: &StudyRows<'_>) -> Option<PageFigure> {
        let is_shown = |scheme: &str| self.styles.iter().any(|style| style.scheme == scheme);
        let places = study.rows.iter().enumerate();
        let rows: Vec<(usize, &NetworkRow)> = places
            .map(|(place, row)| (study.first + place, row))
            .filter(|(_, row)| {
                row.setting.operation == self.operation && is_shown(&row.setting.scheme)
            })
            .collect();
        if rows.is_empty() {
            return None;
        }

        let published: Vec<&PublishedValue> = study
            .published
            .iter()
            .filter(|p| p.quantity == self.quantity() && p.operation == self.operation)
            .filter(|p| is_shown(&p.scheme))
            .collect();
        let delays = distinct(rows.iter().map(|(_, row)| row.setting.delay_ms));
        let axes = self.axes(&delays, &rows, &published);
        let apart = axes.windows(2).any(|pair| pair[0] != pair[1]);
        let id = self.id(&study.prefix);
        let panels = delays.into_iter().zip(axes).map(|(delay, axis)| {
            let panel = self.panel(&id, delay, &rows, &published, &axis);
            let svg = if self.kind == Kind::Parts {
                marks::stacked_bars(&panel)
            } else {
                marks::marks(&panel)
            };
            let note = if apart { ", on an axis of its own" } else { "" };
            (format!("One-way delay {delay} ms{note}"), svg)
        });
        let panels = panels.collect();

        let rows: Vec<&NetworkRow> = rows.into_iter().map(|(_, row)| row).collect();
        Some(PageFigure {
            title: self.title(),
            nature: "simulated",
            caption: self.caption(study, &rows),
            reading: reading::sentences(
                &rows,
                self.styles,
                self.operation,
                self.quantity(),
                self.kind == Kind::Parts,
            ),
            legend: self.legend(!published.is_empty()),
            panels,
            filter: BTreeMap::from([("class", self.class.to_owned())]),
            id,
            ..PageFigure::default()
        })
    }

    fn quantity(&self) -> TimeQuantity {
        if self.kind == Kind::Transmission {
            TimeQuantity::Transmission
        } else {
            TimeQuantity::Total
        }
    }

    fn id(&self, prefix: &str) -> String {
        let kind = match self.kind {
            Kind::Total => "total".to_owned(),
            Kind::Transmission => "transmission".to_owned(),
            Kind::Parts => format!("total-{}", self.styles[0].number),
        };
        format!("{prefix}{}-{}-{kind}", operation(self.operation), self.class)
    }

    fn title(&self) -> String {
        let noun = capitalised(operation(self.operation));
        match self.kind {
            Kind::Total => format!("{noun}: {} schemes", self.class),
            Kind::Transmission => format!("{noun}: {} schemes, transmission", self.class),
            Kind::Parts => {
                format!("{noun}: {}, transmission and computation", self.styles[0].scheme)
            }
        }
    }

    fn legend(&self, has_published: bool) -> Vec<LegendEntry> {
        let drawn = |svg: &str, label: &str| LegendEntry {
            glyph: Value::from_safe_string(svg.to_owned()),
            label: label.to_owned(),
            ..LegendEntry::default()
        };
        let key = |class: &str, path: &str, label| {
            let svg = format!(
                r#"<svg class="glyph key" viewBox="-7 -9 14 18" aria-hidden="true"><path class="{class}" d="{path}"/></svg>"#
            );
            drawn(&svg, label)
        };
        let mut legend: Vec<LegendEntry> = match self.kind {
            Kind::Parts => vec![
                drawn(r#"<span class="swatch transmission"></span>"#, "Transmission"),
                drawn(r#"<span class="swatch computation"></span>"#, "Computation"),
            ],
            Kind::Total | Kind::Transmission => {
                let keys = [
                    key("whisker", "M0-7V7", "± SD"),
                    key("median", "M-5.5 0H5.5", "p50"),
                    key("tail", "M0 8V-6M-2.5-6H2.5", "p99"),
                ];
                self.styles.iter().map(Style::entry).chain(keys).collect()
            }
        };
        legend.extend(has_published.then(|| published_entry("Published")));
        legend
    }

    fn caption(&self, study: &StudyRows<'_>, rows: &[&NetworkRow]) -> String {
        const MARKS: &str = " The mark is the mean over the runs, the thick line one standard deviation \
                             each way, the tick across the median, the thin line ends at the 99th \
                             percentile.";
        let mut caption = match self.kind {
            Kind::Total => "Time until the last member has the key.".to_owned() + MARKS,
            Kind::Transmission => {
                "Time that the critical path spends on the network.".to_owned() + MARKS
            }
            Kind::Parts => {
                "Mean time until the last member has the key, split along the critical path. \
                            The line at the top of a bar spans one standard deviation each way."
                    .to_owned()
            }
        };
        if !study.published.is_empty() {
            caption += &format!(" Redraws {} of the study.", self.redraws);
        }
        let settings = rows.iter().map(|row| &row.setting);
        let drawn: BTreeSet<_> = settings
            .map(|one| {
                (&one.scheme, one.members, one.loss_percent.to_bits(), one.delay_ms.to_bits())
            })
            .collect();
        if drawn.len() < rows.len() {
            caption += " The table has further rows, which differ in something else.";
        }
        caption
    }

    fn axes(
        &self,
        delays: &[f64],
        rows: &[(usize, &NetworkRow)],
        published: &[&PublishedValue],
    ) -> Vec<Axis> {
        let extents = delays.iter().map(|&delay| {
            let measured = rows
                .iter()
                .filter(|(_, row)| row.setting.delay_ms == delay)
                .map(|(_, row)| Spread::of(row, self.quantity()));
            let printed = published
                .iter()
                .filter(|p| p.delay_ms == delay)
                .map(|p| Spread::exactly(p.published));
            measured.chain(printed).fold(Extent::NOTHING, Extent::with)
        });
        spread::axes(&extents.collect::<Vec<_>>(), self.kind == Kind::Parts)
    }

    fn panel<'a>(
        &'a self,
        figure: &str,
        delay: f64,
        rows: &[(usize, &NetworkRow)],
        published: &[&PublishedValue],
        axis: &'a Axis,
    ) -> Panel<'a> {
        let losses = distinct(rows.iter().map(|(_, row)| row.setting.loss_percent));
        let sizes: BTreeSet<u32> = rows.iter().map(|(_, row)| row.setting.members).collect();
        let point = |style: &Style, members: u32, loss: f64| {
            let &(place, row) = rows.iter().find(|(_, row)| {
                (&row.setting.scheme, row.setting.members) == (&style.scheme, members)
                    && (row.setting.loss_percent, row.setting.delay_ms) == (loss, delay)
            })?;
            let published = published.iter().find(|p| {
                (&p.scheme, p.members) == (&style.scheme, members)
                    && (p.loss_percent, p.delay_ms) == (loss, delay)
            });
            Some(self.point(place, row, published.copied()))
        };
        let facets = sizes.iter().map(|&members| Facet {
            label: format!("{members} members"),
            categories: losses
                .iter()
                .map(|&loss| Category {
                    label: format!("{loss} %"),
                    points: self.styles.iter().map(|style| point(style, members, loss)).collect(),
                })
                .collect(),
        });

        let noun = capitalised(operation(self.operation));
        let delay = delay.to_string();
        Panel {
            id: format!("{figure}-{}", delay.replace('.', "-")),
            title: format!("{noun} with {delay} ms delay"),
            description: format!(
                "{} by group size, packet loss and scheme. The table of all rows has the values.",
                capitalised(self.quantity_name())
            ),
            quantity: self.quantity_name(),
            axis,
            styles: self.styles,
            facets: facets.collect(),
            categories: "packet loss",
        }
    }

    fn quantity_name(&self) -> &'static str {
        if self.kind == Kind::Transmission { "transmission time" } else { "total time" }
    }

    fn point(
        &self,
        row: usize,
        values: &NetworkRow,
        published: Option<&PublishedValue>,
    ) -> MarkValues {
        let spread = Spread::of(values, self.quantity());
        let setting = format!(
            "{}, {} with {} members, {} % loss, {} ms delay",
            values.setting.scheme,
            operation(&values.setting.operation),
            values.setting.members,
            values.setting.loss_percent,
            values.setting.delay_ms,
        );
        MarkValues {
            row,
            spread,
            transmission: values.transmission_ms,
            words: format!("{setting}: {} {}", self.quantity_name(), words(spread, values)),
            published: published.map(|p| {
                let words =
                    format!("{setting}: published {}, ours {}", time(p.published), time(p.ours));
                (p.published, words)
            }),
        }
    }
}

/// Lists all values of a row.
fn words(Spread { mean, sd, p50, p99 }: Spread, row: &NetworkRow) -> String {
    format!(
        "mean {}, standard deviation {}, median {}, 99th percentile {}; 95 % interval of the total \
         ± {}, its 90th percentile {}; transmission {}, computation {}; mean member {}; {} messages, \
         payload {} B, {} B on the wire, {} segments sent again; {} runs, seed {}",
        time(mean),
        time(sd),
        time(p50),
        time(p99),
        row.ci95_ms.map_or_else(|| "–".to_owned(), time),
        time(row.p90_ms),
        time(row.transmission_ms),
        time(row.computation_ms),
        time(row.member_mean_ms),
        digits(row.messages),
        digits(row.payload_bytes),
        digits(row.wire_bytes),
        digits(row.retransmissions),
        row.runs,
        row.setting.seed,
    )
}
