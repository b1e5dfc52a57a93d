//! Attacks in which evicted and joining members combine what they know of a group's traffic. In the
//! published form they get the keys of the epochs between, in the sound form nothing.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::{format, vec};
use core::ops::Range;

use groupkey_testkit::sample;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::*;
use crate::context::Setting;
use crate::crypto::Suite;
use crate::identity::{GroupId, MemberId, PartyId};
use crate::outbox::Outbox;
use crate::party::Command;
use crate::protection::Protection;

/// A group, and all that its members can remember of it.
struct Group {
    profile: Profile,
    controller: Controller,
    members: BTreeMap<u32, Member>,
    rng: ChaCha20Rng,
    /// By epoch: the group key, which no attacker gets, and in `records` the wrapped blinded
    /// secrets by node, which every member gets.
    keys: Vec<Key>,
    records: Vec<BTreeMap<u32, Vec<u8>>>,
    /// The members of each epoch, and the secrets that they held.
    memories: Vec<BTreeMap<u32, Memory>>,
}

#[derive(Clone)]
struct Memory {
    slot: u32,
    leaf: Key,
    blinded: List<(u8, Key)>,
}

impl Group {
    fn new(profile: Profile, size: u32) -> Self {
        let mut group = Self {
            profile,
            controller: Controller::new(profile),
            members: BTreeMap::new(),
            rng: ChaCha20Rng::seed_from_u64(1),
            keys: vec![Key::default()],
            records: vec![BTreeMap::new()],
            memories: vec![BTreeMap::new()],
        };
        let everybody: Vec<_> = (0..size).map(MemberId).collect();
        group.members = (0..size).map(|id| (id, Member::new(profile))).collect();
        group.command(Command::Enroll(&everybody));
        group.command(Command::Create(&everybody));
        group.remember();
        group
    }

    fn add(&mut self, id: u32) {
        self.members.insert(id, Member::new(self.profile));
        self.command(Command::Enroll(&[MemberId(id)]));
        self.command(Command::Add(MemberId(id)));
        self.remember();
    }

    fn evict(&mut self, id: u32) {
        self.members.remove(&id);
        self.command(Command::Remove(MemberId(id)));
        self.remember();
    }

    /// Returns the current epoch.
    fn now(&self) -> usize {
        self.keys.len() - 1
    }

    fn command(&mut self, command: Command<'_>) {
        let mut outbox = Outbox::new();
        self.as_party(PartyId::Controller, &mut outbox, |group, cx| {
            cx.command(&mut group.controller, command).unwrap();
        });
        for message in outbox.messages() {
            let ids: Vec<_> = self.members.keys().copied().collect();
            for id in ids {
                let me = MemberId(id);
                if matches!(message.to, Recipient::Member(other) if other != me) {
                    continue;
                }
                self.as_party(me.into(), &mut Outbox::new(), |group, cx| {
                    let member = group.members.get_mut(&id).unwrap();
                    cx.deliver(member, message.channel, message.bytes).unwrap();
                });
            }
            if message.to == Recipient::Group {
                let start = message.bytes.len() - message.body_bytes;
                let mut body = Reader::new(&message.bytes[start..]);
                body.number32().unwrap();
                body.bytes().unwrap();
                let records = body.bytes().unwrap().chunks(28).map(|record| {
                    let (node, wrapped) = record.split_first_chunk().unwrap();
                    (u32::from_be_bytes(*node), wrapped.to_vec())
                });
                self.records.push(records.collect());
            }
        }
    }

    fn remember(&mut self) {
        let (epoch, key) = self.controller.group_key().unwrap();
        assert_eq!(epoch.0 as usize, self.keys.len());
        self.keys.push(key.clone());
        let memories = self.members.iter().map(|(&id, member)| {
            assert_eq!(member.group_key(), Some((epoch, key)));
            let slot = member.membership.enrolment().unwrap().slot;
            (id, Memory { slot, leaf: member.leaf.clone(), blinded: member.blinded.clone() })
        });
        self.memories.push(memories.collect());
    }

    fn as_party<R>(
        &mut self,
        me: PartyId,
        outbox: &mut Outbox,
        act: impl FnOnce(&mut Self, &mut Context<'_>) -> R,
    ) -> R {
        let mut rng = self.rng.clone();
        let mut probe = ();
        let protection = Protection::None;
        let setting = Setting::new(GroupId(0), Suite::Standard);
        let mut cx = Context::new(setting, me, protection, &mut rng, 0, outbox, &mut probe);
        let result = act(self, &mut cx);
        self.rng = rng;
        result
    }

    fn is_outside(&self, id: u32, epoch: usize) -> bool {
        !self.memories[epoch].contains_key(&id)
    }

    fn epochs_of(&self, id: u32) -> Range<usize> {
        let mut epochs = (1..=self.now()).filter(|&epoch| self.memories[epoch].contains_key(&id));
        let first = epochs.next().unwrap();
        first..epochs.next_back().unwrap_or(first) + 1
    }

    /// Returns whether these parties together can compute an epoch's group key from all that they
    /// ever held and all that was ever broadcast.
    fn is_broken(&mut self, coalition: &[u32], epoch: usize) -> bool {
        self.as_party(PartyId::Controller, &mut Outbox::new(), |group, cx| {
            Pool::new(group, coalition, epoch).finds_group_key(cx)
        })
    }
}

/// The secrets that a coalition may know of the tree in one epoch. They are candidates: a secret
/// that was renewed elsewhere still looks valid where it did not change. A secret is only ever
/// computed from both halves, so nothing can be learnt downwards.
struct Pool<'g> {
    group: &'g Group,
    epoch: usize,
    secrets: BTreeMap<Node, BTreeSet<[u8; 16]>>,
    blinded: BTreeMap<Node, BTreeSet<[u8; 16]>>,
}

impl<'g> Pool<'g> {
    const HEIGHT: u8 = 4;

    fn new(group: &'g Group, coalition: &[u32], epoch: usize) -> Self {
        let (secrets, blinded) = (BTreeMap::new(), BTreeMap::new());
        let mut pool = Self { group, epoch, secrets, blinded };
        for (learnt, memories) in group.memories.iter().enumerate() {
            for memory in coalition.iter().filter_map(|id| memories.get(id)) {
                let leaf = Node::leaf(memory.slot);
                pool.secrets.entry(leaf).or_default().insert(*memory.leaf.as_bytes());
                for (level, value) in &memory.blinded {
                    pool.learn(half_beside(memory.slot, *level), learnt, value);
                }
            }
        }
        pool
    }

    /// Notes a half's blinded secret, unless messages show that the epoch had another one.
    fn learn(&mut self, half: Node, learnt: usize, value: &Key) {
        let (from, to) = (learnt.min(self.epoch), learnt.max(self.epoch));
        let mut since = self.group.records[from + 1..=to].iter();
        if since.all(|records| !records.contains_key(&half.id())) {
            self.blinded.entry(half).or_default().insert(*value.as_bytes());
        }
    }

    /// Computes all secrets that follow, level by level. Returns whether they give the group key.
    fn finds_group_key(&mut self, cx: &mut Context<'_>) -> bool {
        for level in 0..=Self::HEIGHT {
            for index in 0..1 << (Self::HEIGHT - level) {
                self.complete(cx, Node { level, index });
            }
            for index in 0..1 << (Self::HEIGHT - level) {
                self.open(cx, Node { level, index });
            }
        }
        let epoch = Epoch(self.epoch as u64);
        let mut roots = self.secrets.values().flatten().copied();
        roots
            .any(|root| group_key(cx, epoch, &Key::from_bytes(root)) == self.group.keys[self.epoch])
    }

    /// Computes a node's secret. It is the secret of the only half, or follows from both halves.
    fn complete(&mut self, cx: &mut Context<'_>, node: Node) {
        let mut found = self.secrets.remove(&node).unwrap_or_default();
        if node.level > 0 {
            let halves =
                [0, 1].map(|side| Node { level: node.level - 1, index: 2 * node.index + side });
            found.extend(halves.iter().filter_map(|half| self.secrets.get(half)).flatten());
            let [left, right] = halves.map(|half| self.blinded.get(&half));
            for left in left.into_iter().flatten() {
                for right in right.into_iter().flatten() {
                    let secret = cx.xor(&Key::from_bytes(*left), &Key::from_bytes(*right));
                    found.insert(*secret.as_bytes());
                }
            }
        }
        let blinded = found.iter().map(|secret| *blind(cx, &Key::from_bytes(*secret)).as_bytes());
        self.blinded.entry(node).or_default().extend(blinded);
        self.secrets.insert(node, found);
    }

    /// Opens with a node's secret all messages that were ever sent to the members below it.
    fn open(&mut self, cx: &mut Context<'_>, node: Node) {
        let other = Node { index: node.index ^ 1, ..node };
        let group = self.group;
        for secret in self.secrets[&node].clone() {
            let kek = wrapping_key(cx, &Key::from_bytes(secret));
            for (sent, records) in group.records.iter().enumerate() {
                let Some(wrapped) = records.get(&other.id()) else { continue };
                let epoch = Epoch(sent as u64);
                if let Ok(value) = cx.unwrap_key(&kek, epoch, label(other), wrapped) {
                    self.learn(other, sent, &value);
                }
            }
        }
    }
}

/// Members 0 to 3 and 4 to 7 are the root's halves. Member 1 leaves, so that the first half has a
/// place. Member 5 is evicted, and member 8 joins. Returns the epoch without both 5 and 8.
fn evict_and_add(profile: Profile) -> (Group, usize) {
    let mut group = Group::new(profile, 8);
    group.evict(1);
    group.evict(5);
    let between = group.now();
    group.add(8);
    let slot = group.memories[group.now()][&8].slot;
    assert_eq!(slot, 1, "the lowest free slot");
    (group, between)
}

#[test]
fn evicted_member_and_newcomer_have_the_key_between_as_published() {
    for profile in Profile::ALL {
        let (mut group, between) = evict_and_add(profile);
        let evicted = group.memories[between - 1][&5].blinded.last().unwrap().1.clone();
        let newcomer = group.memories[between + 1][&8].blinded.last().unwrap().1.clone();
        let key = group.as_party(PartyId::Controller, &mut Outbox::new(), |_, cx| {
            let root = cx.xor(&evicted, &newcomer);
            group_key(cx, Epoch(between as u64), &root)
        });
        assert_eq!(key == group.keys[between], profile == Profile::Published);
        assert_eq!(group.is_broken(&[5, 8], between), profile == Profile::Published);
        for alone in [5, 8] {
            assert!(!group.is_broken(&[alone], between), "{alone} alone");
        }
    }
}

#[test]
fn a_newcomer_in_the_place_of_the_evicted_member_adds_nothing() {
    for profile in Profile::ALL {
        for leaver in 0..8 {
            let mut group = Group::new(profile, 8);
            group.evict(leaver);
            let between = group.now();
            group.add(8);
            assert!(!group.is_broken(&[leaver, 8], between), "{leaver}");
        }
    }
}

/// Tries all pairs, and some larger coalitions, of the parties that were ever in a group with a
/// random history. As published, a coalition succeeds only if one party left before the epoch and
/// another joined after it.
#[test]
fn coalitions_get_the_key_of_an_epoch_outside_in_the_published_form_only() {
    for profile in Profile::ALL {
        let mut broken = 0;
        for seed in sample::one_in(6, 0..6) {
            let (mut group, ids) = random_history(profile, seed);
            let pairs = (0..ids).flat_map(|a| (0..a).map(move |b| vec![a, b]));
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let larger = (0..12).map(|_| {
                let chosen: BTreeSet<_> = (0..4).map(|_| rng.next_u32() % ids).collect();
                chosen.into_iter().collect()
            });
            for coalition in pairs.chain(larger.collect::<Vec<_>>()) {
                for epoch in 1..=group.now() {
                    let outside = coalition.iter().all(|&id| group.is_outside(id, epoch));
                    let is_broken = group.is_broken(&coalition, epoch);
                    let context = format!("{profile:?}, seed {seed}: {coalition:?} in {epoch}");
                    if !outside {
                        assert!(is_broken, "{context}: who was in must find the key");
                    } else if is_broken {
                        broken += 1;
                        assert_eq!(profile, Profile::Published, "{context}");
                        let memberships = || coalition.iter().map(|&id| group.epochs_of(id));
                        assert!(memberships().any(|epochs| epochs.end <= epoch), "{context}");
                        assert!(memberships().any(|epochs| epochs.start > epoch), "{context}");
                    }
                }
            }
        }
        assert_eq!(broken > 0, profile == Profile::Published, "{broken}");
    }
}

/// Returns a group that starts with six members, and the number of members that it ever had.
fn random_history(profile: Profile, seed: u64) -> (Group, u32) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut group = Group::new(profile, 6);
    let mut ids = 6;
    for _ in 0..9 {
        let members = group.members.len();
        if members > 3 && rng.next_u32() % 5 < 3 {
            let place = rng.next_u32() as usize % members;
            let leaver = *group.members.keys().nth(place).unwrap();
            group.evict(leaver);
        } else {
            group.add(ids);
            ids += 1;
        }
    }
    (group, ids)
}
