//! The delivery of messages from party to party, and the steps of parties.

use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cmp::Reverse;

use groupkey::crypto::meter::Meter;
use groupkey::error::Error;
use groupkey::{Channel, Context, Outbox, PartyId, Recipient};
use rand_core::Rng;

use crate::rig::parties::RigPresence;
use crate::rig::report::{RigError, SentMessage};
use crate::rig::state::Rig;
use crate::rig::transit::{RigInput, ScheduledDelivery};

impl Rig {
    /// Delivers messages until none is on its way.
    pub(super) fn drive(&mut self) -> Result<(), RigError> {
        for _ in 0..DELIVERY_LIMIT {
            let Some(Reverse(delivery)) = self.queue.pop() else { return Ok(()) };
            self.now = delivery.at;
            self.deliver(&delivery)?;
        }
        Err(RigError::Unsettled)
    }

    fn deliver(&mut self, delivery: &ScheduledDelivery) -> Result<(), RigError> {
        let Some(seat) = self.seats.get(delivery.to) else { return Ok(()) };
        match seat.standing {
            RigPresence::Asleep => return Ok(()),
            RigPresence::Former => {
                // A former member may try. Neither its result nor its messages count.
                let _ = self.step(delivery.to, RigInput::Bytes(delivery.channel, &delivery.bytes));
                return Ok(());
            }
            RigPresence::Awake => {}
        }
        let hostile = self.settings.hostile && delivery.channel == Channel::Open;
        if hostile {
            self.tamper(delivery)?;
        }
        let Some(bytes) = self.pass(delivery) else { return Ok(()) };
        let outbox = match self.step(delivery.to, RigInput::Bytes(delivery.channel, &bytes)) {
            Ok(outbox) => outbox,
            Err(error) if self.adversary.is_some() => {
                self.report.refusals.push((delivery.to, error));
                return Ok(());
            }
            Err(error) => return Err(RigError::Refused(delivery.to, error)),
        };
        if hostile {
            self.replay(delivery)?;
        }
        self.post(delivery.to, &outbox);
        Ok(())
    }

    pub(super) fn step(&mut self, id: PartyId, given: RigInput<'_>) -> Result<Outbox, Error> {
        let setting = self.setting();
        let Some(seat) = self.seats.get_mut(id) else { return Ok(Outbox::new()) };
        let me = seat.acts_as.unwrap_or(id);
        let keys_of = seat.keys_of.unwrap_or(me);
        self.credentials.issue(me);
        self.credentials.issue(keys_of);
        let protection = self.credentials.protection(keys_of);
        let mut outbox = Outbox::new();
        let mut meter = Meter::new();
        let peer_keys = self.credentials.peer_keys(keys_of, self.settings.suite);
        let (rng, now) = (seat.rng.as_mut().unwrap_or(&mut self.rng), self.now);
        let mut cx = Context::new(setting, me, protection, rng, now, &mut outbox, &mut meter)
            .with_peer_keys(&peer_keys);
        // The auditor works out what former members can compute, so their steps are not traced.
        if let (Some(trace), RigPresence::Awake) = (self.trace.as_deref_mut(), seat.standing) {
            cx = cx.with_tracer(trace);
        }
        let result = match given {
            RigInput::Bytes(channel, bytes) => cx.deliver(&mut *seat.party, channel, bytes),
            RigInput::Command(command) => cx.command(&mut *seat.party, command),
        };
        // A refused step must have left nothing, and its cost is not part of the operation. Neither
        // is the cost of an outsider's step.
        result?;
        if seat.standing != RigPresence::Former {
            self.report.meters.entry(id).or_default().add(&meter);
        }
        self.seats.heed(id, outbox.events());
        self.restart(id)?;
        Ok(outbox)
    }

    /// Puts a party's messages on their way to all receivers, and to all outsiders.
    pub(super) fn post(&mut self, from: PartyId, outbox: &Outbox) {
        for message in outbox.messages() {
            let bytes: Rc<[u8]> = message.bytes.into();
            if let (Some(trace), Channel::Open) = (&mut self.trace, message.channel) {
                trace.published(from, Rc::clone(&bytes));
            }
            self.report.messages.push(SentMessage {
                from,
                to: message.to,
                channel: message.channel,
                bytes: Rc::clone(&bytes),
                body_bytes: message.body_bytes,
            });
            let receivers = self.receivers(from, message.to, message.channel);
            for to in receivers {
                if let (Some(trace), Channel::Confidential) = (&mut self.trace, message.channel) {
                    trace.entrusted(from, to, Rc::clone(&bytes));
                }
                let latency = match self.settings.latency {
                    0 => 0,
                    latency => self.rng.next_u64() % latency,
                };
                let latest = self.latest.entry((from, to)).or_default();
                *latest = (self.now + latency).max(*latest);
                self.sequence += 1;
                self.queue.push(Reverse(ScheduledDelivery {
                    at: *latest,
                    sequence: self.sequence,
                    to,
                    channel: message.channel,
                    bytes: Rc::clone(&bytes),
                }));
            }
        }
    }

    /// Returns the parties that get a message, in the order of ids. Latencies are drawn in this
    /// order.
    fn receivers(&self, from: PartyId, to: Recipient, channel: Channel) -> Vec<PartyId> {
        let mut receivers = self.seats.addressed(to);
        receivers.retain(|&id| self.is_apart(id) == self.is_apart(from));
        if channel == Channel::Open {
            receivers.extend(self.seats.former());
            receivers.sort_unstable();
            receivers.dedup();
        }
        receivers.retain(|&id| id != from);
        receivers
    }
}

/// The number of delivered messages after which a run counts as not settling.
const DELIVERY_LIMIT: usize = 4_000_000;
