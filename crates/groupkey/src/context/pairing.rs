//! Access to pairings: two source groups G1 and G2, a target group GT, scalars.

use alloc::vec;
use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::draft::Draft;
use crate::context::state::Context;
use crate::context::trace::{TraceValue, Verbatim};
use crate::context::tracer::Rule;
use crate::crypto::derive;
use crate::crypto::meter::Primitive;
use crate::crypto::pairing::{ElementCheck, G1, G1Table, G2, Gt, GtTable, Scalar, miller_loops};
use crate::error::{Error, Misbehaviour};
use crate::secret::Key;
use crate::wire::Writer;

impl Context<'_> {
    /// Draws a new random scalar, not zero.
    pub fn random_scalar(&mut self) -> Scalar {
        self.probe.record(Primitive::Random, 64);
        let scalar = Scalar::random(self.setting.suite, self.rng);
        self.trace(Rule::Random, &[], &[&scalar]);
        scalar
    }

    /// Returns a number, most significant byte first, modulo the order of the groups.
    pub fn scalar(&mut self, number: &[u8]) -> Scalar {
        let scalar = Scalar::from_bytes(self.setting.suite, number);
        self.trace(Rule::OneWay, &[&Verbatim(number)], &[&scalar]);
        scalar
    }

    /// Derives a scalar from a key. `label` states its purpose.
    pub fn scalar_from_key(&mut self, key: &Key, label: &'static str) -> Scalar {
        self.probe.record(Primitive::Derive, Key::BYTES + label.len());
        let mut wide = [0; 64];
        derive::wide(
            self.setting.suite,
            &self.setting.context,
            key.as_bytes(),
            label,
            &[],
            &mut wide,
        );
        let scalar = Scalar::from_bytes(self.setting.suite, &wide);
        wide.zeroize();
        self.trace_labelled(Rule::OneWay, label, &[], &[key], &[&scalar]);
        scalar
    }

    /// Returns the inverse of a scalar. Zero has none.
    pub fn invert_scalar(&mut self, scalar: &Scalar) -> Option<Scalar> {
        self.probe.record(Primitive::InvertScalar, 1);
        let inverse = scalar.inverse()?;
        self.trace(Rule::Invert, &[scalar], &[&inverse]);
        Some(inverse)
    }

    /// Returns the generator of G1.
    pub fn g1_generator(&mut self) -> G1 {
        G1::generator(self.setting.suite)
    }

    /// Returns the generator of G2. If the pairing is symmetric, it is the generator of G1.
    pub fn g2_generator(&mut self) -> G2 {
        G2::generator(self.setting.suite)
    }

    /// Hashes public data to an element of G1 whose logarithm nobody knows, for this group. `purpose`,
    /// of at most 100 bytes, keeps schemes apart. It counts as two checks of an element, each of which
    /// takes half as long: a root and a product by half a scalar.
    pub fn hash_to_g1(&mut self, purpose: &'static str, data: &[u8]) -> G1 {
        (0..2).for_each(|_| self.probe.record(Primitive::CheckG1, 1));
        let domain = [b"groupkey-V01-CS01-", purpose.as_bytes(), b"-with-", G1_HASH].concat();
        let message = [self.setting.context.as_bytes(), data].concat();
        let element = G1::hashed(self.setting.suite, &domain, &message);
        self.trace(Rule::Public, &[], &[&element]);
        element
    }

    /// Makes a table for [`Self::g1_powers`]. It pays from about a dozen powers on.
    pub fn g1_table(&mut self, base: &G1) -> G1Table {
        self.probe.record(Primitive::TabulateG1, 1);
        G1Table::new(base)
    }

    /// Returns the powers of the table's base. A few hundred at a time share an inversion in the
    /// field.
    pub fn g1_powers(&mut self, table: &G1Table, scalars: &[Scalar]) -> Vec<G1> {
        self.probe.record(Primitive::ExponentiateG1Fixed, scalars.len());
        let powers = table.powers(scalars);
        if self.is_traced() {
            let one = Scalar::from_number(self.setting.suite, 1);
            let bases = table.powers([&one]);
            for (scalar, power) in scalars.iter().zip(&powers) {
                self.trace(Rule::Power, &[&bases[0], scalar], &[power]);
            }
        }
        powers
    }

    /// Raises an element of G1 to a scalar.
    pub fn g1_power(&mut self, base: &G1, scalar: &Scalar) -> G1 {
        self.probe.record(Primitive::ExponentiateG1, 1);
        let power = base.power(scalar);
        self.trace(Rule::Power, &[base, scalar], &[&power]);
        power
    }

    /// Raises an element of G2 to a scalar.
    pub fn g2_power(&mut self, base: &G2, scalar: &Scalar) -> G2 {
        self.probe.record(Primitive::ExponentiateG2, 1);
        let power = base.power(scalar);
        self.trace(Rule::Power, &[base, scalar], &[&power]);
        power
    }

    /// Raises an element of GT to a scalar.
    pub fn gt_power(&mut self, base: &Gt, scalar: &Scalar) -> Gt {
        self.probe.record(Primitive::ExponentiateGt, 1);
        let power = base.power(scalar);
        self.trace(Rule::Power, &[base, scalar], &[&power]);
        power
    }

    /// Makes a table for [`Self::gt_table_power`], by 208 products (or 136 where scalars have 20 bytes).
    pub fn gt_table(&mut self, base: &Gt) -> GtTable {
        let table = GtTable::new(base);
        self.count_gt_products(table.products());
        table
    }

    /// Raises the table's base to a scalar, by 128 products (or 80): a third of what a power of any
    /// other element takes.
    pub fn gt_table_power(&mut self, table: &GtTable, scalar: &Scalar) -> Gt {
        self.count_gt_products(table.products_of_power());
        let power = table.power(scalar);
        self.trace(Rule::Power, &[table.element(), scalar], &[&power]);
        power
    }

    fn count_gt_products(&mut self, products: usize) {
        (0..products).for_each(|_| self.probe.record(Primitive::MultiplyGt, 1));
    }

    /// Multiplies an element of G1 by all these factors. Only the product is made affine.
    pub fn g1_product<'e>(&mut self, first: &G1, factors: impl IntoIterator<Item = &'e G1>) -> G1 {
        let (mut count, mut traced) = (0, vec![first as &dyn TraceValue]);
        let is_traced = self.is_traced();
        let product = first.times_all(factors.into_iter().inspect(|&factor| {
            count += 1;
            if is_traced {
                traced.push(factor);
            }
        }));
        self.probe.record(Primitive::MultiplyG1, count);
        self.trace(Rule::Multiply, &traced, &[&product]);
        product
    }

    /// Does the same as [`Self::g1_product`], in G2.
    pub fn g2_product<'e>(&mut self, first: &G2, factors: impl IntoIterator<Item = &'e G2>) -> G2 {
        let (mut count, mut traced) = (0, vec![first as &dyn TraceValue]);
        let is_traced = self.is_traced();
        let product = first.times_all(factors.into_iter().inspect(|&factor| {
            count += 1;
            if is_traced {
                traced.push(factor);
            }
        }));
        self.probe.record(Primitive::MultiplyG2, count);
        self.trace(Rule::Multiply, &traced, &[&product]);
        product
    }

    /// Multiplies two elements of GT.
    pub fn gt_product(&mut self, a: &Gt, b: &Gt) -> Gt {
        self.probe.record(Primitive::MultiplyGt, 1);
        let product = a.times(b);
        self.trace(Rule::Multiply, &[a, b], &[&product]);
        product
    }

    /// Returns the inverse of an element of G1. This is free.
    pub fn g1_inverse(&mut self, element: &G1) -> G1 {
        let inverse = element.inverse();
        self.trace(Rule::Invert, &[element], &[&inverse]);
        inverse
    }

    /// Returns the inverse of an element of G2. This is free.
    pub fn g2_inverse(&mut self, element: &G2) -> G2 {
        let inverse = element.inverse();
        self.trace(Rule::Invert, &[element], &[&inverse]);
        inverse
    }

    /// Returns the inverse of an element of GT. This is free.
    pub fn gt_inverse(&mut self, element: &Gt) -> Gt {
        let inverse = element.inverse();
        self.trace(Rule::Invert, &[element], &[&inverse]);
        inverse
    }

    /// Returns the product of the pairings e(P, Q) of all pairs: one Miller loop each, and one
    /// final exponentiation.
    ///
    /// # Panics
    ///
    /// If there is no pair.
    pub fn pairings(&mut self, pairs: &[(&G1, &G2)]) -> Gt {
        assert!(!pairs.is_empty(), "a product of pairings has a factor");
        self.probe.record(Primitive::MillerLoop, pairs.len());
        self.probe.record(Primitive::FinalExponentiation, 1);
        let product = miller_loops(pairs).finish();
        if self.is_traced() {
            let all = pairs.iter().flat_map(|&(p, q)| [p as &dyn TraceValue, q as &dyn TraceValue]);
            self.trace(Rule::Pair, &all.collect::<Vec<_>>(), &[&product]);
        }
        product
    }

    /// Appends an element of G1 to data that is sent more than once.
    pub fn append_g1(&mut self, element: &G1, out: &mut Vec<u8>) {
        element.encode(out);
    }

    /// Reads a received element of G1. It must be canonical, on the curve, not the identity, and in
    /// the subgroup if `check` says so.
    pub fn g1(&mut self, bytes: &[u8], check: ElementCheck) -> Result<G1, Error> {
        self.probe.record(Primitive::CheckG1, 1);
        G1::decode(self.setting.suite, bytes, check)
            .ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Reads received elements of G1, one after the other. The last one must be complete.
    pub fn g1s(&mut self, bytes: &[u8], check: ElementCheck) -> Result<Vec<G1>, Error> {
        let length = G1::length(self.setting.suite);
        if !bytes.len().is_multiple_of(length) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        bytes.chunks_exact(length).map(|bytes| self.g1(bytes, check)).collect()
    }

    /// Reads a received element of G2, as [`Self::g1`] does.
    pub fn g2(&mut self, bytes: &[u8], check: ElementCheck) -> Result<G2, Error> {
        self.probe.record(Primitive::CheckG2, 1);
        G2::decode(self.setting.suite, bytes, check)
            .ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Reads a received element of GT, as [`Self::g1`] does, if [`Gt::is_readable`].
    pub fn gt(&mut self, bytes: &[u8], check: ElementCheck) -> Result<Gt, Error> {
        self.probe.record(Primitive::CheckGt, 1);
        Gt::decode(self.setting.suite, bytes, check)
            .ok_or_else(|| Misbehaviour::InvalidElement.into())
    }

    /// Derives a key from a shared element of GT.
    pub fn derive_from_gt(&mut self, element: &Gt, label: &'static str, context: &[u8]) -> Key {
        let mut bytes = Vec::with_capacity(Gt::length(self.setting.suite));
        element.encode(&mut bytes);
        self.probe.record(Primitive::Derive, bytes.len() + label.len() + context.len());
        let key = derive::derive(self.setting.suite, &self.setting.context, &bytes, label, context);
        bytes.zeroize();
        self.trace_labelled(Rule::OneWay, label, context, &[element], &[&key]);
        key
    }
}

impl Draft<'_, '_> {
    /// Appends an element of G1 as a byte string.
    pub fn g1(&mut self, element: &G1) -> &mut Self {
        self.g1s([element])
    }

    /// Appends elements of G1, one after the other, as one byte string.
    pub fn g1s<'e>(
        &mut self,
        elements: impl IntoIterator<Item = &'e G1, IntoIter: ExactSizeIterator>,
    ) -> &mut Self {
        let elements = elements.into_iter();
        let length = elements.len() * G1::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer_for(length);
        Writer::new(buffer).bytes_head(length);
        elements.for_each(|element| element.encode(buffer));
        self
    }

    /// Appends an element of G2 as a byte string.
    pub fn g2(&mut self, element: &G2) -> &mut Self {
        let length = G2::length(self.cx.setting.suite);
        let buffer = self.cx.outbox.buffer_for(length);
        Writer::new(buffer).bytes_head(length);
        element.encode(buffer);
        self
    }
}

impl TraceValue for Scalar {
    fn traced(&self) -> Vec<u8> {
        self.to_traced()
    }
}

/// Implements `TraceValue` for elements that encode themselves.
macro_rules! encoded {
    ($($element:ty),*) => {$(
        impl TraceValue for $element {
            fn traced(&self) -> Vec<u8> {
                let mut bytes = Vec::new();
                self.encode(&mut bytes);
                bytes
            }
        }
    )*};
}

encoded!(G1, G2, Gt);

/// The name of the hash to G1 (RFC 9380, section 8.8.1), as it stands in the domains of its uses.
const G1_HASH: &[u8] = b"BLS12381G1_XMD:SHA-256_SSWU_RO_";
