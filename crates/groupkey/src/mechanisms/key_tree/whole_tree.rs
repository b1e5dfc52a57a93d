//! A tree's keys in one message. The taken slots determine the whole shape, so the wrapped keys
//! need no names.
//!
//! There are three items:
//! 1. the number of slots up to the last one taken;
//! 2. a bit for each of them that says whether it is taken, or nothing if all are;
//! 3. `{key of the key node above}_under` for every taken slot by ascending slot, then for every
//!    key node except the root by ascending level and index.
//!
//! Slot s is bit s mod 8, counted from the least significant, of byte s / 8. A member needs only
//! the number of key nodes on each level, and how many of them are left of its own path.

use alloc::vec;
use alloc::vec::Vec;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::mechanisms::key_tree::{LEVELS, Node};
use crate::wire::Reader;

/// The keys of a whole tree as received, not copied.
pub(crate) struct WholeTree<'a> {
    taken: Taken<'a>,
    packed: &'a [u8],
}

/// One step on the path from a slot to the root.
pub(crate) struct PathStep<'a> {
    pub(crate) under: Node,
    pub(crate) target: Node,
    /// The target's key, wrapped.
    pub(crate) wrapped: &'a [u8],
}

struct Taken<'a> {
    slots: u32,
    /// A bit for each; empty if all are taken.
    bits: &'a [u8],
}

/// The numbers of nodes with keys. Level 0 counts the members' own.
struct Census {
    levels: [Count; LEVELS],
}

/// Nodes of a level that have keys.
#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    /// Nodes to the left of a slot's path.
    left: usize,
    on_path: bool,
}

/// No node has a greater index.
const MOST_SLOTS: u32 = 1 << 27;

/// Appends which slots of a roster are taken: the first two items.
pub(crate) fn write_taken(draft: &mut Draft<'_, '_>, roster: &SlotRoster) {
    let joined = || (0..roster.slots() as u32).filter(|&slot| roster.is_joined(slot));
    let slots = joined().next_back().map_or(0, |last| last + 1);
    let mut bits = Vec::new();
    if roster.len() < slots as usize {
        bits = vec![0; slots.div_ceil(8) as usize];
        joined().for_each(|slot| bits[slot as usize / 8] |= 1 << (slot % 8));
    }
    draft.number(u64::from(slots)).bytes(&bits);
}

impl<'a> WholeTree<'a> {
    /// Reads the three items.
    pub(crate) fn parse(body: &mut Reader<'a>) -> Result<Self, Error> {
        let (slots, bits) = (body.number32()?, body.bytes()?);
        let taken = Taken::new(slots, bits).ok_or(Misbehaviour::Malformed)?;
        Ok(Self { taken, packed: body.bytes()? })
    }

    /// The wrapped keys of the nodes above a slot, lowest first.
    pub(crate) fn path(
        &self,
        cx: &Context<'_>,
        slot: u32,
        degree: u32,
    ) -> Result<Vec<PathStep<'a>>, Error> {
        let census = self.taken.census(slot, degree);
        let length = cx.wrapped_length(1);
        // Every node except the root is the child of a key node.
        let keys = census.levels.iter().map(|level| level.all).sum::<usize>() - 1;
        if !self.packed.len().is_multiple_of(length) || self.packed.len() / length != keys {
            return Err(Misbehaviour::Malformed.into());
        }
        if !census.levels[0].on_path {
            return Err(Misbehaviour::NothingForUs.into());
        }
        let mut steps = Vec::with_capacity(LEVELS);
        let (mut under, mut place) = (Node::leaf(slot), census.levels[0].left);
        let mut lower = 0;
        for (level, pair) in (1..).zip(census.levels.windows(2)) {
            lower += pair[0].all;
            if pair[1].on_path {
                let target = Node::above(slot, level, degree);
                let wrapped = &self.packed[place * length..][..length];
                steps.push(PathStep { under, target, wrapped });
                (under, place) = (target, lower + pair[1].left);
            }
        }
        Ok(steps)
    }
}

impl<'a> Taken<'a> {
    /// Accepts two or more taken slots, in the only form in which they are written.
    fn new(slots: u32, bits: &'a [u8]) -> Option<Self> {
        let taken = Self { slots, bits };
        let is_canonical = bits.last().is_none_or(|last| {
            let ends_with_a_taken_one = last.checked_ilog2() == Some(slots.wrapping_sub(1) % 8);
            let has_holes = taken.number() < slots as usize;
            bits.len() == slots.div_ceil(8) as usize && ends_with_a_taken_one && has_holes
        });
        (is_canonical && slots <= MOST_SLOTS && taken.number() >= 2).then_some(taken)
    }

    fn number(&self) -> usize {
        match self.bits {
            [] => self.slots as usize,
            bits => ones(bits),
        }
    }

    /// The taken slots, if not all are taken.
    fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(self.bits).flat_map(|(byte, &bits)| {
            (0..8).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| byte * 8 + bit)
        })
    }

    /// Counts the nodes that have keys, and those left of a slot's path.
    fn census(&self, slot: u32, degree: u32) -> Census {
        let mut levels = [Count::default(); LEVELS];
        levels[0] = match self.bits {
            [] => Count::first(self.slots, slot),
            bits => {
                let (byte, bit) = (slot as usize / 8, slot % 8);
                let own = bits.get(byte).copied().unwrap_or(0);
                let left = ones(&bits[..byte.min(bits.len())]) + ones(&[own & ((1 << bit) - 1)]);
                Count { all: self.number(), left, on_path: own >> bit & 1 == 1 }
            }
        };
        if self.bits.is_empty() {
            self.count_forks_without_holes(slot, degree, &mut levels);
        } else {
            self.count_forks(slot, degree, &mut levels);
        }
        Census { levels }
    }

    /// The first nodes of a level have keys: those whose second child has a member below.
    fn count_forks_without_holes(&self, slot: u32, degree: u32, levels: &mut [Count]) {
        let mut below = 1;
        for count in &mut levels[1..] {
            if below >= self.slots {
                break;
            }
            let width = below.saturating_mul(degree);
            *count = Count::first((self.slots - below).div_ceil(width), slot / width);
            below = width;
        }
    }

    /// Two taken slots with no taken slot between them fork at one node. Every key node is the fork
    /// of some such pair. On a level, the pairs of one node follow each other.
    fn count_forks(&self, slot: u32, degree: u32, levels: &mut [Count]) {
        let mut latest = [u32::MAX; LEVELS];
        let mut slots = self.iter();
        let mut previous = slots.next().unwrap_or(0);
        for next in slots {
            let (mut left, mut right, mut own, mut level) = (previous, next, slot, 0);
            while left != right {
                (left, right, own) = (left / degree, right / degree, own / degree);
                level += 1;
            }
            if latest[level] != right {
                latest[level] = right;
                levels[level].all += 1;
                levels[level].left += usize::from(right < own);
                levels[level].on_path |= right == own;
            }
            previous = next;
        }
    }
}

impl Count {
    /// Counts the first nodes of a level. `own` is the node on the path. It need not be among them.
    const fn first(nodes: u32, own: u32) -> Self {
        let left = if own < nodes { own } else { nodes };
        Self { all: nodes as usize, left: left as usize, on_path: own < nodes }
    }
}

fn ones(bits: &[u8]) -> usize {
    bits.iter().map(|byte| byte.count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;
    use crate::mechanisms::key_tree::KeyTree;

    /// The number of slots, and the bits of the taken ones.
    fn bits_of(slots: &[u32]) -> (u32, Vec<u8>) {
        let number = slots.last().unwrap() + 1;
        if slots.len() == number as usize {
            return (number, Vec::new());
        }
        let mut bits = vec![0; number.div_ceil(8) as usize];
        slots.iter().for_each(|slot| bits[*slot as usize / 8] |= 1 << (slot % 8));
        (number, bits)
    }

    /// The controller writes by walking its tree. Members count nodes. Both find the same places.
    #[test]
    fn members_count_to_where_the_controller_writes() {
        for degree in [2, 3, 4, 5, 16] {
            let mut rng = ChaCha20Rng::seed_from_u64(u64::from(degree));
            for width in [2, 3, 4, 5, 8, 9, 16, 17, 27, 64, 65, 81, 250] {
                for rarity in [1, 2, 9] {
                    let slots: Vec<u32> =
                        (0..width).filter(|_| rng.next_u32() % rarity == 0).collect();
                    if slots.len() >= 2 {
                        check(&slots, degree);
                    }
                }
            }
        }
    }

    fn check(slots: &[u32], degree: u32) {
        let mut tree = KeyTree::new(degree);
        slots.iter().for_each(|&slot| tree.occupy(slot));
        let keyed = (1..=tree.height()).flat_map(|level| tree.key_nodes(level));
        let nodes: Vec<_> = slots.iter().map(|&slot| Node::leaf(slot)).chain(keyed).collect();
        let (number, bits) = bits_of(slots);
        let taken = Taken::new(number, &bits).unwrap();
        for slot in 0..number + 9 {
            let census = taken.census(slot, degree);
            assert_eq!(census.levels.iter().map(|level| level.all).sum::<usize>(), nodes.len());
            let mut lower = 0;
            for (level, count) in (0..).zip(census.levels) {
                let own = Node::above(slot, level, degree);
                assert_eq!(count.on_path, nodes.contains(&own));
                assert_eq!(lower + count.left, nodes.partition_point(|&node| node < own));
                lower += count.all;
            }
        }
    }

    #[test]
    fn slots_are_written_in_one_way_only() {
        assert!(Taken::new(9, &[]).is_some());
        assert!(Taken::new(9, &[0x0f, 1]).is_some());
        assert!(Taken::new(MOST_SLOTS, &[]).is_some());
        let malformed: [(u32, &[u8]); 10] = [
            (0, &[]),
            (1, &[]),
            (0, &[0]),
            (9, &[0, 1]),
            // All are taken; the last is not taken; more are taken than there are slots.
            (9, &[0xff, 1]),
            (9, &[0xff, 0]),
            (9, &[0x0f, 3]),
            (8, &[0x0f, 1]),
            (9, &[0x81]),
            (MOST_SLOTS + 1, &[]),
        ];
        for (slots, bits) in malformed {
            assert!(Taken::new(slots, bits).is_none(), "{slots} {bits:?}");
        }
    }
}
