//! Access to Chinese remainders: one number for all members, and what each of them finds in it.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::tracer::Rule;
use crate::crypto::meter::Primitive;
use crate::crypto::residues::{self, Modulus, RESIDUE_BYTES};
use crate::secret::Key;

impl Context<'_> {
    /// Makes the number that has each of these residues modulo the number beside it
    /// ([`residues::lock`]). Nothing in it is secret. For each residue it counts an inverse, and two
    /// divisions and two products of all that comes before it.
    pub fn lock_residues(&mut self, members: &[(Modulus, [u8; RESIDUE_BYTES])]) -> Vec<u8> {
        for before in 0..members.len() {
            let length = before.max(1) * RESIDUE_BYTES;
            self.probe.record(Primitive::InvertScalar, 1);
            for _ in 0..2 {
                self.probe.record(Primitive::DivideInteger, length);
                self.probe.record(Primitive::MultiplyInteger, length);
            }
        }
        residues::lock(members)
    }

    /// Finds the residue of a number that everybody knows. Everybody finds it, so it is a masked key.
    pub fn masked_residue(&mut self, lock: &[u8], modulus: Modulus) -> Key {
        self.probe.record(Primitive::DivideInteger, lock.len());
        let masked = Key::from_bytes(modulus.residue(lock));
        self.trace(Rule::Public, &[], &[&masked]);
        masked
    }
}
