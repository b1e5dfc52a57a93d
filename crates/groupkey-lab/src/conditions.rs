//! Conditions of a link: loss, delay, jitter and bandwidth, and how they change over time.

use std::fmt;

use groupkey_sim::{Duration, LinkProfile, LinkSettings, Loss, Time};

/// What a client's link does to packets. A condition acts in both directions unless its field says
/// otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Packets lost (%), pure acknowledgements included.
    pub loss_percent: f64,
    /// Where packets are lost.
    pub loss_direction: LossDirection,
    /// Mean length of a burst in which every packet is lost (ms). With `None`, each packet is lost
    /// independently.
    pub burst_ms: Option<f64>,
    /// One-way delay (ms).
    pub delay_ms: f64,
    /// Jitter (ms): each packet's delay is uniform within the delay ± this value. Packets keep
    /// their order.
    pub jitter_ms: f64,
    /// Bandwidth (kbit/s); `None` means no limit.
    pub bandwidth_kbit_s: Option<f64>,
    /// How often the link fails. It cannot change over time.
    pub outages: Option<OutageRate>,
}

/// How often a link or the broker fails, and for how long. Both the times between failures and their
/// lengths are exponentially distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutageRate {
    /// Failures an hour.
    pub per_hour: f64,
    /// Mean length of a failure (s).
    pub length_s: f64,
}

/// Where packets are lost, as seen from the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossDirection {
    /// In both directions.
    #[default]
    Both,
    /// From the broker to the client.
    Down,
    /// From the client to the broker.
    Up,
}

/// Conditions over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Conditions at the start.
    pub initial: Conditions,
    /// Conditions from each time (ms) on, in ascending order of the times.
    pub changes: Vec<(f64, Conditions)>,
}

/// Conditions that no link can have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ConditionsError {
    /// A bandwidth that is not a positive number of kbit/s.
    Bandwidth(f64),
    /// A mean burst length that is not above 0 or is longer than a day, or bursts that never end.
    Burst(f64),
    /// A change whose time is not a number, is negative, is later than a year, or does not ascend.
    ChangeTime(f64),
    /// A delay that is negative, not a number, or longer than a day.
    Delay(f64),
    /// A jitter that is negative, not a number, or longer than a day.
    Jitter(f64),
    /// A loss outside 0..=100 %.
    Loss(f64),
    /// Outages that are not above 0, that last longer than a day, or that leave no time in between;
    /// the number is their share of an hour (%).
    Outages(f64),
    /// Outages that change at this time (ms).
    OutagesChange(f64),
}

impl OutageRate {
    /// Checks that there can be such outages.
    pub fn validate(&self) -> Result<(), ConditionsError> {
        let Self { per_hour, length_s } = *self;
        let share = self.share();
        let holds = per_hour > 0.0 && length_s > 0.0 && length_s <= DAY_MS / 1e3 && share < 1.0;
        // A millisecond in between, at least.
        if holds && per_hour <= HOUR_S * 1e3 {
            Ok(())
        } else {
            Err(ConditionsError::Outages(share * 1e2))
        }
    }

    pub(crate) fn share(&self) -> f64 {
        self.per_hour * self.length_s / HOUR_S
    }

    /// Returns the same for the simulator.
    pub(crate) fn settings(&self) -> groupkey_sim::Outages {
        let between_s = HOUR_S / self.per_hour - self.length_s;
        let [between, length] = [between_s, self.length_s].map(|s| milliseconds(s * 1e3));
        groupkey_sim::Outages { between, length }
    }
}

impl fmt::Display for OutageRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} an hour of {} s", self.per_hour, self.length_s)
    }
}

impl Conditions {
    /// Creates conditions with independent loss (%) and a one-way delay (ms), the two parameters of
    /// most studies.
    pub fn of(loss_percent: f64, delay_ms: f64) -> Self {
        Self { loss_percent, delay_ms, ..Self::default() }
    }

    /// Checks that a link can have these conditions.
    pub fn validate(&self) -> Result<(), ConditionsError> {
        if !(0.0..=100.0).contains(&self.loss_percent) {
            return Err(ConditionsError::Loss(self.loss_percent));
        }
        if !(0.0..=DAY_MS).contains(&self.delay_ms) {
            return Err(ConditionsError::Delay(self.delay_ms));
        }
        if !(0.0..=DAY_MS).contains(&self.jitter_ms) {
            return Err(ConditionsError::Jitter(self.jitter_ms));
        }
        if let Some(ms) = self.burst_ms
            && (!(ms > 0.0 && ms <= DAY_MS) || self.loss_percent == 100.0)
        {
            return Err(ConditionsError::Burst(ms));
        }
        if let Some(outages) = self.outages {
            outages.validate()?;
        }
        match self.bandwidth_kbit_s {
            Some(rate) if !(LEAST_KBIT_S..f64::INFINITY).contains(&rate) => {
                Err(ConditionsError::Bandwidth(rate))
            }
            _ => Ok(()),
        }
    }

    fn loss(&self) -> Loss {
        match self.burst_ms {
            _ if self.loss_percent == 0.0 => Loss::None,
            None => Loss::Random(self.loss_percent / 100.0),
            Some(ms) => {
                let share = self.loss_percent / 100.0;
                Loss::Burst { share, length: milliseconds(ms), good: 0.0, bad: 1.0 }
            }
        }
    }

    /// Returns the settings of one direction of the link.
    pub fn settings(&self, towards: LossDirection) -> LinkSettings {
        let loses = self.loss_direction == LossDirection::Both || self.loss_direction == towards;
        LinkSettings {
            delay: milliseconds(self.delay_ms),
            jitter: milliseconds(self.jitter_ms),
            loss: if loses { self.loss() } else { Loss::None },
            bandwidth: self.bandwidth_kbit_s.map(|rate| (rate * 1e3).round() as u64),
            ..LinkSettings::default()
        }
    }
}

impl Timeline {
    /// Creates a timeline of conditions that do not change.
    pub const fn constant(initial: Conditions) -> Self {
        Self { initial, changes: Vec::new() }
    }

    /// Checks that a link can have these conditions.
    pub fn validate(&self) -> Result<(), ConditionsError> {
        self.initial.validate()?;
        let mut last = 0.0;
        for (at_ms, conditions) in &self.changes {
            if !(last..=YEAR_MS).contains(at_ms) {
                return Err(ConditionsError::ChangeTime(*at_ms));
            }
            last = *at_ms;
            conditions.validate()?;
            if conditions.outages != self.initial.outages {
                return Err(ConditionsError::OutagesChange(*at_ms));
            }
        }
        Ok(())
    }

    /// Returns the link's profiles for the directions from the client and to the client.
    pub(crate) fn up_and_down(&self) -> (LinkProfile, LinkProfile) {
        let towards = |direction| {
            let steps = self
                .changes
                .iter()
                .map(|(at_ms, conditions)| (*at_ms, conditions.settings(direction)));
            let first = (0.0, self.initial.settings(direction));
            let steps = std::iter::once(first).chain(steps);
            LinkProfile::changing(
                steps.map(|(at_ms, link)| (Time::ZERO + milliseconds(at_ms), link)).collect(),
            )
        };
        (towards(LossDirection::Up), towards(LossDirection::Down))
    }
}

impl LossDirection {
    /// All directions.
    pub const ALL: [Self; 3] = [Self::Both, Self::Down, Self::Up];

    /// Returns the name used on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

/// A stable text of all settings. Seeds are derived from this text.
impl fmt::Display for Conditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loss {} % {}", self.loss_percent, self.loss_direction.name())?;
        if let Some(ms) = self.burst_ms {
            write!(f, " in bursts of {ms} ms")?;
        }
        write!(f, ", delay {} ms", self.delay_ms)?;
        if self.jitter_ms != 0.0 {
            write!(f, " ± {} ms", self.jitter_ms)?;
        }
        if let Some(rate) = self.bandwidth_kbit_s {
            write!(f, ", {rate} kbit/s")?;
        }
        if let Some(outages) = self.outages {
            write!(f, ", outages {outages}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.initial.fmt(f)?;
        self.changes.iter().try_for_each(|(at_ms, then)| write!(f, "; from {at_ms} ms: {then}"))
    }
}

impl fmt::Display for ConditionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Bandwidth(number)
        | Self::Burst(number)
        | Self::ChangeTime(number)
        | Self::Delay(number)
        | Self::Jitter(number)
        | Self::Loss(number)
        | Self::Outages(number)
        | Self::OutagesChange(number)) = *self;
        // Nobody counts three hundred zeros.
        let number = match number.abs() < 1e15 {
            true => number.to_string(),
            false => format!("{number:e}"),
        };
        match self {
            Self::Bandwidth(_) => write!(
                f,
                "a bandwidth of {number} kbit/s cannot be simulated; give {LEAST_KBIT_S} or more, or inf \
                 for no limit"
            ),
            Self::Burst(_) => write!(
                f,
                "bursts of {number} ms on average cannot be; give more than 0, at most a day, and a loss \
                 below 100 %"
            ),
            Self::ChangeTime(_) => write!(
                f,
                "a change at {number} ms is out of order; give times from 0 on, ascending, at most a year"
            ),
            Self::Delay(_) => {
                write!(f, "a delay of {number} ms cannot be; give 0 or more, at most a day")
            }
            Self::Jitter(_) => {
                write!(f, "a jitter of {number} ms cannot be; give 0 or more, at most a day")
            }
            Self::Loss(_) => {
                write!(f, "a loss of {number} % cannot be; give a number from 0 to 100")
            }
            Self::Outages(_) => write!(
                f,
                "outages that take {number} % of the time cannot be; give more than 0 an hour, a length \
                 above 0 s, at most a day, and both so that they take less than 100 %"
            ),
            Self::OutagesChange(_) => {
                write!(f, "outages cannot change at {number} ms; give them for the whole time")
            }
        }
    }
}

impl std::error::Error for ConditionsError {}

const HOUR_S: f64 = 3_600.0;
const DAY_MS: f64 = 86_400_000.0;
/// The least bandwidth: below one bit a second the simulator's integer bandwidth would be zero.
const LEAST_KBIT_S: f64 = 0.001;
/// The latest time of a change.
pub(crate) const YEAR_MS: f64 = 366.0 * DAY_MS;

fn milliseconds(ms: f64) -> Duration {
    Duration::from_nanos((ms * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_lose_the_share_that_was_asked_for() {
        let conditions = Conditions { burst_ms: Some(40.0), ..Conditions::of(20.0, 0.0) };
        assert_eq!(conditions.validate(), Ok(()));
        let length = Duration::from_millis(40);
        assert_eq!(conditions.loss(), Loss::Burst { share: 0.2, length, good: 0.0, bad: 1.0 });
    }

    #[test]
    fn loss_acts_where_it_is_set() {
        let both = Conditions::of(5.0, 10.0);
        assert_eq!(both.settings(LossDirection::Up).loss, Loss::Random(0.05));
        let up = Conditions { loss_direction: LossDirection::Up, ..both };
        assert_eq!(up.settings(LossDirection::Up).loss, Loss::Random(0.05));
        assert_eq!(up.settings(LossDirection::Down).loss, Loss::None);
        assert_eq!(up.settings(LossDirection::Down).delay, Duration::from_millis(10));
    }

    #[test]
    fn an_hour_has_as_many_outages_as_were_asked_for() {
        let settings = OutageRate { per_hour: 4.0, length_s: 60.0 }.settings();
        assert_eq!(settings.between + settings.length, Duration::from_secs(900));
        assert_eq!(settings.length, Duration::from_secs(60));
    }

    const fn outages(per_hour: f64, length_s: f64) -> Option<OutageRate> {
        Some(OutageRate { per_hour, length_s })
    }

    #[test]
    fn impossible_conditions_are_refused() {
        let perfect = Conditions::default();
        for (conditions, word) in [
            (Conditions::of(100.5, 0.0), "0 to 100"),
            (Conditions::of(f64::NAN, 0.0), "NaN"),
            (Conditions::of(0.0, -1.0), "-1 ms"),
            (Conditions::of(0.0, f64::INFINITY), "delay"),
            (Conditions { jitter_ms: -2.0, ..perfect }, "jitter"),
            (Conditions { bandwidth_kbit_s: Some(0.0), ..perfect }, "bandwidth"),
            (Conditions { burst_ms: Some(0.0), ..Conditions::of(5.0, 0.0) }, "bursts"),
            (Conditions { burst_ms: Some(f64::NAN), ..Conditions::of(5.0, 0.0) }, "bursts"),
            (Conditions { burst_ms: Some(20.0), ..Conditions::of(100.0, 0.0) }, "below 100 %"),
            (Conditions { outages: outages(0.0, 30.0), ..perfect }, "outages"),
            (Conditions { outages: outages(2.0, f64::NAN), ..perfect }, "outages"),
            (Conditions { outages: outages(2.0, 1_800.0), ..perfect }, "take 100 %"),
        ] {
            let told = conditions.validate().expect_err("it cannot be").to_string();
            assert!(told.contains(word), "{told}");
        }
        let failing = Conditions { outages: outages(2.0, 30.0), ..perfect };
        assert_eq!(failing.validate(), Ok(()));
        let timeline = Timeline { initial: perfect, changes: vec![(5.0, failing)] };
        assert_eq!(timeline.validate(), Err(ConditionsError::OutagesChange(5.0)));
        let changes = vec![(5.0, perfect), (4.0, perfect)];
        let timeline = Timeline { initial: perfect, changes };
        assert_eq!(timeline.validate(), Err(ConditionsError::ChangeTime(4.0)));
    }
}
