//! What steps leave behind for an audit: every operation on secrets, with the byte strings that went
//! in and that came out. With the feature `rig` only, and only where a [`Tracer`] is attached.

#[cfg(feature = "rig")]
use crate::identity::PartyId;

use alloc::vec::Vec;

use super::Context;
use crate::crypto::group::{Element, Exponent};
use crate::crypto::integer::{Integer, Prime};
use crate::crypto::pairing::{G1, G2, Gt, Scalar};
use crate::secret::Key;

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

/// What follows from what. Whoever has all inputs has the outputs; what else follows is said here.
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
    /// Everybody knows it: a certified public key.
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

/// What a traced value is written as.
#[cfg_attr(not(feature = "rig"), allow(dead_code))]
pub(crate) trait Bytes {
    /// The bytes that represent it, different for different values.
    fn traced(&self) -> Vec<u8>;
}

impl Bytes for Key {
    fn traced(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Bytes for Element {
    fn traced(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl Bytes for Exponent {
    fn traced(&self) -> Vec<u8> {
        self.to_traced()
    }
}

impl Bytes for Prime {
    fn traced(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Bytes for Integer {
    fn traced(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl Bytes for Scalar {
    fn traced(&self) -> Vec<u8> {
        self.to_traced()
    }
}

/// What encodes itself.
macro_rules! encoded {
    ($($element:ty),*) => {$(
        impl Bytes for $element {
            fn traced(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                self.encode(&mut bytes);
                bytes
            }
        }
    )*};
}

encoded!(G1, G2, Gt);

impl Context<'_> {
    /// Whether anybody wants to know.
    #[inline]
    pub(crate) const fn is_traced(&self) -> bool {
        #[cfg(feature = "rig")]
        let is_traced = self.tracer.is_some();
        #[cfg(not(feature = "rig"))]
        let is_traced = false;
        is_traced
    }

    /// Tells the tracer, if there is one.
    #[inline]
    pub(crate) fn trace(&mut self, rule: Rule, inputs: &[&dyn Bytes], outputs: &[&dyn Bytes]) {
        self.trace_labelled(rule, "", &[], inputs, outputs);
    }

    /// The same for what has a label and a context.
    #[inline]
    pub(crate) fn trace_labelled(
        &mut self,
        rule: Rule,
        label: &'static str,
        context: &[u8],
        inputs: &[&dyn Bytes],
        outputs: &[&dyn Bytes],
    ) {
        if self.is_traced() {
            self.tell(rule, label, context, inputs, outputs);
        }
    }

    /// Tells the tracer that parts make up a whole, where a scheme puts bytes of its own together.
    pub(crate) fn assembled(&mut self, parts: &[&Key], whole: &[u8]) {
        if self.is_traced() {
            let parts: Vec<&dyn Bytes> = parts.iter().map(|&part| part as &dyn Bytes).collect();
            self.tell(Rule::Assemble, "", &[], &parts, &[&Verbatim(whole)]);
        }
    }

    #[cfg(feature = "rig")]
    #[cold]
    fn tell(
        &mut self,
        rule: Rule,
        label: &'static str,
        context: &[u8],
        inputs: &[&dyn Bytes],
        outputs: &[&dyn Bytes],
    ) {
        let Some(tracer) = self.tracer.as_deref_mut() else { return };
        let inputs: Vec<_> = inputs.iter().map(|value| value.traced()).collect();
        let outputs: Vec<_> = outputs.iter().map(|value| value.traced()).collect();
        let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let outputs: Vec<&[u8]> = outputs.iter().map(Vec::as_slice).collect();
        let (inputs, outputs) = (&inputs[..], &outputs[..]);
        tracer.operation(self.me, Traced { rule, label, context, inputs, outputs });
    }

    #[cfg(not(feature = "rig"))]
    fn tell(&mut self, _: Rule, _: &'static str, _: &[u8], _: &[&dyn Bytes], _: &[&dyn Bytes]) {}
}

/// Bytes that are a value themselves.
#[cfg_attr(not(feature = "rig"), allow(dead_code))]
pub(crate) struct Verbatim<'b>(pub(crate) &'b [u8]);

impl Bytes for Verbatim<'_> {
    fn traced(&self) -> Vec<u8> {
        self.0.to_vec()
    }
}
