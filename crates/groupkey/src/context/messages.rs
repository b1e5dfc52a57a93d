//! Access to the primitives of group messages: authenticated encryption and single signatures.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::crypto::aead::{self, MessageNonce};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::PartyId;
use crate::protection::Protection;
use crate::secret::Key;

impl Context<'_> {
    /// Encrypts a message of at most [`Self::SEALABLE`] bytes in place and appends its tag of 16
    /// bytes. The tag also covers `covered`. No two messages may have the same nonce under a key.
    pub fn seal(
        &mut self,
        key: &Key,
        nonce: MessageNonce,
        covered: &[u8],
        content: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if content.len() > Self::SEALABLE {
            return Err(Misuse::MessageTooLong { limit: Self::SEALABLE }.into());
        }
        self.probe.record(Primitive::Seal, content.len() + covered.len());
        aead::seal(self.setting.suite, key, nonce, covered, content);
        Ok(())
    }

    /// Decrypts the output of [`Self::seal`] in place. After an error the content is worthless.
    pub fn unseal(
        &mut self,
        key: &Key,
        nonce: MessageNonce,
        covered: &[u8],
        content: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.probe.record(Primitive::Unseal, content.len() + covered.len());
        aead::open(self.setting.suite, key, nonce, covered, content)
            .ok_or_else(|| Misbehaviour::Forged.into())
    }

    /// Returns whether signatures protect the group.
    pub(crate) const fn signs(&self) -> bool {
        matches!(self.protection, Protection::Signature { .. })
    }

    /// Signs with this party's identity. Fails unless signatures protect the group.
    pub fn sign(&mut self, content: &[u8]) -> Result<[u8; 64], Error> {
        let Protection::Signature { identity, .. } = self.protection else {
            return Err(Misuse::NoIdentity.into());
        };
        self.probe.record(Primitive::Sign, content.len());
        Ok(identity.sign(&[content]))
    }

    /// Checks a signature. Fails unless signatures protect the group.
    pub fn verify(
        &mut self,
        signer: PartyId,
        content: &[u8],
        signature: &[u8; 64],
    ) -> Result<(), Error> {
        let Protection::Signature { directory, .. } = self.protection else {
            return Err(Misuse::NoIdentity.into());
        };
        self.probe.record(Primitive::Verify, content.len());
        match directory.public_identity(signer) {
            Some(identity) if identity.verifies(&[content], signature) => Ok(()),
            _ => Err(Misbehaviour::Forged.into()),
        }
    }

    /// The largest number of bytes that [`Self::seal`] accepts.
    pub const SEALABLE: usize = aead::MAX_BYTES;
}
