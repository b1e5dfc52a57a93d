//! Key agreement by X25519 (RFC 7748): by x25519-dalek or, with the feature `aws-lc`, by AWS-LC, whose
//! assembly takes less than half the time. Both compute the same function.

pub(crate) use self::library::AgreementKey;

#[cfg(not(feature = "aws-lc"))]
mod library {
    use x25519_dalek::{PublicKey, StaticSecret};
    use zeroize::Zeroizing;

    /// A secret key. It is wiped when dropped.
    pub(crate) struct AgreementKey(StaticSecret);

    impl AgreementKey {
        pub(crate) fn from_bytes(secret: &[u8; 32]) -> Self {
            Self(StaticSecret::from(*secret))
        }

        pub(crate) fn public(&self) -> [u8; 32] {
            PublicKey::from(&self.0).to_bytes()
        }

        /// Returns the shared secret; `None` if the other public key has small order (section 6.1).
        pub(crate) fn agree(&self, other: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
            let agreed = self.0.diffie_hellman(&PublicKey::from(*other));
            agreed.was_contributory().then(|| Zeroizing::new(*agreed.as_bytes()))
        }
    }
}

#[cfg(feature = "aws-lc")]
mod library {
    use aws_lc_rs::agreement::{PrivateKey, UnparsedPublicKey, X25519, agree};
    use zeroize::Zeroizing;

    /// A secret key. AWS-LC wipes the memory of keys when it frees it, and its stack not always.
    pub(crate) struct AgreementKey(PrivateKey);

    impl AgreementKey {
        pub(crate) fn from_bytes(secret: &[u8; 32]) -> Self {
            let key = PrivateKey::from_private_key(&X25519, secret);
            Self(key.expect("any 32 bytes are a secret key"))
        }

        pub(crate) fn public(&self) -> [u8; 32] {
            let public = self.0.compute_public_key().expect("every secret key has a public one");
            public.as_ref().try_into().expect("it has 32 bytes")
        }

        /// Returns the shared secret; `None` if the other public key has small order (section 6.1).
        pub(crate) fn agree(&self, other: &[u8; 32]) -> Option<Zeroizing<[u8; 32]>> {
            let copied = |agreed: &[u8]| {
                let mut copy = Zeroizing::new([0; 32]);
                copy.copy_from_slice(agreed);
                Ok(copy)
            };
            agree(&self.0, UnparsedPublicKey::new(&X25519, other), (), copied).ok()
        }
    }
}

#[cfg(all(test, feature = "aws-lc"))]
mod tests {
    use std::time::{Duration, Instant};

    use rand_chacha::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};
    use x25519_dalek::{PublicKey, StaticSecret};

    use super::*;

    /// Also with public keys that are no remainder of the field's prime, or have small order.
    #[test]
    fn both_libraries_agree() {
        let mut random = ChaCha20Rng::from_seed([1; 32]);
        let edge = |first: u8, rest: u8, last: u8| {
            let mut bytes = [rest; 32];
            (bytes[0], bytes[31]) = (first, last);
            bytes
        };
        let edges = [edge(0, 0, 0), edge(1, 0, 0), edge(2, 0, 0x80), edge(0xec, 0xff, 0x7f)];
        let others = [edge(0xed, 0xff, 0x7f), edge(0xee, 0xff, 0x7f), edge(0xff, 0xff, 0xff)];
        let (mut refused, mut agreed) = (0, 0);
        for number in 0..300 {
            let (mut secret, mut public) = ([0; 32], [0; 32]);
            random.fill_bytes(&mut secret);
            random.fill_bytes(&mut public);
            if let Some(edge) = edges.iter().chain(&others).nth(number) {
                public = *edge;
            }
            let (ours, other) = (AgreementKey::from_bytes(&secret), StaticSecret::from(secret));
            assert_eq!(ours.public(), PublicKey::from(&other).to_bytes());
            let expected = other.diffie_hellman(&PublicKey::from(public));
            match ours.agree(&public) {
                Some(secret) => {
                    assert_eq!(
                        (&*secret, true),
                        (expected.as_bytes(), expected.was_contributory())
                    );
                    agreed += 1;
                }
                None => {
                    assert!(!expected.was_contributory());
                    refused += 1;
                }
            }
        }
        assert!(refused >= 3 && agreed > 290, "{refused} refused, {agreed} agreed");
    }

    /// `cargo test --release -p groupkey-mqtt --features aws-lc --lib agrees_faster -- --ignored --nocapture`
    #[test]
    #[ignore = "it prints times"]
    fn the_assembly_agrees_faster() {
        let (ours, other) = (AgreementKey::from_bytes(&[1; 32]), StaticSecret::from([1; 32]));
        let public = AgreementKey::from_bytes(&[2; 32]).public();
        let best = |work: &dyn Fn()| {
            let rounds = (0..50).map(|_| {
                let start = Instant::now();
                (0..50).for_each(|_| work());
                start.elapsed() / 50
            });
            rounds.min().unwrap_or(Duration::MAX)
        };
        let times = [
            best(&|| _ = core::hint::black_box(ours.agree(&public))),
            best(&|| _ = core::hint::black_box(other.diffie_hellman(&public.into()))),
        ];
        println!("AWS-LC {:?}, x25519-dalek {:?}", times[0], times[1]);
        assert!(times[0] < times[1]);
    }
}
