//! When a service acts without an input: it changes the key, and publishes its notice again.

use core::time::Duration;

use groupkey::Epoch;

use crate::runtime::{SECOND, after};

/// When the key changes without a join or leave. All times are in ns.
#[derive(Default)]
pub(super) struct Rekeying {
    period: Option<Duration>,
    /// When the key last changed.
    at: Option<u64>,
    due: Option<u64>,
}

/// The notice of the epoch: what it says, and when it is published again.
#[derive(Default)]
pub(super) struct Announcing {
    epoch: Epoch,
    due: Option<u64>,
}

impl Rekeying {
    pub(super) const fn new(period: Option<Duration>) -> Self {
        Self { period, at: None, due: None }
    }

    /// Returns when the key last changed.
    pub(super) const fn at(&self) -> Option<u64> {
        self.at
    }

    /// Returns when it changes next.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Continues after a change of the key at this time, if there was one.
    pub(super) fn restore(&mut self, at: Option<u64>) {
        self.at = at;
        self.due = at.zip(self.period).map(|(at, period)| after(at, period));
    }

    /// Waits for another period, because the key has changed, or cannot.
    pub(super) fn wait(&mut self, now: u64) {
        self.due = self.period.map(|period| after(now, period));
    }

    /// Notes that the key has changed.
    pub(super) fn rekeyed(&mut self, now: u64) {
        self.at = Some(now);
        self.wait(now);
    }

    /// Waits for one period at most: the clock may have been set back since the service last ran.
    pub(super) fn connected(&mut self, now: u64) {
        let latest = self.period.map(|period| after(now, period));
        self.due = self.due.zip(latest).map(|(due, latest)| due.min(latest));
    }

    /// Forgets the key.
    pub(super) const fn reset(&mut self) {
        (self.at, self.due) = (None, None);
    }
}

impl Announcing {
    /// Continues with a notice of this epoch.
    pub(super) const fn restore(&mut self, epoch: Epoch) {
        self.epoch = epoch;
    }

    /// Notes the epoch that the notice has now. Returns the one that it had, if that was another.
    pub(super) fn announce(&mut self, epoch: Epoch) -> Option<Epoch> {
        let before = core::mem::replace(&mut self.epoch, epoch);
        (before != epoch).then_some(before)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_used_for_one_period_whatever_the_clock_did() {
        let mut rekeying = Rekeying::new(Some(Duration::from_secs(10)));
        rekeying.restore(Some(100 * SECOND));
        assert_eq!(rekeying.due(), Some(110 * SECOND));
        rekeying.connected(50 * SECOND);
        assert_eq!(rekeying.due(), Some(60 * SECOND), "the clock was set back");
        rekeying.connected(55 * SECOND);
        assert_eq!(rekeying.due(), Some(60 * SECOND));
        rekeying.rekeyed(61 * SECOND);
        assert_eq!((rekeying.at(), rekeying.due()), (Some(61 * SECOND), Some(71 * SECOND)));
        rekeying.reset();
        rekeying.connected(0);
        assert_eq!((rekeying.at(), rekeying.due()), (None, None));
    }

    #[test]
    fn without_a_period_the_key_does_not_change() {
        let mut rekeying = Rekeying::default();
        rekeying.rekeyed(1);
        rekeying.connected(2);
        assert_eq!(rekeying.due(), None);
    }

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
}
