//! A published finding, and how far our rows bear it out, as reports show it.
//!
//! A finding is a set of statements, and each statement is compared in many settings.

mod thresholds;

use serde::{Serialize, Serializer};

pub use self::thresholds::{Threshold, Thresholds};

/// A finding of a paper, and our verdict on it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Its name within the study: `f1`, `join_total`, ...
    pub id: String,
    /// The finding.
    pub claim: String,
    /// How far it holds.
    pub outcome: Outcome,
    /// What decides it.
    pub ground: VerdictGround,
    /// The smallest effect that counts against the finding, in words.
    pub margin: String,
    /// In how many of the settings that are evidence it holds.
    pub share: Share,
    /// The condition that was tried, if there is one, and how it stood its test.
    pub condition: Option<ConditionTest>,
    /// The outcome with its figures, in one sentence.
    pub sentence: String,
    /// What another ground says, in one sentence, if it says something else.
    pub dissent: Option<String>,
    /// What a reader must know beside the figures; may be empty.
    pub remark: String,
    /// Everything that was compared.
    pub statements: Vec<Statement>,
}

/// Settings in which a finding holds, of all settings that are evidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Settings in which it holds.
    pub holds: usize,
    /// All settings that could fail, run or not.
    pub settings: usize,
}

/// A condition under which a finding would hold, put to the test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConditionTest {
    /// The condition: `only for loss 0 %`.
    pub words: String,
    /// Settings that meet it.
    pub within: Share,
    /// Settings that do not.
    pub elsewhere: Share,
    /// The share of random halves of the settings that find a condition which the other half
    /// confirms.
    pub confirmed: f64,
    /// The probability that rulings shuffled over the settings have a condition as broad.
    pub p_value: f64,
    /// The same, corrected by Holm for all findings of all studies.
    pub p_holm: f64,
}

/// How far a finding holds in our rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It holds in every setting.
    HoldsEverywhere,
    /// It holds in all but a few settings.
    HoldsWithExceptions,
    /// It holds where a condition is met, and chance does not explain the condition.
    HoldsConditionally,
    /// It holds in some settings and fails in others.
    Mixed,
    /// It fails in all settings, or in all but a few.
    Refuted,
    /// The settings that are open could change the outcome.
    NotDecidable,
    /// Ours is another algorithm, or another definition.
    NotComparable,
    /// It comes out by construction: a price or parameter was set by the statement itself.
    Circular,
}

/// What decides a finding. Counts and sizes are exact and decide what is about algorithms. A model
/// decides what is about a device. Times measured here are about this implementation on this
/// machine. No published finding is about that, so that they are no ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictGround {
    /// Counted primitives. They say how a scheme's work grows, on any machine. A primitive that makes
    /// next to nothing of the cost on this device is left out.
    Counts(&'static str),
    /// Counted bytes of key material that is kept between operations.
    PermanentBytes,
    /// Counted bytes of key material that is held during an operation.
    TemporaryBytes,
    /// What real parties sent and did.
    Runs,
    /// An equation with numbers in it.
    Calculation,
    /// Counted primitives at the prices of this device, which are its profile's.
    Device(&'static str),
    /// Runs of the simulated network.
    Network,
}

/// A statement of a finding, with all settings in which it was compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statement {
    /// What is stated of every setting.
    pub claim: String,
    /// The settings that were run.
    pub settings: Vec<Compared>,
    /// How many settings were not run.
    pub not_run: usize,
    /// What else there is to say, such as the order that we find; may be empty.
    pub note: String,
}

/// A statement in one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// The figures.
    pub words: String,
    /// Whether the statement holds here.
    pub ruling: Ruling,
    /// Our value divided by the largest value at which the statement still holds, the margin
    /// included: above 1 it fails. Absent where there is no such value.
    pub effect: Option<f64>,
    /// What tells this setting from the others: pairs of a factor and its value.
    pub factors: Vec<(&'static str, String)>,
    /// Why this setting is no evidence, whatever its ruling.
    pub void: Option<Void>,
}

/// Why a setting is no evidence for or against a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Void {
    /// What is wrong with it.
    pub kind: VoidKind,
    /// The reason, in words.
    pub why: String,
}

/// What is wrong with a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidKind {
    /// It rests on the statement that it tests, or follows from the model.
    Circular,
    /// Ours is another algorithm, or another definition.
    NotComparable,
    /// A scheme in it was made to have the costs that the paper reports.
    StandIn,
}

/// Whether a statement holds in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// It fails by more than the margin.
    Fails,
    /// It holds, or misses by less than the margin.
    Holds,
    /// The runs do not tell.
    Open,
    /// One is said to be above another, and both are within the margin of each other.
    Tie,
}

impl Outcome {
    /// All outcomes, from the best to the worst for a finding, then those that say nothing of it.
    pub const ALL: [Self; 8] = [
        Self::HoldsEverywhere,
        Self::HoldsWithExceptions,
        Self::HoldsConditionally,
        Self::Mixed,
        Self::Refuted,
        Self::NotDecidable,
        Self::NotComparable,
        Self::Circular,
    ];

    /// Returns the outcome in words, for use within a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HoldsEverywhere => "holds everywhere",
            Self::HoldsWithExceptions => "holds with exceptions",
            Self::HoldsConditionally => "holds only under a condition",
            Self::Mixed => "mixed",
            Self::Refuted => "refuted",
            Self::NotDecidable => "not decidable",
            Self::NotComparable => "not comparable",
            Self::Circular => "circular",
        }
    }

    /// Returns whether the finding holds, everywhere or with exceptions.
    pub const fn holds(self) -> bool {
        matches!(self, Self::HoldsEverywhere | Self::HoldsWithExceptions)
    }
}

impl VerdictGround {
    /// Returns the ground in words, for use within a sentence.
    pub fn name(self) -> String {
        match self {
            Self::Counts(_) => "counted primitives".to_owned(),
            Self::PermanentBytes => "counted bytes of keys that are kept".to_owned(),
            Self::TemporaryBytes => "counted bytes of keys during an operation".to_owned(),
            Self::Runs => "what real parties did".to_owned(),
            Self::Calculation => "a calculation".to_owned(),
            Self::Device(name) => format!("counted primitives at the prices of {name}"),
            Self::Network => "runs of the simulated network".to_owned(),
        }
    }

    /// Returns what would decide a finding that this ground leaves open.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Network => {
                "far more runs (--runs), for the effect is about as large as the margin"
            }
            Self::Device(_) => "a profile of the device with prices for the suite, and every size",
            Self::Calculation => "numbers",
            Self::Counts(_) | Self::PermanentBytes | Self::TemporaryBytes | Self::Runs => {
                "a run of every size, without --most-members"
            }
        }
    }
}

impl Serialize for VerdictGround {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

impl Ruling {
    /// Returns the ruling in a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fails => "fails",
            Self::Holds => "holds",
            Self::Open => "open",
            Self::Tie => "tie",
        }
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.holds, self.settings)
    }
}

impl Statement {
    /// Returns the number of settings, run or not.
    pub const fn total(&self) -> usize {
        self.settings.len() + self.not_run
    }

    /// Returns the settings that are evidence.
    pub fn evidence(&self) -> impl Iterator<Item = &Compared> {
        self.settings.iter().filter(|compared| compared.void.is_none())
    }

    /// Returns the number of settings of this ruling that are evidence.
    pub fn count(&self, ruling: Ruling) -> usize {
        self.evidence().filter(|compared| compared.ruling == ruling).count()
    }
}

impl Compared {
    /// Says how large the effect is: `1.4 times the limit`.
    pub fn effect_words(&self) -> Option<String> {
        let effect = self.effect.filter(|effect| effect.is_finite())?;
        Some(match effect {
            100.0.. => format!("{effect:.0} times the limit"),
            10.0.. => format!("{effect:.1} times the limit"),
            _ => format!("{effect:.2} times the limit"),
        })
    }
}
