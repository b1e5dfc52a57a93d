//! What a member knows of a merger under way.

use alloc::vec::Vec;

use crate::identity::MemberId;
use crate::mechanisms::dh_tree::key_tree::KeyTree;
use crate::secret::Key;

/// Two trees that are not merged yet.
#[derive(Debug)]
pub(crate) struct Merger {
    /// The members of the other group, sorted.
    pub(super) members: Vec<MemberId>,
    /// The other group's tree, once it has arrived.
    pub(super) other: Option<KeyTree>,
    /// What the sponsor of the merged tree made, if this member does not have both trees yet.
    pub(super) early: Option<(MemberId, Vec<u8>, Option<Key>)>,
}

impl Merger {
    pub(super) const fn none() -> Self {
        Self { members: Vec::new(), other: None, early: None }
    }
}
