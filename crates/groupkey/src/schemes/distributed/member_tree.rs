//! A binary tree with the members at its leaves: who is where, where a new leaf goes, who leads
//! what. It holds no keys. D-LKH and D-OFT use it.
//!
//! Its nodes lie in one array, each before those below it, the left half before the right one. So
//! the nodes below a node follow it; its leader is the leftmost leaf. A newcomer goes to the right
//! of the shallowest leaf, of several the rightmost; when a leaf goes, its sibling takes the place
//! of their parent. So the tree of n members that only grew is ⌈log_2 n⌉ high.

mod alteration;
mod catching_up;
mod outcome;

use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

pub(crate) use self::alteration::Altered;
pub(crate) use self::outcome::{Confirming, Outcome, Session, TreeKeys};

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::party::{KeyFingerprint, KeyNode};
use crate::schemes::distributed::gdh::{Roster, circumstances};
use crate::secret::Key;
use crate::wire::Reader;

/// The tree of a group, or of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberTree {
    nodes: Vec<Node>,
}

/// One step on the way from a leaf to the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// The node that the step leads to.
    pub(crate) node: usize,
    /// Its child on the way.
    pub(crate) child: usize,
    /// Its other child.
    pub(crate) sibling: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Number of nodes from this one down, itself included.
    size: usize,
    /// Of a leaf.
    member: Option<MemberId>,
}

impl MemberTree {
    /// The tree of these members, as flat as can be; the left half is the larger one.
    pub(crate) fn balanced(roster: &Roster) -> Self {
        let members: Vec<_> = roster.iter().collect();
        let mut nodes = Vec::with_capacity(2 * members.len());
        grow(&mut nodes, &members);
        Self { nodes }
    }

    /// Number of leaves.
    #[cfg(test)]
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len().div_ceil(2)
    }

    /// Number of nodes: one less than twice the leaves.
    pub(crate) const fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The members, from left to right.
    pub(crate) fn roster(&self) -> Roster {
        Roster::of(&self.nodes.iter().filter_map(|node| node.member).collect::<Vec<_>>())
    }

    /// Takes a member in. Returns the one beside it.
    pub(crate) fn insert(&mut self, member: MemberId) -> Option<MemberId> {
        let depths = self.depths();
        let leaves = (0..self.nodes.len()).filter(|&node| self.is_leaf(node));
        let at = leaves.min_by_key(|&node| (depths[node], Reverse(node)))?;
        for above in self.down_to(at) {
            self.nodes[above].size += 2;
        }
        let neighbour = self.nodes[at].member;
        // The leaf became its own parent.
        self.nodes[at].member = None;
        self.nodes.insert(at + 1, Node { size: 1, member: neighbour });
        self.nodes.insert(at + 2, Node { size: 1, member: Some(member) });
        neighbour
    }

    /// Takes a member out. Returns where the node that was its sibling is now.
    pub(crate) fn remove(&mut self, member: MemberId) -> Option<usize> {
        let leaf = self.leaf(member)?;
        let above = self.down_to(leaf);
        let [above @ .., parent, _] = &above[..] else { return None };
        for &node in above {
            self.nodes[node].size -= 2;
        }
        self.nodes.remove(leaf);
        self.nodes.remove(*parent);
        Some(*parent)
    }

    pub(crate) fn leaf(&self, member: MemberId) -> Option<usize> {
        self.nodes.iter().position(|node| node.member == Some(member))
    }

    pub(crate) fn is_leaf(&self, node: usize) -> bool {
        self.nodes[node].member.is_some()
    }

    /// The leftmost leaf below a node.
    pub(crate) fn leader(&self, node: usize) -> Option<MemberId> {
        self.nodes[node..].iter().find_map(|node| node.member)
    }

    /// The members below a node, from left to right.
    pub(crate) fn members_below(&self, node: usize) -> Vec<MemberId> {
        let below = &self.nodes[node..node + self.nodes[node].size];
        below.iter().filter_map(|node| node.member).collect()
    }

    /// Number of leaves below a node.
    pub(crate) fn width(&self, node: usize) -> usize {
        self.nodes[node].size.div_ceil(2)
    }

    /// Whether a node is another one or below it.
    pub(crate) fn is_within(&self, node: usize, above: usize) -> bool {
        (above..above + self.nodes[above].size).contains(&node)
    }

    /// The node that this member leads and that has so many leaves.
    pub(crate) fn led_by(&self, leader: MemberId, width: usize) -> Option<usize> {
        let leaf = self.leaf(leader)?;
        let mut led = self.down_to(leaf).into_iter().filter(|&node| self.width(node) == width);
        led.find(|&node| self.leader(node) == Some(leader))
    }

    /// Whether what a member sends to the half of this width that it leads is for `me`. Who is
    /// neither here nor was sends nothing.
    pub(crate) fn is_heard(
        &self,
        me: MemberId,
        sender: MemberId,
        width: usize,
        before: &Roster,
    ) -> Result<bool, Error> {
        if self.leaf(sender).is_none() && before.place(sender).is_none() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let node = self.led_by(sender, width).zip(self.leaf(me));
        Ok(node.is_some_and(|(node, leaf)| self.is_within(leaf, node)))
    }

    /// From a member's leaf up to the root.
    pub(crate) fn path(&self, member: MemberId) -> Vec<Level> {
        let Some(leaf) = self.leaf(member) else { return Vec::new() };
        let down = self.down_to(leaf);
        let levels = down.windows(2).rev().map(|pair| {
            let (left, right) = self.halves(pair[0]);
            let sibling = if pair[1] == left { right } else { left };
            Level { node: pair[0], child: pair[1], sibling }
        });
        levels.collect()
    }

    /// How many nodes above a leaf are in a half, which need not be one that it is in.
    pub(crate) fn levels_within(&self, path: &[Level], half: usize) -> usize {
        path.iter().filter(|level| self.is_within(level.node, half)).count()
    }

    /// The tree as [`Party::key_tree`](crate::Party::key_tree) shows it to a member that knows these keys on
    /// its path, the lowest first, up to the root's.
    pub(crate) fn shown<'k>(
        &self,
        cx: &mut Context<'_>,
        me: MemberId,
        keys: impl DoubleEndedIterator<Item = &'k Key>,
    ) -> Vec<KeyNode> {
        let mut shown: Vec<_> = (self.nodes.iter())
            .map(|node| KeyNode { parent: None, member: node.member, fingerprint: None })
            .collect();
        for node in (0..self.nodes.len()).filter(|&node| !self.is_leaf(node)) {
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

    /// How far each leaf is from the root, from left to right.
    pub(crate) fn form(&self) -> Vec<u8> {
        let depths = self.depths();
        let leaves = (0..self.nodes.len()).filter(|&node| self.is_leaf(node));
        // A height of 255 takes more members than there can be.
        leaves.map(|node| u8::try_from(depths[node]).unwrap_or(u8::MAX)).collect()
    }

    /// Shows who has a key, and in which tree: derived from it for group, epoch, members and form,
    /// and for a session, if there is one.
    pub(crate) fn confirmation(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        key: &Key,
        label: &'static str,
        session: Option<&Key>,
    ) -> Key {
        let mut context = circumstances(cx, epoch, &self.roster());
        context.extend_from_slice(&self.form());
        context.extend(session.into_iter().flat_map(Key::as_bytes));
        cx.derive(key, label, &context)
    }

    /// Appends members and form to a message.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        self.roster().write(draft);
        draft.bytes(&self.form());
    }

    /// Reads what [`Self::write`] appends.
    pub(crate) fn read(body: &mut Reader<'_>) -> Result<Self, Error> {
        let roster = Roster::read(body)?;
        let form = body.bytes()?;
        Self::of(&roster, form).ok_or_else(|| Misbehaviour::InvalidRoster.into())
    }

    /// The tree with these leaves at these depths, if there is one.
    fn of(roster: &Roster, form: &[u8]) -> Option<Self> {
        let most = 2 * roster.len() - 1;
        let mut nodes: Vec<Node> = Vec::new();
        // The nodes that are not complete yet, and whether their left halves are.
        let mut open: Vec<(usize, bool)> = Vec::new();
        if form.len() != roster.len() {
            return None;
        }
        for (member, depth) in roster.iter().zip(form.iter().copied().map(usize::from)) {
            if depth < open.len() || (open.is_empty() && !nodes.is_empty()) {
                return None;
            }
            while open.len() < depth {
                if nodes.len() == most {
                    return None;
                }
                open.push((nodes.len(), false));
                nodes.push(Node { size: 0, member: None });
            }
            nodes.push(Node { size: 1, member: Some(member) });
            while let Some((node, left_done)) = open.pop() {
                if !left_done {
                    open.push((node, true));
                    break;
                }
                nodes[node].size = nodes.len() - node;
            }
        }
        open.is_empty().then_some(Self { nodes })
    }

    fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.nodes.len()];
        for node in (0..self.nodes.len()).filter(|&node| !self.is_leaf(node)) {
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

fn grow(nodes: &mut Vec<Node>, members: &[MemberId]) {
    if let [member] = members {
        nodes.push(Node { size: 1, member: Some(*member) });
        return;
    }
    nodes.push(Node { size: 2 * members.len() - 1, member: None });
    let (left, right) = members.split_at(members.len().div_ceil(2));
    grow(nodes, left);
    grow(nodes, right);
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(growing.len(), n as usize);
            growing.insert(MemberId(n));
        }
    }

    #[test]
    fn a_tree_is_known_by_its_leaves() {
        for n in 3..=40 {
            for leaver in [0, 1, n / 2, n - 1] {
                let mut tree = tree(n);
                let again = MemberTree::of(&tree.roster(), &tree.form());
                assert_eq!(again.as_ref(), Some(&tree));
                let sibling = tree.path(MemberId(leaver))[0].sibling;
                let (leader, width) = (tree.leader(sibling), tree.width(sibling));
                let promoted = tree.remove(MemberId(leaver)).unwrap();
                assert_eq!((tree.leader(promoted), tree.width(promoted)), (leader, width));
                assert_eq!(tree.led_by(leader.unwrap(), width), Some(promoted));
                assert_eq!(MemberTree::of(&tree.roster(), &tree.form()), Some(tree.clone()));
                let neighbour = tree.insert(MemberId(99)).unwrap();
                let level = tree.path(neighbour)[0];
                assert_eq!(tree.leader(level.sibling), Some(MemberId(99)));
                assert!(tree.is_within(level.child, level.node));
            }
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
