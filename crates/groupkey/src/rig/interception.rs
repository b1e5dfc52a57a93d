//! A network in an adversary's hands, and parties that are not what they seem: for attacks.
//!
//! With an adversary on the wire ([`Rig::intercept`]) a message that is refused does not fail the run: it is
//! noted in [`Report::refusals`](crate::rig::Report::refusals), for to be refused is what an attack must be.
//! What the adversary makes up is protected by a [`Forger`](crate::rig::Forger) with the keys of a party that
//! helps it. A party can be given randomness of its own ([`Rig::draw_from`]), so that one history can be run
//! again with another choice of that party alone.

use alloc::boxed::Box;
use alloc::vec::Vec;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::error::Error;
use crate::identity::{MemberId, PartyId};
use crate::outbox::Channel;
use crate::rig::report::{Report, RigError};
use crate::rig::state::Rig;
use crate::rig::transit::{Delivery, Fate, Given, Transit, read};

impl Rig {
    /// Puts an adversary on the wire: it decides what becomes of every message over an open channel,
    /// for each of its receivers.
    pub fn intercept(&mut self, adversary: impl FnMut(&Transit<'_>) -> Fate + 'static) {
        self.adversary = Some(Box::new(adversary));
    }

    /// Takes the adversary from the wire.
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

    /// Lets somebody else play a party from now on: it says it is that party, but has only the
    /// signing key and the long-term key of its own.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn let_play(&mut self, party: PartyId, impostor: PartyId) {
        self.seat(party).keys_of = Some(impostor);
    }

    /// Brings members in and enrols them, without a command that makes them part of the group.
    pub fn bring(&mut self, members: &[u32]) -> Result<(), RigError> {
        let members: Vec<_> = members.iter().copied().map(MemberId).collect();
        self.enroll(&members)
    }

    /// Lets all that is drawn from now on follow from this seed. Credentials stay: what comes is another
    /// life of the same deployment.
    pub fn begin_another_life(&mut self, seed: u64) {
        self.rng = ChaCha20Rng::seed_from_u64(seed);
    }

    /// Gives a party bytes as if they had come from the wire; what it sends in return is on its way.
    pub fn hand(&mut self, party: PartyId, bytes: &[u8]) -> Result<(), Error> {
        let outbox = self.step(party, Given::Bytes(Channel::Open, bytes))?;
        self.post(party, &outbox);
        Ok(())
    }

    /// Delivers whatever is on its way, after commands that were given one by one.
    pub fn settle(&mut self) -> Result<Report, RigError> {
        self.finish()
    }

    /// What arrives of a delivery, if anything does.
    pub(super) fn pass(&mut self, delivery: &Delivery) -> Option<Vec<u8>> {
        let guard = self.settings.protection;
        let fate = match (&mut self.adversary, read(guard, &delivery.bytes)) {
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
