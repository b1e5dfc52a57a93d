//! The state of a D-OFT member: its share of the tree, and its part in the operation under way.

use alloc::vec::Vec;

use super::secrets::{Secrets, renewed};
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::identity::MemberId;
use crate::mechanisms::member_tree::{self, Confirming, MemberTree, PathLevel, TreeKeys};
use crate::mechanisms::membership::View;
use crate::mechanisms::membership::pairs::Pairs;
use crate::party::Operation;
use crate::secret::{Key, List};

#[derive(Debug)]
pub(crate) struct Member {
    pub(super) view: View,
    pub(super) sound: bool,
    pub(super) confirming: Confirming,
    pub(super) pairs: Pairs,
    pub(super) share: Option<Share>,
    pub(super) run: Run,
    pub(super) asked: CatchUpRequest,
    /// At a sponsor that has the key, the witness whose confirmation is still to come.
    pub(super) awaited_witness: Option<MemberId>,
    pub(super) temporary: usize,
}

pub(super) const BLIND: u8 = 0;
pub(super) const KEYS: u8 = 1;
pub(super) const SPREAD: u8 = 2;
pub(super) const WELCOME: u8 = 3;
pub(super) const CONFIRM: u8 = 4;
pub(super) const REQUEST: u8 = 5;
pub(super) const ANSWER: u8 = 6;

/// The state that lasts between operations.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) tree: MemberTree,
    pub(super) secrets: Secrets,
    pub(super) group_key: Key,
}

/// The operation that is under way.
#[derive(Debug)]
pub(super) enum Run {
    /// Another member changes the tree.
    Change(Change),
    Creation(Creation),
    /// This member changes the tree, and waits for the blinded secrets that this needs.
    Lead(Lead),
    None,
}

pub(super) type Outcome = member_tree::PendingChange<Secrets>;

impl Run {
    /// Returns the outcome that a member waits for if it does not lead.
    pub(super) const fn outcome(&mut self) -> Option<&mut Outcome> {
        match self {
            Self::Change(change) => Some(change.outcome_mut()),
            Self::Creation(creation) => Some(creation.outcome_mut()),
            Self::Lead(_) | Self::None => None,
        }
    }
}

/// A change that another member leads.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) outcome: Outcome,
    /// The half, in the new tree, that moved up or that the joining member is beside.
    pub(super) base: usize,
    /// The half beside the sponsor's path that this member is in.
    pub(super) half: usize,
    /// The party that sends the changes: the sponsor if this member leads the half.
    pub(super) from: MemberId,
    /// Whether the halves above the base are renewed.
    pub(super) repaired: bool,
    /// At the leader of a renewed half, the value that was added to the half's secret.
    pub(super) addition: Option<Key>,
}

/// A change that this member leads.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) tree: MemberTree,
    pub(super) operation: Operation,
    /// The secrets and blinded secrets after the change, except the awaited ones and what follows
    /// from them.
    pub(super) secrets: Secrets,
    /// The members whose blinded secrets must come first, by level.
    pub(super) awaited: Vec<(usize, MemberId)>,
    pub(super) received: List<Option<Key>>,
}

impl Change {
    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    pub(super) fn by_hand(&self) -> bool {
        self.from == self.outcome.sponsor
    }

    pub(super) fn is_renewed(&self) -> bool {
        self.repaired && !self.outcome.tree.is_within(self.half, self.base)
    }

    /// Returns the number of nodes above this member's leaf that are in the half.
    pub(super) fn inside(&self, path: &[PathLevel]) -> usize {
        self.outcome.tree.levels_within(path, self.half)
    }

    pub(super) fn renewed_beside(&self, path: &[PathLevel]) -> Vec<usize> {
        let above = |level: &PathLevel| self.outcome.tree.is_within(self.base, level.child);
        let levels = path.iter().enumerate().filter(|&(_, level)| self.repaired && above(level));
        levels.map(|(number, _)| number).collect()
    }

    /// Returns the secrets before the change, in the form of the new tree.
    pub(super) fn kept(&self, share: &Share, path: &[PathLevel]) -> Secrets {
        let mut secrets = share.secrets.clone();
        if secrets.height() > path.len() {
            secrets.contract(self.outcome.tree.levels_within(path, self.base));
        }
        secrets
    }

    /// Returns the secrets after the change: with the addition to this member's half, the new
    /// blinded secret beside it, and those of the renewed halves above.
    pub(super) fn apply(
        &self,
        cx: &mut Context<'_>,
        share: &Share,
        path: &[PathLevel],
        addition: Option<&Key>,
        told: &[Key],
    ) -> Secrets {
        let mut secrets = self.kept(share, path);
        let inside = self.inside(path);
        if let Some(addition) = addition {
            let secret = renewed(cx, secrets.at(inside), addition);
            secrets.replace(inside, secret);
        }
        for (level, blinded) in [inside].into_iter().chain(self.renewed_beside(path)).zip(told) {
            secrets.beside[level] = blinded.clone();
        }
        secrets.climb(cx, inside);
        secrets
    }
}

/// A member's part in a creation.
#[derive(Debug)]
pub(super) struct Creation {
    pub(super) outcome: Outcome,
    pub(super) secrets: Secrets,
    /// The blinded secret of the highest known node, as it was sent.
    pub(super) blinded: Key,
    /// The blinded secrets that came from the other halves, by level.
    pub(super) waiting: List<Option<Key>>,
}

impl Creation {
    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }
}

impl TreeKeys for Secrets {
    fn root(&self) -> Key {
        self.highest().clone()
    }
}
