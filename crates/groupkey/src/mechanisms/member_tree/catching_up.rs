//! Catching up: the leader of the half beside a member answers its request. That leader has all
//! keys of the member except those that only the member has.

use super::tree::MemberTree;
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::View;
use crate::mechanisms::membership::pairs::{self, Pair};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) fn ask(
    cx: &mut Context<'_>,
    view: &View,
    asked: &mut CatchUpRequest,
    kind: u8,
) -> Result<(), Error> {
    if view.roster().is_empty() {
        return Err(Misuse::NotCreated.into());
    }
    asked.request(cx, Recipient::Group, view.epoch(), kind).send();
    Ok(())
}

impl MemberTree {
    /// Answers `member` with the tree and with keys, under a key of the pair that the two share.
    pub(crate) fn send_answer(
        &self,
        cx: &mut Context<'_>,
        (member, pair): (MemberId, &Pair),
        epoch: Epoch,
        kind: u8,
        keys: &[Key],
    ) {
        let key = pair.message_key(cx, epoch);
        let to = Recipient::Member(member);
        let mut draft = cx.draft(to, epoch, Operation::CatchUp, kind);
        self.write(&mut draft);
        pairs::write(&mut draft, &key, epoch, keys);
        draft.send();
    }

    /// Returns the member that asks and the number of nodes above it, if `me` must answer. Every
    /// member receives a request.
    pub(crate) fn asked(
        &self,
        me: MemberId,
        message: &Message<'_>,
    ) -> Result<Option<(MemberId, usize)>, Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let path = self.path(member);
        let lowest = path.first().filter(|_| member != me);
        let lowest = lowest.ok_or(Misbehaviour::UnexpectedSender)?;
        let is_mine = self.leader(lowest.sibling) == me;
        Ok(is_mine.then_some((member, path.len())))
    }

    /// Reads the tree at the start of an answer, its sender, and how many nodes are above `me`.
    pub(crate) fn read_answer(
        message: &Message<'_>,
        body: &mut Reader<'_>,
        me: MemberId,
        current: Epoch,
    ) -> Result<(Self, MemberId, usize), Error> {
        message.require_later_epoch(current)?;
        let tree = Self::read(body)?;
        let path = tree.path(me);
        let lowest = path.first().ok_or(Misbehaviour::NothingForUs)?;
        let sender = message.from_member()?;
        if tree.leader(lowest.sibling) != sender {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        Ok((tree, sender, path.len()))
    }
}
