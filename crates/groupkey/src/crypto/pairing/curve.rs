//! The common part of the curves: their elements, and powers of one element from a table.
//!
//! A table holds 1 to 8 times each power of 16 of its element. With a scalar in signed digits from
//! -8 to 8, each digit then costs one addition and no doubling. Rows are read whole, so that the
//! time does not reveal which entry was selected.

use alloc::vec::Vec;

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};

use super::ElementCheck;

/// A group of points that has a pairing with another, or with itself.
pub(super) trait Curve {
    /// The type of number that points are multiplied by.
    type Scalar;
    /// A point during additions.
    type Point: Copy;
    /// A point as it is stored and encoded.
    type Affine: Copy + PartialEq + ConditionallySelectable;

    /// Length of an encoded point.
    const LENGTH: usize;

    fn generator() -> Self::Affine;
    fn identity() -> Self::Affine;
    fn extended(point: &Self::Affine) -> Self::Point;
    fn doubled(point: &Self::Point) -> Self::Point;
    fn sum(a: &Self::Point, b: &Self::Affine) -> Self::Point;
    fn negated(point: &Self::Affine) -> Self::Affine;
    fn product(point: &Self::Affine, scalar: &Self::Scalar) -> Self::Point;

    fn normalized(points: &[Self::Point]) -> Vec<Self::Affine>;

    /// Reads the canonical encoding of a point that is on the curve and not the identity.
    fn decoded(bytes: &[u8], check: ElementCheck) -> Option<Self::Affine>;

    fn encode(point: &Self::Affine, out: &mut Vec<u8>);

    /// Returns the scalar's bytes, least significant first. The most significant half of the last
    /// byte is at most 7.
    fn scalar_bytes(scalar: &Self::Scalar) -> impl AsRef<[u8]> + zeroize::Zeroize;

    fn affine(point: &Self::Point) -> Self::Affine {
        Self::normalized(core::slice::from_ref(point))[0]
    }
}

pub(super) struct PointTable<C: Curve>(Vec<[C::Affine; ROW]>);

const ROW: usize = 8;

impl<C: Curve> PointTable<C> {
    /// Makes a table, at the cost of about ten exponentiations with it.
    pub(super) fn new(point: &C::Affine, scalar_bytes: usize) -> Self {
        let mut bases = Vec::with_capacity(2 * scalar_bytes);
        let mut base = C::extended(point);
        for _ in 0..2 * scalar_bytes {
            bases.push(base);
            for _ in 0..4 {
                base = C::doubled(&base);
            }
        }
        let mut points = Vec::with_capacity(bases.len() * ROW);
        for base in C::normalized(&bases) {
            let mut multiple = C::extended(&base);
            points.push(multiple);
            for _ in 1..ROW {
                multiple = C::sum(&multiple, &base);
                points.push(multiple);
            }
        }
        let rows = C::normalized(&points);
        let rows = rows.chunks_exact(ROW).map(|row| core::array::from_fn(|i| row[i]));
        Self(rows.collect())
    }

    pub(super) fn product(&self, scalar: &C::Scalar) -> C::Point {
        let mut bytes = C::scalar_bytes(scalar);
        let mut sum = C::extended(&C::identity());
        let mut carry = 0;
        let last = self.0.len() - 1;
        for (i, row) in self.0.iter().enumerate() {
            let digit = (bytes.as_ref()[i / 2] >> (4 * (i % 2)) & 15) + carry;
            // 8 to 16 become -8 to 0, with a carry. The last digit is at most 8 and does not
            // change.
            carry = if i < last { (digit + 8) >> 4 } else { 0 };
            let negative = Choice::from(carry);
            let size = u8::conditional_select(&digit, &16u8.wrapping_sub(digit), negative);
            sum = C::sum(&sum, &pick::<C>(row, size, negative));
        }
        zeroize::Zeroize::zeroize(&mut bytes);
        sum
    }
}

/// Returns the row's entry for a digit of this size and sign.
fn pick<C: Curve>(row: &[C::Affine; ROW], size: u8, negative: Choice) -> C::Affine {
    let mut picked = C::identity();
    for (i, multiple) in (1u8..).zip(row) {
        picked.conditional_assign(multiple, size.ct_eq(&i));
    }
    C::Affine::conditional_select(&picked, &C::negated(&picked), negative)
}
