//! Parts of a group that lose sight of each other and come together again. Each part's leader sends
//! the other part its tree. Then every member knows the merged tree, and which nodes to merge.

use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::MemberTree;
use crate::mechanisms::membership::Roster;
use crate::mechanisms::membership::round::Round;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::wire::Message;

impl Member {
    /// Takes the command `Partition`: the nodes below which a member is gone are renewed.
    pub(super) fn partition(
        &mut self,
        cx: &mut Context<'_>,
        apart: &[MemberId],
    ) -> Result<(), Error> {
        let change = self.view.partition(apart)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let altered = share.tree.without(&Roster::of(apart)).ok_or(Misuse::TooFewMembers)?;
        if altered.is_one_half() {
            let sponsor = altered.tree.leader(0);
            return self.alter(cx, change, altered, sponsor);
        }
        self.begin_merging(cx, change, altered, Round::of(0))
    }

    pub(super) fn merge(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
        epoch: Epoch,
    ) -> Result<(), Error> {
        let merger = self.view.merger(members, epoch)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        if share.tree.leader(0) == self.view.me() {
            let mut draft = cx.draft(Recipient::Group, epoch, Operation::Merge, BRANCH);
            share.tree.write(&mut draft);
            draft.send();
        }
        self.view.begin(merger.change(merger.roster().sorted()));
        self.run = Run::Merger(merger);
        self.early.clear();
        Ok(())
    }

    /// Takes the other part's tree. Ignores its own part's, and both once they are merged.
    pub(super) fn receive_branch(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let mut body = message.body();
        let other = MemberTree::read(&mut body)?;
        body.finish()?;
        let share = self.share.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let Run::Merger(merger) = &self.run else { return self.let_pass(message) };
        self.view.require_under_way(message)?;
        let others = if merger.is_host() { merger.guests() } else { merger.hosts() };
        message.require_sender(other.leader(0).into())?;
        if other == share.tree {
            return Ok(());
        }
        if other.roster().sorted() != *others {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let altered = match merger.is_host() {
            true => share.tree.merged(&other, self.sound),
            false => other.merged(&share.tree, self.sound),
        };
        let change = merger.change(merger.roster().sorted());
        self.begin_merging(cx, change, altered, Round::of(0))?;
        self.take_early(cx);
        Ok(())
    }

    /// Keeps a message of either part's member about the merged tree until the tree is known.
    pub(super) fn keep_early(
        &mut self,
        cx: &Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let roster = self.view.require_under_way(message)?;
        let sender = message.from_member()?;
        roster.place(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        // Each has one key beside a salt or a width, and there are no more than nodes.
        let is_long = message.content().len() > 20 + cx.wrapped_length(1);
        let most = 2 * roster.len();
        if is_long || !self.early.add(message, most) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        Ok(())
    }
}
