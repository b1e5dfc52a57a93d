//! The tree itself.

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::context::{Context, Draft};
use crate::crypto::wrap::MAX_KEYS;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::{Roster, circumstances};
use crate::party::{KeyFingerprint, KeyNode};
use crate::secret::Key;
use crate::wire::Reader;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberTree {
    /// For each node, the number of nodes from it down, itself included: 1 for a leaf.
    pub(super) sizes: Vec<u32>,
    /// The members at the leaves, from left to right.
    pub(super) roster: Roster,
}

/// Nodes above a leaf, at most. Keys for all of them and for the halves beside them are wrapped in
/// one call. A tree of the largest possible group is half as high if it only grew.
pub(crate) const HIGHEST: usize = MAX_KEYS / 2;

/// One step on the path from a leaf to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathLevel {
    pub(crate) node: usize,
    pub(crate) child: usize,
    /// Its other child.
    pub(crate) sibling: usize,
}

impl MemberTree {
    /// Builds the flattest tree of these members. The left half is the larger one.
    pub(crate) fn balanced(roster: &Roster) -> Self {
        let mut sizes = Vec::with_capacity(2 * roster.len());
        grow(&mut sizes, roster.len());
        Self { sizes, roster: roster.clone() }
    }

    /// Number of nodes: one less than twice the leaves.
    pub(crate) const fn nodes(&self) -> usize {
        self.sizes.len()
    }

    pub(crate) const fn roster(&self) -> &Roster {
        &self.roster
    }

    pub(crate) fn insert(&mut self, member: MemberId) -> MemberId {
        let leaves = self.preorder().filter(|&(node, _)| self.is_leaf(node));
        let shallowest = leaves.min_by_key(|&(node, depth)| (depth, Reverse(node)));
        let at = shallowest.map_or(0, |(node, _)| node);
        let place = self.first(at);
        // The leaf becomes its own parent.
        for above in self.down_to(at) {
            self.sizes[above] += 2;
        }
        self.sizes.splice(at + 1..at + 1, [1, 1]);
        self.roster.insert(place + 1, &[member]);
        self.roster.at(place)
    }

    /// Takes a member out. Returns the new place of its former sibling.
    pub(crate) fn remove(&mut self, member: MemberId) -> Option<usize> {
        let place = self.roster.place(member)?;
        let leaf = self.leaf_in(place);
        let above = self.down_to(leaf);
        let [above @ .., parent, _] = &above[..] else { return None };
        for &node in above {
            self.sizes[node] -= 2;
        }
        self.sizes.remove(leaf);
        self.sizes.remove(*parent);
        self.roster.remove(place);
        Some(*parent)
    }

    pub(crate) fn leaf(&self, member: MemberId) -> Option<usize> {
        self.roster.place(member).map(|place| self.leaf_in(place))
    }

    pub(crate) fn is_leaf(&self, node: usize) -> bool {
        self.sizes[node] == 1
    }

    pub(crate) fn member_at(&self, node: usize) -> Option<MemberId> {
        self.is_leaf(node).then(|| self.leader(node))
    }

    pub(crate) fn leader(&self, node: usize) -> MemberId {
        self.roster.at(self.first(node))
    }

    pub(crate) fn members_below(&self, node: usize) -> &[MemberId] {
        let first = self.first(node);
        self.roster.between(first..first + self.width(node))
    }

    /// The witness of a sponsor's change: the leader of the half of the tree that the sponsor is not
    /// in. There is none in a tree of two, where it would speak to nobody but the sponsor.
    pub(crate) fn witness_of(&self, sponsor: MemberId) -> Option<MemberId> {
        let highest = self.path(sponsor).pop()?;
        (self.roster.len() > 2).then(|| self.leader(highest.sibling))
    }

    pub(crate) fn width(&self, node: usize) -> usize {
        self.size(node).div_ceil(2)
    }

    pub(crate) fn is_within(&self, node: usize, above: usize) -> bool {
        (above..above + self.size(above)).contains(&node)
    }

    pub(crate) fn led_by(&self, leader: MemberId, width: usize) -> Option<usize> {
        self.led_from(self.leaf(leader)?, width)
    }

    /// Whether a message from `sender`, to the half of this width that `sender` leads, is for `me`.
    /// Refuses a sender that is in neither this tree nor the roster before the change.
    pub(crate) fn is_heard(
        &self,
        me: MemberId,
        sender: MemberId,
        width: usize,
        before: &Roster,
    ) -> Result<bool, Error> {
        let leaf = self.leaf(sender);
        if leaf.is_none() && before.place(sender).is_none() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let node = leaf.and_then(|leaf| self.led_from(leaf, width)).zip(self.leaf(me));
        Ok(node.is_some_and(|(node, leaf)| self.is_within(leaf, node)))
    }

    /// The steps from a member's leaf up to the root.
    pub(crate) fn path(&self, member: MemberId) -> Vec<PathLevel> {
        let Some(leaf) = self.leaf(member) else { return Vec::new() };
        let down = self.down_to(leaf);
        let levels = down.windows(2).rev().map(|pair| {
            let (left, right) = self.halves(pair[0]);
            let sibling = if pair[1] == left { right } else { left };
            PathLevel { node: pair[0], child: pair[1], sibling }
        });
        levels.collect()
    }

    /// Number of nodes of a leaf's path that are in a half. The leaf need not be in that half.
    pub(crate) fn levels_within(&self, path: &[PathLevel], half: usize) -> usize {
        path.iter().filter(|level| self.is_within(level.node, half)).count()
    }

    /// The tree as [`Party::key_tree`](crate::Party::key_tree) shows it to a member that knows
    /// these keys on its path, from the lowest up to the root's.
    pub(crate) fn shown<'k>(
        &self,
        cx: &mut Context<'_>,
        me: MemberId,
        keys: impl DoubleEndedIterator<Item = &'k Key>,
    ) -> Vec<KeyNode> {
        let mut members = self.roster.iter();
        let nodes = (0..self.nodes()).map(|node| KeyNode {
            parent: None,
            member: if self.is_leaf(node) { members.next() } else { None },
            fingerprint: None,
        });
        let mut shown: Vec<_> = nodes.collect();
        for node in (0..self.nodes()).filter(|&node| !self.is_leaf(node)) {
            let (left, right) = self.halves(node);
            shown[left].parent = Some(node);
            shown[right].parent = Some(node);
        }
        let down = self.leaf(me).map(|leaf| self.down_to(leaf)).unwrap_or_default();
        for (node, key) in down.into_iter().zip(keys.rev()) {
            shown[node].fingerprint = Some(KeyFingerprint::of(cx, key.as_bytes()));
        }
        shown
    }

    /// The depth of each leaf, from left to right.
    pub(crate) fn form(&self) -> Vec<u8> {
        let leaves = self.preorder().filter(|&(node, _)| self.is_leaf(node));
        // A height of 255 takes more members than a group can have.
        leaves.map(|(_, depth)| u8::try_from(depth).unwrap_or(u8::MAX)).collect()
    }

    /// Derives the confirmation that a member has `key` in this tree. It covers group, epoch,
    /// members and form, and the session if there is one.
    pub(crate) fn confirmation(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        key: &Key,
        label: &'static str,
        session: Option<&Key>,
    ) -> Key {
        let mut context = circumstances(cx, epoch, &self.roster);
        context.extend_from_slice(&self.form());
        context.extend(session.into_iter().flat_map(Key::as_bytes));
        cx.derive(key, label, &context)
    }

    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        self.roster.write(draft);
        draft.bytes(&self.form());
    }

    /// Reads what [`Self::write`] appends.
    pub(crate) fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        let roster = Roster::read(body)?;
        let form = body.bytes()?;
        Self::of(&roster, form).ok_or_else(|| Misbehaviour::InvalidRoster.into())
    }

    /// The tree with these leaves at these depths. `None` if there is none or it is too high.
    pub(super) fn of(roster: &Roster, form: &[u8]) -> Option<Self> {
        let most = 2 * roster.len() - 1;
        let mut sizes: Vec<u32> = Vec::new();
        // The incomplete nodes, and for each whether its left half is complete.
        let mut open: Vec<(usize, bool)> = Vec::new();
        if form.len() != roster.len() {
            return None;
        }
        for depth in form.iter().copied().map(usize::from) {
            if depth < open.len() || (open.is_empty() && !sizes.is_empty()) {
                return None;
            }
            if depth > HIGHEST {
                return None;
            }
            while open.len() < depth {
                if sizes.len() == most {
                    return None;
                }
                open.push((sizes.len(), false));
                sizes.push(0);
            }
            sizes.push(1);
            while let Some((node, left_done)) = open.pop() {
                if !left_done {
                    open.push((node, true));
                    break;
                }
                sizes[node] = size_of(sizes.len() - node);
            }
        }
        open.is_empty().then(|| Self { sizes, roster: roster.clone() })
    }

    /// The nodes in preorder, and the depth of each.
    pub(super) fn preorder(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut ends: Vec<usize> = Vec::new();
        (0..self.nodes()).map(move |node| {
            while ends.last().is_some_and(|&end| end == node) {
                ends.pop();
            }
            let depth = ends.len();
            if !self.is_leaf(node) {
                ends.push(node + self.size(node));
            }
            (node, depth)
        })
    }

    /// The highest node that the member at `leaf` leads and that has this many leaves. From this
    /// node down to the leaf, each node on the path directly follows its parent in the array.
    pub(super) fn led_from(&self, leaf: usize, width: usize) -> Option<usize> {
        let up = self.down_to(leaf).into_iter().rev().enumerate();
        let mut led = up.take_while(|&(steps, node)| node + steps == leaf);
        led.find(|&(_, node)| self.width(node) == width).map(|(_, node)| node)
    }

    /// The place in the roster of the leftmost leaf below a node.
    pub(super) fn first(&self, node: usize) -> usize {
        let (mut at, mut first) = (0, 0);
        while at < node {
            let (left, right) = self.halves(at);
            if node < right {
                at = left;
            } else {
                first += self.width(left);
                at = right;
            }
        }
        first
    }

    pub(super) fn leaf_in(&self, place: usize) -> usize {
        let (mut at, mut first) = (0, 0);
        while !self.is_leaf(at) {
            let (left, right) = self.halves(at);
            let of_left = self.width(left);
            if place < first + of_left {
                at = left;
            } else {
                first += of_left;
                at = right;
            }
        }
        at
    }

    pub(super) fn size(&self, node: usize) -> usize {
        self.sizes[node] as usize
    }

    pub(super) fn down_to(&self, node: usize) -> Vec<usize> {
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
    pub(super) fn halves(&self, node: usize) -> (usize, usize) {
        (node + 1, node + 1 + self.size(node + 1))
    }
}

pub(super) fn grow(sizes: &mut Vec<u32>, leaves: usize) {
    sizes.push(size_of(2 * leaves - 1));
    if leaves > 1 {
        grow(sizes, leaves.div_ceil(2));
        grow(sizes, leaves / 2);
    }
}

/// Converts a number of nodes. No group has four thousand million members.
pub(super) fn size_of(nodes: usize) -> u32 {
    u32::try_from(nodes).expect("members have ids of 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Writer;

    fn tree(members: u32) -> MemberTree {
        MemberTree::balanced(&Roster::of(&(0..members).map(MemberId).collect::<Vec<_>>()))
    }

    fn height(tree: &MemberTree) -> usize {
        usize::from(tree.form().into_iter().max().unwrap())
    }

    #[test]
    fn a_tree_that_only_grew_is_as_high_as_it_must_be() {
        let mut growing = tree(2);
        for n in 2..=130_u32 {
            let least = n.next_power_of_two().ilog2() as usize;
            assert_eq!(height(&tree(n)), least, "{n} members");
            assert_eq!(height(&growing), least, "{n} members");
            assert_eq!(growing.roster().len(), n as usize);
            growing.insert(MemberId(n));
        }
    }

    #[test]
    fn a_tree_is_known_by_its_leaves() {
        for n in 3..=40 {
            for leaver in [0, 1, n / 2, n - 1] {
                let mut tree = tree(n);
                let again = MemberTree::of(tree.roster(), &tree.form());
                assert_eq!(again.as_ref(), Some(&tree));
                let sibling = tree.path(MemberId(leaver))[0].sibling;
                let (leader, width) = (tree.leader(sibling), tree.width(sibling));
                let promoted = tree.remove(MemberId(leaver)).unwrap();
                assert_eq!((tree.leader(promoted), tree.width(promoted)), (leader, width));
                assert_eq!(tree.led_by(leader, width), Some(promoted));
                assert_eq!(MemberTree::of(tree.roster(), &tree.form()), Some(tree.clone()));
                let neighbour = tree.insert(MemberId(99));
                let level = tree.path(neighbour)[0];
                assert_eq!(tree.leader(level.sibling), MemberId(99));
                assert!(tree.is_within(level.child, level.node));
            }
        }
    }

    /// The members from 0 on. Beside each member is the subtree of all later members.
    fn steep(leaves: u8) -> Result<MemberTree, Error> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.array(leaves.into());
        (0..leaves).for_each(|member| writer.number(member.into()));
        let depths = (1..leaves).chain([leaves - 1]);
        writer.bytes(&depths.collect::<Vec<_>>());
        MemberTree::read(&mut Reader::new(&bytes))
    }

    #[test]
    fn a_tree_that_is_too_high_is_refused() {
        assert_eq!(height(&steep(21).unwrap()), HIGHEST);
        for leaves in [22, 41, 42, 255] {
            assert_eq!(steep(leaves), Err(Misbehaviour::InvalidRoster.into()));
        }
    }

    #[test]
    fn forms_that_make_no_tree_are_refused() {
        let roster = Roster::of(&[1, 2, 3].map(MemberId));
        for form in [&[1, 2, 2][..], &[2, 2, 1]] {
            assert!(MemberTree::of(&roster, form).is_some());
        }
        for form in
            [&[1, 1, 1][..], &[1, 1], &[2, 2, 2], &[2, 1, 2], &[0, 1, 1], &[255, 255, 254], &[]]
        {
            assert!(MemberTree::of(&roster, form).is_none(), "{form:?}");
        }
    }
}
