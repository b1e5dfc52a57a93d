//! GKMP, the group key management protocol: a star like SKDC, whose members share a second key, the
//! one that wraps the next group key when somebody joins.
//!
//! Source: Harney and Muckenhirn, RFC 2093 and RFC 2094, 1997. Class: centralized. Provenance:
//! reconstructed: the RFCs leave open who rekeys when, and have no message for a single removal.
//!
//! A group key packet is two keys drawn together: GTEK, the group key, and GKEK, under which the
//! next packet is broadcast.
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of a packet | n wraps of 2 keys | 1 unwrap |
//! | add, to n members | 1 broadcast, 1 unicast of a packet | 2 wraps of 2 keys | 1 unwrap |
//! | remove, from n members | n - 1 unicasts of a packet | n - 1 wraps of 2 keys | 1 unwrap |
//! | catch up | 1 request, 1 unicast of a packet | 1 wrap of 2 keys | 1 unwrap |
//!
//! Keys held: controller n + 2, member 3. Profiles: `sound` and `published` are the same.
//!
//! Bodies: a packet for one member is `{GTEK', GKEK'}_individual`; the broadcast of an add is
//! `slot of the newcomer, {GTEK', GKEK'}_GKEK`.
//!
//! Deviations from the RFCs: the controller alone draws the first packet (there, with the first
//! member). An add always replaces the packet; the RFCs also allow giving the newcomer a copy of the
//! current one, which lets it read what was sent before it came, and is not implemented. A remove
//! makes a new group of those who stay, under their individual keys; a packet under the old GKEK,
//! which the evicted member has too, would exclude nobody and is not offered. There is no rekey on a
//! schedule, and no certificates: who may join is the application's matter. A member that missed
//! rekeys asks for the current packet.

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::centralized::enrolment::{Enrolment, Roster};
use crate::secret::Key;
use crate::wire::Message;

/// The controller.
#[derive(Debug, Default)]
pub struct Controller {
    roster: Roster,
    epoch: Epoch,
    packet: Option<Packet>,
}

/// A member.
#[derive(Debug, Default)]
pub struct Member {
    enrolment: Option<Enrolment>,
    epoch: Epoch,
    packet: Option<Packet>,
}

/// The keys that all members share: GTEK, which is the group key, and GKEK.
#[derive(Debug)]
struct Packet([Key; 2]);

/// Carries a packet under the receiver's individual key.
const PACKET: u8 = 0;
/// Carries a packet under the GKEK of the packet before it.
const REKEY: u8 = 1;
/// Asks for the current packet.
const REQUEST: u8 = 2;

impl Controller {
    /// A controller without members.
    pub fn new() -> Self {
        Self::default()
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        if self.packet.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.roster.join_all(members)?;
        self.send_to_each(cx, Operation::Create);
        Ok(())
    }

    fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let old = self.packet.as_ref().ok_or(Misuse::NotCreated)?;
        let slot = self.roster.join(member)?;
        self.epoch = self.epoch.next();
        let packet = Packet::random(cx);
        send_packet(cx, member, Operation::Add, self.epoch, self.roster.key(slot), &packet);
        cx.draft(Recipient::Group, self.epoch, Operation::Add, REKEY)
            .number(u64::from(slot))
            .wrapped(old.wrapping_key(), self.epoch, 0, &packet.0)
            .send();
        self.packet = Some(packet);
        cx.event(Event::Rekeyed(self.epoch));
        Ok(())
    }

    fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        if self.packet.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        self.roster.current(member)?;
        if self.roster.len() == 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.roster.evict(member);
        self.send_to_each(cx, Operation::Remove);
        Ok(())
    }

    /// Sends a new packet to every member under the member's individual key.
    fn send_to_each(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.epoch = self.epoch.next();
        let packet = Packet::random(cx);
        cx.reserve(self.roster.len(), cx.wrapped_length(Packet::KEYS) + 2);
        for (member, key) in self.roster.current_members() {
            send_packet(cx, member, operation, self.epoch, key, &packet);
        }
        self.packet = Some(packet);
        cx.event(Event::Rekeyed(self.epoch));
    }

    /// Sends the current packet to a member that asks for it.
    fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        if (message.header().operation, message.header().kind) != (Operation::CatchUp, REQUEST) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.body().finish()?;
        let slot = self.roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        let packet = self.packet.as_ref().ok_or(Misuse::NotCreated)?;
        let key = self.roster.key(slot);
        send_packet(cx, member, Operation::CatchUp, self.epoch, key, packet);
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::CatchUp) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(members)) => self.roster.enroll(cx, self.epoch, members),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.answer(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.packet.as_ref().map(|packet| (self.epoch, packet.group_key()))
    }

    fn footprint(&self) -> Footprint {
        let packet = if self.packet.is_some() { Packet::BYTES } else { 0 };
        Footprint { permanent: self.roster.key_bytes() + packet, temporary: Packet::BYTES }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.from_controller()?;
        let header = message.header();
        if header.operation == Operation::Enroll && self.enrolment.is_none() {
            self.enrolment = Some(Enrolment::receive(message)?);
            return Ok(());
        }
        let enrolment = self.enrolment.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let newcomer = if header.kind == REKEY { Some(body.number32()?) } else { None };
        let wrapped = body.bytes()?;
        body.finish()?;
        let key = match (header.operation, header.kind, &self.packet) {
            // The broadcast of its own joining, which a member hears but does not need.
            (Operation::Add, REKEY, _) if newcomer == Some(enrolment.slot) => {
                return self.overhear(header.epoch);
            }
            (Operation::Add, REKEY, Some(packet)) => {
                message.follows(self.epoch)?;
                packet.wrapping_key()
            }
            (Operation::Create | Operation::Add | Operation::Remove, PACKET, Some(_)) => {
                message.follows(self.epoch)?;
                &enrolment.key
            }
            // Whoever has no packet yet, or caught up, takes whatever epoch the group is in.
            (Operation::Create | Operation::Add | Operation::CatchUp, PACKET, _) => {
                message.is_later_than(self.epoch)?;
                &enrolment.key
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let mut keys = [Key::default(), Key::default()];
        cx.unwrap_keys(key, header.epoch, 0, wrapped, &mut keys)?;
        self.packet = Some(Packet(keys));
        self.epoch = header.epoch;
        cx.event(Event::Rekeyed(self.epoch));
        Ok(())
    }

    /// Lets a message pass that is part of the operation by which the member came in.
    fn overhear(&self, got: Epoch) -> Result<(), Error> {
        if self.packet.is_some() && got != self.epoch {
            return Err(Misbehaviour::StaleEpoch { got, current: self.epoch }.into());
        }
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::CatchUp) => {
                cx.draft(Recipient::Controller, self.epoch, Operation::CatchUp, REQUEST).send();
                Ok(())
            }
            Input::Command(_) => Err(Misuse::WrongRole.into()),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.packet.as_ref().map(|packet| (self.epoch, packet.group_key()))
    }

    fn footprint(&self) -> Footprint {
        let individual = if self.enrolment.is_some() { Key::BYTES } else { 0 };
        let packet = if self.packet.is_some() { Packet::BYTES } else { 0 };
        Footprint { permanent: individual + packet, temporary: Packet::BYTES }
    }
}

impl Packet {
    const KEYS: usize = 2;
    const BYTES: usize = Self::KEYS * Key::BYTES;

    fn random(cx: &mut Context<'_>) -> Self {
        Self([cx.random_key(), cx.random_key()])
    }

    /// GTEK.
    const fn group_key(&self) -> &Key {
        &self.0[0]
    }

    /// GKEK, under which the next packet goes to those who have this one.
    const fn wrapping_key(&self) -> &Key {
        &self.0[1]
    }
}

fn send_packet(
    cx: &mut Context<'_>,
    member: MemberId,
    operation: Operation,
    epoch: Epoch,
    individual: &Key,
    packet: &Packet,
) {
    cx.draft(Recipient::Member(member), epoch, operation, PACKET)
        .wrapped(individual, epoch, 0, &packet.0)
        .send();
}
