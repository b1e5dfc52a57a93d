//! Message protection: none, a MAC as in the papers, or a signature.
//!
//! | protection | tag | who can forge a message |
//! |---|---|---|
//! | none | – | anybody; for measuring a scheme alone |
//! | MAC | 16 bytes | every party of the deployment (S000 section 4) |
//! | signature | 64 bytes (Ed25519, RFC 8032) | the sender only; the default when live |
//!
//! Without the feature `signatures` no [`Identity`] can be made, and no code of Ed25519 is linked.

#[cfg(feature = "signatures")]
#[path = "protection/ed25519.rs"]
mod identity;
#[cfg(not(feature = "signatures"))]
#[path = "protection/without_signatures.rs"]
mod identity;

use core::fmt;

use hmac::{Hmac, KeyInit};
use zeroize::ZeroizeOnDrop;

pub use self::identity::{Identity, PublicIdentity};
use crate::crypto::hardware::Sha256;
use crate::identity::PartyId;

/// How the messages of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// A MAC under one key for all.
    Mac,
    /// No protection.
    None,
    /// A signature of the sender.
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
        /// Gives the other parties' public keys.
        directory: &'a (dyn Directory + 'a),
    },
}

/// Knows the public keys of parties.
pub trait Directory {
    /// Returns the public key of a party, or `None` if the party is unknown.
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity>;
}

/// The key under which the parties of a deployment authenticate messages: 32 bytes, and the HMAC
/// state computed from them. That computation is half of the cost of a short message.
#[derive(ZeroizeOnDrop)]
pub struct MacKey {
    bytes: [u8; 32],
    #[zeroize(skip)] // Wipes itself.
    hmac: Hmac<Sha256>,
}

impl Guard {
    /// All kinds of protection.
    pub const ALL: [Self; 3] = [Self::None, Self::Mac, Self::Signature];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::None => "none",
            Self::Signature => "signature",
        }
    }

    /// Returns the kind of protection with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guard| guard.name() == name)
    }
}

impl Protection<'_> {
    /// Returns the length of the tag in bytes, without its CBOR head.
    pub const fn tag_length(&self) -> usize {
        match self {
            Self::Mac(_) => 16,
            Self::None => 0,
            Self::Signature { .. } => 64,
        }
    }
}

impl MacKey {
    /// Creates a key from these bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        let hmac = Hmac::new_from_slice(&bytes).expect("HMAC takes keys of any length");
        Self { bytes, hmac }
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Returns HMAC-SHA-256 (RFC 2104) under this key, before it has read any message.
    pub(crate) fn hmac(&self) -> Hmac<Sha256> {
        self.hmac.clone()
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
