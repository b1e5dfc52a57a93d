//! Forged messages for an adversary, and the forgeries and replays that accompany every message in
//! a hostile rig.

use alloc::vec;
use alloc::vec::Vec;

use groupkey::author::Header;
use groupkey::protection::{Guard, Protection};
use groupkey::{Context, Outbox, PartyId, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::credentials::Credentials;
use crate::rig::report::RigError;
use crate::rig::state::{Rig, Settings};
use crate::rig::transit::{RigInput, ScheduledDelivery, read};

/// Protects messages that an adversary makes up, and reads messages that it sees.
#[derive(Debug)]
pub struct Forger {
    setting: Setting,
    guard: Guard,
    credentials: Credentials,
}

impl Rig {
    /// Returns a forger of messages for this group.
    pub fn forger(&self) -> Forger {
        let Settings { suite, protection, seed, .. } = self.settings;
        let credentials = Credentials::for_suite(suite, protection, seed);
        Forger { setting: self.setting(), guard: protection, credentials }
    }
}

impl Forger {
    /// Makes a message with this header and body, protected as well as `speaker` can. Under the
    /// shared MAC, any party can speak for any other. A signature is always the speaker's own.
    pub fn forge(&mut self, speaker: PartyId, header: &Header, body: &[u8]) -> Vec<u8> {
        self.credentials.issue(speaker);
        let setting = Setting { group: header.group, ..self.setting };
        let protection = self.credentials.protection(speaker);
        let (mut rng, mut outbox, mut probe) = (ChaCha20Rng::seed_from_u64(0), Outbox::new(), ());
        let Header { epoch, operation, kind, sender, to, nonce, .. } = *header;
        let mut cx =
            Context::new(setting, sender, protection, &mut rng, 0, &mut outbox, &mut probe);
        cx.set_nonce(nonce);
        cx.draft(to, epoch, operation, kind).packed_bytes(body).send();
        outbox.messages().flat_map(|message| message.bytes.to_vec()).collect()
    }

    /// Reads header and body of a message, which need not be genuine.
    pub fn read<'m>(&self, bytes: &'m [u8]) -> Option<(Header, &'m [u8])> {
        read(self.setting.suite, self.guard, bytes)
    }

    /// Runs a computation that any party can do: with all cryptography, and without a key.
    pub fn compute<T>(&self, what: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(0), Outbox::new());
        let (me, protection) = (PartyId::Controller, Protection::None);
        what(&mut Context::new(self.setting, me, protection, &mut rng, 0, &mut outbox, &mut ()))
    }
}

impl Rig {
    /// Offers changed copies of a message. The party must refuse each copy.
    pub(super) fn tamper(&mut self, delivery: &ScheduledDelivery) -> Result<(), RigError> {
        let bytes = &delivery.bytes;
        let mut copies = vec![bytes[..bytes.len() - 1].to_vec(), [bytes, &[0][..]].concat()];
        for _ in 0..4 {
            let mut copy = bytes.to_vec();
            let bit = self.rng.next_u32() as usize % (copy.len() * 8);
            copy[bit / 8] ^= 1 << (bit % 8);
            copies.push(copy);
        }
        for copy in copies {
            if self.step(delivery.to, RigInput::Bytes(delivery.channel, &copy)).is_ok() {
                return Err(RigError::AcceptedForgery(delivery.to));
            }
        }
        Ok(())
    }

    /// Offers a message again. The key must not change. Messages sent in return are dropped.
    pub(super) fn replay(&mut self, delivery: &ScheduledDelivery) -> Result<(), RigError> {
        let key = |rig: &Self| {
            let party = rig.party(delivery.to);
            let group_key = party.group_key().map(|(epoch, key)| (epoch, key.clone()));
            (group_key, party.messages().last_key().map(|message| message.key.clone()))
        };
        let before = key(self);
        let _ = self.step(delivery.to, RigInput::Bytes(delivery.channel, &delivery.bytes));
        if before != key(self) {
            return Err(RigError::AcceptedForgery(delivery.to));
        }
        Ok(())
    }
}
