//! The message with which peers find each other.

use alloc::vec::Vec;

use groupkey::{Epoch, GroupContext, Instance, MemberId};
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use super::settings::PeerSettings;
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
    #[n(2)]
    pub(super) nonce: ByteArray<16>,
    #[n(3)]
    pub(super) asker: Option<u32>,
    /// The members that were evicted, as the sender of an answer knows, and the epoch that a ticket
    /// for each must name.
    #[n(4)]
    pub(super) evicted: Vec<(u32, u64)>,
    /// The founding that the sender of an answer is in, if it knows one.
    #[n(5)]
    instance: Option<ByteArray<16>>,
    /// The nonce with which the sender of an answer would found the group, if it may.
    #[n(6)]
    pledge: Option<ByteArray<16>>,
    #[n(7)]
    signature: ByteArray<64>,
}

/// What an answer says beside the epoch and the evicted members.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standpoint {
    pub(super) instance: Option<Instance>,
    pub(super) pledge: Option<[u8; 16]>,
}

impl Hello {
    pub(super) fn question(settings: &PeerSettings, nonce: [u8; 16]) -> Vec<u8> {
        Self::write(settings, (0, nonce, None), Standpoint::default(), Vec::new())
    }

    /// The answer of the peer with these settings, which knows of an event with this epoch.
    pub(super) fn answer(
        &self,
        settings: &PeerSettings,
        epoch: u64,
        standpoint: Standpoint,
        evicted: &[(MemberId, Epoch)],
    ) -> Vec<u8> {
        let evicted = evicted.iter().map(|&(member, since)| (member.0, since.0)).collect();
        Self::write(settings, (epoch, *self.nonce, Some(self.member)), standpoint, evicted)
    }

    pub(super) fn standpoint(&self) -> Standpoint {
        Standpoint {
            instance: self.instance.map(|instance| Instance(*instance)),
            pledge: self.pledge.map(|pledge| *pledge),
        }
    }

    fn write(
        settings: &PeerSettings,
        (epoch, nonce, asker): (u64, [u8; 16], Option<u32>),
        standpoint: Standpoint,
        evicted: Vec<(u32, u64)>,
    ) -> Vec<u8> {
        let mut hello = Self {
            member: settings.me.0,
            epoch,
            nonce: nonce.into(),
            asker,
            evicted,
            instance: standpoint.instance.map(|Instance(instance)| instance.into()),
            pledge: standpoint.pledge.map(Into::into),
            signature: [0; 64].into(),
        };
        hello.signature = hello.with_content(&settings.before_founding(), |parts| {
            settings.identity.sign(HELLO, parts).into()
        });
        encoded(&hello)
    }

    pub(super) fn is_by(&self, public: &[u8; 32], before_founding: &GroupContext) -> bool {
        self.with_content(before_founding, |parts| {
            keyring::verifies(public, HELLO, parts, &self.signature)
        })
    }

    fn with_content<R>(
        &self,
        before_founding: &GroupContext,
        act: impl FnOnce(&[&[u8]]) -> R,
    ) -> R {
        let Self { member, epoch, nonce, asker, evicted, instance, pledge, .. } = self;
        let said = encoded(&(member, epoch, nonce, asker, evicted, instance, pledge));
        act(&[before_founding.as_bytes(), &said])
    }
}

/// The last will of a peer's connection. Nobody signs it freshly, so it is a hint that the peer may
/// be gone.
#[derive(Encode, Decode)]
#[cbor(array)]
pub(super) struct LastWill {
    #[n(0)]
    pub(super) member: u32,
}

const HELLO: &str = "groupkey hello 5";
