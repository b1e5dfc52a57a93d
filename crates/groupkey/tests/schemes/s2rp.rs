//! S2RP costs what the header of its file says: messages, wrapped keys and hashes, at the controller
//! and at every member, through chains that are used up, in trees with holes. What is due is counted
//! on sets of slots and on used keys, without the library's tree and chains.

use std::collections::BTreeMap;

use groupkey::PartyId::Controller;
use groupkey::catalogue::{ParameterError, Profile, scheme};
use groupkey::{MemberId, Recipient};
use groupkey_testkit::rig::{Rig, Settings};

use crate::schemes::counts::{hashes, permanent, unwraps, wraps};
use crate::schemes::slots::{Node, Slots, count_above, key_nodes, lowest_free, occupied_children};

#[test]
fn complete_trees_cost_what_the_formulas_say() {
    for (degree, height) in [(2u32, 1), (2, 2), (2, 4), (2, 6), (3, 2), (3, 4), (4, 2), (4, 3)] {
        let n = degree.pow(height);
        let key_nodes = (n - 1) / (degree - 1);
        for (profile, joins) in forms() {
            let sound = profile == Profile::Sound;
            let settings = settings(profile, degree, 14, joins, 0);
            let mut rig = Rig::new(scheme("s2rp").unwrap(), settings.clone());
            let created = rig.create(n).unwrap();
            assert_eq!(created.messages.iter().filter(|m| m.to == Recipient::Group).count(), 1);
            assert_eq!(wraps(&created, Controller), (n + key_nodes, n + joins * n + key_nodes));
            assert_eq!(hashes(&created, Controller), (key_nodes + 1) * 14);
            assert_eq!(unwraps(&created, MemberId(0)), (height + 1, height + 1 + joins));
            assert_eq!(permanent(&rig, MemberId(0)), 16 * (height + 3 + joins));
            if n > 2 {
                let removed = rig.remove(n - 1).unwrap();
                let by_key = if degree == 2 { 2 * (height - 1) } else { degree * height - 1 };
                assert_eq!(wraps(&removed, Controller).1, by_key, "{degree}^{height}");
            }

            // One joins who completes the tree; in the binary one it is a node's second child.
            let mut rig = Rig::new(scheme("s2rp").unwrap(), settings);
            rig.create(n - u32::from(n > 2)).unwrap();
            if n > 2 {
                let added = rig.add(n).unwrap();
                let opened = u32::from(degree == 2);
                let anchors = if sound { height } else { opened };
                assert_eq!(wraps(&added, Controller), (1 + anchors, height + 1 + joins + anchors));
                // The first command is one below the top of 14, less one.
                assert_eq!(hashes(&added, Controller), 14 * anchors + joins + 13);
                assert_eq!(unwraps(&added, MemberId(n)), (1, height + 1 + joins));
                assert_eq!(hashes(&added, MemberId(0)), 1 + joins);
            }
        }
    }
}

#[test]
fn histories_cost_what_their_shape_and_their_chains_say() {
    let (mut anchors, mut renewals) = (0, 0);
    for (profile, joins) in forms() {
        for degree in [2, 3, 4] {
            for length in [2, 3, 14] {
                for (stored, n) in [(0, 2), (1, 3), (2, 9), (0, 10), (2, 17), (1, 23), (0, 64)] {
                    let settings = settings(profile, degree, length, joins, stored);
                    let mut history = History::create(settings, n);
                    for round in 0..30 {
                        history.step(round);
                    }
                    anchors += history.root_anchors;
                    renewals += history.renewals;
                }
            }
        }
    }
    assert!(anchors > 100 && renewals > 100, "chains of the root and of commands were used up");
}

#[test]
fn long_chains_serve_many_removals() {
    for (profile, joins) in forms() {
        for stored in [0, 1, 2] {
            let mut history = History::create(settings(profile, 2, 4096, joins, stored), 5);
            for round in 0..10 {
                history.step(round);
            }
            assert_eq!(history.renewals, 0);
        }
    }
}

/// The join key is there unless somebody does without it.
#[test]
fn the_join_key_is_there_or_not() {
    for profile in Profile::ALL {
        let scheme = scheme("s2rp").unwrap();
        let parameter =
            scheme.parameters.iter().find(|parameter| parameter.name == "join-key").unwrap();
        let mut configuration = scheme.configuration(profile);
        assert_eq!(configuration.value(parameter), 1);
        let refused = configuration.set(parameter.name, 2);
        assert_eq!(refused, Err(ParameterError::OutOfRange { range: (0, 1) }));
    }
}

/// A group, and beside it what is known of its shape and chains.
struct History {
    rig: Rig,
    profile: Profile,
    degree: u32,
    length: u32,
    /// 1 if there is a join key.
    joins: u32,
    stored: u32,
    slots: Slots,
    /// By width and index of key nodes: which chain it has, and how many keys of it were given out.
    chains: BTreeMap<Node, (u32, u32)>,
    commands_used: u32,
    chains_begun: u32,
    /// How often the chain of the root, and that of commands, was replaced because it was used up.
    root_anchors: u32,
    renewals: u32,
    next_id: u32,
}

impl History {
    fn create(settings: Settings, n: u32) -> Self {
        let profile = settings.profile;
        let [degree, length, joins, stored] = settings.parameters[..] else { unreachable!() };
        let [degree, length, joins, stored] = [degree, length, joins, stored].map(|(_, it)| it);
        let mut rig = Rig::new(scheme("s2rp").unwrap(), settings);
        let created = rig.create(n).unwrap();
        let mut history = Self {
            rig,
            profile,
            degree,
            length,
            joins,
            stored,
            slots: (0..n).map(|member| (member, member)).collect(),
            chains: BTreeMap::new(),
            commands_used: 0,
            chains_begun: 0,
            root_anchors: 0,
            renewals: 0,
            next_id: n,
        };
        for slot in 0..n {
            for node in history.path(slot) {
                history.chains.entry(node).or_insert((0, 0));
            }
        }
        let k = history.chains.len() as u32;
        let leaves = if stored == 2 { n } else { 0 };
        assert_eq!(wraps(&created, Controller), (n + k, n + joins * n + k));
        assert_eq!(hashes(&created, Controller), (k + 1 + leaves) * length);
        for member in 0..n {
            let p = history.path(member).len() as u32;
            assert_eq!(unwraps(&created, MemberId(member)), (p + 1, p + 1 + joins));
            assert_eq!(hashes(&created, MemberId(member)), 0);
        }
        history.check_footprints();
        history
    }

    fn step(&mut self, round: u32) {
        match round % 7 {
            0 | 3 => self.add(),
            5 => self.sleep_through_some(round),
            _ if self.slots.len() > 2 => self.remove(round * 5 + 1),
            _ => self.add(),
        }
        self.check_footprints();
        assert!(!self.rig.outsider_knows_key());
    }

    fn add(&mut self) {
        let newcomer = self.next_id;
        self.next_id += 1;
        let slot = lowest_free(&self.slots);
        let before = self.slots.clone();
        let old = self.path(slot);
        self.slots.insert(newcomer, slot);
        let path = self.path(slot);
        let h = path.len() as u32;
        let due = |node: &Node| self.profile == Profile::Sound || !old.contains(node);
        let anchored: Vec<_> = path.into_iter().filter(due).collect();
        for &node in &anchored {
            self.begin_chain(node);
        }
        let leaf = if self.stored == 2 { self.length } else { 0 };
        let (command_hashes, renewed) = self.reveal();
        let anchors = anchored.len() as u32;

        let added = self.rig.add(newcomer).unwrap();
        assert_eq!(added.open_messages().count(), 2);
        let keys = h + 1 + self.joins;
        assert_eq!(wraps(&added, Controller), (1 + anchors + renewed, keys + anchors + renewed));
        let expected = anchors * self.length + leaf + self.joins + command_hashes;
        assert_eq!(hashes(&added, Controller), expected);
        assert_eq!(unwraps(&added, MemberId(newcomer)), (1, keys));
        assert_eq!(hashes(&added, MemberId(newcomer)), 0);
        for (&member, &slot) in before.iter().filter(|(member, _)| self.is_awake(**member)) {
            let opened = count_above(&anchored, slot);
            assert_eq!(unwraps(&added, MemberId(member)), (opened + renewed, opened + renewed));
            assert_eq!(hashes(&added, MemberId(member)), 1 + self.joins);
        }
        self.rig.agreed_key().unwrap();
    }

    fn remove(&mut self, place: u32) {
        let place = place as usize % self.slots.len();
        let leaver = *self.slots.keys().nth(place).unwrap();
        let slot = self.slots[&leaver];
        let before = self.path(slot);
        self.slots.remove(&leaver);
        let mut path = self.path(slot);
        for node in before.iter().filter(|node| !path.contains(node)) {
            self.chains.remove(node);
        }
        let children = |&node: &Node| occupied_children(&self.slots, self.degree, node);
        let mut wrapped = path.iter().map(children).sum();
        let root = *self.path(*self.slots.values().next().unwrap()).last().unwrap();
        if path.is_empty() {
            path.push(root);
            wrapped = 1;
        }
        let (mut controller_hashes, mut anchored) = (0, Vec::new());
        for &node in &path {
            let (_, used) = self.chains.get_mut(&node).unwrap();
            if *used == self.length {
                anchored.push(node);
                self.begin_chain(node);
                controller_hashes += self.length;
            } else {
                *used += 1;
                controller_hashes += if self.stored > 0 { 0 } else { self.length - *used };
            }
        }
        self.root_anchors += u32::from(anchored.contains(&root));
        let mut renewed = 0;
        if !anchored.is_empty() {
            let (command_hashes, last) = self.reveal();
            controller_hashes += command_hashes;
            renewed = last;
        }

        let removed = self.rig.remove(leaver).unwrap();
        assert_eq!(removed.open_messages().count(), 1);
        assert_eq!(wraps(&removed, Controller), (wrapped + renewed, wrapped + renewed));
        assert_eq!(hashes(&removed, Controller), controller_hashes);
        for (&member, &slot) in self.slots.iter().filter(|(member, _)| self.is_awake(**member)) {
            let (opened, unchecked) = (count_above(&path, slot), count_above(&anchored, slot));
            assert_eq!(unwraps(&removed, MemberId(member)), (opened + renewed, opened + renewed));
            let command = u32::from(!anchored.is_empty());
            let expected = opened - unchecked + command;
            assert_eq!(hashes(&removed, MemberId(member)), expected);
        }
        self.rig.agreed_key().unwrap();
    }

    /// A member comes back with one request, and recognises every key whose chain it knew.
    fn sleep_through_some(&mut self, round: u32) {
        let sleeper = *self.slots.keys().next().unwrap();
        let slot = self.slots[&sleeper];
        let known = self.chains.clone();
        let had: Vec<_> = self.path(slot);
        self.rig.sleep(sleeper);
        self.asleep_do(round);
        let caught_up = self.rig.catch_up(sleeper).unwrap();
        let path = self.path(slot);
        let keys = path.len() as u32 + 1 + self.joins;
        assert_eq!(caught_up.open_messages().count(), 2);
        assert_eq!(wraps(&caught_up, Controller), (1, keys));
        assert_eq!(unwraps(&caught_up, MemberId(sleeper)), (1, keys));
        assert_eq!(hashes(&caught_up, Controller), 0);
        let steps = path.iter().filter(|node| had.contains(node)).map(|node| {
            let ((then, used), (now, used_now)) = (known[node], self.chains[node]);
            if then == now { used_now - used } else { 0 }
        });
        assert_eq!(hashes(&caught_up, MemberId(sleeper)), steps.sum::<u32>());
        self.rig.agreed_key().unwrap();
    }

    /// Others join and leave; the first member is asleep.
    fn asleep_do(&mut self, round: u32) {
        self.add();
        for turn in 0..3 {
            let others = self.slots.len() as u32 - 1;
            if others > 2 {
                self.remove(1 + (round * 3 + turn) % others);
            }
        }
        if round.is_multiple_of(2) {
            self.add();
        }
    }

    fn is_awake(&self, member: u32) -> bool {
        let own = self.rig.key_of(MemberId(member).into());
        own.is_some() && own == self.rig.key_of(Controller)
    }

    fn begin_chain(&mut self, node: Node) {
        self.chains_begun += 1;
        self.chains.insert(node, (self.chains_begun, 0));
    }

    /// The controller's hashes for the next command, and whether there is a new chain of them.
    fn reveal(&mut self) -> (u32, u32) {
        self.commands_used += 1;
        let hashes = if self.stored > 0 { 0 } else { self.length - self.commands_used };
        if self.commands_used < self.length {
            return (hashes, 0);
        }
        self.commands_used = 0;
        self.renewals += 1;
        (hashes + self.length, 1)
    }

    fn check_footprints(&self) {
        let room = if self.stored > 0 { self.length } else { 1 };
        let (n, k) = (self.slots.len() as u32, self.chains.len() as u32);
        let leaves = if self.stored == 2 { n * room } else { 0 };
        let keys = n + k * (room + 1) + leaves + room + 2 + self.joins;
        assert_eq!(permanent(&self.rig, Controller), 16 * keys);
        for (&member, &slot) in &self.slots {
            let path = self.path(slot).len() as u32;
            assert_eq!(permanent(&self.rig, MemberId(member)), 16 * (path + 3 + self.joins));
        }
    }

    fn path(&self, slot: u32) -> Vec<Node> {
        key_nodes(&self.slots, self.degree, slot)
    }
}

/// Both profiles, with a join key and without.
fn forms() -> impl Iterator<Item = (Profile, u32)> {
    Profile::ALL.into_iter().flat_map(|profile| [(profile, 1), (profile, 0)])
}

fn settings(profile: Profile, degree: u32, length: u32, joins: u32, stored: u32) -> Settings {
    let parameters =
        vec![("degree", degree), ("chain", length), ("join-key", joins), ("stored", stored)];
    Settings { profile, parameters, ..Settings::default() }
}
