//! How far a connection is ahead of the others, and how it got there.

use crate::path::Path;
use crate::time::Time;
use crate::traffic::Traffic;

/// A connection's lead over the others.
#[derive(Debug)]
pub(crate) struct Lead {
    /// What it was when it set off, and what has happened since.
    pub(crate) before: Option<Box<[Path; 2]>>,
    pub(crate) course: Course,
    /// Numbers what is scheduled on this connection alone.
    pub(crate) numbers: Numbers,
    /// Most events to run at once, more each time that they were not enough.
    pub(crate) allowance: u64,
    /// The number of the queued event at which the others catch up; `None` before it ran.
    pub(crate) meeting: Option<u64>,
}

/// What happened to a connection on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// When it stopped.
    pub(crate) at: Time,
    pub(crate) stop: Stop,
    pub(crate) events: u64,
    pub(crate) traffic: Traffic,
}

/// Why it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// A packet arrived in full at this end.
    Arrived(usize),
    /// The peer no longer answers.
    GaveUp,
    /// That was as far as it was to go.
    Limit,
}

/// The next number of what is scheduled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl Course {
    pub(crate) const fn begin(at: Time) -> Self {
        Self { at, stop: Stop::Limit, events: 0, traffic: Traffic::NONE }
    }
}
