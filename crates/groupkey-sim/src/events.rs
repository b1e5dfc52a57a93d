//! The event queue: what happens next, and first in first out among things that happen together.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::time::{Due, Time};

/// A priority queue ordered by (time, order of insertion).
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    /// Those that were pushed in a crowd, the next one last: in the heap they would be in the way of
    /// everything that comes and goes before them.
    crowd: Vec<Entry<T>>,
    sequence: u64,
}

impl<T> EventQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), crowd: Vec::new(), sequence: 0 }
    }

    /// Gives the event's number, one above that of the event pushed before.
    pub(crate) fn push(&mut self, time: Time, happening: T) -> u64 {
        let sequence = self.sequence;
        self.heap.push(Entry { time, sequence, happening });
        self.sequence += 1;
        sequence
    }

    /// Pushes many at once, one after the other; gives the number of the first.
    pub(crate) fn push_all(&mut self, events: Vec<(Time, T)>) -> u64 {
        let first = self.sequence;
        if events.len() < self.crowd.len() {
            for (time, happening) in events {
                self.push(time, happening);
            }
            return first;
        }
        self.sequence += events.len() as u64;
        let entry = |(sequence, (time, happening))| Entry { time, sequence, happening };
        self.crowd.extend((first..).zip(events).map(entry));
        self.crowd.sort_unstable();
        first
    }

    /// The next event, and when it is.
    pub(crate) fn pop(&mut self) -> Option<(Due, T)> {
        let entry = match self.crowd.last() {
            Some(last) if self.heap.peek().is_none_or(|top| top < last) => self.crowd.pop(),
            _ => self.heap.pop(),
        };
        entry.map(|entry| (Due::new(entry.time, entry.sequence), entry.happening))
    }

    /// How many events were pushed, above the number of any.
    pub(crate) const fn numbered(&self) -> u64 {
        self.sequence
    }
}

#[derive(Debug)]
struct Entry<T> {
    time: Time,
    sequence: u64,
    happening: T,
}

impl<T> Ord for Entry<T> {
    // Reversed: the standard heap gives its greatest element first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.sequence).cmp(&(self.time, self.sequence))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

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
