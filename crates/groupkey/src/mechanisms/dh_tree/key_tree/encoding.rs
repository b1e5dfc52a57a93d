//! A tree in a message: the members from left to right, the depth of each, and the blinded keys.

use alloc::vec;
use alloc::vec::Vec;

use super::{Content, DhKeyTree, Shape};
use crate::context::Draft;
use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::wire::Reader;

impl DhKeyTree {
    /// Appends members, form and blinded keys to a message.
    pub(crate) fn write(&self, draft: &mut Draft<'_, '_>) {
        draft.array(self.len());
        for member in self.members() {
            draft.number(u64::from(member.0));
        }
        if self.shape != Shape::Skinny {
            // A party that reads the form refuses a tree that is deeper than that.
            let form =
                self.depths().into_iter().map(|depth| u8::try_from(depth).unwrap_or(u8::MAX));
            draft.bytes(&form.collect::<Vec<_>>());
        }
        let known = self.preorder().filter_map(|node| self.blinded(node));
        draft.packed(known.clone().count() * self.width);
        for blinded in known {
            draft.packed_bytes(blinded);
        }
    }

    /// Reads what [`Self::write`] appends, of at most this many members. The root's blinded key
    /// must be there if `rooted` is true, and must not be there otherwise.
    pub(crate) fn read(
        shape: Shape,
        width: usize,
        most: u32,
        rooted: bool,
        body: &mut Reader<'_>,
    ) -> Result<Self, Error> {
        let length = body.array()?;
        if !(2..=u64::from(most)).contains(&length) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let members = (0..length).map(|_| body.number32().map(MemberId));
        let members = members.collect::<Result<Vec<_>, _>>()?;
        let depths: Vec<usize> = match shape {
            Shape::Balanced | Shape::Leafwise => {
                body.bytes()?.iter().copied().map(usize::from).collect()
            }
            Shape::Skinny => {
                let last = members.len() - 1;
                (0..=last).map(|place| (last + 1 - place).min(last)).collect()
            }
        };
        let tree = Self::of(shape, width, &members, &depths);
        let mut tree = tree.ok_or(Misbehaviour::InvalidRoster)?;
        let nodes: Vec<_> = tree.preorder().skip(usize::from(!rooted)).collect();
        let blinded = body.bytes()?;
        if blinded.len() != nodes.len() * width {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        tree.fill(&nodes, blinded);
        Ok(tree)
    }

    pub(crate) fn of(
        shape: Shape,
        width: usize,
        members: &[MemberId],
        depths: &[usize],
    ) -> Option<Self> {
        if depths.len() != members.len() {
            return None;
        }
        let mut tree = Self::of_one(shape, width, *members.first()?);
        // Parts that lack only what is to their right, each with its depth.
        let mut parts: Vec<(usize, usize)> = vec![];
        for (place, (&member, &depth)) in members.iter().zip(depths).enumerate() {
            if tree.has(member) != (place == 0) {
                return None;
            }
            let leaf = if place == 0 { tree.root } else { tree.plant(Content::Leaf(member)) };
            let mut part = (leaf, depth);
            while let Some((left, _)) = parts.pop_if(|left| left.1 == part.1 && part.1 > 0) {
                let node = tree.plant(Content::Halves([left, part.0]));
                tree.nodes[left].parent = Some(node);
                tree.nodes[part.0].parent = Some(node);
                tree.survey(node);
                part = (node, part.1 - 1);
            }
            // To the left of a part there are only shallower parts.
            if parts.last().is_some_and(|left| left.1 >= part.1) {
                return None;
            }
            parts.push(part);
        }
        let &[(root, 0)] = &parts[..] else { return None };
        tree.root = root;
        Some(tree)
    }

    pub(crate) fn depths(&self) -> Vec<usize> {
        let mut depths = Vec::with_capacity(self.len());
        let mut waiting = vec![(self.root, 0)];
        while let Some((node, depth)) = waiting.pop() {
            match self.nodes[node].content {
                Content::Halves([left, right]) => {
                    waiting.extend([(right, depth + 1), (left, depth + 1)]);
                }
                Content::Leaf(_) => depths.push(depth),
            }
        }
        depths
    }
}
