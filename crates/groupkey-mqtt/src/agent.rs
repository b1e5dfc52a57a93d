//! What members of served and of contributory groups have in common: one party, its subscriptions, and
//! the messages under the group key.

use std::collections::VecDeque;

use groupkey::error::{Misbehaviour, Misuse};
use groupkey::messages::{Messenger, Received, Settings};
use groupkey::{Channel, Epoch, Error, Event, Key, MemberId, Party, Recipient};
use rand_chacha::ChaCha20Rng;

use crate::counters::Counters;
use crate::early::Early;
use crate::form::Form;
use crate::keyring::Keyring;
use crate::parties::{Given, Order, Parties};
use crate::runtime::{Output, Publish, REQUEST_EXPIRY};
use crate::topics::Topics;

/// What is reported to a member's application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A service that is there has not let us in for a while, or there is none.
    NotIn(Hint),
    /// What we missed cannot be had any more: we have no key, and ask to join again.
    JoinsAgain,
    /// We are out of the group, and do not ask to come back: the service or another peer took us out,
    /// or we had asked to leave.
    Evicted,
    /// Somebody said something.
    Heard(Received),
    /// We are a member of this number, and will have the group's key.
    Joined(MemberId),
    /// We have the group key of this epoch.
    Rekeyed(Epoch),
}

/// What a device that is not in the group can say about the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nobody answers.
    NoAnswer,
    /// The service knows us, and has not taken us in.
    Known,
    /// There was an answer that does not open.
    Unopened,
}

/// One party with what it needs to talk.
#[derive(Debug)]
pub(crate) struct Agent {
    me: MemberId,
    topics: Topics,
    parties: Parties,
    messenger: Option<Messenger>,
    settings: Settings,
    epoch: Epoch,
    /// Group messages of an epoch that we have not reached.
    early: Early<EARLY>,
    /// Whether the group goes on without us.
    is_out: bool,
}

/// What an agent leaves to be done, and what it counts.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) outputs: VecDeque<Output<Told>>,
    pub(crate) counters: Counters,
    next_publish: u64,
    acknowledged: u64,
}

impl Desk {
    /// Publishes what nobody says again, so that it must not expire.
    pub(crate) fn publish(&mut self, topic: String, payload: Vec<u8>) {
        self.leave(topic, payload, None);
    }

    /// Publishes what is asked again if nobody answers.
    pub(crate) fn request(&mut self, topic: String, payload: Vec<u8>) {
        self.leave(topic, payload, Some(REQUEST_EXPIRY));
    }

    /// The broker has acknowledged a publish.
    pub(crate) const fn acknowledged(&mut self) {
        self.acknowledged += 1;
    }

    /// Publishes that the broker has not acknowledged.
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.next_publish.saturating_sub(self.acknowledged)
    }

    pub(crate) fn tell(&mut self, told: Told) {
        self.outputs.push_back(Output::Notice(told));
    }

    fn leave(&mut self, topic: String, payload: Vec<u8>, expiry: Option<u32>) {
        let id = self.next_publish;
        self.next_publish += 1;
        let publish = Publish { id, topic, payload, retain: false, expiry };
        self.outputs.push_back(Output::Publish(publish));
    }
}

impl Agent {
    pub(crate) fn new(
        me: MemberId,
        topics: Topics,
        form: Form,
        keyring: Keyring,
        party: Box<dyn Party>,
        settings: Settings,
    ) -> Self {
        let mut parties = Parties::new(form, keyring);
        parties.seat(me.into(), party);
        let early = Early::new();
        let (epoch, is_out) = (Epoch(0), false);
        Self { me, topics, parties, messenger: None, settings, epoch, early, is_out }
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.parties.group_key(self.me.into())
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The epoch of an event that was announced and is not complete here.
    pub(crate) fn under_way(&self) -> Option<Epoch> {
        self.parties.under_way(self.me.into())
    }

    /// The number of its group.
    pub(crate) const fn group(&self) -> u64 {
        self.parties.form().group.0
    }

    pub(crate) const fn me(&self) -> MemberId {
        self.me
    }

    /// Whether the party heard that the group goes on without it.
    pub(crate) const fn is_out(&self) -> bool {
        self.is_out
    }

    /// Whether group messages of later epochs wait for their key.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Gives the party a message, and counts what becomes of it.
    pub(crate) fn deliver(
        &mut self,
        desk: &mut Desk,
        channel: Channel,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let result = self.step(desk, Given::Message(channel, bytes), now, rng);
        match &result {
            Ok(()) => desk.counters.taken += 1,
            Err(error) => desk.counters.count(error),
        }
        result
    }

    pub(crate) fn order(
        &mut self,
        desk: &mut Desk,
        order: &Order,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.require_in()?;
        self.step(desk, Given::Order(order), now, rng)
    }

    /// Encrypts something to the group.
    pub(crate) fn say(
        &mut self,
        desk: &mut Desk,
        content: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.require_in()?;
        let not_created = Misuse::NotCreated;
        let messenger = self.messenger.as_mut().ok_or(not_created)?;
        let sealed = self.parties.at(self.me.into(), now, rng, |cx, _| messenger.seal(cx, content));
        desk.publish(self.topics.talk(), sealed.ok_or(not_created)??);
        Ok(())
    }

    /// Decrypts what came on the group's topic for messages. `SkippedEpoch` says that we are behind; the
    /// message is kept and tried again when we are not.
    pub(crate) fn hear(
        &mut self,
        desk: &mut Desk,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let not_created = Error::from(Misuse::NotCreated);
        let opened = self.messenger.as_mut().and_then(|messenger| {
            self.parties.at(self.me.into(), now, rng, |cx, _| messenger.open(cx, bytes))
        });
        match opened.unwrap_or(Err(not_created)) {
            // The broker sends us what we said.
            Ok(received) if received.sender == self.me => Ok(()),
            Ok(received) => {
                desk.counters.taken += 1;
                desk.tell(Told::Heard(received));
                Ok(())
            }
            Err(error) => {
                let is_early =
                    matches!(error, Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }));
                if is_early {
                    self.early.keep(bytes, &mut desk.counters);
                } else {
                    desk.counters.count(&error);
                }
                Err(error)
            }
        }
    }

    fn step(
        &mut self,
        desk: &mut Desk,
        given: Given<'_>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let left = self.parties.step(self.me.into(), given, now, rng)?;
        for event in left.events {
            match event {
                Event::Subscribed(subset) => {
                    let topic = self.topics.of(Recipient::Subset(subset));
                    desk.outputs.push_back(Output::Subscribe(topic));
                }
                Event::Unsubscribed(subset) => {
                    let topic = self.topics.of(Recipient::Subset(subset));
                    desk.outputs.push_back(Output::Unsubscribe(topic));
                }
                Event::Removed => self.leave(desk),
                _ => {}
            }
        }
        for sent in left.sent {
            let topic = self.topics.of(sent.to);
            match sent.to {
                Recipient::Controller | Recipient::SubgroupController(_) => {
                    desk.request(topic, sent.bytes);
                }
                // Among members, nobody could be asked for what has expired.
                Recipient::Group | Recipient::Member(_) | Recipient::Subset(_) => {
                    desk.publish(topic, sent.bytes);
                }
            }
        }
        self.follow(desk, now, rng);
        Ok(())
    }

    fn require_in(&self) -> Result<(), Error> {
        if self.is_out { Err(Misuse::NotMember(self.me).into()) } else { Ok(()) }
    }

    /// Keeps no key of a group that goes on without us.
    fn leave(&mut self, desk: &mut Desk) {
        self.is_out = true;
        self.messenger = None;
        self.epoch = Epoch(0);
        self.early.clear();
        desk.tell(Told::Evicted);
    }

    /// Takes the key that the party has now.
    fn follow(&mut self, desk: &mut Desk, now: u64, rng: &mut ChaCha20Rng) {
        let Some((epoch, _)) = self.parties.group_key(self.me.into()) else { return };
        if epoch == self.epoch {
            return;
        }
        let Self { me, parties, messenger, settings, .. } = self;
        // The messenger's session must not disturb what the party draws.
        let mut rng = rng.clone();
        rng.set_stream(SESSION_STREAM);
        parties.at((*me).into(), now, &mut rng, |cx, party| {
            if messenger.is_none() {
                *messenger = Messenger::new(cx, *settings).ok();
            }
            messenger.iter_mut().for_each(|messenger| messenger.follow(cx, party));
        });
        self.epoch = epoch;
        desk.tell(Told::Rekeyed(epoch));
        for bytes in self.early.take() {
            let _ = self.hear(desk, &bytes, now, &mut rng);
        }
    }
}

/// Messages of later epochs that are kept, at most.
const EARLY: usize = 32;

const SESSION_STREAM: u64 = 2;
