//! The event queue: what happens next, and first in first out among things that happen together.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::time::{Due, Time};

/// A priority queue ordered by (time, order of insertion).
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    sequence: u64,
}

impl<T> EventQueue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), sequence: 0 }
    }

    /// Gives the event's number, one above that of the event pushed before.
    pub(crate) fn push(&mut self, time: Time, happening: T) -> u64 {
        let sequence = self.sequence;
        self.heap.push(Entry { time, sequence, happening });
        self.sequence += 1;
        sequence
    }

    /// The next event, and when it is.
    pub(crate) fn pop(&mut self) -> Option<(Due, T)> {
        self.heap.pop().map(|entry| (Due::new(entry.time, entry.sequence), entry.happening))
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
}
