//! What marked operations took of a power log: time and energy, gross and with idling subtracted.

use super::equations::{PowerMeter, gross_energy, mean_time, net_energy};
use super::meter_log::MeterLog;
use super::operation_marks::OperationMark;
use crate::statistics::{Deviation, Summary};

/// The operations of one label.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedOperations {
    /// The label.
    pub label: String,
    /// How many of them were measured.
    pub measured: usize,
    /// How many were not: fewer than two readings lie within, or the log ends before.
    pub unresolved: usize,
    /// Mean time (s), of those measured. `None` if none was.
    pub seconds: Option<Deviation>,
    /// Mean energy (J), all that was drawn meanwhile. The error is the meter's and the clock's.
    pub gross: Option<Deviation>,
    /// Mean energy (J) beyond idling, if an idle power is known.
    pub net: Option<Deviation>,
    /// Half width of the 95 % interval of the mean gross energy (J), from the spread of the
    /// operations. `None` if there are fewer than two.
    pub spread: Option<f64>,
}

/// Returns the idle power (W): the mean outside of all marks, their ends left out. `None` if fewer than two readings
/// follow each other there.
pub fn idle_power(log: &MeterLog, marks: &[OperationMark], meter: PowerMeter) -> Option<Deviation> {
    let mut edges: Vec<(f64, f64)> = marks.iter().map(|mark| (mark.start, mark.end)).collect();
    edges.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut free = f64::NEG_INFINITY;
    let (mut joule, mut variance, mut seconds) = (0.0, 0.0_f64, 0.0);
    for (start, end) in edges.into_iter().chain([(f64::INFINITY, f64::INFINITY)]) {
        if let Some(gap) = log.between(free.next_up(), start.next_down()) {
            let energy = gap.energy(meter);
            joule += energy.value;
            variance += energy.error.powi(2);
            seconds += gap.duration();
        }
        free = free.max(end);
    }
    (seconds > 0.0).then(|| Deviation { value: joule / seconds, error: variance.sqrt() / seconds })
}

/// Returns what the operations of each label took, in the order in which the labels first appear.
pub fn marked(
    log: &MeterLog,
    marks: &[OperationMark],
    meter: PowerMeter,
    idle: Option<Deviation>,
) -> Vec<MarkedOperations> {
    let mut labels: Vec<&str> = Vec::new();
    for mark in marks {
        if !labels.contains(&mark.label.as_str()) {
            labels.push(&mark.label);
        }
    }
    let of_label = |label: &str| {
        let (mut times, mut gross, mut net) = (Vec::new(), Vec::new(), Vec::new());
        let mut unresolved = 0;
        for mark in marks.iter().filter(|mark| mark.label == label) {
            let Some((seconds, power)) = measure(log, mark, meter) else {
                unresolved += 1;
                continue;
            };
            times.push(seconds);
            gross.push(gross_energy(seconds, power));
            net.extend(idle.map(|idle| net_energy(seconds, power, idle)));
        }
        let values: Vec<f64> = gross.iter().map(|energy| energy.value).collect();
        MarkedOperations {
            label: label.to_owned(),
            measured: times.len(),
            unresolved,
            seconds: mean_time(&times),
            gross: mean_time(&gross),
            net: mean_time(&net),
            spread: (values.len() > 1).then(|| Summary::of(&values).ci95).flatten(),
        }
    };
    labels.into_iter().map(of_label).collect()
}

/// Returns the time and the mean power of one operation. Each end is known to half of the time
/// between the readings around it.
fn measure(
    log: &MeterLog,
    mark: &OperationMark,
    meter: PowerMeter,
) -> Option<(Deviation, Deviation)> {
    let part = log.cut(mark.start, mark.end)?;
    let ends = [mark.start, mark.end].map(|end| log.spacing_at(end) / 2.0);
    let seconds = Deviation { value: part.duration(), error: ends[0].hypot(ends[1]) };
    Some((seconds, part.mean_power(meter)))
}

#[cfg(test)]
mod tests {
    use super::super::meter_log::Reading;
    use super::*;

    /// A reading every tenth of a second: 0.1 W, and 0.3 W from 1 to 2 s and from 4 to 5 s.
    fn log() -> MeterLog {
        let reading = |tenth: u32| {
            let seconds = f64::from(tenth) / 10.0;
            let is_busy = (1.0..2.0).contains(&seconds) || (4.0..5.0).contains(&seconds);
            Reading { seconds, watt: if is_busy { 0.3 } else { 0.1 } }
        };
        MeterLog::new((0..80).map(reading).collect()).expect("readings")
    }

    fn mark(label: &str, start: f64, end: f64) -> OperationMark {
        OperationMark { label: label.to_owned(), start, end }
    }

    #[test]
    fn energy_is_gross_and_net_of_idling() {
        let marks = [mark("join", 1.0, 1.9), mark("join", 4.0, 4.9)];
        let idle = idle_power(&log(), &marks, PowerMeter::WT310).expect("it idles");
        assert!((idle.value - 0.1).abs() < 0.005, "{idle:?}");
        let found = marked(&log(), &marks, PowerMeter::WT310, Some(idle));
        let [join] = &found[..] else { panic!("{found:?}") };
        assert_eq!((join.measured, join.unresolved), (2, 0));
        let (gross, net) = (join.gross.expect("some"), join.net.expect("some"));
        assert!((gross.value - 0.27).abs() < 1e-9, "{gross:?}");
        assert!((net.value - 0.9 * (0.3 - idle.value)).abs() < 1e-9, "{net:?}");
        // Ends are known to 0.05 s each, two operations: 0.3 W * 0.05 s * √2 / √2.
        assert!((gross.error - 0.015).abs() < 0.0005, "{gross:?}");
        assert!(join.spread.expect("two of them") < 1e-9);
    }

    #[test]
    fn what_the_log_does_not_resolve_is_counted_apart() {
        let marks = [mark("short", 1.01, 1.02), mark("late", 7.0, 9.0)];
        let found = marked(&log(), &marks, PowerMeter::WT310, None);
        assert!(found.iter().all(|one| one.measured == 0 && one.unresolved == 1), "{found:?}");
        assert!(found.iter().all(|one| one.gross.is_none() && one.net.is_none()));
    }

    #[test]
    fn without_a_pause_there_is_no_idle_power() {
        assert_eq!(idle_power(&log(), &[mark("all", -1.0, 10.0)], PowerMeter::WT310), None);
        let overlapping = [mark("a", -1.0, 5.0), mark("b", 3.0, 10.0), mark("c", 1.0, 2.0)];
        assert_eq!(idle_power(&log(), &overlapping, PowerMeter::WT310), None);
    }
}
