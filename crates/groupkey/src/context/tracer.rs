//! The record of a step for an audit: every operation on secrets, with the byte strings that went
//! in and came out. It exists with the feature `research` only, and only if a [`Tracer`] is attached.

#[cfg(feature = "research")]
use crate::identity::PartyId;

/// An observer that is notified of every operation.
#[cfg(feature = "research")]
pub trait Tracer {
    /// Receives an operation that a party performed.
    fn operation(&mut self, party: PartyId, traced: Traced<'_>);
}

/// An operation with its inputs and outputs. A key is its 16 bytes. An element or exponent is its
/// encoding.
#[cfg(feature = "research")]
#[derive(Clone, Copy, Debug)]
pub struct Traced<'t> {
    /// The kind of operation. It says which values follow from which.
    pub rule: Rule,
    /// The purpose of the operation: the label of a derivation.
    pub label: &'static str,
    /// An additional input that may hold other values: the context of a derivation.
    pub context: &'t [u8],
    /// The inputs, in the order that the rule says.
    pub inputs: &'t [&'t [u8]],
    /// The outputs.
    pub outputs: &'t [&'t [u8]],
}

/// Which values follow from which. A party that has all inputs has the outputs. Each rule says what
/// else follows.
// Without a tracer, no code reads it.
#[cfg_attr(not(feature = "research"), allow(dead_code, unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The parts make up the whole, and the whole can be taken apart.
    Assemble,
    /// An element divided by another: any two of the three give the third.
    Divide,
    /// A product of exponents: any two of the three give the third.
    ExponentProduct,
    /// A long-term secret that the party has from the beginning.
    Given,
    /// An inverse: each of the two gives the other.
    Invert,
    /// A product of elements: if one of the factors and the product is missing, the others give it.
    Multiply,
    /// Forward only: derivations, hashes, and arithmetic whose inverse is of no use.
    OneWay,
    /// The product of pairings of the inputs, two by two.
    Pair,
    /// The first input raised to the second; result and exponent give back the base.
    Power,
    /// The generator raised to the input.
    PowerOfGenerator,
    /// A value that every member knows: a certified public key.
    Public,
    /// A value drawn at random.
    Random,
    /// Opens the second input, a wrapped key, with the first, a key.
    Unwrap,
    /// Wraps all inputs but the first under the first. The output is what is sent.
    Wrap,
    /// A bitwise XOR: any two of the three give the third.
    Xor,
}
