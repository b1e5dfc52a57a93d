//! A membership event under way, and what it waits for.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::joining::Joiner;
use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::sponsored::Announcements;
use crate::operation::Operation;
use crate::scheme::Profile;
use crate::wire::Message;

/// An event under way.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) operation: Operation,
    /// The epoch that it leads to; a joining member may learn a later one.
    pub(super) epoch: Epoch,
    pub(super) part: Part,
    /// Who joins, with the public keys of the prekeys.
    pub(super) joining: Announcements<Box<[u8]>>,
    pub(super) leaving: Vec<MemberId>,
    /// The sponsor's update, if it came before all prekeys.
    pub(super) update: Option<ReceivedUpdate>,
}

/// What this member does in it.
#[derive(Debug)]
pub(super) enum Part {
    /// It waits to be welcomed.
    Joins(Box<Joiner>),
    /// It makes the update, or the group.
    Sponsors,
    /// It takes the update of this sponsor.
    Stays { sponsor: MemberId },
}

/// A key that others set up this member's leaf with.
#[derive(Clone, Debug)]
pub(super) struct Prekey {
    pub(super) secret: Exponent,
    pub(super) public: Box<[u8]>,
}

/// An update as it was received.
#[derive(Clone, Debug)]
pub(super) struct ReceivedUpdate {
    /// The setup key's public key, if there is one.
    pub(super) setup: Vec<u8>,
    /// The public keys of the leaves and nodes.
    pub(super) publics: Vec<u8>,
    pub(super) mac: [u8; 32],
    pub(super) confirmation: Confirmation,
}

impl Change {
    /// Takes note of a joining member's prekey.
    pub(super) fn note(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        check: ElementCheck,
    ) -> Result<(), Error> {
        self.joining.note(message, self.operation, || {
            let mut body = message.body();
            let prekey = body.bytes()?;
            body.finish()?;
            cx.element(prekey, check)?;
            Ok(prekey.into())
        })
    }
}

impl ReceivedUpdate {
    /// Reads an update.
    pub(super) fn read(message: &Message<'_>, profile: Profile) -> Result<Self, Error> {
        let mut body = message.body();
        let (setup, publics) = (body.bytes()?.to_vec(), body.bytes()?.to_vec());
        let mac = body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        let confirmation = Confirmation::read(profile, &mut body)?;
        body.finish()?;
        Ok(Self { setup, publics, mac, confirmation })
    }
}

impl Prekey {
    /// Draws a prekey: one power.
    pub(super) fn drawn(cx: &mut Context<'_>) -> Self {
        let secret = cx.random_exponent();
        let mut public = Vec::with_capacity(element_bytes(cx));
        cx.encode_generator_powers(core::slice::from_ref(&secret), &mut public);
        Self { secret, public: public.into() }
    }
}

/// Returns the length of an encoded public key.
pub(super) fn element_bytes(cx: &Context<'_>) -> usize {
    Element::length(cx.suite())
}
