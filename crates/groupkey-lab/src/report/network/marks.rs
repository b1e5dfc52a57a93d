//! Draws one panel of a figure: marks with whiskers, or stacked bars.

use minijinja::Value;

use super::spread::Spread;
use crate::report::axis::Axis;
use crate::report::style::Style;
use crate::report::svg::{Plot, Svg};
use crate::report::text::{tick, time};

/// One panel: the facets (group sizes) side by side on a shared axis.
#[derive(Clone, Debug)]
pub(super) struct Panel<'a> {
    /// Unique in the page.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) description: String,
    /// What the axis measures.
    pub(super) quantity: &'static str,
    pub(super) axis: &'a Axis,
    /// The schemes drawn; the points of a category are in this order.
    pub(super) styles: &'a [Style],
    pub(super) facets: Vec<Facet>,
    /// What the categories are; the text is under the axis.
    pub(super) categories: &'static str,
}

/// One group size.
#[derive(Clone, Debug)]
pub(super) struct Facet {
    pub(super) label: String,
    pub(super) categories: Vec<Category>,
}

/// One packet loss.
#[derive(Clone, Debug)]
pub(super) struct Category {
    pub(super) label: String,
    pub(super) points: Vec<Option<MarkValues>>,
}

/// The values of one row (ms).
#[derive(Clone, Debug)]
pub(super) struct MarkValues {
    /// Place of the row in the page's data.
    pub(super) row: usize,
    pub(super) spread: Spread,
    /// The part of the mean that is transmission; the foot of a stacked bar.
    pub(super) transmission: f64,
    /// All values in words.
    pub(super) words: String,
    /// The study's value, and words about it.
    pub(super) published: Option<(f64, String)>,
}

const PLOT: Plot = Plot::WITH_HEADINGS;

/// Draws means as marks, with whiskers and lines from loss to loss.
pub(super) fn marks(panel: &Panel<'_>) -> Value {
    let mut svg = panel.begin();
    for (number, style) in panel.styles.iter().enumerate() {
        svg.begin(&style.series());
        for facet in 0..panel.facets.len() {
            let placed = panel.placed(facet, number);
            let means: Vec<_> =
                placed.iter().map(|(x, point)| (*x, panel.y(point.spread.mean))).collect();
            svg.polyline("link", &means);
            placed.iter().for_each(|(x, point)| panel.mark(&mut svg, *x, point, style));
        }
        svg.end();
    }
    panel.finish(svg)
}

/// Draws means of a single scheme as bars: transmission at the foot, computation on top.
pub(super) fn stacked_bars(panel: &Panel<'_>) -> Value {
    let mut svg = panel.begin();
    for facet in 0..panel.facets.len() {
        let width = (panel.category_width(facet) * 0.56).min(30.0);
        for (x, point) in panel.placed(facet, 0) {
            let Spread { mean, sd, .. } = point.spread;
            let (foot, joint, top) = (panel.y(0.0), panel.y(point.transmission), panel.y(mean));
            svg.begin_row(point.row, (x, top), &point.words);
            for (class, from, to) in [("transmission", foot, joint), ("computation", joint, top)] {
                svg.rect(class, (x - width / 2.0, to), (width, from - to), 0.0);
            }
            let (upper, lower) = (panel.y(mean + sd), panel.y(mean - sd));
            svg.path("bar-whisker", format_args!("M{x:.1} {upper:.1}V{lower:.1}"));
            svg.end();
        }
    }
    panel.finish(svg)
}

impl Panel<'_> {
    /// Draws everything behind the marks.
    fn begin(&self) -> Svg {
        let mut svg = PLOT.begin(&self.id, &self.title).described(&self.description);
        PLOT.up(&mut svg, self.axis, self.quantity, |ms| tick(&time(ms)));
        let mut labels = Vec::new();
        for (number, facet) in self.facets.iter().enumerate() {
            let left = number as f64 / self.facets.len() as f64;
            let middle = left + 0.5 / self.facets.len() as f64;
            svg.text("facet", (PLOT.x(middle), PLOT.top() - 12.0), "middle", &facet.label);
            if number > 0 {
                let (x, top) = (PLOT.x(left), PLOT.top() - 24.0);
                svg.path("divider", format_args!("M{x:.1} {top}V{}", PLOT.floor()));
            }
            let categories = facet.categories.iter().enumerate();
            labels.extend(categories.map(|(at, one)| (self.column(number, at), one.label.clone())));
        }
        PLOT.labels_across(&mut svg, self.categories, labels.into_iter());
        svg
    }

    /// Draws the published values above the marks.
    fn finish(&self, mut svg: Svg) -> Value {
        for number in 0..self.styles.len() {
            for (x, point) in (0..self.facets.len()).flat_map(|facet| self.placed(facet, number)) {
                if let Some((ms, words)) = &point.published {
                    svg.ring((x, self.y(*ms)), words);
                }
            }
        }
        svg.finish()
    }

    /// Draws mean, standard deviation (thick), median (tick across) and 99th percentile (thin, to
    /// the cap).
    fn mark(&self, svg: &mut Svg, x: f64, point: &MarkValues, style: &Style) {
        let Spread { mean, sd, p50, p99 } = point.spread;
        let y = self.y(mean);
        let (upper, lower, p50, p99) =
            (self.y(mean + sd), self.y(mean - sd), self.y(p50), self.y(p99));
        svg.begin_row(point.row, (x, y), &point.words);
        svg.path("tail", format_args!("M{x:.1} {y:.1}V{p99:.1}M{:.1} {p99:.1}h5", x - 2.5));
        svg.path("whisker", format_args!("M{x:.1} {upper:.1}V{lower:.1}"));
        svg.path("median", format_args!("M{:.1} {p50:.1}h11", x - 5.5));
        svg.dot((x, y), style);
        svg.end();
    }

    fn y(&self, ms: f64) -> f64 {
        PLOT.y(self.axis.position(ms))
    }

    fn category_width(&self, facet: usize) -> f64 {
        Plot::WIDTH / self.facets.len() as f64 / self.facets[facet].categories.len() as f64
    }

    /// Returns where a column is, from 0 to 1.
    fn column(&self, facet: usize, category: usize) -> f64 {
        let categories = self.facets[facet].categories.len() as f64;
        (facet as f64 + (category as f64 + 0.5) / categories) / self.facets.len() as f64
    }

    /// Returns the points of a scheme in a facet, with their distances from the left.
    fn placed(&self, facet: usize, number: usize) -> Vec<(f64, &MarkValues)> {
        let schemes = self.styles.len() as f64;
        let spacing = (self.category_width(facet) * 0.84 / schemes).min(12.0);
        let dodge = (number as f64 - (schemes - 1.0) / 2.0) * spacing;
        let categories = self.facets[facet].categories.iter().enumerate();
        let placed = categories.filter_map(|(at, category)| {
            let point = category.points.get(number)?.as_ref()?;
            Some((PLOT.x(self.column(facet, at)) + dodge, point))
        });
        placed.collect()
    }
}
