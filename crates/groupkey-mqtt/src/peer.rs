//! A member of a group without a controller: a contributory scheme under [`Ordered`].
//!
//! Every peer knows the other peers' public keys beforehand. Founders send hellos until all
//! founders are online, so that no first message is lost. They then create the group. Other peers
//! ask to join it.
//!
//! ```text
//! question:  [member, 0,     nonce, null,  [],                    null,     null,   signature]
//! answer:    [member, epoch, nonce, asker, [[member, epoch], ..], instance, pledge, signature]
//! founding:  [[[member, pledge], ..], signature]
//! ```
//!
//! A question goes to the topic for joining. Its nonce is random, and new at each start and each
//! doubt. The other peers answer on the topic of the member that asks, with its nonce and the epoch of
//! the last event that they know of, which is 0 without a key. Only an answer shows that its sender is online now: a
//! question may be a recording. An answer also says who was evicted, so that a peer without memory
//! learns it before it joins; what several say counts, or one beside an operator's word. Members send
//! such words, and their tickets, beside the answer. So no recording makes a founder believe that the
//! group exists, or that all founders are there.
//!
//! Each founder without a key pledges a nonce in its answers, new for every founding. When all have
//! done so, the first founder lists them, and a hash of the list is the instance of the group.
//! Every founder finds its own nonce there, so the instance is new. All that follows is signed under
//! it, and means nothing in another founding. Questions, answers, the list and operators' words are
//! signed under the instance of zeros.
//!
//! Other peers learn the instance from the answers. A peer without a key goes to the instance of
//! which most have a key. A member with a key stays in its own, unless more of the members that it
//! knows are in another one.
//!
//! A peer also asks after a reconnection, and after a message of an epoch that it does not know. A
//! group message can be forged, and any member can claim an epoch. So the peer acts on answers only,
//! and only on those of members that it knows.
//!
//! While an event does not complete, a peer asks who is online. It reports members dead that have
//! been silent for some time. A member that was only slow hears of it, and rejoins.
//!
//! ```text
//! gone:      [member]
//! ```
//!
//! The broker publishes this last will when a connection breaks. It is a hint: the peers ask that
//! member alone, and report it dead if it says nothing for the same time.

mod beginning;
#[cfg(feature = "std")]
mod decision_file;
mod eviction_record;
mod founding;
mod hello;
mod hello_exchange;
mod operator_word;
mod presence;
mod settings;
mod staleness;

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::fmt;

use groupkey::error::{Misbehaviour, Misuse, Unsupported};
use groupkey::event_order;
use groupkey::{
    Channel, Epoch, Error, GroupContext, Instance, Key, MemberId, Operation, Ordered, Recipient,
};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sha2::{Digest, Sha256};

use self::beginning::{Beginning, Present, WaitingFounder};
#[cfg(feature = "std")]
pub use self::decision_file::DecisionFile;
use self::eviction_record::EvictionRecord;
use self::founding::{FoundingClaim, SignedFounding};
use self::hello::{Hello, LastWill, Standpoint};
use self::hello_exchange::{AnswerKind, Hellos};
pub use self::operator_word::OperatorWord;
use self::presence::PeerPresence;
pub use self::settings::{PeerSettings, PeerSettingsError};
use self::staleness::Staleness;
use crate::codec::{decoded, encoded};
use crate::counters::Counters;
use crate::early_messages::EarlyMessages;
use crate::event::MemberEvent;
use crate::join::MAX_PAYLOAD;
use crate::local_parties::{LocalParties, OwnedCommand};
use crate::participant::{OutputQueue, Participant};
use crate::rekeying::Rekeying;
use crate::runtime::{Fatal, Input, Output, Runtime, SECOND};
use crate::store::{DecisionStore, Decisions};
use crate::topics::{TopicKind, Topics};

/// A peer's runtime.
pub struct Peer {
    settings: PeerSettings,
    topics: Topics,
    participant: Participant,
    /// The founding of the group that the party was told to take part in.
    instance: Option<Instance>,
    /// How it finds a founding.
    beginning: Beginning,
    hellos: Hellos,
    /// Whether it has the latest key.
    staleness: Staleness,
    /// Which members are online.
    presence: PeerPresence,
    /// What the group decided.
    record: EvictionRecord,
    /// Messages that arrived before we took part in their founding, and whether we do since.
    early: EarlyMessages<EARLY>,
    is_new: bool,
    due: Option<u64>,
    /// When the key changes without a join or leave.
    rekeying: Rekeying,
    queue: OutputQueue,
}

impl Peer {
    /// Creates a peer that creates the group or joins it once it is connected. It forgets what the
    /// group decided when it is dropped.
    pub fn new(settings: PeerSettings) -> Result<Self, PeerSettingsError> {
        Self::create(settings, Decisions::default(), None)
    }

    /// Creates a peer that remembers what its group decided. It keeps every decision before any
    /// message leaves that follows from it.
    pub fn open(
        settings: PeerSettings,
        mut memory: Box<dyn DecisionStore>,
    ) -> Result<Self, PeerSettingsError> {
        let kept = memory.load().map_err(PeerSettingsError::Memory)?;
        Self::create(settings, kept, Some(memory))
    }

    fn create(
        settings: PeerSettings,
        kept: Decisions,
        memory: Option<Box<dyn DecisionStore>>,
    ) -> Result<Self, PeerSettingsError> {
        let (topics, keyring) = settings.check()?;
        let PeerSettings { me, form, period, .. } = &settings;
        let rekeying = Rekeying::new(*period);
        let party = party(&settings, &kept).map_err(|_| PeerSettingsError::HasController)?;
        let form = form.clone();
        let setting = form.setting(&settings.prefix, Instance::default());
        let mut parties = LocalParties::new(form, setting, keyring);
        parties.take_words(settings.before_founding());
        let participant = Participant::new(*me, topics.clone(), parties, party, settings.messages);
        let mut queue = OutputQueue::default();
        let listen = [
            topics.of(Recipient::Group),
            topics.of(Recipient::Member(*me)),
            topics.talk(),
            topics.join(),
        ];
        queue.outputs.extend(listen.map(Output::Subscribe));
        Ok(Self {
            settings,
            topics,
            participant,
            instance: None,
            beginning: Beginning::default(),
            hellos: Hellos::default(),
            staleness: Staleness::new(),
            presence: PeerPresence::default(),
            record: EvictionRecord::new(kept, memory),
            early: EarlyMessages::new(),
            is_new: false,
            due: None,
            rekeying,
            queue,
        })
    }

    /// Returns the group key and its epoch, if the peer has one.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.participant.group_key()
    }

    /// Fills `output` with bytes that follow from the group key, for another protocol
    /// ([`groupkey::exporter`]). Returns the epoch. Fails with [`Misuse::NotCreated`] if the peer has no
    /// key.
    pub fn export(&self, label: &str, context: &[u8], output: &mut [u8]) -> Result<Epoch, Error> {
        self.participant.export(label, context, output)
    }

    /// Returns whether the peer was evicted or has left. Who left rejoins by a new peer, and who was
    /// evicted by a new peer with an operator's ticket.
    pub const fn is_out(&self) -> bool {
        self.participant.is_out()
    }

    /// Returns the peer's number.
    pub const fn number(&self) -> MemberId {
        self.settings.me
    }

    /// Returns which founding of the group the peer takes part in, if it knows of one.
    pub const fn instance(&self) -> Option<Instance> {
        self.instance
    }

    /// Returns the context that all signatures of the group cover: that of the instance of zeros
    /// before there is an [instance](Self::instance).
    pub const fn context(&self) -> &GroupContext {
        self.participant.context()
    }

    /// Returns whether the peer counts another one among the members.
    pub fn counts_as_member(&self, other: MemberId) -> bool {
        self.participant.counts_as_member(other)
    }

    /// Returns whether the peer has the key of the last event that it knows of.
    pub fn is_settled(&self) -> bool {
        self.group_key().is_some() && self.participant.under_way().is_none()
    }

    /// Returns the counters of accepted and refused messages.
    pub const fn counters(&self) -> Counters {
        self.queue.counters
    }

    /// Encrypts a message of at most 65,535 bytes to the group.
    pub fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        self.participant.say(&mut self.queue, content, now, rng)
    }

    /// Changes the key without a join or leave, once the peer that announces the next event is asked,
    /// too: give this to all peers, as clocks do. Fails with
    /// [`Unsupported`](groupkey::error::Unsupported::Operation) if the scheme cannot.
    pub fn rekey(&mut self, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        let scheme = self.settings.form.configuration.scheme();
        if !scheme.operations.contains(&Operation::Rekey) {
            return Err(Unsupported::Operation.into());
        }
        self.participant.command(&mut self.queue, &OwnedCommand::Rekey, now, rng)
    }

    /// Asks to evict a member or, with the peer's own number, to leave.
    pub fn remove(
        &mut self,
        member: MemberId,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.participant.command(&mut self.queue, &OwnedCommand::Remove(member.0), now, rng)
    }

    fn is_founder(&self) -> bool {
        self.settings.founders.contains(&self.settings.me)
    }

    /// Creates the group or asks to join it, possibly again.
    fn begin(
        &mut self,
        command: &OwnedCommand,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.pass_on();
        self.participant.command(&mut self.queue, command, now, rng)?;
        self.staleness.wait(now);
        if core::mem::take(&mut self.is_new) {
            for bytes in self.early.take() {
                self.receive(&bytes, now, rng);
            }
        }
        Ok(())
    }

    /// Takes part in a founding of the group from now on, and in no other.
    fn enter(&mut self, instance: Instance, now: u64) {
        let had_key = self.group_key().is_some();
        let PeerSettings { prefix, form, .. } = &self.settings;
        let setting = form.setting(prefix, instance);
        let Ok(party) = party(&self.settings, &self.participant.decisions()) else { return };
        self.participant.renew(setting, party);
        self.instance = Some(instance);
        self.is_new = true;
        self.beginning.enter(now);
        self.presence.reset();
        self.staleness.forget();
        if had_key {
            self.queue.report(MemberEvent::JoinsAgain);
        }
    }

    /// Chooses among the foundings that others are in, once they had the time to say so.
    fn choose(&mut self, now: u64) {
        let Some(mut claims) = self.beginning.take_claims(now) else { return };
        let has_key = self.group_key().is_some();
        claims.believe(|member| {
            !self.is_evicted(member) && (!has_key || self.participant.counts_as_member(member))
        });
        let chosen = match self.instance {
            Some(own) if has_key => claims.of_more_than(own),
            own => claims.of_most(own),
        };
        if let Some(chosen) = chosen.filter(|&chosen| self.instance != Some(chosen)) {
            self.enter(chosen, now);
        }
    }

    fn lacks_key(&self) -> bool {
        self.group_key().is_none()
            || self.presence.under_way().is_some()
            || self.staleness.is_behind()
    }

    /// Returns whether there is something to do when some time has passed.
    fn is_busy(&self) -> bool {
        let is_waiting = self.staleness.is_raised() || self.beginning.will_choose();
        self.lacks_key() || is_waiting || self.presence.misses_any()
    }

    /// Repeats requests until the peer has the current key.
    fn insist(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.choose(now);
        self.due = self.is_busy().then(|| now.saturating_add(INTERVAL));
        if self.group_key().is_none() {
            self.beginning.wait(now);
            self.ask_around(rng);
            self.found(now, rng);
            if self.instance.is_none() {
                return;
            }
            let joined = self.begin(&OwnedCommand::Add(self.settings.me.0), now, rng);
            if joined != Err(Misuse::AlreadyMember(self.settings.me).into()) {
                return;
            }
        }
        self.resolve_doubt(now, rng);
        self.look_for_the_dead(now, rng);
        self.look_for_the_missed(now, rng);
        if self.lacks_key() && self.staleness.is_overdue(now) {
            // We may have missed the messages that led to the key.
            self.staleness.lose_patience();
            self.get_back(now, rng);
        }
    }

    /// Asks to rejoin.
    fn get_back(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.staleness.wait(now);
        self.pass_on();
        let _ = self.participant.command(&mut self.queue, &OwnedCommand::CatchUp, now, rng);
    }

    /// Asks who is online while an event does not complete, and reports the silent members.
    fn look_for_the_dead(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if !self.presence.is_slow(now) {
            return;
        }
        let Self { participant, settings, presence, .. } = self;
        let members = settings.directory.iter().map(|&(member, _)| member);
        let others =
            members.filter(|&member| member != settings.me && participant.counts_as_member(member));
        if let Some(silent) = presence.take_silent(others, now) {
            self.hellos.renew();
            if !silent.is_empty() {
                let _ = self.participant.report_dead(&mut self.queue, &silent, now, rng);
            }
        }
        self.ask_around(rng);
    }

    /// Takes the last will of a member's connection.
    fn miss(&mut self, member: MemberId, now: u64) {
        let is_present = self.group_key().is_some() && self.participant.counts_as_member(member);
        let is_known = self.settings.directory.iter().any(|&(known, _)| known == member);
        if member != self.settings.me && is_present && is_known {
            self.presence.miss(member, now);
        }
    }

    /// Asks the members whose connections broke, and reports the silent ones.
    fn look_for_the_missed(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if !self.presence.misses_any() {
            return;
        }
        let mut dead = self.presence.take_dead(now);
        dead.retain(|&member| self.participant.counts_as_member(member));
        if !dead.is_empty() {
            let _ = self.participant.report_dead(&mut self.queue, &dead, now, rng);
        }
        let question = Hello::question(&self.settings, self.hellos.nonce(rng));
        for member in self.presence.missed() {
            let topic = self.topics.of(Recipient::Member(member));
            self.queue.request(topic, question.clone());
        }
    }

    /// Shows the operators' words to the group.
    fn pass_on(&mut self) {
        let topic = self.topics.of(Recipient::Group);
        for word in &self.settings.words {
            self.queue.request(topic.clone(), word.clone());
        }
    }

    /// Shows a peer that asks by which words of operators members have come, and others have gone. It
    /// may have been away then.
    fn show_words(&mut self, asker: MemberId) {
        if self.group_key().is_none() || self.is_evicted(asker) {
            return;
        }
        let is_in = |word: &&Vec<u8>| {
            event_order::admits(word)
                .is_some_and(|holder| self.participant.counts_as_member(holder))
        };
        let evictions = self.record.words().filter(|&(member, _)| self.is_evicted(member));
        let words = self.settings.words.iter().filter(is_in);
        let words = words.chain(evictions.map(|(_, word)| word)).take(WORDS);
        let words: Vec<_> = words.cloned().collect();
        let topic = self.topics.of(Recipient::Member(asker));
        words.into_iter().for_each(|word| self.queue.request(topic.clone(), word));
    }

    /// Learns from the operators' words, before the first message, whether this peer may rejoin.
    fn read_words(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        for word in &self.settings.words {
            let _ = self.participant.deliver(&mut self.queue, Channel::Open, word, now, rng);
        }
        if self.is_evicted(self.settings.me) {
            self.participant.expel(&mut self.queue);
        }
    }

    fn is_evicted(&self, member: MemberId) -> bool {
        self.participant.decisions().evicted.iter().any(|&(evicted, _)| evicted == member)
    }

    /// Notes that other peers may have a later key. Only answers to later questions count.
    fn doubt(&mut self) {
        if self.staleness.raise() {
            self.hellos.renew();
        }
    }

    /// Notes changes of the event under way and of the key.
    fn watch(&mut self, key_before: Epoch, now: u64) {
        if self.participant.epoch() != key_before {
            if key_before == Epoch(0) {
                // Others' claims and messages of other foundings are of no use any more.
                self.early.clear();
                self.beginning.settle();
            }
            self.staleness.rekeyed();
            if self.participant.has_early() {
                // A kept message has a still later epoch.
                self.doubt();
            }
        }
        let under_way = self.participant.under_way();
        if let Some(before) = self.presence.follow(under_way, now) {
            let is_given_up = before.is_some() && under_way.is_some();
            if is_given_up && self.staleness.is_overdue(now.saturating_add(INTERVAL)) {
                // Another member gave up the event shortly before we would have done so. Events
                // take longer here than we wait.
                self.staleness.lose_patience();
            }
            self.staleness.wait(now);
        }
        if self.is_busy() {
            self.due.get_or_insert_with(|| now.saturating_add(INTERVAL));
        }
    }

    /// Sends a hello that asks the other peers for theirs.
    fn ask_around(&mut self, rng: &mut ChaCha20Rng) {
        let nonce = self.hellos.nonce(rng);
        // A hello is repeated, so it may expire.
        self.queue.request(self.topics.join(), Hello::question(&self.settings, nonce));
    }

    fn greeted(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        if let Some(LastWill { member }) = decoded(bytes) {
            self.miss(MemberId(member), now);
            return;
        }
        if let Some(founding) = decoded::<SignedFounding>(bytes) {
            self.take_founding(&founding, now, rng);
            return;
        }
        let Some(hello) = decoded::<Hello>(bytes) else {
            self.queue.counters.malformed += 1;
            return;
        };
        let member = MemberId(hello.member);
        let is_ours = hello.asker == Some(self.settings.me.0) && self.hellos.is_ours(*hello.nonce);
        // The broker also sends us our own hellos, and answers to earlier questions.
        if member == self.settings.me || (hello.asker.is_some() && !is_ours) {
            return;
        }
        if hello.asker.is_some() && self.is_evicted(member) {
            self.queue.counters.refused += 1;
            return;
        }
        let digest = Sha256::digest(bytes).into();
        if !self.hellos.is_repeated(member, &digest) {
            let before_founding = self.settings.before_founding();
            if !self.public(member).is_some_and(|public| hello.is_by(public, &before_founding)) {
                self.queue.counters.forged += 1;
                return;
            }
            if hello.asker.is_some() {
                self.hellos.note_answer(member, digest);
            }
        }
        match hello.asker {
            Some(_) => {
                self.take_report(&hello);
                self.take_answer(&hello, now, rng);
            }
            None => self.answer(&hello, digest, now, rng),
        }
    }

    fn public(&self, member: MemberId) -> Option<&[u8; 32]> {
        let known = self.settings.directory.iter().find(|&&(other, _)| other == member);
        known.map(|(_, public)| public)
    }

    fn take_answer(&mut self, hello: &Hello, now: u64, rng: &mut ChaCha20Rng) {
        let (member, Standpoint { instance, pledge }) =
            (MemberId(hello.member), hello.standpoint());
        let (has_key, is_member) =
            (self.group_key().is_some(), self.participant.counts_as_member(member));
        // A peer that is no member can sign, and would keep the members asking to rejoin.
        if has_key && !is_member {
            self.queue.counters.refused += 1;
            return;
        }
        let is_elsewhere = instance.is_some() && instance != self.instance;
        if let Some(instance) = instance {
            let claim = FoundingClaim { instance, has_key: hello.epoch > 0 };
            self.beginning.note_claim(member, claim);
            if is_elsewhere && (claim.has_key || !has_key) {
                self.choose_soon(now.saturating_add(if claim.has_key { INTERVAL } else { SLOW }));
            }
        }
        if self.instance.is_some() && is_member && !is_elsewhere {
            self.presence.answered(member);
            if instance.is_some() {
                self.compare(hello.epoch, now, rng);
            }
        }
        let candidate = pledge.filter(|_| hello.epoch == 0).map(|pledge| {
            let evicted = |founder: &MemberId| hello.evicted.iter().any(|&(id, _)| id == founder.0);
            let without = self.settings.founders.iter().copied().filter(evicted).collect();
            WaitingFounder { pledge, instance, without }
        });
        self.beginning.note_candidate(member, candidate);
        self.found(now, rng);
    }

    /// Chooses a founding at this time, ns, or earlier.
    fn choose_soon(&mut self, at: u64) {
        let at = self.beginning.choose_at(at);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Tells another peer that this one is online, and the epoch of its key. Limits the answers to
    /// each question: a question that is repeated by somebody else takes no other one's answers.
    fn answer(&mut self, question: &Hello, digest: [u8; 32], now: u64, rng: &mut ChaCha20Rng) {
        let asker = MemberId(question.member);
        match self.hellos.note_question(asker, *question.nonce, digest, now) {
            AnswerKind::TooSoon => return,
            AnswerKind::Again => {}
            AnswerKind::First => self.show_words(asker),
        }
        // Without the announcement of an event, a member does not know that it holds the others up.
        let announced = self.participant.under_way().unwrap_or_default();
        let epoch = self.group_key().map_or(0, |(epoch, _)| epoch.max(announced).0);
        let topic = self.topics.of(Recipient::Member(asker));
        let evicted = self.participant.decisions().evicted;
        let may_found = self.is_founder() && epoch == 0;
        let pledge = may_found.then(|| self.beginning.pledge(rng));
        let standpoint = Standpoint { instance: self.instance, pledge };
        self.queue.request(topic, question.answer(&self.settings, epoch, standpoint, &evicted));
    }

    /// Learns from an answer who was evicted. The party judges how many must say so: it may be the
    /// evicted one that says so of the others. A later answer of a peer replaces its earlier one.
    fn take_report(&mut self, answer: &Hello) {
        let reporter = MemberId(answer.member);
        if !self.participant.counts_as_member(reporter) {
            return;
        }
        let evicted =
            answer.evicted.iter().map(|&(member, since)| (MemberId(member), Epoch(since)));
        let evicted: Vec<_> = evicted.take(EVICTED).collect();
        if !self.participant.hear_evicted(reporter, &evicted) {
            self.queue.counters.overflowed += 1;
        }
    }

    /// Handles an answer: another peer knows of an event with this epoch.
    fn compare(&mut self, epoch: u64, now: u64, rng: &mut ChaCha20Rng) {
        let Some((own, _)) = self.group_key().filter(|_| epoch > 0) else { return };
        self.staleness.settle();
        if own.0 < epoch && self.presence.under_way().is_none() && self.staleness.fell_behind(now) {
            self.get_back(now, rng);
        }
    }

    /// Returns the founders by ascending number. The group goes on without those that it evicted.
    fn founders(&self) -> Vec<MemberId> {
        let is_in = |&founder: &MemberId| !self.is_evicted(founder);
        let founders: BTreeSet<_> = self.settings.founders.iter().copied().filter(is_in).collect();
        founders.into_iter().collect()
    }

    /// Founds the group if this peer is the first founder, and all are online without a key. It does
    /// so again if one of them takes part in no founding, or in another one.
    fn found(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let PeerSettings { me, directory, .. } = &self.settings;
        if !self.is_founder() || self.group_key().is_some() || self.beginning.others_have_key() {
            return;
        }
        let present = Present {
            me: *me,
            instance: self.instance,
            is_under_way: self.participant.under_way().is_some(),
        };
        let peers = directory.iter().map(|&(id, _)| id);
        let others = self.beginning.others_to_found_with(self.founders(), peers, &present, now);
        let Some(others) = others else { return };
        let list: Vec<_> = [(*me, draw(rng))].into_iter().chain(others).collect();
        let founding = SignedFounding::new(&self.settings, &list);
        self.queue.request(self.topics.join(), encoded(&founding));
        self.begin_with(&founding, now, rng);
    }

    /// Takes the first founder's word that all founders begin.
    fn take_founding(&mut self, founding: &SignedFounding, now: u64, rng: &mut ChaCha20Rng) {
        let Some(leader) = founding.leader() else {
            self.queue.counters.malformed += 1;
            return;
        };
        if leader == self.settings.me {
            return;
        }
        let before_founding = self.settings.before_founding();
        if !self.public(leader).is_some_and(|public| founding.is_by(public, &before_founding)) {
            self.queue.counters.forged += 1;
            return;
        }
        if self.group_key().is_some() {
            // A member may have lost its key, or this is a recording. The others know.
            let is_ours = self.instance == Some(founding.instance(&before_founding));
            if !is_ours && self.participant.counts_as_member(leader) {
                self.doubt();
                self.resolve_doubt(now, rng);
            }
            return;
        }
        let is_new = self.beginning.has_pledged(self.settings.me, founding);
        let are_founders = self.beginning.are_founders(founding, &self.founders());
        if !is_new || !are_founders || self.beginning.others_have_key() {
            self.queue.counters.refused += 1;
            return;
        }
        self.begin_with(founding, now, rng);
    }

    fn begin_with(&mut self, founding: &SignedFounding, now: u64, rng: &mut ChaCha20Rng) {
        self.beginning.use_pledge();
        self.enter(founding.instance(&self.settings.before_founding()), now);
        let founders = founding.members().map(|founder| founder.0).collect();
        let _ = self.begin(&OwnedCommand::Create(founders), now, rng);
    }

    fn receive(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        if self.instance.is_none() {
            self.early.keep(bytes, &mut self.queue.counters);
            return;
        }
        let result = self.participant.deliver(&mut self.queue, Channel::Open, bytes, now, rng);
        if result.is_ok() {
            self.record.note(bytes);
        }
        if result == Err(Misbehaviour::Forged.into()) && self.group_key().is_none() {
            // It may be of a founding that this peer does not know yet.
            self.early.keep(bytes, &mut self.queue.counters);
        }
        if is_skipped(&result) {
            // A member says so. It may lie, or be evicted since.
            self.doubt();
            self.resolve_doubt(now, rng);
        }
    }

    /// Asks the others for their epoch, not too often.
    fn resolve_doubt(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if !self.lacks_key() && self.staleness.asks(now) {
            self.beginning.forget_claims();
            self.ask_around(rng);
        }
    }
}

impl Runtime for Peer {
    type Event = MemberEvent;

    fn handle(&mut self, input: Input<'_>, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Fatal> {
        if self.is_out() {
            // A removed peer stays silent, so that no other peer must remove it again.
            self.due = None;
            return Ok(());
        }
        let key_before = self.participant.epoch();
        match input {
            Input::Acknowledged(_) => {}
            Input::Arrived { payload, .. } if payload.len() > MAX_PAYLOAD => {
                self.queue.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(TopicKind::Join) => self.greeted(payload, now, rng),
                // A party's message has more items than a hello.
                Some(TopicKind::To(Recipient::Member(_)))
                    if decoded::<Hello>(payload).is_some() =>
                {
                    self.greeted(payload, now, rng);
                }
                Some(TopicKind::Talk) => {
                    let heard = self.participant.hear(&mut self.queue, payload, now, rng);
                    if is_skipped(&heard) {
                        self.doubt();
                    }
                }
                Some(TopicKind::To(_)) => self.receive(payload, now, rng),
                Some(TopicKind::Epoch | TopicKind::State | TopicKind::Welcome(_)) | None => {
                    self.queue.counters.malformed += 1
                }
            },
            Input::Connected => {
                // Messages may have been lost in the meantime, and no peer repeats them.
                if self.group_key().is_some() {
                    self.doubt();
                    self.pass_on();
                } else if self.instance.is_none() {
                    self.read_words(now, rng);
                }
                if self.is_out() {
                    return Ok(());
                }
                self.insist(now, rng);
            }
            Input::Tick => self.insist(now, rng),
        }
        if self.rekeying.due().is_some_and(|due| due <= now) {
            self.rekeying.wait(now);
            // Without a key, there is none to change.
            let _ = self.rekey(now, rng);
        }
        if self.participant.epoch() != key_before {
            self.rekeying.rekeyed(now);
        }
        self.watch(key_before, now);
        self.record.keep(|| self.participant.decisions())?;
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<MemberEvent>>, Fatal> {
        Ok(self.queue.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        let due = self.rekeying.due().filter(|_| !self.is_out());
        self.due.into_iter().chain(due).min()
    }
}

/// The party of a peer that has not begun, which remembers these decisions.
fn party(settings: &PeerSettings, kept: &Decisions) -> Result<Box<Ordered>, Error> {
    let party = Ordered::new(settings.form.configuration.clone(), settings.me)?;
    Ok(Box::new(party.with_rules(settings.rules).remembering(kept.latest, &kept.evicted)))
}

fn draw(rng: &mut ChaCha20Rng) -> [u8; 16] {
    let mut nonce = [0; 16];
    rng.fill_bytes(&mut nonce);
    nonce
}

fn is_skipped<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Misbehaved(Misbehaviour::SkippedEpoch { .. })))
}

/// The time between hellos of a peer without a key, ns.
const INTERVAL: u64 = 2 * SECOND;

/// The first wait before a member asks to rejoin, ns. It is longer than most creations take.
const FIRST_PATIENCE: u64 = 30 * SECOND;

/// The longest wait before a member asks to rejoin again, ns.
const LAST_PATIENCE: u64 = 900 * SECOND;

/// How long an event may take before a peer asks who is online, ns.
const SLOW: u64 = 8 * SECOND;

/// How long a member may then be silent before it is reported dead, ns. It is asked every two
/// seconds.
const SILENCE: u64 = 12 * SECOND;

/// The maximum number of evicted members that an answer names.
const EVICTED: usize = 4_096;

/// The maximum number of operators' words that go to a peer that asks.
const WORDS: usize = 64;

/// The maximum number of messages to keep before we begin.
const EARLY: usize = 256;

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("me", &self.settings.me)
            .field("epoch", &self.participant.epoch())
            .finish_non_exhaustive()
    }
}
