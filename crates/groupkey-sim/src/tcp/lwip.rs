//! One end of a connection as lwIP 2.1 runs it.
//!
//! It is a smaller TCP than Linux's. One timer ticks for all connections of the device, every
//! 250 ms: a delayed acknowledgement leaves at the next tick, and every second tick counts towards
//! retransmission. Round trips are counted in those ticks of 500 ms, so a round trip that is
//! shorter counts as zero or one. There are neither selective acknowledgements nor timestamps, and
//! Nagle's algorithm is on. The functions of lwIP that a rule comes from stand beside it.

mod profile;
mod receiver;

use std::collections::VecDeque;

pub use self::profile::LwipProfile;
use self::receiver::{Owed, Receiver};
use super::Peer;
use super::context::{Context, GaveUp};
use super::segment::Segment;
use crate::time::{Duration, Time};

/// By how many bits each further timeout in a row shifts the estimate (`tcp_backoff`, tcp.c).
const BACK_OFF: [u8; 13] = [1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7];
/// Duplicate acknowledgements that trigger a retransmission (`tcp_receive`, tcp_in.c).
const DUPLICATE_THRESHOLD: u8 = 3;

/// An end that runs lwIP.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    profile: LwipProfile,
    timer: Timer,
    peer: Peer,
    receiver: Receiver,
    /// End of what the application wrote, and of what fitted into the send buffer.
    written: u64,
    buffered: u64,
    /// First byte not acknowledged (`lastack`), and the highest byte ever sent (`snd_nxt`).
    acknowledged: u64,
    next: u64,
    unacknowledged: VecDeque<Piece>,
    unsent: VecDeque<Piece>,
    /// Congestion window, its threshold, and acknowledged bytes that count towards an increase.
    window: u64,
    threshold: u64,
    credit: u64,
    duplicates: u8,
    /// Whether a fast retransmission is under way (`TF_INFR`).
    fast: bool,
    /// End of the data sent before a timeout, while it is being sent again (`TF_RTO`).
    repeating_until: Option<u64>,
    estimate: Estimate,
    /// The tick at which the measured segment left, and its place in the stream (`rttest`).
    measured: Option<(i64, u64)>,
    /// The tick at which the retransmission timer was set (`rtime`).
    running_since: Option<i64>,
    /// The retransmission timeout in ticks (`rto`), and timeouts in a row (`nrtx`).
    timeout: i16,
    timeouts: u8,
}

/// A segment in a queue of the sender.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    /// Whether it was sent before.
    sent: bool,
}

/// The device's timer.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// How long before the network was made a tick of retransmissions fell.
    phase: i64,
    /// Length of such a tick, ns.
    slow: i64,
}

/// The round-trip time in ticks, by the integer arithmetic of `tcp_receive`.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    /// Eight times the smoothed round-trip time (`sa`).
    smoothed: i16,
    /// Four times the mean deviation (`sv`).
    deviation: i16,
}

impl Endpoint {
    /// Makes an end of a connection. Each round trip of the set-up took `round_trip`. The device's
    /// timer ticked `phase` before the network was made.
    pub(super) fn new(
        now: Time,
        round_trip: Duration,
        profile: &LwipProfile,
        phase: Duration,
        peer: Peer,
    ) -> Self {
        let slow = profile.slow_tick().max(2) as i64;
        let timer = Timer { phase: phase.as_nanos() as i64, slow };
        let first = (profile.first_timeout.as_nanos() as i64 / slow) as i16;
        let mut estimate = Estimate { smoothed: 0, deviation: first };
        // The SYN is measured until the answer to CONNECT arrives, then SUBSCRIBE is.
        let (now, trip) = (now.as_nanos() as i64, round_trip.as_nanos() as i64);
        let passed = |from, until| timer.ticks(now - until * trip) - timer.ticks(now - from * trip);
        estimate.sample(passed(3, 1));
        estimate.sample(passed(1, 0));
        Self {
            profile: *profile,
            timer,
            peer,
            receiver: Receiver::new(profile),
            written: 0,
            buffered: 0,
            acknowledged: 0,
            next: 0,
            unacknowledged: VecDeque::new(),
            unsent: VecDeque::new(),
            window: profile.first_window(),
            threshold: u64::from(profile.send_buffer),
            credit: 0,
            duplicates: 0,
            fast: false,
            repeating_until: None,
            timeout: estimate.timeout(0),
            estimate,
            measured: None,
            running_since: None,
            timeouts: 0,
        }
    }

    /// Returns the bytes received in order since the set-up.
    pub(super) const fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// Returns the bytes written since the set-up.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Frees memory that is not needed now.
    pub(super) fn shrink(&mut self) {
        self.unacknowledged.shrink_to_fit();
        self.unsent.shrink_to_fit();
    }

    /// Returns when `expire` must be called next.
    pub(super) fn deadline(&self) -> Time {
        let retransmission = self.running_since.map_or(Time::NEVER, |since| {
            self.timer.time_of(since + i64::from(self.timeout.max(1)))
        });
        retransmission.min(self.receiver.due())
    }

    /// Writes `bytes` as the application (`tcp_write`, `tcp_output`).
    pub(super) fn write(&mut self, cx: &mut Context<'_>, bytes: u32) {
        self.written += u64::from(bytes);
        self.fill_buffer();
        self.output(cx);
    }

    /// Handles a segment that arrived (`tcp_input`).
    pub(super) fn receive(&mut self, cx: &mut Context<'_>, segment: &Segment) {
        self.take_acknowledgement(cx.now, segment);
        let next_fast_tick = self.timer.next_fast(cx.now);
        if self.receiver.take(segment, next_fast_tick, &self.profile) == Owed::AtOnce {
            self.acknowledge(cx);
        }
        self.fill_buffer();
        self.output(cx);
    }

    /// Handles a deadline that has come (`tcp_fasttmr`, `tcp_slowtmr`).
    pub(super) fn expire(&mut self, cx: &mut Context<'_>) -> Result<(), GaveUp> {
        if self.receiver.due() <= cx.now {
            self.receiver.hurry();
            self.output(cx);
            // lwIP clears the flag even if Nagle's algorithm kept the segment that would have
            // carried the acknowledgement. Then none is sent.
            self.receiver.settle();
        }
        let tick = self.timer.ticks(cx.now.as_nanos() as i64);
        let expired = |since| tick - since >= i64::from(self.timeout.max(1));
        if !self.running_since.is_some_and(expired) {
            return Ok(());
        }
        if self.timeouts >= self.profile.retransmissions {
            return Err(GaveUp);
        }
        if self.unacknowledged.is_empty() && self.unsent.is_empty() {
            self.running_since = None;
            return Ok(());
        }
        self.time_out(tick);
        self.output(cx);
        Ok(())
    }

    /// Prepares all data in flight to be sent again, one segment first (`tcp_rexmit_rto_prepare`).
    fn time_out(&mut self, tick: i64) {
        if let Some(last) = self.unacknowledged.back() {
            self.repeating_until = Some(last.end);
        }
        while let Some(piece) = self.unacknowledged.pop_back() {
            self.unsent.push_front(piece);
        }
        self.measured = None;
        self.timeout = self.estimate.timeout(BACK_OFF[usize::from(self.timeouts).min(12)]);
        self.running_since = Some(tick);
        self.threshold = self.halved();
        self.window = u64::from(self.segment());
        self.credit = 0;
        self.timeouts += 1;
    }

    /// Takes the acknowledgement that a segment carries (`tcp_receive`).
    fn take_acknowledgement(&mut self, now: Time, segment: &Segment) {
        let acknowledgement = segment.acknowledgement;
        if acknowledgement > self.acknowledged && acknowledgement <= self.next {
            self.advance(now, acknowledgement);
        } else if acknowledgement <= self.acknowledged {
            let duplicate = segment.length == 0
                && self.running_since.is_some()
                && acknowledgement == self.acknowledged;
            if duplicate {
                self.take_duplicate(now);
            } else {
                self.duplicates = 0;
            }
        }
        if let Some((tick, place)) = self.measured
            && place < acknowledgement
        {
            self.estimate.sample(self.timer.ticks(now.as_nanos() as i64) - tick);
            self.timeout = self.estimate.timeout(0);
            self.measured = None;
        }
    }

    fn advance(&mut self, now: Time, acknowledgement: u64) {
        if self.fast {
            self.fast = false;
            self.window = self.threshold;
            self.credit = 0;
        }
        self.timeouts = 0;
        self.timeout = self.estimate.timeout(0);
        self.grow(acknowledgement - self.acknowledged);
        self.duplicates = 0;
        self.acknowledged = acknowledgement;
        // After a timeout, data that was sent before lies in the other queue.
        for queue in [&mut self.unacknowledged, &mut self.unsent] {
            while queue.front().is_some_and(|piece| piece.end <= acknowledgement) {
                queue.pop_front();
            }
        }
        self.running_since = match self.unacknowledged.is_empty() {
            true => None,
            false => Some(self.timer.ticks(now.as_nanos() as i64)),
        };
        let first = self.unacknowledged.front().or_else(|| self.unsent.front());
        if first.is_none_or(|piece| self.repeating_until.is_some_and(|end| end <= piece.start)) {
            self.repeating_until = None;
        }
    }

    /// Grows the window: by what was acknowledged in slow start (RFC 3465), then by a segment a
    /// window.
    fn grow(&mut self, acknowledged: u64) {
        let segment = u64::from(self.segment());
        if self.window < self.threshold {
            let most = if self.repeating_until.is_some() { segment } else { 2 * segment };
            self.window += acknowledged.min(most);
            return;
        }
        self.credit += acknowledged;
        if self.credit >= self.window {
            self.credit -= self.window;
            self.window += segment;
        }
    }

    /// Counts a duplicate; the third repeats the first segment in flight (`tcp_rexmit_fast`).
    fn take_duplicate(&mut self, now: Time) {
        self.duplicates = self.duplicates.saturating_add(1);
        let segment = u64::from(self.segment());
        if self.duplicates > DUPLICATE_THRESHOLD {
            self.window += segment;
        }
        if self.duplicates < DUPLICATE_THRESHOLD || self.fast {
            return;
        }
        let Some(piece) = self.unacknowledged.pop_front() else {
            return;
        };
        self.unsent.push_front(piece);
        self.timeouts = self.timeouts.saturating_add(1);
        self.measured = None;
        self.threshold = self.halved();
        self.window = self.threshold + 3 * segment;
        self.fast = true;
        self.running_since = Some(self.timer.ticks(now.as_nanos() as i64));
    }

    /// Moves written data into the send buffer as far as it has room. It joins the last segment
    /// that was not sent, if that has room and Nagle's algorithm made lwIP expect more.
    fn fill_buffer(&mut self) {
        while self.buffered < self.written {
            let room = u64::from(self.profile.send_buffer).saturating_sub(self.held());
            if room == 0 {
                return;
            }
            let most = u64::from(self.segment());
            let left = (self.written - self.buffered).min(room);
            let joins = |piece: &&mut Piece| !piece.sent && piece.end - piece.start < most;
            if let Some(last) = self.unsent.back_mut().filter(joins)
                && self.profile.nagle
            {
                let bytes = left.min(most - (last.end - last.start));
                last.end += bytes;
                self.buffered += bytes;
                continue;
            }
            if self.queued() >= self.profile.send_queue as usize {
                return;
            }
            let (start, end) = (self.buffered, self.buffered + left.min(most));
            self.unsent.push_back(Piece { start, end, sent: false });
            self.buffered = end;
        }
    }

    /// Sends what the windows and Nagle's algorithm allow, or the acknowledgement that is due
    /// (`tcp_output`).
    fn output(&mut self, cx: &mut Context<'_>) {
        let window = self.window.min(self.peer.window);
        let fits = |piece: &Piece, acknowledged| piece.end - acknowledged <= window;
        if !self.unsent.front().is_some_and(|piece| fits(piece, self.acknowledged)) {
            if self.receiver.is_hurried() {
                self.acknowledge(cx);
            }
            return;
        }
        while let Some(&piece) = self.unsent.front()
            && fits(&piece, self.acknowledged)
            && self.nagle_admits(&piece)
        {
            self.unsent.pop_front();
            self.send(cx, piece);
        }
    }

    /// Returns whether Nagle's algorithm lets the first unsent segment leave
    /// (`tcp_do_output_nagle`).
    fn nagle_admits(&self, piece: &Piece) -> bool {
        !self.profile.nagle
            || self.unacknowledged.is_empty()
            || self.fast
            || self.unsent.len() > 1
            || piece.end - piece.start >= u64::from(self.segment())
            || self.held() >= u64::from(self.profile.send_buffer)
            || self.queued() >= self.profile.send_queue as usize
    }

    fn send(&mut self, cx: &mut Context<'_>, piece: Piece) {
        let tick = self.timer.ticks(cx.now.as_nanos() as i64);
        self.running_since.get_or_insert(tick);
        self.measured.get_or_insert((tick, piece.start));
        self.next = self.next.max(piece.end);
        let place = self.unacknowledged.partition_point(|other| other.start < piece.start);
        self.unacknowledged.insert(place, Piece { sent: true, ..piece });
        let segment = cx.send();
        segment.sequence = piece.start;
        segment.length = (piece.end - piece.start) as u32;
        segment.retransmission = piece.sent;
        self.receiver.stamp(segment);
    }

    /// Sends an acknowledgement without data (`tcp_send_empty_ack`).
    fn acknowledge(&mut self, cx: &mut Context<'_>) {
        let next = self.next;
        let segment = cx.send();
        segment.sequence = next;
        self.receiver.stamp(segment);
    }

    const fn segment(&self) -> u32 {
        self.peer.maximum_segment
    }

    /// Returns half of the window in use, two segments at least.
    fn halved(&self) -> u64 {
        (self.window.min(self.peer.window) / 2).max(2 * u64::from(self.segment()))
    }

    /// Returns the bytes in the send buffer.
    fn held(&self) -> u64 {
        let fronts = [self.unacknowledged.front(), self.unsent.front()];
        let first = fronts.into_iter().flatten().map(|piece| piece.start).min();
        first.map_or(0, |start| self.buffered - start)
    }

    /// Returns the number of segments in the send buffer.
    fn queued(&self) -> usize {
        self.unacknowledged.len() + self.unsent.len()
    }
}

impl Timer {
    /// Returns how many ticks of retransmissions have passed.
    const fn ticks(self, nanoseconds: i64) -> i64 {
        (nanoseconds + self.phase).div_euclid(self.slow)
    }

    /// Returns when a tick falls.
    fn time_of(self, tick: i64) -> Time {
        let at = tick.saturating_mul(self.slow).saturating_sub(self.phase);
        Time::from_nanos(at.max(0) as u64)
    }

    /// Returns the next tick of delayed acknowledgements after now.
    fn next_fast(self, now: Time) -> Time {
        let fast = self.slow / 2;
        let tick = (now.as_nanos() as i64 + self.phase).div_euclid(fast) + 1;
        Time::from_nanos((tick * fast - self.phase).max(0) as u64)
    }
}

impl Estimate {
    fn sample(&mut self, ticks: i64) {
        let error = ticks.clamp(0, i64::from(i16::MAX / 2)) as i16 - (self.smoothed >> 3);
        self.smoothed = self.smoothed.saturating_add(error);
        let change = error.saturating_abs() - (self.deviation >> 2);
        self.deviation = self.deviation.saturating_add(change);
    }

    /// Returns the retransmission timeout in ticks, shifted by the back-off.
    fn timeout(self, shift: u8) -> i16 {
        let ticks = (i32::from(self.smoothed >> 3) + i32::from(self.deviation)) << shift;
        ticks.clamp(0, i32::from(i16::MAX)) as i16
    }
}

#[cfg(test)]
mod tests;
