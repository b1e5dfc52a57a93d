//! A security context of Group OSCORE (draft-ietf-core-oscore-groupcomm), so that members of a group
//! speak CoAP to each other by the library that they have.
//!
//! Every key of the group gives a context of its own. What all members share of it is derived from
//! that key; Sender IDs and credentials follow from who the members are.
//!
//! | Group OSCORE | here |
//! |---|---|
//! | Group Identifier (ID Context) | the group's number, 8 bytes, then the epoch in as few bytes as it needs |
//! | Master Secret, Master Salt | 16 and 8 bytes, [exported](super) under a label each; context: the Group Identifier |
//! | Sender ID | a member's number in as few bytes as it needs: 1 to 4 |
//! | authentication credential | a CWT Claims Set (RFC 8392) that confirms a COSE key (RFC 8747): Ed25519 |
//! | algorithms | AEAD and Group Encryption: AES-CCM-16-64-128; HKDF with SHA-256; signatures: EdDSA |
//!
//! The lengths are those that AES-CCM-16-64-128 takes (RFC 9053 section 4.2). The epoch is the key
//! generation number: with each of them Group Identifier and keying material change together, and so
//! no Sender ID means two members under one identifier. Replay windows, sequence numbers and the
//! choice between group mode and pairwise mode belong to the CoAP library.

use alloc::vec::Vec;

use minicbor::Encoder;

use crate::context::Setting;
use crate::error::Error;
use crate::identity::{Epoch, MemberId};
use crate::protection::PublicIdentity;
use crate::secret::Key;

/// What all members share of a security context, its Common Context, as far as it is not fixed.
#[derive(Clone, Debug)]
pub struct CommonContext {
    /// The Group Identifier, which goes with each message: 9 to 16 bytes.
    pub group_identifier: Vec<u8>,
    /// The Master Secret, 16 bytes.
    pub master_secret: Key,
    /// The Master Salt. It is no secret.
    pub master_salt: [u8; 8],
}

impl Setting {
    /// The Common Context of an epoch. All members of the epoch compute the same.
    ///
    /// # Errors
    ///
    /// None with these labels. They are those of [`Setting::export`].
    pub fn oscore_context(&self, (epoch, key): (Epoch, &Key)) -> Result<CommonContext, Error> {
        let mut group_identifier = self.group.0.to_be_bytes().to_vec();
        group_identifier.extend_from_slice(shortest(&epoch.0.to_be_bytes()));
        let mut secret = [0; Key::BYTES];
        self.export((epoch, key), MASTER_SECRET, &group_identifier, &mut secret)?;
        let mut master_salt = [0; 8];
        self.export((epoch, key), MASTER_SALT, &group_identifier, &mut master_salt)?;
        Ok(CommonContext { group_identifier, master_secret: Key::from_bytes(secret), master_salt })
    }
}

/// A member's Sender ID, which is the others' Recipient ID for it: 1 to 4 bytes.
pub fn sender_id(member: MemberId) -> Vec<u8> {
    shortest(&member.0.to_be_bytes()).to_vec()
}

/// A member's authentication credential, 46 bytes, as all members must have it byte by byte. `None` for
/// an identity of suite `pq`: Group OSCORE has no such signatures.
pub fn credential(identity: &PublicIdentity) -> Option<Vec<u8>> {
    let key = identity.to_ed25519_bytes()?;
    let mut bytes = Vec::with_capacity(46);
    let mut encoder = Encoder::new(&mut bytes);
    // A vector takes everything. The keys of each map are in the order of RFC 8949, section 4.2.1.
    let _ = encoder.map(1).and_then(|claims| {
        claims.u8(CONFIRMATION)?.map(1)?.u8(COSE_KEY)?.map(4)?;
        claims.u8(KEY_TYPE)?.u8(OCTET_KEY_PAIR)?.u8(ALGORITHM)?.i8(EDDSA)?;
        claims.i8(CURVE)?.u8(ED25519)?.i8(X)?.bytes(&key)?;
        Ok(())
    });
    Some(bytes)
}

/// Without the zero bytes at the front, but at least the last byte.
fn shortest(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    &number[zeros.min(number.len() - 1)..]
}

const MASTER_SECRET: &str = "Group OSCORE Master Secret";
const MASTER_SALT: &str = "Group OSCORE Master Salt";

// RFC 8747 section 3.1; RFC 9052 section 7.1; RFC 9053 sections 2.2 and 7.2.
const CONFIRMATION: u8 = 8;
const COSE_KEY: u8 = 1;
const KEY_TYPE: u8 = 1;
const OCTET_KEY_PAIR: u8 = 1;
const ALGORITHM: u8 = 3;
const EDDSA: i8 = -8;
const CURVE: i8 = -1;
const ED25519: u8 = 6;
const X: i8 = -2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::Suite;
    use crate::identity::GroupId;

    #[test]
    fn another_epoch_or_group_has_another_context() {
        let key = Key::from_bytes([1; 16]);
        let of = |group, epoch| {
            let setting = Setting::new(GroupId(group), Suite::Standard);
            setting.oscore_context((Epoch(epoch), &key)).unwrap()
        };
        let contexts = [of(1, 1), of(1, 2), of(1, 256), of(2, 1)];
        for (place, one) in contexts.iter().enumerate() {
            for other in &contexts[..place] {
                assert_ne!(one.group_identifier, other.group_identifier);
                assert_ne!(one.master_secret, other.master_secret);
                assert_ne!(one.master_salt, other.master_salt);
            }
        }
        assert_eq!(contexts[0].group_identifier, [0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!(contexts[2].group_identifier, [0, 0, 0, 0, 0, 0, 0, 1, 1, 0]);
    }

    #[test]
    fn numbers_take_the_bytes_that_they_need() {
        let lengths = [0, 1, 255, 256, u32::MAX].map(|id| sender_id(MemberId(id)).len());
        assert_eq!(lengths, [1, 1, 1, 2, 4]);
    }
}
