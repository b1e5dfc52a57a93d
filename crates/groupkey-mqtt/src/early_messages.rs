//! Messages that arrived before the receiver could use them.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::counters::Counters;

/// A queue of at most `N` messages, which together have at most [`MOST_BYTES`]. A full queue drops its
/// oldest messages: anybody may have sent them, and the memory is somebody else's, too.
#[derive(Debug, Default)]
pub(crate) struct EarlyMessages<const N: usize> {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
}

/// The most that one queue keeps, in bytes. A device has some queues and little memory.
const MOST_BYTES: usize = if cfg!(feature = "std") { 1 << 23 } else { 1 << 12 };

impl<const N: usize> EarlyMessages<N> {
    pub(crate) const fn new() -> Self {
        Self { messages: VecDeque::new(), bytes: 0 }
    }

    /// Keeps a message. Drops the oldest messages until there is room, and counts them. A message
    /// that is longer than the queue is dropped itself.
    pub(crate) fn keep(&mut self, bytes: &[u8], counters: &mut Counters) {
        if bytes.len() > MOST_BYTES {
            counters.overflowed += 1;
            return;
        }
        while self.messages.len() >= N || self.bytes + bytes.len() > MOST_BYTES {
            let Some(oldest) = self.messages.pop_front() else { break };
            self.bytes -= oldest.len();
            counters.overflowed += 1;
        }
        self.bytes += bytes.len();
        self.messages.push_back(bytes.to_vec());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Removes and returns all messages, oldest first.
    pub(crate) fn take(&mut self) -> VecDeque<Vec<u8>> {
        core::mem::take(self).messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_takes_the_oldest_messages_and_no_more_memory() {
        let (mut early, mut counters) = (EarlyMessages::<3>::new(), Counters::default());
        (0..5).for_each(|number| early.keep(&[number], &mut counters));
        assert_eq!(counters.overflowed, 2);
        early.keep(&alloc::vec![9; MOST_BYTES - 1], &mut counters);
        assert_eq!((early.bytes, counters.overflowed), (MOST_BYTES, 4));
        early.keep(&alloc::vec![9; MOST_BYTES + 1], &mut counters);
        assert_eq!((early.bytes, counters.overflowed), (MOST_BYTES, 5));
        assert_eq!(early.take().front().map(|bytes| bytes[0]), Some(4));
        assert_eq!((early.bytes, early.is_empty()), (0, true));
    }
}
