//! A queue in contiguous memory: it is searched more often than it moves.

use core::ops::{Deref, DerefMut};

/// A queue whose items are a slice.
#[derive(Debug)]
pub(crate) struct Fifo<T> {
    /// Items that were taken out, until there is a reason to move the others; then the
    /// queue's items.
    items: Vec<T>,
    /// Index of the queue's front.
    first: usize,
}

impl<T: Copy> Fifo<T> {
    pub(crate) const fn new() -> Self {
        Self { items: Vec::new(), first: 0 }
    }

    #[inline]
    pub(crate) fn push_back(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Returns the number of items.
    #[inline]
    pub(crate) const fn len(&self) -> usize {
        self.items.len() - self.first
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.items.len() == self.first
    }

    /// Returns the item at the front.
    #[inline]
    pub(crate) fn first(&self) -> Option<&T> {
        self.items.get(self.first)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.items.get_mut(self.first + place)
    }

    #[inline]
    pub(crate) fn drop_front(&mut self, number: usize) {
        self.first += number;
        if self.first >= self.items.len() {
            self.items.clear();
            self.first = 0;
        }
    }

    /// Takes out the item at a place, which must be in the queue.
    pub(crate) fn remove(&mut self, place: usize) -> T {
        self.items.remove(self.first + place)
    }

    /// Inserts an item at a place, before the present item.
    pub(crate) fn insert(&mut self, place: usize, item: T) {
        self.items.insert(self.first + place, item);
    }

    /// Drops all items after the first `length`.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.items.truncate(self.first + length);
    }

    /// Frees the memory that the queue does not need now.
    pub(crate) fn shrink(&mut self) {
        self.items.drain(..self.first);
        self.first = 0;
        self.items.shrink_to_fit();
    }

    /// Moves the queue to the front if that frees at least half of the memory. Otherwise the
    /// memory grows.
    #[cold]
    fn make_room(&mut self) {
        if self.first * 2 >= self.items.len() {
            self.items.drain(..self.first);
            self.first = 0;
        }
    }
}

impl<T: Copy> Clone for Fifo<T> {
    fn clone(&self) -> Self {
        Self { items: self.to_vec(), first: 0 }
    }
}

impl<T> Deref for Fifo<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items[self.first..]
    }
}

impl<T> DerefMut for Fifo<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn it_is_a_queue() {
        let (mut fifo, mut queue) = (Fifo::new(), VecDeque::new());
        for turn in 0..5_000_u32 {
            match turn.wrapping_mul(2_654_435_761) >> 28 {
                0..7 => {
                    fifo.push_back(turn);
                    queue.push_back(turn);
                }
                7..14 => {
                    let number = turn as usize % 3;
                    fifo.drop_front(number);
                    queue.drain(..number.min(queue.len()));
                }
                14 if turn % 5 == 0 => fifo.shrink(),
                14 if !queue.is_empty() => {
                    let place = turn as usize % queue.len();
                    assert_eq!(Some(fifo.remove(place)), queue.remove(place));
                    fifo.insert(place / 2, turn);
                    queue.insert(place / 2, turn);
                }
                _ => {
                    fifo.truncate(20);
                    queue.truncate(20);
                }
            }
            assert!(fifo.iter().eq(&queue));
            assert!(fifo.clone().iter().eq(&queue));
        }
    }
}
