//! The Type A pairing of the PBC library, with the parameters of its `a.param`: the curve
//! y^2 = x^3 + x over a field of 512 bits, a subgroup of an order of 160 bits, embedding degree 2.
//! It is symmetric and has about 80 bits of security: for reproducing papers only.
//!
//! The pairing is the reduced Tate pairing e(P, Q) = f(phi(Q))^((q^2 - 1) / r) with the distortion
//! map phi(x, y) = (-x, iy). Factors in the base field vanish in the final exponentiation, so
//! neither vertical lines nor denominators are computed. The order is 2^159 + 2^107 + 1: the loop
//! doubles 159 times and adds once. It leaves out the last addition, whose line is vertical.
//!
//! PBC draws a generator at random. Ours is the cofactor times the point with x = 2 and an even y.
//! The cofactor takes the only point with a smaller x to the identity. `tests/pairing/type_a.gp`
//! derives this generator and pairings with PARI.

mod hash;

use alloc::vec::Vec;

use crypto_bigint::modular::{ConstMontyForm, ConstMontyParams};
use crypto_bigint::{U192, U384, U512, const_monty_params};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use super::ElementCheck;
use super::curve::Curve;
use super::field::Quadratic;
use super::field::{FIELD_BYTES, FieldElement, decode_field, encode_field, invert};

const_monty_params!(
    Order160,
    U192,
    "000000008000000000000800000000000000000000000001",
    "the order of PBC's a.param, 2^159 + 2^107 + 1"
);

/// A number modulo the order.
pub(super) type TypeAScalar = ConstMontyForm<Order160, { U192::LIMBS }>;

pub(super) use self::hash::hashed;

/// The only group: both sides of the pairing.
pub(super) struct TypeA;

/// A stored point. (0, 0) represents the identity: it is on the curve, of order 2, and never
/// decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Affine {
    x: FieldElement,
    y: FieldElement,
}

/// A point in Jacobian coordinates: (x / z^2, y / z^3), the identity if z is 0.
#[derive(Clone, Copy)]
pub(super) struct JacobianPoint {
    x: FieldElement,
    y: FieldElement,
    z: FieldElement,
}

/// Bits of the order, and of every scalar.
const ORDER_BITS: u32 = 160;
pub(super) const SCALAR_BYTES: usize = 20;
/// Length of an encoded element of the target group.
pub(super) const TARGET_LENGTH: usize = 2 * FIELD_BYTES;

/// Returns the product of the Miller functions of all pairs, which share their squarings. Pairs
/// with the identity count as 1.
pub(super) fn miller_loop(pairs: &[(Affine, Affine)]) -> Quadratic {
    let pairs = pairs.iter().filter(|(p, q)| !bool::from(p.is_identity() | q.is_identity()));
    let pairs: Vec<_> = pairs.collect();
    let mut points: Vec<_> = pairs.iter().map(|(p, _)| TypeA::extended(p)).collect();
    let mut value = Quadratic::ONE;
    for bit in (0..ORDER_BITS - 1).rev() {
        value = value.square();
        for (point, (_, q)) in points.iter_mut().zip(&pairs) {
            let line = tangent(point, q);
            value = value.times(&line);
        }
        if bit == 107 {
            for (point, (p, q)) in points.iter_mut().zip(&pairs) {
                let line = chord(point, p, q);
                value = value.times(&line);
            }
        }
    }
    value
}

/// Raises to (q^2 - 1) / r = (q - 1) h. The first factor is a conjugation and a division.
pub(super) fn final_exponentiation(value: &Quadratic) -> Quadratic {
    value.conjugate().times(&value.inverse()).power(&COFACTOR, COFACTOR_BITS)
}

pub(super) fn target_power(value: &Quadratic, scalar: &TypeAScalar) -> Quadratic {
    let mut number = scalar.retrieve();
    let power = value.power(&number, ORDER_BITS);
    number.zeroize();
    power
}

/// Reads an element of the target group. It must have norm 1, not be 1, and have the right order if
/// `check` says so.
pub(super) fn decode_target(bytes: &[u8], check: ElementCheck) -> Option<Quadratic> {
    let (real, imaginary) = bytes.split_at_checked(FIELD_BYTES)?;
    let element = Quadratic { real: decode_field(real)?, imaginary: decode_field(imaginary)? };
    let norm = element.real.square().add(&element.imaginary.square());
    if norm != FieldElement::ONE || element == Quadratic::ONE {
        return None;
    }
    let order = Order160::PARAMS.modulus().as_ref();
    let in_subgroup = || element.power(order, ORDER_BITS) == Quadratic::ONE;
    (check == ElementCheck::Range || in_subgroup()).then_some(element)
}

impl Curve for TypeA {
    type Scalar = TypeAScalar;
    type Point = JacobianPoint;
    type Affine = Affine;

    const LENGTH: usize = 2 * FIELD_BYTES;

    fn generator() -> Affine {
        Affine { x: FieldElement::new(&GENERATOR_X), y: FieldElement::new(&GENERATOR_Y) }
    }

    fn identity() -> Affine {
        Affine { x: FieldElement::ZERO, y: FieldElement::ZERO }
    }

    fn extended(point: &Affine) -> JacobianPoint {
        let z = FieldElement::conditional_select(
            &FieldElement::ONE,
            &FieldElement::ZERO,
            point.is_identity(),
        );
        JacobianPoint { x: point.x, y: point.y, z }
    }

    fn doubled(point: &JacobianPoint) -> JacobianPoint {
        doubled(point).0
    }

    fn sum(a: &JacobianPoint, b: &Affine) -> JacobianPoint {
        let mut sum = chord_sum(a, b).0;
        // Both points are equal for a secret only with a chance of 2^-150.
        if bool::from(sum.z.ct_eq(&FieldElement::ZERO)) && Self::affine(a) == *b {
            sum = Self::doubled(a);
        }
        let a_is_identity = a.z.ct_eq(&FieldElement::ZERO);
        sum = JacobianPoint::conditional_select(&sum, &Self::extended(b), a_is_identity);
        JacobianPoint::conditional_select(&sum, a, b.is_identity())
    }

    fn negated(point: &Affine) -> Affine {
        Affine { x: point.x, y: point.y.neg() }
    }

    fn product(point: &Affine, scalar: &TypeAScalar) -> JacobianPoint {
        let mut number = scalar.retrieve();
        let product = times(point, &number);
        number.zeroize();
        product
    }

    fn normalized(points: &[JacobianPoint]) -> Vec<Affine> {
        // One inversion for all: that of the product of all nonzero values (Montgomery's trick).
        let nonzero = |z: &FieldElement| {
            FieldElement::conditional_select(z, &FieldElement::ONE, z.ct_eq(&FieldElement::ZERO))
        };
        let mut product = FieldElement::ONE;
        let mut before = Vec::with_capacity(points.len());
        for point in points {
            before.push(product);
            product = product.mul(&nonzero(&point.z));
        }
        let mut inverse = invert(&product);
        let mut affine = Vec::with_capacity(points.len());
        for (point, before) in points.iter().zip(before).rev() {
            let z = inverse.mul(&before);
            inverse = inverse.mul(&nonzero(&point.z));
            let zz = z.square();
            let normal = Affine { x: point.x.mul(&zz), y: point.y.mul(&zz.mul(&z)) };
            let is_identity = point.z.ct_eq(&FieldElement::ZERO);
            affine.push(Affine::conditional_select(&normal, &Self::identity(), is_identity));
        }
        affine.reverse();
        affine
    }

    fn decoded(bytes: &[u8], check: ElementCheck) -> Option<Affine> {
        let (x, y) = bytes.split_at_checked(FIELD_BYTES)?;
        let point = Affine { x: decode_field(x)?, y: decode_field(y)? };
        let right = point.x.square().mul(&point.x).add(&point.x);
        if point.y.square() != right || bool::from(point.is_identity()) {
            return None;
        }
        let order = Order160::PARAMS.modulus().as_ref();
        let in_subgroup = || bool::from(times(&point, order).z.ct_eq(&FieldElement::ZERO));
        (check == ElementCheck::Range || in_subgroup()).then_some(point)
    }

    fn encode(point: &Affine, out: &mut Vec<u8>) {
        encode_field(&point.x, out);
        encode_field(&point.y, out);
    }

    fn scalar_bytes(scalar: &TypeAScalar) -> impl AsRef<[u8]> + Zeroize {
        let mut bytes = [0; SCALAR_BYTES + 1];
        let mut number = scalar.retrieve();
        bytes.copy_from_slice(&number.to_le_bytes().as_ref()[..SCALAR_BYTES + 1]);
        number.zeroize();
        bytes
    }
}

/// Multiplies a point by a number as long as the order, four bits at a time.
fn times(point: &Affine, number: &U192) -> JacobianPoint {
    let mut multiples = Vec::with_capacity(15);
    let mut multiple = TypeA::extended(point);
    multiples.push(multiple);
    for _ in 2..16 {
        multiple = TypeA::sum(&multiple, point);
        multiples.push(multiple);
    }
    let multiples = TypeA::normalized(&multiples);
    let mut number_bytes = number.to_be_bytes();
    let bytes = &number_bytes.as_ref()[U192::BYTES - SCALAR_BYTES..];
    let mut sum = TypeA::extended(&TypeA::identity());
    for digit in bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]) {
        for _ in 0..4 {
            sum = TypeA::doubled(&sum);
        }
        let mut picked = TypeA::identity();
        for (i, multiple) in (1u8..).zip(&multiples) {
            picked.conditional_assign(multiple, digit.ct_eq(&i));
        }
        sum = TypeA::sum(&sum, &picked);
    }
    number_bytes.as_mut().zeroize();
    sum
}

/// Returns twice a point, and the values for its tangent: y^2, z^2 and the numerator of its slope.
fn doubled(point: &JacobianPoint) -> (JacobianPoint, [FieldElement; 3]) {
    let (xx, yy, zz) = (point.x.square(), point.y.square(), point.z.square());
    let slope = xx.double().add(&xx).add(&zz.square());
    let s = point.x.mul(&yy).double().double();
    let x = slope.square().sub(&s.double());
    let y = slope.mul(&s.sub(&x)).sub(&yy.square().double().double().double());
    let z = point.y.mul(&point.z).double();
    (JacobianPoint { x, y, z }, [yy, zz, slope])
}

/// Returns the sum of two points that differ and are not the identity, and the numerator of the
/// slope of the line through them.
fn chord_sum(a: &JacobianPoint, b: &Affine) -> (JacobianPoint, FieldElement) {
    let zz = a.z.square();
    let h = b.x.mul(&zz).sub(&a.x);
    let slope = b.y.mul(&zz.mul(&a.z)).sub(&a.y);
    let hh = h.square();
    let hhh = hh.mul(&h);
    let v = a.x.mul(&hh);
    let x = slope.square().sub(&hhh).sub(&v.double());
    let y = slope.mul(&v.sub(&x)).sub(&a.y.mul(&hhh));
    (JacobianPoint { x, y, z: a.z.mul(&h) }, slope)
}

/// Doubles the point. Returns its tangent at phi(q), times a factor of the field.
fn tangent(point: &mut JacobianPoint, q: &Affine) -> Quadratic {
    let (twice, [yy, zz, slope]) = doubled(point);
    let real = slope.mul(&q.x.mul(&zz).add(&point.x)).sub(&yy.double());
    let imaginary = q.y.mul(&twice.z.mul(&zz));
    *point = twice;
    Quadratic { real, imaginary }
}

/// Adds p to the point. Returns the line through both at phi(q), times a factor of the field.
fn chord(point: &mut JacobianPoint, p: &Affine, q: &Affine) -> Quadratic {
    let (sum, slope) = chord_sum(point, p);
    let real = slope.mul(&q.x.add(&p.x)).sub(&p.y.mul(&sum.z));
    let imaginary = q.y.mul(&sum.z);
    *point = sum;
    Quadratic { real, imaginary }
}

impl Affine {
    fn is_identity(&self) -> Choice {
        self.x.ct_eq(&FieldElement::ZERO) & self.y.ct_eq(&FieldElement::ZERO)
    }
}

impl Zeroize for Affine {
    fn zeroize(&mut self) {
        self.x.zeroize();
        self.y.zeroize();
    }
}

impl ConditionallySelectable for Affine {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        let select =
            |a: &FieldElement, b: &FieldElement| FieldElement::conditional_select(a, b, choice);
        Self { x: select(&a.x, &b.x), y: select(&a.y, &b.y) }
    }
}

impl ConditionallySelectable for JacobianPoint {
    fn conditional_select(a: &Self, b: &Self, choice: Choice) -> Self {
        let select =
            |a: &FieldElement, b: &FieldElement| FieldElement::conditional_select(a, b, choice);
        Self { x: select(&a.x, &b.x), y: select(&a.y, &b.y), z: select(&a.z, &b.z) }
    }
}

const GENERATOR_X: U512 = U512::from_be_hex(
    "4cfd27578626c761d854778dfcbeed90736898a0920eee191d619128721f0209\
     9697110e1e350c1029d862b9cf35831376cb0fa404823e30b64f8f4d74d37f31",
);

const GENERATOR_Y: U512 = U512::from_be_hex(
    "1916626c3ef074b93384af70a68daa51d3614a6d5cd1f8f16352b706e6137809\
     d386583e24aa3e87fc8b5a00a033c7cbac3f56d7627018d9f8bfa3b08e4caad4",
);

/// (q + 1) / r.
const COFACTOR: U384 = U384::from_be_hex(
    "000000014f4e70d1d2bf601bf6b0d47137cc83915f505f0e\
     85050f93a6344777e2cd28ff9b4f30a3cf6230c28e284d98",
);
const COFACTOR_BITS: u32 = 353;
