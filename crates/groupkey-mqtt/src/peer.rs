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

#[cfg(feature = "std")]
mod file_memory;
mod founding;
mod hello;
mod settings;
mod word;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::fmt;

use groupkey::error::{Misbehaviour, Misuse};
use groupkey::event_order;
use groupkey::{Channel, Epoch, Error, GroupContext, Instance, Key, MemberId, Ordered, Recipient};
use rand_chacha::ChaCha20Rng;
use rand_core::Rng;
use sha2::{Digest, Sha256};

#[cfg(feature = "std")]
pub use self::file_memory::FileMemory;
use self::founding::{Claim, Claims, Founding};
use self::hello::{Gone, Hello, Standpoint};
pub use self::settings::{Settings, SettingsError};
pub use self::word::Word;
use crate::codec::{decoded, encoded};
use crate::counters::Counters;
use crate::early_messages::EarlyMessages;
use crate::event::MemberEvent;
use crate::join::MAX_PAYLOAD;
use crate::local_parties::{Command, Parties};
use crate::participant::{Desk, Participant};
use crate::runtime::{Fatal, Input, Output, Runtime, SECOND};
use crate::store::StoreError;
use crate::store::{Decisions, Memory};
use crate::topics::{Place, Topics};

/// A question of another peer.
struct Question {
    nonce: [u8; 16],
    /// Of the whole question, whose signature was valid.
    digest: [u8; 32],
    /// The earliest time of the next answer, ns.
    answered_from: u64,
}

/// A founder without a key, as it has answered.
struct Candidate {
    pledge: [u8; 16],
    instance: Option<Instance>,
    /// The founders that it reports as evicted.
    without: Vec<MemberId>,
}

/// A peer's runtime.
pub struct Peer {
    settings: Settings,
    topics: Topics,
    participant: Participant,
    /// The founding of the group that the party was told to take part in.
    instance: Option<Instance>,
    /// What others have answered of theirs, and when this peer chooses among them, ns.
    claims: Claims,
    chooses_at: Option<u64>,
    /// Founders without a key that have answered this process.
    here: BTreeMap<MemberId, Candidate>,
    /// The nonce with which this founder would found the group, and the earliest time at which it
    /// may be the one that says so, ns.
    pledge: Option<[u8; 16]>,
    founds_from: Option<u64>,
    /// Operators' words that evicted members, for others that were not there.
    evictions: BTreeMap<MemberId, Vec<u8>>,
    /// Messages that arrived before we took part in their founding, and whether we do since.
    early: EarlyMessages<EARLY>,
    is_new: bool,
    due: Option<u64>,
    /// The nonce of our hellos, which answers repeat.
    nonce: Option<[u8; 16]>,
    /// The last valid answer of each peer with that nonce, hashed: most are repeated as they were.
    heard: BTreeMap<MemberId, [u8; 32]>,
    /// The latest questions of each peer, the newest last.
    questions: BTreeMap<MemberId, VecDeque<Question>>,
    /// The earliest time of the next hello because of a doubt, ns.
    doubts_from: u64,
    /// The earliest time of the next request to rejoin because of an answer, and the wait after it,
    /// ns.
    asks_from: u64,
    asks_wait: u64,
    /// Since when an event has been under way, ns, and the members that have answered since.
    waits_since: u64,
    online: BTreeSet<MemberId>,
    /// Members whose connections broke, and when they count as dead, ns.
    missed: BTreeMap<MemberId, u64>,
    /// The epoch of an announced event that is not complete at this peer.
    under_way: Option<Epoch>,
    /// Whether a member that we know has answered that there is a later epoch.
    is_behind: bool,
    /// Whether other peers may have a later key: a group message said so, or the connection broke.
    is_in_doubt: bool,
    /// When a member without the current key asks to rejoin, ns. `patience` is the time to the next
    /// request, ns.
    overdue_at: u64,
    patience: u64,
    memory: Option<Box<dyn Memory>>,
    /// What is in the memory.
    kept: Decisions,
    desk: Desk,
}

impl Peer {
    /// Creates a peer that creates the group or joins it once it is connected. It forgets what the
    /// group decided when it is dropped.
    pub fn new(settings: Settings) -> Result<Self, SettingsError> {
        Self::create(settings, Decisions::default(), None)
    }

    /// Creates a peer that remembers what its group decided. It keeps every decision before any
    /// message leaves that follows from it.
    pub fn open(settings: Settings, mut memory: Box<dyn Memory>) -> Result<Self, SettingsError> {
        let kept = memory.load().map_err(SettingsError::Memory)?;
        Self::create(settings, kept, Some(memory))
    }

    fn create(
        settings: Settings,
        kept: Decisions,
        memory: Option<Box<dyn Memory>>,
    ) -> Result<Self, SettingsError> {
        let (topics, keyring) = settings.check()?;
        let Settings { me, form, .. } = &settings;
        let party = party(&settings, &kept).map_err(|_| SettingsError::HasController)?;
        let form = form.clone();
        let setting = form.setting(&settings.prefix, Instance::default());
        let mut parties = Parties::new(form, setting, keyring);
        parties.take_words(settings.before_founding());
        let participant = Participant::new(*me, topics.clone(), parties, party, settings.messages);
        let evictions = kept
            .words
            .iter()
            .filter_map(|word| event_order::evicts(word).map(|member| (member, word.clone())));
        let evictions = evictions.collect();
        let mut desk = Desk::default();
        let listen = [
            topics.of(Recipient::Group),
            topics.of(Recipient::Member(*me)),
            topics.talk(),
            topics.join(),
        ];
        desk.outputs.extend(listen.map(Output::Subscribe));
        Ok(Self {
            settings,
            topics,
            participant,
            instance: None,
            claims: Claims::default(),
            chooses_at: None,
            here: BTreeMap::new(),
            pledge: None,
            founds_from: None,
            evictions,
            early: EarlyMessages::new(),
            is_new: false,
            due: None,
            nonce: None,
            heard: BTreeMap::new(),
            questions: BTreeMap::new(),
            doubts_from: 0,
            asks_from: 0,
            asks_wait: INTERVAL,
            waits_since: 0,
            online: BTreeSet::new(),
            missed: BTreeMap::new(),
            under_way: None,
            is_behind: false,
            is_in_doubt: false,
            overdue_at: 0,
            patience: FIRST_PATIENCE,
            memory,
            kept,
            desk,
        })
    }

    /// Returns the group key and its epoch, if the peer has one.
    pub fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.participant.group_key()
    }

    /// Returns whether the peer was evicted or has left. Who left rejoins by a new peer, and who was
    /// evicted by a new peer with an operator's ticket.
    pub const fn is_out(&self) -> bool {
        self.participant.is_out()
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
        self.desk.counters
    }

    /// Encrypts a message of at most 65,535 bytes to the group.
    pub fn say(&mut self, content: &[u8], now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        self.participant.say(&mut self.desk, content, now, rng)
    }

    /// Asks to evict a member or, with the peer's own number, to leave.
    pub fn remove(
        &mut self,
        member: MemberId,
        now: u64,
        rng: &mut ChaCha20Rng,
    ) -> Result<(), Error> {
        self.participant.command(&mut self.desk, &Command::Remove(member.0), now, rng)
    }

    fn is_founder(&self) -> bool {
        self.settings.founders.contains(&self.settings.me)
    }

    /// Creates the group or asks to join it, possibly again.
    fn begin(&mut self, command: &Command, now: u64, rng: &mut ChaCha20Rng) -> Result<(), Error> {
        self.pass_on();
        self.participant.command(&mut self.desk, command, now, rng)?;
        self.overdue_at = now.saturating_add(self.patience);
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
        let Settings { prefix, form, .. } = &self.settings;
        let setting = form.setting(prefix, instance);
        let Ok(party) = party(&self.settings, &self.participant.decisions()) else { return };
        self.participant.renew(setting, party);
        self.instance = Some(instance);
        self.is_new = true;
        self.claims.clear();
        self.chooses_at = None;
        self.here.clear();
        self.founds_from = Some(now.saturating_add(SLOW));
        self.online.clear();
        self.missed.clear();
        self.under_way = None;
        (self.is_behind, self.is_in_doubt) = (false, false);
        if had_key {
            self.desk.report(MemberEvent::JoinsAgain);
        }
    }

    /// Chooses among the foundings that others are in, once they had the time to say so.
    fn choose(&mut self, now: u64) {
        if self.chooses_at.is_none_or(|at| now < at) {
            return;
        }
        self.chooses_at = None;
        let mut claims = core::mem::take(&mut self.claims);
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

    /// Returns whether the current key is missing.
    fn lacks_key(&self) -> bool {
        self.group_key().is_none() || self.under_way.is_some() || self.is_behind
    }

    /// Returns whether there is something to do when some time has passed.
    fn is_busy(&self) -> bool {
        let is_waiting = self.is_in_doubt || self.chooses_at.is_some() || !self.missed.is_empty();
        self.lacks_key() || is_waiting
    }

    /// Repeats requests until the peer has the current key.
    fn insist(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.choose(now);
        self.due = self.is_busy().then(|| now.saturating_add(INTERVAL));
        if self.group_key().is_none() {
            self.founds_from.get_or_insert_with(|| now.saturating_add(INTERVAL));
            self.ask_around(rng);
            self.found(now, rng);
            if self.instance.is_none() {
                return;
            }
            let joined = self.begin(&Command::Add(self.settings.me.0), now, rng);
            if joined != Err(Misuse::AlreadyMember(self.settings.me).into()) {
                return;
            }
        }
        self.resolve_doubt(now, rng);
        self.look_for_the_dead(now, rng);
        self.look_for_the_missed(now, rng);
        if self.lacks_key() && now >= self.overdue_at {
            // We may have missed the messages that led to the key.
            self.lose_patience();
            self.get_back(now, rng);
        }
    }

    /// Asks to rejoin.
    fn get_back(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        self.overdue_at = now.saturating_add(self.patience);
        self.pass_on();
        let _ = self.participant.command(&mut self.desk, &Command::CatchUp, now, rng);
    }

    /// Asks who is online while an event does not complete, and reports the silent members.
    fn look_for_the_dead(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let waited = now.saturating_sub(self.waits_since);
        if self.under_way.is_none() || waited < SLOW {
            return;
        }
        if waited >= SLOW + SILENCE {
            let silent =
                self.settings.directory.iter().map(|&(member, _)| member).filter(|&member| {
                    let is_present = self.participant.counts_as_member(member);
                    is_present && member != self.settings.me && !self.online.contains(&member)
                });
            let silent: Vec<_> = silent.collect();
            self.waits_since = now.saturating_sub(SLOW);
            self.online.clear();
            self.nonce = None;
            if !silent.is_empty() {
                let _ = self.participant.report_dead(&mut self.desk, &silent, now, rng);
            }
        }
        self.ask_around(rng);
    }

    /// Takes the last will of a member's connection.
    fn miss(&mut self, member: MemberId, now: u64) {
        let is_present = self.group_key().is_some() && self.participant.counts_as_member(member);
        let is_known = self.settings.directory.iter().any(|&(known, _)| known == member);
        if member != self.settings.me && is_present && is_known {
            self.missed.entry(member).or_insert_with(|| now.saturating_add(SILENCE));
        }
    }

    /// Asks the members whose connections broke, and reports the silent ones.
    fn look_for_the_missed(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if self.missed.is_empty() {
            return;
        }
        let over = self.missed.iter().filter(|&(_, &at)| now >= at).map(|(&member, _)| member);
        let mut dead: Vec<_> = over.collect();
        dead.iter().for_each(|member| _ = self.missed.remove(member));
        dead.retain(|&member| self.participant.counts_as_member(member));
        if !dead.is_empty() {
            let _ = self.participant.report_dead(&mut self.desk, &dead, now, rng);
        }
        let nonce = self.draw_nonce(rng);
        let question = Hello::question(&self.settings, nonce);
        for &member in self.missed.keys() {
            let topic = self.topics.of(Recipient::Member(member));
            self.desk.request(topic, question.clone());
        }
    }

    /// Shows the operators' words to the group.
    fn pass_on(&mut self) {
        let topic = self.topics.of(Recipient::Group);
        for word in &self.settings.words {
            self.desk.request(topic.clone(), word.clone());
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
        let evictions = self.evictions.iter().filter(|&(&member, _)| self.is_evicted(member));
        let words = self.settings.words.iter().filter(is_in);
        let words = words.chain(evictions.map(|(_, word)| word)).take(WORDS);
        let words: Vec<_> = words.cloned().collect();
        let topic = self.topics.of(Recipient::Member(asker));
        words.into_iter().for_each(|word| self.desk.request(topic.clone(), word));
    }

    /// Learns from the operators' words, before the first message, whether this peer may rejoin.
    fn read_words(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        for word in &self.settings.words {
            let _ = self.participant.deliver(&mut self.desk, Channel::Open, word, now, rng);
        }
        if self.is_evicted(self.settings.me) {
            self.participant.expel(&mut self.desk);
        }
    }

    fn is_evicted(&self, member: MemberId) -> bool {
        self.participant.decisions().evicted.iter().any(|&(evicted, _)| evicted == member)
    }

    /// Makes new decisions of the group durable.
    fn keep_decisions(&mut self) -> Result<(), StoreError> {
        let Some(memory) = &mut self.memory else { return Ok(()) };
        let mut decisions = self.participant.decisions();
        let is_out = |member: &MemberId| {
            decisions.evicted.binary_search_by_key(member, |&(evicted, _)| evicted).is_ok()
        };
        // A word also comes before its member is out.
        let words = self.evictions.iter().filter(|(member, _)| is_out(member));
        decisions.words = words.map(|(_, word)| word.clone()).collect();
        if decisions != self.kept {
            memory.keep(&decisions)?;
            self.kept = decisions;
        }
        Ok(())
    }

    fn lose_patience(&mut self) {
        self.patience = self.patience.saturating_mul(2).min(LAST_PATIENCE);
    }

    /// Notes that other peers may have a later key. Only answers to later questions count.
    fn doubt(&mut self) {
        if !self.is_in_doubt {
            self.is_in_doubt = true;
            self.nonce = None;
        }
    }

    /// Notes changes of the event under way and of the key.
    fn watch(&mut self, key_before: Epoch, now: u64) {
        if self.participant.epoch() != key_before {
            if key_before == Epoch(0) {
                // Others' claims and messages of other foundings are of no use any more.
                self.early.clear();
                self.claims.clear();
                self.chooses_at = None;
                self.here.clear();
            }
            (self.is_behind, self.is_in_doubt) = (false, false);
            self.patience = FIRST_PATIENCE;
            if self.participant.has_early() {
                // A kept message has a still later epoch.
                self.doubt();
            }
        }
        let under_way = self.participant.under_way();
        if under_way != self.under_way {
            let is_given_up = self.under_way.is_some() && under_way.is_some();
            if is_given_up && now.saturating_add(INTERVAL) >= self.overdue_at {
                // Another member gave up the event shortly before we would have done so. Events
                // take longer here than we wait.
                self.lose_patience();
            }
            self.under_way = under_way;
            self.waits_since = now;
            self.online.clear();
            self.overdue_at = now.saturating_add(self.patience);
        }
        if self.is_busy() {
            self.due.get_or_insert_with(|| now.saturating_add(INTERVAL));
        }
    }

    /// Sends a hello that asks the other peers for theirs.
    fn ask_around(&mut self, rng: &mut ChaCha20Rng) {
        let nonce = self.draw_nonce(rng);
        // A hello is repeated, so it may expire.
        self.desk.request(self.topics.join(), Hello::question(&self.settings, nonce));
    }

    /// Returns the nonce of our questions.
    fn draw_nonce(&mut self, rng: &mut ChaCha20Rng) -> [u8; 16] {
        if self.nonce.is_none() {
            self.heard.clear();
        }
        *self.nonce.get_or_insert_with(|| draw(rng))
    }

    fn greeted(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        if let Some(Gone { member }) = decoded(bytes) {
            self.miss(MemberId(member), now);
            return;
        }
        if let Some(founding) = decoded::<Founding>(bytes) {
            self.take_founding(&founding, now, rng);
            return;
        }
        let Some(hello) = decoded::<Hello>(bytes) else {
            self.desk.counters.malformed += 1;
            return;
        };
        let member = MemberId(hello.member);
        let is_ours = hello.asker == Some(self.settings.me.0) && self.nonce == Some(*hello.nonce);
        // The broker also sends us our own hellos, and answers to earlier questions.
        if member == self.settings.me || (hello.asker.is_some() && !is_ours) {
            return;
        }
        if hello.asker.is_some() && self.is_evicted(member) {
            self.desk.counters.refused += 1;
            return;
        }
        let digest = Sha256::digest(bytes).into();
        if !self.is_repeated(member, &digest) {
            let before_founding = self.settings.before_founding();
            if !self.public(member).is_some_and(|public| hello.is_by(public, &before_founding)) {
                self.desk.counters.forged += 1;
                return;
            }
            if hello.asker.is_some() {
                self.heard.insert(member, digest);
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

    /// Takes an answer to our question.
    fn take_answer(&mut self, hello: &Hello, now: u64, rng: &mut ChaCha20Rng) {
        let (member, Standpoint { instance, pledge }) =
            (MemberId(hello.member), hello.standpoint());
        let (has_key, is_member) =
            (self.group_key().is_some(), self.participant.counts_as_member(member));
        // A peer that is no member can sign, and would keep the members asking to rejoin.
        if has_key && !is_member {
            self.desk.counters.refused += 1;
            return;
        }
        let is_elsewhere = instance.is_some() && instance != self.instance;
        if let Some(instance) = instance {
            let claim = Claim { instance, has_key: hello.epoch > 0 };
            self.claims.note(member, claim);
            if is_elsewhere && (claim.has_key || !has_key) {
                self.choose_soon(now.saturating_add(if claim.has_key { INTERVAL } else { SLOW }));
            }
        }
        if self.instance.is_some() && is_member && !is_elsewhere {
            self.online.insert(member);
            self.missed.remove(&member);
            if instance.is_some() {
                self.compare(hello.epoch, now, rng);
            }
        }
        match pledge.filter(|_| hello.epoch == 0) {
            Some(pledge) => {
                let evicted =
                    |founder: &MemberId| hello.evicted.iter().any(|&(id, _)| id == founder.0);
                let without = self.settings.founders.iter().copied().filter(evicted).collect();
                self.here.insert(member, Candidate { pledge, instance, without });
            }
            None => _ = self.here.remove(&member),
        }
        self.found(now, rng);
    }

    /// Chooses a founding at this time, ns, or earlier.
    fn choose_soon(&mut self, at: u64) {
        let at = self.chooses_at.map_or(at, |set| set.min(at));
        self.chooses_at = Some(at);
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// Tells another peer that this one is online, and the epoch of its key. Limits the answers to
    /// each question: a question that is repeated by somebody else takes no other one's answers.
    fn answer(&mut self, question: &Hello, digest: [u8; 32], now: u64, rng: &mut ChaCha20Rng) {
        let asked = self.questions.entry(MemberId(question.member)).or_default();
        let known = asked.iter_mut().find(|known| known.nonce == *question.nonce);
        let answered_from = now.saturating_add(INTERVAL / 2);
        match known {
            Some(known) if now < known.answered_from => return,
            Some(known) => known.answered_from = answered_from,
            None => {
                if asked.len() == QUESTIONS {
                    asked.pop_front();
                }
                asked.push_back(Question { nonce: *question.nonce, digest, answered_from });
                self.show_words(MemberId(question.member));
            }
        }
        // Without the announcement of an event, a member does not know that it holds the others up.
        let announced = self.participant.under_way().unwrap_or_default();
        let epoch = self.group_key().map_or(0, |(epoch, _)| epoch.max(announced).0);
        let topic = self.topics.of(Recipient::Member(MemberId(question.member)));
        let evicted = self.participant.decisions().evicted;
        let may_found = self.is_founder() && epoch == 0;
        let pledge = may_found.then(|| *self.pledge.get_or_insert_with(|| draw(rng)));
        let standpoint = Standpoint { instance: self.instance, pledge };
        self.desk.request(topic, question.answer(&self.settings, epoch, standpoint, &evicted));
    }

    /// Returns whether a peer has sent the same hello before, with a valid signature.
    fn is_repeated(&self, member: MemberId, digest: &[u8; 32]) -> bool {
        let asked = self.questions.get(&member);
        self.heard.get(&member) == Some(digest)
            || asked.is_some_and(|asked| asked.iter().any(|known| known.digest == *digest))
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
            self.desk.counters.overflowed += 1;
        }
    }

    /// Handles an answer: another peer knows of an event with this epoch.
    fn compare(&mut self, epoch: u64, now: u64, rng: &mut ChaCha20Rng) {
        let Some((own, _)) = self.group_key().filter(|_| epoch > 0) else { return };
        self.is_in_doubt = false;
        if own.0 < epoch && self.under_way.is_none() {
            self.fell_behind(now, rng);
        }
    }

    /// Returns the founders by ascending number. The group goes on without those that it evicted.
    fn founders(&self) -> Vec<MemberId> {
        let is_in = |&founder: &MemberId| !self.is_evicted(founder);
        let founders: BTreeSet<_> = self.settings.founders.iter().copied().filter(is_in).collect();
        founders.into_iter().collect()
    }

    /// Whether the group may be founded without a founder: it does not answer, and another one of
    /// these reports that it was evicted. Those that know it would not begin with it.
    fn may_be_left_out(&self, founder: MemberId, of: impl Fn(MemberId) -> bool) -> bool {
        let is_reported = self
            .here
            .iter()
            .any(|(&reporter, candidate)| of(reporter) && candidate.without.contains(&founder));
        is_reported && !self.here.contains_key(&founder)
    }

    /// Founds the group if this peer is the first founder, and all are online without a key. It does
    /// so again if one of them takes part in no founding, or in another one.
    fn found(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        let Settings { me, directory, .. } = &self.settings;
        if !self.is_founder() || self.group_key().is_some() || self.claims.has_key() {
            return;
        }
        let mut founders = self.founders();
        if self.founds_from.is_some_and(|from| now >= from.saturating_add(SILENCE)) {
            let all = founders.clone();
            founders.retain(|&one| !self.may_be_left_out(one, |other| all.contains(&other)));
        }
        let Some((first, others)) = founders.split_first().filter(|&(first, _)| first == me) else {
            return;
        };
        if others.is_empty() {
            return;
        }
        let Some(here) =
            others.iter().map(|other| self.here.get(other)).collect::<Option<Vec<_>>>()
        else {
            return;
        };
        // Another peer may still say that the group exists.
        let all_answered = directory.iter().all(|(id, _)| id == me || self.here.contains_key(id));
        let may_wait = self.instance.is_some() || !all_answered;
        if may_wait && self.founds_from.is_none_or(|from| now < from) {
            return;
        }
        let is_with_us = |other: &&Candidate| other.instance == self.instance;
        if self.participant.under_way().is_some() && here.iter().all(is_with_us) {
            return;
        }
        let pledged = others.iter().zip(&here).map(|(&other, candidate)| (other, candidate.pledge));
        let list: Vec<_> = [(*first, draw(rng))].into_iter().chain(pledged).collect();
        let founding = Founding::new(&self.settings, &list);
        self.desk.request(self.topics.join(), encoded(&founding));
        self.begin_with(&founding, now, rng);
    }

    /// Takes the first founder's word that all founders begin.
    fn take_founding(&mut self, founding: &Founding, now: u64, rng: &mut ChaCha20Rng) {
        let Some(leader) = founding.leader() else {
            self.desk.counters.malformed += 1;
            return;
        };
        if leader == self.settings.me {
            return;
        }
        let before_founding = self.settings.before_founding();
        if !self.public(leader).is_some_and(|public| founding.is_by(public, &before_founding)) {
            self.desk.counters.forged += 1;
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
        let is_new = self.pledge.is_some_and(|pledge| founding.has(self.settings.me, pledge));
        let are_founders = self.are_founders(founding);
        if !is_new || !are_founders || self.claims.has_key() {
            self.desk.counters.refused += 1;
            return;
        }
        self.begin_with(founding, now, rng);
    }

    /// Whether these are the founders, but for those that may be left out.
    fn are_founders(&self, founding: &Founding) -> bool {
        let founders = self.founders();
        let is_listed = |member| founding.members().any(|listed| listed == member);
        let are_distinct = founding.members().is_sorted_by(|one, other| one < other);
        are_distinct
            && founding.members().all(|member| founders.contains(&member))
            && founders
                .iter()
                .all(|&founder| is_listed(founder) || self.may_be_left_out(founder, is_listed))
    }

    fn begin_with(&mut self, founding: &Founding, now: u64, rng: &mut ChaCha20Rng) {
        self.pledge = None;
        self.enter(founding.instance(&self.settings.before_founding()), now);
        let founders = founding.members().map(|founder| founder.0).collect();
        let _ = self.begin(&Command::Create(founders), now, rng);
    }

    fn receive(&mut self, bytes: &[u8], now: u64, rng: &mut ChaCha20Rng) {
        if self.instance.is_none() {
            self.early.keep(bytes, &mut self.desk.counters);
            return;
        }
        let result = self.participant.deliver(&mut self.desk, Channel::Open, bytes, now, rng);
        if let Some(member) = event_order::evicts(bytes).filter(|_| result.is_ok())
            && self.evictions.len() < EVICTED
            && bytes.len() <= WORD
        {
            self.evictions.insert(member, bytes.to_vec());
        }
        if result == Err(Misbehaviour::Forged.into()) && self.group_key().is_none() {
            // It may be of a founding that this peer does not know yet.
            self.early.keep(bytes, &mut self.desk.counters);
        }
        if is_skipped(&result) {
            // A member says so. It may lie, or be evicted since.
            self.doubt();
            self.resolve_doubt(now, rng);
        }
    }

    /// Asks the others for their epoch, not too often.
    fn resolve_doubt(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if self.is_in_doubt && !self.lacks_key() && now >= self.doubts_from {
            self.doubts_from = now.saturating_add(FIRST_PATIENCE);
            self.claims.clear();
            self.ask_around(rng);
        }
    }

    /// Rejoins, because a member that this peer knows has the key of a later epoch. The waits become
    /// longer while members say so again and again.
    fn fell_behind(&mut self, now: u64, rng: &mut ChaCha20Rng) {
        if now < self.asks_from {
            // Ask the others again later.
            self.is_in_doubt = true;
        } else {
            self.is_behind = true;
            let is_quiet = now.saturating_sub(self.asks_from) >= LAST_PATIENCE;
            let wait = if is_quiet { INTERVAL } else { self.asks_wait.saturating_mul(2) };
            self.asks_wait = wait.min(LAST_PATIENCE);
            self.asks_from = now.saturating_add(self.asks_wait);
            self.get_back(now, rng);
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
                self.desk.counters.oversized += 1;
            }
            Input::Arrived { topic, payload } => match self.topics.place(topic) {
                Some(Place::Join) => self.greeted(payload, now, rng),
                // A party's message has more items than a hello.
                Some(Place::To(Recipient::Member(_))) if decoded::<Hello>(payload).is_some() => {
                    self.greeted(payload, now, rng);
                }
                Some(Place::Talk) => {
                    let heard = self.participant.hear(&mut self.desk, payload, now, rng);
                    if is_skipped(&heard) {
                        self.doubt();
                    }
                }
                Some(Place::To(_)) => self.receive(payload, now, rng),
                Some(Place::Epoch | Place::State | Place::Welcome(_)) | None => {
                    self.desk.counters.malformed += 1
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
        self.watch(key_before, now);
        self.keep_decisions()?;
        Ok(())
    }

    fn poll(&mut self) -> Result<Option<Output<MemberEvent>>, Fatal> {
        Ok(self.desk.outputs.pop_front())
    }

    fn deadline(&self) -> Option<u64> {
        self.due
    }
}

/// The party of a peer that has not begun, which remembers these decisions.
fn party(settings: &Settings, kept: &Decisions) -> Result<Box<Ordered>, Error> {
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

/// The longest operator's word to remember, in bytes.
const WORD: usize = 128;

/// The maximum number of questions of one peer to remember.
const QUESTIONS: usize = 64;

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
