//! The blinded keys of a tree: which are known, and a hash of them all that changes with them.

use alloc::vec;
use alloc::vec::Vec;

use super::{Content, DhKeyTree};
use crate::context::Context;
use crate::identity::MemberId;
use crate::party::{KeyFingerprint, KeyNode};
use crate::secret::Key;

impl DhKeyTree {
    pub(crate) fn blinded(&self, node: usize) -> Option<&[u8]> {
        self.nodes[node].known.then(|| &self.blinded[node * self.width..][..self.width])
    }

    pub(crate) fn is_known(&self, node: usize) -> bool {
        self.nodes[node].known
    }

    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    pub(crate) fn stored_bytes(&self) -> usize {
        (2 * self.len() - 2) * self.width
    }

    /// Sets the blinded keys of these nodes, which lie one after the other in `encoded`.
    pub(crate) fn fill(&mut self, nodes: &[usize], encoded: &[u8]) {
        for (&node, encoded) in nodes.iter().zip(encoded.chunks_exact(self.width)) {
            self.blinded[node * self.width..][..self.width].copy_from_slice(encoded);
            self.nodes[node].known = true;
        }
    }

    /// Undoes [`Self::fill`]: the nodes are unknown again. The nodes above do not become unknown.
    pub(crate) fn empty(&mut self, nodes: &[usize]) {
        for &node in nodes {
            self.nodes[node].known = false;
            let above = core::iter::successors(Some(node), |&node| self.nodes[node].parent);
            above
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|node| self.nodes[node].digested = false);
        }
    }

    pub(crate) fn forget_up(&mut self, node: usize) {
        let mut at = Some(node);
        while let Some(node) = at {
            self.survey(node);
            self.nodes[node].known = false;
            self.nodes[node].digested = false;
            at = self.nodes[node].parent;
        }
    }

    /// The tree as [`Party::key_tree`](crate::Party::key_tree) shows it, by its blinded keys. The
    /// root has none, and is shown by the group key.
    pub(crate) fn shown(&self, cx: &mut Context<'_>, group_key: &Key) -> Vec<KeyNode> {
        let order: Vec<_> = self.preorder().collect();
        let place = |node| order.iter().position(|&other| other == node);
        let show = |&node: &usize| {
            let is_root = node == self.root;
            let key = if is_root { Some(&group_key.as_bytes()[..]) } else { self.blinded(node) };
            KeyNode {
                parent: self.nodes[node].parent.and_then(place),
                member: self.member_at(node),
                fingerprint: key.map(|key| KeyFingerprint::of(cx, key)),
            }
        };
        order.iter().map(show).collect()
    }

    /// Whether the other tree has the same form and members, and all blinded keys of this tree.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        let same = |(ours, theirs): (usize, usize)| {
            let known = self.blinded(ours);
            self.member_at(ours) == other.member_at(theirs)
                && (known.is_none() || known == other.blinded(theirs))
        };
        self.len() == other.len() && self.preorder().zip(other.preorder()).all(same)
    }

    /// Forgets the blinded keys from the leaf up, because the member renews its own secret.
    pub(crate) fn renew(&mut self, member: MemberId) {
        if let Some(leaf) = self.leaf(member) {
            self.forget_up(leaf);
        }
    }

    /// The hash of the whole tree: each member's place and every blinded key. Only the nodes above
    /// a change are recomputed.
    pub(crate) fn digest(&mut self, cx: &mut Context<'_>) -> [u8; 32] {
        let mut outdated = vec![self.root];
        let mut next = 0;
        while let Some(&node) = outdated.get(next) {
            next += 1;
            if let Content::Halves(halves) = self.nodes[node].content {
                outdated.extend(halves.into_iter().filter(|&half| !self.nodes[half].digested));
            }
        }
        // The lower nodes come first.
        for node in outdated.into_iter().rev() {
            let own = self.blinded(node).unwrap_or(&[]);
            self.digests[node] = match self.nodes[node].content {
                Content::Leaf(member) => cx.digest("leaf", &[&member.0.to_be_bytes(), own]),
                Content::Halves(halves) => {
                    let [left, right] = halves.map(|half| self.digests[half]);
                    cx.digest("node", &[&left, &right, own])
                }
            };
            self.nodes[node].digested = true;
        }
        self.digests[self.root]
    }
}
