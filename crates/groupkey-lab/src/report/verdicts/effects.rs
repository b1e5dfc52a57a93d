//! Draws a finding's settings as dots: how far each is from the limit at which the finding fails.

use minijinja::Value;

use crate::report::axis::Axis;
use crate::report::svg::Svg;
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

/// Draws the settings of a finding whose card has this anchor. The axis is logarithmic.
pub(super) fn effects(verdict: &Verdict, anchor: &str) -> Value {
    let settings = || {
        let all = verdict.statements.iter();
        all.flat_map(|statement| statement.settings.iter().map(move |it| (&*statement.claim, it)))
    };
    let has_sizes = settings().any(|(_, compared)| compared.effect.is_some());
    // The limit is 1. The axis spans so much that it is logarithmic.
    let (from, to) = settings()
        .map(|(_, compared)| place(compared))
        .fold((0.25, 4.0), |(low, high): (f64, f64), value| (low.min(value), high.max(value)));
    let axis = Axis::spanning((from, to), to);
    let x = |effect: f64| SIDE + axis.position(effect) * (WIDTH - 2.0 * SIDE);
    let limit = x(1.0);

    let title = format!("{}: each setting as a dot, by its distance from the limit", verdict.claim);
    let mut svg = Svg::new("chart effects", (WIDTH, HEIGHT), &format!("{anchor}-effects"), &title);
    svg.rect("beyond", (limit, TOP), (WIDTH - SIDE - limit, FLOOR - TOP), 0.0);
    svg.path("floor", format_args!("M{SIDE} {FLOOR}H{:.1}", WIDTH - SIDE));
    svg.path("limit", format_args!("M{limit:.1} {TOP}V{FLOOR}"));
    svg.text("side", (SIDE, 12.0), "start", "← as claimed");
    svg.text("side", (WIDTH - SIDE, 12.0), "end", "beyond the margin →");
    for tick in axis.sparse_ticks(8).into_iter().filter(|_| has_sizes) {
        let words = if tick == 1.0 { "limit".to_owned() } else { format!("{tick} ×") };
        svg.text("tick", (x(tick), FLOOR + 16.0), "middle", &words);
    }

    // Dots at one place are stacked.
    let columns = |compared: &Compared| (x(place(compared)) / STACK).round() as usize;
    let mut heights = vec![0_usize; (WIDTH / STACK) as usize + 2];
    settings().for_each(|(_, compared)| heights[columns(compared)] += 1);
    let highest = heights.iter().copied().max().unwrap_or(1).max(1);
    let step = ((FLOOR - TOP - 6.0) / highest as f64).min(STACK);
    heights.fill(0);
    for (statement, compared) in settings() {
        let column = columns(compared);
        let at = (column as f64 * STACK, FLOOR - 5.0 - step * heights[column] as f64);
        heights[column] += 1;
        let effect = compared.effect_words().map_or_else(String::new, |words| format!("; {words}"));
        let ruling = if compared.void.is_some() { "void" } else { compared.ruling.name() };
        svg.begin_mark("mark", at, &format!("{statement}: {}{effect}; {ruling}", compared.words));
        svg.circle(&format!("dot {ruling}"), at, 3.2);
        svg.end();
    }
    svg.finish()
}

/// Returns the effect at which a setting is drawn.
fn place(compared: &Compared) -> f64 {
    match (compared.effect, compared.ruling) {
        (Some(effect), _) if !effect.is_nan() => effect.clamp(ENDS.0, ENDS.1),
        (_, Ruling::Holds) => 0.5,
        (_, Ruling::Fails) => 2.0,
        (_, Ruling::Open | Ruling::Tie) => 1.0,
    }
}
