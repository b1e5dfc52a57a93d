//! How long a client waits before it connects again.

use std::time::Duration;

use rand_core::Rng;

/// Draws the pause after so many failures in a row: any time up to a bound that doubles with each
/// failure, from [`FIRST`] to [`LONGEST`]. Clients that lose their broker at the same moment thus
/// come back one by one. ("Full jitter": M. Brooker, Exponential Backoff And Jitter, AWS, 2015.)
pub(crate) fn pause(failures: u32, rng: &mut impl Rng) -> Duration {
    let bound = FIRST.saturating_mul(2_u32.saturating_pow(failures)).min(LONGEST);
    bound.mul_f64(f64::from(rng.next_u32()) / f64::from(u32::MAX))
}

/// The longest pause after the first failure.
const FIRST: Duration = Duration::from_millis(100);

/// The longest pause. A broker that was away for long has all its clients back in this time.
pub(super) const LONGEST: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generator::Generator;

    #[test]
    fn pauses_grow_to_a_bound_and_fill_it_evenly() {
        let mut rng = Generator::from_seed(&[7; 32]);
        for (failures, bound_ms) in [(0, 100), (1, 200), (5, 3_200), (8, 25_600), (9, 30_000)]
            .into_iter()
            .chain([(10, 30_000), (40, 30_000), (u32::MAX, 30_000)])
        {
            let bound = Duration::from_millis(bound_ms);
            let mut tenths = [0; 10];
            for _ in 0..1_000 {
                let share = pause(failures, &mut *rng).div_duration_f64(bound);
                assert!((0.0..=1.0).contains(&share), "{failures}: {share}");
                tenths[((share * 10.0) as usize).min(9)] += 1;
            }
            assert!(tenths.iter().all(|count| (60..=140).contains(count)), "{tenths:?}");
        }
    }

    /// A broker is away for 20 s. Twenty clients lost it at the same moment.
    #[test]
    fn clients_that_lost_a_broker_together_come_back_apart() {
        let away = Duration::from_secs(20);
        let mut back: Vec<_> = (0..20)
            .map(|client| {
                let mut rng = Generator::from_seed(&[client; 32]);
                let mut passed = Duration::ZERO;
                for failures in 0.. {
                    passed += pause(failures, &mut *rng);
                    if passed >= away {
                        break;
                    }
                }
                passed - away
            })
            .collect();
        back.sort();
        let at_once = back.windows(5).map(|five| five[4] - five[0]).min().unwrap();
        assert!(at_once > Duration::from_millis(200), "{back:?}");
        assert!(back[19] - back[0] > Duration::from_secs(5), "{back:?}");
        assert!(back[19] <= LONGEST, "{back:?}");
    }
}
