//! Random traces: arrivals whose rate may change with time, and stays of random length.
//!
//! Members arrive as a Poisson process and stay for a time that is exponentially distributed. In a
//! steady state the group has as many members as arrive during a mean stay. The kinds differ in how
//! the rate of arrivals changes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::events::{JoinOrLeave, Trace, TraceEvent};

/// The settings of a random trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceGenerator {
    /// How arrivals change with time.
    pub kind: ArrivalPattern,
    /// Members at the creation, and in the long run on average.
    pub members: u32,
    /// Mean stay of a member (minutes).
    pub stay_minutes: f64,
    /// Length of the trace (minutes).
    pub duration_minutes: f64,
    /// Seed of everything that is drawn at random.
    pub seed: u64,
}

/// How the rate of arrivals changes with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrivalPattern {
    /// A day of traffic, again and again: few arrivals at night, most in the morning and in the
    /// late afternoon. The mean of a day is that of [`Self::Poisson`].
    Day,
    /// As [`Self::Poisson`], with a crowd after a third of the duration. The crowd has five times
    /// as many members as the group. Half of them arrive within the first fortieth of the duration
    /// after that. They stay a tenth as long.
    FlashCrowd,
    /// The same rate all the time.
    Poisson,
}

/// Settings from which no trace can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GeneratorError {
    /// A duration that is not a number above 0, or longer than a year.
    Duration,
    /// Fewer than two members, or more than 100,000.
    Members,
    /// A mean stay that is not a number above 0.
    Stay,
    /// The expected number of events is larger than a trace may have.
    TooMany {
        /// The expected number of events.
        expected: f64,
    },
}

impl ArrivalPattern {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Day, Self::FlashCrowd, Self::Poisson];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::FlashCrowd => "flash-crowd",
            Self::Poisson => "poisson",
        }
    }
}

impl TraceGenerator {
    /// Makes the trace. The same settings give the same trace.
    pub fn trace(&self) -> Result<Trace, GeneratorError> {
        self.check()?;
        let mut draw = RandomValues(ChaCha20Rng::seed_from_u64(self.seed));
        let stay_ms = self.stay_minutes * MINUTE_MS;
        let end_ms = self.duration_minutes * MINUTE_MS;

        // The member that leaves next is on top. Its number puts equal times in one order.
        let mut leaving = BinaryHeap::new();
        for member in 0..self.members {
            leaving.push(Reverse((whole(draw.exponential(stay_ms)), member)));
        }
        let mut next_member = self.members;
        let mut present = self.members;
        let mut events = Vec::new();
        for (arrival_ms, arrival_stay_ms) in
            self.arrivals(&mut draw).into_iter().chain([(end_ms, 0.0)])
        {
            while let Some(&Reverse((time_ms, member))) = leaving.peek()
                && time_ms < whole(arrival_ms)
            {
                leaving.pop();
                if present == 2 {
                    // A group has at least two members, so the last two stay on.
                    let longer = time_ms.saturating_add(whole(draw.exponential(stay_ms)).max(1));
                    leaving.push(Reverse((longer, member)));
                    continue;
                }
                present -= 1;
                events.push(TraceEvent { time_ms, change: JoinOrLeave::Leave, member });
            }
            if arrival_ms >= end_ms {
                break;
            }
            let (time_ms, member) = (whole(arrival_ms), next_member);
            events.push(TraceEvent { time_ms, change: JoinOrLeave::Join, member });
            let leaves_ms = time_ms.saturating_add(whole(draw.exponential(arrival_stay_ms)));
            leaving.push(Reverse((leaves_ms, member)));
            (next_member, present) = (next_member + 1, present + 1);
        }
        let trace = Trace::new((0..self.members).collect(), events);
        Ok(trace.expect("members join once, leave once and two remain"))
    }

    fn check(&self) -> Result<(), GeneratorError> {
        if !(2..=MOST_MEMBERS).contains(&self.members) {
            return Err(GeneratorError::Members);
        }
        if !(self.duration_minutes > 0.0 && self.duration_minutes <= YEAR_MINUTES) {
            return Err(GeneratorError::Duration);
        }
        if !(self.stay_minutes > 0.0 && self.stay_minutes.is_finite()) {
            return Err(GeneratorError::Stay);
        }
        let stays = self.duration_minutes / self.stay_minutes;
        let crowd = if self.kind == ArrivalPattern::FlashCrowd { CROWD } else { 0.0 };
        let expected = 2.0 * f64::from(self.members) * (stays + crowd);
        if expected > MOST_EVENTS {
            return Err(GeneratorError::TooMany { expected });
        }
        Ok(())
    }

    /// Returns when members arrive and how long they stay on average (ms), in the order of time.
    fn arrivals(&self, draw: &mut RandomValues) -> Vec<(f64, f64)> {
        let members = f64::from(self.members);
        let stay_ms = self.stay_minutes * MINUTE_MS;
        let end_ms = self.duration_minutes * MINUTE_MS;
        // Thinning: draws at the highest rate, and keeps as many arrivals as the rate of the time
        // asks for.
        let highest = match self.kind {
            ArrivalPattern::Day => HOURS.iter().copied().fold(0.0, f64::max) / mean(&HOURS),
            ArrivalPattern::FlashCrowd | ArrivalPattern::Poisson => 1.0,
        };
        let mut arrivals = Vec::new();
        let mut now_ms = 0.0;
        loop {
            now_ms += draw.exponential(stay_ms / members / highest);
            if now_ms >= end_ms {
                break;
            }
            let rate = match self.kind {
                ArrivalPattern::Day => hour(now_ms) / mean(&HOURS),
                ArrivalPattern::FlashCrowd | ArrivalPattern::Poisson => 1.0,
            };
            if draw.unit() * highest < rate {
                arrivals.push((now_ms, stay_ms));
            }
        }
        if self.kind == ArrivalPattern::FlashCrowd {
            let half_life_ms = end_ms / 40.0;
            let begin_ms = end_ms / 3.0;
            for _ in 0..(CROWD * members) as u32 {
                let after = draw.exponential(half_life_ms / std::f64::consts::LN_2);
                arrivals.push((begin_ms + after, stay_ms / 10.0));
            }
            arrivals.retain(|(at_ms, _)| *at_ms < end_ms);
            arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        arrivals
    }
}

struct RandomValues(ChaCha20Rng);

impl RandomValues {
    /// Returns a value drawn evenly from 0 to 1, 1 excluded.
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Traffic by the hour, as a share of the busiest hour. The values are assumed. They follow the
/// shape that counts of urban roads have in common: two peaks on working days and a calm night.
const HOURS: [f64; 24] = [
    0.12, 0.08, 0.06, 0.06, 0.10, 0.25, 0.55, 0.90, 0.95, 0.70, 0.60, 0.62, 0.66, 0.66, 0.70, 0.82,
    0.96, 1.00, 0.85, 0.62, 0.45, 0.35, 0.28, 0.20,
];

/// Returns the traffic at a time of the trace, on straight lines between the hours. The trace
/// begins at midnight.
fn hour(now_ms: f64) -> f64 {
    let hours = now_ms / (60.0 * MINUTE_MS);
    let (place, part) = (hours as usize % 24, hours.fract());
    HOURS[place] * (1.0 - part) + HOURS[(place + 1) % 24] * part
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns a time in whole milliseconds.
fn whole(ms: f64) -> u64 {
    ms.round() as u64
}

impl fmt::Display for GeneratorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration => write!(f, "the duration must be above 0 and at most a year"),
            Self::Members => write!(f, "give 2 to {MOST_MEMBERS} members"),
            Self::Stay => write!(f, "the mean stay must be above 0, and finite"),
            Self::TooMany { expected } => write!(
                f,
                "about {expected:.0} members would join or leave, of {MOST_EVENTS} at most; \
                 give fewer members, a longer stay or a shorter duration"
            ),
        }
    }
}

impl std::error::Error for GeneratorError {}

const MINUTE_MS: f64 = 60_000.0;
const YEAR_MINUTES: f64 = 366.0 * 24.0 * 60.0;
const MOST_MEMBERS: u32 = 100_000;
const MOST_EVENTS: f64 = 2_000_000.0;

/// Members of the crowd for each member of the group.
const CROWD: f64 = 5.0;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn generator(kind: ArrivalPattern) -> TraceGenerator {
        TraceGenerator {
            kind,
            members: 100,
            stay_minutes: 60.0,
            duration_minutes: 1_440.0,
            seed: 1,
        }
    }

    fn joins(trace: &Trace, parts: u64, duration_ms: u64) -> Vec<usize> {
        let mut counts = BTreeMap::new();
        for event in trace.events().iter().filter(|event| event.change == JoinOrLeave::Join) {
            *counts.entry(event.time_ms * parts / duration_ms).or_insert(0) += 1;
        }
        (0..parts).map(|part| counts.get(&part).copied().unwrap_or(0)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_trace() {
        for kind in ArrivalPattern::ALL {
            let first = generator(kind).trace().expect("a trace");
            assert_eq!(first, generator(kind).trace().expect("a trace"));
            let other = TraceGenerator { seed: 2, ..generator(kind) };
            assert_ne!(first, other.trace().expect("a trace"));
        }
    }

    /// 100 members stay an hour each, so 2,400 arrive a day. The standard deviation is 49.
    #[test]
    fn as_many_come_as_go() {
        for kind in [ArrivalPattern::Day, ArrivalPattern::Poisson] {
            let trace = generator(kind).trace().expect("a trace");
            let (joins, leaves) = (trace.count(JoinOrLeave::Join), trace.count(JoinOrLeave::Leave));
            assert!((2_200..2_600).contains(&joins), "{kind:?}: {joins}");
            assert!(joins.abs_diff(leaves) < 200, "{kind:?}: {joins}, {leaves}");
        }
        let (least, most) = generator(ArrivalPattern::Poisson).trace().expect("a trace").sizes();
        assert!(least > 50 && most < 150, "{least} to {most}");
    }

    #[test]
    fn a_day_has_its_peaks_and_its_night() {
        let trace = generator(ArrivalPattern::Day).trace().expect("a trace");
        let hours = joins(&trace, 24, 24 * 3_600_000);
        assert!(hours[17] > 5 * hours[2], "{hours:?}");
        assert!(hours[8] > hours[11], "{hours:?}");
    }

    #[test]
    fn a_flash_crowd_comes_at_once_and_goes() {
        let trace = generator(ArrivalPattern::FlashCrowd).trace().expect("a trace");
        let parts = joins(&trace, 40, 24 * 3_600_000);
        // The crowd begins after a third of the forty parts.
        assert!(parts[14] > 2 * parts[12] && parts[13] + parts[14] > 250, "{parts:?}");
        let (_, most) = trace.sizes();
        assert!(most > 120, "{most}");
    }

    #[test]
    fn two_members_remain() {
        let few =
            TraceGenerator { members: 2, stay_minutes: 1.0, ..generator(ArrivalPattern::Poisson) };
        let trace = few.trace().expect("a trace");
        assert_eq!(trace.sizes().0, 2);
        assert!(trace.count(JoinOrLeave::Leave) > 100);
    }

    #[test]
    fn settings_that_cannot_be_are_refused() {
        let good = generator(ArrivalPattern::Poisson);
        for (bad, told) in [
            (TraceGenerator { members: 1, ..good }, "2 to 100000"),
            (TraceGenerator { members: u32::MAX, ..good }, "2 to 100000"),
            (TraceGenerator { stay_minutes: 0.0, ..good }, "stay"),
            (TraceGenerator { stay_minutes: f64::NAN, ..good }, "stay"),
            (TraceGenerator { duration_minutes: f64::INFINITY, ..good }, "duration"),
            (TraceGenerator { duration_minutes: -1.0, ..good }, "duration"),
            (TraceGenerator { stay_minutes: 1e-9, ..good }, "fewer members"),
        ] {
            let error = bad.trace().expect_err("it cannot be").to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
