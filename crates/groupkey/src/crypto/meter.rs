//! Counting: how often each primitive operation was used, and on how much.

/// A primitive operation. Costs of devices and formulas in scheme headers use these units.
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
    /// One step of a one-way chain ([`Context::hash`](crate::Context::hash)), or an operation of
    /// the same cost; the amount is 1.
    Hash,
    /// One message encrypted; the amount is bytes, including bytes that are only authenticated.
    Seal,
    /// One message decrypted; the amount is bytes, as for [`Self::Seal`].
    Unseal,
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
    /// An element encoded, to be sent or hashed, or many in one call, which share the costly part;
    /// the amount is 1.
    EncodeElement,
    /// The inverse of a scalar of a pairing's groups; the amount is 1.
    InvertScalar,
    /// A table of multiples of an element of G1 made; the amount is 1.
    TabulateG1,
    /// The base of such a table raised to scalars in one call; the amount is scalars.
    ExponentiateG1Fixed,
    /// An element of G1 raised to a scalar; the amount is 1.
    ExponentiateG1,
    /// An element of G2 raised to a scalar; the amount is 1.
    ExponentiateG2,
    /// An element of GT raised to a scalar; the amount is 1.
    ExponentiateGt,
    /// Elements of G1 multiplied into one in one call; the amount is products.
    MultiplyG1,
    /// Elements of G2 multiplied into one in one call; the amount is products.
    MultiplyG2,
    /// Two elements of GT multiplied; the amount is 1.
    MultiplyGt,
    /// The Miller loops of a product of pairings in one call; the amount is pairs.
    MillerLoop,
    /// The final exponentiation of a product of pairings; the amount is 1.
    FinalExponentiation,
    /// A received element of G1 decoded and checked, or half a hash to G1; the amount is 1.
    CheckG1,
    /// A received element of G2 decoded and checked; the amount is 1.
    CheckG2,
    /// A received element of GT decoded and checked; the amount is 1.
    CheckGt,
    /// A random prime found; the amount is bytes.
    GeneratePrime,
    /// The product of many primes; the amount is bytes of the result.
    MultiplyPrimes,
    /// A long number multiplied by a short one; the amount is bytes of the long one.
    MultiplyInteger,
    /// A long number divided by a short one, exactly or for the remainder; the amount is bytes of
    /// the long one.
    DivideInteger,
}

/// An observer that is notified of every primitive operation.
pub trait Probe {
    /// Records one call of `primitive` on `amount` units (see [`Primitive`]).
    fn record(&mut self, primitive: Primitive, amount: usize);
}

/// Calls and amounts by primitive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const ALL: [Self; 35] = [
        Self::Random,
        Self::Wrap,
        Self::Unwrap,
        Self::Derive,
        Self::Hash,
        Self::Seal,
        Self::Unseal,
        Self::Mac,
        Self::Sign,
        Self::Verify,
        Self::ExponentiateGenerator,
        Self::Exponentiate,
        Self::MultiplyElements,
        Self::DivideElements,
        Self::InvertExponent,
        Self::CheckElement,
        Self::EncodeElement,
        Self::InvertScalar,
        Self::TabulateG1,
        Self::ExponentiateG1Fixed,
        Self::ExponentiateG1,
        Self::ExponentiateG2,
        Self::ExponentiateGt,
        Self::MultiplyG1,
        Self::MultiplyG2,
        Self::MultiplyGt,
        Self::MillerLoop,
        Self::FinalExponentiation,
        Self::CheckG1,
        Self::CheckG2,
        Self::CheckGt,
        Self::GeneratePrime,
        Self::MultiplyPrimes,
        Self::MultiplyInteger,
        Self::DivideInteger,
    ];

    /// Returns whether it computes in the Diffie-Hellman group. Its time then depends on the group.
    pub const fn is_of_group(self) -> bool {
        matches!(
            self,
            Self::ExponentiateGenerator
                | Self::Exponentiate
                | Self::MultiplyElements
                | Self::DivideElements
                | Self::InvertExponent
                | Self::CheckElement
                | Self::EncodeElement
        )
    }

    /// Returns whether it computes with long integers.
    pub const fn is_of_integers(self) -> bool {
        matches!(
            self,
            Self::GeneratePrime
                | Self::MultiplyPrimes
                | Self::MultiplyInteger
                | Self::DivideInteger
        )
    }

    /// Returns whether it computes in the groups of a pairing.
    pub const fn is_of_pairing(self) -> bool {
        matches!(
            self,
            Self::InvertScalar
                | Self::TabulateG1
                | Self::ExponentiateG1Fixed
                | Self::ExponentiateG1
                | Self::ExponentiateG2
                | Self::ExponentiateGt
                | Self::MultiplyG1
                | Self::MultiplyG2
                | Self::MultiplyGt
                | Self::MillerLoop
                | Self::FinalExponentiation
                | Self::CheckG1
                | Self::CheckG2
                | Self::CheckGt
        )
    }

    /// Returns the name used in device profiles and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Wrap => "wrap",
            Self::Unwrap => "unwrap",
            Self::Derive => "derive",
            Self::Hash => "hash",
            Self::Seal => "seal",
            Self::Unseal => "unseal",
            Self::Mac => "mac",
            Self::Sign => "sign",
            Self::Verify => "verify",
            Self::ExponentiateGenerator => "exponentiate-generator",
            Self::Exponentiate => "exponentiate",
            Self::MultiplyElements => "multiply-elements",
            Self::DivideElements => "divide-elements",
            Self::InvertExponent => "invert-exponent",
            Self::CheckElement => "check-element",
            Self::EncodeElement => "encode-element",
            Self::InvertScalar => "invert-scalar",
            Self::TabulateG1 => "tabulate-g1",
            Self::ExponentiateG1Fixed => "exponentiate-g1-fixed",
            Self::ExponentiateG1 => "exponentiate-g1",
            Self::ExponentiateG2 => "exponentiate-g2",
            Self::ExponentiateGt => "exponentiate-gt",
            Self::MultiplyG1 => "multiply-g1",
            Self::MultiplyG2 => "multiply-g2",
            Self::MultiplyGt => "multiply-gt",
            Self::MillerLoop => "miller-loop",
            Self::FinalExponentiation => "final-exponentiation",
            Self::CheckG1 => "check-g1",
            Self::CheckG2 => "check-g2",
            Self::CheckGt => "check-gt",
            Self::GeneratePrime => "generate-prime",
            Self::MultiplyPrimes => "multiply-primes",
            Self::MultiplyInteger => "multiply-integer",
            Self::DivideInteger => "divide-integer",
        }
    }
}

impl Meter {
    /// Creates a meter at zero.
    pub const fn new() -> Self {
        Self { tallies: [Tally { calls: 0, amount: 0 }; Primitive::ALL.len()] }
    }

    /// Returns the counts of one primitive.
    pub const fn tally(&self, primitive: Primitive) -> Tally {
        self.tallies[primitive as usize]
    }

    /// Returns the number of exponentiations in the Diffie-Hellman group, of any base. The tables
    /// of the literature count these.
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

impl Default for Meter {
    fn default() -> Self {
        Self::new()
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
