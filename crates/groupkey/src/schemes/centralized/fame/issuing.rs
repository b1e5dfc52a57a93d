//! The master key, and the keys for attributes that are made with it.

use alloc::vec::Vec;
use core::array::from_fn;

use zeroize::Zeroize;

use super::attributes::{Attribute, Hashes};
use super::key::AttributeKey;
use crate::context::Context;
use crate::crypto::pairing::{G1, G1Table, Scalar};
use crate::identity::Epoch;
use crate::saved_state::saved;

/// The paper's msk without its generators: scalars that are drawn once.
#[derive(Debug)]
pub(super) struct AttributeMaster {
    pub(super) a1: Scalar,
    pub(super) a2: Scalar,
    b1: Scalar,
    b2: Scalar,
    pub(super) d1: Scalar,
    pub(super) d2: Scalar,
    pub(super) d3: Scalar,
}

saved!(AttributeMaster { a1, a2, b1, b2, d1, d2, d3 });

/// Makes keys for the group and one period.
pub(super) struct AttributeIssuer<'m> {
    master: &'m AttributeMaster,
    inverses: [Scalar; 2],
    generator: PowerBase,
    /// Of "group", of the period and of the column 1.
    hashes: [Hashes; ROWS],
}

struct KeyRandomness {
    /// z1, z2, z3.
    z: [Scalar; 3],
    /// `s_y` of "group", of the period and of the column 1.
    s: [Scalar; ROWS],
}

/// An element, with a table if there are many powers to come.
struct PowerBase {
    element: G1,
    table: Option<G1Table>,
}

/// Elements of each kind in a key: of "group", of the period, of the column 1.
const ROWS: usize = 3;

const WORTH_A_TABLE: usize = 12;

impl AttributeMaster {
    pub(super) fn new(cx: &mut Context<'_>) -> Self {
        let [a1, a2, b1, b2, d1, d2, d3] = from_fn(|_| cx.random_scalar());
        Self { a1, a2, b1, b2, d1, d2, d3 }
    }

    /// Returns whether all scalars are of the same pairing, and those that are inverted not zero.
    pub(super) fn is_whole(&self) -> bool {
        let length = self.a1.stored_bytes();
        let rest = [&self.a2, &self.b1, &self.b2, &self.d1, &self.d2, &self.d3];
        rest.iter().all(|scalar| scalar.stored_bytes() == length)
            && ![&self.a1, &self.a2].iter().any(|scalar| scalar.is_zero())
    }

    /// Returns the size of the scalars in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        7 * self.a1.stored_bytes()
    }
}

impl<'m> AttributeIssuer<'m> {
    /// Prepares for about this many keys.
    pub(super) fn new(
        cx: &mut Context<'_>,
        master: &'m AttributeMaster,
        period: Epoch,
        expected: usize,
    ) -> Self {
        let inverses = [&master.a1, &master.a2].map(|scalar| {
            cx.invert_scalar(scalar).expect("it was drawn, or restored, as not zero")
        });
        let generator = cx.g1_generator();
        let generator = PowerBase::new(cx, generator, 9 * expected);
        let rows = [Attribute::Group, Attribute::Period(period), Attribute::Column(1)];
        let hashes = rows.map(|attribute| attribute.hashes(cx));
        Self { master, inverses, generator, hashes }
    }

    /// Makes keys, each with randomness of its own. Those made together share tables, and inversions in
    /// the field.
    pub(super) fn keys(&self, cx: &mut Context<'_>, count: usize) -> Vec<AttributeKey> {
        let drawn: Vec<_> = (0..count).map(|_| KeyRandomness::new(cx, self.master)).collect();
        let mut columns: Vec<_> = (0..3 * ROWS)
            .map(|place| self.column(cx, &drawn, place / 3, place % 3).into_iter())
            .collect();
        let second = cx.g2_generator();
        let of_one = |drawn: &KeyRandomness| {
            let begin = drawn.z.each_ref().map(|z| cx.g2_power(&second, z));
            let elements = from_fn(|place| {
                columns[place].next().expect("each column has an element for each key")
            });
            AttributeKey { begin, elements }
        };
        drawn.iter().map(of_one).collect()
    }

    /// Returns the element at the same place of all keys: the one numbered `t` of a row.
    fn column(
        &self,
        cx: &mut Context<'_>,
        drawn: &[KeyRandomness],
        row: usize,
        t: usize,
    ) -> Vec<G1> {
        let zero = cx.scalar(&[]);
        let own = [&self.master.d1, &self.master.d2, &self.master.d3][t];
        let exponents: Vec<_> = drawn
            .iter()
            .map(|drawn| {
                let s = &drawn.s[row];
                let exponent = match self.inverses.get(t) {
                    Some(inverse) => s.times(inverse),
                    None => zero.minus(s),
                };
                if row == ROWS - 1 { exponent.plus(own) } else { exponent }
            })
            .collect();
        let mut column = self.generator.powers(cx, &exponents);
        let Some(inverse) = self.inverses.get(t) else { return column };
        let mut hashed: [Vec<G1>; 3] = from_fn(|l| {
            let exponents: Vec<_> = drawn.iter().map(|drawn| drawn.z[l].times(inverse)).collect();
            // One table at a time: each takes as much room as hundreds of keys.
            let hash = self.hashes[row][l][t].clone();
            PowerBase::new(cx, hash, exponents.len()).powers(cx, &exponents)
        });
        for (place, element) in column.iter_mut().enumerate() {
            let product = cx.g1_product(element, hashed.iter().map(|powers| &powers[place]));
            element.zeroize();
            *element = product;
        }
        hashed.iter_mut().flatten().for_each(Zeroize::zeroize);
        column
    }
}

impl KeyRandomness {
    fn new(cx: &mut Context<'_>, master: &AttributeMaster) -> Self {
        let [r1, r2] = from_fn(|_| cx.random_scalar());
        let z = [master.b1.times(&r1), master.b2.times(&r2), r1.plus(&r2)];
        Self { z, s: from_fn(|_| cx.random_scalar()) }
    }
}

impl PowerBase {
    fn new(cx: &mut Context<'_>, element: G1, expected: usize) -> Self {
        let table = (expected >= WORTH_A_TABLE).then(|| cx.g1_table(&element));
        Self { element, table }
    }

    /// Returns the powers in order.
    fn powers(&self, cx: &mut Context<'_>, scalars: &[Scalar]) -> Vec<G1> {
        match &self.table {
            Some(table) => cx.g1_powers(table, scalars),
            None => scalars.iter().map(|scalar| cx.g1_power(&self.element, scalar)).collect(),
        }
    }
}
