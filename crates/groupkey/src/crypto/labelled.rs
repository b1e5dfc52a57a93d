//! Labelled key derivation: that of hybrid public-key encryption (HPKE, RFC 9180) and that of MLS
//! (RFC 9420).
//!
//! With SHA-2, every function computes what the RFCs say, bit for bit: the tests have their
//! vectors. With Ascon, Ascon-Hash256 stands in for HMAC-SHA-256, over the key and the same
//! inputs.
//!
//! HPKE is used in its base mode with the export-only AEAD (RFC 9180 section 6.2): sender and
//! receiver export one key, and a key wrap of the suite carries what is sent. RFC 9180 defines its
//! key encapsulation for any Diffie-Hellman group. Only X25519, X448 and the NIST curves have
//! numbers of their own. Ours are from `0xff00` on, and so are those of the suites' hashes. X-Wing, the
//! encapsulation of suite `pq`, has the number `0x647a` (draft-connolly-cfrg-xwing-kem-06 section 8).

use hmac::{Hmac, KeyInit, Mac};
use zeroize::Zeroizing;

use ascon_hash256::{AsconHash256, Digest};

use crate::crypto::group::PrimeGroup;
use crate::crypto::hardware::Sha256;
use crate::crypto::suite::{Hashing, Suite};

/// The length of a pseudorandom key, in bytes (`Nh` of RFC 9180).
pub(crate) const PRK_BYTES: usize = 32;

/// A pseudorandom key, wiped when dropped.
pub(crate) type Prk = Zeroizing<[u8; PRK_BYTES]>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct HpkeAlgorithms {
    hashing: Hashing,
    /// The key encapsulation.
    kem: u16,
    /// The key derivation.
    kdf: u16,
}

/// What a sender and a receiver state about an encryption: `key_schedule_context` of RFC 9180
/// section 5.1.
#[derive(Clone, Copy, Debug)]
pub struct HpkeInfo([u8; 1 + 2 * PRK_BYTES]);

/// HKDF-Extract (RFC 5869 section 2.2) of the parts, one after the other.
pub(crate) fn extract(hashing: Hashing, salt: &[u8], parts: &[&[u8]]) -> Prk {
    keyed_hash(hashing, b"extract", salt, parts)
}

/// HKDF-Expand (RFC 5869 section 2.3) of the information, in parts. Fills `output`, of at most
/// 8,160 bytes. The key may have any length.
pub(crate) fn expand(hashing: Hashing, key: &[u8], info: &[&[u8]], output: &mut [u8]) {
    let mut before: Option<Prk> = None;
    for (number, part) in (1_u8..).zip(output.chunks_mut(PRK_BYTES)) {
        let number = [number];
        let chained = before.as_ref().map_or(&[][..], |block| &block[..]);
        let mut hashed = alloc::vec::Vec::with_capacity(info.len() + 2);
        hashed.push(chained);
        hashed.extend_from_slice(info);
        hashed.push(&number);
        let block = keyed_hash(hashing, b"expand", key, &hashed);
        part.copy_from_slice(&block[..part.len()]);
        before = Some(block);
    }
}

/// `ExpandWithLabel` of RFC 9420 section 8. Fills `output`, of at most 255 bytes.
pub(crate) fn expand_with_label(
    hashing: Hashing,
    secret: &[u8],
    label: &str,
    context: &[u8],
    output: &mut [u8],
) {
    const PREFIX: &[u8] = b"MLS 1.0 ";
    let length = (output.len() as u16).to_be_bytes();
    let (label_head, label_head_bytes) = vector_head(PREFIX.len() + label.len());
    let (context_head, context_head_bytes) = vector_head(context.len());
    let info = [
        &length[..],
        &label_head[..label_head_bytes],
        PREFIX,
        label.as_bytes(),
        &context_head[..context_head_bytes],
        context,
    ];
    expand(hashing, secret, &info, output);
}

/// Appends bytes as a vector of variable length (RFC 9420 section 2.1.2).
pub(crate) fn append_vector(bytes: &[u8], out: &mut alloc::vec::Vec<u8>) {
    let (head, length) = vector_head(bytes.len());
    out.extend_from_slice(&head[..length]);
    out.extend_from_slice(bytes);
}

impl HpkeAlgorithms {
    pub(crate) const fn of(suite: Suite) -> Self {
        let kem = match suite.group() {
            None => 0x647a,
            Some(PrimeGroup::Ristretto255) => 0xff00,
            Some(PrimeGroup::Modp1024Order160) => 0xff01,
            Some(PrimeGroup::Modp2048Order256) => 0xff02,
            Some(PrimeGroup::Modp2048) => 0xff03,
            Some(PrimeGroup::Modp3072) => 0xff04,
            Some(PrimeGroup::Ffdhe2048) => 0xff05,
            Some(PrimeGroup::Ffdhe3072) => 0xff06,
        };
        match suite.hashing() {
            Hashing::Ascon => Self { hashing: Hashing::Ascon, kem, kdf: 0xff00 },
            Hashing::Sha2 => Self { hashing: Hashing::Sha2, kem, kdf: 0x0001 },
        }
    }

    /// Fills `wide` with what a private key follows from: `DeriveKeyPair` of RFC 9180 section
    /// 7.1.3, without the last step, which depends on the group. X-Wing's private key is these bytes: its
    /// draft hashes 32 bytes of secret by SHAKE-256 instead, and ours are 16.
    pub(crate) fn private_key_bytes(self, secret: &[u8], wide: &mut [u8]) {
        let key = self.extract(&self.kem_id(), &[], b"dkp_prk", &[secret]);
        self.expand(&self.kem_id(), &key[..], b"sk", &[], wide);
    }

    /// Prepares what both sides state: `KeySchedule` in base mode, up to its context.
    pub(crate) fn info(self, info: &[u8]) -> HpkeInfo {
        let mut context = [0; 1 + 2 * PRK_BYTES];
        let no_psk = self.extract(&self.id(), &[], b"psk_id_hash", &[]);
        let hash = self.extract(&self.id(), &[], b"info_hash", &[info]);
        context[1..=PRK_BYTES].copy_from_slice(&no_psk[..]);
        context[1 + PRK_BYTES..].copy_from_slice(&hash[..]);
        HpkeInfo(context)
    }

    /// Fills `output` with what both sides export, for a shared element, the ephemeral public key
    /// and the receiver's public key, all encoded: `ExtractAndExpand` of RFC 9180 section 4.1,
    /// then `KeySchedule` and `Export` with this context.
    pub(crate) fn exported(
        self,
        shared: &[u8],
        public_keys: [&[u8]; 2],
        info: &HpkeInfo,
        exporter_context: &[u8],
        output: &mut [u8],
    ) {
        let key = self.extract(&self.kem_id(), &[], b"eae_prk", &[shared]);
        let mut secret = Prk::default();
        self.expand(&self.kem_id(), &key[..], b"shared_secret", &public_keys, &mut secret[..]);
        self.exported_of(&secret, info, exporter_context, output);
    }

    /// Does the same for the shared secret of an encapsulation that covers its public keys itself.
    pub(crate) fn exported_of(
        self,
        secret: &[u8; PRK_BYTES],
        HpkeInfo(info): &HpkeInfo,
        exporter_context: &[u8],
        output: &mut [u8],
    ) {
        let key = self.extract(&self.id(), secret, b"secret", &[]);
        let mut secret = Prk::default();
        self.expand(&self.id(), &key[..], b"exp", &[info], &mut secret[..]);
        self.expand(&self.id(), &secret[..], b"sec", &[exporter_context], output);
    }

    /// `LabeledExtract` of RFC 9180 section 4.
    fn extract(self, id: &[u8], salt: &[u8], label: &[u8], parts: &[&[u8]]) -> Prk {
        let mut hashed = alloc::vec::Vec::with_capacity(parts.len() + 3);
        hashed.extend_from_slice(&[VERSION, id, label]);
        hashed.extend_from_slice(parts);
        extract(self.hashing, salt, &hashed)
    }

    /// `LabeledExpand` of RFC 9180 section 4.
    fn expand(self, id: &[u8], key: &[u8], label: &[u8], info: &[&[u8]], output: &mut [u8]) {
        let length = (output.len() as u16).to_be_bytes();
        let mut hashed = alloc::vec::Vec::with_capacity(info.len() + 4);
        hashed.extend_from_slice(&[&length[..], VERSION, id, label]);
        hashed.extend_from_slice(info);
        expand(self.hashing, key, &hashed, output);
    }

    fn kem_id(self) -> [u8; 5] {
        let [high, low] = self.kem.to_be_bytes();
        [b'K', b'E', b'M', high, low]
    }

    fn id(self) -> [u8; 10] {
        let ([a, b], [c, d]) = (self.kem.to_be_bytes(), self.kdf.to_be_bytes());
        [b'H', b'P', b'K', b'E', a, b, c, d, EXPORT_ONLY[0], EXPORT_ONLY[1]]
    }
}

/// HMAC-SHA-256 (RFC 2104), or Ascon-Hash256 over the key and the parts. A sponge permits the
/// latter.
fn keyed_hash(hashing: Hashing, purpose: &[u8], key: &[u8], parts: &[&[u8]]) -> Prk {
    Prk::new(match hashing {
        Hashing::Sha2 => {
            let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
            parts.iter().for_each(|part| hmac.update(part));
            hmac.finalize().into_bytes().into()
        }
        Hashing::Ascon => {
            let mut digest = AsconHash256::new().chain_update(b"groupkey labelled");
            for part in [purpose, key] {
                digest.update((part.len() as u64).to_be_bytes());
                digest.update(part);
            }
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().into()
        }
    })
}

/// The length of a vector in one to four bytes, and how many they are.
fn vector_head(length: usize) -> ([u8; 4], usize) {
    let [a, b, c, d] = (length as u32).to_be_bytes();
    match length {
        0..0x40 => ([d, 0, 0, 0], 1),
        0x40..0x4000 => ([c | 0x40, d, 0, 0], 2),
        _ => ([a | 0x80, b, c, d], 4),
    }
}

const VERSION: &[u8] = b"HPKE-v1";

const EXPORT_ONLY: [u8; 2] = [0xff; 2];

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use curve25519_dalek::MontgomeryPoint;

    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let digits: Vec<_> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        core::array::from_fn(|place| (digits[2 * place] << 4 | digits[2 * place + 1]) as u8)
    }

    /// RFC 9180 appendix A.7.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, export-only, base mode.
    #[test]
    fn hpke_exports_what_rfc_9180_says() {
        let hpke = HpkeAlgorithms { hashing: Hashing::Sha2, kem: 0x0020, kdf: 0x0001 };
        let ephemeral_secret =
            bytes::<32>("55bc245ee4efda25d38f2d54d5bb6665291b99f8108a8c4b686c2b14893ea5d9");
        let receiver_secret =
            bytes::<32>("683ae0da1d22181e74ed2e503ebf82840deb1d5e872cade20f4b458d99783e31");
        let pair = |secret: [u8; 32]| {
            let mut private = [0; 32];
            hpke.private_key_bytes(&secret, &mut private);
            (private, MontgomeryPoint::mul_base_clamped(private).to_bytes())
        };
        let ((ephemeral, enc), (private, public)) = (pair(ephemeral_secret), pair(receiver_secret));
        let expected = "095182b502f1f91f63ba584c7c3ec473d617b8b4c2cec3fad5af7fa6748165ed";
        assert_eq!(ephemeral, bytes(expected));
        let expected = "e5e8f9bfff6c2f29791fc351d2c25ce1299aa5eaca78a757c0b4fb4bcd830918";
        assert_eq!(enc, bytes(expected));
        let expected = "33d196c830a12f9ac65d6e565a590d80f04ee9b19c83c87f2c170d972a812848";
        assert_eq!(private, bytes(expected));
        let expected = "194141ca6c3c3beb4792cd97ba0ea1faff09d98435012345766ee33aae2d7664";
        assert_eq!(public, bytes(expected));
        let info = hpke.info(b"Ode on a Grecian Urn");
        let expected = "009bd09219212a8cf27c6bb5d54998c5240793a70ca0a892234bd5e082bc619b6a\
                        3f4c22aa6d9a0424c2b4292fdf43b8257df93c2f6adbf6ddc9c64fee26bdd292";
        assert_eq!(info.0, bytes(expected));
        let sent = MontgomeryPoint(public).mul_clamped(ephemeral).to_bytes();
        let received = MontgomeryPoint(enc).mul_clamped(private).to_bytes();
        for (context, expected) in [
            (&b""[..], "7a36221bd56d50fb51ee65edfd98d06a23c4dc87085aa5866cb7087244bd2a36"),
            (b"\0", "d5535b87099c6c3ce80dc112a2671c6ec8e811a2f284f948cec6dd1708ee33f0"),
            (b"TestContext", "ffaabc85a776136ca0c378e5d084c9140ab552b78f039d2e8775f26efff4c70e"),
        ] {
            for shared in [sent, received] {
                let mut exported = [0; 32];
                hpke.exported(&shared, [&enc, &public], &info, context, &mut exported);
                assert_eq!(exported, bytes(expected));
            }
        }
    }

    /// The working group's vectors `crypto-basics.json`, cipher suite 1.
    #[test]
    fn labels_are_those_of_mls() {
        let secret =
            bytes::<32>("5c96b1772964bd54abf1a8d04d3bf699a7fe7b8fd631caf33a0440f699843e3e");
        let context =
            bytes::<32>("9492c562f40b5b40d7bc1da471e9532fee88371ef86f2fc85f0f2a4dc7e9ae81");
        let mut output = [0; 16];
        expand_with_label(Hashing::Sha2, &secret, "ExpandWithLabel", &context, &mut output);
        assert_eq!(output, bytes("c7dfff34de8da81aa8dd85828ad05344"));
        let secret =
            bytes::<32>("51bcdc853b2fffd6c0ce55953e99ce3f47c1135a35154422e71b313a088e5925");
        let mut output = [0; 32];
        expand_with_label(Hashing::Sha2, &secret, "DeriveSecret", &[], &mut output);
        let expected = "fd12ac470b9a57a72290f77d437f28afabb7b4ef80b22c362aa7aa6dea9eeaf0";
        assert_eq!(output, bytes(expected));
    }

    #[test]
    fn long_outputs_are_those_of_hkdf() {
        let mut output = [[0; 200]; 2];
        expand(Hashing::Sha2, &[7; 32], &[b"in", b"fo"], &mut output[0]);
        let hkdf = hkdf::Hkdf::<Sha256>::from_prk(&[7; 32]).unwrap();
        hkdf.expand(b"info", &mut output[1]).unwrap();
        assert_eq!(output[0], output[1]);
        expand(Hashing::Ascon, &[7; 32], &[b"in", b"fo"], &mut output[1]);
        assert_ne!(output[1][..32], output[1][32..64]);
    }

    #[test]
    fn lengths_are_encoded_as_in_rfc_9420() {
        // Section 2.1.2.
        assert_eq!(vector_head(37), ([0x25, 0, 0, 0], 1));
        assert_eq!(vector_head(15_293), ([0x7b, 0xbd, 0, 0], 2));
        assert_eq!(vector_head(494_878_333), ([0x9d, 0x7f, 0x3e, 0x7d], 4));
    }
}
