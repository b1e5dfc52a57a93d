//! What a member knows of the tree: the secrets on its path and the blinded ones beside it.

use crate::context::Context;
use crate::identity::Epoch;
use crate::secret::{Key, List};

/// A member's secrets, from below.
#[derive(Clone, Debug)]
pub(super) struct Secrets {
    /// Of this member's leaf and of each node above it.
    own: List<Key>,
    /// The blinded secrets of the halves beside the path.
    pub(super) beside: List<Key>,
}

impl Secrets {
    /// Those of a leaf with this secret, above which nothing is known.
    pub(super) fn of_leaf(leaf: Key) -> Self {
        Self { own: List::filled(leaf, 1), beside: List::new() }
    }

    /// From this member's leaf up.
    pub(super) fn own(&self) -> impl DoubleEndedIterator<Item = &Key> {
        self.own.iter()
    }

    /// The secret of the root, or of the highest node that is known.
    pub(super) fn highest(&self) -> &Key {
        &self.own[self.own.len() - 1]
    }

    /// How many nodes above this member's leaf are known.
    pub(super) const fn height(&self) -> usize {
        self.beside.len()
    }

    /// The secret of the node at a level; 0 is this member's leaf.
    pub(super) fn at(&self, level: usize) -> &Key {
        &self.own[level]
    }

    /// The blinded secret of the node at a level.
    pub(super) fn blinded(&self, cx: &mut Context<'_>, level: usize) -> Key {
        blind(cx, &self.own[level])
    }

    /// Puts another secret at a level; what is above it must be recomputed.
    pub(super) fn replace(&mut self, level: usize, secret: Key) {
        self.own[level] = secret;
    }

    /// Recomputes everything above a level. Returns the blinded secrets from this level to
    /// below the root.
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

    /// Computes the secret above the highest node, from its blinded one and the one beside it.
    pub(super) fn rise(&mut self, cx: &mut Context<'_>, blinded: &Key, beside: Key) {
        let mixed = cx.xor(blinded, &beside);
        let secret = cx.hash(&mixed, "groupkey d-oft mix");
        self.own.push(secret);
        self.beside.push(beside);
    }

    /// Takes out a node above this member's leaf, whose other half is gone.
    pub(super) fn contract(&mut self, level: usize) {
        self.own.remove(level + 1);
        self.beside.remove(level);
    }

    /// The secrets and blinded secrets of a member beside the half that this one leads, on a path
    /// of this length; that member's own secret is not among them.
    pub(super) fn of_neighbour(&self, cx: &mut Context<'_>, height: usize) -> List<Key> {
        let level = self.height() - height;
        let mut keys = List::from(&self.own[level + 1..]);
        keys.push(self.blinded(cx, level));
        keys.append(&self.beside[level + 1..]);
        keys
    }

    /// This member's leaf with what [`Self::of_neighbour`] makes.
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

/// The secret of a half that an evicted member knew the blinded form of.
pub(super) fn renewed(cx: &mut Context<'_>, secret: &Key, addition: &Key) -> Key {
    let mixed = cx.xor(secret, addition);
    cx.hash(&mixed, "groupkey d-oft renewed")
}

/// What the members of a half are sent something under.
pub(super) fn half_key(cx: &mut Context<'_>, epoch: Epoch, secret: &Key) -> Key {
    cx.derive_for(epoch, secret, "groupkey d-oft half")
}

fn blind(cx: &mut Context<'_>, secret: &Key) -> Key {
    cx.hash(secret, "groupkey d-oft blind")
}
