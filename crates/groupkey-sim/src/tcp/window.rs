//! The congestion window, in segments: grows as Reno's, shrinks as CUBIC's.

use crate::time::Duration;

/// The congestion window and the state that adapts it.
#[derive(Clone, Debug)]
pub(crate) struct CongestionWindow {
    size: Size,
    /// Acknowledged segments that count towards the next increase.
    credit: u32,
    /// Whether the window, not the application, limited sending in the last round trip.
    limiting: bool,
    /// Most segments out in the last round trip. The acknowledgement of `usage_end` ends
    /// the round trip.
    most_out: u32,
    usage_end: u64,
    /// Proportional rate reduction (RFC 6937): window before, segments delivered and sent since.
    before: u32,
    delivered: u32,
    sent: u32,
}

/// The two values that an undone reduction restores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    cwnd: u32,
    ssthresh: u32,
}

impl CongestionWindow {
    pub(crate) const fn new(initial: u32) -> Self {
        Self {
            size: Size { cwnd: initial, ssthresh: u32::MAX },
            credit: 0,
            limiting: false,
            most_out: 0,
            usage_end: 0,
            before: 0,
            delivered: 0,
            sent: 0,
        }
    }

    /// Returns the number of segments that may be in flight.
    pub(crate) const fn cwnd(&self) -> u32 {
        self.size.cwnd
    }

    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// Records how far the window is used. Only a window that limits may grow (RFC 9438,
    /// section 5.8).
    pub(crate) const fn note_use(
        &mut self,
        in_flight: u32,
        out: u32,
        unacknowledged: u64,
        next: u64,
    ) {
        let limiting = in_flight >= self.size.cwnd;
        let more = !self.limiting && out > self.most_out;
        if unacknowledged >= self.usage_end || limiting || more {
            self.limiting = limiting;
            self.most_out = out;
            self.usage_end = next;
        }
    }

    /// Grows the window: slow start, then one segment per round trip.
    pub(crate) fn grow(&mut self, mut delivered: u32) {
        let Size { cwnd, ssthresh } = self.size;
        let slow_start = cwnd < ssthresh;
        let wanted = self.limiting || (slow_start && cwnd < 2 * self.most_out);
        if !wanted {
            return;
        }
        if slow_start {
            let grown = cwnd.saturating_add(delivered).min(ssthresh);
            delivered -= grown - cwnd;
            self.size.cwnd = grown;
        }
        self.credit += delivered;
        while self.credit >= self.size.cwnd {
            self.credit -= self.size.cwnd;
            self.size.cwnd += 1;
        }
    }

    /// Lets an unused window fall back towards the initial one (RFC 5681, 4.1).
    pub(crate) fn restart_after_idle(&mut self, idle: Duration, timeout: Duration, initial: u32) {
        let Size { cwnd, ssthresh } = &mut self.size;
        if *cwnd <= initial || idle <= timeout {
            return;
        }
        *ssthresh = (*ssthresh).max(*cwnd / 2 + *cwnd / 4);
        let mut idle = idle;
        while idle > timeout && *cwnd > initial {
            idle = idle.saturating_sub(timeout);
            *cwnd = (*cwnd / 2).max(initial);
        }
    }

    pub(crate) fn begin_reduction(&mut self) {
        self.credit = 0;
        self.before = self.size.cwnd;
        self.delivered = 0;
        self.sent = 0;
        self.size.ssthresh = self.reduced();
    }

    pub(crate) const fn count_sent(&mut self, segments: u32) {
        self.sent += segments;
    }

    /// Applies proportional rate reduction: sends in proportion to deliveries (RFC 6937). `clean`
    /// means that the acknowledgement advanced and nothing is missing.
    pub(crate) fn reduce(&mut self, in_flight: u32, delivered: u32, clean: bool) {
        if delivered == 0 || self.before == 0 {
            return;
        }
        let ssthresh = self.size.ssthresh;
        self.delivered += delivered;
        let allowance = if in_flight > ssthresh {
            let due = u64::from(ssthresh) * u64::from(self.delivered);
            (due.div_ceil(u64::from(self.before)) as u32).saturating_sub(self.sent)
        } else {
            let allowance = self.delivered.saturating_sub(self.sent).max(delivered);
            (allowance + u32::from(clean)).min(ssthresh - in_flight)
        };
        // At least the first retransmission leaves at once.
        self.size.cwnd = in_flight + allowance.max(u32::from(self.sent == 0));
    }

    pub(crate) const fn end_reduction(&mut self) {
        self.size.cwnd = self.size.ssthresh;
    }

    /// Leaves room for `cwnd` segments after a timeout. The `first` timeout also reduces
    /// the threshold.
    pub(crate) fn collapse(&mut self, cwnd: u32, first: bool) {
        if first {
            self.size.ssthresh = self.reduced();
        }
        self.size.cwnd = cwnd;
        self.credit = 0;
    }

    /// Undoes a reduction.
    pub(crate) fn restore(&mut self, before: Size) {
        self.size.cwnd = self.size.cwnd.max(before.cwnd);
        self.size.ssthresh = self.size.ssthresh.max(before.ssthresh);
    }

    /// Returns 0.7 of the window, as CUBIC (RFC 9438, section 4.6), and as Linux at least
    /// two segments.
    fn reduced(&self) -> u32 {
        (self.size.cwnd * 7 / 10).max(2)
    }
}
