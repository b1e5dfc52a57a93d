//! What the controllers of all hybrid schemes have in common.
//!
//! The controller puts each member into the subgroup with the fewest members, records each member's
//! subgroup, and informs the subgroups' controllers. It shares a key with each of them, and none
//! with members: a member gets its keys from the controller of its subgroup. It counts epochs and
//! refuses commands that make no sense. A scheme adds which keys there are, and what is sent under
//! which.
//!
//! Every message to a subgroup controller begins with a list of member ids. In a creation these are
//! the enrolled members that do not take part, after the number of all enrolments so far. In other
//! changes they are the members of the subgroup that join or leave. For a subgroup controller that
//! catches up (`resumption.rs`) they are all its members. If a member joins a subgroup that had no
//! members, the kind of the message says so. A subgroup controller that hears another message first
//! has missed something.

use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::key_server::enrolment::ENROLMENT;
use crate::mechanisms::subgroup::resumption;
use crate::mechanisms::subgroup::{MEMBERS, OPENING};

use crate::outbox::{Event, Recipient};
use crate::party::{Command, Input, Operation};
use crate::saved_state::{PartyState, Saved, SavedState, require, saved};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The part of a controller that differs between schemes.
pub(crate) trait DomainServer {
    /// Whether members can join and leave.
    const CHANGES: bool = true;

    /// The subgroups and the members.
    fn domain(&self) -> &Domain;

    /// The subgroups and the members.
    fn domain_mut(&mut self) -> &mut Domain;

    /// Makes the next key, and informs the subgroups' controllers. The members are already updated.
    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange);

    /// Tells a subgroup's controller that catches up what it needs to be in the current epoch.
    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, standing: &DomainChange);

    /// Hands over the keys of newly enrolled members, if the scheme shares keys with them.
    fn enrolled(&mut self, _: &mut Context<'_>, _members: &[MemberId]) {}

    /// Takes a message. None is due where members get everything from their subgroup's controller.
    fn receive(&mut self, _: &mut Context<'_>, _: &Message<'_>) -> Result<(), Error> {
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    fn period(&mut self, _: &mut Context<'_>) -> Result<(), Error> {
        Err(Unsupported::Operation.into())
    }

    fn grant(
        &mut self,
        _: &mut Context<'_>,
        _member: MemberId,
        _first: Epoch,
        _last: Epoch,
    ) -> Result<(), Error> {
        Err(Unsupported::Operation.into())
    }
}

/// The subgroups, the members, the epoch and the group key of a controller.
#[derive(Debug)]
pub(crate) struct Domain {
    stations: Vec<ServedSubgroup>,
    places: HashMap<MemberId, MemberPlace>,
    joined: usize,
    epoch: Epoch,
    group_key: Option<Key>,
}

/// A subgroup, as the controller sees it.
#[derive(Debug)]
pub(crate) struct ServedSubgroup {
    pub(crate) id: SubgroupId,
    /// Shared with the subgroup's controller.
    pub(crate) key: Key,
    enrolled: u32,
    /// Number of enrolments so far, which is the number of the next one.
    enrolments: u32,
    /// Whether the subgroup has, or had, members in the group. Its controller then follows all
    /// changes.
    active: bool,
}

/// A change of the members, or a new period.
#[derive(Debug)]
pub(crate) struct DomainChange {
    pub(crate) operation: Operation,
    named: Vec<(SubgroupId, MemberId)>,
    /// The subgroup that gets its first member in a group that already exists.
    opened: Option<SubgroupId>,
}

/// A member's place. Small, because there is one for each member.
#[derive(Clone, Copy, Debug)]
struct MemberPlace {
    /// The number of its enrolment in the subgroup. A member that is enrolled again has another.
    enrolment: u32,
    subgroup: u16,
    joined: bool,
}

/// For each subgroup the key, the number of enrolments and whether it is active; then for each
/// member, in the order of their ids, its id and its place. The counts follow from these.
impl PartyState for Domain {
    fn save_state(&self, state: &mut SavedState) {
        for ServedSubgroup { key, enrolments, active, .. } in &self.stations {
            key.save(state);
            enrolments.save(state);
            active.save(state);
        }
        let mut places: Vec<_> =
            self.places.iter().map(|(&member, &place)| (member, place)).collect();
        places.sort_unstable_by_key(|&(member, _)| member);
        places.save(state);
        self.epoch.save(state);
        self.group_key.save(state);
    }

    fn restore_state(&mut self, state: &mut Reader<'_>) -> Result<(), Error> {
        for station in &mut self.stations {
            station.key = Saved::restore(state)?;
            station.enrolments = Saved::restore(state)?;
            station.active = Saved::restore(state)?;
        }
        let places: Vec<(MemberId, MemberPlace)> = Saved::restore(state)?;
        require(places.windows(2).all(|pair| pair[0].0 < pair[1].0))?;
        self.places.reserve(places.len());
        for (member, place) in places {
            let station = self.stations.get_mut(usize::from(place.subgroup));
            let station = station.ok_or(Misbehaviour::Malformed)?;
            require(place.enrolment < station.enrolments && (station.active || !place.joined))?;
            station.enrolled += 1;
            self.joined += usize::from(place.joined);
            self.places.insert(member, place);
        }
        self.epoch = Saved::restore(state)?;
        self.group_key = Saved::restore(state)?;
        Ok(())
    }
}

saved!(MemberPlace { enrolment, subgroup, joined });

pub(crate) fn step<S: DomainServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    input: Input<'_>,
) -> Result<(), Error> {
    match input {
        Input::Command(Command::Add(member)) => add(server, cx, member),
        Input::Command(Command::Create(members)) => create(server, cx, members),
        Input::Command(Command::Enroll(members)) => {
            server.domain_mut().enroll(cx, members)?;
            server.enrolled(cx, members);
            Ok(())
        }
        Input::Command(Command::Grant { member, first, last }) => {
            server.grant(cx, member, first, last)
        }
        Input::Command(Command::Rekey) => {
            server.domain().require_created()?;
            server.period(cx)
        }
        Input::Command(Command::Remove(member)) => remove(server, cx, member),
        Input::Command(Command::CatchUp | Command::Send) => Err(Misuse::WrongRole.into()),
        Input::Command(Command::Batch { .. } | Command::Merge { .. } | Command::Partition(_)) => {
            Err(Unsupported::Operation.into())
        }
        Input::Message(message) if resumption::is_request(&message) => answer(server, cx, &message),
        Input::Message(message) => server.receive(cx, &message),
    }
}

fn create<S: DomainServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    members: &[MemberId],
) -> Result<(), Error> {
    let domain = server.domain_mut();
    if domain.is_created() {
        return Err(Misuse::AlreadyCreated.into());
    }
    if members.len() < 2 {
        return Err(Misuse::TooFewMembers.into());
    }
    domain.join_all(members)?;
    let change =
        DomainChange { operation: Operation::Create, named: domain.absent(), opened: None };
    server.change(cx, &change);
    Ok(())
}

fn add<S: DomainServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    member: MemberId,
) -> Result<(), Error> {
    if !S::CHANGES {
        return Err(Unsupported::Operation.into());
    }
    let change = server.domain_mut().arrival(member, Operation::Add)?;
    server.change(cx, &change);
    Ok(())
}

fn remove<S: DomainServer>(
    server: &mut S,
    cx: &mut Context<'_>,
    member: MemberId,
) -> Result<(), Error> {
    if !S::CHANGES {
        return Err(Unsupported::Operation.into());
    }
    let domain = server.domain_mut();
    domain.require_created()?;
    let subgroup = domain.current(member)?;
    if domain.joined == 2 {
        return Err(Misuse::TooFewMembers.into());
    }
    domain.forget(member);
    let named = [(subgroup, member)].into();
    server.change(cx, &DomainChange { operation: Operation::Remove, named, opened: None });
    Ok(())
}

impl DomainChange {
    /// A new period in which no member joins or leaves.
    pub(crate) const fn period() -> Self {
        Self { operation: Operation::Rekey, named: Vec::new(), opened: None }
    }

    /// Whether this change is the first news of the existing group for the subgroup's controller.
    pub(crate) fn opens(&self, subgroup: SubgroupId) -> bool {
        self.opened == Some(subgroup)
    }

    pub(crate) fn named_in(&self, subgroup: SubgroupId) -> impl Iterator<Item = MemberId> {
        let start = self.named.partition_point(|&(other, _)| other < subgroup);
        let rest = self.named[start..].iter();
        rest.take_while(move |&&(other, _)| other == subgroup).map(|&(_, member)| member)
    }
}

/// Answers a subgroup's controller that missed something.
fn answer<S: DomainServer>(
    server: &S,
    cx: &mut Context<'_>,
    message: &Message<'_>,
) -> Result<(), Error> {
    let PartyId::SubgroupController(subgroup) = message.header().sender else {
        return Err(Misbehaviour::UnexpectedSender.into());
    };
    let mut body = message.body();
    let known = body.number32()?;
    body.finish()?;
    let domain = server.domain();
    let station = domain.find_station(subgroup).ok_or(Misbehaviour::UnexpectedSender)?;
    let first = known.saturating_sub(1);
    if first > station.enrolments() {
        return Err(Misbehaviour::InvalidRoster.into());
    }
    if known == 0 {
        domain.send_shared_key(cx, station);
    }
    if first < station.enrolments() {
        let missed = domain.enrolled_since(subgroup, first);
        domain.send_enrolled(cx, station, first, &missed);
    }
    if station.is_active() {
        server.tell(cx, station, &domain.standing(subgroup));
    }
    Ok(())
}

impl Domain {
    /// A domain without members, of at least one subgroup.
    pub(crate) fn new(subgroups: u32) -> Self {
        let stations = (0..subgroups).map(|id| ServedSubgroup {
            id: SubgroupId(id),
            key: Key::default(),
            enrolled: 0,
            enrolments: 0,
            active: false,
        });
        Self {
            stations: stations.collect(),
            places: HashMap::new(),
            joined: 0,
            epoch: Epoch(0),
            group_key: None,
        }
    }

    /// The epoch; 0 before the creation.
    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.epoch, key))
    }

    pub(crate) const fn subgroups(&self) -> usize {
        self.stations.len()
    }

    pub(crate) fn stations(&self) -> impl Iterator<Item = &ServedSubgroup> {
        self.stations.iter().filter(|station| station.active)
    }

    pub(crate) fn subgroup_of(&self, member: MemberId) -> Result<SubgroupId, Error> {
        let place = self.places.get(&member).ok_or(Misuse::NotEnrolled(member))?;
        Ok(place.subgroup())
    }

    /// The number of a member's enrolment. No other enrolment in its subgroup has the same number.
    pub(crate) fn enrolment_of(&self, member: MemberId) -> Result<u32, Error> {
        let place = self.places.get(&member).ok_or(Misuse::NotEnrolled(member))?;
        Ok(place.enrolment)
    }

    /// The current members of a subgroup, in the order of their ids.
    pub(crate) fn members_of(&self, subgroup: SubgroupId) -> Vec<MemberId> {
        let here = |place: &MemberPlace| place.joined && place.subgroup() == subgroup;
        let members = self.places.iter().filter(|(_, place)| here(place));
        let mut members: Vec<_> = members.map(|(&member, _)| member).collect();
        members.sort_unstable();
        members
    }

    pub(crate) fn station(&self, subgroup: SubgroupId) -> &ServedSubgroup {
        &self.stations[subgroup.0 as usize]
    }

    pub(crate) fn find_station(&self, subgroup: SubgroupId) -> Option<&ServedSubgroup> {
        self.stations.get(subgroup.0 as usize).filter(|station| station.enrolments > 0)
    }

    /// The current members of all subgroups, by subgroup and in the order of their ids.
    pub(crate) fn members(&self) -> Vec<(SubgroupId, MemberId)> {
        let members = self.places.iter().filter(|(_, place)| place.joined);
        let mut members: Vec<_> =
            members.map(|(&member, place)| (place.subgroup(), member)).collect();
        members.sort_unstable();
        members
    }

    /// The members of a subgroup with this enrolment number or a later one, in that order.
    pub(crate) fn enrolled_since(&self, subgroup: SubgroupId, first: u32) -> Vec<MemberId> {
        let since = |place: &MemberPlace| place.subgroup() == subgroup && place.enrolment >= first;
        let enrolled = self.places.iter().filter(|(_, place)| since(place));
        let mut enrolled: Vec<_> =
            enrolled.map(|(&member, place)| (place.enrolment, member)).collect();
        enrolled.sort_unstable();
        enrolled.into_iter().map(|(_, member)| member).collect()
    }

    /// A subgroup's state, for its controller when it catches up: all its members.
    pub(crate) fn standing(&self, subgroup: SubgroupId) -> DomainChange {
        let members = self.members_of(subgroup).into_iter();
        let named = members.map(|member| (subgroup, member)).collect();
        DomainChange { operation: Operation::CatchUp, named, opened: None }
    }

    /// Lets an enrolled member join the group, which already exists.
    pub(crate) fn arrival(
        &mut self,
        member: MemberId,
        operation: Operation,
    ) -> Result<DomainChange, Error> {
        self.require_created()?;
        let (subgroup, opens) = self.join(member)?;
        let opened = opens.then_some(subgroup);
        Ok(DomainChange { operation, named: [(subgroup, member)].into(), opened })
    }

    pub(crate) fn enter_next(&mut self, cx: &mut Context<'_>, group_key: Key) {
        self.enter_next_without_key();
        self.group_key = Some(group_key);
        cx.event(Event::Rekeyed(self.epoch));
    }

    /// Enters the next epoch, whose key the controller does not have.
    pub(crate) fn enter_next_without_key(&mut self) {
        self.epoch = self.epoch.next();
    }

    /// Begins the message of a change to a subgroup's controller.
    pub(crate) fn draft<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        station: &ServedSubgroup,
        change: &DomainChange,
        kind: u8,
    ) -> Draft<'d, 'a> {
        self.draft_in(cx, station, self.epoch, change, kind)
    }

    /// The same as [`Self::draft`], where subgroups count epochs of their own.
    pub(crate) fn draft_in<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        station: &ServedSubgroup,
        epoch: Epoch,
        change: &DomainChange,
        kind: u8,
    ) -> Draft<'d, 'a> {
        let to = Recipient::SubgroupController(station.id);
        let opens = change.operation == Operation::Add && change.opens(station.id);
        let kind = if opens { OPENING } else { kind };
        let mut draft = cx.draft(to, epoch, change.operation, kind);
        if change.operation == Operation::Create {
            draft.number(u64::from(station.enrolments));
        }
        draft.array(change.named_in(station.id).count());
        for member in change.named_in(station.id) {
            draft.number(u64::from(member.0));
        }
        draft
    }

    /// Bytes of the keys shared with subgroup controllers and of the group key.
    pub(crate) fn key_bytes(&self) -> usize {
        let shared = self.stations.iter().filter(|station| station.enrolled > 0).count();
        (shared + usize::from(self.group_key.is_some())) * Key::BYTES
    }

    /// Deployment phase: gives each member a subgroup, and tells the subgroup's controller over the
    /// confidential channel. That controller draws the member's individual key.
    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        self.places.reserve(members.len());
        let mut named: Vec<(SubgroupId, MemberId)> = Vec::with_capacity(members.len());
        for &member in members {
            if self.places.contains_key(&member) {
                // Nothing may change on an error: undo the enrolments before this one.
                for (subgroup, earlier) in named {
                    self.forget(earlier);
                    self.stations[subgroup.0 as usize].enrolments -= 1;
                }
                return Err(Misuse::AlreadyEnrolled(member).into());
            }
            // The first of the subgroups with the fewest members.
            let emptiest = self.stations.iter_mut().min_by_key(|station| station.enrolled);
            let station = emptiest.expect("a domain has a subgroup");
            let subgroup = station.id;
            let enrolment = station.enrolments;
            station.enrolled += 1;
            station.enrolments += 1;
            let place = MemberPlace { enrolment, subgroup: subgroup.0 as u16, joined: false };
            self.places.insert(member, place);
            named.push((subgroup, member));
        }
        named.sort_by_key(|&(subgroup, _)| subgroup);
        for chunk in named.chunk_by(|a, b| a.0 == b.0) {
            let station = &mut self.stations[chunk[0].0.0 as usize];
            let is_new = station.key == Key::default();
            if is_new {
                station.key = cx.random_key();
            }
            let station = self.station(chunk[0].0);
            if is_new {
                self.send_shared_key(cx, station);
            }
            let members: Vec<_> = chunk.iter().map(|&(_, member)| member).collect();
            let first = station.enrolments - members.len() as u32;
            self.send_enrolled(cx, station, first, &members);
        }
        Ok(())
    }

    /// Deployment phase: gives a subgroup's controller the key that the two share.
    pub(crate) fn send_shared_key(&self, cx: &mut Context<'_>, station: &ServedSubgroup) {
        let to = Recipient::SubgroupController(station.id);
        cx.confidential_draft(to, self.epoch, Operation::Enroll, ENROLMENT)
            .number(u64::from(station.id.0))
            .secret(&station.key)
            .send();
    }

    /// Deployment phase: tells a subgroup's controller its enrolled members, from a number on.
    pub(crate) fn send_enrolled(
        &self,
        cx: &mut Context<'_>,
        station: &ServedSubgroup,
        first: u32,
        members: &[MemberId],
    ) {
        let to = Recipient::SubgroupController(station.id);
        let mut draft = cx.confidential_draft(to, self.epoch, Operation::Enroll, MEMBERS);
        draft.number(u64::from(first)).number(u64::from(station.enrolments));
        draft.array(members.len());
        for member in members {
            draft.number(u64::from(member.0));
        }
        draft.send();
    }

    fn join_all(&mut self, members: &[MemberId]) -> Result<(), Error> {
        for (index, &member) in members.iter().enumerate() {
            if let Err(error) = self.join(member) {
                for earlier in &members[..index] {
                    self.places.entry(*earlier).and_modify(|place| place.joined = false);
                }
                self.joined = 0;
                self.stations.iter_mut().for_each(|station| station.active = false);
                return Err(error);
            }
        }
        Ok(())
    }

    /// The joining member's subgroup, and whether it had no members in the group before.
    fn join(&mut self, member: MemberId) -> Result<(SubgroupId, bool), Error> {
        let place = self.places.get_mut(&member).ok_or(Misuse::NotEnrolled(member))?;
        if place.joined {
            return Err(Misuse::AlreadyMember(member).into());
        }
        place.joined = true;
        self.joined += 1;
        let station = &mut self.stations[usize::from(place.subgroup)];
        let opens = !core::mem::replace(&mut station.active, true);
        Ok((place.subgroup(), opens))
    }

    pub(crate) fn current(&self, member: MemberId) -> Result<SubgroupId, Error> {
        match self.places.get(&member) {
            Some(place) if place.joined => Ok(place.subgroup()),
            _ => Err(Misuse::NotMember(member).into()),
        }
    }

    fn forget(&mut self, member: MemberId) {
        if let Some(place) = self.places.remove(&member) {
            self.stations[usize::from(place.subgroup)].enrolled -= 1;
            self.joined -= usize::from(place.joined);
        }
    }

    /// The members that are enrolled but did not join, by subgroup.
    fn absent(&self) -> Vec<(SubgroupId, MemberId)> {
        let absent = self.places.iter().filter(|(_, place)| !place.joined);
        let mut absent: Vec<_> =
            absent.map(|(&member, place)| (place.subgroup(), member)).collect();
        absent.sort_unstable();
        absent
    }

    fn is_created(&self) -> bool {
        self.epoch > Epoch(0)
    }

    fn require_created(&self) -> Result<(), Error> {
        if self.is_created() { Ok(()) } else { Err(Misuse::NotCreated.into()) }
    }
}

impl ServedSubgroup {
    /// Number of enrolments so far, which is the number of the next one.
    pub(crate) const fn enrolments(&self) -> u32 {
        self.enrolments
    }

    pub(crate) const fn is_active(&self) -> bool {
        self.active
    }
}

impl MemberPlace {
    const fn subgroup(self) -> SubgroupId {
        SubgroupId(self.subgroup as u32)
    }
}
