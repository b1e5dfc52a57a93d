//! The messages that each strategy sends when a group is created.

use alloc::vec::Vec;

use crate::context::Context;
use crate::mechanisms::key_tree::path_update::{RECORDS, TREE, record_length};
use crate::mechanisms::key_tree::whole_tree::write_taken;
use crate::mechanisms::key_tree::{Node, NodeIndex};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::centralized::lkh::{Controller, Strategy};

impl Controller {
    pub(super) fn send_created(&self, cx: &mut Context<'_>) {
        match self.strategy {
            Strategy::Group => self.broadcast_tree(cx),
            Strategy::Key => self.send_chains(cx),
            Strategy::User => self.send_paths(cx),
        }
    }

    /// Broadcasts the whole tree in one message: every key, wrapped under each child's key.
    fn broadcast_tree(&self, cx: &mut Context<'_>) {
        let roster = &self.group.roster;
        // Every leaf and key node except the root is some key node's child.
        let keys = roster.len() + self.tree.key_count() - 1;
        let length = cx.wrapped_length(1) * keys;
        cx.reserve(1, length + roster.slots() / 8 + 24);
        let mut draft = self.draft(cx, Recipient::Group, Operation::Create, TREE, 0);
        write_taken(&mut draft, roster);
        draft.packed(length);
        for under in self.joined_slots().map(Node::leaf).chain(self.key_nodes()) {
            if let Some(target) = self.tree.key_node_above(under) {
                self.packed_key(&mut draft, under, target);
            }
        }
        draft.send();
    }

    /// Sends every member the keys of its path, all wrapped in one call.
    pub(crate) fn send_paths(&self, cx: &mut Context<'_>) {
        let height = usize::from(self.tree.height());
        cx.reserve(self.group.roster.len(), cx.wrapped_length(height) + height + 12);
        for slot in self.joined_slots() {
            self.welcome(cx, slot, Operation::Create);
        }
    }

    /// Sends every member the records that lead from its own key to the root.
    fn send_chains(&self, cx: &mut Context<'_>) {
        let record_length = record_length(cx);
        let height = usize::from(self.tree.height());
        cx.reserve(self.group.roster.len(), record_length * height + 6);
        let shared = if self.profile.is_published() { None } else { Some(self.shared_records(cx)) };
        let mut chain = Vec::with_capacity(record_length * height);
        let mut chain_from = None;
        for slot in self.joined_slots() {
            let leaf = Node::leaf(slot);
            let Some(target) = self.tree.key_node_above(leaf) else { continue };
            // Neighbours below one node need the same records from that node on.
            if chain_from != Some(target) || shared.is_none() {
                chain_from = Some(target);
                chain.clear();
                let mut under = target;
                while let Some(above) = self.tree.key_node_above(under) {
                    match &shared {
                        None => self.record(cx, under, above, &mut chain),
                        Some((index, records)) => {
                            let start = index.place(under) * record_length;
                            chain.extend_from_slice(&records[start..][..record_length]);
                        }
                    }
                    under = above;
                }
            }
            let to = Recipient::Member(self.group.roster.member(slot));
            let mut draft = self.draft(cx, to, Operation::Create, RECORDS, 0);
            draft.packed(record_length + chain.len());
            self.packed_record(&mut draft, leaf, target);
            draft.packed_bytes(&chain).send();
        }
    }

    /// Returns the records of all key nodes except the root. Each is wrapped once, however many
    /// members need it.
    fn shared_records(&self, cx: &mut Context<'_>) -> (NodeIndex, Vec<u8>) {
        let index: NodeIndex = self.key_nodes().collect();
        let mut records = Vec::with_capacity(index.nodes().len() * record_length(cx));
        for &under in index.nodes() {
            if let Some(target) = self.tree.key_node_above(under) {
                self.record(cx, under, target, &mut records);
            }
        }
        (index, records)
    }
}
