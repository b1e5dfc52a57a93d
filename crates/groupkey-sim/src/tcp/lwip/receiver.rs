//! The receiving half of lwIP: reassembly, and when to acknowledge.

use super::profile::LwipProfile;
use crate::tcp::segment::{Range, Segment};
use crate::time::Time;

/// Receive state of one end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Everything before this stream offset has arrived (`rcv_nxt`).
    next: u64,
    /// Data that has arrived beyond a gap, ascending (`ooseq`).
    beyond: Vec<Range>,
    owed: Owed,
    /// When a delayed acknowledgement is due.
    due: Time,
    /// Right edge of the window that the peer knows, and of the one that it is told next.
    announced: u64,
    offered: u64,
}

/// The acknowledgement that is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    Nothing,
    /// It may wait for the next tick (`TF_ACK_DELAY`).
    Delayed,
    /// It leaves after this step, with data if there is some (`TF_ACK_NOW`).
    Now,
    /// It leaves by itself, before anything else.
    AtOnce,
}

impl Receiver {
    pub(super) fn new(profile: &LwipProfile) -> Self {
        let window = u64::from(profile.window);
        Self {
            next: 0,
            beyond: Vec::new(),
            owed: Owed::Nothing,
            due: Time::NEVER,
            announced: window,
            offered: window,
        }
    }

    /// Returns the bytes received in order.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Returns when the delayed acknowledgement is due, if one waits.
    pub(super) const fn due(&self) -> Time {
        self.due
    }

    /// Returns whether an acknowledgement is due after this step.
    pub(super) fn is_hurried(&self) -> bool {
        self.owed == Owed::Now
    }

    /// Lets a delayed acknowledgement leave now.
    pub(super) fn hurry(&mut self) {
        self.owed = Owed::Now;
    }

    /// Forgets the acknowledgement that is owed.
    pub(super) fn settle(&mut self) {
        self.owed = Owed::Nothing;
        self.due = Time::NEVER;
    }

    /// Takes a segment's data (`tcp_receive`). Every second segment is acknowledged now, the others
    /// at the next tick. Segments before or beyond what is expected are acknowledged at once.
    pub(super) fn take(&mut self, segment: &Segment, tick: Time, profile: &LwipProfile) -> Owed {
        let range = Range { start: segment.sequence, end: segment.end() };
        if segment.length == 0 {
            if range.start < self.next {
                self.owed = Owed::Now;
            }
            return Owed::Nothing;
        }
        if range.end <= self.next || range.start >= self.next + u64::from(profile.window) {
            return Owed::AtOnce;
        }
        if range.start > self.next {
            self.set_aside(range);
            return Owed::AtOnce;
        }
        self.next = range.end;
        let reached = self.beyond.partition_point(|held| held.start <= self.next);
        for held in self.beyond.drain(..reached) {
            self.next = self.next.max(held.end);
        }
        if self.owed == Owed::Nothing {
            self.owed = Owed::Delayed;
            self.due = tick;
        } else {
            self.owed = Owed::Now;
            self.due = Time::NEVER;
        }
        self.open_window(profile);
        Owed::Nothing
    }

    /// Fills in an outgoing segment's acknowledgement, so that none is owed any more.
    pub(super) fn stamp(&mut self, segment: &mut Segment) {
        segment.acknowledgement = self.next;
        segment.bare = true;
        self.announced = self.offered;
        self.settle();
    }

    /// Opens the window when the application has read, which it does at once (`tcp_recved`,
    /// `tcp_update_rcv_ann_wnd`).
    fn open_window(&mut self, profile: &LwipProfile) {
        let edge = self.next + u64::from(profile.window);
        let opened = edge - self.announced;
        if opened < u64::from((profile.window / 2).min(profile.maximum_segment)) {
            return;
        }
        self.offered = edge;
        if opened >= profile.update_threshold() {
            self.hurry();
            self.due = Time::NEVER;
        }
    }

    fn set_aside(&mut self, range: Range) {
        let first = self.beyond.partition_point(|held| held.end < range.start);
        let last = self.beyond.partition_point(|held| held.start <= range.end);
        let merged = self.beyond[first..last].iter().fold(range, |merged, held| Range {
            start: merged.start.min(held.start),
            end: merged.end.max(held.end),
        });
        self.beyond.splice(first..last, [merged]);
    }
}
