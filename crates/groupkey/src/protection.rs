//! Message protection: none, a MAC as in the papers, or a signature.
//!
//! | protection | tag | keeps out |
//! |---|---|---|
//! | none | – | nobody; for measuring a scheme alone |
//! | MAC | 16 bytes | those who never were in the deployment; any party can forge (S000 section 4) |
//! | signature | 64 bytes (Ed25519, RFC 8032) | everybody but the sender; the default when live |

use core::fmt;

use ed25519_dalek::ed25519::signature::{MultipartSigner, MultipartVerifier};
use ed25519_dalek::{SigningKey, VerifyingKey};
use hmac::{Hmac, KeyInit};
use sha2::Sha256;
use zeroize::ZeroizeOnDrop;

use crate::identity::PartyId;

/// How the messages of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// By a MAC under one key for all.
    Mac,
    /// Not at all.
    None,
    /// By a signature of the sender.
    Signature,
}

/// How the messages of a group are protected, with the keys this party needs for it.
#[derive(Clone, Copy)]
pub enum Protection<'a> {
    /// A MAC under one key that all parties of the deployment have.
    Mac(&'a MacKey),
    /// No protection.
    None,
    /// A signature by the sender.
    Signature {
        /// The key with which this party signs.
        identity: &'a Identity,
        /// Where the other parties' public keys are.
        directory: &'a (dyn Directory + 'a),
    },
}

/// Knows the public keys of parties.
pub trait Directory {
    /// The public key of a party, or `None` if the party is unknown.
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity>;
}

/// The key under which the parties of a deployment authenticate messages: 32 bytes, and what HMAC
/// makes of them before it looks at a message, which is half of what a short message costs.
#[derive(ZeroizeOnDrop)]
pub struct MacKey {
    bytes: [u8; 32],
    #[zeroize(skip)] // Wipes itself.
    hmac: Hmac<Sha256>,
}

/// A party's signing key.
pub struct Identity(SigningKey);

/// A party's verifying key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicIdentity(VerifyingKey);

impl Guard {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::None, Self::Mac, Self::Signature];

    /// The name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::None => "none",
            Self::Signature => "signature",
        }
    }
}

impl Protection<'_> {
    /// Length of the tag in bytes, without its CBOR head.
    pub const fn tag_length(&self) -> usize {
        match self {
            Self::Mac(_) => 16,
            Self::None => 0,
            Self::Signature { .. } => 64,
        }
    }
}

impl MacKey {
    /// A key of these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let hmac = Hmac::new_from_slice(&bytes).expect("HMAC takes keys of any length");
        Self { bytes, hmac }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// HMAC-SHA-256 (RFC 2104) under this key, before a message.
    pub(crate) fn hmac(&self) -> Hmac<Sha256> {
        self.hmac.clone()
    }
}

impl Identity {
    /// The identity that belongs to a secret of 32 random bytes.
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The part that others may know.
    pub fn public(&self) -> PublicIdentity {
        PublicIdentity(self.0.verifying_key())
    }

    /// A signature over these parts, one after the other.
    pub(crate) fn sign(&self, parts: &[&[u8]]) -> [u8; 64] {
        self.0.multipart_sign(parts).to_bytes()
    }
}

impl PublicIdentity {
    /// Reads a public key; `None` if the bytes are not a point, or one of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// The 32 bytes of RFC 8032 section 5.1.5.
    pub fn to_bytes(&self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Whether it signed these parts, one after the other.
    pub(crate) fn verifies(&self, parts: &[&[u8]], signature: &[u8; 64]) -> bool {
        // The library's strict check takes no parts: the signature's point must not be one of small
        // order either.
        let point = signature.first_chunk().and_then(Self::from_bytes);
        point.is_some() && self.0.multipart_verify(parts, &signature.into()).is_ok()
    }
}

impl fmt::Debug for Protection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mac(_) => "Mac",
            Self::None => "None",
            Self::Signature { .. } => "Signature",
        })
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(..)")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}
