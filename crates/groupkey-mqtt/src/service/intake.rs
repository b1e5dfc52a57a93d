//! The inputs of a service: messages from the broker, and ticks of the clock.

use groupkey::{Channel, Operation, PartyId, Recipient};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroizing;

use super::Service;
use super::error::OperationError;
use super::happened::Happened;
use super::log::{Draw, Entry};
use super::roster::Record;
use crate::join::{MAX_PAYLOAD, Request};
use crate::parties::Given;
use crate::runtime::{Fatal, Input, Output, Runtime, SECOND, after};
use crate::store::StoreError;
use crate::topics::Place;

impl Runtime for Service {
    type Notice = Happened;

    /// The service compares its store with its last notice.
    fn relies_on_retained_messages(&self) -> bool {
        true
    }

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        self.faults.alive()?;
        if !self.is_confirmed() {
            return self.wait(input, now, rng);
        }
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
                Some(place @ (Place::Epoch | Place::State)) => {
                    self.compare(&place, payload, now, rng)?;
                }
                _ => self.counters.malformed += 1,
            },
            Input::Connected => self.connected(now),
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
        if !self.is_confirmed() {
            return self.waits_until();
        }
        [self.admission_due, self.notice_due, self.rekey_due, self.forget_due, self.change_due()]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Service {
    /// Handles a message to the controller or to a subgroup controller.
    ///
    /// An answer to a member that asks for what it missed changes no controller. So it is not
    /// logged: a member could fill the log. It may be lost, because the member asks again. Its
    /// randomness is from a seed of its own, which no logged step uses and nobody keeps.
    fn receive(
        &mut self,
        party: PartyId,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Fatal> {
        self.faults.alive()?;
        let Some((operation, sender)) = head(bytes) else {
            self.counters.malformed += 1;
            return Ok(());
        };
        let asks = operation == Operation::CatchUp as u8 && matches!(sender, PartyId::Member(_));
        let has_room = asks || self.ready().is_ok();
        if !has_room || !self.allows(sender, bytes, now) {
            self.counters.overflowed += 1;
            return Ok(());
        }
        self.faults.pass()?;
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(&mut *seed);
        let mut own = ChaCha20Rng::from_seed(*seed);
        let draw = Draw::at(now, &own);
        let left =
            match self.parties.step(party, Given::Message(Channel::Open, bytes), now, &mut own) {
                Ok(left) => left,
                Err(error) => {
                    self.verifications.failed();
                    self.counters.count(&error);
                    return Ok(());
                }
            };
        self.counters.taken += 1;
        if let Some(record) = self.roster.of(sender) {
            record.requests.note(bytes, now);
        }
        if asks {
            if let PartyId::Member(member) = sender
                && !left.sent.is_empty()
            {
                self.history.catch_up(member.0);
            }
            for mut sent in left.sent {
                self.tally.message(sent.bytes.len());
                let bytes = core::mem::take(&mut *sent.bytes);
                self.publish_unstored(self.topics.of(sent.to), bytes, false);
            }
            return Ok(());
        }
        let entry = Entry::Received(party.number(), bytes.to_vec().into(), draw);
        self.log(&entry);
        let _ = self.post(left);
        self.commit(now)
    }

    /// Returns whether the service may spend a verification on a message now. What counts against
    /// its sender are messages that were verified, so nobody can use up another's allowance.
    fn allows(&mut self, sender: PartyId, bytes: &[u8], now: u64) -> bool {
        let limit = self.policy.limits.allowance;
        let allows = |record: &mut Record| record.requests.allows(bytes, limit, now);
        self.roster.of(sender).is_none_or(allows) && self.verifications.allow(now)
    }

    fn tick(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        let due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= now);
        if due(self.admission_due) {
            self.admission_due = None;
            self.admit(now, rng)?;
        }
        if due(self.change_due()) {
            self.change_tick(now, rng)?;
        }
        if due(self.notice_due) {
            // The broker may have lost the notice, or may retain the notice of an earlier service.
            self.notice_due = None;
            let notice = self.notice();
            self.publish_unstored(self.topics.state(), notice.clone(), true);
            self.publish_unstored(self.topics.epoch(), notice, true);
        }
        if due(self.rekey_due) {
            self.rekey_due = self.policy.period.map(|period| after(now, period));
            let rekeyed = match self.ready() {
                Ok(()) => self.change_key(now, rng),
                Err(fatal) => Err(fatal.into()),
            };
            match rekeyed {
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

/// Returns the operation's code and the sender that a message names, unchecked.
fn head(bytes: &[u8]) -> Option<(u8, PartyId)> {
    let mut decoder = minicbor::Decoder::new(bytes);
    decoder.array().ok()?;
    // The version, the group and the epoch.
    for _ in 0..3 {
        decoder.skip().ok()?;
    }
    let operation = decoder.u8().ok()?;
    // The kind.
    decoder.skip().ok()?;
    Some((operation, PartyId::from_number(decoder.i64().ok()?)?))
}
