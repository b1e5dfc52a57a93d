//! A member's way from its leaf up to the root: secrets, blinded keys, the group key.

use alloc::vec::Vec;
use core::ops::Range;

use zeroize::Zeroize;

use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::Epoch;
use crate::mechanisms::dh_tree::key_tree::DhKeyTree;
use crate::secret::{Key, List};

/// A member's secrets: its own and those above it, as far up as the member has computed them. There
/// are none yet if it must still draw its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ladder {
    secrets: List<Exponent>,
    /// This member's blinded key, encoded, once it was sent.
    pub(crate) leaf: Vec<u8>,
}

impl Ladder {
    /// Draws a new own secret. Also returns its blinded key.
    pub(crate) fn drawn(cx: &mut Context<'_>) -> (Self, Element) {
        let mut ladder = Self::default();
        ladder.draw(cx);
        let blinded = cx.generator_power(&ladder.secrets[0]);
        cx.encode_element(&blinded, &mut ladder.leaf);
        (ladder, blinded)
    }

    pub(crate) fn draw(&mut self, cx: &mut Context<'_>) {
        if self.secrets.is_empty() {
            self.secrets.push(cx.random_exponent());
        }
    }

    /// How many nodes up the secrets go.
    pub(crate) fn height(&self) -> usize {
        self.secrets.len()
    }

    pub(crate) fn up_to(&self, height: usize) -> Self {
        let secrets = List::from(&self.secrets[..height.min(self.height())]);
        let leaf = if secrets.is_empty() { Vec::new() } else { self.leaf.clone() };
        Self { secrets, leaf }
    }

    /// Goes back down to an earlier height. The leaf may not have been sent then.
    pub(crate) fn go_down(&mut self, height: usize, has_told_leaf: bool) {
        self.secrets.truncate(height);
        if !has_told_leaf {
            self.leaf.clear();
        }
    }

    /// Computes further secrets upwards, with these blinded keys beside the path.
    pub(crate) fn climb(&mut self, cx: &mut Context<'_>, beside: &[Element]) {
        self.secrets.reserve(beside.len());
        for beside in beside {
            let above = secret_above(cx, beside, &self.secrets[self.height() - 1]);
            self.secrets.push(above);
        }
    }

    pub(crate) fn blind(&mut self, cx: &mut Context<'_>, heights: Range<usize>, out: &mut Vec<u8>) {
        let start = out.len();
        let from_leaf = heights.start == 0;
        cx.encode_generator_powers(&self.secrets[heights], out);
        if from_leaf {
            self.leaf = out[start..][..Element::length(cx.suite())].to_vec();
        }
    }

    /// The root's element, computed with the last blinded key beside the path.
    pub(crate) fn reach(&self, cx: &mut Context<'_>, beside: &Element) -> Element {
        cx.power(beside, &self.secrets[self.height() - 1])
    }

    pub(crate) fn stored_bytes(&self) -> usize {
        self.secrets.iter().map(Exponent::stored_bytes).sum()
    }
}

/// Reads the blinded keys beside these nodes, which must be known. They are checked only now, when
/// they are used.
pub(crate) fn beside(
    cx: &mut Context<'_>,
    tree: &DhKeyTree,
    nodes: &[usize],
    check: ElementCheck,
) -> Result<Vec<Element>, Error> {
    let mut read = |&node: &usize| {
        let blinded = tree.sibling(node).and_then(|sibling| tree.blinded(sibling));
        cx.element(blinded.ok_or(Misbehaviour::NothingForUs)?, check)
    };
    nodes.iter().map(&mut read).collect()
}

/// The group key. It is never the root's element itself, but derived from it for this group, this
/// epoch and this tree. The element is wiped.
pub(crate) fn group_key(
    cx: &mut Context<'_>,
    mut shared: Element,
    epoch: Epoch,
    digest: &[u8; 32],
) -> Key {
    let mut context = [0; 48];
    context[..8].copy_from_slice(&cx.group().0.to_be_bytes());
    context[8..16].copy_from_slice(&epoch.0.to_be_bytes());
    context[16..].copy_from_slice(digest);
    let key = cx.derive_from_element(&shared, "groupkey dh tree", &context);
    shared.zeroize();
    key
}

pub(crate) fn secret_above(cx: &mut Context<'_>, blinded: &Element, secret: &Exponent) -> Exponent {
    let mut shared = cx.power(blinded, secret);
    let above = cx.exponent_from_element(&shared, "groupkey dh tree node");
    shared.zeroize();
    above
}
