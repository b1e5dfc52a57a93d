//! An attempt to join: the requests of a device that is no member, and what was answered.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::{EARLY, TRIES, pause_after};
use crate::counters::Counters;
use crate::early_messages::EarlyMessages;
use crate::event::Hint;
use crate::join::{Offered, WaitingRequest, Welcome};
use crate::keyring::Secret;

/// The attempts of a device to join, of which the service knows the present one.
pub(super) struct Joining {
    attempt: [u8; 8],
    /// The requests of this attempt: a welcome may answer any of them.
    asked: Vec<WaitingRequest>,
    /// When to ask again, ns.
    due: u64,
    tries: u32,
    /// How often another place was offered in this attempt.
    replaced: u32,
    hint: Hint,
    /// Messages that came before the welcome.
    early: EarlyMessages<EARLY>,
}

impl Joining {
    pub(super) const fn new() -> Self {
        Self {
            attempt: [0; 8],
            asked: Vec::new(),
            due: u64::MAX,
            tries: 0,
            replaced: 0,
            hint: Hint::NoAnswer,
            early: EarlyMessages::new(),
        }
    }

    /// Returns when to ask again, ns, once the device has asked.
    pub(super) fn due(&self) -> Option<u64> {
        (self.tries > 0).then_some(self.due)
    }

    /// Begins the next request. Returns its attempt, and what to tell the application if there were
    /// many in vain.
    pub(super) fn next(&mut self, now: u64, rng: &mut ChaCha20Rng) -> ([u8; 8], Option<Hint>) {
        if self.tries.is_multiple_of(TRIES) {
            rng.fill_bytes(&mut self.attempt);
            self.asked.clear();
            self.replaced = 0;
        }
        let is_in_vain = self.tries % TRIES == HINT_AFTER;
        self.tries += 1;
        self.due = now.saturating_add(pause_after(self.tries, rng));
        (self.attempt, is_in_vain.then_some(self.hint))
    }

    pub(super) const fn attempt(&self) -> [u8; 8] {
        self.attempt
    }

    pub(super) fn asked(&mut self, request: WaitingRequest) {
        self.asked.push(request);
    }

    pub(super) const fn note(&mut self, hint: Hint) {
        self.hint = hint;
    }

    /// Reads an offer of a place, if it answers a request.
    pub(super) fn offered(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<Offered> {
        self.asked.iter().find_map(|asking| asking.offered(bytes, service, shared))
    }

    pub(super) fn open(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<Welcome> {
        self.asked.iter().find_map(|asking| asking.open(bytes, service, shared))
    }

    /// Returns whether to follow an offer of another place. Recorded offers come again, so their
    /// number is limited.
    pub(super) const fn follows_offer(&mut self) -> bool {
        let follows = self.replaced < OFFERS;
        if follows {
            self.replaced += 1;
        }
        follows
    }

    /// Keeps a message until the welcome arrives.
    pub(super) fn keep(&mut self, bytes: &[u8], counters: &mut Counters) {
        self.early.keep(bytes, counters);
    }

    /// Takes the messages that were kept.
    pub(super) fn take_early(&mut self) -> VecDeque<Vec<u8>> {
        self.early.take()
    }
}

/// After this many requests of an attempt, some 14 s, the application learns why it is no member.
const HINT_AFTER: u32 = 3;

/// How many offers of another place, or of a later stamp, an attempt follows: one, and another if the
/// service restarts.
const OFFERS: u32 = 2;

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn an_attempt_has_eight_requests_and_one_hint() {
        let (mut joining, mut rng) = (Joining::new(), ChaCha20Rng::seed_from_u64(1));
        assert_eq!(joining.due(), None);
        joining.note(Hint::Known);
        let mut next = || joining.next(0, &mut rng);
        let first: Vec<_> = (0..TRIES).map(|_| next()).collect();
        let second = next();
        assert!(first.iter().all(|(attempt, _)| *attempt == first[0].0));
        assert_ne!(second.0, first[0].0);
        let hints: Vec<_> = first.iter().map(|(_, hint)| *hint).collect();
        let mut expected = vec![None; TRIES as usize];
        expected[HINT_AFTER as usize] = Some(Hint::Known);
        assert_eq!(hints, expected);
        assert!(joining.due().is_some());
    }

    #[test]
    fn an_attempt_follows_two_offers() {
        let (mut joining, mut rng) = (Joining::new(), ChaCha20Rng::seed_from_u64(1));
        let _ = joining.next(0, &mut rng);
        assert!(joining.follows_offer() && joining.follows_offer() && !joining.follows_offer());
        for _ in 0..TRIES {
            let _ = joining.next(0, &mut rng);
        }
        assert!(joining.follows_offer(), "this is another attempt");
    }
}
