//! The binary tree of blinded keys: who is at which leaf, where a new leaf goes, who acts.
//!
//! Its nodes lie in one array, each before those below it, the left half before the right one. So
//! the nodes below a node follow it, and the last of them is its rightmost leaf.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::context::{Context, Draft};
use crate::crypto::group::{Check, Element};
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::schemes::distributed::gdh::Roster;
use crate::wire::Reader;

/// Where a tree takes a new leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// At the shallowest node, of several the rightmost, where the tree does not become higher; above
    /// the root if there is none.
    Balanced,
    /// Above the root, always.
    Skinny,
}

/// A tree, in which some blinded keys may be missing.
#[derive(Clone, Debug)]
pub(crate) struct KeyTree {
    shape: Shape,
    nodes: Vec<Node>,
}

/// A node on the way from a leaf to the root, which is not on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) node: usize,
    pub(crate) sibling: usize,
}

#[derive(Clone, Debug)]
struct Node {
    /// Number of nodes from this one down, itself included.
    size: usize,
    /// Of a leaf.
    member: Option<MemberId>,
    blinded: Option<Element>,
}

impl KeyTree {
    /// A tree of one member.
    pub(crate) fn of_one(shape: Shape, member: MemberId) -> Self {
        Self { shape, nodes: vec![Node::leaf(member)] }
    }

    /// The tree that these members make when they join one after the other.
    pub(crate) fn of_all(shape: Shape, roster: &Roster) -> Self {
        let mut tree = Self::of_one(shape, roster.at(0));
        for member in roster.iter().skip(1) {
            tree.insert(member);
        }
        tree
    }

    /// Number of leaves.
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    /// The members, from left to right.
    pub(crate) fn members(&self) -> impl Iterator<Item = MemberId> {
        self.nodes.iter().filter_map(|node| node.member)
    }

    /// The members, from left to right, as a roster.
    pub(crate) fn roster(&self) -> Roster {
        Roster::of(&self.members().collect::<Vec<_>>())
    }

    /// Takes a member in. Returns the sponsor: of the leaves beside the new one, the rightmost.
    pub(crate) fn insert(&mut self, member: MemberId) -> Option<MemberId> {
        let at = match self.shape {
            Shape::Balanced => self.insertion_point(),
            Shape::Skinny => 0,
        };
        for above in self.down_to(at) {
            self.nodes[above].size += 2;
        }
        // That was one of them itself, and its new parent takes over what it has now.
        let size = self.nodes[at].size;
        self.nodes[at].size -= 2;
        let sponsor = self.nodes[at + size - 3].member;
        self.nodes.insert(at + size - 2, Node::leaf(member));
        self.nodes.insert(at, Node { size, member: None, blinded: None });
        sponsor
    }

    /// Takes a member out, whose sibling moves up to where their parent was. Returns the sponsor: of
    /// the leaves beside the old one, the rightmost.
    pub(crate) fn remove(&mut self, member: MemberId) -> Option<MemberId> {
        let sponsor = self.sponsor_beside(member);
        let leaf = self.leaf(member)?;
        let above = self.down_to(leaf);
        let [above @ .., parent, _] = &above[..] else { return None };
        for &node in above {
            self.nodes[node].size -= 2;
        }
        self.nodes.remove(leaf);
        self.nodes.remove(*parent);
        // Whoever is the root now may have had a blinded key below the old one.
        self.nodes[0].blinded = None;
        sponsor
    }

    /// The rightmost of the leaves under a member's sibling.
    pub(crate) fn sponsor_beside(&self, member: MemberId) -> Option<MemberId> {
        let sibling = self.path(member).first()?.sibling;
        self.nodes[sibling + self.nodes[sibling].size - 1].member
    }

    /// From a member's leaf up to below the root.
    pub(crate) fn path(&self, member: MemberId) -> Vec<Step> {
        let Some(leaf) = self.leaf(member) else { return Vec::new() };
        let down = self.down_to(leaf);
        let steps = down.windows(2).rev().map(|pair| {
            let (left, right) = self.halves(pair[0]);
            Step { node: pair[1], sibling: if pair[1] == left { right } else { left } }
        });
        steps.collect()
    }

    pub(crate) fn leaf(&self, member: MemberId) -> Option<usize> {
        self.nodes.iter().position(|node| node.member == Some(member))
    }

    /// The blinded key of a node.
    pub(crate) fn blinded(&self, node: usize) -> Option<&Element> {
        self.nodes[node].blinded.as_ref()
    }

    pub(crate) fn set_blinded(&mut self, node: usize, blinded: Element) {
        self.nodes[node].blinded = Some(blinded);
    }

    /// Forgets the blinded keys from a member's leaf up.
    pub(crate) fn forget_path(&mut self, member: MemberId) {
        for step in self.path(member) {
            self.nodes[step.node].blinded = None;
        }
    }

    /// Whether the other tree has the same form and members, and every blinded key that this one has.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|(node, other)| {
                let same = node.blinded.is_none() || node.blinded == other.blinded;
                same && node.size == other.size && node.member == other.member
            })
    }

    /// All blinded keys but the root's, which nobody needs, one after the other; `None` if one is
    /// missing.
    pub(crate) fn packed(&self) -> Option<Vec<u8>> {
        let mut packed = Vec::new();
        for node in &self.nodes[1..] {
            node.blinded.as_ref()?.encode(&mut packed);
        }
        Some(packed)
    }

    /// Appends members and form to a message.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        self.roster().write(draft);
        if self.shape == Shape::Balanced {
            draft.bytes(&self.depths().iter().map(|&depth| depth as u8).collect::<Vec<_>>());
        }
    }

    /// Reads what [`Self::write`] appends.
    pub(crate) fn read(shape: Shape, body: &mut Reader<'_>) -> Result<Self, Error> {
        let roster = Roster::read(body)?;
        let depths: Vec<usize> = match shape {
            Shape::Balanced => body.bytes()?.iter().copied().map(usize::from).collect(),
            Shape::Skinny => {
                let last = roster.len() - 1;
                (0..=last).map(|place| (last + 1 - place).min(last)).collect()
            }
        };
        Self::of(shape, &roster, &depths).ok_or_else(|| Misbehaviour::InvalidRoster.into())
    }

    /// Takes the blinded keys as [`Self::packed`] has them.
    pub(crate) fn unpack(
        &mut self,
        cx: &mut Context<'_>,
        packed: &[u8],
        check: Check,
    ) -> Result<(), Error> {
        let elements = cx.elements(packed, self.nodes.len() - 1, check)?;
        for (node, element) in self.nodes[1..].iter_mut().zip(elements) {
            node.blinded = Some(element);
        }
        Ok(())
    }

    /// How far the leaves are from the root, from left to right.
    pub(crate) fn depths(&self) -> Vec<usize> {
        let depths = self.node_depths();
        let leaves = self.nodes.iter().zip(&depths).filter(|(node, _)| node.member.is_some());
        leaves.map(|(_, &depth)| depth).collect()
    }

    /// Bytes of the blinded keys.
    pub(crate) fn stored_bytes(&self) -> usize {
        self.nodes.iter().filter_map(|node| node.blinded.as_ref()).map(Element::stored_bytes).sum()
    }

    /// The tree with these leaves at these depths, if there is one.
    fn of(shape: Shape, roster: &Roster, depths: &[usize]) -> Option<Self> {
        let most = 2 * roster.len() - 1;
        let mut nodes: Vec<Node> = Vec::new();
        // The nodes that are not complete yet, and whether their left halves are.
        let mut open: Vec<(usize, bool)> = Vec::new();
        if depths.len() != roster.len() {
            return None;
        }
        for (member, &depth) in roster.iter().zip(depths) {
            if depth < open.len() || (open.is_empty() && !nodes.is_empty()) {
                return None;
            }
            while open.len() < depth {
                if nodes.len() == most {
                    return None;
                }
                open.push((nodes.len(), false));
                nodes.push(Node { size: 0, member: None, blinded: None });
            }
            nodes.push(Node::leaf(member));
            while let Some((node, left_done)) = open.pop() {
                if !left_done {
                    open.push((node, true));
                    break;
                }
                nodes[node].size = nodes.len() - node;
            }
        }
        open.is_empty().then_some(Self { shape, nodes })
    }

    fn insertion_point(&self) -> usize {
        let depths = self.node_depths();
        let mut heights = vec![0; self.nodes.len()];
        for node in (0..self.nodes.len()).rev().filter(|&node| self.nodes[node].member.is_none()) {
            let (left, right) = self.halves(node);
            heights[node] = 1 + heights[left].max(heights[right]);
        }
        let joinable =
            (0..self.nodes.len()).filter(|&node| depths[node] + heights[node] < heights[0]);
        joinable.min_by_key(|&node| (depths[node], Reverse(node))).unwrap_or(0)
    }

    fn node_depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes.len()];
        for node in (0..self.nodes.len()).filter(|&node| self.nodes[node].member.is_none()) {
            let (left, right) = self.halves(node);
            depths[left] = depths[node] + 1;
            depths[right] = depths[node] + 1;
        }
        depths
    }

    /// The nodes from the root to this one, both included.
    fn down_to(&self, node: usize) -> Vec<usize> {
        let mut path = vec![0];
        let mut at = 0;
        while at < node {
            let (left, right) = self.halves(at);
            at = if node < right { left } else { right };
            path.push(at);
        }
        path
    }

    /// The children of a node that is not a leaf.
    fn halves(&self, node: usize) -> (usize, usize) {
        (node + 1, node + 1 + self.nodes[node + 1].size)
    }
}

impl Node {
    const fn leaf(member: MemberId) -> Self {
        Self { size: 1, member: Some(member), blinded: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(shape: Shape, members: u32) -> KeyTree {
        KeyTree::of_all(shape, &Roster::of(&(1..=members).map(MemberId).collect::<Vec<_>>()))
    }

    fn same(one: &KeyTree, other: &KeyTree) -> bool {
        one.agrees_with(other) && other.agrees_with(one)
    }

    #[test]
    fn a_balanced_tree_is_as_high_as_it_must_be() {
        for n in 2..=130_u32 {
            let highest = tree(Shape::Balanced, n).depths().into_iter().max();
            assert_eq!(highest, Some(n.next_power_of_two().ilog2() as usize), "{n} members");
        }
    }

    #[test]
    fn sponsors_are_those_of_the_paper() {
        let mut tree = KeyTree::of_one(Shape::Balanced, MemberId(1));
        let sponsors: Vec<_> =
            (2..=30).filter_map(|member| tree.insert(MemberId(member))).map(|id| id.0).collect();
        assert_eq!(sponsors[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(sponsors.last(), Some(&23));
    }

    #[test]
    fn a_tree_is_known_by_its_leaves() {
        for shape in [Shape::Balanced, Shape::Skinny] {
            for n in 2..=40 {
                let mut tree = tree(shape, n);
                for leaver in [1, n / 2, n - 1] {
                    let again = KeyTree::of(shape, &tree.roster(), &tree.depths()).unwrap();
                    assert!(same(&tree, &again), "{shape:?}, {n} members");
                    if tree.len() > 2 {
                        let sponsor = tree.sponsor_beside(MemberId(leaver));
                        assert_eq!(tree.remove(MemberId(leaver)), sponsor);
                    }
                }
            }
        }
    }

    #[test]
    fn depths_that_make_no_tree_are_refused() {
        let members = [1, 2, 3].map(MemberId);
        for depths in [&[1, 2, 2][..], &[2, 2, 1]] {
            assert!(KeyTree::of(Shape::Balanced, &Roster::of(&members), depths).is_some());
        }
        for depths in [
            &[1, 1, 1][..],
            &[1, 1],
            &[2, 2, 2],
            &[2, 1, 2],
            &[0, 1, 1],
            &[0, 0, 0],
            &[1, 2, 3],
            &[255, 255, 254],
            &[1, 2, 2, 1],
            &[],
        ] {
            let tree = KeyTree::of(Shape::Balanced, &Roster::of(&members), depths);
            assert!(tree.is_none(), "{depths:?}");
        }
    }
}
