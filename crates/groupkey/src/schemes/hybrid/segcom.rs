//! SeGCom, secure group communication in a cluster tree: the keys and changes of IGKMP, with
//! clusters as areas. It differs in how a node that missed changes returns. The node's request
//! climbs the tree to the coordinator with a nonce. The answer comes down the same path and proves
//! that it is fresh.
//!
//! Source: Gaddour, Koubâa, Abid, "SeGCom: a secure group communication mechanism in cluster-tree
//! wireless sensor networks", COMNET 2009. Class: hybrid; the coordinator of the ZigBee-like tree
//! is the controller, cluster heads are the subgroup controllers. Provenance: reconstructed: the
//! abstract says that there is group management beside key distribution; keys, messages and changes
//! are ours.
//!
//! | operation | messages | primitives |
//! |---|---|---|
//! | create, add, remove, rekey | as `igkmp` | as `igkmp` |
//! | catch up | 4 unicasts | controller 1 wrap of 2 keys, cluster head 1 unwrap and 1 wrap of 3 keys (`published`: 2), member 1 unwrap; for each of these wraps and unwraps 1 derivation |
//! | resume | as `igkmp` | as `igkmp` |
//!
//! A cluster without members of the group receives no messages. Profiles: those of `igkmp`. S002
//! did not measure SeGCom: `published` only shows the cost of a cluster without a key of its own.
//!
//! Keys held: as in `igkmp`; a member holds one more while its request is under way.
//!
//! Bodies: those of `igkmp`. The member's request: `nonce`. The same, on to the controller:
//! `member id, nonce`. The answer: `member id, {GK, nonce + 1}`. The answer, on to the member:
//! `{CK, GK, nonce + 1}` (`published` without CK). The wrapped content differs for each request of
//! an epoch, and so does the key that wraps it. The key between controller and cluster head is
//! derived from their shared key, the member and the header's nonce. The key between cluster head
//! and member is derived from the individual key and the request's own nonce.
//!
//! Deviations: the MAC over a request is that of the message. A node first enters by the driver's
//! command at the controller, as in all schemes here. The nonces serve members that come back. They
//! prove freshness by the individual key, in addition to the header's nonce, which every catch-up
//! has here.

use alloc::boxed::Box;

use crate::catching_up::Nonce;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::subgroup::resumption;
use crate::outbox::Recipient;
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::schemes::hybrid::igkmp;
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "segcom",
    "SeGCom, secure group communication in cluster trees",
    Provenance::Reconstructed,
    "Gaddour, Koubaa and Abid 2009",
    Parties::Hybrid {
        controller: |configuration| Box::new(Controller::new(configuration.value(&SUBGROUPS))),
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(igkmp::SCHEME.operations)
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

/// The controller: the coordinator.
#[derive(Debug)]
pub(crate) struct Controller {
    igkmp: igkmp::Distributor,
}

state!(Controller { igkmp });

/// A subgroup's controller: a cluster head.
#[derive(Debug)]
pub(crate) struct SubgroupController {
    igkmp: igkmp::SubgroupController,
}

state!(SubgroupController { igkmp });

#[derive(Debug)]
pub(crate) struct Member {
    igkmp: igkmp::AreaMember,
    /// The nonce of the request that is under way.
    nonce: Option<Key>,
}

/// A request, on its way up. IGKMP uses the lower kinds.
const REQUEST: u8 = 4;
/// The answer, on its way down.
const ANSWER: u8 = 5;

impl Controller {
    /// Creates a controller without members, for this many clusters.
    pub(crate) fn new(subgroups: u32) -> Self {
        Self { igkmp: igkmp::Distributor::new(subgroups) }
    }

    /// Answers a member's request that a cluster head handed on.
    fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let PartyId::SubgroupController(cluster) = message.header().sender else {
            return Err(Misbehaviour::UnexpectedSender.into());
        };
        if (message.header().operation, message.header().kind) != (Operation::CatchUp, REQUEST) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let member = MemberId(body.number32()?);
        let nonce = body.key()?;
        body.finish()?;
        let domain = &self.igkmp.domain;
        let here = domain.current(member) == Ok(cluster);
        let (Some((epoch, group_key)), true) = (domain.group_key(), here) else {
            return Err(Misbehaviour::InvalidRoster.into());
        };
        let kek = key_above(cx, &domain.station(cluster).key, member);
        cx.draft(message.header().sender.into(), epoch, Operation::CatchUp, ANSWER)
            .number(u64::from(member.0))
            .wrapped(&kek, epoch, 0, [group_key, &successor(&nonce)])
            .send();
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message) if !resumption::is_request(&message) => {
                self.answer(cx, &message)
            }
            _ => self.igkmp.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.igkmp.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.igkmp.footprint()
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the head of a cluster without members.
    pub(crate) fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { igkmp: igkmp::SubgroupController::new(profile, id) }
    }

    fn hand_up(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        let mut body = message.body();
        let nonce: &[u8; Key::BYTES] =
            body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        body.finish()?;
        let subgroup = &self.igkmp.area.subgroup;
        subgroup.roster.current(member).map_err(|_| Misbehaviour::UnexpectedSender)?;
        let epoch = subgroup.membership.epoch();
        cx.draft(Recipient::Controller, epoch, Operation::CatchUp, REQUEST)
            .number(u64::from(member.0))
            .bytes(nonce)
            .send();
        Ok(())
    }

    fn hand_down(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let subgroup = &self.igkmp.area.subgroup;
        let mut body = message.body();
        let member = MemberId(body.number32()?);
        let wrapped = body.bytes()?;
        body.finish()?;
        let current = subgroup.membership.epoch();
        message.require_epoch(current)?;
        let slot = subgroup.roster.current(member).map_err(|_| Misbehaviour::InvalidRoster)?;
        let kek = key_above(cx, &subgroup.membership.enrolment()?.key, member);
        let [group_key, nonce] = unwrap(cx, &kek, current, wrapped)?;
        let kek = key_below(cx, subgroup.roster.key(slot), &nonce);
        let mut draft = cx.draft(Recipient::Member(member), current, Operation::CatchUp, ANSWER);
        match &self.igkmp.area.area_key {
            None => draft.wrapped(&kek, current, 0, [&group_key, &nonce]),
            Some(area_key) => draft.wrapped(&kek, current, 0, [area_key, &group_key, &nonce]),
        };
        draft.send();
        Ok(())
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        let Input::Message(message) = &input else { return self.igkmp.step(cx, input) };
        match (message.header().operation, message.header().sender, message.header().kind) {
            (Operation::CatchUp, PartyId::Member(_), REQUEST) => self.hand_up(cx, message),
            (Operation::CatchUp, PartyId::Controller, ANSWER) => self.hand_down(cx, message),
            // A cluster head itself catches up as all subgroup controllers do.
            (Operation::CatchUp, PartyId::Controller, _) => self.igkmp.step(cx, input),
            (Operation::CatchUp, ..) => Err(Misbehaviour::UnexpectedMessage.into()),
            _ => self.igkmp.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.igkmp.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.igkmp.footprint()
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self { igkmp: igkmp::AreaMember::new(profile), nonce: None }
    }

    /// Asks for the keys that it missed. A later request replaces an earlier one.
    fn ask(&mut self, cx: &mut Context<'_>) {
        let nonce = cx.random_key();
        let membership = &mut self.igkmp.membership;
        let server = membership.server().into();
        membership.ask(cx, server, REQUEST).bytes(nonce.as_bytes()).send();
        self.nonce = Some(nonce);
    }

    fn take_answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let igkmp = &mut self.igkmp;
        message.require_sender(igkmp.membership.server())?;
        igkmp.membership.admit(message)?;
        let expected = self.nonce.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let expected = successor(expected);
        let mut body = message.body();
        let wrapped = body.bytes()?;
        body.finish()?;
        let epoch = message.header().epoch;
        let kek = key_below(cx, &igkmp.membership.enrolment()?.key, &expected);
        let (area_key, group_key, nonce) = if igkmp.profile.is_published() {
            let [group_key, nonce] = unwrap(cx, &kek, epoch, wrapped)?;
            (None, group_key, nonce)
        } else {
            let [area_key, group_key, nonce] = unwrap(cx, &kek, epoch, wrapped)?;
            (Some(area_key), group_key, nonce)
        };
        if nonce != expected {
            return Err(Misbehaviour::Replayed.into());
        }
        igkmp.area_key = area_key;
        igkmp.membership.enter(cx, epoch, group_key);
        self.nonce = None;
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match &input {
            Input::Command(Command::CatchUp) => {
                self.ask(cx);
                Ok(())
            }
            // A cluster head that was away itself sends another kind, for which no member asked.
            Input::Message(message)
                if (message.header().operation, message.header().kind)
                    == (Operation::CatchUp, ANSWER) =>
            {
                self.take_answer(cx, message)
            }
            _ => self.igkmp.step(cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.igkmp.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.igkmp.footprint()
    }
}

/// Derives the key that wraps an answer between controller and cluster head. A party may ask twice
/// with one nonce in the header and two in the requests. It gets two answers under one key, but
/// knows the content of both.
fn key_above(cx: &mut Context<'_>, shared: &Key, member: MemberId) -> Key {
    let mut context = [0; 4 + Nonce::BYTES];
    context[..4].copy_from_slice(&member.0.to_be_bytes());
    context[4..].copy_from_slice(&cx.nonce().unwrap_or_default().0);
    cx.derive(shared, "groupkey segcom answer", &context)
}

/// Derives the key that wraps an answer with this nonce between cluster head and member.
fn key_below(cx: &mut Context<'_>, individual: &Key, nonce: &Key) -> Key {
    cx.derive(individual, "groupkey segcom answer", nonce.as_bytes())
}

fn unwrap<const KEYS: usize>(
    cx: &mut Context<'_>,
    kek: &Key,
    epoch: Epoch,
    wrapped: &[u8],
) -> Result<[Key; KEYS], Error> {
    let mut keys = core::array::from_fn(|_| Key::default());
    cx.unwrap_keys(kek, epoch, 0, wrapped, &mut keys)?;
    Ok(keys)
}

fn successor(nonce: &Key) -> Key {
    Key::from_bytes(u128::from_be_bytes(*nonce.as_bytes()).wrapping_add(1).to_be_bytes())
}
