//! Draws one panel of a figure as inline SVG: marks with whiskers, or stacked bars.
//!
//! Colours and fonts come from the page's style sheet by class, so that a panel follows the light
//! and the dark style. Every mark carries its values as a `<title>`, and the number of its row for
//! the script.

use std::fmt::Write;

use super::axis::Axis;
use super::scheme::Scheme;
use super::text::escaped;

/// One panel: the facets (group sizes) side by side on a shared axis.
#[derive(Clone, Debug)]
pub(super) struct Panel<'a> {
    /// Unique in the page.
    pub(super) id: String,
    /// What a screen reader says first.
    pub(super) title: String,
    /// What a screen reader says next.
    pub(super) description: String,
    /// What the axis measures.
    pub(super) quantity: &'static str,
    pub(super) axis: &'a Axis,
    /// The schemes drawn; the points of a category are in this order.
    pub(super) schemes: &'a [Scheme],
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
    pub(super) points: Vec<Option<Point>>,
}

/// The values of one row (ms).
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Index of the row in the report.
    pub(super) row: usize,
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The part of the mean that is transmission; the foot of a stacked bar.
    pub(super) transmission: f64,
    /// All values in words.
    pub(super) words: String,
    pub(super) published: Option<Published>,
}

/// The paper's value for a point.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) ms: f64,
    pub(super) words: String,
}

/// Draws means as marks, with whiskers and lines from loss to loss.
pub(super) fn marks(panel: &Panel<'_>) -> String {
    let frame = Frame::of(panel);
    let mut svg = frame.open();
    let mut rings = String::new();

    for (index, scheme) in panel.schemes.iter().enumerate() {
        let _ = write!(svg, "<g class='series s{}'>", scheme.colour);
        for (facet, content) in panel.facets.iter().enumerate() {
            let mut line = Vec::new();
            let mut glyphs = String::new();
            for (category, Category { points, .. }) in content.categories.iter().enumerate() {
                let Some(point) = points.get(index).and_then(Option::as_ref) else { continue };
                let x = frame.column(facet, category) + frame.dodge(facet, index);
                line.push(format!("{x:.1},{:.1}", frame.y(point.mean)));
                glyphs.push_str(&mark(&frame, x, point, scheme));
                rings.push_str(&ring(&frame, x, point));
            }
            if line.len() > 1 {
                let _ = write!(svg, "<polyline class='link' points='{}'/>", line.join(" "));
            }
            svg.push_str(&glyphs);
        }
        svg.push_str("</g>");
    }

    svg + &rings + "</svg>"
}

/// Draws means of a single scheme as bars: transmission at the foot, computation on top.
pub(super) fn stacked_bars(panel: &Panel<'_>) -> String {
    let frame = Frame::of(panel);
    let mut svg = frame.open();
    let mut rings = String::new();

    for (facet, content) in panel.facets.iter().enumerate() {
        let width = (frame.facet_width() / content.categories.len() as f64 * 0.56).min(30.0);
        for (category, Category { points, .. }) in content.categories.iter().enumerate() {
            let Some(point) = points.first().and_then(Option::as_ref) else { continue };
            let x = frame.column(facet, category);
            let (foot, joint, top) =
                (frame.y(0.0), frame.y(point.transmission), frame.y(point.mean));
            let left = x - width / 2.0;
            let _ = write!(
                svg,
                "<g class='mark' data-row='{}' data-x='{x:.1}' data-y='{top:.1}'><title>{}</title>",
                point.row,
                escaped(&point.words),
            );
            for (class, from, to) in [("transmission", foot, joint), ("computation", joint, top)] {
                let height = from - to;
                let _ = write!(
                    svg,
                    "<rect class='{class}' x='{left:.1}' y='{to:.1}' width='{width:.1}' height='{height:.1}'/>",
                );
            }
            let (upper, lower) = (frame.y(point.mean + point.sd), frame.y(point.mean - point.sd));
            let _ =
                write!(svg, "<path class='bar-whisker' d='M{x:.1} {upper:.1}V{lower:.1}'/></g>");
            rings.push_str(&ring(&frame, x, point));
        }
    }

    svg + &rings + "</svg>"
}

/// Draws mean, standard deviation (thick), median (tick across) and 99th percentile (thin, to the
/// cap).
fn mark(frame: &Frame<'_>, x: f64, point: &Point, scheme: &Scheme) -> String {
    let y = frame.y(point.mean);
    let (upper, lower) = (frame.y(point.mean + point.sd), frame.y(point.mean - point.sd));
    let (p50, p99) = (frame.y(point.p50), frame.y(point.p99));
    format!(
        "<g class='mark' data-row='{row}' data-x='{x:.1}' data-y='{y:.1}'><title>{words}</title>\
             <path class='tail' d='M{x:.1} {y:.1}V{p99:.1}M{l:.1} {p99:.1}H{r:.1}'/>\
             <path class='whisker' d='M{x:.1} {upper:.1}V{lower:.1}'/>\
             <path class='median' d='M{ml:.1} {p50:.1}H{mr:.1}'/>\
             <path class='dot' transform='translate({x:.1} {y:.1})' d='{glyph}'/></g>",
        row = point.row,
        words = escaped(&point.words),
        l = x - 2.5,
        r = x + 2.5,
        ml = x - 5.5,
        mr = x + 5.5,
        glyph = scheme.mark.path(),
    )
}

/// Draws the paper's value as a ring, which is still visible when it falls on our mark.
fn ring(frame: &Frame<'_>, x: f64, point: &Point) -> String {
    let Some(published) = &point.published else { return String::new() };
    let y = frame.y(published.ms);
    format!(
        "<g class='mark published' data-row='{row}' data-x='{x:.1}' data-y='{y:.1}'>\
             <title>{words}</title><circle class='halo' cx='{x:.1}' cy='{y:.1}' r='7.5'/>\
             <circle class='ring' cx='{x:.1}' cy='{y:.1}' r='7.5'/></g>",
        row = point.row,
        words = escaped(&published.words),
    )
}

/// Size of a panel in SVG units; one unit is about one pixel on a phone.
const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 316.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 6.0;
const TOP: f64 = 46.0;
const BOTTOM: f64 = 42.0;

/// Positions on a panel.
struct Frame<'a> {
    panel: &'a Panel<'a>,
}

impl<'a> Frame<'a> {
    fn of(panel: &'a Panel<'a>) -> Self {
        Self { panel }
    }

    fn y(&self, ms: f64) -> f64 {
        HEIGHT - BOTTOM - self.panel.axis.position(ms) * (HEIGHT - TOP - BOTTOM)
    }

    fn facet_width(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.panel.facets.len().max(1) as f64
    }

    fn column(&self, facet: usize, category: usize) -> f64 {
        let width = self.facet_width();
        let categories = self.panel.facets[facet].categories.len() as f64;
        LEFT + width * (facet as f64 + (category as f64 + 0.5) / categories)
    }

    /// Returns how far the marks of a scheme are from the middle of their column.
    fn dodge(&self, facet: usize, scheme: usize) -> f64 {
        let schemes = self.panel.schemes.len() as f64;
        let categories = self.panel.facets[facet].categories.len() as f64;
        let spacing = (self.facet_width() / categories * 0.84 / schemes).min(12.0);
        (scheme as f64 - (schemes - 1.0) / 2.0) * spacing
    }

    /// Draws everything behind the marks.
    fn open(&self) -> String {
        let Panel { id, title, description, .. } = self.panel;
        let mut svg = format!(
            "<svg class='chart' viewBox='0 0 {w} {h}' role='img' \
             aria-labelledby='{id}-title {id}-description'>\
             <title id='{id}-title'>{title}</title>\
             <desc id='{id}-description'>{description}</desc>",
            w = WIDTH,
            h = HEIGHT,
            id = escaped(id),
            title = escaped(title),
            description = escaped(description),
        );
        svg.push_str(&self.scale());
        svg.push_str(&self.columns());
        svg
    }

    fn scale(&self) -> String {
        let axis = self.panel.axis;
        let mut svg = format!(
            "<text class='axis-title' x='2' y='13'>{}</text>",
            escaped(&axis.title(self.panel.quantity))
        );
        for &tick in &axis.ticks {
            let y = self.y(tick);
            let _ = write!(
                svg,
                "<path class='grid' d='M{LEFT} {y:.1}H{:.1}'/><text class='tick' x='{:.1}' y='{:.1}' text-anchor='end'>{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                axis.label(tick),
            );
        }
        svg
    }

    fn columns(&self) -> String {
        let floor = HEIGHT - BOTTOM;
        let mut svg = String::new();
        for (index, facet) in self.panel.facets.iter().enumerate() {
            let left = LEFT + self.facet_width() * index as f64;
            let _ = write!(
                svg,
                "<text class='facet' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
                left + self.facet_width() / 2.0,
                TOP - 12.0,
                escaped(&facet.label),
            );
            if index > 0 {
                let _ =
                    write!(svg, "<path class='divider' d='M{left:.1} {:.1}V{floor}'/>", TOP - 24.0);
            }
            for (category, Category { label, .. }) in facet.categories.iter().enumerate() {
                let _ = write!(
                    svg,
                    "<text class='tick' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
                    self.column(index, category),
                    floor + 17.0,
                    escaped(label),
                );
            }
        }
        let _ = write!(
            svg,
            "<path class='floor' d='M{LEFT} {floor}H{:.1}'/><text class='axis-title' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            WIDTH - RIGHT,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            escaped(self.panel.categories),
        );
        svg
    }
}
