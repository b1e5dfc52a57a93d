//! Draws one panel of a figure: marks with whiskers, or stacked bars.

use minijinja::Value;

use super::quantity::Spread;
use crate::report::axis::Axis;
use crate::report::style::Style;
use crate::report::svg::{Plot, Svg};
use crate::report::text::tick;

/// One panel: the facets (group sizes) side by side on a shared axis.
#[derive(Clone, Debug)]
pub(in crate::report) struct Panel<'a> {
    /// Unique in the page.
    pub(in crate::report) id: String,
    pub(in crate::report) title: String,
    pub(in crate::report) description: String,
    /// What the axis measures, and the format of its values.
    pub(in crate::report) quantity: &'static str,
    pub(in crate::report) format: fn(f64) -> String,
    pub(in crate::report) axis: &'a Axis,
    /// The schemes drawn; the points of a category are in this order.
    pub(in crate::report) styles: &'a [Style],
    pub(in crate::report) facets: Vec<Facet>,
    /// What the categories are; the text is under the axis.
    pub(in crate::report) categories: &'static str,
}

/// One group size.
#[derive(Clone, Debug)]
pub(in crate::report) struct Facet {
    pub(in crate::report) label: String,
    pub(in crate::report) categories: Vec<Category>,
}

/// One packet loss.
#[derive(Clone, Debug)]
pub(in crate::report) struct Category {
    pub(in crate::report) label: String,
    pub(in crate::report) points: Vec<Option<MarkValues>>,
}

#[derive(Clone, Debug)]
pub(in crate::report) struct MarkValues {
    /// Place of the row in the page's data.
    pub(in crate::report) row: usize,
    pub(in crate::report) spread: Spread,
    /// The ends of the thick line.
    pub(in crate::report) whisker: (f64, f64),
    /// The part of the mean that is transmission; the foot of a stacked bar.
    pub(in crate::report) transmission: f64,
    pub(in crate::report) words: String,
    /// The study's value, and words about it.
    pub(in crate::report) published: Option<(f64, String)>,
}

const PLOT: Plot = Plot::WITH_HEADINGS;

/// Draws means as marks, with whiskers and lines from loss to loss.
pub(in crate::report) fn marks(panel: &Panel<'_>) -> Value {
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
pub(in crate::report) fn stacked_bars(panel: &Panel<'_>) -> Value {
    let mut svg = panel.begin();
    for facet in 0..panel.facets.len() {
        let width = (panel.category_width(facet) * 0.56).min(30.0);
        for (x, point) in panel.placed(facet, 0) {
            let (mean, (low, high)) = (point.spread.mean, point.whisker);
            let (foot, joint, top) = (panel.y(0.0), panel.y(point.transmission), panel.y(mean));
            svg.begin_row(point.row, (x, top), &point.words);
            for (class, from, to) in [("transmission", foot, joint), ("computation", joint, top)] {
                svg.rect(class, (x - width / 2.0, to), (width, from - to), 0.0);
            }
            let (upper, lower) = (panel.y(high), panel.y(low));
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
        PLOT.up(&mut svg, self.axis, self.quantity, |value| tick(&(self.format)(value)));
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
        let Spread { mean, p50, p99, .. } = point.spread;
        let (low, high) = point.whisker;
        let (y, upper, lower) = (self.y(mean), self.y(high), self.y(low));
        svg.begin_row(point.row, (x, y), &point.words);
        // A single value has nothing but its mark.
        if p50 != mean || p99 != mean {
            let (p50, p99) = (self.y(p50), self.y(p99));
            svg.path("tail", format_args!("M{x:.1} {y:.1}V{p99:.1}M{:.1} {p99:.1}h5", x - 2.5));
            svg.path("median", format_args!("M{:.1} {p50:.1}h11", x - 5.5));
        }
        if low < high {
            svg.path("whisker", format_args!("M{x:.1} {upper:.1}V{lower:.1}"));
        }
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
