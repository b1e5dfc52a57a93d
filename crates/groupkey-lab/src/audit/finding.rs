//! The finding about one claim of one scheme.

use groupkey::catalogue::Adversary;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::results::{FileRow, ResultColumn, RunRow, fields};

/// A claim of a scheme in a profile, and what attacking it found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Scheme, by its id in the catalogue.
    pub scheme: String,
    /// Profile: `published` or `sound`.
    pub profile: String,
    /// The suite that was asked for; absent if the search and the attacks had their usual suites.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
    /// `specified`, `reconstructed`, `stand-in` or `foreign`.
    pub provenance: String,
    /// What is claimed, for example `forward-secrecy`, or the id of the attack that was tried.
    pub claim: String,
    /// The adversary: `passive` or `active`.
    #[serde(serialize_with = "write_adversary", deserialize_with = "read_adversary")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub adversary: Adversary,
    /// Whether the scheme claims it against this adversary; absent if it says nothing about it.
    pub claimed: Option<bool>,
    /// The condition under which the attack was tried, if that is not how the profile is run. What
    /// is broken under a condition breaks no claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<AttackCondition>,
    /// Why no scheme of this class can promise it, if none can. Then it is not claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherent: Option<String>,
    /// The result.
    pub found: Found,
    /// How the audit searched; if it searched in both ways, the way that broke the claim.
    pub method: SearchMethod,
    /// Id of the attack, if a written-down attack was tried.
    pub attack: Option<String>,
    /// Where the attack was published, or `own analysis`; absent for a search.
    pub reference: Option<String>,
    /// The shortest history that breaks the claim, one event each; empty if the claim holds.
    pub history: Vec<String>,
    /// How the adversary gets to the key in that history, one step each; empty if the claim holds.
    pub derivation: Vec<String>,
    /// What was searched; the audit adds it when it ends.
    pub searched: Option<Searched>,
}

impl FileRow for Finding {
    fn columns() -> Vec<ResultColumn<Self>> {
        let mut columns = Vec::new();
        columns.extend(fields![text: scheme, profile, provenance, claim]);
        columns.push(ResultColumn::text("suite", |row: &Self| row.suite.clone()));
        columns.push(ResultColumn::text("adversary", |row: &Self| {
            Some(row.adversary.name().to_owned())
        }));
        columns.push(ResultColumn::text("claimed", |row: &Self| {
            row.claimed.map(|claimed| if claimed { "yes" } else { "no" }.to_owned())
        }));
        columns.push(ResultColumn::text("condition", |row: &Self| {
            row.condition.map(|condition| condition.name().to_owned())
        }));
        columns.push(ResultColumn::text("inherent", |row: &Self| row.inherent.clone()));
        columns.push(ResultColumn::text("found", |row: &Self| Some(row.found.name().to_owned())));
        columns.push(ResultColumn::text("method", |row: &Self| Some(row.method.name().to_owned())));
        columns.push(ResultColumn::text("attack", |row: &Self| row.attack.clone()));
        columns.push(ResultColumn::text("reference", |row: &Self| row.reference.clone()));
        columns.push(ResultColumn::text("history", |row: &Self| Some(row.history.join("; "))));
        columns
            .push(ResultColumn::text("derivation", |row: &Self| Some(row.derivation.join("; "))));
        columns
    }
}

impl RunRow for Finding {
    const FORMAT: &'static str = "groupkey-audit";

    fn seed(&self) -> Option<u64> {
        self.searched.map(|searched| searched.seed)
    }
}

/// The extent of a search: the arguments of `groupkey audit`, and how far it went for the scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Searched {
    /// Seed of the longer histories and of all keys.
    pub seed: u64,
    /// Requested number of events after the creation.
    pub depth: usize,
    /// Whether it was a first look, without slow attacks.
    pub quick: bool,
    /// Largest number of members at the creation, in the histories that were tried exhaustively.
    pub members: u32,
    /// Events after the creation in these histories: fewer than requested if runs take long.
    pub events: usize,
    /// Number of longer, random histories.
    pub sampled: usize,
}

/// A condition under which an attack is tried, and which the sound profile does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum AttackCondition {
    /// One MAC key protects the messages of all parties: whoever was ever in the deployment has it.
    Mac,
    /// The members run without [`groupkey::Ordered`], and have who was evicted in their directory:
    /// no party tells them who may speak.
    Bare,
}

/// The result for a claim or an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Found {
    /// A history and a derivation break it.
    Broken,
    /// The search found nothing that breaks it.
    Holds,
    /// Nothing is known: a slow attack was left out, and might have broken it.
    LeftOut,
    /// It makes no sense for this scheme.
    NotApplicable,
    /// Nothing is known: a foreign library computes, and the audit cannot look inside.
    NotModelled,
}

/// What an audit found.
#[derive(Clone, Debug, Default)]
pub struct Audit {
    /// Findings by subject, in the given order. Each subject's claims come first, then the attacks.
    pub findings: Vec<Finding>,
    /// Histories that were run, for each subject.
    pub histories: Vec<usize>,
    /// Histories that the scheme refused, for each subject. They say nothing about the claims.
    pub refused: Vec<usize>,
}

impl Finding {
    /// Whether the finding is about an attack itself rather than about a claim of the scheme.
    pub fn claim_is_attack(&self) -> bool {
        self.attack.as_deref() == Some(&*self.claim)
    }
}

impl AttackCondition {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::Bare => "bare",
        }
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
            Self::NotModelled => "not-modelled",
        }
    }
}

/// How the audit searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SearchMethod {
    /// It derived everything that follows from what an adversary knows.
    Closure,
    /// It tried an attack that was written down.
    Script,
}

impl SearchMethod {
    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closure => "closure",
            Self::Script => "script",
        }
    }
}

fn write_adversary<S: Serializer>(adversary: &Adversary, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(adversary.name())
}

fn read_adversary<'de, D: Deserializer<'de>>(from: D) -> Result<Adversary, D::Error> {
    let name = String::deserialize(from)?;
    let adversary = Adversary::ALL.into_iter().find(|adversary| adversary.name() == name);
    adversary.ok_or_else(|| serde::de::Error::unknown_variant(&name, &["passive", "active"]))
}
