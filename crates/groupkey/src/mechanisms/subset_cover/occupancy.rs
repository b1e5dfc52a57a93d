//! Which slots have a current member, so that a cover is found in as many steps as it has subsets, times
//! the depth of the tree.

use alloc::vec;
use alloc::vec::Vec;

use crate::mechanisms::subset_cover::{above, depth};

/// What is known of the slots below a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filling {
    /// No slot has a member.
    Empty,
    /// Some slots have a member, others have none.
    Mixed,
    /// All slots have members.
    Full,
}

/// The occupied slots of a tree.
#[derive(Debug)]
pub(crate) struct Occupancy {
    bits: u32,
    /// The height of the lowest subtree on the left that has all slots given out.
    height: u32,
    /// The fillings of its nodes, 2 bits each. Its root is node 1; there is no node 0.
    fillings: Vec<u8>,
}

impl Occupancy {
    /// No slot of a tree of this depth is occupied.
    pub(crate) fn new(bits: u32) -> Self {
        Self::of_height(bits, 0)
    }

    /// Occupies these slots and no others.
    pub(crate) fn fill(&mut self, slots: impl Iterator<Item = u32>) {
        *self = Self::new(self.bits);
        for slot in slots {
            self.grow(slot);
            self.put(self.leaf(slot), Filling::Full);
        }
        for node in (1..1 << self.height).rev() {
            self.put(node, self.joined(node));
        }
    }

    pub(crate) fn set(&mut self, slot: u32, occupied: bool) {
        self.grow(slot);
        let mut node = self.leaf(slot);
        self.put(node, if occupied { Filling::Full } else { Filling::Empty });
        while node > 1 {
            node /= 2;
            self.put(node, self.joined(node));
        }
    }

    pub(crate) fn filling(&self, node: u32) -> Filling {
        let root_depth = self.bits - self.height;
        let root = 1 << root_depth;
        if depth(node) < root_depth {
            // Beside the subtree nothing is occupied.
            let is_above = above(root, depth(node)) == node;
            return if is_above && self.get(1) != Filling::Empty {
                Filling::Mixed
            } else {
                Filling::Empty
            };
        }
        if above(node, root_depth) != root {
            return Filling::Empty;
        }
        // The same node, counted from the subtree's root.
        let below = depth(node) - root_depth;
        self.get((1 << below) | (node & ((1 << below) - 1)))
    }

    fn of_height(bits: u32, height: u32) -> Self {
        let nodes: usize = 2 << height;
        Self { bits, height, fillings: vec![0; nodes.div_ceil(NODES_IN_BYTE as usize)] }
    }

    const fn leaf(&self, slot: u32) -> u32 {
        (1 << self.height) + slot
    }

    /// Doubles the subtree until it has the slot.
    fn grow(&mut self, slot: u32) {
        while slot >> self.height != 0 {
            let mut larger = Self::of_height(self.bits, self.height + 1);
            for level in 0..=self.height {
                for place in 0..1 << level {
                    larger.put((2 << level) + place, self.get((1 << level) + place));
                }
            }
            larger.put(1, larger.joined(1));
            *self = larger;
        }
    }

    fn joined(&self, node: u32) -> Filling {
        let [left, right] = [self.get(2 * node), self.get(2 * node + 1)];
        if left == right { left } else { Filling::Mixed }
    }

    fn get(&self, node: u32) -> Filling {
        match self.fillings[(node / NODES_IN_BYTE) as usize] >> shift(node) & MASK {
            0 => Filling::Empty,
            1 => Filling::Mixed,
            _ => Filling::Full,
        }
    }

    fn put(&mut self, node: u32, filling: Filling) {
        let byte = &mut self.fillings[(node / NODES_IN_BYTE) as usize];
        *byte = *byte & !(MASK << shift(node)) | (filling as u8) << shift(node);
    }
}

const NODES_IN_BYTE: u32 = 4;
const MASK: u8 = 3;

const fn shift(node: u32) -> u32 {
    2 * (node % NODES_IN_BYTE)
}
