//! One end of an established TCP connection, as Linux runs it, without I/O.
//!
//! Sequence numbers are stream offsets of 64 bits that start at zero after the connection's set-up
//! and never wrap; payload bytes do not exist, only their number. The peer's receive window is taken
//! as large enough. `docs/network.md` lists what is modelled and what is left out.

mod estimator;
mod profile;
mod receiver;
mod sender;
mod window;

pub use profile::TcpProfile;

use receiver::Receiver;
use sender::Sender;

use crate::fifo::Fifo;
use crate::time::{Due, Duration, Time};

/// IPv4 header, TCP header and the timestamp option with its padding.
const HEADER_BYTES: u32 = 20 + 20 + 12;

/// A TCP segment on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) length: u32,
    pub(crate) acknowledgement: u64,
    /// The sender's clock, ms (RFC 7323).
    pub(crate) timestamp: u64,
    /// The timestamp that this acknowledges, ms.
    pub(crate) echo: u64,
    pub(crate) selective: SelectiveAcknowledgement,
    pub(crate) retransmission: bool,
    /// When it arrives: the network's affair, kept here so that a segment lies in one piece.
    pub(crate) due: Due,
}

impl Segment {
    pub(crate) const fn end(&self) -> u64 {
        self.sequence + self.length as u64
    }

    /// Bytes of the IP packet.
    pub(crate) const fn wire_bytes(&self) -> u32 {
        let option = match self.selective.count {
            0 => 0,
            blocks => 4 + 8 * blocks as u32,
        };
        HEADER_BYTES + option + self.length
    }
}

/// A stretch of the stream, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// The SACK option (RFC 2018); with timestamps it has room for three blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SelectiveAcknowledgement {
    blocks: [Range; 3],
    count: u8,
    /// Whether the first block reports a duplicate (RFC 2883).
    duplicate: bool,
}

impl SelectiveAcknowledgement {
    fn push(&mut self, range: Range) {
        if let Some(place) = self.blocks.get_mut(usize::from(self.count)) {
            *place = range;
            self.count += 1;
        }
    }

    /// The bytes reported as having arrived twice.
    fn duplicate(&self) -> Option<Range> {
        self.duplicate.then(|| self.blocks[0])
    }

    /// The blocks held beyond a gap.
    fn held(&self) -> &[Range] {
        &self.blocks[usize::from(self.duplicate)..usize::from(self.count)]
    }
}

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
    fn send(&mut self) -> &mut Segment {
        self.out.push_back(Segment::default());
        let last = self.out.len() - 1;
        &mut self.out[last]
    }

    /// The timestamp clock. Like sequence numbers it never wraps.
    const fn clock(&self) -> u64 {
        milliseconds(self.now)
    }
}

/// A point in time on the timestamp clock.
const fn milliseconds(time: Time) -> u64 {
    time.as_nanos() / 1_000_000
}

/// The peer no longer answers; the connection is dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GaveUp;

/// Which end of the connection: they differ in who asked last during its set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Broker,
    Client,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    sender: Sender,
    receiver: Receiver,
}

impl Endpoint {
    /// An end of a connection whose set-up (SYN, CONNECT and SUBSCRIBE, each a round trip) took
    /// `round_trip` each time.
    pub(crate) fn new(now: Time, end: End, round_trip: Duration, profile: &TcpProfile) -> Self {
        Self {
            sender: Sender::new(round_trip, profile),
            // The broker's last word was an answer, SUBACK; the client waited for it.
            receiver: Receiver::new(now, end == End::Broker, profile),
        }
    }

    /// Bytes received in order since the set-up.
    pub(crate) const fn received(&self) -> u64 {
        self.receiver.next()
    }

    /// Bytes written since the set-up.
    pub(crate) const fn written(&self) -> u64 {
        self.sender.written()
    }

    /// Gives back memory that is not needed now.
    pub(crate) fn shrink(&mut self) {
        self.sender.shrink();
    }

    /// When `expire` must be called next.
    pub(crate) fn deadline(&self, profile: &TcpProfile) -> Time {
        self.sender.deadline(profile).min(self.receiver.due())
    }

    /// When `expire` must be called next, if that is before `limit`.
    pub(crate) fn deadline_before(&self, limit: Time, profile: &TcpProfile) -> Option<Time> {
        if self.sender.earliest_deadline().min(self.receiver.due()) >= limit {
            return None;
        }
        Some(self.deadline(profile)).filter(|deadline| *deadline < limit)
    }

    /// The application writes `bytes`, which leave at once if the window allows (TCP_NODELAY).
    pub(crate) fn write(&mut self, cx: &mut Context<'_>, bytes: u32) {
        let first = cx.out.len();
        self.sender.write(cx, bytes);
        self.stamp(cx, first);
    }

    /// A segment arrived.
    pub(crate) fn receive(&mut self, cx: &mut Context<'_>, segment: &Segment) {
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

    /// The deadline has come.
    pub(crate) fn expire(&mut self, cx: &mut Context<'_>) -> Result<(), GaveUp> {
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

    fn acknowledge(&mut self, cx: &mut Context<'_>) {
        let (timestamp, profile) = (cx.clock(), cx.profile);
        let segment = cx.send();
        segment.sequence = self.sender.next();
        segment.timestamp = timestamp;
        self.receiver.stamp(segment, profile);
    }

    /// Data segments carry the acknowledgement too.
    fn stamp(&mut self, cx: &mut Context<'_>, first: usize) {
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

#[cfg(test)]
mod tests;
