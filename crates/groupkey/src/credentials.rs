//! The keys with which a whole deployment protects its messages, made from one seed: for the test
//! rig, the simulator and benchmarks, where all parties live in one process.

use core::fmt;

use hashbrown::HashMap;

use crate::identity::PartyId;
use crate::protection::{Directory, Guard, Identity, MacKey, Protection, PublicIdentity};

/// The MAC key or the identities of a deployment.
pub struct Credentials {
    guard: Guard,
    seed: u64,
    mac: MacKey,
    identities: Identities,
}

impl Credentials {
    /// Credentials for a way of protection. Parties get theirs through [`Self::issue`].
    pub fn new(guard: Guard, seed: u64) -> Self {
        let mac = MacKey::from_bytes(secret(seed, u64::MAX));
        Self { guard, seed, mac, identities: Identities(HashMap::new()) }
    }

    /// Gives a party an identity, if signatures are used and it has none.
    pub fn issue(&mut self, party: PartyId) {
        if self.guard != Guard::Signature {
            return;
        }
        self.identities.0.entry(party).or_insert_with(|| {
            let number = match party {
                PartyId::Controller => 0,
                PartyId::Member(member) => u64::from(member.0) + 1,
                PartyId::SubgroupController(subgroup) => (1 << 33) + u64::from(subgroup.0),
            };
            let identity = Identity::from_secret(&secret(self.seed, number));
            let public = identity.public();
            (identity, public)
        });
    }

    /// What a party needs to protect its messages and to check those of others.
    ///
    /// # Panics
    ///
    /// If signatures are used and the party was not issued an identity.
    pub fn protection(&self, party: PartyId) -> Protection<'_> {
        match self.guard {
            Guard::Mac => Protection::Mac(&self.mac),
            Guard::None => Protection::None,
            Guard::Signature => Protection::Signature {
                identity: &self.identities.0[&party].0,
                directory: &self.identities,
            },
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("guard", &self.guard).finish_non_exhaustive()
    }
}

struct Identities(HashMap<PartyId, (Identity, PublicIdentity)>);

impl Directory for Identities {
    fn public_identity(&self, party: PartyId) -> Option<PublicIdentity> {
        self.0.get(&party).map(|(_, public)| *public)
    }
}

fn secret(seed: u64, number: u64) -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&seed.to_be_bytes());
    secret[8..16].copy_from_slice(&number.to_be_bytes());
    secret
}
