//! The time axis: linear from zero, or logarithmic where the values span more than a decade or so.

/// Maps times (ms) to heights.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Times (ms) that get a line and a label.
    pub(super) ticks: Vec<f64>,
    /// Milliseconds in the unit of the labels.
    unit_ms: f64,
}

impl Axis {
    /// Creates a linear axis from zero, so that readers can compare lengths, as with bars.
    pub(super) fn from_zero(largest: f64) -> Self {
        let largest = largest.min(MOST);
        let step = round_step(largest / 4.5);
        // Half a step above the last line is enough.
        let high = (largest * 1.03 / step * 2.0).ceil().max(2.0) / 2.0 * step;
        let ticks = (0..=(high / step) as u32).map(|k| f64::from(k) * step).collect();
        Self { low: 0.0, high, logarithmic: false, ticks, unit_ms: unit(high) }
    }

    /// Creates an axis for marks whose middles span `middles` and whose whiskers reach up to
    /// `largest`.
    pub(super) fn spanning(middles: (f64, f64), largest: f64) -> Self {
        let (smallest, greatest) = (middles.0.min(MOST), middles.1.min(MOST));
        let largest = largest.min(MOST);
        let is_narrow = greatest / smallest < LOGARITHMIC_ABOVE;
        if smallest <= 0.0 || greatest < LEAST || is_narrow {
            return Self::from_zero(largest);
        }

        let low = tick_below((smallest * 0.8).max(largest * LEAST));
        let high = largest * 1.1;
        let mut ticks = Vec::new();
        let mut decade = 10_f64.powf(low.log10().floor());
        // Over four or more decades, one label for each decade is enough.
        let steps: &[f64] = if high / low < 1e4 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        while decade < high {
            ticks.extend(
                steps.iter().map(|s| s * decade).filter(|t| (low * 0.999..=high).contains(t)),
            );
            decade *= 10.0;
        }
        Self { low, high, logarithmic: true, ticks, unit_ms: unit(high) }
    }

    /// Returns the position of a time: 0 at the foot, 1 at the top. A time beyond the axis is at
    /// its end.
    pub(super) fn position(&self, ms: f64) -> f64 {
        let part = if self.logarithmic {
            (ms.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (ms - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// Returns the label of a tick.
    pub(super) fn label(&self, ms: f64) -> String {
        let value = ms / self.unit_ms;
        // Steps are 1, 2 or 5 times a power of ten; rounding removes a tail from floating point.
        ((value * 1e6).round() / 1e6).to_string()
    }

    /// Returns the title of an axis of times: `total time (s, logarithmic)`.
    pub(super) fn title(&self, quantity: &str) -> String {
        let unit = if self.unit_ms == 1.0 { "ms" } else { "s" };
        let scale = if self.logarithmic { ", logarithmic" } else { "" };
        format!("{quantity} ({unit}{scale})")
    }

    /// Returns the title of an axis whose labels have their units: `members (logarithmic)`.
    pub(super) fn title_without_unit(&self, quantity: &str) -> String {
        let scale = if self.logarithmic { " (logarithmic)" } else { "" };
        format!("{quantity}{scale}")
    }
}

/// Above this ratio of the largest to the smallest value, the small ones vanish on a linear axis.
const LOGARITHMIC_ABOVE: f64 = 12.0;

/// A bound above any time. Twice this bound is still a finite number.
const MOST: f64 = 1e30;

/// A value below this counts as zero. So does a share of the largest value below this, which a
/// chart could not show.
const LEAST: f64 = 1e-15;

fn unit(high: f64) -> f64 {
    if high < 5000.0 { 1.0 } else { 1000.0 }
}

/// Returns the least of 1, 2, 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    if step < LEAST {
        return 1.0;
    }
    let decade = 10_f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= step * 0.999);
    factor.unwrap_or(10.0) * decade
}

/// Returns the greatest of 1, 2, 5 times a power of ten that is not above `value`.
fn tick_below(value: f64) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let factor = [5.0, 2.0, 1.0].into_iter().find(|f| f * decade <= value);
    factor.unwrap_or(1.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_ranges_are_linear_from_zero() {
        let axis = Axis::spanning((100.0, 340.0), 380.0);
        assert_eq!(axis.ticks, [0.0, 100.0, 200.0, 300.0, 400.0]);
        assert_eq!((axis.position(0.0), axis.position(200.0)), (0.0, 0.5));
        assert_eq!(axis.title("total time"), "total time (ms)");
        assert_eq!(axis.title_without_unit("members"), "members");
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        let axis = Axis::spanning((12.0, 2400.0), 6000.0);
        assert_eq!(axis.ticks[..3], [5.0, 10.0, 20.0]);
        assert_eq!(axis.position(1.0), 0.0);
        assert_eq!(axis.position(1e9), 1.0);
        assert_eq!(axis.label(500.0), "0.5");
        assert_eq!(axis.title("total time"), "total time (s, logarithmic)");
        assert_eq!(axis.title_without_unit("members"), "members (logarithmic)");
    }

    #[test]
    fn an_axis_of_nothing_still_has_a_length() {
        let axis = Axis::from_zero(0.0);
        assert!(axis.position(0.0).is_finite());
        assert_eq!(axis.ticks, [0.0, 1.0]);
    }

    #[test]
    fn any_values_have_an_axis_with_few_ticks() {
        let tiny = 5e-324;
        let values = [tiny, 1e-320, 1e-300, 1e-40, 1e-9, 1.0, 1e3, 1e30, 1e300, f64::MAX];
        let mut axes: Vec<Axis> =
            [0.0].iter().chain(&values).map(|&v| Axis::from_zero(v)).collect();
        for (place, &smallest) in values.iter().enumerate() {
            for &greatest in &values[place..] {
                let tops = values.iter().filter(|&&top| top >= greatest);
                axes.extend(tops.map(|&top| Axis::spanning((smallest, greatest), top)));
            }
        }
        for axis in axes {
            assert!((2..=20).contains(&axis.ticks.len()), "{axis:?}");
            assert!(axis.ticks.is_sorted() && axis.ticks.iter().all(|tick| tick.is_finite()));
            for &value in &values {
                assert!((0.0..=1.0).contains(&axis.position(value)), "{value}: {axis:?}");
            }
        }
    }
}
