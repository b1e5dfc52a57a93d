//! The figures of a network study, and the data that each figure shows.

use std::collections::{BTreeMap, BTreeSet};

use groupkey_choose::number::digits;
use minijinja::Value;

use super::axes::{self, Extent};
use super::marks::{self, Category, Facet, MarkValues, Panel};
use super::panels::{PanelAxis, PanelRows, PlacedRow, differ_in_loss_and_delay_alone, panels};
use super::quantity::{NetworkQuantity, Spread};
use super::{StudyRows, distinct, reading};
use crate::report::axis::Axis;
use crate::report::content::PublishedValue;
use crate::report::lines::{self, Line, Lines, Point, Printed};
use crate::report::page::{LegendEntry, PageFigure};
use crate::report::style::{Style, published_entry};
use crate::report::text::{capitalised, energy, operation, time};
use crate::results::NetworkRow;

/// Builds all figures for which there are rows: by class and operation.
///
/// Schemes with a controller share figures of the whole time. Distributed schemes compute so much
/// that they have figures of transmission, and each of them one of both parts. Figures of bytes and
/// of energy follow where no study is redrawn.
pub(in crate::report) fn figures(study: &StudyRows<'_>) -> Vec<PageFigure> {
    let of_class = |class: &str| -> Vec<Style> {
        let has_rows =
            |style: &&Style| study.rows.iter().any(|it| it.row.setting.scheme == style.scheme);
        study
            .styles
            .iter()
            .filter(|style| style.class() == class)
            .filter(has_rows)
            .cloned()
            .collect()
    };
    let redraws_a_study = !study.published.is_empty();
    let mut figures = Vec::new();
    for class in ["centralized", "hybrid", "distributed"] {
        let styles = of_class(class);
        for &operation in &operations(study) {
            let redraws = OPERATIONS.iter().find(|(known, _)| *known == operation);
            let redraws = redraws.map_or([""; 3], |(_, redraws)| *redraws);
            let plan = |kind, styles, redraws| Plan { operation, class, kind, styles, redraws };
            let mut plans = match class {
                "distributed" => {
                    let each = styles.chunks(1).map(|one| plan(Kind::Parts, one, redraws[2]));
                    [plan(Kind::Transmission, &styles[..], redraws[1])]
                        .into_iter()
                        .chain(each)
                        .collect()
                }
                _ => vec![plan(Kind::Total, &styles[..], redraws[0])],
            };
            if !redraws_a_study {
                let further = [Kind::Payload, Kind::Wire, Kind::Energy];
                plans.extend(further.map(|kind| plan(kind, &styles[..], "")));
            }
            figures.extend(plans.into_iter().filter_map(|plan| plan.figure(study)));
        }
    }
    figures
}

/// Returns the operations of the rows, those of the study first.
fn operations<'a>(study: &'a StudyRows<'_>) -> Vec<&'a str> {
    let has_rows = |id: &str| study.rows.iter().any(|placed| placed.row.setting.operation == id);
    let mut operations: Vec<&str> =
        OPERATIONS.iter().map(|(id, _)| *id).filter(|id| has_rows(id)).collect();
    for placed in &study.rows {
        let operation = placed.row.setting.operation.as_str();
        if !operations.contains(&operation) {
            operations.push(operation);
        }
    }
    operations
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
    /// Bytes of the schemes' messages.
    Payload,
    Wire,
    Energy,
}

impl Kind {
    const fn quantity(self) -> NetworkQuantity {
        match self {
            Self::Total | Self::Parts => NetworkQuantity::Total,
            Self::Transmission => NetworkQuantity::Transmission,
            Self::Payload => NetworkQuantity::Payload,
            Self::Wire => NetworkQuantity::Wire,
            Self::Energy => NetworkQuantity::Energy,
        }
    }

    const fn file(self) -> &'static str {
        match self {
            Self::Total | Self::Parts => "total",
            Self::Transmission => "transmission",
            Self::Payload => "message-bytes",
            Self::Wire => "wire-bytes",
            Self::Energy => "energy",
        }
    }

    const fn is_time(self) -> bool {
        matches!(self, Self::Total | Self::Transmission | Self::Parts)
    }
}

/// A figure before its rows are selected.
struct Plan<'a> {
    operation: &'a str,
    class: &'static str,
    kind: Kind,
    styles: &'a [Style],
    redraws: &'static str,
}

impl Plan<'_> {
    fn figure(&self, study: &StudyRows<'_>) -> Option<PageFigure> {
        let is_shown = |scheme: &str| self.styles.iter().any(|style| style.scheme == scheme);
        let of_figure = |placed: &&PlacedRow<'_>| {
            let setting = &placed.row.setting;
            setting.operation == self.operation
                && is_shown(&setting.scheme)
                && Spread::of(placed.row, self.kind.quantity()).is_some()
        };
        let rows: Vec<PlacedRow<'_>> = study.rows.iter().filter(of_figure).copied().collect();
        if rows.is_empty() {
            return None;
        }

        let published: Vec<&PublishedValue> = study
            .published
            .iter()
            .filter(|p| self.kind.quantity().published() == Some(p.quantity))
            .filter(|p| p.operation == self.operation && is_shown(&p.scheme))
            .collect();
        let axis = self.panel_axis(&rows);
        let by_panel = panels(&rows, axis);
        let published_in = |panel: &PanelRows<'_>| -> Vec<&PublishedValue> {
            let is_in = |p: &&&PublishedValue| {
                let mut settings = panel.rows.iter().map(|placed| &placed.row.setting);
                settings.any(|it| it.delay_ms == p.delay_ms)
            };
            published.iter().filter(is_in).copied().collect()
        };
        let extents = by_panel.iter().map(|panel| self.extent(panel, &published_in(panel)));
        let axes = axes::axes(&extents.collect::<Vec<_>>(), self.kind == Kind::Parts);
        let apart = axes.windows(2).any(|pair| pair[0] != pair[1]);
        let id = self.id(study.prefix);
        let drawn = by_panel.iter().zip(&axes).enumerate().filter_map(|(number, (panel, up))| {
            let panel_id = format!("{id}-{number}");
            let published = published_in(panel);
            let svg = match axis {
                PanelAxis::MembersAndLoss => {
                    let losses = distinct(rows.iter().map(|it| it.row.setting.loss_percent));
                    let drawn = self.panel(panel_id, panel, &losses, &rows, &published, up);
                    match self.kind {
                        Kind::Parts => marks::stacked_bars(&drawn),
                        _ => marks::marks(&drawn),
                    }
                }
                _ => lines::draw(&self.lines(panel_id, panel, &published, up))?,
            };
            let note = if apart { ", on an axis of its own" } else { "" };
            Some((format!("{}{note}", capitalised(&panel.heading)), svg))
        });
        let drawn: Vec<(String, Value)> = drawn.collect();

        // What differs besides loss and delay would make the sentences wrong.
        let is_told = self.kind.is_time() && differ_in_loss_and_delay_alone(&rows);
        let told: Vec<&NetworkRow> =
            rows.iter().map(|placed| placed.row).filter(|_| is_told).collect();
        Some(PageFigure {
            title: self.title(),
            file: self.file(),
            nature: if self.kind == Kind::Energy { "modelled" } else { "simulated" },
            caption: self.caption(axis, !study.published.is_empty()),
            reading: reading::sentences(
                &told,
                self.styles,
                self.operation,
                self.kind.quantity(),
                self.kind == Kind::Parts,
            ),
            legend: self.legend(axis, &rows, !published.is_empty()),
            panels: drawn,
            filter: BTreeMap::from([
                ("class", self.class.to_owned()),
                ("operation", self.operation.to_owned()),
            ]),
            id,
            ..PageFigure::default()
        })
    }

    /// Few sizes stand side by side, with loss across; many sizes are a line.
    fn panel_axis(&self, rows: &[PlacedRow<'_>]) -> PanelAxis {
        let sizes = rows.iter().map(|placed| placed.row.setting.members);
        match self.kind {
            Kind::Payload => PanelAxis::MembersAnywhere,
            Kind::Parts => PanelAxis::MembersAndLoss,
            _ if sizes.collect::<BTreeSet<_>>().len() > MOST_FACETS => PanelAxis::Members,
            _ => PanelAxis::MembersAndLoss,
        }
    }

    fn id(&self, prefix: &str) -> String {
        let number = match self.kind {
            Kind::Parts => format!("-{}", self.styles[0].number),
            _ => String::new(),
        };
        let (operation, kind) = (operation(self.operation), self.kind.file());
        format!("{prefix}{operation}-{}-{kind}{number}", self.class)
    }

    fn file(&self) -> String {
        let of = if self.kind == Kind::Parts { &*self.styles[0].scheme } else { self.class };
        format!("{}-{of}-{}", operation(self.operation), self.kind.file())
    }

    fn title(&self) -> String {
        let noun = capitalised(operation(self.operation));
        match self.kind {
            Kind::Total => format!("{noun}: {} schemes", self.class),
            Kind::Transmission => format!("{noun}: {} schemes, transmission", self.class),
            Kind::Payload | Kind::Wire | Kind::Energy => {
                format!("{noun}: {} schemes, {}", self.class, self.kind.quantity().name())
            }
            Kind::Parts => {
                format!("{noun}: {}, transmission and computation", self.styles[0].scheme)
            }
        }
    }

    fn legend(
        &self,
        axis: PanelAxis,
        rows: &[PlacedRow<'_>],
        has_published: bool,
    ) -> Vec<LegendEntry> {
        let drawn = |svg: &str, label: &str| LegendEntry {
            glyph: Value::from_safe_string(svg.to_owned()),
            label: label.to_owned(),
            ..LegendEntry::default()
        };
        let swatch = |class: &str, label| {
            let svg = format!(
                r#"<svg class="glyph" viewBox="-7 -7 14 14" aria-hidden="true"><rect class="{class}" x="-7" y="-7" width="14" height="14" rx="3"/></svg>"#
            );
            drawn(&svg, label)
        };
        let key = |class: &str, path: &str, label| {
            let svg = format!(
                r#"<svg class="glyph key" viewBox="-7 -9 14 18" aria-hidden="true"><path class="{class}" d="{path}"/></svg>"#
            );
            drawn(&svg, label)
        };
        let shown = |style: &&Style| rows.iter().any(|it| it.row.setting.scheme == style.scheme);
        let schemes = self.styles.iter().filter(shown).map(Style::entry);
        let mut legend: Vec<LegendEntry> = match (self.kind, axis) {
            (Kind::Parts, _) => {
                vec![swatch("transmission", "Transmission"), swatch("computation", "Computation")]
            }
            (_, PanelAxis::MembersAndLoss) => {
                let keys = [
                    key("whisker", "M0-7V7", "± SD"),
                    key("median", "M-5.5 0H5.5", "p50"),
                    key("tail", "M0 8V-6M-2.5-6H2.5", "p99"),
                ];
                schemes.chain(keys).collect()
            }
            _ => schemes.collect(),
        };
        legend.extend(has_published.then(|| published_entry("Published")));
        legend
    }

    fn caption(&self, axis: PanelAxis, redraws_a_study: bool) -> String {
        const MARKS: &str = " The mark is the mean over the runs, the thick line one standard deviation \
                             each way, the tick across the median, the thin line ends at the 99th \
                             percentile.";
        const BANDS: &str =
            " The mark is the mean over the runs, the band its 95 % confidence interval.";
        let mut caption = match self.kind {
            Kind::Total => "Time until the last member has the key.",
            Kind::Transmission => "Time that the critical path spends on the network.",
            Kind::Parts => {
                "Mean time until the last member has the key, split along the critical path. \
                 The line at the top of a bar spans one standard deviation each way."
            }
            Kind::Payload => "Bytes of the schemes' messages with header and protection, as MQTT carries them.",
            Kind::Wire => {
                "Bytes of all packets on all links, with headers, acknowledgements and what was sent again."
            }
            Kind::Energy => {
                "Modelled: computation and packets of a member at the prices of its device, what was sent \
                 again included. Idling is not counted."
            }
        }
        .to_owned();
        if self.kind != Kind::Parts {
            caption += if axis == PanelAxis::MembersAndLoss { MARKS } else { BANDS };
        }
        if redraws_a_study && !self.redraws.is_empty() {
            caption += &format!(" Redraws {} of the study.", self.redraws);
        }
        caption
    }

    fn extent(&self, panel: &PanelRows<'_>, published: &[&PublishedValue]) -> Extent {
        let simulated = panel.rows.iter().filter_map(|it| Spread::of(it.row, self.kind.quantity()));
        let printed = published.iter().map(|p| Spread::exactly(p.published));
        simulated.chain(printed).fold(Extent::NOTHING, Extent::with)
    }

    /// Makes a panel with sizes and losses side by side.
    fn panel<'a>(
        &'a self,
        id: String,
        rows: &PanelRows<'_>,
        losses: &[f64],
        all: &[PlacedRow<'_>],
        published: &[&PublishedValue],
        axis: &'a Axis,
    ) -> Panel<'a> {
        let sizes: BTreeSet<u32> = all.iter().map(|placed| placed.row.setting.members).collect();
        let point = |style: &Style, members: u32, loss: f64| {
            let placed = rows.rows.iter().find(|placed| {
                let setting = &placed.row.setting;
                (&setting.scheme, setting.members) == (&style.scheme, members)
                    && setting.loss_percent == loss
            })?;
            let published = published
                .iter()
                .find(|p| (&p.scheme, p.members, p.loss_percent) == (&style.scheme, members, loss));
            self.point(placed, published.copied())
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
        let quantity = self.kind.quantity();
        Panel {
            id,
            title: self.panel_title(rows),
            description: format!(
                "{} by group size, packet loss and scheme. The table of all rows has the values.",
                capitalised(quantity.name())
            ),
            quantity: quantity.name(),
            format: quantity.format(),
            axis,
            styles: self.styles,
            facets: facets.collect(),
            categories: "packet loss",
        }
    }

    /// Makes a panel with a line over members for each scheme.
    fn lines(
        &self,
        id: String,
        rows: &PanelRows<'_>,
        published: &[&PublishedValue],
        up: &Axis,
    ) -> Lines {
        let line = |style: &Style| {
            let mut points: BTreeMap<u32, Point> = BTreeMap::new();
            for placed in rows.rows.iter().filter(|it| it.row.setting.scheme == style.scheme) {
                let members = placed.row.setting.members;
                if let Some(MarkValues { row, spread, words, .. }) = self.point(placed, None)
                    && spread.mean > 0.0
                {
                    points.entry(members).or_insert_with(|| Point {
                        row: Some(row),
                        members: f64::from(members),
                        value: spread.mean,
                        error: spread.ci95,
                        words,
                    });
                }
            }
            let points: Vec<Point> = points.into_values().collect();
            (!points.is_empty()).then(|| Line { style: style.clone(), points })
        };
        let quantity = self.kind.quantity();
        Lines {
            id,
            title: self.panel_title(rows),
            quantity: quantity.name(),
            format: quantity.format(),
            up: Some(up.clone()),
            lines: self.styles.iter().filter_map(line).collect(),
            published: published
                .iter()
                .map(|p| Printed {
                    members: (f64::from(p.members), f64::from(p.members)),
                    value: p.published,
                    words: format!("{}, published: {}", p.scheme, time(p.published)),
                })
                .collect(),
        }
    }

    fn panel_title(&self, rows: &PanelRows<'_>) -> String {
        let noun = capitalised(operation(self.operation));
        match rows.heading.is_empty() {
            true => format!("{noun}, {}", self.kind.quantity().name()),
            false => format!("{noun}, {}, {}", self.kind.quantity().name(), rows.heading),
        }
    }

    fn point(
        &self,
        placed: &PlacedRow<'_>,
        published: Option<&PublishedValue>,
    ) -> Option<MarkValues> {
        let quantity = self.kind.quantity();
        let PlacedRow { place, row: values, .. } = *placed;
        let spread = Spread::of(values, quantity)?;
        let setting = format!(
            "{}, {} with {} members, {} % loss, {} ms delay",
            values.setting.scheme,
            operation(&values.setting.operation),
            values.setting.members,
            values.setting.loss_percent,
            values.setting.delay_ms,
        );
        Some(MarkValues {
            row: place,
            spread,
            whisker: (spread.mean - spread.sd, spread.mean + spread.sd),
            transmission: values.transmission_ms,
            words: format!("{setting}: {} {}", quantity.name(), words(spread, quantity, values)),
            published: published.map(|p| {
                let words =
                    format!("{setting}: published {}, ours {}", time(p.published), time(p.ours));
                (p.published, words)
            }),
        })
    }
}

/// More sizes than this make a line.
const MOST_FACETS: usize = 4;

fn words(spread: Spread, quantity: NetworkQuantity, row: &NetworkRow) -> String {
    let Spread { mean, sd, p50, p99, .. } = spread;
    let format = quantity.format();
    let energy = row.member_joule.map(|joule| format!(", {} a member", energy(joule)));
    format!(
        "mean {}, standard deviation {}, median {}, 99th percentile {}; 95 % interval of the total \
         ± {}, its 90th percentile {}; transmission {}, computation {}; mean member {}; {} messages, \
         payload {} B, {} B on the wire, {} segments sent again{}; {} runs, seed {}",
        format(mean),
        format(sd),
        format(p50),
        format(p99),
        row.ci95_ms.map_or_else(|| "–".to_owned(), time),
        time(row.p90_ms),
        time(row.transmission_ms),
        time(row.computation_ms),
        time(row.member_mean_ms),
        digits(row.messages),
        digits(row.payload_bytes),
        digits(row.wire_bytes),
        digits(row.retransmissions),
        energy.unwrap_or_default(),
        row.runs,
        row.setting.seed,
    )
}
