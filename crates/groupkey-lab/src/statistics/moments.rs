//! Size, mean and variance of a sample.

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
