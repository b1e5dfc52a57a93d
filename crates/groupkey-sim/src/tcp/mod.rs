//! One end of an established TCP connection, as Linux runs it, without I/O.
//!
//! Sequence numbers are 64-bit stream offsets. They start at zero after the connection's set-up and
//! never wrap. Payload bytes do not exist, only their number. The peer's receive window is assumed
//! to be large enough. `docs/network.md` lists what is modelled and what is left out.

mod estimator;
mod profile;
mod receiver;
mod segment;
mod sender;
mod window;

use receiver::Receiver;
use sender::Sender;

use crate::fifo::Fifo;
use crate::time::{Duration, Time};

pub use self::profile::TcpProfile;
pub(crate) use self::segment::Segment;

/// An end of the connection. In the set-up, the client asked last and the broker answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Broker,
    Client,
}

/// Round trips made by the set-up of a connection whose session is ready: SYN, CONNECT, SUBSCRIBE.
pub(crate) const SET_UP_ROUND_TRIPS: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(crate) struct SetUp<'a> {
    pub(crate) now: Time,
    /// What each of its round trips took, and their number: SYN, CONNECT and SUBSCRIBE, or SYN
    /// alone.
    pub(crate) round_trip: Duration,
    pub(crate) round_trips: u32,
    /// What the round trips of keep-alives since then took, each by itself.
    pub(crate) keep_alives: &'a [Duration],
    pub(crate) tcp: &'a TcpProfile,
}

impl<'a> SetUp<'a> {
    /// Returns a set-up at time zero that took no time.
    pub(crate) const fn at_once(tcp: &'a TcpProfile) -> Self {
        Self {
            now: Time::ZERO,
            round_trip: Duration::ZERO,
            round_trips: SET_UP_ROUND_TRIPS,
            keep_alives: &[],
            tcp,
        }
    }
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    sender: Sender,
    receiver: Receiver,
}

impl Endpoint {
    pub(crate) fn new(end: Side, set_up: &SetUp<'_>) -> Self {
        Self {
            sender: Sender::new(set_up),
            // The broker's last packet was an answer, SUBACK or PINGRESP. The client waited for
            // it.
            receiver: Receiver::new(set_up.now, end == Side::Broker, set_up.tcp),
        }
    }

    /// Returns the bytes received in order since the set-up.
    pub(crate) const fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// Returns the bytes written since the set-up.
    pub(crate) const fn written(&self) -> u64 {
        self.sender.written()
    }

    /// Returns whether the retransmission timeout has expired since the last progress.
    pub(crate) const fn times_out(&self) -> bool {
        self.sender.times_out()
    }

    /// Frees memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        self.sender.shrink();
    }

    /// Returns when `expire` must be called next.
    pub(crate) fn deadline(&self, profile: &TcpProfile) -> Time {
        self.sender.deadline(profile).min(self.receiver.due())
    }

    /// Returns when `expire` must be called next, if that is before `limit`.
    pub(crate) fn deadline_before(&self, limit: Time, profile: &TcpProfile) -> Option<Time> {
        if self.sender.earliest_deadline().min(self.receiver.due()) >= limit {
            return None;
        }
        Some(self.deadline(profile)).filter(|deadline| *deadline < limit)
    }

    /// Writes `bytes` as the application. They leave at once if the window allows (TCP_NODELAY).
    pub(crate) fn write(&mut self, cx: &mut TcpContext<'_>, bytes: u32) {
        let first = cx.out.len();
        self.sender.write(cx, bytes);
        self.stamp(cx, first);
    }

    pub(crate) fn receive(&mut self, cx: &mut TcpContext<'_>, segment: &Segment) {
        if self.receiver.admit(segment, cx.profile) {
            // Most often only one end sends.
            let idle = self.sender.is_idle() && segment.selective.count == 0;
            if !idle {
                let first = cx.out.len();
                self.sender.acknowledge(cx, segment);
                self.stamp(cx, first);
            }
            if segment.length > 0 {
                let timeout = self.sender.timeout();
                self.receiver.take(cx.now, segment, timeout, cx.profile);
            }
            if !idle {
                let first = cx.out.len();
                self.sender.push(cx);
                self.stamp(cx, first);
            }
        }
        if self.receiver.must_acknowledge(cx.now, || self.sender.srtt(), cx.profile) {
            self.acknowledge(cx);
        }
    }

    /// Handles a deadline that has come.
    pub(crate) fn expire(&mut self, cx: &mut TcpContext<'_>) -> Result<(), GaveUp> {
        if self.receiver.due() <= cx.now {
            self.receiver.expire(self.sender.timeout(), cx.profile);
            self.acknowledge(cx);
        }
        if self.sender.deadline(cx.profile) <= cx.now {
            let first = cx.out.len();
            self.sender.expire(cx)?;
            self.stamp(cx, first);
        }
        Ok(())
    }

    fn acknowledge(&mut self, cx: &mut TcpContext<'_>) {
        let (timestamp, profile) = (cx.clock(), cx.profile);
        let segment = cx.send();
        segment.sequence = self.sender.next();
        segment.timestamp = timestamp;
        self.receiver.stamp(segment, profile);
    }

    /// Adds the acknowledgement to data segments too.
    fn stamp(&mut self, cx: &mut TcpContext<'_>, first: usize) {
        if cx.out.len() == first {
            return;
        }
        let clock = cx.clock();
        for segment in &mut cx.out[first..] {
            segment.timestamp = clock;
            self.receiver.answers(cx.now);
            self.receiver.stamp(segment, cx.profile);
        }
    }
}

/// The resources of every step: the time, the parameters, and the queue of segments to send.
#[derive(Debug)]
pub(crate) struct TcpContext<'a> {
    pub(crate) now: Time,
    pub(crate) profile: &'a TcpProfile,
    /// The new segments, behind those already on the way.
    pub(crate) out: &'a mut Fifo<Segment>,
}

impl TcpContext<'_> {
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

pub(super) const fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// The peer no longer answers; the connection is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;

#[cfg(test)]
mod tests;
