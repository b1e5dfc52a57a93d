//! An axis: linear, or logarithmic where the values span more than a decade or so.

/// Maps values to places from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    logarithmic: bool,
    /// Values that get a line and a label.
    ticks: Vec<f64>,
}

impl Axis {
    /// Creates a linear axis from zero, so that readers can compare lengths, as with bars.
    pub(super) fn from_zero(largest: f64) -> Self {
        let largest = largest.min(MOST);
        let step = round_step(largest / 4.5);
        // Half a step above the last line is enough.
        let high = (largest * 1.03 / step * 2.0).ceil().max(2.0) / 2.0 * step;
        let ticks = (0..=(high / step) as u32).map(|k| f64::from(k) * step).collect();
        Self { low: 0.0, high, logarithmic: false, ticks }
    }

    /// Creates an axis for points, of which nobody compares lengths: it begins near the smallest.
    pub(super) fn around(values: impl Iterator<Item = f64>) -> Self {
        let (smallest, greatest) = values
            .map(|value| value.min(MOST))
            .fold((MOST, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        if greatest / smallest >= LOGARITHMIC_ABOVE {
            return Self::spanning((smallest, greatest), greatest);
        }
        let margin = match greatest - smallest {
            span if span <= 1e-6 * greatest => greatest.max(1.0) * 0.1,
            span => span * 0.06,
        };
        let (low, high) = ((smallest - margin).max(0.0), greatest + margin);
        let step = round_step((high - low) / 5.0);
        let ticks =
            ((low / step).ceil() as u32..=(high / step) as u32).map(|k| f64::from(k) * step);
        Self { low, high, logarithmic: false, ticks: ticks.collect() }
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
        Self { low, high, logarithmic: true, ticks }
    }

    /// Returns the position of a value: 0 at the foot, 1 at the top. A value beyond the axis is at
    /// its end.
    pub(super) fn position(&self, value: f64) -> f64 {
        let part = if self.logarithmic {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        part.clamp(0.0, 1.0)
    }

    /// Returns the title of the axis: `total time (logarithmic)`. Equal distances are equal factors
    /// on a logarithmic axis, which its look alone does not show.
    pub(super) fn title(&self, quantity: &str) -> String {
        let scale = if self.logarithmic { " (logarithmic)" } else { "" };
        format!("{quantity}{scale}")
    }

    /// Keeps every second, third or later tick, so that no more than `most` are left.
    pub(super) fn sparse_ticks(&self, most: usize) -> Vec<f64> {
        let ticks = &self.ticks;
        let mut step = ticks.len().div_ceil(most).max(1);
        if !self.logarithmic {
            return ticks.iter().copied().step_by(step).collect();
        }
        // The ticks are 1, 2, 5, 10. If one of them is a power of ten, every third from there is one.
        if step == 2 && ticks.len() > 4 {
            step = 3;
        }
        let is_decade = |tick: &f64| tick.log10().fract().abs() < 1e-9;
        let first = ticks.iter().position(is_decade).unwrap_or(0) % step;
        ticks.iter().copied().skip(first).step_by(step).collect()
    }
}

/// Above this ratio of the largest to the smallest value, the small ones vanish on a linear axis.
const LOGARITHMIC_ABOVE: f64 = 12.0;

/// A bound above any time. Twice this bound is still a finite number.
const MOST: f64 = 1e30;

/// A value below this counts as zero. So does a share of the largest value below this, which a
/// chart could not show.
const LEAST: f64 = 1e-15;

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
        assert_eq!(axis.title("members"), "members");
    }

    #[test]
    fn wide_ranges_are_logarithmic() {
        let axis = Axis::spanning((12.0, 2400.0), 6000.0);
        assert_eq!(axis.ticks[..3], [5.0, 10.0, 20.0]);
        assert_eq!(axis.position(1.0), 0.0);
        assert_eq!(axis.position(1e9), 1.0);
        assert_eq!(axis.title("members"), "members (logarithmic)");
        assert_eq!(axis.sparse_ticks(6), [10.0, 100.0, 1000.0]);
    }

    #[test]
    fn an_axis_of_points_begins_near_the_smallest() {
        let axis = Axis::around([400.0, 430.0].into_iter());
        assert_eq!(axis.ticks, [400.0, 410.0, 420.0, 430.0]);
        assert!((axis.position(415.0) - 0.5).abs() < 1e-9);
        let axis = Axis::around([1.5, 40.0].into_iter());
        assert_eq!(axis.title("cost"), "cost (logarithmic)");
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
                axes.push(Axis::around([smallest, greatest].into_iter()));
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
