//! The encryption that the members share. Any party that has the public key encrypts; a party that
//! knows k and has a secret key decrypts.
//!
//! g is a generator, h = g^eta, and e the pairing. Secret keys are in G1, all other elements in G2.
//! S004 has one group; with a symmetric pairing this holds here, too:
//!
//! ```text
//! public key    PK1 = g^(alpha k)    PK2 = g^(beta k)
//! secret key    s1 = h^r  s2 = g^r  s3 = h^(r/beta)  s4 = g^(r alpha/beta)  s5 = h^(1/beta)  s6 = g h^r
//! with k        z1 = s1 s2^k         z2 = s3 s4^k / s5^(1/k)
//! ciphertext    c1 = M e(g, PK1)^t   c2 = (h PK1)^t   c3 = PK2^t
//! decryption    M = c1 e(z1 / s6, c2) e(1 / z2, c3)
//! ```
//!
//! M is a random element of GT from which a key is derived. Elements of GT of BLS12-381 have no
//! encoding that the library reads. There M is chosen such that c1 is 1, and c1 is left out.

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::Suite;
use crate::crypto::group::ElementCheck;
use crate::crypto::pairing::{G1, G1Table, G2, Gt, GtTable, Scalar, miller_loops};
use crate::error::{Error, Misbehaviour};
use crate::saved_state::{Saved, SavedState, require};
use crate::wire::Reader;

/// The secrets that only the controller knows, and values that follow from them.
#[derive(Debug)]
pub(super) struct MasterKey {
    alpha: Scalar,
    beta: Scalar,
    eta: Scalar,
    alpha_over_beta: Scalar,
    eta_over_beta: Scalar,
    /// Table of g in G1: all elements of secret keys are powers of g.
    table: G1Table,
    /// s5, which all members have.
    common: G1,
    /// h in G2.
    pub(super) h: G2,
    /// Table of e(g, g): the controller knows the exponents of whatever it would pair.
    target: GtTable,
}

/// A member's secret key: s1 to s6, and h.
#[derive(Debug)]
pub(super) struct SecretKey {
    elements: [G1; Self::ELEMENTS],
    h: G2,
}

/// The key that encrypts: PK1 and PK2.
#[derive(Debug)]
pub(super) struct PublicKey {
    first: G2,
    second: G2,
}

/// The key that decrypts, for one k: z1 and z2.
#[derive(Debug)]
pub(super) struct DecryptionKey {
    z1: G1,
    z2: G1,
}

impl MasterKey {
    pub(super) fn new(cx: &mut Context<'_>) -> Self {
        let [alpha, beta, eta] = core::array::from_fn(|_| cx.random_scalar());
        let inverse = cx.invert_scalar(&beta).expect("a random scalar is not zero");
        let [alpha_over_beta, eta_over_beta] = [&alpha, &eta].map(|scalar| scalar.times(&inverse));
        let first_generator = cx.g1_generator();
        let table = cx.g1_table(&first_generator);
        let common = cx.g1_powers(&table, core::slice::from_ref(&eta_over_beta)).remove(0);
        let generator = cx.g2_generator();
        let h = cx.g2_power(&generator, &eta);
        let target = cx.pairings(&[(&first_generator, &generator)]);
        let target = cx.gt_table(&target);
        Self { alpha, beta, eta, alpha_over_beta, eta_over_beta, table, common, h, target }
    }

    /// Appends alpha, beta and eta.
    pub(super) fn save(&self, state: &mut SavedState) {
        [&self.alpha, &self.beta, &self.eta].iter().for_each(|secret| secret.save(state));
    }

    /// Reads what [`Self::save`] appended, and computes what follows from it. No step does this, so
    /// its cost is no part of an operation's.
    pub(super) fn restore(state: &mut Reader<'_>, suite: Suite) -> Result<Self, Error> {
        let [alpha, beta, eta] = <[Scalar; 3]>::restore(state)?;
        let of_suite = |scalar: &&Scalar| scalar.stored_bytes() == Scalar::length(suite);
        require([&alpha, &beta, &eta].iter().all(of_suite))?;
        let inverse = beta.inverse().ok_or(Misbehaviour::Malformed)?;
        let [alpha_over_beta, eta_over_beta] = [&alpha, &eta].map(|scalar| scalar.times(&inverse));
        let table = G1Table::new(&G1::generator(suite));
        let common = table.powers([&eta_over_beta]).remove(0);
        let h = G2::generator(suite).power(&eta);
        let target = miller_loops(&[(&G1::generator(suite), &G2::generator(suite))]).finish();
        let target = GtTable::new(&target);
        Ok(Self { alpha, beta, eta, alpha_over_beta, eta_over_beta, table, common, h, target })
    }

    /// Returns the secret keys for these r, s1 to s6 each. The caller must wipe them. All share the
    /// inversion that makes them affine.
    pub(super) fn secret_keys(&self, cx: &mut Context<'_>, rs: &[Scalar]) -> Vec<[G1; 6]> {
        let exponents = rs.iter().flat_map(|r| {
            let eta_r = self.eta.times(r);
            let over_beta = [&self.eta_over_beta, &self.alpha_over_beta].map(|s| s.times(r));
            let [s3, s4] = over_beta;
            [eta_r, r.clone(), s3, s4]
        });
        let mut powers = cx.g1_powers(&self.table, &exponents.collect::<Vec<_>>());
        let generator = cx.g1_generator();
        let mut keys = Vec::with_capacity(rs.len());
        for key in powers.chunks_exact(4) {
            let [s1, s2, s3, s4] = core::array::from_fn(|i| key[i].clone());
            let s6 = cx.g1_product(&generator, [&s1]);
            keys.push([s1, s2, s3, s4, self.common.clone(), s6]);
        }
        powers.iter_mut().for_each(Zeroize::zeroize);
        keys
    }

    pub(super) fn public_key(&self, cx: &mut Context<'_>, k: &Scalar) -> PublicKey {
        let generator = cx.g2_generator();
        let [first, second] =
            [&self.alpha, &self.beta].map(|secret| cx.g2_power(&generator, &secret.times(k)));
        PublicKey { first, second }
    }

    /// Draws a random element of GT. Returns it and the ciphertext that carries it to those who know k.
    /// Instead of a pairing it takes a power of e(g, g), with the exponent of PK1.
    pub(super) fn encrypt(
        &self,
        cx: &mut Context<'_>,
        k: &Scalar,
        key: &PublicKey,
    ) -> (Gt, Vec<u8>) {
        let exponent = self.alpha.times(k);
        encrypt(cx, &self.h, key, |cx, t| cx.gt_table_power(&self.target, &exponent.times(t)))
    }

    /// Returns the bytes of alpha, beta and eta. The other fields follow from them.
    pub(super) const fn key_bytes(suite: Suite) -> usize {
        3 * Scalar::length(suite)
    }
}

impl SecretKey {
    pub(super) const ELEMENTS: usize = 6;

    /// Reads s1 to s6, one after the other, and h.
    pub(super) fn receive(
        cx: &mut Context<'_>,
        elements: &[u8],
        h: &[u8],
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let elements = cx.g1s(elements, check)?;
        let elements = elements.try_into().map_err(|_| Misbehaviour::Malformed)?;
        Ok(Self { elements, h: cx.g2(h, check)? })
    }

    /// Returns the key that decrypts as long as k is in use, or `None` if k is zero.
    pub(super) fn decryption_key(&self, cx: &mut Context<'_>, k: &Scalar) -> Option<DecryptionKey> {
        let [s1, s2, s3, s4, s5, _] = &self.elements;
        let inverse = cx.invert_scalar(k)?;
        let mut powers = [(s2, k), (s4, k), (s5, &inverse)].map(|(s, e)| cx.g1_power(s, e));
        let [s2_k, s4_k, s5_over_k] = &powers;
        let divisor = cx.g1_inverse(s5_over_k);
        let z1 = cx.g1_product(s1, [s2_k]);
        let z2 = cx.g1_product(s3, [s4_k, &divisor]);
        powers.iter_mut().for_each(Zeroize::zeroize);
        Some(DecryptionKey { z1, z2 })
    }

    /// Draws a random element of GT. Returns it and the ciphertext that carries it.
    pub(super) fn encrypt(&self, cx: &mut Context<'_>, key: &PublicKey) -> (Gt, Vec<u8>) {
        let generator = cx.g1_generator();
        let base = Gt::is_readable(cx.suite()).then(|| cx.pairings(&[(&generator, &key.first)]));
        encrypt(cx, &self.h, key, |cx, t| match &base {
            Some(base) => cx.gt_power(base, t),
            // Of one element alone: then a power in G1 costs less.
            None => {
                let mut power = cx.g1_power(&generator, t);
                let paired = cx.pairings(&[(&power, &key.first)]);
                power.zeroize();
                paired
            }
        })
    }

    /// Returns the element that a ciphertext carries.
    pub(super) fn decrypt(
        &self,
        cx: &mut Context<'_>,
        key: &DecryptionKey,
        ciphertext: &[u8],
        check: ElementCheck,
    ) -> Result<Gt, Error> {
        let suite = cx.suite();
        if ciphertext.len() != ciphertext_length(suite) {
            return Err(Misbehaviour::Malformed.into());
        }
        let (c1, rest) = ciphertext.split_at(masked_length(suite));
        let (c2, c3) = rest.split_at(G2::length(suite));
        let c1 = if c1.is_empty() { None } else { Some(cx.gt(c1, check)?) };
        let [c2, c3] = [cx.g2(c2, check)?, cx.g2(c3, check)?];
        let divisor = cx.g1_inverse(&self.elements[5]);
        let mut left = cx.g1_product(&key.z1, [&divisor]);
        let mut right = cx.g1_inverse(&key.z2);
        let mask = cx.pairings(&[(&left, &c2), (&right, &c3)]);
        left.zeroize();
        right.zeroize();
        Ok(match c1 {
            Some(c1) => cx.gt_product(&c1, &mask),
            None => mask,
        })
    }

    /// Returns the bytes of s1 to s6 and h.
    pub(super) const fn key_bytes(suite: Suite) -> usize {
        Self::ELEMENTS * G1::length(suite) + G2::length(suite)
    }
}

impl PublicKey {
    /// Reads a key that [`Self::encode`] wrote.
    pub(super) fn receive(
        cx: &mut Context<'_>,
        bytes: &[u8],
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let length = G2::length(cx.suite());
        if bytes.len() != 2 * length {
            return Err(Misbehaviour::Malformed.into());
        }
        let (first, second) = bytes.split_at(length);
        Ok(Self { first: cx.g2(first, check)?, second: cx.g2(second, check)? })
    }

    /// Encodes PK1 and PK2, one after the other.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.first.encode(&mut bytes);
        self.second.encode(&mut bytes);
        bytes
    }

    /// Returns the bytes of a public key.
    pub(super) const fn key_bytes(suite: Suite) -> usize {
        2 * G2::length(suite)
    }
}

impl DecryptionKey {
    /// Returns the bytes of z1 and z2.
    pub(super) const fn key_bytes(suite: Suite) -> usize {
        2 * G1::length(suite)
    }
}

/// Draws a random element of GT. Returns it and the ciphertext that carries it. `power` raises e(g, PK1)
/// to a scalar.
fn encrypt(
    cx: &mut Context<'_>,
    h: &G2,
    key: &PublicKey,
    power: impl Fn(&mut Context<'_>, &Scalar) -> Gt,
) -> (Gt, Vec<u8>) {
    let t = cx.random_scalar();
    let mut ciphertext = Vec::with_capacity(ciphertext_length(cx.suite()));
    let message = if Gt::is_readable(cx.suite()) {
        let x = cx.random_scalar();
        power(cx, &x.plus(&t)).encode(&mut ciphertext);
        power(cx, &x)
    } else {
        let mask = power(cx, &t);
        cx.gt_inverse(&mask)
    };
    let masked = cx.g2_product(h, [&key.first]);
    cx.g2_power(&masked, &t).encode(&mut ciphertext);
    cx.g2_power(&key.second, &t).encode(&mut ciphertext);
    (message, ciphertext)
}

/// Returns the length of a ciphertext in bytes.
pub(super) const fn ciphertext_length(suite: Suite) -> usize {
    masked_length(suite) + 2 * G2::length(suite)
}

/// Returns the length of c1 in bytes, 0 if c1 is left out.
const fn masked_length(suite: Suite) -> usize {
    if Gt::is_readable(suite) { Gt::length(suite) } else { 0 }
}

impl Drop for SecretKey {
    fn drop(&mut self) {
        self.elements.iter_mut().for_each(Zeroize::zeroize);
    }
}

impl Drop for MasterKey {
    fn drop(&mut self) {
        self.common.zeroize();
    }
}

impl Drop for DecryptionKey {
    fn drop(&mut self) {
        self.z1.zeroize();
        self.z2.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::context::Setting;
    use crate::identity::{GroupId, PartyId};
    use crate::outbox::Outbox;
    use crate::protection::Protection;

    /// By a power of e(g, g), by a power of e(g, PK1), and by a pairing of a power.
    #[test]
    fn the_controller_encrypts_as_whoever_has_the_public_key() {
        for suite in [Suite::Standard, Suite::Published] {
            let setting = Setting::new(GroupId(0), suite);
            let parts = || (ChaCha20Rng::from_seed([3; 32]), Outbox::new());
            let ((mut rng, mut outbox), mut probe) = (parts(), ());
            let (me, none) = (PartyId::Controller, Protection::None);
            let cx = &mut Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut probe);
            let (master, k) = (MasterKey::new(cx), cx.random_scalar());
            let key = master.public_key(cx, &k);
            let elements = master.secret_keys(cx, core::slice::from_ref(&k)).remove(0);
            let secret = SecretKey { elements, h: master.h.clone() };
            // Each draws the same values.
            let with = |work: &dyn Fn(&mut Context<'_>) -> (Gt, Vec<u8>)| {
                let (mut rng, mut outbox) = parts();
                work(&mut Context::new(setting, me, none, &mut rng, 0, &mut outbox, &mut ()))
            };
            let by_controller = with(&|cx| master.encrypt(cx, &k, &key));
            assert!(by_controller == with(&|cx| secret.encrypt(cx, &key)));
            let by_definition = with(&|cx| {
                let generator = cx.g1_generator();
                let base = cx.pairings(&[(&generator, &key.first)]);
                encrypt(cx, &master.h, &key, |cx, t| cx.gt_power(&base, t))
            });
            assert!(by_controller == by_definition);
        }
    }
}
