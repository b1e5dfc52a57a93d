//! What TGDH, STR and DH-LKH share: a binary tree with the members at its leaves and a
//! Diffie-Hellman exchange at every node. Sponsors renew a part of it when a member joins or
//! leaves.
//!
//! Each node has a secret exponent `k` and a blinded key `b = g^k`, which every member knows. A
//! leaf's secret is its member's own. A node above two others has the shared element
//! `b_left^k_right = b_right^k_left`. Its secret is the hash of that element, reduced modulo the
//! order. So a member gets from its own secret, with the blinded keys beside its path, up to the
//! root's element. The group key is derived from it. The schemes differ in where a new leaf goes
//! and in how they create.
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
//! **Every change goes the same way** (`change.rs`). A membership event tells every member, without
//! a message, how the tree looks from now on. It also tells which blinded keys are missing and
//! which member makes each of them. A sponsor sends its own all at once, when nothing is missing
//! that it needs. When all are there, every member has the key. A member keeps the secrets below
//! the change. So it raises to a power once for each node from the lowest changed one up: a + 1
//! times, if that node is at depth a.
//!
//! - **Join:** the sponsor is the rightmost leaf beside the joining member. It draws a new secret
//!   and makes its path again. Every member takes the joining member's blinded key from JOIN, so no
//!   sponsor can put one of its own making there. That would outlive the sponsor's eviction. When
//!   the leftmost of the others has the key, it sends the joining member the whole TREE.
//! - **Leave:** the rightmost leaf beside the old one draws a new secret and renews its path.
//! - **Rekey:** the member whose turn it is does the same: leaves from left to right, by the epoch.
//!   So all secrets are new after n rekeys.
//! - **Partition:** every leaf that goes leaves a sponsor behind. The shallowest of them, of
//!   several the rightmost, draws a new secret. Each sponsor makes the part of its path that no
//!   sponsor further right makes. In a skinny tree the lowest sponsor makes everything.
//! - **Merge** (`merging.rs`): in each group the rightmost member draws a new secret, renews its
//!   path and sends the whole tree, as BRANCH. Then the trees are put together, and a sponsor makes
//!   what is missing above the lower one.
//!
//! In the order of the tree, each node comes before those below it, the left half before the right.
//! The root's blinded key is sent in BRANCH only. The form is the depth of each leaf, a byte each;
//! STR needs none. In the `sound` profile the confirmation is a key derived from the group key, 16
//! bytes. It shows that the sender has the same key before any member takes it. Of several
//! sponsors, the rightmost sends it. In `published` it is empty. The group key depends on the hash
//! of the whole tree: each node's hash covers those of its halves (`key_tree/blinded.rs`). So a
//! member that computed the key knows that all members see the same tree.
//!
//! Blinded keys are kept as received. The member that uses a key reads it, with all checks. At each
//! change a member uses the keys beside its path, which are few.
//!
//! A member that was asleep asks all members. The leftmost of the others answers with public
//! values. That is enough, because a member's own secret changes only when it acts itself. A member
//! that was asleep when it was the sponsor must rejoin (the operation cannot complete without it).

mod arrival;
mod chain;
mod change;
mod climb;
mod events;
mod key_tree;
mod merging;
mod peer;
mod progress;

pub(crate) use self::chain::CreationChain;
pub(crate) use self::change::{Pace, TreeChange};
pub(crate) use self::key_tree::{DhKeyTree, Shape};
pub(crate) use self::peer::{JOIN, MEMBERS, STEP, TreePeer};

#[cfg(test)]
mod tests;
