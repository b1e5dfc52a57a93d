//! SKDC, the simple key distribution center: a star. Whatever changes, the controller draws a new
//! group key and sends it to every member under the member's individual key.
//!
//! Source: S003 section 3.5, after Li and Wu 2010. Class: centralized. Provenance: specified.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 wrapped key | n wraps | 1 unwrap |
//! | add, to n members | n + 1 unicasts | n + 1 wraps | 1 unwrap |
//! | remove, from n members | n - 1 unicasts | n - 1 wraps | 1 unwrap |
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
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::key_server::{KeyServer, Membership, ServedGroup};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Law, MEMBERS, Parties, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    id: "skdc",
    name: "SKDC, simple key distribution center",
    provenance: Provenance::Specified,
    source: "S003 section 3.5; Li and Wu 2010",
    operations: &Operation::MEASURED,
    law: Law::OneKey,
    recovery: Recovery::Request,
    claims: Claims::ALL,
    published_claims: Claims::ALL,
    parameters: &[],
    members: MEMBERS,
    growth: &[
        Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
    ],
    parties: Parties::Centralized {
        controller: |_| Box::new(Controller::new()),
        member: |_, _| Box::new(Member::new()),
    },
};

/// The controller.
#[derive(Debug, Default)]
pub struct Controller {
    group: ServedGroup,
}

/// A member.
#[derive(Debug, Default)]
pub struct Member {
    membership: Membership,
}

/// Carries the group key under the receiver's individual key.
const REKEY: u8 = 0;
/// Asks for the current group key.
const REQUEST: u8 = 1;

impl Controller {
    /// A controller without members.
    pub fn new() -> Self {
        Self::default()
    }

    fn rekey(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        cx.reserve(self.group.roster.len(), cx.wrapped_length(1) + 2);
        for (member, individual) in self.group.roster.current_members() {
            send_group_key(cx, member, operation, epoch, individual, group_key);
        }
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.rekey(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.rekey(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.rekey(cx, Operation::Remove);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        let (member, individual) = (self.group.roster.member(slot), self.group.roster.key(slot));
        send_group_key(cx, member, Operation::CatchUp, epoch, individual, group_key);
    }

    fn held(&self) -> Footprint {
        Footprint { permanent: self.group.key_bytes(), temporary: Key::BYTES }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        if header.kind != REKEY {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.membership.admit(message)?;
        let individual = &self.membership.enrolment()?.key;
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        let group_key = cx.unwrap_key(individual, header.epoch, 0, wrapped)?;
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.membership.key_bytes(), temporary: Key::BYTES }
    }
}

fn send_group_key(
    cx: &mut Context<'_>,
    member: MemberId,
    operation: Operation,
    epoch: Epoch,
    individual: &Key,
    group_key: &Key,
) {
    cx.draft(Recipient::Member(member), epoch, operation, REKEY)
        .wrapped(individual, epoch, 0, [group_key])
        .send();
}
