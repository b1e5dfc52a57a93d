//! Counting: how often each primitive operation was used, and on how much.

/// A primitive operation. Costs of devices and formulas in scheme headers are told in these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Primitive {
    /// Random bytes; the amount is bytes.
    Random,
    /// One call that wraps keys under a key; the amount is keys.
    Wrap,
    /// One call that unwraps keys; the amount is keys.
    Unwrap,
    /// One derivation of a key; the amount is bytes of input.
    Derive,
    /// One step of a one-way chain ([`Context::hash`](crate::Context::hash)), or what costs as much;
    /// the amount is 1.
    Hash,
    /// One MAC made or checked; the amount is bytes.
    Mac,
    /// One signature made; the amount is bytes.
    Sign,
    /// One signature checked; the amount is bytes.
    Verify,
    /// The group's generator raised to an exponent; the amount is 1.
    ExponentiateGenerator,
    /// An element raised to an exponent; the amount is 1.
    Exponentiate,
    /// Two elements multiplied; the amount is 1.
    MultiplyElements,
    /// An element divided by another; the amount is 1.
    DivideElements,
    /// The inverse of an exponent; the amount is 1.
    InvertExponent,
    /// A received element decoded and checked; the amount is 1.
    CheckElement,
}

/// Is told of every primitive operation.
pub trait Probe {
    /// One call of `primitive` on `amount` units (see [`Primitive`]).
    fn record(&mut self, primitive: Primitive, amount: usize);
}

/// Calls and amounts by primitive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    tallies: [Tally; Primitive::ALL.len()],
}

/// How often a primitive was called, and on how many units in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of calls.
    pub calls: u64,
    /// Sum of the amounts.
    pub amount: u64,
}

impl Primitive {
    /// All primitives, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::Random,
        Self::Wrap,
        Self::Unwrap,
        Self::Derive,
        Self::Hash,
        Self::Mac,
        Self::Sign,
        Self::Verify,
        Self::ExponentiateGenerator,
        Self::Exponentiate,
        Self::MultiplyElements,
        Self::DivideElements,
        Self::InvertExponent,
        Self::CheckElement,
    ];

    /// The name used in device profiles and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Wrap => "wrap",
            Self::Unwrap => "unwrap",
            Self::Derive => "derive",
            Self::Hash => "hash",
            Self::Mac => "mac",
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::ExponentiateGenerator => "exponentiate-generator",
            Self::Exponentiate => "exponentiate",
            Self::MultiplyElements => "multiply-elements",
            Self::DivideElements => "divide-elements",
            Self::InvertExponent => "invert-exponent",
            Self::CheckElement => "check-element",
        }
    }
}

impl Meter {
    /// A meter at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was counted of one primitive.
    pub const fn tally(&self, primitive: Primitive) -> Tally {
        self.tallies[primitive as usize]
    }

    /// Exponentiations of all kinds: what the tables of the literature count.
    pub const fn exponentiations(&self) -> u64 {
        self.tally(Primitive::Exponentiate).calls
            + self.tally(Primitive::ExponentiateGenerator).calls
    }

    /// Adds another meter's counts.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.tallies.iter_mut().zip(&other.tallies) {
            mine.calls += theirs.calls;
            mine.amount += theirs.amount;
        }
    }
}

impl Probe for Meter {
    fn record(&mut self, primitive: Primitive, amount: usize) {
        let tally = &mut self.tallies[primitive as usize];
        tally.calls += 1;
        tally.amount += amount as u64;
    }
}

/// Counts nothing.
impl Probe for () {
    fn record(&mut self, _: Primitive, _: usize) {}
}
