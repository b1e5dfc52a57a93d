//! The tree that must come next, and the one that came.

use super::KeyTree;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::MemberId;
use crate::schemes::distributed::gdh::require_sender;
use crate::wire::Message;

/// The tree that must come next, without what its sponsor makes anew.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    pub(crate) tree: KeyTree,
    pub(crate) sponsor: MemberId,
}

/// A tree as it was received.
pub(crate) struct Received<'m> {
    pub(crate) tree: KeyTree,
    pub(crate) packed: &'m [u8],
    pub(crate) confirmation: &'m [u8],
}

impl Awaited {
    /// What must come when a member joins this tree.
    pub(crate) fn joining(mut tree: KeyTree, member: MemberId) -> Result<Self, Error> {
        let sponsor = tree.insert(member);
        Self::new(tree, sponsor)
    }

    /// What must come when a member leaves this tree.
    pub(crate) fn leaving(mut tree: KeyTree, member: MemberId) -> Result<Self, Error> {
        let sponsor = tree.remove(member);
        Self::new(tree, sponsor)
    }

    fn new(mut tree: KeyTree, sponsor: Option<MemberId>) -> Result<Self, Error> {
        let sponsor = sponsor.ok_or(Misuse::NotCreated)?;
        tree.forget_path(sponsor);
        Ok(Self { tree, sponsor })
    }

    /// Whether this is a member whose blinded key the sponsor waits for.
    pub(crate) fn lacks(&self, member: MemberId) -> bool {
        let leaf = self.tree.leaf(member);
        member != self.sponsor && leaf.is_some_and(|leaf| self.tree.blinded(leaf).is_none())
    }

    /// The tree with a member's blinded key in it.
    pub(crate) fn with(&self, member: MemberId, blinded: Element) -> KeyTree {
        let mut tree = self.tree.clone();
        if let Some(leaf) = tree.leaf(member) {
            tree.set_blinded(leaf, blinded);
        }
        tree
    }
}

impl Received<'_> {
    /// Refuses a tree that is not the one that must come, or not from who must send it.
    pub(crate) fn must_be(&self, awaited: &Awaited, message: &Message<'_>) -> Result<(), Error> {
        require_sender(message, awaited.sponsor)?;
        if awaited.tree.agrees_with(&self.tree) {
            Ok(())
        } else {
            Err(Misbehaviour::InvalidRoster.into())
        }
    }

    /// Refuses a confirmation where nothing is to be confirmed.
    pub(crate) fn must_be_unconfirmed(&self) -> Result<(), Error> {
        if self.confirmation.is_empty() { Ok(()) } else { Err(Misbehaviour::Malformed.into()) }
    }
}
