//! A limit for attempts in vain: so many at once, and then one in some time.

/// Attempts in vain that are still allowed.
#[derive(Debug)]
pub(crate) struct RateLimit {
    most: u64,
    /// The time in which one attempt is regained, ns.
    regained_after: u64,
    left: u64,
    at: u64,
}

impl RateLimit {
    pub(crate) const fn new(most: u64, regained_after: u64) -> Self {
        Self { most, regained_after, left: most, at: 0 }
    }

    /// Returns whether an attempt of unknown worth is allowed at this time, ns.
    pub(crate) const fn allows(&mut self, now: u64) -> bool {
        let regained = now.saturating_sub(self.at) / self.regained_after;
        if regained > 0 {
            let left = self.left.saturating_add(regained);
            self.left = if left < self.most { left } else { self.most };
            self.at = now;
        }
        self.left > 0
    }

    /// Counts an attempt that was in vain.
    pub(crate) const fn failed(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SECOND;

    #[test]
    fn attempts_in_vain_run_out_and_come_back() {
        let (mut limit, mut allowed) = (RateLimit::new(4_000, SECOND / 2_000), 0);
        // Ten thousand a second for ten seconds.
        for attempt in 0..100_000 {
            if limit.allows(1_000 * SECOND + attempt * (SECOND / 10_000)) {
                limit.failed();
                allowed += 1;
            }
        }
        assert!((23_000..=24_000).contains(&allowed), "{allowed}");
    }
}
