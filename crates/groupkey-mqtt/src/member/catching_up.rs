//! What a member may have missed, and when it asks for it.
//!
//! The retained notice says how far the group is. If it does not come, or a group message of a later
//! epoch waits for its key, the member asks the service in which founding and epoch the group is. Only
//! the signed answer, or a notice, makes it catch up.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use groupkey::Epoch;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::{TRIES, pause_after};
use crate::join::{Offered, WaitingRequest};
use crate::keyring::Secret;
use crate::participant::Staged;
use crate::runtime::{MILLISECOND, SECOND};

/// What a member knows of epochs that it missed. All times and waits are in ns.
pub(super) struct CatchingUp {
    /// The latest epochs that the service announced, by the group's number and founding time. The
    /// welcome says which group is ours.
    announced: BTreeMap<(u64, u64), u64>,
    /// How often members of these groups resumed, as far as the service said.
    resumptions: BTreeMap<(u64, u64), u32>,
    /// The first epochs of these groups whose keys count.
    valid_from: BTreeMap<(u64, u64), Epoch>,
    /// Which epochs of these groups members send under.
    staged: BTreeMap<(u64, u64), Staged>,
    behind: Option<Behind>,
    /// When we ask the service for its epoch, because no notice came since we connected.
    notice_due: Option<u64>,
    /// The same, because a group message of a later epoch waits for its key.
    unread_due: Option<u64>,
    /// Set while the service may be in another founding than ours.
    doubt: Option<EpochQuestion>,
    /// The earliest time of the next doubt, and how long it was put off last.
    doubts_from: u64,
    doubts_wait: u64,
}

/// A member that has missed a message.
struct Behind {
    due: u64,
    tries: u32,
}

/// A question to the service: in which founding and epoch of the group is it? A notice does not say
/// so. It may be missing, or a recording, and of two foundings the later one may have the earlier
/// time, because the clock was behind. An offer answers one request.
struct EpochQuestion {
    /// Whether the time had come. Else something suggested it, and attackers can do that.
    is_planned: bool,
    asked: Vec<(WaitingRequest, u64)>,
    attempt: [u8; 8],
    due: u64,
}

impl CatchingUp {
    pub(super) const fn new() -> Self {
        Self {
            announced: BTreeMap::new(),
            resumptions: BTreeMap::new(),
            valid_from: BTreeMap::new(),
            staged: BTreeMap::new(),
            behind: None,
            notice_due: None,
            unread_due: None,
            doubt: None,
            doubts_from: 0,
            doubts_wait: FIRST_DOUBT,
        }
    }

    pub(super) fn announce(&mut self, group: (u64, u64), epoch: u64) {
        let announced = self.announced.entry(group).or_default();
        *announced = epoch.max(*announced);
    }

    /// Notes how often members of a group resumed, which the service announced.
    pub(super) fn note_resumptions(&mut self, group: (u64, u64), count: u32) {
        if count > 0 {
            let noted = self.resumptions.entry(group).or_default();
            *noted = count.max(*noted);
        }
    }

    /// Returns how often members of a group resumed, as far as the service said.
    pub(super) fn resumptions(&self, group: (u64, u64)) -> u32 {
        self.resumptions.get(&group).copied().unwrap_or_default()
    }

    /// Notes the first epoch of a group whose key counts, which the service announced.
    pub(super) fn note_validity(&mut self, group: (u64, u64), epoch: Epoch) {
        if epoch > Epoch(0) {
            let noted = self.valid_from.entry(group).or_default();
            *noted = epoch.max(*noted);
        }
    }

    /// Returns the first epoch of a group whose key counts.
    pub(super) fn valid_from(&self, group: (u64, u64)) -> Epoch {
        self.valid_from.get(&group).copied().unwrap_or_default()
    }

    /// Notes which epoch of a group members send under, which the service announced.
    pub(super) fn note_staged(&mut self, group: (u64, u64), staged: Staged) {
        let noted = self.staged.entry(group).or_default();
        *noted = staged.max(*noted);
    }

    /// Returns which epoch of a group members send under.
    pub(super) fn staged(&self, group: (u64, u64)) -> Option<Staged> {
        self.staged.get(&group).copied()
    }

    /// Notes that we ask for what we missed now.
    pub(super) fn asks(&mut self, now: u64) {
        self.behind = Some(Behind { due: now.saturating_add(2 * SECOND), tries: 1 });
    }

    /// Returns the epoch that the service has announced, if it is later than `reached`.
    pub(super) fn missed(&self, group: (u64, u64), reached: Epoch) -> Option<Epoch> {
        let announced = Epoch(*self.announced.get(&group)?);
        (announced > reached).then_some(announced)
    }

    /// Waits for a missed message for a while, and then asks for it. Members must not all ask at
    /// once.
    pub(super) fn wait(&mut self, missed: bool, now: u64, rng: &mut ChaCha20Rng) {
        let patience = if missed { PATIENCE } else { PATIENCE_WITHOUT_KEY };
        let due = now.saturating_add(patience + rng.next_u64() % patience);
        let behind = self.behind.get_or_insert(Behind { due, tries: 0 });
        if behind.tries == 0 {
            behind.due = behind.due.min(due);
        }
    }

    /// Notes that nothing is missed.
    pub(super) fn settle(&mut self) {
        self.behind = None;
    }

    /// Returns whether the missed message did not arrive in time, so that we asked for it.
    pub(super) fn has_asked(&self) -> bool {
        self.behind.as_ref().is_some_and(|behind| behind.tries > 0)
    }

    /// Counts a request for what was missed, if one is due. Returns whether there were not too many.
    pub(super) fn ask_again(&mut self, now: u64) -> Option<bool> {
        let behind = self.behind.as_mut().filter(|behind| behind.due <= now)?;
        behind.tries += 1;
        behind.due = now.saturating_add(SECOND << behind.tries.min(4));
        Some(behind.tries <= CATCH_UPS)
    }

    pub(super) fn is_due(&self, now: u64) -> bool {
        self.behind.as_ref().is_some_and(|behind| behind.due <= now)
    }

    /// Waits for the notice after a connection.
    pub(super) fn expect_notice(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let wait = NOTICE_PATIENCE + rng.next_u64() % NOTICE_PATIENCE;
        self.notice_due = Some(now.saturating_add(wait));
    }

    /// Returns whether the notice did not come since we connected.
    pub(super) const fn expects_notice(&self) -> bool {
        self.notice_due.is_some()
    }

    pub(super) const fn had_notice(&mut self) {
        self.notice_due = None;
    }

    pub(super) fn expect_key(&mut self, now: u64) {
        let due = now.saturating_add(UNREAD_PATIENCE);
        self.unread_due = Some(self.unread_due.map_or(due, |other| other.min(due)));
    }

    /// Returns whether to doubt that we missed nothing: the notice did not come, or messages still
    /// wait for their key.
    pub(super) fn is_suspicious(&mut self, has_unread: bool, now: u64) -> bool {
        let is_due = |due: &mut Option<u64>| due.take_if(|due| *due <= now).is_some();
        let (lacks_notice, waits) = (is_due(&mut self.notice_due), is_due(&mut self.unread_due));
        self.behind.is_none() && (lacks_notice || waits && has_unread)
    }

    /// Begins to doubt, not too often. Returns whether to ask the service now.
    pub(super) fn doubt(&mut self, now: u64, rng: &mut ChaCha20Rng) -> bool {
        if self.doubt.is_some() {
            return false;
        }
        let mut attempt = [0; 8];
        rng.fill_bytes(&mut attempt);
        let due = now.max(self.doubts_from);
        self.doubt = Some(EpochQuestion { is_planned: false, asked: Vec::new(), attempt, due });
        due == now
    }

    /// Asks the service now, because the time has come.
    pub(super) fn ask_anyway(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let (mut attempt, due) = ([0; 8], now);
        rng.fill_bytes(&mut attempt);
        let planned = EpochQuestion { is_planned: true, asked: Vec::new(), attempt, due };
        self.doubt.get_or_insert(planned).due = due;
    }

    /// Returns whether the service is to be asked again.
    pub(super) fn doubts(&self, now: u64) -> bool {
        self.doubt.as_ref().is_some_and(|doubt| doubt.due <= now)
    }

    /// Returns the attempt of the next question. A doubt does not last for ever: a recording may be
    /// the only reason, and the service may be away.
    pub(super) fn question(&mut self, now: u64) -> Option<[u8; 8]> {
        let doubt = self.doubt.as_ref()?;
        if doubt.asked.len() as u32 == TRIES {
            self.end_doubt(now);
            return None;
        }
        Some(doubt.attempt)
    }

    pub(super) fn asked(&mut self, question: WaitingRequest, now: u64, rng: &mut ChaCha20Rng) {
        if let Some(doubt) = &mut self.doubt {
            doubt.asked.push((question, now));
            doubt.due = now.saturating_add(pause_after(doubt.asked.len() as u32, rng));
        }
    }

    /// Reads the answer to a question, if it is one. Returns when that was asked, too.
    pub(super) fn answer(
        &self,
        bytes: &[u8],
        service: Option<&[u8; 32]>,
        shared: Option<&Secret>,
    ) -> Option<(Offered, u64)> {
        let mut asked = self.doubt.as_ref()?.asked.iter();
        asked.find_map(|(asked, at)| Some((asked.offered(bytes, service, shared)?, *at)))
    }

    pub(super) fn end_doubt(&mut self, now: u64) {
        if self.doubt.take().is_some_and(|doubt| doubt.is_planned) {
            return;
        }
        self.doubts_from = now.saturating_add(self.doubts_wait);
        self.doubts_wait = self.doubts_wait.saturating_mul(2).min(LAST_DOUBT);
    }

    /// Notes that a question was not in vain, or that this is another group.
    pub(super) const fn may_doubt_soon(&mut self) {
        self.doubts_wait = FIRST_DOUBT;
    }

    /// Forgets all questions: they were of a group that we left.
    pub(super) fn forget(&mut self) {
        (self.behind, self.doubt) = (None, None);
        (self.notice_due, self.unread_due) = (None, None);
    }

    /// Returns when there is something to do.
    pub(super) fn due(&self) -> Option<u64> {
        let doubt = self.doubt.as_ref().map(|doubt| doubt.due);
        let behind = self.behind.as_ref().map(|behind| behind.due);
        [behind, doubt, self.notice_due, self.unread_due].into_iter().flatten().min()
    }
}

/// How long a member that asked for the service's founding does not ask again, at first and at most.
/// Recorded notices come as often as an attacker likes.
const FIRST_DOUBT: u64 = 15 * SECOND;
const LAST_DOUBT: u64 = 240 * SECOND;

/// How long a missed message may still be on its way.
const PATIENCE: u64 = 200 * MILLISECOND;

/// How long the message with the first key may still be on its way if no notice was seen.
const PATIENCE_WITHOUT_KEY: u64 = 20 * SECOND;

/// How long the retained notice may be on its way after a connection. The wait is up to twice as
/// long, because a broker that has lost the notice has lost it for all members.
const NOTICE_PATIENCE: u64 = 5 * SECOND;

/// How long the key of a group message may be on its way.
const UNREAD_PATIENCE: u64 = 3 * SECOND;

/// The number of requests to catch up before the member joins again, which take some 100 s. An
/// overloaded service would only have more work if all members joined again at once.
const CATCH_UPS: u32 = 8;

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn a_later_epoch_of_our_group_is_missed() {
        let mut catching_up = CatchingUp::new();
        catching_up.announce((1, 100), 5);
        catching_up.announce((1, 100), 3);
        catching_up.announce((1, 200), 9);
        assert_eq!(catching_up.missed((1, 100), Epoch(4)), Some(Epoch(5)));
        assert_eq!(catching_up.missed((1, 100), Epoch(5)), None);
        assert_eq!(catching_up.missed((2, 100), Epoch(0)), None);
    }

    #[test]
    fn what_was_missed_is_asked_for_eight_times() {
        let (mut catching_up, mut rng) = (CatchingUp::new(), ChaCha20Rng::seed_from_u64(1));
        catching_up.wait(true, 0, &mut rng);
        assert!(!catching_up.has_asked() && !catching_up.is_due(PATIENCE - 1));
        let mut now = 2 * PATIENCE;
        for _ in 0..CATCH_UPS {
            assert_eq!(catching_up.ask_again(now), Some(true));
            assert_eq!(catching_up.ask_again(now), None, "it is not due");
            now += 16 * SECOND;
        }
        assert!(catching_up.has_asked());
        assert_eq!(catching_up.ask_again(now), Some(false));
        catching_up.settle();
        assert!(catching_up.due().is_none() && !catching_up.has_asked());
    }

    #[test]
    fn a_missing_notice_and_an_unread_message_are_suspicious_once() {
        let (mut catching_up, mut rng) = (CatchingUp::new(), ChaCha20Rng::seed_from_u64(1));
        catching_up.expect_notice(0, &mut rng);
        assert!(catching_up.expects_notice());
        assert!(!catching_up.is_suspicious(false, NOTICE_PATIENCE - 1));
        assert!(catching_up.is_suspicious(false, 2 * NOTICE_PATIENCE));
        assert!(!catching_up.is_suspicious(false, u64::MAX));
        catching_up.expect_key(0);
        catching_up.expect_key(9);
        assert_eq!(catching_up.due(), Some(UNREAD_PATIENCE));
        assert!(!catching_up.is_suspicious(false, UNREAD_PATIENCE), "it was read since");
    }

    #[test]
    fn doubts_come_ever_more_rarely() {
        let (mut catching_up, mut rng) = (CatchingUp::new(), ChaCha20Rng::seed_from_u64(1));
        assert!(catching_up.doubt(0, &mut rng) && !catching_up.doubt(0, &mut rng));
        catching_up.end_doubt(0);
        assert!(!catching_up.doubt(1, &mut rng), "it waits");
        assert!(!catching_up.doubts(FIRST_DOUBT - 1) && catching_up.doubts(FIRST_DOUBT));
        catching_up.end_doubt(FIRST_DOUBT);
        assert!(!catching_up.doubt(FIRST_DOUBT, &mut rng));
        assert_eq!(catching_up.due(), Some(3 * FIRST_DOUBT));
        catching_up.forget();
        assert_eq!(catching_up.due(), None);
    }
}
