//! The keys of a whole deployment, made from one seed: the keys that protect messages, and the
//! members' long-term keys for key agreement. They are for the test rig, the simulator and
//! benchmarks, where all parties live in one process.

use core::cell::RefCell;
use core::fmt;

use groupkey::author::PeerKeys;
use groupkey::crypto::Suite;
use groupkey::crypto::group::{Element, Exponent};
use groupkey::protection::{Directory, Guard, Identity, MacKey, Protection, PublicIdentity};
use groupkey::{MemberId, PartyId, SubgroupId};
use hashbrown::HashMap;

/// The MAC key or the identities of a deployment, and the long-term keys.
pub struct Credentials {
    guard: Guard,
    /// Whose kind of signatures they make.
    suite: Suite,
    seed: u64,
    mac: MacKey,
    identities: Identities,
    /// Made on first use, so that only schemes that use them pay for them.
    public_elements: RefCell<HashMap<(PartyId, Suite), Element>>,
}

/// The long-term keys as one party knows them: its own secret, and every member's public elements.
#[derive(Clone, Copy, Debug)]
pub struct Acquaintances<'c> {
    credentials: &'c Credentials,
    party: PartyId,
    suite: Suite,
}

impl Credentials {
    /// Creates credentials for a kind of protection, in a suite with signatures of Ed25519. Parties get
    /// theirs through [`Self::issue`].
    pub fn new(guard: Guard, seed: u64) -> Self {
        Self::for_suite(Suite::Standard, guard, seed)
    }

    /// Creates credentials for a suite and a kind of protection.
    pub fn for_suite(suite: Suite, guard: Guard, seed: u64) -> Self {
        let mac = MacKey::from_bytes(secret(seed, u64::MAX));
        let identities = Identities(HashMap::new());
        Self { guard, suite, seed, mac, identities, public_elements: RefCell::default() }
    }

    /// Gives a party an identity, if signatures are used and it has none.
    pub fn issue(&mut self, party: PartyId) {
        if !self.guard.signs() {
            return;
        }
        self.identities.0.entry(party).or_insert_with(|| {
            let identity = Identity::for_suite(self.suite, &secret(self.seed, stream(party)));
            let public = identity.public();
            (identity, public)
        });
    }

    /// Returns the keys that a party needs to protect its messages and to check those of others.
    ///
    /// # Panics
    ///
    /// If signatures are used and the party was not issued an identity.
    pub fn protection(&self, party: PartyId) -> Protection<'_> {
        let directory = &self.identities;
        match self.guard {
            Guard::Mac => Protection::Mac(&self.mac),
            Guard::Merkle => Protection::Merkle { identity: &directory.0[&party].0, directory },
            Guard::None => Protection::None,
            Guard::Signature => {
                Protection::Signature { identity: &directory.0[&party].0, directory }
            }
        }
    }

    /// Returns the long-term keys that a party has and knows, in a suite's group. These need not be
    /// issued: the directory has every member.
    pub const fn peer_keys(&self, party: PartyId, suite: Suite) -> Acquaintances<'_> {
        Acquaintances { credentials: self, party, suite }
    }

    fn exponent(&self, party: PartyId, suite: Suite) -> Exponent {
        // Identities have smaller numbers, so these secrets differ from theirs.
        Exponent::from_secret(suite, &secret(self.seed, (1 << 34) + stream(party)))
    }
}

impl PeerKeys for Acquaintances<'_> {
    fn secret(&self) -> Exponent {
        self.credentials.exponent(self.party, self.suite)
    }

    fn public(&self, party: PartyId) -> Option<Element> {
        let Self { credentials, suite, .. } = *self;
        let mut known = credentials.public_elements.borrow_mut();
        let element = known
            .entry((party, suite))
            .or_insert_with(|| credentials.exponent(party, suite).public());
        Some(element.clone())
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
        self.0.get(&party).map(|(_, public)| public.clone())
    }
}

/// Returns which stream of a seed a party uses, if all parties draw from one seed.
pub const fn stream(party: PartyId) -> u64 {
    match party {
        PartyId::Controller => 0,
        PartyId::Member(MemberId(member)) => member as u64 + 1,
        PartyId::SubgroupController(SubgroupId(subgroup)) => (1 << 33) + subgroup as u64,
    }
}

fn secret(seed: u64, number: u64) -> [u8; 32] {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&seed.to_be_bytes());
    secret[8..16].copy_from_slice(&number.to_be_bytes());
    secret
}
