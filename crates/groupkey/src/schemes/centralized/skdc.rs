//! SKDC, the simple key distribution center: a star. After every change the controller draws a new
//! group key and sends it to every member under the member's individual key.
//!
//! Source: S003 section 3.5, after Li and Wu 2010. Class: centralized. Provenance: specified.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 wrapped key | n wraps | 1 unwrap |
//! | add, to n members | n + 1 unicasts | n + 1 wraps | 1 unwrap |
//! | remove, from n members | n - 1 unicasts | n - 1 wraps | 1 unwrap |
//! | rekey, n members | n unicasts | n wraps | 1 unwrap |
//! | catch up | 1 request, 1 unicast | 1 wrap | 1 unwrap |
//!
//! Keys held: controller n + 1, member 2. Profiles: `sound` and `published` are the same.
//!
//! Body of a rekey message: `{group key'}_individual`.
//!
//! Deviations from the paper: a member that missed rekeys asks for the current key (the paper
//! assumes reliable delivery).

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::Error;
use crate::mechanisms::key_server::ServedGroup;
use crate::mechanisms::star::{KEY, KeyDelivery, StarController, StarMember};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "skdc",
    "SKDC, simple key distribution center",
    Provenance::Specified,
    "S003 section 3.5; Li and Wu 2010",
    Parties::Centralized {
        controller: |_| Box::new(StarController::new(Wrapping, ServedGroup::default())),
        member: |_, _| Box::new(StarMember::new(Wrapping)),
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

/// Delivery of the group key under the receiver's individual key.
#[derive(Debug)]
struct Wrapping;

impl KeyDelivery for Wrapping {
    const TEMPORARY: usize = Key::BYTES;

    fn body_bytes(&self, cx: &Context<'_>) -> usize {
        cx.wrapped_length(1) + 2
    }

    fn send(
        &self,
        cx: &mut Context<'_>,
        group: &ServedGroup,
        operation: Operation,
        slots: impl IntoIterator<Item = u32>,
    ) {
        let Some((epoch, group_key)) = group.group_key() else { return };
        for slot in slots {
            cx.draft(Recipient::Member(group.roster.member(slot)), epoch, operation, KEY)
                .wrapped(group.roster.key(slot), epoch, 0, [group_key])
                .send();
        }
    }

    fn receive(
        &self,
        cx: &mut Context<'_>,
        individual: &Key,
        message: &Message<'_>,
    ) -> Result<Key, Error> {
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        cx.unwrap_key(individual, message.header().epoch, 0, wrapped)
    }
}
