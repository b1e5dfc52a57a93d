//! The parameters of lwIP.

use crate::time::Duration;

/// The parameters of lwIP 2.1, by the names of its options (`opt.h`, `tcp_priv.h`). The default is
/// ESP-IDF's configuration (its `Kconfig` of the component `lwip`), which is what an ESP32 runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LwipProfile {
    /// `TCP_MSS`: most payload bytes in a segment.
    pub maximum_segment: u32,
    /// `TCP_WND`: the receive window in bytes.
    pub window: u32,
    /// `TCP_SND_BUF`: bytes that TCP takes from the application and keeps until they are
    /// acknowledged.
    pub send_buffer: u32,
    /// `TCP_SND_QUEUELEN`: segments that TCP keeps until they are acknowledged.
    pub send_queue: u32,
    /// `TCP_TMR_INTERVAL`: the tick of delayed acknowledgements. Retransmissions and round trips
    /// are counted in ticks twice as long.
    pub tick: Duration,
    /// `LWIP_TCP_RTO_TIME`: the first retransmission timeout.
    pub first_timeout: Duration,
    /// `TCP_MAXRTX`: retransmissions after which a connection is given up.
    pub retransmissions: u8,
    /// Whether Nagle's algorithm is on, as it is unless the application sets `TF_NODELAY`.
    pub nagle: bool,
}

impl Default for LwipProfile {
    fn default() -> Self {
        Self {
            maximum_segment: 1_440,
            window: 5_760,
            send_buffer: 5_760,
            send_queue: 16,
            tick: Duration::from_millis(250),
            first_timeout: Duration::from_millis(1_500),
            retransmissions: 12,
            nagle: true,
        }
    }
}

impl LwipProfile {
    /// Returns the configuration of lwIP's Unix port as Debian builds it (`lwipopts.h` of
    /// liblwip 2.1.3).
    pub fn unix_port() -> Self {
        Self {
            maximum_segment: 1_460,
            window: 65_535,
            send_buffer: 65_535,
            send_queue: 180,
            first_timeout: Duration::from_millis(3_000),
            ..Self::default()
        }
    }

    /// Returns the tick in which retransmissions and round trips are counted
    /// (`TCP_SLOW_INTERVAL`).
    pub(super) const fn slow_tick(&self) -> u64 {
        2 * self.tick.as_nanos()
    }

    /// Returns the first congestion window in bytes (`LWIP_TCP_CALC_INITIAL_CWND`, RFC 3390).
    pub(super) fn first_window(&self) -> u64 {
        let segment = u64::from(self.maximum_segment);
        (4 * segment).min((2 * segment).max(4_380))
    }

    /// Returns the bytes by which the window must have opened for an update of its own
    /// (`TCP_WND_UPDATE_THRESHOLD`).
    pub(super) fn update_threshold(&self) -> u64 {
        u64::from((self.window / 4).min(4 * self.maximum_segment))
    }
}
