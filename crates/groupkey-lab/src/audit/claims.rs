//! The claims that the audit checks.

use groupkey::catalogue::{Profile, Recovery, Scheme};

/// A claim that is audited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// A former member cannot get later keys.
    ForwardSecrecy,
    /// A joining member cannot get earlier keys.
    BackwardSecrecy,
    /// Members of different times together get no key that none of them gets alone or may have.
    CollusionResistance,
    /// All other group keys do not give a group key. Neither do they together with the values that
    /// a subgroup controller used until it lost its last member. The long-term keys that it was
    /// handed are excepted.
    KeyIndependence,
    /// A new period also evicts, although no party is told of an eviction: a member that should be
    /// out by then cannot get later keys. No scheme promises this, and some users count on it.
    EvictionByRekey,
    /// The values that a subgroup controller used until it lost its last member do not give later
    /// keys. The long-term keys that it was handed are excepted: messages to it still use them.
    SubgroupForwardSecrecy,
    /// A subgroup controller and a former member together get no later key that neither gets alone.
    SubgroupAndEvicted,
    /// A subgroup controller and a joining member together get no earlier key that neither gets
    /// alone.
    SubgroupAndNewcomer,
    /// A member that misses periods gets their keys with the next message, within the bounds that
    /// the scheme states.
    SelfHealing,
    /// A subgroup controller learns no group key at all: it need not be trusted.
    SubgroupSecrecy,
    /// The controller learns no group key at all: it need not be trusted.
    ControllerSecrecy,
}

impl Claim {
    /// All claims, in the order in which tables show them.
    pub const ALL: [Self; 11] = [
        Self::ForwardSecrecy,
        Self::BackwardSecrecy,
        Self::CollusionResistance,
        Self::KeyIndependence,
        Self::EvictionByRekey,
        Self::SubgroupForwardSecrecy,
        Self::SubgroupAndEvicted,
        Self::SubgroupAndNewcomer,
        Self::SelfHealing,
        Self::SubgroupSecrecy,
        Self::ControllerSecrecy,
    ];

    /// The name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ForwardSecrecy => "forward-secrecy",
            Self::BackwardSecrecy => "backward-secrecy",
            Self::CollusionResistance => "collusion-resistance",
            Self::KeyIndependence => "key-independence",
            Self::EvictionByRekey => "eviction-by-rekey",
            Self::SubgroupForwardSecrecy => "subgroup-controller-forward-secrecy",
            Self::SubgroupAndEvicted => "subgroup-controller-with-evicted",
            Self::SubgroupAndNewcomer => "subgroup-controller-with-newcomer",
            Self::SelfHealing => "self-healing",
            Self::SubgroupSecrecy => "secrecy-from-subgroup-controller",
            Self::ControllerSecrecy => "secrecy-from-controller",
        }
    }

    /// Returns the claim in words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ForwardSecrecy => "a former member cannot get later keys",
            Self::BackwardSecrecy => "a newcomer cannot get earlier keys",
            Self::CollusionResistance => "members of different times gain nothing together",
            Self::KeyIndependence => "all other group keys do not give a group key",
            Self::EvictionByRekey => "a new period shuts out members that should have left by it",
            Self::SubgroupForwardSecrecy => {
                "a subgroup controller without members cannot get later keys"
            }
            Self::SubgroupAndEvicted => {
                "a subgroup controller and a member that left gain no later key together"
            }
            Self::SubgroupAndNewcomer => {
                "a subgroup controller and a newcomer gain no earlier key together"
            }
            Self::SelfHealing => "a member missing periods gets their keys with the next message",
            Self::SubgroupSecrecy => "subgroup controllers need not be trusted with the key",
            Self::ControllerSecrecy => "the controller need not be trusted with the key",
        }
    }

    /// Returns whether a scheme claims it; `None` if its catalogue entry says nothing about it.
    pub const fn is_claimed(self, scheme: &Scheme, profile: Profile) -> Option<bool> {
        let claims = match profile {
            Profile::Published => scheme.published_claims,
            Profile::Sound => scheme.claims,
        };
        match self {
            Self::ForwardSecrecy => Some(claims.forward_secrecy),
            Self::BackwardSecrecy => Some(claims.backward_secrecy),
            Self::CollusionResistance | Self::SubgroupAndEvicted | Self::SubgroupAndNewcomer => {
                Some(claims.collusion_resistance)
            }
            Self::KeyIndependence => Some(claims.key_independence),
            Self::SelfHealing => match scheme.recovery {
                Recovery::SelfHealing => Some(true),
                _ => None,
            },
            _ => None,
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

/// A set of claims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims(u16);

impl Claims {
    pub(super) const ALL: Self = Self(u16::MAX);

    pub(super) const fn only(claim: Claim) -> Self {
        Self(claim.bit())
    }

    pub(super) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(super) const fn bits(self) -> u16 {
        self.0
    }

    pub(super) const fn has(self, claim: Claim) -> bool {
        self.0 & claim.bit() != 0
    }

    pub(super) fn insert(&mut self, claim: Claim) {
        self.0 |= claim.bit();
    }

    pub(super) fn remove(&mut self, claim: Claim) {
        self.0 &= !claim.bit();
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
