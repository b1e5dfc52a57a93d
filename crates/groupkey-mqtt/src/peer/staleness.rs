//! How a member finds out that others have a later key, and how patiently it asks to rejoin.

use super::{FIRST_PATIENCE, INTERVAL, LAST_PATIENCE};

/// Whether a peer has the latest key. All times and waits are in ns.
pub(super) struct Staleness {
    /// Whether other peers may have a later key: a group message said so, or the connection broke.
    is_raised: bool,
    /// Whether a member that we know has answered that there is a later epoch.
    is_behind: bool,
    /// The earliest time of the next question because of a doubt.
    asks_from: u64,
    /// The earliest time of the next request to rejoin because of an answer, and the wait after it.
    rejoins_from: u64,
    rejoins_wait: u64,
    /// When a member without the current key asks to rejoin.
    overdue_at: u64,
    /// The time from one request to the next.
    patience: u64,
}

impl Staleness {
    pub(super) const fn new() -> Self {
        Self {
            is_raised: false,
            is_behind: false,
            asks_from: 0,
            rejoins_from: 0,
            rejoins_wait: INTERVAL,
            overdue_at: 0,
            patience: FIRST_PATIENCE,
        }
    }

    pub(super) const fn is_raised(&self) -> bool {
        self.is_raised
    }

    pub(super) const fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Notes that other peers may have a later key. Returns whether that is news.
    pub(super) const fn raise(&mut self) -> bool {
        !core::mem::replace(&mut self.is_raised, true)
    }

    /// Notes that a member has answered.
    pub(super) const fn settle(&mut self) {
        self.is_raised = false;
    }

    /// Returns whether to ask the others for their epoch now, which happens seldom.
    pub(super) const fn asks(&mut self, now: u64) -> bool {
        let asks = self.is_raised && now >= self.asks_from;
        if asks {
            self.asks_from = now.saturating_add(FIRST_PATIENCE);
        }
        asks
    }

    /// Notes that a member that this peer knows has the key of a later epoch. Returns whether to
    /// rejoin now. The waits become longer while members say so again and again.
    pub(super) fn fell_behind(&mut self, now: u64) -> bool {
        if now < self.rejoins_from {
            // Ask the others again later.
            self.is_raised = true;
            return false;
        }
        self.is_behind = true;
        let is_quiet = now.saturating_sub(self.rejoins_from) >= LAST_PATIENCE;
        let wait = if is_quiet { INTERVAL } else { self.rejoins_wait.saturating_mul(2) };
        self.rejoins_wait = wait.min(LAST_PATIENCE);
        self.rejoins_from = now.saturating_add(self.rejoins_wait);
        true
    }

    /// Forgets what was said of keys: this is another founding.
    pub(super) const fn forget(&mut self) {
        (self.is_raised, self.is_behind) = (false, false);
    }

    /// Notes that this peer has another key.
    pub(super) const fn rekeyed(&mut self) {
        self.forget();
        self.patience = FIRST_PATIENCE;
    }

    pub(super) const fn wait(&mut self, now: u64) {
        self.overdue_at = now.saturating_add(self.patience);
    }

    pub(super) const fn is_overdue(&self, at: u64) -> bool {
        at >= self.overdue_at
    }

    /// Makes the next wait for the key longer.
    pub(super) fn lose_patience(&mut self) {
        self.patience = self.patience.saturating_mul(2).min(LAST_PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_asks_seldom() {
        let mut doubt = Staleness::new();
        assert!(!doubt.asks(0));
        assert!(doubt.raise() && !doubt.raise());
        assert!(doubt.asks(0) && !doubt.asks(FIRST_PATIENCE - 1));
        assert!(doubt.asks(FIRST_PATIENCE));
        doubt.settle();
        assert!(!doubt.asks(9 * FIRST_PATIENCE));
    }

    #[test]
    fn who_is_told_again_and_again_to_rejoin_does_so_ever_more_rarely() {
        let mut doubt = Staleness::new();
        let (mut now, mut times) = (1, 0);
        while now < 4 * LAST_PATIENCE {
            times += u32::from(doubt.fell_behind(now));
            now += INTERVAL;
        }
        assert!((8..16).contains(&times), "{times}");
        assert!(doubt.is_behind() && doubt.is_raised());
        doubt.rekeyed();
        assert!(!doubt.is_behind() && !doubt.is_raised());
    }

    #[test]
    fn patience_grows_until_there_is_a_key() {
        let mut doubt = Staleness::new();
        for _ in 0..9 {
            doubt.lose_patience();
        }
        doubt.wait(0);
        assert!(!doubt.is_overdue(LAST_PATIENCE - 1) && doubt.is_overdue(LAST_PATIENCE));
        doubt.rekeyed();
        doubt.wait(0);
        assert!(doubt.is_overdue(FIRST_PATIENCE));
    }
}
