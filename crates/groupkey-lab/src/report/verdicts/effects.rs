//! Draws a finding's settings as dots: how far each is from the limit at which the finding fails.

use std::fmt::Write;

use crate::report::text::escaped;
use crate::verdict::{Compared, Ruling, Verdict};

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 104.0;
const SIDE: f64 = 12.0;
const TOP: f64 = 18.0;
const FLOOR: f64 = 80.0;
/// Width of a stack of dots.
const STACK: f64 = 7.0;

/// Effects that are drawn at the ends of the axis if they are beyond them.
const ENDS: (f64, f64) = (1e-3, 1e3);

/// Draws the settings of a finding. The axis is logarithmic.
pub(super) fn effects(verdict: &Verdict) -> String {
    let settings = || {
        let all = verdict.statements.iter();
        all.flat_map(|statement| statement.settings.iter().map(move |it| (&*statement.claim, it)))
    };
    let has_sizes = settings().any(|(_, compared)| compared.effect.is_some());
    let axis = Axis::of(settings().map(|(_, compared)| place(compared)));
    let limit = axis.x(1.0);

    let mut svg = format!(
        "<svg class='chart effects' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>\
         <title>{}</title>\
         <rect class='beyond' x='{limit:.1}' y='{TOP}' width='{:.1}' height='{:.1}'/>\
         <path class='floor' d='M{SIDE} {FLOOR}H{:.1}'/><path class='limit' d='M{limit:.1} {TOP}V{FLOOR}'/>\
         <text class='side' x='{SIDE}' y='12'>← as claimed</text>\
         <text class='side' x='{:.1}' y='12' text-anchor='end'>beyond the margin →</text>",
        escaped(&format!(
            "{}: each setting as a dot, by its distance from the limit",
            verdict.claim
        )),
        WIDTH - SIDE - limit,
        FLOOR - TOP,
        WIDTH - SIDE,
        WIDTH - SIDE,
    );
    if has_sizes {
        for tick in axis.ticks() {
            let word = if tick == 1.0 { "limit".to_owned() } else { format!("{tick} ×") };
            let _ = write!(
                svg,
                "<text class='tick' x='{:.1}' y='{:.1}' text-anchor='middle'>{word}</text>",
                axis.x(tick),
                FLOOR + 16.0,
            );
        }
    }

    // Dots at one place are stacked.
    let columns = |compared: &Compared| (axis.x(place(compared)) / STACK).round() as usize;
    let mut heights = vec![0_usize; (WIDTH / STACK) as usize + 2];
    settings().for_each(|(_, compared)| heights[columns(compared)] += 1);
    let highest = heights.iter().copied().max().unwrap_or(1).max(1);
    let step = ((FLOOR - TOP - 6.0) / highest as f64).min(STACK);
    heights.fill(0);
    for (statement, compared) in settings() {
        let column = columns(compared);
        let (x, y) = (column as f64 * STACK, FLOOR - 5.0 - step * heights[column] as f64);
        heights[column] += 1;
        let effect = compared.effect_words().map_or_else(String::new, |words| format!("; {words}"));
        let words = format!("{statement}: {}{effect}; {}", compared.words, compared.ruling.name());
        let _ = write!(
            svg,
            "<g class='mark' data-x='{x:.1}' data-y='{y:.1}'><title>{}</title>\
             <circle class='dot {}' cx='{x:.1}' cy='{y:.1}' r='3.2'/></g>",
            escaped(&words),
            compared.ruling.name(),
        );
    }
    svg + "</svg>"
}

/// Returns the effect at which a setting is drawn.
fn place(compared: &Compared) -> f64 {
    match (compared.effect, compared.ruling) {
        (Some(effect), _) if !effect.is_nan() => effect.clamp(ENDS.0, ENDS.1),
        (_, Ruling::Holds) => 0.5,
        (_, Ruling::Fails) => 2.0,
        (_, Ruling::Open) => 1.0,
    }
}

/// A logarithmic axis around the limit, which is 1.
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (from, to) = values
            .fold((0.3, 3.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
        Self { from: from / 1.2, to: to * 1.2 }
    }

    fn x(&self, value: f64) -> f64 {
        let share = (value / self.from).ln() / (self.to / self.from).ln();
        SIDE + share * (WIDTH - 2.0 * SIDE)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (from, to) = (self.from, self.to);
        let wide = to / from > 100.0;
        let all: &[f64] = if wide {
            &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
        } else {
            &[0.5, 1.0, 2.0, 5.0, 10.0]
        };
        let shown: Vec<f64> =
            all.iter().copied().filter(|tick| (from..=to).contains(tick)).collect();
        shown.into_iter()
    }
}
