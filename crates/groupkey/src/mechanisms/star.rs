//! A star: every member shares an individual key with the controller. At every change the
//! controller draws a group key and sends it to each member in a message of its own. Schemes differ
//! in how a key is protected on its way.

use core::fmt;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::secret::Key;
use crate::wire::Message;

/// How the group key goes to one member.
pub(crate) trait KeyDelivery: fmt::Debug + Send {
    /// Bytes of keys that either side holds while a group key is sent or received.
    const TEMPORARY: usize;

    /// Body bytes of a message that carries the group key.
    fn body_bytes(&self, cx: &Context<'_>) -> usize;

    /// Sends the current group key to the members in these slots, in messages of the kind [`KEY`].
    fn send(
        &self,
        cx: &mut Context<'_>,
        group: &ServedGroup,
        operation: Operation,
        slots: impl IntoIterator<Item = u32>,
    );

    /// Opens the message that [`Self::send`] sent to the member with this individual key.
    fn receive(
        &self,
        cx: &mut Context<'_>,
        individual: &Key,
        message: &Message<'_>,
    ) -> Result<Key, Error>;
}

/// Carries the group key to one member.
pub(crate) const KEY: u8 = 0;
/// Asks for the current group key.
const REQUEST: u8 = 1;

#[derive(Debug)]
pub(crate) struct StarController<D> {
    delivery: D,
    group: ServedGroup,
}

state!([D: KeyDelivery] StarController<D> { group });

#[derive(Debug)]
pub(crate) struct StarMember<D> {
    delivery: D,
    pub(crate) membership: ServedMembership,
}

impl<D: KeyDelivery> StarController<D> {
    /// A controller without members.
    pub(crate) const fn new(delivery: D, group: ServedGroup) -> Self {
        Self { delivery, group }
    }

    fn change(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let group_key = cx.random_key();
        self.group.enter_next(cx, group_key);
        cx.reserve(self.group.roster.len(), self.delivery.body_bytes(cx));
        self.delivery.send(cx, &self.group, operation, self.group.roster.current_slots());
    }
}

impl<D: KeyDelivery> KeyServer for StarController<D> {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        self.change(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.change(cx, Operation::Add);
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.change(cx, Operation::Remove);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.change(cx, Operation::Rekey);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.delivery.send(cx, &self.group, Operation::CatchUp, [slot]);
    }

    fn held(&self) -> Footprint {
        Footprint { permanent: self.group.key_bytes(), temporary: D::TEMPORARY }
    }
}

impl<D: KeyDelivery> StarMember<D> {
    /// A member that is not enrolled yet.
    pub(crate) fn new(delivery: D) -> Self {
        Self { delivery, membership: ServedMembership::default() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        if message.header().kind != KEY {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.membership.admit(message)?;
        let individual = &self.membership.enrolment()?.key;
        let group_key = self.delivery.receive(cx, individual, message)?;
        self.membership.enter(cx, message.header().epoch, group_key);
        Ok(())
    }
}

impl<D: KeyDelivery> Party for StarMember<D> {
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
        Footprint { permanent: self.membership.key_bytes(), temporary: D::TEMPORARY }
    }
}
