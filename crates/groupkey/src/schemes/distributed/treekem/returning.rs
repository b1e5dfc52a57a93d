//! A member that missed changes comes back by a commit of its own: an external commit (RFC 9420
//! section 12.4.3.2) that keeps its leaf.
//!
//! It asks another member for the tree and the public key of the epoch, encrypts a secret to that
//! key, which takes the place of the epoch's init secret, and makes a new path.

use alloc::vec::Vec;

use super::epoch::{EpochSecrets, Transcript, bytes32, epoch_context};
use super::event::{encapsulated_bytes, public_bytes};
use super::group::{Group, Update};
use super::joining::read_tree;
use super::{GROUP_INFO, Member, REQUEST, RETURN};
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::mechanisms::sponsored::has_turn_to_answer;
use crate::operation::Operation;
use crate::outbox::{Event, Recipient};
use crate::secret::Key;
use crate::wire::Message;

impl Member {
    /// Asks the others, and says how often it has asked. It does not know who they are by now.
    pub(super) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let group = self.group.as_ref().ok_or(Misuse::NotCreated)?;
        // What was under way went on without this member.
        self.change = None;
        let mut draft = self.asked.request(cx, Recipient::Group, group.epoch, REQUEST);
        draft.number(u64::from(self.times_asked)).send();
        self.times_asked = self.times_asked.saturating_add(1);
        Ok(())
    }

    /// Answers with what is public, if it is this member's turn: that of the next one on the right
    /// of who asks, and at each further time of the one after it. In the middle of a change nobody
    /// does.
    pub(super) fn answer(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let mut body = message.body();
        let times = body.number32()? as usize;
        body.finish()?;
        let sender = message.from_member()?;
        let Some(group) = &self.group else { return Ok(()) };
        let members: Vec<_> = group.tree.members().collect();
        let is_turn = has_turn_to_answer(&members, self.me, sender, times)?;
        if !is_turn || self.change.is_some() {
            return Ok(());
        }
        let external = external_public(cx, &group.secrets.external)?;
        let (to, tree) = (Recipient::Member(sender), group.tree.to_bytes());
        let mut draft = cx.draft(to, group.epoch, Operation::CatchUp, GROUP_INFO);
        let transcript = &group.transcript;
        draft.bytes(&tree).bytes(&transcript.confirmed).bytes(&transcript.confirmation);
        draft.bytes(&external).send();
        Ok(())
    }

    /// Enters the epoch after that of the answer.
    pub(super) fn return_to_group(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        let sender = message.from_member()?;
        let own = self.group.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let (got, current) = (message.header().epoch, own.epoch);
        if got < current {
            return Err(Misbehaviour::StaleEpoch { got, current }.into());
        }
        let mut body = message.body();
        let mut tree = read_tree(cx, &self.configuration, body.bytes()?)?;
        let (confirmed, confirmation) = (bytes32(body.bytes()?)?, bytes32(body.bytes()?)?);
        let external = body.bytes()?;
        body.finish()?;
        let leaf = tree.leaf_of(self.me).ok_or(Misbehaviour::InvalidRoster)?;
        if tree.leaf_of(sender).is_none() {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        if !tree.has_valid_parent_hashes(cx) {
            return Err(Misbehaviour::Forged.into());
        }
        let tree_hash = tree.tree_hash(cx);
        let context = epoch_context(cx, got, &tree_hash, &confirmed);
        let info = cx.hpke_info("external init secret", &context);
        let mut kem_output = Vec::with_capacity(encapsulated_bytes(cx));
        let check = self.configuration.check();
        let init = cx.encapsulate(external, &info, check, &mut kem_output)?;
        let transcript = Transcript::after(cx, confirmed, confirmation);
        // The commit brings all secrets.
        let none = Key::default();
        let secrets = EpochSecrets { init: none.clone(), external: none.clone(), group_key: none };
        let mut group =
            Group { epoch: got, tree, leaf, privates: Vec::new(), secrets, transcript, check };
        let update = Update {
            operation: Operation::Rekey,
            epoch: got.next(),
            committer: self.me,
            joining: Vec::new(),
            leaving: &[],
            kem_output: &kem_output,
        };
        let made = group.commit(cx, &update, &init)?;
        let mut draft = cx.draft(Recipient::Group, got.next(), Operation::Rekey, RETURN);
        draft.bytes(&kem_output).bytes(&made.path).bytes(&group.transcript.confirmation).send();
        cx.event(Event::Rekeyed(got.next()));
        self.group = Some(group);
        self.asked.settle(cx);
        self.settled();
        self.is_alone = true;
        Ok(())
    }

    pub(super) fn receive_return(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        let me = self.me;
        let group = self.group.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_next_epoch(group.epoch)?;
        if sender == me || group.tree.leaf_of(sender).is_none() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if self.change.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let (kem_output, path) = (body.bytes()?, body.bytes()?);
        let confirmation = bytes32(body.bytes()?)?;
        body.finish()?;
        let tree_hash = group.tree.tree_hash(cx);
        let context = epoch_context(cx, group.epoch, &tree_hash, &group.transcript.confirmed);
        let info = cx.hpke_info("external init secret", &context);
        let external = external_public(cx, &group.secrets.external)?;
        let private = cx.private_key(&group.secrets.external)?;
        let init = cx.decapsulate(&private, &external, &info, kem_output, group.check)?;
        let update = Update {
            operation: Operation::Rekey,
            epoch: group.epoch.next(),
            committer: sender,
            joining: Vec::new(),
            leaving: &[],
            kem_output,
        };
        group.process(cx, &update, &init, path, &confirmation)?;
        cx.event(Event::Rekeyed(group.epoch));
        self.settled();
        Ok(())
    }
}

/// The public key of an epoch: `external_pub`.
fn external_public(cx: &mut Context<'_>, external: &Key) -> Result<Vec<u8>, Error> {
    let private = cx.private_key(external)?;
    let mut public = Vec::with_capacity(public_bytes(cx));
    cx.encode_public_keys(core::slice::from_ref(&private), &mut public);
    Ok(public)
}
