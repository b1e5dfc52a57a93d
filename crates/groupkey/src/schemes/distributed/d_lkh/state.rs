//! What a member of D-LKH holds: its share of the tree, and its part in what is under way.

use alloc::vec::Vec;

use crate::catching_up::Asked;
use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{self, Altered, Confirming, Level, MemberTree, TreeKeys};
use crate::mechanisms::membership::early::Early;
use crate::mechanisms::membership::pairs::{Pairs, open};
use crate::mechanisms::membership::round::Round;
use crate::mechanisms::membership::{Merger, View};
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::{Key, List};
use crate::wire::Message;

/// A member.
#[derive(Debug)]
pub struct Member {
    pub(super) view: View,
    pub(super) sound: bool,
    pub(super) confirming: Confirming,
    pub(super) pairs: Pairs,
    pub(super) share: Option<Share>,
    pub(super) run: Run,
    /// What came before it was known of which tree it speaks.
    pub(super) early: Early,
    pub(super) asked: Asked,
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

/// What lasts between operations.
#[derive(Debug)]
pub(super) struct Share {
    pub(super) tree: MemberTree,
    /// From the lowest node above this member's leaf to the root.
    pub(super) keys: List<Key>,
}

/// What is under way.
#[derive(Debug)]
pub(super) enum Run {
    Change(Change),
    /// This member's join, with the nonce that the welcome is for, in the sound profile.
    Joining(Key),
    /// A merger, of which the tree is not known yet.
    Merger(Merger),
    Merging(Merging),
    Welcome(Welcome),
    None,
}

pub(super) type Outcome = member_tree::Outcome<List<Key>>;

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
    /// The half, in the new tree, that stays as it is and that this member is in.
    pub(super) half: usize,
    /// Who sends the keys.
    pub(super) from: MemberId,
    /// Whether they come over the channel of the pair, for this member to hand on.
    pub(super) by_hand: bool,
}

/// A join that its sponsor waits to lead, until it has the joining member's nonce.
#[derive(Debug)]
pub(super) struct Welcome {
    pub(super) newcomer: MemberId,
    pub(super) altered: Altered,
}

/// A member's place in a change.
pub(super) struct Place {
    /// How many nodes above its leaf are in its half.
    pub(super) inside: usize,
    /// How many of the keys that it has stay.
    pub(super) kept: usize,
    /// How many are new.
    pub(super) renewed: usize,
}

impl Change {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// What `me` waits for when everything above the halves is renewed.
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

    /// Puts the keys that came on top of those that stay, if they are confirmed or not yet to be.
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
    pub(super) fn of(tree: &MemberTree, half: usize, path: &[Level]) -> Self {
        let inside = tree.levels_within(path, half);
        // Where the half is the whole tree, it is its root that is renewed.
        let renewed = (path.len() - inside).max(1);
        Self { inside, kept: path.len() - renewed, renewed }
    }

    /// The key of this member's half, if there are others in it.
    pub(super) fn half_key<'s>(&self, share: &'s Share) -> Option<&'s Key> {
        self.inside.checked_sub(1).and_then(|level| share.keys.get(level))
    }

    /// The keys that stay with the new ones on top.
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
    /// Of the lowest nodes above this member's leaf, as far as they are known.
    pub(super) known: List<Key>,
    /// From this level on keys are spread in this member's half. One below it, unless that is known
    /// from the beginning, the leader of the other half sends the key.
    pub(super) spread_from: usize,
    /// What came for higher nodes, by level.
    pub(super) waiting: Vec<Option<Vec<u8>>>,
    /// In a creation, by place; none in the published profile.
    pub(super) nonces: Round<Key>,
}

impl Merging {
    pub(super) const fn tree(&self) -> &MemberTree {
        &self.outcome.tree
    }

    pub(super) const fn outcome_mut(&mut self) -> &mut Outcome {
        &mut self.outcome
    }

    /// What the session of a creation is made of, and what waits for it.
    pub(super) const fn session_mut(&mut self) -> (&mut Outcome, &mut Round<Key>) {
        (&mut self.outcome, &mut self.nonces)
    }

    /// Opens what waits, as far as possible, with these keys of the lowest nodes.
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

/// Sends keys to the members below a node that this one leads, under that node's key.
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
