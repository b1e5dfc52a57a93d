//! Merging, the paper's primitive, at all nodes above the halves that stay as they were. These are
//! single leaves in a creation, and larger ones where parts of a group lose or find each other.
//!
//! Each leader draws at once the keys of all such nodes whose left half it leads. No member draws
//! the key of a node that it is not below, because it would keep that key when it is evicted. The
//! key of the next node comes from the leader of the other half. The keys above it come from
//! leaders of the member's own half, perhaps in another order. Keys that cannot be opened yet wait.

use alloc::vec;

use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::member_tree::{Altered, TreeSession};
use crate::mechanisms::membership;
use crate::mechanisms::membership::pairs::{self};
use crate::mechanisms::membership::round::Round;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

impl Member {
    /// Begins to make the keys of all nodes above the halves, and draws the keys of the nodes that
    /// this member leads. While nonces are missing, the session of the confirmation is not known.
    pub(super) fn begin_merging(
        &mut self,
        cx: &mut Context<'_>,
        change: membership::MembershipChange,
        altered: Altered,
        nonces: Round<Key>,
    ) -> Result<(), Error> {
        let (me, epoch, operation) = (self.view.me(), change.epoch(), change.operation());
        let half = altered.half_of(me).ok_or(Misbehaviour::InvalidRoster)?;
        let tree = altered.tree;
        let sponsor = tree.leader(0);
        let path = tree.path(me);
        let inside = tree.levels_within(&path, half);
        let before = self.share.as_ref().and_then(|share| share.keys.get(..inside));
        let (mut keys, mut met) = (List::from(before.unwrap_or_default()), List::new());
        for level in &path[inside..] {
            if tree.leader(level.node) != me {
                break;
            }
            let key = cx.random_key();
            let other = tree.leader(level.sibling);
            let pair = self.pairs.with(cx, other)?;
            let message_key = pair.message_key(cx, epoch);
            let mut draft = cx.draft(Recipient::Member(other), epoch, operation, KEYS);
            pairs::write(&mut draft, &message_key, epoch, core::slice::from_ref(&key));
            draft.send();
            if let Some(half) = keys.last() {
                let key = core::slice::from_ref(&key);
                spread(cx, epoch, operation, &tree, level.child, half, key);
            }
            keys.push(key);
            met.push(pair);
        }
        let is_led_to = keys.len() < path.len() && tree.leader(half) == me;
        let mut confirming = self.confirming.clone();
        if nonces.len() > 0 {
            confirming.session = TreeSession::Awaited;
        }
        let mut merging = Merging {
            outcome: Outcome::awaited(confirming, tree, sponsor),
            spread_from: keys.len() + usize::from(is_led_to),
            known: List::new(),
            waiting: vec![None; path.len()],
            nonces,
        };
        merging.know(keys);
        self.keep(&met);
        self.view.begin(change);
        let is_session_known = merging.nonces.len() == 0;
        self.run = Run::Merging(merging);
        if sponsor == me && is_session_known {
            return self.conclude(cx, epoch, operation);
        }
        Ok(())
    }

    /// As the sponsor, which drew all of its keys itself, confirms the group key and takes it.
    pub(super) fn conclude(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
    ) -> Result<(), Error> {
        let outcome = self.run.outcome_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        let keys = outcome.keys.take().ok_or(Misbehaviour::UnexpectedMessage)?;
        let (confirming, tree) = (outcome.confirming().clone(), outcome.tree.clone());
        confirming.send(cx, epoch, operation, &tree, &keys);
        self.confirming = confirming;
        self.install(cx, epoch, tree, keys);
        Ok(())
    }

    /// Takes the key of the node above the half that this member leads, from the other half's
    /// leader.
    pub(super) fn receive_offer(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.require_under_way(message)?;
        let Run::Merging(merging) = &self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let (tree, mut known) = (merging.tree(), merging.known.clone());
        if merging.outcome.keys.is_some() || known.len() >= merging.spread_from {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let level = tree.path(self.view.me()).get(known.len()).copied();
        let level = level.ok_or(Misbehaviour::UnexpectedMessage)?;
        let left = tree.leader(level.node);
        message.require_sender(left.into())?;
        let (epoch, operation) = (message.header().epoch, message.header().operation);
        let pair = self.pairs.with(cx, left)?;
        let mut body = message.body();
        let key = pair.read(cx, &mut body, epoch, 1)?;
        body.finish()?;
        if let Some(half) = known.last() {
            spread(cx, epoch, operation, tree, level.child, half, &key);
        }
        known.append(&key);
        merging.climb(cx, epoch, &mut known)?;
        self.pairs.keep(pair);
        self.progress(cx, epoch, known);
        Ok(())
    }

    /// Takes the key of the node above a half, which the leader of the half spreads in it.
    pub(super) fn take_merged_key(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        half: usize,
        wrapped: &[u8],
    ) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let Run::Merging(merging) = &mut self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let path = merging.outcome.tree.path(self.view.me());
        let level = path.iter().position(|level| level.child == half);
        let level = level.filter(|&level| level >= merging.spread_from);
        let level = level.ok_or(Misbehaviour::UnexpectedMessage)?;
        if merging.outcome.keys.is_some() || merging.waiting[level].is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if wrapped.len() != cx.wrapped_length(1) {
            return Err(Misbehaviour::Malformed.into());
        }
        merging.waiting[level] = Some(wrapped.to_vec());
        let mut known = merging.known.clone();
        if let Err(error) = merging.climb(cx, epoch, &mut known) {
            merging.waiting[level] = None;
            return Err(error);
        }
        self.progress(cx, epoch, known);
        Ok(())
    }

    fn progress(&mut self, cx: &mut Context<'_>, epoch: Epoch, known: List<Key>) {
        if let Run::Merging(merging) = &mut self.run {
            merging.know(known);
        }
        self.settle_if_complete(cx, epoch);
    }
}
