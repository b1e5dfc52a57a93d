//! One direction of a connection below MQTT: TCP, the link, and the segments on the way.

use crate::fifo::Fifo;
use crate::link::Link;
use crate::tcp::{Endpoint, Segment};
use crate::time::{EventKey, Time};

/// The state of an end below MQTT: all that a segment or a timer can change.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) tcp: Endpoint,
    /// The link to the other end.
    pub(crate) link: Link,
    /// Segments on the way to this end in the order of arrival, and their number. Behind them lie
    /// segments that TCP has just sent and no link has carried yet.
    pub(crate) incoming: Fifo<Segment>,
    pub(crate) on_the_way: usize,
    /// When the first segment on the way arrives.
    pub(crate) first: EventKey,
    /// When the latest segment of all arrives.
    pub(crate) latest: Time,
    /// The earliest scheduled timer event, and the superseded ones, which are still scheduled.
    pub(crate) timer: EventKey,
    pub(crate) superseded: Vec<EventKey>,
}

/// A coming event at an end of a connection: 0 is the client's end, 1 the broker's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coming {
    Segment(usize),
    Timer(usize),
}

/// Records coming events.
pub(crate) trait Schedule {
    /// Records an event. Returns its number, higher than all before.
    fn schedule(&mut self, time: Time, coming: Coming) -> u64;
}

impl Path {
    pub(crate) fn first_due(&self) -> EventKey {
        match self.incoming.first() {
            Some(segment) if self.on_the_way > 0 => segment.due,
            _ => EventKey::NEVER,
        }
    }

    /// Moves the last segment before those that arrive later.
    pub(crate) fn let_overtake(&mut self) {
        let last = self.on_the_way - 1;
        let segment = self.incoming.remove(last);
        let earlier = self.incoming[..last].iter().rev();
        let place = last - earlier.take_while(|other| other.due > segment.due).count();
        self.incoming.insert(place, segment);
        self.first = self.first_due();
    }
}
