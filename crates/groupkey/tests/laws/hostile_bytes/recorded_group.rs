//! A small group whose every party's inputs are recorded, without protection, so that any party can
//! be put back into any state and be offered messages that should never have come.
//!
//! A party's steps draw from a generator of their own each: what a party is given, and nothing else,
//! decides what it sends. If a refused message had changed anything, a later step would show it.
//! The fuzz target `message` stands on this file, too.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use groupkey::catalogue::{Class, Configuration, Law, Profile, Recovery, Scheme};
use groupkey::protection::{Guard, Protection};
use groupkey::{
    Channel, Command, Context, Epoch, Error, Event, GroupId, Key, MemberId, Operation, Outbox,
    Party, PartyId, Recipient, Setting, SubgroupId, SubsetId, Suite,
};
use groupkey_testkit::credentials::Credentials;
use minicbor::data::Int;
use minicbor::{Decoder, Encoder};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// What the parties of a group were given and what they made of it.
pub(crate) struct Transcript {
    configuration: Configuration,
    suite: Suite,
    parties: Vec<(PartyId, Vec<Step>)>,
    messages: Vec<Arc<[u8]>>,
}

/// A party on its way through a transcript.
pub(crate) struct Replay<'t> {
    transcript: &'t Transcript,
    id: PartyId,
    steps: &'t [Step],
    done: usize,
    party: Box<dyn Party>,
}

/// What to change in a genuine message before it is offered. `None` leaves as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forgery {
    /// The genuine message, by its number (modulo how many there are).
    pub(crate) message: usize,
    /// Whether it is addressed to whom it is offered.
    pub(crate) readdress: bool,
    pub(crate) epoch: Option<u64>,
    pub(crate) operation: Option<u8>,
    pub(crate) kind: Option<u8>,
    /// The sender, as parties are numbered on the wire.
    pub(crate) sender: Option<i64>,
    pub(crate) body: Body,
}

/// What to do with the body of a genuine message.
#[derive(Clone, Debug, Default)]
pub(crate) enum Body {
    /// Leave it as it is.
    #[default]
    Genuine,
    /// Put these bytes there.
    Bytes(Vec<u8>),
    Items(Vec<Item>),
    /// Change a byte, by its place (modulo the length).
    Changed(usize, u8),
}

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Array(u64),
    /// A byte string.
    Bytes(Vec<u8>),
    Number(u64),
}

impl Transcript {
    /// Records a short life of a group: creation with four members, a join, an eviction that another
    /// member sleeps through, its catching up, one more join, the eviction of the first member. A
    /// subgroup's controller sleeps through the last two, and catches up. Where a group can, it falls
    /// into two parts in the end, which come together again.
    pub(crate) fn record(scheme: &'static Scheme, profile: Profile, suite: Suite) -> Self {
        let mut configuration = scheme.configuration(profile);
        if scheme.class() == Class::Hybrid {
            configuration.set("subgroups", 2).expect("hybrid schemes have subgroups");
        }
        let mut stage = Stage {
            seats: BTreeMap::new(),
            apart: BTreeSet::new(),
            queue: VecDeque::new(),
            transcript: Self { configuration, suite, parties: Vec::new(), messages: Vec::new() },
        };
        stage.play();
        let Stage { seats, mut transcript, .. } = stage;
        transcript.parties = seats.into_iter().map(|(id, seat)| (id, seat.steps)).collect();
        transcript
    }

    /// A party before step `step`; both are taken modulo how many there are.
    pub(crate) fn replay(&self, party: usize, step: usize) -> Replay<'_> {
        let (id, steps) = &self.parties[party % self.parties.len()];
        let mut replay =
            Replay { transcript: self, id: *id, steps, done: 0, party: self.party(*id) };
        // One more place than there are steps: after the last.
        replay.restore(step % (steps.len() + 1));
        replay
    }

    pub(crate) fn messages(&self) -> usize {
        self.messages.len()
    }

    /// A genuine message, by its number (modulo how many there are).
    pub(crate) fn message(&self, number: usize) -> &[u8] {
        &self.messages[number % self.messages.len()]
    }

    fn party(&self, id: PartyId) -> Box<dyn Party> {
        self.configuration.party(id)
    }

    fn step(
        &self,
        party: &mut dyn Party,
        id: PartyId,
        number: u64,
        given: &RecordedInput,
    ) -> (Result<(), Error>, Outbox) {
        let setting = Setting::new(GroupId(7), self.suite);
        let mut rng = ChaCha20Rng::seed_from_u64(number);
        rng.set_stream(id.number() as u64);
        let mut outbox = Outbox::new();
        let mut probe = ();
        // Always the same: a transcript may be shared by threads, and credentials may not.
        let credentials = Credentials::new(Guard::None, 1);
        let peer_keys = credentials.peer_keys(id, self.suite);
        let none = Protection::None;
        let mut cx = Context::new(setting, id, none, &mut rng, 0, &mut outbox, &mut probe)
            .with_peer_keys(&peer_keys);
        let result = match given {
            RecordedInput::Batch(joining, leaving) => {
                cx.command(party, Command::Batch { joining, leaving })
            }
            RecordedInput::Merge(members, epoch) => {
                cx.command(party, Command::Merge { members, epoch: *epoch })
            }
            RecordedInput::Partition(members) => cx.command(party, Command::Partition(members)),
            RecordedInput::Grant(member, first, last) => {
                cx.command(party, Command::Grant { member: *member, first: *first, last: *last })
            }
            RecordedInput::Send => cx.command(party, Command::Send),
            RecordedInput::Rekey => cx.command(party, Command::Rekey),
            RecordedInput::Add(member) => cx.command(party, Command::Add(*member)),
            RecordedInput::Bytes(channel, bytes) => cx.deliver(party, *channel, bytes),
            RecordedInput::CatchUp => cx.command(party, Command::CatchUp),
            RecordedInput::Create(members) => cx.command(party, Command::Create(members)),
            RecordedInput::Enroll(members) => cx.command(party, Command::Enroll(members)),
            RecordedInput::Remove(member) => cx.command(party, Command::Remove(*member)),
        };
        (result, outbox)
    }
}

impl Replay<'_> {
    /// Offers bytes over either channel. A party may take them, for nothing protects them; then it
    /// is put back to where it was. If it refuses them, nothing that can be seen has changed.
    pub(crate) fn offer(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let confidential = self.offer_over(Channel::Confidential, bytes);
        self.offer_over(Channel::Open, bytes).or(confidential)
    }

    fn offer_over(&mut self, channel: Channel, bytes: &[u8]) -> Result<(), Error> {
        let before = observe(&*self.party);
        let given = RecordedInput::Bytes(channel, bytes.into());
        let (result, outbox) = self.transcript.step(&mut *self.party, self.id, u64::MAX, &given);
        match result {
            Ok(()) => self.restore(self.done),
            Err(_) => {
                assert!(
                    before == observe(&*self.party),
                    "{}: a refused message changed it",
                    self.id
                );
                assert!(outbox.is_empty(), "{}: a refused message was answered", self.id);
            }
        }
        result
    }

    /// Offers a genuine message in which the bytes from a place on were replaced by as many others.
    pub(crate) fn splice(&mut self, message: usize, at: usize, with: &[u8]) -> Result<(), Error> {
        let genuine = self.transcript.message(message);
        let at = at % (genuine.len() + 1);
        let end = (at + with.len()).min(genuine.len());
        self.offer(&[&genuine[..at], with, &genuine[end..]].concat())
    }

    /// Offers a genuine message without its last bytes.
    pub(crate) fn cut(&mut self, message: usize, length: usize) -> Result<(), Error> {
        let genuine = self.transcript.message(message);
        self.offer(&genuine[..length % genuine.len()])
    }

    /// Offers a genuine message with so many bytes behind it.
    pub(crate) fn extend(&mut self, message: usize, more: usize) -> Result<(), Error> {
        let genuine = self.transcript.message(message);
        self.offer(&[genuine, &vec![0; more]].concat())
    }

    pub(crate) fn forge(&mut self, forgery: &Forgery) -> Result<(), Error> {
        let genuine = self.transcript.message(forgery.message);
        self.offer(&forgery.make(genuine, self.id))
    }

    /// Goes on to the end; every step must do what it did without the messages offered.
    pub(crate) fn finish(&mut self) {
        while self.done < self.steps.len() {
            self.proceed();
        }
    }

    fn restore(&mut self, done: usize) {
        self.party = self.transcript.party(self.id);
        self.done = 0;
        while self.done < done {
            self.proceed();
        }
    }

    fn proceed(&mut self) {
        let Step { given, sent, key } = &self.steps[self.done];
        let number = self.done as u64;
        let (result, outbox) = self.transcript.step(&mut *self.party, self.id, number, given);
        assert_eq!(result, Ok(()), "{}: genuine step {number}", self.id);
        let again = outbox.messages().map(|message| message.bytes);
        assert!(again.eq(sent.iter().map(|bytes| &**bytes)), "{}: step {number} differs", self.id);
        assert!(*key == observe(&*self.party).0, "{}: the key of step {number} differs", self.id);
        self.done += 1;
    }
}

impl Forgery {
    fn make(&self, genuine: &[u8], offered_to: PartyId) -> Vec<u8> {
        let mut decoder = Decoder::new(genuine);
        let items = decoder.array().expect("a header is an array");
        let mut numbers = [Int::from(0u8); 6];
        numbers.iter_mut().for_each(|number| *number = decoder.int().expect("a number"));
        let to = decoder.position();
        decoder.skip().expect("a recipient");
        let to = &genuine[to..decoder.position()];
        let mut nonce = [0; 8].as_slice();
        if items == Some(8) {
            nonce = decoder.bytes().expect("a nonce");
        }
        let body = &genuine[decoder.position()..];
        let changes = [
            self.epoch.map(Int::from),
            self.operation.map(Int::from),
            self.kind.map(Int::from),
            self.sender.map(Int::from),
        ];
        for (number, change) in numbers[2..].iter_mut().zip(changes) {
            *number = change.unwrap_or(*number);
        }
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes);
        // Who catches up has a nonce in the header, and nobody else.
        let catches_up = numbers[3] == Int::from(Operation::CatchUp as u8);
        let _ = encoder.array(if catches_up { 8 } else { 7 });
        numbers.iter().for_each(|&number| drop(encoder.int(number)));
        if self.readdress {
            let _ = encoder.i64(offered_to.number());
        } else {
            bytes.extend_from_slice(to);
        }
        if catches_up {
            let _ = Encoder::new(&mut bytes).bytes(nonce);
        }
        self.body.write(body, &mut bytes);
        bytes
    }
}

impl Body {
    fn write(&self, genuine: &[u8], out: &mut Vec<u8>) {
        match self {
            Self::Bytes(bytes) => out.extend_from_slice(bytes),
            Self::Changed(place, change) => {
                let start = out.len();
                out.extend_from_slice(genuine);
                if !genuine.is_empty() {
                    out[start + place % genuine.len()] ^= change;
                }
            }
            Self::Genuine => out.extend_from_slice(genuine),
            Self::Items(items) => {
                let mut encoder = Encoder::new(out);
                for item in items {
                    let _ = match item {
                        Item::Array(length) => encoder.array(*length),
                        Item::Bytes(bytes) => encoder.bytes(bytes),
                        Item::Number(number) => encoder.u64(*number),
                    };
                }
            }
        }
    }
}

struct Step {
    given: RecordedInput,
    sent: Vec<Arc<[u8]>>,
    key: Option<(Epoch, Key)>,
}

enum RecordedInput {
    Add(MemberId),
    Batch(Vec<MemberId>, Vec<MemberId>),
    Bytes(Channel, Arc<[u8]>),
    CatchUp,
    Create(Vec<MemberId>),
    Enroll(Vec<MemberId>),
    Grant(MemberId, Epoch, Epoch),
    Merge(Vec<MemberId>, Epoch),
    Partition(Vec<MemberId>),
    Rekey,
    Remove(MemberId),
    Send,
}

struct Stage {
    seats: BTreeMap<PartyId, Seat>,
    /// Who is out of the others' reach.
    apart: BTreeSet<PartyId>,
    queue: VecDeque<(PartyId, Channel, Arc<[u8]>)>,
    transcript: Transcript,
}

struct Seat {
    party: Box<dyn Party>,
    present: bool,
    subsets: BTreeSet<SubsetId>,
    steps: Vec<Step>,
}

impl Stage {
    fn play(&mut self) {
        if self.has_controller() {
            self.sit(PartyId::Controller);
        }
        for (subgroup, _) in self.transcript.configuration.subgroup_controllers() {
            self.sit(subgroup.into());
        }
        let members: Vec<_> = (0..4).map(MemberId).collect();
        self.enroll(&members);
        self.command(|| RecordedInput::Create(members.clone()));
        let sleeper = PartyId::Member(MemberId(1));
        let sleeps = self.transcript.configuration.scheme().recovery != Recovery::Rejoin;
        if self.can(Operation::Add) {
            self.add(MemberId(4));
            self.seat(sleeper).present = !sleeps;
            // Of the sleeper's own subgroup, where there are two.
            self.remove(MemberId(3));
        }
        let law = self.transcript.configuration.scheme().law;
        if law == Law::PlannedPeriods {
            self.enroll(&[MemberId(20)]);
            self.command(|| RecordedInput::Grant(MemberId(20), Epoch(2), Epoch(4)));
        }
        if self.can(Operation::Rekey) {
            self.seat(sleeper).present = !sleeps;
            self.command(|| RecordedInput::Rekey);
        }
        if sleeps {
            self.seat(sleeper).present = true;
            self.step(sleeper, RecordedInput::CatchUp);
            self.settle();
        }
        let away = PartyId::SubgroupController(SubgroupId(1));
        let has_subgroups = self.seats.contains_key(&away);
        if has_subgroups {
            self.seat(away).present = false;
        }
        if self.can(Operation::Add) {
            self.add(MemberId(9));
            self.remove(MemberId(0));
        } else if has_subgroups {
            self.command(|| RecordedInput::Rekey);
        }
        if has_subgroups {
            self.seat(away).present = true;
            self.step(away, RecordedInput::CatchUp);
            self.settle();
        }
        if self.can(Operation::Batch) {
            self.batch(&[MemberId(10), MemberId(11)], MemberId(2));
        }
        if self.can(Operation::Partition) {
            self.add(MemberId(12));
            self.part_and_merge();
        }
        if self.can(Operation::Send) {
            self.step(sleeper, RecordedInput::Send);
            self.settle();
        }
        let members = self.seats.iter().filter(|(id, _)| matches!(id, PartyId::Member(_)));
        let mut keys: Vec<_> = members.map(|(_, seat)| seat).filter(|seat| seat.present).collect();
        keys.dedup_by_key(|seat| match law {
            Law::OneKey | Law::PlannedPeriods => observe(&*seat.party).0,
            Law::OneMessage => {
                let last = seat.party.messages().last_key();
                last.map(|message| (Epoch(0), message.key.clone()))
            }
        });
        assert_eq!(keys.len(), 1, "the recorded group agrees");
    }

    fn add(&mut self, member: MemberId) {
        self.enroll(&[member]);
        self.command(|| RecordedInput::Add(member));
    }

    fn remove(&mut self, member: MemberId) {
        self.seat(member.into()).present = false;
        self.command(|| RecordedInput::Remove(member));
    }

    fn batch(&mut self, joining: &[MemberId], leaver: MemberId) {
        self.enroll(joining);
        self.seat(leaver.into()).present = false;
        self.command(|| RecordedInput::Batch(joining.to_vec(), vec![leaver]));
    }

    /// The group falls into two parts, each goes on by itself, and they come together again.
    fn part_and_merge(&mut self) {
        let (one, other): (Vec<_>, Vec<_>) = self.present().partition(|member| member.0 % 4 == 0);
        assert!(one.len() >= 2 && other.len() >= 2, "both parts can go on");
        self.apart = other.iter().map(|&member| member.into()).collect();
        self.tell(&one, || RecordedInput::Partition(other.clone()));
        self.tell(&other, || RecordedInput::Partition(one.clone()));
        self.settle();
        self.apart.clear();
        let keys = self.seats.values().filter_map(|seat| seat.party.group_key());
        let epoch = keys.map(|(epoch, _)| epoch).max().expect("the parts have keys").next();
        self.tell(&one, || RecordedInput::Merge(other.clone(), epoch));
        self.tell(&other, || RecordedInput::Merge(one.clone(), epoch));
        self.settle();
    }

    fn tell(&mut self, members: &[MemberId], command: impl Fn() -> RecordedInput) {
        members.iter().for_each(|&member| self.step(member.into(), command()));
    }

    fn present(&self) -> impl Iterator<Item = MemberId> {
        self.seats.iter().filter(|(_, seat)| seat.present).filter_map(|(&id, _)| match id {
            PartyId::Member(member) => Some(member),
            _ => None,
        })
    }

    fn can(&self, operation: Operation) -> bool {
        self.transcript.configuration.scheme().operations.contains(&operation)
    }

    fn enroll(&mut self, members: &[MemberId]) {
        members.iter().for_each(|&member| self.sit(member.into()));
        if self.has_controller() {
            self.step(PartyId::Controller, RecordedInput::Enroll(members.to_vec()));
            self.settle();
        }
    }

    fn sit(&mut self, id: PartyId) {
        let party = self.transcript.party(id);
        let seat = Seat { party, present: true, subsets: BTreeSet::new(), steps: Vec::new() };
        self.seats.insert(id, seat);
    }

    /// Gives a command to the controller, or where there is none to everybody who is present, as
    /// also a new period of a hybrid scheme.
    fn command(&mut self, command: impl Fn() -> RecordedInput) {
        let class = self.transcript.configuration.scheme().class();
        let actors: Vec<_> = match (class, command()) {
            (Class::Distributed, _) | (Class::Hybrid, RecordedInput::Rekey) => {
                self.seats.iter().filter(|(_, seat)| seat.present).map(|(&id, _)| id).collect()
            }
            (Class::Centralized | Class::Hybrid, _) => vec![PartyId::Controller],
        };
        actors.into_iter().for_each(|id| self.step(id, command()));
        self.settle();
    }

    fn settle(&mut self) {
        while let Some((to, channel, bytes)) = self.queue.pop_front() {
            self.step(to, RecordedInput::Bytes(channel, bytes));
        }
    }

    fn step(&mut self, id: PartyId, given: RecordedInput) {
        let seat = self.seats.get_mut(&id).expect("the party is on stage");
        let number = seat.steps.len() as u64;
        let (result, outbox) = self.transcript.step(&mut *seat.party, id, number, &given);
        result.expect("genuine steps succeed");
        for event in outbox.events() {
            if let Event::Subscribed(subset) = *event {
                seat.subsets.insert(subset);
            }
        }
        let sent: Vec<Arc<[u8]>> = outbox.messages().map(|message| message.bytes.into()).collect();
        seat.steps.push(Step { given, sent: sent.clone(), key: observe(&*seat.party).0 });
        for (bytes, message) in sent.into_iter().zip(outbox.messages()) {
            for (&to, seat) in &self.seats {
                let in_reach = self.apart.contains(&to) == self.apart.contains(&id);
                if to != id && seat.present && in_reach && seat.receives(to, message.to) {
                    self.queue.push_back((to, message.channel, Arc::clone(&bytes)));
                }
            }
            self.transcript.messages.push(bytes);
        }
    }

    fn has_controller(&self) -> bool {
        self.transcript.configuration.scheme().has_controller()
    }

    fn seat(&mut self, id: PartyId) -> &mut Seat {
        self.seats.get_mut(&id).expect("the party is on stage")
    }
}

impl Seat {
    fn receives(&self, id: PartyId, to: Recipient) -> bool {
        to.includes(id, |subset| self.subsets.contains(&subset))
    }
}

/// All of a party's state that its interface shows.
fn observe(party: &dyn Party) -> (Option<(Epoch, Key)>, groupkey::Footprint) {
    (party.group_key().map(|(epoch, key)| (epoch, key.clone())), party.footprint())
}
