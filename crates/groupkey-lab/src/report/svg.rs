//! Writes SVG, and the plot area that all charts share.
//!
//! Colours and fonts come from the page's style sheet by class, so that a drawing follows the light
//! and the dark style. Every mark carries its values as a `<title>`.

use std::fmt::{Display, Write};

use minijinja::Value;

use super::axis::Axis;
use super::style::Style;
use super::text::escaped;

/// A drawing under way.
#[derive(Debug)]
pub(super) struct Svg(String);

/// A place, from the left and from the top.
pub(super) type Position = (f64, f64);

impl Svg {
    /// Begins a chart, which is as wide as its place. A screen reader says the title first.
    pub(super) fn new(class: &str, size: Position, id: &str, title: &str) -> Self {
        Self::open(class, size, "", id, title)
    }

    pub(super) fn of_size(class: &str, size: Position, id: &str, title: &str) -> Self {
        let (width, height) = size;
        Self::open(class, size, &format!(" width='{width}' height='{height}'"), id, title)
    }

    fn open(class: &str, (width, height): Position, size: &str, id: &str, title: &str) -> Self {
        let (id, title) = (escaped(id), escaped(title));
        Self(format!(
            "<svg class='{class}' viewBox='0 0 {width} {height}'{size} role='img' \
             aria-labelledby='{id}-title'><title id='{id}-title'>{title}</title>"
        ))
    }

    pub(super) fn described(mut self, description: &str) -> Self {
        let _ = write!(self.0, "<desc>{}</desc>", escaped(description));
        self
    }

    pub(super) fn text(&mut self, class: &str, (x, y): Position, anchor: &str, text: &str) {
        let _ = write!(
            self.0,
            "<text class='{class}' x='{x:.1}' y='{y:.1}' text-anchor='{anchor}'>{}</text>",
            escaped(text)
        );
    }

    pub(super) fn path(&mut self, class: &str, path: impl Display) {
        let _ = write!(self.0, "<path class='{class}' d='{path}'/>");
    }

    pub(super) fn polyline(&mut self, class: &str, places: &[Position]) {
        if places.len() > 1 {
            let _ = write!(self.0, "<polyline class='{class}' points='{}'/>", joined(places));
        }
    }

    /// Draws a rectangle by its upper left corner and its size.
    pub(super) fn rect(
        &mut self,
        class: &str,
        (x, y): Position,
        (width, height): Position,
        round: f64,
    ) {
        let _ = write!(
            self.0,
            "<rect class='{class}' x='{x:.1}' y='{y:.1}' width='{width:.1}' height='{height:.1}' rx='{round}'/>"
        );
    }

    pub(super) fn circle(&mut self, class: &str, (x, y): Position, radius: f64) {
        let _ = write!(self.0, "<circle class='{class}' cx='{x:.1}' cy='{y:.1}' r='{radius}'/>");
    }

    /// Begins a group, which [`end`](Self::end) ends.
    pub(super) fn begin(&mut self, class: &str) {
        let _ = write!(self.0, "<g class='{class}'>");
    }

    /// Begins a group with words, of which the script makes no mark.
    pub(super) fn begin_named(&mut self, class: &str, words: &str) {
        let _ = write!(self.0, "<g class='{class}'><title>{}</title>", escaped(words));
    }

    /// Begins a mark: up to the first colon the words are its heading.
    pub(super) fn begin_mark(&mut self, class: &str, (x, y): Position, words: &str) {
        let _ = write!(
            self.0,
            "<g class='{class}' data-x='{x:.1}' data-y='{y:.1}'><title>{}</title>",
            escaped(words)
        );
    }

    /// Begins a mark of a row in the page's data.
    pub(super) fn begin_row(&mut self, row: usize, (x, y): Position, words: &str) {
        let _ = write!(
            self.0,
            "<g class='mark' data-row='{row}' data-x='{x:.1}' data-y='{y:.1}'><title>{}</title>",
            escaped(words)
        );
    }

    pub(super) fn end(&mut self) {
        self.0.push_str("</g>");
    }

    pub(super) fn dot(&mut self, (x, y): Position, style: &Style) {
        let _ = write!(
            self.0,
            "<path class='dot' transform='translate({x:.1} {y:.1})' d='{}'/>",
            style.mark.path()
        );
    }

    /// Draws a published value as a ring, which is still visible when it falls on our mark.
    pub(super) fn ring(&mut self, place: Position, words: &str) {
        self.begin_mark("mark published", place, words);
        self.circle("halo", place, 7.5);
        self.circle("ring", place, 7.5);
        self.end();
    }

    pub(super) fn finish(self) -> Value {
        Value::from_safe_string(self.0 + "</svg>")
    }
}

/// The plot area of a chart, whose values have places from 0 to 1 in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    top: f64,
    height: f64,
}

/// Size of a chart in SVG units; one unit is about one pixel on a phone.
const WIDTH: f64 = 460.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 10.0;
const BOTTOM: f64 = 44.0;

impl Plot {
    /// Leaves room for the title of the axis above the area.
    pub(super) const PLAIN: Self = Self { top: 28.0, height: 316.0 };
    /// Leaves room for headings too.
    pub(super) const WITH_HEADINGS: Self = Self { top: 46.0, height: 316.0 };
    pub(super) const WIDTH: f64 = WIDTH - LEFT - RIGHT;

    pub(super) const fn of_height(height: f64) -> Self {
        Self { top: 24.0, height: height + 24.0 + BOTTOM }
    }

    pub(super) fn begin(self, id: &str, title: &str) -> Svg {
        Svg::new("chart", (WIDTH, self.height), id, title)
    }

    pub(super) fn x(self, share: f64) -> f64 {
        LEFT + share * Self::WIDTH
    }

    pub(super) fn y(self, share: f64) -> f64 {
        self.floor() - share * (self.floor() - self.top)
    }

    pub(super) fn top(self) -> f64 {
        self.top
    }

    pub(super) fn floor(self) -> f64 {
        self.height - BOTTOM
    }

    /// Draws the axis at the left, with lines across.
    pub(super) fn up(self, svg: &mut Svg, axis: &Axis, what: &str, label: impl Fn(f64) -> String) {
        let ticks = axis.sparse_ticks(9);
        for &tick in &ticks {
            svg.path(
                "grid",
                format_args!(
                    "M{LEFT} {y:.1}H{:.1}",
                    WIDTH - RIGHT,
                    y = self.y(axis.position(tick))
                ),
            );
        }
        let labels = ticks.iter().map(|&tick| (axis.position(tick), label(tick)));
        self.labels_up(svg, &axis.title(what), labels);
    }

    /// Draws the axis at the foot, with lines up.
    pub(super) fn across(
        self,
        svg: &mut Svg,
        axis: &Axis,
        what: &str,
        label: impl Fn(f64) -> String,
    ) {
        let ticks = axis.sparse_ticks(6);
        for &tick in &ticks {
            let x = self.x(axis.position(tick));
            svg.path("grid", format_args!("M{x:.1} {}V{}", self.top, self.floor()));
        }
        let labels = ticks.iter().map(|&tick| (axis.position(tick), label(tick)));
        self.labels_across(svg, &axis.title(what), labels);
    }

    pub(super) fn labels_up(
        self,
        svg: &mut Svg,
        what: &str,
        labels: impl Iterator<Item = (f64, String)>,
    ) {
        svg.text("axis-title", (2.0, 13.0), "start", what);
        for (share, label) in labels {
            svg.text("tick", (LEFT - 6.0, self.y(share) + 4.0), "end", &label);
        }
    }

    /// Writes labels at the foot that have room there, and what they are.
    pub(super) fn labels_across(
        self,
        svg: &mut Svg,
        what: &str,
        labels: impl Iterator<Item = (f64, String)>,
    ) {
        let mut free = 0.0;
        for (share, label) in labels {
            let (x, half) = (self.x(share), label.chars().count() as f64 * 3.6);
            if x - half >= free {
                free = x + half + 4.0;
                svg.text("tick", (x, self.floor() + 17.0), "middle", &label);
            }
        }
        svg.path("floor", format_args!("M{LEFT} {}H{:.1}", self.floor(), WIDTH - RIGHT));
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        svg.text("axis-title", (middle, self.height - 6.0), "middle", what);
    }
}

/// Writes places one after the other.
pub(super) fn joined(places: &[Position]) -> String {
    let words: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    words.join(" ")
}
