//! One direction of a link between a client and the broker: delay, jitter, loss and bandwidth,
//! each of which may change over time.

use std::ops::Sub;
use std::sync::Arc;

use crate::random::RandomStream;
use crate::time::{Duration, Time};

/// The effects of a link on each packet during one stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSettings {
    /// One-way propagation delay.
    pub delay: Duration,
    /// Each packet's delay is uniform within `delay` ± `jitter` (not below zero).
    pub jitter: Duration,
    /// Whether a packet with a smaller jitter may overtake the packet before it, as in netem.
    /// Without it, packets arrive in the order they were sent.
    pub reorders: bool,
    /// Which packets are lost, pure acknowledgements included.
    pub loss: Loss,
    /// Bits per second; `None` means no limit.
    pub bandwidth: Option<u64>,
    /// Bytes that may wait for the bandwidth-limited sender. Further packets are dropped. `None`
    /// means no limit.
    pub queue_bytes: Option<u64>,
}

/// Which packets a link loses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Loss {
    /// Bursts after Gilbert and Elliott: a good and a bad state. They alternate in time, not with
    /// packets, so a sender that waits longer between its attempts outlasts a burst.
    Burst {
        /// Share of the time in the bad state, 0 to below 1.
        share: f64,
        /// Mean length of a bad period. Lengths of good and bad periods are
        /// exponentially distributed.
        length: Duration,
        /// Loss in the good state, 0 to 1.
        good: f64,
        /// Loss in the bad state, 0 to 1.
        bad: f64,
    },
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost independently with this probability, 0 to 1.
    Random(f64),
}

/// A link's settings over time. Cloning is cheap: members of a fleet share one profile.
#[derive(Clone, Debug)]
pub struct LinkProfile {
    steps: Arc<[(Time, LinkSettings)]>,
}

impl LinkProfile {
    /// Returns the settings, if they are the same at all times.
    pub fn constant_settings(&self) -> Option<&LinkSettings> {
        match &self.steps[..] {
            [(_, settings)] => Some(settings),
            _ => None,
        }
    }

    /// Returns a profile with the same settings at all times.
    pub fn constant(settings: LinkSettings) -> Self {
        Self { steps: Arc::new([(Time::ZERO, settings)]) }
    }

    /// Returns a profile with a constant one-way delay and random loss (0 to 1), the two parameters
    /// of most studies.
    pub fn delay_and_loss(delay: Duration, loss: f64) -> Self {
        let loss = if loss > 0.0 { Loss::Random(loss) } else { Loss::None };
        Self::constant(LinkSettings { delay, loss, ..LinkSettings::default() })
    }

    /// Returns a profile whose settings hold from each step's time on. The first also holds
    /// before its time.
    ///
    /// # Panics
    /// If there is no step, or if the times do not ascend.
    pub fn changing(steps: Vec<(Time, LinkSettings)>) -> Self {
        assert!(!steps.is_empty(), "a link needs settings");
        assert!(steps.is_sorted_by_key(|(time, _)| *time), "a link's steps ascend in time");
        Self { steps: steps.into() }
    }

    /// Returns the delay at a time, for the round trips of a connection's set-up.
    pub(crate) fn delay_at(&self, time: Time) -> Duration {
        let begun = self.steps.iter().skip(1).take_while(|(from, _)| *from <= time).count();
        self.steps[begun].1.delay
    }
}

/// The state of one direction of a link.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    profile: LinkProfile,
    step: u32,
    line: Transmitter,
    luck: Luck,
    last_arrival: Time,
    /// During an outage it loses every packet.
    has_failed: bool,
    load: LinkLoad,
}

/// Packets that went over a link in one direction, as TCP and IP make them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketLoad {
    /// Number of packets: segments with data, pure acknowledgements and retransmissions.
    pub packets: u64,
    /// Their bytes, with the headers of TCP and IP.
    pub bytes: u64,
}

/// What one direction of a link was given, and what of that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkLoad {
    pub(crate) sent: PacketLoad,
    pub(crate) arrived: PacketLoad,
}

impl PacketLoad {
    const fn count(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

impl Sub for PacketLoad {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self { packets: self.packets - earlier.packets, bytes: self.bytes - earlier.bytes }
    }
}

/// The bandwidth-limited sender.
#[derive(Clone, Debug)]
struct Transmitter {
    /// When it has sent everything it holds.
    free_at: Time,
}

/// The random effects of a link.
#[derive(Clone, Debug)]
struct Luck {
    in_burst: bool,
    /// When the link's state was last determined; `NEVER` before the first packet.
    looked_at: Time,
    random: RandomStream,
}

impl Link {
    pub(crate) fn new(profile: LinkProfile, random: RandomStream) -> Self {
        Self {
            profile,
            step: 0,
            line: Transmitter { free_at: Time::ZERO },
            luck: Luck { in_burst: false, looked_at: Time::NEVER, random },
            last_arrival: Time::ZERO,
            has_failed: false,
            load: LinkLoad::default(),
        }
    }

    /// Replaces the settings. The link keeps its random stream and its packets on the way.
    pub(crate) fn change(&mut self, profile: LinkProfile) {
        self.profile = profile;
        self.step = 0;
    }

    pub(crate) const fn set_outage(&mut self, failed: bool) {
        self.has_failed = failed;
    }

    /// Lets it begin anew, as long after its last packet as makes no difference.
    pub(crate) fn forget(&mut self, random: RandomStream) {
        self.luck = Luck { in_burst: false, looked_at: Time::NEVER, random };
    }

    /// Returns what it was given and what it carried so far.
    pub(crate) const fn load(&self) -> LinkLoad {
        self.load
    }

    /// Returns the delay without jitter.
    pub(crate) fn delay_at(&self, time: Time) -> Duration {
        self.profile.delay_at(time)
    }

    /// Returns whether a link of this profile, whose packets are lost independently, loses one of its
    /// first packets after these keep-alives. `None` if that depends on more than its random numbers.
    pub(crate) fn loses_one_of(
        profile: &LinkProfile,
        random: &RandomStream,
        keep_alives: usize,
        packets: u32,
    ) -> Option<bool> {
        let settings = profile.constant_settings()?;
        if matches!(settings.loss, Loss::Burst { .. }) || settings.queue_bytes.is_some() {
            return None;
        }
        let draws = if settings.jitter == Duration::ZERO { 0 } else { keep_alives as u64 };
        let random = random.after(draws);
        let mut luck = Luck { in_burst: false, looked_at: Time::NEVER, random };
        Some((0..packets).any(|_| {
            let is_lost = luck.loses(&settings.loss, Time::ZERO);
            luck.delay(settings);
            is_lost
        }))
    }

    /// Returns how long a packet of `bytes` would take that is alone and not lost.
    pub(crate) fn alone(&mut self, now: Time, bytes: u32) -> Duration {
        let step = self.step_at(now);
        let settings = &self.profile.steps[step].1;
        let line = settings.bandwidth.map_or(0, |bandwidth| {
            (u64::from(bytes) * 8 * 1_000_000_000).div_ceil(bandwidth.max(1))
        });
        self.luck.delay(settings) + Duration::from_nanos(line)
    }

    /// Returns when a packet of `bytes` handed over now arrives, or `None` if it is lost.
    #[inline]
    pub(crate) fn carry(&mut self, now: Time, bytes: u32) -> Option<Time> {
        self.load.sent.count(bytes);
        let arrival = self.arrival(now, bytes);
        if arrival.is_some() {
            self.load.arrived.count(bytes);
        }
        arrival
    }

    #[inline]
    fn arrival(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if self.has_failed {
            return None;
        }
        let step = self.step_at(now);
        let settings = &self.profile.steps[step].1;
        let departure = self.line.serialise(now, bytes, &self.profile.steps[step..])?;
        // Drawn in every case, so that later packets' random numbers do not depend on this
        // packet's loss.
        let lost = self.luck.loses(&settings.loss, now);
        let delay = self.luck.delay(settings);
        if lost {
            return None;
        }
        let mut arrival = departure + delay;
        if !settings.reorders {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        Some(arrival)
    }

    fn step_at(&mut self, now: Time) -> usize {
        let steps = &self.profile.steps;
        while steps.get(self.step as usize + 1).is_some_and(|(from, _)| *from <= now) {
            self.step += 1;
        }
        self.step as usize
    }
}

impl Transmitter {
    /// Returns when the last bit has left, or `None` if the queue is full. The first of the
    /// steps holds now.
    #[inline]
    fn serialise(&mut self, now: Time, bytes: u32, steps: &[(Time, LinkSettings)]) -> Option<Time> {
        if steps[0].1.bandwidth.is_none() && self.free_at <= now {
            return Some(now);
        }
        self.queue(now, bytes, steps)
    }

    /// Does the same for a packet that may have to wait. If the bandwidth changes while a packet
    /// leaves, a part of it leaves at the old bandwidth.
    fn queue(&mut self, now: Time, bytes: u32, steps: &[(Time, LinkSettings)]) -> Option<Time> {
        let settings = &steps[0].1;
        if let (Some(limit), Some(bandwidth)) = (settings.queue_bytes, settings.bandwidth) {
            let waiting = bytes_in(self.free_at.since(now), bandwidth.max(1));
            if waiting + u128::from(bytes) > u128::from(limit) {
                return None;
            }
        }
        let mut at = self.free_at.max(now);
        let mut bits = u64::from(bytes) * 8;
        for (place, (_, settings)) in steps.iter().enumerate() {
            let end = steps.get(place + 1).map_or(Time::NEVER, |(from, _)| *from);
            if end <= at {
                continue;
            }
            let Some(bandwidth) = settings.bandwidth else { break };
            let needed = (bits * 1_000_000_000).div_ceil(bandwidth.max(1));
            let room = end.since(at);
            if needed <= room.as_nanos() {
                at = at + Duration::from_nanos(needed);
                break;
            }
            bits -= (bytes_in(room, bandwidth.max(1)) * 8) as u64;
            at = end;
        }
        self.free_at = at;
        Some(at)
    }
}

/// Returns the whole bytes that a line of `bandwidth` bits per second sends in a time.
fn bytes_in(time: Duration, bandwidth: u64) -> u128 {
    u128::from(time.as_nanos()) * u128::from(bandwidth) / 8_000_000_000
}

impl Luck {
    fn loses(&mut self, loss: &Loss, now: Time) -> bool {
        match *loss {
            Loss::Burst { share, length, good, bad } => {
                let chance = if self.is_bad(share, length, now) { bad } else { good };
                self.random.uniform() < chance
            }
            Loss::None => false,
            Loss::Random(probability) => self.random.uniform() < probability,
        }
    }

    #[inline(never)]
    fn is_bad(&mut self, share: f64, length: Duration, now: Time) -> bool {
        self.in_burst = self.random.uniform() < self.chance_of_bad(share, length, now);
        self.looked_at = now;
        self.in_burst
    }

    /// Returns the probability of the bad state, given the state at the last packet: the transient
    /// solution of a two-state Markov chain in continuous time.
    fn chance_of_bad(&self, share: f64, length: Duration, now: Time) -> f64 {
        if self.looked_at == Time::NEVER {
            return share;
        }
        let lengths = now.since(self.looked_at).as_nanos() as f64 / length.as_nanos().max(1) as f64;
        let memory = (-lengths / (1.0 - share)).exp();
        share + (f64::from(u8::from(self.in_burst)) - share) * memory
    }

    fn delay(&mut self, settings: &LinkSettings) -> Duration {
        if settings.jitter == Duration::ZERO {
            return settings.delay;
        }
        let jitter = settings.jitter.as_nanos();
        let shift = (self.random.uniform() * 2.0 * jitter as f64) as u64;
        Duration::from_nanos((settings.delay.as_nanos() + shift).saturating_sub(jitter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(settings: LinkSettings) -> Link {
        Link::new(LinkProfile::constant(settings), RandomStream::new(7, 0))
    }

    const BURSTS: Loss =
        Loss::Burst { share: 0.1, length: Duration::from_millis(20), good: 0.0, bad: 1.0 };

    fn fates_of(link: &mut Link, gap: Duration, packets: u64) -> Vec<bool> {
        let at = |packet| Time::ZERO + gap * packet;
        (0..packets).map(|packet| link.carry(at(packet), 100).is_none()).collect()
    }

    fn lost_of(link: &mut Link, packets: u32) -> u32 {
        (0..packets).filter(|_| link.carry(Time::ZERO, 100).is_none()).count() as u32
    }

    #[test]
    fn bandwidth_serialises_one_packet_after_the_other() {
        let mut link = link(LinkSettings {
            delay: Duration::from_millis(10),
            bandwidth: Some(8_000),
            queue_bytes: Some(250),
            ..LinkSettings::default()
        });
        let arrivals: Vec<_> = (0..3).map(|_| link.carry(Time::ZERO, 100)).collect();
        let at = |ms| Some(Time::ZERO + Duration::from_millis(ms));
        assert_eq!(arrivals, [at(110), at(210), None]);
    }

    #[test]
    fn burst_loss_has_the_stationary_share() {
        let mut link = link(LinkSettings { loss: BURSTS, ..LinkSettings::default() });
        let fates = fates_of(&mut link, Duration::from_millis(1), 400_000);
        let lost = fates.iter().filter(|&&lost| lost).count();
        assert!((38_000..42_000).contains(&lost), "{lost}");
    }

    #[test]
    fn bursts_last_as_long_as_they_should() {
        let mut link = link(LinkSettings { loss: BURSTS, ..LinkSettings::default() });
        let fates = fates_of(&mut link, Duration::from_millis(1), 400_000);
        let bursts = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count();
        let lost = fates.iter().filter(|&&lost| lost).count();
        // Mean length in packets a millisecond apart; very short bursts fall between two packets.
        let mean = lost as f64 / bursts as f64;
        assert!((19.0..23.0).contains(&mean), "{mean}");
    }

    #[test]
    fn packets_far_apart_are_lost_independently() {
        let mut link = link(LinkSettings { loss: BURSTS, ..LinkSettings::default() });
        let fates = fates_of(&mut link, Duration::from_secs(1), 100_000);
        let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count();
        // 10 % of 10 %.
        assert!((850..1_150).contains(&pairs), "{pairs}");
    }

    #[test]
    fn random_loss_and_total_loss() {
        let mut link = link(LinkSettings { loss: Loss::Random(0.1), ..LinkSettings::default() });
        let lost = lost_of(&mut link, 100_000);
        assert!((9_700..10_300).contains(&lost), "{lost}");
        link.change(LinkProfile::delay_and_loss(Duration::ZERO, 1.0));
        assert_eq!(lost_of(&mut link, 1_000), 1_000);
    }

    #[test]
    fn what_waits_leaves_at_the_rate_of_its_time() {
        let rate = |bandwidth| LinkSettings { bandwidth, ..LinkSettings::default() };
        let second = Time::ZERO + Duration::from_secs(1);
        for (then, last_ms) in [(Some(80_000), 1_130), (None, 1_000), (Some(4_000), 3_600)] {
            let steps = vec![(Time::ZERO, rate(Some(8_000))), (second, rate(then))];
            let mut link = Link::new(LinkProfile::changing(steps), RandomStream::new(7, 0));
            let arrivals: Vec<_> = (0..23).map(|_| link.carry(Time::ZERO, 100)).collect();
            let at = |ms| Some(Time::ZERO + Duration::from_millis(ms));
            assert_eq!((arrivals[0], arrivals[9]), (at(100), at(1_000)));
            assert_eq!(arrivals[22], at(last_ms), "{then:?}");
        }
    }

    #[test]
    fn what_leaves_while_the_rate_changes_leaves_at_both() {
        let rate =
            |bandwidth| LinkSettings { bandwidth: Some(bandwidth), ..LinkSettings::default() };
        let half = Time::ZERO + Duration::from_millis(50);
        let steps = vec![(Time::ZERO, rate(8_000)), (half, rate(16_000))];
        let mut link = Link::new(LinkProfile::changing(steps), RandomStream::new(7, 0));
        let expected = Some(Time::ZERO + Duration::from_millis(75));
        assert_eq!(link.carry(Time::ZERO, 100), expected);
    }

    #[test]
    fn settings_change_at_their_time() {
        let second = Time::ZERO + Duration::from_secs(1);
        let slow = LinkSettings { delay: Duration::from_millis(50), ..LinkSettings::default() };
        let steps = vec![(Time::ZERO, LinkSettings::default()), (second, slow)];
        let mut link = Link::new(LinkProfile::changing(steps), RandomStream::new(7, 0));
        assert_eq!(link.carry(Time::ZERO, 100), Some(Time::ZERO));
        assert_eq!(link.carry(second, 100), Some(second + Duration::from_millis(50)));
    }
}
