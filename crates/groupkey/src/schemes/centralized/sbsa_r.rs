//! SBSA-R, a stand-in for SBSA: a star whose controller stores no individual keys. It masks the
//! group key for each member instead of wrapping it.
//!
//! Source: none. S002 measures a scheme SBSA, which could not be identified; this is a scheme of
//! ours with the same profile of costs. Class: centralized. Provenance: stand-in. S002 section 5.1
//! says the following of SBSA, and this scheme meets it as shown:
//!
//! - C1, it is centralized and can create, add and remove: the same holds here.
//! - C2, the controller's add and remove are the third slowest, so linear in n: a derivation and
//!   two hashes a member.
//! - C3, the controller stores a constant amount below 0.1 MB: two keys.
//! - C4, a member stores less than 0.5 KB and is not among the three slowest: two keys, two
//!   hashes.
//! - C5, creation is not among the three slowest: it costs what an add costs.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 masked key | n derivations, 2n hashes | 2 hashes |
//! | add, to n members | n + 1 unicasts | n + 1 derivations, 2n + 2 hashes | 2 hashes |
//! | remove, from n members | n - 1 unicasts | n - 1 derivations, 2n - 2 hashes | 2 hashes |
//! | rekey, n members | n unicasts | n derivations, 2n hashes | 2 hashes |
//! | catch up | 1 request, 1 unicast | 1 derivation, 2 hashes | 2 hashes |
//!
//! In `published` all members get the same confirmation: a hash for each member, and one more.
//!
//! Keys held: controller 2, the master key and the group key; member 2. Individual keys are
//! derived from the master key (`individual_keys.rs`).
//!
//! Profiles: in `published` one confirmation, derived from the group key, goes to every member. In
//! `sound` each member's entry is confirmed under its individual key (`masking.rs`).
//!
//! Body of a rekey message: `group key' XOR mask, confirmation`.
//!
//! What breaks it: in `published` a member alters another member's entry to give it a key of its
//! choice, and confirms the entry. No other member holds that key. The tests show it. In `sound`
//! the receiver refuses the altered entry.
//!
//! Deviations: there is nothing to deviate from. Entries are unicasts, not one broadcast: a
//! broadcast for 55,000 members would have 1.1 MB, and every member would need room for all of it.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::Error;
use crate::mechanisms::key_server::ServedGroup;
use crate::mechanisms::masking::{ENTRY_BYTES, Masking};
use crate::mechanisms::star::{KeyDelivery, StarController, StarMember};
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "sbsa-r",
    "SBSA-R, stand-in for SBSA: a star that masks",
    Provenance::StandIn,
    "none: costs as S002 section 5.1 reports of SBSA",
    Parties::Centralized {
        controller: |configuration| Box::new(controller(configuration.profile())),
        member: |configuration, _| Box::new(StarMember::new(masking(configuration.profile()))),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

const fn masking(profile: Profile) -> Masking {
    // A mask is one hash.
    Masking::new(profile, 1)
}

fn controller(profile: Profile) -> StarController<Masking> {
    StarController::new(masking(profile), ServedGroup::with_derived_keys())
}

/// Sends the group key masked.
impl KeyDelivery for Masking {
    /// The individual key and the mask while a key is masked; the mask and the key while it is
    /// taken.
    const TEMPORARY: usize = 2 * Key::BYTES;

    fn body_bytes(&self, _: &Context<'_>) -> usize {
        ENTRY_BYTES
    }

    fn send(
        &self,
        cx: &mut Context<'_>,
        group: &ServedGroup,
        operation: Operation,
        slots: impl IntoIterator<Item = u32>,
    ) {
        let Some((_, group_key)) = group.group_key() else { return };
        Self::send(*self, cx, group, operation, slots, group_key);
    }

    fn receive(
        &self,
        cx: &mut Context<'_>,
        individual: &Key,
        message: &Message<'_>,
    ) -> Result<Key, Error> {
        Self::receive(*self, cx, individual, message.header().epoch, message.body())
    }
}

#[cfg(test)]
mod tests;
