//! How a service admits devices: it checks requests to join, collects them for a while, and then
//! makes the devices members.

use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use groupkey::{MemberId, Operation};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use zeroize::Zeroizing;

use super::admission::{Applicant, Permission, Waiting};
use super::error::OperationError;
use super::event::{RefusalReason, ServiceEvent};
use super::group::{EnrolmentMessage, has};
use super::log_entry::{self, LogEntry};
use super::{AT_ONCE, Service};
use crate::generator::Generator;
use crate::join::{JoinRequest, OfferedPlace, Welcome};
use crate::local_parties::OwnedCommand;
use crate::runtime::{Fatal, after};
use crate::store::StoreError;
use crate::topics::is_name;

impl Service {
    /// Checks a request to join. Cheap checks come first, and the number of proofs and signatures
    /// that are verified in vain is limited.
    pub(super) fn apply(&mut self, request: JoinRequest, now: u64) {
        let body = &request.body;
        if body.context != self.policy.prefix || !is_name(&body.name) {
            self.counters.malformed += 1;
            return;
        }
        let record = self.roster.record(&body.name);
        if record.is_some_and(|(_, record)| record.standing.is_barred()) {
            self.counters.refused += 1;
            self.refuse(&body.name, RefusalReason::Barred, now);
            self.tell_barred(&request, now);
            return;
        }
        let last = self.last_stamp(&body.name);
        if body.stamp == last || body.stamp > LATEST_STAMP {
            // The broker repeats the last request.
            self.counters.replayed += 1;
            return;
        }
        let is_late = body.stamp < last;
        let permission = self.admission.permission(&request, &self.policy, &self.roster);
        let Some(Permission { shared, token }) = permission else {
            self.counters.refused += 1;
            self.refuse(&body.name, RefusalReason::NoPermission, now);
            return;
        };
        if !self.admission.may_verify(now) {
            self.counters.overflowed += 1;
            return;
        }
        let proves = shared.as_ref().is_none_or(|shared| request.proves(shared));
        if !proves || !request.is_signed() {
            self.admission.failed();
            match proves {
                true => self.counters.forged += 1,
                false => self.counters.refused += 1,
            }
            self.refuse(&body.name, RefusalReason::NoPermission, now);
            return;
        }
        let applicant = Applicant { request, shared, token };
        if !is_late {
            self.note_request(&applicant.request.body, now);
        }
        if is_late {
            // A recording, or a device without a clock.
            self.counters.replayed += 1;
            self.admission.failed();
            let limit = self.policy.limits.waiting;
            let body = &applicant.request.body;
            let number = self.admission.number_for(body, &self.roster, limit);
            self.offer(number, &applicant, now);
            return;
        }
        self.place(applicant, now);
    }

    /// Returns the last stamp of a device that counts, or 0.
    fn last_stamp(&self, name: &str) -> u64 {
        let record = self.roster.record(name);
        let stamps = [
            record.map(|(_, record)| record.stamp),
            self.admission.waiting(name).map(|waiting| waiting.request.body.stamp),
            record.and_then(|(number, _)| self.succession.stamp_of(number)),
        ];
        stamps.into_iter().flatten().max().unwrap_or_default()
    }

    /// Handles the request of a device that may join: offers a place first, and lets the device wait
    /// when it asks for that place.
    fn place(&mut self, applicant: Applicant, now: u64) {
        let body = &applicant.request.body;
        let waiting_limit = self.policy.limits.waiting;
        let number = self.admission.number_for(body, &self.roster, waiting_limit);
        if body.resumes {
            self.resume(number, applicant, now);
            return;
        }
        if self.succession.is_for(number, body.place) {
            match self.succession.ask(number, applicant, &self.roster) {
                true => self.counters.taken += 1,
                false => self.counters.refused += 1,
            }
            return;
        }
        if body.place != Some(self.group.place(number)) {
            self.counters.taken += 1;
            self.offer(number, &applicant, now);
            return;
        }
        if self.waits_for_its_welcome(&applicant.request) {
            self.roster.stamp(number, body.stamp);
            self.welcome_again(number, &applicant.request, now);
            return;
        }
        // Whoever asks to join is no longer the member that asked for a place in the successor.
        self.succession.forget(number);
        let name = body.name.clone();
        match self.admission.wait(applicant, waiting_limit) {
            Waiting::NoRoom => {
                self.counters.overflowed += 1;
                self.refuse(&name, RefusalReason::Full, now);
                return;
            }
            Waiting::Waits if self.group.key().is_none() => {
                let (waiting, founders) = (self.admission.count(), self.founders());
                self.publisher.report_now(ServiceEvent::Waits { name, waiting, founders });
            }
            Waiting::StillWaits | Waiting::Waits => {}
        }
        self.counters.taken += 1;
        self.admission.schedule(after(now, self.policy.batch));
    }

    /// Offers a place in the group, unless an answer may still be on its way.
    pub(super) fn offer(&mut self, number: u32, applicant: &Applicant, now: u64) {
        let Applicant { request, shared, .. } = applicant;
        if !self.admission.is_answered(request, self.policy.limits.waiting, now) {
            let (place, epoch) = (self.group.place(number), self.group.epoch().0);
            let stamp = self.last_stamp(&request.body.name);
            let active = self.staging.active().0;
            let offered = OfferedPlace { place, epoch, active, resumptions: None, stamp };
            let offer = request.offer(offered, self.group.identity(), shared.as_ref());
            let topic = self.topics.welcome(&request.body.name);
            self.publisher.publish_unstored(topic, offer, false);
        }
    }

    /// Tells an evicted device that it is barred, so that it need not ask for ever: once it has proved
    /// that it is the device, and not too often.
    fn tell_barred(&mut self, request: &JoinRequest, now: u64) {
        let permission = self.admission.permission(request, &self.policy, &self.roster);
        let Some(Permission { shared, .. }) = permission else { return };
        let limit = self.policy.limits.waiting;
        if !self.admission.may_verify(now) || !self.admission.may_tell_barred(request, limit, now) {
            return;
        }
        let proves = shared.as_ref().is_none_or(|shared| request.proves(shared));
        if !proves || !request.is_signed() {
            self.admission.failed();
            return;
        }
        let answer = request.bar(self.group.identity(), shared.as_ref());
        self.publisher.publish_unstored(self.topics.welcome(&request.body.name), answer, false);
    }

    /// Reports a refused device to the operator, unless that happened recently.
    fn refuse(&mut self, name: &str, why: RefusalReason, now: u64) {
        if self.admission.is_worth_reporting(name, why, now) {
            self.publisher.report_now(ServiceEvent::Refused { name: name.to_owned(), why });
        }
    }

    /// Returns whether the device was admitted in this attempt, and may only have missed its
    /// welcome, or the rest of its state.
    pub(super) fn waits_for_its_welcome(&self, request: &JoinRequest) -> bool {
        let body = &request.body;
        self.roster.record(&body.name).is_some_and(|(_, record)| {
            record.standing.is_current() && record.attempt == *body.attempt
        })
    }

    /// Publishes the welcome again. The welcome answers an earlier request of the same attempt.
    fn welcome_again(&mut self, member: u32, request: &JoinRequest, now: u64) {
        let Some(welcome) = self.admission.welcome_of(member) else {
            self.counters.refused += 1;
            return;
        };
        self.counters.taken += 1;
        if !self.admission.is_answered(request, self.policy.limits.waiting, now) {
            let topic = self.topics.welcome(&request.body.name);
            self.publisher.publish_unstored(topic, welcome, false);
        }
    }

    pub(super) fn admit(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.admission.begin();
        match self.ready() {
            Err(Fatal::Store(StoreError::Full { .. })) => {
                self.counters.overflowed += self.admission.dismiss_all() as u64;
                return Ok(());
            }
            ready => ready?,
        }
        let founding = self.group.key().is_none();
        if founding && self.admission.count() < self.founders() {
            return Ok(());
        }
        let retry = after(now, self.policy.batch.max(RETRY));
        if !founding && self.publisher.unacknowledged() > BACKLOG {
            // More would only wait for the broker.
            self.admission.end(Some(retry), Vec::new());
            return Ok(());
        }
        let room = self.group.most_members().saturating_sub(self.roster.current());
        let at_once = if founding { self.admission.count() } else { self.at_once(AT_ONCE) };
        let batch = self.admission.take(&self.roster, (at_once, room), (now, retry));
        if !batch.fresh.is_empty() {
            self.take_in(batch.fresh, now, rng)?;
        }
        let stuck = self.take_back(batch.returning, now, rng)?;
        if !stuck.is_empty() && self.roster.current() == 2 {
            return self.pair_anew(stuck, now, rng);
        }
        self.remove_evicted(&self.roster.barred_members(), now, rng)?;
        self.admission.end(batch.retry, stuck);
        self.commit(now)
    }

    /// Founds the group of two anew, of which a member lost its state: it cannot leave before a third
    /// device joins, and there may never be one. The other member sees the notice and joins again.
    fn pair_anew(
        &mut self,
        stuck: Vec<Applicant>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        for applicant in &stuck {
            if let Some((member, _)) = self.roster.record(applicant.name()) {
                self.roster.note_return(member, now);
            }
        }
        self.succession.cancel();
        self.found_again(self.group.founded(), now, rng);
        self.admission.found_with_two();
        self.admission.end(Some(now), stuck);
        self.announcing.repeat(now);
        self.commit(now)
    }

    fn founders(&self) -> usize {
        if self.admission.founds_with_two() { 2 } else { self.policy.founders.max(2) }
    }

    /// Removes members that lost their state, and makes them members again. Returns those that cannot
    /// leave because the group would be too small.
    fn take_back(
        &mut self,
        returning: Vec<Applicant>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<Applicant>, Fatal> {
        let numbered = |applicant: Applicant| {
            let (member, _) = self.roster.record(applicant.name())?;
            Some((member, applicant))
        };
        let returning: Vec<_> = returning.into_iter().filter_map(numbered).collect();
        let members: Vec<_> = returning.iter().map(|(member, _)| *member).collect();
        let stuck = self.remove_all(&members, now, rng)?;
        let (stuck, free): (Vec<_>, Vec<_>) =
            returning.into_iter().partition(|(member, _)| stuck.contains_key(member));
        free.iter().for_each(|(member, _)| self.roster.note_return(*member, now));
        let applicants = |returning: Vec<(u32, Applicant)>| {
            returning.into_iter().map(|(_, applicant)| applicant).collect::<Vec<_>>()
        };
        if !free.is_empty() {
            self.take_in(applicants(free), now, rng)?;
        }
        Ok(applicants(stuck))
    }

    pub(super) fn admit_to_roster(&mut self, admission: &log_entry::AdmissionEntry) {
        self.group.learn(admission.member, &admission.identity);
        if let Some(former) = self.roster.admit(admission) {
            self.group.forget(former);
        }
    }

    /// Enrols devices, sends their welcomes, and makes them members.
    fn take_in(
        &mut self,
        applicants: Vec<Applicant>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let members = self.enrol(&applicants, now, rng)?;
        self.make_members(members, now, rng)
    }

    /// Enrols devices, and sends their welcomes. Returns their numbers, or none if the scheme refuses.
    pub(super) fn enrol(
        &mut self,
        applicants: &[Applicant],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<u32>, Fatal> {
        let mut members = Vec::new();
        if applicants.is_empty() {
            return Ok(members);
        }
        for applicant in applicants {
            let (body, limit) = (&applicant.request.body, self.policy.limits.waiting);
            let number = self.admission.number_for(body, &self.roster, limit);
            self.admission.use_offer(&body.name);
            let admission = applicant.as_member(number);
            self.admit_to_roster(&admission);
            self.sightings.admit(number, now);
            self.log(&LogEntry::Admitted(admission));
            members.push(number);
        }
        // From a stream of its own: what the controller draws is what a simulated one would draw.
        let channel_secret = channel_secret(rng);
        let enrolment = match self.command(OwnedCommand::Enroll(members.clone()), now, rng) {
            Ok(enrolment) => enrolment,
            Err(OperationError::Fatal(fatal)) => return Err(fatal),
            Err(_) => {
                self.counters.refused += 1;
                return Ok(Vec::new());
            }
        };
        self.welcome(applicants, &members, &enrolment, &channel_secret, now);
        for (applicant, &member) in applicants.iter().zip(&members) {
            let name = applicant.name().to_owned();
            self.publisher.report(ServiceEvent::Admitted { name, member: MemberId(member) });
        }
        Ok(members)
    }

    pub(super) fn welcome(
        &mut self,
        applicants: &[Applicant],
        members: &[u32],
        enrolment: &[EnrolmentMessage],
        channel_secret: &[u8; 32],
        now: u64,
    ) {
        let limit = self.policy.limits.waiting;
        for (Applicant { request, shared, .. }, &member) in applicants.iter().zip(members) {
            let welcome: Welcome = self.group.welcome(member, enrolment);
            let ephemeral = request.ephemeral(channel_secret);
            let identity = self.group.identity();
            let answer = request.answer(&welcome, identity, shared.as_ref(), &ephemeral);
            if let Some(answer) = answer {
                self.admission.answer(request, (member, answer.clone()), limit, now);
                self.publish(self.topics.welcome(&request.body.name), answer, false);
            }
        }
    }

    pub(super) fn make_members(
        &mut self,
        members: Vec<u32>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        let commands = if members.is_empty() {
            Vec::new()
        } else if self.group.key().is_none() {
            vec![OwnedCommand::Create(members)]
        } else if members.len() > 1 && has(self.group.form(), Operation::Batch) {
            vec![OwnedCommand::Batch(members, Vec::new())]
        } else {
            members.into_iter().map(OwnedCommand::Add).collect()
        };
        for command in commands {
            match self.command(command, now, rng) {
                Ok(_) => {}
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Err(_) => self.counters.refused += 1,
            }
        }
        Ok(())
    }
}

impl Applicant {
    pub(super) fn as_member(&self, member: u32) -> log_entry::AdmissionEntry {
        let body = &self.request.body;
        log_entry::AdmissionEntry {
            member,
            name: body.name.clone(),
            identity: body.identity,
            stamp: body.stamp,
            token: self.token.map(Into::into),
            attempt: body.attempt,
        }
    }
}

/// The latest stamp that a request may have: there must be later ones for the next requests.
const LATEST_STAMP: u64 = 1 << 62;

/// Draws the secret from which the ephemeral keys of welcomes are derived.
pub(super) fn channel_secret(rng: &ChaCha20Rng) -> Zeroizing<[u8; 32]> {
    let mut secret = Zeroizing::new([0; 32]);
    Generator::stream(rng, CHANNEL_STREAM).fill_bytes(&mut *secret);
    secret
}

/// How many publishes the broker may owe an answer for when more devices are admitted.
pub(super) const BACKLOG: usize = 1_024;

/// How long to wait before the next attempt to admit devices.
pub(super) const RETRY: Duration = Duration::from_millis(20);

/// The stream of randomness for the ephemeral keys of welcomes.
const CHANNEL_STREAM: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn the_secret_of_welcomes_follows_from_the_randomness() {
        let secret = |seed| channel_secret(&ChaCha20Rng::seed_from_u64(seed));
        assert_eq!(secret(1), secret(1));
        assert_ne!(secret(1), secret(2));
    }
}
