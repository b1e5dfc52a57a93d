//! The exponents that the controller knows. With alpha and gamma it never multiplies elements over
//! the members: each product is one power of the generator.

use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::pairing::{G1, G1Table, Scalar};
use crate::saved_state::saved;

/// Exponents of a set-up. g_k is the generator to the power alpha^k. The g_k at the hole is the
/// secret on which the security of the scheme rests.
#[derive(Debug)]
pub(super) struct Setup {
    alpha: Scalar,
    gamma: Scalar,
    /// The index of the element that no member may have: capacity + 1, or n + 1 in the growing
    /// design.
    pub(super) hole: u32,
    /// The sum of alpha^(hole - m) over all members m.
    sum: Scalar,
}

saved!(Setup { alpha, gamma, hole, sum });

/// Powers computed together: enough to share an inversion, few enough to need little memory.
pub(super) const BATCH: usize = 256;

impl Setup {
    pub(super) fn new(cx: &mut Context<'_>, hole: u32) -> Self {
        let (alpha, gamma) = (cx.random_scalar(), cx.random_scalar());
        Self { alpha, gamma, hole, sum: cx.scalar(&[]) }
    }

    pub(super) fn is_of_one_pairing(&self) -> bool {
        let length = self.alpha.stored_bytes();
        [&self.gamma, &self.sum].iter().all(|exponent| exponent.stored_bytes() == length)
    }

    /// Adds a member to the sum.
    pub(super) fn insert(&mut self, index: u32) {
        self.sum = self.sum.plus(&self.power(self.hole - index));
    }

    pub(super) fn remove(&mut self, index: u32) {
        self.sum = self.sum.minus(&self.power(self.hole - index));
    }

    /// Moves the hole up (growing design).
    pub(super) fn move_hole(&mut self, hole: u32) {
        self.sum = self.sum.times(&self.power(hole - self.hole));
        self.hole = hole;
    }

    pub(super) fn power(&self, k: u32) -> Scalar {
        self.alpha.power(k.into())
    }

    /// Returns the size of the exponents in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        [&self.alpha, &self.gamma, &self.sum].map(Scalar::stored_bytes).iter().sum()
    }

    /// Returns the exponent of v.
    pub(super) fn gamma(&self) -> &Scalar {
        &self.gamma
    }

    /// Returns the exponent of SK_i.
    pub(super) fn secret_key(&self, index: u32) -> Scalar {
        self.power(index).times(&self.gamma)
    }

    /// Returns the exponent of a_i, the product of g_(hole - m + i) over all members m other than
    /// i.
    pub(super) fn share(&self, index: u32) -> Scalar {
        self.power(index).times(&self.sum).minus(&self.power(self.hole))
    }

    /// Returns the exponent of u_s.
    pub(super) fn seal(&self) -> Scalar {
        self.gamma.plus(&self.sum)
    }

    /// Returns the indices of the public key's elements: 1 to twice the last index, except the
    /// hole.
    pub(super) fn published(&self) -> impl Iterator<Item = u32> {
        let hole = self.hole;
        (1..=2 * (hole - 1)).filter(move |&k| k != hole)
    }
}

/// Powers of the generator of G1, from a table if there are many.
#[derive(Debug)]
pub(super) struct Powers {
    generator: G1,
    table: Option<G1Table>,
}

impl Powers {
    pub(super) fn new(cx: &mut Context<'_>, expected: usize) -> Self {
        const WORTH_A_TABLE: usize = 16;
        let generator = cx.g1_generator();
        let table = (expected >= WORTH_A_TABLE).then(|| cx.g1_table(&generator));
        Self { generator, table }
    }

    /// Returns the powers in order.
    pub(super) fn of(&self, cx: &mut Context<'_>, scalars: &[Scalar]) -> Vec<G1> {
        match &self.table {
            Some(table) => cx.g1_powers(table, scalars),
            None => scalars.iter().map(|scalar| cx.g1_power(&self.generator, scalar)).collect(),
        }
    }
}
