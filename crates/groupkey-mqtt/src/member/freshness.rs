//! How long ago a member knew for certain that its key is the group's latest.
//!
//! A retained notice, a rekey and a group message may all be late, or recordings: none of them says
//! which epoch the group is in now. The service's signed answer to a question does, as of the time of
//! the question. A member asks when it has had no such proof for a while. If the last one is too old,
//! it sends nothing: whoever was evicted since may have the key.
//!
//! A question says which epoch the member has, so it confirms that epoch to the service. If the service
//! expects confirmations, the member asks within some time after each new key.

use core::time::Duration;

use groupkey::Epoch;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use crate::generator::Generator;
use crate::notice::Expectations;
use crate::runtime::{SECOND, after};

/// How a member makes sure that its key is the group's latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// After how long without proof the member asks the service. A question costs the member and the
    /// service a message each. Without it, only what [`Member`](super::Member) hears makes it ask.
    pub proof: Option<Duration>,
    /// After how long without proof the member sends nothing. It should be a few times
    /// [`proof`](Self::proof): the service may be away for a while.
    pub max_key_age: Option<Duration>,
}

/// What a member has proof of. All times are in ns.
pub(super) struct EpochProof {
    settings: Freshness,
    /// The time at which our epoch was the group's for certain.
    proven: Option<u64>,
    /// The group was in this epoch at this time, and we are not yet.
    ahead: Option<(u64, u64)>,
    /// When we ask next.
    due: Option<u64>,
    expected: Expectations,
    reached: Epoch,
    /// The epoch that we had when we asked last.
    said: Option<u64>,
    /// Whether the service's last word from us is that we are behind.
    is_late: bool,
    /// Whether the member has reported that its proof is too old.
    is_reported: bool,
}

/// What the application must hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofChange {
    /// The last proof became too old.
    Expired,
    Renewed,
}

impl Default for Freshness {
    /// Returns a question an hour, and no end.
    fn default() -> Self {
        Self { proof: Some(Duration::from_secs(3_600)), max_key_age: None }
    }
}

impl EpochProof {
    pub(super) const fn new(settings: Freshness) -> Self {
        Self {
            settings,
            proven: None,
            ahead: None,
            due: None,
            expected: Expectations { confirm_s: 0, ask_s: 0, activate_s: 0 },
            reached: Epoch(0),
            said: None,
            is_late: false,
            is_reported: false,
        }
    }

    pub(super) fn expect(&mut self, expected: Expectations, now: u64, rng: &ChaCha20Rng) {
        if self.expected == expected {
            return;
        }
        self.expected = expected;
        if self.reached > Epoch(0) {
            let due = self.due;
            self.ask_later(now, rng);
            self.due = self.due.into_iter().chain(due).min();
            self.confirm_soon(now, rng);
        }
    }

    pub(super) const fn expectations(&self) -> Expectations {
        self.expected
    }

    /// Notes that we asked, and the epoch that we had then.
    pub(super) const fn asked(&mut self, epoch: Option<u64>) {
        self.said = epoch;
    }

    /// Notes that the service said at `asked`, or later, that the group is in this epoch.
    pub(super) fn heard(&mut self, epoch: u64, asked: u64) {
        self.is_late = self.said.is_some_and(|said| said < epoch);
        self.ahead = Some((epoch, asked));
    }

    /// Notes the epoch of our key. Returns what changed by it, or with time.
    pub(super) fn follow(
        &mut self,
        reached: Epoch,
        now: u64,
        rng: &ChaCha20Rng,
    ) -> Option<ProofChange> {
        // The clock may have been set back.
        self.proven = self.proven.map(|proven| proven.min(now));
        let answer = self.ahead.take_if(|(epoch, _)| reached.0 >= *epoch);
        if let Some((_, asked)) = answer {
            self.proven = self.proven.max(Some(asked.min(now)));
            self.ask_later(now, rng);
        }
        // The question may have been older than the key.
        if self.reached != reached || answer.is_some() && self.said != Some(reached.0) {
            self.reached = reached;
            self.confirm_soon(now, rng);
        }
        let is_expired = self.is_expired(now);
        if is_expired == self.is_reported {
            return None;
        }
        self.is_reported = is_expired;
        Some(if is_expired { ProofChange::Expired } else { ProofChange::Renewed })
    }

    /// Returns the time at which our epoch was the group's for certain.
    pub(super) const fn proven(&self) -> Option<u64> {
        self.proven
    }

    /// Returns whether the last proof is too old to send anything.
    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expiry().is_some_and(|expiry| expiry <= now)
    }

    /// Returns whether it is time to ask, and waits for the next time.
    pub(super) fn asks(&mut self, now: u64, rng: &ChaCha20Rng) -> bool {
        let is_due = self.due.is_some_and(|due| due <= now);
        if is_due {
            self.ask_later(now, rng);
        }
        is_due
    }

    /// Returns when there is something to do.
    pub(super) fn due(&self) -> Option<u64> {
        let expiry = self.expiry().filter(|_| !self.is_reported);
        self.due.into_iter().chain(expiry).min()
    }

    pub(super) const fn forget(&mut self) {
        let expected = self.expected;
        *self = Self::new(self.settings);
        self.expected = expected;
    }

    fn expiry(&self) -> Option<u64> {
        Some(after(self.proven?, self.settings.max_key_age?))
    }

    /// Waits for a time in the last eighth of the interval: members must not all ask at once.
    fn ask_later(&mut self, now: u64, rng: &ChaCha20Rng) {
        let expected = Some(self.expected.ask_s).filter(|&seconds| seconds > 0);
        let expected = expected.map(|seconds| Duration::from_secs(seconds.into()));
        let Some(interval) = self.settings.proof.into_iter().chain(expected).min() else { return };
        let latest = after(now, interval);
        // From a stream of its own: when a member asks changes nothing that its party draws.
        let early = Generator::stream(rng, PROOF_STREAM).next_u64() % ((latest - now) / 8).max(1);
        self.due = Some(latest - early);
    }

    /// Confirms the epoch of our key at a random time in the service's window, unless we ask before. If
    /// the service thinks that we are behind, we confirm it in any case.
    fn confirm_soon(&mut self, now: u64, rng: &ChaCha20Rng) {
        let window = match (self.expected.confirm_s, self.is_late) {
            (0, false) => return,
            (0, true) => CONFIRMATION,
            (seconds, _) => u64::from(seconds) * SECOND,
        };
        self.is_late = false;
        let wait = Generator::stream(rng, PROOF_STREAM).next_u64() % window;
        let due = now.saturating_add(wait);
        self.due = Some(self.due.map_or(due, |other| other.min(due)));
    }
}

/// Within how long a member that was behind confirms that it is not, if the service has no window, ns.
const CONFIRMATION: u64 = 60 * SECOND;

const PROOF_STREAM: u64 = 4;

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;
    use crate::runtime::SECOND;

    fn settings() -> Freshness {
        let of = |seconds| Some(Duration::from_secs(seconds));
        Freshness { proof: of(80), max_key_age: of(300) }
    }

    #[test]
    fn proof_is_as_old_as_the_question() {
        let (mut proof, rng) = (EpochProof::new(settings()), ChaCha20Rng::seed_from_u64(1));
        assert_eq!((proof.due(), proof.is_expired(u64::MAX)), (None, false), "it has no key yet");
        proof.heard(5, 10 * SECOND);
        assert_eq!(proof.follow(Epoch(4), 20 * SECOND, &rng), None);
        assert_eq!(proof.due(), None, "it is not in that epoch yet");
        assert_eq!(proof.follow(Epoch(5), 30 * SECOND, &rng), None);
        let due = proof.due().unwrap();
        assert!((100 * SECOND..=110 * SECOND).contains(&due), "{due}");
        assert!(!proof.is_expired(310 * SECOND - 1) && proof.is_expired(310 * SECOND));
        assert!(!proof.asks(due - 1, &rng) && proof.asks(due, &rng) && !proof.asks(due, &rng));
    }

    #[test]
    fn a_new_epoch_is_confirmed_within_the_window_and_once() {
        let (mut proof, rng) = (EpochProof::new(settings()), ChaCha20Rng::seed_from_u64(1));
        proof.heard(1, 0);
        assert_eq!(proof.follow(Epoch(1), 0, &rng), None);
        assert!(proof.due().unwrap() >= 70 * SECOND, "nobody expects a confirmation");
        proof.expect(Expectations { confirm_s: 10, ..Expectations::default() }, SECOND, &rng);
        let due = proof.due().unwrap();
        assert!((SECOND..11 * SECOND).contains(&due), "{due}");
        assert!(proof.asks(due, &rng));
        proof.asked(Some(1));
        proof.heard(1, due);
        assert_eq!(proof.follow(Epoch(1), due, &rng), None);
        assert!(proof.due().unwrap() >= due + 70 * SECOND, "it has confirmed the epoch");
        assert_eq!(proof.follow(Epoch(2), 20 * SECOND, &rng), None);
        assert!((20 * SECOND..30 * SECOND).contains(&proof.due().unwrap()));
        proof.expect(Expectations { ask_s: 8, ..Expectations::default() }, 20 * SECOND, &rng);
        assert!(proof.due().unwrap() <= 28 * SECOND, "more often than by itself");
    }

    #[test]
    fn who_was_behind_says_when_it_is_no_longer() {
        let (mut proof, rng) = (EpochProof::new(settings()), ChaCha20Rng::seed_from_u64(1));
        proof.heard(1, 0);
        assert_eq!(proof.follow(Epoch(1), 0, &rng), None);
        proof.asked(Some(1));
        proof.heard(2, SECOND);
        assert_eq!(proof.follow(Epoch(2), 2 * SECOND, &rng), None);
        assert!(proof.due().unwrap() <= 2 * SECOND + CONFIRMATION);
    }

    #[test]
    fn an_end_of_proof_is_reported_once_and_so_is_new_proof() {
        let (mut proof, rng) = (EpochProof::new(settings()), ChaCha20Rng::seed_from_u64(1));
        proof.heard(1, 0);
        assert_eq!(proof.follow(Epoch(1), 0, &rng), None);
        let end = 300 * SECOND;
        assert_eq!(proof.follow(Epoch(1), end, &rng), Some(ProofChange::Expired));
        assert_eq!(proof.follow(Epoch(2), end + 1, &rng), None, "a later key is no proof");
        proof.heard(2, end);
        assert_eq!(proof.follow(Epoch(2), end + 2, &rng), Some(ProofChange::Renewed));
        assert!(!proof.is_expired(end + 2));
        proof.forget();
        assert_eq!(proof.due(), None);
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_proof_last_longer() {
        let (mut proof, rng) = (EpochProof::new(settings()), ChaCha20Rng::seed_from_u64(1));
        proof.heard(1, 1_000_000 * SECOND);
        assert_eq!(proof.follow(Epoch(1), 1_000_000 * SECOND, &rng), None);
        assert_eq!(proof.follow(Epoch(1), 10 * SECOND, &rng), None);
        assert!(proof.is_expired(310 * SECOND));
    }
}
