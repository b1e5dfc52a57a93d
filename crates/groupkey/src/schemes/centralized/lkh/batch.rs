//! Many joins and evictions in one change: every node above one of them gets one new key, however
//! many of them there are below it.
//!
//! All strategies send the same: to each joining member its path under its individual key, and to
//! all one broadcast of records, in which each new key is wrapped once for every child with a
//! member below who was there before; where the child has a new key itself, under that.
//!
//! The records tell an old member all that it needs. Between the node under whose key it finds its
//! first record and that record's target, nothing has a key any more; below, nothing changed.

use alloc::vec::Vec;

use crate::context::Context;
use crate::mechanisms::key_tree::Node;
use crate::mechanisms::key_tree::path_update::{RECORDS, record_length};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::centralized::lkh::Controller;

impl Controller {
    /// Changes the keys above those who joined and those who left, and sends them.
    pub(super) fn exchange(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        let renewed = self.renew_above(cx, joined, left);
        if renewed.is_empty() {
            // Those who left shared nothing with the others but old roots.
            self.replace_root(cx, Operation::Batch, 0);
            return;
        }
        self.begin_epoch(cx);
        for &slot in joined {
            self.welcome(cx, slot, Operation::Batch);
        }
        let mut newcomers = joined.to_vec();
        newcomers.sort_unstable();
        let wraps = |&target| {
            let children = self.tree.children(target, &self.group.roster);
            children
                .filter(|&child| self.has_others_below(child, &newcomers))
                .map(move |under| (under, target))
        };
        let mut wraps: Vec<_> = renewed.iter().flat_map(wraps).collect();
        if wraps.is_empty() {
            // Nobody is left of members that were there before.
            return;
        }
        wraps.sort_unstable();
        let length = record_length(cx) * wraps.len();
        cx.reserve(1, length + 16);
        let mut draft = self.draft(cx, Recipient::Group, Operation::Batch, RECORDS, 0);
        draft.packed(length);
        for (under, target) in wraps {
            self.packed_record(&mut draft, under, target);
        }
        draft.send();
    }

    /// Takes slots into the tree and out of it. Returns the nodes above them that have keys, now
    /// new ones.
    fn renew_above(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) -> Vec<Node> {
        left.iter().for_each(|&slot| self.tree.vacate(slot));
        joined.iter().for_each(|&slot| self.tree.occupy(slot));
        let mut changed = [joined, left].concat();
        changed.sort_unstable();
        let mut nodes = self.tree.nodes_above(&changed);
        nodes.retain(|&node| {
            let has_key = self.tree.is_key_node(node);
            if has_key {
                self.renew(cx, node);
            } else {
                self.keys.drop_key(&mut self.tree, node);
            }
            has_key
        });
        nodes
    }

    /// Whether others than joining members, whose slots are ascending, sit below a node.
    fn has_others_below(&self, node: Node, newcomers: &[u32]) -> bool {
        let slots = self.tree.slots_below(node);
        let before = |end| newcomers.partition_point(|&slot| slot < end);
        before(slots.end) - before(slots.start) < self.tree.population(node) as usize
    }
}
