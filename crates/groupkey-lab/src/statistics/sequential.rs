//! Tests that are repeated while runs are added: the error that each look may spend.
//!
//! Who tests again and again at 5 % rejects a true hypothesis far more often than in 5 % of cases.
//! The error is therefore spent over the looks, by the function of Lan and DeMets (1983) that
//! imitates Pocock's bounds. Each look tests at what it adds to the error spent. By the union bound
//! all looks together then reject a true hypothesis with at most the error α, whatever the
//! correlation between them.

use std::cmp::Ordering;

use super::{Difference, welch};

/// Number of looks. Each has twice the runs of the look before it.
pub const LOOKS: u32 = 4;

/// Returns the number of runs at each look; the first has `first`.
pub fn looks(first: usize) -> impl Iterator<Item = usize> {
    (0..LOOKS).map(move |look| first.max(1) << look)
}

/// Returns the level of the look with this index, of the error `alpha` over all looks.
pub fn level(alpha: f64, look: u32) -> f64 {
    let fraction = |look: u32| 0.5_f64.powf(f64::from(LOOKS - 1 - look));
    let spent = |fraction: f64| alpha * (1.0 + (std::f64::consts::E - 1.0) * fraction).ln();
    let before = look.checked_sub(1).map_or(0.0, |earlier| spent(fraction(earlier)));
    spent(fraction(look)) - before
}

/// Tells which of two means is the smaller one, if a look finds it (Welch's test).
///
/// The looks see the samples of the first runs, `first` of them and then twice as many each time,
/// as far as there are any. `a` and `b` return the samples of that many runs. The earliest look
/// that decides counts. The answer is wrong with a probability of at most `alpha`.
pub fn smaller(
    first: usize,
    alpha: f64,
    runs: usize,
    a: impl Fn(usize) -> Vec<f64>,
    b: impl Fn(usize) -> Vec<f64>,
) -> Option<Ordering> {
    let mut looked_at = 0;
    for (look, size) in looks(first).enumerate() {
        if looked_at >= runs {
            return None;
        }
        looked_at = size.min(runs);
        let found = welch(&a(looked_at), &b(looked_at));
        // Samples without spread leave nothing open.
        if found.p_value < level(alpha, look as u32) || found.ci95_half_width == 0.0 {
            return Some(found.difference.total_cmp(&0.0));
        }
    }
    None
}

/// Returns whether the last look may decide what this many runs leave open.
///
/// From the third look on, a difference that is so small that it would not be significant if it
/// stayed the same until the last look is given up. To stop without a decision rejects nothing, so
/// that the error stays below its bound.
pub fn is_hopeful(first: usize, runs: usize, found: &Difference) -> bool {
    let last = looks(first).last().unwrap_or(runs);
    if runs < looks(first).nth(2).unwrap_or(last) || found.ci95_half_width == 0.0 {
        return true;
    }
    let grown = (last as f64 / runs as f64).sqrt();
    grown * found.difference.abs() > found.ci95_half_width
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    const ALPHA: f64 = 0.05;

    #[test]
    fn the_looks_together_spend_the_whole_error() {
        let spent: f64 = (0..LOOKS).map(|look| level(ALPHA, look)).sum();
        assert!((spent - ALPHA).abs() < 1e-12, "{spent}");
        assert!((0..LOOKS).all(|look| level(ALPHA, look) > 0.008), "no look is wasted");
        assert_eq!(looks(30).collect::<Vec<_>>(), [30, 60, 120, 240]);
    }

    /// Two samples of one distribution: exponential, which is as skewed as times under loss.
    #[test]
    fn equal_means_are_told_apart_in_less_than_alpha_of_the_cases() {
        let mut rng = ChaCha20Rng::seed_from_u64(7);
        let mut draw = || -> f64 {
            let uniform: f64 = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            -(1.0 - uniform).ln()
        };
        let mut naive = 0;
        let mut wrong = 0;
        const TRIALS: u32 = 2_000;
        for _ in 0..TRIALS {
            let [a, b]: [Vec<f64>; 2] = std::array::from_fn(|_| (0..160).map(|_| draw()).collect());
            wrong += u32::from(
                smaller(20, ALPHA, 160, |n| a[..n].to_vec(), |n| b[..n].to_vec()).is_some(),
            );
            naive += u32::from(looks(20).any(|n| welch(&a[..n], &b[..n]).p_value < ALPHA));
        }
        let share = |count| f64::from(count) / f64::from(TRIALS);
        assert!(share(wrong) < ALPHA, "{} of equal means were told apart", share(wrong));
        assert!(share(naive) > 1.5 * ALPHA, "looking again and again costs: {}", share(naive));
    }

    #[test]
    fn a_difference_of_nothing_is_given_up() {
        let found = |difference| Difference { difference, ci95_half_width: 10.0, p_value: 0.5 };
        assert!(is_hopeful(30, 60, &found(0.1)), "too early to tell");
        assert!(!is_hopeful(30, 120, &found(0.1)));
        assert!(is_hopeful(30, 120, &found(8.0)));
        assert!(!is_hopeful(30, 240, &found(8.0)), "there is no later look");
    }

    #[test]
    fn more_runs_decide_what_few_leave_open() {
        let a = |n: usize| (0..n).map(|i| f64::from((i * 7 % 10) as u32)).collect::<Vec<_>>();
        let b = |n: usize| a(n).iter().map(|x| x + 1.2).collect::<Vec<_>>();
        assert_eq!(smaller(20, ALPHA, 20, a, b), None);
        assert_eq!(smaller(20, ALPHA, 160, a, b), Some(Ordering::Less));
        assert_eq!(smaller(20, ALPHA, 160, b, a), Some(Ordering::Greater));
        assert_eq!(smaller(20, ALPHA, 0, a, b), None, "no runs tell nothing");
    }
}
