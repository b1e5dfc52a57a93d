//! What an audit is told of a step: every operation on secrets, with the byte strings that went in and
//! that came out. With the feature `rig` only, and only where a [`Tracer`] is attached.

#[cfg(feature = "rig")]
use crate::identity::PartyId;

/// Is notified of every operation.
#[cfg(feature = "rig")]
pub trait Tracer {
    /// A party did something.
    fn operation(&mut self, party: PartyId, traced: Traced<'_>);
}

/// An operation: what it was, what went in, what came out. Keys are their 16 bytes, elements and
/// exponents what encodes them.
#[cfg(feature = "rig")]
#[derive(Clone, Copy, Debug)]
pub struct Traced<'t> {
    /// Which operation, and so what follows from what.
    pub rule: Rule,
    /// What for: the label of a derivation.
    pub label: &'static str,
    /// What else went in and may hold other values: the context of a derivation.
    pub context: &'t [u8],
    /// What went in, in the order that the rule says.
    pub inputs: &'t [&'t [u8]],
    /// What came out.
    pub outputs: &'t [&'t [u8]],
}

/// What follows from what. A party that has all inputs has the outputs; what else follows is said
/// here.
// Nobody reads it without a tracer.
#[cfg_attr(not(feature = "rig"), allow(dead_code, unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The parts make up the whole, and the whole can be taken apart.
    Assemble,
    /// An element divided by another: of the three, any two give the third.
    Divide,
    /// A product of exponents: of the three, any two give the third.
    ExponentProduct,
    /// A long-term secret that the party has from the beginning.
    Given,
    /// An inverse gives back what it is the inverse of.
    Invert,
    /// A product of elements: all but one of factors and product give the one that is missing.
    Multiply,
    /// Forward only: derivations, hashes, and arithmetic whose inverse is of no use.
    OneWay,
    /// The product of pairings of the inputs, two by two.
    Pair,
    /// The first input raised to the second; result and exponent give back the base.
    Power,
    /// The generator raised to the input.
    PowerOfGenerator,
    /// Every member knows it: a certified public key.
    Public,
    /// Drawn at random.
    Random,
    /// Opens the second input, what was wrapped, with the first, a key.
    Unwrap,
    /// Wraps the inputs but the first under the first; the output is what is sent.
    Wrap,
    /// Bit by bit: of the three, any two give the third.
    Xor,
}
