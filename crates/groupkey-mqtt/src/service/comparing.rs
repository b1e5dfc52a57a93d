//! How a service that was opened again begins to act: it compares its store with its last notice.

use minicbor::bytes::ByteArray;
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;

use super::Service;
use super::continuity::{Conclusion, SILENCE};
use super::error::OperationError;
use super::event::ServiceEvent;
use super::log_entry::LogEntry;
use super::trail::TrailOperation;
use crate::notice::Notice;
use crate::runtime::{Fatal, Input, Runtime};
use crate::successor_announcement::SuccessorAnnouncement;
use crate::topics::TopicKind;

impl Service {
    /// How long the service waits for the retained notice once the broker has confirmed its
    /// subscriptions, ns.
    pub const SILENCE: u64 = SILENCE;

    /// Returns whether the service acts. A service that was opened with the store of an existing
    /// group does not until the broker's retained notice shows that the store is the last state. If
    /// the broker has no notice for [`Self::SILENCE`], the operator must call
    /// [`Self::accept_state`]. A service without a group waits as long for a notice that shows one,
    /// unless its identity is [new](crate::Policy::is_identity_new).
    pub const fn is_confirmed(&self) -> bool {
        self.continuity.is_confirmed()
    }

    /// Tells the service that its store is its last state, even if the broker retains no notice
    /// that says so. A notice that shows the opposite still ends the service.
    pub fn accept_state(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        self.trail.begin(TrailOperation::Accept, None);
        let verdict = self.continuity.accept();
        self.follow(verdict, self.group.founded(), now, rng)
    }

    /// Tells a service that does not act yet to found its group anew, if its store is empty or turns
    /// out not to be the last state. Without this word the service ends in both cases, if the notice
    /// shows a group. The new group has the devices that the store knows, and new secrets. Evicted
    /// devices stay barred, and all others join again. If the store is the last state, its group
    /// continues.
    pub fn found_anew(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        self.trail.begin(TrailOperation::Found, None);
        let verdict = self.continuity.found_anew(self.group.key().is_some());
        self.follow(verdict, self.group.founded(), now, rng)
    }

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
        match input {
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(place @ (TopicKind::Epoch | TopicKind::State)) => {
                    return self.compare(&place, payload, now, rng);
                }
                _ if self.continuity.hold(topic, payload) => {}
                _ => self.counters.overflowed += 1,
            },
            Input::Connected => self.continuity.connected(now),
            Input::Tick => {
                let verdict = self.continuity.tick(self.group.key().is_some(), now);
                return self.follow(verdict, self.group.founded(), now, rng);
            }
            Input::Acknowledged(_) => {}
        }
        Ok(())
    }

    /// Compares the store with a retained message, if that is a notice of this service.
    pub(super) fn compare(
        &mut self,
        place: &TopicKind,
        payload: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if *place == TopicKind::Epoch && SuccessorAnnouncement::read(payload).is_some() {
            // Our own.
            return Ok(());
        }
        if self.is_confirmed() && self.announcing.has_made(payload) {
            return Ok(());
        }
        if !self.verifications.allows(now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        let (group, public) = (self.group.form().group.0, self.public());
        let notice = Notice::verified(payload, &self.policy.prefix, &public);
        let Some(notice) = notice.filter(|notice| notice.group == group) else {
            self.verifications.failed();
            self.counters.forged += 1;
            return Ok(());
        };
        let present = (self.group.founded(), self.group.epoch());
        let verdict =
            self.continuity.compare(place, &notice, present, |state| self.log.has_had(state));
        if matches!(verdict, Conclusion::Postdate)
            && (self.is_confirmed() || *place != TopicKind::State)
        {
            // Only the notice of the last state begins anything.
            self.postdate(notice.founded, now, rng);
            if self.is_confirmed() {
                self.announcing.repeat(now);
                return self.commit(now);
            }
            return Ok(());
        }
        self.follow(verdict, notice.founded, now, rng)
    }

    /// Does what follows from a notice, or from silence. `than` is the founding that another one must
    /// be later than, ms since 1970.
    fn follow(
        &mut self,
        verdict: Conclusion,
        than: u64,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        match verdict {
            Conclusion::Ask => self.publisher.report_now(ServiceEvent::Unconfirmed),
            Conclusion::Confirmed => return self.confirm(now, rng),
            Conclusion::End(fatal) => {
                self.faults.die();
                return Err(fatal);
            }
            Conclusion::FoundAnew => {
                self.found_again(than, now, rng);
                return self.confirm(now, rng);
            }
            Conclusion::Nothing => {}
            Conclusion::Postdate => {
                self.postdate(than, now, rng);
                return self.confirm(now, rng);
            }
            Conclusion::RepeatNotice => self.announcing.repeat(now),
        }
        Ok(())
    }

    /// Begins to act. The first message is the notice of that. An earlier one, which the store may still
    /// have, would take the place of the last notice, and hide that another copy of the store is old.
    fn confirm(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let Some(mut waiting) = self.continuity.confirm() else { return Ok(()) };
        let earlier = waiting.publishes.extract_if(.., |publish| publish.retain);
        self.publisher.give_up(earlier.map(|notice| notice.id));
        let mut incarnation = [0; 16];
        rng.fill_bytes(&mut incarnation);
        self.log(&LogEntry::Opened(ByteArray::from(incarnation)));
        self.commit(now)?;
        self.publisher.publish_again(waiting.publishes);
        self.connected(now);
        for (topic, payload) in waiting.held {
            self.handle(Input::Arrived { topic: &topic, payload: &payload }, now, rng)?;
        }
        Ok(())
    }
}
