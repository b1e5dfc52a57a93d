//! The controller's part: it collects shares, draws the group key, and wraps it for every other
//! member.

use super::bonds::{Bonds, Other, Own, Session, label, pair_key};
use super::{ANSWER, KEYS, Member, Run};
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::mechanisms::membership::{MembershipChange, Roster};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

impl Member {
    /// Takes a member's share. With the last share, distributes the key.
    pub(super) fn receive_share(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let roster = self.view.require_under_way(message)?;
        let member = message.from_member()?;
        let place = roster.place(member).ok_or(Misbehaviour::UnexpectedSender)?;
        let place = place.checked_sub(1).ok_or(Misbehaviour::UnexpectedSender)?;
        let Run::Shares(own, session, pairs) = &self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        // Members that are already paired come before the others in the roster.
        let paired = roster.len() - 1 - pairs.len();
        let slot = place.checked_sub(paired).filter(|&slot| pairs[slot].is_none());
        let slot = slot.ok_or(Misbehaviour::UnexpectedSender)?;
        let mut body = message.body();
        let share = cx.element(body.bytes()?, self.check)?;
        body.finish()?;
        let key = pair_key(cx, &share, &own.secret, session, self.view.me(), member);
        let other = if self.sound { Other::Share(share) } else { Other::Key(key.clone()) };
        let run = core::mem::replace(&mut self.run, Run::None);
        let Run::Shares(own, session, mut pairs) = run else { return Ok(()) };
        pairs[slot] = Some((other, key));
        let change = self.view.change().filter(|_| pairs.iter().all(Option::is_some)).cloned();
        let Some(change) = change else {
            self.run = Run::Shares(own, session, pairs);
            return Ok(());
        };
        let mut others = match &self.bonds {
            Some(Bonds::Controller { others, .. }) if paired > 0 => others.clone(),
            _ => List::new(),
        };
        let refreshed = self.sound && !others.is_empty();
        if others.is_empty() {
            let shares = if self.sound { pairs.len() * own.offer.stored_bytes() } else { 0 };
            self.note(own.working_bytes(pairs.len()) + shares);
        }
        let mut keys = self.keys_of(cx, &own, &session, change.roster(), &others);
        for (other, key) in pairs.iter().flatten() {
            others.push(other.clone());
            keys.push(key.clone());
        }
        self.distribute(cx, change, own, others, &keys, refreshed);
        Ok(())
    }

    /// Draws a group key and sends it to every other member.
    pub(super) fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        change: MembershipChange,
        own: Own,
        others: List<Other>,
        keys: &[Key],
        refreshed: bool,
    ) {
        let group_key = cx.random_key();
        let epoch = change.epoch();
        let length = keys.len() * cx.wrapped_length(1);
        let mut draft = cx.draft(Recipient::Group, epoch, change.operation(), KEYS);
        if refreshed {
            draft.element(&own.offer);
        }
        draft.packed(length);
        for (member, key) in change.roster().iter().skip(1).zip(keys) {
            draft.packed_wrapped(key, epoch, label(member), [&group_key]);
        }
        draft.send();
        if refreshed {
            self.note(own.working_bytes(keys.len()));
        }
        let roster = change.into_roster();
        self.install(cx, epoch, roster, group_key, Bonds::Controller { own, others });
    }

    pub(super) fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let (Some(Bonds::Controller { own, others }), Some(group_key)) =
            (&self.bonds, &self.group_key)
        else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let place = self.view.roster().place(member).and_then(|place| place.checked_sub(1));
        let other = place.and_then(|place| others.get(place));
        let other = other.ok_or(Misbehaviour::UnexpectedSender)?;
        let epoch = self.view.epoch();
        let session = Session::of(cx, self.sound, &own.offer, epoch, self.view.roster());
        let key = other.key(cx, own, &session, self.view.me(), member);
        let mut draft = cx.draft(Recipient::Member(member), epoch, Operation::CatchUp, ANSWER);
        self.view.roster().write(&mut draft);
        if self.sound {
            draft.element(&own.offer);
        }
        draft.wrapped(&key, epoch, label(member), [group_key]).send();
        Ok(())
    }

    /// Returns the keys of the controller's pairs with these others, which follow it in the roster.
    pub(super) fn keys_of(
        &self,
        cx: &mut Context<'_>,
        own: &Own,
        session: &Session,
        roster: &Roster,
        others: &[Other],
    ) -> List<Key> {
        let members = roster.iter().skip(1).zip(others);
        members.map(|(member, other)| other.key(cx, own, session, self.view.me(), member)).collect()
    }
}
