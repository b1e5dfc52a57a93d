//! Encryption to a public key by HPKE (RFC 9180), and the key schedule of MLS (RFC 9420).
//!
//! | what | primitives, counted |
//! |---|---|
//! | key of an encryption | 1 random exponent, 1 power of the generator, 1 check of an element, 1 exponentiation, 2 elements encoded, 1 derivation |
//! | the same key, by the receiver | 1 check of an element, 1 exponentiation, 1 element encoded, 1 derivation |
//! | what both state | 1 derivation |
//! | private key, each secret of the key schedule | 1 derivation |
//!
//! The caller wraps what it sends under the key, which is another one for each encryption.
//!
//! In suite `pq` the encapsulation is X-Wing. Counted is what takes its time: a public key made of a private
//! one counts as a power of the generator, and each encapsulation and decapsulation as an exponentiation;
//! the library makes the key pair twice for a decapsulation, which is counted, too. Nothing is encoded.

use alloc::vec::Vec;

use zeroize::{Zeroize, Zeroizing};

use crate::context::state::Context;
use crate::context::trace::TraceValue;
#[cfg(feature = "suite-pq")]
use crate::context::trace::Verbatim;
use crate::context::tracer::Rule;
use crate::crypto::group::{Element, ElementCheck, Exponent};
#[cfg(feature = "suite-pq")]
use crate::crypto::kem::xwing;
use crate::crypto::kem::{KemLengths, KemPrivate, KemPrivateKind};
use crate::crypto::key_schedule;
use crate::crypto::labelled::{HpkeAlgorithms, HpkeInfo, append_vector, expand, expand_with_label};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour};
use crate::secret::Key;

impl Context<'_> {
    /// Returns the private key that follows from a secret: `DeriveKeyPair` of RFC 9180 section 4.
    pub(crate) fn private_key(&mut self, secret: &Key) -> Result<KemPrivate, Error> {
        let suite = self.setting.suite;
        self.probe.record(Primitive::Derive, Key::BYTES);
        #[cfg(feature = "suite-pq")]
        if suite.group().is_none() {
            let algorithms = HpkeAlgorithms::of(suite);
            let seed = xwing::Seed::filled_by(|seed| {
                algorithms.private_key_bytes(secret.as_bytes(), seed);
            });
            self.trace_labelled(Rule::OneWay, "HPKE key pair", &[], &[secret], &[&seed]);
            return Ok(KemPrivate(KemPrivateKind::Hybrid(seed)));
        }
        let mut wide = Zeroizing::new(alloc::vec![0; suite.prime_group().wide_bytes()]);
        HpkeAlgorithms::of(suite).private_key_bytes(secret.as_bytes(), &mut wide);
        // One secret in 2^160 gives none: the other side computes the same.
        let private = Exponent::from_wide(suite, &wide).ok_or(Misbehaviour::InvalidElement)?;
        self.trace_labelled(Rule::OneWay, "HPKE key pair", &[], &[secret], &[&private]);
        Ok(KemPrivate(KemPrivateKind::Group(private)))
    }

    /// Returns the lengths of public keys and of what carries a key to their owners.
    pub const fn kem_lengths(&self) -> KemLengths {
        KemLengths::of(self.setting.suite)
    }

    /// Draws a private key.
    pub fn random_private_key(&mut self) -> KemPrivate {
        #[cfg(feature = "suite-pq")]
        if self.setting.suite.group().is_none() {
            self.probe.record(Primitive::Random, xwing::Seed::BYTES);
            let seed = xwing::Seed::filled_by(|seed| self.rng.fill_bytes(seed));
            self.trace(Rule::Random, &[], &[&seed]);
            return KemPrivate(KemPrivateKind::Hybrid(seed));
        }
        KemPrivate(KemPrivateKind::Group(self.random_exponent()))
    }

    /// Appends the public keys of these private keys.
    pub fn encode_public_keys(&mut self, privates: &[KemPrivate], out: &mut Vec<u8>) {
        let exponents = privates.iter().filter_map(KemPrivate::exponent);
        // Those of a group are encoded together.
        if self.setting.suite.group().is_some() {
            self.encode_generator_powers(exponents, out);
        }
        #[cfg(feature = "suite-pq")]
        for private in privates {
            let KemPrivateKind::Hybrid(seed) = &private.0 else { continue };
            self.probe.record(Primitive::ExponentiateGenerator, 1);
            let start = out.len();
            out.extend_from_slice(seed.public().as_ref());
            self.trace_labelled(Rule::OneWay, X_WING, &[], &[seed], &[&Verbatim(&out[start..])]);
        }
    }

    /// Refuses what is no public key.
    pub fn require_public_key(&mut self, public: &[u8], check: ElementCheck) -> Result<(), Error> {
        #[cfg(feature = "suite-pq")]
        if self.setting.suite.group().is_none() {
            self.probe.record(Primitive::CheckElement, 1);
            return match xwing::is_public(public) {
                true => Ok(()),
                false => Err(Misbehaviour::InvalidElement.into()),
            };
        }
        self.element(public, check).map(drop)
    }

    /// Prepares an encryption with a label and a context: `EncryptContext` of RFC 9420 section
    /// 5.1.3.
    pub fn hpke_info(&mut self, label: &'static str, context: &[u8]) -> HpkeInfo {
        let labelled = [b"MLS 1.0 ", label.as_bytes()].concat();
        let mut info = Vec::with_capacity(labelled.len() + context.len() + 5);
        append_vector(&labelled, &mut info);
        append_vector(context, &mut info);
        self.probe.record(Primitive::Derive, info.len());
        HpkeAlgorithms::of(self.setting.suite).info(&info)
    }

    /// Draws a key for who has the private key of `public`, which must be an element, and appends
    /// what that party computes it from: one element, or what X-Wing encapsulates.
    pub fn encapsulate(
        &mut self,
        public: &[u8],
        info: &HpkeInfo,
        check: ElementCheck,
        out: &mut Vec<u8>,
    ) -> Result<Key, Error> {
        #[cfg(feature = "suite-pq")]
        if self.setting.suite.group().is_none() {
            self.probe.record(Primitive::CheckElement, 1);
            self.probe.record(Primitive::Random, 2 * xwing::Seed::BYTES);
            self.probe.record(Primitive::Exponentiate, 1);
            let made = xwing::encapsulate(public, self.rng).ok_or(Misbehaviour::InvalidElement)?;
            let (encapsulated, shared) = made;
            self.trace(Rule::Random, &[], &[&Verbatim(&shared[..])]);
            out.extend_from_slice(encapsulated.as_ref());
            return Ok(self.hpke_key_of(&shared, encapsulated.as_ref(), info));
        }
        let element = self.element(public, check)?;
        let private = self.random_exponent();
        let ephemeral = self.generator_power(&private);
        let mut shared = self.power(&element, &private);
        let start = out.len();
        self.encode_element(&ephemeral, out);
        let key = self.hpke_key(&shared, [&out[start..], public], info);
        shared.zeroize();
        Ok(key)
    }

    /// Computes the key that [`Self::encapsulate`] returned, from what it appended.
    pub fn decapsulate(
        &mut self,
        private: &KemPrivate,
        public: &[u8],
        info: &HpkeInfo,
        encapsulated: &[u8],
        check: ElementCheck,
    ) -> Result<Key, Error> {
        #[cfg(feature = "suite-pq")]
        if let KemPrivateKind::Hybrid(seed) = &private.0 {
            for _ in 0..2 {
                self.probe.record(Primitive::ExponentiateGenerator, 1);
            }
            self.probe.record(Primitive::Exponentiate, 1);
            let shared = seed.decapsulate(encapsulated).ok_or(Misbehaviour::InvalidElement)?;
            let inputs: [&dyn TraceValue; 2] = [seed, &Verbatim(encapsulated)];
            self.trace_labelled(Rule::OneWay, X_WING, &[], &inputs, &[&Verbatim(&shared[..])]);
            return Ok(self.hpke_key_of(&shared, encapsulated, info));
        }
        let private = private.exponent().ok_or(Misbehaviour::InvalidElement)?;
        let ephemeral = self.element(encapsulated, check)?;
        let mut shared = self.power(&ephemeral, private);
        let key = self.hpke_key(&shared, [encapsulated, public], info);
        shared.zeroize();
        Ok(key)
    }

    /// Computes the secret that a joining member is sent; a commit without a path has no secret.
    pub(crate) fn joiner_secret(
        &mut self,
        init_secret: &Key,
        commit_secret: Option<&Key>,
        context: &[u8],
    ) -> Key {
        self.probe.record(Primitive::Derive, 2 * Key::BYTES + context.len());
        let (mut joiner, none) = (Key::default(), Key::default());
        let (hashing, commit) = (self.setting.suite.hashing(), commit_secret.unwrap_or(&none));
        key_schedule::joiner_secret(
            hashing,
            init_secret.as_bytes(),
            commit.as_bytes(),
            context,
            joiner.as_bytes_mut(),
        );
        match commit_secret {
            Some(commit) => {
                let inputs: [&dyn TraceValue; 2] = [init_secret, commit];
                self.trace_labelled(Rule::OneWay, "joiner", context, &inputs, &[&joiner]);
            }
            None => {
                self.trace_labelled(Rule::OneWay, "joiner", context, &[init_secret], &[&joiner]);
            }
        }
        joiner
    }

    pub(crate) fn epoch_secret(&mut self, joiner_secret: &Key, context: &[u8]) -> Key {
        self.probe.record(Primitive::Derive, Key::BYTES + context.len());
        let mut epoch = Key::default();
        let hashing = self.setting.suite.hashing();
        key_schedule::epoch_secret(
            hashing,
            joiner_secret.as_bytes(),
            context,
            epoch.as_bytes_mut(),
        );
        self.trace_labelled(Rule::OneWay, "epoch", context, &[joiner_secret], &[&epoch]);
        epoch
    }

    /// `DeriveSecret` of RFC 9420 section 8.
    pub(crate) fn derive_secret(&mut self, secret: &Key, label: &'static str) -> Key {
        self.probe.record(Primitive::Derive, Key::BYTES + label.len());
        let mut derived = Key::default();
        let hashing = self.setting.suite.hashing();
        expand_with_label(hashing, secret.as_bytes(), label, &[], derived.as_bytes_mut());
        self.trace_labelled(Rule::OneWay, label, &[], &[secret], &[&derived]);
        derived
    }

    /// Computes a MAC of 32 bytes, which commits to the key: HMAC-SHA-256, as HKDF-Expand of one
    /// block computes it, or its Ascon counterpart.
    pub(crate) fn committing_mac(&mut self, key: &Key, content: &[u8]) -> [u8; 32] {
        self.probe.record(Primitive::Mac, content.len());
        let mut tag = [0; 32];
        expand(self.setting.suite.hashing(), key.as_bytes(), &[content], &mut tag);
        tag
    }

    #[cfg(feature = "suite-pq")]
    fn hpke_key_of(&mut self, shared: &xwing::Shared, encapsulated: &[u8], info: &HpkeInfo) -> Key {
        self.probe.record(Primitive::Derive, shared.len());
        let mut key = Key::default();
        let algorithms = HpkeAlgorithms::of(self.setting.suite);
        algorithms.exported_of(shared, info, LABEL.as_bytes(), key.as_bytes_mut());
        let value = Verbatim(&shared[..]);
        self.trace_labelled(Rule::OneWay, LABEL, encapsulated, &[&value], &[&key]);
        key
    }

    fn hpke_key(&mut self, shared: &Element, public_keys: [&[u8]; 2], info: &HpkeInfo) -> Key {
        let suite = self.setting.suite;
        let mut bytes = Zeroizing::new(Vec::with_capacity(Element::length(suite)));
        self.encode_element(shared, &mut bytes);
        self.probe.record(Primitive::Derive, 3 * bytes.len());
        let mut key = Key::default();
        let algorithms = HpkeAlgorithms::of(suite);
        algorithms.exported(&bytes, public_keys, info, LABEL.as_bytes(), key.as_bytes_mut());
        self.trace_labelled(Rule::OneWay, LABEL, public_keys[0], &[shared], &[&key]);
        key
    }
}

#[cfg(feature = "suite-pq")]
impl TraceValue for xwing::Seed {
    fn traced(&self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

const LABEL: &str = "groupkey HPKE";

#[cfg(feature = "suite-pq")]
const X_WING: &str = "X-Wing";
