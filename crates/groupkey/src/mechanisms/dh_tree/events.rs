//! Membership events in a running group: how each changes the tree, and which members act.

use alloc::vec::Vec;

use super::change::TreeChange;
use super::key_tree::Removal;
use crate::context::Context;
use crate::error::{Error, Misuse};
use crate::identity::MemberId;
use crate::mechanisms::dh_tree::key_tree::{DhKeyTree, Shape};
use crate::mechanisms::dh_tree::peer::{TreePeer, not_created, repetition};
use crate::party::Operation;

impl TreePeer {
    /// Takes the command `Add`: the joining member sends its blinded key, the others wait for it.
    pub(super) fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let Some(tree) = self.tree.as_ref().filter(|_| self.share.is_some()) else {
            self.require_idle()?;
            if member != self.me {
                return Err(not_created());
            }
            self.joining = Some(self.tell_leaf(cx, Operation::Add));
            return Ok(());
        };
        if tree.has(member) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        self.require_idle()?;
        self.require_room(tree.len() + 1)?;
        self.alter(cx, |tree, peer| {
            let beside = tree.insert(member);
            let sponsor = tree.rightmost(beside);
            let epoch = peer.epoch.next();
            let mut change =
                TreeChange::of_sponsor(tree, Operation::Add, epoch, sponsor, &[member]);
            change.newcomer = Some(member);
            (change, Vec::new())
        })
    }

    /// Takes the command `Remove`: the sponsor changes the key at once.
    pub(super) fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        self.require_leavable(&[member])?;
        self.alter(cx, |tree, peer| {
            let removal = tree.remove(member);
            // The leaving member is in the tree, and is not the only one.
            let sponsor = removal.map_or(peer.me, |removal| tree.rightmost(removal.sibling));
            let epoch = peer.epoch.next();
            let change = TreeChange::of_sponsor(tree, Operation::Remove, epoch, sponsor, &[]);
            (change, Vec::from_iter(removal))
        })
    }

    /// Takes the command `Partition`: sponsors in all parts of the tree make what is missing.
    pub(super) fn partition(
        &mut self,
        cx: &mut Context<'_>,
        apart: &[MemberId],
    ) -> Result<(), Error> {
        if self.share.is_some() && apart.is_empty() {
            return Err(Misuse::EmptyBatch.into());
        }
        if let Some(member) = repetition(apart) {
            return Err(Misuse::NamedTwice(member).into());
        }
        self.require_leavable(apart)?;
        self.alter(cx, |tree, peer| {
            let removals: Vec<_> = apart.iter().filter_map(|&member| tree.remove(member)).collect();
            let sponsors = sponsors_of(tree, &removals);
            let (operation, epoch) = (Operation::Partition, peer.epoch.next());
            (TreeChange::of_sponsors(tree, operation, epoch, &sponsors), removals)
        })
    }

    /// Takes the command `Rekey`: the member whose turn it is changes the key.
    pub(super) fn rekey(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let members = self.tree.as_ref().filter(|_| self.share.is_some()).map(DhKeyTree::len);
        let members = members.ok_or_else(not_created)? as u64;
        self.require_idle()?;
        self.alter(cx, |tree, peer| {
            let sponsor = tree.member_in_place((peer.epoch.0 % members) as usize);
            let epoch = peer.epoch.next();
            (TreeChange::of_sponsor(tree, Operation::Rekey, epoch, sponsor, &[]), Vec::new())
        })
    }

    /// Alters the tree and begins the change that follows. Restores the tree if this member's part
    /// fails, because a blinded key beside the path that no member had to read yet is invalid.
    fn alter(
        &mut self,
        cx: &mut Context<'_>,
        event: impl FnOnce(&mut DhKeyTree, &Self) -> (TreeChange, Vec<Removal>),
    ) -> Result<(), Error> {
        let mut tree = self.tree.take().ok_or_else(not_created)?;
        // A member that acts at once makes its path again before it has read everything beside it.
        let path = if self.share.is_some() { tree.path(self.me) } else { Vec::new() };
        let path: Vec<_> = path.into_iter().filter(|&node| tree.is_known(node)).collect();
        let told = path.iter().flat_map(|&node| tree.blinded(node).unwrap_or(&[])).copied();
        let told: Vec<u8> = told.collect();
        let (change, removals) = event(&mut tree, self);
        let mut change = match &self.share {
            Some(share) => change.keeping(&tree, self.me, &share.ladder),
            None => change,
        };
        match self.advance(cx, &mut tree, &mut change) {
            Ok(key) => {
                self.commit(cx, tree, change, key);
                Ok(())
            }
            Err(error) => {
                tree.restore(&removals);
                tree.fill(&path, &told);
                self.tree = Some(tree);
                Err(error)
            }
        }
    }

    fn require_leavable(&self, leavers: &[MemberId]) -> Result<(), Error> {
        let tree = self.tree.as_ref().filter(|_| self.share.is_some()).ok_or_else(not_created)?;
        if let Some(&member) = leavers.iter().find(|&&member| !tree.has(member)) {
            return Err(Misuse::NotMember(member).into());
        }
        if leavers.contains(&self.me) {
            return Err(Misuse::WrongRole.into());
        }
        if tree.len() < leavers.len() + 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.require_idle()
    }
}

/// The sponsors after these removals. The first makes the uppermost nodes. One renews its secret.
fn sponsors_of(tree: &mut DhKeyTree, removals: &[Removal]) -> Vec<MemberId> {
    let beside = removals.iter().map(|removal| removal.sibling).filter(|&node| tree.is_left(node));
    let mut sponsors: Vec<_> = beside
        .map(|node| {
            let sponsor = tree.rightmost(node);
            let (place, depth) =
                tree.leaf(sponsor).map_or((0, 0), |leaf| tree.place_and_depth(leaf));
            (place, depth, sponsor)
        })
        .collect();
    sponsors.sort_unstable_by_key(|&(place, ..)| core::cmp::Reverse(place));
    sponsors.dedup();
    let rank = |&&(place, depth, _): &&(usize, usize, MemberId)| (depth, core::cmp::Reverse(place));
    let renewing = match tree.shape() {
        Shape::Balanced | Shape::Leafwise => sponsors.iter().min_by_key(rank),
        Shape::Skinny => sponsors.iter().max_by_key(rank),
    };
    let renewing = renewing.map(|&(.., sponsor)| sponsor);
    renewing.into_iter().for_each(|sponsor| tree.renew(sponsor));
    match tree.shape() {
        Shape::Balanced | Shape::Leafwise => {
            sponsors.into_iter().map(|(.., sponsor)| sponsor).collect()
        }
        Shape::Skinny => renewing.into_iter().collect(),
    }
}
