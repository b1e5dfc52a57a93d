//! TGDH, tree-based group Diffie-Hellman: a balanced binary tree with an exchange at every node; who
//! comes or goes makes one member compute its way to the root anew, in two steps a level.
//!
//! Source: Kim, Perrig and Tsudik, "Tree-based group key agreement", ACM TISSEC 7(1), 2004; as S001
//! measures it. Class: distributed. Provenance: specified; messages are ours.
//!
//! The exchange, the sponsor, the messages and the catching up are in `dh_tree.rs`; d is the depth of
//! the member's or the sponsor's leaf in the tree after the change, a that of the lowest node above
//! both a member and the sponsor:
//!
//! | operation | messages | elements sent | exponentiations |
//! |---|---|---|---|
//! | create, n members | 2(n - 1) broadcasts | n² - 1 | each but the first 1; sponsor of each step 2d - 1, of the last 2d; others d |
//! | add, to n members | 2 broadcasts | 2n + 1 | sponsor 2d, new member 1 + d, others a + 1 |
//! | remove, from n members | 1 broadcast | 2n - 4 | sponsor 2d, others a + 1 |
//! | catch up | 1 request, 1 unicast | 2n - 2 | asking member as above, at most d |
//!
//! A new leaf goes beside the shallowest node, of several the rightmost, where the tree does not
//! become higher, or beside the whole tree if it is full. So d is at most ⌈log_2 n⌉, of the largest n
//! that the group ever had: the tree is not balanced again when members leave.
//!
//! Keys held: the group key, the own exponent and those above it, d in all; beside them 2n - 2 blinded
//! keys, which are public. Profiles: `sound` confirms the key; in `published`, elements are not
//! checked to be in the subgroup and nothing is confirmed.
//!
//! Bodies: as in `dh_tree.rs`. A group is created as the source does it for two trees of one member,
//! and S001 measures it: the second member joins the first, then the third, in n - 1 steps of a JOIN
//! and a TREE. All are of the first epoch; the keys in between are nobody's, and nobody computes them.
//!
//! Deviations: those keys. The secret of a node is a hash of its shared element, where the source
//! uses the element itself. The root's blinded key is not sent. The group key depends on the tree.
//! Confirmation and catching up are ours. Merging and splitting groups, and leaves of several members
//! at once, are left out.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::Error;
use crate::identity::{Epoch, MemberId};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{Configuration, Provenance, Recovery, Scheme};
use crate::schemes::distributed::dh_tree::{Chain, JOIN, MEMBERS, OPERATIONS, Peer, STEP, Shape};
use crate::schemes::distributed::gdh;
use crate::secret::Key;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    operations: OPERATIONS,
    members: MEMBERS,
    ..gdh::entry(
        "tgdh",
        "TGDH, tree-based group Diffie-Hellman",
        Provenance::Specified,
        "Kim, Perrig and Tsudik 2004; S001",
        Recovery::Request,
        |configuration, me| Box::new(Member::new(configuration, me)),
    )
};

/// A member.
#[derive(Debug)]
pub struct Member {
    peer: Peer,
    /// In a creation.
    chain: Option<Chain>,
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self { peer: Peer::new(configuration, me, Shape::Balanced), chain: None }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match (input, &mut self.chain) {
            (Input::Command(Command::Create(members)), _) => {
                self.chain = Some(Chain::begin(&mut self.peer, cx, members)?);
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

    fn footprint(&self) -> Footprint {
        self.peer.footprint()
    }
}
