//! Messages that arrived before the receiver could use them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::counters::Counters;

/// A queue of at most `N` messages. A full queue drops its oldest message.
#[derive(Debug, Default)]
pub(crate) struct Early<const N: usize>(VecDeque<Vec<u8>>);

impl<const N: usize> Early<N> {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Keeps a message. If the queue is full, drops the oldest message and counts it.
    pub(crate) fn keep(&mut self, bytes: &[u8], counters: &mut Counters) {
        if self.0.len() == N {
            self.0.pop_front();
            counters.overflowed += 1;
        }
        self.0.push_back(bytes.to_vec());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes and returns all messages, oldest first.
    pub(crate) fn take(&mut self) -> VecDeque<Vec<u8>> {
        core::mem::take(&mut self.0)
    }
}
