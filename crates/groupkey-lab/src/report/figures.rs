//! The figures of the report, in the study's order, and the data that each figure shows.

use super::axis::Axis;
use super::chart::{self, Category, Facet, Panel, Point, Published};
use super::conditions::distinct;
use super::content::Quantity;
use super::content::{PublishedValue, Report};
use super::reading::{self, Sentence};
use super::scheme::{Family, Scheme};
use super::spread::{self, Extent, Spread};
use super::text::{capitalised, operation, time};
use crate::results::NetworkRow;

/// A figure, ready for the page.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    /// Anchor in the page.
    pub(super) id: String,
    pub(super) title: String,
    /// What the figure shows, and which figures of the study it redraws.
    pub(super) caption: String,
    /// What a reader sees in the figure, one sentence each.
    pub(super) reading: Vec<Sentence>,
    /// Heading and SVG of each panel.
    pub(super) panels: Vec<(String, String)>,
    pub(super) schemes: Vec<Scheme>,
    pub(super) stacked: bool,
    pub(super) has_published: bool,
}

/// Builds all figures for which there are rows.
pub(super) fn of_report(report: &Report, schemes: &[Scheme]) -> Vec<Figure> {
    let plans = OPERATIONS.iter().flat_map(|&(operation, figures)| {
        [
            (Family::Centralized, Quantity::Total, false, figures[0]),
            (Family::Contributory, Quantity::Transmission, false, figures[1]),
            (Family::Contributory, Quantity::Total, true, figures[2]),
        ]
        .map(|(family, quantity, stacked, study)| Plan {
            operation,
            family,
            quantity,
            stacked,
            study,
        })
    });
    let mut plans: Vec<Plan> = plans.collect();
    // The centralized schemes come first, as in the study.
    plans.sort_by_key(|plan| plan.family == Family::Contributory);
    plans.iter().filter_map(|plan| plan.figure(report, schemes)).collect()
}

/// Operations, and the study's figures of each: centralized, transmission alone, and stacked.
const OPERATIONS: [(&str, [&str; 3]); 3] = [
    ("create", ["Figures 3 and 4", "Figure 9", "Figure 10"]),
    ("add", ["Figures 5 and 6", "Figure 11", "Figure 12"]),
    ("remove", ["Figures 7 and 8", "Figure 13", "Figure 14"]),
];

/// A figure before its rows are selected.
struct Plan {
    operation: &'static str,
    family: Family,
    quantity: Quantity,
    stacked: bool,
    study: &'static str,
}

impl Plan {
    fn figure(&self, report: &Report, schemes: &[Scheme]) -> Option<Figure> {
        let schemes: Vec<Scheme> =
            schemes.iter().filter(|s| s.family == self.family).cloned().collect();
        let rows: Vec<(usize, &NetworkRow)> = report
            .rows
            .iter()
            .enumerate()
            .filter(|(_, row)| row.setting.operation == self.operation)
            .filter(|(_, row)| schemes.iter().any(|s| s.id == row.setting.scheme))
            .collect();
        if rows.is_empty() {
            return None;
        }

        let published: Vec<&PublishedValue> = report
            .published
            .iter()
            .filter(|p| p.quantity == self.quantity && p.operation == self.operation)
            .filter(|p| schemes.iter().any(|s| s.id == p.scheme))
            .collect();
        let delays = distinct(rows.iter().map(|(_, row)| row.setting.delay_ms));
        let axes = self.axes(&delays, &rows, &published);
        let apart = axes.windows(2).any(|pair| pair[0] != pair[1]);
        let id = self.id();
        let panels = delays
            .into_iter()
            .zip(axes)
            .map(|(delay, axis)| {
                let panel = self.panel(&id, delay, &rows, &published, &axis, &schemes);
                let svg =
                    if self.stacked { chart::stacked_bars(&panel) } else { chart::marks(&panel) };
                let note = if apart { ", on an axis of its own" } else { "" };
                (format!("One-way delay {delay} ms{note}"), svg)
            })
            .collect();

        let rows: Vec<&NetworkRow> = rows.into_iter().map(|(_, row)| row).collect();
        Some(Figure {
            title: self.title(&schemes),
            caption: self.caption(),
            reading: if self.stacked {
                reading::shares(&rows, self.operation)
            } else {
                reading::times(&rows, &schemes, self.operation, self.quantity)
            },
            panels,
            stacked: self.stacked,
            has_published: !published.is_empty(),
            id,
            schemes,
        })
    }

    fn id(&self) -> String {
        let kind = match (self.family, self.stacked) {
            (Family::Centralized, _) => "centralized",
            (Family::Contributory, false) => "contributory-transmission",
            (Family::Contributory, true) => "contributory-total",
        };
        format!("{}-{kind}", operation(self.operation))
    }

    fn title(&self, schemes: &[Scheme]) -> String {
        let noun = capitalised(operation(self.operation));
        let names = schemes.iter().map(|s| s.label.as_str()).collect::<Vec<_>>().join(", ");
        match (self.family, self.stacked) {
            (Family::Centralized, _) => format!("{noun}: centralized schemes"),
            (Family::Contributory, false) => format!("{noun}: {names}, transmission"),
            (Family::Contributory, true) => {
                format!("{noun}: {names}, transmission and computation")
            }
        }
    }

    fn caption(&self) -> String {
        let what = match (self.quantity, self.stacked) {
            (_, true) => {
                "Mean time until the last member has the key, split along the critical path. \
                 The line at the top of a bar spans one standard deviation each way."
            }
            (Quantity::Transmission, _) => "Time that the critical path spends on the network.",
            _ => "Time until the last member has the key.",
        };
        let marks = if self.stacked {
            ""
        } else {
            " The mark is the mean over the runs, the thick line one standard deviation each way, \
             the tick across the median, the thin line ends at the 99th percentile."
        };
        format!("{what}{marks} Redraws {} of the study.", self.study)
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
                .map(|(_, row)| Spread::of(row, self.quantity));
            let printed = published
                .iter()
                .filter(|p| p.delay_ms == delay)
                .map(|p| Spread::exactly(p.published));
            measured.chain(printed).fold(Extent::NOTHING, Extent::with)
        });
        spread::axes(&extents.collect::<Vec<_>>(), self.stacked)
    }

    fn panel<'a>(
        &self,
        figure: &str,
        delay: f64,
        rows: &[(usize, &NetworkRow)],
        published: &[&PublishedValue],
        axis: &'a Axis,
        schemes: &'a [Scheme],
    ) -> Panel<'a> {
        let losses = distinct(rows.iter().map(|(_, row)| row.setting.loss_percent));
        let mut sizes: Vec<u32> = rows.iter().map(|(_, row)| row.setting.members).collect();
        sizes.sort_unstable();
        sizes.dedup();

        let point = |scheme: &Scheme, members: u32, loss: f64| {
            let &(index, row) = rows.iter().find(|(_, row)| {
                (row.setting.scheme.as_str(), row.setting.members) == (scheme.id.as_str(), members)
                    && (row.setting.loss_percent, row.setting.delay_ms) == (loss, delay)
            })?;
            let published = published.iter().find(|p| {
                (p.scheme.as_str(), p.members) == (row.setting.scheme.as_str(), members)
                    && (p.loss_percent, p.delay_ms) == (loss, delay)
            });
            Some(self.point(index, row, scheme, published.copied()))
        };
        let facets = sizes.iter().map(|&members| Facet {
            label: format!("{members} members"),
            categories: losses
                .iter()
                .map(|&loss| Category {
                    label: format!("{loss} %"),
                    points: schemes.iter().map(|s| point(s, members, loss)).collect(),
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
            schemes,
            facets: facets.collect(),
            categories: "packet loss",
        }
    }

    fn quantity_name(&self) -> &'static str {
        match self.quantity {
            Quantity::Transmission => "transmission time",
            Quantity::Total | Quantity::TransmissionShare => "total time",
        }
    }

    fn point(
        &self,
        row: usize,
        values: &NetworkRow,
        scheme: &Scheme,
        published: Option<&PublishedValue>,
    ) -> Point {
        let Spread { mean, sd, p50, p99 } = Spread::of(values, self.quantity);
        let setting = format!(
            "{}, {} with {} members, {} % loss, {} ms delay",
            scheme.label,
            operation(&values.setting.operation),
            values.setting.members,
            values.setting.loss_percent,
            values.setting.delay_ms,
        );
        Point {
            row,
            mean,
            sd,
            p50,
            p99,
            transmission: values.transmission_ms,
            words: format!(
                "{setting}: {} mean {}, standard deviation {}, median {}, 99th percentile {}; \
                 transmission {}, computation {}",
                self.quantity_name(),
                time(mean),
                time(sd),
                time(p50),
                time(p99),
                time(values.transmission_ms),
                time(values.computation_ms),
            ),
            published: published.map(|p| Published {
                ms: p.published,
                words: format!("{setting}: published {}, ours {}", time(p.published), time(p.ours)),
            }),
        }
    }
}
