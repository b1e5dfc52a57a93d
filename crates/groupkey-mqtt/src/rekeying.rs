//! When the key changes without a join or leave: after a period, at a service and among peers.

use core::time::Duration;

use crate::runtime::after;

/// When the key changes without a join or leave. All times are in ns.
#[derive(Default)]
pub(crate) struct Rekeying {
    period: Option<Duration>,
    /// When the key last changed.
    at: Option<u64>,
    due: Option<u64>,
}

impl Rekeying {
    pub(crate) const fn new(period: Option<Duration>) -> Self {
        Self { period, at: None, due: None }
    }

    /// Returns when the key last changed.
    pub(crate) const fn at(&self) -> Option<u64> {
        self.at
    }

    /// Returns when it changes next.
    pub(crate) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Continues after a change of the key at this time, if there was one.
    pub(crate) fn restore(&mut self, at: Option<u64>) {
        self.at = at;
        self.due = at.zip(self.period).map(|(at, period)| after(at, period));
    }

    /// Waits for another period, because the key has changed, or cannot.
    pub(crate) fn wait(&mut self, now: u64) {
        self.due = self.period.map(|period| after(now, period));
    }

    /// Waits until this time, because another change is under way.
    pub(crate) const fn put_off(&mut self, until: u64) {
        self.due = Some(until);
    }

    /// Notes that the key has changed.
    pub(crate) fn rekeyed(&mut self, now: u64) {
        self.at = Some(now);
        self.wait(now);
    }

    /// Waits for one period at most: the clock may have been set back since the service last ran.
    pub(crate) fn connected(&mut self, now: u64) {
        let latest = self.period.map(|period| after(now, period));
        self.due = self.due.zip(latest).map(|(due, latest)| due.min(latest));
    }

    /// Forgets the key.
    pub(crate) const fn reset(&mut self) {
        (self.at, self.due) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SECOND;

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
}
