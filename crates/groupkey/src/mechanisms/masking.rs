//! Stars that mask instead of wrapping: a key for one member is XORed with a mask that only the
//! member and the controller can derive, once for each epoch. A mask does not prevent alterations:
//! a party that flips a bit of the masked key flips it in the key. So a second value goes along,
//! and a key that does not match it is refused.
//!
//! Body of an entry: `key XOR mask, confirmation`. The mask is a chain of hashes of the individual
//! key, with as many steps as the scheme wants it to cost. Individual keys are uniform, so one hash
//! of a single block does what a derivation would do in eight.
//!
//! In the `published` form the first step takes in the epoch. The confirmation follows from the key
//! and is the same for every member. But a party that was sent the key can compute the mask of every
//! entry that it hears. It can then confirm any other key to the entry's receiver.
//!
//! In the `sound` form the confirmation follows from individual key, epoch and key, and the first
//! step takes it in. So it is the synthetic IV of Rogaway and Shrimpton 2006, section 4: two keys for
//! one member and epoch have two masks. A copy of a controller makes such keys.

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::ServedGroup;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::Reader;

use zeroize::Zeroizing;

/// How a scheme masks and confirms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Masking {
    iterations: u32,
    profile: Profile,
}

/// Carries a masked key.
pub(crate) const ENTRY: u8 = 0;

/// Length of an entry's body: two byte strings with their heads.
pub(crate) const ENTRY_BYTES: usize = 2 * (Key::BYTES + 1);

impl Masking {
    /// Masks that cost this many steps, at least one.
    pub(crate) const fn new(profile: Profile, iterations: u32) -> Self {
        Self { iterations, profile }
    }

    /// Sends the key of the current epoch to each of the members in these slots.
    pub(crate) fn send(
        self,
        cx: &mut Context<'_>,
        group: &ServedGroup,
        operation: Operation,
        slots: impl IntoIterator<Item = u32>,
        key: &Key,
    ) {
        let epoch = group.epoch;
        let shared =
            if self.profile.is_published() { Some(commitment(cx, epoch, key)) } else { None };
        for slot in slots {
            let individual = group.roster.individual_key(cx, slot);
            let own = match &shared {
                Some(shared) => shared.clone(),
                None => authenticator(cx, &individual, epoch, key),
            };
            let mask = self.mask(cx, &individual, epoch, &own);
            let masked = cx.xor(key, &mask);
            let to = Recipient::Member(group.roster.member(slot));
            cx.draft(to, epoch, operation, ENTRY)
                .bytes(masked.as_bytes())
                .bytes(own.as_bytes())
                .send();
        }
    }

    /// Reads an entry for the member with this individual key. Refuses an altered one.
    pub(crate) fn receive(
        self,
        cx: &mut Context<'_>,
        individual: &Key,
        epoch: Epoch,
        mut body: Reader<'_>,
    ) -> Result<Key, Error> {
        let masked = body.key()?;
        let confirmation = body.key()?;
        body.finish()?;
        let mask = self.mask(cx, individual, epoch, &confirmation);
        let key = cx.xor(&masked, &mask);
        let expected = match self.profile {
            Profile::Published => commitment(cx, epoch, &key),
            Profile::Sound => authenticator(cx, individual, epoch, &key),
        };
        if expected == confirmation { Ok(key) } else { Err(Misbehaviour::WrongKey.into()) }
    }

    /// The function F: the value of a key for an epoch, at this scheme's cost.
    pub(crate) fn stretch(
        self,
        cx: &mut Context<'_>,
        key: &Key,
        label: &'static str,
        epoch: Epoch,
    ) -> Key {
        let first = cx.hash_for(epoch, key, label);
        self.go_on(cx, first, label)
    }

    fn mask(self, cx: &mut Context<'_>, individual: &Key, epoch: Epoch, confirmation: &Key) -> Key {
        let label = "masking mask";
        match self.profile {
            Profile::Published => self.stretch(cx, individual, label, epoch),
            Profile::Sound => {
                let first = cx.hash_with(individual, label, confirmation.as_bytes());
                self.go_on(cx, first, label)
            }
        }
    }

    fn go_on(self, cx: &mut Context<'_>, first: Key, label: &'static str) -> Key {
        (1..self.iterations).fold(first, |key, _| cx.hash(&key, label))
    }
}

/// Confirms to a party that has the key, and to no other, that the key is the intended one.
pub(crate) fn commitment(cx: &mut Context<'_>, epoch: Epoch, key: &Key) -> Key {
    cx.hash_for(epoch, key, "masking commitment")
}

/// Confirms to the member with this individual key, and to no other, that the key is the
/// controller's.
fn authenticator(cx: &mut Context<'_>, individual: &Key, epoch: Epoch, key: &Key) -> Key {
    let mut context = Zeroizing::new([0; 16 + Key::BYTES]);
    context[..8].copy_from_slice(&cx.group().0.to_be_bytes());
    context[8..16].copy_from_slice(&epoch.0.to_be_bytes());
    context[16..].copy_from_slice(key.as_bytes());
    // The whole input fits into one block.
    cx.hash_with(individual, "entry", &*context)
}

#[cfg(test)]
pub(crate) mod fixture;
