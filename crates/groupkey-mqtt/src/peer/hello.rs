//! The message with which peers find each other.

use groupkey::{Epoch, MemberId};
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use super::settings::Settings;
use crate::codec::encoded;
use crate::keyring;

/// A peer's question about which peers are online, or an answer to it.
#[derive(Encode, Decode)]
#[cbor(array)]
pub(super) struct Hello {
    #[n(0)]
    pub(super) member: u32,
    /// The epoch of the sender's group key; 0 in a question, and if the sender has no key.
    #[n(1)]
    pub(super) epoch: u64,
    /// The nonce of the peer that asks.
    #[n(2)]
    pub(super) nonce: ByteArray<16>,
    /// The peer that asked, in an answer.
    #[n(3)]
    pub(super) asker: Option<u32>,
    /// The members that were evicted, as the sender of an answer knows, and the epoch that a ticket
    /// for each must name.
    #[n(4)]
    pub(super) evicted: Vec<(u32, u64)>,
    #[n(5)]
    signature: ByteArray<64>,
}

impl Hello {
    /// A question of the peer with these settings.
    pub(super) fn question(settings: &Settings, nonce: [u8; 16]) -> Vec<u8> {
        Self::write(settings, 0, nonce, None, Vec::new())
    }

    /// The answer of the peer with these settings, whose key has this epoch.
    pub(super) fn answer(
        &self,
        settings: &Settings,
        epoch: u64,
        evicted: &[(MemberId, Epoch)],
    ) -> Vec<u8> {
        let evicted = evicted.iter().map(|&(member, since)| (member.0, since.0)).collect();
        Self::write(settings, epoch, *self.nonce, Some(self.member), evicted)
    }

    fn write(
        settings: &Settings,
        epoch: u64,
        nonce: [u8; 16],
        asker: Option<u32>,
        evicted: Vec<(u32, u64)>,
    ) -> Vec<u8> {
        let (member, nonce) = (settings.me.0, nonce.into());
        let mut hello = Self { member, epoch, nonce, asker, evicted, signature: [0; 64].into() };
        hello.signature = hello
            .with_content(&settings.prefix, |parts| settings.identity.sign(HELLO, parts).into());
        encoded(&hello)
    }

    pub(super) fn is_by(&self, public: &[u8; 32], prefix: &str) -> bool {
        self.with_content(prefix, |parts| keyring::verifies(public, HELLO, parts, &self.signature))
    }

    /// Calls `act` with the signed content.
    fn with_content<R>(&self, prefix: &str, act: impl FnOnce(&[&[u8]]) -> R) -> R {
        let (member, epoch) = (self.member.to_be_bytes(), self.epoch.to_be_bytes());
        let asker = self.asker.map(u32::to_be_bytes);
        let asker: &[u8] = asker.as_ref().map_or(&[], |asker| asker);
        act(&[prefix.as_bytes(), &member, &epoch, &self.nonce[..], asker, &encoded(&self.evicted)])
    }
}

/// The last will of a peer's connection. Nobody signs it freshly, so it is a hint that the peer may
/// be gone.
#[derive(Encode, Decode)]
#[cbor(array)]
pub(super) struct Gone {
    #[n(0)]
    pub(super) member: u32,
}

const HELLO: &str = "groupkey hello 4";
