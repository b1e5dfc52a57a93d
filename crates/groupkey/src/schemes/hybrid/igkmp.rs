//! IGKMP, the intra-domain group key management protocol: a domain of areas. The controller draws
//! the group key and hands it to the areas' controllers, and each of them to the members of its own
//! area, under an area key that it changes when its own members do.
//!
//! Source: Hardjono, Cain, Monga, draft-ietf-ipsec-intragkm and draft-irtf-smug-intragkm, 2000; DeCleene
//! et al., MILCOM 2001; how it was measured: S002. Class: hybrid; the drafts' domain key distributor
//! is the controller, their area key distributors are the subgroup controllers. Provenance:
//! reconstructed: the drafts give roles and keys; messages are ours.
//!
//! S subgroups with members; n members, m of them in the subgroup in which one joins (after it did)
//! or leaves (before it does):
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 2 keys | m wraps of 2 keys | 1 unwrap |
//! | add | S + 1 unicasts, S multicasts | S wraps | 2 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | remove | S + m - 1 unicasts, S - 1 multicasts | S wraps | m - 1 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | rekey | S unicasts, S multicasts | S wraps | | 1 wrap | 1 unwrap |
//! | catch up | 1 request, 1 unicast | | 1 wrap of 2 keys | | 1 unwrap |
//!
//! The first member of a subgroup is welcomed without a multicast. A subgroup controller opens one
//! wrapped key more. Profiles: `sound` is the drafts' form, above.
//! `published` is what S002 measured: no area keys, every subgroup controller sends the group key to
//! each of its members singly at every change, S + n messages of one wrapped key.
//!
//! Keys held: controller S + 1; subgroup controller m + 3 (`published`: m + 2); member 3 (2).
//!
//! Bodies, after the list of members that `domain` describes: `{GK'}_shared`. To members:
//! `{AK', GK'}_individual` (`published`: `{GK'}_individual`), `slot of the newcomer, {AK', GK'}_AK`,
//! and `{GK'}_AK` where nobody comes or goes.
//!
//! Deviations: the controller sends to each subgroup controller singly, where the drafts also have a
//! key that all of them share; members that move to another area leave and join; a member that missed
//! rekeys asks its subgroup controller.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, SubgroupId};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{
    Claims, Class, Law, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme,
};
use crate::schemes::centralized::key_server::{Admission, Membership};
use crate::schemes::hybrid::domain::{self, Change, Domain, DomainServer};
use crate::schemes::hybrid::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment, unwrap_own,
};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    id: "igkmp",
    name: "IGKMP, intra-domain group key management protocol",
    class: Class::Hybrid,
    provenance: Provenance::Reconstructed,
    source: "Hardjono, Cain and Monga 2000; DeCleene et al. 2001; S002",
    operations: &[Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey],
    law: Law::OneKey,
    recovery: Recovery::Request,
    claims: Claims::ALL,
    published_claims: Claims::ALL,
    parameters: &[SUBGROUPS],
    members: MEMBERS,
    parties: Parties::Hybrid {
        controller: |configuration| Box::new(Controller::new(configuration.value(SUBGROUPS.name))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
};

/// The controller.
#[derive(Debug)]
pub struct Controller {
    pub(super) domain: Domain,
}

/// A subgroup's controller.
#[derive(Debug)]
pub struct SubgroupController {
    pub(super) profile: Profile,
    pub(super) subgroup: Subgroup,
    /// Shared by the subgroup; wraps what nobody outside needs.
    pub(super) area_key: Key,
}

/// A member.
#[derive(Debug)]
pub struct Member {
    pub(super) profile: Profile,
    pub(super) membership: Membership,
    pub(super) area_key: Key,
}

/// Carries the group key to a subgroup's controller.
const GROUP_KEY: u8 = 0;

/// Carries what a member needs under its individual key.
const KEYS: u8 = 0;
/// Carries new keys under the old area key, when somebody joins the subgroup.
const REFRESH: u8 = 1;
/// Carries the group key under the area key.
const REKEY: u8 = 2;
/// Asks for the current keys.
const REQUEST: u8 = 3;

impl Controller {
    /// A controller without members, for so many subgroups.
    pub fn new(subgroups: u32) -> Self {
        Self { domain: Domain::new(subgroups) }
    }
}

impl DomainServer for Controller {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn domain_mut(&mut self) -> &mut Domain {
        &mut self.domain
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &Change) {
        let group_key = cx.random_key();
        self.domain.enter_next(cx, group_key.clone());
        let epoch = self.domain.epoch();
        for station in self.domain.stations() {
            self.domain
                .draft(cx, station, change, GROUP_KEY)
                .wrapped(&station.key, epoch, 0, [&group_key])
                .send();
        }
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.change(cx, &Change::period());
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
        Footprint { permanent: self.domain.key_bytes(), temporary: Key::BYTES }
    }
}

impl SubgroupController {
    /// A controller of a subgroup without members.
    pub fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { profile, subgroup: Subgroup::new(id), area_key: Key::default() }
    }

    /// To a member, under its individual key, all that it needs.
    fn send_keys(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some((epoch, group_key)) = self.subgroup.membership.group_key() else { return };
        let roster = &self.subgroup.roster;
        let mut draft = cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS);
        match self.profile {
            Profile::Published => draft.wrapped(roster.key(slot), epoch, 0, [group_key]),
            Profile::Sound => {
                draft.wrapped(roster.key(slot), epoch, 0, [&self.area_key, group_key])
            }
        };
        draft.send();
    }

    fn send_keys_to_all(&self, cx: &mut Context<'_>, operation: Operation) {
        cx.reserve(self.subgroup.roster.len(), cx.wrapped_length(2) + 2);
        self.subgroup.slots().for_each(|slot| self.send_keys(cx, slot, operation));
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
        open_key(&self.subgroup, cx, message, body, GROUP_KEY)
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        group_key: Key,
    ) {
        let (epoch, operation) = (message.header().epoch, message.header().operation);
        self.subgroup.membership.enter(cx, epoch, group_key.clone());
        if self.profile == Profile::Published {
            return self.send_keys_to_all(cx, operation);
        }
        let everybody = self.subgroup.everybody();
        match change {
            LocalChange::Created | LocalChange::Left(_) => {
                self.area_key = cx.random_key();
                self.send_keys_to_all(cx, operation);
            }
            LocalChange::Joined(slot) => {
                let old = core::mem::replace(&mut self.area_key, cx.random_key());
                self.send_keys(cx, slot, operation);
                if self.subgroup.roster.len() == 1 {
                    // Nobody has the old area key, or there never was one, which is worse.
                    return;
                }
                cx.draft(everybody, epoch, operation, REFRESH)
                    .number(u64::from(slot))
                    .wrapped(&old, epoch, 0, [&self.area_key, &group_key])
                    .send();
            }
            LocalChange::Nobody => cx
                .draft(everybody, epoch, operation, REKEY)
                .wrapped(&self.area_key, epoch, 1, [&group_key])
                .send(),
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_keys(cx, slot, Operation::CatchUp);
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
        let area_key = area_key_bytes(self.profile, self.group_key().is_some());
        Footprint { permanent: self.subgroup.key_bytes() + area_key, temporary: 2 * Key::BYTES }
    }
}

impl Member {
    /// A member that is not enrolled yet.
    pub fn new(profile: Profile) -> Self {
        Self { profile, membership: Membership::of_a_subgroup(), area_key: Key::default() }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        self.membership.enrolment()?;
        let header = message.header();
        let mut body = message.body();
        let newcomer = if header.kind == REFRESH { Some(body.number32()?) } else { None };
        let wrapped = body.bytes()?;
        body.finish()?;
        match (self.profile, header.operation, header.kind) {
            (Profile::Published, _, KEYS) => {
                self.membership.admit(message)?;
                let [group_key] = unwrap_own(&self.membership, cx, message, 0, wrapped)?;
                self.membership.enter(cx, header.epoch, group_key);
            }
            (Profile::Sound, _, KEYS) => {
                self.membership.admit(message)?;
                let keys = unwrap_own(&self.membership, cx, message, 0, wrapped)?;
                self.enter(cx, header.epoch, keys);
            }
            (Profile::Sound, Operation::Add, REFRESH) => {
                let Some(newcomer) = newcomer else { return Ok(()) };
                if self.membership.is_own_joining(message, newcomer)? {
                    return Ok(());
                }
                self.must_continue(message)?;
                let mut keys = [Key::default(), Key::default()];
                cx.unwrap_keys(&self.area_key, header.epoch, 0, wrapped, &mut keys)?;
                self.enter(cx, header.epoch, keys);
            }
            (Profile::Sound, Operation::Add | Operation::Remove | Operation::Rekey, REKEY) => {
                self.must_continue(message)?;
                let group_key = cx.unwrap_key(&self.area_key, header.epoch, 1, wrapped)?;
                self.membership.enter(cx, header.epoch, group_key);
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        Ok(())
    }

    /// A multicast is for those who hold the area key.
    fn must_continue(&self, message: &Message<'_>) -> Result<(), Error> {
        match self.membership.admit(message)? {
            Admission::Continues => Ok(()),
            Admission::StartsAnew => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch, [area_key, group_key]: [Key; 2]) {
        self.area_key = area_key;
        self.membership.enter(cx, epoch, group_key);
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
        let area_key = area_key_bytes(self.profile, self.group_key().is_some());
        Footprint { permanent: self.membership.key_bytes() + area_key, temporary: 2 * Key::BYTES }
    }
}

/// Bytes of the area key, where there is one.
fn area_key_bytes(profile: Profile, joined: bool) -> usize {
    if joined && profile == Profile::Sound { Key::BYTES } else { 0 }
}
