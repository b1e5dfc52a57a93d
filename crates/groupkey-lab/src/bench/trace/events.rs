//! The events of a trace.

use std::collections::BTreeSet;
use std::fmt;

/// A group's members over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The members with which the group is created, at least two.
    initial: Vec<u32>,
    /// The events after the creation, in the order of their times.
    events: Vec<TraceEvent>,
}

/// A member joins or leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time of the event (ms since the creation).
    pub time_ms: u64,
    /// The change.
    pub change: JoinOrLeave,
    /// The member that joins or leaves.
    pub member: u32,
}

/// What happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JoinOrLeave {
    /// It joins.
    Join,
    /// It leaves or is evicted.
    Leave,
}

/// An event that cannot be in a group's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceError {
    /// A member joins that is in the group already.
    AlreadyIn(u32),
    /// An event earlier than the one listed before it.
    Backwards,
    /// A member leaves, and only one member would remain.
    LastTwo,
    /// A group of fewer than two members is created.
    TooFew,
    /// A member leaves that is not in the group.
    NotIn(u32),
}

impl Trace {
    /// Returns a trace, if it can be a group's history. Joining members are not in the group, and
    /// leaving members are in it. Time goes on, and two members always remain.
    pub fn new(initial: Vec<u32>, events: Vec<TraceEvent>) -> Result<Self, (usize, TraceError)> {
        let mut now = 0;
        let mut members = BTreeSet::new();
        for &member in &initial {
            if !members.insert(member) {
                return Err((0, TraceError::AlreadyIn(member)));
            }
        }
        if members.len() < 2 {
            return Err((0, TraceError::TooFew));
        }
        for (place, &TraceEvent { time_ms, change, member }) in events.iter().enumerate() {
            let wrong = match change {
                _ if time_ms < now => Some(TraceError::Backwards),
                JoinOrLeave::Join if !members.insert(member) => Some(TraceError::AlreadyIn(member)),
                JoinOrLeave::Leave if !members.remove(&member) => Some(TraceError::NotIn(member)),
                JoinOrLeave::Leave if members.len() < 2 => Some(TraceError::LastTwo),
                JoinOrLeave::Join | JoinOrLeave::Leave => None,
            };
            if let Some(wrong) = wrong {
                return Err((place, wrong));
            }
            now = time_ms;
        }
        Ok(Self { initial, events })
    }

    /// Returns the members with which the group is created.
    pub fn initial(&self) -> &[u32] {
        &self.initial
    }

    /// Returns the events after the creation.
    pub fn events(&self) -> &[TraceEvent] {
        &self.events
    }

    /// Returns how many members join or leave after the creation.
    pub fn count(&self, change: JoinOrLeave) -> usize {
        self.events.iter().filter(|event| event.change == change).count()
    }

    /// Returns the smallest and the largest number of members at any time.
    pub fn sizes(&self) -> (usize, usize) {
        let mut size = self.initial.len();
        let (mut least, mut most) = (size, size);
        for event in &self.events {
            match event.change {
                JoinOrLeave::Join => size += 1,
                JoinOrLeave::Leave => size -= 1,
            }
            (least, most) = (least.min(size), most.max(size));
        }
        (least, most)
    }

    /// Returns the time of the last event (ms).
    pub fn duration_ms(&self) -> u64 {
        self.events.last().map_or(0, |event| event.time_ms)
    }
}

impl JoinOrLeave {
    /// Both changes.
    pub const ALL: [Self; 2] = [Self::Join, Self::Leave];

    /// The name used in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyIn(member) => write!(f, "member {member} is in the group already"),
            Self::Backwards => write!(f, "this is earlier than the event before it; sort by time"),
            Self::LastTwo => write!(f, "one member would remain; a group has two at least"),
            Self::NotIn(member) => write!(f, "member {member} is not in the group"),
            Self::TooFew => {
                write!(f, "a group is created of two members at least: 0,create,0-9")
            }
        }
    }
}

impl std::error::Error for TraceError {}
