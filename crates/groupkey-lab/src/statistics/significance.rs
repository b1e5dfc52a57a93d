//! Correction for many comparisons, and the size of a difference.

use super::Moments;

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

/// Computes Hedges' g (1981): the difference of two means in standard deviations, corrected for the
/// bias of small samples. By the usual reading 0.2 is small, 0.5 medium, 0.8 large.
///
/// Returns `None` if the samples have no spread.
pub fn hedges_g(first: &Moments, second: &Moments) -> Option<f64> {
    let freedom = first.n + second.n - 2.0;
    if freedom < 1.0 {
        return None;
    }
    let pooled = ((first.n - 1.0) * first.variance + (second.n - 1.0) * second.variance) / freedom;
    let bias = 1.0 - 3.0 / (4.0 * freedom - 1.0);
    let g = bias * (first.mean - second.mean) / pooled.sqrt();
    g.is_finite().then_some(g)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_p_value_pays_for_all() {
        // By hand: 3 · 0.01, 2 · 0.02, and 1 · 0.03 raised to the result before it.
        let found = holm(&[0.03, 0.01, 0.02]);
        for (found, expected) in found.into_iter().zip([0.04, 0.03, 0.04]) {
            assert!((found - expected).abs() < 1e-12, "found {found}, expected {expected}");
        }
    }

    #[test]
    fn an_effect_is_told_in_standard_deviations() {
        let (first, second) = (Moments::of(&[1.0, 2.0, 3.0]), Moments::of(&[2.0, 3.0, 4.0]));
        // Pooled variance 1, four degrees of freedom: bias 1 - 3/15.
        let g = hedges_g(&first, &second).expect("there is spread");
        assert!((g + 0.8).abs() < 1e-12, "{g}");
        assert_eq!(hedges_g(&Moments::of(&[1.0, 1.0]), &Moments::of(&[2.0, 2.0])), None);
        assert_eq!(hedges_g(&Moments::of(&[1.0]), &Moments::of(&[2.0])), None);
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
