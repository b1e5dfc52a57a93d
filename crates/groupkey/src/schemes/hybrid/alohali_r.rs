//! Alohali-R, a stand-in: the group key goes from the controller through subgroup controllers to
//! members, in one pass of symmetric encryption. The members' keys are derived, so no party stores
//! a key for each member.
//!
//! Source: none. S002 measured a scheme under this name: Alohali, Vassilakis, Moscholios,
//! Logothetis, "A secure scheme for group communication of wireless IoT devices", CSNDSP 2018. Only
//! the first sentences of its text could be read. Class: hybrid. Provenance: **stand-in: this is
//! not the authors' algorithm**. It is ours and fits what S002 reports: creation only; a member
//! below 1 ms with 16 B, a subgroup controller below 1 KB and with negligible time, a controller
//! below 0.5 s and 20 KB.
//!
//! S subgroups with members; n members, m of them in a subgroup:
//!
//! | operation | messages | controller | subgroup controller | member |
//! |---|---|---|---|---|
//! | create, rekey | S + n unicasts | S wraps | 1 unwrap, m wraps, m derivations | 1 unwrap |
//! | catch up | 1 request, 1 unicast | | 1 wrap, 1 derivation | 1 unwrap |
//! | resume | 2 + m unicasts | 1 wrap | 1 unwrap, m wraps, m derivations | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! Enrolment takes a derivation for each member. Members cannot join or leave: those operations are
//! not supported. A new period is a creation with the next epoch.
//!
//! Profiles: `sound`, above, sends to each member under its own key. `published` sends one
//! multicast under a pre-loaded area key: S unicasts and S multicasts, 1 wrap at a subgroup
//! controller and no derivation. S002's negligible time asks for this. In `published` every member
//! of a subgroup holds the key that wraps the next group key, so a stolen area key opens all group
//! keys.
//!
//! Keys held: controller S + 1; subgroup controller 3 (`published` 4); member 2 (3).
//!
//! Bodies, after the list of members that `domain` describes: `{GK}shared`. To members:
//! `{GK}_individual`, or `{GK}area key`; in the deployment phase also `area key`.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::subgroup::distributor::{self, GROUP_KEY};
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, open_key, take_enrolment, unwrap_own,
};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "alohali-r",
    "Alohali-R, a stand-in for Alohali et al.",
    Provenance::StandIn,
    "ours; for Alohali, Vassilakis, Moscholios and Logothetis 2018",
    Parties::Hybrid {
        controller: |configuration| Box::new(Controller::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(&[Operation::Create, Operation::Rekey])
.with_recovery(Recovery::Request)
.with_claims(Claims { forward_secrecy: false, backward_secrecy: false, ..Claims::ALL })
.with_parameters(&[SUBGROUPS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &[Operation::Create]),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create]).only_sound(),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Create]).only_published(),
    Growth::of(Role::Member, Form::Constant, &[Operation::Create]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    distributor: distributor::Distributor,
}

state!(Controller { distributor });

#[derive(Debug)]
pub(crate) struct SubgroupController {
    profile: Profile,
    subgroup: Subgroup,
    /// Only in the `published` profile.
    area_key: Option<Key>,
}

state!(SubgroupController { subgroup, area_key });

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    membership: ServedMembership,
    /// Only in the `published` profile.
    area_key: Option<Key>,
}

/// Hands a member the area key. This kind is additional to those of every enrolment.
const AREA_KEY: u8 = 2;

/// Carries the group key under a member's individual key.
const KEY: u8 = 0;
/// Carries the group key under the area key.
const REKEY: u8 = 1;
/// Asks for the group key.
const REQUEST: u8 = 3;

impl Controller {
    /// Creates a controller without members, for this many subgroups.
    pub(crate) fn new(subgroups: u32) -> Self {
        Self { distributor: distributor::Distributor::new(subgroups) }
    }
}

impl DomainServer for Controller {
    const CHANGES: bool = false;

    fn domain(&self) -> &Domain {
        self.distributor.domain()
    }

    fn domain_mut(&mut self) -> &mut Domain {
        self.distributor.domain_mut()
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange) {
        self.distributor.change(cx, change);
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, standing: &DomainChange) {
        self.distributor.tell(cx, station, standing);
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.distributor.period(cx)
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        domain::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.distributor.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.distributor.footprint()
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { profile, subgroup: Subgroup::with_derived_keys(id), area_key: None }
    }

    fn send_key(&self, cx: &mut Context<'_>, slot: u32, operation: Operation) {
        let Some((epoch, group_key)) = self.subgroup.membership.group_key() else { return };
        let roster = &self.subgroup.roster;
        let individual = roster.individual_key(cx, slot);
        cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEY)
            .wrapped(&individual, epoch, 0, [group_key])
            .send();
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

    fn enrolled(&mut self, cx: &mut Context<'_>, members: &[MemberId]) {
        if self.profile == Profile::Sound {
            return;
        }
        let area_key = self.area_key.get_or_insert_with(|| cx.random_key());
        let epoch = self.subgroup.membership.epoch();
        for &member in members {
            let to = Recipient::Member(member);
            cx.confidential_draft(to, epoch, Operation::Enroll, AREA_KEY).secret(area_key).send();
        }
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
        self.subgroup.membership.enter(cx, epoch, group_key.clone());
        match &self.area_key {
            Some(area_key) if change != LocalChange::Resumed => cx
                .draft(self.subgroup.everybody(), epoch, operation, REKEY)
                .wrapped(area_key, epoch, 0, [&group_key])
                .send(),
            _ => self.subgroup.slots().for_each(|slot| self.send_key(cx, slot, operation)),
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_key(cx, slot, Operation::CatchUp);
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
        let area_key = if self.area_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.subgroup.key_bytes() + area_key, temporary: Key::BYTES }
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { profile, membership: ServedMembership::of_a_subgroup(), area_key: None }
    }

    fn take_area_key(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let mut body = message.body();
        let area_key = body.key()?;
        body.finish()?;
        // The enrolment comes first: it says which party may send the area key.
        self.membership.enrolment()?;
        message.require_sender(self.membership.server())?;
        if self.profile == Profile::Sound || self.area_key.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.area_key = Some(area_key);
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let from_subgroup = matches!(header.sender, PartyId::SubgroupController(_));
        if (header.operation, header.kind, from_subgroup) == (Operation::Enroll, AREA_KEY, true) {
            return self.take_area_key(message);
        }
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        self.membership.enrolment()?;
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        let group_key = match (header.operation, header.kind, &self.area_key) {
            (Operation::Create | Operation::Rekey | Operation::CatchUp, KEY, _) => {
                self.membership.admit(message)?;
                let [group_key] = unwrap_own(&self.membership, cx, message, 0, wrapped)?;
                group_key
            }
            (Operation::Create | Operation::Rekey, REKEY, Some(area_key)) => {
                self.membership.admit(message)?;
                cx.unwrap_key(area_key, header.epoch, 0, wrapped)?
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
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
        let area_key = if self.area_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.membership.key_bytes() + area_key, temporary: 0 }
    }
}
