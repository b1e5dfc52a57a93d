//! STR: group Diffie-Hellman in a tree as skinny as can be. A join costs the same at any size, and
//! a creation takes two rounds. If a low member leaves, almost every member computes much.
//!
//! Source: Kim, Perrig and Tsudik, "Communication-efficient group key agreement", IFIP SEC 2001,
//! after Steer, Strawczynski, Diffie and Wiener 1988. Class: distributed. Provenance:
//! reconstructed: join and leave are published, the creation is known in outline; messages are
//! ours.
//!
//! The exchange, the sponsor, the messages and the catching up are in `dh_tree.rs`. The members
//! stand in the order in which they came, `M_1` and `M_2` at the bottom, `M_n` beside all the
//! others. `M_i` is at depth n + 1 - i, `M_1` at n - 1. The sponsor of a join is the newest member.
//! The sponsor of the leave of `M_i` is `M_i-1`, or `M_2` for `M_1`: the j-th of the m = n - 1
//! members that stay.
//!
//! | operation | rounds | messages | elements sent | exponentiations |
//! |---|---|---|---|---|
//! | create, n members | 2 | n broadcasts | 2n - 2 | `M_1`: 2n - 2, `M_i`: n + 2 - i; in all (n² + 5n - 6) / 2 |
//! | add, to n members | 3 | 2 broadcasts, 1 unicast | 2n + 3 | sponsor 4, all others 2; in all 2n + 4 |
//! | remove, from n members | 1 | 1 broadcast | the sponsor's depth | sponsor 2(m + 1 - j), or 2(m - 1) if j = 1; the i-th of the others m + 1 - max(i, j) |
//! | rekey, partition | 1 | 1 broadcast | the sponsor's depth | as for a removal |
//! | merge, of n and m, m the smaller | 2 | 3 broadcasts | 2n + 3m - 3 | members that send a tree 3, the sponsor 2m - 1 more |
//! | catch up | 2 | 1 request, 1 unicast | 2n - 2 | asking member at most its depth |
//!
//! Keys held: the group key, this member's exponent and those above it, as many as this member's
//! depth; in addition 2n - 2 blinded keys, which are public, and as many hashes. Profiles: `sound`
//! confirms the key; in `published`, elements are not checked to be in the subgroup and nothing is
//! confirmed.
//!
//! Bodies: as in `dh_tree.rs`, without a form. In a creation all members but the first send their
//! blinded keys at once. The first member collects them and makes its path, as PATH. When
//! groups merge, the members of the smaller group stack up above the larger one. The newest member
//! of the larger group makes the keys between.
//!
//! Deviations: the first member sends its blinded key only in its path. The
//! sponsor of a join always draws a new secret, which the basic form does not: there, the root's
//! secret before the join gives the one after it. The joining member is sent the tree when it is
//! complete, and not before, so a join takes more rounds. The secret of a node is a hash of its
//! shared element. The group key depends on the tree. Two groups merge at a time. Rekeying,
//! confirmation and catching up are ours.
//!
//! Exponentiations beside table 1 of the TGDH paper: a leave at most 2n instead of 3n/2 + 2, a merge
//! 2m + 2 instead of 3m + 1.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::Error;
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::{DhKeyTree, Shape, TreeChange, TreePeer};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "str",
    "STR, group Diffie-Hellman in a skinny tree",
    Provenance::Reconstructed,
    "Kim, Perrig and Tsudik 2001",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Member, Form::Constant, &[Operation::Add]),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Sponsor, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Member(TreePeer);

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self(TreePeer::new(configuration, me, Shape::Skinny))
    }

    /// Creates a group: all but the first send their blinded keys, and the first makes the others.
    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        self.0.require_creatable(members)?;
        let mut tree = DhKeyTree::of_all(Shape::Skinny, Element::length(cx.suite()), members);
        let epoch = self.0.epoch().next();
        let (sponsor, others) = (members[0], &members[1..]);
        let mut change =
            TreeChange::of_sponsor(&mut tree, Operation::Create, epoch, sponsor, others);
        if sponsor != self.0.me() {
            self.0.tell_own_leaf(cx, &mut tree, &mut change);
        }
        self.0.begin(cx, tree, change)
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
