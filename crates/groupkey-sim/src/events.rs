//! The event queue, ordered by time. Events at the same time are first in, first out.

use core::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use crate::time::{EventKey, Time};

/// Number of lanes. Links of a few delays, the processing at both ends and the timers fill them.
const LANES: usize = 12;

/// A priority queue ordered by (time, order of insertion).
///
/// Most events of one kind are scheduled in the order in which they happen. Such kinds are segments
/// over links of the same delay, packets being served, and timers of the same span. Each kind finds
/// a lane of its own, and only the ends of a lane are ever touched. A heap takes the rest: there, a
/// single event touches many entries.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    lanes: [Lane<T>; LANES],
    heap: BinaryHeap<EventEntry<T>>,
    sequence: u64,
}

impl<T> EventQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { lanes: [const { Lane::new() }; LANES], heap: BinaryHeap::new(), sequence: 0 }
    }

    /// Pushes an event. Returns its number, one above that of the event pushed before.
    pub(crate) fn push(&mut self, time: Time, happening: T) -> u64 {
        let sequence = self.sequence;
        self.insert(EventEntry { time, sequence, happening });
        self.sequence += 1;
        sequence
    }

    /// Pushes many events, one after the other. Returns the number of the first.
    pub(crate) fn push_all(&mut self, events: Vec<(Time, T)>) -> u64 {
        let first = self.sequence;
        self.sequence += events.len() as u64;
        let entry = |(sequence, (time, happening))| EventEntry { time, sequence, happening };
        let mut entries: Vec<_> = (first..).zip(events).map(entry).collect();
        // Sorted events stay in one lane.
        entries.sort_unstable_by_key(EventEntry::due);
        entries.into_iter().for_each(|entry| self.insert(entry));
        first
    }

    /// Removes the next event and returns it with its time.
    pub(crate) fn pop(&mut self) -> Option<(EventKey, T)> {
        let lane = self.lanes.iter_mut().min_by_key(|lane| lane.first)?;
        let entry = match self.heap.peek() {
            Some(top) if top.due() < lane.first => self.heap.pop(),
            _ => lane.pop(),
        };
        entry.map(|entry| (entry.due(), entry.happening))
    }

    /// Drops all events. Numbers go on.
    pub(crate) fn clear(&mut self) {
        *self = Self { sequence: self.sequence, ..Self::new() };
    }

    /// Returns how many events were pushed. Every event's number is below this.
    pub(crate) const fn numbered(&self) -> u64 {
        self.sequence
    }

    fn insert(&mut self, entry: EventEntry<T>) {
        let fitting = self.lanes.iter_mut().filter(|lane| lane.last <= entry.time);
        // The lane that ends latest: the others stay open for earlier events.
        match fitting.max_by_key(|lane| lane.last) {
            Some(lane) => lane.push(entry),
            None => self.heap.push(entry),
        }
    }
}

/// Events in ascending order.
#[derive(Debug)]
struct Lane<T> {
    entries: VecDeque<EventEntry<T>>,
    /// When the first event is; never, if there is none.
    first: EventKey,
    /// When the last event is; zero, if there is none.
    last: Time,
}

impl<T> Lane<T> {
    const fn new() -> Self {
        Self { entries: VecDeque::new(), first: EventKey::NEVER, last: Time::ZERO }
    }

    fn push(&mut self, entry: EventEntry<T>) {
        self.last = entry.time;
        if self.entries.is_empty() {
            self.first = entry.due();
        }
        self.entries.push_back(entry);
    }

    fn pop(&mut self) -> Option<EventEntry<T>> {
        let entry = self.entries.pop_front();
        self.first = self.entries.front().map_or(EventKey::NEVER, EventEntry::due);
        if self.entries.is_empty() {
            self.last = Time::ZERO;
        }
        entry
    }
}

#[derive(Debug)]
struct EventEntry<T> {
    time: Time,
    sequence: u64,
    happening: T,
}

impl<T> EventEntry<T> {
    const fn due(&self) -> EventKey {
        EventKey::new(self.time, self.sequence)
    }
}

impl<T> Ord for EventEntry<T> {
    // Reversed: the standard heap gives its greatest element first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.due().cmp(&self.due())
    }
}

impl<T> PartialOrd for EventEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for EventEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for EventEntry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_first_then_in_order_of_insertion() {
        let mut queue = EventQueue::new();
        for (time, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd'), (4, 'e')] {
            queue.push(Time::from_nanos(time), name);
        }
        let order: String = core::iter::from_fn(|| queue.pop()).map(|(_, name)| name).collect();
        assert_eq!(order, "bdeac");
    }

    #[test]
    fn it_does_not_matter_how_many_come_at_once() {
        let (mut queue, mut other) = (EventQueue::new(), EventQueue::new());
        let mut left = 0_u64;
        for turn in 0..2_000_u64 {
            let time = |event: u64| Time::from_nanos(turn + (event * 7_919 + turn * 31) % 50);
            let events: Vec<_> = (0..turn * 13 % 8).map(|event| (time(event), turn)).collect();
            left += events.len() as u64;
            let numbers: Vec<_> =
                events.iter().map(|&(time, event)| other.push(time, event)).collect();
            let first = queue.push_all(events);
            assert!((first..).zip(numbers).all(|(number, other)| number == other));
            for _ in 0..left.min(4) {
                assert_eq!(queue.pop(), other.pop());
                left -= 1;
            }
        }
        assert!((0..=left).all(|_| queue.pop() == other.pop()));
    }
}
