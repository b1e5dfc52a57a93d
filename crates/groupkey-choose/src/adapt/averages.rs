//! What was seen in a group, averaged so that one bad minute decides nothing.
//!
//! A service sees its own link to the broker, and nothing of its members' links but who asks for a
//! key that it missed. So a round trip can only raise the delay that the requirements assume.

use std::collections::VecDeque;

use super::{HOUR, Observation};

/// Joins, leaves, rekeys and catch-ups an hour.
pub(super) type Rates = [f64; 4];

/// Averages over observations.
#[derive(Clone, Debug, Default)]
pub(super) struct RollingAverages {
    average: Option<Rates>,
    /// The rates of the last observation alone.
    pub(super) last: Rates,
    round_trips: Latest,
    complete: Latest,
    /// The one-way delay that is believed (ms).
    delay: Option<f64>,
}

/// The latest values of a time (ms).
#[derive(Clone, Debug, Default)]
struct Latest(VecDeque<f64>);

impl RollingAverages {
    /// Takes an observation, of a group with this quality of service.
    pub(super) fn note(&mut self, observation: &Observation, window: f64, qos: u8) {
        let Observation { seconds, joins, leaves, rekeys, catch_ups, .. } = *observation;
        if seconds <= 0.0 {
            return;
        }
        self.last = [joins, leaves, rekeys, catch_ups].map(|count| count * HOUR / seconds);
        let share = -(-seconds / window).exp_m1();
        let average = self.average.get_or_insert(self.last);
        for (rate, seen) in average.iter_mut().zip(self.last) {
            *rate += share * (seen - *rate);
        }
        self.round_trips.note(observation.round_trip);
        self.complete.note(observation.complete);
        self.believe(qos);
    }

    /// Returns the averages.
    pub(super) fn rates(&self) -> Rates {
        self.average.unwrap_or_default()
    }

    /// Returns the one-way delay of the service's link (ms), if changes have shown it.
    pub(super) const fn delay(&self) -> Option<f64> {
        self.delay
    }

    /// Returns the time until the broker has all messages of a change (ms), in the median.
    pub(super) fn complete(&self) -> Option<f64> {
        self.complete.median()
    }

    /// Forgets how long changes took, for they are another scheme's from now on.
    pub(super) fn forget_changes(&mut self) {
        self.complete = Latest::default();
    }

    /// Believes another delay once the median is far from the one that was believed.
    fn believe(&mut self, qos: u8) {
        // PUBLISH and PUBACK; or PUBLISH, PUBREC, PUBREL and PUBCOMP. QoS 0 has no answer.
        let ways = match qos {
            0 => return,
            1 => 2.0,
            _ => 4.0,
        };
        let Some(round_trip) = self.round_trips.median() else { return };
        let delay = round_trip / ways;
        let is_near = |believed: f64| (delay - believed).abs() <= NEAR * believed;
        if !self.delay.is_some_and(is_near) {
            self.delay = Some(delay);
        }
    }
}

impl Latest {
    fn note(&mut self, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite() && *value >= 0.0) {
            self.0.truncate(KEPT - 1);
            self.0.push_front(value);
        }
    }

    /// Returns the median, if there are enough values for one late one not to matter.
    fn median(&self) -> Option<f64> {
        let mut sorted: Vec<_> = self.0.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        (sorted.len() >= ENOUGH).then(|| sorted[sorted.len() / 2])
    }
}

/// The number of values that are kept, and the least of which there is a median.
const KEPT: usize = 15;
const ENOUGH: usize = 5;

/// The share by which a delay may be off before it is believed no longer.
const NEAR: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(round_trips: &[f64], qos: u8) -> Option<f64> {
        let mut seen = RollingAverages::default();
        for &round_trip in round_trips {
            let round_trip = Some(round_trip);
            let observation = Observation { seconds: 60.0, round_trip, ..Observation::default() };
            seen.note(&observation, 1_800.0, qos);
        }
        seen.delay()
    }

    #[test]
    fn a_delay_is_the_share_of_a_round_trip_by_quality_of_service() {
        assert_eq!(after(&[40.0; 5], 1), Some(20.0));
        assert_eq!(after(&[40.0; 5], 2), Some(10.0));
        assert_eq!(after(&[40.0; 5], 0), None);
    }

    #[test]
    fn few_times_and_a_few_late_ones_say_nothing() {
        assert_eq!(after(&[40.0; 4], 1), None);
        let mut times = vec![40.0; 12];
        times.extend([900.0; 7]);
        assert_eq!(after(&times, 1), Some(20.0));
        times.push(900.0);
        assert_eq!(after(&times, 1), Some(450.0));
    }

    #[test]
    fn a_delay_that_wavers_is_believed_until_it_is_far_off() {
        let wavering: Vec<_> = (0..60).map(|step| 40.0 + f64::from(step % 7)).collect();
        assert_eq!(after(&wavering, 1), Some(21.0));
        let rising: Vec<_> = (0..60).map(|step| 40.0 + f64::from(step)).collect();
        assert!(after(&rising, 1) > Some(40.0));
    }
}
