//! A change of the tree: the sponsor draws the keys above the place of the change and sends them
//! to the halves beside its path, each through its leader.

use alloc::vec::Vec;

use super::{KEYS, Member, Outcome, Run, Share, WELCOME, spread, verify};
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::MemberId;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::schemes::distributed::gdh::require_sender;
use crate::schemes::distributed::member_tree::{Level, MemberTree};
use crate::schemes::distributed::pairs::{self, open};
use crate::secret::Key;
use crate::wire::Message;

/// A change that a member waits for.
#[derive(Debug)]
pub(super) struct Change {
    outcome: Outcome,
    /// The half, in the new tree, that stays as it is and that this member is in.
    half: usize,
    /// Who sends the keys.
    from: MemberId,
    /// Whether they come over the channel of the pair, for this member to hand on.
    by_hand: bool,
}

/// A member's place in a change.
struct Place {
    /// How many nodes above its leaf are in its half.
    inside: usize,
    /// How many of the keys that it has stay.
    kept: usize,
    /// How many come anew.
    renewed: usize,
}

impl Change {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// What `me` waits for when the keys above `base`, which the sponsor leads, are made anew.
    fn seen_by(
        me: MemberId,
        tree: MemberTree,
        base: usize,
        sponsor: MemberId,
    ) -> Result<Self, Error> {
        let leaf = tree.leaf(me).ok_or(Misuse::NotMember(me))?;
        let beside = tree.path(sponsor).into_iter().map(|level| level.sibling);
        let half = match tree.is_within(leaf, base) {
            true => Some(base),
            false => beside.into_iter().find(|&sibling| tree.is_within(leaf, sibling)),
        };
        let half = half.ok_or(Misbehaviour::InvalidRoster)?;
        let leader = tree.leader(half).ok_or(Misbehaviour::InvalidRoster)?;
        let by_hand = leader == me;
        let from = if by_hand { sponsor } else { leader };
        Ok(Self { outcome: Outcome::awaited(tree, sponsor), half, from, by_hand })
    }

    fn place_of(&self, me: MemberId) -> Place {
        Place::of(&self.outcome.tree, self.half, &self.outcome.tree.path(me))
    }

    /// Puts the keys that came on top of those that stay, if they are confirmed or not yet to be.
    fn complete(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        share: &Share,
        place: &Place,
        new: &[Key],
    ) -> Result<Vec<Key>, Error> {
        let mut keys = share.keys[..place.kept].to_vec();
        keys.extend_from_slice(new);
        self.outcome.must_fit(cx, message.header().epoch, &keys)?;
        Ok(keys)
    }
}

impl Place {
    fn of(tree: &MemberTree, half: usize, path: &[Level]) -> Self {
        let inside = path.iter().filter(|level| tree.is_within(level.node, half)).count();
        // Where the half is the whole tree, it is its root that is made anew.
        let renewed = (path.len() - inside).max(1);
        Self { inside, kept: path.len() - renewed, renewed }
    }
}

impl Member {
    /// Takes the command `Add`: the newcomer's neighbour acts, all others wait.
    pub(super) fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.addition(member)?;
        let Some(share) = &self.share else {
            self.view.begin(change);
            return Ok(());
        };
        let mut tree = share.tree.clone();
        let sponsor = tree.insert(member).ok_or(Misuse::NotCreated)?;
        // Both leaves are under a new node, so all that stays of this place is the sponsor's leaf.
        let base = tree.leaf(sponsor).ok_or(Misuse::NotCreated)?;
        if sponsor == self.view.me() {
            return self.lead(cx, Operation::Add, tree, base, Some(member));
        }
        self.run = Run::Change(Change::seen_by(self.view.me(), tree, base, sponsor)?);
        self.view.begin(change);
        Ok(())
    }

    /// Takes the command `Remove`: the leader of the half beside the old leaf acts.
    pub(super) fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.removal(member)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let mut tree = share.tree.clone();
        let base = tree.remove(member).ok_or(Misuse::NotMember(member))?;
        let sponsor = tree.leader(base).ok_or(Misuse::NotCreated)?;
        if sponsor == self.view.me() {
            return self.lead(cx, Operation::Remove, tree, base, None);
        }
        self.run = Run::Change(Change::seen_by(self.view.me(), tree, base, sponsor)?);
        self.view.begin(change);
        Ok(())
    }

    /// As the sponsor, makes the keys above `base` anew and sends them to everybody concerned.
    fn lead(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        tree: MemberTree,
        base: usize,
        newcomer: Option<MemberId>,
    ) -> Result<(), Error> {
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let path = tree.path(self.view.me());
        let place = Place::of(&tree, base, &path);
        let epoch = self.view.epoch().next();
        let new: Vec<_> = (0..place.renewed).map(|_| cx.random_key()).collect();
        let mut met = Vec::new();
        for (number, level) in path[place.inside..].iter().enumerate() {
            let other = tree.leader(level.sibling).ok_or(Misbehaviour::InvalidRoster)?;
            let pair = self.pairs.with(cx, other)?;
            let key = pair.message_key(cx, epoch);
            let welcome = newcomer == Some(other);
            let kind = if welcome { WELCOME } else { KEYS };
            let mut draft = cx.draft(Recipient::Member(other), epoch, operation, kind);
            if welcome {
                tree.write(&mut draft);
            }
            pairs::write(&mut draft, &key, epoch, &new[number..]);
            draft.send();
            met.push(pair);
        }
        if let Some(half) = place.inside.checked_sub(1) {
            spread(cx, epoch, operation, tree.width(base), &share.keys[half], &new);
        }
        let mut keys = share.keys[..place.kept].to_vec();
        keys.extend(new);
        self.keep(met);
        self.confirm(cx, epoch, operation, &tree, &keys);
        self.install(cx, epoch, tree, keys);
        Ok(())
    }

    /// Takes the keys for the half that this member leads, and hands them on to it.
    pub(super) fn receive_keys(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.expect(message)?;
        let (Run::Change(change), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        require_sender(message, change.outcome.sponsor)?;
        if !change.by_hand || change.outcome.keys.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let place = change.place_of(self.view.me());
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, change.from)?;
        let mut body = message.body();
        let new = pair.read(cx, &mut body, epoch, place.renewed)?;
        body.finish()?;
        let keys = change.complete(cx, message, share, &place, &new)?;
        if let Some(half) = place.inside.checked_sub(1) {
            let width = change.outcome.tree.width(change.half);
            spread(cx, epoch, message.header().operation, width, &share.keys[half], &new);
        }
        self.pairs.keep(pair);
        self.have(cx, message, keys);
        Ok(())
    }

    /// Takes the keys that the leader of the own half spreads in it.
    pub(super) fn take_spread_keys(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        sender: MemberId,
        half: usize,
        wrapped: &[u8],
    ) -> Result<(), Error> {
        let (Run::Change(change), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        if change.by_hand || change.outcome.keys.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if half != change.half || sender != change.from {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let place = change.place_of(self.view.me());
        let half = place.inside.checked_sub(1).and_then(|level| share.keys.get(level));
        let half = half.ok_or(Misbehaviour::UnexpectedMessage)?;
        let new = open(cx, half, message.header().epoch, wrapped, place.renewed)?;
        let keys = change.complete(cx, message, share, &place, &new)?;
        self.have(cx, message, keys);
        Ok(())
    }

    /// A newcomer learns from its neighbour who is there, and has the keys.
    pub(super) fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if !self.view.is_joining() {
            self.view.expect(message)?;
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.is_later_than(self.view.epoch())?;
        let mut body = message.body();
        let tree = MemberTree::read(&mut body)?;
        let me = self.view.me();
        let path = tree.path(me);
        let lowest = path.first().ok_or(Misbehaviour::InvalidRoster)?;
        let sponsor = tree.leader(lowest.sibling).filter(|_| tree.is_leaf(lowest.sibling));
        let sponsor = sponsor.ok_or(Misbehaviour::InvalidRoster)?;
        require_sender(message, sponsor)?;
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, sponsor)?;
        let keys = pair.read(cx, &mut body, epoch, path.len())?;
        body.finish()?;
        let confirmation = match &self.early {
            Some((sender, early, confirmation)) if (*sender, *early) == (sponsor, epoch) => {
                verify(cx, epoch, &tree, &keys, confirmation)?;
                Some(confirmation.clone())
            }
            _ => None,
        };
        self.pairs.keep(pair);
        self.view.welcome(epoch, tree.roster());
        let half = lowest.child;
        let awaited = Outcome::awaited(tree, sponsor);
        let outcome = Outcome { keys: Some(keys), confirmation, ..awaited };
        self.run = Run::Change(Change { outcome, half, from: sponsor, by_hand: true });
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    fn have(&mut self, cx: &mut Context<'_>, message: &Message<'_>, keys: Vec<Key>) {
        if let Run::Change(change) = &mut self.run {
            change.outcome.keys = Some(keys);
        }
        self.settle_if_complete(cx, message.header().epoch);
    }
}
