//! A change of the tree: the sponsor renews its leaf and tells the halves beside its path what
//! changed for them, each through its leader. After an eviction, in the sound profile, the leaders
//! of the other halves that the leaving member knew of renew them first.

use alloc::vec;
use alloc::vec::Vec;

use super::secrets::{Secrets, half_key, renewed};
use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::MemberTree;
use crate::mechanisms::membership::pairs::{self, open};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

impl Member {
    /// Takes the command `Add`: the joining member's neighbour welcomes it, all others wait.
    pub(super) fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.addition(member)?;
        let Some(share) = &self.share else {
            self.view.begin(change);
            return Ok(());
        };
        let mut tree = share.tree.clone();
        let sponsor = tree.insert(member);
        let base = tree.leaf(sponsor).ok_or(Misuse::NotCreated)?;
        if sponsor != self.view.me() {
            let change = self.change_of(tree, base, sponsor, false)?;
            self.run = Run::Change(change);
        } else {
            let mut secrets = Secrets::of_leaf(cx.random_key());
            secrets.beside = share.secrets.beside.clone();
            let epoch = self.view.epoch().next();
            let mut keys = List::with_capacity(1 + secrets.beside.len());
            keys.push(secrets.blinded(cx, 0));
            keys.append(&secrets.beside);
            let pair = self.pairs.with(cx, member)?;
            let key = pair.message_key(cx, epoch);
            let to = Recipient::Member(member);
            let mut draft = cx.draft(to, epoch, Operation::Add, WELCOME);
            tree.write(&mut draft);
            pairs::write(&mut draft, &key, epoch, &keys);
            draft.send();
            self.pairs.keep(pair);
            secrets.beside.insert(0, Key::default());
            let awaited = vec![(0, member)];
            let (operation, received) = (Operation::Add, List::filled(None, 1));
            self.run = Run::Lead(Lead { tree, operation, secrets, awaited, received });
        }
        self.view.begin(change);
        Ok(())
    }

    /// Takes the command `Remove`: the leader of the half beside the old leaf acts. In the sound
    /// profile the leaders of the other halves that the leaving member knew of renew them first.
    pub(super) fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.removal(member)?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let mut tree = share.tree.clone();
        let base = tree.remove(member).ok_or(Misuse::NotMember(member))?;
        let sponsor = tree.leader(base);
        if sponsor == self.view.me() {
            let lead = self.lead_of_removal(cx, share, tree, base)?;
            if lead.awaited.is_empty() {
                return self.lead(cx, &lead, &[]);
            }
            self.run = Run::Lead(lead);
        } else {
            let mut change = self.change_of(tree, base, sponsor, self.sound)?;
            if change.is_renewed() && change.by_hand() {
                let path = change.outcome.tree.path(self.view.me());
                let addition = cx.random_key();
                let level = change.inside(&path);
                let mut secrets = change.kept(share, &path);
                let secret = renewed(cx, secrets.at(level), &addition);
                secrets.replace(level, secret);
                let blinded = secrets.blinded(cx, level);
                self.tell_sponsor(
                    cx,
                    self.view.epoch().next(),
                    Operation::Remove,
                    sponsor,
                    blinded,
                )?;
                change.addition = Some(addition);
            }
            self.run = Run::Change(change);
        }
        self.view.begin(change);
        Ok(())
    }

    /// Takes the command `Rekey`: the member whose turn it is renews its leaf. No half is renewed,
    /// as nobody left.
    pub(super) fn rekey(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let change = self.view.refreshment()?;
        let share = self.share.as_ref().ok_or(Misuse::NotCreated)?;
        let (tree, operation) = (share.tree.clone(), Operation::Rekey);
        let place = self.view.epoch().0 % tree.roster().len() as u64;
        let sponsor = tree.roster().at(place as usize);
        if sponsor == self.view.me() {
            let mut secrets = share.secrets.clone();
            secrets.replace(0, cx.random_key());
            let (awaited, received) = (Vec::new(), List::new());
            let lead = Lead { tree, operation, secrets, awaited, received };
            return self.lead(cx, &lead, &[]);
        }
        let base = tree.leaf(sponsor).ok_or(Misuse::NotCreated)?;
        self.run = Run::Change(self.change_of(tree, base, sponsor, false)?);
        self.view.begin(change);
        Ok(())
    }

    fn change_of(
        &self,
        tree: MemberTree,
        base: usize,
        sponsor: MemberId,
        repaired: bool,
    ) -> Result<Change, Error> {
        let me = self.view.me();
        let leaf = tree.leaf(me).ok_or(Misuse::NotMember(me))?;
        let mut beside = tree.path(sponsor).into_iter().map(|level| level.sibling);
        let half = beside.find(|&sibling| tree.is_within(leaf, sibling));
        let half = half.ok_or(Misbehaviour::InvalidRoster)?;
        let leader = tree.leader(half);
        let from = if leader == me { sponsor } else { leader };
        let outcome = self.outcome(tree, sponsor);
        Ok(Change { outcome, base, half, from, repaired, addition: None })
    }

    fn lead_of_removal(
        &self,
        cx: &mut Context<'_>,
        share: &Share,
        tree: MemberTree,
        base: usize,
    ) -> Result<Lead, Error> {
        let path = tree.path(self.view.me());
        let inside = tree.levels_within(&path, base);
        let mut secrets = share.secrets.clone();
        secrets.contract(inside);
        secrets.replace(0, cx.random_key());
        let mut awaited = Vec::new();
        for (number, level) in path.iter().enumerate().skip(inside).filter(|_| self.sound) {
            let leader = tree.leader(level.sibling);
            awaited.push((number, leader));
        }
        let received = List::filled(None, awaited.len());
        Ok(Lead { tree, operation: Operation::Remove, secrets, awaited, received })
    }

    /// Sends the blinded secret of this member's half, or of a joining member's leaf, to the
    /// sponsor.
    fn tell_sponsor(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        sponsor: MemberId,
        blinded: Key,
    ) -> Result<(), Error> {
        let pair = self.pairs.with(cx, sponsor)?;
        let key = pair.message_key(cx, epoch);
        let mut draft = cx.draft(Recipient::Member(sponsor), epoch, operation, BLIND);
        pairs::write(&mut draft, &key, epoch, &[blinded]);
        draft.send();
        self.pairs.keep(pair);
        Ok(())
    }

    /// As the sponsor, takes a blinded secret that it waits for. With the last, leads the change.
    pub(super) fn receive_blinded(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.view.require_under_way(message)?;
        let sender = message.from_member()?;
        let Run::Lead(lead) = &mut self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let place = lead.awaited.iter().position(|&(_, member)| member == sender);
        let place = place.ok_or(Misbehaviour::UnexpectedSender)?;
        if lead.received[place].is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let pair = self.pairs.with(cx, sender)?;
        let mut body = message.body();
        let blinded = pair.read(cx, &mut body, message.header().epoch, 1)?.first().cloned();
        body.finish()?;
        lead.received[place] = blinded;
        if lead.received.iter().any(Option::is_none) {
            self.pairs.keep(pair);
            return Ok(());
        }
        let Run::Lead(mut lead) = core::mem::replace(&mut self.run, Run::None) else {
            return Ok(());
        };
        let received: List<_> = lead.received.iter().flatten().cloned().collect();
        if let Err(error) = self.lead(cx, &lead, &received) {
            lead.received[place] = None;
            self.run = Run::Lead(lead);
            return Err(error);
        }
        self.pairs.keep(pair);
        Ok(())
    }

    /// As the sponsor, tells every half beside this member's path what changed for it, and takes
    /// the key.
    fn lead(&mut self, cx: &mut Context<'_>, lead: &Lead, received: &[Key]) -> Result<(), Error> {
        let Lead { tree, operation, awaited, .. } = lead;
        let (operation, epoch) = (*operation, self.view.epoch().next());
        let mut secrets = lead.secrets.clone();
        for ((level, _), blinded) in awaited.iter().zip(received) {
            secrets.beside[*level] = blinded.clone();
        }
        let blinded = secrets.climb(cx, 0);
        let mut pairs = self.pairs.clone();
        // A joining member computes what it needs from its welcome.
        let welcomed = usize::from(operation == Operation::Add);
        for (number, level) in tree.path(self.view.me()).iter().enumerate().skip(welcomed) {
            let other = tree.leader(level.sibling);
            let mut keys = List::with_capacity(1 + awaited.len());
            keys.push(blinded[number].clone());
            let above = awaited.iter().filter(|&&(renewed, _)| renewed > number);
            keys.extend(above.map(|&(renewed, _)| secrets.beside[renewed].clone()));
            let pair = pairs.with(cx, other)?;
            let key = pair.message_key(cx, epoch);
            let mut draft = cx.draft(Recipient::Member(other), epoch, operation, KEYS);
            pairs::write(&mut draft, &key, epoch, &keys);
            draft.send();
            pairs.keep(pair);
        }
        self.pairs = pairs;
        self.confirm_as_sponsor(cx, epoch, operation, tree.clone(), secrets);
        Ok(())
    }

    /// Takes what changed for the half that this member leads, and hands it on to the half.
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
        if !change.by_hand() || change.outcome.keys.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let (epoch, operation) = (message.header().epoch, message.header().operation);
        let path = change.outcome.tree.path(self.view.me());
        let pair = self.pairs.with(cx, change.from)?;
        let mut body = message.body();
        let count = 1 + change.renewed_beside(&path).len();
        let told = pair.read(cx, &mut body, epoch, count)?;
        body.finish()?;
        let secrets = change.apply(cx, share, &path, change.addition.as_ref(), &told);
        change.outcome.require_fit(cx, epoch, &secrets)?;
        let width = change.outcome.tree.width(change.half);
        if width > 1 {
            let before = change.kept(share, &path);
            let half = half_key(cx, epoch, before.at(change.inside(&path)));
            let keys: Vec<_> = change.addition.iter().chain(&told).collect();
            let mut draft = cx.draft(Recipient::Group, epoch, operation, SPREAD);
            draft.number(width as u64).wrapped(&half, epoch, 0, keys).send();
        }
        self.pairs.keep(pair);
        self.have(cx, epoch, secrets);
        Ok(())
    }

    /// Takes what a leader sends to its half. Every member receives the message; a party outside
    /// the half ignores it.
    pub(super) fn receive_spread(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        let mut body = message.body();
        let width = body.number32()? as usize;
        let wrapped = body.bytes()?;
        body.finish()?;
        let tree = match (&self.run, &self.share) {
            (Run::Change(change), _) => &change.outcome.tree,
            (Run::Lead(lead), _) => &lead.tree,
            (Run::Creation(_) | Run::None, Some(share)) => &share.tree,
            // A joining member that does not know the members yet is in no half.
            (_, None) if self.view.is_joining() => return Ok(()),
            (_, None) => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        if !tree.is_heard(self.view.me(), sender, width, self.view.roster())? {
            let missed = message.header().epoch > self.view.epoch();
            return if missed { message.require_next_epoch(self.view.epoch()) } else { Ok(()) };
        }
        self.view.require_under_way(message)?;
        let (Run::Change(change), Some(share)) = (&self.run, &self.share) else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        if change.by_hand() || change.outcome.keys.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if sender != change.from || width != tree.width(change.half) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let epoch = message.header().epoch;
        let path = tree.path(self.view.me());
        let before = change.kept(share, &path);
        let half = half_key(cx, epoch, before.at(change.inside(&path)));
        let additions = usize::from(change.is_renewed());
        let count = additions + 1 + change.renewed_beside(&path).len();
        let keys = open(cx, &half, epoch, wrapped, count)?;
        let (addition, told) = keys.split_at(additions);
        let secrets = change.apply(cx, share, &path, addition.first(), told);
        change.outcome.require_fit(cx, epoch, &secrets)?;
        self.have(cx, epoch, secrets);
        Ok(())
    }

    /// As a joining member, learns from its neighbour the members and the blinded secrets beside
    /// its path. Sends the neighbour the blinded secret of its own leaf.
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
        let path = tree.path(self.view.me());
        let lowest = path.first().ok_or(Misbehaviour::InvalidRoster)?;
        let sponsor = tree.member_at(lowest.sibling).ok_or(Misbehaviour::InvalidRoster)?;
        message.require_sender(sponsor.into())?;
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, sponsor)?;
        let mut secrets = Secrets::of_leaf(cx.random_key());
        secrets.beside = pair.read(cx, &mut body, epoch, path.len())?;
        body.finish()?;
        let blinded = secrets.climb(cx, 0)[0].clone();
        self.pairs.keep(pair);
        self.tell_sponsor(cx, epoch, Operation::Add, sponsor, blinded)?;
        self.view.welcome(epoch, tree.roster().clone());
        let (base, half) = (lowest.sibling, lowest.child);
        let mut outcome = self.outcome(tree, sponsor);
        outcome.keys = Some(secrets);
        let (from, repaired, addition) = (sponsor, false, None);
        self.run = Run::Change(Change { outcome, base, half, from, repaired, addition });
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    fn have(&mut self, cx: &mut Context<'_>, epoch: Epoch, secrets: Secrets) {
        if let Run::Change(change) = &mut self.run {
            change.outcome.keys = Some(secrets);
        }
        self.settle_if_complete(cx, epoch);
    }
}
