//! Draws lines over the number of members, with bands.

use groupkey_choose::number::digits;
use minijinja::Value;

use super::axis::Axis;
use super::style::Style;
use super::svg::{Plot, Position, Svg, joined};
use super::text::tick;

/// One panel.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Unique in the page.
    pub(super) id: String,
    /// What a screen reader says first.
    pub(super) title: String,
    /// What the upper axis measures.
    pub(super) quantity: &'static str,
    /// Formats a value with its unit.
    pub(super) format: fn(f64) -> String,
    /// The upper axis, if other panels share it.
    pub(super) up: Option<Axis>,
    pub(super) lines: Vec<Line>,
    pub(super) published: Vec<Printed>,
}

/// One series.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) style: Style,
    /// By ascending members. A value of zero has no point.
    pub(super) points: Vec<Point>,
}

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Point {
    /// Place of the row in the page's data, if a reader may save it.
    pub(super) row: Option<usize>,
    pub(super) members: f64,
    pub(super) value: f64,
    /// Half width of its interval.
    pub(super) error: f64,
    pub(super) words: String,
}

/// A value that a study prints, for one size or for a range of sizes.
#[derive(Clone, Debug)]
pub(super) struct Printed {
    pub(super) members: (f64, f64),
    pub(super) value: f64,
    pub(super) words: String,
}

/// Draws the panel. Returns `None` if there is nothing to draw.
pub(super) fn draw(panel: &Lines) -> Option<Value> {
    let frame = Frame::of(panel)?;
    let mut svg = PLOT.begin(&panel.id, &panel.title);
    PLOT.up(&mut svg, &frame.up, panel.quantity, |value| tick(&(panel.format)(value)));
    PLOT.across(&mut svg, &frame.across, "members", trimmed);
    for line in &panel.lines {
        svg.begin(&line.style.series());
        frame.band(&mut svg, line);
        let places: Vec<Position> =
            line.points.iter().map(|point| frame.place(point, 0.0)).collect();
        svg.polyline("curve", &places);
        for (point, &place) in line.points.iter().zip(&places) {
            match point.row {
                Some(row) => svg.begin_row(row, place, &point.words),
                None => svg.begin_mark("mark", place, &point.words),
            }
            svg.dot(place, &line.style);
            svg.end();
        }
        svg.end();
    }
    panel.published.iter().for_each(|printed| frame.printed(&mut svg, printed));
    Some(svg.finish())
}

const PLOT: Plot = Plot::PLAIN;

/// The axes of a panel.
struct Frame {
    across: Axis,
    up: Axis,
}

impl Frame {
    fn of(panel: &Lines) -> Option<Self> {
        let points = || panel.lines.iter().flat_map(|line| &line.points);
        let printed = panel.published.iter().map(|printed| printed.value);
        let sizes = range(points().map(|point| point.members))?;
        let values = range(points().map(|point| point.value).chain(printed))?;
        let top = points().map(|point| point.value + point.error).fold(values.1, f64::max);
        let up = panel.up.clone().unwrap_or_else(|| Axis::spanning(values, top));
        Some(Self { across: Axis::spanning(sizes, sizes.1), up })
    }

    /// Returns the place of a point, or of an end of its interval.
    fn place(&self, point: &Point, error: f64) -> Position {
        (PLOT.x(self.across.position(point.members)), self.y(point.value + error))
    }

    fn y(&self, value: f64) -> f64 {
        PLOT.y(self.up.position(value))
    }

    /// Draws the band from the lower to the upper end of the intervals; a single interval is a line.
    fn band(&self, svg: &mut Svg, line: &Line) {
        if line.points.iter().all(|point| point.error == 0.0) {
            return;
        }
        let upper = line.points.iter().map(|point| self.place(point, point.error));
        let lower = line.points.iter().rev().map(|point| self.place(point, -point.error));
        let outline: Vec<Position> = upper.chain(lower).collect();
        let class = if line.points.len() > 1 { "band" } else { "whisker" };
        svg.path(class, format_args!("M{}Z", joined(&outline)));
    }

    /// Draws a ring for a value at one size, or a dashed line for a value for many sizes.
    fn printed(&self, svg: &mut Svg, printed: &Printed) {
        let [from, to] = [printed.members.0, printed.members.1]
            .map(|members| PLOT.x(self.across.position(members)));
        let y = self.y(printed.value);
        if printed.members.0 == printed.members.1 {
            svg.ring((from, y), &printed.words);
            return;
        }
        svg.begin_mark("mark published", ((from + to) / 2.0, y), &printed.words);
        svg.path("printed-line", format_args!("M{from:.1} {y:.1}H{to:.1}"));
        svg.end();
    }
}

fn trimmed(members: f64) -> String {
    if members >= 1000.0 {
        format!("{}k", trimmed(members / 1000.0))
    } else if members.fract() == 0.0 {
        format!("{members}")
    } else {
        digits(members)
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(points: &[(f64, f64)]) -> String {
        let points = points.iter().map(|&(members, value)| Point {
            row: None,
            members,
            value,
            error: 0.0,
            words: String::new(),
        });
        let lines = vec![Line { style: Style::new("skdc", 0), points: points.collect() }];
        let (id, title) = ("panel".to_owned(), "panel".to_owned());
        let (quantity, format) = ("messages", |value| digits(value));
        let (up, published) = (None, Vec::new());
        let panel = Lines { id, title, quantity, format, up, lines, published };
        draw(&panel).expect("there are points").to_string()
    }

    #[test]
    fn an_axis_says_that_it_is_logarithmic() {
        let says = |svg: &str, title: &str| svg.contains(&format!(">{title}</text>"));
        let steep = drawn(&[(2.0, 10.0), (4.0, 10_000.0)]);
        assert!(says(&steep, "messages (logarithmic)") && says(&steep, "members"), "{steep}");
        let wide = drawn(&[(2.0, 10.0), (2_000.0, 12.0)]);
        assert!(says(&wide, "messages") && says(&wide, "members (logarithmic)"), "{wide}");
    }
}
