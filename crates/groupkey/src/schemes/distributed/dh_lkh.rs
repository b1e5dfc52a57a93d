//! DH-LKH: the tree of LKH, with a Diffie-Hellman exchange at every node. The tree is made from all
//! leaves at once, level by level.
//!
//! Source: Perrig, "Efficient collaborative key management protocols for secure autonomous group
//! communication", CrypTEC 1999; the name is that of Rafaeli and Hutchison 2003. Class:
//! distributed. Provenance: reconstructed: the exchange and the parallel creation are known from
//! works that cite it.
//!
//! The exchange, the sponsors and the messages are in `dh_tree.rs`. d is the depth of a member's or
//! sponsor's leaf after the change, a the depth of the lowest node above both. s is the number of
//! nodes below the root of which a member is the leftmost leaf, the leaf itself included:
//!
//! | operation | rounds | messages | elements sent | exponentiations |
//! |---|---|---|---|---|
//! | create, n members | ⌈log_2 n⌉ | at most 2n - 2 broadcasts | 2n - 2 | d + s each; in all the sum of all d, and 2n - 2 |
//! | confirm it (`sound`) | at most 1 | at most 1 broadcast | 0 | 0 |
//! | add, to n members | 3 | 2 broadcasts, 1 unicast | 2n + d + 1 | sponsor 2d, new member 1 + d, others a + 1 |
//! | remove, from n members | 1 | 1 broadcast | d | sponsor 2d, others a + 1 |
//! | rekey | 1 | 1 broadcast | d | as for a removal |
//! | merge, partition, catch up | as TGDH | | | |
//!
//! A tree of n leaves is left-balanced: its left half has as many leaves as can be, of a number
//! that is a power of two. The members are in it by ascending id. A new leaf goes to the shallowest
//! leaf, of several the rightmost. That node becomes the parent of both. The tree is not balanced
//! again when members leave.
//!
//! **Creation:** the representative of a node is the leftmost leaf below it. It sends the blinded
//! key as soon as it can compute it; all leaves begin. So a level takes a round. Each of these
//! messages is a STEP with one or more elements: a member that receives a key late sends two levels
//! in one. Its number says how many its sender sent before. In the `sound` profile, the first
//! member also confirms the key. The confirmation is in its last STEP if it has the key by then,
//! else in a STEP without elements. The latter happens if both halves are equally high, unless the
//! member received a key late, and often if they differ.
//!
//! Keys held: as TGDH. Profiles: as TGDH; in `published`, a creation ends without a confirmation.
//!
//! Reconstructed by us: all details of the messages; where a leaf goes, which member acts, the
//! order of the leaves; merge, partition and rekey, which are those of TGDH in this tree.
//! Deviations: as TGDH.
//!
//! S002 measures some 0.8 KB for 30 members. That fits numbers of 128 bits, which are too small to
//! be secure.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::{DhKeyTree, MEMBERS, Pace, Shape, TreeChange, TreePeer};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "dh-lkh",
    "DH-LKH, Diffie-Hellman in a key tree made level by level",
    Provenance::Reconstructed,
    "Perrig 1999",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_members(MEMBERS)
// A creation, and a joining member's first message, take log n exponentiations and n checks of
// elements. A check costs a thirtieth of an exponentiation. Up to some hundred members the sum
// grows as log² n does.
.with_growth(&[
    Growth::of(Role::Member, Form::LogarithmSquared, &[Operation::Create]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::NewMember, Form::LogarithmSquared, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::LogarithmSquared, &[Operation::Create]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
]);

#[derive(Debug)]
pub(crate) struct Member(TreePeer);

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self(TreePeer::new(configuration, me, Shape::Leafwise))
    }

    /// Creates a group: all members begin at once.
    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        self.0.require_creatable(members)?;
        let mut members = members.to_vec();
        members.sort_unstable();
        let depths: Vec<_> =
            (0..members.len()).map(|place| left_balanced_depth(place, members.len())).collect();
        let width = Element::length(cx.suite());
        let tree = DhKeyTree::of(Shape::Leafwise, width, &members, &depths);
        // These depths always make a tree.
        let tree = tree.ok_or(Misuse::TooFewMembers)?;
        let epoch = self.0.epoch().next();
        let change = TreeChange::of_sponsors(&tree, Operation::Create, epoch, &members);
        self.0.begin(cx, tree, change.at(Pace::Eager))
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Create(members)) => self.create(cx, members),
            _ => self.0.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.0.group_key()
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn footprint(&self) -> Footprint {
        self.0.footprint()
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.0.key_tree(cx)
    }
}

fn left_balanced_depth(mut place: usize, mut leaves: usize) -> usize {
    let mut depth = 0;
    while leaves > 1 {
        let left = leaves.next_power_of_two() / 2;
        if place < left {
            leaves = left;
        } else {
            (place, leaves) = (place - left, leaves - left);
        }
        depth += 1;
    }
    depth
}
