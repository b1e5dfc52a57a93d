//! GKMP, the group key management protocol: a star like SKDC. Its members share a second key, which
//! wraps the next group key when a member joins.
//!
//! Source: Harney and Muckenhirn, RFC 2093 and RFC 2094, 1997. Class: centralized. Provenance:
//! reconstructed: the RFCs leave open which party rekeys when, and have no message for a single
//! removal.
//!
//! A group key packet is two keys drawn together: GTEK, the group key, and GKEK, under which the
//! next packet is broadcast.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of a packet | n wraps of 2 keys | 1 unwrap |
//! | add, to n members | 1 broadcast, 1 unicast of a packet | 2 wraps of 2 keys | 1 unwrap |
//! | remove, from n members | n - 1 unicasts of a packet | n - 1 wraps of 2 keys | 1 unwrap |
//! | rekey | 1 broadcast of a packet | 1 wrap of 2 keys | 1 unwrap |
//! | catch up | 1 request, 1 unicast of a packet | 1 wrap of 2 keys | 1 unwrap |
//!
//! Keys held: controller n + 2, member 3. Profiles: `sound` and `published` are the same.
//!
//! Bodies: a packet for one member is `{GTEK', GKEK'}_individual`. The broadcast of an add is `slot
//! of the joining member, {GTEK', GKEK'}_GKEK`. The broadcast of a rekey has no slot.
//!
//! Deviations from the RFCs: the controller alone draws the first packet (there, with the first
//! member). An add always replaces the packet. The RFCs also allow the controller to give the
//! joining member a copy of the current packet. That lets the member read earlier messages, and is
//! not implemented. A remove makes a new group of the continuing members, under their individual
//! keys. The evicted member has the old GKEK too. A packet under that key would not exclude it, and
//! is not offered. The driver decides when a period ends. There are no certificates: the
//! application decides which members may join. A member that missed rekeys asks for the current
//! packet.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "gkmp",
    "GKMP, group key management protocol",
    Provenance::Reconstructed,
    "Harney and Muckenhirn, RFC 2093 and RFC 2094",
    Parties::Centralized {
        controller: |_| Box::new(Controller::new()),
        member: |_, _| Box::new(Member::new()),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug, Default)]
pub(crate) struct Controller {
    group: ServedGroup,
    /// GKEK: wraps the next packet for the members that have the current packet.
    wrapping_key: Key,
}

state!(Controller { group, wrapping_key });

#[derive(Debug, Default)]
pub(crate) struct Member {
    membership: ServedMembership,
    /// GKEK.
    wrapping_key: Key,
}

/// Carries a packet under the receiver's individual key.
const PACKET: u8 = 0;
/// Carries a packet under the GKEK of the previous packet, for an add.
const REKEY: u8 = 1;
/// Asks for the current packet.
const REQUEST: u8 = 2;
/// Carries a packet under the GKEK of the previous packet, without a joining member.
const PERIOD: u8 = 3;

/// Number of keys in a packet: GTEK, which is the group key, and GKEK.
const PACKET_KEYS: usize = 2;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Draws the packet of the next epoch. Returns the GKEK of the previous packet.
    fn renew(&mut self, cx: &mut Context<'_>) -> Key {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        core::mem::replace(&mut self.wrapping_key, cx.random_key())
    }

    /// Sends a new packet to every member under the member's individual key.
    fn begin_anew(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.renew(cx);
        cx.reserve(self.group.roster.len(), cx.wrapped_length(PACKET_KEYS) + 2);
        for (member, individual) in self.group.roster.current_members() {
            self.send_packet(cx, member, individual, operation);
        }
    }

    fn send_packet(
        &self,
        cx: &mut Context<'_>,
        member: MemberId,
        individual: &Key,
        operation: Operation,
    ) {
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        cx.draft(Recipient::Member(member), epoch, operation, PACKET)
            .wrapped(individual, epoch, 0, [group_key, &self.wrapping_key])
            .send();
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
        self.begin_anew(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let old = self.renew(cx);
        let roster = &self.group.roster;
        self.send_packet(cx, roster.member(slot), roster.key(slot), Operation::Add);
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        cx.draft(Recipient::Group, epoch, Operation::Add, REKEY)
            .number(u64::from(slot))
            .wrapped(&old, epoch, 0, [group_key, &self.wrapping_key])
            .send();
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.begin_anew(cx, Operation::Remove);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        let old = self.renew(cx);
        let Some((epoch, group_key)) = self.group.group_key() else { return };
        cx.draft(Recipient::Group, epoch, Operation::Rekey, PERIOD)
            .wrapped(&old, epoch, 0, [group_key, &self.wrapping_key])
            .send();
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        let roster = &self.group.roster;
        self.send_packet(cx, roster.member(slot), roster.key(slot), Operation::CatchUp);
    }

    fn held(&self) -> Footprint {
        let wrapping_key = if self.group_key().is_some() { Key::BYTES } else { 0 };
        let permanent = self.group.key_bytes() + wrapping_key;
        Footprint { permanent, temporary: PACKET_KEYS * Key::BYTES }
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        let header = message.header();
        let individual = &self.membership.enrolment()?.key;
        let mut body = message.body();
        let newcomer = if header.kind == REKEY { Some(body.number32()?) } else { None };
        let wrapped = body.bytes()?;
        body.finish()?;
        let kek = match (header.operation, header.kind, newcomer) {
            (Operation::Add, REKEY, Some(newcomer)) => {
                if self.membership.is_own_joining(message, newcomer)? {
                    return Ok(());
                }
                self.membership.require_continuation(message)?;
                &self.wrapping_key
            }
            (Operation::Rekey, PERIOD, _) => {
                self.membership.admit(message)?;
                &self.wrapping_key
            }
            (_, PACKET, _) => {
                self.membership.admit(message)?;
                individual
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let mut packet = [Key::default(), Key::default()];
        cx.unwrap_keys(kek, header.epoch, 0, wrapped, &mut packet)?;
        let [group_key, wrapping_key] = packet;
        self.wrapping_key = wrapping_key;
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
        let wrapping_key = if self.group_key().is_some() { Key::BYTES } else { 0 };
        let permanent = self.membership.key_bytes() + wrapping_key;
        Footprint { permanent, temporary: PACKET_KEYS * Key::BYTES }
    }
}
