//! What TGDH, STR and DH-LKH share: a binary tree with the members at its leaves and a Diffie-Hellman
//! exchange at every node, and sponsors that renew a part of it when a member joins or leaves.
//!
//! Each node has a secret exponent `k` and a blinded key `b = g^k`, which every member knows. A
//! leaf's secret is its member's own. A node above two others has the shared element
//! `b_left^k_right = b_right^k_left`, and its secret is the hash of that, reduced modulo the order.
//! So a member gets from its own secret, with the blinded keys beside its path, up to the root's
//! element, of which the group key is derived. The schemes differ in where a new leaf goes and in
//! how they create.
//!
//! ```text
//! JOIN,    new member to all:              its blinded key
//! PATH,    sponsor to all:                 its blinded keys, from the leaf up (one byte string), confirmation
//! STEP,    sponsor to all, in a creation:  a number, then as PATH
//! TREE,    to a newcomer or who asked:     [id, ..], form, b_1 .. b_2n-2 (one byte string), confirmation
//! REQUEST, from a member to all:           asks for the present tree
//! BRANCH,  when two groups merge, to all:  [id, ..], form, b_0 .. b_2n-2 (one byte string)
//! ```
//!
//! **Every change goes the same way** (`change.rs`). An event of membership tells every member, without
//! a message, how the tree looks from now on, which blinded keys are missing and who makes which of
//! them. A sponsor tells its own all at once, when nothing is missing that it needs. When all are there,
//! every member has the key. A member keeps the secrets below what has changed, so it raises to a power
//! once for each node from the lowest changed one up: a + 1 times, if that is at depth a.
//!
//! - **Join:** the sponsor is the rightmost leaf beside the joining member. It draws a new secret and
//!   makes its path again; PATH has the joining member's blinded key, too, before its own. When the
//!   leftmost of the others has the key, it sends the joining member the whole TREE.
//! - **Leave:** the rightmost leaf beside the old one draws a new secret and renews its path.
//! - **Rekey:** the same for the member whose turn it is: leaves from left to right, by the epoch. So all
//!   secrets are new after n of them.
//! - **Partition:** every leaf that goes leaves a sponsor behind. Of them the shallowest, of several the
//!   rightmost, draws a new secret; each makes what of its path no other one further right makes. In a
//!   skinny tree the lowest one makes everything.
//! - **Merge** (`merging.rs`): in each group the rightmost draws a new secret, renews its path and
//!   tells the whole tree, as BRANCH. Then the trees are put together, and a sponsor makes what is
//!   missing above the lower one.
//!
//! In the order of the tree, each node comes before those below it, the left half before the right;
//! the root's blinded key is sent in BRANCH only. The form is the depth of each leaf, a byte each;
//! STR needs none. In the `sound` profile the confirmation (a key derived from the group key, 16
//! bytes) shows that the sender has the same key before anybody takes it; of several sponsors, the
//! rightmost sends it. In `published` it is empty. The group key depends on the hash of the whole
//! tree, each node's over those of its halves (`key_tree/blinded.rs`), so that who computed it
//! knows that all see the same tree.
//!
//! Blinded keys are kept as they came, and read, with all checks, by the member that uses them: at each
//! change a member uses those beside its path, which are few.
//!
//! A member that was asleep asks all; of the others, the leftmost answers with what is public. That
//! is enough, because a member's own secret changes only when it acts itself. A member that was
//! asleep when it was the sponsor must rejoin (the operation cannot complete without it).

mod arrival;
mod chain;
mod change;
mod climb;
mod events;
mod key_tree;
mod merger;
mod merging;
mod peer;
mod progress;

pub(crate) use self::chain::Chain;
pub(crate) use self::change::{Change, Pace};
pub(crate) use self::key_tree::{KeyTree, Shape};
pub(crate) use self::peer::{JOIN, MEMBERS, Peer, STEP};

#[cfg(test)]
mod tests;
