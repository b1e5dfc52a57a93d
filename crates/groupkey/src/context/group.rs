//! Operations in the suite's group.

use alloc::vec::Vec;

use crate::context::draft::Draft;
use crate::context::state::Context;
use crate::context::trace::{TraceValue, Verbatim};
use crate::context::tracer::Rule;
use crate::crypto::derive;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour};
use crate::secret::Key;
use crate::wire::Writer;

impl Context<'_> {
    /// Draws a new random exponent.
    pub fn random_exponent(&mut self) -> Exponent {
        self.probe.record(Primitive::Random, self.setting.suite.prime_group().drawn_bytes());
        let exponent = Exponent::random(self.setting.suite, self.rng);
        self.trace(Rule::Random, &[], &[&exponent]);
        exponent
    }

    /// Raises the generator to an exponent.
    pub fn generator_power(&mut self, exponent: &Exponent) -> Element {
        self.probe.record(Primitive::ExponentiateGenerator, 1);
        let power = Element::generator_power(exponent);
        self.trace(Rule::PowerOfGenerator, &[exponent], &[&power]);
        power
    }

    /// Appends the generator raised to each of these exponents, encoded.
    pub fn encode_generator_powers<'e>(
        &mut self,
        exponents: impl IntoIterator<Item = &'e Exponent, IntoIter: Clone>,
        out: &mut Vec<u8>,
    ) {
        let exponents = exponents.into_iter();
        let start = out.len();
        for _ in exponents.clone() {
            self.probe.record(Primitive::ExponentiateGenerator, 1);
        }
        self.probe.record(Primitive::EncodeElement, 1);
        Element::encode_generator_powers(exponents.clone(), out);
        let length = Element::length(self.setting.suite);
        for (exponent, power) in exponents.zip(out[start..].chunks_exact(length)) {
            self.trace(Rule::PowerOfGenerator, &[exponent], &[&Verbatim(power)]);
        }
    }

    /// Raises an element to an exponent.
    pub fn power(&mut self, element: &Element, exponent: &Exponent) -> Element {
        self.probe.record(Primitive::Exponentiate, 1);
        let power = element.power(exponent);
        self.trace(Rule::Power, &[element, exponent], &[&power]);
        power
    }

    /// Multiplies two elements.
    pub fn multiply(&mut self, a: &Element, b: &Element) -> Element {
        self.probe.record(Primitive::MultiplyElements, 1);
        let product = a.times(b);
        self.trace(Rule::Multiply, &[a, b], &[&product]);
        product
    }

    /// Divides an element by another.
    pub fn divide(&mut self, dividend: &Element, divisor: &Element) -> Element {
        self.probe.record(Primitive::DivideElements, 1);
        let quotient = dividend.over(divisor);
        self.trace(Rule::Divide, &[dividend, divisor], &[&quotient]);
        quotient
    }

    /// Derives an exponent from a shared element, for schemes whose keys are exponents again: a
    /// hash of the element, reduced modulo the order. The exponent depends on the group and on
    /// `label`, which states its purpose. It depends on nothing that changes while the element
    /// stays.
    pub fn exponent_from_element(&mut self, element: &Element, label: &'static str) -> Exponent {
        let suite = self.setting.suite;
        let mut bytes = Vec::with_capacity(Element::length(suite));
        self.encode_element(element, &mut bytes);
        let mut context = [0; 9];
        context[..8].copy_from_slice(&self.setting.group.0.to_be_bytes());
        self.probe.record(Primitive::Derive, bytes.len() + label.len() + context.len());
        let mut wide = zeroize::Zeroizing::new(alloc::vec![0; suite.prime_group().wide_bytes()]);
        let exponent = loop {
            derive::wide(suite, &self.setting.context, &bytes, label, &context, &mut wide);
            if let Some(exponent) = Exponent::from_wide(suite, &wide) {
                break exponent;
            }
            // This does not happen in practice: one element in 2^160 hashes to a multiple of the
            // order.
            context[8] = context[8].wrapping_add(1);
        };
        zeroize::Zeroize::zeroize(&mut bytes);
        self.trace_labelled(Rule::OneWay, label, &[], &[element], &[&exponent]);
        exponent
    }

    /// Derives a key from a shared group element.
    pub fn derive_from_element(
        &mut self,
        element: &Element,
        label: &'static str,
        context: &[u8],
    ) -> Key {
        let mut bytes = Vec::with_capacity(Element::length(self.setting.suite));
        self.encode_element(element, &mut bytes);
        self.probe.record(Primitive::Derive, bytes.len() + label.len() + context.len());
        let key = derive::derive(self.setting.suite, &self.setting.context, &bytes, label, context);
        zeroize::Zeroize::zeroize(&mut bytes);
        self.trace_labelled(Rule::OneWay, label, context, &[element], &[&key]);
        key
    }

    pub(crate) fn exponent_product(&mut self, a: &Exponent, b: &Exponent) -> Exponent {
        let product = a.times(b);
        self.trace(Rule::ExponentProduct, &[a, b], &[&product]);
        product
    }

    /// Returns the inverse of an exponent.
    pub fn inverse(&mut self, exponent: &Exponent) -> Exponent {
        self.probe.record(Primitive::InvertExponent, 1);
        let inverse = exponent.inverse();
        self.trace(Rule::Invert, &[exponent], &[&inverse]);
        inverse
    }

    /// Appends the encoding of an element.
    pub fn encode_element(&mut self, element: &Element, out: &mut Vec<u8>) {
        self.probe.record(Primitive::EncodeElement, 1);
        element.encode(out);
    }

    /// Reads a received element. It must be canonical, in range, not the identity, and in the
    /// subgroup of prime order if `check` says so.
    pub fn element(&mut self, bytes: &[u8], check: ElementCheck) -> Result<Element, Error> {
        self.probe.record(Primitive::CheckElement, 1);
        Element::decode(self.setting.suite, bytes, check)
            .ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Reads received elements that [`Draft::elements`](crate::context::Draft::elements) appended.
    /// There must be exactly `count`.
    pub fn elements(
        &mut self,
        bytes: &[u8],
        count: usize,
        check: ElementCheck,
    ) -> Result<Vec<Element>, Error> {
        let length = Element::length(self.setting.suite);
        if bytes.len() != count * length {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        bytes.chunks_exact(length).map(|bytes| self.element(bytes, check)).collect()
    }
}

impl Draft<'_, '_> {
    /// Appends a group element as a byte string.
    pub fn element(&mut self, element: &Element) -> &mut Self {
        let length = Element::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer_for(length);
        Writer::new(buffer).bytes_head(length);
        self.packed_element(element)
    }

    /// Appends group elements, one after the other, as one byte string.
    pub fn elements(&mut self, elements: &[Element]) -> &mut Self {
        let length = elements.len() * Element::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer_for(length);
        Writer::new(buffer).bytes_head(length);
        elements.iter().fold(self, |draft, element| draft.packed_element(element))
    }

    /// Appends a group element to a packed byte string.
    pub fn packed_element(&mut self, element: &Element) -> &mut Self {
        self.cx.probe.record(Primitive::EncodeElement, 1);
        let length = Element::length(self.cx.setting.suite);
        element.encode(self.cx.outbox.buffer_for(length));
        self
    }
}

impl TraceValue for Element {
    fn traced(&self) -> Vec<u8> {
        self.to_bytes()
    }
}

impl TraceValue for Exponent {
    fn traced(&self) -> Vec<u8> {
        self.to_traced()
    }
}
