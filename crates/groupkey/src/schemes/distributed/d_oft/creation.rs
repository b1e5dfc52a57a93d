//! The creation of a tree: level by level, every member gets the blinded secret of the other half
//! from its associate there. Blinded secrets for a higher level wait.

use super::secrets::Secrets;
use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{MemberTree, PathLevel};
use crate::mechanisms::membership::pairs::{self, Pairs};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

impl Member {
    /// Takes the command `Create`: every member begins with its leaf.
    pub(super) fn create(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
    ) -> Result<(), Error> {
        let change = self.view.creation(members)?;
        let tree = MemberTree::balanced(change.roster());
        let (me, epoch) = (self.view.me(), self.view.epoch().next());
        let path = tree.path(me);
        let secrets = Secrets::of_leaf(cx.random_key());
        let mut pairs = self.pairs.clone();
        let blinded = tell(cx, epoch, me, &tree, path[0], &secrets, &mut pairs)?;
        let sponsor = tree.leader(0);
        let outcome = self.outcome(tree, sponsor);
        self.pairs = pairs;
        let waiting = List::filled(None, path.len());
        self.run = Run::Creation(Creation { outcome, secrets, blinded, waiting });
        self.view.begin(change);
        Ok(())
    }

    /// Takes the blinded secret of the other half at some level from the associate there.
    pub(super) fn receive_counterpart(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.require_under_way(message)?;
        let (me, sender) = (self.view.me(), message.from_member()?);
        let epoch = message.header().epoch;
        let Run::Creation(Creation { outcome, secrets, blinded, waiting }) = &self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let path = outcome.tree.path(me);
        let from = |level: &PathLevel| associate(&outcome.tree, me, *level) == Some(sender);
        let level = path.iter().position(from).ok_or(Misbehaviour::UnexpectedSender)?;
        if waiting[level].is_some() || outcome.keys.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let (mut pairs, mut secrets) = (self.pairs.clone(), secrets.clone());
        let (mut blinded, mut waiting) = (blinded.clone(), waiting.clone());
        let pair = pairs.with(cx, sender)?;
        let mut body = message.body();
        waiting[level] = pair.read(cx, &mut body, epoch, 1)?.first().cloned();
        body.finish()?;
        pairs.keep(pair);
        while let Some(Some(beside)) = waiting.get(secrets.height()) {
            secrets.rise(cx, &blinded, beside.clone());
            if let Some(&next) = path.get(secrets.height()) {
                blinded = tell(cx, epoch, me, &outcome.tree, next, &secrets, &mut pairs)?;
            }
        }
        let complete = secrets.height() == path.len();
        if complete {
            outcome.require_fit(cx, epoch, &secrets)?;
        }
        self.pairs = pairs;
        if complete && outcome.sponsor == me {
            let tree = outcome.tree.clone();
            self.confirm_as_sponsor(cx, epoch, Operation::Create, tree, secrets);
            return Ok(());
        }
        if let Run::Creation(creation) = &mut self.run {
            creation.outcome.keys = complete.then(|| secrets.clone());
            creation.secrets = secrets;
            creation.blinded = blinded;
            creation.waiting = waiting;
        }
        self.settle_if_complete(cx, epoch);
        Ok(())
    }
}

/// Sends the blinded secret of this member's half to the members of the other half whose associate
/// this member is. Returns the blinded secret.
fn tell(
    cx: &mut Context<'_>,
    epoch: Epoch,
    me: MemberId,
    tree: &MemberTree,
    level: PathLevel,
    secrets: &Secrets,
    pairs: &mut Pairs,
) -> Result<Key, Error> {
    let blinded = secrets.blinded(cx, secrets.height());
    let mine = tree.members_below(level.child);
    for (place, other) in tree.members_below(level.sibling).iter().copied().enumerate() {
        if mine[place % mine.len()] != me {
            continue;
        }
        let pair = pairs.with(cx, other)?;
        let key = pair.message_key(cx, epoch);
        let mut draft = cx.draft(Recipient::Member(other), epoch, Operation::Create, BLIND);
        pairs::write(&mut draft, &key, epoch, core::slice::from_ref(&blinded));
        draft.send();
        pairs.keep(pair);
    }
    Ok(blinded)
}

/// Returns the member of the other half that sends this member its blinded secret.
fn associate(tree: &MemberTree, me: MemberId, level: PathLevel) -> Option<MemberId> {
    let theirs = tree.members_below(level.sibling);
    let place = tree.members_below(level.child).iter().position(|&member| member == me)?;
    theirs.get(place % theirs.len()).copied()
}
