//! The claims that the audit checks.

use groupkey::catalogue::{Adversary, Class, Law, Profile, Recovery, Scheme};

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
    /// A party that never was a member gets no group key.
    OutsiderSecrecy,
    /// Members that are in one epoch hold one key of it. No member is alone with another key, or is
    /// cut off from the group for good, because of what it was sent.
    Agreement,
    /// No member chooses the key, or bits of it.
    Contribution,
    /// A wrapped key opens only for the epoch and in the place that it was wrapped for.
    WrapBinding,
}

impl Claim {
    /// All claims, in the order in which tables show them.
    pub const ALL: [Self; 15] = [
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
        Self::OutsiderSecrecy,
        Self::Agreement,
        Self::Contribution,
        Self::WrapBinding,
    ];

    /// Returns the claims that are examined against an adversary.
    pub fn against(adversary: Adversary) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |claim| match adversary {
            Adversary::Passive => !matches!(claim, Self::Agreement | Self::Contribution),
            Adversary::Active => matches!(
                claim,
                Self::ForwardSecrecy
                    | Self::BackwardSecrecy
                    | Self::OutsiderSecrecy
                    | Self::Agreement
                    | Self::Contribution
            ),
        })
    }

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
            Self::OutsiderSecrecy => "secrecy-from-outsiders",
            Self::Agreement => "agreement",
            Self::Contribution => "contribution",
            Self::WrapBinding => "wrap-binding",
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
            Self::OutsiderSecrecy => "who never was a member gets no key",
            Self::Agreement => "nobody is alone with another key, and no member splits the group",
            Self::Contribution => "no member chooses the key",
            Self::WrapBinding => "a wrapped key opens for its epoch and in its place only",
        }
    }

    /// Returns whether a scheme claims it against an adversary; `None` if its catalogue entry says
    /// nothing about it. What [no scheme of its kind can promise](Self::inherent) is not claimed.
    pub const fn is_claimed(
        self,
        scheme: &Scheme,
        profile: Profile,
        adversary: Adversary,
    ) -> Option<bool> {
        let claims = scheme.claims_against(profile, adversary);
        match (self, adversary) {
            (Self::ForwardSecrecy, _) => Some(claims.forward_secrecy),
            (Self::BackwardSecrecy, _) => Some(claims.backward_secrecy),
            (Self::Agreement, _) => Some(scheme.claims_agreement(profile)),
            // The papers of all schemes promise as much against who only listens.
            (Self::OutsiderSecrecy, Adversary::Passive) => Some(true),
            (Self::WrapBinding, Adversary::Passive) => Some(matches!(profile, Profile::Sound)),
            (Self::OutsiderSecrecy, Adversary::Active) => Some(matches!(profile, Profile::Sound)),
            (
                Self::CollusionResistance | Self::SubgroupAndEvicted | Self::SubgroupAndNewcomer,
                Adversary::Passive,
            ) => Some(claims.collusion_resistance),
            (Self::KeyIndependence, Adversary::Passive) => Some(claims.key_independence),
            // Where messages have keys, subgroup controllers stay in a group of their own.
            (Self::SubgroupForwardSecrecy, Adversary::Passive) => match scheme.law {
                Law::OneMessage => Some(false),
                _ => Some(claims.key_independence),
            },
            (Self::SelfHealing, Adversary::Passive) => match scheme.recovery {
                Recovery::SelfHealing => Some(true),
                _ => None,
            },
            (
                Self::EvictionByRekey
                | Self::SubgroupSecrecy
                | Self::ControllerSecrecy
                | Self::Contribution,
                _,
            ) => Some(false),
            (_, Adversary::Active) => None,
        }
    }

    /// Returns why no scheme of this scheme's class promises it, if none does.
    pub const fn inherent(self, scheme: &Scheme) -> Option<&'static str> {
        match (self, scheme.class()) {
            (Self::ControllerSecrecy, Class::Centralized | Class::Hybrid) => {
                Some("who makes the key knows it")
            }
            (Self::SubgroupSecrecy, Class::Hybrid) => {
                Some("who opens the key to wrap it anew for its subgroup knows it")
            }
            (Self::EvictionByRekey, _) => Some("no party is told that the member is out"),
            (Self::Contribution, Class::Distributed) => {
                Some("who contributes last can try values until it likes the key")
            }
            (Self::Contribution, _) => Some("the controller makes the key"),
            _ => None,
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u8
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClaimSet(u16);

impl ClaimSet {
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
