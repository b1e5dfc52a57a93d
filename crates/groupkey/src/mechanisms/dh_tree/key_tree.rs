//! The binary tree of blinded keys: which member is at which leaf, where a new leaf goes, and in
//! which place a member is from left to right.
//!
//! Nodes lie in one array and keep their numbers as long as they exist. So a change touches only
//! the nodes between its place and the root: a member's work for a join grows not with the group,
//! but with its height. Each node knows of the part below it how many leaves there are, how high it
//! is, and how far down the next leaf goes.

mod blinded;
mod encoding;
mod merger;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::identity::MemberId;

/// Where a tree takes a new leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// At the shallowest node where the tree does not become higher, of several the rightmost.
    /// Above the root if there is none.
    Balanced,
    /// At the shallowest leaf, of several the rightmost.
    Leafwise,
    /// Always above the root.
    Skinny,
}

/// A tree, in which some blinded keys may be missing.
#[derive(Clone, Debug)]
pub(crate) struct DhKeyTree {
    shape: Shape,
    root: usize,
    nodes: Vec<DhNode>,
    /// Numbers of removed nodes.
    free: Vec<usize>,
    leaves: BTreeMap<MemberId, usize>,
    /// Bytes of an encoded blinded key.
    width: usize,
    /// The blinded keys by the nodes' numbers, encoded.
    blinded: Vec<u8>,
    /// For each node, the hash of everything below it.
    digests: Vec<[u8; 32]>,
}

#[derive(Clone, Copy, Debug)]
struct DhNode {
    parent: Option<usize>,
    content: Content,
    leaves: usize,
    height: u16,
    /// How many levels down a new leaf goes, or [`FULL`].
    room: u16,
    /// Whether the blinded key is there.
    known: bool,
    /// Whether the digest is up to date with the part below.
    digested: bool,
}

/// A member that was taken out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Removal {
    member: MemberId,
    leaf: usize,
    parent: usize,
    /// The node that was beside the member. It is now in their parent's place.
    pub(crate) sibling: usize,
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Halves([usize; 2]),
    Leaf(MemberId),
}

/// The room where a new leaf would make the tree higher.
const FULL: u16 = u16::MAX;

impl DhKeyTree {
    /// A tree of one member, for blinded keys of this many bytes.
    pub(crate) fn of_one(shape: Shape, width: usize, member: MemberId) -> Self {
        let mut tree = Self {
            shape,
            root: 0,
            nodes: Vec::new(),
            free: Vec::new(),
            leaves: BTreeMap::new(),
            width,
            blinded: Vec::new(),
            digests: Vec::new(),
        };
        tree.plant(Content::Leaf(member));
        tree
    }

    /// The tree that these members, at least one, make when they join one after the other.
    pub(crate) fn of_all(shape: Shape, width: usize, members: &[MemberId]) -> Self {
        let mut tree = Self::of_one(shape, width, members[0]);
        for &member in &members[1..] {
            tree.insert(member);
        }
        tree
    }

    /// Number of leaves.
    pub(crate) fn len(&self) -> usize {
        self.leaves.len()
    }

    pub(crate) const fn root(&self) -> usize {
        self.root
    }

    pub(crate) const fn shape(&self) -> Shape {
        self.shape
    }

    pub(crate) fn height(&self) -> usize {
        self.nodes[self.root].height.into()
    }

    pub(crate) fn has(&self, member: MemberId) -> bool {
        self.leaves.contains_key(&member)
    }

    pub(crate) fn leaf(&self, member: MemberId) -> Option<usize> {
        self.leaves.get(&member).copied()
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = MemberId> {
        self.preorder().filter_map(|node| self.member_at(node))
    }

    pub(crate) fn member_at(&self, node: usize) -> Option<MemberId> {
        match self.nodes[node].content {
            Content::Halves(_) => None,
            Content::Leaf(member) => Some(member),
        }
    }

    /// The nodes in preorder: each before those below it, and the left half before the right one.
    pub(crate) fn preorder(&self) -> impl Iterator<Item = usize> + Clone {
        let mut waiting = vec![self.root];
        core::iter::from_fn(move || {
            let node = waiting.pop()?;
            if let Content::Halves([left, right]) = self.nodes[node].content {
                waiting.extend([right, left]);
            }
            Some(node)
        })
    }

    /// The nodes from a member's leaf up to the root, both included.
    pub(crate) fn path(&self, member: MemberId) -> Vec<usize> {
        let leaf = self.leaf(member);
        core::iter::successors(leaf, |&node| self.nodes[node].parent).collect()
    }

    /// The other half of a node's parent.
    pub(crate) fn sibling(&self, node: usize) -> Option<usize> {
        match self.nodes[self.nodes[node].parent?].content {
            Content::Halves([left, right]) => Some(if node == left { right } else { left }),
            Content::Leaf(_) => None,
        }
    }

    pub(crate) fn rightmost(&self, node: usize) -> MemberId {
        self.outermost(node, 1)
    }

    pub(crate) fn leftmost_but(&self, others: &[MemberId]) -> Option<MemberId> {
        self.members().find(|member| !others.contains(member))
    }

    /// The member at the rightmost leaf under a member's sibling. It acts when the member joins or
    /// leaves.
    pub(crate) fn sponsor_beside(&self, member: MemberId) -> Option<MemberId> {
        self.leaf(member).and_then(|leaf| self.sibling(leaf)).map(|node| self.rightmost(node))
    }

    /// The member at a place, counted from 0, from left to right.
    pub(crate) fn member_in_place(&self, mut place: usize) -> MemberId {
        let mut node = self.root;
        loop {
            match self.nodes[node].content {
                Content::Leaf(member) => return member,
                Content::Halves([left, right]) => {
                    let on_the_left = self.nodes[left].leaves;
                    let goes_left = place < on_the_left;
                    node = if goes_left { left } else { right };
                    place -= if goes_left { 0 } else { on_the_left };
                }
            }
        }
    }

    /// How many leaves are to the left of a node, and the node's depth.
    pub(crate) fn place_and_depth(&self, mut node: usize) -> (usize, usize) {
        let (mut place, mut depth) = (0, 0);
        while let Some(parent) = self.nodes[node].parent {
            if let Content::Halves([left, right]) = self.nodes[parent].content
                && node == right
            {
                place += self.nodes[left].leaves;
            }
            (node, depth) = (parent, depth + 1);
        }
        (place, depth)
    }

    /// Adds a member. Returns the node beside it. The nodes above both are then unknown.
    pub(crate) fn insert(&mut self, member: MemberId) -> usize {
        let beside = self.insertion_point();
        let leaf = self.plant(Content::Leaf(member));
        self.join(beside, leaf);
        beside
    }

    /// Takes a member out. Its sibling moves up to their parent's place, and the nodes above are
    /// then unknown. Returns `None` if there is no such member or no other.
    pub(crate) fn remove(&mut self, member: MemberId) -> Option<Removal> {
        let leaf = self.leaf(member)?;
        let sibling = self.sibling(leaf)?;
        let parent = self.nodes[leaf].parent?;
        let above = self.nodes[parent].parent;
        self.leaves.remove(&member);
        self.free.extend([leaf, parent]);
        self.hang(sibling, parent, above);
        // A root has no blinded key, even if it had one below another node.
        self.forget_up(above.unwrap_or(sibling));
        Some(Removal { member, leaf, parent, sibling })
    }

    /// Undoes changes to a tree in which no blinded key was missing: these removals, in this order,
    /// and the forgetting of blinded keys.
    pub(crate) fn restore(&mut self, removals: &[Removal]) {
        for &Removal { member, leaf, parent, sibling } in removals.iter().rev() {
            self.free.truncate(self.free.len() - 2);
            self.leaves.insert(member, leaf);
            self.hang(parent, sibling, self.nodes[sibling].parent);
            self.nodes[sibling].parent = Some(parent);
            self.forget_up(parent);
        }
        self.nodes.iter_mut().for_each(|node| node.known = true);
        self.nodes[self.root].known = false;
    }

    /// Whether a node that existed before the removals still exists.
    pub(crate) fn is_left(&self, node: usize) -> bool {
        !self.free.contains(&node)
    }

    fn join(&mut self, beside: usize, part: usize) {
        let above = self.nodes[beside].parent;
        let node = self.plant(Content::Halves([beside, part]));
        self.hang(node, beside, above);
        self.nodes[beside].parent = Some(node);
        self.nodes[part].parent = Some(node);
        self.forget_up(node);
    }

    fn hang(&mut self, node: usize, instead_of: usize, above: Option<usize>) {
        self.nodes[node].parent = above;
        match above {
            None => self.root = node,
            Some(above) => {
                if let Content::Halves(halves) = &mut self.nodes[above].content {
                    halves[usize::from(halves[1] == instead_of)] = node;
                }
            }
        }
    }

    /// Makes a new node that has no place in the tree yet.
    fn plant(&mut self, content: Content) -> usize {
        let number = self.free.pop().unwrap_or(self.nodes.len());
        let room = if self.shape == Shape::Leafwise { 0 } else { FULL };
        let node = DhNode {
            parent: None,
            content,
            leaves: 1,
            height: 0,
            room,
            known: false,
            digested: false,
        };
        if number == self.nodes.len() {
            self.nodes.push(node);
            self.blinded.resize(self.nodes.len() * self.width, 0);
            self.digests.push([0; 32]);
        } else {
            self.nodes[number] = node;
        }
        if let Content::Leaf(member) = content {
            self.leaves.insert(member, number);
        }
        number
    }

    fn insertion_point(&self) -> usize {
        let mut at = self.root;
        if self.shape == Shape::Skinny || self.nodes[at].room == FULL {
            return at;
        }
        while let Content::Halves(halves) = self.nodes[at].content {
            let [left, right] = halves.map(|half| self.room_in(at, half));
            at = halves[usize::from(right <= left)];
            if right.min(left) == 0 {
                break;
            }
        }
        at
    }

    /// How many levels below a half of a node a new leaf goes, if it goes into that half.
    fn room_in(&self, node: usize, half: usize) -> u16 {
        let lower = self.nodes[half].height + 1 < self.nodes[node].height;
        if self.shape == Shape::Balanced && lower { 0 } else { self.nodes[half].room }
    }

    /// Recomputes what a node knows about the part below it.
    fn survey(&mut self, node: usize) {
        let Content::Halves(halves) = self.nodes[node].content else { return };
        let [left, right] = halves.map(|half| self.nodes[half]);
        self.nodes[node].leaves = left.leaves + right.leaves;
        self.nodes[node].height = 1 + left.height.max(right.height);
        let [left, right] = halves.map(|half| self.room_in(node, half));
        self.nodes[node].room = left.min(right).saturating_add(1);
    }

    fn outermost(&self, mut node: usize, side: usize) -> MemberId {
        loop {
            match self.nodes[node].content {
                Content::Halves(halves) => node = halves[side],
                Content::Leaf(member) => return member,
            }
        }
    }
}

#[cfg(test)]
mod tests;
