//! The readings of a power meter, and what follows from them.

use super::equations::PowerMeter;
use crate::statistics::Deviation;

/// Readings of a power meter, in the order of their times.
#[derive(Clone, Debug, PartialEq)]
pub struct MeterLog {
    readings: Vec<Reading>,
}

/// A reading of a meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Time (s).
    pub seconds: f64,
    /// Power (W).
    pub watt: f64,
}

impl MeterLog {
    /// Makes a log of readings. `None` if there are fewer than two, or if one is not later than the
    /// one before.
    pub fn new(readings: Vec<Reading>) -> Option<Self> {
        let is_ordered = readings.windows(2).all(|pair| pair[0].seconds < pair[1].seconds);
        (readings.len() >= 2 && is_ordered).then_some(Self { readings })
    }

    /// Returns the readings, at least two.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Returns the time from the first reading to the last (s).
    pub fn duration(&self) -> f64 {
        let [first, .., last] = &self.readings[..] else { return 0.0 };
        last.seconds - first.seconds
    }

    /// Returns the readings from one time to another (s) as a log of their own; `None` if they are
    /// fewer than two.
    pub fn between(&self, start: f64, end: f64) -> Option<Self> {
        let from = self.readings.partition_point(|reading| reading.seconds < start);
        let to = self.readings.partition_point(|reading| reading.seconds <= end);
        let readings = self.readings.get(from..to).unwrap_or_default();
        (readings.len() >= 2).then(|| Self { readings: readings.to_vec() })
    }

    /// Returns the time between the two readings around a time (s).
    pub fn spacing_at(&self, seconds: f64) -> f64 {
        let after = self.readings.partition_point(|reading| reading.seconds <= seconds);
        let after = after.clamp(1, self.readings.len() - 1);
        self.readings[after].seconds - self.readings[after - 1].seconds
    }

    /// Returns the energy (J): the integral of the power along straight lines between readings.
    /// The readings' errors are taken to be independent, and add as in S003's equation 26.
    pub fn energy(&self, meter: PowerMeter) -> Deviation {
        let (mut value, mut variance) = (0.0, 0.0_f64);
        for (place, reading) in self.readings.iter().enumerate() {
            // Half the time since the reading before and half the time to the next.
            let before = self.readings[place.saturating_sub(1)].seconds;
            let next = self.readings[(place + 1).min(self.readings.len() - 1)].seconds;
            let weight = (next - before) / 2.0;
            value += weight * reading.watt;
            variance += (weight * meter.error(reading.watt)).powi(2);
        }
        Deviation { value, error: variance.sqrt() }
    }

    /// Returns the mean power (W) over the log's time, by [`MeterLog::energy`].
    pub fn mean_power(&self, meter: PowerMeter) -> Deviation {
        let (energy, seconds) = (self.energy(meter), self.duration());
        Deviation { value: energy.value / seconds, error: energy.error / seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(readings: &[(f64, f64)]) -> Option<MeterLog> {
        MeterLog::new(readings.iter().map(|&(seconds, watt)| Reading { seconds, watt }).collect())
    }

    #[test]
    fn straight_lines_are_integrated() {
        let log = log(&[(0.0, 0.2), (1.0, 0.2), (3.0, 0.4)]).expect("a log");
        let energy = log.energy(PowerMeter::WT310);
        assert!((energy.value - (0.2 + 0.6)).abs() < 1e-12, "{energy:?}");
        let power = log.mean_power(PowerMeter::WT310);
        assert!((power.value - 0.8 / 3.0).abs() < 1e-12);
        assert_eq!((log.duration(), log.readings().len()), (3.0, 3));
        let end = log.between(0.5, 3.0).expect("two readings");
        assert!((end.energy(PowerMeter::WT310).value - 0.6).abs() < 1e-12);
        assert_eq!(log.between(1.5, 3.0), None);
        assert_eq!(
            (log.spacing_at(-5.0), log.spacing_at(1.5), log.spacing_at(9.0)),
            (1.0, 2.0, 2.0)
        );
    }

    #[test]
    fn readings_are_in_order() {
        assert_eq!(log(&[(0.0, 0.1), (0.0, 0.1)]), None);
        assert_eq!(log(&[(0.0, 0.1), (f64::NAN, 0.1)]), None);
        assert_eq!(log(&[(0.0, 0.1)]), None);
    }

    /// A log of S004's kind, a reading a second, gives S004's power and error.
    #[test]
    fn a_reading_a_second_has_the_error_of_the_papers() {
        let readings: Vec<_> = (0..10).map(|second| (f64::from(second), 0.21803)).collect();
        let power = log(&readings).expect("a log").mean_power(PowerMeter::WT310);
        assert!((power.value - 0.21803).abs() < 1e-12);
        // 0.2 % of the range of 3 V and 100 mA.
        assert!((PowerMeter::WT310.of_range_watt - 0.002 * 3.0 * 0.1).abs() < 1e-12);
        assert!((power.error - 0.00027).abs() < 0.00001, "{power:?}");
    }
}
