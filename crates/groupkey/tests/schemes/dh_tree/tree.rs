//! The trees of TGDH, STR and DH-LKH once more, from the papers' words.

use std::collections::BTreeSet;

#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Leaf(u32),
    Node(Box<Self>, Box<Self>),
}

impl Tree {
    pub(crate) fn created(id: &str, n: u32) -> Self {
        if id == "dh-lkh" {
            return Self::left_balanced(0, n);
        }
        let mut tree = Self::Leaf(0);
        (1..n).for_each(|member| _ = tree.join(id, member));
        tree
    }

    pub(crate) fn left_balanced(first: u32, leaves: u32) -> Self {
        if leaves == 1 {
            return Self::Leaf(first);
        }
        let left = leaves.next_power_of_two() / 2;
        let right = Self::left_balanced(first + left, leaves - left);
        Self::Node(Box::new(Self::left_balanced(first, left)), Box::new(right))
    }

    /// Takes a member in; returns the sponsor.
    pub(crate) fn join(&mut self, id: &str, member: u32) -> u32 {
        let height = self.height();
        let full = (1 << height) == self.size();
        if id == "str" || full && id == "tgdh" {
            return self.grow(member);
        }
        let is_place = |tree: &Self, depth| match id {
            "dh-lkh" => tree.height() == 0,
            _ => depth + tree.height() < height,
        };
        let mut depth = 0;
        let mut level = vec![self];
        loop {
            // Of those where the tree does not become higher, or of the leaves, the rightmost.
            let place = level.iter().rposition(|tree| is_place(tree, depth));
            if let Some(place) = place {
                return level.swap_remove(place).grow(member);
            }
            level = level.into_iter().flat_map(Self::children).collect();
            depth += 1;
        }
    }

    fn grow(&mut self, member: u32) -> u32 {
        let sponsor = self.rightmost();
        let old = std::mem::replace(self, Self::Leaf(member));
        *self = Self::Node(Box::new(old), Box::new(Self::Leaf(member)));
        sponsor
    }

    /// Takes a member out; returns the sponsor.
    pub(crate) fn leave(&mut self, member: u32) -> u32 {
        let Self::Node(left, right) = self else { panic!("the member is not here") };
        let is_leaver = |half: &Self| matches!(half, Self::Leaf(other) if *other == member);
        let halves = [(&**left, &**right), (&**right, &**left)];
        let beside = halves.into_iter().find(|(half, _)| is_leaver(half));
        if let Some(other) = beside.map(|(_, other)| other.clone()) {
            let sponsor = other.rightmost();
            *self = other;
            return sponsor;
        }
        if left.has(member) { left.leave(member) } else { right.leave(member) }
    }

    fn children(&mut self) -> Vec<&mut Self> {
        match self {
            Self::Leaf(_) => Vec::new(),
            Self::Node(left, right) => vec![left, right],
        }
    }

    /// From left to right.
    pub(crate) fn leaves(&self) -> Vec<u32> {
        match self {
            Self::Leaf(member) => vec![*member],
            Self::Node(left, right) => [left.leaves(), right.leaves()].concat(),
        }
    }

    pub(crate) fn without(&self, leavers: &BTreeSet<u32>) -> Self {
        let mut tree = self.clone();
        leavers.iter().for_each(|&leaver| _ = tree.leave(leaver));
        tree
    }

    /// With these members only.
    pub(crate) fn only(&self, members: &BTreeSet<u32>) -> Self {
        let others = self.leaves().into_iter().filter(|member| !members.contains(member));
        self.without(&others.collect())
    }

    /// Of how many nodes below the root a member is the leftmost leaf.
    pub(crate) fn leftmost_of(&self, member: u32) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => {
                let half = if left.has(member) { left } else { right };
                u64::from(half.leaves()[0] == member) + half.leftmost_of(member)
            }
        }
    }

    pub(crate) fn rightmost(&self) -> u32 {
        match self {
            Self::Leaf(member) => *member,
            Self::Node(_, right) => right.rightmost(),
        }
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Leaf(_) => 1,
            Self::Node(left, right) => left.size() + right.size(),
        }
    }

    pub(crate) fn height(&self) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => 1 + left.height().max(right.height()),
        }
    }

    fn has(&self, member: u32) -> bool {
        match self {
            Self::Leaf(other) => *other == member,
            Self::Node(left, right) => left.has(member) || right.has(member),
        }
    }

    pub(crate) fn depth(&self, member: u32) -> u64 {
        match self {
            Self::Leaf(_) => 0,
            Self::Node(left, right) => {
                1 + if left.has(member) { left.depth(member) } else { right.depth(member) }
            }
        }
    }

    /// The depth of the lowest node above two members.
    pub(crate) fn meeting(&self, one: u32, other: u32) -> u64 {
        match self {
            Self::Node(left, right) => {
                let below = [left, right].into_iter();
                let mut both = below.filter(|half| half.has(one) && half.has(other));
                both.next().map_or(0, |half| 1 + half.meeting(one, other))
            }
            Self::Leaf(_) => 0,
        }
    }
}
