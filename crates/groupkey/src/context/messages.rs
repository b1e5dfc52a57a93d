//! Access to the primitives of group messages: authenticated encryption and single signatures.

use alloc::vec::Vec;

use crate::context::state::Context;
use crate::context::step::listed;
use crate::crypto::aead::{self, MessageNonce};
use crate::crypto::meter::Primitive;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::PartyId;
use crate::protection::{PublicIdentity, SignatureBytes};
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

    pub(crate) const fn signs(&self) -> bool {
        self.protection.guard().signs()
    }

    /// Refuses an identity for other signatures than the group's.
    pub(super) fn require_identity(&self) -> Result<(), Error> {
        let identity = self.protection.identities().map(|(identity, _)| identity.signing());
        match identity.is_none_or(|signing| signing == self.setting.suite.signing()) {
            true => Ok(()),
            false => Err(Misuse::NoIdentity.into()),
        }
    }

    /// Signs with this party's identity. Fails unless signatures protect the group.
    pub fn sign(&mut self, content: &[u8]) -> Result<SignatureBytes, Error> {
        self.require_identity()?;
        let (identity, _) = self.protection.identities().ok_or(Misuse::NoIdentity)?;
        self.probe.record(Primitive::Sign, content.len());
        Ok(identity.sign(&[content]))
    }

    /// Checks a signature. Fails unless signatures protect the group.
    pub fn verify(
        &mut self,
        signer: PartyId,
        content: &[u8],
        signature: &[u8],
    ) -> Result<(), Error> {
        let (_, directory) = self.protection.identities().ok_or(Misuse::NoIdentity)?;
        self.probe.record(Primitive::Verify, content.len());
        match listed(directory, self.setting.suite.signing(), signer) {
            Some(identity) if identity.verifies(&[content], signature) => Ok(()),
            _ => Err(Misbehaviour::Forged.into()),
        }
    }

    /// Checks a signature of a party that may have introduced itself: `known` is the key that an earlier
    /// credential gave it. Returns the key that this credential gives it, if no key was known.
    pub(crate) fn verify_introduced(
        &mut self,
        signer: PartyId,
        known: Option<&[u8]>,
        credential: Option<&[u8]>,
        content: &[u8],
        signature: &[u8],
    ) -> Result<Option<PublicIdentity>, Error> {
        let (_, directory) = self.protection.identities().ok_or(Misuse::NoIdentity)?;
        let signing = self.setting.suite.signing();
        let listed = listed(directory, signing, signer);
        let known = listed.or_else(|| known.and_then(PublicIdentity::from_bytes));
        let mut introduced = None;
        let identity = match (&known, credential) {
            (Some(identity), _) => identity,
            (None, None) => return Err(Misbehaviour::UnknownSender.into()),
            (None, Some(credential)) => {
                self.probe.record(Primitive::Verify, credential.len());
                let identity = directory.introduced(&self.setting.context, signer, credential);
                let identity = identity.filter(|identity| identity.signing() == signing);
                introduced.insert(identity.ok_or(Misbehaviour::Forged)?)
            }
        };
        self.probe.record(Primitive::Verify, content.len());
        match identity.verifies(&[content], signature) {
            true => Ok(introduced),
            false => Err(Misbehaviour::Forged.into()),
        }
    }

    /// The largest number of bytes that [`Self::seal`] accepts.
    pub const SEALABLE: usize = aead::MAX_BYTES;
}
