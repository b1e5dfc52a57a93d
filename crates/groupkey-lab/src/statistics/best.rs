//! Multiple comparisons with the best: how far each of several means lies above the least one.
//!
//! The intervals are those of Hsu (1984), from differences of pairs under common random numbers
//! (Clark and Yang 1986; Nelson and Matejcik 1995, *Management Science* 41, 1935 to 1945). A pair's
//! difference has an interval of Student's t. Only the pairs with the least mean must hold, whichever
//! that is. So Bonferroni's inequality splits the error over one pair less than there are means.
//! Nothing is assumed of how the samples correlate; differences are assumed to be about normal.

use super::{Moments, student_t_quantile};

/// Between which ends a mean lies above the least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AboveBest {
    /// The lower end; 0 if the mean may be the least one.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Returns how far each mean lies above the least one. `samples` has as many runs for each, and a run
/// has the same random numbers in all. The intervals hold together, except with a probability of at
/// most `error`.
pub fn above_best(samples: &[&[f64]], error: f64) -> Vec<AboveBest> {
    let runs = samples.iter().map(|sample| sample.len()).min().unwrap_or_default();
    let others = samples.len().saturating_sub(1);
    if runs < 2 || others == 0 {
        let high = if others == 0 { 0.0 } else { f64::INFINITY };
        return vec![AboveBest { low: 0.0, high }; samples.len()];
    }
    let tail = error / (2.0 * others as f64);
    let quantile = student_t_quantile(1.0 - tail, (runs - 1) as f64);
    let between = |one: &[f64], other: &[f64]| {
        let differences: Vec<f64> = one.iter().zip(other).map(|(one, other)| one - other).collect();
        let moments = Moments::of(&differences);
        let half = quantile * moments.standard_error();
        (moments.mean - half, moments.mean + half)
    };
    let pairs: Vec<Vec<(f64, f64)>> = samples
        .iter()
        .map(|one| samples.iter().map(|other| between(one, other)).collect())
        .collect();
    // Who is shown to lie above another one is not the least.
    let may_be_least: Vec<bool> =
        pairs.iter().map(|against| against.iter().all(|(low, _)| *low <= 0.0)).collect();
    let least = |place: usize| {
        let others = pairs[place].iter().zip(&may_be_least).enumerate();
        others.filter(move |(other, (_, may))| *other != place && **may).map(|(_, (pair, _))| *pair)
    };
    (0..samples.len())
        .map(|place| AboveBest {
            low: match may_be_least[place] {
                true => 0.0,
                false => least(place).map(|(low, _)| low).fold(f64::INFINITY, f64::min).max(0.0),
            },
            high: least(place).map(|(_, high)| high).fold(0.0, f64::max),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    /// Skewed, and with a part that all have in common.
    fn drawn(means: &[f64], runs: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut exponential = || -> f64 {
            let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            -(1.0 - uniform).ln()
        };
        let common: Vec<f64> = (0..runs).map(|_| exponential() - 1.0).collect();
        let mut sample = |mean: &f64| -> Vec<f64> {
            common.iter().map(|common| mean + 0.2 * common + 0.1 * (exponential() - 1.0)).collect()
        };
        means.iter().map(&mut sample).collect()
    }

    #[test]
    fn all_intervals_together_hold_as_often_as_they_say() {
        let means = [1.0, 1.0, 1.02, 1.05, 1.3];
        let mut missed = 0;
        for trial in 0..1_000 {
            let samples = drawn(&means, 50, trial);
            let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
            let told = above_best(&samples, 0.05);
            let holds = told.iter().zip(means).all(|(told, mean)| {
                told.low <= mean - 1.0 + 1e-12 && mean - 1.0 <= told.high + 1e-12
            });
            missed += u32::from(!holds);
        }
        assert!(missed <= 50, "{missed} of 1,000 missed");
    }

    #[test]
    fn what_lies_above_is_told_and_equal_means_are_bounded() {
        let samples = drawn(&[1.0, 1.0, 1.3], 400, 1);
        let samples: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let told = above_best(&samples, 0.05);
        assert!(told[..2].iter().any(|told| told.low == 0.0), "{told:?}");
        assert!(told[..2].iter().all(|told| told.high < 0.05), "{told:?}");
        assert!(told[2].low > 0.25 && told[2].high < 0.35, "{told:?}");
    }

    #[test]
    fn common_random_numbers_need_fewer_runs() {
        let samples = drawn(&[1.0, 1.02], 100, 2);
        let together: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let mut apart = samples.clone();
        apart[1].rotate_left(1);
        let apart: Vec<&[f64]> = apart.iter().map(Vec::as_slice).collect();
        let width = |samples: &[&[f64]]| above_best(samples, 0.05)[1].high;
        assert!(width(&together) < width(&apart));
    }

    #[test]
    fn few_runs_and_few_means_tell_little() {
        assert_eq!(above_best(&[], 0.05), []);
        assert_eq!(above_best(&[&[1.0, 2.0]], 0.05), [AboveBest { low: 0.0, high: 0.0 }]);
        let told = above_best(&[&[1.0], &[2.0]], 0.05);
        assert!(told.iter().all(|told| told.low == 0.0 && told.high.is_infinite()));
        // Without any spread nothing is open.
        let told = above_best(&[&[1.0, 1.0], &[2.0, 2.0]], 0.05);
        assert_eq!(told, [AboveBest { low: 0.0, high: 0.0 }, AboveBest { low: 1.0, high: 1.0 }]);
    }
}
