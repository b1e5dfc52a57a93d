//! Every scheme there is: names, class, provenance, claims, parameters. The only registry.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::crypto::Suite;
use crate::crypto::group::Check;
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::party::{Command, Operation, Party};
use crate::protection::Guard;
use crate::schemes::centralized::{
    boneh, cfkm, gkmp, lkh, lkh_plus, nishat, ofct, oft, s2rp, sbsa_r, sgcsh, skdc, xfks_r,
};
use crate::schemes::distributed::{
    bd, cka, ckd, d_lkh, d_oft, dh_lkh, gdh1, gdh2, gdh3, skinny, tgdh,
};
use crate::schemes::growth::{Form, Growth, Role};
use crate::schemes::hybrid::{
    alohali_r, dep, igkmp, iolus, kronos, lnt, marks, riseg, segcom, tkh,
};

/// All schemes, in the order in which tables show them.
pub static SCHEMES: &[Scheme] = &[
    skdc::SCHEME,
    gkmp::SCHEME,
    lkh::USER,
    lkh::KEY,
    lkh::GROUP,
    lkh_plus::SCHEME,
    oft::SCHEME,
    ofct::SCHEME,
    cfkm::SCHEME,
    s2rp::SCHEME,
    sbsa_r::SCHEME,
    sgcsh::SCHEME,
    xfks_r::SCHEME,
    boneh::FAT,
    boneh::THIN,
    nishat::SCHEME,
    alohali_r::SCHEME,
    dep::SCHEME,
    igkmp::SCHEME,
    kronos::SCHEME,
    lnt::SCHEME,
    marks::SCHEME,
    riseg::SCHEME,
    segcom::SCHEME,
    tkh::SCHEME,
    iolus::SCHEME,
    gdh1::SCHEME,
    gdh2::BROADCAST,
    gdh2::RELAY,
    gdh3::SCHEME,
    tgdh::SCHEME,
    skinny::SCHEME,
    dh_lkh::SCHEME,
    bd::SCHEME,
    cka::SCHEME,
    ckd::SCHEME,
    d_lkh::SCHEME,
    d_oft::SCHEME,
];

/// The scheme with this id.
pub fn scheme(id: &str) -> Option<&'static Scheme> {
    SCHEMES.iter().find(|scheme| scheme.id == id)
}

/// What the catalogue knows of a scheme.
#[derive(Debug)]
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
    /// How a member that missed changes gets back.
    pub recovery: Recovery,
    /// What it claims, in the `sound` profile.
    pub claims: Claims,
    /// What is left of that in the `published` profile.
    pub published_claims: Claims,
    /// What can be set, besides the profile.
    pub parameters: &'static [Parameter],
    /// The smallest and the largest number of members.
    pub members: (u32, u32),
    /// How its costs grow with the group: its file's table of costs, where a test can read it.
    pub growth: &'static [Growth],
    /// Who takes part, and how these parties are made.
    pub parties: Parties,
}

/// Who makes the group key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// One controller.
    Centralized,
    /// The members among themselves.
    Distributed,
    /// A controller, and under it controllers of subgroups.
    Hybrid,
}

/// What must hold whenever an operation has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// All current members hold the same group key of the same epoch, it is new, and nobody else can
    /// derive it.
    OneKey,
    /// There is no group key: each subgroup has its own. The key of a message reaches all current
    /// members and nobody else; it is new for every message.
    OneMessage,
    /// Keys change with time. All members that were promised a period hold the same key in it, it is
    /// new, and nobody else can derive it.
    PlannedPeriods,
}

/// How a member that missed changes of the key gets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// It must leave and join again.
    Rejoin,
    /// As with [`Self::Request`]. But members hand keys on: a sleeping one holds up those behind
    /// it, until it catches up and hands on what they missed.
    Relay,
    /// One request ([`Command::CatchUp`]) brings it up to date.
    Request,
    /// The next message brings it up to date, and gives it the keys that it missed
    /// ([`Party::past_key`]). Where that cannot be, one request does both.
    SelfHealing,
}

/// How sure we are that this is the published protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// Some details are ours; the scheme's file lists them.
    Reconstructed,
    /// Built from the published protocol.
    Specified,
    /// The published protocol could not be identified; this one has the same profile of costs.
    StandIn,
}

/// What a scheme claims about itself. The audit shows whether it is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// A removed member cannot get later keys.
    pub forward_secrecy: bool,
    /// A new member cannot get earlier keys.
    pub backward_secrecy: bool,
    /// Removed and new members together get nothing that none of them should have.
    pub collusion_resistance: bool,
    /// Knowing some group keys does not give others.
    pub key_independence: bool,
}

/// Which form of a scheme: as the papers did it, or as a user should run it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// As the papers did.
    Published,
    /// What a user should run.
    #[default]
    Sound,
}

/// A number that can be chosen for a scheme.
#[derive(Debug)]
pub struct Parameter {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it means.
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
    /// A controller, controllers of subgroups, and members.
    Hybrid {
        /// Makes the controller.
        controller: fn(&Configuration) -> Box<dyn Party>,
        /// Makes the controller of a subgroup.
        subgroup_controller: fn(&Configuration, SubgroupId) -> Box<dyn Party>,
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
}

/// To whom a driver gives an application's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The controller alone.
    Controller,
    /// All parties.
    Everybody,
    /// All current members.
    Members,
}

/// A scheme with its profile and parameters chosen.
#[derive(Clone, Debug)]
pub struct Configuration {
    scheme: &'static Scheme,
    profile: Profile,
    values: [u32; Self::PARAMETERS],
    /// What a new party takes part in leads to the epoch after this one.
    before: Epoch,
}

/// A parameter that cannot be set like that.
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
    /// The scheme in a profile, with that profile's parameters.
    pub fn configuration(&'static self, profile: Profile) -> Configuration {
        assert!(self.parameters.len() <= Configuration::PARAMETERS, "{} has too many", self.id);
        let mut values = [0; Configuration::PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(self.parameters) {
            *value = match profile {
                Profile::Published => parameter.published,
                Profile::Sound => parameter.sound,
            };
        }
        Configuration { scheme: self, profile, values, before: Epoch::default() }
    }

    /// Who makes the group key.
    pub const fn class(&self) -> Class {
        match self.parties {
            Parties::Centralized { .. } => Class::Centralized,
            Parties::Distributed { .. } => Class::Distributed,
            Parties::Hybrid { .. } => Class::Hybrid,
        }
    }

    /// To whom a driver gives a command. [`Command::CatchUp`] and [`Command::Send`] are not for all
    /// of these but for the one party that wants it.
    pub const fn audience(&self, command: &Command<'_>) -> Audience {
        match (self.class(), command) {
            (Class::Distributed, _) => Audience::Members,
            (Class::Hybrid, Command::Rekey) => Audience::Everybody,
            (Class::Centralized | Class::Hybrid, _) => Audience::Controller,
        }
    }

    /// How its messages are protected in a profile, unless somebody chooses otherwise. Where the
    /// members make the key, the schemes' proofs ask for signatures; everywhere else, and in the
    /// published profile, it is the MAC of the papers.
    pub const fn default_protection(&self, profile: Profile) -> Guard {
        match (self.class(), profile) {
            (Class::Distributed, Profile::Sound) => Guard::Signature,
            _ => Guard::Mac,
        }
    }

    /// How the cost of a role in an operation grows, if the role has any part in it.
    pub fn growth_of(&self, profile: Profile, operation: Operation, role: Role) -> Option<Form> {
        let stated = self.growth.iter().find(|growth| growth.concerns(profile, operation, role));
        stated.map(|growth| growth.by)
    }

    /// Whether the scheme has a controller.
    pub const fn has_controller(&self) -> bool {
        matches!(self.class(), Class::Centralized | Class::Hybrid)
    }
}

impl Configuration {
    const PARAMETERS: usize = 4;

    /// The scheme.
    pub const fn scheme(&self) -> &'static Scheme {
        self.scheme
    }

    /// The profile.
    pub const fn profile(&self) -> Profile {
        self.profile
    }

    /// How much of received group elements is checked: the papers' programs did not look whether
    /// they are in the subgroup.
    pub const fn check(&self) -> Check {
        match self.profile {
            Profile::Published => Check::Range,
            Profile::Sound => Check::Subgroup,
        }
    }

    /// The same for members of a distributed scheme that begin when the group has been in this epoch:
    /// what they take part in first leads to the one after it.
    pub(crate) fn after(&self, epoch: Epoch) -> Self {
        Self { before: epoch, ..self.clone() }
    }

    /// The epoch in which the group has been, if there was one.
    pub(crate) const fn epoch_before(&self) -> Epoch {
        self.before
    }

    /// The value of a parameter.
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

    /// How many subgroups there are: none, unless the scheme is a hybrid one.
    pub fn subgroups(&self) -> u32 {
        match self.scheme.class() {
            Class::Centralized | Class::Distributed => 0,
            Class::Hybrid => self.value(&SUBGROUPS),
        }
    }

    /// Makes the controller, if the scheme has one.
    pub fn controller(&self) -> Option<Box<dyn Party>> {
        match self.scheme.parties {
            Parties::Hybrid { controller, .. } | Parties::Centralized { controller, .. } => {
                Some(controller(self))
            }
            Parties::Distributed { .. } => None,
        }
    }

    /// Makes a member.
    pub fn member(&self, id: MemberId) -> Box<dyn Party> {
        match self.scheme.parties {
            Parties::Hybrid { member, .. }
            | Parties::Centralized { member, .. }
            | Parties::Distributed { member } => member(self, id),
        }
    }

    /// Makes the controllers of the subgroups, if the scheme has subgroups.
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

impl Claims {
    /// Everything.
    pub const ALL: Self = Self {
        forward_secrecy: true,
        backward_secrecy: true,
        collusion_resistance: true,
        key_independence: true,
    };
}

impl Class {
    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Centralized => "centralized",
            Self::Distributed => "distributed",
            Self::Hybrid => "hybrid",
        }
    }
}

impl Law {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneKey => "one-key",
            Self::OneMessage => "one-message",
            Self::PlannedPeriods => "planned-periods",
        }
    }

    /// What it says.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OneKey => {
                "one key: all members hold the same, new at every change, nobody else has it"
            }
            Self::OneMessage => {
                "one message: its key reaches all members and nobody else; there is no group key"
            }
            Self::PlannedPeriods => {
                "planned periods: members promised a period hold its key, and nobody else"
            }
        }
    }
}

impl Recovery {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rejoin => "rejoin",
            Self::Relay => "relay",
            Self::Request => "request",
            Self::SelfHealing => "self-healing",
        }
    }

    /// What it means.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Rejoin => "a member that missed a change must leave and rejoin",
            Self::Relay => {
                "a member that missed changes catches up with one request; until then it holds up \
                 those behind it"
            }
            Self::Request => "a member that missed changes catches up with one request",
            Self::SelfHealing => {
                "a member that missed changes gets the missed keys, too, with the next message or \
                 one request"
            }
        }
    }
}

impl Provenance {
    /// The name used in every table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reconstructed => "reconstructed",
            Self::Specified => "specified",
            Self::StandIn => "stand-in",
        }
    }
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Sound, Self::Published];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Sound => "sound",
        }
    }

    /// Its suite, unless somebody chooses otherwise.
    pub const fn default_suite(self) -> Suite {
        match self {
            Self::Published => Suite::Published,
            Self::Sound => Suite::Standard,
        }
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

/// From the smallest group to more than a key server's memory holds.
pub(crate) const MEMBERS: (u32, u32) = (2, 1 << 24);
