//! A network controlled by an adversary, and impostors among the parties: for attacks.
//!
//! With an adversary on the wire ([`Rig::intercept`]), a refused message does not fail the run. The
//! rig notes it in [`OperationReport::refusals`](crate::rig::OperationReport::refusals), because
//! parties must refuse an attack. A [`Forger`](crate::rig::Forger) protects the messages that the
//! adversary makes up, with the keys of a party that helps it. A party can have randomness of its
//! own ([`Rig::draw_from`]). One history can then run again with other choices of that party alone.

use alloc::boxed::Box;
use alloc::vec::Vec;

use groupkey::error::Error;
use groupkey::{Channel, Instance, MemberId, PartyId};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::rig::report::{OperationReport, RigError};
use crate::rig::state::{Rig, Settings};
use crate::rig::transit::{Fate, RigInput, ScheduledDelivery, Transit, read};

impl Rig {
    /// Puts an adversary on the wire. It decides the fate of every message over an open channel,
    /// for each receiver.
    pub fn intercept(&mut self, adversary: impl FnMut(&Transit<'_>) -> Fate + 'static) {
        self.adversary = Some(Box::new(adversary));
    }

    /// Takes the adversary off the wire.
    pub fn let_pass(&mut self) {
        self.adversary = None;
    }

    /// Lets a party draw from a generator of its own from now on.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn draw_from(&mut self, party: PartyId, seed: u64) {
        self.seat(party).rng = Some(ChaCha20Rng::seed_from_u64(seed));
    }

    /// Lets an impostor play a party from now on. The impostor claims to be that party, but has
    /// only its own signing key and long-term key.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn let_play(&mut self, party: PartyId, impostor: PartyId) {
        self.seat(party).keys_of = Some(impostor);
    }

    /// Adds members to the rig and enrols them, without a command that makes them part of the
    /// group.
    pub fn bring(&mut self, members: &[u32]) -> Result<(), RigError> {
        let members: Vec<_> = members.iter().copied().map(MemberId).collect();
        self.enroll(&members)
    }

    /// Draws all randomness from this seed from now on. Credentials stay: the same deployment
    /// begins another life, which is another instance of the group.
    pub fn begin_another_life(&mut self, seed: u64) {
        self.rng = ChaCha20Rng::seed_from_u64(seed);
        // Apart from the parties' randomness, as founders draw it before they are parties.
        let mut instance = [0; Instance::BYTES];
        instance[..8].copy_from_slice(&seed.to_be_bytes());
        self.settings.instance = Instance(instance);
    }

    /// Gives a party bytes as if they came from the wire. Messages sent in return are on their way.
    pub fn hand(&mut self, party: PartyId, bytes: &[u8]) -> Result<(), Error> {
        let outbox = self.step(party, RigInput::Bytes(Channel::Open, bytes))?;
        self.post(party, &outbox);
        Ok(())
    }

    /// Delivers all messages on their way, after commands that were given one by one.
    pub fn settle(&mut self) -> Result<OperationReport, RigError> {
        self.finish()
    }

    /// Returns the bytes of a delivery that arrive, if any do.
    pub(super) fn pass(&mut self, delivery: &ScheduledDelivery) -> Option<Vec<u8>> {
        let Settings { suite, protection, .. } = self.settings;
        let fate = match (&mut self.adversary, read(suite, protection, &delivery.bytes)) {
            (Some(adversary), Some((header, body))) if delivery.channel == Channel::Open => {
                let (channel, bytes) = (delivery.channel, &delivery.bytes[..]);
                adversary(&Transit { header, to: delivery.to, channel, body, bytes })
            }
            _ => Fate::Arrives,
        };
        match fate {
            Fate::Arrives => Some(delivery.bytes.to_vec()),
            Fate::Becomes(bytes) => Some(bytes),
            Fate::Lost => None,
        }
    }
}
