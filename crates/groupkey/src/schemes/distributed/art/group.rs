//! The group as a member has it, and its updates: made here, or by another member.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::event::{Change, Prekey, ReceivedUpdate, element_bytes};
use super::renewal::{NewLeaf, Update};
use super::stage::{Stage, stage_context};
use super::tree::{ArtTree, Leaf, Setup};
use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::ratchet_tree::math;
use crate::scheme::{Configuration, Profile};
use crate::secret::List;

/// The group in one epoch.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) epoch: Epoch,
    pub(super) tree: ArtTree,
    /// The place of this member's leaf.
    pub(super) place: usize,
    /// The secrets of its leaf and of the nodes above, without the root.
    secrets: List<(usize, Exponent)>,
    /// Its prekey, as long as another knows the secret of its leaf.
    pub(super) prekey: Option<Prekey>,
    pub(super) stage: Stage,
    pub(super) profile: Profile,
    pub(super) check: ElementCheck,
}

/// What follows from an update that was made here.
pub(super) struct MadeUpdate {
    /// The setup key's public key; empty without one.
    pub(super) setup: Vec<u8>,
    pub(super) publics: Vec<u8>,
    pub(super) mac: [u8; 32],
    pub(super) confirmation: Confirmation,
}

/// Leaves and nodes that were made anew.
struct Renewal {
    setup: Vec<u8>,
    publics: Vec<u8>,
    secrets: List<(usize, Exponent)>,
    /// The root's element.
    shared: Element,
}

impl Group {
    /// Founds a group: sets up the leaves of all others.
    pub(super) fn found(
        cx: &mut Context<'_>,
        change: &Change,
        me: MemberId,
        configuration: &Configuration,
    ) -> Result<(Self, Confirmation), Error> {
        let (profile, check) = (configuration.profile(), configuration.check());
        let mut tree = ArtTree::new(element_bytes(cx));
        let update = Update::of(change, me);
        let others =
            update.joining.iter().map(|(id, prekey)| NewLeaf::SetUp(*id, (*prekey).into()));
        let leaves = (0..).zip(core::iter::once(NewLeaf::Own).chain(others)).collect();
        let made = renew(cx, &mut tree, me, &leaves, &List::new(), check)?;
        let tree_hash = tree.hash(cx);
        let context = stage_context(cx, change.epoch, &tree_hash);
        let stage = Stage::after(cx, None, made.shared, &context);
        let confirmation = Confirmation::of(cx, profile, change.epoch, &stage.group_key);
        let secrets = own_secrets(&tree, 0, &made.secrets, &List::new())?;
        let (epoch, place, prekey) = (change.epoch, 0, None);
        Ok((Self { epoch, tree, place, secrets, prekey, stage, profile, check }, confirmation))
    }

    /// Makes the update of a change. An error changes nothing.
    pub(super) fn make(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        update: &Update<'_>,
    ) -> Result<MadeUpdate, Error> {
        let leaves = update.leaves(&self.tree, self.profile == Profile::Sound);
        self.tree.begin();
        let made = renew(cx, &mut self.tree, update.sponsor, &leaves, &self.secrets, self.check)
            .and_then(|made| {
                let secrets = own_secrets(&self.tree, self.place, &made.secrets, &self.secrets)?;
                Ok((made, secrets))
            });
        let (made, secrets) = match made {
            Ok(made) => made,
            Err(error) => {
                self.tree.undo();
                return Err(error);
            }
        };
        self.tree.keep();
        let content = update.content(&made.setup, &made.publics);
        let mac = self.stage.update_mac(cx, &content);
        let tree_hash = self.tree.hash(cx);
        let context = stage_context(cx, epoch, &tree_hash);
        self.stage = Stage::after(cx, Some(&self.stage), made.shared, &context);
        let confirmation = Confirmation::of(cx, self.profile, epoch, &self.stage.group_key);
        self.secrets = secrets;
        if leaves.get(&self.place) == Some(&NewLeaf::Own) {
            self.prekey = None;
        }
        self.epoch = epoch;
        Ok(MadeUpdate { setup: made.setup, publics: made.publics, mac, confirmation })
    }

    /// Takes the update of another member. An error changes nothing.
    pub(super) fn take(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        update: &Update<'_>,
        received: &ReceivedUpdate,
    ) -> Result<(), Error> {
        let content = update.content(&received.setup, &received.publics);
        let mac = self.stage.update_mac(cx, &content);
        if !bool::from(mac.ct_eq(&received.mac)) {
            return Err(Misbehaviour::Forged.into());
        }
        self.tree.begin();
        let result = self.follow(cx, epoch, update, received);
        match result {
            Ok((secrets, stage)) => {
                self.tree.keep();
                self.secrets = secrets;
                self.stage = stage;
                self.epoch = epoch;
                Ok(())
            }
            Err(error) => {
                self.tree.undo();
                Err(error)
            }
        }
    }

    fn follow(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        update: &Update<'_>,
        received: &ReceivedUpdate,
    ) -> Result<(List<(usize, Exponent)>, Stage), Error> {
        let leaves = update.leaves(&self.tree, self.profile == Profile::Sound);
        let sets_up = leaves.values().any(|leaf| matches!(leaf, NewLeaf::SetUp(..)));
        let (element, publics) = (element_bytes(cx), &received.publics);
        if received.setup.len() != if sets_up { element } else { 0 }
            || publics.len() < leaves.len() * element
        {
            return Err(Misbehaviour::Malformed.into());
        }
        let (of_leaves, of_nodes) = publics.split_at(leaves.len() * element);
        for ((&place, leaf), public) in leaves.iter().zip(of_leaves.chunks_exact(element)) {
            self.tree.set_leaf(place, leaf.with(update.sponsor, &received.setup), public);
        }
        let changed = self.tree.above(leaves.keys().copied());
        if of_nodes.len() != changed.len().saturating_sub(1) * element {
            return Err(Misbehaviour::Malformed.into());
        }
        for (&node, public) in changed.iter().zip(of_nodes.chunks_exact(element)) {
            self.tree.set_public(node, public);
        }
        let mut known = List::new();
        match (leaves.get(&self.place), &self.prekey) {
            (None, _) => known.append(&self.secrets),
            (Some(NewLeaf::SetUp(..)), Some(prekey)) => {
                let (by, prekey) = (update.sponsor.into(), (&prekey.secret, &prekey.public[..]));
                let secret = cx.complete_exchange(by, &received.setup, prekey, self.check)?;
                known.push((2 * self.place, secret));
            }
            _ => return Err(Misbehaviour::NothingForUs.into()),
        }
        known.retain(|(node, _)| !changed.contains(node));
        let (secrets, shared) = climb(cx, &self.tree, self.place, &known, self.check)?;
        let tree_hash = self.tree.hash(cx);
        let context = stage_context(cx, epoch, &tree_hash);
        let stage = Stage::after(cx, Some(&self.stage), shared, &context);
        received.confirmation.verify(cx, self.profile, epoch, &stage.group_key)?;
        Ok((secrets, stage))
    }

    /// The group of a member that comes in, or back, by a tree that it was told, with the secret of
    /// its leaf.
    pub(super) fn enter(
        cx: &mut Context<'_>,
        (epoch, configuration): (Epoch, &Configuration),
        mut tree: ArtTree,
        place: usize,
        (leaf, prekey): (Exponent, Option<Prekey>),
        stage: impl FnOnce(&mut Context<'_>, Element, &[u8]) -> Result<Stage, Error>,
    ) -> Result<Self, Error> {
        let (profile, check) = (configuration.profile(), configuration.check());
        let mut known = List::with_capacity(1);
        known.push((2 * place, leaf));
        let (secrets, shared) = climb(cx, &tree, place, &known, check)?;
        let tree_hash = tree.hash(cx);
        let context = stage_context(cx, epoch, &tree_hash);
        let stage = stage(cx, shared, &context)?;
        Ok(Self { epoch, tree, place, secrets, prekey, stage, profile, check })
    }

    /// The secret of its leaf.
    pub(super) fn leaf_secret(&self) -> Option<&Exponent> {
        self.secrets.first().map(|(_, secret)| secret)
    }

    /// Returns how many bytes of keys it holds.
    pub(super) fn stored_bytes(&self) -> usize {
        let secrets = self.secrets.iter().map(|(_, secret)| secret.stored_bytes());
        let prekey = self.prekey.as_ref().map_or(0, |prekey| prekey.secret.stored_bytes());
        secrets.sum::<usize>() + prekey + Stage::stored_bytes() + self.tree.stored_bytes()
    }
}

impl NewLeaf {
    /// The leaf in the tree, with the setup key's public key.
    fn with(&self, sponsor: MemberId, setup: &[u8]) -> Leaf {
        match self {
            Self::Own => Leaf::Own(sponsor),
            Self::SetUp(member, prekey) => {
                let setup = Setup { by: sponsor, key: setup.into(), prekey: prekey.clone() };
                Leaf::SetUp(*member, setup)
            }
            Self::Vacant => Leaf::Vacant { by: sponsor },
        }
    }
}

/// Makes these leaves anew, and all that is above them.
fn renew(
    cx: &mut Context<'_>,
    tree: &mut ArtTree,
    sponsor: MemberId,
    leaves: &BTreeMap<usize, NewLeaf>,
    own: &List<(usize, Exponent)>,
    check: ElementCheck,
) -> Result<Renewal, Error> {
    let sets_up = leaves.values().any(|leaf| matches!(leaf, NewLeaf::SetUp(..)));
    let setup = sets_up.then(|| Prekey::drawn(cx));
    let mut new = List::with_capacity(leaves.len());
    for leaf in leaves.values() {
        new.push(match (leaf, &setup) {
            (NewLeaf::SetUp(member, prekey), Some(setup)) => {
                let key = (&setup.secret, &setup.public[..]);
                cx.begin_exchange((*member).into(), key, prekey, check)?
            }
            _ => cx.random_exponent(),
        });
    }
    let element = element_bytes(cx);
    let mut publics = Vec::with_capacity(2 * leaves.len() * element);
    cx.encode_generator_powers(&new, &mut publics);
    let setup: Vec<u8> = setup.map_or_else(Vec::new, |setup| setup.public.into());
    for ((&place, leaf), public) in leaves.iter().zip(publics.chunks_exact(element)) {
        tree.set_leaf(place, leaf.with(sponsor, &setup), public);
    }
    let changed = tree.above(leaves.keys().copied());
    let mut secrets = List::with_capacity(leaves.len() + changed.len());
    let mut at = BTreeMap::new();
    for (place, secret) in leaves.keys().zip(new.iter()) {
        at.insert(2 * place, secrets.len());
        secrets.push((2 * place, secret.clone()));
    }
    let mut shared = None;
    for level in changed.chunk_by(|one, other| math::level(*one) == math::level(*other)) {
        let first = secrets.len();
        for &node in level {
            let [left, right] = tree.halves(node);
            // What was made anew comes before what it took the place of.
            let made = |half| at.get(&half).map(|&place| &secrets[place]);
            let kept = |half| own.iter().find(|(known, _)| *known == half);
            let half = made(left).or_else(|| made(right)).or_else(|| kept(left));
            let half = half.or_else(|| kept(right)).ok_or(Misbehaviour::NothingForUs)?;
            let beside = if half.0 == left { right } else { left };
            let public = tree.public(beside).ok_or(Misbehaviour::NothingForUs)?;
            let public = cx.element(public, check)?;
            let mut power = cx.power(&public, &half.1);
            if node == tree.root() {
                shared = Some(power);
                break;
            }
            let secret = cx.exponent_from_element(&power, NODE);
            power.zeroize();
            at.insert(node, secrets.len());
            secrets.push((node, secret));
        }
        let made = List::from_iter(secrets[first..].iter().map(|(_, secret)| secret.clone()));
        let start = publics.len();
        cx.encode_generator_powers(&made, &mut publics);
        for (&node, public) in level.iter().zip(publics[start..].chunks_exact(element)) {
            tree.set_public(node, public);
        }
    }
    let shared = shared.ok_or(Misbehaviour::NothingForUs)?;
    Ok(Renewal { setup, publics, secrets, shared })
}

/// The secrets of a leaf and the nodes above it: new ones, and old ones that are left.
fn own_secrets(
    tree: &ArtTree,
    place: usize,
    new: &List<(usize, Exponent)>,
    old: &List<(usize, Exponent)>,
) -> Result<List<(usize, Exponent)>, Error> {
    let steps = tree.path(place);
    let mut own = List::with_capacity(steps.len());
    let path = core::iter::once(2 * place).chain(steps.iter().map(|step| step.node));
    for node in path.filter(|&node| node != tree.root()) {
        let secret = new.iter().chain(old.iter()).find(|(known, _)| *known == node);
        own.push(secret.cloned().ok_or(Misbehaviour::NothingForUs)?);
    }
    Ok(own)
}

/// Computes the secrets above a leaf that are not known, and the root's element.
fn climb(
    cx: &mut Context<'_>,
    tree: &ArtTree,
    place: usize,
    known: &List<(usize, Exponent)>,
    check: ElementCheck,
) -> Result<(List<(usize, Exponent)>, Element), Error> {
    let steps = tree.path(place);
    let find = |node| known.iter().find(|(other, _)| *other == node);
    let mut own = List::with_capacity(steps.len());
    own.push(find(2 * place).cloned().ok_or(Misbehaviour::NothingForUs)?);
    for step in steps {
        if let Some(secret) = find(step.node) {
            own.push(secret.clone());
            continue;
        }
        let public = tree.public(step.beside).ok_or(Misbehaviour::NothingForUs)?;
        let public = cx.element(public, check)?;
        let mut shared = cx.power(&public, &own[own.len() - 1].1);
        if step.node == tree.root() {
            return Ok((own, shared));
        }
        let secret = cx.exponent_from_element(&shared, NODE);
        shared.zeroize();
        own.push((step.node, secret));
    }
    Err(Misbehaviour::InvalidRoster.into())
}

const NODE: &str = "groupkey art node";
