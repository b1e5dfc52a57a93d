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

use groupkey::{Epoch, Instance};
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::Service;
use super::chain::State;
use super::error::OperationError;
use super::happened::Happened;
use super::log::Entry;
use crate::announcement::Announcement;
use crate::notice::Notice;
use crate::runtime::{Fatal, Input, MILLISECOND, Output, Publish, Runtime, SECOND};
use crate::topics::Place;

/// What a service that was opened again has seen of its last state.
#[derive(Default)]
pub(super) struct Unconfirmed {
    /// The operator says that this is the last state.
    is_accepted: bool,
    /// The operator says that the group shall be founded anew if this is not the last state.
    founds_anew: bool,
    /// When the broker has had enough time to send its notice, ns.
    silent_at: Option<u64>,
    is_silent: bool,
    /// Messages that arrived before the notice.
    held: Vec<(String, Vec<u8>)>,
    held_bytes: usize,
    /// Publishes of the store that the broker has not acknowledged. One may be the notice of an old
    /// store, and would take the place of the last notice.
    publishes: Vec<Publish>,
}

/// Whether devices were admitted to the present founding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub(super) enum Founding {
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

impl Founding {
    /// Notes an entry of the log.
    pub(super) const fn note(&mut self, entry: &Entry) {
        match entry {
            Entry::Opened(_) | Entry::Stopped | Entry::Checked(_) => {}
            Entry::Postdated(_, _, is_ordered) => {
                if *is_ordered && !self.is_done() {
                    *self = Self::Ordered;
                }
            }
            _ => *self = Self::Done,
        }
    }

    const fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }
}

impl Unconfirmed {
    /// Begins to wait, with the publishes of the store.
    pub(super) fn with(publishes: Vec<Publish>) -> Self {
        Self { publishes, ..Self::default() }
    }

    /// Forgets the publishes of the store.
    pub(super) fn forget_publishes(&mut self) {
        self.publishes.clear();
    }
}

impl Service {
    /// Returns whether the service acts. A service that was opened with the store of an existing
    /// group does not until the broker's retained notice shows that the store is the last state. If
    /// the broker has no notice for [`Self::SILENCE`], the operator must call
    /// [`Self::accept_state`]. A service without a group waits as long for a notice that shows one,
    /// unless its identity is [new](crate::Policy::is_identity_new).
    pub const fn is_confirmed(&self) -> bool {
        self.unconfirmed.is_none()
    }

    /// Tells the service that its store is its last state, even if the broker retains no notice
    /// that says so. A notice that shows the opposite still ends the service.
    pub fn accept_state(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        let Some(unconfirmed) = &mut self.unconfirmed else { return Ok(()) };
        unconfirmed.is_accepted = true;
        if unconfirmed.is_silent { self.confirm(now, rng) } else { Ok(()) }
    }

    /// Tells a service that does not act yet to found its group anew, if its store is empty or turns
    /// out not to be the last state. Without this word the service ends in both cases, if the notice
    /// shows a group. The new group has the devices that the store knows, and new secrets. Evicted
    /// devices stay barred, and all others join again. If the store is the last state, its group
    /// continues.
    pub fn found_anew(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        let Some(unconfirmed) = &mut self.unconfirmed else { return Ok(()) };
        unconfirmed.founds_anew = true;
        if unconfirmed.is_silent { self.act_without_a_notice(now, rng) } else { Ok(()) }
    }

    /// Writes the state in place of the log, and ends the service.
    pub fn stop(&mut self, now: u64) -> Result<(), Fatal> {
        self.faults.alive()?;
        if self.is_confirmed() {
            self.is_stopping = true;
            self.log(&Entry::Stopped);
            self.commit(now)?;
        }
        self.faults.dead = true;
        Ok(())
    }

    /// How long the service waits for the retained notice once the broker has confirmed its
    /// subscriptions, ns.
    pub const SILENCE: u64 = 10 * SECOND;

    /// Refuses a command of the operator before the state is confirmed.
    pub(super) const fn require_confirmed(&self) -> Result<(), OperationError> {
        if self.is_confirmed() { Ok(()) } else { Err(OperationError::Unconfirmed) }
    }

    /// Handles an input before the state is confirmed.
    pub(super) fn wait(
        &mut self,
        input: Input<'_>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let Some(unconfirmed) = &mut self.unconfirmed else { return Ok(()) };
        match input {
            Input::Arrived { topic, payload } => {
                let place = self.topics.place(topic);
                if let Some(place @ (Place::Epoch | Place::State)) = place {
                    return self.compare(&place, payload, now, rng);
                }
                let bytes = unconfirmed.held_bytes + topic.len() + payload.len();
                if bytes > HELD_BYTES || unconfirmed.held.len() >= HELD {
                    self.counters.overflowed += 1;
                } else {
                    unconfirmed.held_bytes = bytes;
                    unconfirmed.held.push((topic.to_owned(), payload.to_vec()));
                }
            }
            Input::Connected => {
                unconfirmed.silent_at = Some(now.saturating_add(Self::SILENCE));
            }
            Input::Tick if unconfirmed.silent_at.is_some_and(|at| at <= now) => {
                unconfirmed.silent_at = None;
                unconfirmed.is_silent = true;
                return self.act_without_a_notice(now, rng);
            }
            Input::Tick | Input::Acknowledged(_) => {}
        }
        Ok(())
    }

    /// Returns when the wait for the notice ends.
    pub(super) fn waits_until(&self) -> Option<u64> {
        self.unconfirmed.as_ref().and_then(|unconfirmed| unconfirmed.silent_at)
    }

    /// Compares the store with a notice that this service signed. If the notice is ahead, or of
    /// another history, the store is an old copy, and the service would use epochs twice. So the
    /// service ends. A new store is an exception, because the clock may have been behind when the
    /// store was created. Only the notice of the last state shows that nothing came after it.
    pub(super) fn compare(
        &mut self,
        place: &Place,
        payload: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if *place == Place::Epoch && Announcement::read(payload).is_some() {
            // Our own.
            return Ok(());
        }
        if !self.verifications.allow(now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        let (group, public) = (self.parties.form().group.0, self.identity.public());
        let notice = Notice::verified(payload, &self.policy.prefix, &public);
        let Some(notice) = notice.filter(|notice| notice.group == group) else {
            self.verifications.failed();
            self.counters.forged += 1;
            return Ok(());
        };
        if notice.founded != self.founded && !self.founding.is_done() {
            return self.compare_before_founding(place, &notice, now, rng);
        }
        let (stored, announced) = (self.epoch(), Epoch(notice.epoch));
        if notice.founded > self.founded {
            if notice.epoch > 0 {
                let (founded, announced) = (self.founded, notice.founded);
                let fatal = Fatal::EarlierGroup { founded, announced };
                return self.end_or_found_again(fatal, &notice, now, rng);
            }
            // Nobody has joined it. Whoever founds it learns from our notice that we have a group.
            if self.is_confirmed() {
                self.notice_due.get_or_insert_with(|| now.saturating_add(SECOND));
            }
            return Ok(());
        }
        if notice.founded < self.founded {
            // It is of another group, or of one that this group succeeded. Of the latter, the log may
            // have had its state.
            let state = State { entries: notice.entries, hash: notice.state.into() };
            let had_it = self.chain.has_had(&state) == Some(true);
            if *place == Place::State && !self.is_confirmed() && had_it {
                return self.confirm(now, rng);
            }
            return Ok(());
        }
        let state = State { entries: notice.entries, hash: notice.state.into() };
        match self.chain.has_had(&state) {
            _ if announced > stored => {
                self.end_or_found_again(Fatal::OldStore { stored, announced }, &notice, now, rng)
            }
            Some(true) if *place == Place::State && !self.is_confirmed() => self.confirm(now, rng),
            Some(true) | None => Ok(()),
            Some(false) => {
                let fatal = Fatal::OtherHistory { epoch: announced };
                self.end_or_found_again(fatal, &notice, now, rng)
            }
        }
    }

    /// Compares a founding that no device has joined with the notice of another one. Only the
    /// operator's word lets it stand beside a group.
    fn compare_before_founding(
        &mut self,
        place: &Place,
        notice: &Notice,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let is_ordered_now = self.is_to_found_anew();
        let is_given_up = self.founding == Founding::Ordered && notice.founded < self.founded;
        if notice.epoch > 0 && !is_ordered_now && !is_given_up {
            let Notice { founded, members, .. } = *notice;
            self.faults.dead = true;
            return Err(Fatal::GroupExists { founded, epoch: Epoch(notice.epoch), members });
        }
        // Members of the other group must see that this group is later.
        let is_new =
            self.founded < notice.founded || is_ordered_now && self.founding == Founding::Open;
        if is_new {
            self.postdate(self.later_than(notice.founded, now), rng);
        }
        if self.is_confirmed() {
            if !is_new {
                return Ok(());
            }
            self.notice_due.get_or_insert_with(|| now.saturating_add(SECOND));
            return self.commit(now);
        }
        // Another notice may follow, and only that of the last state is the last one.
        if *place == Place::State { self.confirm(now, rng) } else { Ok(()) }
    }

    /// Ends with this reason, because the store is not the last state. Founds the group anew instead
    /// if the operator has said so.
    fn end_or_found_again(
        &mut self,
        fatal: Fatal,
        notice: &Notice,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if !self.is_to_found_anew() {
            self.faults.dead = true;
            return Err(fatal);
        }
        self.found_again(notice.founded, now, rng);
        self.confirm(now, rng)
    }

    /// Acts as far as that is possible if the broker has no notice.
    fn act_without_a_notice(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(&Unconfirmed { is_accepted, founds_anew, .. }) = self.unconfirmed.as_ref() else {
            return Ok(());
        };
        // Without a group, there is nothing to undo. But another copy of the store may have founded
        // one, so this group becomes a later one.
        if self.group_key().is_none() {
            self.postdate(self.later_than(self.founded, now), rng);
        } else if founds_anew && !is_accepted {
            self.found_again(self.founded, now, rng);
        } else if !is_accepted {
            self.outputs.push_back(Output::Notice(Happened::Unconfirmed));
            return Ok(());
        }
        self.confirm(now, rng)
    }

    /// Returns whether the operator has ordered the present founding, which no device has joined.
    fn is_ordered(&self) -> bool {
        self.founding == Founding::Ordered || self.is_to_found_anew()
    }

    /// Returns whether the operator has ordered, since the store was opened, to found the group anew.
    fn is_to_found_anew(&self) -> bool {
        self.unconfirmed.as_ref().is_some_and(|unconfirmed| unconfirmed.founds_anew)
    }

    /// Returns the time of a founding after that one and the present one, ms since 1970.
    pub(super) fn later_than(&self, founded: u64, now: u64) -> u64 {
        founded.max(self.founded).saturating_add(1).max(now / MILLISECOND)
    }

    /// Becomes a later founding than one that this service made with another store.
    fn postdate(&mut self, founded: u64, rng: &mut ChaCha20Rng) {
        let mut instance = [0; Instance::BYTES];
        rng.fill_bytes(&mut instance);
        self.become_later(founded, instance.into());
        self.log(&Entry::Postdated(founded, instance.into(), self.is_ordered()));
        self.told.push(Happened::Founding { founded });
    }

    /// Begins to act.
    fn confirm(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(unconfirmed) = self.unconfirmed.take() else { return Ok(()) };
        self.outputs.extend(unconfirmed.publishes.into_iter().map(Output::Publish));
        let mut incarnation = [0; 16];
        rng.fill_bytes(&mut incarnation);
        self.log(&Entry::Opened(ByteArray::from(incarnation)));
        self.commit(now)?;
        self.connected(now);
        for (topic, payload) in unconfirmed.held {
            self.handle(Input::Arrived { topic: &topic, payload: &payload }, now, rng)?;
        }
        Ok(())
    }
}

/// The most messages that are held until the state is confirmed, and their bytes.
const HELD: usize = 4_096;
const HELD_BYTES: usize = 8 << 20;
