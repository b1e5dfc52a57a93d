//! A scheme as drivers see it: its catalogue entry, its parameters, and how to make its parties.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::context::Setting;
use crate::crypto::group::ElementCheck;
use crate::crypto::{GroupContext, Suite};
use crate::identity::{Epoch, GroupId, Instance, MemberId, PartyId, SubgroupId};
use crate::party::{Command, Operation, Party};
use crate::protection::Guard;
use crate::scheme::growth::{Form, Growth, Role};

pub mod growth;
mod properties;

pub use self::properties::{
    Adversary, Assumption, Audience, Claims, Class, Departures, Law, Profile, Provenance, Recovery,
    Unsuited,
};

/// A scheme's entry in the catalogue.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Scheme {
    /// The id used on the command line and in results.
    pub id: &'static str,
    /// The name in the literature.
    pub name: &'static str,
    /// How sure we are that this is the published protocol.
    pub provenance: Provenance,
    /// Where it was published.
    pub source: &'static str,
    /// The operations that it has.
    pub operations: &'static [Operation],
    /// What must hold when an operation has settled.
    pub law: Law,
    /// How a member that missed changes recovers.
    pub recovery: Recovery,
    /// What it keeps of members that have left.
    pub departures: Departures,
    /// The hard problem that its keys rest on.
    pub assumption: Assumption,
    /// Its claims in the `sound` profile.
    pub claims: Claims,
    /// The claims that are left in the `published` profile.
    pub published_claims: Claims,
    /// The parameters that can be set, besides the profile.
    pub parameters: &'static [Parameter],
    /// The smallest and the largest number of members.
    pub members: (u32, u32),
    /// How its costs grow with the group: the cost table of its file, in a form that a test can
    /// read.
    pub growth: &'static [Growth],
    /// Which parties take part, and how they are made.
    pub parties: Parties,
}

/// A number that can be chosen for a scheme.
#[derive(Debug)]
pub struct Parameter {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its value in the `sound` profile.
    pub sound: u32,
    /// Its value in the `published` profile.
    pub published: u32,
    /// The smallest and the largest value.
    pub range: (u32, u32),
}

/// How a scheme's parties are made.
#[derive(Clone, Copy, Debug)]
pub enum Parties {
    /// A controller and members.
    Centralized {
        /// Makes the controller.
        controller: fn(&Configuration) -> Box<dyn Party>,
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
    /// Members only.
    Distributed {
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
    /// A controller, subgroup controllers, and members.
    Hybrid {
        /// Makes the controller.
        controller: fn(&Configuration) -> Box<dyn Party>,
        /// Makes a subgroup controller.
        subgroup_controller: fn(&Configuration, SubgroupId) -> Box<dyn Party>,
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
    /// Members alone, of a scheme whose other parties are elsewhere ([`Scheme::for_members`]).
    Elsewhere {
        /// The class of the scheme.
        class: Class,
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
}

/// A scheme with its profile and parameters chosen.
#[derive(Clone, Debug)]
pub struct Configuration {
    scheme: &'static Scheme,
    profile: Profile,
    values: [u32; Self::PARAMETERS],
    /// A new party's first operation leads to the epoch after this one.
    before: Epoch,
    /// The members of the group that a new party joins, by ascending id; empty if nobody told it.
    announced: Vec<MemberId>,
}

/// Why a parameter cannot be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterError {
    /// The value is out of the parameter's range.
    OutOfRange {
        /// The smallest and the largest value.
        range: (u32, u32),
    },
    /// The scheme has no parameter of this name.
    Unknown,
}

impl Scheme {
    /// Returns the entry of a scheme with what every scheme must say. It has the operations create, add
    /// and remove, one key for 2 to 65,536 members, no recovery, no parameters and no claims. Its keys
    /// rest on Diffie-Hellman if it is distributed, and otherwise on symmetric algorithms alone. The
    /// methods below say otherwise.
    pub const fn new(
        id: &'static str,
        name: &'static str,
        provenance: Provenance,
        source: &'static str,
        parties: Parties,
    ) -> Self {
        let assumption = match parties {
            Parties::Distributed { .. } | Parties::Elsewhere { class: Class::Distributed, .. } => {
                Assumption::DiffieHellman
            }
            Parties::Centralized { .. } | Parties::Hybrid { .. } | Parties::Elsewhere { .. } => {
                Assumption::Symmetric
            }
        };
        Self {
            id,
            name,
            provenance,
            source,
            operations: &Operation::MEASURED,
            law: Law::OneKey,
            recovery: Recovery::Rejoin,
            departures: Departures::Forgotten,
            assumption,
            claims: Claims::NONE,
            published_claims: Claims::NONE,
            parameters: &[],
            members: (2, 65_536),
            growth: &[],
            parties,
        }
    }

    /// Sets the operations that it has.
    #[must_use]
    pub const fn with_operations(self, operations: &'static [Operation]) -> Self {
        Self { operations, ..self }
    }

    /// Sets what must hold when an operation has settled.
    #[must_use]
    pub const fn with_law(self, law: Law) -> Self {
        Self { law, ..self }
    }

    /// Sets how a member that missed changes recovers.
    #[must_use]
    pub const fn with_recovery(self, recovery: Recovery) -> Self {
        Self { recovery, ..self }
    }

    /// Sets what it keeps of members that have left.
    #[must_use]
    pub const fn with_departures(self, departures: Departures) -> Self {
        Self { departures, ..self }
    }

    /// Sets the hard problem that its keys rest on.
    #[must_use]
    pub const fn with_assumption(self, assumption: Assumption) -> Self {
        Self { assumption, ..self }
    }

    /// Sets the claims in both profiles.
    #[must_use]
    pub const fn with_claims(self, claims: Claims) -> Self {
        Self { claims, published_claims: claims, ..self }
    }

    /// Sets the claims that are left in the `published` profile.
    #[must_use]
    pub const fn with_published_claims(self, claims: Claims) -> Self {
        Self { published_claims: claims, ..self }
    }

    /// Sets the parameters that can be set, besides the profile.
    #[must_use]
    pub const fn with_parameters(self, parameters: &'static [Parameter]) -> Self {
        Self { parameters, ..self }
    }

    /// Sets the smallest and the largest number of members.
    #[must_use]
    pub const fn with_members(self, members: (u32, u32)) -> Self {
        Self { members, ..self }
    }

    /// Sets how its costs grow with the group.
    #[must_use]
    pub const fn with_growth(self, growth: &'static [Growth]) -> Self {
        Self { growth, ..self }
    }

    /// Returns the entry of a scheme whose members agree on the key. Members trust no party, only
    /// signatures.
    #[cfg(feature = "distributed")]
    pub(crate) const fn contributory(
        id: &'static str,
        name: &'static str,
        provenance: Provenance,
        source: &'static str,
        recovery: Recovery,
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    ) -> Self {
        Self::new(id, name, provenance, source, Parties::Distributed { member })
            .with_recovery(recovery)
            .with_claims(Claims { agreement: false, ..Claims::ALL })
            .with_members((2, 1000))
    }

    /// Returns whether it computes with pairings and long primes: the feature `pairing` brings it.
    pub const fn computes_pairings(&self) -> bool {
        matches!(self.assumption, Assumption::Pairing)
    }

    /// Returns why it cannot run in a suite: the suite does not have what its keys rest on.
    ///
    /// ```
    /// # use groupkey::catalogue;
    /// # use groupkey::Suite;
    /// # let Some(pq) = Suite::named("pq") else { return };
    /// let lkh = catalogue::scheme("lkh-group").unwrap();
    /// assert!(lkh.unsuited_to(pq).is_none());
    /// # let Some(tgdh) = catalogue::scheme("tgdh") else { return };
    /// assert_eq!(
    ///     tgdh.unsuited_to(pq).unwrap().to_string(),
    ///     "no post-quantum form: it is built on Diffie-Hellman, and suite pq has no group",
    /// );
    /// ```
    pub fn unsuited_to(&self, suite: Suite) -> Option<Unsuited> {
        let is_there = match self.assumption {
            Assumption::DiffieHellman => suite.group().is_some(),
            Assumption::Pairing => suite.has_pairing(),
            Assumption::Encapsulation | Assumption::Symmetric => true,
        };
        (!is_there).then_some(Unsuited { suite, assumption: self.assumption })
    }

    /// Returns the scheme in a profile, with that profile's parameters.
    pub fn configuration(&'static self, profile: Profile) -> Configuration {
        assert!(self.parameters.len() <= Configuration::PARAMETERS, "{} has too many", self.id);
        let mut values = [0; Configuration::PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(self.parameters) {
            *value = if profile.is_published() { parameter.published } else { parameter.sound };
        }
        Configuration {
            scheme: self,
            profile,
            values,
            before: Epoch::default(),
            announced: Vec::new(),
        }
    }

    /// Returns the same scheme without the code of its controllers, for a program that is a member
    /// and nothing else:
    ///
    /// ```
    /// # use groupkey::catalogue::{self, Scheme};
    /// static SKDC: Scheme = catalogue::scheme("skdc").unwrap().for_members();
    /// ```
    #[must_use]
    pub const fn for_members(&self) -> Self {
        let member = match self.parties {
            Parties::Hybrid { member, .. }
            | Parties::Centralized { member, .. }
            | Parties::Distributed { member }
            | Parties::Elsewhere { member, .. } => member,
        };
        Self { parties: Parties::Elsewhere { class: self.class(), member }, ..*self }
    }

    /// Returns the class of the scheme: which parties make the group key.
    pub const fn class(&self) -> Class {
        match self.parties {
            Parties::Centralized { .. } => Class::Centralized,
            Parties::Distributed { .. } => Class::Distributed,
            Parties::Hybrid { .. } => Class::Hybrid,
            Parties::Elsewhere { class, .. } => class,
        }
    }

    /// Returns the parties to which a driver gives a command. [`Command::CatchUp`] and
    /// [`Command::Send`] go only to the one of these parties that wants them.
    pub const fn audience(&self, command: &Command<'_>) -> Audience {
        match (self.class(), command) {
            (Class::Distributed, _) => Audience::Members,
            (Class::Hybrid, Command::Rekey) => Audience::Everybody,
            (Class::Centralized | Class::Hybrid, _) => Audience::Controller,
        }
    }

    /// Returns how the scheme's messages are protected in a profile, unless the caller chooses
    /// otherwise. The sound profile signs: who was ever a member has the key of the MAC, and could
    /// speak in the controller's name. The published profile has the MAC of the papers.
    pub const fn default_protection(&self, profile: Profile) -> Guard {
        if profile.is_published() { Guard::Mac } else { Guard::Signature }
    }

    /// Returns what the scheme claims against an adversary in a profile, with the default
    /// protection. Against an active adversary the published form claims nothing: the papers leave
    /// the protection of messages to the reader.
    pub const fn claims_against(&self, profile: Profile, adversary: Adversary) -> Claims {
        match (profile.is_published(), adversary) {
            (false, _) => self.claims,
            (true, Adversary::Passive) => self.published_claims,
            (true, Adversary::Active) => Claims::NONE,
        }
    }

    /// Returns whether the scheme claims, in a profile and against an active adversary, that all
    /// members that are in one epoch hold one key of it: nobody is alone with another key, and no
    /// member splits the group. There is nothing to agree on if the group has no key of its own.
    pub const fn claims_agreement(&self, profile: Profile) -> bool {
        self.claims.agreement && matches!((profile, self.law), (Profile::Sound, Law::OneKey))
    }

    /// Returns how the cost of a role in an operation grows, if the role takes part in it.
    pub fn growth_of(&self, profile: Profile, operation: Operation, role: Role) -> Option<Form> {
        let stated = self.growth.iter().find(|growth| growth.concerns(profile, operation, role));
        stated.map(|growth| growth.by)
    }

    /// Returns how many members a group ever enrols at most, those that leave included, with these
    /// values of parameters that are not the sound ones. `None` if that has no limit of its own.
    pub fn enrolments(&self, value: impl Fn(&str) -> Option<u32>) -> Option<u64> {
        let Departures::Kept(name) = self.departures else { return None };
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name)?;
        Some(1 << value(name).unwrap_or(parameter.sound).min(parameter.range.1))
    }

    /// Returns whether the scheme has a controller.
    pub const fn has_controller(&self) -> bool {
        matches!(self.class(), Class::Centralized | Class::Hybrid)
    }
}

impl Configuration {
    const PARAMETERS: usize = 4;

    /// Returns the scheme.
    pub const fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// Returns the profile.
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns the values of all parameters, in the scheme's order.
    pub(crate) fn values(&self) -> &[u32] {
        &self.values[..self.scheme.parameters.len()]
    }

    /// Returns how strictly received group elements are checked. The papers' programs did not check
    /// whether elements are in the subgroup.
    pub const fn check(&self) -> ElementCheck {
        if self.profile.is_published() { ElementCheck::Range } else { ElementCheck::Subgroup }
    }

    /// Returns the same configuration for members of a distributed scheme that begin after this
    /// epoch of the group. Their first operation leads to the next epoch.
    pub(crate) fn after(&self, epoch: Epoch) -> Self {
        Self { before: epoch, ..self.clone() }
    }

    /// Returns the same configuration for a member that joins a group of exactly these members,
    /// itself included. It refuses a welcome that names others.
    pub(crate) fn announced(&self, members: &[MemberId]) -> Self {
        let mut announced = members.to_vec();
        announced.sort_unstable();
        Self { announced, ..self.clone() }
    }

    /// Returns whether a joining member may be told that these are the members, which are distinct
    /// and in any order.
    pub fn expects(&self, members: impl Iterator<Item = MemberId>) -> bool {
        let mut told: Vec<_> = members.collect();
        told.sort_unstable();
        self.announced.is_empty() || self.announced == told
    }

    /// Returns the epoch that the group has been in, if there was one.
    pub const fn epoch_before(&self) -> Epoch {
        self.before
    }

    /// Returns the value of a parameter.
    ///
    /// # Panics
    ///
    /// If the scheme has no such parameter.
    pub fn value(&self, parameter: &Parameter) -> u32 {
        let index = self.index(parameter.name);
        self.values[index.expect("a scheme asks for its own parameters only")]
    }

    /// Sets a parameter.
    pub fn set(&mut self, name: &str, value: u32) -> Result<(), ParameterError> {
        let index = self.index(name).ok_or(ParameterError::Unknown)?;
        let range = self.scheme.parameters[index].range;
        if !(range.0..=range.1).contains(&value) {
            return Err(ParameterError::OutOfRange { range });
        }
        self.values[index] = value;
        Ok(())
    }

    /// Returns what all parties of a group have in common. They agree on a key only if all of this is
    /// the same at each. `prefix` names the place where the group's messages are exchanged, such as
    /// the prefix of its topics.
    ///
    /// If the scheme cannot run in the suite ([`Scheme::unsuited_to`]), every step of a party with this
    /// setting fails with [`Unsupported::Suite`](crate::error::Unsupported::Suite).
    pub fn setting(
        &self,
        group: GroupId,
        suite: Suite,
        guard: Guard,
        prefix: &str,
        instance: Instance,
    ) -> Setting {
        let numbers = self.values.map(u32::to_be_bytes);
        let context = GroupContext::of(&[
            VERSION,
            self.scheme.id.as_bytes(),
            self.profile.name().as_bytes(),
            numbers.as_flattened(),
            suite.name().as_bytes(),
            guard.name().as_bytes(),
            &group.0.to_be_bytes(),
            prefix.as_bytes(),
            &instance.0,
        ]);
        Setting { group, suite, context, suited: self.scheme.unsuited_to(suite).is_none() }
    }

    /// Returns the number of subgroups: 0 unless the scheme is hybrid.
    pub fn subgroups(&self) -> u32 {
        match self.scheme.class() {
            Class::Centralized | Class::Distributed => 0,
            Class::Hybrid => self.value(&SUBGROUPS),
        }
    }

    /// Makes the controller, if the scheme has one here.
    pub fn controller(&self) -> Option<Box<dyn Party>> {
        match self.scheme.parties {
            Parties::Hybrid { controller, .. } | Parties::Centralized { controller, .. } => {
                Some(controller(self))
            }
            Parties::Distributed { .. } | Parties::Elsewhere { .. } => None,
        }
    }

    /// Makes a member.
    pub fn member(&self, id: MemberId) -> Box<dyn Party> {
        match self.scheme.parties {
            Parties::Hybrid { member, .. }
            | Parties::Centralized { member, .. }
            | Parties::Distributed { member }
            | Parties::Elsewhere { member, .. } => member(self, id),
        }
    }

    /// Makes the subgroup controllers, if the scheme has subgroups.
    pub fn subgroup_controllers(&self) -> Vec<(SubgroupId, Box<dyn Party>)> {
        let subgroups = (0..self.subgroups()).map(SubgroupId);
        subgroups.map(|id| (id, self.party(id.into()))).collect()
    }

    /// Makes a party.
    ///
    /// # Panics
    ///
    /// If the scheme has no such party.
    pub fn party(&self, id: PartyId) -> Box<dyn Party> {
        match (id, self.scheme.parties) {
            (PartyId::Controller, _) => self.controller().expect("the scheme has a controller"),
            (PartyId::Member(member), _) => self.member(member),
            (
                PartyId::SubgroupController(subgroup),
                Parties::Hybrid { subgroup_controller, .. },
            ) => subgroup_controller(self, subgroup),
            _ => panic!("the scheme has no subgroups"),
        }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.scheme.parameters.iter().position(|parameter| parameter.name == name)
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { range: (low, high) } => {
                write!(f, "the value must be from {low} to {high}")
            }
            Self::Unknown => write!(f, "the scheme has no such parameter"),
        }
    }
}

impl core::error::Error for ParameterError {}

/// The version of the protocols. Parties of different versions have no group in common.
const VERSION: &[u8] = b"groupkey 2";

/// How many subgroups a hybrid scheme has; S002 measures 55.
pub(crate) const SUBGROUPS: Parameter = Parameter {
    name: "subgroups",
    meaning: "subgroups, each with a controller of its own",
    sound: 55,
    published: 55,
    range: (1, 1000),
};

/// The degree of a key tree.
pub(crate) const DEGREE: Parameter = Parameter {
    name: "degree",
    meaning: "children of a node of the key tree, at most",
    sound: 4,
    published: 2,
    range: (2, 16),
};

/// The limits of the group size. The upper one is more than the memory of a key server holds.
pub(crate) const MEMBERS: (u32, u32) = (2, 1 << 24);

/// The operations of contributory schemes that have more than a creation.
#[cfg(feature = "distributed")]
pub(crate) const CONTRIBUTORY: &[Operation] = &[
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Rekey,
    Operation::Merge,
    Operation::Partition,
];
