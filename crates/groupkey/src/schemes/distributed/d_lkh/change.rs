//! A change above one place of the tree, with the sponsor below that place. The sponsor draws the
//! keys of all nodes above the place, and sends them to the halves beside the path, each through
//! its leader.

use alloc::vec;

use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{Altered, Confirming, MemberTree, TreeSession};
use crate::mechanisms::membership;
use crate::mechanisms::membership::pairs::{self, open};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

impl Member {
    /// Takes the command `Add`. The joining member's neighbour acts, in the sound profile once it
    /// has the joining member's nonce. All others wait.
    pub(super) fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.addition(member)?;
        let Some(share) = &self.share else {
            if self.sound {
                let nonce = cx.random_key();
                let mut draft = cx.draft(Recipient::Group, change.epoch(), Operation::Add, NONCE);
                draft.bytes(nonce.as_bytes()).send();
                self.run = Run::Joining(nonce);
            }
            self.view.begin(change);
            return Ok(());
        };
        let mut tree = share.tree.clone();
        let sponsor = tree.insert(member);
        // Both leaves are under a new node, so only the sponsor's leaf stays as it is.
        let base = tree.leaf(sponsor).ok_or(Misuse::NotCreated)?;
        let altered = Altered::above(tree, base);
        if self.sound && sponsor == self.view.me() {
            self.run = Run::Welcome(Welcome { newcomer: member, altered });
            self.view.begin(change);
            return Ok(());
        }
        self.alter(cx, change, altered, sponsor)
    }

    /// Takes a joining member's nonce, if this member is the sponsor of the join. Every member
    /// receives it. The nonce's epoch means nothing: a joining member need not know the group's.
    pub(super) fn receive_newcomers_nonce(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let nonce = read_nonce(message)?;
        let Run::Welcome(Welcome { newcomer, altered }) = &self.run else { return Ok(()) };
        message.require_sender((*newcomer).into())?;
        let epoch = self.view.epoch().next();
        self.lead(cx, epoch, Operation::Add, altered.clone(), Some(&nonce))
    }

    /// Takes the command `Remove`: the leader of the half beside the old leaf acts.
    pub(super) fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.removal(member)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let mut tree = share.tree.clone();
        let base = tree.remove(member).ok_or(Misuse::NotMember(member))?;
        let sponsor = tree.leader(base);
        self.alter(cx, change, Altered::above(tree, base), sponsor)
    }

    /// Takes the command `Rekey`: the member whose turn it is renews all keys above itself.
    pub(super) fn rekey(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let change = self.view.refreshment()?;
        let tree = self.share.as_ref().ok_or(Misuse::NotCreated)?.tree.clone();
        let roster = tree.roster().clone();
        let sponsor = roster.at((self.view.epoch().0 % roster.len() as u64) as usize);
        let base = tree.leaf(sponsor).ok_or(Misuse::NotCreated)?;
        self.alter(cx, change, Altered::above(tree, base), sponsor)
    }

    /// Leads the change if this member is the sponsor, and otherwise waits for it.
    pub(super) fn alter(
        &mut self,
        cx: &mut Context<'_>,
        change: membership::MembershipChange,
        altered: Altered,
        sponsor: MemberId,
    ) -> Result<(), Error> {
        if sponsor == self.view.me() {
            return self.lead(cx, change.epoch(), change.operation(), altered, None);
        }
        self.run = Run::Change(Change::seen_by(
            self.view.me(),
            self.confirming.clone(),
            altered,
            sponsor,
        )?);
        self.view.begin(change);
        Ok(())
    }

    /// As the sponsor, renews the keys above the halves and sends them to every member concerned.
    fn lead(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        altered: Altered,
        nonce: Option<&Key>,
    ) -> Result<(), Error> {
        let Altered { tree, halves } = altered;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let me = self.view.me();
        let mut drawn = vec![None; tree.nodes()];
        let (mut met, mut own) = (List::new(), None);
        for half in halves {
            let mut above = tree.above(half);
            if above.is_empty() {
                // If the half is the whole tree, the root's key is renewed.
                above.push(half);
            }
            let keys = above
                .into_iter()
                .map(|node| drawn[node].get_or_insert_with(|| cx.random_key()).clone());
            let keys: List<Key> = keys.collect();
            let other = tree.leader(half);
            if other == me {
                let place = Place::of(&tree, half, &tree.path(me));
                if let Some(key) = place.half_key(share) {
                    spread(cx, epoch, operation, &tree, half, key, &keys);
                }
                own = Some(place.with(share, &keys));
                continue;
            }
            let mut pair = self.pairs.with(cx, other)?;
            let welcome = self.view.roster().place(other).is_none();
            if welcome {
                pair = pair.within(nonce);
            }
            let key = pair.message_key(cx, epoch);
            let kind = if welcome { WELCOME } else { KEYS };
            let mut draft = cx.draft(Recipient::Member(other), epoch, operation, kind);
            if welcome {
                tree.write(&mut draft);
                if let Some(session) = self.confirming.session.key() {
                    draft.bytes(session.as_bytes());
                }
            }
            pairs::write(&mut draft, &key, epoch, &keys);
            draft.send();
            met.push(pair);
        }
        let keys = own.ok_or(Misbehaviour::InvalidRoster)?;
        self.keep(&met);
        self.confirming.send(cx, epoch, operation, &tree, &keys);
        self.install(cx, epoch, tree, keys);
        Ok(())
    }

    /// Takes the keys for the half that this member leads, and hands them on to the half.
    pub(super) fn receive_keys(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.require_under_way(message)?;
        let (Run::Change(change), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        message.require_sender(change.outcome.sponsor.into())?;
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
        if let Some(key) = place.half_key(share) {
            let operation = message.header().operation;
            spread(cx, epoch, operation, change.tree(), change.half, key, &new);
        }
        self.pairs.keep(pair);
        self.have(cx, message, keys);
        Ok(())
    }

    /// Takes the keys that the leader of this member's half spreads in it.
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
        let half = place.half_key(share).ok_or(Misbehaviour::UnexpectedMessage)?;
        let new = open(cx, half, message.header().epoch, wrapped, place.renewed)?;
        let keys = change.complete(cx, message, share, &place, &new)?;
        self.have(cx, message, keys);
        Ok(())
    }

    /// As a joining member, learns the members from its neighbour and takes the keys.
    pub(super) fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if !self.view.is_joining() {
            self.view.require_under_way(message)?;
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.require_later_epoch(self.view.epoch())?;
        let mut body = message.body();
        let tree = MemberTree::read(&mut body)?;
        self.view.require_announced(tree.roster())?;
        let me = self.view.me();
        let session = match self.sound {
            true => TreeSession::Known(body.key()?),
            false => TreeSession::None,
        };
        let confirming = Confirming { session, ..self.confirming.clone() };
        let path = tree.path(me);
        let lowest = path.first().ok_or(Misbehaviour::InvalidRoster)?;
        let sponsor = tree.member_at(lowest.sibling).ok_or(Misbehaviour::InvalidRoster)?;
        message.require_sender(sponsor.into())?;
        let epoch = message.header().epoch;
        let nonce = if let Run::Joining(nonce) = &self.run { Some(nonce) } else { None };
        let pair = self.pairs.with(cx, sponsor)?.within(nonce);
        let keys = pair.read(cx, &mut body, epoch, path.len())?;
        body.finish()?;
        self.pairs.keep(pair);
        self.view.welcome(epoch, tree.roster().clone());
        let half = lowest.child;
        let mut outcome = Outcome::awaited(confirming, tree, sponsor);
        outcome.keys = Some(keys);
        self.run = Run::Change(Change { outcome, half, from: sponsor, by_hand: true });
        self.settle_if_complete(cx, epoch);
        self.take_early(cx);
        Ok(())
    }

    fn have(&mut self, cx: &mut Context<'_>, message: &Message<'_>, keys: List<Key>) {
        if let Run::Change(change) = &mut self.run {
            change.outcome.keys = Some(keys);
        }
        self.settle_if_complete(cx, message.header().epoch);
    }
}
