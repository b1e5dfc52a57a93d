//! Where nodes are in the array of a perfect binary tree (RFC 9420 appendix C): leaves have even
//! numbers, and a node at level k stands in the middle of the 2^(k+1) - 1 nodes of its subtree.

use core::ops::Range;

pub(super) const fn level(node: usize) -> u32 {
    node.trailing_ones()
}

pub(super) const fn left(node: usize) -> usize {
    node - (1 << (level(node) - 1))
}

pub(super) const fn right(node: usize) -> usize {
    node + (1 << (level(node) - 1))
}

/// Returns the parent of a node, in a tree that is high enough.
pub(super) const fn parent(node: usize) -> usize {
    let level = level(node);
    // The lowest bit above the node's ones says on which side of its parent it is.
    (node | 1 << level) & !(1 << (level + 1))
}

/// Returns the other child of a node's parent.
pub(super) const fn sibling(node: usize) -> usize {
    node ^ 1 << (level(node) + 1)
}

/// Returns the numbers of the nodes below a node, itself included. The first one is a leaf.
pub(super) const fn subtree(node: usize) -> Range<usize> {
    let half = (1 << level(node)) - 1;
    node - half..node + half + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 9420 appendix C: the levels of a tree of eight leaves.
    #[test]
    fn levels_are_those_of_the_rfc() {
        let levels = [0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0];
        assert_eq!(core::array::from_fn(level), levels);
        assert_eq!((left(7), right(7), left(11), right(13)), (3, 11, 9, 14));
    }

    /// A tree that is taken apart from the root.
    #[test]
    fn relations_are_those_of_a_tree() {
        for height in 1..10 {
            let width = (2 << height) - 1;
            let mut open = alloc::vec![(width / 2, 0..width)];
            while let Some((node, range)) = open.pop() {
                assert_eq!(subtree(node), range);
                if node.is_multiple_of(2) {
                    assert_eq!(range.len(), 1);
                    continue;
                }
                let (low, high) =
                    (range.start + (node - range.start) / 2, node.midpoint(range.end));
                assert_eq!((left(node), right(node)), (low, high));
                assert_eq!([parent(low), parent(high)], [node; 2]);
                assert_eq!((sibling(low), sibling(high)), (high, low));
                open.extend([(low, range.start..node), (high, node + 1..range.end)]);
            }
        }
    }
}
