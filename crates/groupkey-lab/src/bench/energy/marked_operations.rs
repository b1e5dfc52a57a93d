//! What marked operations took of a power log: time and energy, gross and with idling subtracted.

use super::equations::{PowerMeter, gross_energy, mean_time, net_energy};
use super::power_log::PowerLog;
use crate::statistics::{Deviation, Summary};

/// The operations of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedOperations {
    /// The label.
    pub label: String,
    /// How many there were.
    pub count: usize,
    /// Mean time (s).
    pub seconds: Deviation,
    /// Mean energy (J), all that was drawn meanwhile. The error is the meter's and the clock's.
    pub gross: Deviation,
    /// Mean energy (J) beyond idling, if an idle power is known.
    pub net: Option<Deviation>,
    /// Half width of the 95 % interval of the mean gross energy (J), from the spread of the
    /// operations. `None` if there are fewer than two.
    pub spread: Option<f64>,
}

impl PowerLog {
    /// Returns the idle power (W): the mean outside of all marks. `None` if fewer than two readings
    /// follow each other there.
    pub fn idle_power(&self, meter: PowerMeter) -> Option<Deviation> {
        let mut free = f64::NEG_INFINITY;
        let (mut joule, mut variance, mut seconds) = (0.0, 0.0_f64, 0.0);
        let marks = self.marks.iter().map(|mark| (mark.start, mark.end));
        for (start, end) in marks.chain([(f64::INFINITY, f64::INFINITY)]) {
            // The ends of marks are left out.
            if let Some(gap) = self.log.between(free.next_up(), start.next_down()) {
                let energy = gap.energy(meter);
                joule += energy.value;
                variance += energy.error.powi(2);
                seconds += gap.duration();
            }
            free = end;
        }
        let of = |value, error: f64| Deviation { value, error: error / seconds };
        (seconds > 0.0).then(|| of(joule / seconds, variance.sqrt()))
    }

    /// Returns what the operations of each label took, in the order in which the labels first appear.
    pub fn marked(&self, meter: PowerMeter, idle: Option<Deviation>) -> Vec<MarkedOperations> {
        let mut labels: Vec<&str> = Vec::new();
        for mark in &self.marks {
            if !labels.contains(&mark.label.as_str()) {
                labels.push(&mark.label);
            }
        }
        let of_label = |label: &str| {
            let (mut times, mut gross, mut net) = (Vec::new(), Vec::new(), Vec::new());
            for mark in self.marks.iter().filter(|mark| mark.label == label) {
                // Both ends are readings. Each is known to half of the time to the next one.
                let part = self.log.between(mark.start, mark.end)?;
                let ends = [mark.start, mark.end].map(|end| self.log.spacing_at(end) / 2.0);
                let seconds = Deviation { value: part.duration(), error: ends[0].hypot(ends[1]) };
                let power = part.mean_power(meter);
                times.push(seconds);
                gross.push(gross_energy(seconds, power));
                net.extend(idle.map(|idle| net_energy(seconds, power, idle)));
            }
            let values: Vec<f64> = gross.iter().map(|energy| energy.value).collect();
            Some(MarkedOperations {
                label: label.to_owned(),
                count: times.len(),
                seconds: mean_time(&times)?,
                gross: mean_time(&gross)?,
                net: mean_time(&net),
                spread: (values.len() > 1).then(|| Summary::of(&values).ci95).flatten(),
            })
        };
        labels.into_iter().filter_map(of_label).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// A reading every tenth of a second: 0.1 W, and 0.3 W while something joins.
    fn log(joins: &[std::ops::Range<u32>]) -> PowerLog {
        let line = |tenth: u32| {
            let is_busy = joins.iter().any(|join| join.contains(&tenth));
            let (watt, marker) = if is_busy { (0.3, "join") } else { (0.1, "") };
            format!("{},{watt},{marker}\n", f64::from(tenth) / 10.0)
        };
        let text = format!("seconds,watts,marker\n{}", (0..80).map(line).collect::<String>());
        PowerLog::parse(&text, Path::new("log.csv")).expect("a log")
    }

    #[test]
    fn energy_is_gross_and_net_of_idling() {
        let log = log(&[10..20, 40..50]);
        let idle = log.idle_power(PowerMeter::WT310).expect("it idles");
        assert!((idle.value - 0.1).abs() < 1e-9, "{idle:?}");
        let found = log.marked(PowerMeter::WT310, Some(idle));
        let [join] = &found[..] else { panic!("{found:?}") };
        assert_eq!(join.count, 2);
        let (gross, net) = (join.gross, join.net.expect("it idles"));
        // The last tenth falls from 0.3 W to 0.1 W.
        assert!((gross.value - 0.29).abs() < 1e-9, "{gross:?}");
        assert!((net.value - 0.19).abs() < 1e-9, "{net:?}");
        // Ends are known to 0.05 s each, two operations: 0.29 W * 0.05 s * √2 / √2.
        assert!((gross.error - 0.0145).abs() < 0.0005, "{gross:?}");
        assert!(join.spread.expect("two of them") < 1e-9);
    }

    #[test]
    fn without_a_pause_there_is_no_idle_power() {
        assert_eq!(log(std::slice::from_ref(&(0..79))).idle_power(PowerMeter::WT310), None);
    }
}
