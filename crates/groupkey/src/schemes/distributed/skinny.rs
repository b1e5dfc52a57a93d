//! STR: group Diffie-Hellman in a tree as skinny as can be. A join costs the same at any size, a
//! creation takes two rounds; who leaves from below makes almost everybody compute much.
//!
//! Source: Kim, Perrig and Tsudik, "Communication-efficient group key agreement", IFIP SEC 2001,
//! after Steer, Strawczynski, Diffie and Wiener 1988. Class: distributed. Provenance: reconstructed:
//! join and leave are published, the creation is known in outline; messages are ours.
//!
//! The exchange, the sponsor, the messages and the catching up are in `dh_tree.rs`. The members stand
//! in the order in which they came, `M_1` and `M_2` at the bottom, `M_n` beside all the others: `M_i`
//! is at depth n + 1 - i, `M_1` at n - 1. The sponsor of a join is the newest member; that of the leave
//! of `M_i` is `M_i-1`, or `M_2` for `M_1`: the j-th of the m = n - 1 that stay.
//!
//! | operation | messages | elements sent | exponentiations |
//! |---|---|---|---|
//! | create, n members | n broadcasts | 3n - 3 | `M_1`: 2n - 2, `M_i`: n + 2 - i; in all (n² + 5n - 6) / 2 |
//! | add, to n members | 2 broadcasts | 2n + 1 | sponsor 4, all others 2; in all 2n + 4 |
//! | remove, from n members | 1 broadcast | 2n - 4 | sponsor 2(m + 1 - j), or 2(m - 1) if j = 1; the i-th of the others m + 1 - max(i, j) |
//! | catch up | 1 request, 1 unicast | 2n - 2 | asking member at most its depth |
//!
//! Keys held: the group key, the own exponent and those above it, as many as the own depth; beside
//! them 2n - 2 blinded keys, which are public. Profiles: `sound` confirms the key; in `published`,
//! elements are not checked to be in the subgroup and nothing is confirmed.
//!
//! Bodies: as in `dh_tree.rs`, without a form. In a creation all but the first tell their blinded
//! keys at once; the first collects them and sends the tree.
//!
//! Deviations: the first does not tell its blinded key by itself, but in the tree. The sponsor of a
//! join always draws a new secret, which the basic form does not: there, the root's secret of before
//! gives that of after. The newcomer is not sent the tree apart, but hears it as all do, so that a
//! join takes two rounds instead of one. The secret of a node is a hash of its shared element. The
//! group key depends on the tree. Confirmation and catching up are ours. Merging and splitting groups
//! is left out.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{Configuration, Provenance, Recovery, Scheme};
use crate::schemes::distributed::dh_tree::{
    ANSWER, Awaited, JOIN, KeyTree, Peer, REQUEST, Shape, TREE,
};
use crate::schemes::distributed::gdh;
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = gdh::entry(
    "str",
    "STR, group Diffie-Hellman in a skinny tree",
    Provenance::Reconstructed,
    "Kim, Perrig and Tsudik 2001",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
);

/// A member.
#[derive(Debug)]
pub struct Member {
    peer: Peer,
    /// At the first member in a creation: the blinded keys of the others.
    collected: Vec<Option<Element>>,
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self { peer: Peer::new(configuration, me, Shape::Skinny), collected: Vec::new() }
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let change = self.peer.view().creation(members)?;
        let sponsor = change.roster().at(0);
        let tree = KeyTree::of_all(Shape::Skinny, change.roster());
        if sponsor == self.peer.view().me() {
            self.collected = vec![None; members.len() - 1];
        } else {
            self.peer.join(cx, Operation::Create);
        }
        self.peer.begin(change, Some(Awaited { tree, sponsor }));
        Ok(())
    }

    /// In a creation, everybody hears the blinded keys; the first member collects them.
    fn collect(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        let (Some(awaited), false) = (self.peer.awaited(), self.collected.is_empty()) else {
            return self.peer.overhear(member);
        };
        let roster = self.peer.view().under_way().ok_or(Misbehaviour::UnexpectedMessage)?;
        let place = roster.place(member).and_then(|place| place.checked_sub(1));
        let place = place.ok_or(Misbehaviour::UnexpectedSender)?;
        if self.collected[place].is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let blinded = self.peer.read_blinded(cx, message)?;
        let missing = self.collected.iter().filter(|element| element.is_none()).count();
        if missing > 1 {
            self.collected[place] = Some(blinded);
            return Ok(());
        }
        let mut tree = awaited.with(member, blinded);
        for (member, blinded) in roster.iter().skip(1).zip(&self.collected) {
            if let (Some(leaf), Some(blinded)) = (tree.leaf(member), blinded) {
                tree.set_blinded(leaf, blinded.clone());
            }
        }
        self.peer.lead(cx, Operation::Create, tree)?;
        self.collected.clear();
        Ok(())
    }

    fn catch_up(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.peer.catch_up(cx, message)?;
        self.collected.clear();
        Ok(())
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
                (Operation::Create, JOIN) => self.collect(cx, &message),
                (Operation::Add, JOIN) => self.peer.receive_join(cx, &message),
                (Operation::Create | Operation::Add | Operation::Remove, TREE) => {
                    self.peer.receive_tree(cx, &message)
                }
                (Operation::CatchUp, REQUEST) => self.peer.answer(cx, &message),
                (Operation::CatchUp, ANSWER) => self.catch_up(cx, &message),
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
