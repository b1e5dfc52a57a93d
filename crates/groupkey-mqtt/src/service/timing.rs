//! When a service acts without an input: it publishes its notice again.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use groupkey::Epoch;

use crate::runtime::SECOND;

/// The notice of the epoch: what it says, and when it is published again.
#[derive(Default)]
pub(super) struct Announcing {
    epoch: Epoch,
    due: Option<u64>,
    /// The last notices that this service made.
    made: VecDeque<Vec<u8>>,
}

impl Announcing {
    pub(super) const fn restore(&mut self, epoch: Epoch) {
        self.epoch = epoch;
    }

    /// Notes the epoch that the notice has now. Returns the one that it had, if that was another.
    pub(super) fn announce(&mut self, epoch: Epoch) -> Option<Epoch> {
        let before = core::mem::replace(&mut self.epoch, epoch);
        (before != epoch).then_some(before)
    }

    /// Notes a notice that this service made, newest first.
    pub(super) fn note(&mut self, notice: &[u8]) {
        self.made.truncate(MADE - 1);
        self.made.push_front(notice.to_vec());
    }

    /// Returns whether this service made the notice lately. The broker sends it back, and to verify it
    /// takes longer than all else that the service computes for a change.
    pub(super) fn has_made(&self, notice: &[u8]) -> bool {
        self.made.iter().any(|made| made == notice)
    }

    /// Returns when the notice is published again, ns.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Publishes the notice again in a second: the broker may have lost it, or may retain that of an
    /// earlier service.
    pub(super) const fn connected(&mut self, now: u64) {
        self.due = Some(now.saturating_add(SECOND));
    }

    /// Publishes the notice again in a second, or earlier if that is due.
    pub(super) fn repeat(&mut self, now: u64) {
        self.due.get_or_insert_with(|| now.saturating_add(SECOND));
    }

    /// Notes that the notice is published again.
    pub(super) const fn repeated(&mut self) {
        self.due = None;
    }
}

/// How many notices are known again: more may be on their way to the broker and back, and are verified.
const MADE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_announced_once_and_repeated_soon() {
        let mut announcing = Announcing::default();
        assert_eq!(announcing.announce(Epoch(1)), Some(Epoch(0)));
        assert_eq!(announcing.announce(Epoch(1)), None);
        announcing.repeat(0);
        announcing.repeat(5);
        assert_eq!(announcing.due(), Some(SECOND));
        announcing.connected(5);
        assert_eq!(announcing.due(), Some(SECOND + 5));
        announcing.repeated();
        assert_eq!(announcing.due(), None);
    }

    #[test]
    fn the_last_notices_are_known_again() {
        let mut announcing = Announcing::default();
        (0..=MADE as u8).for_each(|number| announcing.note(&[number]));
        assert!(announcing.has_made(&[1]) && announcing.has_made(&[MADE as u8]));
        assert!(!announcing.has_made(&[0]) && !announcing.has_made(&[99]));
    }
}
