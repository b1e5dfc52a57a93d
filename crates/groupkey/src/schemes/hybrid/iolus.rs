//! Iolus: independent subgroups that meet only at their borders. Each has a key of its own, which
//! its controller changes when its own members change. There is no group key. Each message has a
//! key of its own, and at the border of a subgroup only this key is wrapped again.
//!
//! Source: Mittra, "Iolus: a framework for scalable secure multicasting", SIGCOMM 1997. Class:
//! hybrid; the paper's group security controller is the controller, its agents are the subgroup
//! controllers. Provenance: reconstructed: keys and flows from descriptions; messages, and numbers
//! against replay, are ours.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave:
//!
//! | operation | messages | controller | subgroup controllers | member |
//! |---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps each | 1 unwrap |
//! | add | 2 unicasts, 1 multicast | 1 wrap | its own: 2 wraps | members of the subgroup: 1 unwrap |
//! | remove | 1 unicast, 1 multicast | 1 wrap | its own: m - 1 wraps | members of the subgroup: 1 unwrap |
//! | rekey | S unicasts, S multicasts | S wraps | m wraps each | 1 unwrap |
//! | send | S + 1 multicasts | | 1 unwrap, 1 wrap each | sender 1 wrap, others 1 unwrap |
//! | catch up | 1 request, 1 unicast | | its own: 1 wrap | 1 unwrap |
//! | resume | 2 + m unicasts | 1 wrap | its own: m wraps | 1 unwrap |
//!
//! Rekey: every subgroup gets a new key. The top key stays: no member has it.
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! At a change, the subgroup's own controller also opens one wrapped key. Law: the key of a message
//! reaches all members and no other party. Profiles: `sound` and `published` are the same; S002 did
//! not measure Iolus. The claims are about members: the top key never changes, so a subgroup
//! controller that is taken out still reads everything, in both profiles.
//!
//! Keys held: controller S + 1; subgroup controller m + 3; member 3. One of a member's keys is that
//! of the last message, until its subgroup changes.
//!
//! The subgroup controllers share the top key. A message's key MK goes to the sender's own subgroup
//! under its key SK. That subgroup's controller wraps MK under the top key, and every other
//! subgroup controller wraps it under its own subgroup's key. Each subgroup counts its own epochs.
//! A party that sends under a key numbers what it sends; receivers refuse a number that does not
//! grow.
//!
//! Bodies, after the list of members that `domain` describes: `{top key}_shared`. Of a rekey:
//! `{SK'}_individual`; `slot of the joining member, {SK'}_SK`; or a packed byte string of
//! `slot, {SK'}_individual`, sorted by slot. Of a message:
//! `id of the member who began it, number, {MK}` under SK or under the top key.
//!
//! Deviations: there is one level of subgroups. The controller does not listen to messages. A
//! message in transit while a subgroup changes its key is lost there. A member that missed rekeys
//! asks.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::sorted_records::SortedRecords;
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment, unwrap_own,
};
use crate::outbox::{Event, Recipient, SubsetId};
use crate::party::{Command, Footprint, Input, MessageKey, Messages, Operation, Party};
use crate::saved_state::{party_state, saved, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Law, MEMBERS, Parties, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "iolus",
    "Iolus, independent subgroups",
    Provenance::Reconstructed,
    "Mittra 1997",
    Parties::Hybrid {
        controller: |configuration| Box::new(Controller::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |_, id| Box::new(SubgroupController::new(id)),
        member: |_, _| Box::new(Member::new()),
    },
)
.with_operations(&[
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Rekey,
    Operation::Send,
])
.with_law(Law::OneMessage)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_parameters(&[SUBGROUPS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    domain: Domain,
    top_key: Key,
    epochs: Vec<Epoch>,
}

state!(Controller { domain, top_key, epochs } if is_whole);

#[derive(Debug)]
pub(crate) struct SubgroupController {
    /// The group key in it is the key of this subgroup.
    subgroup: Subgroup,
    top_key: Key,
    /// The numbers of messages in the subgroup, and of messages among the subgroup controllers.
    inside: Numbers,
    across: Numbers,
}

state!(SubgroupController { subgroup, top_key, inside, across });

#[derive(Debug)]
pub(crate) struct Member {
    /// The group key in it is the key of the subgroup.
    membership: ServedMembership,
    /// The key of the last message since the subgroup's key changed.
    message_key: Option<Key>,
    own: bool,
    numbers: Numbers,
}

/// Carries the top key to a subgroup's controller.
const TOP_KEY: u8 = 0;

/// Carries the subgroup's key under the member's individual key.
const KEY: u8 = 0;
/// Carries the subgroup's key under the previous one, when a member joins.
const REFRESH: u8 = 1;
/// Carries the subgroup's key under the individual key of each member, when a member leaves.
const COPIES: u8 = 2;
/// Asks for the subgroup's key.
const REQUEST: u8 = 3;
/// Carries the key of a message, within a subgroup or among the subgroup controllers.
const MESSAGE: u8 = 4;

/// The topic of the subgroup controllers. Topics of subgroups are numbered from 0.
const ACROSS: SubsetId = SubsetId(u32::MAX);

/// The top key does not change, so its epoch stays.
const TOP_EPOCH: Epoch = Epoch(1);

impl Controller {
    /// Creates a controller without members, for this many subgroups.
    pub(crate) fn new(subgroups: u32) -> Self {
        Self {
            domain: Domain::new(subgroups),
            top_key: Key::default(),
            epochs: (0..subgroups).map(|_| Epoch(0)).collect(),
        }
    }

    /// Whether each subgroup has an epoch.
    fn is_whole(&self) -> bool {
        self.epochs.len() == self.domain.subgroups()
    }
}

impl DomainServer for Controller {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn domain_mut(&mut self) -> &mut Domain {
        &mut self.domain
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange) {
        if change.operation == Operation::Create {
            self.top_key = cx.random_key();
        }
        self.domain.enter_next_without_key();
        for station in self.domain.stations() {
            let of_all = matches!(change.operation, Operation::Create | Operation::Rekey);
            let concerned = of_all || change.named_in(station.id).next().is_some();
            if !concerned {
                continue;
            }
            let epoch = &mut self.epochs[station.id.0 as usize];
            *epoch = epoch.next();
            self.tell(cx, station, change);
        }
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.change(cx, &DomainChange::period());
        Ok(())
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, change: &DomainChange) {
        let epoch = self.epochs[station.id.0 as usize];
        self.domain
            .draft_in(cx, station, epoch, change, TOP_KEY)
            .wrapped(&station.key, epoch, 0, [&self.top_key])
            .send();
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        domain::step(self, cx, input)
    }

    /// Returns `None`: there is no group key.
    fn group_key(&self) -> Option<(Epoch, &Key)> {
        None
    }

    fn footprint(&self) -> Footprint {
        let top_key = if self.domain.epoch() > Epoch(0) { Key::BYTES } else { 0 };
        Footprint { permanent: self.domain.key_bytes() + top_key, temporary: 0 }
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(id: SubgroupId) -> Self {
        Self {
            subgroup: Subgroup::new(id),
            top_key: Key::default(),
            inside: Numbers::default(),
            across: Numbers::default(),
        }
    }

    /// Sends a member the subgroup's key, under its individual key.
    fn send_key(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some((epoch, key)) = self.subgroup.membership.group_key() else { return };
        let roster = &self.subgroup.roster;
        cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEY)
            .wrapped(roster.key(slot), epoch, 0, [key])
            .send();
    }

    /// Sends one message with a copy of the subgroup's key for each continuing member.
    fn send_copies(&self, cx: &mut Context<'_>, operation: Operation) {
        let Some((epoch, key)) = self.subgroup.membership.group_key() else { return };
        let roster = &self.subgroup.roster;
        let length = copy_length(cx) * roster.len();
        cx.reserve(1, length + 8);
        let mut draft = cx.draft(self.subgroup.everybody(), epoch, operation, COPIES);
        draft.packed(length);
        for slot in self.subgroup.slots() {
            draft.packed_number(slot).packed_wrapped(roster.key(slot), epoch, 0, [key]);
        }
        draft.send();
    }

    /// Takes the key of a message at the border, and wraps it for the other side.
    fn relay(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let envelope = Envelope::read(message)?;
        let Some((epoch, key)) = self.subgroup.membership.group_key() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let header = message.header();
        let everybody = self.subgroup.everybody();
        if self.inside.are_used_up() || self.across.are_used_up() {
            return Err(Misuse::SessionOver.into());
        }
        let (to, message_key) = match (header.to, header.sender) {
            (to, PartyId::Member(_)) if to == everybody => {
                (Recipient::Subset(ACROSS), self.inside.open(cx, message, epoch, key, &envelope)?)
            }
            (Recipient::Subset(ACROSS), PartyId::SubgroupController(_)) => {
                (everybody, self.across.open(cx, message, TOP_EPOCH, &self.top_key, &envelope)?)
            }
            _ => return Err(Misbehaviour::UnexpectedSender.into()),
        };
        if to == everybody {
            self.inside.send(cx, to, epoch, key, envelope.origin, &message_key)
        } else {
            self.across.send(cx, to, TOP_EPOCH, &self.top_key, envelope.origin, &message_key)
        }
    }
}

impl SubgroupServer for SubgroupController {
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
        open_key(&self.subgroup, cx, message, body, TOP_KEY)
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        top_key: Key,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        let old = self.subgroup.membership.group_key().map(|(_, key)| key.clone());
        if old.is_none() {
            cx.event(Event::Subscribed(SubsetId(self.subgroup.id.0)));
            cx.event(Event::Subscribed(ACROSS));
        }
        self.top_key = top_key;
        self.inside = Numbers::default();
        let key = cx.random_key();
        self.subgroup.membership.enter(cx, epoch, key.clone());
        match (change, old) {
            (LocalChange::Joined(slot), Some(old)) => {
                self.send_key(cx, slot, operation);
                cx.draft(self.subgroup.everybody(), epoch, operation, REFRESH)
                    .number(u64::from(slot))
                    .wrapped(&old, epoch, 0, [&key])
                    .send();
            }
            (LocalChange::Left(_) | LocalChange::Nobody, _) => self.send_copies(cx, operation),
            _ => self.subgroup.slots().for_each(|slot| self.send_key(cx, slot, operation)),
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_key(cx, slot, Operation::CatchUp);
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message) if message.header().operation == Operation::Send => {
                self.relay(cx, &message)
            }
            _ => subgroup::step(self, cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let top_key = if self.group_key().is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.subgroup.key_bytes() + top_key, temporary: Key::BYTES }
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new() -> Self {
        Self {
            membership: ServedMembership::of_a_subgroup(),
            message_key: None,
            own: false,
            numbers: Numbers::default(),
        }
    }

    /// Begins a message: draws its key and sends it.
    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let (PartyId::SubgroupController(subgroup), PartyId::Member(me)) =
            (self.membership.server(), cx.me())
        else {
            return Err(Misuse::WrongRole.into());
        };
        let Some((epoch, key)) = self.membership.group_key() else {
            return Err(Misuse::NotCreated.into());
        };
        let message_key = cx.random_key();
        let to = Recipient::Subset(SubsetId(subgroup.0));
        self.numbers.send(cx, to, epoch, key, me, &message_key)?;
        self.hold(cx, message_key, true);
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if message.header().operation == Operation::Send {
            return self.take_message(cx, message);
        }
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        let slot = self.membership.enrolment()?.slot;
        let header = message.header();
        let mut body = message.body();
        let newcomer = if header.kind == REFRESH { Some(body.number32()?) } else { None };
        let bytes = body.bytes()?;
        body.finish()?;
        let key = match (header.operation, header.kind, newcomer) {
            (_, KEY, _) => {
                self.membership.admit(message)?;
                let [key] = unwrap_own(&self.membership, cx, message, 0, bytes)?;
                key
            }
            (Operation::Add, REFRESH, Some(newcomer)) => {
                if self.membership.is_own_joining(message, newcomer)? {
                    return Ok(());
                }
                self.membership.require_continuation(message)?;
                let (_, old) =
                    self.membership.group_key().ok_or(Misbehaviour::UnexpectedMessage)?;
                cx.unwrap_key(old, header.epoch, 0, bytes)?
            }
            (Operation::Remove | Operation::Rekey, COPIES, _) => {
                self.membership.admit(message)?;
                let copies = SortedRecords::parse(bytes, cx.wrapped_length(1))?;
                let own = copies.find(slot).ok_or(Misbehaviour::NothingForUs)?;
                let [key] = unwrap_own(&self.membership, cx, message, 0, own)?;
                key
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        self.numbers = Numbers::default();
        // An evicted member may have this key.
        self.message_key = None;
        self.membership.enter(cx, header.epoch, key);
        Ok(())
    }

    fn take_message(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let envelope = Envelope::read(message)?;
        let Some((epoch, key)) = self.membership.group_key() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let header = message.header();
        match (self.membership.server(), header.to, header.sender) {
            (PartyId::SubgroupController(own), Recipient::Subset(to), _) if to.0 != own.0 => {
                return Err(Misbehaviour::NotForUs.into());
            }
            (_, Recipient::Subset(_), PartyId::Member(_)) => {}
            (server, Recipient::Subset(_), sender) if sender == server => {}
            _ => return Err(Misbehaviour::UnexpectedSender.into()),
        }
        let message_key = self.numbers.open(cx, message, epoch, key, &envelope)?;
        self.hold(cx, message_key, false);
        Ok(())
    }

    fn hold(&mut self, cx: &mut Context<'_>, message_key: Key, own: bool) {
        self.message_key = Some(message_key);
        self.own = own;
        cx.event(Event::MessageKey);
    }
}

impl Default for Member {
    fn default() -> Self {
        Self::new()
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Send) => self.send(cx),
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    /// Returns the subgroup's key, in the subgroup's own epochs.
    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn messages(&self) -> Messages<'_> {
        let last = self.message_key.as_ref();
        Messages::UnderOwnKeys(last.map(|key| MessageKey { key, own: self.own }))
    }

    fn footprint(&self) -> Footprint {
        let message_key = if self.message_key.is_some() { Key::BYTES } else { 0 };
        let permanent = self.membership.key_bytes() + message_key;
        Footprint { permanent, temporary: Key::BYTES }
    }
}

/// The body that carries the key of a message.
struct Envelope<'m> {
    origin: MemberId,
    number: u32,
    wrapped: &'m [u8],
}

impl<'m> Envelope<'m> {
    fn read(message: &Message<'m>) -> Result<Self, Error> {
        if message.header().kind != MESSAGE {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let origin = MemberId(body.number32()?);
        let number = body.number32()?;
        let wrapped = body.bytes()?;
        body.finish()?;
        // A relaying controller names another party. A member names itself.
        if let PartyId::Member(sender) = message.header().sender
            && sender != origin
        {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        Ok(Self { origin, number, wrapped })
    }
}

/// The last number that was sent under a key, and the last number received from each sender.
#[derive(Debug, Default)]
struct Numbers {
    sent: u32,
    received: BTreeMap<PartyId, u32>,
}

saved!(Numbers { sent, received });

impl Numbers {
    /// The label of a wrapped key has room for this many numbers beside its sender.
    const LIMIT: u32 = 1 << 31;

    /// Opens the key of a message. Refuses a number that is repeated or late.
    fn open(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        epoch: Epoch,
        kek: &Key,
        envelope: &Envelope<'_>,
    ) -> Result<Key, Error> {
        message.require_epoch(epoch)?;
        let sender = message.header().sender;
        if sender == cx.me() {
            // A broker returns a party's own messages on a topic to which it subscribes.
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let last = self.received.get(&sender).copied().unwrap_or(0);
        if envelope.number <= last || envelope.number >= Self::LIMIT {
            return Err(Misbehaviour::Replayed.into());
        }
        let key = cx.unwrap_key(kek, epoch, label(sender, envelope.number), envelope.wrapped)?;
        self.received.insert(sender, envelope.number);
        Ok(key)
    }

    const fn are_used_up(&self) -> bool {
        self.sent + 1 >= Self::LIMIT
    }

    fn send(
        &mut self,
        cx: &mut Context<'_>,
        to: Recipient,
        epoch: Epoch,
        kek: &Key,
        origin: MemberId,
        message_key: &Key,
    ) -> Result<(), Error> {
        if self.are_used_up() {
            return Err(Misuse::SessionOver.into());
        }
        self.sent += 1;
        let number = self.sent;
        let label = label(cx.me(), number);
        cx.draft(to, epoch, Operation::Send, MESSAGE)
            .number(u64::from(origin.0))
            .number(u64::from(number))
            .wrapped(kek, epoch, label, [message_key])
            .send();
        Ok(())
    }
}

/// Returns the label that distinguishes keys wrapped under one key: the sender and its number.
fn label(sender: PartyId, number: u32) -> u64 {
    let sender = match sender {
        PartyId::Controller => 0,
        PartyId::Member(member) => u64::from(member.0) + 1,
        PartyId::SubgroupController(subgroup) => (1 << 32) + 1 + u64::from(subgroup.0),
    };
    sender << 31 | u64::from(number)
}

/// Returns the length of a member's part of the message that a removal takes.
const fn copy_length(cx: &Context<'_>) -> usize {
    4 + cx.wrapped_length(1)
}
