//! Many joins and evictions in one change: every node above a changed slot gets one new key,
//! however many changed slots are below it.
//!
//! All strategies send the same messages. Each joining member gets its path under its individual
//! key. All members get one broadcast of records. There each new key is wrapped once for every
//! child with a continuing member below it, under the child's new key if it has one.
//!
//! The records tell a continuing member all that it needs. A member finds its first record under a
//! node whose key it has. Between that node and the record's target no node has a key any more.
//! Below that node nothing changed.

use alloc::vec::Vec;

use crate::context::Context;
use crate::mechanisms::key_tree::Node;
use crate::mechanisms::key_tree::path_update::{RECORDS, record_length};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::centralized::lkh::Controller;

impl Controller {
    /// Changes the keys above the joining and the evicted members, and sends the new keys.
    pub(super) fn exchange(&mut self, cx: &mut Context<'_>, joined: &[u32], left: &[u32]) {
        let renewed = self.renew_above(cx, joined, left);
        if renewed.is_empty() {
            // The evicted members shared only old roots with the others.
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
            // No continuing member is left.
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

    /// Puts joining members into the tree and takes evicted ones out. Gives the nodes above them
    /// new keys and returns the nodes that have a key.
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

    /// Returns whether continuing members are below a node. The slots of the joining members are
    /// ascending.
    fn has_others_below(&self, node: Node, newcomers: &[u32]) -> bool {
        let slots = self.tree.slots_below(node);
        let before = |end| newcomers.partition_point(|&slot| slot < end);
        before(slots.end) - before(slots.start) < self.tree.population(node) as usize
    }
}
