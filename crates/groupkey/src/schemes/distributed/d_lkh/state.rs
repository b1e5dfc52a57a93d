//! The state of a D-LKH member: its share of the tree, and its part in the operation under way.

use alloc::vec::Vec;

use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{self, Altered, Confirming, MemberTree, PathLevel, TreeKeys};
use crate::mechanisms::membership::early_messages::Early;
use crate::mechanisms::membership::pairs::{Pairs, open};
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::{Merger, View};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

#[derive(Debug)]
pub(crate) struct Member {
    pub(super) view: View,
    pub(super) sound: bool,
    pub(super) confirming: Confirming,
    pub(super) pairs: Pairs,
    pub(super) share: Option<Share>,
    pub(super) run: Run,
    /// Messages that arrived before this member knew the tree they refer to.
    pub(super) early: Early,
    pub(super) asked: CatchUpRequest,
    pub(super) temporary: usize,
}

pub(super) const KEYS: u8 = 0;
pub(super) const SPREAD: u8 = 1;
pub(super) const WELCOME: u8 = 2;
pub(super) const CONFIRM: u8 = 3;
pub(super) const REQUEST: u8 = 4;
pub(super) const ANSWER: u8 = 5;
pub(super) const BRANCH: u8 = 6;
pub(super) const NONCE: u8 = 7;

/// The state that lasts between operations.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) tree: MemberTree,
    /// The keys from the lowest node above this member's leaf to the root.
    pub(super) keys: List<Key>,
}

/// The operation that is under way.
#[derive(Debug)]
pub(super) enum Run {
    Change(Change),
    /// This member's join, with the nonce for its welcome, in the sound profile.
    Joining(Key),
    /// A merger whose tree is not known yet.
    Merger(Merger),
    Merging(Merging),
    Welcome(Welcome),
    None,
}

pub(super) type Outcome = member_tree::PendingChange<List<Key>>;

impl Run {
    pub(super) const fn outcome_mut(&mut self) -> Option<&mut Outcome> {
        match self {
            Self::Change(change) => Some(change.outcome_mut()),
            Self::Merging(merging) => Some(merging.outcome_mut()),
            Self::Joining(_) | Self::Merger(_) | Self::Welcome(_) | Self::None => None,
        }
    }
}

/// A change that a member waits for.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) outcome: Outcome,
    /// The half of the new tree that stays as it is and that this member is in.
    pub(super) half: usize,
    pub(super) from: MemberId,
    /// Whether the keys come over the channel of the pair, for this member to hand on.
    pub(super) by_hand: bool,
}

/// A join that its sponsor leads once it has the joining member's nonce.
#[derive(Debug)]
pub(super) struct Welcome {
    pub(super) newcomer: MemberId,
    pub(super) altered: Altered,
}

/// A member's place in a change.
pub(super) struct Place {
    /// The number of nodes above its leaf that are in its half.
    pub(super) inside: usize,
    /// The number of its keys that stay.
    pub(super) kept: usize,
    /// The number of new keys.
    pub(super) renewed: usize,
}

impl Change {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// Returns the change that `me` waits for when all nodes above the halves are renewed.
    pub(super) fn seen_by(
        me: MemberId,
        confirming: Confirming,
        altered: Altered,
        sponsor: MemberId,
    ) -> Result<Self, Error> {
        let half = altered.half_of(me).ok_or(Misbehaviour::InvalidRoster)?;
        let tree = altered.tree;
        let leader = tree.leader(half);
        let by_hand = leader == me;
        let from = if by_hand { sponsor } else { leader };
        let outcome = Outcome::awaited(confirming, tree, sponsor);
        Ok(Self { outcome, half, from, by_hand })
    }

    pub(super) fn place_of(&self, me: MemberId) -> Place {
        Place::of(&self.outcome.tree, self.half, &self.outcome.tree.path(me))
    }

    /// Returns the keys that stay with the new ones on top. Refuses any that a known confirmation
    /// contradicts.
    pub(super) fn complete(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        share: &Share,
        place: &Place,
        new: &[Key],
    ) -> Result<List<Key>, Error> {
        let keys = place.with(share, new);
        self.outcome.require_fit(cx, message.header().epoch, &keys)?;
        Ok(keys)
    }
}

impl Place {
    pub(super) fn of(tree: &MemberTree, half: usize, path: &[PathLevel]) -> Self {
        let inside = tree.levels_within(path, half);
        // If the half is the whole tree, the root's key is renewed.
        let renewed = (path.len() - inside).max(1);
        Self { inside, kept: path.len() - renewed, renewed }
    }

    /// Returns the key of this member's half, if the half has other members.
    pub(super) fn half_key<'s>(&self, share: &'s Share) -> Option<&'s Key> {
        self.inside.checked_sub(1).and_then(|level| share.keys.get(level))
    }

    pub(super) fn with(&self, share: &Share, new: &[Key]) -> List<Key> {
        let mut keys = List::from(&share.keys[..self.kept]);
        keys.append(new);
        keys
    }
}

/// A member's part in a merging.
#[derive(Debug)]
pub(super) struct Merging {
    pub(super) outcome: Outcome,
    /// The known keys, from the lowest node above this member's leaf up.
    pub(super) known: List<Key>,
    /// The first level whose key is spread in this member's half. The key one level below comes
    /// from the leader of the other half, unless it is known from the beginning.
    pub(super) spread_from: usize,
    /// The wrapped keys that came for higher nodes, by level.
    pub(super) waiting: Vec<Option<Vec<u8>>>,
    /// The nonces of a creation, by place. Empty in the published profile.
    pub(super) nonces: Round<Key>,
}

impl Merging {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// Returns the outcome that waits for a creation's session, and the nonces that make it.
    pub(super) const fn session_mut(&mut self) -> (&mut Outcome, &mut Round<Key>) {
        (&mut self.outcome, &mut self.nonces)
    }

    /// Opens the waiting keys, as far as possible, with these keys of the lowest nodes.
    pub(super) fn climb(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        known: &mut List<Key>,
    ) -> Result<(), Error> {
        while let (Some(half), Some(Some(wrapped))) = (known.last(), self.waiting.get(known.len()))
        {
            let key = open(cx, half, epoch, wrapped, 1)?;
            known.append(&key);
        }
        if known.len() == self.waiting.len() {
            self.outcome.require_fit(cx, epoch, known)?;
        }
        Ok(())
    }

    pub(super) fn know(&mut self, known: List<Key>) {
        if known.len() == self.waiting.len() {
            self.outcome.keys = Some(known);
            self.known = List::new();
        } else {
            self.known = known;
        }
    }
}

pub(super) fn read_nonce(message: &Message<'_>) -> Result<Key, Error> {
    let mut body = message.body();
    let nonce = body.key()?;
    body.finish()?;
    Ok(nonce)
}

/// Sends keys to the members below a node that this member leads, under that node's key.
pub(super) fn spread(
    cx: &mut Context<'_>,
    epoch: Epoch,
    operation: Operation,
    tree: &MemberTree,
    node: usize,
    key: &Key,
    keys: &[Key],
) {
    let mut draft = cx.draft(Recipient::Group, epoch, operation, SPREAD);
    draft.number(tree.width(node) as u64).wrapped(key, epoch, 0, keys).send();
}

impl TreeKeys for List<Key> {
    fn root(&self) -> Key {
        self.last().cloned().unwrap_or_default()
    }
}
