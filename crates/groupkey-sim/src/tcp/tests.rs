//! Known answers as short packet traces. Round trips take 100 ms and timers are exact, so every
//! time can be worked out by hand: srtt = 100, RTO = 100 + 200 = 300 ms.

use super::*;
use crate::fifo::Fifo;
use crate::time::Duration;

/// Two ends joined by a pipe of 50 ms, and the trace of what both send.
struct Rig {
    profile: TcpProfile,
    now: Time,
    ends: [Endpoint; 2],
    on_the_way: Vec<(Time, usize, Segment)>,
    /// (milliseconds, end, sequence, length) of every segment, including lost ones.
    trace: Vec<(u64, usize, u64, u32)>,
    /// Indices in the trace of the segments to lose.
    losses: Vec<usize>,
}

const CLIENT: usize = 0;
const BROKER: usize = 1;

fn end(role: Side, round_trip: Duration, profile: &TcpProfile) -> Endpoint {
    Endpoint::new(role, &SetUp { round_trip, ..SetUp::at_once(profile) })
}

impl Rig {
    fn losing(losses: &[usize]) -> Self {
        let profile = TcpProfile { tick: Duration::ZERO, ..TcpProfile::default() };
        let end = |role| end(role, Duration::from_millis(100), &profile);
        Self {
            profile,
            now: Time::ZERO,
            ends: [end(Side::Client), end(Side::Broker)],
            on_the_way: Vec::new(),
            trace: Vec::new(),
            losses: losses.to_vec(),
        }
    }

    fn write(&mut self, end: usize, bytes: u32) {
        self.step(end, |endpoint, cx| endpoint.write(cx, bytes));
    }

    /// Runs up to a point in time, given in milliseconds.
    fn run(&mut self, until_ms: u64) -> &mut Self {
        let until = Time::ZERO + Duration::from_millis(until_ms);
        loop {
            let arrival = self.on_the_way.iter().map(|(at, ..)| *at).min().unwrap_or(Time::NEVER);
            let timer = self
                .ends
                .iter()
                .map(|end| end.deadline(&self.profile))
                .min()
                .unwrap_or(Time::NEVER);
            if arrival.min(timer) > until {
                self.now = until;
                return self;
            }
            self.now = arrival.min(timer);
            if arrival <= timer {
                let first = self.on_the_way.iter().position(|(at, ..)| *at == arrival).unwrap();
                let (_, to, segment) = self.on_the_way.remove(first);
                self.step(to, |endpoint, cx| endpoint.receive(cx, &segment));
            } else {
                let end = usize::from(self.ends[BROKER].deadline(&self.profile) == timer);
                self.step(end, |endpoint, cx| endpoint.expire(cx).expect("gives up later"));
            }
        }
    }

    fn step(&mut self, end: usize, act: impl FnOnce(&mut Endpoint, &mut TcpContext<'_>)) {
        let mut out = Fifo::new();
        let mut cx = TcpContext { now: self.now, profile: &self.profile, out: &mut out };
        act(&mut self.ends[end], &mut cx);
        for &segment in out.iter() {
            let lost = self.losses.contains(&self.trace.len());
            let ms = self.now.as_nanos() / 1_000_000;
            self.trace.push((ms, end, segment.sequence, segment.length));
            if !lost {
                self.on_the_way.push((self.now + Duration::from_millis(50), 1 - end, segment));
            }
        }
    }

    /// Returns when data left the client, and from where in the stream.
    fn client_data(&self) -> Vec<(u64, u64, u32)> {
        let sent = self.trace.iter().filter(|(_, end, _, length)| *end == CLIENT && *length > 0);
        sent.map(|&(ms, _, sequence, length)| (ms, sequence, length)).collect()
    }

    fn broker_acknowledgements(&self) -> Vec<u64> {
        let sent = self.trace.iter().filter(|(_, end, _, length)| *end == BROKER && *length == 0);
        sent.map(|&(ms, ..)| ms).collect()
    }
}

#[test]
fn the_first_two_retries_are_not_doubled() {
    let mut rig = Rig::losing(&[0, 1, 2, 3, 4, 5]);
    rig.write(CLIENT, 100);
    rig.run(5_000);
    let times: Vec<_> = rig.client_data().iter().map(|(ms, ..)| *ms).collect();
    // The probe would wait 2 x 100 + 200 ms, but never beyond the timeout. After it, the timeout
    // runs in full; only then it doubles.
    assert_eq!(times, [0, 300, 600, 1_200, 2_400, 4_800]);
}

#[test]
fn without_a_probe_every_retry_doubles() {
    let mut rig = Rig::losing(&[0, 1, 2, 3, 4]);
    rig.profile.tail_loss_probe = false;
    rig.write(CLIENT, 100);
    rig.run(5_000);
    let times: Vec<_> = rig.client_data().iter().map(|(ms, ..)| *ms).collect();
    assert_eq!(times, [0, 300, 900, 2_100, 4_500]);
}

#[test]
fn an_echo_of_a_repeat_resets_the_back_off() {
    let mut rig = Rig::losing(&[0, 1, 2]);
    rig.write(CLIENT, 100);
    rig.run(1_900);
    // The next retry was due at 2,400 ms. The fourth copy's delayed acknowledgement took 140 ms.
    assert!(rig.ends[CLIENT].sender.timeout() < Duration::from_millis(310));
}

#[test]
fn three_segments_beyond_a_gap_trigger_a_repeat_at_once() {
    let mut rig = Rig::losing(&[0]);
    for _ in 0..4 {
        rig.write(CLIENT, 100);
    }
    rig.run(250);
    assert_eq!(rig.client_data()[4..], [(100, 0, 100)]);
    assert_eq!(rig.ends[BROKER].received(), 400);
}

#[test]
fn fewer_wait_for_a_quarter_of_a_round_trip() {
    let mut rig = Rig::losing(&[0]);
    for _ in 0..3 {
        rig.write(CLIENT, 100);
    }
    rig.run(250);
    // 100 + 100 / 4 ms, and 2 ms of least timeout.
    assert_eq!(rig.client_data()[3..], [(127, 0, 100)]);
}

#[test]
fn in_the_loss_state_new_data_waits_behind_the_repeat() {
    let mut rig = Rig::losing(&[0, 1]);
    rig.write(CLIENT, 100);
    rig.run(620);
    rig.write(CLIENT, 100);
    rig.write(CLIENT, 50);
    rig.run(900);
    // The acknowledgement of the repeat at 600 ms is delayed until 740. The waiting data leaves
    // in one segment.
    assert_eq!(rig.client_data(), [(0, 0, 100), (300, 0, 100), (600, 0, 100), (740, 100, 150)]);
}

#[test]
fn a_repeat_takes_the_small_segments_after_it_along() {
    let mut rig = Rig::losing(&[0, 1, 2]);
    rig.write(CLIENT, 100);
    rig.write(CLIENT, 50);
    rig.run(590);
    // The probe after 2 x 100 + 2 ms repeats the last segment. The timeout repeats all of it.
    assert_eq!(rig.client_data()[2..], [(202, 100, 50), (502, 0, 150)]);
}

#[test]
fn an_acknowledgement_waits_for_data_to_ride_on() {
    let mut rig = Rig::losing(&[]);
    rig.write(CLIENT, 100);
    rig.run(60);
    rig.write(BROKER, 4);
    rig.run(200);
    // The data arrives at 50 and is answered at 60 by data alone.
    assert!(rig.broker_acknowledgements().is_empty());
}

#[test]
fn an_acknowledgement_waits_40_ms_then_interactive_use_is_over() {
    let mut rig = Rig::losing(&[]);
    rig.write(CLIENT, 100);
    rig.run(200);
    rig.write(CLIENT, 100);
    rig.run(400);
    assert_eq!(rig.broker_acknowledgements(), [90, 250]);
}

#[test]
fn a_probe_that_repaired_a_loss_costs_window_and_one_that_did_not_costs_none() {
    // The link loses the segment, or its first acknowledgement, which is delayed.
    for (losses, cwnd) in [(&[0][..], 7), (&[1][..], 10)] {
        let mut rig = Rig::losing(losses);
        rig.write(CLIENT, 100);
        rig.run(600);
        rig.write(CLIENT, 100);
        rig.run(1_200);
        assert_eq!(rig.client_data().len(), 3, "one probe");
        assert_eq!(rig.ends[CLIENT].sender.cwnd(), cwnd);
    }
}

#[test]
fn a_spurious_timeout_is_undone() {
    // The data arrives, but its acknowledgement is lost. The repeat is reported as a duplicate.
    let mut rig = Rig::losing(&[1]);
    rig.profile.tail_loss_probe = false;
    rig.write(CLIENT, 100);
    rig.run(390);
    assert_eq!(rig.client_data().len(), 2);
    assert_eq!(rig.ends[CLIENT].sender.cwnd(), 1);
    rig.run(1_000);
    assert_eq!(rig.ends[CLIENT].sender.cwnd(), 10);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut rig = Rig::losing(&[]);
    rig.losses = (0..100).collect();
    rig.profile.give_up_after = Duration::from_secs(5);
    rig.write(CLIENT, 100);
    rig.run(4_900);
    let mut out = Fifo::new();
    let deadline = rig.ends[CLIENT].deadline(&rig.profile);
    let mut cx = TcpContext { now: deadline, profile: &rig.profile, out: &mut out };
    assert_eq!(rig.ends[CLIENT].expire(&mut cx), Err(GaveUp));
}

#[test]
fn linux_gives_up_after_its_fifteen_retries() {
    // tcp_retries2 = 15 is a time: what 15 retries take whose timeouts begin at 200 ms and double up
    // to 120 s (Documentation/networking/ip-sysctl.rst).
    let hypothetical: u64 = (0..16).map(|retry| (200 << retry).min(120_000)).sum();
    let give_up_after = TcpProfile::default().give_up_after;
    assert_eq!(give_up_after, Duration::from_millis(hypothetical));
    let mut rig = Rig::losing(&[]);
    rig.losses = (0..100).collect();
    rig.write(CLIENT, 100);
    rig.run(990_000);
    // The probe leaves at 300 ms, the first retry at 600. Its timeout of 600 ms doubles up to 120 s
    // eight times, and then seven more make 924.6 s and more.
    let gives_up = Time::ZERO + Duration::from_millis(600 + 600 * 255 + 7 * 120_000);
    assert_eq!(rig.ends[CLIENT].deadline(&rig.profile), gives_up);
    let mut out = Fifo::new();
    let mut cx = TcpContext { now: gives_up, profile: &rig.profile, out: &mut out };
    assert_eq!(rig.ends[CLIENT].expire(&mut cx), Err(GaveUp));
}

#[test]
fn no_timeout_is_longer_than_the_longest() {
    let profile = TcpProfile::default();
    let end = end(Side::Client, Duration::from_secs(120), &profile);
    assert_eq!(end.sender.timeout(), profile.maximum_timeout);
}
