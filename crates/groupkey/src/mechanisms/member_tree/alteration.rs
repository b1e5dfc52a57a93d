//! Larger alterations of a tree: several leaves go at once, or two trees become one. The unchanged
//! parts are halves, which cover all leaves. All nodes above the halves are renewed.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::tree::{HIGHEST, MemberTree, size_of};
use crate::identity::MemberId;
use crate::mechanisms::membership::Roster;

/// A tree after an event, and its unchanged halves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Altered {
    pub(crate) tree: MemberTree,
    /// From left to right. If the whole tree is unchanged, this is its root.
    pub(crate) halves: Vec<usize>,
}

impl Altered {
    /// Returns this tree with only its leaves unchanged.
    pub(crate) fn of_leaves(tree: MemberTree) -> Self {
        let halves = (0..tree.nodes()).filter(|&node| tree.is_leaf(node)).collect();
        Self { tree, halves }
    }

    pub(crate) fn above(tree: MemberTree, node: usize) -> Self {
        let mut halves = tree.beside(node);
        halves.push(node);
        halves.sort_unstable();
        Self { tree, halves }
    }

    /// Whether the whole tree is one half. In that case its root is renewed.
    pub(crate) fn is_one_half(&self) -> bool {
        self.halves == [0]
    }

    pub(crate) fn half_of(&self, member: MemberId) -> Option<usize> {
        let leaf = self.tree.leaf(member)?;
        self.halves.iter().copied().find(|&half| self.tree.is_within(leaf, half))
    }
}

impl MemberTree {
    /// Takes several members out. If a node loses a half, the other half takes its place. Returns
    /// `None` if no member is left.
    pub(crate) fn without(&self, apart: &Roster) -> Option<Altered> {
        let mut left = vec![0; self.nodes()];
        let mut members = self.roster.iter().rev();
        for node in (0..self.nodes()).rev() {
            left[node] = if self.is_leaf(node) {
                usize::from(members.next().is_some_and(|member| apart.place(member).is_none()))
            } else {
                let (one, other) = self.halves(node);
                left[one] + left[other]
            };
        }
        let (mut sizes, mut halves) = (Vec::new(), Vec::new());
        let mut node = 0;
        while node < self.nodes() {
            let size = self.size(node);
            if left[node] == 0 {
                node += size;
            } else if left[node] == self.width(node) {
                halves.push(sizes.len());
                sizes.extend_from_slice(&self.sizes[node..node + size]);
                node += size;
            } else {
                let (one, other) = self.halves(node);
                if left[one] > 0 && left[other] > 0 {
                    sizes.push(size_of(2 * left[node] - 1));
                }
                node += 1;
            }
        }
        let roster = self.roster.without(|member| apart.place(member).is_some());
        (!sizes.is_empty()).then_some(Altered { tree: Self { sizes, roster }, halves })
    }

    /// Takes another tree in, beside the shallowest node where this tree does not become higher, of
    /// several the rightmost. If there is none, it goes beside the root. With `roots_anew`, a
    /// former root is not a half that stays, but its own halves are. If the tree would be too high,
    /// all members make a flat tree, as in a creation, and only leaves stay.
    pub(crate) fn merged(&self, other: &Self, roots_anew: bool) -> Altered {
        let beside = self.place_for(other.height());
        if beside == 0 && self.height().max(other.height()) == HIGHEST {
            return Altered::of_leaves(Self::balanced(&self.roster.followed_by(&other.roster)));
        }
        let Self { mut sizes, mut roster } = self.clone();
        for above in self.above(beside) {
            sizes[above] += size_of(1 + other.nodes());
        }
        let size = self.size(beside);
        sizes.splice(beside + size..beside + size, other.sizes.iter().copied());
        sizes.insert(beside, size_of(1 + size + other.nodes()));
        let place = self.first(beside) + self.width(beside);
        roster.insert(place, other.roster.between(0..other.roster.len()));
        let tree = Self { sizes, roster };
        let (kept, taken) = tree.halves(beside);
        let mut halves = tree.beside(beside);
        for (half, was_root) in [(kept, beside == 0), (taken, true)] {
            if roots_anew && was_root && !tree.is_leaf(half) {
                halves.extend(<[usize; 2]>::from(tree.halves(half)));
            } else {
                halves.push(half);
            }
        }
        halves.sort_unstable();
        Altered { tree, halves }
    }

    pub(crate) fn beside(&self, node: usize) -> Vec<usize> {
        let down = self.down_to(node);
        let beside = down.windows(2).map(|pair| {
            let (left, right) = self.halves(pair[0]);
            if pair[1] == left { right } else { left }
        });
        beside.collect()
    }

    /// The nodes above a node, lowest first.
    pub(crate) fn above(&self, node: usize) -> Vec<usize> {
        let mut above = self.down_to(node);
        above.pop();
        above.reverse();
        above
    }

    fn place_for(&self, height: usize) -> usize {
        let heights = self.heights();
        let fits =
            |&(node, depth): &(usize, usize)| depth + 1 + heights[node].max(height) <= heights[0];
        let shallowest = self.preorder().filter(fits);
        let shallowest = shallowest.min_by_key(|&(node, depth)| (depth, Reverse(node)));
        shallowest.map_or(0, |(node, _)| node)
    }

    fn height(&self) -> usize {
        self.heights()[0]
    }

    fn heights(&self) -> Vec<usize> {
        let mut heights = vec![0; self.nodes()];
        for node in (0..self.nodes()).rev().filter(|&node| !self.is_leaf(node)) {
            let (left, right) = self.halves(node);
            heights[node] = 1 + heights[left].max(heights[right]);
        }
        heights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster(members: impl IntoIterator<Item = u32>) -> Roster {
        Roster::of(&members.into_iter().map(MemberId).collect::<Vec<_>>())
    }

    fn tree(members: core::ops::Range<u32>) -> MemberTree {
        MemberTree::balanced(&roster(members))
    }

    /// Asserts that members and form describe the whole tree, and that each member is in a half.
    fn assert_whole(altered: &Altered) {
        let Altered { tree, halves } = altered;
        assert_eq!(MemberTree::of(tree.roster(), &tree.form()).as_ref(), Some(tree));
        let covered: Vec<_> =
            halves.iter().flat_map(|&half| tree.members_below(half)).copied().collect();
        assert_eq!(Roster::of(&covered), *tree.roster());
    }

    #[test]
    fn several_that_go_are_as_one_after_the_other() {
        for n in 3..=40 {
            for step in 2..7 {
                let (mut each, apart) = (tree(0..n), roster((0..n - 2).step_by(step)));
                apart.iter().for_each(|member| assert!(each.remove(member).is_some()));
                let altered = tree(0..n).without(&apart).unwrap();
                assert_eq!(altered.tree, each);
                assert_whole(&altered);
            }
        }
        assert!(tree(0..3).without(&roster(0..3)).is_none());
    }

    #[test]
    fn what_nobody_left_stays_as_it_was() {
        // ((0 1) (2 3)) ((4 5) (6 7))
        let altered = tree(0..8).without(&roster([0, 5])).unwrap();
        assert_eq!(altered.tree.form(), [2, 3, 3, 2, 3, 3]);
        let half = altered.half_of(MemberId(7)).unwrap();
        assert_eq!(altered.tree.members_below(half), [6, 7].map(MemberId));
        let altered = tree(0..8).without(&roster(4..8)).unwrap();
        assert_eq!(altered.halves, [0], "half the group stayed as it was");
    }

    #[test]
    fn a_part_that_is_taken_in_can_be_taken_out() {
        for n in 2..=24 {
            for m in 2..=n {
                for roots_anew in [false, true] {
                    let (one, other) = (tree(0..n), tree(n..n + m));
                    let altered = one.merged(&other, roots_anew);
                    assert_whole(&altered);
                    let highest = one.height().max(other.height());
                    assert!(altered.tree.height() <= highest + 1);
                    let back = |apart| altered.tree.without(&apart).unwrap().tree;
                    assert_eq!(back(roster(n..n + m)), one);
                    assert_eq!(back(roster(0..n)), other);
                    assert_eq!(altered.tree.leader(0), one.leader(0));
                }
            }
        }
    }

    #[test]
    fn parts_that_would_make_too_high_a_tree_make_a_flat_one() {
        let steep = |members: core::ops::Range<u32>| {
            let depths: Vec<_> = (1..21).chain([20]).collect();
            MemberTree::of(&roster(members), &depths).unwrap()
        };
        for roots_anew in [false, true] {
            let altered = steep(0..21).merged(&steep(21..42), roots_anew);
            assert_eq!(altered, Altered::of_leaves(tree(0..42)));
            let altered = steep(0..21).merged(&tree(21..23), roots_anew);
            assert_eq!(altered.tree.height(), HIGHEST);
        }
    }

    #[test]
    fn a_part_that_fits_does_not_make_the_tree_higher() {
        // (((0 1) 2) (3 4)): 5 members, room for a pair beside 2.
        let altered = tree(0..5).merged(&tree(5..7), false);
        assert_eq!(altered.tree.height(), 3);
        let altered = tree(0..4).merged(&tree(4..8), false);
        assert_eq!(altered.halves.len(), 2, "equals come beside each other");
        assert_eq!(tree(0..4).merged(&tree(4..8), true).halves.len(), 4);
    }
}
