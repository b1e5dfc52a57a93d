//! The answer: what is out and why, what remains, what is best, and where that turns.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The answer to some requirements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Decision {
    /// Of the candidates that meet all requirements, the preferred one among those that are
    /// [equal](crate::equals) to the cheapest. `None` if none meets them.
    pub recommended: Option<Assessment>,
    /// The candidates that are equal to the cheapest one as far as the model knows, the recommended
    /// one first.
    pub equals: Vec<Candidate>,
    /// What is required by default, and not by these requirements.
    pub given_up: Vec<GivenUp>,
    /// The recommended candidate, and then by ascending cost those that meet all requirements and
    /// that no other one beats in every quantity.
    pub front: Vec<Assessment>,
    /// The other candidates that meet all requirements, by ascending cost.
    pub beaten: Vec<Assessment>,
    /// The schemes that no candidate saves, each with the reasons of the candidate that comes
    /// nearest, in the catalogue's order.
    pub out: Vec<ExcludedScheme>,
    /// Where the recommendation turns into another one, if one requirement changes alone. The model
    /// finds this.
    pub turns: Vec<TippingPoint>,
    /// How the finalists were simulated against each other. `None` if the model decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// The answer in short: what to take and why, the runner-up, what would decide between them, and
    /// what is not known.
    #[serde(default)]
    pub in_short: Vec<String>,
}

/// How finalists were simulated against each other, with common random numbers, and what that
/// settled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Race {
    /// The procedure, with its source.
    pub procedure: String,
    /// The probability with which all that it settled is true.
    pub confidence: f64,
    /// A finalist that costs at most this share more than the cheapest one may be called equal.
    pub equal_within: f64,
    /// One that costs at least this share more may be called dearer. Between both shares, either may
    /// be said.
    pub dearer_from: f64,
    /// How it ended.
    pub end: RaceEnd,
    /// Candidates of which the model cannot say that they cost more than another one.
    pub could_win: usize,
    /// Those of them that were simulated, in the order in which they would be taken.
    pub finalists: Vec<Finalist>,
}

/// How a race ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceEnd {
    /// Each finalist was found equal to the cheapest one, dearer, or over a limit.
    Settled,
    /// The most runs that a race has left something open.
    Open,
    /// It was interrupted: what is told is what was known then.
    Interrupted,
}

/// A candidate that was simulated against others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Finalist {
    /// The candidate.
    pub candidate: Candidate,
    /// What was found.
    pub standing: Standing,
    /// Between which shares its cost lies above that of the cheapest finalist. The upper one is
    /// missing if nothing is known.
    pub above: (f64, Option<f64>),
    /// How often each of its changes was simulated.
    pub runs: u32,
}

/// What a race found of a finalist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It costs as little as the cheapest one.
    Equal,
    /// It costs more.
    Dearer,
    /// The runs could not tell.
    Open,
    /// It exceeds a limit in the simulation.
    OverLimit,
}

/// A scheme with all that can be chosen for it, in its sound form.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Candidate {
    /// What decides on its counts.
    #[serde(flatten)]
    pub variant: Variant,
    /// Quality of service of its messages: 0, 1 or 2.
    pub qos: u8,
}

/// A scheme with its parameters, algorithms and protection. Its counts do not depend on the
/// network.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Variant {
    /// The scheme's id in the catalogue.
    pub scheme: String,
    /// The parameters that differ from the sound profile's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, u32>,
    /// The suite of algorithms, by its name.
    pub suite: String,
    /// The protection of messages: `mac` or `signature`.
    pub guard: String,
}

/// A candidate in a group, with all its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Assessment {
    /// The candidate.
    pub candidate: Candidate,
    /// Its cost a day, by the weights of the requirements.
    pub cost: f64,
    /// The model's median error about how long its changes take (share), as it was recorded with
    /// the [fit](crate::completion::CompletionFit::error). 0 if they were simulated.
    pub error: f64,
    /// Its figures, in the order of [`Quantity::ALL`]. One is missing if there is no ground for it.
    pub figures: Vec<Figure>,
}

/// A number, how sure it is, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Figure {
    /// What it is.
    pub quantity: Quantity,
    /// The expected value, in the quantity's unit.
    pub value: f64,
    /// The ends of its 95 % interval. An exact count has its value twice.
    pub interval: (f64, f64),
    /// What it rests on.
    pub ground: Ground,
    /// Whether it lies outside what was counted or simulated.
    pub is_extrapolated: bool,
}

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Mean time until a change is complete (ms).
    Completion,
    /// Time until 99 % of changes are complete (ms).
    CompletionOf99,
    /// Energy of the member that needs most (J a day).
    Energy,
    /// What that member sends (bytes a day).
    Sent,
    /// What that member receives (bytes a day).
    Received,
    /// Key material of that member (bytes).
    Keys,
    /// Working memory of a member: stack, heap and static variables (bytes).
    Memory,
    /// Program memory of a member (bytes).
    Flash,
    /// The largest message (bytes).
    LargestMessage,
    /// Computation of the controller (ms a day).
    Controller,
    /// What the controller sends (bytes a day).
    ControllerSent,
}

/// What a figure rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ground {
    /// Counted by running the scheme.
    Counted,
    /// Counted, and priced by a device's profile.
    Modelled,
    /// By a model that was fitted to simulations.
    Fitted,
    /// Simulated for these requirements.
    Simulated,
}

/// Something that is required by default, and that requirements give up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct GivenUp {
    /// The requirement's field, as in a file: `security.passive`.
    pub requirement: String,
    /// What is given up, in words: `collusion resistance`.
    pub what: String,
    /// What may happen without it, in words.
    pub risk: String,
    /// Whether the recommended candidate has it all the same.
    pub is_held: bool,
}

/// A scheme that is out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ExcludedScheme {
    /// The candidate of the scheme that comes nearest. `None` if the reasons hold for all of them.
    pub candidate: Option<Candidate>,
    /// The scheme's id.
    pub scheme: String,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// A requirement that is not met.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    /// The requirement's field, as in a file: `limits.complete`.
    pub requirement: String,
    /// What is required, in words: `at most 200 ms`.
    pub required: String,
    /// What the scheme has, in words: `430 ms`.
    pub has: String,
    /// The nearest value of the requirement that would let the scheme in, as it would stand in a
    /// file. `None` if no value would.
    pub nearest: Option<String>,
}

/// Where the recommendation turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct TippingPoint {
    /// The requirement that changes: `members.now`, `members.leaves`, `network.loss`,
    /// `network.delay`.
    pub requirement: String,
    /// The value from which on, away from the present one, the other recommendation holds.
    pub at: f64,
    /// Whether that is above the present value.
    pub is_above: bool,
    /// The other recommendation. `None` if nothing meets the requirements there.
    pub instead: Option<Candidate>,
}

impl Quantity {
    /// All quantities, in the order of tables.
    pub const ALL: [Self; 11] = [
        Self::Completion,
        Self::CompletionOf99,
        Self::Energy,
        Self::Sent,
        Self::Received,
        Self::Keys,
        Self::Memory,
        Self::Flash,
        Self::LargestMessage,
        Self::Controller,
        Self::ControllerSent,
    ];

    /// Returns the name and the unit, for tables.
    pub const fn name_and_unit(self) -> (&'static str, &'static str) {
        match self {
            Self::Completion => ("completion, mean", "ms"),
            Self::CompletionOf99 => ("completion, 99 %", "ms"),
            Self::Energy => ("member's energy", "J/day"),
            Self::Sent => ("member sends", "B/day"),
            Self::Received => ("member receives", "B/day"),
            Self::Keys => ("member's keys", "B"),
            Self::Memory => ("member's memory", "B"),
            Self::Flash => ("member's flash", "B"),
            Self::LargestMessage => ("largest message", "B"),
            Self::Controller => ("controller computes", "ms/day"),
            Self::ControllerSent => ("controller sends", "B/day"),
        }
    }
}

impl Decision {
    /// Returns how often each change of a candidate was simulated: 0 if the model alone judged it.
    pub fn runs(&self, candidate: &Candidate) -> u32 {
        let finalists = self.race.iter().flat_map(|race| &race.finalists);
        let mut own = finalists.filter(|one| one.candidate == *candidate);
        own.next().map_or(0, |one| one.runs)
    }
}

impl Assessment {
    /// Returns a figure, if there is a ground for it.
    pub fn figure(&self, quantity: Quantity) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.quantity == quantity)
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        self.parameters.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))?;
        write!(f, ", {}, {}", self.suite, self.guard)
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, QoS {}", self.variant, self.qos)
    }
}
