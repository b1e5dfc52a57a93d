//! IGKMP, the intra-domain group key management protocol: a domain of areas. The controller draws
//! the group key and hands it to the areas' controllers. Each of them hands it to the members of
//! its own area, under an area key that it changes when its own members change.
//!
//! Source: Hardjono, Cain, Monga, draft-ietf-ipsec-intragkm and draft-irtf-smug-intragkm, 2000;
//! DeCleene et al., MILCOM 2001; how it was measured: S002. Class: hybrid; the drafts' domain key
//! distributor is the controller, their area key distributors are the subgroup controllers.
//! Provenance: reconstructed: the drafts give roles and keys; messages are ours.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps | m wraps of 2 keys | m wraps of 2 keys | 1 unwrap |
//! | add | S + 1 unicasts, S multicasts | S wraps | 2 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | remove | S + m - 1 unicasts, S - 1 multicasts | S wraps | m - 1 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | rekey | S unicasts, S multicasts | S wraps | | 1 wrap | 1 unwrap |
//! | catch up | 1 request, 1 unicast | | 1 wrap of 2 keys | | 1 unwrap |
//! | resume | 2 + m unicasts | 1 wrap | m wraps of 2 keys | | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! The first member of a subgroup is welcomed without a multicast. A subgroup controller also opens
//! one wrapped key. Profiles: `sound` is the drafts' form, above. `published` is what S002
//! measured: there are no area keys. At every change, every subgroup controller sends the group key
//! to each of its members singly: S + n messages of one wrapped key.
//!
//! Keys held: controller S + 1; subgroup controller m + 3 (`published`: m + 2); member 3 (2).
//!
//! Bodies, after the list of members that `domain` describes: `{GK'}_shared`. To members:
//! `{AK', GK'}_individual` (`published`: `{GK'}_individual`),
//! `slot of the joining member, {AK', GK'}_AK`, and `{GK'}_AK` if no member joins or leaves.
//!
//! Deviations: the controller sends to each subgroup controller singly, where the drafts also have
//! a key that all of them share. Members that move to another area leave and join. A member that
//! missed rekeys asks its subgroup controller.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::Error;
use crate::identity::{Epoch, SubgroupId};
use crate::mechanisms::subgroup::area::{Area, REQUEST};
use crate::mechanisms::subgroup::distributor::GROUP_KEY;
use crate::mechanisms::subgroup::{self, LocalChange, Subgroup, SubgroupServer, open_key};
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) use crate::mechanisms::subgroup::area::AreaMember;
pub(crate) use crate::mechanisms::subgroup::distributor::Distributor;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "igkmp",
    "IGKMP, intra-domain group key management protocol",
    Provenance::Reconstructed,
    "Hardjono, Cain and Monga 2000; DeCleene et al. 2001; S002",
    Parties::Hybrid {
        controller: |configuration| Box::new(Distributor::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(AreaMember::new(configuration.profile())),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_parameters(&[SUBGROUPS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add]).only_sound(),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add]).only_published(),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct SubgroupController {
    pub(super) area: Area,
}

state!(SubgroupController { area });

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { area: Area::new(profile, id) }
    }
}

impl SubgroupServer for SubgroupController {
    type News = Key;

    const REQUEST: u8 = REQUEST;

    fn subgroup(&self) -> &Subgroup {
        &self.area.subgroup
    }

    fn subgroup_mut(&mut self) -> &mut Subgroup {
        &mut self.area.subgroup
    }

    fn open(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        body: Reader<'_>,
    ) -> Result<Key, Error> {
        open_key(&self.area.subgroup, cx, message, body, GROUP_KEY)
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        group_key: Key,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        self.area.enter(cx, epoch, operation, change, &group_key);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.area.send_keys(cx, slot, Operation::CatchUp);
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        subgroup::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.area.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.area.key_bytes(), temporary: 2 * Key::BYTES }
    }

    party_state!();
}
