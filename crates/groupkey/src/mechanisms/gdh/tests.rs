//! Messages with one change are refused, each by its own rule. The wire never carries an element
//! that a key was derived from.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::catching_up::Nonce;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::GroupId;
use crate::identity::PartyId;
use crate::outbox::{Channel, Outbox};
use crate::party::{Command, Party};
use crate::protection::Protection;
use crate::scheme::Profile;
use crate::schemes::catalogue::scheme;
use crate::schemes::distributed::{gdh1, gdh3};
use crate::wire::{Header, Reader, Writer, parse_header};

const IDS: [&str; 4] = ["gdh1", "gdh2", "gdh2-relay", "gdh3"];
const STRANGER: MemberId = MemberId(77);

/// Members around a table that hand unprotected messages to each other, one at a time.
struct Table {
    id: &'static str,
    profile: Profile,
    setting: Setting,
    seats: Vec<Seat>,
    /// The current members in their order.
    members: Vec<MemberId>,
    under_way: VecDeque<Vec<u8>>,
    /// Every message that was sent.
    wire: Vec<Vec<u8>>,
    /// The members of every epoch so far, and its key.
    epochs: Vec<(Roster, Key)>,
}

struct Seat {
    id: MemberId,
    party: Box<dyn Party>,
    rng: ChaCha20Rng,
}

impl Table {
    fn new(id: &'static str, profile: Profile, suite: Suite) -> Self {
        Self {
            id,
            profile,
            setting: Setting::new(GroupId(3), suite),
            seats: Vec::new(),
            members: Vec::new(),
            under_way: VecDeque::new(),
            wire: Vec::new(),
            epochs: Vec::new(),
        }
    }

    fn sit(&mut self, id: MemberId) {
        let party = scheme(self.id).unwrap().configuration(self.profile).member(id);
        self.seats.push(Seat { id, party, rng: rng_of(id) });
    }

    fn create(&mut self, ids: &[u32], inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.members = ids.iter().copied().map(MemberId).collect();
        for member in self.members.clone() {
            self.sit(member);
        }
        self.event(Command::Create(&self.members.clone()), inspect);
    }

    fn add(&mut self, id: u32, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.sit(MemberId(id));
        self.members.push(MemberId(id));
        self.event(Command::Add(MemberId(id)), inspect);
    }

    fn remove(&mut self, id: u32, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        self.members.retain(|&member| member != MemberId(id));
        self.seats.retain(|seat| seat.id != MemberId(id));
        self.event(Command::Remove(MemberId(id)), inspect);
    }

    fn event(&mut self, command: Command<'_>, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        for seat in 0..self.seats.len() {
            let outbox = self.step(seat, Ok(command)).unwrap();
            self.post(&outbox);
        }
        self.settle(inspect);
        let keys: Vec<_> = self.seats.iter().map(|seat| seat.party.group_key().unwrap()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{}: no agreement", self.id);
        assert_eq!(keys[0].0, Epoch(self.epochs.len() as u64 + 1));
        self.epochs.push((Roster::of(&self.members), keys[0].1.clone()));
    }

    fn settle(&mut self, inspect: &mut impl FnMut(&mut Self, usize, &[u8])) {
        while let Some(bytes) = self.under_way.pop_front() {
            let header = header(&bytes);
            for seat in 0..self.seats.len() {
                let id = self.seats[seat].id;
                let receives = header.to == Recipient::Member(id) || header.to == Recipient::Group;
                if receives && header.sender != PartyId::Member(id) {
                    inspect(self, seat, &bytes);
                    let outbox = self.step(seat, Err(&bytes)).unwrap();
                    self.post(&outbox);
                }
            }
        }
    }

    fn post(&mut self, outbox: &Outbox) {
        for message in outbox.messages() {
            self.wire.push(message.bytes.to_vec());
            self.under_way.push_back(message.bytes.to_vec());
        }
    }

    fn step(&mut self, seat: usize, given: Result<Command<'_>, &[u8]>) -> Result<Outbox, Error> {
        let Seat { id, party, rng } = &mut self.seats[seat];
        let mut outbox = Outbox::new();
        let me = PartyId::Member(*id);
        let mut probe = ();
        let mut cx =
            Context::new(self.setting, me, Protection::None, rng, 0, &mut outbox, &mut probe);
        match given {
            Ok(command) => cx.command(&mut **party, command)?,
            Err(bytes) => cx.deliver(&mut **party, Channel::Open, bytes)?,
        }
        Ok(outbox)
    }

    /// Offers a message that must be refused, and checks that it leaves no trace.
    #[track_caller]
    fn refuse(&mut self, seat: usize, bytes: &[u8], rules: &[Misbehaviour], what: &str) {
        let state = |table: &Self| {
            let party = &table.seats[seat].party;
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

    fn rng_and_cx<T>(&self, with: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (mut rng, mut outbox) = (rng_of(STRANGER), Outbox::new());
        let mut probe = ();
        with(&mut Context::new(
            self.setting,
            PartyId::Controller,
            Protection::None,
            &mut rng,
            0,
            &mut outbox,
            &mut probe,
        ))
    }

    /// Every value on the wire that looks like an element.
    fn elements_on_the_wire(&self) -> Vec<Element> {
        let length = Element::length(self.setting.suite);
        let mut elements: Vec<_> = self
            .wire
            .iter()
            .flat_map(|bytes| {
                let (_, packed, _) = parts(bytes);
                self.rng_and_cx(|cx| {
                    cx.elements(&packed, packed.len() / length, ElementCheck::Subgroup)
                })
                .unwrap()
            })
            .collect();
        elements.dedup();
        elements
    }

    /// Whether the key of an epoch, counted from 1, derives from this element.
    fn is_key(&self, epoch: usize, element: &Element) -> bool {
        let (roster, key) = &self.epochs[epoch - 1];
        let epoch = Epoch(epoch as u64);
        let list = self.partial_keys(epoch);
        self.rng_and_cx(|cx| {
            let list = PartialKeyList { partial_keys: list.clone(), encoded: Vec::new() };
            let list = (self.id != "gdh1").then(|| list.digest(cx));
            group_key(cx, element.clone(), epoch, roster, list.as_ref())
        }) == *key
    }

    /// The partial keys of all members in an epoch, from what was on the wire. In GDH.3 the last
    /// one may have been sent before the others.
    fn partial_keys(&self, epoch: Epoch) -> Vec<Element> {
        let mut list = Vec::new();
        let of_epoch = |bytes: &&Vec<u8>| header(bytes).epoch == epoch;
        let gdh3 = self.id == "gdh3";
        for kind in [LIST, gdh3::VALUE] {
            let grown = matches!(
                self.wire.iter().find(of_epoch).map(|bytes| header(bytes).operation),
                Some(Operation::Create | Operation::Add)
            );
            let sent = |bytes: &&Vec<u8>| header(bytes).kind == kind;
            if kind == LIST || gdh3 && grown {
                let sent = self.wire.iter().filter(of_epoch).find(sent);
                list.extend(sent.into_iter().flat_map(|bytes| parts(bytes).1));
            }
        }
        let count = list.len() / Element::length(self.setting.suite);
        self.rng_and_cx(|cx| cx.elements(&list, count, ElementCheck::Subgroup)).unwrap()
    }
}

fn rng_of(id: MemberId) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(u64::from(id.0))
}

fn header(bytes: &[u8]) -> Header {
    parse_header(bytes).unwrap().0
}

fn rebuilt(header: &Header, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Writer::new(&mut bytes).header(header);
    bytes.extend_from_slice(body);
    bytes
}

/// A message's roster, if it has one, its elements, and what follows them.
fn parts(bytes: &[u8]) -> (Option<Vec<u32>>, Vec<u8>, Vec<u8>) {
    let (_, body) = parse_header(bytes).unwrap();
    let mut reader = Reader::new(body);
    let roster = (body.first().is_some_and(|byte| byte >> 5 == 4))
        .then(|| (0..reader.array().unwrap()).map(|_| reader.number32().unwrap()).collect());
    let packed = reader.bytes().unwrap_or_default().to_vec();
    (roster, packed, reader.bytes().unwrap_or_default().to_vec())
}

fn body_of(roster: Option<&[u32]>, packed: &[u8], confirmation: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    if let Some(roster) = roster {
        writer.array(roster.len() as u64);
        roster.iter().for_each(|&id| writer.number(u64::from(id)));
    }
    writer.bytes(packed);
    if !confirmation.is_empty() {
        writer.bytes(confirmation);
    }
    body
}

/// Offers everything that may be wrong with an otherwise valid message.
fn offer_forgeries(table: &mut Table, seat: usize, bytes: &[u8]) {
    let genuine = header(bytes);
    let (_, body) = parse_header(bytes).unwrap();
    let (roster, packed, confirmation) = parts(bytes);
    let answer = genuine.operation == Operation::CatchUp;
    let any_later_epoch = roster.is_some();
    let collected = [gdh3::VALUE, gdh3::FACTOR];
    let gdh3_collects = table.id == "gdh3" && collected.contains(&genuine.kind);
    let me = table.seats[seat].id;

    // 1. It is not the sender's turn.
    let mut senders: Vec<_> = table.members.iter().map(|&member| PartyId::Member(member)).collect();
    senders.extend([PartyId::Controller, STRANGER.into()]);
    for sender in senders {
        // Every member sends a factor. Only the signature shows the sender.
        let allowed =
            table.id == "gdh3" && genuine.kind == gdh3::FACTOR && sender != PartyId::Controller;
        if sender != genuine.sender && (!allowed || sender == STRANGER.into()) {
            let forged = rebuilt(&Header { sender, ..genuine }, body);
            table.refuse(seat, &forged, &[Misbehaviour::UnexpectedSender], "another sender");
        }
    }
    // 2. The epoch is over, or is not the next one.
    let forged = rebuilt(&Header { epoch: Epoch(0), ..genuine }, body);
    let current = table.seats[seat].party.group_key().map_or(0, |(epoch, _)| epoch.0);
    table.refuse(seat, &forged, &[], "epoch 0");
    if !any_later_epoch {
        let current = Epoch(current.max(genuine.epoch.0 - 1));
        for got in [genuine.epoch.next(), Epoch(u64::MAX)] {
            let forged = rebuilt(&Header { epoch: got, ..genuine }, body);
            let rule = Misbehaviour::SkippedEpoch { got, current };
            table.refuse(seat, &forged, &[rule], "a later epoch");
        }
        let forged = rebuilt(&Header { epoch: current, ..genuine }, body);
        let rule = Misbehaviour::StaleEpoch { got: current, current };
        table.refuse(seat, &forged, &[rule], "the present epoch");
    }
    // 3. It belongs to another operation.
    for operation in [Operation::Enroll, Operation::Create, Operation::Add, Operation::Remove] {
        if operation != genuine.operation && !answer {
            let forged = rebuilt(&Header { operation, ..genuine }, body);
            let rule = match operation {
                Operation::Enroll => Misbehaviour::WrongChannel,
                _ => Misbehaviour::UnexpectedMessage,
            };
            table.refuse(seat, &forged, &[rule], "another operation");
        }
    }
    if answer {
        let forged = rebuilt(&Header { nonce: Some(Nonce([7; 8])), ..genuine }, body);
        table.refuse(seat, &forged, &[Misbehaviour::StaleAnswer], "another nonce");
    }
    // 4. It is of another kind. (The collector of GDH.3 expects two kinds that look alike.)
    for kind in (0..8).chain([255]).filter(|&kind| kind != genuine.kind) {
        if (gdh3_collects && collected.contains(&kind)) || (answer && kind == REQUEST) {
            continue;
        }
        let forged = rebuilt(&Header { kind, ..genuine }, body);
        table.refuse(seat, &forged, &[], "another kind");
    }
    // 5. It belongs to another group.
    let forged = rebuilt(&Header { group: GroupId(4), ..genuine }, body);
    table.refuse(seat, &forged, &[Misbehaviour::ForeignGroup], "another group");
    // 6. It is for another party.
    let forged = rebuilt(&Header { to: Recipient::Member(STRANGER), ..genuine }, body);
    table.refuse(seat, &forged, &[Misbehaviour::NotForUs], "another addressee");
    // 7. The body ends too early or too late.
    for forged in [&body[..body.len() - 1], &[body, &[0]].concat(), &[]] {
        let forged = rebuilt(&genuine, forged);
        table.refuse(seat, &forged, &[Misbehaviour::Malformed], "a body cut or stretched");
    }
    // 8. There are too few or too many elements.
    let length = Element::length(table.setting.suite);
    let number = [Misbehaviour::InvalidRoster, Misbehaviour::InvalidElement];
    let lists = [&packed[length..], &packed[1..], &[&packed[..], &packed[..length]].concat(), &[]];
    for list in lists {
        let forged = rebuilt(&genuine, &body_of(roster.as_deref(), list, &confirmation));
        table.refuse(seat, &forged, &number, "a wrong number of elements");
    }
    // 9. An element is the identity, or not canonical. (On the way up in GDH.1 the last one counts,
    // and the last member checks them all.)
    let count = packed.len() / length;
    let passes =
        table.id == "gdh1" && genuine.kind == gdh1::UPFLOW && table.members.last() != Some(&me);
    for place in if passes { count - 1..count } else { 0..count } {
        for filling in [0, 0xff] {
            let mut list = packed.clone();
            list[place * length..(place + 1) * length].fill(filling);
            let forged = rebuilt(&genuine, &body_of(roster.as_deref(), &list, &confirmation));
            table.refuse(seat, &forged, &[Misbehaviour::InvalidElement], "an invalid element");
        }
    }
    // Another valid element, or another confirmation: the key would not be the others'.
    if let Some(last) = confirmation.len().checked_sub(1) {
        let mut other = confirmation.clone();
        other[last] ^= 1;
        let forged = rebuilt(&genuine, &body_of(roster.as_deref(), &packed, &other));
        table.refuse(seat, &forged, &[Misbehaviour::Forged], "another confirmation");
        let another = table.rng_and_cx(|cx| {
            let exponent = cx.random_exponent();
            cx.generator_power(&exponent).to_bytes()
        });
        for place in 0..count {
            let mut list = packed.clone();
            list[place * length..(place + 1) * length].copy_from_slice(&another);
            let forged = rebuilt(&genuine, &body_of(roster.as_deref(), &list, &confirmation));
            // In GDH.1 only the last element that goes down is the receiver's.
            if table.id != "gdh1" || place + 1 == count {
                table.refuse(seat, &forged, &[Misbehaviour::Forged], "another element");
            }
        }
    }
    // 10. The roster is invalid, or the receiver is not in it.
    if let Some(roster) = roster {
        let without_me: Vec<_> =
            roster.iter().map(|&id| if MemberId(id) == me { STRANGER.0 } else { id }).collect();
        let mut twice = roster.clone();
        twice[0] = twice[1];
        let sender_not_last = [&roster[..], &[STRANGER.0]].concat();
        let mut forged = vec![without_me, twice, sender_not_last, vec![me.0], vec![]];
        // One element fits any number of members. The missing member's factor will be refused.
        if count > 1 {
            forged.push(roster[1..].to_vec());
        }
        for roster in forged {
            let forged = rebuilt(&genuine, &body_of(Some(&roster), &packed, &confirmation));
            let rules = [
                Misbehaviour::InvalidRoster,
                Misbehaviour::NothingForUs,
                Misbehaviour::UnexpectedSender,
            ];
            table.refuse(seat, &forged, &rules, "a wrong roster");
        }
    }
}

#[test]
fn a_message_changed_in_one_thing_is_refused() {
    for id in IDS {
        for members in [&[5, 3][..], &[5, 3, 9], &[8, 2, 4, 6, 1]] {
            let mut table = Table::new(id, Profile::Sound, Suite::Standard);
            table.create(members, &mut offer_forgeries);
            table.add(20, &mut offer_forgeries);
            table.add(21, &mut offer_forgeries);
            // The controller leaves, then the first member.
            table.remove(21, &mut offer_forgeries);
            table.remove(members[0], &mut offer_forgeries);
            table.add(22, &mut offer_forgeries);
        }
    }
}

#[test]
fn a_message_is_taken_once() {
    for id in IDS {
        let mut table = Table::new(id, Profile::Sound, Suite::Standard);
        // What a member took earlier is offered to it again before every message.
        let mut taken: Vec<(MemberId, Vec<u8>)> = Vec::new();
        let mut replay = |table: &mut Table, seat: usize, bytes: &[u8]| {
            let me = table.seats[seat].id;
            for (_, old) in taken.iter().filter(|(id, _)| *id == me) {
                table.refuse(seat, old, &[], "a replay");
            }
            taken.push((me, bytes.to_vec()));
        };
        table.create(&[1, 2, 3, 4], &mut replay);
        table.add(5, &mut replay);
        table.remove(2, &mut replay);
        table.add(6, &mut replay);
    }
}

#[test]
fn an_answer_changed_in_one_thing_is_refused() {
    for id in &IDS[1..] {
        let mut table = Table::new(id, Profile::Sound, Suite::Standard);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3, 4], &mut nothing);
        let sleeper = table.seats.remove(0);
        table.remove(3, &mut nothing);
        table.seats.push(sleeper);
        let request = table.step(3 - 1, Ok(Command::CatchUp)).unwrap();
        table.post(&request);
        let mut answers = 0;
        table.settle(&mut |table, seat, bytes| {
            if header(bytes).kind == ANSWER {
                answers += 1;
                offer_forgeries(table, seat, bytes);
            } else {
                let stranger = Header { sender: STRANGER.into(), ..header(bytes) };
                let controller = table.seats[seat].id == MemberId(4);
                if controller {
                    let rule = [Misbehaviour::UnexpectedSender];
                    table.refuse(seat, &rebuilt(&stranger, &[]), &rule, "a stranger's request");
                }
                let long = rebuilt(&header(bytes), &[0]);
                table.refuse(seat, &long, &[Misbehaviour::Malformed], "a long request");
            }
        });
        assert_eq!(answers, 1);
        let keys: Vec<_> = table.seats.iter().map(|seat| seat.party.group_key()).collect();
        assert!(keys.iter().all(|key| *key == keys[0] && key.is_some()), "{id}");
    }
}

#[test]
fn a_controller_that_missed_the_end_of_its_own_join_catches_up() {
    for id in &IDS[1..] {
        let mut table = Table::new(id, Profile::Sound, Suite::Standard);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3], &mut nothing);
        table.sit(MemberId(4));
        for seat in 0..4 {
            let outbox = table.step(seat, Ok(Command::Add(MemberId(4)))).unwrap();
            table.post(&outbox);
        }
        // The controller is away when the list arrives. Every other member takes it.
        while let Some(bytes) = table.under_way.pop_front() {
            let header = header(&bytes);
            for seat in 0..4 {
                let id = table.seats[seat].id;
                let receives = header.to == Recipient::Member(id) || header.to == Recipient::Group;
                let away = id == MemberId(3) && header.kind == LIST;
                if receives && header.sender != PartyId::Member(id) && !away {
                    let outbox = table.step(seat, Err(&bytes)).unwrap();
                    table.post(&outbox);
                }
            }
        }
        let request = table.step(2, Ok(Command::CatchUp)).unwrap();
        table.post(&request);
        table.settle(&mut nothing);
        let keys: Vec<_> = table.seats.iter().map(|seat| seat.party.group_key()).collect();
        assert!(keys.iter().all(|key| *key == keys[0] && key.is_some()), "{id}");
        assert_eq!(keys[0].map(|(epoch, _)| epoch), Some(Epoch(2)));
    }
}

#[test]
fn only_the_sound_profile_looks_whether_elements_are_in_the_subgroup() {
    for id in IDS {
        for profile in Profile::ALL {
            let mut table = Table::new(id, profile, Suite::Published);
            let members = [MemberId(1), MemberId(2)];
            members.iter().for_each(|&member| table.sit(member));
            let outbox = table.step(0, Ok(Command::Create(&members))).unwrap();
            table.step(1, Ok(Command::Create(&members))).unwrap();
            let genuine = outbox.messages().next().unwrap().bytes;
            // 2 is in the field, but neither in our subgroup nor in a small one.
            let mut two = vec![0; Element::length(Suite::Published)];
            two[Element::length(Suite::Published) - 1] = 2;
            let changed = rebuilt(&header(genuine), &body_of(None, &two, &[]));
            match profile {
                Profile::Published => drop(table.step(1, Err(&changed)).unwrap()),
                Profile::Sound => {
                    let rule = [Misbehaviour::InvalidElement];
                    table.refuse(1, &changed, &rule, "an element outside the subgroup");
                }
            }
        }
    }
}

/// The exponents that a party may have drawn, in order, and the inverses and products of two of
/// them.
fn exponents_of(id: MemberId, suite: Suite) -> Vec<Exponent> {
    let mut rng = rng_of(id);
    let drawn: Vec<_> = (0..4).map(|_| Exponent::random(suite, &mut rng)).collect();
    let mut all = drawn.clone();
    for (index, exponent) in drawn.iter().enumerate() {
        all.push(exponent.inverse());
        all.extend(drawn[index + 1..].iter().map(|other| exponent.times(other)));
    }
    all
}

#[test]
fn who_is_out_gets_no_key_from_the_wire_with_its_own_exponents() {
    for id in IDS {
        let suite = Suite::Standard;
        let mut table = Table::new(id, Profile::Sound, suite);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&[1, 2, 3], &mut nothing); // epoch 1
        table.add(4, &mut nothing); // 2
        table.remove(2, &mut nothing); // 3
        table.remove(4, &mut nothing); // 4
        table.add(5, &mut nothing); // 5
        let wire = table.elements_on_the_wire();
        for (member, epochs) in [(2, &[1, 2][..]), (4, &[2, 3]), (5, &[5])] {
            let mut found = Vec::new();
            for exponent in exponents_of(MemberId(member), suite) {
                let raised: Vec<_> = wire.iter().map(|element| element.power(&exponent)).collect();
                found
                    .extend((1..=5).filter(|&epoch| {
                        raised.iter().any(|element| table.is_key(epoch, element))
                    }));
            }
            found.sort_unstable();
            found.dedup();
            // It does find the member's own epochs, so the search works.
            assert_eq!(found, epochs, "{id}: member {member}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// In particular, a joining member never gets the old key's element: it would be on the wire.
    #[test]
    fn no_key_derives_from_what_is_on_the_wire(
        id in prop::sample::select(&IDS[..]),
        size in 2u32..6,
        moves in proptest::collection::vec(any::<u8>(), 1..7),
    ) {
        let mut table = Table::new(id, Profile::Sound, Suite::Standard);
        let mut nothing = |_: &mut Table, _: usize, _: &[u8]| {};
        table.create(&(0..size).collect::<Vec<_>>(), &mut nothing);
        for (step, action) in (100..).zip(moves) {
            if action % 2 == 0 || table.members.len() == 2 {
                table.add(step, &mut nothing);
            } else {
                let leaver = table.members[usize::from(action / 2) % table.members.len()];
                table.remove(leaver.0, &mut nothing);
            }
        }
        for element in table.elements_on_the_wire() {
            for epoch in 1..=table.epochs.len() {
                prop_assert!(!table.is_key(epoch, &element), "{id}: the key of epoch {epoch}");
            }
        }
    }
}
