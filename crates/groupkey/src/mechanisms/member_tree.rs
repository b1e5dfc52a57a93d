//! A binary tree with the members at its leaves: which member sits where, where a new leaf goes,
//! and which member leads which node. It holds no keys. D-LKH and D-OFT use it.
//!
//! The nodes lie in one array in preorder: a node comes before the nodes below it, and its left
//! half before its right one. The nodes below a node directly follow it, so one number per node is
//! enough: how many they are. The leader of a node is its leftmost leaf. A joining member goes to
//! the right of the shallowest leaf, or of the rightmost one if there are several. When a leaf
//! goes, its sibling takes the place of their parent. So the tree of n members that only grew is
//! ⌈log_2 n⌉ high. No tree is higher than 20, whatever a message says and whichever trees merge.

mod alteration;
mod catching_up;
mod pending_change;
mod tree;

pub(crate) use self::alteration::Altered;
pub(crate) use self::catching_up::ask;
pub(crate) use self::pending_change::{Confirming, PendingChange, TreeKeys, TreeSession};
pub(crate) use self::tree::{MemberTree, PathLevel};
