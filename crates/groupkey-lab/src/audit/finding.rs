//! What was found about one claim of one scheme.

use serde::{Deserialize, Serialize};

/// A claim of a scheme in a profile, and what attacking it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// `specified`, `reconstructed` or `stand-in`.
    pub provenance: String,
    /// What is claimed, for example `forward-secrecy`, or the id of the attack that was tried.
    pub claim: String,
    /// Whether the scheme claims it; absent where it says nothing about it.
    pub claimed: Option<bool>,
    /// What came out.
    pub found: Found,
    /// How it was sought; where both ways were gone, the one that broke it.
    pub method: Method,
    /// Id of the attack, where it was sought by one that was written down.
    pub attack: Option<String>,
    /// Where the attack was published, or `own analysis`; absent for a search.
    pub reference: Option<String>,
    /// The shortest history that breaks it, one event each; empty where it holds.
    pub history: Vec<String>,
    /// How the adversary gets to the key in that history, one step each; empty where it holds.
    pub derivation: Vec<String>,
    /// What was searched; absent in files of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub searched: Option<Searched>,
}

/// What was searched: with which arguments of `groupkey audit`, and how far that went for the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searched {
    /// Longer histories and all keys follow from it.
    pub seed: u64,
    /// Events after the creation that were asked for.
    pub depth: usize,
    /// Whether it was a first look, without slow attacks.
    pub quick: bool,
    /// Members at the creation, at most, in the histories of which all were tried.
    pub members: u32,
    /// Events after it: fewer than were asked for where runs take long.
    pub events: usize,
    /// Longer histories, at random.
    pub sampled: usize,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// A history and a derivation break it.
    Broken,
    /// Nothing was found that breaks it, in what was searched.
    Holds,
    /// Nothing is known: what takes long was left out, and might have broken it.
    LeftOut,
    /// It makes no sense for this scheme.
    NotApplicable,
}

/// What an audit found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// By subject in the order in which they were given; for each its claims, then the attacks.
    pub findings: Vec<Finding>,
    /// Histories that were run, for each subject.
    pub histories: Vec<usize>,
    /// Histories that the scheme refused, for each subject: they say nothing.
    pub refused: Vec<usize>,
}

impl Finding {
    /// Whether it is about an attack itself rather than about a claim of the scheme.
    pub fn claim_is_attack(&self) -> bool {
        self.attack.as_deref() == Some(&*self.claim)
    }
}

impl Found {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Holds => "holds",
            Self::LeftOut => "left-out",
            Self::NotApplicable => "not-applicable",
        }
    }
}

/// How it was sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// By everything that follows from what an adversary knows.
    Closure,
    /// By an attack that was written down.
    Script,
}
