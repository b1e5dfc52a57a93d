//! The parameters of a TCP implementation.

use crate::time::{Duration, Time};

/// A TCP implementation's parameters; the default is Linux 6.x with its shipped settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpProfile {
    /// Most payload bytes in a segment: 1,448 over Ethernet with the timestamp option.
    pub maximum_segment: u32,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_window: u32,
    /// Floor of the variance term, hence of RTO − srtt (Linux: 200 ms; RFC 6298 says 1 s in all).
    pub minimum_variance: Duration,
    /// Ceiling of the retransmission timeout.
    pub maximum_timeout: Duration,
    /// How long a segment is retransmitted before the connection is given up. Linux: 924.6 s, the
    /// sum of fifteen timeouts that start at 200 ms and double up to 120 s.
    pub give_up_after: Duration,
    /// Whether the first retry is a tail-loss probe (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// How long an acknowledgement may wait for data to ride on.
    pub delayed_acknowledgement: Duration,
    /// Resolution of timers, which the kernel's timer wheel rounds up. Zero means exact timers.
    pub tick: Duration,
}

impl Default for TcpProfile {
    fn default() -> Self {
        Self {
            maximum_segment: 1_448,
            initial_window: 10,
            minimum_variance: Duration::from_millis(200),
            maximum_timeout: Duration::from_secs(120),
            give_up_after: Duration::from_millis(924_600),
            tail_loss_probe: true,
            delayed_acknowledgement: Duration::from_millis(40),
            tick: Duration::from_millis(4),
        }
    }
}

impl TcpProfile {
    pub(crate) fn rounded(&self, span: Duration) -> Duration {
        match self.tick.as_nanos() {
            0 => span,
            tick => Duration::from_nanos(span.as_nanos().div_ceil(tick).saturating_mul(tick)),
        }
    }

    /// Returns when a timer set now for `timeout` fires.
    ///
    /// Linux keeps timers in a wheel of levels, each eight times coarser than the one before. The
    /// first reaches 63 ticks ahead at a resolution of one tick, the second 504 at eight, and so
    /// on. A timer never fires early, so it moves to the next boundary of its level, even if it
    /// lies on a boundary.
    pub(crate) fn expiry(&self, now: Time, timeout: Duration) -> Time {
        const FIRST_LEVEL_TICKS: u64 = 63;
        const LEVEL_SHIFT: u32 = 3;

        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now + timeout;
        }
        let ticks = timeout.as_nanos().div_ceil(tick);
        let mut shift = 0;
        while ticks >= FIRST_LEVEL_TICKS << shift {
            shift += LEVEL_SHIFT;
        }
        let slot = ((now.as_nanos() / tick + ticks) >> shift) + 1;
        Time::from_nanos((slot << shift) * tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_are_never_early_and_coarser_the_further_ahead() {
        let profile = TcpProfile::default();
        let fires = |now_ms: u64, timeout_ms| {
            let now = Time::ZERO + Duration::from_millis(now_ms);
            profile.expiry(now, Duration::from_millis(timeout_ms)).as_nanos() / 1_000_000
        };
        assert_eq!(fires(0, 200), 204);
        assert_eq!(fires(1, 200), 204);
        assert_eq!(fires(3, 201), 208);
        // 400 ms lie in the second level, whose slots are 32 ms wide.
        assert_eq!(fires(0, 400), 416);
        assert_eq!(fires(20, 400), 448);
    }
}
