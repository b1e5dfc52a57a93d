//! A member's part in a change of scheme: it asks for its place in the successor, enters it, and
//! reads on in the group that was.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use groupkey::error::Misbehaviour;
use groupkey::{Error, SubsetId};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::joining::Joining;
use super::{EARLY, Entry, FIRST_PAUSE, Member, MemberState, TRIES, pause_after};
use crate::early_messages::EarlyMessages;
use crate::join::{self, Offered, OfferedPlace, WaitingRequest};
use crate::participant::Participant;
use crate::runtime::SECOND;
use crate::successor_announcement::SuccessorAnnouncement;

/// The group that will succeed ours.
struct NextGroup {
    announcement: SuccessorAnnouncement,
    place: join::Place,
    attempt: [u8; 8],
    /// The latest requests: the welcome may answer any of them.
    asked: Vec<WaitingRequest>,
    asked_at: u64,
    /// When to ask next, ns.
    due: Option<u64>,
    /// The service has founded it, and our welcome is missing.
    is_founded: bool,
    /// How often we asked since we know that it is founded.
    tries: u32,
    /// When to forget an announcement that nothing follows, ns.
    until: u64,
    /// Messages of parties that ours could not take.
    early: EarlyMessages<EARLY>,
}

/// A group that another one succeeded.
struct Former {
    participant: Box<Participant>,
    /// When it was founded, ms since 1970.
    founded: u64,
    /// Whether we have no key of the successor yet, and its key is still ours.
    is_in_force: bool,
    /// When we stop reading its messages, ns.
    until: u64,
}

/// The groups before and after ours.
pub(super) struct MemberSuccession {
    next: Option<NextGroup>,
    /// The last announced successor for which we asked: when it is founded, ms since 1970, and our
    /// place.
    latest: (u64, Option<join::Place>),
    former: Option<Former>,
    /// Group messages under a key that we may get.
    unread: EarlyMessages<UNREAD>,
    /// What was tried last to read them: founding time, epoch, and whether we expected another key.
    unread_in: (u64, u64, bool),
}

impl MemberSuccession {
    pub(super) const fn new() -> Self {
        Self {
            next: None,
            latest: (0, None),
            former: None,
            unread: EarlyMessages::new(),
            unread_in: (0, 0, false),
        }
    }

    /// Returns the former group's participant, and when that was founded, if its key is still ours.
    pub(super) fn in_force(&self) -> Option<(&Participant, u64)> {
        let former = self.former.as_ref().filter(|former| former.is_in_force)?;
        Some((&former.participant, former.founded))
    }

    /// Returns the former group's participant, if its key is still ours.
    pub(super) fn in_force_mut(&mut self) -> Option<&mut Box<Participant>> {
        let former = self.former.as_mut().filter(|former| former.is_in_force)?;
        Some(&mut former.participant)
    }

    /// Forgets which successors were announced: that was to the members of another founding.
    pub(super) const fn forget_announcements(&mut self) {
        self.latest = (0, None);
    }
}

impl Member {
    /// Puts the participant of our group aside, which the present one succeeds.
    pub(super) fn put_aside(&mut self, participant: Box<Participant>, now: u64) {
        self.drop_former();
        self.succession.former = Some(Former::new(participant, self.founded, now));
    }

    /// Handles an announcement. Returns whether the bytes are one.
    pub(super) fn announced(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) -> bool {
        let Some(signed) = SuccessorAnnouncement::read(bytes) else { return false };
        let (MemberState::Inside(participant), Some(service)) = (&self.state, &self.service) else {
            return true;
        };
        let Some(announcement) = signed.verified(&self.context, service) else {
            self.queue.counters.forged += 1;
            return true;
        };
        let (me, group, epoch) = (participant.me(), participant.group(), participant.epoch().0);
        let place = announcement.place(me.0);
        let spread = now.saturating_add(rng.next_u64() % SPREAD);
        let (latest, had) = self.succession.latest;
        let is_old = announcement.epoch < epoch
            || announcement.founded <= self.founded
            || announcement.founded < latest;
        match &mut self.succession.next {
            _ if is_old => self.queue.counters.replayed += 1,
            Some(successor) if successor.place == place => {
                if now >= successor.asked_at.saturating_add(ASKED_AGAIN) {
                    successor.due.get_or_insert(spread);
                }
            }
            // We have forgotten it.
            _ if had == Some(place) => self.queue.counters.replayed += 1,
            _ if self.settings.form(&announcement.form, self.schemes).is_err() => {
                self.queue.counters.refused += 1;
            }
            _ => {
                let mut attempt = [0; 8];
                rng.fill_bytes(&mut attempt);
                let wait = u64::from(announcement.seconds.min(LONGEST)) * SECOND;
                self.succession.latest = (announcement.founded, Some(place));
                self.catching_up.announce((group, self.founded), announcement.epoch);
                self.forget_successor();
                self.succession.next = Some(NextGroup {
                    announcement,
                    place,
                    attempt,
                    asked: Vec::new(),
                    asked_at: 0,
                    due: Some(spread),
                    is_founded: false,
                    tries: 0,
                    until: now.saturating_add(wait).saturating_add(FORGOTTEN),
                    early: EarlyMessages::new(),
                });
                self.compare(now, rng);
            }
        }
        true
    }

    /// Handles the notice of a group that was founded at another time than ours.
    pub(super) fn succeeded(&mut self, founded: u64, now: u64, rng: &mut ChaCha20Rng) {
        match &self.succession.next {
            Some(successor) if successor.announcement.founded == founded => {
                self.expect_welcome(now, rng);
            }
            _ => self.doubt(now, rng),
        }
    }

    /// Follows the service, which offers a place in the founding in which it is.
    pub(super) fn follow_founding(
        &mut self,
        offered: &join::Place,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) {
        let is_of = |place: &join::Place| place.is_of_one_founding_with(offered);
        if self.place.as_ref().is_some_and(is_of) {
            return;
        }
        if self.succession.next.as_ref().is_some_and(|successor| is_of(&successor.place)) {
            self.expect_welcome(now, rng);
        } else {
            self.read_on(now);
            self.join_again(now, rng);
        }
    }

    /// The successor is founded, and our welcome is on its way, or lost.
    fn expect_welcome(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(successor) = self.succession.next.as_mut().filter(|next| !next.is_founded) else {
            return;
        };
        successor.is_founded = true;
        let wait = if successor.asked.is_empty() { 0 } else { 2 * FIRST_PAUSE };
        successor.due = Some(now.saturating_add(wait).saturating_add(rng.next_u64() % SPREAD));
    }

    /// Handles an answer of the service while we are a member. Returns whether it answers a request
    /// for a place in the successor.
    pub(super) fn admitted(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) -> bool {
        let Some(successor) = &mut self.succession.next else { return false };
        let (service, shared) = (self.service.as_ref(), self.settings.shared.as_ref());
        let NextGroup { announcement, asked, place, .. } = &*successor;
        match asked.iter().find_map(|asking| asking.offered(bytes, service, shared)) {
            Some(Offered::Barred) => {
                self.end_membership();
                return true;
            }
            Some(Offered::Forged) => {
                self.queue.counters.forged += 1;
                return true;
            }
            Some(Offered::Place(OfferedPlace { place: offered, .. })) => {
                // The service has given up this change, or has lost it.
                if !offered.is_of_one_founding_with(place) {
                    self.forget_successor();
                    self.follow_founding(&offered, now, rng);
                }
                return true;
            }
            None => {}
        }
        let welcome = asked.iter().find_map(|asking| asking.open(bytes, service, shared));
        let welcome = welcome.filter(|welcome| {
            join::Place::new(welcome.member, &welcome.instance) == *place
                && welcome.founded == announcement.founded
                && welcome.form == announcement.form
        });
        let Some(welcome) = welcome else { return false };
        let Ok(form) = self.settings.form(&welcome.form, self.schemes) else { return false };
        let (place, entry, early) =
            (*place, Entry::Admitted(successor.attempt), successor.early.take());
        self.succession.next = None;
        if self.enter(&welcome, form, entry, now, rng).is_none() {
            self.queue.counters.malformed += 1;
            return true;
        }
        self.place = Some(place);
        for bytes in early {
            self.receive(&bytes, now, rng);
        }
        self.compare(now, rng);
        true
    }

    /// Asks for our place in the successor. Joins again if nothing came of it.
    fn ask_for_the_successor(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Some(successor) = &mut self.succession.next else { return };
        if successor.is_founded {
            if successor.tries >= TRIES {
                self.read_on(now);
                self.join_again(now, rng);
                return;
            }
            successor.tries += 1;
            let pause = pause_after(successor.tries, rng);
            successor.due = Some(now.saturating_add(pause));
        } else {
            successor.due = None;
        }
        let (attempt, place) = (successor.attempt, successor.place);
        let request = self.request(attempt, Some(place), false, None, now, rng);
        let Some(successor) = &mut self.succession.next else { return };
        if successor.asked.len() >= ASKED {
            successor.asked.remove(0);
        }
        successor.asked.push(request);
        successor.asked_at = now;
    }

    /// Forgets the successor: the change was given up, or goes on without us.
    pub(super) fn forget_successor(&mut self) {
        if let Some(mut successor) = self.succession.next.take() {
            // No party took them.
            self.queue.counters.forged += successor.early.take().len() as u64;
        }
    }

    /// Keeps reading the messages of the group that we leave behind.
    pub(super) fn read_on(&mut self, now: u64) {
        let until = now.saturating_add(self.settings.messages.grace.max(READ_ON));
        let founded = self.founded;
        if let MemberState::Inside(participant) = &self.state
            && !participant.is_out()
            && participant.group_key().is_some()
            && let MemberState::Inside(mut participant) =
                core::mem::replace(&mut self.state, MemberState::Outside(Joining::new()))
        {
            participant.retire();
            self.drop_former();
            self.succession.former =
                Some(Former { participant, founded, is_in_force: false, until });
        }
    }

    /// Stops reading the messages of the former group.
    pub(super) fn drop_former(&mut self) {
        let Some(former) = self.succession.former.take() else { return };
        let of_ours = |subset: SubsetId| match &self.state {
            MemberState::Inside(participant) => participant.is_subscribed(subset),
            MemberState::Outside(_) | MemberState::Out => false,
        };
        former.participant.unsubscribe(&mut self.queue, of_ours);
    }

    /// Notes that we have the successor's key: from now on we only read in the former group.
    pub(super) fn note_key(&mut self, now: u64) {
        let has_key = matches!(&self.state, MemberState::Inside(participant) if participant.group_key().is_some());
        let grace = self.settings.messages.grace.max(READ_ON);
        if let Some(former) =
            self.succession.former.as_mut().filter(|former| former.is_in_force && has_key)
        {
            former.is_in_force = false;
            former.until = now.saturating_add(grace);
        }
    }

    /// Tries again to read messages that no participant could read, if anything has changed since.
    pub(super) fn reread(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let epoch = match &self.state {
            MemberState::Inside(participant) => participant.epoch().0,
            MemberState::Outside(_) | MemberState::Out => 0,
        };
        let state = (self.founded, epoch, self.expects_another_key());
        if self.succession.unread.is_empty() || self.succession.unread_in == state {
            return;
        }
        self.succession.unread_in = state;
        for bytes in self.succession.unread.take() {
            self.hear(&bytes, now, rng);
        }
    }

    /// Decrypts a group message, of our group or of the former one.
    pub(super) fn hear(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        let mut refusal = None;
        if let MemberState::Inside(participant) = &mut self.state {
            match participant.open(bytes, now, rng) {
                Ok(received) => return participant.heard(&mut self.queue, received),
                Err(error) => refusal = Some(error),
            }
        }
        if let Some(Former { participant, .. }) = &mut self.succession.former
            && let Ok(received) = participant.open(bytes, now, rng)
        {
            return participant.heard(&mut self.queue, received);
        }
        if self.expects_another_key() {
            match bytes.len() {
                0..=LONGEST_UNREAD => self.succession.unread.keep(bytes, &mut self.queue.counters),
                _ => self.queue.counters.oversized += 1,
            }
        } else if let (MemberState::Inside(participant), Some(error)) = (&mut self.state, refusal) {
            // The epoch of a message that does not decrypt is unproven. So we ask the service before
            // we catch up.
            participant.miss(&mut self.queue, bytes, &error);
            if participant.has_early() {
                self.catching_up.expect_key(now);
            }
        }
    }

    /// Handles a message to our party, which may belong to the former group or to the successor.
    pub(super) fn receive(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        let MemberState::Inside(participant) = &mut self.state else { return };
        if let Some(resuming) = &mut self.resuming
            && !resuming.takes(bytes, &mut self.queue.counters)
        {
            return;
        }
        let result = participant.take(&mut self.queue, bytes, now, rng);
        if result.is_err()
            && let Some(former) = &mut self.succession.former
            && former.participant.take(&mut self.queue, bytes, now, rng).is_ok()
        {
            self.queue.counters.taken += 1;
            return;
        }
        match (&result, &mut self.succession.next) {
            (Ok(()), _) => self.queue.counters.taken += 1,
            (Err(error), Some(successor)) if !is_of_ours(error) => {
                successor.early.keep(bytes, &mut self.queue.counters);
            }
            (Err(error), _) => self.queue.counters.count(error),
        }
        if participant.is_out() {
            self.drop_former();
            self.forget_successor();
        }
        self.consider(result, now, rng);
    }

    /// Returns when the change needs us, ns.
    pub(super) fn succession_due(&self) -> Option<u64> {
        let successor = self.succession.next.as_ref().map(|successor| {
            let until = if successor.is_founded { u64::MAX } else { successor.until };
            successor.due.map_or(until, |due| due.min(until))
        });
        let former = self.succession.former.as_ref().filter(|former| self.may_drop(former));
        successor.into_iter().chain(former.map(|former| former.until)).min()
    }

    pub(super) fn succession_tick(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if let Some(successor) = &self.succession.next {
            if successor.until <= now && !successor.is_founded {
                self.forget_successor();
            } else if successor.due.is_some_and(|due| due <= now) {
                self.ask_for_the_successor(now, rng);
            }
        }
        if self
            .succession
            .former
            .as_ref()
            .is_some_and(|former| former.until <= now && self.may_drop(former))
        {
            self.drop_former();
        }
    }

    /// Returns whether nothing is lost with the former group but messages that are late.
    fn may_drop(&self, former: &Former) -> bool {
        !(former.is_in_force && matches!(self.state, MemberState::Inside(_)))
    }

    /// Returns whether messages may arrive under a key that we do not have yet.
    fn expects_another_key(&self) -> bool {
        let waits = self.succession.former.as_ref().is_some_and(|former| former.is_in_force);
        let may_come = waits || self.resuming.is_some();
        self.succession.next.is_some() || may_come && matches!(self.state, MemberState::Inside(_))
    }
}

impl Former {
    /// Puts the participant of a group that was succeeded aside, while its key is still ours.
    fn new(mut participant: Box<Participant>, founded: u64, now: u64) -> Self {
        participant.retire();
        Self { participant, founded, is_in_force: true, until: now.saturating_add(READ_ON) }
    }
}

/// Returns whether our own group's party refused a message that is genuine.
const fn is_of_ours(error: &Error) -> bool {
    matches!(
        error,
        Error::Misbehaved(Misbehaviour::SkippedEpoch { .. } | Misbehaviour::StaleEpoch { .. })
    )
}

/// The time over which members spread their requests, ns.
const SPREAD: u64 = SECOND;

/// How long a member that has asked ignores further announcements, ns.
const ASKED_AGAIN: u64 = 3 * SECOND;

/// The number of requests that a welcome may answer.
const ASKED: usize = 8;

/// The longest time that an announcement may name, s.
const LONGEST: u32 = 86_400;

/// How long after that time the announcement is forgotten, ns.
const FORGOTTEN: u64 = 60 * SECOND;

/// How long messages of the former group are read at least, ns. Members have the successor's key at
/// different times: the last one may have to catch up.
const READ_ON: u64 = 30 * SECOND;

/// The maximum number of group messages to keep until their key arrives.
const UNREAD: usize = 256;

/// The longest group message that is kept until its key arrives, in bytes.
const LONGEST_UNREAD: usize = 66_000;

impl fmt::Debug for NextGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NextGroup")
            .field("place", &self.place)
            .field("is_founded", &self.is_founded)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::vec;

    use groupkey::{Instance, MemberId, catalogue};
    use rand_core::SeedableRng;

    use super::*;
    use crate::group_form::GroupForm;
    use crate::join::{JoinRequest, Welcome};
    use crate::keyring::Secret;
    use crate::member::MemberSettings;
    use crate::sender_certificate::certify;

    #[test]
    fn a_welcome_to_another_form_than_the_announced_one_is_refused() {
        let service = Secret::from_bytes([1; 32]);
        let form = |scheme| GroupForm::of(catalogue::scheme(scheme).unwrap());
        let identity = Secret::from_bytes([2; 32]);
        let certificate = |scheme, founding: u8| {
            let setting = form(scheme).setting("groupkey/1", Instance([founding; 16]));
            certify(&setting.context, MemberId(0), &identity.public(), &service)
        };
        let welcome = |scheme, founding: u8| Welcome {
            member: 0,
            form: form(scheme).write(),
            mac: None,
            controllers: vec![(0, service.public().into())],
            enrolment: Vec::new(),
            founded: founding.into(),
            instance: [founding; 16].into(),
            epoch: 0,
            certificate: Some(certificate(scheme, founding).into()),
        };
        let mut member = Member::new(MemberSettings {
            prefix: "groupkey/1".to_owned(),
            name: "a".to_owned(),
            identity: identity.clone(),
            shared: None,
            service: Some(service.public()),
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        })
        .unwrap();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let (entry, form_of_ours) = (Entry::Admitted([0; 8]), form("lkh-group"));
        member.enter(&welcome("lkh-group", 1), form_of_ours, entry, 0, &mut rng).unwrap();
        let announcement = SuccessorAnnouncement {
            epoch: 0,
            form: form("skdc").write(),
            founded: 2,
            founding: join::Place::new(0, &[2; 16]).founding(),
            seconds: 60,
        };
        let announcement = announcement.write(&member.context, &service);
        assert!(member.announced(&announcement, 0, &mut rng));
        member.succession_tick(SPREAD, &mut rng);
        let asked = &member.succession.next.as_ref().unwrap().asked[0];
        let request = JoinRequest::read(&asked.bytes).unwrap();
        for (scheme, is_taken) in [("lkh-plus", false), ("skdc", true)] {
            let answer = request.answer(&welcome(scheme, 2), &service, None, &[3; 32]).unwrap();
            assert_eq!(member.admitted(&answer, SPREAD, &mut rng), is_taken, "{scheme}");
        }
        assert_eq!(member.founded, 2);
    }
}
