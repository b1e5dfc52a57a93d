//! Rounds: a benchmark goes over everything that it measures several times, so that its intervals
//! cover changes of the machine.
//!
//! A processor's clock, its caches and its neighbours change over seconds. Repetitions that follow
//! each other see one state of all these, and their spread says nothing about other states. The
//! same benchmark, run again, is then outside of the interval more often than not. Each round is
//! one sample of the machine. The interval of a mean is Student's over the means of the rounds
//! (batch means, Law and Kelton, Simulation Modeling and Analysis, chapter 9).

/// Returns how many repetitions each round has, of this many in all. Fewer than ten are measured at
/// one go, and stand for themselves.
pub fn rounds(repetitions: u32) -> impl Iterator<Item = u32> {
    let count = count(repetitions);
    (0..count).map(move |round| repetitions / count + u32::from(round < repetitions % count))
}

/// Returns the independent values of samples in the order of measurement: the means of the rounds.
pub fn independent(samples: &[f64]) -> Vec<f64> {
    independent_of(samples, <[f64]>::to_vec)
}

/// Returns the means of the samples that `keep` leaves of each round, at least one. Below ten,
/// samples stand for themselves, and a test of the kept samples is surer than it may be. At a level
/// of 5 % it takes 7 to 9 % of equal means for different.
pub fn independent_of(samples: &[f64], keep: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    if count(samples.len() as u32) == 1 {
        return keep(samples);
    }
    let mut rest = samples;
    let means = rounds(samples.len() as u32).map(|length| {
        let (round, later) = rest.split_at(length as usize);
        rest = later;
        let kept = keep(round);
        kept.iter().sum::<f64>() / kept.len() as f64
    });
    means.collect()
}

const ROUNDS: u32 = 5;

const fn count(repetitions: u32) -> u32 {
    if repetitions < 2 * ROUNDS { 1 } else { ROUNDS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Summary;

    #[test]
    fn rounds_share_the_repetitions() {
        assert_eq!(rounds(30).collect::<Vec<_>>(), [6; 5]);
        assert_eq!(rounds(12).collect::<Vec<_>>(), [3, 3, 2, 2, 2]);
        for few in [1, 2, 9] {
            assert_eq!(rounds(few).collect::<Vec<_>>(), [few]);
        }
    }

    #[test]
    fn a_machine_that_changes_between_rounds_widens_the_interval() {
        let steady: Vec<f64> = (0..30).map(|i| 1_000.0 + f64::from(i % 6)).collect();
        let drifting: Vec<f64> = (0..30).map(|i| steady[i] + 50.0 * (i / 6) as f64).collect();
        assert_eq!(independent(&steady), [1_002.5; 5]);
        let interval = |samples: &[f64]| Summary::of(&independent(samples)).ci95.expect("five");
        assert_eq!(interval(&steady), 0.0);
        // Five means, 50 apart: 2.776 times 79.06 over the root of 5.
        assert!((interval(&drifting) - 98.16).abs() < 0.01, "{}", interval(&drifting));
    }
}
