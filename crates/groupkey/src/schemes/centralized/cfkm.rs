//! CFKM, centralized flat key management: a table of two keys for each bit of a member's number. A
//! member holds the W keys that go with its own bits, and a traffic key. The controller's table
//! does not grow with the group. **Evicted members that pool their keys get back in.**
//!
//! Source: Waldvogel, Caronni, Sun, Weiler, Plattner, "The VersaKey framework", IEEE JSAC 17(9),
//! 1999. Class: centralized. Provenance: reconstructed: descriptions give the table and which key
//! is wrapped under which. The messages are ours, and so is the key under which a refreshed key is
//! wrapped.
//!
//! The table counts wrapped keys. W is the number of bits; s is the number of bits that a member
//! shares with the member that joins or leaves:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of W + 1 keys | n(W + 1) wraps in n calls | W + 1 unwraps in 1 call |
//! | add | 1 unicast of W + 1 keys, 1 broadcast of none | W + 1 wraps in 1 call, W + 1 derivations | joining member W + 1 unwraps in 1 call, others 1 + s derivations |
//! | remove | 1 broadcast | 2W wraps, W derivations | 1 + s unwraps, s derivations |
//! | rekey | 1 broadcast | 2 wraps | 1 unwrap |
//! | catch up | 1 request, 1 unicast | W + 1 wraps in 1 call | W + 1 unwraps in 1 call |
//!
//! In `sound` the group key takes one more derivation on either side. In an add its confirmation
//! takes another one, except at the joining member. Keys held: the controller holds n + 2W + 2, of
//! which n are individual keys for creation, joins and answers. A member holds W + 3.
//!
//! Profiles: `published` uses the traffic key T as group key; `sound` derives the group key from
//! it.
//!
//! Members are numbered by their slots. On a join, T and the keys of the joining member's bits go
//! through a one-way function. The joining member is sent the results, and the others its slot. On
//! a removal, a random T' is wrapped under the key of each bit that the evicted member does not
//! have. For each bit that it has, a random key is wrapped under a key derived from the old key and
//! T'. At a rekey, a random T' is wrapped under the two keys of bit 0, of which each member has one.
//!
//! Bodies. Keys: `{KEK_0 .. KEK_(W-1), T}_individual`. Notice of a join: the slot; in `sound` a
//! confirmation of the group key, 16 bytes, because members need nothing else of a notice to change
//! their keys. Removal: the slot and a packed byte string of `{T'}_KEK` and then of
//! `{KEK'}_F(KEK, T')`, each for bits 0 to W - 1. Rekey: a packed byte string of the two `{T'}_KEK`.
//!
//! What breaks it: evict u, then v. v knew the T' of u's removal, u the keys before it. Together
//! they have the refreshed keys of u's bits, and the next T is sent under each of these that is not
//! v's. Any two members can do this again and again: they hold both keys of a bit in which they
//! differ. Two members with complementary numbers hold the whole table. The tests show it.
//!
//! Claims: `published` does not claim key independence either. T is the group key, and a join
//! hashes it: a group key gives the next ones, up to the next removal.
//!
//! Deviations: the epoch replaces the source's versions and revisions. A member that missed rekeys
//! asks for its keys.
//!
//! S002 reports an add whose cost grows with the group. The published add does not grow, nor does
//! this one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Parameter, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "cfkm",
    "CFKM, centralized flat key management",
    Provenance::Reconstructed,
    "Waldvogel, Caronni, Sun, Weiler and Plattner 1999",
    Parties::Centralized {
        controller: |configuration| {
            let bits = configuration.value(&BITS);
            Box::new(Controller::new(configuration.profile(), bits))
        },
        member: |configuration, _| {
            let bits = configuration.value(&BITS);
            Box::new(Member::new(configuration.profile(), bits))
        },
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(CLAIMS)
.with_published_claims(Claims { key_independence: false, ..CLAIMS })
.with_parameters(&[BITS])
.with_members((2, 1 << BITS.range.1))
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// Any two evicted members together get back in.
const CLAIMS: Claims = Claims { collusion_resistance: false, ..Claims::ALL };

/// The size of the flat table, and so of the group: at most 2^bits members.
const BITS: Parameter = Parameter {
    name: "bits",
    meaning: "bits of a member's number; 2^bits members at most",
    sound: 16,
    published: 16,
    range: (7, 24),
};

#[derive(Debug)]
pub(crate) struct Controller {
    bits: u32,
    profile: Profile,
    group: ServedGroup,
    /// For each bit, lowest first, the keys of the members with the bit clear and with the bit set.
    table: List<[Key; 2]>,
    traffic_key: Key,
}

state!(Controller { group, table, traffic_key } if is_whole);

#[derive(Debug)]
pub(crate) struct Member {
    bits: u32,
    profile: Profile,
    membership: ServedMembership,
    /// The key of each of the member's bits, lowest first.
    own: List<Key>,
    traffic_key: Key,
}

/// Carries a member's keys under its individual key.
const KEYS: u8 = 0;
/// Announces a join.
const NOTICE: u8 = 1;
/// Carries the keys that a removal replaces.
const REFRESH: u8 = 2;
/// Asks for the current keys.
const REQUEST: u8 = 3;
/// Carries the traffic key of a new period.
const PERIOD: u8 = 4;

/// The bit whose two keys wrap the traffic key of a new period: each member has one of them.
const PERIOD_BIT: u32 = 0;
/// The traffic key of a new period is wrapped for members with this bit clear, and with it set.
const PERIOD_KEYS: usize = 2;

impl Controller {
    /// Creates a controller without members, for at most 2^`bits` members.
    pub(crate) fn new(profile: Profile, bits: u32) -> Self {
        Self {
            bits,
            profile,
            group: ServedGroup::default(),
            table: List::new(),
            traffic_key: Key::default(),
        }
    }

    /// Whether there is a key for each bit, or none before the creation.
    fn is_whole(&self) -> bool {
        self.table.is_empty() || self.table.len() == self.bits as usize
    }

    fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let keys = (0..self.table.len() + 1).map(|bit| match self.table.get(bit) {
            Some(keys) => &keys[bit_of(slot, bit as u32)],
            None => &self.traffic_key,
        });
        let to = Recipient::Member(self.group.roster.member(slot));
        cx.draft(to, self.group.epoch, operation, KEYS)
            .wrapped(self.group.roster.key(slot), self.group.epoch, 0, keys)
            .send();
    }

    fn begin_epoch(&mut self, cx: &mut Context<'_>) {
        let epoch = self.group.epoch.next();
        let group_key = group_key(cx, self.profile, epoch, &self.traffic_key);
        self.group.enter_next(cx, group_key);
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn limit(&self) -> Option<u32> {
        Some(1 << self.bits)
    }

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.table = (0..self.bits).map(|_| [cx.random_key(), cx.random_key()]).collect();
        self.traffic_key = cx.random_key();
        self.begin_epoch(cx);
        let roster = &self.group.roster;
        cx.reserve(roster.len(), cx.wrapped_length(self.bits as usize + 1) + 3);
        for slot in (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot)) {
            self.send_keys(cx, slot, Operation::Create);
        }
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        for (bit, keys) in (0..).zip(&mut self.table) {
            let key = &mut keys[bit_of(slot, bit)];
            *key = one_way(cx, key);
        }
        self.traffic_key = one_way(cx, &self.traffic_key);
        self.begin_epoch(cx);
        self.send_keys(cx, slot, Operation::Add);
        let confirmation = Confirmation::of_held(cx, self.profile, self.group.group_key());
        let mut draft = cx.draft(Recipient::Group, self.group.epoch, Operation::Add, NOTICE);
        draft.number(u64::from(slot));
        confirmation.write(&mut draft);
        draft.send();
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.traffic_key = cx.random_key();
        self.begin_epoch(cx);
        let epoch = self.group.epoch;
        let mut packed = Vec::with_capacity(packed_length(cx, self.bits));
        for (bit, keys) in (0..).zip(&self.table) {
            let kek = &keys[1 - bit_of(slot, bit)];
            cx.wrap_keys(kek, epoch, u64::from(bit), [&self.traffic_key], &mut packed);
        }
        for (bit, keys) in (0..).zip(&mut self.table) {
            let key = &mut keys[bit_of(slot, bit)];
            let kek = refreshing_key(cx, key, &self.traffic_key);
            *key = cx.random_key();
            cx.wrap_keys(&kek, epoch, u64::from(bit), [&*key], &mut packed);
        }
        cx.draft(Recipient::Group, epoch, Operation::Remove, REFRESH)
            .number(u64::from(slot))
            .bytes(&packed)
            .send();
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.traffic_key = cx.random_key();
        self.begin_epoch(cx);
        let epoch = self.group.epoch;
        let length = PERIOD_KEYS * cx.wrapped_length(1);
        let mut draft = cx.draft(Recipient::Group, epoch, Operation::Rekey, PERIOD);
        draft.packed(length);
        for kek in &self.table[PERIOD_BIT as usize] {
            draft.packed_wrapped(kek, epoch, u64::from(PERIOD_BIT), [&self.traffic_key]);
        }
        draft.send();
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_keys(cx, slot, Operation::CatchUp);
    }

    fn held(&self) -> Footprint {
        let table = if self.group_key().is_some() { 2 * self.table.len() + 1 } else { 0 };
        let permanent = self.group.key_bytes() + table * Key::BYTES;
        Footprint { permanent, temporary: Key::BYTES }
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, bits: u32) -> Self {
        Self {
            bits,
            profile,
            membership: ServedMembership::default(),
            own: List::new(),
            traffic_key: Key::default(),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        let slot = self.membership.enrolment()?.slot;
        match (header.operation, header.kind) {
            (Operation::Create | Operation::Add | Operation::CatchUp, KEYS) => {
                self.take_keys(cx, message)
            }
            (Operation::Add, NOTICE) => self.follow_join(cx, message, slot),
            (Operation::Remove, REFRESH) => self.follow_removal(cx, message, slot),
            (Operation::Rekey, PERIOD) => self.follow_period(cx, message, slot),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn take_keys(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.membership.admit(message)?;
        let enrolment = self.membership.enrolment()?;
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        let epoch = message.header().epoch;
        let mut keys = List::zeros(self.bits as usize + 1);
        cx.unwrap_keys(&enrolment.key, epoch, 0, wrapped, &mut keys)?;
        let (traffic_key, own) = keys.split_last().ok_or(Misbehaviour::Malformed)?;
        self.enter(cx, epoch, own.into(), traffic_key.clone());
        Ok(())
    }

    /// Follows another member's join: the keys that the joining member gets go through the one-way
    /// function.
    fn follow_join(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        slot: u32,
    ) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let mut body = message.body();
        let joined = self.slot(body.number32()?)?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        if self.membership.is_own_joining(message, joined)? {
            return Ok(());
        }
        self.membership.require_continuation(message)?;
        let own = (0..).zip(&self.own).map(|(bit, key)| {
            if shares(joined, slot, bit) { one_way(cx, key) } else { key.clone() }
        });
        let own = own.collect();
        let traffic_key = one_way(cx, &self.traffic_key);
        let group_key = group_key(cx, self.profile, epoch, &traffic_key);
        confirmation.verify(cx, self.profile, epoch, &group_key)?;
        self.install(cx, epoch, own, traffic_key, group_key);
        Ok(())
    }

    /// Follows another member's eviction: takes the new traffic key, and new keys for the keys
    /// shared with the evicted member.
    fn follow_removal(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        slot: u32,
    ) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let mut body = message.body();
        let freed = self.slot(body.number32()?)?;
        let packed = body.bytes()?;
        body.finish()?;
        if packed.len() != packed_length(cx, self.bits) {
            return Err(Misbehaviour::Malformed.into());
        }
        self.membership.admit(message)?;
        let (traffic_keys, refreshed) = packed.split_at(packed.len() / 2);
        let length = cx.wrapped_length(1);
        let differing = (0..).zip(&self.own).zip(traffic_keys.chunks_exact(length));
        let ((bit, kek), wrapped) = differing
            .into_iter()
            .find(|&((bit, _), _)| !shares(freed, slot, bit))
            .ok_or(Misbehaviour::NothingForUs)?;
        let traffic_key = cx.unwrap_key(kek, epoch, u64::from(bit), wrapped)?;
        let mut own = self.own.clone();
        for ((bit, key), wrapped) in (0..).zip(&mut own).zip(refreshed.chunks_exact(length)) {
            if shares(freed, slot, bit) {
                let kek = refreshing_key(cx, key, &traffic_key);
                *key = cx.unwrap_key(&kek, epoch, u64::from(bit), wrapped)?;
            }
        }
        self.enter(cx, epoch, own, traffic_key);
        Ok(())
    }

    /// Takes the traffic key of a new period. The keys of the member's bits stay.
    fn follow_period(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        slot: u32,
    ) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let mut body = message.body();
        let packed = body.bytes()?;
        body.finish()?;
        let length = cx.wrapped_length(1);
        if packed.len() != PERIOD_KEYS * length {
            return Err(Misbehaviour::Malformed.into());
        }
        self.membership.admit(message)?;
        let wrapped = &packed[bit_of(slot, PERIOD_BIT) * length..][..length];
        let kek = self.own.get(PERIOD_BIT as usize).ok_or(Misbehaviour::UnexpectedMessage)?;
        let traffic_key = cx.unwrap_key(kek, epoch, u64::from(PERIOD_BIT), wrapped)?;
        self.enter(cx, epoch, self.own.clone(), traffic_key);
        Ok(())
    }

    fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch, own: List<Key>, traffic_key: Key) {
        let group_key = group_key(cx, self.profile, epoch, &traffic_key);
        self.install(cx, epoch, own, traffic_key, group_key);
    }

    fn install(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        own: List<Key>,
        traffic_key: Key,
        group_key: Key,
    ) {
        self.own = own;
        self.traffic_key = traffic_key;
        self.membership.enter(cx, epoch, group_key);
    }

    /// Returns the slot that a message names. Fails if the number has too many bits for a slot.
    fn slot(&self, number: u32) -> Result<u32, Error> {
        if number >> self.bits == 0 { Ok(number) } else { Err(Misbehaviour::Malformed.into()) }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let own = if self.group_key().is_some() { self.own.len() + 1 } else { 0 };
        let permanent = self.membership.key_bytes() + own * Key::BYTES;
        Footprint { permanent, temporary: (self.own.len() + 1) * Key::BYTES }
    }
}

/// Returns a bit of a member's number, as a column of the table.
const fn bit_of(slot: u32, bit: u32) -> usize {
    (slot >> bit & 1) as usize
}

/// Returns whether two members have a bit, and so its key, in common.
const fn shares(slot: u32, other: u32, bit: u32) -> bool {
    bit_of(slot, bit) == bit_of(other, bit)
}

/// Returns the length of the wrapped keys of a removal in bytes.
const fn packed_length(cx: &Context<'_>, bits: u32) -> usize {
    2 * bits as usize * cx.wrapped_length(1)
}

/// Returns the successor of a key when a member that is to hold it joins.
fn one_way(cx: &mut Context<'_>, key: &Key) -> Key {
    cx.derive(key, "groupkey cfkm join", &[])
}

/// Returns the key under which a key's successor is wrapped. Members that have the old key and the
/// new traffic key know it. An evicted member does not have that traffic key.
fn refreshing_key(cx: &mut Context<'_>, old: &Key, traffic_key: &Key) -> Key {
    cx.derive(old, "groupkey cfkm refresh", traffic_key.as_bytes())
}

fn group_key(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, traffic_key: &Key) -> Key {
    if profile.is_published() {
        traffic_key.clone()
    } else {
        cx.derive_for(epoch, traffic_key, "groupkey cfkm group key")
    }
}

#[cfg(test)]
mod tests;
