//! openmls's RustCrypto provider, with the randomness of the context's and a count of what it computes.
//! What it computes is its own, HPKE included: only the drawing of keys is replaced.
//!
//! openmls encrypts to the nodes of a path on several threads. So that the same seed gives the same
//! bytes, what an encryption draws is fixed by what it encrypts and to whom.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;

use ed25519_dalek::SigningKey;
use groupkey::crypto::meter::Primitive;
use hpke_rs::{Hpke, Mode};
use hpke_rs_crypto::error::Error as HpkeError;
use hpke_rs_crypto::types::{AeadAlgorithm, KdfAlgorithm, KemAlgorithm};
use hpke_rs_crypto::{HpkeCrypto, HpkeTestRng};
use hpke_rs_rust_crypto::HpkeRustCrypto;
use openmls_memory_storage::MemoryStorage;
use openmls_rust_crypto::RustCrypto;
use openmls_traits::OpenMlsProvider;
use openmls_traits::crypto::OpenMlsCrypto;
use openmls_traits::random::OpenMlsRand;
use openmls_traits::signatures::SignerError;
use openmls_traits::types::{
    AeadType, Ciphersuite, CryptoError, ExporterSecret, HashType, HpkeAeadType, HpkeCiphertext,
    HpkeConfig, HpkeKdfType, HpkeKemType, HpkeKeyPair, KemOutput, SignatureScheme,
};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use std::sync::PoisonError;
use tls_codec::SecretVLBytes;
use zeroize::{Zeroize, Zeroizing};

use crate::resources::{NoRandomness, Resources};

/// The provider of one member, with its storage in memory.
pub(crate) struct Provider {
    crypto: CountedCrypto,
    storage: MemoryStorage,
}

impl Provider {
    pub(super) fn new(resources: &Resources) -> Self {
        let crypto =
            CountedCrypto { computes: RustCrypto::default(), resources: resources.clone() };
        Self { crypto, storage: MemoryStorage::default() }
    }

    /// Returns what is stored.
    pub(super) fn keys(&self) -> HashMap<Vec<u8>, Vec<u8>> {
        self.storage.values.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores what was stored before.
    pub(super) fn restore(&self, before: HashMap<Vec<u8>, Vec<u8>>) {
        *self.storage.values.write().unwrap_or_else(PoisonError::into_inner) = before;
    }
}

impl OpenMlsProvider for Provider {
    type CryptoProvider = CountedCrypto;
    type RandProvider = CountedCrypto;
    type StorageProvider = MemoryStorage;

    fn storage(&self) -> &MemoryStorage {
        &self.storage
    }

    fn crypto(&self) -> &CountedCrypto {
        &self.crypto
    }

    fn rand(&self) -> &CountedCrypto {
        &self.crypto
    }
}

/// A member's signature keys in MLS.
pub(crate) struct Signer {
    key: SigningKey,
    resources: Resources,
}

impl Signer {
    /// Draws the keys.
    pub(super) fn new(resources: &Resources) -> Result<Self, NoRandomness> {
        let mut seed = Zeroizing::new([0; 32]);
        resources.fill(&mut *seed)?;
        Ok(Self { key: SigningKey::from_bytes(&seed), resources: resources.clone() })
    }

    pub(super) fn public(&self) -> Vec<u8> {
        self.key.verifying_key().to_bytes().to_vec()
    }
}

impl openmls_traits::signatures::Signer for Signer {
    fn sign(&self, payload: &[u8]) -> Result<Vec<u8>, SignerError> {
        use ed25519_dalek::Signer as _;
        self.resources.count(Primitive::Sign, payload.len());
        Ok(self.key.sign(payload).to_bytes().to_vec())
    }

    fn signature_scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}

pub(crate) struct CountedCrypto {
    computes: RustCrypto,
    resources: Resources,
}

impl OpenMlsCrypto for CountedCrypto {
    fn supports(&self, suite: Ciphersuite) -> Result<(), CryptoError> {
        match suite == super::SUITE {
            true => self.computes.supports(suite),
            false => Err(CryptoError::UnsupportedCiphersuite),
        }
    }

    fn supported_ciphersuites(&self) -> Vec<Ciphersuite> {
        vec![super::SUITE]
    }

    fn hkdf_extract(
        &self,
        hash: HashType,
        salt: &[u8],
        ikm: &[u8],
    ) -> Result<SecretVLBytes, CryptoError> {
        self.resources.count(Primitive::Derive, salt.len() + ikm.len());
        self.computes.hkdf_extract(hash, salt, ikm)
    }

    fn hmac(
        &self,
        hash: HashType,
        key: &[u8],
        message: &[u8],
    ) -> Result<SecretVLBytes, CryptoError> {
        self.resources.count(Primitive::Mac, message.len());
        self.computes.hmac(hash, key, message)
    }

    fn hkdf_expand(
        &self,
        hash: HashType,
        prk: &[u8],
        info: &[u8],
        length: usize,
    ) -> Result<SecretVLBytes, CryptoError> {
        self.resources.count(Primitive::Derive, prk.len() + info.len());
        self.computes.hkdf_expand(hash, prk, info, length)
    }

    fn hash(&self, hash: HashType, data: &[u8]) -> Result<Vec<u8>, CryptoError> {
        self.resources.count(Primitive::Derive, data.len());
        self.computes.hash(hash, data)
    }

    fn aead_encrypt(
        &self,
        aead: AeadType,
        key: &[u8],
        data: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        self.resources.count(Primitive::Seal, data.len() + aad.len());
        self.computes.aead_encrypt(aead, key, data, nonce, aad)
    }

    fn aead_decrypt(
        &self,
        aead: AeadType,
        key: &[u8],
        ciphertext: &[u8],
        nonce: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        self.resources.count(Primitive::Unseal, ciphertext.len() + aad.len());
        self.computes.aead_decrypt(aead, key, ciphertext, nonce, aad)
    }

    fn signature_key_gen(
        &self,
        scheme: SignatureScheme,
    ) -> Result<(Vec<u8>, Vec<u8>), CryptoError> {
        if scheme != SignatureScheme::ED25519 {
            return Err(CryptoError::UnsupportedSignatureScheme);
        }
        let signer = Signer::new(&self.resources).map_err(insufficient)?;
        Ok((signer.key.to_bytes().to_vec(), signer.public()))
    }

    fn verify_signature(
        &self,
        scheme: SignatureScheme,
        data: &[u8],
        public: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        self.resources.count(Primitive::Verify, data.len());
        self.computes.verify_signature(scheme, data, public, signature)
    }

    fn sign(
        &self,
        scheme: SignatureScheme,
        data: &[u8],
        key: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        self.resources.count(Primitive::Sign, data.len());
        self.computes.sign(scheme, data, key)
    }

    fn hpke_seal(
        &self,
        config: HpkeConfig,
        to: &[u8],
        info: &[u8],
        aad: &[u8],
        content: &[u8],
    ) -> Result<HpkeCiphertext, CryptoError> {
        // Not by `info`, which may be long: the keys that encrypt depend on it anyway.
        let seed = self.resources.fixed_by(&[to, aad, content]).map_err(insufficient)?;
        let sealed = self.hpke(config, Some(seed), |hpke| {
            hpke.seal(&to.into(), info, aad, content, None, None, None)
        })?;
        let (kem_output, ciphertext) = sealed.map_err(|_| CryptoError::HpkeEncryptionError)?;
        Ok(HpkeCiphertext { kem_output: kem_output.into(), ciphertext: ciphertext.into() })
    }

    fn hpke_open(
        &self,
        config: HpkeConfig,
        input: &HpkeCiphertext,
        secret: &[u8],
        info: &[u8],
        aad: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let (kem_output, ciphertext) = (input.kem_output.as_slice(), input.ciphertext.as_slice());
        let opened = self.hpke(config, None, |hpke| {
            hpke.open(kem_output, &secret.into(), info, aad, ciphertext, None, None, None)
        })?;
        opened.map_err(|_| CryptoError::HpkeDecryptionError)
    }

    fn hpke_setup_sender_and_export(
        &self,
        config: HpkeConfig,
        to: &[u8],
        info: &[u8],
        context: &[u8],
        length: usize,
    ) -> Result<(KemOutput, ExporterSecret), CryptoError> {
        let seed = self.resources.fixed_by(&[to, context]).map_err(insufficient)?;
        self.hpke(config, Some(seed), |hpke| {
            let sender = hpke.setup_sender(&to.into(), info, None, None, None);
            let (kem_output, sender) = sender.map_err(|_| CryptoError::SenderSetupError)?;
            let secret = sender.export(context, length).map_err(|_| CryptoError::ExporterError)?;
            Ok((kem_output, secret.into()))
        })?
    }

    fn hpke_setup_receiver_and_export(
        &self,
        config: HpkeConfig,
        encapsulated: &[u8],
        secret: &[u8],
        info: &[u8],
        context: &[u8],
        length: usize,
    ) -> Result<ExporterSecret, CryptoError> {
        self.hpke(config, None, |hpke| {
            let receiver =
                hpke.setup_receiver(encapsulated, &secret.into(), info, None, None, None);
            let receiver = receiver.map_err(|_| CryptoError::ReceiverSetupError)?;
            let secret = receiver.export(context, length);
            Ok(secret.map_err(|_| CryptoError::ExporterError)?.into())
        })?
    }

    fn derive_hpke_keypair(
        &self,
        config: HpkeConfig,
        ikm: &[u8],
    ) -> Result<HpkeKeyPair, CryptoError> {
        let derived = self.hpke(config, None, |hpke| hpke.derive_key_pair(ikm))?;
        let (private, public) = derived.map_err(|_| CryptoError::CryptoLibraryError)?.into_keys();
        Ok(HpkeKeyPair { private: private.as_slice().into(), public: public.as_slice().into() })
    }
}

impl CountedCrypto {
    /// Runs HPKE of cipher suite 1, which draws from this seed.
    fn hpke<T>(
        &self,
        config: HpkeConfig,
        seed: Option<Zeroizing<[u8; 32]>>,
        run: impl FnOnce(&mut Hpke<CountedHpke>) -> T,
    ) -> Result<T, CryptoError> {
        let HpkeConfig(HpkeKemType::DhKem25519, HpkeKdfType::HkdfSha256, HpkeAeadType::AesGcm128) =
            config
        else {
            return Err(CryptoError::UnsupportedCiphersuite);
        };
        let (kem, kdf) = (KemAlgorithm::DhKem25519, KdfAlgorithm::HkdfSha256);
        let resources = self.resources.clone();
        AT_WORK.set(Some(Work { resources, seed: seed.unwrap_or_default() }));
        let result = run(&mut Hpke::new(Mode::Base, kem, kdf, AeadAlgorithm::Aes128Gcm));
        AT_WORK.set(None);
        Ok(result)
    }
}

impl OpenMlsRand for CountedCrypto {
    type Error = NoRandomness;

    fn random_array<const N: usize>(&self) -> Result<[u8; N], NoRandomness> {
        let mut bytes = [0; N];
        self.resources.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn random_vec(&self, length: usize) -> Result<Vec<u8>, NoRandomness> {
        let mut bytes = vec![0; length];
        self.resources.fill(&mut bytes)?;
        Ok(bytes)
    }
}

thread_local! {
    /// What HPKE on this thread computes with: its functions have no other way to be told.
    static AT_WORK: RefCell<Option<Work>> = const { RefCell::new(None) };
}

struct Work {
    resources: Resources,
    seed: Zeroizing<[u8; 32]>,
}

fn count(primitive: Primitive, amount: usize) {
    AT_WORK.with_borrow(|work| {
        if let Some(work) = work {
            work.resources.count(primitive, amount);
        }
    });
}

/// RustCrypto's HPKE, counted.
#[derive(Debug)]
struct CountedHpke;

impl HpkeCrypto for CountedHpke {
    type HpkePrng = Seeded;

    fn name() -> String {
        HpkeRustCrypto::name()
    }

    fn supports_kdf(kdf: KdfAlgorithm) -> Result<(), HpkeError> {
        HpkeRustCrypto::supports_kdf(kdf)
    }

    fn supports_kem(kem: KemAlgorithm) -> Result<(), HpkeError> {
        HpkeRustCrypto::supports_kem(kem)
    }

    fn supports_aead(aead: AeadAlgorithm) -> Result<(), HpkeError> {
        HpkeRustCrypto::supports_aead(aead)
    }

    fn prng() -> Seeded {
        let seed = AT_WORK.with_borrow(|work| work.as_ref().map(|work| work.seed.clone()));
        Seeded(ChaCha20Rng::from_seed(*seed.unwrap_or_default()))
    }

    fn kdf_extract(kdf: KdfAlgorithm, salt: &[u8], ikm: &[u8]) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::Derive, salt.len() + ikm.len());
        HpkeRustCrypto::kdf_extract(kdf, salt, ikm)
    }

    fn kdf_expand(
        kdf: KdfAlgorithm,
        prk: &[u8],
        info: &[u8],
        length: usize,
    ) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::Derive, prk.len() + info.len());
        HpkeRustCrypto::kdf_expand(kdf, prk, info, length)
    }

    fn dh(kem: KemAlgorithm, public: &[u8], secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::Exponentiate, 1);
        HpkeRustCrypto::dh(kem, public, secret)
    }

    fn secret_to_public(kem: KemAlgorithm, secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::ExponentiateGenerator, 1);
        HpkeRustCrypto::secret_to_public(kem, secret)
    }

    fn kem_key_gen(kem: KemAlgorithm, rng: &mut Seeded) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        let mut secret = vec![0; 32];
        rng.0.fill_bytes(&mut secret);
        Ok((Self::secret_to_public(kem, &secret)?, secret))
    }

    fn kem_key_gen_derand(_: KemAlgorithm, _: &[u8]) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn kem_encaps(
        _: KemAlgorithm,
        _: &[u8],
        _: &mut Seeded,
    ) -> Result<(Vec<u8>, Vec<u8>), HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn kem_decaps(_: KemAlgorithm, _: &[u8], _: &[u8]) -> Result<Vec<u8>, HpkeError> {
        Err(HpkeError::UnsupportedKemOperation)
    }

    fn dh_validate_sk(kem: KemAlgorithm, secret: &[u8]) -> Result<Vec<u8>, HpkeError> {
        HpkeRustCrypto::dh_validate_sk(kem, secret)
    }

    fn aead_seal(
        aead: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        content: &[u8],
    ) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::Seal, content.len() + aad.len());
        HpkeRustCrypto::aead_seal(aead, key, nonce, aad, content)
    }

    fn aead_open(
        aead: AeadAlgorithm,
        key: &[u8],
        nonce: &[u8],
        aad: &[u8],
        content: &[u8],
    ) -> Result<Vec<u8>, HpkeError> {
        count(Primitive::Unseal, content.len() + aad.len());
        HpkeRustCrypto::aead_open(aead, key, nonce, aad, content)
    }
}

/// What one encryption draws.
#[derive(Debug)]
struct Seeded(ChaCha20Rng);

impl Zeroize for Seeded {
    fn zeroize(&mut self) {
        self.0 = ChaCha20Rng::from_seed([0; 32]);
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.0.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.try_fill_bytes(bytes)
    }
}

impl TryCryptoRng for Seeded {}

impl HpkeTestRng for Seeded {
    type Error = NoTests;

    fn try_fill_test_bytes(&mut self, bytes: &mut [u8]) -> Result<(), NoTests> {
        self.0.fill_bytes(bytes);
        Ok(())
    }

    fn seed(&mut self, _: &[u8]) {}
}

/// Nothing fails here.
#[derive(Debug)]
enum NoTests {}

impl fmt::Display for NoTests {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

fn insufficient(_: NoRandomness) -> CryptoError {
    CryptoError::InsufficientRandomness
}
