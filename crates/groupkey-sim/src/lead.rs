//! How far a connection is ahead of the others, and what happened on the way.

use crate::path::Path;
use crate::time::Time;
use crate::traffic::Traffic;

/// A connection's lead over the others.
#[derive(Debug)]
pub(crate) struct Lead {
    /// The state of the connection when its lead began, and what has happened since.
    pub(crate) before: Option<Box<[Path; 2]>>,
    pub(crate) course: Course,
    /// Numbers the events that are scheduled on this connection alone.
    pub(crate) numbers: Numbers,
    /// Most events to run at once. This number grows each time that it was too small.
    pub(crate) allowance: u64,
    /// The number of the queued event at which the others catch up; `None` before the lead ran.
    pub(crate) meeting: Option<u64>,
}

/// What happened to a connection while it ran on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// When the course stopped.
    pub(crate) at: Time,
    pub(crate) stop: Stop,
    pub(crate) events: u64,
    pub(crate) traffic: Traffic,
}

/// Why a course stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A packet arrived in full at this end.
    Arrived(usize),
    /// The peer no longer answers.
    GaveUp,
    /// The course reached its limit.
    Limit,
}

/// The number of the next scheduled event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Course {
    pub(crate) const fn begin(at: Time) -> Self {
        Self { at, stop: Stop::Limit, events: 0, traffic: Traffic::NONE }
    }
}
