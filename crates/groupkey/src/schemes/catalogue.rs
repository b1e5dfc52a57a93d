//! Every scheme there is: names, class, provenance, claims, parameters. The only registry.

use alloc::boxed::Box;
use core::fmt;

use crate::crypto::group::Check;
use crate::identity::MemberId;
use crate::party::{Operation, Party};
use crate::schemes::centralized::cfkm;
use crate::schemes::centralized::gkmp;
use crate::schemes::centralized::lkh::{self, Strategy};
use crate::schemes::centralized::lkh_plus;
use crate::schemes::centralized::ofct;
use crate::schemes::centralized::skdc;
use crate::schemes::distributed::{gdh, gdh1, gdh2, gdh3};

/// All schemes, in the order in which tables show them.
pub static SCHEMES: &[Scheme] = &[
    Scheme {
        id: "skdc",
        name: "SKDC, simple key distribution center",
        class: Class::Centralized,
        provenance: Provenance::Specified,
        source: "S003 section 3.5; Li and Wu 2010",
        operations: &Operation::MEASURED,
        claims: Claims::ALL,
        parameters: &[],
        members: MEMBERS,
        parties: Parties::KeyServer {
            controller: |_| Box::new(skdc::Controller::new()),
            member: |_, _| Box::new(skdc::Member::new()),
        },
    },
    Scheme {
        id: "gkmp",
        name: "GKMP, group key management protocol",
        class: Class::Centralized,
        provenance: Provenance::Reconstructed,
        source: "Harney and Muckenhirn, RFC 2093 and RFC 2094",
        operations: &[Operation::Create, Operation::Add, Operation::Remove, Operation::Rekey],
        claims: Claims::ALL,
        parameters: &[],
        members: MEMBERS,
        parties: Parties::KeyServer {
            controller: |_| Box::new(gkmp::Controller::new()),
            member: |_, _| Box::new(gkmp::Member::new()),
        },
    },
    lkh(
        "lkh-user",
        "LKH, logical key hierarchy, user-oriented",
        Parties::KeyServer {
            controller: |configuration| lkh_controller(Strategy::User, configuration),
            member: |configuration, _| lkh_member(Strategy::User, configuration),
        },
    ),
    lkh(
        "lkh-key",
        "LKH, logical key hierarchy, key-oriented",
        Parties::KeyServer {
            controller: |configuration| lkh_controller(Strategy::Key, configuration),
            member: |configuration, _| lkh_member(Strategy::Key, configuration),
        },
    ),
    lkh(
        "lkh-group",
        "LKH, logical key hierarchy, group-oriented",
        Parties::KeyServer {
            controller: |configuration| lkh_controller(Strategy::Group, configuration),
            member: |configuration, _| lkh_member(Strategy::Group, configuration),
        },
    ),
    Scheme {
        id: "lkh-plus",
        name: "LKH+, logical key hierarchy, joins by a one-way function",
        class: Class::Centralized,
        provenance: Provenance::Reconstructed,
        source: "Waldvogel, Caronni, Sun, Weiler and Plattner 1999",
        operations: &Operation::MEASURED,
        // Until a removal, the keys of one epoch give those of the epochs that joins lead to.
        claims: Claims { key_independence: false, ..Claims::ALL },
        parameters: &[DEGREE],
        members: MEMBERS,
        parties: Parties::KeyServer {
            controller: |configuration| {
                let degree = configuration.value(DEGREE.name);
                Box::new(lkh_plus::Controller::new(configuration.profile(), degree))
            },
            member: |configuration, _| {
                let degree = configuration.value(DEGREE.name);
                Box::new(lkh_plus::Member::new(configuration.profile(), degree))
            },
        },
    },
    Scheme {
        id: "ofct",
        name: "OFCT, one-way function chain tree",
        class: Class::Centralized,
        provenance: Provenance::Reconstructed,
        source: "Canetti, Garay, Itkis, Micciancio, Naor and Pinkas 1999",
        operations: &Operation::MEASURED,
        claims: Claims::ALL,
        parameters: &[],
        members: MEMBERS,
        parties: Parties::KeyServer {
            controller: |configuration| Box::new(ofct::Controller::new(configuration.profile())),
            member: |configuration, _| Box::new(ofct::Member::new(configuration.profile())),
        },
    },
    Scheme {
        id: "cfkm",
        name: "CFKM, centralized flat key management",
        class: Class::Centralized,
        provenance: Provenance::Reconstructed,
        source: "Waldvogel, Caronni, Sun, Weiler and Plattner 1999",
        operations: &Operation::MEASURED,
        // Any two evicted members together get back in.
        claims: Claims { collusion_resistance: false, ..Claims::ALL },
        parameters: &[BITS],
        members: (2, 1 << BITS.range.1),
        parties: Parties::KeyServer {
            controller: |configuration| {
                let bits = configuration.value(BITS.name);
                Box::new(cfkm::Controller::new(configuration.profile(), bits))
            },
            member: |configuration, _| {
                let bits = configuration.value(BITS.name);
                Box::new(cfkm::Member::new(configuration.profile(), bits))
            },
        },
    },
    gdh(
        "gdh1",
        "GDH.1, group Diffie-Hellman, up and down",
        Provenance::Reconstructed,
        "Steiner, Tsudik and Waidner 1996",
        |configuration, me| Box::new(gdh1::Member::new(configuration, me)),
    ),
    gdh(
        "gdh2",
        "GDH.2, group Diffie-Hellman, partial keys broadcast (CLIQUES)",
        Provenance::Specified,
        "Steiner, Tsudik and Waidner 1996 and 2000",
        |configuration, me| {
            Box::new(gdh2::Member::new(configuration, me, gdh2::Distribution::Broadcast))
        },
    ),
    gdh(
        "gdh2-relay",
        "GDH.2, group Diffie-Hellman, partial keys handed on",
        Provenance::Reconstructed,
        "S000 section 5.3; Steiner, Tsudik and Waidner 1996 and 2000",
        |configuration, me| {
            Box::new(gdh2::Member::new(configuration, me, gdh2::Distribution::Relay))
        },
    ),
    gdh(
        "gdh3",
        "GDH.3, group Diffie-Hellman, factored out",
        Provenance::Reconstructed,
        "Steiner, Tsudik and Waidner 1996; Kim, Perrig and Tsudik 2004",
        |configuration, me| Box::new(gdh3::Member::new(configuration, me)),
    ),
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
    /// Who makes the key.
    pub class: Class,
    /// How sure we are that this is the published protocol.
    pub provenance: Provenance,
    /// Where it was published.
    pub source: &'static str,
    /// The operations that it has.
    pub operations: &'static [Operation],
    /// What it claims, in the `sound` profile.
    pub claims: Claims,
    /// What can be set, beside the profile.
    pub parameters: &'static [Parameter],
    /// The smallest and the largest number of members.
    pub members: (u32, u32),
    /// How its parties are made.
    pub parties: Parties,
}

/// Who makes the group key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// One controller.
    Centralized,
    /// The members among themselves.
    Distributed,
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

/// What a scheme claims about itself. The audit is what tells whether it is so.
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
    KeyServer {
        /// Makes the controller.
        controller: fn(&Configuration) -> Box<dyn Party>,
        /// Makes a member.
        member: fn(&Configuration, MemberId) -> Box<dyn Party>,
    },
    /// Members only.
    Peers {
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
        let mut values = [0; Configuration::PARAMETERS];
        for (value, parameter) in values.iter_mut().zip(self.parameters) {
            *value = match profile {
                Profile::Published => parameter.published,
                Profile::Sound => parameter.sound,
            };
        }
        Configuration { scheme: self, profile, values }
    }

    /// Whether the scheme has a controller.
    pub const fn has_controller(&self) -> bool {
        matches!(self.parties, Parties::KeyServer { .. })
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

    /// The value of a parameter.
    ///
    /// # Panics
    ///
    /// If the scheme has no parameter of this name.
    pub fn value(&self, name: &str) -> u32 {
        self.values[self.index(name).expect("a scheme asks for its own parameters only")]
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

    /// Makes the controller, if the scheme has one.
    pub fn controller(&self) -> Option<Box<dyn Party>> {
        match self.scheme.parties {
            Parties::KeyServer { controller, .. } => Some(controller(self)),
            Parties::Peers { .. } => None,
        }
    }

    /// Makes a member.
    pub fn member(&self, id: MemberId) -> Box<dyn Party> {
        match self.scheme.parties {
            Parties::KeyServer { member, .. } | Parties::Peers { member } => member(self, id),
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

/// The three strategies of LKH differ in their messages only.
const fn lkh(id: &'static str, name: &'static str, parties: Parties) -> Scheme {
    Scheme {
        id,
        name,
        class: Class::Centralized,
        provenance: Provenance::Specified,
        source: "Wong, Gouda, Lam 2000; RFC 2627; S000 section 5.2",
        operations: &Operation::MEASURED,
        claims: Claims::ALL,
        parameters: &[DEGREE],
        members: MEMBERS,
        parties,
    }
}

fn lkh_controller(strategy: Strategy, configuration: &Configuration) -> Box<dyn Party> {
    let degree = configuration.value(DEGREE.name);
    Box::new(lkh::Controller::new(strategy, configuration.profile(), degree))
}

fn lkh_member(strategy: Strategy, configuration: &Configuration) -> Box<dyn Party> {
    let degree = configuration.value(DEGREE.name);
    Box::new(lkh::Member::new(strategy, configuration.profile(), degree))
}

const DEGREE: Parameter = Parameter {
    name: "degree",
    meaning: "children of a node of the key tree, at most",
    sound: 4,
    published: 2,
    range: (2, 16),
};

/// The flat table's size, and the group's: 2^bits members.
const BITS: Parameter = Parameter {
    name: "bits",
    meaning: "bits of a member's number; 2^bits members at most",
    sound: 16,
    published: 16,
    range: (7, 24),
};

/// G-DH's variants: the members make the key, and nobody's word is needed but a signature.
const fn gdh(
    id: &'static str,
    name: &'static str,
    provenance: Provenance,
    source: &'static str,
    member: fn(&Configuration, MemberId) -> Box<dyn Party>,
) -> Scheme {
    Scheme {
        id,
        name,
        class: Class::Distributed,
        provenance,
        source,
        operations: &Operation::MEASURED,
        claims: Claims::ALL,
        parameters: &[],
        members: gdh::MEMBERS,
        parties: Parties::Peers { member },
    }
}

/// From the smallest group to more than a key server's memory holds.
const MEMBERS: (u32, u32) = (2, 1 << 24);
