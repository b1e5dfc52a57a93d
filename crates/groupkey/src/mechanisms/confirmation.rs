//! Key confirmation: 16 bytes that follow from the new group key, in the message that completes a
//! change. A member computes them too, and compares, before it changes its state. So a changed
//! message leaves no member with a key that no other member has.
//!
//! Only the `sound` profile confirms. In `published` a message has no such field.

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::Reader;

/// What follows from the group key of an epoch, and does not reveal it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confirmation(Option<Key>);

impl Confirmation {
    /// Derives the confirmation of a group key: one derivation in `sound`.
    pub(crate) fn of(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, key: &Key) -> Self {
        let sound = profile == Profile::Sound;
        Self(sound.then(|| cx.derive_for(epoch, key, "groupkey confirmation")))
    }

    /// Derives the confirmation of the key that a key server has begun its epoch with.
    pub(crate) fn of_held(
        cx: &mut Context<'_>,
        profile: Profile,
        held: Option<(Epoch, &Key)>,
    ) -> Self {
        held.map_or_else(Self::default, |(epoch, key)| Self::of(cx, profile, epoch, key))
    }

    /// Reads a confirmation from where [`Self::write`] put it.
    pub(crate) fn read(profile: Profile, body: &mut Reader<'_>) -> Result<Self, Error> {
        let sound = profile == Profile::Sound;
        Ok(Self(if sound { Some(body.key()?) } else { None }))
    }

    pub(crate) fn bytes(&self) -> Option<&[u8; Key::BYTES]> {
        self.0.as_ref().map(Key::as_bytes)
    }

    /// Appends 17 bytes in `sound`, a byte string of 16.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        if let Some(key) = &self.0 {
            draft.bytes(key.as_bytes());
        }
    }

    /// Refuses a group key that this does not confirm. Compares in constant time.
    pub(crate) fn verify(
        &self,
        cx: &mut Context<'_>,
        profile: Profile,
        epoch: Epoch,
        key: &Key,
    ) -> Result<(), Error> {
        match *self == Self::of(cx, profile, epoch, key) {
            true => Ok(()),
            false => Err(Misbehaviour::Forged.into()),
        }
    }
}
