//! Messages changed in one thing are refused, and whoever came, went or will come has no key of a
//! time when it was not there, alone or with another, whatever it heard.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::climb::{group_key, secret_above};
use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::{Command, Party};
use crate::protection::Protection;
use crate::schemes::catalogue::scheme;
use crate::schemes::distributed::gdh::Roster;
use crate::wire::{Header, Writer, parse_header};

const IDS: [(&str, Shape); 2] = [("tgdh", Shape::Balanced), ("str", Shape::Skinny)];
const STRANGER: MemberId = MemberId(77);

/// Members who hand messages to each other unprotected, one at a time.
struct Table {
    id: &'static str,
    shape: Shape,
    profile: Profile,
    seats: Vec<(MemberId, Box<dyn Party>, ChaCha20Rng)>,
    under_way: VecDeque<Vec<u8>>,
    wire: Vec<Vec<u8>>,
    /// Members, key and last tree of every epoch so far.
    epochs: Vec<(Vec<MemberId>, Key, Vec<u8>)>,
}

/// What a tree's body consists of.
#[derive(Clone)]
struct Parts {
    roster: Vec<MemberId>,
    form: Option<Vec<u8>>,
    packed: Vec<u8>,
    confirmation: Vec<u8>,
}

impl Table {
    fn new((id, shape): (&'static str, Shape), profile: Profile) -> Self {
        let (seats, under_way) = (Vec::new(), VecDeque::new());
        Self { id, shape, profile, seats, under_way, wire: Vec::new(), epochs: Vec::new() }
    }

    fn create(&mut self, ids: &[u32], inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        let members: Vec<_> = ids.iter().copied().map(MemberId).collect();
        members.iter().for_each(|&member| self.sit(member));
        self.event(Command::Create(&members), inspect);
    }

    fn add(&mut self, id: u32, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.sit(MemberId(id));
        self.event(Command::Add(MemberId(id)), inspect);
    }

    fn remove(&mut self, id: u32, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.seats.retain(|(member, ..)| *member != MemberId(id));
        self.event(Command::Remove(MemberId(id)), inspect);
    }

    fn sit(&mut self, id: MemberId) {
        let party = scheme(self.id).unwrap().configuration(self.profile).member(id);
        self.seats.push((id, party, rng_of(id)));
    }

    fn event(&mut self, command: Command<'_>, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        for seat in 0..self.seats.len() {
            self.step(seat, Ok(command)).unwrap();
        }
        self.settle(inspect);
        let keys: Vec<_> = self.seats.iter().map(|(_, party, _)| party.group_key()).collect();
        let (_, key) = keys[0].expect("there is a key");
        assert!(keys.iter().all(|key| *key == keys[0]), "{}: no agreement", self.id);
        let members = self.seats.iter().map(|(member, ..)| *member).collect();
        let tree = self.wire.iter().rfind(|bytes| header(bytes).kind == TREE);
        let tree = tree.expect("there was a tree").clone();
        self.epochs.push((members, key.clone(), tree));
    }

    fn settle(&mut self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        while let Some(bytes) = self.under_way.pop_front() {
            let header = header(&bytes);
            for seat in 0..self.seats.len() {
                let id = self.seats[seat].0;
                let receives = header.to == Recipient::Member(id) || header.to == Recipient::Group;
                if receives && header.sender != PartyId::Member(id) {
                    inspect(self, seat, &bytes);
                    self.step(seat, Err(&bytes)).unwrap();
                }
            }
        }
    }

    fn step(&mut self, seat: usize, given: Result<Command<'_>, &[u8]>) -> Result<(), Error> {
        let (id, party, rng) = &mut self.seats[seat];
        let mut outbox = Outbox::new();
        with_context(PartyId::Member(*id), rng, &mut outbox, |cx| match given {
            Ok(command) => cx.command(&mut **party, command),
            Err(bytes) => cx.deliver(&mut **party, Channel::Open, bytes),
        })?;
        for message in outbox.messages() {
            self.wire.push(message.bytes.to_vec());
            self.under_way.push_back(message.bytes.to_vec());
        }
        Ok(())
    }

    /// Offers a message that must be refused, and looks whether that left any trace.
    #[track_caller]
    fn refuse(&mut self, seat: usize, bytes: &[u8], rules: &[Misbehaviour], what: &str) {
        let state = |table: &Self| {
            let party = &table.seats[seat].1;
            (party.group_key().map(|(epoch, key)| (epoch, key.clone())), party.footprint())
        };
        let before = state(self);
        let Err(error) = self.step(seat, Err(bytes)) else {
            panic!("{}: {what} was taken: {:?}", self.id, header(bytes));
        };
        let Error::Misbehaved(misbehaviour) = error else { panic!("{}: {what}: {error}", self.id) };
        assert!(
            rules.is_empty() || rules.contains(&misbehaviour),
            "{}: {what}: {misbehaviour:?} for {:?}",
            self.id,
            header(bytes)
        );
        assert!(before == state(self), "{}: {what} left a trace", self.id);
    }

    /// The epochs, from 0, whose keys follow from these secrets and all that ever was on the wire.
    fn keys_from(&self, secrets: &[Exponent]) -> Vec<usize> {
        let mut known = Vec::new();
        let (mut rng, mut outbox) = (rng_of(STRANGER), Outbox::new());
        with_context(STRANGER.into(), &mut rng, &mut outbox, |cx| {
            let mut heard: Vec<Element> = Vec::new();
            for bytes in &self.wire {
                let packed = match parts(bytes) {
                    Some(parts) => parts.packed,
                    None => body_of(bytes)[2..].to_vec(),
                };
                let elements = cx.elements(&packed, packed.len() / 32, Check::Subgroup).unwrap();
                let fresh: Vec<_> =
                    elements.into_iter().filter(|element| !heard.contains(element)).collect();
                heard.extend(fresh);
            }
            // Secrets of leaves, and of the nodes above them.
            let mut secrets = secrets.to_vec();
            for secret in secrets.clone() {
                secrets.extend(heard.iter().map(|element| secret_above(cx, element, &secret)));
            }
            let mut shared = heard.clone();
            for secret in &secrets {
                shared.extend(heard.iter().map(|element| cx.power(element, secret)));
            }
            for (number, (_, key, tree)) in self.epochs.iter().enumerate() {
                let Parts { packed, .. } = parts(tree).unwrap();
                let epoch = header(tree).epoch;
                let tree =
                    KeyTree::read(self.shape, &mut parse(tree).body()).expect("it was taken");
                let mut keys = shared
                    .iter()
                    .map(|element| group_key(cx, element.clone(), epoch, &tree, &packed));
                if keys.any(|guess| guess == *key) {
                    known.push(number);
                }
            }
        });
        known
    }
}

fn with_context<T>(
    me: PartyId,
    rng: &mut ChaCha20Rng,
    outbox: &mut Outbox,
    with: impl FnOnce(&mut Context<'_>) -> T,
) -> T {
    let setting = Setting { group: GroupId(3), suite: Suite::Standard };
    let mut probe = ();
    with(&mut Context::new(setting, me, Protection::None, rng, 0, outbox, &mut probe))
}

fn rng_of(id: MemberId) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(u64::from(id.0))
}

fn header(bytes: &[u8]) -> Header {
    parse_header(bytes).unwrap().0
}

fn body_of(bytes: &[u8]) -> &[u8] {
    parse_header(bytes).unwrap().1
}

fn parse(bytes: &[u8]) -> Message<'_> {
    let (header, body) = parse_header(bytes).unwrap();
    Message::new(header, body)
}

/// What a message with a tree consists of.
fn parts(bytes: &[u8]) -> Option<Parts> {
    let mut reader = parse(bytes).body();
    let roster = Roster::read(&mut reader).ok()?.iter().collect();
    let mut strings = Vec::new();
    while let Ok(string) = reader.bytes() {
        strings.push(string.to_vec());
    }
    let confirmation = strings.pop()?;
    Some(Parts { roster, packed: strings.pop()?, form: strings.pop(), confirmation })
}

fn rebuilt(header: &Header, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Writer::new(&mut bytes).header(header);
    bytes.extend_from_slice(body);
    bytes
}

fn with_parts(header: &Header, parts: &Parts) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    writer.array(parts.roster.len() as u64);
    parts.roster.iter().for_each(|member| writer.number(u64::from(member.0)));
    parts.form.iter().for_each(|form| writer.bytes(form));
    writer.bytes(&parts.packed);
    writer.bytes(&parts.confirmation);
    rebuilt(header, &body)
}

/// Another element than this, in its bytes.
fn other_element(bytes: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    let exponent = Exponent::random(Suite::Standard, &mut rng_of(STRANGER));
    Element::generator_power(&exponent).encode(&mut element);
    assert_ne!(element, bytes);
    element
}

/// Everything that may be wrong with a message that is itself in order.
fn offer_forgeries(table: &mut Table, seat: usize, bytes: &[u8]) {
    let genuine = header(bytes);
    let body = body_of(bytes);
    let stranger = rebuilt(&Header { sender: STRANGER.into(), ..genuine }, body);
    let foreign = rebuilt(&Header { group: GroupId(4), ..genuine }, body);
    table.refuse(seat, &foreign, &[Misbehaviour::ForeignGroup], "another group");
    let Some(parts) = parts(bytes) else {
        // A blinded key or a request.
        let joining = table.seats[seat].1.group_key().is_none();
        if !joining {
            table.refuse(seat, &stranger, &[Misbehaviour::UnexpectedSender], "a stranger");
        }
        return;
    };
    let wrong =
        [Misbehaviour::UnexpectedSender, Misbehaviour::InvalidRoster, Misbehaviour::NothingForUs];
    table.refuse(seat, &stranger, &wrong, "another sender");
    for epoch in [Epoch(0), genuine.epoch.next(), Epoch(u64::MAX)] {
        // Whoever comes or catches up knows no epoch; there the confirmation tells.
        let forged = rebuilt(&Header { epoch, ..genuine }, body);
        table.refuse(seat, &forged, &[], "another epoch");
    }
    for operation in [Operation::Create, Operation::Add, Operation::Remove] {
        if operation != genuine.operation {
            let forged = rebuilt(&Header { operation, ..genuine }, body);
            table.refuse(seat, &forged, &[], "another operation");
        }
    }
    for body in [&body[..body.len() - 1], &[body, &[0]].concat(), &[]] {
        let forged = rebuilt(&genuine, body);
        table.refuse(seat, &forged, &[Misbehaviour::Malformed], "a body cut or stretched");
    }
    let mut refuse = |change: &dyn Fn(&mut Parts), rules: &[Misbehaviour], what: &str| {
        let mut changed = parts.clone();
        change(&mut changed);
        table.refuse(seat, &with_parts(&genuine, &changed), rules, what);
    };
    refuse(&|parts| parts.roster.swap(0, 1), &[], "two members in each other's place");
    refuse(&|parts| parts.roster[0] = parts.roster[1], &wrong, "a member twice");
    refuse(&|parts| parts.roster[0] = STRANGER, &[], "a stranger among them");
    refuse(&|parts| parts.roster.truncate(parts.roster.len() - 1), &wrong, "one less");
    if parts.form.is_some() {
        let reverse = |parts: &mut Parts| {
            let form = parts.form.get_or_insert_default();
            form.reverse();
            form[0] ^= 1;
        };
        refuse(&reverse, &wrong, "another form");
    }
    refuse(&|parts| parts.packed.truncate(parts.packed.len() - 32), &wrong, "an element less");
    let invalid = [Misbehaviour::InvalidElement];
    for place in (0..parts.packed.len()).step_by(32) {
        let range = place..place + 32;
        refuse(&|parts| parts.packed[range.clone()].fill(0), &invalid, "the identity");
        refuse(&|parts| parts.packed[range.clone()].fill(0xff), &invalid, "no element");
        if !parts.confirmation.is_empty() {
            let replace = |parts: &mut Parts| {
                let other = other_element(&parts.packed[range.clone()]);
                parts.packed[range.clone()].copy_from_slice(&other);
            };
            let rules =
                [Misbehaviour::Forged, Misbehaviour::InvalidRoster, Misbehaviour::NothingForUs];
            refuse(&replace, &rules, "another element");
        }
    }
    if parts.confirmation.is_empty() {
        let add = |parts: &mut Parts| parts.confirmation = vec![0; 16];
        refuse(&add, &[Misbehaviour::Malformed], "a confirmation of nothing");
    } else {
        refuse(&|parts| parts.confirmation[0] ^= 1, &[Misbehaviour::Forged], "another key");
        refuse(&|parts| parts.confirmation.clear(), &[Misbehaviour::Malformed], "nothing");
    }
}

#[test]
fn a_message_changed_in_one_thing_is_refused() {
    for scheme in IDS {
        for members in [&[5, 3][..], &[5, 3, 9], &[8, 2, 4, 6, 1]] {
            let mut table = Table::new(scheme, Profile::Sound);
            table.create(members, &mut offer_forgeries);
            table.add(20, &mut offer_forgeries);
            table.add(21, &mut offer_forgeries);
            table.remove(21, &mut offer_forgeries);
            table.remove(members[0], &mut offer_forgeries);
            table.add(22, &mut offer_forgeries);
        }
    }
}

#[test]
fn an_answer_changed_in_one_thing_is_refused() {
    for scheme in IDS {
        let mut table = Table::new(scheme, Profile::Sound);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3, 4], &mut nothing);
        let sleeper = table.seats.remove(0);
        table.remove(4, &mut nothing);
        table.seats.push(sleeper);
        table.step(2, Ok(Command::CatchUp)).unwrap();
        let mut answers = 0;
        table.settle(&mut |table, seat, bytes| {
            if header(bytes).kind == ANSWER {
                answers += 1;
            }
            offer_forgeries(table, seat, bytes);
        });
        assert_eq!(answers, 1);
        let keys: Vec<_> = table.seats.iter().map(|(_, party, _)| party.group_key()).collect();
        assert!(keys.iter().all(|key| *key == keys[0] && key.is_some()), "{}", scheme.0);
    }
}

#[test]
fn only_the_sound_profile_notices_a_sponsor_that_lies() {
    for scheme in IDS {
        for profile in Profile::ALL {
            let mut table = Table::new(scheme, profile);
            table.create(&[1, 2, 3], &mut |_, _, _| {});
            // The sponsor tells another key of its own leaf than it has.
            table.seats.retain(|(member, ..)| *member != MemberId(3));
            for seat in 0..2 {
                table.step(seat, Ok(Command::Remove(MemberId(3)))).unwrap();
            }
            let bytes = table.under_way.pop_front().unwrap();
            let seat = usize::from(header(&bytes).sender == MemberId(1).into());
            let mut lie = parts(&bytes).unwrap();
            let place = if seat == 1 { 0 } else { 32 };
            let other = other_element(&lie.packed[place..place + 32]);
            lie.packed[place..place + 32].copy_from_slice(&other);
            let bytes = with_parts(&header(&bytes), &lie);
            match profile {
                Profile::Published => {
                    table.step(seat, Err(&bytes)).unwrap();
                    let [one, other] = [0, 1].map(|seat: usize| table.seats[seat].1.group_key());
                    assert_ne!(one, other, "{}: the keys differ, and nobody knows", scheme.0);
                }
                Profile::Sound => {
                    table.refuse(seat, &bytes, &[Misbehaviour::Forged], "a lie");
                }
            }
        }
    }
}

#[test]
fn members_have_the_keys_of_their_time_only() {
    for scheme in IDS {
        let mut table = Table::new(scheme, Profile::Sound);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3], &mut nothing);
        table.remove(2, &mut nothing);
        table.add(4, &mut nothing);
        table.remove(1, &mut nothing);
        table.add(5, &mut nothing);
        table.remove(3, &mut nothing);
        let drawn = |member: u32| -> Vec<_> {
            let mut rng = rng_of(MemberId(member));
            (0..5).map(|_| Exponent::random(Suite::Standard, &mut rng)).collect()
        };
        assert!(table.keys_from(&[]).is_empty(), "{}: who only listens", scheme.0);
        for one in 1..=5 {
            for other in one..=5 {
                let coalition = [MemberId(one), MemberId(other)];
                let theirs: Vec<_> = (0..table.epochs.len())
                    .filter(|&epoch| {
                        let (members, ..) = &table.epochs[epoch];
                        members.iter().any(|member| coalition.contains(member))
                    })
                    .collect();
                let mut secrets = drawn(one);
                if other != one {
                    secrets.extend(drawn(other));
                }
                assert_eq!(table.keys_from(&secrets), theirs, "{}: {coalition:?}", scheme.0);
            }
        }
    }
}
