//! The receiving half: reassembly, selective acknowledgement, and when to acknowledge.

use super::milliseconds;
use super::profile::TcpProfile;
use super::segment::{Range, Segment, SelectiveAcknowledgement};
use crate::time::{Duration, Time};

/// Most acknowledgements sent at once after a start, a gap in time or a duplicate.
const QUICK_ACKNOWLEDGEMENTS: u8 = 16;
/// The receiver's first guess of the sender's segment size (RFC 9293 default MSS).
const FIRST_SEGMENT_GUESS: u64 = 536;
/// Ceiling of a delayed acknowledgement, however long the round trip.
const LONGEST_DELAY: Duration = Duration::from_millis(200);

/// Receive state of one end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Everything before this stream offset has arrived.
    next: u64,
    /// The acknowledgement last sent.
    acknowledged: u64,
    /// Data that has arrived beyond a gap, ascending.
    beyond: Vec<Range>,
    /// The block changed last, to be reported first (RFC 2018).
    latest: Range,
    /// Bytes that arrived twice, to be reported once (RFC 2883).
    duplicate: Option<Range>,
    /// The peer's timestamp to echo, ms.
    echo: u64,
    segment_guess: u64,
    /// How long to delay; adapts to the pace of arrivals. Zero before the first data.
    delay: Duration,
    last_arrival: Time,
    quick: u8,
    /// Interactive mode: answers follow requests, so acknowledgements wait to ride on them.
    interactive: bool,
    owed: bool,
    /// Whether the acknowledgement must leave at once.
    now: bool,
    /// Small segments arrived since the last acknowledgement: 0, 1, or 2 and more.
    small: u8,
    /// When the delayed acknowledgement is due.
    due: Time,
}

impl Receiver {
    /// Makes the receiver of a new connection. It is `interactive` if this end answered last.
    pub(crate) fn new(now: Time, interactive: bool, profile: &TcpProfile) -> Self {
        Self {
            next: 0,
            acknowledged: 0,
            beyond: Vec::new(),
            latest: Range::default(),
            duplicate: None,
            echo: milliseconds(now),
            segment_guess: FIRST_SEGMENT_GUESS,
            delay: profile.delayed_acknowledgement,
            last_arrival: now,
            // One acknowledgement was spent on the connection's first packet.
            quick: QUICK_ACKNOWLEDGEMENTS - 1,
            interactive,
            owed: false,
            now: false,
            small: 0,
            due: Time::NEVER,
        }
    }

    /// Returns the bytes received in order.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns when the delayed acknowledgement is due, if one waits.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Checks a segment's place in the stream. A segment that was acknowledged in full before is
    /// refused. It is answered at once, and neither its timestamp nor its acknowledgement counts.
    pub(crate) fn admit(&mut self, segment: &Segment, profile: &TcpProfile) -> bool {
        if segment.length > 0 && segment.end() < self.acknowledged {
            self.repeated(Range { start: segment.sequence, end: segment.end() }, profile);
            self.now = true;
            return false;
        }
        // RFC 7323, section 4.3: echo the timestamp of a segment that starts at or before the last
        // acknowledgement.
        if segment.sequence <= self.acknowledged {
            self.echo = self.echo.max(segment.timestamp);
        }
        true
    }

    /// Takes a segment's data. `timeout` is this end's retransmission timeout.
    pub(crate) fn take(
        &mut self,
        now: Time,
        segment: &Segment,
        timeout: Duration,
        profile: &TcpProfile,
    ) {
        let range = Range { start: segment.sequence, end: segment.end() };
        if range.end <= self.next {
            self.repeated(range, profile);
        } else if range.start > self.next {
            self.set_aside(range);
        } else {
            if range.start < self.next {
                self.duplicate = Some(Range { start: range.start, end: self.next });
            }
            self.adapt(now, u64::from(segment.length), timeout, profile);
            self.next = range.end;
            self.close_gaps(range);
        }
        self.owed = true;
    }

    /// Returns whether an acknowledgement must leave now. Otherwise it waits, at most until `due`.
    pub(crate) fn must_acknowledge(
        &mut self,
        now: Time,
        srtt: impl FnOnce() -> Duration,
        profile: &TcpProfile,
    ) -> bool {
        if !self.owed {
            return self.now;
        }
        let unacknowledged = self.next - self.acknowledged;
        let quick = self.quick > 0 && !self.interactive;
        // The application reads at once. A reader that does not answer acknowledges what it read,
        // and so does a reader that finds two small segments.
        let read = self.small > 1 || (self.small > 0 && !self.interactive);
        let gap = !self.beyond.is_empty();
        if self.now || quick || read || gap || unacknowledged > self.segment_guess {
            return true;
        }
        if profile.delayed_acknowledgement == Duration::ZERO {
            return true;
        }
        let floor = profile.delayed_acknowledgement;
        let delay = self.delay.min(srtt().max(floor).min(LONGEST_DELAY));
        // The timer is about to expire anyway.
        if self.due.since(now).as_nanos() <= delay.as_nanos() / 4 {
            return true;
        }
        // A timer is never early.
        if self.due > now + delay {
            self.due = self.due.min(profile.expiry(now, delay));
        }
        false
    }

    /// Handles the end of a delayed acknowledgement's wait: no data came to ride on.
    pub(crate) fn expire(&mut self, timeout: Duration, profile: &TcpProfile) {
        if self.interactive {
            self.interactive = false;
            self.delay = profile.delayed_acknowledgement;
        } else {
            self.delay = (self.delay * 2).min(timeout);
        }
    }

    /// Records that data leaves. An answer soon after data arrived means interactive use.
    pub(crate) fn answers(&mut self, now: Time) {
        if now.since(self.last_arrival) < self.delay {
            self.interactive = true;
        }
    }

    /// Fills in an outgoing segment's acknowledgement, so that none is owed any more.
    pub(crate) fn stamp(&mut self, segment: &mut Segment, profile: &TcpProfile) {
        segment.acknowledgement = self.next;
        segment.echo = self.echo;
        self.report(&mut segment.selective);
        if self.owed && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = profile.delayed_acknowledgement;
            }
        }
        self.acknowledged = self.next;
        self.duplicate = None;
        self.owed = false;
        self.now = false;
        self.small = 0;
        self.due = Time::NEVER;
    }

    /// Handles bytes that had arrived before. Reports them and acknowledges quickly for a while,
    /// since the sender seems to miss acknowledgements.
    fn repeated(&mut self, range: Range, profile: &TcpProfile) {
        self.duplicate = Some(range);
        self.quick = QUICK_ACKNOWLEDGEMENTS;
        self.interactive = false;
        self.delay = profile.delayed_acknowledgement;
        self.owed = true;
    }

    /// Adapts the delay to the pace at which data arrives.
    fn adapt(&mut self, now: Time, length: u64, timeout: Duration, profile: &TcpProfile) {
        let floor = profile.delayed_acknowledgement;
        let gap = now.since(self.last_arrival);
        let halves = |span: Duration| Duration::from_nanos(span.as_nanos() / 2);
        if gap <= halves(floor) {
            self.delay = halves(self.delay) + halves(floor);
        } else if gap < self.delay {
            self.delay = (halves(self.delay) + gap).min(timeout);
        } else if gap > timeout {
            self.quick = self.quick.max(QUICK_ACKNOWLEDGEMENTS);
        }
        self.last_arrival = now;
        if length >= self.segment_guess {
            self.segment_guess = length;
        } else {
            self.small = (self.small + 1).min(2);
        }
    }

    fn set_aside(&mut self, range: Range) {
        // Mostly the range follows the last one beyond the gap.
        match self.beyond.last_mut() {
            Some(last) if last.end == range.start => {
                last.end = range.end;
                self.latest = *last;
                return;
            }
            Some(last) if last.end > range.start => {}
            _ => {
                self.beyond.push(range);
                self.latest = range;
                return;
            }
        }
        let first = self.beyond.partition_point(|held| held.end < range.start);
        let last = self.beyond.partition_point(|held| held.start <= range.end);
        let mut merged = range;
        for held in &self.beyond[first..last] {
            if range.start.max(held.start) < range.end.min(held.end) {
                self.duplicate = Some(Range {
                    start: range.start.max(held.start),
                    end: range.end.min(held.end),
                });
            }
            merged.start = merged.start.min(held.start);
            merged.end = merged.end.max(held.end);
        }
        if first == last {
            self.beyond.insert(first, merged);
        } else {
            self.beyond[first] = merged;
            self.beyond.drain(first + 1..last);
        }
        self.latest = merged;
    }

    /// Closes the gaps that new data fills. The data may also repeat ranges beyond the gaps.
    fn close_gaps(&mut self, arrived: Range) {
        if self.beyond.first().is_none_or(|held| held.start > self.next) {
            return;
        }
        let reached = self.beyond.partition_point(|held| held.start <= self.next);
        for held in self.beyond.drain(..reached) {
            if held.start < arrived.end {
                let end = held.end.min(arrived.end);
                self.duplicate = Some(Range { start: held.start, end });
            }
            self.next = self.next.max(held.end);
        }
        // RFC 5681, section 4.2: acknowledge at once when the last gap is filled.
        self.now |= self.beyond.is_empty();
    }

    /// Fills in the SACK option: a duplicate first (RFC 2883), then the latest block, then others.
    fn report(&self, report: &mut SelectiveAcknowledgement) {
        if let Some(range) = self.duplicate {
            report.push(range);
            report.duplicate = true;
        }
        if self.beyond.is_empty() {
            return;
        }
        let latest = self.beyond.iter().position(|held| *held == self.latest);
        if let Some(index) = latest {
            report.push(self.beyond[index]);
        }
        // No more than the option has room for.
        let most = 1 + report.blocks.len();
        for (index, held) in self.beyond.iter().enumerate().take(most) {
            if latest != Some(index) {
                report.push(*held);
            }
        }
    }
}
