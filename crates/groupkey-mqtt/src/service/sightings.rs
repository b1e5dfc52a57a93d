//! Who has which epoch, as far as members said so.
//!
//! A member that asks whether its key is the latest says which one it has. The service notes that in
//! memory, and not in its log: after a restart it knows nothing, and the members ask again. A member
//! could lie about its epoch, and only harms itself. What is noted has a later stamp than all before, so a
//! recording of a request shows no sign of life, unless the service has restarted since.
//!
//! Silence counts from the moment at which the service connected: before that it could hear nobody.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use groupkey::{Epoch, MemberId};
use rand_chacha::ChaCha20Rng;

use super::event::ServiceEvent;
use super::trail::{Actor, TrailOperation};
use super::{AT_ONCE, Service};
use crate::join::{ConfirmedEpoch, JoinRequestBody};
use crate::runtime::{Fatal, SECOND, after};
use crate::store::StoreError;

/// What a member last said of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sighting {
    pub(super) epoch: Option<Epoch>,
    /// When its last request arrived, ns since 1970.
    pub(super) at: u64,
    /// The epoch in which the group was when the member confirmed its own.
    told: Epoch,
}

/// How many members have confirmed the present epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confirmations {
    /// They have it.
    pub confirmed: usize,
    /// They asked since the last change of the key, and had an earlier one.
    pub behind: usize,
    /// They were not heard since the last change of the key.
    pub unconfirmed: usize,
    /// When the member asked that has not asked for longest, ns since 1970. `None` if one was not heard
    /// since the service began, or there is none.
    pub oldest: Option<u64>,
}

/// What members said of themselves since the service began. All times are in ns.
#[derive(Default)]
pub(super) struct Sightings {
    members: BTreeMap<u32, Sighting>,
    /// How long members have to confirm an epoch, if they have to.
    window: Option<Duration>,
    /// When the service looks who has not confirmed the present epoch.
    reminder_due: Option<u64>,
    /// How long a member may be silent.
    silence: Option<Duration>,
    /// When the service connected last.
    connected: u64,
    /// When the service looks who is silent.
    silence_due: Option<u64>,
    /// The publish whose acknowledgement shows that the broker is there.
    probe: Option<u64>,
}

impl Sightings {
    pub(super) fn new(window: Option<Duration>, silence: Option<Duration>) -> Self {
        Self { window, silence, ..Self::default() }
    }

    /// Returns what a member said last.
    pub(super) fn of(&self, member: u32) -> Option<&Sighting> {
        self.members.get(&member)
    }

    /// Forgets all that was said: epochs begin anew.
    pub(super) fn forget_all(&mut self) {
        self.members.clear();
        self.reminder_due = None;
    }

    /// Looks after the window who has not confirmed the new epoch.
    pub(super) fn rekeyed(&mut self, now: u64) {
        self.reminder_due = self.window.map(|window| after(now, window).saturating_add(MARGIN));
    }

    /// Counts silence from now on.
    pub(super) fn connected(&mut self, now: u64) {
        self.connected = now;
        self.probe = None;
        self.silence_due = self.silence.map(|silence| after(now, silence));
    }

    /// Returns when there is something to look for.
    pub(super) fn due(&self) -> Option<u64> {
        self.reminder_due.into_iter().chain(self.silence_due).min()
    }

    pub(super) fn admit(&mut self, member: u32, now: u64) {
        self.members.insert(member, Sighting { at: now, ..Sighting::default() });
    }

    fn saw(&mut self, member: u32, now: u64) {
        self.members.entry(member).or_default().at = now;
    }

    fn confirm(&mut self, member: u32, epoch: Epoch, told: Epoch) {
        let sighting = self.members.entry(member).or_default();
        (sighting.epoch, sighting.told) = (Some(epoch), told);
    }

    fn is_silent(&self, member: u32, now: u64) -> bool {
        let seen = self.of(member).map_or(0, |sighting| sighting.at).max(self.connected);
        // The clock may have been set back.
        self.silence.is_some_and(|silence| after(seen, silence) <= now)
    }

    /// Looks again after an eighth of the time.
    fn look_again(&mut self, now: u64) {
        let pause = self.silence.map(|silence| (silence / 8).max(Duration::from_secs(1)));
        self.silence_due = pause.map(|pause| after(now, pause));
    }
}

impl Sighting {
    /// Returns whether the member said that it had an earlier epoch than the present one, when this was
    /// the present one.
    pub(super) fn is_behind(&self, present: Epoch) -> bool {
        self.told == present && self.epoch.is_some_and(|epoch| epoch < present)
    }
}

impl Service {
    /// Returns how many members have confirmed the present epoch.
    pub fn confirmations(&self) -> Confirmations {
        let (present, mut counts) = (self.group.epoch(), Confirmations::default());
        let mut oldest = Some(u64::MAX);
        for (member, _) in self.roster.members() {
            let sighting = self.sightings.of(member);
            oldest = oldest.zip(sighting).map(|(oldest, sighting)| oldest.min(sighting.at));
            match sighting {
                Some(sighting) if sighting.epoch == Some(present) => counts.confirmed += 1,
                Some(sighting) if sighting.is_behind(present) => counts.behind += 1,
                _ => counts.unconfirmed += 1,
            }
        }
        Confirmations { oldest: oldest.filter(|&at| at < u64::MAX), ..counts }
    }

    /// Notes a request of a member, whose proofs hold and whose stamp is new.
    pub(super) fn note_request(&mut self, body: &JoinRequestBody, now: u64) {
        let Some((member, record)) = self.roster.record(&body.name) else { return };
        if !record.standing.is_current() || record.identity != *body.identity {
            return;
        }
        // So that no recording of it counts.
        self.roster.stamp(member, body.stamp);
        self.sightings.saw(member, now);
        let present = self.group.epoch();
        let ours = self.group.place(member);
        if let Some(ConfirmedEpoch { place, epoch }) = body.confirms
            && place == ours
            && epoch <= present.0
        {
            self.sightings.confirm(member, Epoch(epoch), present);
            self.staging.confirmed(now);
        }
    }

    /// Looks who has not confirmed the epoch, and who is silent.
    pub(super) fn look_around(&mut self, now: u64) {
        if self.sightings.reminder_due.take_if(|due| *due <= now).is_some()
            && self.confirmations().confirmed < self.roster.current()
        {
            // Who missed the key may have missed the notice, too.
            self.announcing.repeat(now);
        }
        if self.sightings.silence_due.is_some_and(|due| due <= now) {
            self.sightings.look_again(now);
            if !self.silent(now).is_empty() && self.sightings.probe.is_none() {
                // Silence means something only while the broker answers.
                let id = self.publisher.publish_unstored(self.topics.epoch(), self.notice(), true);
                self.sightings.probe = Some(id);
            }
        }
    }

    /// Evicts the silent members if this acknowledgement shows that the broker is there. They may join
    /// again. If fewer than two others would remain, the fault is elsewhere, and nobody is evicted.
    pub(super) fn broker_answered(
        &mut self,
        publish: u64,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if self.sightings.probe.take_if(|probe| *probe == publish).is_none() {
            return Ok(());
        }
        match self.ready() {
            Err(Fatal::Store(StoreError::Full { .. })) => return Ok(()),
            ready => ready?,
        }
        let silent = self.silent(now);
        if silent.is_empty() || silent.len() + 2 > self.roster.current() {
            return Ok(());
        }
        let stuck = self.remove_all(&silent, now, rng)?;
        for member in silent.into_iter().filter(|member| !stuck.contains_key(member)) {
            if let Some(record) = self.roster.at(member) {
                let name = record.name.clone();
                let rule = Actor::Policy("evict_silent_after_s".to_owned());
                self.trail.begin_by(rule, TrailOperation::Evict, Some(&name));
                self.publisher.report(ServiceEvent::Silent { name, member: MemberId(member) });
            }
        }
        self.commit(now)
    }

    /// Returns the members that have not been heard for too long: as many as one operation can remove.
    fn silent(&self, now: u64) -> Vec<u32> {
        let members = self.roster.members().map(|(member, _)| member);
        let silent = members.filter(|&member| self.sightings.is_silent(member, now));
        silent.take(AT_ONCE).collect()
    }
}

/// How long confirmations may be on their way after their window, ns.
const MARGIN: u64 = 2 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_counts_from_the_connection_and_from_the_last_request() {
        let mut sightings = Sightings::new(None, Some(Duration::from_secs(100)));
        assert!(!sightings.is_silent(1, 99 * SECOND));
        sightings.connected(1_000 * SECOND);
        assert_eq!(sightings.due(), Some(1_100 * SECOND));
        assert!(!sightings.is_silent(1, 1_099 * SECOND) && sightings.is_silent(1, 1_100 * SECOND));
        sightings.saw(1, 1_050 * SECOND);
        assert!(!sightings.is_silent(1, 1_149 * SECOND) && sightings.is_silent(1, 1_150 * SECOND));
        let unlimited = Sightings::new(None, None);
        assert!(!unlimited.is_silent(1, u64::MAX));
    }

    #[test]
    fn behind_is_who_had_an_earlier_epoch_since_the_last_change() {
        let mut sightings = Sightings::new(Some(Duration::from_secs(60)), None);
        sightings.confirm(1, Epoch(4), Epoch(5));
        assert!(sightings.of(1).unwrap().is_behind(Epoch(5)));
        assert!(!sightings.of(1).unwrap().is_behind(Epoch(6)), "it was not heard since");
        sightings.confirm(1, Epoch(6), Epoch(6));
        assert!(!sightings.of(1).unwrap().is_behind(Epoch(6)));
        sightings.rekeyed(0);
        assert_eq!(sightings.due(), Some(62 * SECOND));
        sightings.forget_all();
        assert_eq!((sightings.due(), sightings.of(1)), (None, None));
    }
}
