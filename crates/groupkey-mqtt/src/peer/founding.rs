//! How founders agree on the instance of their group, and how another peer chooses among the
//! instances that it hears of.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use groupkey::{GroupContext, Instance, MemberId};
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use super::settings::PeerSettings;
use crate::codec::encoded;
use crate::keyring;

/// The first founder's word that all founders begin, each with the nonce that it has pledged. Every
/// founder finds its own nonce there, so no recording begins a group.
#[derive(Encode, Decode)]
#[cbor(array)]
pub(super) struct SignedFounding {
    /// By ascending number. The first one signs.
    #[n(0)]
    founders: Vec<(u32, ByteArray<16>)>,
    #[n(1)]
    signature: ByteArray<64>,
}

/// What an answer says of the founding that its sender is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundingClaim {
    pub(super) instance: Instance,
    pub(super) has_key: bool,
}

/// The latest claim of each peer.
#[derive(Debug, Default)]
pub(super) struct FoundingClaims(BTreeMap<MemberId, FoundingClaim>);

impl SignedFounding {
    /// The word of the peer with these settings, which is the first of these founders.
    pub(super) fn new(settings: &PeerSettings, founders: &[(MemberId, [u8; 16])]) -> Self {
        let founders = founders.iter().map(|&(member, nonce)| (member.0, nonce.into())).collect();
        let mut founding = Self { founders, signature: [0; 64].into() };
        founding.signature = founding.with_content(&settings.before_founding(), |parts| {
            settings.identity.sign(FOUNDING, parts).into()
        });
        founding
    }

    pub(super) fn leader(&self) -> Option<MemberId> {
        self.members().next()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = MemberId> {
        self.founders.iter().map(|&(member, _)| MemberId(member))
    }

    pub(super) fn has(&self, member: MemberId, nonce: [u8; 16]) -> bool {
        self.founders.iter().any(|founder| *founder == (member.0, nonce.into()))
    }

    pub(super) fn is_by(&self, public: &[u8; 32], before_founding: &GroupContext) -> bool {
        self.with_content(before_founding, |parts| {
            keyring::verifies(public, FOUNDING, parts, &self.signature)
        })
    }

    /// The instance of the group: 16 bytes of SHA-256 over what the founders had in common before,
    /// and their numbers and nonces.
    pub(super) fn instance(&self, before_founding: &GroupContext) -> Instance {
        let founders = encoded(&self.founders);
        let hash = GroupContext::of(&[INSTANCE, before_founding.as_bytes(), &founders]);
        Instance(*hash.as_bytes().first_chunk().unwrap_or(&[0; Instance::BYTES]))
    }

    fn with_content<R>(
        &self,
        before_founding: &GroupContext,
        act: impl FnOnce(&[&[u8]]) -> R,
    ) -> R {
        act(&[before_founding.as_bytes(), &encoded(&self.founders)])
    }
}

impl FoundingClaims {
    pub(super) fn note(&mut self, member: MemberId, claim: FoundingClaim) {
        self.0.insert(member, claim);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn believe(&mut self, is_believed: impl Fn(MemberId) -> bool) {
        self.0.retain(|&member, _| is_believed(member));
    }

    pub(super) fn has_key(&self) -> bool {
        self.0.values().any(|claim| claim.has_key)
    }

    /// The instance that a peer without a key goes to, which is in `own` now: the one of which most
    /// have a key, then the one that most are in. Peers that heard the same choose the same.
    pub(super) fn of_most(&self, own: Option<Instance>) -> Option<Instance> {
        let mut votes: BTreeMap<Instance, (usize, usize)> = BTreeMap::new();
        votes.extend(own.map(|own| (own, (0, 1))));
        for claim in self.0.values() {
            let (keys, all) = votes.entry(claim.instance).or_default();
            *keys += usize::from(claim.has_key);
            *all += 1;
        }
        votes.into_iter().max_by_key(|&(instance, votes)| (votes, instance)).map(|(best, _)| best)
    }

    /// The instance to which a peer with a key of `own` goes: one of which more members have a key
    /// than are in the peer's own.
    pub(super) fn of_more_than(&self, own: Instance) -> Option<Instance> {
        let stay = self.0.values().filter(|claim| claim.instance == own).count();
        let mut votes: BTreeMap<Instance, usize> = BTreeMap::new();
        for claim in self.0.values().filter(|claim| claim.instance != own && claim.has_key) {
            *votes.entry(claim.instance).or_default() += 1;
        }
        let best = votes.into_iter().max_by_key(|&(instance, votes)| (votes, instance));
        best.filter(|&(_, votes)| votes > stay).map(|(best, _)| best)
    }
}

const FOUNDING: &str = "groupkey founding 1";
const INSTANCE: &[u8] = b"groupkey instance of founders 1";

#[cfg(test)]
mod tests {
    use super::*;

    fn claims(claims: &[(u32, u8, bool)]) -> FoundingClaims {
        let claim = |&(member, instance, has_key): &(u32, u8, bool)| {
            (MemberId(member), FoundingClaim { instance: Instance([instance; 16]), has_key })
        };
        FoundingClaims(claims.iter().map(claim).collect())
    }

    #[test]
    fn a_peer_without_a_key_goes_where_most_have_one() {
        let some = |instance: u8| Some(Instance([instance; 16]));
        for (own, heard, chosen) in [
            (None, &[][..], None),
            (some(1), &[], some(1)),
            (None, &[(1, 1, false)], some(1)),
            (None, &[(1, 1, true), (2, 2, true), (3, 1, true)], some(1)),
            (None, &[(1, 1, true), (2, 2, false), (3, 2, false)], some(1)),
            (some(2), &[(1, 1, false)], some(2)),
            (some(1), &[(2, 2, false)], some(2)),
            (some(2), &[(1, 1, false), (3, 1, false)], some(1)),
        ] {
            assert_eq!(claims(heard).of_most(own), chosen, "{own:?} {heard:?}");
        }
    }

    #[test]
    fn a_peer_with_a_key_leaves_its_founding_if_more_members_have_left_it() {
        for (heard, leaves) in [
            (&[][..], false),
            (&[(1, 2, true)], true),
            (&[(1, 2, false)], false),
            (&[(1, 2, true), (3, 1, true)], false),
            (&[(1, 2, true), (3, 1, false)], false),
            (&[(1, 2, true), (3, 1, true), (4, 2, true)], true),
            (&[(1, 2, true), (3, 1, true), (4, 3, true)], false),
        ] {
            let chosen = claims(heard).of_more_than(Instance([1; 16]));
            assert_eq!(chosen, leaves.then_some(Instance([2; 16])), "{heard:?}");
        }
    }

    #[test]
    fn claims_of_peers_that_are_not_believed_are_forgotten() {
        let mut claims = claims(&[(1, 1, true), (2, 2, true)]);
        claims.believe(|member| member == MemberId(1));
        assert_eq!(claims.of_most(None), Some(Instance([1; Instance::BYTES])));
        claims.believe(|_| false);
        assert!(claims.of_most(None).is_none() && !claims.has_key());
    }
}
