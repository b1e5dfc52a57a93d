//! How a change proceeds: every member waits for what sponsors make, and makes its own part when it
//! is time.
//!
//! A step works on tree and change, and undoes its work if it fails.

use alloc::vec::Vec;

use super::change::{CreationStage, TreeChange};
use super::climb::{self, Ladder};
use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::key_tree::DhKeyTree;
use crate::mechanisms::dh_tree::peer::{EarlyPath, PATH, STEP, TreePeer};
use crate::outbox::Recipient;
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::Message;

impl TreePeer {
    /// Begins a change in which this member joins: sends its blinded key, and enters it.
    pub(crate) fn tell_own_leaf(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
    ) {
        change.ladder = self.tell_leaf(cx, change.operation);
        let leaf: Vec<_> = tree.leaf(self.me).into_iter().collect();
        tree.fill(&leaf, &change.ladder.leaf);
        change.proceed(self.me, leaf.len());
    }

    /// Takes a joining member's blinded key. Every member takes it from that member itself, so no
    /// sponsor can put another in its place.
    pub(super) fn receive_join(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let member = message.from_member()?;
        let operation = message.header().operation;
        let is_of = |change: &TreeChange| change.operation == operation;
        if self.awaits_newcomer(member) && self.change.as_ref().is_some_and(is_of) {
            let blinded = self.read_blinded(cx, message)?;
            self.take_path(cx, member, blinded, None)?;
            self.take_early(cx);
            return Ok(());
        }
        let known = match &self.tree {
            Some(tree) => tree.has(member),
            None => self.joining.is_some(),
        };
        if known { Ok(()) } else { Err(Misbehaviour::UnexpectedSender.into()) }
    }

    /// Takes the blinded keys that a sponsor has made after a change.
    pub(super) fn receive_path(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        if self.is_late(message, sender) {
            return Ok(());
        }
        self.require_under_way(message)?;
        let mut body = message.body();
        let made = body.bytes()?;
        let confirmation = self.read_confirmation(body.bytes()?)?;
        body.finish()?;
        let change = self.change.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        if change.awaits_newcomer(sender) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if self.merger.is_some() {
            self.require_merging(sender)?;
        } else if change.awaits_newcomers() {
            change.expect(sender, made.len(), Element::length(cx.suite()))?;
        } else {
            return self.take_path(cx, sender, made, confirmation);
        }
        self.keep_early(sender, made, confirmation)
    }

    /// Keeps what a sponsor made until it can be checked.
    fn keep_early(
        &mut self,
        sender: MemberId,
        made: &[u8],
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        if self.early.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.early = Some(EarlyPath { sender, made: made.to_vec(), confirmation });
        Ok(())
    }

    /// Takes what was kept, if it is time.
    pub(super) fn take_early(&mut self, cx: &mut Context<'_>) {
        if self.merger.is_some() || self.awaits_newcomers() {
            return;
        }
        if let Some(EarlyPath { sender, made, confirmation }) = self.early.take() {
            // If it is wrong, it counts as refused on arrival.
            let _ = self.take_path(cx, sender, &made, confirmation);
        }
    }

    /// Takes a part of what a sponsor must make in a creation.
    pub(super) fn receive_step(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        self.require_under_way(message)?;
        let mut body = message.body();
        let told = body.number()?;
        let made = body.bytes()?;
        let confirmation = self.read_confirmation(body.bytes()?)?;
        body.finish()?;
        let eager = self.change.as_ref().filter(|change| change.is_eager());
        let eager = eager.ok_or(Misbehaviour::UnexpectedMessage)?;
        let told_before = eager.told_by(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        if told_before as u64 != told {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.take_path(cx, sender, made, confirmation)
    }

    /// Takes the blinded keys that a member has made, and then does what is possible.
    pub(super) fn take_path(
        &mut self,
        cx: &mut Context<'_>,
        sender: MemberId,
        made: &[u8],
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        let (mut tree, mut change) = self.take_change().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mark = change.mark([sender, self.me]);
        let taken = self
            .enter(&mut tree, &mut change, sender, made, confirmation)
            .and_then(|()| self.advance(cx, &mut tree, &mut change));
        if taken.is_err() {
            change.roll_back(mark, &mut tree);
        }
        self.settle(cx, tree, change, taken)
    }

    fn enter(
        &self,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
        sender: MemberId,
        made: &[u8],
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        let nodes = change.expect(sender, made.len(), tree.width())?;
        let closes = sender == change.closer && !matches!(change.stage, CreationStage::Inner(_));
        let must_confirm = closes && !change.is_eager() && self.profile == Profile::Sound;
        let is_last = change.segment_of(sender).map_or(0, |own| own.left().len()) == nodes.len();
        if confirmation.is_some() && (!closes || !is_last || change.confirmation.is_some())
            || confirmation.is_none() && (must_confirm || made.is_empty())
        {
            return Err(Misbehaviour::Malformed.into());
        }
        tree.fill(&nodes, made);
        change.proceed(sender, nodes.len());
        change.confirmation = change.confirmation.take().or(confirmation);
        Ok(())
    }

    /// Makes and sends this member's part of a change, if it is time. Returns the key, if
    /// everything is there and the key was confirmed. On an error, the caller undoes what was done
    /// to tree and change.
    pub(super) fn advance(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
    ) -> Result<Option<Key>, Error> {
        let told = change.told_by(self.me);
        let made = self.make_own(cx, tree, change)?;
        let sound = self.profile == Profile::Sound;
        let closes = change.closer == self.me;
        let confirmed = closes || !sound || change.confirmation.is_some();
        let inner = matches!(change.stage, CreationStage::Inner(_));
        let key = if change.has_all() && confirmed && !inner {
            Some(self.complete(cx, tree, &mut change.ladder, change.epoch)?)
        } else {
            None
        };
        let proof = key.as_ref().and_then(|key| self.confirmation(cx, key));
        if !closes && proof != change.confirmation && key.is_some() {
            return Err(Misbehaviour::Forged.into());
        }
        let proof = proof.filter(|_| closes);
        if !made.is_empty() || proof.is_some() {
            let step = match change.stage {
                CreationStage::Inner(leaves) | CreationStage::Last(leaves) => Some(leaves),
                CreationStage::Only => told.filter(|_| change.is_eager()),
            };
            let kind = if step.is_some() { STEP } else { PATH };
            let mut draft = cx.draft(Recipient::Group, change.epoch, change.operation, kind);
            if let Some(step) = step {
                draft.number(step as u64);
            }
            draft.bytes(&made).bytes(proof.as_ref().map_or(&[], |key| key.as_bytes())).send();
        }
        Ok(key)
    }

    /// Makes this member's blinded keys of a change, as far as possible and as far as they are due.
    fn make_own(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
    ) -> Result<Vec<u8>, Error> {
        let Some(segment) = change.segment_of(self.me) else { return Ok(Vec::new()) };
        // This comes before the path is looked up: a creation brings a message from every member.
        if self.acts_last(change) && !change.waits_only_for(self.me) {
            return Ok(Vec::new());
        }
        let left = segment.left().to_vec();
        let path = change.lend_path(tree, self.me);
        let made = self.make_along(cx, tree, change, &left, &path);
        change.keep_path(path);
        made
    }

    fn make_along(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        change: &mut TreeChange,
        left: &[usize],
        path: &[usize],
    ) -> Result<Vec<u8>, Error> {
        let mut made = Vec::new();
        let from = change.ladder.height().max(1);
        let beside_is_known =
            |node: &&usize| tree.sibling(**node).is_some_and(|node| tree.is_known(node));
        // How many secrets can be known, the root's included, and how many are needed.
        let possible = from + path.iter().skip(from - 1).take_while(beside_is_known).count();
        let needed =
            path.iter().position(|node| left.last() == Some(node)).map_or(1, |top| top + 1);
        let height = possible.min(needed);
        let is_ready =
            if self.acts_last(change) { possible == path.len() } else { height == needed };
        if !is_ready && !change.is_eager() {
            return Ok(made);
        }
        let beside = path.get(from - 1..height - 1).unwrap_or(&[]);
        let beside = climb::beside(cx, tree, beside, self.check)?;
        change.ladder.draw(cx);
        change.ladder.climb(cx, &beside);
        let lowest = path.iter().position(|node| left.first() == Some(node)).unwrap_or(height);
        if lowest < height {
            change.ladder.blind(cx, lowest..height, &mut made);
        }
        let count = height.saturating_sub(lowest);
        tree.fill(&left[..count], &made);
        change.proceed(self.me, count);
        Ok(made)
    }

    /// Whether this member makes its part last, and all at once.
    fn acts_last(&self, change: &TreeChange) -> bool {
        change.closer == self.me && !change.is_eager()
    }

    /// Goes up to the root of a tree in which no blinded key is missing, and derives the group key.
    pub(super) fn complete(
        &self,
        cx: &mut Context<'_>,
        tree: &mut DhKeyTree,
        ladder: &mut Ladder,
        epoch: Epoch,
    ) -> Result<Key, Error> {
        let path = tree.path(self.me);
        let from = ladder.height().checked_sub(1).ok_or(Misbehaviour::NothingForUs)?;
        let way = path.get(from..path.len() - 1).ok_or(Misbehaviour::NothingForUs)?;
        let beside = climb::beside(cx, tree, way, self.check)?;
        let (last, beside) = beside.split_last().ok_or(Misbehaviour::NothingForUs)?;
        ladder.climb(cx, beside);
        let shared = ladder.reach(cx, last);
        let digest = tree.digest(cx);
        Ok(climb::group_key(cx, shared, epoch, &digest))
    }
}
