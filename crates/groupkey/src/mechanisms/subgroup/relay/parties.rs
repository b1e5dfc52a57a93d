//! The subgroup's controller and the members of schemes whose members hand keys on: LNT and RiSeG.
//! A scheme adds the shape of the line, and what letters carry besides keys.

use core::fmt;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, SubgroupId};
use crate::mechanisms::subgroup::distributor::GROUP_KEY;
use crate::mechanisms::subgroup::relay::{ENVELOPES, Letter, REQUEST, RelayLink, RelayOrder};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment,
};
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{PartyState, party_state, state};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// What differs between the schemes.
pub(crate) trait RelayScheme: PartyState + fmt::Debug + Send {
    /// Maximum number of takers of a member.
    const WIDTH: u32;

    /// What a letter carries besides keys, for the member that hands it on.
    type Carried;

    /// Gives a joining member its position. Returns the positions of the members whose neighbours
    /// change, except the first position and the joining member's own.
    fn insert(line: &mut RelayOrder, slot: u32) -> Positions;

    /// Closes the position of a member that left. Returns positions as [`Self::insert`] does.
    fn close(line: &mut RelayOrder, hole: u32) -> Positions;

    /// The position of the member that just joined, if it gets a letter of its own; otherwise 0.
    fn newcomer(_: &RelayOrder) -> u32 {
        0
    }

    /// Sends the group key directly to the member in a slot, or to all members. Returns `false` if
    /// the scheme's members hand it on.
    fn send_directly(
        &self,
        _: &mut Context<'_>,
        _: &Subgroup,
        _: Operation,
        _slot: Option<u32>,
    ) -> bool {
        false
    }

    /// Takes a message from the last member of the line to the subgroup's controller.
    fn hear(
        &mut self,
        _: &mut Context<'_>,
        _: &Message<'_>,
        _: &Subgroup,
        _: &RelayOrder,
    ) -> Result<(), Error> {
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    /// Reads what follows the letter in a message.
    fn read_carried(
        &self,
        from_member: bool,
        body: &mut Reader<'_>,
    ) -> Result<Self::Carried, Error>;

    fn hand_on(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        link: &RelayLink,
        letter: &Letter<'_>,
        carried: Self::Carried,
    );

    /// Takes a key that the subgroup's controller sent directly. Returns `None` if the scheme's
    /// members hand it on.
    fn receive_directly(
        &self,
        _: &mut Context<'_>,
        _: &Message<'_>,
        _: &mut RelayLink,
    ) -> Option<Result<(), Error>> {
        None
    }

    /// Bytes of keys that the subgroup's controller holds during a change.
    fn temporary(&self) -> usize;
}

/// Positions of members in the line.
pub(crate) type Positions = [Option<u32>; ENVELOPES - 1];

const NOWHERE: Positions = [None; ENVELOPES - 1];

#[derive(Debug)]
pub(crate) struct SubgroupController<R> {
    pub(crate) relay: R,
    subgroup: Subgroup,
    line: RelayOrder,
}

state!([R: RelayScheme] SubgroupController<R> { relay, subgroup, line } if is_whole);

#[derive(Debug)]
pub(crate) struct RelayMember<R> {
    relay: R,
    pub(crate) link: RelayLink,
}

impl<R: RelayScheme> SubgroupController<R> {
    /// A controller of a subgroup without members.
    pub(crate) fn new(relay: R, id: SubgroupId) -> Self {
        Self { relay, subgroup: Subgroup::new(id), line: RelayOrder::new(R::WIDTH) }
    }

    /// Whether only members are in the line.
    fn is_whole(&self) -> bool {
        self.line.order.iter().all(|&slot| self.subgroup.roster.is_joined(slot))
    }
}

impl<R: RelayScheme> SubgroupServer for SubgroupController<R> {
    type News = Key;

    const REQUEST: u8 = REQUEST;

    fn subgroup(&self) -> &Subgroup {
        &self.subgroup
    }

    fn subgroup_mut(&mut self) -> &mut Subgroup {
        &mut self.subgroup
    }

    fn open(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        body: Reader<'_>,
    ) -> Result<Key, Error> {
        open_key(&self.subgroup, cx, message, body, GROUP_KEY)
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        group_key: Key,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        let Self { relay, subgroup, line } = self;
        subgroup.membership.enter(cx, epoch, group_key);
        if relay.send_directly(cx, subgroup, operation, None) {
            return;
        }
        let since = line.changed;
        if change != LocalChange::Nobody {
            line.changed = epoch;
        }
        let affected = match change {
            LocalChange::Created | LocalChange::Resumed => {
                line.order = subgroup.slots().collect();
                return line.send_to_all(cx, subgroup);
            }
            LocalChange::Joined(slot) => R::insert(line, slot),
            LocalChange::Left(slot) => {
                line.position_of(slot).map_or(NOWHERE, |hole| R::close(line, hole))
            }
            LocalChange::Nobody => NOWHERE,
        };
        let members = line.order.len();
        // The first position, and each other one once.
        let mut positions = [0; ENVELOPES];
        let mut count = usize::from(members > 0);
        for position in affected.into_iter().flatten().filter(|&one| (one as usize) < members) {
            if !positions[..count].contains(&position) {
                positions[count] = position;
                count += 1;
            }
        }
        let newcomer = match change {
            LocalChange::Joined(_) => R::newcomer(line),
            _ => 0,
        };
        let news = (since, newcomer);
        if count > 0 {
            line.send(cx, subgroup, operation, news, &positions[..count]);
        }
        if newcomer > 0 {
            line.send(cx, subgroup, operation, news, &[newcomer]);
        }
    }

    fn hear(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        _: MemberId,
    ) -> Result<(), Error> {
        self.relay.hear(cx, message, &self.subgroup, &self.line)
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        let Self { relay, subgroup, line } = self;
        if relay.send_directly(cx, subgroup, Operation::CatchUp, Some(slot)) {
            return;
        }
        if let Some(position) = line.position_of(slot) {
            line.send(cx, subgroup, Operation::CatchUp, (line.changed, 0), &[position]);
        }
    }
}

impl<R: RelayScheme> Party for SubgroupController<R> {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        subgroup::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.subgroup.key_bytes(), temporary: self.relay.temporary() }
    }

    party_state!();
}

impl<R: RelayScheme> RelayMember<R> {
    /// A member that is not enrolled yet.
    pub(crate) fn new(relay: R) -> Self {
        Self { relay, link: RelayLink::new() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let from_member = message.from_member().is_ok();
        if !from_member && take_enrolment(&mut self.link.membership, cx, message)? {
            return Ok(());
        }
        if let Some(outcome) = self.relay.receive_directly(cx, message, &mut self.link) {
            return outcome;
        }
        let mut body = message.body();
        let letter = Letter::read(message, &mut body)?;
        let carried = self.relay.read_carried(from_member, &mut body)?;
        body.finish()?;
        if self.link.take(cx, message, &letter)? {
            self.relay.hand_on(cx, message, &self.link, &letter, carried);
        }
        Ok(())
    }
}

impl<R: RelayScheme> Party for RelayMember<R> {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.link.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.link.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.link.key_bytes(), temporary: 5 * Key::BYTES }
    }
}
