//! A creation as a chain of joins: the second member joins the first, then the third, and so on.
//!
//! Every member knows the members in their order. So it knows from the beginning which leaf is the
//! sponsor of which step, and how much it sends. Messages of different members may overtake each
//! other, and early ones are kept. All steps are of the first epoch. There is a key only after the
//! last one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::climb::Ladder;
use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::mechanisms::dh_tree::change::{CreationStage, TreeChange};
use crate::mechanisms::dh_tree::key_tree::{DhKeyTree, Shape};
use crate::mechanisms::dh_tree::peer::TreePeer;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::Message;

/// A creation under way. A step's number is the number of leaves that it leads to.
#[derive(Debug)]
pub(crate) struct CreationChain {
    members: Vec<MemberId>,
    /// From the step with two leaves on: the sponsor, and how many blinded keys it sends.
    schedule: Vec<(MemberId, usize)>,
    /// The step under way.
    present: usize,
    /// What sponsors of later steps have made.
    early: BTreeMap<usize, (Vec<u8>, Option<Key>)>,
    /// The blinded keys of members that join in later steps.
    told: BTreeMap<usize, Vec<u8>>,
}

impl CreationChain {
    pub(crate) fn begin(
        peer: &mut TreePeer,
        cx: &mut Context<'_>,
        members: &[MemberId],
    ) -> Result<Self, Error> {
        peer.require_creatable(members)?;
        let tree = DhKeyTree::of_one(Shape::Balanced, Element::length(cx.suite()), members[0]);
        let mut rehearsal = tree.clone();
        let mut rehearse = |&member: &MemberId| {
            let beside = rehearsal.insert(member);
            let sponsor = rehearsal.rightmost(beside);
            // The path except the root.
            (sponsor, rehearsal.path(sponsor).len() - 1)
        };
        let schedule = members[1..].iter().map(&mut rehearse).collect();
        let (early, told) = (BTreeMap::new(), BTreeMap::new());
        let mut chain = Self { members: members.to_vec(), schedule, present: 1, early, told };
        chain.go_on(peer, cx, tree, &Ladder::default())?;
        Ok(chain)
    }

    /// Takes a joining member's blinded key, now or in its step. Every member takes it from that
    /// member itself, so no sponsor can put another in its place.
    pub(crate) fn receive_join(
        &mut self,
        peer: &mut TreePeer,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let member = message.from_member()?;
        let place = self.members.iter().position(|&other| other == member);
        let step = place.ok_or(Misbehaviour::UnexpectedSender)? + 1;
        if step < 2 || step < self.present {
            return Ok(());
        }
        let came = step == self.present && !peer.awaits_newcomer(member);
        if came || self.told.contains_key(&step) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let blinded = peer.read_blinded(cx, message)?;
        if step > self.present {
            self.told.insert(step, blinded.to_vec());
            return Ok(());
        }
        peer.take_path(cx, member, blinded, None)?;
        self.catch_up(peer, cx);
        Ok(())
    }

    pub(crate) fn receive_step(
        &mut self,
        peer: &mut TreePeer,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        peer.require_under_way(message)?;
        let mut body = message.body();
        let step = body.number32()? as usize;
        let made = body.bytes()?;
        let confirmation = peer.read_confirmation(body.bytes()?)?;
        body.finish()?;
        if step < self.present || step > self.members.len() || self.early.contains_key(&step) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let (sponsor, count) = self.schedule[step - 2];
        message.require_sender(sponsor.into())?;
        // All of them are checked, so that no later step of this member can fail.
        cx.elements(made, count, peer.check)?;
        if step > self.present || peer.awaits_newcomers() {
            self.early.insert(step, (made.to_vec(), confirmation));
            return Ok(());
        }
        peer.take_path(cx, sponsor, made, confirmation)?;
        self.catch_up(peer, cx);
        Ok(())
    }

    /// Continues from step to step as far as the early messages allow.
    fn catch_up(&mut self, peer: &mut TreePeer, cx: &mut Context<'_>) {
        while let Some((tree, change)) = peer.take_change() {
            let is_over = change.has_all() && self.present < self.members.len();
            let gone_on = if is_over {
                self.go_on(peer, cx, tree, &change.ladder)
            } else {
                let waits = change.awaits_newcomers();
                (peer.tree, peer.change) = (Some(tree), Some(change));
                let early = if waits { None } else { self.early.remove(&self.present) };
                let Some((made, confirmation)) = early else { return };
                peer.take_path(cx, self.sponsor(self.present), &made, confirmation)
            };
            // A last step that is wrong counts as refused on arrival.
            if gone_on.is_err() {
                return;
            }
        }
    }

    /// Begins the next step, with the tree of the previous one.
    fn go_on(
        &mut self,
        peer: &mut TreePeer,
        cx: &mut Context<'_>,
        mut tree: DhKeyTree,
        ladder: &Ladder,
    ) -> Result<(), Error> {
        let newcomer = self.members[self.present];
        self.present += 1;
        tree.insert(newcomer);
        let (epoch, sponsor) = (peer.epoch.next(), self.sponsor(self.present));
        let change =
            TreeChange::of_sponsor(&mut tree, Operation::Create, epoch, sponsor, &[newcomer]);
        let mut change = change.keeping(&tree, peer.me, ladder);
        let is_last = self.present == self.members.len();
        change.stage =
            if is_last { CreationStage::Last } else { CreationStage::Inner }(self.present);
        if newcomer == peer.me {
            peer.tell_own_leaf(cx, &mut tree, &mut change);
        }
        (peer.tree, peer.change) = (Some(tree), Some(change));
        let told = self.told.remove(&self.present);
        told.map_or(Ok(()), |blinded| peer.take_path(cx, newcomer, &blinded, None))
    }

    fn sponsor(&self, step: usize) -> MemberId {
        self.schedule[step - 2].0
    }
}
