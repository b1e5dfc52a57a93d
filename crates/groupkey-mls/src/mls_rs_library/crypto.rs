//! mls-rs's RustCrypto provider, with the randomness of the context's and a count of what it computes.
//! What it computes is its own: only the drawing of keys is replaced.

use std::fmt;

use ed25519_dalek::SigningKey;
use groupkey::crypto::meter::Primitive;
use mls_rs::error::{AnyError, IntoAnyError};
use mls_rs::{CipherSuite, CipherSuiteProvider, CryptoProvider};
use mls_rs_core::crypto::{
    HpkeCiphertext, HpkePsk, HpkePublicKey, HpkeSecretKey, SignaturePublicKey, SignatureSecretKey,
};
use mls_rs_crypto_hpke::context::{ContextR, ContextS};
use mls_rs_crypto_hpke::dhkem::DhKem;
use mls_rs_crypto_rustcrypto::RustCryptoCipherSuite;
use mls_rs_crypto_rustcrypto::aead::Aead;
use mls_rs_crypto_rustcrypto::ecdh::Ecdh;
use mls_rs_crypto_rustcrypto::kdf::Kdf;
use mls_rs_crypto_traits::{AeadType, DhType, KdfType, KemId, SamplingMethod};
use zeroize::Zeroizing;

use super::SUITE;
use crate::resources::Resources;

/// The provider, for cipher suite 1 alone.
#[derive(Clone)]
pub(crate) struct MlsRsCrypto {
    resources: Resources,
}

/// Cipher suite 1.
#[derive(Clone)]
pub(crate) struct CountedSuite {
    computes: RustCryptoCipherSuite<DhKem<DrawnX25519, Counted<Kdf>>, Counted<Kdf>, Counted<Aead>>,
    resources: Resources,
}

impl MlsRsCrypto {
    pub(super) fn new(resources: &Resources) -> Self {
        Self { resources: resources.clone() }
    }

    pub(super) fn signature_keys(
        &self,
    ) -> Result<(SignatureSecretKey, SignaturePublicKey), ProviderFailure> {
        signature_keys(&self.resources)
    }
}

impl CryptoProvider for MlsRsCrypto {
    type CipherSuiteProvider = CountedSuite;

    fn supported_cipher_suites(&self) -> Vec<CipherSuite> {
        vec![SUITE]
    }

    fn cipher_suite_provider(&self, suite: CipherSuite) -> Option<CountedSuite> {
        if suite != SUITE {
            return None;
        }
        let counted = self.resources.clone();
        let kdf = Counted { computes: Kdf::new(suite)?, resources: counted.clone() };
        let aead = Counted { computes: Aead::new(suite)?, resources: counted.clone() };
        let dh = DrawnX25519 { computes: Ecdh::new(suite)?, resources: counted.clone() };
        let kem = KemId::new(suite)?;
        let kem = DhKem::new(dh, kdf.clone(), kem as u16, kem.n_secret());
        let computes = RustCryptoCipherSuite::new(suite, kem, kdf, aead)?;
        Some(CountedSuite { computes, resources: counted })
    }
}

impl CipherSuiteProvider for CountedSuite {
    type Error = ProviderFailure;
    type HpkeContextS = ContextS<Counted<Kdf>, Counted<Aead>>;
    type HpkeContextR = ContextR<Counted<Kdf>, Counted<Aead>>;

    fn cipher_suite(&self) -> CipherSuite {
        self.computes.cipher_suite()
    }

    fn hash(&self, data: &[u8]) -> Result<Vec<u8>, ProviderFailure> {
        self.resources.count(Primitive::Derive, data.len());
        self.computes.hash(data).map_err(failure)
    }

    fn mac(&self, key: &[u8], data: &[u8]) -> Result<Vec<u8>, ProviderFailure> {
        self.resources.count(Primitive::Mac, data.len());
        self.computes.mac(key, data).map_err(failure)
    }

    fn aead_seal(
        &self,
        key: &[u8],
        data: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Vec<u8>, ProviderFailure> {
        self.computes.aead_seal(key, data, aad, nonce).map_err(failure)
    }

    fn aead_open(
        &self,
        key: &[u8],
        ciphertext: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, ProviderFailure> {
        self.computes.aead_open(key, ciphertext, aad, nonce).map_err(failure)
    }

    fn aead_key_size(&self) -> usize {
        self.computes.aead_key_size()
    }

    fn aead_nonce_size(&self) -> usize {
        self.computes.aead_nonce_size()
    }

    fn kdf_extract(&self, salt: &[u8], ikm: &[u8]) -> Result<Zeroizing<Vec<u8>>, ProviderFailure> {
        self.computes.kdf_extract(salt, ikm).map_err(failure)
    }

    fn kdf_expand(
        &self,
        prk: &[u8],
        info: &[u8],
        length: usize,
    ) -> Result<Zeroizing<Vec<u8>>, ProviderFailure> {
        self.computes.kdf_expand(prk, info, length).map_err(failure)
    }

    fn kdf_extract_size(&self) -> usize {
        self.computes.kdf_extract_size()
    }

    fn hpke_seal(
        &self,
        to: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        content: &[u8],
    ) -> Result<HpkeCiphertext, ProviderFailure> {
        self.computes.hpke_seal(to, info, aad, content).map_err(failure)
    }

    fn hpke_seal_psk(
        &self,
        to: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        content: &[u8],
        psk: HpkePsk<'_>,
    ) -> Result<HpkeCiphertext, ProviderFailure> {
        self.computes.hpke_seal_psk(to, info, aad, content, psk).map_err(failure)
    }

    fn hpke_open(
        &self,
        ciphertext: &HpkeCiphertext,
        secret: &HpkeSecretKey,
        public: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
    ) -> Result<Zeroizing<Vec<u8>>, ProviderFailure> {
        self.computes.hpke_open(ciphertext, secret, public, info, aad).map_err(failure)
    }

    fn hpke_open_psk(
        &self,
        ciphertext: &HpkeCiphertext,
        secret: &HpkeSecretKey,
        public: &HpkePublicKey,
        info: &[u8],
        aad: Option<&[u8]>,
        psk: HpkePsk<'_>,
    ) -> Result<Zeroizing<Vec<u8>>, ProviderFailure> {
        self.computes.hpke_open_psk(ciphertext, secret, public, info, aad, psk).map_err(failure)
    }

    fn hpke_setup_s(
        &self,
        to: &HpkePublicKey,
        info: &[u8],
    ) -> Result<(Vec<u8>, Self::HpkeContextS), ProviderFailure> {
        self.computes.hpke_setup_s(to, info).map_err(failure)
    }

    fn hpke_setup_r(
        &self,
        encapsulated: &[u8],
        secret: &HpkeSecretKey,
        public: &HpkePublicKey,
        info: &[u8],
    ) -> Result<Self::HpkeContextR, ProviderFailure> {
        self.computes.hpke_setup_r(encapsulated, secret, public, info).map_err(failure)
    }

    fn kem_derive(&self, ikm: &[u8]) -> Result<(HpkeSecretKey, HpkePublicKey), ProviderFailure> {
        self.computes.kem_derive(ikm).map_err(failure)
    }

    fn kem_generate(&self) -> Result<(HpkeSecretKey, HpkePublicKey), ProviderFailure> {
        self.computes.kem_generate().map_err(failure)
    }

    fn kem_public_key_validate(&self, key: &HpkePublicKey) -> Result<(), ProviderFailure> {
        self.computes.kem_public_key_validate(key).map_err(failure)
    }

    fn random_bytes(&self, out: &mut [u8]) -> Result<(), ProviderFailure> {
        self.resources.fill(out).map_err(|error| ProviderFailure(error.to_string()))
    }

    fn signature_key_generate(
        &self,
    ) -> Result<(SignatureSecretKey, SignaturePublicKey), ProviderFailure> {
        signature_keys(&self.resources)
    }

    fn signature_key_derive_public(
        &self,
        secret: &SignatureSecretKey,
    ) -> Result<SignaturePublicKey, ProviderFailure> {
        self.computes.signature_key_derive_public(secret).map_err(failure)
    }

    fn sign(&self, secret: &SignatureSecretKey, data: &[u8]) -> Result<Vec<u8>, ProviderFailure> {
        self.resources.count(Primitive::Sign, data.len());
        self.computes.sign(secret, data).map_err(failure)
    }

    fn verify(
        &self,
        public: &SignaturePublicKey,
        signature: &[u8],
        data: &[u8],
    ) -> Result<(), ProviderFailure> {
        self.resources.count(Primitive::Verify, data.len());
        self.computes.verify(public, signature, data).map_err(failure)
    }
}

/// A provider's part, and the count of what it computes.
#[derive(Clone)]
pub(crate) struct Counted<P> {
    computes: P,
    resources: Resources,
}

impl<P: KdfType> KdfType for Counted<P> {
    type Error = P::Error;

    fn kdf_id(&self) -> u16 {
        self.computes.kdf_id()
    }

    fn expand(&self, prk: &[u8], info: &[u8], length: usize) -> Result<Vec<u8>, P::Error> {
        self.resources.count(Primitive::Derive, prk.len() + info.len());
        self.computes.expand(prk, info, length)
    }

    fn extract(&self, salt: &[u8], ikm: &[u8]) -> Result<Vec<u8>, P::Error> {
        self.resources.count(Primitive::Derive, salt.len() + ikm.len());
        self.computes.extract(salt, ikm)
    }

    fn extract_size(&self) -> usize {
        self.computes.extract_size()
    }
}

impl<P: AeadType> AeadType for Counted<P> {
    type Error = P::Error;

    fn aead_id(&self) -> u16 {
        self.computes.aead_id()
    }

    fn seal(
        &self,
        key: &[u8],
        data: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Vec<u8>, P::Error> {
        self.resources.count(Primitive::Seal, data.len() + aad.map_or(0, <[u8]>::len));
        self.computes.seal(key, data, aad, nonce)
    }

    fn open(
        &self,
        key: &[u8],
        ciphertext: &[u8],
        aad: Option<&[u8]>,
        nonce: &[u8],
    ) -> Result<Vec<u8>, P::Error> {
        self.resources.count(Primitive::Unseal, ciphertext.len() + aad.map_or(0, <[u8]>::len));
        self.computes.open(key, ciphertext, aad, nonce)
    }

    fn key_size(&self) -> usize {
        self.computes.key_size()
    }

    fn nonce_size(&self) -> usize {
        self.computes.nonce_size()
    }
}

/// X25519, whose keys follow from the context's randomness. Any 32 bytes are a secret key.
#[derive(Clone)]
pub(crate) struct DrawnX25519 {
    computes: Ecdh,
    resources: Resources,
}

impl DhType for DrawnX25519 {
    type Error = ProviderFailure;

    fn dh(
        &self,
        secret: &HpkeSecretKey,
        public: &HpkePublicKey,
    ) -> Result<Vec<u8>, ProviderFailure> {
        self.resources.count(Primitive::Exponentiate, 1);
        self.computes.dh(secret, public).map_err(failure)
    }

    fn generate(&self) -> Result<(HpkeSecretKey, HpkePublicKey), ProviderFailure> {
        let mut secret = Zeroizing::new([0; 32]);
        self.resources.fill(&mut *secret).map_err(|error| ProviderFailure(error.to_string()))?;
        let secret = HpkeSecretKey::from(secret.to_vec());
        let public = self.to_public(&secret)?;
        Ok((secret, public))
    }

    fn to_public(&self, secret: &HpkeSecretKey) -> Result<HpkePublicKey, ProviderFailure> {
        self.resources.count(Primitive::ExponentiateGenerator, 1);
        self.computes.to_public(secret).map_err(failure)
    }

    fn bitmask_for_rejection_sampling(&self) -> SamplingMethod {
        DhType::bitmask_for_rejection_sampling(&self.computes)
    }

    fn secret_key_size(&self) -> usize {
        DhType::secret_key_size(&self.computes)
    }

    fn public_key_size(&self) -> usize {
        DhType::public_key_size(&self.computes)
    }

    fn public_key_validate(&self, key: &HpkePublicKey) -> Result<(), ProviderFailure> {
        self.computes.public_key_validate(key).map_err(failure)
    }
}

fn signature_keys(
    resources: &Resources,
) -> Result<(SignatureSecretKey, SignaturePublicKey), ProviderFailure> {
    let mut seed = Zeroizing::new([0; 32]);
    resources.fill(&mut *seed).map_err(|error| ProviderFailure(error.to_string()))?;
    let key = SigningKey::from_bytes(&seed);
    let pair = Zeroizing::new(key.to_keypair_bytes());
    Ok((SignatureSecretKey::new_slice(&*pair), key.verifying_key().to_bytes().to_vec().into()))
}

#[derive(Debug)]
pub(crate) struct ProviderFailure(String);

impl fmt::Display for ProviderFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProviderFailure {}

impl IntoAnyError for ProviderFailure {
    fn into_dyn_error(self) -> Result<Box<dyn std::error::Error + Send + Sync>, Self> {
        Ok(self.into())
    }
}

fn failure(error: impl IntoAnyError) -> ProviderFailure {
    let error: AnyError = error.into_any_error();
    ProviderFailure(error.to_string())
}
