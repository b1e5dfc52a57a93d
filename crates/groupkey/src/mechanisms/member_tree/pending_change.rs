//! What a member waits for when a tree changes: its keys and, where sponsors confirm, the sponsor's
//! confirmation that it has the same root. Where there is a witness, it waits for the witness's, too:
//! a dishonest sponsor can confirm one root to some members and another one to the rest, but not in
//! the name of an honest witness.

use super::tree::MemberTree;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::Message;

/// Whether and how a scheme's sponsors show that they have the root's key. They send 16 bytes to
/// all. These are derived from that key for group, epoch, members and form, and the session if
/// there is one.
#[derive(Clone, Debug)]
pub(crate) struct Confirming {
    /// Whether sponsors confirm, as they do in the sound profile.
    pub(crate) is_due: bool,
    pub(crate) kind: u8,
    pub(crate) label: &'static str,
    pub(crate) session: TreeSession,
}

/// Distinguishes a group from an earlier one of the same name. Not secret.
#[derive(Clone, Debug)]
pub(crate) enum TreeSession {
    /// Nothing distinguishes them.
    None,
    /// A member has not sent its share of the session yet.
    Awaited,
    Known(Key),
}

/// Keys of nodes of a tree, including the root's key.
pub(crate) trait TreeKeys {
    fn root(&self) -> Key;
}

/// A change whose group key the member does not take yet. It waits for the keys, the sponsor's
/// confirmations, or both.
#[derive(Debug)]
pub(crate) struct PendingChange<K> {
    confirming: Confirming,
    pub(crate) tree: MemberTree,
    pub(crate) sponsor: MemberId,
    /// The other member whose confirmation this member waits for, if there is one.
    witness: Option<MemberId>,
    pub(crate) keys: Option<K>,
    pub(crate) confirmation: Option<Key>,
    witnessed: Option<Key>,
}

impl Confirming {
    /// Sends the confirmation of a member that already has the keys to every member.
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

    /// Refuses keys and a confirmation that do not match.
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

    const fn is_ready(&self) -> bool {
        !matches!(self.session, TreeSession::Awaited)
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

impl TreeSession {
    pub(crate) const fn key(&self) -> Option<&Key> {
        match self {
            Self::Known(key) => Some(key),
            Self::None | Self::Awaited => None,
        }
    }
}

impl<K: TreeKeys> PendingChange<K> {
    /// Returns an outcome for which nothing has arrived yet.
    pub(crate) const fn awaited(
        confirming: Confirming,
        tree: MemberTree,
        sponsor: MemberId,
    ) -> Self {
        let (witness, keys, confirmation, witnessed) = (None, None, None, None);
        Self { confirming, tree, sponsor, witness, keys, confirmation, witnessed }
    }

    pub(crate) fn witnessed_by(self, witness: Option<MemberId>) -> Self {
        Self { witness, ..self }
    }

    /// Refuses keys that do not match the confirmations that have arrived.
    pub(crate) fn require_fit(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        keys: &K,
    ) -> Result<(), Error> {
        match self.confirming.is_ready() {
            true => self.verify_all(cx, &self.confirming, epoch, keys),
            false => Ok(()),
        }
    }

    /// Enters the session. Refuses it if keys and confirmations have arrived and do not match it.
    pub(crate) fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        session: Key,
    ) -> Result<(), Error> {
        let confirming =
            Confirming { session: TreeSession::Known(session), ..self.confirming.clone() };
        if let Some(keys) = &self.keys {
            self.verify_all(cx, &confirming, epoch, keys)?;
        }
        self.confirming = confirming;
        Ok(())
    }

    pub(crate) const fn confirming(&self) -> &Confirming {
        &self.confirming
    }

    /// Takes the confirmation of the sponsor or of the witness. Refuses a second one of either.
    pub(crate) fn confirm(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        confirmation: Key,
    ) -> Result<(), Error> {
        let is_of_witness = self.witness.is_some_and(|w| message.header().sender == w.into());
        if !is_of_witness {
            message.require_sender(self.sponsor.into())?;
        }
        let known = if is_of_witness { &self.witnessed } else { &self.confirmation };
        if known.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if let Some(keys) = self.keys.as_ref().filter(|_| self.confirming.is_ready()) {
            let epoch = message.header().epoch;
            self.confirming.verify(cx, epoch, &self.tree, keys, &confirmation)?;
        }
        let place = if is_of_witness { &mut self.witnessed } else { &mut self.confirmation };
        *place = Some(confirmation);
        Ok(())
    }

    /// Returns tree and keys once the keys and, where required, session and confirmations are there.
    pub(crate) fn complete(&mut self) -> Option<(MemberTree, K)> {
        let waits_for_witness = self.witness.is_some() && self.witnessed.is_none();
        let is_unconfirmed = self.confirmation.is_none() || waits_for_witness;
        if !self.confirming.is_ready() || self.confirming.is_due && is_unconfirmed {
            return None;
        }
        self.keys.take().map(|keys| (self.tree.clone(), keys))
    }

    /// Refuses keys that do not match one of the confirmations.
    fn verify_all(
        &self,
        cx: &mut Context<'_>,
        confirming: &Confirming,
        epoch: Epoch,
        keys: &K,
    ) -> Result<(), Error> {
        let mut all = self.confirmation.iter().chain(&self.witnessed);
        all.try_for_each(|known| confirming.verify(cx, epoch, &self.tree, keys, known))
    }
}
