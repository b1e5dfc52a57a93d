//! The resources of a step at an end of a connection.

use crate::fifo::Fifo;
use crate::tcp::profile::TcpProfile;
use crate::tcp::segment::Segment;
use crate::time::Time;

/// The resources of every step: the time, the parameters, and the queue of segments to send.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) profile: &'a TcpProfile,
    /// The new segments, behind those already on the way.
    pub(crate) out: &'a mut Fifo<Segment>,
}

impl Context<'_> {
    /// Queues a segment to send and returns it, to be filled in place.
    pub(super) fn send(&mut self) -> &mut Segment {
        self.out.push_back(Segment::default());
        let last = self.out.len() - 1;
        &mut self.out[last]
    }

    /// Returns the timestamp clock. Like sequence numbers it never wraps.
    pub(super) const fn clock(&self) -> u64 {
        milliseconds(self.now)
    }
}

/// Returns a point in time on the timestamp clock.
pub(super) const fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// The peer no longer answers; the connection is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;
