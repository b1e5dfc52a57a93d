//! Whether the store is the service's last state.
//!
//! A store that is put back from a copy knows nothing of what the service did since: it has the
//! evicted as members, and would use epochs twice. So a service that is opened again does nothing
//! until it has compared its store with the notice that the broker retains. If there is no notice,
//! the operator decides.
//!
//! An empty store knows nothing at all. So a service with one, and with an identity that may have a
//! group, waits for the notice, too. If the notice shows a group, only the operator's word makes the
//! service found another. A recorded notice can thus delay a founding, and not prevent it.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use groupkey::Epoch;
use minicbor::{Decode, Encode};

use super::log_chain::LogState;
use super::log_entry::LogEntry;
use crate::notice::Notice;
use crate::runtime::Fatal;
use crate::runtime::SECOND;
use crate::store::Publish;
use crate::topics::TopicKind;

/// What is known of the last state.
pub(super) struct Continuity {
    founding: FoundingState,
    /// What a service that was opened again waits with, until it is certain that the store has the
    /// last state.
    unconfirmed: Option<Unconfirmed>,
}

/// Whether devices were admitted to the present founding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum FoundingState {
    /// No. If a notice shows that the service has another group, it must not found this one.
    #[n(0)]
    Open,
    /// No. The operator ordered it, whatever notices show of groups that were founded earlier.
    #[n(1)]
    Ordered,
    /// Yes.
    #[n(2)]
    Done,
}

/// What waits until the state is confirmed.
#[derive(Default)]
pub(super) struct Unconfirmed {
    /// The operator says that this is the last state.
    is_accepted: bool,
    /// The operator says that the group shall be founded anew if this is not the last state.
    founds_anew: bool,
    /// When the broker has had enough time to send its notice, ns.
    silent_at: Option<u64>,
    is_silent: bool,
    /// Messages that arrived before the notice: topics and payloads.
    pub(super) held: Vec<(String, Vec<u8>)>,
    held_bytes: usize,
    /// Publishes of the store that the broker has not acknowledged. One may be the notice of an old
    /// store, and would take the place of the last notice.
    pub(super) publishes: Vec<Publish>,
}

/// What follows from a notice, or from silence.
#[derive(Debug)]
pub(super) enum Conclusion {
    /// The operator must decide.
    Ask,
    /// The service begins to act.
    Confirmed,
    /// The service must end.
    End(Fatal),
    /// The group is founded anew, and the service begins to act.
    FoundAnew,
    Nothing,
    /// The founding, which no device has joined, becomes a later one.
    Postdate,
    /// Our notice is published again. Whoever founds the other group learns from it of ours.
    RepeatNotice,
}

impl Continuity {
    /// Begins with a new group, or with the publishes of a store that may not be the last state.
    pub(super) fn new(unconfirmed: Option<Vec<Publish>>) -> Self {
        let with = |publishes| Unconfirmed { publishes, ..Unconfirmed::default() };
        Self { founding: FoundingState::Open, unconfirmed: unconfirmed.map(with) }
    }

    pub(super) const fn founding(&self) -> FoundingState {
        self.founding
    }

    pub(super) const fn restore(&mut self, founding: FoundingState) {
        self.founding = founding;
    }

    pub(super) const fn note(&mut self, entry: &LogEntry) {
        match entry {
            LogEntry::Checked(_)
            | LogEntry::Opened(_)
            | LogEntry::Operated(..)
            | LogEntry::Stopped => {}
            LogEntry::Postdated(_, _, is_ordered) => {
                if *is_ordered && !self.is_founded() {
                    self.founding = FoundingState::Ordered;
                }
            }
            _ => self.founding = FoundingState::Done,
        }
    }

    /// Returns whether the service acts.
    pub(super) const fn is_confirmed(&self) -> bool {
        self.unconfirmed.is_none()
    }

    /// Begins to act. Returns what waited, the first time.
    pub(super) const fn confirm(&mut self) -> Option<Unconfirmed> {
        self.unconfirmed.take()
    }

    /// Notes that the operator accepts the state. Returns what follows from that.
    pub(super) fn accept(&mut self) -> Conclusion {
        match &mut self.unconfirmed {
            Some(unconfirmed) => {
                unconfirmed.is_accepted = true;
                if unconfirmed.is_silent { Conclusion::Confirmed } else { Conclusion::Nothing }
            }
            None => Conclusion::Nothing,
        }
    }

    /// Notes that the operator orders another founding. Returns what follows from that.
    pub(super) fn found_anew(&mut self, has_group: bool) -> Conclusion {
        match &mut self.unconfirmed {
            Some(unconfirmed) => {
                unconfirmed.founds_anew = true;
                if unconfirmed.is_silent { self.silence(has_group) } else { Conclusion::Nothing }
            }
            None => Conclusion::Nothing,
        }
    }

    /// Founds the group anew: no device was admitted to it, and the publishes of the store are of
    /// the group that is given up.
    pub(super) fn begin_anew(&mut self) {
        self.founding = FoundingState::Ordered;
        self.unconfirmed.iter_mut().for_each(|unconfirmed| unconfirmed.publishes.clear());
    }

    /// Returns whether the operator has ordered the present founding, which no device has joined.
    pub(super) fn is_ordered(&self) -> bool {
        self.founding == FoundingState::Ordered || self.founds_anew()
    }

    /// Keeps a message until the service acts. Returns `false` if there is no room.
    pub(super) fn hold(&mut self, topic: &str, payload: &[u8]) -> bool {
        let Some(unconfirmed) = &mut self.unconfirmed else { return false };
        let bytes = unconfirmed.held_bytes + topic.len() + payload.len();
        if bytes > HELD_BYTES || unconfirmed.held.len() >= HELD {
            return false;
        }
        unconfirmed.held_bytes = bytes;
        unconfirmed.held.push((topic.to_owned(), payload.to_vec()));
        true
    }

    /// Begins to wait for the notice.
    pub(super) fn connected(&mut self, now: u64) {
        if let Some(unconfirmed) = &mut self.unconfirmed {
            unconfirmed.silent_at = Some(now.saturating_add(SILENCE));
        }
    }

    /// Returns when the wait for the notice ends, ns.
    pub(super) fn due(&self) -> Option<u64> {
        self.unconfirmed.as_ref().and_then(|unconfirmed| unconfirmed.silent_at)
    }

    /// Ends the wait for the notice if it is over. Returns what follows from the silence.
    pub(super) fn tick(&mut self, has_group: bool, now: u64) -> Conclusion {
        match &mut self.unconfirmed {
            Some(unconfirmed) if unconfirmed.silent_at.is_some_and(|at| at <= now) => {
                unconfirmed.silent_at = None;
                unconfirmed.is_silent = true;
                self.silence(has_group)
            }
            _ => Conclusion::Nothing,
        }
    }

    /// Compares the store with a notice that this service signed, on the topic `place`. `founded` is
    /// when the present group was founded, ms since 1970, `stored` is its epoch, and `has_had` tells
    /// whether the log was once in a state.
    ///
    /// If the notice is ahead, or of another history, the store is an old copy, and the service would
    /// use epochs twice. So it ends. A new store is an exception, because the clock may have been
    /// behind when the store was created. Only the notice of the last state shows that nothing came
    /// after it.
    pub(super) fn compare(
        &self,
        place: &TopicKind,
        notice: &Notice,
        (founded, stored): (u64, Epoch),
        has_had: impl Fn(&LogState) -> Option<bool>,
    ) -> Conclusion {
        if notice.founded != founded && !self.is_founded() {
            return self.compare_before_founding(place, notice, founded);
        }
        let announced = Epoch(notice.epoch);
        if notice.founded > founded {
            return match (notice.epoch, self.is_confirmed()) {
                (0, true) => Conclusion::RepeatNotice,
                (0, false) => Conclusion::Nothing,
                _ => self.not_the_last(Fatal::EarlierGroup { founded, announced: notice.founded }),
            };
        }
        let had_it = has_had(&LogState { entries: notice.entries, hash: notice.state.into() });
        let is_last = *place == TopicKind::State && !self.is_confirmed();
        if notice.founded < founded {
            // It is of another group, or of one that this group succeeded. Of the latter, the log may
            // have had its state.
            let is_last = is_last && had_it == Some(true);
            return if is_last { Conclusion::Confirmed } else { Conclusion::Nothing };
        }
        match had_it {
            _ if announced > stored => self.not_the_last(Fatal::OldStore { stored, announced }),
            Some(true) if is_last => Conclusion::Confirmed,
            Some(true) | None => Conclusion::Nothing,
            Some(false) => self.not_the_last(Fatal::OtherHistory { epoch: announced }),
        }
    }

    /// Compares a founding that no device has joined with the notice of another one. Only the
    /// operator's word lets it stand beside a group.
    fn compare_before_founding(
        &self,
        place: &TopicKind,
        notice: &Notice,
        founded: u64,
    ) -> Conclusion {
        let is_ordered_now = self.founds_anew();
        let is_given_up = self.founding == FoundingState::Ordered && notice.founded < founded;
        if notice.epoch > 0 && !is_ordered_now && !is_given_up {
            let &Notice { founded, epoch, members, .. } = notice;
            return Conclusion::End(Fatal::GroupExists { founded, epoch: Epoch(epoch), members });
        }
        // Members of the other group must see that this group is later.
        if founded < notice.founded || is_ordered_now && self.founding == FoundingState::Open {
            return Conclusion::Postdate;
        }
        // Another notice may follow, and only that of the last state is the last one.
        let is_last = *place == TopicKind::State && !self.is_confirmed();
        if is_last { Conclusion::Confirmed } else { Conclusion::Nothing }
    }

    /// Returns what follows if the broker has no notice.
    fn silence(&self, has_group: bool) -> Conclusion {
        match &self.unconfirmed {
            None => Conclusion::Nothing,
            // There is nothing to undo. But another copy of the store may have founded a group, so
            // this one becomes a later one.
            Some(_) if !has_group => Conclusion::Postdate,
            Some(Unconfirmed { is_accepted: true, .. }) => Conclusion::Confirmed,
            Some(Unconfirmed { founds_anew: true, .. }) => Conclusion::FoundAnew,
            Some(_) => Conclusion::Ask,
        }
    }

    /// Ends for this reason, unless the operator has said that the group be founded anew.
    fn not_the_last(&self, fatal: Fatal) -> Conclusion {
        if self.founds_anew() { Conclusion::FoundAnew } else { Conclusion::End(fatal) }
    }

    /// Returns whether the operator has ordered, since the store was opened, to found the group anew.
    fn founds_anew(&self) -> bool {
        self.unconfirmed.as_ref().is_some_and(|unconfirmed| unconfirmed.founds_anew)
    }

    const fn is_founded(&self) -> bool {
        matches!(self.founding, FoundingState::Done)
    }
}

/// How long the service waits for the retained notice once the broker has confirmed its
/// subscriptions, ns.
pub(super) const SILENCE: u64 = 10 * SECOND;

/// The most messages that are held until the state is confirmed, and their bytes.
const HELD: usize = 4_096;
const HELD_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::Secret;
    use crate::notice::ReachedEpoch;

    /// Founded at 100, in epoch 5, with a state that the notice of `[1; 32]` shows.
    fn compare(
        continuity: &Continuity,
        place: TopicKind,
        founded: u64,
        epoch: u64,
        hash: u8,
    ) -> Conclusion {
        let secret = Secret::from_bytes([1; 32]);
        let (resumptions, valid_from, active, expectations) = Default::default();
        let reached = ReachedEpoch {
            group: 1,
            founded,
            epoch,
            resumptions,
            valid_from,
            active,
            expectations,
        };
        let notice = Notice::write("p", reached, 3, (7, [hash; 32]), &secret);
        let notice = Notice::verified(&notice, "p", &secret.public()).unwrap();
        continuity.compare(&place, &notice, (100, Epoch(5)), |state| Some(state.hash == [1; 32]))
    }

    fn reopened(founding: FoundingState) -> Continuity {
        Continuity { founding, ..Continuity::new(Some(Vec::new())) }
    }

    #[test]
    fn only_the_notice_of_the_last_state_confirms_a_store() {
        let reopened = reopened(FoundingState::Done);
        assert!(matches!(compare(&reopened, TopicKind::State, 100, 5, 1), Conclusion::Confirmed));
        assert!(matches!(compare(&reopened, TopicKind::Epoch, 100, 5, 1), Conclusion::Nothing));
        // Of a group that this one succeeded.
        assert!(matches!(compare(&reopened, TopicKind::State, 99, 9, 1), Conclusion::Confirmed));
        assert!(matches!(compare(&reopened, TopicKind::State, 99, 9, 2), Conclusion::Nothing));
    }

    #[test]
    fn an_old_copy_ends_the_service_unless_the_operator_founds_anew() {
        let mut reopened = reopened(FoundingState::Done);
        let old = |it: &Continuity| compare(it, TopicKind::State, 100, 6, 1);
        let other = |it: &Continuity| compare(it, TopicKind::Epoch, 100, 5, 2);
        let earlier = |it: &Continuity| compare(it, TopicKind::Epoch, 101, 1, 2);
        assert!(matches!(old(&reopened), Conclusion::End(Fatal::OldStore { .. })));
        assert!(matches!(other(&reopened), Conclusion::End(Fatal::OtherHistory { .. })));
        assert!(matches!(earlier(&reopened), Conclusion::End(Fatal::EarlierGroup { .. })));
        assert!(matches!(reopened.found_anew(true), Conclusion::Nothing), "the notice may come");
        for verdict in [old(&reopened), other(&reopened), earlier(&reopened)] {
            assert!(matches!(verdict, Conclusion::FoundAnew));
        }
    }

    #[test]
    fn an_empty_store_founds_no_second_group_by_itself() {
        let mut empty = reopened(FoundingState::Open);
        let group = |it: &Continuity| compare(it, TopicKind::State, 99, 1, 2);
        assert!(matches!(group(&empty), Conclusion::End(Fatal::GroupExists { .. })));
        // Of another founding that nobody joined.
        assert!(matches!(compare(&empty, TopicKind::State, 101, 0, 2), Conclusion::Postdate));
        assert!(matches!(compare(&empty, TopicKind::State, 99, 0, 2), Conclusion::Confirmed));
        assert!(matches!(compare(&empty, TopicKind::Epoch, 99, 0, 2), Conclusion::Nothing));
        let _ = empty.found_anew(false);
        assert!(matches!(group(&empty), Conclusion::Postdate));
    }

    #[test]
    fn without_a_notice_the_operator_decides() {
        let mut reopened = reopened(FoundingState::Done);
        reopened.connected(0);
        assert_eq!(reopened.due(), Some(SILENCE));
        assert!(matches!(reopened.tick(true, SILENCE - 1), Conclusion::Nothing));
        assert!(matches!(reopened.tick(true, SILENCE), Conclusion::Ask));
        assert!(matches!(reopened.found_anew(true), Conclusion::FoundAnew));
        assert!(matches!(reopened.accept(), Conclusion::Confirmed));
        assert!(reopened.confirm().is_some() && reopened.confirm().is_none());
        assert!(matches!(reopened.accept(), Conclusion::Nothing));
    }

    #[test]
    fn what_is_held_has_a_limit() {
        let mut reopened = reopened(FoundingState::Done);
        assert!(!reopened.hold("t", &[0; HELD_BYTES]));
        assert!((0..HELD).all(|_| reopened.hold("t", b"m")));
        assert!(!reopened.hold("t", b"m"));
    }

    #[test]
    fn a_group_that_is_given_up_publishes_nothing_more() {
        let publish =
            Publish { id: 1, topic: "t".into(), payload: vec![1], retain: false, expiry: None };
        let mut anew = Continuity::new(Some(vec![publish]));
        assert!(!anew.is_ordered());
        anew.begin_anew();
        assert!(anew.is_ordered());
        assert!(anew.confirm().unwrap().publishes.is_empty());
    }
}
