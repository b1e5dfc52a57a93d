//! A topic with one order and members who hear it late, each at its own pace, beside letters from one
//! to another that may overtake it. Members can die at any point, and others are told so whenever.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use groupkey::author::EventOrder;
use groupkey::catalogue::{Profile, Scheme};
use groupkey::error::{Error, Misbehaviour};
use groupkey::event_order::Rules;
use groupkey::protection::{Guard, Protection};
use groupkey::{
    Channel, Command, Context, Epoch, Event, GroupId, Key, MemberId, Ordered, Outbox, Party,
    PartyId, Recipient, Setting, Suite,
};
use groupkey_testkit::credentials::Credentials;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A group, its broker, and chance.
pub(crate) struct Stage {
    scheme: &'static Scheme,
    profile: Profile,
    rules: Rules,
    chance: ChaCha20Rng,
    /// Whether requests reach each member on a way of its own.
    scattered: bool,
    seats: BTreeMap<u32, Seat>,
    topic: Vec<Vec<u8>>,
    /// What somebody outside said to the group, which may be refused.
    outside: BTreeSet<Vec<u8>>,
    /// What one member hears in place of a message to the group, by its place.
    lies: BTreeMap<(u32, usize), Vec<u8>>,
    letters: BTreeMap<(u32, u32), VecDeque<Vec<u8>>>,
    /// All letters so far, by their receivers.
    sent: BTreeMap<u32, Vec<Vec<u8>>>,
    scattered_requests: Vec<(u32, Vec<u8>)>,
    /// Who has yet to be told that somebody is dead.
    reports: Vec<(u32, u32)>,
    doom: Option<Doom>,
    deliveries: BTreeMap<u32, usize>,
    keys: Vec<Key>,
}

/// A member's death at one of its deliveries, when only some of what it sends gets out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doom {
    pub(crate) victim: u32,
    pub(crate) delivery: usize,
    pub(crate) gets_out: usize,
}

struct Seat {
    party: Ordered,
    rng: ChaCha20Rng,
    heard: usize,
    alive: bool,
    wish: MemberCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberCommand {
    In,
    Out,
}

/// Deliveries before a group counts as not settling.
const LIMIT: usize = 20_000;

impl Stage {
    pub(crate) fn new(scheme: &'static Scheme, seed: u64) -> Self {
        Self {
            scheme,
            profile: Profile::Sound,
            rules: Rules::default(),
            chance: ChaCha20Rng::seed_from_u64(seed),
            scattered: false,
            seats: BTreeMap::new(),
            topic: Vec::new(),
            outside: BTreeSet::new(),
            lies: BTreeMap::new(),
            letters: BTreeMap::new(),
            sent: BTreeMap::new(),
            scattered_requests: Vec::new(),
            reports: Vec::new(),
            doom: None,
            deliveries: BTreeMap::new(),
            keys: Vec::new(),
        }
    }

    /// With requests that reach members in different orders.
    pub(crate) fn scattered(self) -> Self {
        Self { scattered: true, ..self }
    }

    /// With the scheme as published, in which members do not confirm what they heard.
    pub(crate) fn published(self) -> Self {
        Self { profile: Profile::Published, ..self }
    }

    pub(crate) fn ruled(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    pub(crate) fn with(mut self, members: &[u32]) -> Self {
        self.create(members);
        self.settle();
        self
    }

    pub(crate) fn create(&mut self, members: &[u32]) {
        members.iter().for_each(|&member| self.sit(member));
        let ids: Vec<_> = members.iter().copied().map(MemberId).collect();
        for &member in members {
            self.command(member, Command::Create(&ids));
        }
    }

    pub(crate) fn join(&mut self, member: u32) {
        if !self.seats.get(&member).is_some_and(|seat| seat.alive) {
            self.sit(member);
        }
        self.seat(member).wish = MemberCommand::In;
        self.ask_again(member);
    }

    pub(crate) fn leave(&mut self, member: u32) {
        self.seat(member).wish = MemberCommand::Out;
        self.ask_again(member);
    }

    pub(crate) fn evict(&mut self, by: u32, member: u32) {
        self.seat(member).wish = MemberCommand::Out;
        self.command(by, Command::Remove(MemberId(member)));
    }

    /// As a clock, to everybody.
    pub(crate) fn refresh(&mut self) {
        for member in self.alive() {
            self.command(member, Command::Rekey);
        }
    }

    pub(crate) fn catch_up(&mut self, member: u32) {
        self.command(member, Command::CatchUp);
    }

    /// The member's device forgets everything.
    pub(crate) fn restart(&mut self, member: u32) {
        self.sit(member);
        self.ask_again(member);
    }

    pub(crate) fn die(&mut self, victim: u32) {
        self.seat(victim).alive = false;
        self.report(victim);
    }

    /// The victim was well; it only missed all that was sent meanwhile.
    pub(crate) fn wake(&mut self, victim: u32) {
        let heard = self.topic.len();
        let seat = self.seat(victim);
        (seat.alive, seat.heard) = (true, heard);
    }

    /// Tells everybody, sooner or later, that somebody is dead, true or not.
    pub(crate) fn report(&mut self, victim: u32) {
        let others = self.alive().into_iter().filter(|&member| member != victim);
        self.reports.extend(others.map(|member| (member, victim)));
    }

    pub(crate) fn doom(&mut self, doom: Doom) {
        self.deliveries.clear();
        self.doom = Some(doom);
    }

    /// Whether the doomed one has met its doom.
    pub(crate) fn is_dead(&self, member: u32) -> bool {
        !self.seats[&member].alive
    }

    /// Delivers one message or report, if one is under way.
    pub(crate) fn advance(&mut self) -> bool {
        let topic = self.seats.iter().filter(|(_, seat)| seat.alive);
        let topic = topic.filter(|(_, seat)| seat.heard < self.topic.len());
        let topic: Vec<_> = topic.map(|(&member, _)| member).collect();
        let letters = self.letters.iter().filter(|(_, letters)| !letters.is_empty());
        let letters: Vec<_> = letters.map(|(&way, _)| way).collect();
        let (reports, requests) = (self.reports.len(), self.scattered_requests.len());
        let possible = topic.len() + letters.len() + reports + requests;
        if possible == 0 {
            return false;
        }
        let mut choice = (self.chance.next_u64() % possible as u64) as usize;
        if choice < topic.len() {
            let member = topic[choice];
            let seat = self.seat(member);
            seat.heard += 1;
            let heard = seat.heard;
            let lie = self.lies.get(&(member, heard - 1));
            let bytes = lie.unwrap_or(&self.topic[heard - 1]).clone();
            self.deliver(member, &bytes);
            return true;
        }
        choice -= topic.len();
        if choice < letters.len() {
            let way = letters[choice];
            if let Some(bytes) = self.letters.get_mut(&way).and_then(VecDeque::pop_front) {
                self.deliver(way.1, &bytes);
            }
            return true;
        }
        choice -= letters.len();
        if choice < requests {
            let (member, bytes) = self.scattered_requests.swap_remove(choice);
            self.deliver(member, &bytes);
            return true;
        }
        let (member, dead) = self.reports.swap_remove(choice - requests);
        if self.seats[&member].alive {
            self.command(member, Command::Partition(&[MemberId(dead)]));
        }
        true
    }

    /// Delivers until all is quiet; those whose wish was not granted repeat it.
    pub(crate) fn settle(&mut self) {
        let mut quiet = 0;
        for _ in 0..LIMIT {
            if self.advance() {
                continue;
            }
            let unserved = self.unserved();
            let unburied = self.unburied();
            let stuck = self.stuck();
            if unserved.is_empty() && unburied.is_empty() && stuck.is_empty() {
                return;
            }
            if unserved.is_empty() && unburied.is_empty() {
                assert!(self.scattered, "{}: {stuck:?} wait: {:?}", self.scheme.id, self.seats());
                stuck.into_iter().for_each(|member| self.catch_up(member));
            }
            unburied.into_iter().for_each(|member| self.report(member));
            quiet += 1;
            assert!(
                quiet < 10,
                "{}: {unserved:?} wait for ever: {:?}",
                self.scheme.id,
                self.seats()
            );
            unserved.into_iter().for_each(|member| self.ask_again(member));
        }
        panic!("{}: the group does not settle: {:?}", self.scheme.id, self.seats());
    }

    /// All who want to be in agree on members, epoch and a key that is new; nobody else has it.
    pub(crate) fn check(&mut self) {
        let inside: BTreeSet<_> = self
            .alive()
            .into_iter()
            .filter(|id| self.seats[id].wish == MemberCommand::In)
            .collect();
        let mut agreed: Option<(Vec<MemberId>, Epoch, Key)> = None;
        for &member in &inside {
            let party = &self.seats[&member].party;
            assert!(party.is_settled(), "{}: {:?}", self.scheme.id, self.seats());
            let (epoch, key) = party.group_key().unwrap();
            let own = (party.members().collect::<Vec<_>>(), epoch, key.clone());
            let agreed = agreed.get_or_insert_with(|| own.clone());
            assert_eq!(*agreed, own, "{}: {member}", self.scheme.id);
        }
        let (members, _, key) = agreed.expect("somebody is there");
        assert_eq!(members.iter().map(|member| member.0).collect::<BTreeSet<_>>(), inside);
        assert!(!self.keys.contains(&key), "{}: the key was used before", self.scheme.id);
        for (id, seat) in self.seats.iter().filter(|(id, _)| !inside.contains(id)) {
            let known = seat.party.group_key().is_some_and(|(_, own)| *own == key);
            assert!(!known, "{}: {id} has the key", self.scheme.id);
        }
        self.keys.push(key);
    }

    pub(crate) fn party(&self, member: u32) -> &Ordered {
        &self.seats[&member].party
    }

    /// What was sent to the group, in its order.
    pub(crate) fn topic(&self) -> &[Vec<u8>] {
        &self.topic
    }

    pub(crate) fn letters(&self, member: u32) -> &[Vec<u8>] {
        self.sent.get(&member).map_or(&[], Vec::as_slice)
    }

    /// Somebody who recorded a message sends it to the group once more.
    pub(crate) fn replay(&mut self, bytes: &[u8]) {
        self.topic.push(bytes.to_vec());
    }

    /// Somebody outside says something to the group.
    pub(crate) fn speak(&mut self, bytes: Vec<u8>) {
        self.outside.insert(bytes.clone());
        self.topic.push(bytes);
    }

    /// The member's wish changes by others' decision.
    pub(crate) fn wants_out(&mut self, member: u32) {
        self.seat(member).wish = MemberCommand::Out;
    }

    /// Has a member hear something else in place of the last message to the group.
    pub(crate) fn lie(&mut self, member: u32, bytes: Vec<u8>) {
        self.lies.insert((member, self.topic.len() - 1), bytes);
    }

    /// The last message of a kind about the order.
    pub(crate) fn last(&self, kind: u8) -> Vec<u8> {
        let is_it = |message: &&Vec<u8>| message[4] == ORDER && message[5] == kind;
        self.topic.iter().rev().find(is_it).expect("there was one").clone()
    }

    /// Gives a member bytes from nowhere; what it sends in return is dropped.
    pub(crate) fn inject(&mut self, member: u32, bytes: &[u8]) -> Result<(), Error> {
        self.step(member, |cx, party| cx.deliver(party, Channel::Open, bytes)).map(drop)
    }

    pub(crate) fn command_to(&mut self, member: u32, command: Command<'_>) -> Result<(), Error> {
        let outbox = self.step(member, |cx, party| cx.command(party, command))?;
        self.post(member, &outbox, usize::MAX);
        Ok(())
    }

    fn alive(&self) -> Vec<u32> {
        self.seats.iter().filter(|(_, seat)| seat.alive).map(|(&id, _)| id).collect()
    }

    fn unserved(&self) -> Vec<u32> {
        let unserved = self.seats.iter().filter(|(_, seat)| {
            let inside = seat.party.members().next().is_some();
            seat.alive && inside != (seat.wish == MemberCommand::In)
        });
        unserved.map(|(&id, _)| id).collect()
    }

    /// The dead whom somebody still has in its roster.
    fn unburied(&self) -> Vec<u32> {
        let alive = self.alive();
        let mourned = |&member: &u32| {
            let among = |id: &u32| self.seats[id].party.members().any(|other| other.0 == member);
            !alive.contains(&member) && alive.iter().any(among)
        };
        self.seats.keys().copied().filter(mourned).collect()
    }

    /// Who waits for an event that does not become complete.
    fn stuck(&self) -> Vec<u32> {
        let waiting = |id: &u32| {
            let party = &self.seats[id].party;
            party.members().next().is_some() && !party.is_settled()
        };
        self.alive().into_iter().filter(waiting).collect()
    }

    fn ask_again(&mut self, member: u32) {
        let inside = self.seats[&member].party.members().next().is_some();
        match self.seats[&member].wish {
            MemberCommand::In if !inside => self.command(member, Command::Add(MemberId(member))),
            MemberCommand::Out if inside => self.command(member, Command::Remove(MemberId(member))),
            _ => {}
        }
    }

    fn sit(&mut self, member: u32) {
        let configuration = self.scheme.configuration(self.profile);
        let party = Ordered::new(configuration, MemberId(member)).unwrap().with_rules(self.rules);
        self.seat_party(member, party);
    }

    /// Gives a member a party that is in no group.
    pub(crate) fn seat_party(&mut self, member: u32, party: Ordered) {
        let mut rng = ChaCha20Rng::seed_from_u64(self.chance.next_u64());
        rng.set_stream(u64::from(member));
        let heard = self.topic.len();
        let seat = Seat { party, rng, heard, alive: true, wish: MemberCommand::In };
        self.seats.insert(member, seat);
    }

    fn command(&mut self, member: u32, command: Command<'_>) {
        match self.command_to(member, command) {
            Ok(()) => {}
            Err(error) => panic!("{}: {member} refuses {command:?}: {error}", self.scheme.id),
        }
    }

    fn deliver(&mut self, member: u32, bytes: &[u8]) {
        if !self.seats[&member].alive {
            return;
        }
        let delivery = self.deliveries.entry(member).or_default();
        *delivery += 1;
        let delivery = *delivery;
        let last = self.doom.filter(|doom| (doom.victim, doom.delivery) == (member, delivery));
        match self.step(member, |cx, party| cx.deliver(party, Channel::Open, bytes)) {
            Ok(outbox) => self.post(member, &outbox, last.map_or(usize::MAX, |d| d.gets_out)),
            // Somebody was faster, or it is about members that are inside.
            Err(Error::Misbehaved(Misbehaviour::StaleEpoch { .. })) => {}
            Err(_) if self.seats[&member].party.members().next().is_none() => {}
            Err(_) if self.outside.contains(bytes) => {}
            // Without one order for requests a joining member can have followed the wrong
            // announcement.
            Err(_) if self.scattered && !self.seats[&member].party.is_settled() => {}
            Err(error) => {
                let seats = self.seats();
                panic!("{}: {member} refuses {bytes:?}: {error}: {seats:?}", self.scheme.id)
            }
        }
        if last.is_some() {
            self.die(member);
        }
    }

    fn step(
        &mut self,
        member: u32,
        act: impl FnOnce(&mut Context<'_>, &mut Ordered) -> Result<(), Error>,
    ) -> Result<Outbox, Error> {
        let setting = Setting::new(GroupId(3), Suite::Standard);
        let mut outbox = Outbox::new();
        let seat = self.seats.get_mut(&member).expect("the member is on the stage");
        let me = PartyId::Member(MemberId(member));
        let (rng, mut probe) = (&mut seat.rng, ());
        let credentials = Credentials::new(Guard::None, 1);
        let peer_keys = credentials.peer_keys(me, setting.suite);
        let mut cx = Context::new(setting, me, Protection::None, rng, 0, &mut outbox, &mut probe)
            .with_peer_keys(&peer_keys);
        let was_member = seat.party.members().next().is_some();
        let result = act(&mut cx, &mut seat.party);
        assert!(result.is_ok() || outbox.is_empty());
        let is_member = seat.party.members().next().is_some();
        let removed = outbox.events().contains(&Event::Removed);
        assert_eq!(removed, was_member && !is_member, "{}: {member}", self.scheme.id);
        let waits = is_member && !seat.party.is_settled();
        assert_eq!(seat.party.under_way().is_some(), waits, "{}: {member}", self.scheme.id);
        result.map(|()| outbox)
    }

    fn post(&mut self, from: u32, outbox: &Outbox, gets_out: usize) {
        for message in outbox.messages().take(gets_out) {
            let bytes = message.bytes.to_vec();
            match message.to {
                Recipient::Group if self.scattered && is_request(&bytes) => {
                    let everybody = self.seats.keys().copied();
                    self.scattered_requests.extend(everybody.map(|to| (to, bytes.clone())));
                }
                Recipient::Group => self.topic.push(bytes),
                Recipient::Member(to) => {
                    self.sent.entry(to.0).or_default().push(bytes.clone());
                    self.letters.entry((from, to.0)).or_default().push_back(bytes);
                }
                other => panic!("{other:?} is nobody in a distributed scheme"),
            }
        }
    }

    fn seat(&mut self, member: u32) -> &mut Seat {
        self.seats.get_mut(&member).expect("the member is on the stage")
    }

    fn seats(&self) -> Vec<(u32, bool, MemberCommand, &Ordered)> {
        let seats = self.seats.iter();
        seats.map(|(&id, seat)| (id, seat.alive, seat.wish, &seat.party)).collect()
    }
}

/// Headers of small numbers: an array of seven, one byte each; the fourth is the operation.
fn is_request(bytes: &[u8]) -> bool {
    bytes[4] == ORDER && bytes[5] < ANNOUNCE
}

pub(crate) const ORDER: u8 = 11;
pub(crate) const JOIN: u8 = 0;
pub(crate) const LEAVE: u8 = 1;
pub(crate) const EVICT: u8 = 2;
pub(crate) const ANNOUNCE: u8 = 3;
pub(crate) const HERE: u8 = 4;
pub(crate) const TICKET: u8 = 5;
