//! Confidential channels between two members. Schemes in which members hand keys to each other need
//! them. Each is made of the members' long-term keys when the two first meet.
//!
//! A message carries 16 random bytes. Its keys are wrapped under a key derived from the pair's key,
//! these bytes, the epoch, and the sender. The pair's key never changes, and wraps nothing by
//! itself. If the two know of a session, their pair can be bound to it.

use crate::context::{Context, Draft};
use crate::error::Error;
use crate::identity::{Epoch, MemberId, PartyId};
use crate::mechanisms::membership::Roster;
use crate::secret::{Key, List};
use crate::wire::Reader;

/// The keys that a member shares with the members that it has met.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    label: &'static str,
    met: List<(MemberId, Key)>,
}

/// The key of a pair that may have met only now.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    other: MemberId,
    key: Key,
    session: Option<Key>,
}

impl Pairs {
    /// Returns the pairs of a member that has met no other. The label names their scheme.
    pub(crate) const fn new(label: &'static str) -> Self {
        Self { label, met: List::new() }
    }

    /// The key shared with another member. Costs an exponentiation if the two have not met. They
    /// have met once a successful step calls [`Self::keep`].
    pub(crate) fn with(&self, cx: &mut Context<'_>, other: MemberId) -> Result<Pair, Error> {
        let met = self.met.iter().find(|(member, _)| *member == other);
        let key = match met {
            Some((_, key)) => key.clone(),
            None => cx.pair_key(other.into(), self.label)?,
        };
        Ok(Pair { other, key, session: None })
    }

    /// Records that the two members of a pair have met.
    pub(crate) fn keep(&mut self, pair: Pair) {
        if self.met.iter().all(|(member, _)| *member != pair.other) {
            self.met.push((pair.other, pair.key));
        }
    }

    /// Forgets all pairs except those with members of the group.
    pub(crate) fn retain(&mut self, roster: &Roster) {
        self.met.retain(|(member, _)| roster.place(*member).is_some());
    }

    pub(crate) const fn stored_bytes(&self) -> usize {
        self.met.len() * Key::BYTES
    }
}

impl Pair {
    pub(crate) fn within(self, session: Option<&Key>) -> Self {
        Self { session: session.cloned(), ..self }
    }

    /// Draws the random bytes of a message and derives its key. Returns both.
    pub(crate) fn message_key(&self, cx: &mut Context<'_>, epoch: Epoch) -> (Key, Key) {
        let salt = cx.random_key();
        let key = self.key_of(cx, &salt, epoch, cx.me());
        (salt, key)
    }

    /// Opens `count` keys that the other member appended with [`write`].
    pub(crate) fn read(
        &self,
        cx: &mut Context<'_>,
        body: &mut Reader<'_>,
        epoch: Epoch,
        count: usize,
    ) -> Result<List<Key>, Error> {
        let salt = body.key()?;
        let wrapped = body.bytes()?;
        let key = self.key_of(cx, &salt, epoch, self.other.into());
        open(cx, &key, epoch, wrapped, count)
    }

    /// Derives the key of the message in which a sender of the two sent these random bytes.
    pub(crate) fn key_of(
        &self,
        cx: &mut Context<'_>,
        salt: &Key,
        epoch: Epoch,
        sender: PartyId,
    ) -> Key {
        let mut context = salt.as_bytes().to_vec();
        context.extend_from_slice(&epoch.0.to_be_bytes());
        if let PartyId::Member(member) = sender {
            context.extend_from_slice(&member.0.to_be_bytes());
        }
        context.extend(self.session.iter().flat_map(Key::as_bytes));
        cx.derive(&self.key, "groupkey pair message", &context)
    }
}

/// Appends keys for the other member of a pair to a message.
pub(crate) fn write(
    draft: &mut Draft<'_, '_>,
    (salt, key): &(Key, Key),
    epoch: Epoch,
    keys: &[Key],
) {
    draft.bytes(salt.as_bytes()).wrapped(key, epoch, 0, keys);
}

pub(crate) fn open(
    cx: &mut Context<'_>,
    kek: &Key,
    epoch: Epoch,
    wrapped: &[u8],
    count: usize,
) -> Result<List<Key>, Error> {
    let mut keys = List::zeros(count);
    cx.unwrap_keys(kek, epoch, 0, wrapped, &mut keys)?;
    Ok(keys)
}
