//! How links and the broker fail, and how clients come back.

use std::collections::VecDeque;

use crate::mqtt::Qos;
use crate::random::RandomStream;
use crate::time::Duration;

/// How often something fails, and for how long: an alternating renewal process. The times until a
/// failure and the lengths of failures are exponentially distributed, as the good and bad periods
/// of Gilbert and Elliott are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outages {
    /// Mean time from the end of one to the beginning of the next.
    pub between: Duration,
    /// Mean length.
    pub length: Duration,
}

/// How connections end, and how clients make new ones.
///
/// The broker closes a connection on which it has received no packet for one and a half times
/// [`keep_alive`](Self::keep_alive) \[MQTT-3.1.2-24\], when it [looks](Self::checks). A client closes it when a PINGREQ is not
/// answered until the next one is due, as rumqttc does. Either end closes it when TCP gives up. A
/// client then waits for any time up to a bound, which doubles with each attempt in a row that
/// fails ("full jitter": M. Brooker, Exponential Backoff And Jitter, AWS, 2015).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnection {
    /// Time between a client's PINGREQs: MQTT's keep-alive. At least a second.
    pub keep_alive: Duration,
    /// How often the broker looks for silent clients; zero means at all times. Mosquitto 2.0 looks
    /// every six seconds (`last_keepalive_check + 5 < db.now_s` in its `keepalive.c`).
    pub checks: Duration,
    /// What is left of a session when its connection has ended.
    pub session: SessionState,
    /// How the broker fails, if it does. It forgets nothing that its sessions keep.
    pub broker: Option<Outages>,
    /// The longest pause after the first failure.
    pub first_pause: Duration,
    /// The longest pause of all.
    pub longest_pause: Duration,
    /// How long a client waits for CONNACK.
    pub patience: Duration,
}

/// What is left of a session when its connection has ended (MQTT 3.1.1, section 3.1.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionState {
    /// Both ends keep it, with all unfinished exchanges. The broker keeps messages of QoS 1 and 2
    /// for a client that is away, and none of QoS 0, as Mosquitto does unless it is told
    /// otherwise.
    #[default]
    Kept,
    /// Nothing (CleanSession). A client publishes again what was not acknowledged, and subscribes
    /// again.
    Clean,
}

impl Default for Reconnection {
    /// Sessions that are kept, a keep-alive of 60 s, which is Mosquitto's and paho's, and the pauses
    /// of `groupkey-mqtt`'s driver.
    fn default() -> Self {
        Self {
            keep_alive: Duration::from_secs(60),
            checks: Duration::from_secs(6),
            session: SessionState::default(),
            broker: None,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(30),
            patience: Duration::from_secs(5),
        }
    }
}

impl Reconnection {
    /// Returns for how long an outage that is over may still be felt.
    pub(crate) fn memory(&self) -> Duration {
        self.keep_alive * 3 + self.longest_pause * 2
    }

    /// Returns whether the broker keeps a message for a client that is away.
    pub(crate) fn keeps(&self, qos: Qos) -> bool {
        self.session == SessionState::Kept && qos != Qos::AtMostOnce
    }
}

impl SessionState {
    /// Both values.
    pub const ALL: [Self; 2] = [Self::Kept, Self::Clean];

    /// Returns the name used on the command line and in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Clean => "clean",
        }
    }
}

/// Something that fails now and then.
#[derive(Debug)]
pub(crate) struct OutageProcess {
    outages: Outages,
    random: RandomStream,
    /// Spans up to the next changes, as far as they are drawn.
    drawn: VecDeque<Duration>,
    pub(crate) failed: bool,
}

/// What an [`OutageProcess`] in its steady state did lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LatestOutage {
    /// How long ago the latest outage began; zero if that is no longer felt.
    pub(crate) began: Duration,
}

impl OutageProcess {
    pub(crate) const fn new(outages: Outages, random: RandomStream) -> Self {
        Self { outages, random, drawn: VecDeque::new(), failed: false }
    }

    /// Returns the span until the next change.
    pub(crate) fn until_change(&mut self) -> Duration {
        if let Some(span) = self.drawn.pop_front() {
            return span;
        }
        let mean = if self.failed { self.outages.length } else { self.outages.between };
        self.exponential(mean)
    }

    /// Lets the process begin anew in its steady state, with its latest outage, unless that was over
    /// more than `memory` ago. Exponential spans have no memory: an outage that is under way has
    /// lasted as long as it still will, in distribution. The next change is the beginning of that
    /// outage, or else the next one's.
    pub(crate) fn begin_anew(&mut self, random: RandomStream, memory: Duration) -> LatestOutage {
        let Outages { between, length } = self.outages;
        (self.random, self.failed) = (random, false);
        self.drawn.clear();
        let total = (between + length).as_nanos().max(1) as f64;
        let is_failed = self.random.uniform() < length.as_nanos() as f64 / total;
        if is_failed {
            let (began, rest) = (self.exponential(length), self.exponential(length));
            self.drawn.push_back(began + rest);
            return LatestOutage { began };
        }
        let since = self.exponential(between);
        if since > memory {
            return LatestOutage::default();
        }
        let (lasted, rest) = (self.exponential(length), self.exponential(between));
        self.drawn.extend([lasted, since + rest]);
        LatestOutage { began: since + lasted }
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        let span = -(1.0 - self.random.uniform()).ln() * mean.as_nanos() as f64;
        Duration::from_nanos(span as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTAGES: Outages =
        Outages { between: Duration::from_secs(900), length: Duration::from_secs(100) };

    fn mean(spans: &[Duration]) -> f64 {
        spans.iter().map(|span| span.as_millis_f64()).sum::<f64>() / spans.len() as f64 / 1_000.0
    }

    #[test]
    fn outages_come_as_often_and_last_as_long_as_they_should() {
        let mut process = OutageProcess::new(OUTAGES, RandomStream::new(1, 0));
        let [mut works, mut fails] = [const { Vec::new() }; 2];
        for _ in 0..20_000 {
            works.push(process.until_change());
            process.failed = true;
            fails.push(process.until_change());
            process.failed = false;
        }
        assert!((mean(&works) - 900.0).abs() < 20.0, "{}", mean(&works));
        assert!((mean(&fails) - 100.0).abs() < 3.0, "{}", mean(&fails));
    }

    #[test]
    fn the_steady_state_has_as_many_outages_as_time_has() {
        let mut process = OutageProcess::new(OUTAGES, RandomStream::new(1, 0));
        let (mut failed, mut felt) = (0, 0);
        let memory = Duration::from_secs(90);
        for seed in 0..20_000 {
            let LatestOutage { began } = process.begin_anew(RandomStream::new(seed, 7), memory);
            let lasts = process.drawn.front().copied().unwrap_or_default();
            failed += u32::from(began > Duration::ZERO && lasts > began);
            felt += u32::from(began > Duration::ZERO && lasts <= began);
        }
        // A tenth of the time, and nine tenths times 1 - e^(-90 / 900).
        assert!((1_900..2_100).contains(&failed), "{failed}");
        assert!((1_610..1_820).contains(&felt), "{felt}");
    }
}
