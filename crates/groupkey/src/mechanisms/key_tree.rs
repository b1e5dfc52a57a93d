//! The shape and the keys of a logical key tree, in flat arrays.
//!
//! Level 0 holds the members' slots. The node `index` of level `l` is above the slots
//! `index * degree^l` to `(index + 1) * degree^l - 1`. So a member knows its ancestors from its
//! slot alone, and a tree grows by a level on top without moving a member. Nothing is allocated per
//! node.
//!
//! Only a node with at least two occupied children has a key. If evictions leave a node with one
//! child, its key is dropped and the child takes its place (contraction). If a join gives it a
//! second child, it gets a key again. Trees with holes therefore cost no more than trees without.
//! No member has to move to keep a tree low: a path has a key node only where it forks, and the
//! lowest free slot is taken first. So the tree is never higher than its largest group needed.

pub(crate) mod path_update;
pub(crate) mod whole_tree;

use alloc::vec::Vec;

use crate::error::Error;
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::mechanisms::key_server::slot_index::room_for;
use crate::party::{KeyFingerprint, KeyNode};
use crate::saved_state::{Saved, SavedState, require};
use crate::secret::{Key, List};
use crate::wire::Reader;

/// More levels than a tree of 2^27 slots has.
pub(crate) const LEVELS: usize = 32;

/// A place in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Node {
    pub(crate) level: u8,
    pub(crate) index: u32,
}

#[derive(Debug)]
pub(crate) struct KeyTree {
    degree: u32,
    /// Whether the keys are stored here. Otherwise they are elsewhere and the tree is only a shape.
    stores_keys: bool,
    /// Level `l` of the tree is `levels[l - 1]`; level 0 is the roster.
    levels: Vec<Level>,
}

/// Nodes in the order of their ids, and the place of each.
#[derive(Debug, Default)]
pub(crate) struct NodeIndex {
    nodes: Vec<Node>,
    level_starts: Vec<usize>,
}

#[derive(Debug, Default)]
struct Level {
    /// Number of members below each node.
    occupancy: Vec<u32>,
    /// Whether a node has at least two occupied children, and so a key.
    keyed: Vec<bool>,
    /// The keys of those nodes; the others are zero. Empty if the tree is only a shape.
    keys: List<Key>,
}

impl Node {
    const INDEX_BITS: u32 = 27;

    pub(crate) const fn leaf(slot: u32) -> Self {
        Self { level: 0, index: slot }
    }

    pub(crate) fn above(slot: u32, level: u8, degree: u32) -> Self {
        Self { level, index: slot / degree.saturating_pow(u32::from(level)) }
    }

    pub(crate) fn is_above(self, slot: u32, degree: u32) -> bool {
        Self::above(slot, self.level, degree) == self
    }

    /// The node's number in messages: level in the upper 5 bits, index in the lower 27.
    pub(crate) const fn id(self) -> u32 {
        (self.level as u32) << Self::INDEX_BITS | self.index
    }

    pub(crate) const fn from_id(id: u32) -> Self {
        Self { level: (id >> Self::INDEX_BITS) as u8, index: id & ((1 << Self::INDEX_BITS) - 1) }
    }

    fn child_places(self, degree: u32) -> impl Iterator<Item = Self> {
        let first = self.index * degree;
        (first..first + degree).map(move |index| Self { level: self.level - 1, index })
    }
}

impl KeyTree {
    pub(crate) const fn new(degree: u32) -> Self {
        Self { degree, stores_keys: true, levels: Vec::new() }
    }

    /// An empty tree that knows which nodes have keys, but holds no keys.
    pub(crate) const fn shape(degree: u32) -> Self {
        Self { degree, stores_keys: false, levels: Vec::new() }
    }

    /// The maximum number of children of a node.
    pub(crate) const fn degree(&self) -> u32 {
        self.degree
    }

    /// Adds all current members of the roster at once. The tree must be empty.
    pub(crate) fn fill(&mut self, roster: &SlotRoster) {
        let slots = 0..roster.slots() as u32;
        let mut below: Vec<u32> = slots.map(|slot| u32::from(roster.is_joined(slot))).collect();
        while below.len() > 1 {
            self.add_level(&below);
            below = self.levels.last().map_or_else(Vec::new, |level| level.occupancy.clone());
        }
    }

    /// Adds a level on top of these nodes, which are given by their numbers of members.
    fn add_level(&mut self, below: &[u32]) {
        let degree = self.degree as usize;
        let mut level = Level::with_room_for(below.len().div_ceil(degree), self.stores_keys);
        for children in below.chunks(degree) {
            let occupied = children.iter().filter(|&&members| members > 0).count();
            level.occupancy.push(children.iter().sum());
            level.keyed.push(occupied >= 2);
        }
        if self.stores_keys {
            level.keys.extend_to(level.occupancy.len());
        }
        self.levels.push(level);
    }

    /// Appends the number of levels and the keys of the key nodes. The shape follows from the roster
    /// whose current members are in the tree.
    pub(crate) fn save(&self, state: &mut SavedState) {
        u32::from(self.height()).save(state);
        for level in &self.levels {
            let keyed = level.keys.iter().zip(&level.keyed).filter(|(_, keyed)| **keyed);
            keyed.for_each(|(key, _)| key.save(state));
        }
    }

    /// Takes over the state that [`Self::save`] appended. The tree must be empty.
    pub(crate) fn restore(
        &mut self,
        state: &mut Reader<'_>,
        roster: &SlotRoster,
    ) -> Result<(), Error> {
        let height = u32::restore(state)?;
        require(height < LEVELS as u32)?;
        let width = (roster.slots() as u32).min(self.degree.saturating_pow(height));
        let joined = |slot| u32::from(roster.is_joined(slot));
        let mut below: Vec<u32> = (0..width).map(joined).collect();
        let covered = if height > 0 { below.iter().sum() } else { 0 };
        require(covered as usize == roster.len())?;
        for _ in 0..height {
            self.add_level(&below);
            below = self.levels.last().map_or_else(Vec::new, |level| level.occupancy.clone());
        }
        for level in &mut self.levels {
            let keyed = level.keys.iter_mut().zip(&level.keyed).filter(|(_, keyed)| **keyed);
            for (key, _) in keyed {
                *key = Saved::restore(state)?;
            }
        }
        Ok(())
    }

    /// Adds the member of a slot. The tree grows on top if it must.
    pub(crate) fn occupy(&mut self, slot: u32) {
        // There is at least one level: the first member is counted nowhere else.
        while self.levels.is_empty() || self.degree.saturating_pow(self.levels.len() as u32) <= slot
        {
            let total = self.levels.last().map_or(0, |top| top.occupancy.iter().sum());
            let mut level = Level::default();
            level.extend_to(0, self.stores_keys);
            level.occupancy[0] = total;
            self.levels.push(level);
        }
        let mut index = slot as usize;
        for level in &mut self.levels {
            index /= self.degree as usize;
            level.extend_to(index, self.stores_keys);
            level.occupancy[index] += 1;
        }
        self.decide_keys_above(slot);
    }

    pub(crate) fn vacate(&mut self, slot: u32) {
        let mut index = slot as usize;
        for level in &mut self.levels {
            index /= self.degree as usize;
            level.occupancy[index] -= 1;
        }
        self.decide_keys_above(slot);
    }

    fn decide_keys_above(&mut self, slot: u32) {
        for level in 1..=self.height() {
            let node = Node::above(slot, level, self.degree);
            let has_key = self.occupied_children(node) >= 2;
            self.levels[usize::from(level) - 1].keyed[node.index as usize] = has_key;
        }
    }

    /// The node whose key is the root key: the highest key node. There must be two members or more.
    pub(crate) fn root(&self, roster: &SlotRoster) -> Node {
        self.standing_for(Node { level: self.height(), index: 0 }, roster)
    }

    /// The key nodes above a slot, lowest first.
    pub(crate) fn path(&self, slot: u32) -> impl Iterator<Item = Node> {
        let mut index = slot;
        (1..)
            .zip(&self.levels)
            .map(move |(level, _)| {
                index /= self.degree;
                Node { level, index }
            })
            .filter(|&node| self.is_key_node(node))
    }

    pub(crate) fn key_node_above(&self, node: Node) -> Option<Node> {
        let mut index = node.index;
        (node.level + 1..=self.height())
            .map(|level| {
                index /= self.degree;
                Node { level, index }
            })
            .find(|&above| self.is_key_node(above))
    }

    /// All key nodes of a level, from 1 on.
    pub(crate) fn key_nodes(&self, level: u8) -> impl Iterator<Item = Node> {
        let keyed = &self.levels[usize::from(level) - 1].keyed;
        let indices = (0..).zip(keyed).filter_map(|(index, &keyed)| keyed.then_some(index));
        indices.map(move |index| Node { level, index })
    }

    /// All nodes above slots, each once, by level and index. The slots must be ascending.
    pub(crate) fn nodes_above(&self, slots: &[u32]) -> Vec<Node> {
        let above = |level| slots.iter().map(move |&slot| Node::above(slot, level, self.degree));
        let mut nodes: Vec<_> = (1..=self.height()).flat_map(above).collect();
        nodes.dedup();
        nodes
    }

    /// Number of levels above the slots.
    pub(crate) const fn height(&self) -> u8 {
        self.levels.len() as u8
    }

    /// The occupied children of a key node. Each is given as the node that represents it: the
    /// highest one at or below it that has a key.
    pub(crate) fn children(&self, node: Node, roster: &SlotRoster) -> impl Iterator<Item = Node> {
        node.child_places(self.degree)
            .filter(move |&child| self.is_occupied(child, roster))
            .map(move |child| self.standing_for(child, roster))
    }

    /// Number of a node's children with a member below.
    pub(crate) fn occupied_children(&self, node: Node) -> usize {
        if node.level == 1 {
            return self.population(node) as usize;
        }
        let below = &self.levels[usize::from(node.level) - 2].occupancy;
        let first = (node.index * self.degree) as usize;
        below.iter().skip(first).take(self.degree as usize).filter(|&&members| members > 0).count()
    }

    pub(crate) fn slots_below(&self, node: Node) -> core::ops::Range<u32> {
        let width = self.degree.saturating_pow(u32::from(node.level));
        let first = node.index * width;
        first..first.saturating_add(width)
    }

    /// Number of members below an occupied node.
    pub(crate) fn population(&self, node: Node) -> u32 {
        match node.level {
            0 => 1,
            level => self.levels[usize::from(level) - 1].occupancy[node.index as usize],
        }
    }

    /// The key of a key node, or of a member in its slot. The tree must not be only a shape.
    pub(crate) fn key<'a>(&'a self, node: Node, roster: &'a SlotRoster) -> &'a Key {
        match node.level {
            0 => roster.key(node.index),
            level => &self.levels[usize::from(level) - 1].keys[node.index as usize],
        }
    }

    /// The tree from the root down, as [`Party::key_tree`](crate::Party::key_tree) shows it.
    pub(crate) fn shown(
        &self,
        roster: &SlotRoster,
        mut fingerprint: impl FnMut(Node) -> KeyFingerprint,
    ) -> Vec<KeyNode> {
        let mut shown = Vec::new();
        let has_root = self.height() > 0 && roster.len() > 1;
        let mut waiting: Vec<_> = has_root.then(|| (None, self.root(roster))).into_iter().collect();
        while let Some((parent, node)) = waiting.pop() {
            let place = shown.len();
            let member = (node.level == 0).then(|| roster.member(node.index));
            shown.push(KeyNode { parent, member, fingerprint: Some(fingerprint(node)) });
            if member.is_none() {
                let first = waiting.len();
                waiting.extend(self.children(node, roster).map(|child| (Some(place), child)));
                waiting[first..].reverse();
            }
        }
        shown
    }

    pub(crate) fn draw_keys(&mut self, mut draw: impl FnMut() -> Key) {
        for level in &mut self.levels {
            let keyed = level.keys.iter_mut().zip(&level.keyed).filter(|(_, keyed)| **keyed);
            keyed.for_each(|(key, _)| *key = draw());
        }
    }

    /// Makes room for keys in a tree that is only a shape.
    pub(crate) fn begin_to_store_keys(&mut self) {
        self.stores_keys = true;
        for level in &mut self.levels {
            level.keys = List::zeros(level.keyed.len());
        }
    }

    /// Drops all keys. From now on the tree is only a shape.
    pub(crate) fn cease_to_store_keys(&mut self) {
        self.stores_keys = false;
        self.levels.iter_mut().for_each(|level| level.keys = List::new());
    }

    pub(crate) const fn stores_keys(&self) -> bool {
        self.stores_keys
    }

    pub(crate) fn set_key(&mut self, node: Node, key: Key) -> Key {
        let keys = &mut self.levels[usize::from(node.level) - 1].keys;
        core::mem::replace(&mut keys[node.index as usize], key)
    }

    pub(crate) fn members_below(
        &self,
        node: Node,
        roster: &SlotRoster,
    ) -> impl Iterator<Item = u32> {
        let slots = self.slots_below(node);
        let end = slots.end.min(roster.slots() as u32);
        (slots.start..end).filter(move |&slot| roster.is_joined(slot))
    }

    /// Number of keys in the tree, without those of the members.
    pub(crate) fn key_count(&self) -> usize {
        self.levels.iter().flat_map(|level| &level.keyed).filter(|&&keyed| keyed).count()
    }

    pub(crate) fn is_key_node(&self, node: Node) -> bool {
        self.levels[usize::from(node.level) - 1].keyed[node.index as usize]
    }

    fn is_occupied(&self, node: Node, roster: &SlotRoster) -> bool {
        match node.level {
            0 => roster.is_joined(node.index),
            level => {
                let occupancy = &self.levels[usize::from(level) - 1].occupancy;
                occupancy.get(node.index as usize).is_some_and(|&members| members > 0)
            }
        }
    }

    fn standing_for(&self, mut node: Node, roster: &SlotRoster) -> Node {
        while node.level > 0 && !self.is_key_node(node) {
            let only =
                node.child_places(self.degree).find(|&child| self.is_occupied(child, roster));
            let Some(only) = only else { break };
            node = only;
        }
        node
    }
}

impl NodeIndex {
    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn place(&self, node: Node) -> usize {
        let level = usize::from(node.level);
        let (start, end) = (self.level_starts[level], self.level_starts[level + 1]);
        // On a level without holes a node's place is its own index.
        let guess = start + node.index as usize;
        if self.nodes.get(guess) == Some(&node) {
            return guess;
        }
        start + self.nodes[start..end].partition_point(|&other| other < node)
    }
}

impl FromIterator<Node> for NodeIndex {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let nodes: Vec<_> = nodes.into_iter().collect();
        let levels = 0..=nodes.last().map_or(0, |node: &Node| node.level) + 1;
        let start = |level| nodes.partition_point(|node| node.level < level);
        Self { level_starts: levels.map(start).collect(), nodes }
    }
}

impl Level {
    /// Returns a level without nodes yet.
    fn with_room_for(nodes: usize, with_keys: bool) -> Self {
        let room = room_for(nodes);
        Self {
            occupancy: Vec::with_capacity(room),
            keyed: Vec::with_capacity(room),
            keys: List::with_capacity(if with_keys { room } else { 0 }),
        }
    }

    fn extend_to(&mut self, index: usize, with_key: bool) {
        if index >= self.occupancy.len() {
            self.occupancy.resize(index + 1, 0);
            self.keyed.resize(index + 1, false);
            if with_key {
                self.keys.extend_to(index + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    /// A joining member takes the lowest free slot, any member may leave, and no member is moved.
    /// Still no path is longer than in a complete tree of the largest group there was. No path has
    /// more key nodes than there are other members.
    #[test]
    fn trees_stay_low_through_thousands_of_changes() {
        for degree in [2, 3, 4, 16] {
            let mut rng = ChaCha20Rng::seed_from_u64(u64::from(degree));
            let mut tree = KeyTree::new(degree);
            let mut taken: BTreeSet<u32> = (0..2).collect();
            taken.iter().for_each(|&slot| tree.occupy(slot));
            let mut largest = 2;
            for round in 0..6_000 {
                // Groups that grow, shrink and grow again.
                let grows = rng.next_u32() % 100 < if round / 1_000 % 2 == 0 { 60 } else { 40 };
                if grows || taken.len() <= 2 {
                    let slot = (0..).find(|slot| !taken.contains(slot)).unwrap();
                    taken.insert(slot);
                    tree.occupy(slot);
                    largest = largest.max(taken.len());
                } else {
                    let place = rng.next_u32() as usize % taken.len();
                    let slot = *taken.iter().nth(place).unwrap();
                    taken.remove(&slot);
                    tree.vacate(slot);
                }
                if round % 50 == 0 {
                    check(&tree, &taken, largest);
                }
            }
        }
    }

    fn check(tree: &KeyTree, taken: &BTreeSet<u32>, largest: usize) {
        let needed = (0..).find(|&height| tree.degree.pow(height) as usize >= largest).unwrap();
        assert_eq!(u32::from(tree.height()), needed);
        let longest = taken.iter().map(|&slot| tree.path(slot).count()).max().unwrap();
        assert!(longest <= (needed as usize).min(taken.len() - 1));
        assert!(tree.key_count() < taken.len());
        for &slot in taken {
            let meet = |&other: &u32| {
                (1..=tree.height()).find(|&level| {
                    Node::above(slot, level, tree.degree).is_above(other, tree.degree)
                })
            };
            let forks: BTreeSet<_> =
                taken.iter().filter(|&&other| other != slot).map(meet).collect();
            assert_eq!(tree.path(slot).count(), forks.len());
        }
    }
}
