//! Draws lines over the number of members, with bands, as inline SVG.
//!
//! As in the network's charts, colours come from the style sheet by class. Every mark carries its
//! values as a `<title>`.

use std::fmt::Write;

use groupkey_choose::number::digits;

use super::super::axis::Axis;
use super::super::text::escaped;
use super::measure::Measure;
use super::series::Style;

/// One panel.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Unique in the page.
    pub(super) id: String,
    /// What a screen reader says first.
    pub(super) title: String,
    pub(super) measure: Measure,
    pub(super) lines: Vec<Line>,
    /// Values that a study prints.
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
    pub(super) members: f64,
    pub(super) value: f64,
    /// Half width of its interval.
    pub(super) error: f64,
    /// All values in words.
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
pub(super) fn draw(panel: &Lines) -> Option<String> {
    let frame = Frame::of(panel)?;
    let mut svg = frame.open();
    for line in &panel.lines {
        let _ = write!(svg, "<g class='series k{} s{}'>", line.style.number, line.style.colour);
        svg.push_str(&frame.band(line));
        let places: Vec<String> = line
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", frame.x(point.members), frame.y(point.value)))
            .collect();
        if places.len() > 1 {
            let _ = write!(svg, "<polyline class='curve' points='{}'/>", places.join(" "));
        }
        for point in &line.points {
            let (x, y) = (frame.x(point.members), frame.y(point.value));
            let _ = write!(
                svg,
                "<g class='mark' data-x='{x:.1}' data-y='{y:.1}'><title>{}</title>\
                 <path class='dot' transform='translate({x:.1} {y:.1})' d='{}'/></g>",
                escaped(&point.words),
                line.style.mark.path(),
            );
        }
        svg.push_str("</g>");
    }
    for printed in &panel.published {
        svg.push_str(&frame.printed(printed));
    }
    Some(svg + "</svg>")
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 42.0;

/// Positions on a panel.
struct Frame<'a> {
    panel: &'a Lines,
    across: Axis,
    up: Axis,
}

impl<'a> Frame<'a> {
    fn of(panel: &'a Lines) -> Option<Self> {
        let points = || panel.lines.iter().flat_map(|line| &line.points);
        let printed = || panel.published.iter();
        let sizes = range(points().map(|point| point.members))?;
        let values =
            range(points().map(|point| point.value).chain(printed().map(|printed| printed.value)))?;
        let top = points().map(|point| point.value + point.error).fold(values.1, f64::max);
        let up = Axis::spanning(values, top);
        Some(Self { panel, across: Axis::spanning(sizes, sizes.1), up })
    }

    fn x(&self, members: f64) -> f64 {
        LEFT + self.across.position(members) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.up.position(value) * (HEIGHT - TOP - BOTTOM)
    }

    /// Draws the band from the lower to the upper end of the intervals.
    fn band(&self, line: &Line) -> String {
        if line.points.len() < 2 || line.points.iter().all(|point| point.error == 0.0) {
            return line.points.iter().filter(|point| point.error > 0.0).fold(
                String::new(),
                |mut svg, point| {
                    let (upper, lower) =
                        (self.y(point.value + point.error), self.y(point.value - point.error));
                    let x = self.x(point.members);
                    let _ =
                        write!(svg, "<path class='whisker' d='M{x:.1} {upper:.1}V{lower:.1}'/>");
                    svg
                },
            );
        }
        let place =
            |point: &Point, value| format!("{:.1} {:.1}", self.x(point.members), self.y(value));
        let upper = line.points.iter().map(|point| place(point, point.value + point.error));
        let lower = line.points.iter().rev().map(|point| place(point, point.value - point.error));
        let outline: Vec<String> = upper.chain(lower).collect();
        format!("<path class='band' d='M{}Z'/>", outline.join("L"))
    }

    /// Draws a ring for a value at one size, or a dashed line for a value for many sizes.
    fn printed(&self, printed: &Printed) -> String {
        let (from, to) = (self.x(printed.members.0), self.x(printed.members.1));
        let (middle, y) = ((from + to) / 2.0, self.y(printed.value));
        let shape = if printed.members.0 == printed.members.1 {
            format!(
                "<circle class='halo' cx='{from:.1}' cy='{y:.1}' r='7.5'/>\
                 <circle class='ring' cx='{from:.1}' cy='{y:.1}' r='7.5'/>"
            )
        } else {
            format!("<path class='printed-line' d='M{from:.1} {y:.1}H{to:.1}'/>")
        };
        format!(
            "<g class='mark published' data-x='{middle:.1}' data-y='{y:.1}'><title>{}</title>{shape}</g>",
            escaped(&printed.words)
        )
    }

    fn open(&self) -> String {
        let Lines { id, title, measure, .. } = self.panel;
        let mut svg = format!(
            "<svg class='chart' viewBox='0 0 {WIDTH} {HEIGHT}' role='img' aria-labelledby='{id}'>\
             <title id='{id}'>{}</title>",
            escaped(title),
            id = escaped(id),
        );
        let _ = write!(
            svg,
            "<text class='axis-title' x='2' y='13'>{}</text>",
            escaped(&self.up.title_without_unit(measure.name())),
        );
        for &tick in sparse(&self.up.ticks, 7).iter() {
            let y = self.y(tick);
            let _ = write!(
                svg,
                "<path class='grid' d='M{LEFT} {y:.1}H{:.1}'/>\
                 <text class='tick' x='{:.1}' y='{:.1}' text-anchor='end'>{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                measure.label(tick),
            );
        }
        let floor = HEIGHT - BOTTOM;
        for &tick in sparse(&self.across.ticks, 6).iter() {
            let x = self.x(tick);
            let _ = write!(
                svg,
                "<path class='grid' d='M{x:.1} {TOP}V{floor}'/>\
                 <text class='tick' x='{x:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
                floor + 17.0,
                trimmed(tick),
            );
        }
        let _ = write!(
            svg,
            "<path class='floor' d='M{LEFT} {floor}H{:.1}'/>\
             <text class='axis-title' x='{:.1}' y='{:.1}' text-anchor='middle'>{}</text>",
            WIDTH - RIGHT,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            self.across.title_without_unit("members"),
        );
        svg
    }
}

/// Keeps every second, third or later tick, so that no more than `most` are left.
fn sparse(ticks: &[f64], most: usize) -> Vec<f64> {
    // The ticks of a logarithmic axis are 1, 2, 5, 10. If one tick is a power of ten, every third
    // tick from there is one.
    let step = ticks.len().div_ceil(most.max(1)).max(1);
    let step = if step == 2 && ticks.len() > 4 { 3 } else { step };
    let is_decade = |tick: &f64| tick.log10().fract().abs() < 1e-9;
    let first = ticks.iter().position(is_decade).unwrap_or(0) % step;
    if ticks.first() == Some(&0.0) {
        return ticks.iter().copied().step_by(ticks.len().div_ceil(most).max(1)).collect();
    }
    ticks.iter().copied().skip(first).step_by(step).collect()
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
    use super::super::super::scheme::Mark;
    use super::*;

    fn drawn(points: &[(f64, f64)]) -> String {
        let points = points.iter().map(|&(members, value)| Point {
            members,
            value,
            error: 0.0,
            words: String::new(),
        });
        let style = Style { number: 0, colour: 0, mark: Mark::Circle };
        let lines = vec![Line { style, points: points.collect() }];
        let (id, title) = ("panel".to_owned(), "panel".to_owned());
        let measure = Measure::Messages;
        draw(&Lines { id, title, measure, lines, published: Vec::new() }).expect("there are points")
    }

    /// Equal distances are equal factors on such an axis, which its look alone does not show.
    #[test]
    fn an_axis_says_that_it_is_logarithmic() {
        let says = |svg: &str, title: &str| svg.contains(&format!(">{title}</text>"));
        let steep = drawn(&[(2.0, 10.0), (4.0, 10_000.0)]);
        assert!(says(&steep, "messages (logarithmic)") && says(&steep, "members"), "{steep}");
        let wide = drawn(&[(2.0, 10.0), (2_000.0, 12.0)]);
        assert!(says(&wide, "messages") && says(&wide, "members (logarithmic)"), "{wide}");
    }
}
