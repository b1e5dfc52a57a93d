//! Messages with one change are refused. Changes take no more rounds than they should. A party that
//! joins or leaves has no key of a time when it was not a member. This holds alone or with another
//! party, whatever it heard.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::climb::{group_key, secret_above};
use super::peer::*;
use super::*;
use crate::catching_up::Nonce;
use crate::context::{Context, Setting};
use crate::crypto::Suite;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox, Recipient};
use crate::party::{Command, Operation, Party};
use crate::protection::Protection;
use crate::scheme::Profile;
use crate::schemes::catalogue::scheme;
use crate::secret::Key;
use crate::wire::{Header, Message, Writer, parse_header};

const IDS: [(&str, Shape); 3] =
    [("tgdh", Shape::Balanced), ("str", Shape::Skinny), ("dh-lkh", Shape::Leafwise)];
const STRANGER: MemberId = MemberId(77);

/// Members that hand unprotected messages to each other, one at a time.
struct Table {
    id: &'static str,
    shape: Shape,
    profile: Profile,
    seats: Vec<(MemberId, Box<dyn Party>, ChaCha20Rng)>,
    under_way: VecDeque<Vec<u8>>,
    wire: Vec<Vec<u8>>,
    epochs: Vec<(Vec<MemberId>, Epoch, Key, DhKeyTree)>,
    /// How many messages in sequence the last change took.
    rounds: usize,
}

#[derive(Clone)]
struct Parts {
    /// Present in a step of a creation.
    leaves: Option<u64>,
    roster: Option<Vec<MemberId>>,
    form: Option<Vec<u8>>,
    packed: Vec<u8>,
    /// Present in all messages except the tree of a group that merges.
    confirmation: Option<Vec<u8>>,
}

impl Table {
    fn new((id, shape): (&'static str, Shape), profile: Profile) -> Self {
        let (seats, under_way) = (Vec::new(), VecDeque::new());
        let (wire, epochs) = (Vec::new(), Vec::new());
        Self { id, shape, profile, seats, under_way, wire, epochs, rounds: 0 }
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

    fn rekey(&mut self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.event(Command::Rekey, inspect);
    }

    fn partition(&mut self, apart: &[u32], inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        let apart: Vec<_> = apart.iter().copied().map(MemberId).collect();
        self.seats.retain(|(member, ..)| !apart.contains(member));
        self.event(Command::Partition(&apart), inspect);
    }

    /// Merges with the group at another table, whose epoch must not be earlier than this one's.
    fn merge(&mut self, other: Self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        let ids = |table: &Self| table.seats.iter().map(|(id, ..)| *id).collect::<Vec<_>>();
        let (ours, theirs) = (ids(self), ids(&other));
        let epoch = other.seats[0].1.group_key().unwrap().0.next();
        self.seats.extend(other.seats);
        self.wire.extend(other.wire);
        for seat in 0..self.seats.len() {
            let members = if seat < ours.len() { &theirs } else { &ours };
            self.step(seat, Ok(Command::Merge { members, epoch })).unwrap();
        }
        self.finish(inspect);
    }

    fn event(&mut self, command: Command<'_>, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        for seat in 0..self.seats.len() {
            self.step(seat, Ok(command)).unwrap();
        }
        self.finish(inspect);
    }

    fn finish(&mut self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.settle(inspect);
        let keys: Vec<_> = self.seats.iter().map(|(_, party, _)| party.group_key()).collect();
        let (epoch, key) = keys[0].expect("there is a key");
        assert!(keys.iter().all(|key| *key == keys[0]), "{}: no agreement", self.id);
        let key = key.clone();
        let members = self.seats.iter().map(|(member, ..)| *member).collect();
        let tree = self.present_tree();
        self.epochs.push((members, epoch, key, tree));
    }

    fn settle(&mut self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.rounds = 0;
        while !self.under_way.is_empty() {
            self.rounds += 1;
            for bytes in core::mem::take(&mut self.under_way) {
                let header = header(&bytes);
                for seat in 0..self.seats.len() {
                    let id = self.seats[seat].0;
                    let to_all = header.to == Recipient::Group;
                    let receives = header.to == Recipient::Member(id) || to_all;
                    if receives && header.sender != PartyId::Member(id) {
                        inspect(self, seat, &bytes);
                        self.step(seat, Err(&bytes)).unwrap();
                    }
                }
            }
        }
    }

    fn present_tree(&mut self) -> DhKeyTree {
        for (asking, answering) in [(0, 1), (1, 0)].into_iter().chain((2..9).map(|seat| (0, seat)))
        {
            let sender = self.seats[asking].0.into();
            let request = Header {
                group: GroupId(3),
                epoch: Epoch(0),
                operation: Operation::CatchUp,
                kind: REQUEST,
                sender,
                to: Recipient::Group,
                nonce: Some(Nonce::default()),
            };
            self.step(answering, Err(&rebuilt(&request, &[]))).unwrap();
            if let Some(answer) = self.under_way.pop_front() {
                self.wire.pop();
                let mut body = parse(&answer).body();
                return DhKeyTree::read(self.shape, 32, 100, false, &mut body).unwrap();
            }
        }
        panic!("somebody answers");
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

    /// Offers a message that must be refused, and checks that it leaves no trace.
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

    /// The epochs, from 0, whose keys follow from these secrets and everything that was ever sent.
    fn keys_from(&self, secrets: &[Exponent]) -> Vec<usize> {
        let mut known = Vec::new();
        let (mut rng, mut outbox) = (rng_of(STRANGER), Outbox::new());
        with_context(STRANGER.into(), &mut rng, &mut outbox, |cx| {
            let mut heard: Vec<Element> = Vec::new();
            for bytes in &self.wire {
                let packed = parts(bytes).packed;
                let elements =
                    cx.elements(&packed, packed.len() / 32, ElementCheck::Subgroup).unwrap();
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
            for (number, (_, epoch, key, tree)) in self.epochs.iter().enumerate() {
                let digest = tree.clone().digest(cx);
                let mut keys =
                    shared.iter().map(|element| group_key(cx, element.clone(), *epoch, &digest));
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
    let setting = Setting::new(GroupId(3), Suite::Standard);
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

fn parts(bytes: &[u8]) -> Parts {
    let mut reader = parse(bytes).body();
    let mut parts =
        Parts { leaves: None, roster: None, form: None, packed: Vec::new(), confirmation: None };
    let kind = header(bytes).kind;
    if kind == STEP {
        parts.leaves = reader.number().ok();
    }
    if matches!(kind, BRANCH | TREE) {
        let length = reader.array().unwrap();
        parts.roster = Some((0..length).map(|_| MemberId(reader.number32().unwrap())).collect());
    }
    let mut strings = Vec::new();
    while let Ok(string) = reader.bytes() {
        strings.push(string.to_vec());
    }
    if matches!(kind, PATH | STEP | TREE) {
        parts.confirmation = strings.pop();
    }
    if kind != REQUEST {
        parts.packed = strings.pop().unwrap();
        parts.form = strings.pop();
    }
    parts
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
    parts.leaves.iter().for_each(|&leaves| writer.number(leaves));
    if let Some(roster) = &parts.roster {
        writer.array(roster.len() as u64);
        roster.iter().for_each(|member| writer.number(u64::from(member.0)));
    }
    parts.form.iter().for_each(|form| writer.bytes(form));
    writer.bytes(&parts.packed);
    parts.confirmation.iter().for_each(|confirmation| writer.bytes(confirmation));
    rebuilt(header, &body)
}

fn other_element(bytes: &[u8]) -> Vec<u8> {
    let mut element = Vec::new();
    let exponent = Exponent::random(Suite::Standard, &mut rng_of(STRANGER));
    Element::generator_power(&exponent).encode(&mut element);
    assert_ne!(element, bytes);
    element
}

/// Offers everything that may be wrong with an otherwise valid message.
fn offer_forgeries(table: &mut Table, seat: usize, bytes: &[u8]) {
    let genuine = header(bytes);
    let body = body_of(bytes);
    let foreign = rebuilt(&Header { group: GroupId(4), ..genuine }, body);
    table.refuse(seat, &foreign, &[Misbehaviour::ForeignGroup], "another group");
    // A joining member ignores messages until it is told the tree, and also those that led to it.
    let id = table.seats[seat].0;
    let is_told = table.seats[seat].1.group_key().map(|(epoch, _)| epoch) < Some(genuine.epoch);
    let is_new =
        !table.epochs.is_empty() && !table.epochs.iter().any(|(members, ..)| members.contains(&id));
    if genuine.kind != TREE && (is_new || !is_told) {
        return;
    }
    let stranger = rebuilt(&Header { sender: STRANGER.into(), ..genuine }, body);
    let wrong =
        [Misbehaviour::UnexpectedSender, Misbehaviour::InvalidRoster, Misbehaviour::NothingForUs];
    table.refuse(seat, &stranger, &wrong, "another sender");
    if matches!(genuine.kind, JOIN | REQUEST) {
        return;
    }
    for epoch in [Epoch(0), genuine.epoch.next(), Epoch(u64::MAX)] {
        // A party that joins or catches up knows no epoch. There the confirmation shows the fault.
        let forged = rebuilt(&Header { epoch, ..genuine }, body);
        table.refuse(seat, &forged, &[], "another epoch");
    }
    for operation in
        crate::scheme::CONTRIBUTORY.iter().copied().filter(|&other| other != genuine.operation)
    {
        let forged = rebuilt(&Header { operation, nonce: None, ..genuine }, body);
        table.refuse(seat, &forged, &[], "another operation");
    }
    if genuine.nonce.is_some() {
        let forged = rebuilt(&Header { nonce: Some(Nonce([7; 8])), ..genuine }, body);
        table.refuse(seat, &forged, &[Misbehaviour::StaleAnswer], "another nonce");
    }
    for body in [&body[..body.len() - 1], &[body, &[0]].concat(), &[]] {
        let forged = rebuilt(&genuine, body);
        table.refuse(seat, &forged, &[Misbehaviour::Malformed], "a body cut or stretched");
    }
    let parts = parts(bytes);
    let id_of_scheme = table.id;
    let mut refuse = |change: &dyn Fn(&mut Parts), rules: &[Misbehaviour], what: &str| {
        let mut changed = parts.clone();
        change(&mut changed);
        table.refuse(seat, &with_parts(&genuine, &changed), rules, what);
    };
    if parts.roster.is_some() {
        let members = |change: &dyn Fn(&mut Vec<MemberId>)| {
            let mut changed = parts.clone();
            change(changed.roster.get_or_insert_default());
            changed
        };
        let swapped = members(&|roster| roster.swap(0, 1));
        // In the tree of another group, any member of it may be the first.
        if genuine.kind == TREE {
            refuse(&|parts| *parts = swapped.clone(), &[], "two members in each other's place");
        }
        let twice = members(&|roster| roster[0] = roster[1]);
        refuse(&|parts| *parts = twice.clone(), &wrong, "a member twice");
        let strange = members(&|roster| roster[0] = STRANGER);
        refuse(&|parts| *parts = strange.clone(), &[], "a stranger among them");
        let less = members(&|roster| roster.truncate(roster.len() - 1));
        refuse(&|parts| *parts = less.clone(), &wrong, "one less");
    }
    if parts.form.is_some() {
        let reverse = |parts: &mut Parts| {
            let form = parts.form.get_or_insert_default();
            form.reverse();
            form[0] ^= 1;
        };
        refuse(&reverse, &wrong, "another form");
    }
    if let Some(leaves) = parts.leaves {
        for other in [leaves.wrapping_sub(1), leaves + 1_000, 1 << 40] {
            refuse(&|parts| parts.leaves = Some(other), &[], "another step");
        }
    }
    if parts.packed.is_empty() {
        return;
    }
    let short = [Misbehaviour::InvalidRoster, Misbehaviour::Malformed];
    refuse(&|parts| parts.packed.truncate(parts.packed.len() - 1), &short, "a byte less");
    let is_last = parts.confirmation.as_ref().is_some_and(|it| !it.is_empty());
    if is_last || genuine.kind == STEP {
        refuse(&|parts| parts.packed.truncate(parts.packed.len() - 32), &short, "an element less");
    }
    for place in (0..parts.packed.len()).step_by(32).filter(|_| is_last) {
        let range = place..place + 32;
        // A member that does not need the element finds that the key differs.
        refuse(&|parts| parts.packed[range.clone()].fill(0), &[], "the identity");
        refuse(&|parts| parts.packed[range.clone()].fill(0xff), &[], "no element");
        let replace = |parts: &mut Parts| {
            let other = other_element(&parts.packed[range.clone()]);
            parts.packed[range.clone()].copy_from_slice(&other);
        };
        let rules = [Misbehaviour::Forged, Misbehaviour::InvalidRoster, Misbehaviour::NothingForUs];
        refuse(&replace, &rules, "another element");
    }
    if is_last {
        let flip = |parts: &mut Parts| parts.confirmation.get_or_insert_default()[0] ^= 1;
        refuse(&flip, &[Misbehaviour::Forged], "another key");
        let none = |parts: &mut Parts| parts.confirmation = Some(Vec::new());
        let rules = [Misbehaviour::Malformed, Misbehaviour::Forged];
        // In a parallel creation, the confirmation may still arrive.
        if id_of_scheme != "dh-lkh" || genuine.kind != STEP {
            refuse(&none, &rules, "no confirmation");
        }
    } else if parts.confirmation.is_some() && id_of_scheme != "dh-lkh" {
        // In a parallel creation, the first member may confirm with its last key, or later.
        let add = |parts: &mut Parts| parts.confirmation = Some(vec![0; 16]);
        refuse(&add, &[Misbehaviour::Malformed], "a confirmation of nothing");
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
            table.rekey(&mut offer_forgeries);
            table.add(23, &mut offer_forgeries);
            table.partition(&[22, 20], &mut offer_forgeries);
        }
    }
}

/// What the sponsor refuses leaves nothing in its tree, so that the genuine message still counts.
#[test]
fn a_newcomer_that_sends_no_element_is_refused_and_may_send_one() {
    for scheme in IDS {
        let mut table = Table::new(scheme, Profile::Sound);
        table.create(&[1, 2, 3], &mut |_, _, _| {});
        let mut refused = 0;
        table.add(20, &mut |table, seat, bytes| {
            if header(bytes).kind == JOIN {
                // The identity.
                let body = [&[0x58, 0x20][..], &[0; 32]].concat();
                let forged = rebuilt(&header(bytes), &body);
                refused += usize::from(table.step(seat, Err(&forged)).is_err());
            }
        });
        assert!(refused > 0, "{}", scheme.0);
    }
}

#[test]
fn an_answer_changed_in_one_thing_is_refused() {
    for scheme in IDS {
        let mut table = Table::new(scheme, Profile::Sound);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3, 4], &mut nothing);
        // Not the leftmost member, which sends the tree.
        let sleeper = table.seats.remove(1);
        table.remove(4, &mut nothing);
        table.seats.push(sleeper);
        table.step(2, Ok(Command::CatchUp)).unwrap();
        let mut answers = 0;
        table.settle(&mut |table, seat, bytes| {
            if header(bytes).kind == TREE {
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
            // The sponsor sends a wrong blinded key of its own leaf.
            table.seats.retain(|(member, ..)| *member != MemberId(3));
            for seat in 0..2 {
                table.step(seat, Ok(Command::Remove(MemberId(3)))).unwrap();
            }
            let bytes = table.under_way.pop_front().unwrap();
            let seat = usize::from(header(&bytes).sender == MemberId(1).into());
            let mut lie = parts(&bytes);
            lie.packed = other_element(&lie.packed);
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

/// Else it would have a leaf of its own making in the tree, which its eviction leaves there.
#[test]
fn no_sponsor_puts_its_own_element_in_the_place_of_a_newcomers() {
    for scheme in IDS {
        for (members, creates) in [(&[1, 2, 3, 4][..], false), (&[1, 2, 3], true)] {
            let mut table = Table::new(scheme, Profile::Sound);
            let mut deceived = 0;
            // Whoever uses another JOIN than the others is the sponsor that lies.
            let mut lie = |table: &mut Table, seat: usize, bytes: &[u8]| {
                if header(bytes).kind == JOIN && table.seats[seat].0 == sponsor_of(scheme, creates)
                {
                    let mut forged = parts(bytes);
                    forged.packed = other_element(&forged.packed);
                    table.step(seat, Err(&with_parts(&header(bytes), &forged))).unwrap();
                    deceived += 1;
                    return true;
                }
                false
            };
            if creates {
                members.iter().for_each(|&id| table.sit(MemberId(id)));
                let all: Vec<_> = members.iter().copied().map(MemberId).collect();
                for seat in 0..table.seats.len() {
                    table.step(seat, Ok(Command::Create(&all))).unwrap();
                }
            } else {
                table.create(members, &mut |_, _, _| {});
                table.sit(MemberId(5));
                for seat in 0..table.seats.len() {
                    table.step(seat, Ok(Command::Add(MemberId(5)))).unwrap();
                }
            }
            let before = table.seats[0].1.group_key().map(|(epoch, _)| epoch);
            while let Some(bytes) = table.under_way.pop_front() {
                for seat in 0..table.seats.len() {
                    let id = table.seats[seat].0;
                    let receives = [Recipient::Group, Recipient::Member(id)];
                    let is_own = header(&bytes).sender == PartyId::Member(id);
                    let arrives = !is_own && receives.contains(&header(&bytes).to);
                    if arrives && !lie(&mut table, seat, &bytes) {
                        let _ = table.step(seat, Err(&bytes));
                    }
                }
            }
            // A creation of DH-LKH has no newcomers.
            assert_eq!(deceived > 0, !(creates && scheme.0 == "dh-lkh"), "{}", scheme.0);
            for (id, party, _) in &table.seats {
                if deceived > 0 && *id != sponsor_of(scheme, creates) {
                    let epoch = party.group_key().map(|(epoch, _)| epoch);
                    assert!(epoch <= before, "{}: {id:?} took the lie", scheme.0);
                }
            }
        }
    }
}

/// The sponsor of the join of 5 to 1, 2, 3, 4, or that of a creation of 1, 2, 3.
fn sponsor_of((_, shape): (&str, Shape), creates: bool) -> MemberId {
    match (shape, creates) {
        (Shape::Skinny, true) => MemberId(1),
        (_, true) => MemberId(2),
        (_, false) => MemberId(4),
    }
}

/// One member tells a newcomer the tree, and may tell it another one: with a leaf of its own making
/// in the place of a third member's. If the newcomer then is the sponsor of that member's eviction,
/// the evicted member has its key. The others do not. `docs/threats.md` says so.
#[test]
fn a_newcomer_believes_one_member_about_the_tree() {
    let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
    // In this group, member 1 plays member 2, too.
    let mut imagined = Table::new(IDS[2], Profile::Sound);
    let mut genuine = Table::new(IDS[2], Profile::Sound);
    for (table, seed) in [(&mut imagined, STRANGER), (&mut genuine, MemberId(2))] {
        table.sit(MemberId(1));
        table.sit(MemberId(2));
        table.seats[1].2 = rng_of(seed);
        table.event(Command::Create(&[MemberId(1), MemberId(2)]), &mut nothing);
    }
    let mut told = Vec::new();
    imagined.add(5, &mut |_, _, bytes| {
        if header(bytes).kind == TREE {
            told = bytes.to_vec();
        }
    });
    genuine.sit(MemberId(5));
    for seat in 0..3 {
        genuine.step(seat, Ok(Command::Add(MemberId(5)))).unwrap();
    }
    while let Some(bytes) = genuine.under_way.pop_front() {
        let is_tree = header(&bytes).kind == TREE;
        for seat in if is_tree { 2..3 } else { 0..3 } {
            if header(&bytes).sender != genuine.seats[seat].0.into() {
                genuine.step(seat, Err(if is_tree { &told } else { &bytes })).unwrap();
            }
        }
    }
    let key = |table: &Table, seat: usize| {
        table.seats[seat].1.group_key().map(|(epoch, key)| (epoch, key.clone()))
    };
    assert_ne!(key(&genuine, 2), key(&genuine, 1), "the newcomer is in another group");
    for (table, seat) in [(&mut genuine, 2), (&mut imagined, 1)] {
        table.step(seat, Ok(Command::Remove(MemberId(1)))).unwrap();
    }
    let path = genuine.under_way.pop_front().unwrap();
    imagined.step(1, Err(&path)).unwrap();
    assert_eq!(key(&imagined, 1), key(&genuine, 2), "who was evicted has the key");
    assert!(genuine.step(1, Err(&path)).is_err(), "the others do not take it");
}

/// What cannot be checked yet is kept, once.
#[test]
fn a_path_may_come_before_the_newcomers_blinded_key() {
    for scheme in IDS {
        let mut table = Table::new(scheme, Profile::Sound);
        table.create(&[1, 2, 3, 4], &mut |_, _, _| {});
        table.sit(MemberId(5));
        for seat in 0..5 {
            table.step(seat, Ok(Command::Add(MemberId(5)))).unwrap();
        }
        let join = table.under_way.pop_front().unwrap();
        table.step(3, Err(&join)).unwrap();
        let path = table.under_way.pop_front().unwrap();
        assert_eq!((header(&join).kind, header(&path).kind), (JOIN, PATH));
        let mut short = parts(&path);
        short.packed.truncate(short.packed.len() - 32);
        let short = with_parts(&header(&path), &short);
        let as_join = rebuilt(&Header { kind: PATH, ..header(&join) }, body_of(&join));
        for seat in 0..3 {
            table.refuse(seat, &short, &[Misbehaviour::InvalidRoster], "an element less");
            table.refuse(seat, &as_join, &[], "a blinded key of a newcomer as a path");
            table.step(seat, Err(&path)).unwrap();
            table.refuse(seat, &path, &[Misbehaviour::UnexpectedMessage], "another path");
            table.step(seat, Err(&join)).unwrap();
        }
        table.finish(&mut |_, _, _| {});
    }
}

/// Table 1 of the source counts rounds in the order of log p for p leaving members. A sponsor waits
/// for the sponsors under it, so there is one more round, and each sponsor sends once.
#[test]
fn changes_take_few_rounds() {
    let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
    for scheme in IDS {
        for n in [4_u32, 5, 8, 9, 12, 16, 17] {
            let ids: Vec<_> = (1..=n).collect();
            let levels = n.next_power_of_two().ilog2() as usize;
            for profile in Profile::ALL {
                let mut table = Table::new(scheme, profile);
                table.create(&ids, &mut nothing);
                let confirmed = usize::from(profile == Profile::Sound);
                let rounds = match scheme.0 {
                    "tgdh" => 2 * (n as usize - 1),
                    "str" => 2,
                    // If the right half is lower, the first member has its key in time.
                    _ if n.is_power_of_two() => levels + confirmed,
                    _ => levels,
                };
                assert_eq!(table.rounds, rounds, "{}: creation, n = {n}", scheme.0);
                table.add(99, &mut nothing);
                assert_eq!(table.rounds, 3, "{}: a join", scheme.0);
                table.remove(99, &mut nothing);
                assert_eq!(table.rounds, 1, "{}: a leave", scheme.0);
                table.rekey(&mut nothing);
                assert_eq!(table.rounds, 1, "{}: a new period", scheme.0);
                let apart: Vec<_> = ids.iter().copied().filter(|id| id % 3 == 0).collect();
                table.partition(&apart, &mut nothing);
                let most = if scheme.0 == "str" { 1 } else { apart.len().ilog2() as usize + 1 };
                assert!(table.rounds <= most, "{}: {} rounds, n = {n}", scheme.0, table.rounds);
                let mut other = Table::new(scheme, profile);
                let others: Vec<_> = (50..52 + n / 2).collect();
                other.create(&others, &mut nothing);
                (0..9).for_each(|_| other.rekey(&mut nothing));
                table.merge(other, &mut nothing);
                assert!(table.rounds <= 2, "{}: a merger", scheme.0);
            }
        }
    }
}

#[test]
fn a_branch_changed_in_one_thing_is_refused() {
    for scheme in IDS {
        for (one, other) in [(&[1, 2, 3][..], &[11, 12][..]), (&[2, 3], &[1, 12, 13, 14])] {
            let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
            let mut tables = [one, other].map(|ids| {
                let mut table = Table::new(scheme, Profile::Sound);
                table.create(ids, &mut nothing);
                table
            });
            (0..3).for_each(|_| tables[1].rekey(&mut nothing));
            let [mut table, other] = tables;
            // The members of the other table are new to this one.
            table.epochs.extend(other.epochs.iter().cloned());
            table.merge(other, &mut offer_forgeries);
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
        table.rekey(&mut nothing);
        table.add(6, &mut nothing);
        table.partition(&[4], &mut nothing);
        let drawn = |member: u32| -> Vec<_> {
            let mut rng = rng_of(MemberId(member));
            (0..5).map(|_| Exponent::random(Suite::Standard, &mut rng)).collect()
        };
        assert!(table.keys_from(&[]).is_empty(), "{}: who only listens", scheme.0);
        // Members alone, and two of them together.
        let pairs = (1..=6).flat_map(|one| (one..=6).map(move |other| (one, other)));
        for (one, other) in sample::one_in(3, pairs) {
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

/// A blinded key is invalid, and no member had to read it until a part of the group left.
#[test]
fn a_partition_that_fails_leaves_the_tree_as_it_was() {
    for kind in [IDS[0], IDS[2]] {
        let mut table = Table::new(kind, Profile::Published);
        table.create(&[1, 2, 3, 4], &mut |_, _, _| {});
        // ((1 2) (3 4)). Members take turns. When 2 changes its secret, 4 hears another leaf for 2.
        let victim = 3;
        let mut told = false;
        while !told {
            (0..4).for_each(|seat| table.step(seat, Ok(Command::Rekey)).unwrap());
            while let Some(bytes) = table.under_way.pop_front() {
                let header = header(&bytes);
                for seat in 0..4 {
                    let id = table.seats[seat].0;
                    if header.sender == PartyId::Member(id) {
                        continue;
                    }
                    let of_two = header.sender == PartyId::Member(MemberId(2));
                    if seat == victim && of_two {
                        let mut changed = parts(&bytes);
                        changed.packed[..32].fill(0xff);
                        let changed = with_parts(&header, &changed);
                        table.step(seat, Err(&changed)).unwrap();
                        told = true;
                    } else {
                        table.step(seat, Err(&bytes)).unwrap();
                    }
                }
            }
        }
        let shown = |table: &mut Table| {
            let (id, party, rng) = &mut table.seats[victim];
            let mut outbox = Outbox::new();
            with_context(PartyId::Member(*id), rng, &mut outbox, |cx| {
                party.knowledge().unwrap().key_tree(cx)
            })
        };
        let before = shown(&mut table);
        assert_eq!(before.len(), 7, "{}", table.id);
        let apart = [1, 3].map(MemberId);
        let refused = table.step(victim, Ok(Command::Partition(&apart)));
        assert_eq!(refused, Err(Misbehaviour::InvalidElement.into()), "{}", table.id);
        assert_eq!(shown(&mut table), before, "{}: the tree is another", table.id);
    }
}
