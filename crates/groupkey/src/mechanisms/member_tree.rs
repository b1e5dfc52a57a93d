//! A binary tree with the members at its leaves: who is where, where a new leaf goes, who leads
//! what. It holds no keys. D-LKH and D-OFT use it.
//!
//! Its nodes lie in one array, each before those below it, the left half before the right one. So the
//! nodes below a node follow it, and one number for each is enough: how many they are. A node's
//! leader is the leftmost leaf. A joining member goes to the right of the shallowest leaf, of several
//! the rightmost; when a leaf goes, its sibling takes the place of their parent. So the tree of n
//! members that only grew is ⌈log_2 n⌉ high. None is higher than 20, whatever a message says and
//! whatever merges.

mod alteration;
mod catching_up;
mod outcome;
mod tree;

pub(crate) use self::alteration::Altered;
pub(crate) use self::catching_up::ask;
pub(crate) use self::outcome::{Confirming, Outcome, Session, TreeKeys};
pub(crate) use self::tree::{Level, MemberTree};
