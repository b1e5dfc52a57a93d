//! What a peer must not forget when it restarts: the decisions of its group.

use alloc::vec::Vec;

use groupkey::{Epoch, MemberId};

use crate::store::StoreError;

/// What a group has decided about its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decisions {
    /// The latest epoch that the group is known to have been in.
    pub latest: Epoch,
    /// The evicted members by ascending id, at most 4,096, each with the epoch that a ticket for it
    /// must name.
    pub evicted: Vec<(MemberId, Epoch)>,
    /// The operators' words that evicted some of them, for others that were not there. At most one of
    /// 128 bytes for each.
    pub words: Vec<Vec<u8>>,
}

/// Keeps the decisions of a group for one peer.
pub trait Memory: Send {
    /// Loads what was kept last; nothing if nothing was.
    fn load(&mut self) -> Result<Decisions, StoreError>;

    /// Makes the decisions durable, whole or not at all.
    fn keep(&mut self, decisions: &Decisions) -> Result<(), StoreError>;
}
