//! Two trees become one.

use super::{Content, DhKeyTree, Shape};
use crate::identity::MemberId;

impl DhKeyTree {
    /// Merges two trees whose roots' blinded keys are known. Returns the tree and the member that
    /// acts: all nodes that are unknown now are above it.
    ///
    /// The lower tree goes beside the shallowest node of the higher one where that does not become
    /// higher, of several the rightmost. If there is none, it goes beside the root. The rightmost
    /// leaf under the new node acts. Of skinny trees, the members of the smaller one stack up above
    /// the other, whose newest member acts. Of equal trees, the one with the smaller first member
    /// is below or on the left.
    pub(crate) fn merged(one: &Self, other: &Self) -> (Self, MemberId) {
        let rank = |tree: &Self| match tree.shape {
            Shape::Balanced | Shape::Leafwise => tree.height(),
            Shape::Skinny => tree.len(),
        };
        let first = |tree: &Self| core::cmp::Reverse(tree.outermost(tree.root, 0));
        let comes_first = (rank(one), first(one)) > (rank(other), first(other));
        let (base, added) = if comes_first { (one, other) } else { (other, one) };
        let mut tree = base.clone();
        if base.shape == Shape::Skinny {
            let sponsor = tree.rightmost(tree.root);
            for member in added.members() {
                tree.insert(member);
                let blinded = added.leaf(member).and_then(|leaf| added.blinded(leaf));
                if let (Some(leaf), Some(blinded)) = (tree.leaf(member), blinded) {
                    tree.fill(&[leaf], blinded);
                }
            }
            return (tree, sponsor);
        }
        let beside = tree.place_for(added.height());
        let part = tree.absorb(added, added.root);
        tree.join(beside, part);
        let sponsor = tree.rightmost(part);
        (tree, sponsor)
    }

    /// The node beside which a part of this height goes.
    fn place_for(&self, height: usize) -> usize {
        let mut level = alloc::vec![self.root];
        for allowed in (height + 1..=self.height()).rev() {
            let fits = |&&node: &&usize| usize::from(self.nodes[node].height) < allowed;
            if let Some(&node) = level.iter().rfind(fits) {
                return node;
            }
            let halves = level.iter().filter_map(|&node| match self.nodes[node].content {
                Content::Halves(halves) => Some(halves),
                Content::Leaf(_) => None,
            });
            level = halves.flatten().collect();
        }
        self.root
    }

    /// Copies a part of another tree. Returns its root, which has no place in this tree yet.
    fn absorb(&mut self, other: &Self, root: usize) -> usize {
        let mut waiting = alloc::vec![(root, None)];
        let mut first = None;
        while let Some((theirs, above)) = waiting.pop() {
            let node = other.nodes[theirs];
            let ours = self.plant(node.content);
            self.nodes[ours] = super::DhNode { parent: above, ..node };
            self.digests[ours] = other.digests[theirs];
            if let Some(blinded) = other.blinded(theirs) {
                self.fill(&[ours], blinded);
            }
            if let Some(above) = above {
                self.hang(ours, theirs, Some(above));
            }
            if let Content::Halves([left, right]) = node.content {
                waiting.extend([(right, Some(ours)), (left, Some(ours))]);
            }
            first = first.or(Some(ours));
        }
        first.unwrap_or(self.root)
    }
}
