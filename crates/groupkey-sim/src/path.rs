//! One direction of a connection below MQTT: TCP, the link, and what is on the way.

use crate::fifo::Fifo;
use crate::link::Link;
use crate::tcp::{Endpoint, Segment};
use crate::time::{Due, Time};

/// What there is of an end below MQTT: all that a segment or a timer can change.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) tcp: Endpoint,
    /// The link to the other end.
    pub(crate) link: Link,
    /// Segments on the way to this end, in the order in which they arrive, and how many they are:
    /// what TCP has just sent, and no link has carried yet, lies behind them.
    pub(crate) incoming: Fifo<Segment>,
    pub(crate) on_the_way: usize,
    /// When the first of them arrives.
    pub(crate) first: Due,
    /// When the latest of all arrives.
    pub(crate) latest: Time,
    /// The earliest timer event that is scheduled, and others that are but were superseded.
    pub(crate) timer: Due,
    pub(crate) superseded: Vec<Due>,
}

/// Something that will happen to an end of a connection: 0 is the client's, 1 the broker's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coming {
    Segment(usize),
    Timer(usize),
}

/// Takes note of what is to come.
pub(crate) trait Schedule {
    /// Gives its number, higher than all before.
    fn schedule(&mut self, time: Time, coming: Coming) -> u64;
}

impl Path {
    pub(crate) fn first_due(&self) -> Due {
        match self.incoming.first() {
            Some(segment) if self.on_the_way > 0 => segment.due,
            _ => Due::NEVER,
        }
    }

    /// The last segment comes before those that arrive later.
    pub(crate) fn let_overtake(&mut self) {
        let last = self.on_the_way - 1;
        let segment = self.incoming.remove(last);
        let earlier = self.incoming[..last].iter().rev();
        let place = last - earlier.take_while(|other| other.due > segment.due).count();
        self.incoming.insert(place, segment);
        self.first = self.first_due();
    }
}
