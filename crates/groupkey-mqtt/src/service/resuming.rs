//! Members that resume: they started again and kept their welcome, so the key need not change.
//!
//! A member that resumes has forgotten which messages of the epoch it has heard. So the service
//! counts resumptions, in its log and in its notice, and senders begin another session when the count
//! grows. Members that ask within a while of each other count as one resumption.

use alloc::vec::Vec;

use groupkey::MemberId;

use super::Service;
use super::admission::Applicant;
use super::event::ServiceEvent;
use super::log_entry::LogEntry;
use crate::join::OfferedPlace;
use crate::runtime::{Fatal, MILLISECOND};
use crate::store::StoreError;

/// The count of resumptions, and the members that ask for one.
#[derive(Default)]
pub(super) struct Resumptions {
    count: u32,
    waiting: Vec<Applicant>,
    due: Option<u64>,
    /// The earliest time of the next resumption, ns.
    next: u64,
}

impl Resumptions {
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Continues with this count.
    pub(super) const fn restore(&mut self, count: u32) {
        self.count = count;
    }

    pub(super) const fn note(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    /// Returns when waiting members resume, ns.
    pub(super) const fn due(&self) -> Option<u64> {
        self.due
    }

    /// Lets a member wait, in place of its earlier request. Returns `false` if there is no room.
    fn wait(&mut self, applicant: Applicant, limit: usize, now: u64) -> bool {
        match self.waiting.iter().position(|other| other.name() == applicant.name()) {
            Some(index) => self.waiting[index] = applicant,
            None if self.waiting.len() >= limit => return false,
            None => self.waiting.push(applicant),
        }
        // The clock may have been set back.
        let latest = now.saturating_add(INTERVAL);
        self.due.get_or_insert_with(|| self.next.clamp(now, latest));
        true
    }

    /// Takes the members that wait.
    fn take(&mut self, now: u64) -> Vec<Applicant> {
        self.due = None;
        self.next = now.saturating_add(INTERVAL);
        core::mem::take(&mut self.waiting)
    }
}

impl Service {
    /// Handles the request of a device that asks to resume its membership. Offers it a place without a
    /// resumption if that membership has ended: then it joins again. One that resumes over and over
    /// waits, as does one that joins again.
    pub(super) fn resume(&mut self, number: u32, applicant: Applicant, now: u64) {
        if !self.is_of_present_membership(number, &applicant) {
            self.counters.taken += 1;
            self.offer(number, &applicant, now);
            return;
        }
        self.roster.stamp(number, applicant.request.body.stamp);
        if self.roster.at(number).is_some_and(|record| record.may_return_at(now) > now) {
            self.counters.overflowed += 1;
            return;
        }
        match self.resumptions.wait(applicant, self.policy.limits.waiting, now) {
            true => self.counters.taken += 1,
            false => self.counters.overflowed += 1,
        }
    }

    /// Resumes the members that wait: one entry of the log, one notice, and an answer to each.
    pub(super) fn resume_waiting(&mut self, now: u64) -> Result<(), Fatal> {
        let waiting = self.resumptions.take(now);
        match self.ready() {
            Err(Fatal::Store(StoreError::Full { .. })) => {
                self.counters.overflowed += waiting.len() as u64;
                return Ok(());
            }
            ready => ready?,
        }
        // Some may have been evicted since.
        let numbered = waiting.into_iter().filter_map(|applicant| {
            let (number, _) = self.roster.record(applicant.name())?;
            Some((number, applicant))
        });
        let resuming: Vec<_> = numbered
            .filter(|(number, applicant)| self.is_of_present_membership(*number, applicant))
            .collect();
        if resuming.is_empty() {
            return Ok(());
        }
        self.resumptions.note();
        self.log(&LogEntry::Resumed);
        let notice = self.notice();
        self.publish(self.topics.epoch(), notice, true);
        for (number, applicant) in &resuming {
            self.roster.note_return(*number, now);
            let name = applicant.name().into();
            self.publisher.report(ServiceEvent::Resumed { name, member: MemberId(*number) });
        }
        self.commit(now)?;
        for (number, Applicant { request, shared, .. }) in &resuming {
            let offered = OfferedPlace {
                place: self.group.place(*number),
                epoch: self.group.epoch().0,
                active: self.staging.active().0,
                resumptions: Some(self.resumptions.count()),
                stamp: request.body.stamp,
            };
            let offer = request.offer(offered, self.group.identity(), shared.as_ref());
            let topic = self.topics.welcome(&request.body.name);
            self.publisher.publish_unstored(topic, offer, false);
        }
        Ok(())
    }

    /// Returns whether the device asks to resume a membership of this founding that has not ended.
    fn is_of_present_membership(&self, number: u32, applicant: &Applicant) -> bool {
        applicant.request.body.place == Some(self.group.place(number))
            && self.waits_for_its_welcome(&applicant.request)
    }
}

/// The time between two resumptions, ns. Each takes every member a notice and another session.
const INTERVAL: u64 = 50 * MILLISECOND;
