//! Messages that came before they could be used.

use std::collections::VecDeque;

use crate::counters::Counters;

/// A queue of at most `N` messages. The oldest is dropped where there is no room.
#[derive(Debug, Default)]
pub(crate) struct Early<const N: usize>(VecDeque<Vec<u8>>);

impl<const N: usize> Early<N> {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Keeps a message, and counts one that is dropped for it.
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

    /// All messages, oldest first; none are left.
    pub(crate) fn take(&mut self) -> VecDeque<Vec<u8>> {
        std::mem::take(&mut self.0)
    }
}
