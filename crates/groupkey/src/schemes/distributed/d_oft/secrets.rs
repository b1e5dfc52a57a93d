//! A member's part of the tree: the secrets on its path and the blinded ones beside it.

use crate::context::Context;
use crate::identity::Epoch;
use crate::secret::{Key, List};

/// A member's secrets, from its leaf up.
#[derive(Clone, Debug)]
pub(super) struct Secrets {
    /// The secrets of this member's leaf and of each node above it.
    own: List<Key>,
    /// The blinded secrets of the halves beside the path.
    pub(super) beside: List<Key>,
}

impl Secrets {
    /// Creates the secrets of a leaf with this secret, above which no node is known.
    pub(super) fn of_leaf(leaf: Key) -> Self {
        Self { own: List::filled(leaf, 1), beside: List::new() }
    }

    /// Returns the secrets from this member's leaf up.
    pub(super) fn own(&self) -> impl DoubleEndedIterator<Item = &Key> {
        self.own.iter()
    }

    /// Returns the secret of the root, or of the highest node that is known.
    pub(super) fn highest(&self) -> &Key {
        &self.own[self.own.len() - 1]
    }

    /// Returns the number of known nodes above this member's leaf.
    pub(super) const fn height(&self) -> usize {
        self.beside.len()
    }

    /// Returns the secret of the node at a level; 0 is this member's leaf.
    pub(super) fn at(&self, level: usize) -> &Key {
        &self.own[level]
    }

    pub(super) fn blinded(&self, cx: &mut Context<'_>, level: usize) -> Key {
        blind(cx, &self.own[level])
    }

    /// Replaces the secret at a level. The secrets above it must be recomputed.
    pub(super) fn replace(&mut self, level: usize, secret: Key) {
        self.own[level] = secret;
    }

    /// Recomputes all secrets above a level. Returns the blinded secrets from this level to below
    /// the root.
    pub(super) fn climb(&mut self, cx: &mut Context<'_>, level: usize) -> List<Key> {
        let beside = List::from(&self.beside[level..]);
        self.beside.truncate(level);
        self.own.truncate(level + 1);
        let blinded = beside.iter().map(|beside| {
            let blinded = self.blinded(cx, self.height());
            self.rise(cx, &blinded, beside.clone());
            blinded
        });
        blinded.collect()
    }

    /// Computes the secret above the highest node from its blinded secret and the one beside it.
    pub(super) fn rise(&mut self, cx: &mut Context<'_>, blinded: &Key, beside: Key) {
        let mixed = cx.xor(blinded, &beside);
        let secret = cx.hash(&mixed, "groupkey d-oft mix");
        self.own.push(secret);
        self.beside.push(beside);
    }

    /// Removes a node above this member's leaf that lost its other half.
    pub(super) fn contract(&mut self, level: usize) {
        self.own.remove(level + 1);
        self.beside.remove(level);
    }

    /// Returns the secrets and blinded secrets of a member beside the half that this one leads, on
    /// a path of this length. The other member's own secret is not among them.
    pub(super) fn of_neighbour(&self, cx: &mut Context<'_>, height: usize) -> List<Key> {
        let level = self.height() - height;
        let mut keys = List::from(&self.own[level + 1..]);
        keys.push(self.blinded(cx, level));
        keys.append(&self.beside[level + 1..]);
        keys
    }

    /// Returns this member's leaf with the keys that [`Self::of_neighbour`] makes.
    pub(super) fn caught_up(&self, keys: &[Key]) -> Self {
        let (above, beside) = keys.split_at(keys.len() / 2);
        let mut own = List::from(&self.own[..1]);
        own.append(above);
        Self { own, beside: beside.into() }
    }

    pub(super) const fn stored_bytes(&self) -> usize {
        (self.own.len() + self.beside.len()) * Key::BYTES
    }
}

/// Returns the new secret of a half whose blinded secret an evicted member knew.
pub(super) fn renewed(cx: &mut Context<'_>, secret: &Key, addition: &Key) -> Key {
    let mixed = cx.xor(secret, addition);
    cx.hash(&mixed, "groupkey d-oft renewed")
}

/// Derives the key under which the members of a half are sent messages.
pub(super) fn half_key(cx: &mut Context<'_>, epoch: Epoch, secret: &Key) -> Key {
    cx.derive_for(epoch, secret, "groupkey d-oft half")
}

fn blind(cx: &mut Context<'_>, secret: &Key) -> Key {
    cx.hash(secret, "groupkey d-oft blind")
}
