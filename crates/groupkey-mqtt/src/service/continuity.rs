//! Whether the store is the service's last state.
//!
//! A store that is put back from a copy knows nothing of what the service did since: it has the
//! evicted as members, and would use epochs twice. So a service that is opened again does nothing
//! until it has compared its store with the notice that the broker retains. If there is no notice,
//! the operator decides.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

use groupkey::{Epoch, Instance};
use minicbor::bytes::ByteArray;
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

impl Unconfirmed {
    /// Begins to wait, with the publishes of the store.
    pub(super) fn with(publishes: Vec<Publish>) -> Self {
        Self { publishes, ..Self::default() }
    }
}

impl Service {
    /// Returns whether the service acts. A service that was opened with the store of an existing
    /// group does not until the broker's retained notice shows that the store is the last state. If
    /// the broker has no notice for [`Self::SILENCE`], the operator must call
    /// [`Self::accept_state`].
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

    /// Writes that the service stops, and ends it. The next opening of the store then knows that it
    /// lost nothing.
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
                // Without a group, there is nothing to undo. But another copy of the store may have
                // founded one, so this group becomes a later one.
                if self.group_key().is_none() {
                    let founded = self.founded.saturating_add(1).max(now / MILLISECOND);
                    self.postdate(founded, rng);
                    return self.confirm(now, rng);
                }
                if self.unconfirmed.as_ref().is_some_and(|unconfirmed| unconfirmed.is_accepted) {
                    return self.confirm(now, rng);
                }
                self.outputs.push_back(Output::Notice(Happened::Unconfirmed));
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
        let (stored, announced) = (self.epoch(), Epoch(notice.epoch));
        if notice.founded > self.founded {
            if self.has_only_been_founded {
                // Members of the other group must see that this group is later.
                self.postdate(notice.founded.saturating_add(1), rng);
                if !self.is_confirmed() {
                    return self.confirm(now, rng);
                }
                self.notice_due.get_or_insert_with(|| now.saturating_add(SECOND));
                return self.commit(now);
            }
            self.faults.dead = true;
            return Err(Fatal::EarlierGroup { founded: self.founded, announced: notice.founded });
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
                self.faults.dead = true;
                Err(Fatal::OldStore { stored, announced })
            }
            Some(true) if *place == Place::State && !self.is_confirmed() => self.confirm(now, rng),
            Some(true) | None => Ok(()),
            Some(false) => {
                self.faults.dead = true;
                Err(Fatal::OtherHistory { epoch: announced })
            }
        }
    }

    /// Becomes a later founding than one that this service made with another store.
    fn postdate(&mut self, founded: u64, rng: &mut ChaCha20Rng) {
        let mut instance = [0; Instance::BYTES];
        rng.fill_bytes(&mut instance);
        self.become_later(founded, instance.into());
        self.log(&Entry::Postdated(founded, instance.into()));
    }

    /// Begins to act.
    fn confirm(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(unconfirmed) = self.unconfirmed.take() else { return Ok(()) };
        self.outputs.extend(unconfirmed.publishes.into_iter().map(Output::Publish));
        if !self.was_stopped {
            let mut incarnation = [0; 16];
            rng.fill_bytes(&mut incarnation);
            self.log(&Entry::Opened(ByteArray::from(incarnation)));
        }
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
