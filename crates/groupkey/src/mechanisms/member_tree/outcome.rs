//! What a member waits for when a tree changes: its keys, and, where sponsors confirm, that the
//! sponsor has the same root.

use super::tree::MemberTree;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::Message;

/// Whether and how a scheme's sponsors show that they have the root's key: derived from it for
/// group, epoch, members and form, and where there are sessions for that, 16 bytes to all.
#[derive(Clone, Debug)]
pub(crate) struct Confirming {
    /// In the sound profile.
    pub(crate) is_due: bool,
    /// The kind of the message.
    pub(crate) kind: u8,
    pub(crate) label: &'static str,
    pub(crate) session: Session,
}

/// Tells a group from one of the same name that was there before. Not secret.
#[derive(Clone, Debug)]
pub(crate) enum Session {
    /// Nothing does.
    None,
    /// A member has not said yet what goes into it.
    Awaited,
    Known(Key),
}

/// Keys of nodes of a tree, the root's among them.
pub(crate) trait TreeKeys {
    fn root(&self) -> Key;
}

/// What must still come before the group key is taken: the keys, the sponsor's confirmation, or
/// both.
#[derive(Debug)]
pub(crate) struct Outcome<K> {
    confirming: Confirming,
    pub(crate) tree: MemberTree,
    pub(crate) sponsor: MemberId,
    pub(crate) keys: Option<K>,
    pub(crate) confirmation: Option<Key>,
}

impl Confirming {
    /// As the sponsor, which has the keys already, tells every member that it has.
    pub(crate) fn send(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        tree: &MemberTree,
        keys: &impl TreeKeys,
    ) {
        if self.is_due {
            let confirmation = self.of(cx, epoch, tree, keys);
            let mut draft = cx.draft(Recipient::Group, epoch, operation, self.kind);
            draft.bytes(confirmation.as_bytes()).send();
        }
    }

    /// Reads what [`Self::send`] sends.
    pub(crate) fn read(&self, message: &Message<'_>) -> Result<Key, Error> {
        if !self.is_due {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let key = body.key()?;
        body.finish()?;
        Ok(key)
    }

    /// Refuses keys and a confirmation that do not fit each other.
    pub(crate) fn verify(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        tree: &MemberTree,
        keys: &impl TreeKeys,
        confirmation: &Key,
    ) -> Result<(), Error> {
        if self.of(cx, epoch, tree, keys) == *confirmation {
            Ok(())
        } else {
            Err(Misbehaviour::Forged.into())
        }
    }

    /// Whether it is known what there is to confirm.
    const fn is_ready(&self) -> bool {
        !matches!(self.session, Session::Awaited)
    }

    fn of(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        tree: &MemberTree,
        keys: &impl TreeKeys,
    ) -> Key {
        tree.confirmation(cx, epoch, &keys.root(), self.label, self.session.key())
    }
}

impl Session {
    pub(crate) const fn key(&self) -> Option<&Key> {
        match self {
            Self::Known(key) => Some(key),
            Self::None | Self::Awaited => None,
        }
    }
}

impl<K: TreeKeys> Outcome<K> {
    /// Nothing is there yet.
    pub(crate) const fn awaited(
        confirming: Confirming,
        tree: MemberTree,
        sponsor: MemberId,
    ) -> Self {
        Self { confirming, tree, sponsor, keys: None, confirmation: None }
    }

    /// Refuses keys that a confirmation, if it is there, does not fit.
    pub(crate) fn require_fit(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        keys: &K,
    ) -> Result<(), Error> {
        match &self.confirmation {
            Some(confirmation) if self.confirming.is_ready() => {
                self.confirming.verify(cx, epoch, &self.tree, keys, confirmation)
            }
            _ => Ok(()),
        }
    }

    /// The session is known now. Refuses it if keys and confirmation are there and do not fit it.
    pub(crate) fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        session: Key,
    ) -> Result<(), Error> {
        let confirming = Confirming { session: Session::Known(session), ..self.confirming.clone() };
        if let (Some(keys), Some(confirmation)) = (&self.keys, &self.confirmation) {
            confirming.verify(cx, epoch, &self.tree, keys, confirmation)?;
        }
        self.confirming = confirming;
        Ok(())
    }

    /// How it is confirmed.
    pub(crate) const fn confirming(&self) -> &Confirming {
        &self.confirming
    }

    /// Takes the sponsor's confirmation, which comes once.
    pub(crate) fn confirm(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        confirmation: Key,
    ) -> Result<(), Error> {
        message.require_sender(self.sponsor.into())?;
        if self.confirmation.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if let Some(keys) = self.keys.as_ref().filter(|_| self.confirming.is_ready()) {
            let epoch = message.header().epoch;
            self.confirming.verify(cx, epoch, &self.tree, keys, &confirmation)?;
        }
        self.confirmation = Some(confirmation);
        Ok(())
    }

    /// Tree and keys, if keys and, where they must be, session and confirmation are there.
    pub(crate) fn complete(&mut self) -> Option<(MemberTree, K)> {
        if !self.confirming.is_ready() || self.confirming.is_due && self.confirmation.is_none() {
            return None;
        }
        self.keys.take().map(|keys| (self.tree.clone(), keys))
    }
}
