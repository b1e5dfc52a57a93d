//! One end of an established TCP connection, as Linux or lwIP runs it, without I/O.
//!
//! Sequence numbers are 64-bit stream offsets. They start at zero after the connection's set-up and
//! never wrap. Payload bytes do not exist, only their number. `docs/network.md` lists what is
//! modelled and what is left out.

mod context;
mod estimator;
mod linux;
mod lwip;
mod profile;
mod receiver;
mod segment;
mod sender;
mod stack;
mod window;

pub(crate) use self::context::{Context, GaveUp};
pub use self::lwip::LwipProfile;
pub use self::profile::TcpProfile;
pub(crate) use self::segment::Segment;
pub use self::stack::Stack;
pub(crate) use self::stack::{Peer, SetUp, Side};

use crate::time::Time;

/// An end of the connection. In the set-up, the client asked last and the broker answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Broker,
    Client,
}

/// One end of a connection.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all ends run Linux, without a pointer more")]
pub(crate) enum Endpoint {
    Linux(linux::Endpoint),
    Lwip(Box<lwip::Endpoint>),
}

impl Endpoint {
    /// Makes an end of a connection.
    pub(crate) fn new(end: End, set_up: &SetUp<'_>) -> Self {
        let SetUp { now, round_trip, tcp, lwip, .. } = *set_up;
        let (own, peer) = set_up.sides(end);
        match own.stack {
            Stack::Linux => Self::Linux(linux::Endpoint::new(now, end, round_trip, tcp, peer)),
            Stack::Lwip => {
                Self::Lwip(Box::new(lwip::Endpoint::new(now, round_trip, lwip, own.phase, peer)))
            }
        }
    }

    /// Returns the bytes received in order since the set-up.
    pub(crate) const fn received(&self) -> u64 {
        match self {
            Self::Linux(end) => end.received(),
            Self::Lwip(end) => end.received(),
        }
    }

    /// Returns the bytes written since the set-up.
    pub(crate) const fn written(&self) -> u64 {
        match self {
            Self::Linux(end) => end.written(),
            Self::Lwip(end) => end.written(),
        }
    }

    /// Frees memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        match self {
            Self::Linux(end) => end.shrink(),
            Self::Lwip(end) => end.shrink(),
        }
    }

    /// Returns when `expire` must be called next.
    pub(crate) fn deadline(&self, profile: &TcpProfile) -> Time {
        match self {
            Self::Linux(end) => end.deadline(profile),
            Self::Lwip(end) => end.deadline(),
        }
    }

    /// Returns when `expire` must be called next, if that is before `limit`.
    #[inline]
    pub(crate) fn deadline_before(&self, limit: Time, profile: &TcpProfile) -> Option<Time> {
        match self {
            Self::Linux(end) => end.deadline_before(limit, profile),
            Self::Lwip(end) => Some(end.deadline()).filter(|deadline| *deadline < limit),
        }
    }

    /// Writes `bytes` as the application.
    pub(crate) fn write(&mut self, cx: &mut Context<'_>, bytes: u32) {
        match self {
            Self::Linux(end) => end.write(cx, bytes),
            Self::Lwip(end) => end.write(cx, bytes),
        }
    }

    /// Handles a segment that arrived.
    #[inline]
    pub(crate) fn receive(&mut self, cx: &mut Context<'_>, segment: &Segment) {
        match self {
            Self::Linux(end) => end.receive(cx, segment),
            Self::Lwip(end) => end.receive(cx, segment),
        }
    }

    /// Handles a deadline that has come.
    pub(crate) fn expire(&mut self, cx: &mut Context<'_>) -> Result<(), GaveUp> {
        match self {
            Self::Linux(end) => end.expire(cx),
            Self::Lwip(end) => end.expire(cx),
        }
    }
}
