//! What a step of an end of a connection may use.

use crate::fifo::Fifo;
use crate::tcp::profile::TcpProfile;
use crate::tcp::segment::Segment;
use crate::time::Time;

/// What every step needs: the time, the parameters, and where segments to send go.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) now: Time,
    pub(crate) profile: &'a TcpProfile,
    /// What is sent, behind what is on the way already.
    pub(crate) out: &'a mut Fifo<Segment>,
}

impl Context<'_> {
    /// A segment to send, to be filled in where it lies.
    pub(super) fn send(&mut self) -> &mut Segment {
        self.out.push_back(Segment::default());
        let last = self.out.len() - 1;
        &mut self.out[last]
    }

    /// The timestamp clock. Like sequence numbers it never wraps.
    pub(super) const fn clock(&self) -> u64 {
        milliseconds(self.now)
    }
}

/// A point in time on the timestamp clock.
pub(super) const fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// The peer no longer answers; the connection is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;
