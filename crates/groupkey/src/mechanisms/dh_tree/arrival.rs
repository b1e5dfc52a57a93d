//! A whole tree arrives at a joining member, or at a member that asked for what it missed.

use super::climb::Ladder;
use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::key_tree::DhKeyTree;
use crate::mechanisms::dh_tree::peer::{REQUEST, TREE, TreePeer, not_created, stranger};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::Message;

/// The receiver of a tree, the epoch of the tree, and the operation.
type Destination = (MemberId, Epoch, Operation);

impl TreePeer {
    /// Takes the tree from which a joining member learns the members of the group.
    pub(super) fn receive_first_tree(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let (Some(joining), None) = (&self.joining, &self.tree) else {
            self.require_under_way(message)?;
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        message.require_later_epoch(self.epoch)?;
        let (tree, confirmation) = self.read_tree(cx, message)?;
        if !self.configuration.expects(tree.members()) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let sponsor = tree.sponsor_beside(self.me).ok_or(Misbehaviour::NothingForUs)?;
        require_sender(message, tree.leftmost_but(&[self.me, sponsor]))?;
        let told = tree.leaf(self.me).and_then(|leaf| tree.blinded(leaf));
        if told != Some(&joining.leaf) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        self.adopt(cx, message.header().epoch, tree, confirmation)
    }

    pub(super) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let told = self.change.as_ref().is_some_and(|change| !change.ladder.leaf.is_empty());
        if self.share.is_none() && self.joining.is_none() && !told {
            return Err(not_created());
        }
        self.asked.request(cx, Recipient::Group, self.epoch, REQUEST).send();
        Ok(())
    }

    /// Answers a request, which every member receives. The leftmost of the others answers it,
    /// unless it waits itself.
    pub(super) fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let (Some(tree), Some(share)) = (&self.tree, &self.share) else { return Ok(()) };
        if !tree.has(member) || member == self.me {
            return stranger();
        }
        if self.change.is_none() && tree.leftmost_but(&[member]) == Some(self.me) {
            let to = (member, self.epoch, Operation::CatchUp);
            self.send_tree(cx, to, tree, &share.group_key);
        }
        Ok(())
    }

    /// Takes the answer to this member's request.
    pub(super) fn catch_up(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        message.require_later_epoch(self.epoch)?;
        let (tree, confirmation) = self.read_tree(cx, message)?;
        if !tree.has(self.me) {
            return Err(Misbehaviour::NothingForUs.into());
        }
        require_sender(message, tree.leftmost_but(&[self.me]))?;
        self.adopt(cx, message.header().epoch, tree, confirmation)
    }

    pub(super) fn send_tree(
        &self,
        cx: &mut Context<'_>,
        (to, epoch, operation): Destination,
        tree: &DhKeyTree,
        group_key: &Key,
    ) {
        let confirmation = self.confirmation(cx, group_key);
        let mut draft = cx.draft(Recipient::Member(to), epoch, operation, TREE);
        tree.write(&mut draft);
        draft.bytes(confirmation.as_ref().map_or(&[], |key| key.as_bytes())).send();
    }

    fn read_tree(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(DhKeyTree, Option<Key>), Error> {
        let mut body = message.body();
        let width = Element::length(cx.suite());
        let tree = DhKeyTree::read(self.shape, width, self.most, false, &mut body)?;
        let confirmation = self.read_confirmation(body.bytes()?)?;
        body.finish()?;
        Ok((tree, confirmation))
    }

    /// Computes the key of a tree, and takes it if the sender has the same key.
    fn adopt(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        mut tree: DhKeyTree,
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        let mut ladder = self.secrets_in(&tree).ok_or(Misbehaviour::NothingForUs)?;
        let group_key = self.complete(cx, &mut tree, &mut ladder, epoch)?;
        if self.confirmation(cx, &group_key) != confirmation {
            return Err(Misbehaviour::Forged.into());
        }
        let fresh = 2 * tree.len() - 2;
        self.install(cx, epoch, tree, ladder, group_key, fresh);
        self.came_whole = true;
        Ok(())
    }

    /// The secrets of this member that are in this tree, as the blinded keys show.
    fn secrets_in(&self, tree: &DhKeyTree) -> Option<Ladder> {
        let told = tree.leaf(self.me).and_then(|leaf| tree.blinded(leaf))?;
        let share = self.share.as_ref().map(|share| &share.ladder);
        let change = self.change.as_ref().map(|change| &change.ladder);
        let ladders = [self.joining.as_ref(), change, share];
        let ladder = ladders.into_iter().flatten().find(|ladder| ladder.leaf == told)?;
        let Some(own) = self.tree.as_ref().filter(|_| self.change.is_none()) else {
            return Some(ladder.up_to(1));
        };
        let (ours, theirs) = (own.path(self.me), tree.path(self.me));
        let pairs = ours.iter().zip(&theirs);
        let same = pairs.take_while(|&(&ours, &theirs)| {
            own.is_known(ours) && own.blinded(ours) == tree.blinded(theirs)
        });
        Some(ladder.up_to(same.count()))
    }
}

fn require_sender(message: &Message<'_>, sender: Option<MemberId>) -> Result<(), Error> {
    message.require_sender(sender.ok_or(Misbehaviour::NothingForUs)?.into())
}
