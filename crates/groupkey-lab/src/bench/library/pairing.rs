//! Pairings on BLS12-381 by the calls of blstrs.

use std::hint::black_box;

use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Prepared, G2Projective, Scalar};
use groupkey::Suite;
use groupkey::crypto::meter::Primitive;
use groupkey_testkit::workbench::line;
use pairing::group::Curve;
use pairing::group::prime::PrimeCurveAffine;
use pairing::{MillerLoopResult, MultiMillerLoop};

use super::LibraryBench;

const ELEMENTS: [usize; 2] = [1, 65];

impl LibraryBench<'_> {
    /// Returns the cost of a call and of a unit; `None` if the library does not have it.
    pub(super) fn of_pairing(&self, primitive: Primitive) -> Option<(f64, f64)> {
        // Its pairing is of Type A.
        if self.suite == Suite::Published {
            return None;
        }
        let scalar = Scalar::from_bytes_le(&[0x37; 32]).into_option()?;
        let p = (G1Affine::generator() * scalar).to_affine();
        let q = (G2Affine::generator() * scalar).to_affine();
        let target = blstrs::pairing(&p, &q);
        let (p_bytes, q_bytes) = (p.to_compressed(), q.to_compressed());
        let pairs = |count| {
            let prepared = vec![(p, G2Prepared::from(q)); count];
            Bls12::multi_miller_loop(&prepared.iter().map(|(p, q)| (p, q)).collect::<Vec<_>>())
        };
        let once = |cost| (cost, 0.0);
        Some(match primitive {
            Primitive::ExponentiateG1 => once(self.time(|| (black_box(&p) * scalar).to_affine())),
            Primitive::ExponentiateG2 => once(self.time(|| (black_box(&q) * scalar).to_affine())),
            Primitive::MultiplyG1 => line(ELEMENTS, |count| {
                let sum = || (0..count).fold(G1Projective::from(p), |sum, _| sum + black_box(&p));
                self.time(|| sum().to_affine())
            }),
            Primitive::MultiplyG2 => line(ELEMENTS, |count| {
                let sum = || (0..count).fold(G2Projective::from(q), |sum, _| sum + black_box(&q));
                self.time(|| sum().to_affine())
            }),
            Primitive::MultiplyGt => once(self.time(|| black_box(&target) + target)),
            Primitive::MillerLoop => {
                let (_, pair) = line([1, 2], |count| self.time(|| pairs(count)));
                (0.0, pair)
            }
            Primitive::FinalExponentiation => {
                let product = pairs(1);
                once(self.time(|| black_box(&product).final_exponentiation()))
            }
            Primitive::CheckG1 => once(self.time(|| G1Affine::from_compressed(&p_bytes))),
            Primitive::CheckG2 => once(self.time(|| G2Affine::from_compressed(&q_bytes))),
            _ => return None,
        })
    }
}
