//! Two parts of a group come together: the guests' leader tells the hosts its tree, and the hosts'
//! leader, who is the sponsor, draws the keys of the nodes above both. Nobody else knows the
//! merged tree until it gets its keys, so they come with it; whoever they come to takes both parts
//! out of it again and looks whether they merge to it.

use super::change::Change;
use super::{BRANCH, Member, Run};
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::distributed::gdh::{Merger, require_sender};
use crate::schemes::distributed::member_tree::{Altered, MemberTree};
use crate::schemes::distributed::pairs::open;
use crate::wire::Message;

impl Member {
    /// Takes the command `Merge`.
    pub(super) fn merge(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
        epoch: Epoch,
    ) -> Result<(), Error> {
        let merger = self.view.merger(members, epoch)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        if !merger.is_host() && share.tree.leader(0) == Some(self.view.me()) {
            let mut draft = cx.draft(Recipient::Group, epoch, Operation::Merge, BRANCH);
            share.tree.write(&mut draft);
            draft.send();
        }
        self.view.begin(merger.change(merger.roster().sorted()));
        self.run = Run::Merger(merger);
        self.early = None;
        Ok(())
    }

    /// As the hosts' leader, takes the guests' tree and makes what is missing. Others hear it, too.
    pub(super) fn receive_branch(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let guests = {
            let mut body = message.body();
            let tree = MemberTree::read(&mut body)?;
            body.finish()?;
            tree
        };
        let me = self.view.me();
        let (merger, share) = match (&self.run, &self.share) {
            (Run::Merger(merger), Some(share))
                if merger.is_host() && share.tree.leader(0) == Some(me) =>
            {
                (merger, share)
            }
            (Run::None, None) => return Err(Misbehaviour::UnexpectedMessage.into()),
            _ => return self.let_pass(message),
        };
        self.view.expect(message)?;
        if guests.roster().sorted() != *merger.guests() {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        require_sender(message, guests.leader(0).ok_or(Misbehaviour::InvalidRoster)?)?;
        let altered = share.tree.merged(&guests, self.sound);
        self.lead(cx, message.header().epoch, Operation::Merge, altered, None)
    }

    /// Takes the keys for the half that this member leads, and hands them on to it.
    pub(super) fn receive_merged_keys(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.expect(message)?;
        let (Run::Merger(merger), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let mut body = message.body();
        let change = self.change_told(merger, &share.tree, MemberTree::read(&mut body)?)?;
        require_sender(message, change.from())?;
        if !change.is_by_hand() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let (epoch, sponsor) = (message.header().epoch, change.from());
        let place = change.place_of(self.view.me());
        let pair = self.pairs.with(cx, sponsor)?;
        let new = pair.read(cx, &mut body, epoch, place.renewed)?;
        body.finish()?;
        let keys = change.complete(cx, message, share, &place, &new)?;
        let confirmation =
            self.early_confirmation(cx, &self.confirming, epoch, change.tree(), sponsor, &keys)?;
        if let Some(key) = place.half_key(share) {
            super::spread(cx, epoch, Operation::Merge, change.tree(), change.half(), key, &new);
        }
        self.pairs.keep(pair);
        self.run = Run::Change(change.having(keys, confirmation));
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    /// Takes tree and keys that the leader of the own half spreads in it.
    pub(super) fn take_merged_spread(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        told: MemberTree,
        width: usize,
        wrapped: &[u8],
    ) -> Result<(), Error> {
        let (Run::Merger(merger), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        self.view.expect(message)?;
        let (me, sender) = (self.view.me(), message.from_member()?);
        let change = self.change_told(merger, &share.tree, told)?;
        let tree = change.tree();
        let half = tree.led_by(sender, width).zip(tree.leaf(me));
        if !half.is_some_and(|(half, leaf)| tree.is_within(leaf, half)) {
            return Ok(());
        }
        if change.is_by_hand() || sender != change.from() || width != tree.width(change.half()) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let epoch = message.header().epoch;
        let place = change.place_of(me);
        let key = place.half_key(share).ok_or(Misbehaviour::UnexpectedMessage)?;
        let new = open(cx, key, epoch, wrapped, place.renewed)?;
        let keys = change.complete(cx, message, share, &place, &new)?;
        let sponsor = tree.leader(0).ok_or(Misbehaviour::InvalidRoster)?;
        let confirmation =
            self.early_confirmation(cx, &self.confirming, epoch, tree, sponsor, &keys)?;
        self.run = Run::Change(change.having(keys, confirmation));
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    /// What this member waits for in a merger that leads to this tree, if it can.
    fn change_told(
        &self,
        merger: &Merger,
        own: &MemberTree,
        told: MemberTree,
    ) -> Result<Change, Error> {
        let apart = |roster| told.without(roster).map(|altered| altered.tree);
        let parts = apart(merger.guests()).zip(apart(merger.hosts()));
        let (hosts, guests) = parts.ok_or(Misbehaviour::InvalidRoster)?;
        let part = if merger.is_host() { &hosts } else { &guests };
        let altered: Altered = hosts.merged(&guests, self.sound);
        if part != own || altered.tree != told || told.roster().sorted() != merger.roster().sorted()
        {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let sponsor = told.leader(0).ok_or(Misbehaviour::InvalidRoster)?;
        Change::seen_by(self.view.me(), self.confirming.clone(), altered, sponsor)
    }
}
