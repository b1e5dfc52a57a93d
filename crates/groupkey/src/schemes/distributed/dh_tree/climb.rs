//! The way of a member from its leaf up to the root: secrets, blinded keys, the group key.

use alloc::vec::Vec;

use zeroize::Zeroize;

use super::KeyTree;
use crate::context::Context;
use crate::crypto::group::{Element, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::secret::Key;

/// Draws a new own secret and computes what is above it, up to below the root.
pub(crate) fn renew_path(
    cx: &mut Context<'_>,
    tree: &mut KeyTree,
    me: MemberId,
) -> Result<Vec<Exponent>, Error> {
    let path = tree.path(me);
    let (top, below) = path.split_last().ok_or(Misbehaviour::NothingForUs)?;
    let mut secret = cx.random_exponent();
    let mut secrets = Vec::with_capacity(path.len());
    for step in below {
        tree.set_blinded(step.node, cx.generator_power(&secret));
        let beside = tree.blinded(step.sibling).ok_or_else(incomplete)?;
        let above = secret_above(cx, beside, &secret);
        secrets.push(core::mem::replace(&mut secret, above));
    }
    tree.set_blinded(top.node, cx.generator_power(&secret));
    secrets.push(secret);
    Ok(secrets)
}

/// The secrets in an old tree that are in a new one, too, as their blinded keys tell.
pub(crate) fn kept(
    old_tree: &KeyTree,
    tree: &KeyTree,
    me: MemberId,
    secrets: &[Exponent],
) -> Vec<Exponent> {
    let (old, new) = (old_tree.path(me), tree.path(me));
    let pairs = old.iter().zip(&new).zip(secrets);
    pairs
        .take_while(|((old, new), _)| old_tree.blinded(old.node) == tree.blinded(new.node))
        .map(|(_, secret)| secret.clone())
        .collect()
}

/// Completes the own secrets, of which the first are there, and derives the group key.
pub(crate) fn complete(
    cx: &mut Context<'_>,
    epoch: Epoch,
    tree: &KeyTree,
    packed: &[u8],
    me: MemberId,
    secrets: &mut Vec<Exponent>,
) -> Result<Key, Error> {
    let path = tree.path(me);
    let (top, below) = path.split_last().ok_or(Misbehaviour::NothingForUs)?;
    let mut secret = secrets.pop().ok_or(Misbehaviour::NothingForUs)?;
    for step in &below[secrets.len()..] {
        let beside = tree.blinded(step.sibling).ok_or_else(incomplete)?;
        let above = secret_above(cx, beside, &secret);
        secrets.push(core::mem::replace(&mut secret, above));
    }
    let shared = cx.power(tree.blinded(top.sibling).ok_or_else(incomplete)?, &secret);
    secrets.push(secret);
    Ok(group_key(cx, shared, epoch, tree, packed))
}

/// The group key: never the root's element itself, but derived from it for this group, this epoch and
/// this tree. The element is wiped.
pub(super) fn group_key(
    cx: &mut Context<'_>,
    mut shared: Element,
    epoch: Epoch,
    tree: &KeyTree,
    packed: &[u8],
) -> Key {
    let mut context = Vec::with_capacity(20 + 6 * tree.len() + packed.len());
    context.extend_from_slice(&cx.group().0.to_be_bytes());
    context.extend_from_slice(&epoch.0.to_be_bytes());
    context.extend_from_slice(&(tree.len() as u32).to_be_bytes());
    for (member, depth) in tree.members().zip(tree.depths()) {
        context.extend_from_slice(&member.0.to_be_bytes());
        context.extend_from_slice(&(depth as u16).to_be_bytes());
    }
    context.extend_from_slice(packed);
    let key = cx.derive_from_element(&shared, "groupkey dh tree", &context);
    shared.zeroize();
    key
}

/// The secret of the node above two others.
pub(super) fn secret_above(cx: &mut Context<'_>, blinded: &Element, secret: &Exponent) -> Exponent {
    let mut shared = cx.power(blinded, secret);
    let above = cx.exponent_from_element(&shared, "groupkey dh tree node");
    shared.zeroize();
    above
}

/// Bytes of the secrets.
pub(crate) fn stored_bytes(secrets: &[Exponent]) -> usize {
    secrets.iter().map(Exponent::stored_bytes).sum()
}

/// A tree lacks what must be there.
pub(crate) fn incomplete() -> Error {
    Misbehaviour::UnexpectedMessage.into()
}
