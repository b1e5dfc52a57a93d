//! MARKS: the keys of all periods are the leaves of a binary tree of one-way functions. A member
//! gets the few nodes above the keys that it was promised. After that no message is needed: not for
//! a new period, not when a member joins, and not when a member leaves. **No member can be evicted
//! before its time.**
//!
//! Source: Briscoe, "MARKS: zero side effect multicast key management using arbitrarily revealed
//! key sequences", NGC 1999 (the binary hash tree); how it was measured: S002. Class: hybrid;
//! subgroup controllers are the source's replicated key managers. Provenance: reconstructed: the
//! tree and the cover are the source's as others give them, the messages are ours.
//!
//! With 2^D periods (parameter `depth`), S subgroups with members, n members, m of them in a
//! subgroup. c is the number of seeds that cover the member's interval: 1 for the whole session and
//! 2(D - 1) at most. h(t) is the height of the node that starts at period t among the nodes that a
//! party holds:
//!
//! | operation | messages | controller | subgroup controller | member |
//! |---|---|---|---|---|
//! | create | S + n unicasts | S wraps, D hashes | 1 unwrap, m wraps of c keys, D hashes and the cover's | 1 unwrap of c keys, h hashes |
//! | rekey | none | 2h(t-1) + h(t) hashes | 2h(t-1) + h(t) hashes | 2h(t-1) + h(t) hashes |
//! | grant | 2 unicasts | | 1 wrap of c keys, the cover's hashes | 1 unwrap of c keys, h hashes |
//! | catch up | 1 request, 1 unicast | | 1 wrap of c keys, the cover's hashes | 1 unwrap of c keys, h hashes |
//! | resume | 2 unicasts, 1 for each grant that was missed | 1 wrap of at most D keys | 1 unwrap; for each such grant the cost of a grant | as for a grant |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! A cover's hashes are, for each seed, its depth below the node that the subgroup controller
//! holds. A grant to a subgroup whose controller did not follow costs one more wrap, of at most D
//! keys. A tick takes 3 hashes on average.
//!
//! Profiles: `sound` is the above: all parties wipe past keys. `published` is what S002 measured: a
//! party that gets seeds computes all keys below them at once, 2^(D+1) - 2 hashes for the whole
//! session, and keeps them. A tick then takes none. Keys held in `sound`: the c seeds of the
//! remaining interval. In addition, the controller holds S + 1, a subgroup controller m + 2, a
//! member 2. In `published` all these and one for each period: with D = 10, 16 KB at controllers,
//! as in S002. Its 16 B for a member leave out what the member needs in later periods.
//!
//! Bodies. Plan, after the list of members that `domain` describes: the first and last epoch that
//! these are promised, `{seeds of what is left of the session}_shared` or nothing if the receiver
//! has them. Seeds: first and last epoch of what is left to the member, `{seeds}_individual` or
//! nothing.
//!
//! What breaks it: nothing found. Members that pool their seeds get the union of their intervals. A
//! party that takes over a controller gets the rest of the session, and in `published` also its
//! past.
//!
//! Deviations: both one-way functions are one hash with two labels, where the source rotates by a
//! bit and applies MD5. The other forms (chains, BHC-T) are not implemented. A member has one
//! interval.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, member_list, take_enrolment,
};
use crate::outbox::Recipient;
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Configuration, Law, MEMBERS, Parameter, Parties, Provenance, Recovery, SUBGROUPS,
    Scheme,
};
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(crate) use timeline::Session;
use timeline::{Promise, Span, Timeline, epoch_of};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "marks",
    "MARKS, arbitrarily revealed key sequences",
    Provenance::Reconstructed,
    "Briscoe 1999; S002",
    Parties::Hybrid {
        controller: |configuration| {
            let subgroups = configuration.value(&SUBGROUPS);
            let planned = configuration.value(&PLANNED);
            Box::new(Controller::new(session(configuration), planned, subgroups))
        },
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(session(configuration), id))
        },
        member: |configuration, _| Box::new(Member::new(session(configuration))),
    },
)
.with_operations(&[Operation::Create, Operation::Rekey])
.with_law(Law::PlannedPeriods)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_parameters(&[SUBGROUPS, DEPTH, PLANNED])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &[Operation::Create]),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Member, Form::Constant, &[Operation::Create]),
]);

/// The tree's depth, and with it the length of the session.
const DEPTH: Parameter = Parameter {
    name: "depth",
    meaning: "depth of the tree of keys; a session has 2^depth periods",
    sound: 10,
    published: 10,
    range: (2, 14),
};

/// How many periods the members of the creation get.
const PLANNED: Parameter = Parameter {
    name: "planned",
    meaning: "periods that the members of the creation are promised, from the first; 0: all",
    sound: 0,
    published: 0,
    range: (0, 1 << DEPTH.range.1),
};

#[derive(Debug)]
pub(crate) struct Controller {
    session: Session,
    planned: u32,
    domain: Domain,
    timeline: Timeline,
    /// The intervals that were promised to single members after the creation.
    granted: BTreeMap<MemberId, Span>,
}

state!(Controller { domain, timeline, granted } if is_whole);

#[derive(Debug)]
pub(crate) struct SubgroupController {
    session: Session,
    subgroup: Subgroup,
    timeline: Timeline,
    /// The interval promised to each member, by slot.
    promised: Vec<Promise>,
}

state!(SubgroupController { subgroup, timeline, promised } if is_whole);

#[derive(Debug)]
pub(crate) struct Member {
    session: Session,
    membership: ServedMembership,
    timeline: Timeline,
}

/// Tells a subgroup's controller the interval that members are promised.
const PLAN: u8 = 0;
/// Carries a member's seeds.
const SEEDS: u8 = 1;
/// Asks for the current period, and the seeds of the remaining interval.
const REQUEST: u8 = 2;
/// Tells a subgroup's controller that missed changes the interval of each of its members.
const STANDING: u8 = 3;

impl Controller {
    /// Creates a controller without members, for this many subgroups. The members of the creation
    /// are promised `planned` periods, or all if it is 0.
    pub(crate) fn new(session: Session, planned: u32, subgroups: u32) -> Self {
        let domain = Domain::new(subgroups);
        let (timeline, granted) = (Timeline::default(), BTreeMap::new());
        Self { session, planned, domain, timeline, granted }
    }

    /// Whether the keys and the promises are of this session.
    fn is_whole(&self) -> bool {
        self.timeline.is_of(self.session)
            && self.granted.values().all(|&span| self.session.has(span))
    }

    fn enter(&mut self, cx: &mut Context<'_>, period: u32) {
        if let Some(key) = self.timeline.enter(cx, self.session.profile, period) {
            self.domain.enter_next(cx, key);
        }
    }

    /// Returns the interval that the members of the creation are promised.
    fn planned(&self) -> Span {
        let whole = self.session.rest(0);
        let last = if self.planned == 0 { whole.last } else { whole.last.min(self.planned - 1) };
        Span { first: 0, last }
    }
}

impl DomainServer for Controller {
    const CHANGES: bool = false;

    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn domain_mut(&mut self) -> &mut Domain {
        &mut self.domain
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange) {
        let whole = self.session.rest(0);
        let root = [cx.random_key()];
        self.timeline = Timeline::new(cx, self.session.profile, whole, &root);
        self.enter(cx, 0);
        let epoch = self.domain.epoch();
        for station in self.domain.stations() {
            let mut draft = self.domain.draft(cx, station, change, PLAN);
            self.planned().write(&mut draft);
            draft.wrapped(&station.key, epoch, whole.label(), &root).send();
        }
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, standing: &DomainChange) {
        let epoch = self.domain.epoch();
        // This always succeeds: the epochs of the controller are those of the session.
        let Ok(period) = self.session.period(epoch) else { return };
        let rest = self.session.rest(period);
        let seeds = self.timeline.reveal(cx, rest);
        let mut draft = self.domain.draft(cx, station, standing, STANDING);
        for member in standing.named_in(station.id) {
            self.granted.get(&member).copied().unwrap_or_else(|| self.planned()).write(&mut draft);
        }
        draft.wrapped(&station.key, epoch, rest.label(), &seeds).send();
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let period = self.session.next_period(self.domain.epoch())?;
        self.enter(cx, period);
        Ok(())
    }

    fn grant(
        &mut self,
        cx: &mut Context<'_>,
        member: MemberId,
        first: Epoch,
        last: Epoch,
    ) -> Result<(), Error> {
        let promised = self.session.span(first, last).ok_or(Misuse::OutsideSession)?;
        if first < self.domain.epoch() {
            return Err(Misuse::OutsideSession.into());
        }
        let subgroup = self.domain.subgroup_of(member)?;
        let change = self.domain.arrival(member, Operation::Grant)?;
        self.granted.insert(member, promised);
        let epoch = self.domain.epoch();
        let rest = self.session.rest(self.session.period(epoch)?);
        let seeds =
            if change.opens(subgroup) { self.timeline.reveal(cx, rest) } else { List::new() };
        let station = self.domain.station(subgroup);
        let mut draft = self.domain.draft(cx, station, &change, PLAN);
        promised.write(&mut draft);
        wrapped_or_none(&mut draft, &station.key, epoch, rest, &seeds);
        draft.send();
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        domain::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.domain.group_key()
    }

    fn footprint(&self) -> Footprint {
        let permanent = self.domain.key_bytes() + self.timeline.key_bytes();
        Footprint { permanent, temporary: self.session.cover_bytes() }
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(session: Session, id: SubgroupId) -> Self {
        let timeline = Timeline::default();
        Self { session, subgroup: Subgroup::new(id), timeline, promised: Vec::new() }
    }

    /// Whether the keys and the promises are of this session.
    fn is_whole(&self) -> bool {
        let mut promised = self.promised.iter().filter_map(|promise| promise.span());
        self.timeline.is_of(self.session) && promised.all(|span| self.session.has(span))
    }

    fn open_session(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        wrapped: &[u8],
    ) -> Result<Timeline, Error> {
        let rest = self.session.rest(self.session.period(message.header().epoch)?);
        let shared = &self.subgroup.membership.enrolment()?.key;
        Timeline::open(cx, self.session.profile, shared, message, rest, wrapped)
    }

    fn enter(&mut self, cx: &mut Context<'_>, period: u32) {
        if let Some(key) = self.timeline.enter(cx, self.session.profile, period) {
            self.subgroup.membership.enter(cx, epoch_of(period), key);
        }
    }

    fn promised_to(&self, slot: u32) -> Option<Span> {
        self.promised.get(slot as usize).and_then(|promise| promise.span())
    }

    fn promise(&mut self, slot: u32, promised: Span) {
        self.promised.resize(self.subgroup.roster.slots(), Promise::NONE);
        self.promised[slot as usize] = promised.into();
    }

    /// Continues after it missed messages. The members' clocks ticked without it, so only the
    /// members whose promises it missed need a message.
    fn resume(&mut self, cx: &mut Context<'_>, epoch: Epoch, promises: &[(MemberId, Span)]) {
        let Ok(period) = self.session.period(epoch) else { return };
        self.enter(cx, period);
        for &(member, promised) in promises {
            let Some(slot) = self.subgroup.roster.enrolled_slot(member) else { continue };
            if self.promised_to(slot).is_none() {
                self.promise(slot, promised);
                self.send_what_is_left(cx, slot, Operation::Grant);
            }
        }
    }

    /// Sends a member, under its individual key, what is left of its promised interval.
    fn send_what_is_left(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some(promised) = self.promised_to(slot) else { return };
        let Ok(now) = self.session.period(self.subgroup.membership.epoch()) else { return };
        match promised.from(now) {
            Some(left) => {
                let seeds = self.timeline.reveal(cx, left);
                self.send_seeds(cx, slot, operation, left, &seeds);
            }
            None => self.send_seeds(cx, slot, operation, promised, &[]),
        }
    }

    fn send_seeds(
        &self,
        cx: &mut Context<'_>,
        slot: u32,
        operation: Operation,
        span: Span,
        seeds: &[Key],
    ) {
        let roster = &self.subgroup.roster;
        let epoch = self.subgroup.membership.epoch();
        let mut draft = cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, SEEDS);
        span.write(&mut draft);
        wrapped_or_none(&mut draft, roster.key(slot), epoch, span, seeds);
        draft.send();
    }
}

/// The intervals that members are promised.
pub(crate) enum Promises {
    /// The same interval for all members of the creation.
    Common(Span),
    Each(Vec<(MemberId, Span)>),
}

impl SubgroupServer for SubgroupController {
    /// The intervals that the members are promised, and the rest of the session.
    type News = (Promises, Timeline);

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
        mut body: Reader<'_>,
    ) -> Result<(Promises, Timeline), Error> {
        let promises = match (message.header().operation, message.header().kind) {
            (Operation::Create, PLAN) => {
                let promised = Span::read(&mut body, self.session)?;
                if epoch_of(promised.first) != message.header().epoch {
                    return Err(Misbehaviour::Malformed.into());
                }
                Promises::Common(promised)
            }
            (Operation::CatchUp, STANDING) => {
                let mut each = Vec::new();
                for member in member_list(&mut message.body())? {
                    each.push((member, Span::read(&mut body, self.session)?));
                }
                Promises::Each(each)
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let wrapped = body.bytes()?;
        body.finish()?;
        self.session.period(message.header().epoch)?;
        Ok((promises, self.open_session(cx, message, wrapped)?))
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        _: LocalChange,
        (promises, timeline): (Promises, Timeline),
    ) {
        self.timeline = timeline;
        let promised = match promises {
            Promises::Common(promised) => promised,
            Promises::Each(each) => return self.resume(cx, message.header().epoch, &each),
        };
        self.promised = vec![Promise::NONE; self.subgroup.roster.slots()];
        self.subgroup.slots().for_each(|slot| self.promised[slot as usize] = promised.into());
        self.enter(cx, promised.first);
        let seeds = self.timeline.reveal(cx, promised);
        cx.reserve(self.subgroup.roster.len(), cx.wrapped_length(seeds.len()) + 13);
        let operation = message.header().operation;
        for slot in self.subgroup.slots() {
            self.send_seeds(cx, slot, operation, promised, &seeds);
        }
    }

    /// Takes a promise, once and whatever the clocks say. The epoch of the message matters only if
    /// this party did not follow the session.
    fn grant(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        if header.kind != PLAN {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let named = member_list(&mut body)?;
        let promised = Span::read(&mut body, self.session)?;
        let wrapped = body.bytes()?;
        body.finish()?;
        let &[member] = &named[..] else { return Err(Misbehaviour::InvalidRoster.into()) };
        let session = match (self.subgroup.membership.has_joined(), wrapped) {
            (true, []) => None,
            (true, _) => return Err(Misbehaviour::UnexpectedMessage.into()),
            // The controller believes that this party has the seeds, but this party missed them.
            (false, []) => return Err(self.subgroup.skipped(message)),
            (false, _) => Some(self.open_session(cx, message, wrapped)?),
        };
        let period = self.session.period(header.epoch)?;
        if self.subgroup.roster.enrolled_slot(member).is_none() {
            return Err(self.subgroup.skipped(message));
        }
        let joined = self.subgroup.roster.join(member);
        let slot = joined.map_err(|_| Misbehaviour::InvalidRoster)?;
        if let Some(timeline) = session {
            self.timeline = timeline;
            self.enter(cx, period);
        }
        self.promise(slot, promised);
        self.send_what_is_left(cx, slot, Operation::Grant);
        Ok(())
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.subgroup.membership.has_joined() {
            let period = self.session.next_period(self.subgroup.membership.epoch())?;
            self.enter(cx, period);
        }
        Ok(())
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_what_is_left(cx, slot, Operation::CatchUp);
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        subgroup::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let permanent = self.subgroup.key_bytes() + self.timeline.key_bytes();
        Footprint { permanent, temporary: self.session.cover_bytes() }
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(session: Session) -> Self {
        let membership = ServedMembership::of_a_subgroup();
        Self { session, membership, timeline: Timeline::default() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        let individual = &self.membership.enrolment()?.key;
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::Create | Operation::Grant, SEEDS) if !self.membership.has_joined() => {}
            (Operation::CatchUp, SEEDS) => {}
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        self.membership.require_lead(message)?;
        let period = self.session.period(header.epoch)?;
        let mut body = message.body();
        let span = Span::read(&mut body, self.session)?;
        let wrapped = body.bytes()?;
        body.finish()?;
        self.timeline = match span.from(period) {
            Some(left) if left == span => {
                Timeline::open(cx, self.session.profile, individual, message, span, wrapped)?
            }
            None if wrapped.is_empty() => Timeline::default(),
            _ => return Err(Misbehaviour::Malformed.into()),
        };
        self.enter(cx, period);
        Ok(())
    }

    /// Moves to the next period when the member's clock ticks. No message is needed.
    fn tick(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.membership.has_joined() {
            let period = self.session.next_period(self.membership.epoch())?;
            self.enter(cx, period);
        }
        Ok(())
    }

    fn enter(&mut self, cx: &mut Context<'_>, period: u32) {
        match self.timeline.enter(cx, self.session.profile, period) {
            Some(key) => self.membership.enter(cx, epoch_of(period), key),
            None => self.membership.enter_without_key(cx, epoch_of(period)),
        }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Rekey) => self.tick(cx),
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let permanent = self.membership.key_bytes() + self.timeline.key_bytes();
        Footprint { permanent, temporary: self.session.cover_bytes() }
    }
}

fn session(configuration: &Configuration) -> Session {
    Session::new(configuration.profile(), configuration.value(&DEPTH))
}

/// Appends the seeds of a span, wrapped, or an empty byte string if there are none.
fn wrapped_or_none(draft: &mut Draft<'_, '_>, kek: &Key, epoch: Epoch, span: Span, seeds: &[Key]) {
    if seeds.is_empty() {
        draft.bytes(&[]);
    } else {
        draft.wrapped(kek, epoch, span.label(), seeds);
    }
}

mod timeline;

#[cfg(test)]
mod tests;
