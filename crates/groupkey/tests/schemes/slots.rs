//! Trees whose leaves are slots: which are taken and which nodes have a key, counted on the slots
//! without the library's tree.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

pub(crate) type Slots = BTreeMap<u32, u32>;

/// A node's width in slots, and its index among those of this width.
pub(crate) type Node = (u32, u32);

pub(crate) fn lowest_free(slots: &Slots) -> u32 {
    (0..).find(|slot| !slots.values().any(|taken| taken == slot)).expect("not all are taken")
}

/// The nodes above a slot that have two occupied children, from below. The slot itself is vacant
/// unless somebody has it.
pub(crate) fn key_nodes(slots: &Slots, degree: u32, slot: u32) -> Vec<Node> {
    let largest = slots.values().copied().max().unwrap_or(0).max(slot);
    let widths = iter::successors(Some(degree), |width| Some(width * degree));
    let widths = widths.take_while(|width| width / degree <= largest);
    let nodes = widths.map(|width| (width, slot / width));
    nodes.filter(|&node| occupied_children(slots, degree, node) >= 2).collect()
}

pub(crate) fn occupied_children(slots: &Slots, degree: u32, node: Node) -> u32 {
    let (width, _) = node;
    let below = slots.values().filter(|&&slot| is_above(node, slot));
    below.map(|slot| slot / (width / degree)).collect::<BTreeSet<_>>().len() as u32
}

pub(crate) fn count_above(nodes: &[Node], slot: u32) -> u32 {
    nodes.iter().filter(|&&node| is_above(node, slot)).count() as u32
}

fn is_above((width, index): Node, slot: u32) -> bool {
    slot / width == index
}
