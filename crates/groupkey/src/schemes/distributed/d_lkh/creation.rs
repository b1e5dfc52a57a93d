//! The making of a tree, node by node from below.
//!
//! Each leader draws at once the keys of all nodes whose left half it leads. The key of the next
//! node comes from the leader of the other half, those above it from leaders of the own one,
//! perhaps in another order: what cannot be opened yet waits. In the sound profile everybody tells a
//! nonce meanwhile, and the sponsor confirms the key when it has them all.

use alloc::vec;
use alloc::vec::Vec;

use super::{KEYS, Member, NONCE, Outcome, Run, spread};
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::distributed::gdh::{Roster, circumstances, require_sender};
use crate::schemes::distributed::member_tree::{MemberTree, Session};
use crate::schemes::distributed::pairs::{self, open};
use crate::secret::Key;
use crate::wire::Message;

/// A member's part in a creation.
#[derive(Debug)]
pub(super) struct Creation {
    outcome: Outcome,
    /// Of the lowest nodes above the own leaf, as far as they are known.
    known: Vec<Key>,
    /// How many of them this member drew; the next one comes from the leader of the other half.
    drawn: usize,
    /// What came for higher nodes, by level.
    waiting: Vec<Option<Vec<u8>>>,
    /// By place; none in the published profile.
    nonces: Vec<Option<Key>>,
}

impl Creation {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// Opens what waits, as far as possible, with these keys of the lowest nodes.
    fn climb(&self, cx: &mut Context<'_>, epoch: Epoch, known: &mut Vec<Key>) -> Result<(), Error> {
        while let (Some(half), Some(Some(wrapped))) = (known.last(), self.waiting.get(known.len()))
        {
            let key = open(cx, half, epoch, wrapped, 1)?;
            known.extend(key);
        }
        if known.len() == self.waiting.len() {
            self.outcome.must_fit(cx, epoch, known)?;
        }
        Ok(())
    }

    fn know(&mut self, known: Vec<Key>) {
        if known.len() == self.waiting.len() {
            self.outcome.keys = Some(known);
            self.known = Vec::new();
        } else {
            self.known = known;
        }
    }
}

impl Member {
    /// Takes the command `Create`: draws the keys of all nodes whose left half this member leads.
    pub(super) fn create(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
    ) -> Result<(), Error> {
        let change = self.view.creation(members)?;
        let roster = change.roster().clone();
        let tree = MemberTree::balanced(&roster);
        let (me, epoch) = (self.view.me(), self.view.epoch().next());
        let path = tree.path(me);
        let (mut keys, mut met): (Vec<Key>, _) = (Vec::new(), Vec::new());
        for level in &path {
            if tree.leader(level.node) != Some(me) {
                break;
            }
            let key = cx.random_key();
            let other = tree.leader(level.sibling).ok_or(Misbehaviour::InvalidRoster)?;
            let pair = self.pairs.with(cx, other)?;
            let message_key = pair.message_key(cx, epoch);
            let mut draft = cx.draft(Recipient::Member(other), epoch, Operation::Create, KEYS);
            pairs::write(&mut draft, &message_key, epoch, core::slice::from_ref(&key));
            draft.send();
            if let Some(half) = keys.last() {
                let key = core::slice::from_ref(&key);
                spread(cx, epoch, Operation::Create, &tree, level.child, half, key);
            }
            keys.push(key);
            met.push(pair);
        }
        self.keep(met);
        self.view.begin(change);
        let mut confirming = self.confirming.clone();
        let mut nonces = Vec::new();
        if self.sound {
            let nonce = cx.random_key();
            let mut draft = cx.draft(Recipient::Group, epoch, Operation::Create, NONCE);
            draft.bytes(nonce.as_bytes()).send();
            nonces = roster.iter().map(|id| (id == me).then(|| nonce.clone())).collect();
            confirming.session = Session::Awaited;
        } else if keys.len() == path.len() {
            self.install(cx, epoch, tree, keys);
            return Ok(());
        }
        let sponsor = tree.leader(0).ok_or(Misbehaviour::InvalidRoster)?;
        let mut creation = Creation {
            outcome: Outcome::awaited(confirming, tree, sponsor),
            drawn: keys.len(),
            known: Vec::new(),
            waiting: vec![None; path.len()],
            nonces,
        };
        creation.know(keys);
        self.run = Run::Creation(creation);
        Ok(())
    }

    /// Takes a member's nonce. With the last one the session is known, and the sponsor, which drew
    /// all of its keys itself, confirms the group's.
    pub(super) fn receive_nonce(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let roster = self.view.expect(message)?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let mut body = message.body();
        let nonce = body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        body.finish()?;
        let Run::Creation(Creation { outcome, nonces, .. }) = &mut self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let slot = nonces.get_mut(place).filter(|slot| slot.is_none());
        *slot.ok_or(Misbehaviour::UnexpectedMessage)? = Some(Key::from_bytes(nonce));
        if nonces.iter().any(Option::is_none) {
            return Ok(());
        }
        let epoch = message.header().epoch;
        let session = session(cx, epoch, roster, nonces);
        if let Err(error) = outcome.enter(cx, epoch, session) {
            nonces[place] = None;
            return Err(error);
        }
        if outcome.sponsor != self.view.me() {
            self.settle_if_complete(cx, epoch);
            return Ok(());
        }
        let keys = outcome.keys.take().ok_or(Misbehaviour::UnexpectedMessage)?;
        let (confirming, tree) = (outcome.confirming().clone(), outcome.tree.clone());
        confirming.send(cx, epoch, Operation::Create, &tree, &keys);
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
        self.view.expect(message)?;
        let Run::Creation(creation) = &self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let tree = creation.tree();
        let level = tree.path(self.view.me()).get(creation.drawn).copied();
        let level = level.ok_or(Misbehaviour::UnexpectedMessage)?;
        let left = tree.leader(level.node).ok_or(Misbehaviour::UnexpectedMessage)?;
        require_sender(message, left)?;
        if creation.outcome.keys.is_some() || creation.known.len() != creation.drawn {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, left)?;
        let mut body = message.body();
        let key = pair.read(cx, &mut body, epoch, 1)?;
        body.finish()?;
        if let Some(half) = creation.known.last() {
            spread(cx, epoch, Operation::Create, tree, level.child, half, &key);
        }
        let mut known = creation.known.clone();
        known.extend(key);
        creation.climb(cx, epoch, &mut known)?;
        self.pairs.keep(pair);
        self.progress(cx, epoch, known);
        Ok(())
    }

    /// Takes what the leader of a half spreads in it: the key of the node above.
    pub(super) fn take_merged_key(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        half: usize,
        wrapped: &[u8],
    ) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let Run::Creation(creation) = &mut self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let path = creation.outcome.tree.path(self.view.me());
        let level = path.iter().position(|level| level.child == half);
        let level = level.filter(|&level| level > creation.drawn);
        let level = level.ok_or(Misbehaviour::UnexpectedMessage)?;
        if creation.outcome.keys.is_some() || creation.waiting[level].is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if wrapped.len() != cx.wrapped_length(1) {
            return Err(Misbehaviour::Malformed.into());
        }
        creation.waiting[level] = Some(wrapped.to_vec());
        let mut known = creation.known.clone();
        if let Err(error) = creation.climb(cx, epoch, &mut known) {
            creation.waiting[level] = None;
            return Err(error);
        }
        self.progress(cx, epoch, known);
        Ok(())
    }

    fn progress(&mut self, cx: &mut Context<'_>, epoch: Epoch, known: Vec<Key>) {
        if let Run::Creation(creation) = &mut self.run {
            creation.know(known);
        }
        self.settle_if_complete(cx, epoch);
    }
}

/// What the nonces make. The first takes the place of a key, but nothing here is secret.
fn session(cx: &mut Context<'_>, epoch: Epoch, roster: &Roster, nonces: &[Option<Key>]) -> Key {
    let mut context = circumstances(cx, epoch, roster);
    let nonces = || nonces.iter().flatten();
    nonces().for_each(|nonce| context.extend_from_slice(nonce.as_bytes()));
    let first = nonces().next().cloned().unwrap_or_default();
    cx.derive(&first, "groupkey d-lkh session", &context)
}
