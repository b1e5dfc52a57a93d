//! The creation of a tree: a merging whose halves are all single leaves. In the sound profile every
//! member also sends a nonce, and the sponsor confirms the key when it has all nonces.

use super::state::*;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::mechanisms::member_tree::{Altered, MemberTree};
use crate::mechanisms::membership::round::Round;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::wire::Message;

impl Member {
    pub(super) fn create(
        &mut self,
        cx: &mut Context<'_>,
        members: &[MemberId],
    ) -> Result<(), Error> {
        let change = self.view.creation(members)?;
        let (me, roster) = (self.view.me(), change.roster().clone());
        let mut nonces = Round::of(if self.sound { roster.len() } else { 0 });
        if let (true, Some(place)) = (self.sound, roster.place(me)) {
            let nonce = cx.random_key();
            let mut draft = cx.draft(Recipient::Group, change.epoch(), Operation::Create, NONCE);
            draft.bytes(nonce.as_bytes()).send();
            nonces.put(place, nonce);
        }
        let altered = Altered::of_leaves(MemberTree::balanced(&roster));
        self.begin_merging(cx, change, altered, nonces)
    }

    /// Takes a member's nonce. With the last one the session is known.
    pub(super) fn receive_nonce(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let roster = self.view.require_under_way(message)?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let nonce = read_nonce(message)?;
        let Run::Merging(merging) = &mut self.run else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let (outcome, nonces) = merging.session_mut();
        nonces.require_open(place)?;
        nonces.put(place, nonce);
        if !nonces.is_complete() {
            return Ok(());
        }
        let epoch = message.header().epoch;
        let session = nonces.session(cx, epoch, roster, "groupkey d-lkh session");
        if let Err(error) = outcome.enter(cx, epoch, session) {
            nonces.forget(place);
            return Err(error);
        }
        if outcome.sponsor == self.view.me() {
            return self.conclude(cx, epoch, Operation::Create);
        }
        self.settle_if_complete(cx, epoch);
        Ok(())
    }
}
