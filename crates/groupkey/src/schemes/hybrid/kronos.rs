//! Kronos: the group key changes every period, whether or not members join or leave. The controller
//! sends no message for it. Subgroup controllers share a master key and a value with the
//! controller, and all of them compute the next value when their clocks tick.
//!
//! Source: Setia, Koussih, Jajodia, Harder, "Kronos: a scalable group re-keying approach for secure
//! multicast", IEEE S&P 2000; how it was measured: S002. Class: hybrid; the paper's key
//! distributors of the domain and of areas are the controllers. Provenance: reconstructed: only the
//! paper's abstract could be read. R_i = F(MK, R_(i-1)) is how others describe it; areas and
//! messages are those of IGKMP.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | S wraps of 2 keys | m wraps of 2 keys | m wraps of 2 keys | 1 unwrap |
//! | add | S + 1 unicasts, S multicasts | | 2 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | remove | S + m - 1 unicasts, S - 1 multicasts | S wraps of 2 keys | m - 1 wraps of 2 keys | 1 wrap | 1 unwrap |
//! | rekey | S multicasts | | | 1 wrap | 1 unwrap |
//! | rekey, new MK | S unicasts, S multicasts | S wraps of 2 keys | | 1 wrap | 1 unwrap |
//! | catch up | 1 request, 1 unicast | | 1 wrap of 2 keys | | 1 unwrap |
//! | resume | 2 + m unicasts | 1 wrap of 2 keys | m wraps of 2 keys | | 1 unwrap |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! All controllers derive 2 keys a period: R and the group key. A subgroup controller also opens MK
//! and R where they are sent. A join to a subgroup without members costs one multicast less. If its
//! controller did not follow the group before, it is sent MK and R in 1 wrap of 2 keys.
//!
//! Profiles: `sound` is the above. It replaces MK when a member leaves and when MK has served for
//! `reseed` periods. `published` is what S002 measured: the group key is R itself (1 derivation a
//! period), and MK stays. Each member is sent {R} singly: S + n messages at a change, n at a tick.
//!
//! Keys held: controller S + 3; subgroup controller m + 5; member 3. `published`: S + 2, m + 3, 2.
//! Of these, 32 B at a subgroup controller and 16 B at a member are the scheme's own, as S002's
//! figures say.
//!
//! Bodies, after the list of members that `domain` describes. Seed: a new `{MK, R}_shared`, whose
//! next R is that of the period. Tick, for a period that ends early: nothing. Welcome: the epoch
//! since which MK serves, and the present `{MK, R}_shared`. The messages to members, and the
//! members themselves, are in `area`.
//!
//! What breaks it: in `published`, a party that learns MK and one group key computes all later
//! group keys, without end. The tests show this, and that `sound` recovers with the next MK.
//!
//! Deviations: joins and leaves end the period at once, as S002 has it. In the paper they wait for
//! its end, and an evicted member reads on until then. Where the source encrypts, this scheme uses
//! a key derivation. A member that missed periods asks its subgroup controller.

use alloc::boxed::Box;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, PartyId, SubgroupId};
use crate::mechanisms::subgroup::area::{Area, REQUEST};
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::mechanisms::subgroup::{
    self, LocalChange, OPENING, Subgroup, SubgroupServer, unwrap_own,
};
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, saved, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme,
};
use crate::secret::Key;
use crate::wire::{Message, Reader};

pub(crate) use crate::mechanisms::subgroup::area::AreaMember;

pub(crate) const SCHEME: Scheme = Scheme::new(
    "kronos",
    "Kronos, periodic rekeying",
    Provenance::Reconstructed,
    "Setia, Koussih, Jajodia and Harder 2000; S002",
    Parties::Hybrid {
        controller: |configuration| {
            let subgroups = configuration.value(&SUBGROUPS);
            let reseed = configuration.value(&RESEED);
            Box::new(Controller::new(configuration.profile(), reseed, subgroups))
        },
        subgroup_controller: |configuration, id| {
            let reseed = configuration.value(&RESEED);
            Box::new(SubgroupController::new(configuration.profile(), reseed, id))
        },
        member: |configuration, _| Box::new(AreaMember::new(configuration.profile())),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(Claims { key_independence: false, ..Claims::ALL })
.with_parameters(&[SUBGROUPS, RESEED])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::SubgroupController, Form::Constant, &[Operation::Add]).only_sound(),
    Growth::of(Role::SubgroupController, Form::Linear, &[Operation::Add]).only_published(),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

/// How long a master key serves.
const RESEED: Parameter = Parameter {
    name: "reseed",
    meaning: "periods that a master key serves; 0: no limit, unless a leave ends its time (sound)",
    sound: 24,
    published: 0,
    range: (0, 10_000),
};

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    reseed: u32,
    domain: Domain,
    chain: Chain,
}

state!(Controller { domain, chain });

#[derive(Debug)]
pub(crate) struct SubgroupController {
    reseed: u32,
    area: Area,
    chain: Chain,
    clock: Clock,
    /// The epoch of the controller's last message. Later epochs began with a tick.
    heard: Epoch,
}

state!(SubgroupController { area, chain, clock, heard });

/// The state from which the controllers compute group keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    /// MK.
    master: Key,
    /// R of the present period.
    value: Key,
    /// The first epoch of this master key.
    since: Epoch,
}

saved!(Chain { master, value, since });

/// A period with a new master key begins with two events in either order: this party's clock tick
/// and the controller's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// This party's tick began an epoch that the controller began with a change. This party does
    /// not know that change.
    Ahead,
    /// The message came first.
    Behind,
    /// Neither the tick nor the message came, or both did.
    InStep,
    /// The tick came first.
    Waiting,
}

saved!(Clock: Ahead, Behind, InStep, Waiting);

/// Carries a new master key to a subgroup's controller.
const SEED: u8 = 0;
/// Ends a period early.
const TICK: u8 = 1;
/// Carries the present master key to a subgroup's controller that did not follow the group or
/// missed changes.
const WELCOME: u8 = OPENING;

impl Controller {
    /// Creates a controller without members, for this many subgroups. A master key serves `reseed`
    /// periods.
    pub(crate) fn new(profile: Profile, reseed: u32, subgroups: u32) -> Self {
        Self { profile, reseed, domain: Domain::new(subgroups), chain: Chain::default() }
    }

    /// Enters the next epoch, with a new master key or with the old one.
    fn advance(&mut self, cx: &mut Context<'_>, seed: Option<&Chain>) {
        self.chain = seed.unwrap_or(&self.chain).next(cx);
        let group_key = self.chain.group_key(cx, self.profile, self.domain.epoch().next());
        self.domain.enter_next(cx, group_key);
    }

    fn needs_seed(&self, operation: Operation) -> bool {
        match operation {
            Operation::Create => true,
            Operation::Remove if self.profile == Profile::Sound => true,
            _ => self.chain.is_due(self.reseed, self.domain.epoch().next()),
        }
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
        let since = self.domain.epoch().next();
        let seed = self.needs_seed(change.operation).then(|| Chain {
            master: cx.random_key(),
            value: cx.random_key(),
            since,
        });
        self.advance(cx, seed.as_ref());
        let epoch = self.domain.epoch();
        for station in self.domain.stations() {
            match &seed {
                _ if change.opens(station.id) => self.tell(cx, station, change),
                Some(Chain { master, value, .. }) => self
                    .domain
                    .draft(cx, station, change, SEED)
                    .wrapped(&station.key, epoch, 0, [master, value])
                    .send(),
                None => self.domain.draft(cx, station, change, TICK).send(),
            }
        }
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, change: &DomainChange) {
        let Chain { master, value, since } = &self.chain;
        self.domain
            .draft(cx, station, change, WELCOME)
            .number(since.0)
            .wrapped(&station.key, self.domain.epoch(), 1, [master, value])
            .send();
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.needs_seed(Operation::Rekey) {
            self.change(cx, &DomainChange::period());
        } else {
            self.advance(cx, None);
        }
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
        let chain = chain_bytes(self.profile, self.group_key().is_some());
        Footprint { permanent: self.domain.key_bytes() + chain, temporary: 2 * Key::BYTES }
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(profile: Profile, reseed: u32, id: SubgroupId) -> Self {
        let area = Area::new(profile, id);
        Self { reseed, area, chain: Chain::default(), clock: Clock::InStep, heard: Epoch(0) }
    }

    /// Returns whether a message shows that the clock is ahead. While the clock is ahead, refuses
    /// later changes.
    fn finds_clock_ahead(&mut self, message: &Message<'_>) -> Result<bool, Error> {
        let (got, current) = (message.header().epoch, self.area.subgroup.membership.epoch());
        let is_change = matches!(
            message.header().operation,
            Operation::Add | Operation::Remove | Operation::Rekey
        );
        if message.header().sender != PartyId::Controller || !is_change || got <= self.heard {
            return Ok(false);
        }
        if got > current {
            return match self.clock {
                Clock::Ahead => Err(Misbehaviour::SkippedEpoch { got, current }.into()),
                _ => Ok(false),
            };
        }
        // A controller in step sends no message for an epoch that begins with a tick.
        self.clock = Clock::Ahead;
        Ok(true)
    }

    fn tick(&mut self, cx: &mut Context<'_>) {
        let next = self.area.subgroup.membership.epoch().next();
        match self.clock {
            // The controller has another key for this epoch, and this party cannot get it any more.
            // It asks until the answer is of a later epoch. In `Waiting`, the message must have
            // been lost.
            Clock::Ahead | Clock::Waiting => self.area.subgroup.ask(cx),
            Clock::Behind => self.clock = Clock::InStep,
            Clock::InStep if self.chain.is_due(self.reseed, next) => self.clock = Clock::Waiting,
            Clock::InStep => {
                self.chain = self.chain.next(cx);
                self.enter(cx, next, Operation::Rekey, LocalChange::Nobody);
            }
        }
    }

    /// Enters an epoch with the present chain, and sends the members its group key.
    fn enter(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        change: LocalChange,
    ) {
        let group_key = self.chain.group_key(cx, self.area.profile, epoch);
        self.area.enter(cx, epoch, operation, change, &group_key);
    }
}

impl SubgroupServer for SubgroupController {
    /// The chain of the epoch that the message leads to.
    type News = Chain;

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
        mut body: Reader<'_>,
    ) -> Result<Chain, Error> {
        let header = message.header();
        let membership = &self.area.subgroup.membership;
        match (header.operation, header.kind) {
            (Operation::Create | Operation::Add | Operation::Remove | Operation::Rekey, SEED) => {
                let wrapped = body.bytes()?;
                body.finish()?;
                let [master, value] = unwrap_own(membership, cx, message, 0, wrapped)?;
                Ok(Chain { master, value, since: header.epoch }.next(cx))
            }
            (Operation::Add | Operation::CatchUp, WELCOME) => {
                let since = Epoch(body.number()?);
                let wrapped = body.bytes()?;
                body.finish()?;
                if since > header.epoch {
                    return Err(Misbehaviour::Malformed.into());
                }
                let [master, value] = unwrap_own(membership, cx, message, 1, wrapped)?;
                Ok(Chain { master, value, since })
            }
            (Operation::Add, TICK) => {
                body.finish()?;
                Ok(self.chain.next(cx))
            }
            (Operation::Remove, TICK) if self.area.profile.is_published() => {
                body.finish()?;
                Ok(self.chain.next(cx))
            }
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        chain: Chain,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        let is_change = matches!(operation, Operation::Add | Operation::Remove);
        let tick_waits = is_change && self.clock == Clock::Waiting;
        self.clock = match (operation, self.clock) {
            (Operation::Rekey, Clock::Behind | Clock::InStep) => Clock::Behind,
            (Operation::Add | Operation::Remove, Clock::Behind) => Clock::Behind,
            _ => Clock::InStep,
        };
        self.heard = epoch;
        self.chain = chain;
        self.enter(cx, epoch, operation, change);
        if tick_waits {
            self.tick(cx);
        }
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.area.subgroup.membership.has_joined() {
            self.tick(cx);
        }
        Ok(())
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.area.send_keys(cx, slot, Operation::CatchUp);
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match &input {
            Input::Message(message) if self.finds_clock_ahead(message)? => Ok(()),
            _ => subgroup::step(self, cx, input),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.area.subgroup.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let joined = self.group_key().is_some();
        let permanent = self.area.key_bytes() + chain_bytes(self.area.profile, joined);
        Footprint { permanent, temporary: 2 * Key::BYTES }
    }

    party_state!();
}

impl Chain {
    fn next(&self, cx: &mut Context<'_>) -> Self {
        let value = cx.derive(&self.master, "groupkey kronos period", self.value.as_bytes());
        Self { master: self.master.clone(), value, since: self.since }
    }

    fn group_key(&self, cx: &mut Context<'_>, profile: Profile, epoch: Epoch) -> Key {
        if profile.is_published() {
            self.value.clone()
        } else {
            cx.derive_for(epoch, &self.value, "groupkey kronos group key")
        }
    }

    /// Returns whether the master key has served its time when this epoch begins.
    fn is_due(&self, reseed: u32, epoch: Epoch) -> bool {
        reseed > 0 && epoch.0.saturating_sub(self.since.0) >= u64::from(reseed)
    }
}

/// Returns the bytes of MK and R. In `published`, R is the group key and is not counted twice.
fn chain_bytes(profile: Profile, joined: bool) -> usize {
    match (joined, profile.is_published()) {
        (false, _) => 0,
        (true, true) => Key::BYTES,
        (true, false) => 2 * Key::BYTES,
    }
}

#[cfg(test)]
mod tests;
