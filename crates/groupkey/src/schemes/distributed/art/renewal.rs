//! Which leaves a change replaces, and by what. Every member finds out by itself, from the command
//! and the tree.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::event::Change;
use super::tree::{ArtTree, Leaf, Setup};
use crate::identity::MemberId;
use crate::operation::Operation;

/// A change as a sponsor makes it.
pub(super) struct Update<'u> {
    pub(super) operation: Operation,
    pub(super) sponsor: MemberId,
    /// Who joins, with the prekey.
    pub(super) joining: Vec<(MemberId, &'u [u8])>,
    pub(super) leaving: &'u [MemberId],
}

/// What becomes of a leaf.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NewLeaf {
    /// The sponsor, whose leaf it is, draws a secret.
    Own,
    /// The sponsor sets it up for a member, by its prekey.
    SetUp(MemberId, Box<[u8]>),
    /// The sponsor draws a secret that it forgets.
    Vacant,
}

impl<'u> Update<'u> {
    /// The update of an event.
    pub(super) fn of(change: &'u Change, sponsor: MemberId) -> Self {
        let joining = change.joining.heard().map(|(member, prekey)| (member, &prekey[..]));
        Self {
            operation: change.operation,
            sponsor,
            joining: joining.collect(),
            leaving: &change.leaving,
        }
    }

    /// The leaves that are replaced, by their places.
    ///
    /// As published, those of the members that leave and join, and the sponsor's at a change without
    /// such. In the sound form also all that a leaving member knows, and the sponsor's own as long as
    /// another knows that.
    pub(super) fn leaves(&self, tree: &ArtTree, sound: bool) -> BTreeMap<usize, NewLeaf> {
        let leaves =
            |member: Option<MemberId>| member.is_some_and(|member| self.leaving.contains(&member));
        let mut replaced = BTreeMap::new();
        for (place, leaf) in tree.places() {
            let is_own = leaf.member() == Some(self.sponsor);
            let renews = self.operation == Operation::Rekey || sound && leaf.known_by().is_some();
            let new = match leaf {
                _ if leaves(leaf.member()) => NewLeaf::Vacant,
                _ if is_own && renews => NewLeaf::Own,
                _ if is_own || !sound || !leaves(leaf.known_by()) => continue,
                Leaf::SetUp(member, Setup { prekey, .. }) => {
                    NewLeaf::SetUp(*member, prekey.clone())
                }
                Leaf::Own(_) | Leaf::Vacant { .. } => NewLeaf::Vacant,
            };
            replaced.insert(place, new);
        }
        let is_vacant = |&(place, leaf): &(usize, &Leaf)| {
            leaf.member().is_none() || replaced.get(&place) == Some(&NewLeaf::Vacant)
        };
        let vacant: Vec<_> = match self.joining.is_empty() {
            true => Vec::new(),
            false => tree.places().filter(is_vacant).map(|(place, _)| place).collect(),
        };
        let places = vacant.into_iter().chain(tree.leaves..);
        for (place, (member, prekey)) in places.zip(&self.joining) {
            replaced.insert(place, NewLeaf::SetUp(*member, (*prekey).into()));
        }
        replaced
    }

    /// What its MAC covers.
    pub(super) fn content(&self, setup: &[u8], publics: &[u8]) -> Vec<u8> {
        let mut content = Vec::with_capacity(setup.len() + publics.len() + 64);
        content.push(self.operation as u8);
        content.extend_from_slice(&self.sponsor.0.to_be_bytes());
        content.extend_from_slice(&(self.joining.len() as u32).to_be_bytes());
        for (member, prekey) in &self.joining {
            content.extend_from_slice(&member.0.to_be_bytes());
            content.extend_from_slice(prekey);
        }
        content.extend_from_slice(&(self.leaving.len() as u32).to_be_bytes());
        self.leaving.iter().for_each(|gone| content.extend_from_slice(&gone.0.to_be_bytes()));
        content.extend_from_slice(&(setup.len() as u32).to_be_bytes());
        content.extend_from_slice(setup);
        content.extend_from_slice(publics);
        content
    }
}
