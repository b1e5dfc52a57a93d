//! Properties of a scheme in the catalogue: class, law, recovery, provenance, assumption, claims, profile.

use core::fmt;

use crate::crypto::Suite;
#[cfg(doc)]
use crate::party::{Command, Party};
#[cfg(doc)]
use crate::scheme::Scheme;

/// Which parties make the group key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// One controller.
    Centralized,
    /// The members among themselves.
    Distributed,
    /// A controller, and subgroup controllers under it.
    Hybrid,
}

/// What must hold whenever an operation has settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Law {
    /// All current members hold the same group key of the same epoch. The key is new, and no other
    /// party can derive it.
    OneKey,
    /// There is no group key: each subgroup has its own. The key of a message reaches all current
    /// members and no other party. It is new for every message.
    OneMessage,
    /// Keys change with time. All members that were promised a period hold the same key in it. The
    /// key is new, and no other party can derive it.
    PlannedPeriods,
}

/// How a member that missed changes of the key recovers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recovery {
    /// It must leave and join again.
    Rejoin,
    /// As with [`Self::Request`], but members hand keys on. A sleeping member holds up the members
    /// behind it, until it catches up and hands on what they missed.
    Relay,
    /// One request ([`Command::CatchUp`]) brings it up to date.
    Request,
    /// The next message brings it up to date, and gives it the keys that it missed
    /// ([`Knowledge::past_key`](crate::author::Knowledge::past_key)). If the next message cannot, one request does both.
    SelfHealing,
}

/// What a group keeps of the members that have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departures {
    /// Nothing that costs: costs follow from the members of now.
    Forgotten,
    /// Their slots, which nobody gets again. Messages grow with all members that have ever left, to
    /// a size that follows from the members of now. At most 2^b members are ever enrolled, where b
    /// is the value of the parameter of this name.
    Kept(&'static str),
}

/// How sure we are that this is the published protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provenance {
    /// A library that others wrote and people use. What it computes, it computes by itself: counts are
    /// the party's word, and an audit by derivation cannot look inside.
    Foreign,
    /// Some details are ours; the scheme's file lists them.
    Reconstructed,
    /// Built from the published protocol.
    Specified,
    /// The published protocol could not be identified; this one has the same profile of costs.
    StandIn,
}

/// The hard problem that a scheme's keys rest on, besides its symmetric algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// Diffie-Hellman in the suite's group.
    DiffieHellman,
    /// Key encapsulation, which every suite has.
    Encapsulation,
    /// That of a pairing.
    Pairing,
    /// None.
    Symmetric,
}

/// Why a scheme cannot run in a suite ([`Scheme::unsuited_to`]). In words, it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsuited {
    /// The suite.
    pub suite: Suite,
    /// What the scheme rests on, and the suite does not have.
    pub assumption: Assumption,
}

/// A scheme's claims about itself. The audit shows whether they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// A removed member cannot get later keys.
    pub forward_secrecy: bool,
    /// A new member cannot get earlier keys.
    pub backward_secrecy: bool,
    /// Together, removed and new members get no key that none of them should have.
    pub collusion_resistance: bool,
    /// Knowing some group keys does not give others.
    pub key_independence: bool,
    /// No member splits the group, nor leaves another one alone with a key
    /// ([`Scheme::claims_agreement`](crate::catalogue::Scheme::claims_agreement)). Where one member
    /// closes an operation and the others only listen, that member can tell each of two halves
    /// another key. A confirmation by every member rules it out.
    pub agreement: bool,
}

/// The adversary against which a scheme claims something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Adversary {
    /// It hears every message, and corrupts parties. It sends nothing.
    Passive,
    /// It also owns the network and what was ever sent over it: it holds back, changes, repeats and
    /// makes up messages. An evicted member keeps its long-term key and speaks. Where members make
    /// the key among themselves, a present member may lie, too. Messages are protected as the
    /// profile has it ([`Scheme::default_protection`]).
    Active,
}

/// The form of a scheme: as in the papers, or without their known faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The form in the papers, which the feature `research` adds. Many of them are broken.
    #[cfg(feature = "research")]
    Published,
    /// The form without the known faults of the paper.
    #[default]
    Sound,
}

/// The parties to which a driver gives an application's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    /// The controller alone.
    Controller,
    /// All parties.
    Everybody,
    /// All current members.
    Members,
}

impl Assumption {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiffieHellman => "diffie-hellman",
            Self::Encapsulation => "encapsulation",
            Self::Pairing => "pairing",
            Self::Symmetric => "symmetric",
        }
    }
}

impl fmt::Display for Unsuited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (basis, lack) = match self.assumption {
            Assumption::DiffieHellman => ("on Diffie-Hellman", "no group"),
            Assumption::Pairing => ("on a pairing", "no pairing"),
            Assumption::Encapsulation => ("on key encapsulation", "none"),
            Assumption::Symmetric => ("of symmetric algorithms", "none"),
        };
        let suite = self.suite.name();
        write!(f, "no post-quantum form: it is built {basis}, and suite {suite} has {lack}")
    }
}

impl core::error::Error for Unsuited {}

impl Claims {
    /// All claims.
    pub const ALL: Self = Self {
        forward_secrecy: true,
        backward_secrecy: true,
        collusion_resistance: true,
        key_independence: true,
        agreement: true,
    };

    /// No claim.
    pub const NONE: Self = Self {
        forward_secrecy: false,
        backward_secrecy: false,
        collusion_resistance: false,
        key_independence: false,
        agreement: false,
    };
}

impl Adversary {
    /// Both adversaries, the weaker one first.
    pub const ALL: [Self; 2] = [Self::Passive, Self::Active];

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passive => "passive",
            Self::Active => "active",
        }
    }
}

impl Class {
    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Centralized => "centralized",
            Self::Distributed => "distributed",
            Self::Hybrid => "hybrid",
        }
    }
}

impl Law {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OneKey => "one-key",
            Self::OneMessage => "one-message",
            Self::PlannedPeriods => "planned-periods",
        }
    }

    /// Returns what the law says.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::OneKey => {
                "one key: all members hold the same, new at every change, and no other party has it"
            }
            Self::OneMessage => {
                "one message: its key reaches all members and no other party; there is no group key"
            }
            Self::PlannedPeriods => {
                "planned periods: members promised a period hold its key, and no other party does"
            }
        }
    }
}

impl Departures {
    /// Returns what the group keeps.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Forgotten => "costs follow from the members of now",
            Self::Kept(_) => {
                "messages grow with the members that have left, until the group is created anew"
            }
        }
    }
}

impl Recovery {
    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rejoin => "rejoin",
            Self::Relay => "relay",
            Self::Request => "request",
            Self::SelfHealing => "self-healing",
        }
    }

    /// Returns what the recovery means.
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
    /// Returns the name used in every table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Reconstructed => "reconstructed",
            Self::Specified => "specified",
            Self::StandIn => "stand-in",
        }
    }
}

impl Profile {
    /// The profiles that were compiled in.
    pub const ALL: [Self; if cfg!(feature = "research") { 2 } else { 1 }] = [
        Self::Sound,
        #[cfg(feature = "research")]
        Self::Published,
    ];

    /// Returns whether this is the form in the papers. Without the feature `research` nothing is, and
    /// the compiler leaves out the code of these forms.
    pub const fn is_published(self) -> bool {
        !matches!(self, Self::Sound)
    }

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        if self.is_published() { "published" } else { "sound" }
    }

    /// Returns the profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// Returns the suite in which the profile is compared with others, unless the caller chooses
    /// otherwise.
    #[cfg(feature = "research")]
    pub const fn default_suite(self) -> Suite {
        match self {
            Self::Published => Suite::Published,
            Self::Sound => Suite::Standard,
        }
    }
}
