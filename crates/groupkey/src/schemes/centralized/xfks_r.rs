//! XFKS-R, a stand-in for XFKS: a star that masks, as SBSA-R does, with masks of adjustable cost.
//! On a join the members are sent no key: they compute it.
//!
//! Source: none. S002 measures a scheme XFKS, which could not be identified; this is a scheme of
//! ours with the same profile of costs. Class: centralized. Provenance: stand-in. S002 section 5.1
//! says the following of XFKS, and this scheme meets it as shown. l is the parameter `iterations`:
//!
//! - X1, the member is the slowest, below 47 ms whatever n: l steps, whatever n. Their time in ms
//!   depends on l.
//! - X2, the controller's removal is the slowest of all, below 20 s: n - 1 times l steps. By the
//!   lab's prices for S000's devices this holds with l from some 40 to 130 and 55,000 members. The
//!   member then takes 5 to 14 ms. No l gives the 47 ms and the 20 s together.
//! - X3, its add takes less than 1 s: two chains.
//! - X4, creation is not among the three slowest: it costs what a removal costs.
//! - X5, the controller stores less than 0.1 MB and a member less than 0.5 KB: three keys each.
//!
//! A step is a hash. The controller derives an individual key for each unicast that it sends. The
//! table counts hashes:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | create, n members | n unicasts of 1 masked key | nl + n | l + 1 |
//! | add | 1 unicast of 1 masked key, 1 broadcast of none | 2l + 2 | l + 1 |
//! | remove, from n members | n - 1 unicasts | (n - 1)l + n - 1 | l + 1 |
//! | rekey, n members | n unicasts | nl + n | l + 1 |
//! | catch up | 1 request, 1 unicast | l + 1 | l + 1 |
//!
//! In `published` all members get the same confirmation: nl + 1 hashes at a creation and a rekey,
//! (n - 1)l + 1 at a removal. In `sound` every member derives the group key, once for each traffic key.
//!
//! Keys held: controller 3, the master key, the traffic key and the group key; member 3.
//! Individual keys are derived from the master key (`individual_keys.rs`).
//!
//! Profiles: as in SBSA-R, the confirmation of `published` is the same for every member; that of
//! `sound` is made under the receiver's individual key. `published` uses the traffic key as group
//! key; `sound` derives the group key from it.
//!
//! The next traffic key is random, except after a join, where it is F(traffic key). Only a party
//! that has the current traffic key computes it. A joining member cannot compute the earlier ones.
//!
//! Bodies: an entry is `traffic key' XOR mask, confirmation`. The notice of a join is the joining
//! member's slot and a commitment to the traffic key.
//!
//! Claims: `published` does not claim key independence. The traffic key is the group key, and gives
//! the traffic keys of all later epochs up to the next removal. In `sound` group keys are derived
//! from it, each for its epoch, and no group key gives another (the tests show both).
//!
//! What breaks it: in `published`, the attack on SBSA-R. In both profiles a member can forge the
//! notice of a join that never took place. Signatures prevent that.
//!
//! Deviations: there is nothing to deviate from.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::key_server::{KeyServer, ServedGroup, ServedMembership};
use crate::mechanisms::masking::{ENTRY, ENTRY_BYTES, Masking, commitment};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::state;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "xfks-r",
    "XFKS-R, stand-in for XFKS: a star with costly masks",
    Provenance::StandIn,
    "none: costs as S002 section 5.1 reports of XFKS",
    Parties::Centralized {
        controller: |configuration| {
            let iterations = configuration.value(&ITERATIONS);
            Box::new(Controller::new(configuration.profile(), iterations))
        },
        member: |configuration, _| {
            let iterations = configuration.value(&ITERATIONS);
            Box::new(Member::new(configuration.profile(), iterations))
        },
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(PUBLISHED_CLAIMS)
.with_parameters(&[ITERATIONS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// Until a removal, the group key of one epoch gives the group keys of the later epochs.
const PUBLISHED_CLAIMS: Claims = Claims { key_independence: false, ..Claims::ALL };

/// The cost of a mask and of a join.
const ITERATIONS: Parameter = Parameter {
    name: "iterations",
    meaning: "steps that a mask takes, and a join's next key",
    sound: 1,
    published: 1,
    range: (1, 1_000),
};

#[derive(Debug)]
pub(crate) struct Controller {
    masking: Masking,
    profile: Profile,
    group: ServedGroup,
    traffic_key: Key,
}

state!(Controller { group, traffic_key });

#[derive(Debug)]
pub(crate) struct Member {
    masking: Masking,
    profile: Profile,
    membership: ServedMembership,
    traffic_key: Key,
}

/// Announces a join. The kind below is in `masking`.
const NOTICE: u8 = 1;
/// Asks for the current traffic key.
const REQUEST: u8 = 2;

/// Two links of a chain, or a mask and the key that it is made from or for.
const TEMPORARY: usize = 2 * Key::BYTES;

impl Controller {
    /// Creates a controller without members. Its masks take this many steps, at least one.
    pub(crate) fn new(profile: Profile, iterations: u32) -> Self {
        Self {
            masking: Masking::new(profile, iterations),
            profile,
            group: ServedGroup::with_derived_keys(),
            traffic_key: Key::default(),
        }
    }

    /// Sends a random traffic key to every member.
    fn begin_anew(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let traffic_key = cx.random_key();
        self.begin_epoch(cx, traffic_key);
        let roster = &self.group.roster;
        cx.reserve(roster.len(), ENTRY_BYTES);
        let everybody = roster.current_slots();
        self.masking.send(cx, &self.group, operation, everybody, &self.traffic_key);
    }

    fn begin_epoch(&mut self, cx: &mut Context<'_>, traffic_key: Key) {
        let group_key = group_key(cx, self.profile, self.group.epoch.next(), &traffic_key);
        self.traffic_key = traffic_key;
        self.group.enter_next(cx, group_key);
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
        let epoch = self.group.epoch.next();
        let traffic_key = after_join(cx, self.masking, epoch, &self.traffic_key);
        self.begin_epoch(cx, traffic_key);
        self.masking.send(cx, &self.group, Operation::Add, [slot], &self.traffic_key);
        let commitment = commitment(cx, epoch, &self.traffic_key);
        cx.draft(Recipient::Group, epoch, Operation::Add, NOTICE)
            .number(u64::from(slot))
            .bytes(commitment.as_bytes())
            .send();
    }

    fn remove(&mut self, cx: &mut Context<'_>, _slot: u32) {
        self.begin_anew(cx, Operation::Remove);
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.begin_anew(cx, Operation::Rekey);
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.masking.send(cx, &self.group, Operation::CatchUp, [slot], &self.traffic_key);
    }

    fn held(&self) -> Footprint {
        let traffic_key = if self.group_key().is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.group.key_bytes() + traffic_key, temporary: TEMPORARY }
    }
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, iterations: u32) -> Self {
        Self {
            masking: Masking::new(profile, iterations),
            profile,
            membership: ServedMembership::default(),
            traffic_key: Key::default(),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.membership.take_enrolment(message)? {
            return Ok(());
        }
        match (message.header().operation, message.header().kind) {
            (_, ENTRY) => self.take_entry(cx, message),
            (Operation::Add, NOTICE) => self.follow_join(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn take_entry(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.membership.admit(message)?;
        let epoch = message.header().epoch;
        let individual = &self.membership.enrolment()?.key;
        let traffic_key = self.masking.receive(cx, individual, epoch, message.body())?;
        self.enter(cx, epoch, traffic_key);
        Ok(())
    }

    /// Follows another member's join: the next traffic key follows from the current one.
    fn follow_join(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let epoch = message.header().epoch;
        let mut body = message.body();
        let newcomer = body.number32()?;
        let expected = body.key()?;
        body.finish()?;
        if self.membership.is_own_joining(message, newcomer)? {
            return Ok(());
        }
        self.membership.require_continuation(message)?;
        let traffic_key = after_join(cx, self.masking, epoch, &self.traffic_key);
        if commitment(cx, epoch, &traffic_key) != expected {
            return Err(Misbehaviour::WrongKey.into());
        }
        self.enter(cx, epoch, traffic_key);
        Ok(())
    }

    fn enter(&mut self, cx: &mut Context<'_>, epoch: Epoch, traffic_key: Key) {
        let group_key = group_key(cx, self.profile, epoch, &traffic_key);
        self.traffic_key = traffic_key;
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
        let traffic_key = if self.group_key().is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.membership.key_bytes() + traffic_key, temporary: TEMPORARY }
    }
}

fn after_join(cx: &mut Context<'_>, masking: Masking, epoch: Epoch, traffic_key: &Key) -> Key {
    masking.stretch(cx, traffic_key, "xfks join", epoch)
}

fn group_key(cx: &mut Context<'_>, profile: Profile, epoch: Epoch, traffic_key: &Key) -> Key {
    if profile.is_published() {
        traffic_key.clone()
    } else {
        cx.derive_for(epoch, traffic_key, "groupkey xfks group key")
    }
}

#[cfg(test)]
mod tests;
