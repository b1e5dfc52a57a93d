//! The inputs of a service: messages from the broker, and ticks of the clock.

use std::time::Duration;

use groupkey::{Channel, Epoch, PartyId, Recipient};
use rand_chacha::ChaCha20Rng;

use super::Service;
use super::error::OperationError;
use super::happened::Happened;
use super::log::{Draw, Entry};
use crate::codec::encoded;
use crate::join::{MAX_PAYLOAD, Request};
use crate::notice::{Foreign, Notice, Reached};
use crate::parties::Given;
use crate::policy::Limits;
use crate::runtime::{Fatal, Input, Output, Runtime, SECOND, after};
use crate::store::StoreError;
use crate::topics::Place;

impl Runtime for Service {
    type Notice = Happened;

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        match input {
            Input::Acknowledged(id) => {
                if self.unacknowledged.remove(&id) {
                    self.acknowledged.push(id);
                    let unacknowledged = &self.unacknowledged;
                    self.history.acknowledge(id, now, |publishes| {
                        unacknowledged.range(publishes).next().is_some()
                    });
                    self.forget_due.get_or_insert_with(|| now.saturating_add(SECOND));
                }
            }
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(Place::Join) => match Request::read(payload) {
                    Some(request) => self.apply(request, now),
                    None => self.counters.malformed += 1,
                },
                Some(Place::To(Recipient::Controller)) => {
                    self.receive(PartyId::Controller, payload, now, rng)?;
                }
                Some(Place::To(Recipient::SubgroupController(subgroup))) => {
                    self.receive(subgroup.into(), payload, now, rng)?;
                }
                Some(Place::Epoch) => self.compare(payload, now)?,
                _ => self.counters.malformed += 1,
            },
            Input::Connected => {
                // The clock may have been set back since the service last ran.
                let latest = self.policy.period.map(|period| after(now, period));
                self.rekey_due = self.rekey_due.zip(latest).map(|(due, latest)| due.min(latest));
                self.notice_due = Some(now.saturating_add(SECOND));
            }
            Input::Tick => self.tick(now, rng)?,
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<Happened>>, Fatal> {
        self.faults.alive()?;
        if matches!(self.outputs.front(), Some(Output::Publish(_))) {
            self.faults.pass()?;
        }
        Ok(self.outputs.pop_front())
    }

    fn finished(&mut self, now: u64) {
        self.history.finish(now);
    }

    fn deadline(&self) -> Option<u64> {
        [self.admission_due, self.notice_due, self.rekey_due, self.forget_due]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Service {
    /// Compares the store with the notice that the service signed and the broker retained. If the
    /// notice is ahead, the store is an old copy, and the service would use epochs twice. So the
    /// service ends. A new store is an exception, because the clock may have been behind when the
    /// store was created.
    fn compare(&mut self, payload: &[u8], now: u64) -> Result<(), Fatal> {
        let stored = self.epoch();
        let (group, founded) = (self.parties.form().group.0, self.founded);
        let reached = Reached { group, founded, epoch: stored.0 };
        let (prefix, public) = (&self.policy.prefix, self.identity.public());
        match Notice::read(payload, prefix, Some(reached), &public) {
            Ok(Some(notice)) if notice.founded > founded && self.log_length == 1 => {
                // Members of the other group must see that this group is later.
                self.founded = notice.founded.saturating_add(1);
                self.notice_due.get_or_insert_with(|| now.saturating_add(SECOND));
                self.change.entries.push(encoded(&Entry::Postdated(self.founded)));
                self.commit(now)
            }
            Ok(Some(notice)) if notice.founded > founded => {
                self.faults.dead = true;
                Err(Fatal::EarlierGroup { founded, announced: notice.founded })
            }
            Ok(Some(notice)) => {
                self.faults.dead = true;
                Err(Fatal::OldStore { stored, announced: Epoch(notice.epoch) })
            }
            Ok(None) => Ok(()),
            Err(Foreign) => {
                self.counters.forged += 1;
                Ok(())
            }
        }
    }

    /// Handles a member's message to the controller or to a subgroup controller.
    fn receive(
        &mut self,
        party: PartyId,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        if self.ready().is_err() {
            self.counters.overflowed += 1;
            return self.faults.alive();
        }
        if !self.allows(bytes, now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        self.faults.pass()?;
        let draw = Draw::at(now, rng);
        match self.parties.step(party, Given::Message(Channel::Open, bytes), now, rng) {
            Ok(left) => {
                self.counters.taken += 1;
                let entry = Entry::Received(party.number(), bytes.to_vec().into(), draw);
                self.change.entries.push(encoded(&entry));
                let _ = self.post(left);
                self.commit(now)
            }
            Err(error) => {
                self.counters.count(&error);
                Ok(())
            }
        }
    }

    /// Returns whether the member that a message names as its sender may make another request now.
    /// A forger can use up a member's allowance for some seconds. It cannot fill the log.
    fn allows(&mut self, bytes: &[u8], now: u64) -> bool {
        let Some(PartyId::Member(member)) = sender(bytes) else { return true };
        let limit = self.policy.limits.allowance;
        let Some(record) = self.roster.at(member.0) else { return true };
        let (count, since) = &mut record.requests;
        if Duration::from_nanos(now.saturating_sub(*since)) > Limits::ALLOWANCE_TIME {
            (*count, *since) = (0, now);
        }
        *count += 1;
        *count <= limit
    }

    fn tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= now);
        if due(self.admission_due) {
            self.admission_due = None;
            self.admit(now, rng)?;
        }
        if due(self.notice_due) {
            // The broker may have lost the notice, or may retain the notice of an earlier service.
            self.notice_due = None;
            let notice = self.notice();
            self.publish_unstored(self.topics.epoch(), notice, true);
        }
        if due(self.rekey_due) {
            self.rekey_due = self.policy.period.map(|period| after(now, period));
            match self.rekey(now, rng) {
                Err(OperationError::Fatal(Fatal::Store(StoreError::Full { .. }))) => {}
                Err(OperationError::Fatal(fatal)) => return Err(fatal),
                Ok(_) | Err(_) => {}
            }
        }
        if due(self.forget_due) {
            self.commit(now)?;
        }
        Ok(())
    }
}

/// Returns the sender that a message names, unchecked.
fn sender(bytes: &[u8]) -> Option<PartyId> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.array().ok()?;
    for _ in 0..5 {
        decoder.skip().ok()?;
    }
    PartyId::from_number(decoder.i64().ok()?)
}
