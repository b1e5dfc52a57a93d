//! Message protection: none, a MAC as in the papers, a signature, or one signature for many messages.
//!
//! | protection | tag | who can forge a message |
//! |---|---|---|
//! | none | – | anybody; for measuring a scheme alone |
//! | MAC | 16 bytes | every party of the deployment (S000 section 4) |
//! | signature | 64 bytes (Ed25519, RFC 8032) | the sender only; the default when live |
//! | Merkle | 88 bytes, and 16 for each level of the tree | the sender only |
//!
//! In suite `pq` a signature has 3,309 bytes more: ML-DSA-65 (FIPS 204) and Ed25519 both sign, and both
//! signatures must hold.
//!
//! With Merkle protection, one signature covers the root of a hash tree over all messages that a step
//! sends; each message has its path in the tree (Wong and Lam 1999). The tag then also says how many
//! messages the step sent. Messages for the confidential channel have a tree of their own.
//!
//! Without the feature `signatures` no [`Identity`] can be made, and no code of Ed25519 is linked.

mod encoded;
pub(crate) mod hash_tree;
#[cfg(feature = "signatures")]
#[path = "protection/ed25519.rs"]
mod identity;
#[cfg(not(feature = "signatures"))]
#[path = "protection/without_signatures.rs"]
mod identity;

use core::fmt;

use hmac::{Hmac, KeyInit};
use zeroize::ZeroizeOnDrop;

pub use self::encoded::{EncodedBytes, IdentityBytes, SignatureBytes};
use self::hash_tree::TreeTag;
pub use self::identity::{Identity, PublicIdentity};
use crate::crypto::hardware::Sha256;
use crate::crypto::{GroupContext, Suite};
use crate::identity::PartyId;
use crate::wire::head_length;

/// How the messages of a group are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guard {
    /// A MAC under one key for all.
    Mac,
    /// One signature of the sender for all messages of a step, over the root of their hash tree.
    Merkle,
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
    /// One signature by the sender for all messages of a step.
    Merkle {
        /// The key with which this party signs.
        identity: &'a Identity,
        /// Gives the other parties' public keys.
        directory: &'a (dyn Directory + 'a),
    },
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

    /// Returns the public key that this credential gives to a party in a group, if it is valid. By default
    /// none is.
    fn introduced(
        &self,
        _group: &GroupContext,
        _party: PartyId,
        _credential: &[u8],
    ) -> Option<PublicIdentity> {
        None
    }
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
    pub const ALL: [Self; 4] = [Self::None, Self::Mac, Self::Signature, Self::Merkle];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mac => "mac",
            Self::Merkle => "merkle",
            Self::None => "none",
            Self::Signature => "signature",
        }
    }

    /// Returns the kind of protection with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|guard| guard.name() == name)
    }

    /// Returns whether parties have identities and sign.
    pub const fn signs(self) -> bool {
        matches!(self, Self::Merkle | Self::Signature)
    }

    /// Splits a message into what its tag covers, and the item of the tag. Returns `None` if the message
    /// is too short. What it returns need not be genuine.
    pub fn split_tag(self, suite: Suite, message: &[u8]) -> Option<(&[u8], &[u8])> {
        let signing = suite.signing();
        let length = match self {
            Self::Mac => 16,
            Self::Merkle => TreeTag::length_at_end(signing, message)?,
            Self::None => return Some((message, &[])),
            Self::Signature => signing.signature_bytes(),
        };
        message.split_at_checked(message.len().checked_sub(head_length(length as u64) + length)?)
    }
}

impl<'a> Protection<'a> {
    /// Returns its kind.
    pub const fn guard(&self) -> Guard {
        match self {
            Self::Mac(_) => Guard::Mac,
            Self::Merkle { identity, .. } => {
                identity.exists();
                Guard::Merkle
            }
            Self::None => Guard::None,
            Self::Signature { .. } => Guard::Signature,
        }
    }

    /// Returns the key with which this party signs, and who knows the others', if parties sign.
    pub const fn identities(&self) -> Option<(&'a Identity, &'a (dyn Directory + 'a))> {
        match *self {
            Self::Merkle { identity, directory } | Self::Signature { identity, directory } => {
                Some((identity, directory))
            }
            Self::Mac(_) | Self::None => None,
        }
    }

    /// Returns the same with a signature on each message, if one protects many.
    #[cfg(feature = "distributed")]
    pub(crate) const fn one_by_one(self) -> Self {
        match self {
            Self::Merkle { identity, directory } => Self::Signature { identity, directory },
            other => other,
        }
    }

    /// Returns the length of the longest tag of a step that sends this many messages, without its CBOR
    /// head.
    pub(crate) const fn longest_tag(&self, messages: usize) -> usize {
        match self {
            Self::Mac(_) => 16,
            Self::Merkle { identity, .. } => hash_tree::longest_tag(identity.signing(), messages),
            Self::None => 0,
            Self::Signature { identity, .. } => identity.signing().signature_bytes(),
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
            Self::Merkle { .. } => "Merkle",
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
