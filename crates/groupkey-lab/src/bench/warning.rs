//! What makes measured times doubtful, and what to do about it.

use std::fmt;

use super::ClockProperties;
use crate::statistics::percentile;

/// A reason to doubt a row's times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Warning {
    /// The step is hardly longer than the shortest time that the clock can tell apart.
    CoarseClock {
        /// Median of the samples (ns).
        p50_ns: f64,
        /// The shortest time that the clock can tell apart (ns).
        grain_ns: u64,
    },
    /// A few samples are far from the rest, and move the mean.
    Outliers {
        /// Number of outliers.
        count: usize,
        /// Number of samples.
        of: usize,
        /// The share by which the mean would be smaller without the outliers, from 0 to 1.
        share_of_mean: f64,
    },
}

impl Warning {
    /// Returns what is doubtful about samples (ns) that were taken with this clock.
    pub fn of_samples(samples: &[f64], clock: ClockProperties) -> Vec<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return Vec::new();
        }
        let p50_ns = percentile(&sorted, 0.5);
        let mut warnings = Vec::new();
        let grain_ns = clock.grain_ns;
        if p50_ns < GRAINS * grain_ns as f64 {
            warnings.push(Self::CoarseClock { p50_ns, grain_ns });
        }
        warnings.extend(outliers(&sorted, p50_ns));
        warnings
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::CoarseClock { p50_ns, grain_ns } => write!(
                f,
                "the clock is too coarse for {p50_ns:.0} ns: it tells {grain_ns} ns apart; trust the \
                 counted cost"
            ),
            Self::Outliers { count, of, share_of_mean } => write!(
                f,
                "{count} of {of} samples are far from the rest and make {:.0} % of the mean; read \
                 the median, or repeat on a quiet machine with more --repetitions",
                100.0 * share_of_mean
            ),
        }
    }
}

/// A step should be as long as this many grains of the clock.
const GRAINS: f64 = 10.0;

/// Samples beyond this modified z-score are outliers (Iglewicz and Hoaglin 1993). The source says
/// 3.5, but times on computers have longer tails.
const FAR: f64 = 10.0;

/// Largest share of the mean that outliers may add.
const MOST_OF_MEAN: f64 = 0.05;

fn outliers(sorted: &[f64], p50: f64) -> Option<Warning> {
    let mut distances: Vec<f64> = sorted.iter().map(|sample| (sample - p50).abs()).collect();
    distances.sort_by(f64::total_cmp);
    // 0.6745 is the upper quartile of the normal distribution: the median deviation is this part of
    // the standard deviation.
    let deviation = percentile(&distances, 0.5) / 0.6745;
    let is_far = |sample: &&f64| (**sample - p50).abs() > FAR * deviation;
    let count = sorted.iter().filter(is_far).count();
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    let rest: Vec<f64> = sorted.iter().filter(|sample| !is_far(sample)).copied().collect();
    let mean_of_rest = rest.iter().sum::<f64>() / rest.len().max(1) as f64;
    let share_of_mean = (mean - mean_of_rest) / mean;
    (share_of_mean > MOST_OF_MEAN).then_some(Warning::Outliers {
        count,
        of: sorted.len(),
        share_of_mean,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const CLOCK: ClockProperties =
        ClockProperties { clock: Clock::Wall, reading_ns: 25, grain_ns: 20 };

    #[test]
    fn quiet_samples_raise_no_warning() {
        let samples: Vec<f64> = (0..30).map(|i| 1_000.0 + f64::from(i)).collect();
        assert_eq!(Warning::of_samples(&samples, CLOCK), []);
        assert_eq!(Warning::of_samples(&[], CLOCK), []);
    }

    #[test]
    fn outliers_are_counted_with_what_they_do_to_the_mean() {
        let mut samples: Vec<f64> = (0..29).map(|i| 1_000.0 + f64::from(i)).collect();
        samples.push(31_000.0);
        let warnings = Warning::of_samples(&samples, CLOCK);
        let [Warning::Outliers { count: 1, of: 30, share_of_mean }] = warnings[..] else {
            panic!("{warnings:?}")
        };
        assert!((0.45..0.55).contains(&share_of_mean), "{share_of_mean}");
        assert!(warnings[0].to_string().contains("repeat on a quiet machine"));
    }

    #[test]
    fn a_step_as_short_as_the_clock_s_grain_is_told() {
        let warnings = Warning::of_samples(&[50.0, 51.0, 52.0], CLOCK);
        assert_eq!(warnings, [Warning::CoarseClock { p50_ns: 51.0, grain_ns: 20 }]);
    }
}
