//! Statistics of repeated runs: a [`Summary`] of one sample, Welch's comparison of two samples, and
//! Holm's correction for many comparisons.
//!
//! Student's t distribution comes from the regularised incomplete beta function (NIST Digital
//! Library of Mathematical Functions, 8.17) of the crate `statrs`. Every number of runs therefore
//! has its own quantile.

pub mod best;
pub mod sequential;

use serde::{Deserialize, Serialize};
use statrs::function::beta::beta_reg;

/// Statistics of a sample of repeated runs. Times keep the unit of the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of runs.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor `count - 1`); absent for a single run, which has no
    /// spread.
    pub sd: Option<f64>,
    /// Half width of the 95 % confidence interval of the mean (Student's t); absent for a single
    /// run.
    pub ci95: Option<f64>,
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
}

/// A value and its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Deviation {
    /// The value.
    pub value: f64,
    /// Half width of its interval.
    pub error: f64,
}

impl Summary {
    /// Summarises `samples`, in any order.
    ///
    /// Percentiles follow [`percentile`]. An empty sample gives all zeros with `count` 0.
    pub fn of(samples: &[f64]) -> Self {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Self::EMPTY;
        };

        let moments = Moments::of(&sorted);
        let degrees = (sorted.len() - 1) as f64;
        let is_spread = degrees > 0.0;

        Self {
            count: sorted.len(),
            mean: moments.mean,
            sd: is_spread.then(|| moments.variance.sqrt()),
            ci95: is_spread.then(|| student_t_quantile(0.975, degrees) * moments.standard_error()),
            p50: percentile(&sorted, 0.50),
            p90: percentile(&sorted, 0.90),
            p99: percentile(&sorted, 0.99),
            min,
            max,
        }
    }

    const EMPTY: Self = Self {
        count: 0,
        mean: 0.0,
        sd: None,
        ci95: None,
        p50: 0.0,
        p90: 0.0,
        p99: 0.0,
        min: 0.0,
        max: 0.0,
    };
}

/// How far apart the means of two samples are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of the first sample less the mean of the second.
    pub difference: f64,
    /// Half width of the difference's 95 % confidence interval.
    pub ci95_half_width: f64,
    /// Two-sided p-value: the probability of a difference at least this large if the true means
    /// were equal.
    pub p_value: f64,
}

/// Compares the means of two samples whose variances may differ (Welch 1947).
///
/// A sample of one run says nothing about spread: the interval is then infinite and `p_value` is 1.
/// Two samples without any spread differ for certain (`p_value` 0) or not at all (`p_value` 1).
pub fn welch(a: &[f64], b: &[f64]) -> Difference {
    let (first, second) = (Moments::of(a), Moments::of(b));
    let difference = first.mean - second.mean;
    let unknown = Difference { difference, ci95_half_width: f64::INFINITY, p_value: 1.0 };
    if first.n < 2.0 || second.n < 2.0 {
        return unknown;
    }

    let (va, vb) = (first.standard_error().powi(2), second.standard_error().powi(2));
    let standard_error = (va + vb).sqrt();
    if standard_error == 0.0 {
        let p_value = if difference == 0.0 { 1.0 } else { 0.0 };
        return Difference { difference, ci95_half_width: 0.0, p_value };
    }

    // Welch-Satterthwaite, in shares of the larger variance, which keeps squares from overflowing.
    let larger = va.max(vb);
    let (sa, sb) = (va / larger, vb / larger);
    let freedom =
        (sa + sb).powi(2) / (sa.powi(2) / (first.n - 1.0) + sb.powi(2) / (second.n - 1.0));
    if !freedom.is_finite() || !standard_error.is_finite() || !difference.is_finite() {
        return unknown;
    }
    Difference {
        difference,
        ci95_half_width: student_t_quantile(0.975, freedom) * standard_error,
        p_value: student_t_two_sided(difference / standard_error, freedom),
    }
}

/// Corrects the p-values of tests that are made together (Holm 1979). At level α, the probability
/// of one or more false alarms among them is at most α.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut corrected = vec![1.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (rank, &index) in order.iter().enumerate() {
        let remaining = (p_values.len() - rank) as f64;
        largest = largest.max(remaining * p_values[index]).min(1.0);
        corrected[index] = largest;
    }
    corrected
}

/// Returns the `q`-quantile (`0 <= q <= 1`) of an ascending sample. It interpolates linearly
/// between the two nearest order statistics at position `(n - 1) q`. This is type 7 of Hyndman and
/// Fan (1996), R's default.
///
/// # Panics
///
/// If `sorted` is empty.
pub fn percentile(sorted: &[f64], q: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * q;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - position.floor()) * (sorted[above] - sorted[below])
}

/// Returns the value that a t-distributed variable stays below with probability `p`
/// (`0.5 <= p < 1`).
pub fn student_t_quantile(p: f64, degrees_of_freedom: f64) -> f64 {
    let tails = 2.0 * (1.0 - p);
    let beyond = |t: f64| student_t_two_sided(t, degrees_of_freedom) > tails;

    let mut high = 1.0;
    while beyond(high) {
        high *= 2.0;
    }
    let mut low = 0.0;
    // Bisection is slow but certain. After 64 halvings a double has no more precision to gain.
    for _ in 0..64 {
        let middle = 0.5 * (low + high);
        if beyond(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Returns the probability that a t-distributed variable lies further from zero than `t`, on either
/// side.
pub fn student_t_two_sided(t: f64, degrees_of_freedom: f64) -> f64 {
    let x = degrees_of_freedom / (degrees_of_freedom + t * t);
    beta_reg(0.5 * degrees_of_freedom, 0.5, x)
}

/// Size, mean and unbiased variance of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Number of values.
    pub n: f64,
    /// Their mean.
    pub mean: f64,
    /// Their variance (divisor `n - 1`); 0 for a single value.
    pub variance: f64,
}

impl Moments {
    /// Computes the moments of a sample. All are 0 if the sample is empty.
    pub fn of(samples: &[f64]) -> Self {
        let n = samples.len() as f64;
        if samples.is_empty() {
            return Self { n, mean: 0.0, variance: 0.0 };
        }
        let mean = samples.iter().sum::<f64>() / n;
        // Two passes: subtracting the mean first preserves small spreads of large values.
        let squares: f64 = samples.iter().map(|x| (x - mean).powi(2)).sum();
        let variance = if samples.len() > 1 { squares / (n - 1.0) } else { 0.0 };
        Self { n, mean, variance }
    }

    pub(super) fn standard_error(&self) -> f64 {
        (self.variance / self.n).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_summary_matches_values_worked_out_by_hand() {
        let summary = Summary::of(&[4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!((summary.count, summary.mean, summary.min, summary.max), (5, 3.0, 1.0, 5.0));
        close(summary.sd.expect("five"), 2.5_f64.sqrt());
        // t(0.975, 4) = 2.776445 (printed tables), divided by sqrt(5) and times sd.
        close(summary.ci95.expect("five"), 2.776_445_105 * (2.5_f64 / 5.0).sqrt());
        // Positions 2, 3.6 and 3.96 between the order statistics.
        close(summary.p50, 3.0);
        close(summary.p90, 4.6);
        close(summary.p99, 4.96);
    }

    #[test]
    fn one_run_has_no_spread_and_none_is_all_zero() {
        let one = Summary::of(&[7.5]);
        assert_eq!((one.count, one.mean, one.sd, one.ci95, one.p99), (1, 7.5, None, None, 7.5));
        assert_eq!(Summary::of(&[]), Summary::EMPTY);
    }

    #[test]
    fn percentiles_interpolate_between_order_statistics() {
        let sorted = [10.0, 20.0];
        for (q, expected) in [(0.0, 10.0), (0.25, 12.5), (0.5, 15.0), (1.0, 20.0)] {
            close(percentile(&sorted, q), expected);
        }
    }

    #[test]
    fn student_t_quantiles_match_the_printed_tables() {
        for (p, freedom, expected) in [
            (0.975, 1.0, 12.706_204_736),
            (0.975, 2.0, 4.302_652_730),
            (0.975, 9.0, 2.262_157_163),
            (0.975, 29.0, 2.045_229_642),
            (0.975, 100.0, 1.983_971_519),
            (0.975, 999.0, 1.962_341_461),
            (0.95, 10.0, 1.812_461_123),
            (0.995, 5.0, 4.032_142_984),
            (0.5, 3.0, 0.0),
        ] {
            close(student_t_quantile(p, freedom), expected);
        }
    }

    #[test]
    fn student_t_tails_match_closed_forms() {
        // One degree of freedom is the Cauchy distribution; two have 1 - t / sqrt(2 + t²).
        for t in [0.1_f64, 1.0, 2.5, 40.0] {
            close(student_t_two_sided(t, 1.0), 1.0 - 2.0 * t.atan() / std::f64::consts::PI);
            close(student_t_two_sided(t, 2.0), 1.0 - t / (2.0 + t * t).sqrt());
        }
        close(student_t_two_sided(0.0, 7.0), 1.0);
    }

    #[test]
    fn welch_matches_a_comparison_worked_out_by_hand() {
        // a: mean 3, variance 2.5, n 5; b: mean 6, variance 10, n 5.
        let found = welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]);
        close(found.difference, -3.0);
        // t = -1.897367 with 5.882353 degrees of freedom; integrating the density gives the other
        // values.
        close(found.p_value, 0.107_531_194_9);
        close(found.ci95_half_width, 3.887_741_644);
    }

    #[test]
    fn welch_needs_spread_to_be_unsure() {
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).p_value, 1.0);
        assert_eq!(welch(&[1.0, 1.0], &[2.0, 2.0]).p_value, 0.0);
        let single = welch(&[1.0], &[2.0, 3.0]);
        assert_eq!((single.difference, single.p_value), (-1.5, 1.0));
        assert!(single.ci95_half_width.is_infinite());
    }

    fn close(found: f64, expected: f64) {
        let scale = expected.abs().max(1.0);
        assert!((found - expected).abs() < 1e-8 * scale, "found {found}, expected {expected}");
    }

    #[test]
    fn the_smallest_p_value_pays_for_all() {
        // By hand: 3 · 0.01, 2 · 0.02, and 1 · 0.03 raised to the result before it.
        let found = holm(&[0.03, 0.01, 0.02]);
        for (found, expected) in found.into_iter().zip([0.04, 0.03, 0.04]) {
            assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
        }
    }

    proptest! {
        #[test]
        fn a_correction_never_makes_a_test_more_certain(
            p_values in prop::collection::vec(0.0..=1.0_f64, 0..20)
        ) {
            for (corrected, p) in holm(&p_values).into_iter().zip(&p_values) {
                prop_assert!(*p <= corrected && corrected <= 1.0);
                prop_assert!(corrected <= (p * p_values.len() as f64).max(*p).min(1.0) + 1e-12
                    || p_values.iter().any(|other| other < p));
            }
        }
    }
}
