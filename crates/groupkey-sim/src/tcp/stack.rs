//! Which TCP an end of a connection runs, and what the two ends agree on.

use super::End;
use super::lwip::LwipProfile;
use super::profile::TcpProfile;
use crate::time::{Duration, Time};

/// An implementation of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stack {
    /// Linux 6.x ([`TcpProfile`]).
    #[default]
    Linux,
    /// lwIP 2.1, which an ESP32 runs ([`LwipProfile`]).
    Lwip,
}

impl Stack {
    /// Both stacks.
    pub const ALL: [Self; 2] = [Self::Linux, Self::Lwip];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Lwip => "lwip",
        }
    }
}

/// The set-up of a connection. Each of its round trips (SYN, CONNECT and SUBSCRIBE) took
/// `round_trip`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SetUp<'a> {
    pub(crate) now: Time,
    pub(crate) round_trip: Duration,
    pub(crate) client: Side,
    pub(crate) broker: Side,
    pub(crate) tcp: &'a TcpProfile,
    pub(crate) lwip: &'a LwipProfile,
}

/// What an end brings into the set-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) stack: Stack,
    /// How long ago the device's timer last ticked. Only lwIP has one timer for everything.
    pub(crate) phase: Duration,
}

/// What an end knows of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Peer {
    /// Whether both ends have selective acknowledgements and timestamps.
    pub(crate) selective: bool,
    /// Most payload bytes in a segment to the peer.
    pub(crate) maximum_segment: u32,
    /// The peer's receive window in bytes. Its application reads at once.
    pub(crate) window: u64,
}

impl SetUp<'_> {
    /// Returns an end's own side, and what it learns of the other end.
    pub(super) fn sides(&self, end: End) -> (Side, Peer) {
        let (own, other) = match end {
            End::Client => (self.client, self.broker),
            End::Broker => (self.broker, self.client),
        };
        let selective = (own.stack, other.stack) == (Stack::Linux, Stack::Linux);
        // Without timestamps a segment of Linux has twelve bytes more.
        let linux = self.tcp.maximum_segment + if selective { 0 } else { TIMESTAMP_BYTES };
        let of = |stack| match stack {
            Stack::Linux => linux,
            Stack::Lwip => self.lwip.maximum_segment,
        };
        let window = match other.stack {
            Stack::Linux => u64::MAX,
            Stack::Lwip => u64::from(self.lwip.window),
        };
        let maximum_segment = of(own.stack).min(of(other.stack));
        (own, Peer { selective, maximum_segment, window })
    }
}

/// The timestamp option with its padding (RFC 7323).
const TIMESTAMP_BYTES: u32 = 12;
