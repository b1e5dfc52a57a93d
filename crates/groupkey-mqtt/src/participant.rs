//! The common part of members and peers: one party, its subscriptions, and the messages under the
//! group key.

use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;

use groupkey::error::{Misbehaviour, Misuse};
use groupkey::messages::{MessageSettings, Messenger, Received};
use groupkey::{
    Channel, Epoch, Error, Event, GroupContext, Key, MemberId, Operation, Party, Recipient,
    Setting, SubsetId,
};
use rand_chacha::ChaCha20Rng;

use crate::counters::Counters;
use crate::diagnostics;
use crate::early_messages::EarlyMessages;
use crate::event::MemberEvent;
use crate::generator::Generator;
use crate::local_parties::{LocalParties, OwnedCommand, PartyInput};
use crate::runtime::{Output, REQUEST_EXPIRY, head};
use crate::store::Decisions;
use crate::store::Publish;
use crate::topics::Topics;

/// A member's party with its topics, keys and messages.
#[derive(Debug)]
pub(crate) struct Participant {
    me: MemberId,
    topics: Topics,
    parties: LocalParties,
    messenger: Option<Messenger>,
    settings: MessageSettings,
    /// What other members know our key by, if not otherwise.
    credential: Option<Vec<u8>>,
    epoch: Epoch,
    /// Group messages of later epochs than ours.
    early: EarlyMessages<EARLY>,
    /// Group messages of senders that have not introduced themselves yet.
    unknown: EarlyMessages<EARLY>,
    /// What was read of them since, and is not passed on yet.
    introduced: Vec<Result<Received, Error>>,
    /// How often members of the group resumed, as far as we know.
    resumptions: u32,
    /// The first epoch whose key counts, as far as we know.
    valid_from: Epoch,
    /// Which epoch members send under, if new keys wait.
    staged: Option<Staged>,
    /// The resumption with which we came back, until we have a key.
    resumed: Option<u32>,
    /// Whether we left the group or were evicted.
    is_out: bool,
    /// Whether another group succeeded ours.
    is_retired: bool,
    subsets: BTreeSet<SubsetId>,
}

/// The service's last word on which epoch members send under.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Staged {
    /// The group's epoch at that time.
    pub(crate) epoch: Epoch,
    /// The epoch that members send under. If it is earlier, later ones wait.
    pub(crate) active: Epoch,
}

/// The outputs and counters of an participant.
#[derive(Debug, Default)]
pub(crate) struct OutputQueue {
    pub(crate) outputs: VecDeque<Output<MemberEvent>>,
    pub(crate) counters: Counters,
    next_publish: u64,
    acknowledged: u64,
}

impl OutputQueue {
    /// Publishes a message that no party repeats. It does not expire.
    pub(crate) fn publish(&mut self, topic: String, payload: Vec<u8>) {
        self.leave(topic, payload, None);
    }

    /// Publishes a request. It expires, because the party repeats it if no answer arrives.
    pub(crate) fn request(&mut self, topic: String, payload: Vec<u8>) {
        self.leave(topic, payload, Some(REQUEST_EXPIRY));
    }

    pub(crate) const fn acknowledged(&mut self) {
        self.acknowledged += 1;
    }

    /// Returns the number of publishes that the broker has not acknowledged.
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.next_publish.saturating_sub(self.acknowledged)
    }

    pub(crate) fn report(&mut self, event: MemberEvent) {
        diagnostics::member(&event);
        self.outputs.push_back(Output::Event(event));
    }

    fn leave(&mut self, topic: String, payload: Vec<u8>, expiry: Option<u32>) {
        let id = self.next_publish;
        self.next_publish += 1;
        let publish = Publish { id, topic, payload, retain: false, expiry };
        self.outputs.push_back(Output::Publish(publish));
    }
}

impl Participant {
    pub(crate) fn new(
        me: MemberId,
        topics: Topics,
        mut parties: LocalParties,
        party: Box<dyn Party>,
        settings: MessageSettings,
    ) -> Self {
        parties.seat(me.into(), party);
        let early = EarlyMessages::new();
        Self {
            me,
            topics,
            parties,
            messenger: None,
            settings,
            credential: None,
            epoch: Epoch(0),
            early,
            unknown: EarlyMessages::new(),
            introduced: Vec::new(),
            resumptions: 0,
            valid_from: Epoch(0),
            staged: None,
            resumed: None,
            is_out: false,
            is_retired: false,
            subsets: BTreeSet::new(),
        }
    }

    pub(crate) fn introduced_by(mut self, credential: Vec<u8>) -> Self {
        self.credential = Some(credential);
        self
    }

    pub(crate) fn renew(&mut self, setting: Setting, party: Box<dyn Party>) {
        self.forget();
        self.parties.set_setting(setting);
        self.parties.seat(self.me.into(), party);
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.parties.group_key(self.me.into())
    }

    /// Fills `output` with bytes that follow from the group key. Returns the epoch.
    pub(crate) fn export(
        &self,
        label: &str,
        context: &[u8],
        output: &mut [u8],
    ) -> Result<Epoch, Error> {
        let key = self.group_key().ok_or(Misuse::NotCreated)?;
        self.parties.setting().export(key, label, context, output)?;
        Ok(key.0)
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the epoch of an announced event that is not complete at this party.
    pub(crate) fn under_way(&self) -> Option<Epoch> {
        self.parties.under_way(self.me.into())
    }

    pub(crate) fn counts_as_member(&self, other: MemberId) -> bool {
        self.parties.counts_as_member(self.me.into(), other)
    }

    pub(crate) fn decisions(&self) -> Decisions {
        self.parties.decisions(self.me.into())
    }

    /// Tells the party whom another one reports as evicted. Returns `false` if it has no room for
    /// that.
    pub(crate) fn hear_evicted(
        &mut self,
        reporter: MemberId,
        evicted: &[(MemberId, Epoch)],
    ) -> bool {
        self.parties.hear_evicted(self.me.into(), reporter, evicted)
    }

    /// Stops taking part, because the group evicted this member.
    pub(crate) fn expel(&mut self, queue: &mut OutputQueue) {
        self.is_out = true;
        self.forget();
        queue.report(MemberEvent::Evicted);
    }

    pub(crate) const fn context(&self) -> &GroupContext {
        self.parties.group_context()
    }

    pub(crate) const fn group(&self) -> u64 {
        self.parties.form().group.0
    }

    /// Returns how often members of the group resumed, as far as we know.
    pub(crate) const fn resumptions(&self) -> u32 {
        self.resumptions
    }

    pub(crate) fn note_resumptions(&mut self, count: u32) {
        self.resumptions = count.max(self.resumptions);
        self.messenger.iter_mut().for_each(|messenger| messenger.note_resumption(self.resumptions));
    }

    /// Introduces itself again: the broker may have lost what was said over the last connection.
    pub(crate) fn reconnected(&mut self) {
        self.messenger.iter_mut().for_each(Messenger::introduce_again);
    }

    /// Returns the first epoch whose key counts, as far as we know.
    pub(crate) const fn valid_from(&self) -> Epoch {
        self.valid_from
    }

    /// Takes and sends no message under keys before this epoch.
    pub(crate) fn refuse_before(&mut self, epoch: Epoch) {
        self.valid_from = epoch.max(self.valid_from);
        self.messenger.iter_mut().for_each(|messenger| messenger.refuse_before(self.valid_from));
    }

    /// Notes which epoch members send under, if new keys wait.
    pub(crate) const fn stage(&mut self, staged: Option<Staged>) {
        self.staged = staged;
    }

    /// Returns the epoch of the key that we still send under, if a later one waits.
    pub(crate) fn held(&self) -> Option<Epoch> {
        self.messenger.as_ref()?.held()
    }

    /// Sends under the latest key. The grace of the one before begins at this time.
    pub(crate) fn activate(&mut self, queue: &mut OutputQueue, from: u64) {
        if let Some(messenger) = &mut self.messenger {
            messenger.activate(from);
            queue.report(MemberEvent::Activated(self.epoch));
        }
    }

    /// Returns whether we go on sending under the present key when this one comes with a message of this
    /// operation. A key that took another one's place because somebody left never waits.
    fn waits(&self, operation: Option<u8>, epoch: Epoch) -> bool {
        let Some(Staged { epoch: announced, active }) = self.staged else { return false };
        let adds = [Operation::Add, Operation::Batch, Operation::Rekey].map(|it| it as u8);
        let is_said = announced >= epoch || operation.is_some_and(|it| adds.contains(&it));
        let sends_under = self.messenger.as_ref().and_then(Messenger::sending_epoch);
        is_said && active < epoch && epoch == self.epoch.next() && sends_under == Some(active)
    }

    /// Takes no message of the first epoch whose session began before this resumption, which is ours.
    pub(crate) fn resume(&mut self, count: u32) {
        self.note_resumptions(count);
        self.resumed = Some(count);
    }

    pub(crate) const fn me(&self) -> MemberId {
        self.me
    }

    /// Returns whether the party was told that it is no longer a member.
    pub(crate) const fn is_out(&self) -> bool {
        self.is_out
    }

    /// Returns whether group messages of later epochs wait for their key.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty()
    }

    /// Gives the party a message, and counts the message as accepted or refused.
    pub(crate) fn deliver(
        &mut self,
        queue: &mut OutputQueue,
        channel: Channel,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let result = self.step(queue, PartyInput::Message(channel, bytes), now, rng);
        match &result {
            Ok(()) => queue.counters.taken += 1,
            Err(error) => queue.counters.count(error),
        }
        result
    }

    pub(crate) fn command(
        &mut self,
        queue: &mut OutputQueue,
        command: &OwnedCommand,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.require_in()?;
        self.step(queue, PartyInput::Command(command), now, rng)
    }

    pub(crate) fn report_dead(
        &mut self,
        queue: &mut OutputQueue,
        members: &[MemberId],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.step(queue, PartyInput::Dead(members), now, rng)
    }

    /// Encrypts a message to the group and publishes it.
    pub(crate) fn say(
        &mut self,
        queue: &mut OutputQueue,
        content: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.require_in()?;
        let not_created = Misuse::NotCreated;
        let messenger = self.messenger.as_mut().ok_or(not_created)?;
        let sealed = self.parties.at(self.me.into(), now, rng, |cx, _| messenger.seal(cx, content));
        queue.publish(self.topics.talk(), sealed.ok_or(not_created)??);
        Ok(())
    }

    /// Decrypts a group message. On `SkippedEpoch` this member is behind: it keeps the message, and
    /// tries again under the next key.
    pub(crate) fn hear(
        &mut self,
        queue: &mut OutputQueue,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let opened = self.open(bytes, now, rng);
        match &opened {
            Ok(_) => {}
            Err(error) => self.miss(queue, bytes, error),
        }
        opened.map(|received| self.heard(queue, received))
    }

    /// Decrypts a group message, and keeps and counts nothing.
    pub(crate) fn open(
        &mut self,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<Received, Error> {
        let Self { me, parties, messenger, unknown, introduced, .. } = self;
        let opened = messenger.as_mut().and_then(|messenger| {
            parties.at((*me).into(), now, rng, |cx, _| {
                let known = messenger.known_senders();
                let opened = messenger.open(cx, bytes);
                if messenger.known_senders() > known {
                    for bytes in unknown.take() {
                        match messenger.open(cx, &bytes) {
                            // Of somebody else: it was there before, so it has room.
                            Err(Error::Misbehaved(Misbehaviour::UnknownSender)) => {
                                unknown.keep(&bytes, &mut Counters::default());
                            }
                            judged => introduced.push(judged),
                        }
                    }
                }
                opened
            })
        });
        opened.unwrap_or_else(|| Err(Misuse::NotCreated.into()))
    }

    /// Passes a decrypted group message on, and those before it that its introduction has explained.
    pub(crate) fn heard(&mut self, queue: &mut OutputQueue, received: Received) {
        for earlier in core::mem::take(&mut self.introduced) {
            match earlier {
                Ok(earlier) => self.pass_on(queue, earlier),
                Err(error) => queue.counters.count(&error),
            }
        }
        self.pass_on(queue, received);
    }

    fn pass_on(&self, queue: &mut OutputQueue, received: Received) {
        // The broker also sends us our own messages.
        if received.sender != self.me {
            queue.counters.taken += 1;
            queue.report(MemberEvent::Heard(received));
        }
    }

    /// Counts a group message that does not decrypt, or keeps it for the next key or until its sender
    /// introduces itself.
    pub(crate) fn miss(&mut self, queue: &mut OutputQueue, bytes: &[u8], error: &Error) {
        match error {
            Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }) => {
                self.early.keep(bytes, &mut queue.counters);
            }
            Error::Misbehaved(Misbehaviour::UnknownSender) => {
                self.unknown.keep(bytes, &mut queue.counters);
            }
            _ => queue.counters.count(error),
        }
    }

    /// Gives the party a message of an open channel, and counts nothing.
    pub(crate) fn take(
        &mut self,
        queue: &mut OutputQueue,
        bytes: &[u8],
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.step(queue, PartyInput::Message(Channel::Open, bytes), now, rng)
    }

    /// Notes that another group succeeded ours: we only read its messages on, and say nothing of
    /// what happens in it.
    pub(crate) const fn retire(&mut self) {
        self.is_retired = true;
    }

    pub(crate) fn scheme(&self) -> &'static str {
        self.parties.form().configuration.scheme().id
    }

    pub(crate) fn is_subscribed(&self, subset: SubsetId) -> bool {
        self.subsets.contains(&subset)
    }

    /// Unsubscribes from the topics of all subsets, unless another participant needs them.
    pub(crate) fn unsubscribe(
        &self,
        queue: &mut OutputQueue,
        is_needed: impl Fn(SubsetId) -> bool,
    ) {
        for &subset in self.subsets.iter().filter(|&&subset| !is_needed(subset)) {
            let topic = self.topics.of(Recipient::Subset(subset));
            queue.outputs.push_back(Output::Unsubscribe(topic));
        }
    }

    fn step(
        &mut self,
        queue: &mut OutputQueue,
        input: PartyInput<'_>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        let operation = match &input {
            PartyInput::Message(_, bytes) => head(bytes).map(|(operation, _)| operation),
            PartyInput::Dead(_) | PartyInput::Command(_) => None,
        };
        let left = self.parties.step(self.me.into(), input, now, rng)?;
        for event in left.events {
            match event {
                Event::Subscribed(subset) => {
                    self.subsets.insert(subset);
                    let topic = self.topics.of(Recipient::Subset(subset));
                    queue.outputs.push_back(Output::Subscribe(topic));
                }
                // The successor may have a subset of this number.
                Event::Unsubscribed(_) if self.is_retired => {}
                Event::Unsubscribed(subset) => {
                    self.subsets.remove(&subset);
                    let topic = self.topics.of(Recipient::Subset(subset));
                    queue.outputs.push_back(Output::Unsubscribe(topic));
                }
                Event::Removed if self.is_retired => self.forget(),
                Event::Removed => self.leave(queue),
                _ => {}
            }
        }
        for mut sent in left.sent {
            let topic = self.topics.of(sent.to);
            let bytes = core::mem::take(&mut *sent.bytes);
            match sent.to {
                Recipient::Controller | Recipient::SubgroupController(_) => {
                    queue.request(topic, bytes);
                }
                // No party keeps messages between members, so they must not expire.
                Recipient::Group | Recipient::Member(_) | Recipient::Subset(_) => {
                    queue.publish(topic, bytes);
                }
            }
        }
        self.follow(queue, operation, now, rng);
        Ok(())
    }

    fn require_in(&self) -> Result<(), Error> {
        if self.is_out { Err(Misuse::NotMember(self.me).into()) } else { Ok(()) }
    }

    /// Leaves the group. A member that others only held for dead asks to rejoin.
    fn leave(&mut self, queue: &mut OutputQueue) {
        if self.parties.may_return(self.me.into()) {
            self.forget();
            queue.report(MemberEvent::JoinsAgain);
        } else {
            self.expel(queue);
        }
    }

    /// Drops the key and the messages of the group that we left.
    fn forget(&mut self) {
        self.messenger = None;
        self.epoch = Epoch(0);
        self.early.clear();
        self.unknown.clear();
    }

    fn follow(
        &mut self,
        queue: &mut OutputQueue,
        operation: Option<u8>,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) {
        let Some((epoch, _)) = self.parties.group_key(self.me.into()) else { return };
        if epoch == self.epoch {
            return;
        }
        let (waits, held) = (self.waits(operation, epoch), self.held());
        let Self { me, parties, messenger, settings, credential, resumed, .. } = self;
        let (resumptions, valid_from) = (&self.resumptions, &self.valid_from);
        // The messenger has a stream of its own: the party's draws must not depend on the
        // messenger's.
        let mut rng = Generator::stream(rng, SESSION_STREAM);
        parties.at((*me).into(), now, &mut rng, |cx, party| {
            if messenger.is_none() {
                *messenger = Messenger::new(cx, *settings).ok();
                if let (Some(messenger), Some(credential)) = (&mut *messenger, &*credential) {
                    messenger.introduce(credential.clone());
                }
            }
            if let Some(messenger) = messenger {
                if waits {
                    messenger.hold();
                }
                messenger.follow(cx, party);
                if !waits {
                    messenger.activate(now);
                }
                messenger.note_resumption(*resumptions);
                messenger.refuse_before(*valid_from);
                resumed.take().into_iter().for_each(|count| messenger.require_resumption(count));
            }
        });
        self.epoch = epoch;
        if !self.is_retired {
            queue.report(MemberEvent::Rekeyed(epoch));
            if held.is_some() && !waits {
                queue.report(MemberEvent::Activated(epoch));
            }
        }
        for bytes in self.early.take() {
            let _ = self.hear(queue, &bytes, now, &mut rng);
        }
    }
}

/// The maximum number of messages of later epochs to keep.
const EARLY: usize = 32;

const SESSION_STREAM: u64 = 2;
