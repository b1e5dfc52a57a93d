//! What primitives cost by the own calls of the libraries that compute them, with nothing of ours
//! around: the limit that measured times are compared with.
//!
//! - AES is priced as a chain of its blocks in one call of the cipher, as key wrap and CBC-MAC need
//!   them: the libraries for key wrap and CCM make a call for each block, which takes longer.
//! - Where the mathematics itself is ours (MODP groups, Type A, tables of multiples in G1, powers in GT,
//!   products of many primes), no library has a price. Then there is none here, and the price is that
//!   of our interface ([`Workbench`](groupkey_testkit::workbench::Workbench)).

#[cfg(feature = "blst")]
mod pairing;

use std::hint::black_box;

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::consts::U16;
use aes::cipher::{
    Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, BlockSizeUser,
    KeyInit, KeyIvInit,
};
use ascon_aead::AsconAead128;
use ascon_aead::aead::AeadInOut;
use ascon_hash256::AsconHash256;
use crypto_bigint::{U192, U256};
use crypto_primes::{Flavor, random_prime};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use dashu_int::UBig;
use ed25519_dalek::{Signer, SigningKey};
use groupkey::Suite;
use groupkey::crypto::group::PrimeGroup;
use groupkey::crypto::meter::Primitive;
use groupkey::crypto::{GroupContext, Hashing, Signing, Wrapping};
use groupkey_testkit::workbench::{MeasuredCost, Stopwatch, line};
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use rand_core::CryptoRng;
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};

/// Measures primitives of one suite.
pub(super) struct LibraryBench<'b> {
    pub(super) suite: Suite,
    pub(super) stopwatch: &'b dyn Stopwatch,
    /// What random values are drawn from. To draw is part of the cost.
    pub(super) rng: &'b mut dyn CryptoRng,
}

/// Few and many keys, and few and many bytes.
const KEYS: [usize; 2] = [1, 33];
const BYTES: [usize; 2] = [16, 4_112];
/// Few and many bytes of a long number.
const LONG: [usize; 2] = [512, 32_768];

impl LibraryBench<'_> {
    /// Returns the cost of a primitive; `None` if no library has it.
    pub(super) fn cost(&mut self, primitive: Primitive) -> Option<MeasuredCost> {
        let (per_call, per_unit) = match primitive {
            Primitive::Random => {
                let Self { stopwatch, rng, .. } = self;
                (stopwatch.one(&mut || rng.fill_bytes(black_box(&mut [0; 16]))), 0.0)
            }
            Primitive::GeneratePrime => (self.generate_prime(), 0.0),
            Primitive::Wrap => line(KEYS, |keys| self.wrap(keys)),
            Primitive::Unwrap => line(KEYS, |keys| self.unwrap(keys)),
            Primitive::Derive => line(BYTES, |bytes| self.derive(bytes)),
            Primitive::Hash => (self.hash(), 0.0),
            Primitive::Seal | Primitive::Unseal => line(BYTES, |bytes| self.seal(bytes)),
            Primitive::Mac => line(BYTES, |bytes| self.mac(bytes)),
            // Two libraries make the hybrid's halves, and neither the whole.
            Primitive::Sign | Primitive::Verify if self.suite.signing() != Signing::Ed25519 => {
                return None;
            }
            Primitive::Sign => line(BYTES, |bytes| {
                let (key, message) = (SigningKey::from_bytes(&[1; 32]), signed(bytes));
                self.time(|| key.sign(black_box(&message)))
            }),
            Primitive::Verify => line(BYTES, |bytes| {
                let (key, message) = (SigningKey::from_bytes(&[1; 32]), signed(bytes));
                let (public, signature) = (key.verifying_key(), key.sign(&message));
                self.time(|| public.verify_strict(black_box(&message), &signature))
            }),
            Primitive::MultiplyInteger => line(LONG, |bytes| {
                let (long, prime) = (number(bytes), number(32));
                self.time(|| black_box(&long) * &prime)
            }),
            Primitive::DivideInteger => line(LONG, |bytes| {
                let (long, prime) = (number(bytes), number(32));
                self.time(|| black_box(&long) % &prime)
            }),
            of_group if of_group.is_of_group() => (self.of_ristretto(of_group)?, 0.0),
            #[cfg(feature = "blst")]
            of_pairing if of_pairing.is_of_pairing() => self.of_pairing(of_pairing)?,
            _ => return None,
        };
        // A line may begin below zero, if the stopwatch is coarse.
        Some(MeasuredCost { per_call: per_call.max(0.0), per_unit: per_unit.max(0.0) })
    }

    fn time<T>(&self, mut work: impl FnMut() -> T) -> f64 {
        self.stopwatch.one(&mut || drop(black_box(work())))
    }

    fn generate_prime(&mut self) -> f64 {
        let Self { suite, stopwatch, rng } = self;
        stopwatch.mean(&mut || match suite {
            Suite::Published => drop(black_box(random_prime::<U192, _>(rng, Flavor::Any, 159))),
            _ => drop(black_box(random_prime::<U256, _>(rng, Flavor::Any, 254))),
        })
    }

    /// Under AES key wrap: a block of SHA-256, a key schedule, and twelve blocks for each key, of which
    /// each needs the one before.
    fn wrap(&mut self, keys: usize) -> f64 {
        match self.suite.wrapping() {
            Wrapping::AesKeyWrap => self.time(|| {
                let mut block = Block::<Aes128>::default();
                let chain = AesChain { length: 12 * keys, block: &mut block };
                Aes128::new(&hashed().into()).encrypt_with_backend(chain);
                block
            }),
            Wrapping::Ascon => self.ascon_wrap(keys),
            Wrapping::AesCbc => {
                let mut content = vec![0; 16 * keys];
                let Self { stopwatch, rng, .. } = self;
                stopwatch.one(&mut || {
                    let mut iv = [0; 16];
                    rng.fill_bytes(&mut iv);
                    let cipher =
                        cbc::Encryptor::<Aes128>::new(black_box(&[1; 16]).into(), &iv.into());
                    let length = content.len();
                    let _ = black_box(cipher.encrypt_padded::<NoPadding>(&mut content, length));
                })
            }
        }
    }

    fn unwrap(&self, keys: usize) -> f64 {
        match self.suite.wrapping() {
            Wrapping::AesKeyWrap => self.time(|| {
                let mut block = Block::<Aes128>::default();
                let chain = AesChain { length: 12 * keys, block: &mut block };
                Aes128::new(&hashed().into()).decrypt_with_backend(chain);
                block
            }),
            Wrapping::Ascon => self.ascon_wrap(keys),
            Wrapping::AesCbc => {
                let mut content = vec![0; 16 * keys];
                self.time(|| {
                    let (key, iv) = (black_box(&[1; 16]).into(), (&[0; 16]).into());
                    let cipher = cbc::Decryptor::<Aes128>::new(key, iv);
                    let _ = black_box(cipher.decrypt_padded::<NoPadding>(&mut content));
                })
            }
        }
    }

    /// Ascon encrypts the group's context and the keys for a tag, and zeros for a mask.
    fn ascon_wrap(&self, keys: usize) -> f64 {
        let mut covered = vec![0; GroupContext::BYTES + 16 * keys];
        let mut mask = vec![0; 16 * keys];
        self.time(|| {
            let cipher = AsconAead128::new(black_box(&[1; 16]).into());
            for text in [&mut covered, &mut mask] {
                let _ = black_box(cipher.encrypt_inout_detached(
                    &[0; 16].into(),
                    &[],
                    text.as_mut_slice().into(),
                ));
            }
        })
    }

    fn derive(&self, bytes: usize) -> f64 {
        let (secret, info) = ([1; 16], vec![0; bytes - 16]);
        match self.suite.hashing() {
            Hashing::Sha2 => self.time(|| {
                let mut key = [0; 16];
                let hkdf = Hkdf::<Sha256>::new(Some(&[0; GroupContext::BYTES]), black_box(&secret));
                let _ = hkdf.expand(&info, &mut key);
                key
            }),
            // Two purposes and three lengths stand between.
            Hashing::Ascon => self.ascon_hash(GroupContext::BYTES + 30 + bytes),
        }
    }

    /// The block after the group's context, whose state is known.
    fn hash(&self) -> f64 {
        match self.suite.hashing() {
            Hashing::Sha2 => self.time(hashed),
            Hashing::Ascon => self.ascon_hash(GroupContext::BYTES + 20 + 16),
        }
    }

    /// From the state of the key on.
    fn mac(&self, bytes: usize) -> f64 {
        let message = vec![0; bytes];
        match self.suite.hashing() {
            Hashing::Sha2 => {
                let state = <Hmac<Sha256> as KeyInit>::new(&[1; 64].into());
                self.time(|| {
                    let mac = black_box(&state).clone().chain_update([0; GroupContext::BYTES]);
                    mac.chain_update(&message).finalize()
                })
            }
            Hashing::Ascon => self.ascon_hash(GroupContext::BYTES + 51 + bytes),
        }
    }

    fn ascon_hash(&self, bytes: usize) -> f64 {
        let message = vec![0; bytes];
        self.time(|| AsconHash256::digest(black_box(&message)))
    }

    /// CCM: a chain of a first block and those of the content, and as many that need not wait for each
    /// other.
    fn seal(&self, bytes: usize) -> f64 {
        match self.suite.hashing() {
            Hashing::Sha2 => {
                let blocks = 1 + bytes.div_ceil(16);
                let mut stream = vec![Block::<Aes128>::default(); blocks];
                self.time(|| {
                    let (cipher, mut block) = (Aes128::new(black_box(&[1; 16]).into()), stream[0]);
                    cipher.encrypt_with_backend(AesChain { length: blocks, block: &mut block });
                    cipher.encrypt_blocks(&mut stream);
                    block
                })
            }
            Hashing::Ascon => {
                let mut content = vec![0; bytes];
                self.time(|| {
                    let cipher = AsconAead128::new(black_box(&[1; 16]).into());
                    let content = content.as_mut_slice().into();
                    let _ = black_box(cipher.encrypt_inout_detached(&[0; 16].into(), &[], content));
                })
            }
        }
    }

    fn of_ristretto(&self, primitive: Primitive) -> Option<f64> {
        if self.suite.group() != Some(PrimeGroup::Ristretto255) {
            return None;
        }
        let [a, b] = [3, 5].map(|byte| Scalar::from_bytes_mod_order([byte; 32]));
        let [p, q] = [a, b].map(|scalar| RistrettoPoint::mul_base(&scalar));
        let encoded = p.compress();
        Some(match primitive {
            Primitive::ExponentiateGenerator => {
                self.time(|| RistrettoPoint::mul_base(black_box(&a)))
            }
            Primitive::Exponentiate => self.time(|| black_box(&p) * a),
            Primitive::MultiplyElements => self.time(|| black_box(&p) + q),
            Primitive::DivideElements => self.time(|| black_box(&p) - q),
            Primitive::InvertExponent => self.time(|| black_box(&a).invert()),
            Primitive::CheckElement => {
                self.time(|| CompressedRistretto::decompress(black_box(&encoded)))
            }
            Primitive::EncodeElement => self.time(|| black_box(&p).compress()),
            _ => return None,
        })
    }
}

/// AES blocks, each of which is made of the one before.
struct AesChain<'c> {
    length: usize,
    block: &'c mut Block<Aes128>,
}

impl BlockSizeUser for AesChain<'_> {
    type BlockSize = U16;
}

impl BlockCipherEncClosure for AesChain<'_> {
    #[inline(always)]
    fn call<B: BlockCipherEncBackend<BlockSize = U16>>(self, backend: &B) {
        let mut block = *self.block;
        (0..self.length).for_each(|_| backend.encrypt_block((&mut block).into()));
        *self.block = block;
    }
}

impl BlockCipherDecClosure for AesChain<'_> {
    #[inline(always)]
    fn call<B: BlockCipherDecBackend<BlockSize = U16>>(self, backend: &B) {
        let mut block = *self.block;
        (0..self.length).for_each(|_| backend.decrypt_block((&mut block).into()));
        *self.block = block;
    }
}

/// Hashes one block of SHA-256. Returns the beginning of the state as a key.
fn hashed() -> [u8; 16] {
    let mut state = black_box([1; 8]);
    compress256(&mut state, &[black_box([0; 64])]);
    let [a, b, c, d, ..] = state.map(u32::to_be_bytes);
    let mut key = [0; 16];
    key.as_chunks_mut().0.copy_from_slice(&[a, b, c, d]);
    key
}

/// A message with the group's context before it.
fn signed(bytes: usize) -> Vec<u8> {
    vec![0; GroupContext::BYTES + bytes]
}

fn number(bytes: usize) -> UBig {
    UBig::from_be_bytes(&vec![0x7b; bytes])
}
