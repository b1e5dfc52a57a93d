//! The hash of the log: of all entries there ever were, in order.
//!
//! Two stores of one group with the same hash have the same history. The hash in a notice lets a
//! service see that its store is not the one that the notice is about.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use minicbor::bytes::ByteArray;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The hash of the log, and those of its last beginnings.
#[derive(Default)]
pub(super) struct LogChain {
    entries: u64,
    /// The hash after each of the last entries. They are secret: with one, a reader could try out
    /// what a later entry says.
    recent: VecDeque<[u8; 32]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogState {
    pub(super) entries: u64,
    pub(super) hash: [u8; 32],
}

impl LogChain {
    pub(super) fn extend(&mut self, entry: &[u8]) {
        let mut hash = Sha256::new();
        hash.update(b"groupkey log 1");
        hash.update(self.last());
        hash.update(entry);
        self.entries += 1;
        self.recent.push_back(hash.finalize().into());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    pub(super) fn state(&self) -> LogState {
        LogState { entries: self.entries, hash: published(&self.last()) }
    }

    /// Returns whether the log was once in this state. `Some(false)` if it was not and never will
    /// be, `None` if that was too long ago to be known.
    pub(super) fn has_had(&self, state: &LogState) -> Option<bool> {
        let Some(since) = self.entries.checked_sub(state.entries) else { return Some(false) };
        let index = (self.recent.len() as u64).checked_sub(since + 1)?;
        let hash = self.recent.get(usize::try_from(index).ok()?)?;
        Some(published(hash).ct_eq(&state.hash).into())
    }

    /// Returns the number of entries and the hashes after the last of them, for a checkpoint.
    pub(super) fn last_states(&self) -> (u64, Vec<ByteArray<32>>) {
        let skipped = self.recent.len().saturating_sub(IN_A_CHECKPOINT);
        (self.entries, self.recent.iter().skip(skipped).map(|&hash| hash.into()).collect())
    }

    /// Continues where a checkpoint was made.
    pub(super) fn restored(entries: u64, recent: &[ByteArray<32>]) -> Self {
        Self { entries, recent: recent.iter().map(|&hash| hash.into()).collect() }
    }

    pub(super) const fn entries(&self) -> u64 {
        self.entries
    }

    fn last(&self) -> [u8; 32] {
        self.recent.back().copied().unwrap_or_default()
    }
}

fn published(hash: &[u8; 32]) -> [u8; 32] {
    let mut published = Sha256::new();
    published.update(b"groupkey state 1");
    published.update(hash);
    published.finalize().into()
}

/// How many earlier states are known. A notice of an earlier one is no evidence.
const RECENT: usize = 1_024;

const IN_A_CHECKPOINT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_of_one_history() {
        let (mut one, mut other) = (LogChain::default(), LogChain::default());
        for chain in [&mut one, &mut other] {
            chain.extend(b"founded");
            chain.extend(b"created");
        }
        let common = one.state();
        assert_eq!(common, other.state());
        one.extend(b"evicted 1");
        other.extend(b"evicted 2");
        assert_eq!(one.state().entries, other.state().entries);
        assert_eq!(one.has_had(&other.state()), Some(false));
        assert_eq!(one.has_had(&common), Some(true));
        assert_eq!(one.has_had(&one.state()), Some(true));
        other.extend(b"more");
        assert_eq!(one.has_had(&other.state()), Some(false));
        for _ in 0..RECENT {
            one.extend(b"more");
        }
        assert_eq!(one.has_had(&common), None);
    }
}
