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
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{Configuration, Provenance, Recovery, Scheme};
use crate::schemes::distributed::dh_tree::{
    ANSWER, Awaited, JOIN, KeyTree, Peer, REQUEST, Shape, TREE,
};
use crate::schemes::distributed::gdh::{self, Roster};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = gdh::entry(
    "tgdh",
    "TGDH, tree-based group Diffie-Hellman",
    Provenance::Specified,
    "Kim, Perrig and Tsudik 2004; S001",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
);

/// A member.
#[derive(Debug)]
pub struct Member {
    peer: Peer,
    /// In a creation: who joins next with us as sponsor, before we have the tree that it joins.
    early: Option<(MemberId, Element)>,
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self { peer: Peer::new(configuration, me, Shape::Balanced), early: None }
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let change = self.peer.view().creation(members)?;
        let (first, second) = (change.roster().at(0), change.roster().at(1));
        let awaited = Awaited::joining(KeyTree::of_one(Shape::Balanced, first), second)?;
        if second == self.peer.view().me() {
            self.peer.join(cx, Operation::Create);
        }
        self.peer.begin(change, Some(awaited));
        Ok(())
    }

    /// In a creation, the next one joins. It may be heard before the tree that it joins.
    fn receive_join(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        let (Some(roster), Some(awaited)) = self.growing() else {
            return self.peer.overhear(member);
        };
        let place = roster.place(member).ok_or(Misbehaviour::UnexpectedSender)?;
        let leaves = place + 1;
        if leaves < awaited.tree.len()
            || grown(awaited, roster, leaves)?.sponsor != self.peer.view().me()
        {
            return Ok(());
        }
        let blinded = self.peer.read_blinded(cx, message)?;
        if leaves == awaited.tree.len() {
            let tree = awaited.with(member, blinded);
            return self.lead(cx, tree);
        }
        self.early = Some((member, blinded));
        Ok(())
    }

    /// In a creation, a tree comes from the sponsor of a step. It has all that came before it, which
    /// may come later.
    fn receive_tree(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.is_late(message) {
            return Ok(());
        }
        self.peer.view().expect(message)?;
        let (Some(roster), Some(awaited)) = self.growing() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let leaves = KeyTree::read(Shape::Balanced, &mut message.body())?.len();
        if leaves < awaited.tree.len() {
            return Ok(());
        }
        if leaves > roster.len() {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let awaited = grown(awaited, roster, leaves)?;
        message.must_come_from(awaited.sponsor.into())?;
        let received = self.peer.read_tree(cx, message.body())?;
        received.must_be(&awaited, message)?;
        let known = received.tree.leaf(self.peer.view().me()).is_some();
        // The first member tells its blinded key when it is the first sponsor.
        if known && !self.peer.has_joined() {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        if leaves == roster.len() {
            self.peer.adopt(cx, message.header().epoch, received)?;
            self.early = None;
            return Ok(());
        }
        received.must_be_unconfirmed()?;
        self.proceed(cx, received.tree, roster.at(leaves))
    }

    /// In a creation, there is a tree that somebody joins next.
    fn proceed(
        &mut self,
        cx: &mut Context<'_>,
        tree: KeyTree,
        next: MemberId,
    ) -> Result<(), Error> {
        let awaited = Awaited::joining(tree, next)?;
        if next == self.peer.view().me() {
            self.peer.join(cx, Operation::Create);
        }
        let early = self.early.take_if(|(member, _)| *member == next);
        let tree = early.map(|(_, blinded)| awaited.with(next, blinded));
        self.peer.expect_tree(awaited);
        tree.map_or(Ok(()), |tree| self.lead(cx, tree))
    }

    /// As the sponsor of a step of the creation, makes its tree.
    fn lead(&mut self, cx: &mut Context<'_>, tree: KeyTree) -> Result<(), Error> {
        let roster = self.peer.view().under_way().ok_or(Misbehaviour::UnexpectedMessage)?;
        let leaves = tree.len();
        if leaves == roster.len() {
            return self.peer.lead(cx, Operation::Create, tree);
        }
        let next = roster.at(leaves);
        let tree = self.peer.lead_on(cx, tree)?;
        self.proceed(cx, tree, next)
    }

    /// Members of the creation under way, and the tree that must come next.
    fn growing(&self) -> (Option<&Roster>, Option<&Awaited>) {
        let view = self.peer.view();
        (view.under_way().filter(|_| view.is_creating()), self.peer.awaited())
    }

    /// Whether a message is of the creation that led to the present epoch.
    fn is_late(&self, message: &Message<'_>) -> bool {
        let view = self.peer.view();
        let member = message.from_member().ok().and_then(|member| view.roster().place(member));
        member.is_some() && message.header().epoch == view.epoch() && view.epoch() == Epoch(1)
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.peer.add(cx, member),
            Input::Command(
                Command::Batch { .. }
                | Command::Grant { .. }
                | Command::Merge { .. }
                | Command::Partition(_)
                | Command::Rekey
                | Command::Send,
            ) => Err(Unsupported::Operation.into()),
            Input::Command(Command::CatchUp) => self.peer.ask(cx),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(_)) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Remove(member)) => self.peer.remove(cx, member),
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::Create, JOIN) => self.receive_join(cx, &message),
                (Operation::Create, TREE) => self.receive_tree(cx, &message),
                (Operation::Add, JOIN) => self.peer.receive_join(cx, &message),
                (Operation::Add | Operation::Remove, TREE) => self.peer.receive_tree(cx, &message),
                (Operation::CatchUp, REQUEST) => self.peer.answer(cx, &message),
                (Operation::CatchUp, ANSWER) => self.peer.catch_up(cx, &message),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            },
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.peer.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.peer.footprint()
    }
}

/// What must come when the tree has so many leaves.
fn grown(awaited: &Awaited, roster: &Roster, leaves: usize) -> Result<Awaited, Error> {
    let mut awaited = awaited.clone();
    while awaited.tree.len() < leaves {
        let next = roster.at(awaited.tree.len());
        awaited = Awaited::joining(awaited.tree, next)?;
    }
    Ok(awaited)
}
