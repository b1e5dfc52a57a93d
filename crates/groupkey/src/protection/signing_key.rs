//! Signing keys of Ed25519: of ed25519-dalek or, with the feature `aws-lc`, of AWS-LC, whose assembly signs
//! in less than half the time. A signature follows from key and message (RFC 8032 section 5.1.6), so both give
//! the same bytes. ed25519-dalek checks signatures in both cases: libraries differ in which invalid ones
//! they accept, and all members of a group must agree.

use ed25519_dalek::VerifyingKey;

pub(super) use self::library::SigningKey;

#[cfg(not(feature = "aws-lc"))]
mod library {
    use ed25519_dalek::ed25519::signature::MultipartSigner;

    use super::VerifyingKey;

    /// A signing key. It is wiped when dropped.
    pub(in super::super) struct SigningKey(ed25519_dalek::SigningKey);

    impl SigningKey {
        pub(in super::super) fn from_bytes(secret: &[u8; 32]) -> Self {
            Self(ed25519_dalek::SigningKey::from_bytes(secret))
        }

        pub(in super::super) fn verifying_key(&self) -> VerifyingKey {
            self.0.verifying_key()
        }

        /// Signs these parts, one after the other.
        pub(in super::super) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
            self.0.multipart_sign(parts).to_bytes()
        }
    }
}

#[cfg(feature = "aws-lc")]
mod library {
    use alloc::vec::Vec;

    use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
    use zeroize::Zeroizing;

    use super::VerifyingKey;

    /// A signing key. AWS-LC wipes the memory of keys when it frees it, and its stack not always.
    pub(in super::super) struct SigningKey {
        pair: Ed25519KeyPair,
        public: VerifyingKey,
    }

    impl SigningKey {
        pub(in super::super) fn from_bytes(secret: &[u8; 32]) -> Self {
            let pair =
                Ed25519KeyPair::from_seed_unchecked(secret).expect("any 32 bytes are a seed");
            let public = pair.public_key().as_ref().try_into().ok();
            let public = public.and_then(|bytes| VerifyingKey::from_bytes(bytes).ok());
            Self { pair, public: public.expect("the library made a point") }
        }

        pub(in super::super) const fn verifying_key(&self) -> VerifyingKey {
            self.public
        }

        /// Signs these parts, one after the other.
        pub(in super::super) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
            // They may be secret. A buffer that grows would leave a copy.
            let length = parts.iter().map(|part| part.len()).sum();
            let mut message = Zeroizing::new(Vec::with_capacity(length));
            parts.iter().for_each(|part| message.extend_from_slice(part));
            let mut signature = [0; 64];
            signature.copy_from_slice(self.pair.sign(&message).as_ref());
            signature
        }
    }
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use std::time::{Duration, Instant};

    use ed25519_dalek::ed25519::signature::MultipartSigner;
    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    #[test]
    fn both_libraries_sign_alike() {
        let mut random = ChaCha20Rng::from_seed([1; 32]);
        for length in 0..300 {
            let (mut secret, mut message) = ([0; 32], alloc::vec![0; length]);
            random.fill_bytes(&mut secret);
            random.fill_bytes(&mut message);
            let (ours, other) =
                (SigningKey::from_bytes(&secret), ed25519_dalek::SigningKey::from_bytes(&secret));
            assert_eq!(ours.verifying_key(), other.verifying_key());
            let parts = message.split_at(length / 3);
            let parts = [parts.0, parts.1];
            assert_eq!(ours.sign(&parts), other.multipart_sign(&parts).to_bytes());
        }
    }

    /// `cargo test --release -p groupkey --features aws-lc,precomputed-tables --lib signs_faster -- --ignored --nocapture`
    #[test]
    #[ignore = "it prints times"]
    fn the_assembly_signs_faster() {
        let (ours, other) =
            (SigningKey::from_bytes(&[1; 32]), ed25519_dalek::SigningKey::from_bytes(&[1; 32]));
        let message = [&[7; 100][..]];
        let best = |work: &dyn Fn()| {
            let rounds = (0..50).map(|_| {
                let start = Instant::now();
                (0..100).for_each(|_| work());
                start.elapsed() / 100
            });
            rounds.min().unwrap_or(Duration::MAX)
        };
        let times = [
            best(&|| _ = core::hint::black_box(ours.sign(&message))),
            best(&|| _ = core::hint::black_box(other.multipart_sign(&message))),
        ];
        std::println!("AWS-LC {:?}, ed25519-dalek {:?}", times[0], times[1]);
        assert!(times[0] < times[1]);
    }
}
