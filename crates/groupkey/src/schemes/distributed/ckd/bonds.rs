//! What ties the controller and another member together, and the key of their pair.

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::group::{Element, Exponent};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::{Roster, circumstances};
use crate::secret::{Key, List};

/// What lasts between operations besides the group key.
#[derive(Debug)]
pub(super) enum Bonds {
    /// The controller's bonds, with every other member in the order of the roster.
    Controller { own: Own, others: List<Other> },
    /// Another member's bond with the controller, refreshed with every key.
    Fresh(Exponent),
    /// Another member's bond with the controller, made once.
    Lasting(Key),
}

/// The controller's exponent and the element that it offers for it.
#[derive(Clone, Debug)]
pub(super) struct Own {
    pub(super) secret: Exponent,
    pub(super) offer: Element,
}

/// The value that the controller keeps of another member.
#[derive(Clone, Debug)]
pub(super) enum Other {
    Key(Key),
    Share(Element),
}

/// What the keys of pairs are derived for, besides the two members. In the published profile this
/// is the group. In the sound profile it is a digest of group, epoch, members and the controller's
/// element. So members that assume another roster have other keys.
#[derive(Clone, Debug)]
pub(super) struct Session(Option<Key>);

impl Session {
    pub(super) fn of(
        cx: &mut Context<'_>,
        sound: bool,
        offer: &Element,
        epoch: Epoch,
        roster: &Roster,
    ) -> Self {
        if !sound {
            return Self(None);
        }
        let context = circumstances(cx, epoch, roster);
        Self(Some(cx.derive_from_element(offer, "groupkey ckd session", &context)))
    }
}

impl Bonds {
    pub(super) fn stored_bytes(&self) -> usize {
        match self {
            Self::Controller { own, others } => {
                let others: usize = others.iter().map(Other::stored_bytes).sum();
                own.secret.stored_bytes() + own.offer.stored_bytes() + others
            }
            Self::Fresh(secret) => secret.stored_bytes(),
            Self::Lasting(_) => Key::BYTES,
        }
    }
}

impl Own {
    pub(super) fn draw(cx: &mut Context<'_>) -> Self {
        let secret = cx.random_exponent();
        let offer = cx.generator_power(&secret);
        Self { secret, offer }
    }

    /// Returns the bytes of this state with a shared element and the keys of this many pairs.
    pub(super) fn working_bytes(&self, pairs: usize) -> usize {
        self.secret.stored_bytes() + 2 * self.offer.stored_bytes() + pairs * Key::BYTES
    }
}

impl Other {
    pub(super) fn key(
        &self,
        cx: &mut Context<'_>,
        own: &Own,
        session: &Session,
        controller: MemberId,
        member: MemberId,
    ) -> Key {
        match self {
            Self::Key(key) => key.clone(),
            Self::Share(share) => pair_key(cx, share, &own.secret, session, controller, member),
        }
    }

    pub(super) fn stored_bytes(&self) -> usize {
        match self {
            Self::Key(_) => Key::BYTES,
            Self::Share(share) => share.stored_bytes(),
        }
    }
}

/// Derives the key of a pair from the other member's element and this member's exponent.
pub(super) fn pair_key(
    cx: &mut Context<'_>,
    element: &Element,
    secret: &Exponent,
    session: &Session,
    controller: MemberId,
    member: MemberId,
) -> Key {
    let mut shared = cx.power(element, secret);
    let mut context = cx.group().0.to_be_bytes().to_vec();
    context.extend_from_slice(&controller.0.to_be_bytes());
    context.extend_from_slice(&member.0.to_be_bytes());
    context.extend(session.0.iter().flat_map(Key::as_bytes));
    let key = cx.derive_from_element(&shared, "groupkey ckd", &context);
    shared.zeroize();
    key
}

pub(super) fn label(member: MemberId) -> u64 {
    u64::from(member.0)
}
