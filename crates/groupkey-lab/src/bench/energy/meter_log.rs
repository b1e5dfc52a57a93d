//! The log of a power meter: a CSV file `time_s,watt`, one reading a line.

use std::path::Path;

use super::equations::PowerMeter;
use crate::input::{InputError, Mistake};
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
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        Self::parse(&InputError::read(path)?, path)
    }

    /// Reads the text of a file. Errors name the file by `path`. The first line is `time_s,watt`.
    /// At least two readings follow, each later than the one before. Empty lines and lines with `#`
    /// are skipped.
    pub fn parse(text: &str, path: &Path) -> Result<Self, InputError> {
        parse(text).map_err(|mistake| InputError::in_text(path, text, mistake))
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
        let within = |reading: &&Reading| (start..=end).contains(&reading.seconds);
        let readings: Vec<_> = self.readings.iter().filter(within).copied().collect();
        (readings.len() >= 2).then_some(Self { readings })
    }

    /// Returns the energy (J): the integral of the power along straight lines between readings.
    /// Readings have the meter's errors, which are independent, as in S003's equation 26.
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

fn parse(text: &str) -> Result<MeterLog, Mistake> {
    let mut offset = 0;
    let mut has_heading = false;
    let mut readings: Vec<Reading> = Vec::new();
    for line in text.split_inclusive('\n') {
        let at = offset;
        offset += line.len();
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if !has_heading {
            if line != HEADING {
                return Err(Mistake::at(at, format!("the first line must be {HEADING}")));
            }
            has_heading = true;
            continue;
        }
        let number =
            |text: &str| text.trim().parse().ok().filter(|number: &f64| number.is_finite());
        let reading = line.split_once(',').and_then(|(seconds, watt)| {
            Some(Reading { seconds: number(seconds)?, watt: number(watt)? })
        });
        let Some(reading) = reading else {
            return Err(Mistake::at(
                at,
                "write a time in seconds and a power in watt, such as 0.5,0.218",
            ));
        };
        if readings.last().is_some_and(|last| reading.seconds <= last.seconds) {
            return Err(Mistake::at(at, "each reading must be later than the one before"));
        }
        readings.push(reading);
    }
    match readings.len() {
        0 | 1 => Err(Mistake::at(text.len(), "at least two readings are needed")),
        _ => Ok(MeterLog { readings }),
    }
}

const HEADING: &str = "time_s,watt";

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &str) -> Result<MeterLog, InputError> {
        MeterLog::parse(&format!("{HEADING}\n{lines}"), Path::new("log.csv"))
    }

    #[test]
    fn straight_lines_are_integrated() {
        let log = log("0,0.2\n1,0.2\n# a pause of the meter\n\n3,0.4\n").expect("a log");
        let energy = log.energy(PowerMeter::WT310);
        assert!((energy.value - (0.2 + 0.6)).abs() < 1e-12, "{energy:?}");
        let power = log.mean_power(PowerMeter::WT310);
        assert!((power.value - 0.8 / 3.0).abs() < 1e-12);
        assert_eq!((log.duration(), log.readings().len()), (3.0, 3));
        let end = log.between(0.5, 3.0).expect("two readings");
        assert!((end.energy(PowerMeter::WT310).value - 0.6).abs() < 1e-12);
        assert_eq!(log.between(1.5, 3.0), None);
    }

    /// A log of S004's kind, a reading a second, gives S004's power and error.
    #[test]
    fn a_reading_a_second_has_the_error_of_the_papers() {
        let lines: String = (0..10).map(|second| format!("{second},0.21803\n")).collect();
        let power = log(&lines).expect("a log").mean_power(PowerMeter::WT310);
        assert!((power.value - 0.21803).abs() < 1e-12);
        assert!((power.error - 0.00027).abs() < 0.00001, "{power:?}");
    }

    #[test]
    fn mistakes_are_found_where_they_stand() {
        for (lines, position, told) in [
            ("0,0.2\n1;0.2\n", "log.csv:3:1:", "a time in seconds"),
            ("0,0.2\n1,NaN\n", "log.csv:3:1:", "a power in watt"),
            ("0,0.2\n0,0.2\n", "log.csv:3:1:", "later"),
            ("0,0.2\n1e999,0.2\n", "log.csv:3:1:", "a time"),
            ("0,0.2\n", "log.csv:3:1:", "at least two"),
            ("", "log.csv:2:1:", "at least two"),
        ] {
            let error = log(lines).expect_err("a mistake").to_string();
            assert!(error.starts_with(position) && error.contains(told), "{error}");
        }
        let error = MeterLog::parse("seconds,W\n", Path::new("log.csv")).expect_err("a mistake");
        assert!(error.to_string().contains("time_s,watt"), "{error}");
    }
}
