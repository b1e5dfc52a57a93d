//! A round of a run: one contribution of each member.

use alloc::vec::Vec;
use core::iter;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::membership::{Roster, circumstances};
use crate::secret::Key;

/// A slot for each member, by place. It counts the missing contributions, because with a thousand
/// members it is asked a thousand times whether all are there.
#[derive(Debug)]
pub(crate) struct Round<T> {
    said: Vec<Option<T>>,
    missing: usize,
}

impl<T> Round<T> {
    /// A round of this many members; of none, if the round does not take place.
    pub(crate) fn of(members: usize) -> Self {
        Self { said: iter::repeat_with(|| None).take(members).collect(), missing: members }
    }

    /// Number of members that contribute.
    pub(crate) const fn len(&self) -> usize {
        self.said.len()
    }

    /// Whether every member has contributed.
    pub(crate) const fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Refuses a second contribution of a member, and any by a member that does not contribute.
    pub(crate) fn require_open(&self, place: usize) -> Result<(), Error> {
        match self.said.get(place) {
            Some(None) => Ok(()),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Refuses a message that must not come before a member's contribution to this round.
    pub(crate) fn require_said(&self, place: usize) -> Result<(), Error> {
        match self.said.get(place) {
            Some(None) => Err(Misbehaviour::UnexpectedMessage.into()),
            _ => Ok(()),
        }
    }

    /// Stores a member's contribution, and drops an earlier one. Ignores a member that does not
    /// contribute.
    pub(crate) fn put(&mut self, place: usize, word: T) {
        if let Some(slot) = self.said.get_mut(place)
            && slot.replace(word).is_none()
        {
            self.missing -= 1;
        }
    }

    /// Drops a member's contribution, as if it had not arrived.
    pub(crate) fn forget(&mut self, place: usize) {
        if self.said.get_mut(place).and_then(Option::take).is_some() {
            self.missing += 1;
        }
    }

    /// The contributions so far, by place.
    pub(crate) fn slots(&self) -> &[Option<T>] {
        &self.said
    }

    /// The contributions so far, without the missing ones.
    pub(crate) fn words(&self) -> impl Iterator<Item = &T> {
        self.said.iter().flatten()
    }
}

impl Round<Key> {
    /// Derives the session from every member's nonce, for a group, an epoch and its members. The
    /// first nonce takes the place of a key, but nothing here is secret.
    pub(crate) fn session(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: &Roster,
        label: &'static str,
    ) -> Key {
        let mut context = circumstances(cx, epoch, roster);
        self.words().for_each(|nonce| context.extend_from_slice(nonce.as_bytes()));
        let first = self.words().next().cloned().unwrap_or_default();
        cx.derive(&first, label, &context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_counts_what_is_missing(
            members in 0_usize..6,
            events in prop::collection::vec((any::<bool>(), 0_usize..8), 0..40),
        ) {
            let mut round = Round::of(members);
            for (says, place) in events {
                let open = place < members && round.slots()[place].is_none();
                prop_assert_eq!(round.require_open(place).is_ok(), open);
                prop_assert_eq!(round.require_said(place).is_err(), open);
                match says {
                    true => round.put(place, place),
                    false => round.forget(place),
                }
                prop_assert_eq!(round.slots().get(place).is_some_and(Option::is_some), says && place < members);
                prop_assert_eq!(round.is_complete(), round.words().count() == members);
            }
        }
    }
}
