//! TGDH, tree-based group Diffie-Hellman: a balanced binary tree with an exchange at every node. A
//! join or leave makes one member recompute its path to the root, in two steps a level.
//!
//! Source: Kim, Perrig and Tsudik, "Tree-based group key agreement", ACM TISSEC 7(1), 2004; as S001
//! measures it. Class: distributed. Provenance: specified; messages are ours.
//!
//! The exchange, the sponsors, the messages and the catching up are in `dh_tree.rs`. d is the depth
//! of the member's or the sponsor's leaf in the tree after the change. a is the depth of the lowest
//! node above both a member and the sponsor. h is the tree's height. u is the number of nodes that
//! lie above the lower of two trees that merge, without the root:
//!
//! | operation | rounds | messages | elements sent | exponentiations |
//! |---|---|---|---|---|
//! | create, n members | 2(n - 1) | 2(n - 1) broadcasts | of each step d + 1 | each but the first 1; sponsor of each step 2d - 1, of the last 2d; others at most d |
//! | add, to n members | 3 | 2 broadcasts, 1 unicast | 2n + d + 1 | sponsor 2d, new member 1 + d, others a + 1 |
//! | remove, from n members | 1 | 1 broadcast | d | sponsor 2d, others a + 1 |
//! | rekey | 1 | 1 broadcast | d | sponsor 2d, others a + 1 |
//! | partition, p leave | at most ⌊log_2 p⌋ + 1 | at most p broadcasts | at most 2n - 2 | at most 2h |
//! | merge, of n and m | 2 | 3 broadcasts | 2(n + m) - 2 + u | members that send a tree 2d + 1, the sponsor 2u + 1 more |
//! | catch up | 2 | 1 request, 1 unicast | 2n - 2 | asking member as above, at most d |
//!
//! Every received element that is used is read and checked first: at most d at each change.
//!
//! A new leaf goes beside the shallowest node, of several the rightmost, where the tree does not
//! become higher. If the tree is full, the leaf goes beside the whole tree. So d is at most
//! ⌈log_2 n⌉, of the largest n that the group ever had: the tree is not balanced again when members
//! leave.
//!
//! Keys held: the group key, this member's exponent and those above it, d in all; in addition
//! 2n - 2 blinded keys, which are public, and as many hashes. Profiles: `sound` confirms the key;
//! in `published`, elements are not checked to be in the subgroup and nothing is confirmed.
//!
//! Bodies: as in `dh_tree.rs`. A group is created as the source does it for two trees of one
//! member, and as S001 measures it. The second member joins the first, then the third joins, in
//! n - 1 steps of a JOIN and a STEP. The number of a STEP is that of the leaves
//! (`dh_tree/chain.rs`). All are of the first epoch. No member computes the group keys in between.
//!
//! Deviations: the keys in between are not computed. The secret of a node is a hash of its shared
//! element, where the source uses the element itself. The root's blinded key is not sent, except
//! when groups merge. A sponsor sends its path, where the source sends the whole tree. The whole
//! tree goes to the joining member, from another member. A sponsor of a partition sends once, when
//! it has all keys; the source's sponsors send what they have, round by round. Two groups merge at
//! a time. The group key depends on the tree. Rekeying, confirmation and catching up are ours.
//! S001's request to leave, with the leaving member's blinded key, is not sent. A leave is an event
//! of membership, and `Ordered` has a request of its own.
//!
//! Table 1 of the source, rounds and messages: a join 2 and 3 (here 3 and 3), a merge 2 and 4 (here
//! 2 and 3). It counts 3h/2 exponentiations one after the other; a sponsor here does 2h, because it
//! blinds every key that it makes. S001 broadcasts 2n - 1 nodes of 260 bytes at a join; a tree here
//! has 2n - 2 of 32.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::Error;
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::{CreationChain, JOIN, MEMBERS, STEP, Shape, TreePeer};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "tgdh",
    "TGDH, tree-based group Diffie-Hellman",
    Provenance::Specified,
    "Kim, Perrig and Tsudik 2004; S001",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
]);

#[derive(Debug)]
pub(crate) struct Member {
    peer: TreePeer,
    chain: Option<CreationChain>,
}

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self { peer: TreePeer::new(configuration, me, Shape::Balanced), chain: None }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match (input, &mut self.chain) {
            (Input::Command(Command::Create(members)), _) => {
                self.chain = Some(CreationChain::begin(&mut self.peer, cx, members)?);
            }
            (Input::Message(message), Some(chain))
                if message.header().operation == Operation::Create =>
            {
                match message.header().kind {
                    JOIN => chain.receive_join(&mut self.peer, cx, &message)?,
                    STEP => chain.receive_step(&mut self.peer, cx, &message)?,
                    _ => self.peer.step(cx, input)?,
                }
            }
            _ => self.peer.step(cx, input)?,
        }
        // Once there is a key, the creation is over.
        self.chain.take_if(|_| self.peer.group_key().is_some());
        Ok(())
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.peer.group_key()
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn footprint(&self) -> Footprint {
        self.peer.footprint()
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.peer.key_tree(cx)
    }
}
