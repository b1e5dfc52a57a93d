//! Members hold the keys of their bits after any changes. Also the keys that evicted members get
//! from a group's traffic, alone and together.

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::error::Unsupported;
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::Command;
use crate::protection::Protection;
use crate::wire::Reader;

const BITS: u32 = 3;

/// A full group. Every member hears every message; evicted members refuse them.
struct Group {
    controller: Controller,
    members: Vec<Member>,
    rng: ChaCha20Rng,
}

impl Group {
    fn new() -> Self {
        let everybody: Vec<_> = (0..1 << BITS).map(MemberId).collect();
        let mut group = Self {
            controller: Controller::new(Profile::Sound, BITS),
            members: everybody.iter().map(|_| Member::new(Profile::Sound, BITS)).collect(),
            rng: ChaCha20Rng::seed_from_u64(1),
        };
        group.command(Command::Enroll(&everybody));
        group.command(Command::Create(&everybody));
        group
    }

    /// Gives the controller a command, and every member its messages. Returns the body of the last
    /// message.
    fn command(&mut self, command: Command<'_>) -> Vec<u8> {
        let mut outbox = Outbox::new();
        self.as_party(PartyId::Controller, &mut outbox, |group, cx| {
            cx.command(&mut group.controller, command).unwrap();
        });
        let mut body = Vec::new();
        for message in outbox.messages() {
            body = message.bytes[message.bytes.len() - message.body_bytes..].to_vec();
            for id in 0..1 << BITS {
                self.as_party(PartyId::Member(MemberId(id)), &mut Outbox::new(), |group, cx| {
                    let member = &mut group.members[id as usize];
                    // An evicted member refuses the message, and keeps the keys that it had.
                    let _ = cx.deliver(member, message.channel, message.bytes);
                });
            }
        }
        body
    }

    /// Evicts a member. Returns the wrapped traffic keys and refreshed keys of the removal.
    fn evict(&mut self, id: u32) -> [Vec<Vec<u8>>; 2] {
        let body = self.command(Command::Remove(MemberId(id)));
        let mut body = Reader::new(&body);
        assert_eq!(body.number32(), Ok(id));
        let wrapped: Vec<_> = body.bytes().unwrap().chunks(24).map(<[u8]>::to_vec).collect();
        let (traffic_keys, refreshed) = wrapped.split_at(BITS as usize);
        [traffic_keys.to_vec(), refreshed.to_vec()]
    }

    fn unwrap(&mut self, kek: &Key, bit: usize, wrapped: &[u8]) -> Option<Key> {
        let epoch = self.controller.group.epoch;
        let mut key = None;
        self.as_party(PartyId::Controller, &mut Outbox::new(), |_, cx| {
            key = cx.unwrap_key(kek, epoch, bit as u64, wrapped).ok();
        });
        key
    }

    fn refresh(&mut self, old: &[Key], traffic_key: &Key, wrapped: &[Vec<u8>]) -> Vec<Key> {
        let keys = old.iter().zip(wrapped).enumerate().map(|(bit, (old, wrapped))| {
            let mut kek = Key::default();
            self.as_party(PartyId::Controller, &mut Outbox::new(), |_, cx| {
                kek = refreshing_key(cx, old, traffic_key);
            });
            self.unwrap(&kek, bit, wrapped).unwrap()
        });
        keys.collect()
    }

    fn opens_any(&mut self, keys: &[Key], wrapped: &[Vec<u8>]) -> bool {
        keys.iter().any(|kek| {
            (0..).zip(wrapped).any(|(bit, wrapped)| self.unwrap(kek, bit, wrapped).is_some())
        })
    }

    fn as_party(
        &mut self,
        me: PartyId,
        outbox: &mut Outbox,
        act: impl FnOnce(&mut Self, &mut Context<'_>),
    ) {
        let mut rng = self.rng.clone();
        let mut probe = ();
        let protection = Protection::None;
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, outbox, &mut probe);
        act(self, &mut cx);
        self.rng = rng;
    }
}

#[test]
fn evicted_members_with_complementary_numbers_have_all_keys_together() {
    let (first, second) = (0b010, 0b101);
    let mut group = Group::new();
    let [_, refreshed] = group.evict(first);
    let old = group.members[first as usize].own.clone();
    let traffic_key = group.members[second as usize].traffic_key.clone();
    let pooled = group.refresh(&old, &traffic_key, &refreshed);
    for (bit, keys) in (0..).zip(&group.controller.table) {
        let seconds = &group.members[second as usize].own[bit as usize];
        assert_eq!(&keys[bit_of(first, bit)], &pooled[bit as usize]);
        assert_eq!(&keys[bit_of(second, bit)], seconds);
    }
    let [traffic_keys, _] = group.evict(second);
    for (bit, kek) in pooled.iter().enumerate() {
        let next = group.unwrap(kek, bit, &traffic_keys[bit]);
        assert_eq!(next.as_ref(), Some(&group.controller.traffic_key));
    }
}

#[test]
fn any_two_evicted_members_get_later_traffic_keys_together_and_neither_alone() {
    for (first, second) in (0..8u32).flat_map(|u| (0..8).map(move |v| (u, v))) {
        if first == second {
            continue;
        }
        let mut group = Group::new();
        let [traffic_keys, refreshed] = group.evict(first);
        let old = group.members[first as usize].own.clone();
        assert!(!group.opens_any(&old, &traffic_keys), "{first} alone");
        let member = &group.members[second as usize];
        let (own, traffic_key) = (member.own.clone(), member.traffic_key.clone());
        let pooled = group.refresh(&old, &traffic_key, &refreshed);
        let [traffic_keys, refreshed] = group.evict(second);
        for keys in [&old, &own] {
            assert!(!group.opens_any(keys, &traffic_keys), "{first}, {second}: one alone");
            assert!(!group.opens_any(keys, &refreshed), "{first}, {second}: one alone");
        }
        let bit = (first ^ second).trailing_zeros() as usize;
        let next = group.unwrap(&pooled[bit], bit, &traffic_keys[bit]).unwrap();
        assert_eq!(next, group.controller.traffic_key, "{first}, {second}");

        // They can do this again: they hold both keys of a bit in which they differ.
        let own = group.refresh(&own, &next, &refreshed);
        let third = (0..8).find(|&id| id != first && id != second).unwrap();
        let [traffic_keys, _] = group.evict(third);
        let kek = if shares(third, first, bit as u32) { &own[bit] } else { &pooled[bit] };
        let next = group.unwrap(kek, bit, &traffic_keys[bit]);
        assert_eq!(next.as_ref(), Some(&group.controller.traffic_key), "{first}, {second}");
    }
}

#[test]
fn members_hold_the_keys_of_their_bits_whatever_happens() {
    let mut group = Group::new();
    for round in 0..40u32 {
        let id = round * 5 % 8;
        group.evict(id);
        group.members[id as usize] = Member::new(Profile::Sound, BITS);
        group.command(Command::Enroll(&[MemberId(id)]));
        group.command(Command::Add(MemberId(id)));
        for member in &group.members {
            let slot = member.membership.enrolment().unwrap().slot;
            assert_eq!(member.group_key(), group.controller.group_key());
            assert_eq!(member.traffic_key, group.controller.traffic_key);
            for (bit, keys) in (0..).zip(&group.controller.table) {
                assert_eq!(member.own[bit as usize], keys[bit_of(slot, bit)]);
            }
        }
    }
}

#[test]
fn a_full_table_takes_nobody_in() {
    let mut group = Group::new();
    let before = group.controller.group_key().map(|(epoch, key)| (epoch, key.clone()));
    let mut outbox = Outbox::new();
    group.as_party(PartyId::Controller, &mut outbox, |group, cx| {
        let refused = cx.command(&mut group.controller, Command::Enroll(&[MemberId(8)]));
        assert_eq!(refused, Err(Unsupported::TooManyMembers { limit: 8 }.into()));
    });
    assert_eq!(outbox.messages().filter(|m| m.channel == Channel::Confidential).count(), 0);
    let after = group.controller.group_key().map(|(epoch, key)| (epoch, key.clone()));
    assert_eq!(after, before);
    group.evict(3);
    group.command(Command::Enroll(&[MemberId(8)]));
    group.command(Command::Add(MemberId(8)));
}
