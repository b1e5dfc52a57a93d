//! Runs a connection ahead of the others while a long packet is under way.
//!
//! Until that packet has arrived, only segments and timers happen to its connection, and its losses
//! do not depend on other connections. So these events do not need the queue of all events. They
//! run in a loop of their own, up to the event that the others must know of, and only that event is
//! queued. They are the same events in the same order, so the connection behaves the same. Only the
//! order of events of several connections in the same nanosecond may differ.
//!
//! A write to the connection meanwhile sets it back to that moment.

use std::sync::Mutex;
use std::thread;

use crate::connection::{Coming, ConnectionPair, Path, Schedule, StepContext};
use crate::tcp::TcpProfile;
use crate::time::Time;
use crate::traffic::Traffic;

/// Event limit per missing segment: several times what usual loss takes.
const EVENTS_A_SEGMENT: u64 = 16;
const LEAST_EVENTS: u64 = 1_000;
/// Connections that a thread takes at once, and the number that is worth a thread.
const SHARE: usize = 64;

/// Runs the connections with these ascending numbers, each up to the event that the others
/// must know of.
pub(crate) fn run_all(
    connections: &mut [ConnectionPair],
    numbers: &[u32],
    threads: usize,
    profile: &TcpProfile,
    now: Time,
    most_events: u64,
) {
    let mut numbers = numbers.iter().copied().peekable();
    let mut chosen: Vec<_> = (0..)
        .zip(connections)
        .filter_map(|(number, connection)| numbers.next_if_eq(&number).map(|_| connection))
        .collect();
    let run = |connection: &mut &mut ConnectionPair| {
        if let Some(mut lead) = connection.lead.take() {
            lead.run(connection, now, profile, most_events);
            connection.lead = Some(lead);
        }
    };
    let threads = threads.min(chosen.len() / SHARE);
    if threads < 2 {
        chosen.iter_mut().for_each(run);
        return;
    }
    let shares = Mutex::new(chosen.chunks_mut(SHARE));
    let take = || shares.lock().ok()?.next();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(share) = take() {
                    share.iter_mut().for_each(run);
                }
            });
        }
    });
}

impl Lead {
    /// Begins a lead now. `numbers` is above the number of every scheduled event.
    pub(crate) fn begin(connection: &ConnectionPair, numbers: u64, profile: &TcpProfile) -> Self {
        let segments = connection.lacking() / u64::from(profile.maximum_segment.max(1));
        Self {
            before: None,
            course: RunAheadResult::begin(Time::ZERO),
            numbers: Numbers(numbers),
            allowance: LEAST_EVENTS + segments * EVENTS_A_SEGMENT,
            meeting: None,
        }
    }

    /// Returns what happened on the way to the meeting.
    pub(crate) const fn course(&self) -> &RunAheadResult {
        &self.course
    }

    fn run(
        &mut self,
        connection: &mut ConnectionPair,
        now: Time,
        profile: &TcpProfile,
        most_events: u64,
    ) {
        self.before = Some(Box::new(connection.paths()));
        let events = self.allowance.min(most_events);
        self.course = self.numbers.run(connection, now, profile, events, Time::NEVER);
        connection.shrink();
    }

    /// Sets the connection back to its state at `now`, which lies before the meeting. Returns what
    /// happened until then.
    pub(crate) fn set_back(
        &mut self,
        connection: &mut ConnectionPair,
        now: Time,
        profile: &TcpProfile,
    ) -> RunAheadResult {
        self.meeting = None;
        let Some(before) = self.before.take() else {
            return RunAheadResult::begin(now);
        };
        connection.set_paths(*before);
        let course = self.numbers.run(connection, now, profile, u64::MAX, now);
        // This may happen again. The lower limit keeps the wasted work in proportion.
        self.allowance = (course.events * 2).max(LEAST_EVENTS);
        course
    }

    /// Continues after a meeting that was only a limit.
    pub(crate) fn go_on(&mut self) {
        self.meeting = None;
        self.allowance = self.allowance.saturating_mul(2);
    }
}

impl Numbers {
    /// Runs a connection by itself, for at most `events` events, all before `until`.
    fn run(
        &mut self,
        connection: &mut ConnectionPair,
        now: Time,
        profile: &TcpProfile,
        events: u64,
        until: Time,
    ) -> RunAheadResult {
        let mut traffic = Traffic::NONE;
        let mut passed = 0;
        let mut stop = RunAheadStop::Limit;
        let mut step = StepContext { now, profile, traffic: &mut traffic, schedule: &mut *self };
        while passed < events {
            let (due, coming) = connection.next();
            if due.time() >= until {
                break;
            }
            let before = core::mem::replace(&mut step.now, due.time());
            // Two arms, so that the compiler knows which end it is.
            let news = match coming {
                Coming::Segment(0) => connection.arrive(0, &mut step).then_some(0),
                Coming::Segment(_) => connection.arrive(1, &mut step).then_some(1),
                Coming::Timer(side) if !connection.timer_is_due(side, &mut step) => {
                    step.now = before;
                    continue;
                }
                Coming::Timer(side) => {
                    if connection.expire(side, &mut step).is_err() {
                        stop = RunAheadStop::GaveUp(side);
                    }
                    None
                }
            };
            passed += 1;
            if let Some(side) = news
                && connection.arrived(side, 0).is_some()
            {
                stop = RunAheadStop::Arrived(side);
            }
            if stop != RunAheadStop::Limit {
                break;
            }
        }
        RunAheadResult { at: step.now, stop, events: passed, traffic }
    }
}

impl Schedule for &mut Numbers {
    fn schedule(&mut self, _: Time, _: Coming) -> u64 {
        self.0 += 1;
        self.0 - 1
    }
}

/// A connection's lead over the others.
#[derive(Debug)]
pub(crate) struct Lead {
    /// The state of the connection when its lead began, and what has happened since.
    pub(crate) before: Option<Box<[Path; 2]>>,
    pub(crate) course: RunAheadResult,
    /// Numbers the events that are scheduled on this connection alone.
    pub(crate) numbers: Numbers,
    /// Most events to run at once. This number grows each time that it was too small.
    pub(crate) allowance: u64,
    /// The number of the queued event at which the others catch up; `None` before the lead ran.
    pub(crate) meeting: Option<u64>,
}

/// What happened to a connection while it ran on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunAheadResult {
    /// When the course stopped.
    pub(crate) at: Time,
    pub(crate) stop: RunAheadStop,
    pub(crate) events: u64,
    pub(crate) traffic: Traffic,
}

/// Why a course stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAheadStop {
    /// A packet arrived in full at this end.
    Arrived(usize),
    /// The peer of this end no longer answers.
    GaveUp(usize),
    /// The course reached its limit.
    Limit,
}

/// The number of the next scheduled event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers(pub(crate) u64);

impl RunAheadResult {
    pub(crate) const fn begin(at: Time) -> Self {
        Self { at, stop: RunAheadStop::Limit, events: 0, traffic: Traffic::NONE }
    }
}
