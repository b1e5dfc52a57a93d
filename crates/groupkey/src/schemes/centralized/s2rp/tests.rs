//! The keys that former and later members get from a group's traffic, each kind alone and both
//! together. Also: members take no key to which no chain leads.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::error::{Error, Misbehaviour};
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::party::Command;
use crate::protection::Protection;
use crate::schemes::centralized::s2rp::hash_chains::step;
use crate::wire::Reader;

/// A group, all messages that were sent, and all keys that members ever held.
struct Group {
    profile: Profile,
    has_join_key: bool,
    controller: Controller,
    members: BTreeMap<u32, Member>,
    /// By member: the individual key, and the keys held in each epoch of its membership.
    held: BTreeMap<u32, (Key, BTreeMap<u64, Holding>)>,
    wraps: Vec<Wrapped>,
    group_keys: BTreeMap<u64, Key>,
    length: u16,
    next_id: u32,
    rng: ChaCha20Rng,
}

#[derive(Clone)]
struct Holding {
    path: Vec<Key>,
    join_key: Option<Key>,
}

/// Keys wrapped in one call, as an onlooker records them.
struct Wrapped {
    epoch: u64,
    label: u64,
    bytes: Vec<u8>,
    /// Number of keys after the keys of nodes: of J, or of J and a command, or none.
    others: usize,
}

impl Group {
    fn new(profile: Profile, degree: u32, length: u16, size: u32, seed: u64) -> Self {
        Self::with(profile, true, degree, length, size, seed)
    }

    fn with(
        profile: Profile,
        has_join_key: bool,
        degree: u32,
        length: u16,
        size: u32,
        seed: u64,
    ) -> Self {
        let mut group = Self {
            profile,
            has_join_key,
            controller: Controller::new(profile, degree, length, has_join_key, 1),
            members: BTreeMap::new(),
            held: BTreeMap::new(),
            wraps: Vec::new(),
            group_keys: BTreeMap::new(),
            length,
            next_id: size,
            rng: ChaCha20Rng::seed_from_u64(seed),
        };
        let everybody: Vec<_> = (0..size).map(MemberId).collect();
        group.enroll(&everybody);
        group.command(Command::Create(&everybody));
        group
    }

    fn join(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.enroll(&[MemberId(id)]);
        self.command(Command::Add(MemberId(id)));
        id
    }

    fn evict(&mut self, id: u32) {
        self.members.remove(&id);
        self.command(Command::Remove(MemberId(id)));
    }

    fn enroll(&mut self, ids: &[MemberId]) {
        let degree = self.controller.lkh.tree.degree();
        for id in ids {
            let member = Member::new(self.profile, degree, self.length, self.has_join_key);
            self.members.insert(id.0, member);
        }
        self.command(Command::Enroll(ids));
    }

    /// Gives the controller a command and every member its messages. Records the keys that members
    /// then hold.
    fn command(&mut self, command: Command<'_>) {
        let mut outbox = Outbox::new();
        self.as_party(PartyId::Controller, &mut outbox, |group, cx| {
            cx.command(&mut group.controller, command).unwrap();
        });
        for message in outbox.messages() {
            if message.channel == Channel::Open {
                let body = &message.bytes[message.bytes.len() - message.body_bytes..];
                let kind = if matches!(command, Command::Create(_)) {
                    CREATION
                } else if message.to == Recipient::Group {
                    UPDATE
                } else {
                    KEYS
                };
                self.record(kind, Reader::new(body));
            }
            let ids: Vec<_> = self.members.keys().copied().collect();
            for id in ids.into_iter().filter(|&id| is_for(message.to, id)) {
                self.deliver(id, message.channel, message.bytes).unwrap();
            }
        }
        let Some((epoch, group_key)) = self.controller.group_key() else { return };
        self.group_keys.insert(epoch.0, group_key.clone());
        for (&id, member) in self.members.iter().filter(|(_, member)| member.group_key().is_some())
        {
            assert_eq!(member.group_key(), self.controller.group_key());
            let individual = member.membership.enrolment().unwrap().key.clone();
            let (_, held) = self.held.entry(id).or_insert((individual, BTreeMap::new()));
            let path = member.path.iter().map(|(_, key)| key.clone()).collect();
            held.insert(epoch.0, Holding { path, join_key: member.join_key.clone() });
        }
    }

    fn deliver(&mut self, id: u32, channel: Channel, bytes: &[u8]) -> Result<(), Error> {
        let mut result = Ok(());
        self.as_party(PartyId::Member(MemberId(id)), &mut Outbox::new(), |group, cx| {
            let member = group.members.get_mut(&id).unwrap();
            result = cx.deliver(member, channel, bytes);
        });
        result
    }

    /// Records the wrapped keys that an onlooker sees in a body.
    fn record(&mut self, kind: u8, mut body: Reader<'_>) {
        let epoch = self.controller.lkh.group.epoch.0;
        let join_keys = usize::from(self.has_join_key);
        let mut take = |label, bytes: &[u8], others| {
            self.wraps.push(Wrapped { epoch, label, bytes: bytes.to_vec(), others });
        };
        match kind {
            CREATION => {
                take(COMMANDS, body.bytes().unwrap(), 0);
                for record in body.bytes().unwrap().chunks(32 + 16 * join_keys) {
                    let label = u64::from_be_bytes(*record.first_chunk().unwrap());
                    take(label, &record[8..], join_keys);
                }
            }
            UPDATE => {
                assert!(body.number().is_ok());
                (0..3).for_each(|_| assert!(body.bytes().is_ok()));
            }
            _ => {
                assert!(body.bytes().is_ok() && body.array() == Ok(0));
                take(0, body.bytes().unwrap(), 1 + join_keys);
                return;
            }
        }
        for record in body.bytes().unwrap().chunks(32) {
            take(u64::from_be_bytes(*record.first_chunk().unwrap()), &record[8..], 0);
        }
    }

    /// Returns the epochs of `wanted` whose group keys these members get. They hash the keys that
    /// they held, open wraps with them, and try all keys that they have.
    fn pool(&mut self, members: &[u32], wanted: &[u64]) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        self.as_party(PartyId::Controller, &mut Outbox::new(), |group, cx| {
            found = group.pool_with(cx, members, wanted);
        });
        found
    }

    fn pool_with(&self, cx: &mut Context<'_>, members: &[u32], wanted: &[u64]) -> BTreeSet<u64> {
        // Keys, and how often each may be hashed, which is at most the length of a chain.
        let (mut keys, mut join_keys) = (Vec::new(), Vec::new());
        for id in members {
            let (individual, held) = &self.held[id];
            keys.push((individual.clone(), 0));
            for holding in held.values() {
                keys.extend(holding.path.iter().map(|key| (key.clone(), self.length)));
                join_keys.extend(holding.join_key.clone());
            }
        }
        let mut done = 0;
        let mut seen: BTreeSet<[u8; 16]> = BTreeSet::new();
        while let Some((key, hashes)) = keys.get(done).cloned() {
            done += 1;
            if !seen.insert(*key.as_bytes()) {
                continue;
            }
            if hashes > 0 {
                keys.push((step(cx, &key), hashes - 1));
            }
            for wrapped in &self.wraps {
                let mut opened = vec![Key::default(); (wrapped.bytes.len() - 8) / Key::BYTES];
                let epoch = Epoch(wrapped.epoch);
                let bytes = &wrapped.bytes[..];
                if cx.unwrap_keys(&key, epoch, wrapped.label, bytes, &mut opened).is_ok() {
                    let others = opened.split_off(opened.len() - wrapped.others);
                    join_keys.extend(others.into_iter().next().filter(|_| self.has_join_key));
                    keys.extend(opened.into_iter().map(|key| (key, self.length)));
                }
            }
        }
        let mut later = join_keys.clone();
        for _ in 0..self.group_keys.len() {
            later = later.iter().map(|key| next_join_key(cx, key)).collect();
            join_keys.extend(later.iter().cloned());
        }
        let join_keys: BTreeSet<_> = join_keys.iter().map(|key| Some(*key.as_bytes())).collect();
        let join_keys = if self.has_join_key { join_keys } else { BTreeSet::from([None]) };
        let mut found = BTreeSet::new();
        for &epoch in wanted {
            let is_it = |key: &[u8; 16], join_key: &Option<[u8; 16]>, cx: &mut Context<'_>| {
                let (key, join_key) = (Key::from_bytes(*key), join_key.map(Key::from_bytes));
                let tried = group_key(cx, self.profile, Epoch(epoch), &key, join_key.as_ref());
                tried == self.group_keys[&epoch]
            };
            if seen.iter().any(|key| join_keys.iter().any(|join_key| is_it(key, join_key, cx))) {
                found.insert(epoch);
            }
        }
        found
    }

    fn first_epoch(&self, id: u32) -> u64 {
        *self.held[&id].1.keys().next().unwrap()
    }

    fn last_epoch(&self, id: u32) -> u64 {
        *self.held[&id].1.keys().next_back().unwrap()
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

/// Returns both profiles, with J and without.
fn forms() -> impl Iterator<Item = (Profile, bool)> {
    Profile::ALL.into_iter().flat_map(|profile| [(profile, true), (profile, false)])
}

fn is_for(to: Recipient, id: u32) -> bool {
    to == Recipient::Group || to == Recipient::Member(MemberId(id))
}

/// The evicted member hashes J forward; the joining member hashes the root key back.
#[test]
fn an_evicted_member_and_a_newcomer_get_what_lies_between_as_published_only() {
    for profile in Profile::ALL {
        let mut group = Group::new(profile, 2, 14, 6, 1);
        group.evict(1);
        let evicted = group.held[&1].1.values().next_back().unwrap().clone();
        let first = group.last_epoch(1) + 1;
        for leaver in [2, 3] {
            group.join();
            group.evict(leaver);
            group.evict(group.next_id - 1);
        }
        let newcomer = group.join();
        let last = group.first_epoch(newcomer) - 1;
        assert_eq!(last - first, 6);
        let newcomers = group.held[&newcomer].1[&(last + 1)].clone();
        let both = |group: &mut Group, root_key: &Key, join_key: &Option<Key>| {
            let join_key = join_key.as_ref().unwrap();
            let mut found = 0;
            group.as_party(PartyId::Controller, &mut Outbox::new(), |group, cx| {
                for epoch in first..=last {
                    let mut root_keys = Vec::from([root_key.clone()]);
                    let mut join_keys = Vec::from([join_key.clone()]);
                    for turn in 0..7 {
                        root_keys.push(step(cx, &root_keys[turn]));
                        join_keys.push(next_join_key(cx, &join_keys[turn]));
                    }
                    let pairs =
                        root_keys.iter().flat_map(|key| join_keys.iter().map(move |j| (key, j)));
                    found += u32::from(pairs.into_iter().any(|(key, join_key)| {
                        let tried = group_key(cx, profile, Epoch(epoch), key, Some(join_key));
                        tried == group.group_keys[&epoch]
                    }));
                }
            });
            found
        };
        let (old_root, new_root) = (evicted.path.last(), newcomers.path.last());
        let (old_root, new_root) = (old_root.unwrap(), new_root.unwrap());
        let together = both(&mut group, new_root, &evicted.join_key);
        assert_eq!(together, if profile == Profile::Published { 7 } else { 0 });
        assert_eq!(both(&mut group, old_root, &evicted.join_key), 0, "the evicted member alone");
        assert_eq!(both(&mut group, new_root, &newcomers.join_key), 0, "the newcomer alone");
    }
}

/// Shows the purpose of J. A joining member hashes the root's key that it got back, as members do
/// to recognise a key. It makes group keys of the results as members do, with the J that it got if
/// there is one.
#[test]
fn a_newcomer_hashes_back_to_earlier_group_keys_without_a_join_key_as_published_only() {
    for (profile, has_join_key) in forms() {
        let mut group = Group::with(profile, has_join_key, 2, 14, 6, 3);
        for leaver in [1, 4] {
            group.evict(leaver);
            group.join();
        }
        let newcomer = group.join();
        let came = group.first_epoch(newcomer);
        let Holding { path, join_key } = group.held[&newcomer].1[&came].clone();
        let mut rolled_back = Vec::from([path.last().unwrap().clone()]);
        let mut found = BTreeSet::new();
        group.as_party(MemberId(newcomer).into(), &mut Outbox::new(), |group, cx| {
            for steps in 0..usize::from(group.length) {
                rolled_back.push(step(cx, &rolled_back[steps]));
            }
            for (&epoch, real) in &group.group_keys {
                let mut tried = rolled_back.iter().map(|root_key| {
                    group_key(cx, profile, Epoch(epoch), root_key, join_key.as_ref())
                });
                found.extend(tried.any(|key| key == *real).then_some(epoch));
            }
        });
        let is_broken = profile == Profile::Published && !has_join_key;
        let expected = if is_broken { (1..=came).collect() } else { BTreeSet::from([came]) };
        assert_eq!(found, expected, "{profile:?}, J: {has_join_key}");

        // All messages that were ever sent give it no more than that.
        let before: Vec<_> = (1..came).collect();
        let found = group.pool(&[newcomer], &before);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), if is_broken { before } else { vec![] });
    }
}

/// All parties that were not members in an epoch pool the keys that they ever held: the members
/// before the epoch, the members after it, and both.
#[test]
fn whoever_was_not_there_gets_nothing_except_both_sides_as_published() {
    for (profile, has_join_key) in forms() {
        let (mut found_by_both, mut found_after) = (0, 0);
        let groups = [(1, 2, 2), (3, 3, 2), (6, 3, 14)];
        let groups = if has_join_key { &groups[..] } else { &groups[1..2] };
        for &(seed, degree, length) in groups {
            let mut group = Group::with(profile, has_join_key, degree, length, 4, seed);
            for round in 0..16 {
                let place = (seed as usize * 7 + round * 5) % group.members.len();
                let someone = *group.members.keys().nth(place).unwrap();
                match (seed as usize + round) % 5 {
                    0 | 2 if group.members.len() < 8 => drop(group.join()),
                    _ if group.members.len() > 2 => group.evict(someone),
                    _ => drop(group.join()),
                }
            }
            let epochs: Vec<_> = group.group_keys.keys().copied().collect();
            for epoch in epochs {
                let everybody: Vec<_> = group.held.keys().copied().collect();
                let is_before = |id: &u32| group.last_epoch(*id) < epoch;
                let is_after = |id: &u32| group.first_epoch(*id) > epoch;
                let before: Vec<_> = everybody.iter().copied().filter(is_before).collect();
                let after: Vec<_> = everybody.iter().copied().filter(is_after).collect();
                let both = [&before[..], &after].concat();
                assert!(group.pool(&before, &[epoch]).is_empty(), "evicted before {epoch}");
                let found = group.pool(&after, &[epoch]);
                assert!(found.is_empty() || !has_join_key, "came after {epoch}");
                found_after += found.len();
                found_by_both += group.pool(&both, &[epoch]).len();
            }
        }
        if profile == Profile::Sound {
            // This holds without J, too, because a join begins new chains.
            assert_eq!((found_by_both, found_after), (0, 0));
        } else {
            assert!(found_by_both > 10, "{found_by_both}");
            assert_eq!(found_after > 10, !has_join_key, "{found_after}");
        }
    }
}

/// The pool of the test above can do what members can: a member of an epoch gets its key.
#[test]
fn the_pool_opens_what_members_open() {
    for (profile, has_join_key) in forms() {
        let mut group = Group::with(profile, has_join_key, 2, 3, 5, 9);
        for leaver in [0, 3] {
            group.join();
            group.evict(leaver);
        }
        // This uses only the individual key and the messages since the creation.
        let (_, held) = group.held.get_mut(&1).unwrap();
        held.clear();
        let wanted: Vec<_> = group.group_keys.keys().copied().collect();
        assert!(group.pool(&[1], &wanted).contains(&1));
        let (_, held) = &group.held[&2];
        assert_eq!(held.len(), wanted.len());
        assert_eq!(group.pool(&[2], &wanted).len(), wanted.len());
    }
}

/// An insider knows the keys under which updates are sent, but no pre-image of a key or command.
#[test]
fn keys_and_commands_to_which_no_chain_leads_are_refused() {
    for (profile, has_join_key) in forms() {
        let mut group = Group::with(profile, has_join_key, 2, 3, 4, 2);
        let (root, root_key) = group.members[&0].path.last().unwrap().clone();
        let (epoch, own) = (group.controller.lkh.group.epoch.next(), Key::from_bytes([7; 16]));
        let genuine = group.members[&0].command.clone();
        for (operation, levels, command) in [
            (Operation::Remove, &[][..], None),
            (Operation::Remove, &[root.level], Some(&own)),
            (Operation::Add, &[root.level], Some(&own)),
            (Operation::Add, &[], Some(&own)),
            (Operation::Add, &[root.level], Some(&genuine)),
        ] {
            let mut outbox = Outbox::new();
            group.as_party(PartyId::Controller, &mut outbox, |_, cx| {
                let mut records = Vec::new();
                record(cx, epoch, (root, &root_key), (root, &own), &mut records);
                // The forger has made the key, so it can confirm it, too.
                let confirmation = Confirmation::of(cx, profile, epoch, &own);
                let mut draft = cx.draft(Recipient::Group, epoch, operation, UPDATE);
                let command = command.map_or(&[][..], |command| command.as_bytes());
                draft.number(3).bytes(levels).bytes(command).bytes(&[]).bytes(&records);
                confirmation.write(&mut draft);
                draft.send();
            });
            let forged = outbox.messages().next().unwrap().bytes;
            let refused = group.deliver(0, Channel::Open, forged);
            assert_eq!(refused, Err(Misbehaviour::Forged.into()), "{operation:?} {levels:?}");
        }
        group.evict(3);
    }
}

#[test]
fn an_answer_must_follow_from_what_its_receiver_holds() {
    for (profile, has_join_key) in forms() {
        let mut group = Group::with(profile, has_join_key, 2, 14, 5, 3);
        // Member 0 misses two removals.
        let sleeper = group.members.remove(&0).unwrap();
        group.evict(3);
        group.evict(2);
        group.members.insert(0, sleeper);
        let (member, mut outbox) = (MemberId(0), Outbox::new());
        group.as_party(member.into(), &mut outbox, |group, cx| {
            cx.command(group.members.get_mut(&0).unwrap(), Command::CatchUp).unwrap();
        });
        let request = outbox.messages().next().unwrap().bytes.to_vec();
        let genuine = group.controller.lkh.tree.root(&group.controller.lkh.group.roster);
        for change in [true, false] {
            let mut outbox = Outbox::new();
            group.as_party(PartyId::Controller, &mut outbox, |group, cx| {
                let forged = Key::from_bytes([7; 16]);
                let tree = &mut group.controller.lkh.tree;
                let kept = change.then(|| tree.set_key(genuine, forged));
                cx.deliver(&mut group.controller, Channel::Open, &request).unwrap();
                if let Some(kept) = kept {
                    group.controller.lkh.tree.set_key(genuine, kept);
                }
            });
            let answer = outbox.messages().next().unwrap().bytes;
            let taken = group.deliver(0, Channel::Open, answer);
            let expected = if change { Err(Misbehaviour::Forged.into()) } else { Ok(()) };
            assert_eq!(taken, expected);
        }
        assert_eq!(group.members[&0].group_key(), group.controller.group_key());
    }
}
