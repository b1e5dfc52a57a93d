//! A network in an adversary's hands, and parties that are not what they seem: for attacks.
//!
//! With an adversary on the wire ([`Rig::intercept`]) a message that is refused does not fail the
//! run: it is noted in [`Report::refusals`](super::Report::refusals), for to be refused is what an
//! attack must be. What the adversary makes up is protected by a [`Forger`] with the keys of
//! whoever helps it. A party can be given randomness of its own ([`Rig::draw_from`]), so that one
//! history can be run again with another choice of that party alone.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{Delivery, Given, Report, Rig, RigError};
use crate::context::{Context, Setting};
use crate::credentials::Credentials;
use crate::error::Error;
use crate::identity::{MemberId, PartyId};
use crate::outbox::{Channel, Outbox};
use crate::protection::{Guard, Protection};
use crate::wire::{Header, parse_header};

/// A message on its way to one receiver.
#[derive(Clone, Copy, Debug)]
pub struct Transit<'a> {
    /// What its header says.
    pub header: Header,
    /// To whom it is on its way, one of perhaps many.
    pub to: PartyId,
    /// Over which channel. Over the confidential one the adversary is not asked.
    pub channel: Channel,
    /// The scheme's own part.
    pub body: &'a [u8],
    /// The whole message.
    pub bytes: &'a [u8],
}

/// What becomes of a message on its way to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives as it is.
    Arrives,
    /// This arrives instead.
    Becomes(Vec<u8>),
    /// Nothing arrives.
    Lost,
}

/// Protects what an adversary makes up, and reads what it sees.
#[derive(Debug)]
pub struct Forger {
    setting: Setting,
    guard: Guard,
    credentials: Credentials,
}

pub(super) type Adversary = Box<dyn FnMut(&Transit<'_>) -> Fate>;

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

    /// Who forges messages for this group.
    pub fn forger(&self) -> Forger {
        let super::Settings { protection, seed, .. } = self.settings;
        let credentials = Credentials::new(protection, seed);
        Forger { setting: self.setting(), guard: protection, credentials }
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

impl Forger {
    /// A message with this header and body, protected as well as `speaker` can: under the shared MAC
    /// anybody speaks for anybody, a signature is always the speaker's own.
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

    /// Header and body of a message, which need not be genuine.
    pub fn read<'m>(&self, bytes: &'m [u8]) -> Option<(Header, &'m [u8])> {
        read(self.guard, bytes)
    }

    /// Does something with what anybody has: all cryptography, and no key.
    pub fn compute<T>(&self, what: impl FnOnce(&mut Context<'_>) -> T) -> T {
        let (mut rng, mut outbox) = (ChaCha20Rng::seed_from_u64(0), Outbox::new());
        let (me, protection) = (PartyId::Controller, Protection::None);
        what(&mut Context::new(self.setting, me, protection, &mut rng, 0, &mut outbox, &mut ()))
    }
}

impl fmt::Display for Transit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { epoch, operation, kind, sender, .. } = self.header;
        let operation = operation.name();
        write!(f, "{sender} to {}: {operation} {kind} of epoch {epoch}", self.to)
    }
}

fn read(guard: Guard, bytes: &[u8]) -> Option<(Header, &[u8])> {
    let tag = match guard {
        Guard::Mac => 1 + 16,
        Guard::None => 0,
        Guard::Signature => 2 + 64,
    };
    let content = bytes.get(..bytes.len().checked_sub(tag)?)?;
    parse_header(content).ok()
}
