//! Two groups merge: each sends the other its tree, then a member makes what is missing.
//!
//! The rightmost member of each group draws a new secret first, so that no party gets an earlier
//! key. It also sends the blinded key of its root, which is not the root for long.

use alloc::vec::Vec;

use super::change::TreeChange;
use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::climb;
use crate::mechanisms::dh_tree::key_tree::DhKeyTree;
use crate::mechanisms::dh_tree::peer::{BRANCH, TreePeer, not_created, repetition};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::wire::Message;

impl TreePeer {
    pub(super) fn merge(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
        epoch: Epoch,
    ) -> Result<(), Error> {
        let present = self.tree.as_ref().zip(self.share.as_ref());
        let (tree, share) = present.ok_or_else(not_created)?;
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        if let Some(member) = repetition(members) {
            return Err(Misuse::NamedTwice(member).into());
        }
        if let Some(&member) = members.iter().find(|&&member| tree.has(member)) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        self.require_idle()?;
        self.require_room(tree.len() + members.len())?;
        if epoch <= self.epoch {
            return Err(Misuse::EpochOver(epoch).into());
        }
        // A merger copies whole trees, which are also sent whole.
        let mut tree = tree.clone();
        let sponsor = tree.rightmost(tree.root());
        let change = TreeChange::of_sponsor(&mut tree, Operation::Merge, epoch, sponsor, &[]);
        let mut change = change.keeping(&tree, self.me, &share.ladder);
        if sponsor == self.me {
            self.tell_branch(cx, &mut tree, &mut change)?;
        }
        let mut members = members.to_vec();
        members.sort_unstable();
        self.merger = Some(TreeMerger { members, other: None });
        (self.tree, self.change) = (Some(tree), Some(change));
        Ok(())
    }

    /// Renews this member's path, including the root, and sends the whole tree.
    fn tell_branch(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
    ) -> Result<(), Error> {
        let path = tree.path(self.me);
        let beside = climb::beside(cx, tree, &path[..path.len() - 1], self.check)?;
        change.ladder.draw(cx);
        change.ladder.climb(cx, &beside);
        let mut made = Vec::new();
        change.ladder.blind(cx, 0..path.len(), &mut made);
        tree.fill(&path, &made);
        let mut draft = cx.draft(Recipient::Group, change.epoch, Operation::Merge, BRANCH);
        tree.write(&mut draft);
        draft.send();
        Ok(())
    }

    /// Takes the tree of this member's group, or of the other one.
    pub(super) fn receive_branch(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.require_under_way(message)?;
        let (Some(merger), Some(own)) = (&self.merger, &self.tree) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let mut body = message.body();
        let width = Element::length(cx.suite());
        let branch = DhKeyTree::read(self.shape, width, self.most, true, &mut body)?;
        body.finish()?;
        message.require_sender(branch.rightmost(branch.root()).into())?;
        let is_own = branch.has(self.me);
        let (known, expected) = if is_own {
            (own.is_known(own.root()), own.agrees_with(&branch))
        } else {
            let mut members: Vec<_> = branch.members().collect();
            members.sort_unstable();
            (merger.other.is_some(), members == merger.members)
        };
        if !expected {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        if known {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let (one, other) = match (is_own, &merger.other) {
            (true, Some(other)) => (&branch, other),
            (false, _) if own.is_known(own.root()) => (own, &branch),
            _ => {
                *(if is_own { &mut self.tree } else { self.other_branch() }) = Some(branch);
                return Ok(());
            }
        };
        let (mut tree, mut change) = self.merged(one, other)?;
        let key = self.advance(cx, &mut tree, &mut change)?;
        self.merger = None;
        self.commit(cx, tree, change, key);
        self.take_early(cx);
        Ok(())
    }

    /// Refuses a sponsor of the merged tree that does not follow from the trees that are there.
    pub(super) fn require_merging(&self, sender: MemberId) -> Result<(), Error> {
        let told_by =
            |tree: &DhKeyTree| tree.is_known(tree.root()) && tree.rightmost(tree.root()) == sender;
        let other = self.merger.as_ref().and_then(|merger| merger.other.as_ref());
        let follows = self.tree.iter().chain(other).any(told_by);
        if follows { Ok(()) } else { Err(Misbehaviour::UnexpectedSender.into()) }
    }

    /// The two trees in one, and the change that makes what is missing in it.
    fn merged(&self, one: &DhKeyTree, other: &DhKeyTree) -> Result<(DhKeyTree, TreeChange), Error> {
        let under_way = self.change.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let (tree, sponsor) = DhKeyTree::merged(one, other);
        let change = TreeChange::of_sponsors(&tree, Operation::Merge, under_way.epoch, &[sponsor]);
        let change = change.keeping(&tree, self.me, &under_way.ladder);
        Ok((tree, change))
    }

    fn other_branch(&mut self) -> &mut Option<DhKeyTree> {
        &mut self.merger.get_or_insert_with(TreeMerger::none).other
    }
}

/// Two trees that are not merged yet.
#[derive(Debug)]
pub(crate) struct TreeMerger {
    /// The members of the other group, sorted.
    pub(super) members: Vec<MemberId>,
    /// The other group's tree, once it has arrived.
    pub(super) other: Option<DhKeyTree>,
}

impl TreeMerger {
    pub(super) const fn none() -> Self {
        Self { members: Vec::new(), other: None }
    }
}
