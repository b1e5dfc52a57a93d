//! A member or a peer, as a bridge needs it: it tells when the broker has what was said.

use std::collections::{BTreeMap, VecDeque};

use groupkey::Error;
use rand_chacha::ChaCha20Rng;

use crate::counters::Counters;
use crate::event::MemberEvent;
use crate::runtime::{Fatal, Input, Output, Runtime};
use crate::{Member, Peer};

/// A member of a group, with or without a controller.
pub trait GroupParty: Runtime<Event = MemberEvent> + Send + 'static {
    /// Encrypts a message to the group.
    fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error>;

    /// Returns the member's number and the context of the founding, if it has a key.
    fn place(&self) -> Option<(u32, [u8; 32])>;

    /// Returns the epoch whose key it has, if it has one.
    fn epoch(&self) -> Option<u64>;

    /// Returns what it took and refused of the group's messages.
    fn counters(&self) -> Counters;
}

impl GroupParty for Member {
    fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        Self::say(self, content, now, rng)
    }

    fn place(&self) -> Option<(u32, [u8; 32])> {
        self.group_key()?;
        Some((self.number()?.0, *self.context()?.as_bytes()))
    }

    fn epoch(&self) -> Option<u64> {
        self.group_key().map(|(epoch, _)| epoch.0)
    }

    fn counters(&self) -> Counters {
        Self::counters(self)
    }
}

impl GroupParty for Peer {
    fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        Self::say(self, content, now, rng)
    }

    fn place(&self) -> Option<(u32, [u8; 32])> {
        self.group_key()?;
        Some((self.number().0, *self.context().as_bytes()))
    }

    fn epoch(&self) -> Option<u64> {
        self.group_key().map(|(epoch, _)| epoch.0)
    }

    fn counters(&self) -> Counters {
        Self::counters(self)
    }
}

/// A party that tells which of its messages the broker has.
#[derive(Debug)]
pub(super) struct Tracked<P> {
    party: P,
    outputs: VecDeque<Output<Told>>,
    /// The number of a message, by the number of its publish.
    said: BTreeMap<u64, u64>,
}

/// What a tracked party reports.
#[derive(Debug)]
pub(super) enum Told {
    /// The broker has the message with this number.
    Accepted(u64),
    /// Something happened at the member.
    Event(MemberEvent),
}

impl<P: GroupParty> Tracked<P> {
    pub(super) const fn new(party: P) -> Self {
        Self { party, outputs: VecDeque::new(), said: BTreeMap::new() }
    }

    pub(super) fn place(&self) -> Option<(u32, [u8; 32])> {
        self.party.place()
    }

    pub(super) fn epoch(&self) -> Option<u64> {
        self.party.epoch()
    }

    pub(super) fn counters(&self) -> Counters {
        self.party.counters()
    }

    /// Returns how many messages the broker does not have yet, and the lowest number among them.
    pub(super) fn pending(&self) -> (usize, Option<u64>) {
        (self.said.len(), self.said.values().copied().min())
    }

    /// Says something to the group. With a number, [`Told::Accepted`] follows.
    pub(super) fn say(
        &mut self,
        content: &[u8],
        number: Option<u64>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.party.say(content, now, rng)?;
        while let Ok(Some(output)) = self.party.poll() {
            // What a party says is its only publish at that moment.
            if let (Output::Publish(publish), Some(number)) = (&output, number) {
                self.said.insert(publish.id, number);
            }
            self.outputs.push_back(told(output));
        }
        Ok(())
    }
}

impl<P: GroupParty> Runtime for Tracked<P> {
    type Event = Told;

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        if let Input::Acknowledged(id) = input
            && let Some(number) = self.said.remove(&id)
        {
            self.outputs.push_back(Output::Event(Told::Accepted(number)));
        }
        self.party.handle(input, now, rng)
    }

    fn poll(&mut self) -> Result<Option<Output<Told>>, Fatal> {
        match self.outputs.pop_front() {
            Some(output) => Ok(Some(output)),
            None => Ok(self.party.poll()?.map(told)),
        }
    }

    fn relies_on_retained_messages(&self) -> bool {
        self.party.relies_on_retained_messages()
    }

    fn finished(&mut self, now: u64) {
        self.party.finished(now);
    }

    fn deadline(&self) -> Option<u64> {
        self.party.deadline()
    }
}

fn told(output: Output<MemberEvent>) -> Output<Told> {
    match output {
        Output::Event(event) => Output::Event(Told::Event(event)),
        Output::Publish(publish) => Output::Publish(publish),
        Output::Subscribe(topic) => Output::Subscribe(topic),
        Output::Unsubscribe(topic) => Output::Unsubscribe(topic),
    }
}
