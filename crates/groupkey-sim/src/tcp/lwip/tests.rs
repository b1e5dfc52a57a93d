//! Known answers of lwIP's sender and receiver, worked out by hand from its source.

use super::*;
use crate::fifo::Fifo;
use crate::tcp::TcpProfile;

const PEER: Peer = Peer { selective: false, maximum_segment: 1_440, window: u64::MAX };

/// One end without a peer: the test makes the segments that arrive.
struct Bench {
    end: Endpoint,
    linux: TcpProfile,
}

impl Bench {
    /// Makes an end whose timer ticks at 0, 250, 500 ms and so on.
    fn new(profile: LwipProfile) -> Self {
        let end = Endpoint::new(Time::ZERO, Duration::ZERO, &profile, Duration::ZERO, PEER);
        Self { end, linux: TcpProfile::default() }
    }

    /// Returns the segments that a step at `ms` sends, as (sequence, length, acknowledgement).
    fn at(
        &mut self,
        ms: u64,
        act: impl FnOnce(&mut Endpoint, &mut Context<'_>),
    ) -> Vec<(u64, u32, u64)> {
        let mut out = Fifo::new();
        let now = Time::ZERO + Duration::from_millis(ms);
        act(&mut self.end, &mut Context { now, profile: &self.linux, out: &mut out });
        out.iter().map(|sent| (sent.sequence, sent.length, sent.acknowledgement)).collect()
    }

    fn write(&mut self, ms: u64, bytes: u32) -> Vec<(u64, u32, u64)> {
        self.at(ms, |end, cx| end.write(cx, bytes))
    }

    fn receive(&mut self, ms: u64, sequence: u64, length: u32, acknowledgement: u64) -> usize {
        let segment = Segment { sequence, length, acknowledgement, ..Segment::default() };
        self.at(ms, |end, cx| end.receive(cx, &segment)).len()
    }

    /// Lets the end wait for its next deadline. Returns when that was (ms), and what it sent.
    fn wait(&mut self) -> (u64, Vec<(u64, u32, u64)>) {
        let ms = self.end.deadline().as_nanos() / 1_000_000;
        (ms, self.at(ms, |end, cx| end.expire(cx).expect("gives up later")))
    }
}

#[test]
fn retries_come_on_ticks_and_double() {
    let mut bench = Bench::new(LwipProfile::default());
    // The timeout is 1,500 ms, three ticks of 500 ms. The first tick comes after 400 ms already.
    assert_eq!(bench.write(100, 100), [(0, 100, 0)]);
    let times: Vec<u64> = (0..4).map(|_| bench.wait().0).collect();
    assert_eq!(times, [1_500, 4_500, 10_500, 22_500]);
}

#[test]
fn a_first_timeout_of_3_s_falls_to_1500_ms_with_short_round_trips() {
    let mut bench = Bench::new(LwipProfile::unix_port());
    // 6 ticks at first; each round trip below a tick takes a quarter off, rounded: 5, 4, 3, 3.
    assert_eq!(bench.end.timeout, 4, "the set-up has two round trips");
    for trip in 1..4 {
        bench.write(trip, 100);
        bench.receive(trip, 0, 0, trip * 100);
    }
    assert_eq!(bench.end.timeout, 3);
}

#[test]
fn a_small_segment_waits_while_another_is_out() {
    let mut bench = Bench::new(LwipProfile::default());
    assert_eq!(bench.write(0, 100), [(0, 100, 0)]);
    assert_eq!(bench.write(1, 100), []);
    assert_eq!(bench.write(2, 50), []);
    let acknowledgement = Segment { acknowledgement: 100, ..Segment::default() };
    assert_eq!(bench.at(10, |end, cx| end.receive(cx, &acknowledgement)), [(100, 150, 0)]);

    let mut bench = Bench::new(LwipProfile { nagle: false, ..LwipProfile::default() });
    assert_eq!(bench.write(0, 100), [(0, 100, 0)]);
    assert_eq!(bench.write(1, 100), [(100, 100, 0)]);
}

#[test]
fn every_second_segment_is_acknowledged_now_and_others_at_the_next_tick() {
    let mut bench = Bench::new(LwipProfile::default());
    assert_eq!(bench.receive(10, 0, 100, 0), 0);
    assert_eq!(bench.receive(20, 100, 100, 0), 1);
    assert_eq!(bench.receive(30, 200, 100, 0), 0);
    assert_eq!(bench.wait(), (250, vec![(0, 0, 300)]));
}

#[test]
fn segments_beside_what_is_expected_are_acknowledged_at_once() {
    let mut bench = Bench::new(LwipProfile::default());
    assert_eq!(bench.receive(10, 100, 100, 0), 1);
    assert_eq!(bench.receive(20, 0, 100, 0), 0);
    assert_eq!(bench.end.received(), 200);
    assert_eq!(bench.receive(30, 0, 100, 0), 1);
}

#[test]
fn three_duplicates_repeat_the_first_segment() {
    let mut bench = Bench::new(LwipProfile { nagle: false, ..LwipProfile::default() });
    for _ in 0..5 {
        bench.write(0, 100);
    }
    let sent: Vec<usize> = (1..=4).map(|ms| bench.receive(ms, 0, 0, 0)).collect();
    assert_eq!(sent, [0, 0, 1, 0]);
}

#[test]
fn an_acknowledgement_is_forgotten_while_nagle_keeps_data() {
    let mut bench = Bench::new(LwipProfile::default());
    bench.write(0, 100);
    bench.write(1, 100);
    assert_eq!(bench.receive(10, 0, 100, 0), 0);
    assert_eq!(bench.wait(), (250, vec![]));
    // The timeout repeats the first segment, and the other one leaves behind it.
    assert_eq!(bench.wait(), (1_500, vec![(0, 100, 100)]));
}

#[test]
fn the_window_holds_back_and_opens() {
    let mut bench = Bench::new(LwipProfile::default());
    // The first window is 4,380 bytes: three full segments.
    assert_eq!(bench.write(0, 10_000).len(), 3);
    assert_eq!(bench.receive(1, 0, 0, 1_440), 2);
}

#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut bench = Bench::new(LwipProfile { retransmissions: 2, ..LwipProfile::default() });
    bench.write(0, 100);
    bench.wait();
    bench.wait();
    let deadline = bench.end.deadline();
    let mut out = Fifo::new();
    let mut cx = Context { now: deadline, profile: &bench.linux, out: &mut out };
    assert_eq!(bench.end.expire(&mut cx), Err(GaveUp));
}
