//! How much of the service's time messages to its parties may take.
//!
//! A member's allowance counts messages that were verified as its own. A forger cannot use it up. A
//! repetition of the same bytes is answered a few times and does not count, because the broker or
//! an eavesdropper may be the one who repeats it. For messages that turn out to be worthless there
//! is a limit for all senders together.

use alloc::collections::BTreeMap;
use core::time::Duration;

use sha2::{Digest, Sha256};

use crate::policy::ServiceLimits;
use crate::rate_limit::RateLimit;
use crate::runtime::SECOND;

pub(super) const fn verifications() -> RateLimit {
    RateLimit::new(IN_VAIN, REGAINED_AFTER)
}

/// A member's requests in the current time of counting.
#[derive(Default)]
pub(super) struct Allowance {
    since: u64,
    /// How often each request was taken, by its hash.
    taken: BTreeMap<[u8; 16], u32>,
}

impl Allowance {
    pub(super) fn allows(&mut self, request: &[u8], limit: u32, now: u64) -> bool {
        if Duration::from_nanos(now.saturating_sub(self.since)) > ServiceLimits::ALLOWANCE_TIME {
            self.since = now;
            self.taken.clear();
        }
        match self.taken.get(&hash(request)) {
            Some(&times) => times < REPETITIONS,
            None => self.taken.len() < limit as usize,
        }
    }

    pub(super) fn note(&mut self, request: &[u8], now: u64) {
        if self.taken.is_empty() {
            self.since = now;
        }
        *self.taken.entry(hash(request)).or_default() += 1;
    }
}

fn hash(request: &[u8]) -> [u8; 16] {
    let hash: [u8; 32] = Sha256::digest(request).into();
    let mut first = [0; 16];
    first.copy_from_slice(&hash[..16]);
    first
}

/// How often the same bytes are answered in the time of counting. A member repeats its request when
/// an answer was lost.
const REPETITIONS: u32 = 4;

/// How many verifications in vain are allowed at once, and the time in which one is regained, ns: 2,000
/// in a second. A verification takes some 50 microseconds.
const IN_VAIN: u64 = 4_000;
const REGAINED_AFTER: u64 = SECOND / 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_take_no_place_and_are_not_answered_for_ever() {
        let mut allowance = Allowance::default();
        for _ in 0..REPETITIONS {
            assert!(allowance.allows(b"a", 2, 0));
            allowance.note(b"a", 0);
        }
        assert!(!allowance.allows(b"a", 2, 0));
        assert!(allowance.allows(b"b", 2, 0));
        allowance.note(b"b", 0);
        assert!(!allowance.allows(b"c", 2, 10 * SECOND));
        assert!(allowance.allows(b"c", 2, 10 * SECOND + 1) && allowance.allows(b"a", 2, 0));
    }
}
