//! Encryption under the policy "group and period".

use alloc::vec::Vec;
use core::array::from_fn;

use super::attributes::Attribute;
use super::issuing::AttributeMaster;
use crate::context::Context;
use crate::crypto::pairing::{ElementCheck, G1, G2, Gt};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::wire::Reader;

/// C_0, and the rows of the policy's matrix one after the other.
#[derive(Debug)]
pub(super) struct AttributeCiphertext {
    pub(super) begin: [G2; 3],
    /// Of "group" and of the period.
    pub(super) rows: [[G1; 3]; 2],
}

impl AttributeCiphertext {
    /// Draws a ciphertext for the members that have a key for the period. Returns it and its K.
    pub(super) fn draw(
        cx: &mut Context<'_>,
        master: &AttributeMaster,
        period: Epoch,
    ) -> (Self, Gt) {
        let [s1, s2] = from_fn(|_| cx.random_scalar());
        let (first, second) = (cx.g1_generator(), cx.g2_generator());
        let exponents = [master.a1.times(&s1), master.a2.times(&s2), s1.plus(&s2)];
        let begin = exponents.each_ref().map(|exponent| cx.g2_power(&second, exponent));
        let exponent = exponents[0].times(&master.d1).plus(&exponents[1].times(&master.d2));
        let exponent = exponent.plus(&exponents[2].times(&master.d3));
        let secret = zeroize::Zeroizing::new(cx.g1_power(&first, &exponent));
        let shared = cx.pairings(&[(&secret, &second)]);

        let [column1, column2] = [1, 2].map(|column| Attribute::Column(column).hashes(cx));
        let [group, own] = [Attribute::Group, Attribute::Period(period)].map(|a| a.hashes(cx));
        let mut row = |base: &dyn Fn(&mut Context<'_>, usize, usize) -> G1| {
            from_fn(|l| {
                let powers = [(0, &s1), (1, &s2)].map(|(t, s)| {
                    let base = base(cx, l, t);
                    cx.g1_power(&base, s)
                });
                cx.g1_product(&powers[0], [&powers[1]])
            })
        };
        let of_group =
            row(&|cx, l, t| cx.g1_product(&group[l][t], [&column1[l][t], &column2[l][t]]));
        let of_period = row(&|cx, l, t| {
            let inverse = cx.g1_inverse(&column2[l][t]);
            cx.g1_product(&own[l][t], [&inverse])
        });
        (Self { begin, rows: [of_group, of_period] }, shared)
    }

    /// Encodes C_0, and the rows.
    pub(super) fn encode(&self) -> [Vec<u8>; 2] {
        let (mut begin, mut rows) = (Vec::new(), Vec::new());
        self.begin.iter().for_each(|element| element.encode(&mut begin));
        self.rows.iter().flatten().for_each(|element| element.encode(&mut rows));
        [begin, rows]
    }

    /// Reads two byte strings: C_0, and the rows.
    pub(super) fn read(
        cx: &mut Context<'_>,
        body: &mut Reader<'_>,
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let begin = three_of_second(cx, body.bytes()?, check)?;
        let rows = cx.g1s(body.bytes()?, check)?;
        let rows: [G1; 6] = rows.try_into().map_err(|_| Misbehaviour::Malformed)?;
        let [a, b, c, d, e, f] = rows;
        Ok(Self { begin, rows: [[a, b, c], [d, e, f]] })
    }
}

/// Reads three elements of G2, one after the other.
pub(super) fn three_of_second(
    cx: &mut Context<'_>,
    bytes: &[u8],
    check: ElementCheck,
) -> Result<[G2; 3], Error> {
    let length = G2::length(cx.suite());
    if bytes.len() != 3 * length {
        return Err(Misbehaviour::Malformed.into());
    }
    let mut elements = bytes.chunks_exact(length).map(|bytes| cx.g2(bytes, check));
    let mut next = || elements.next().unwrap_or_else(|| Err(Misbehaviour::Malformed.into()));
    Ok([next()?, next()?, next()?])
}
