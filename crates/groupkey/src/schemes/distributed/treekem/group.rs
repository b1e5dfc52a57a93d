//! The group as a member has it, and its changes by a commit: made here, or by another member.

use alloc::vec::Vec;

use subtle::ConstantTimeEq;

use super::epoch::{EpochSecrets, Transcript, epoch_context};
use super::event::{Change, encapsulated_bytes, public_bytes};
use crate::context::Context;
use crate::crypto::group::ElementCheck;
use crate::crypto::kem::KemPrivate;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::ratchet_tree::{FilteredNode, RatchetTree};
use crate::operation::Operation;
use crate::secret::{Key, List};

#[derive(Debug)]
pub(super) struct Group {
    pub(super) epoch: Epoch,
    pub(super) tree: RatchetTree,
    /// The node of this member's leaf.
    pub(super) leaf: usize,
    /// The private keys that it knows, of its leaf and of nodes above it.
    pub(super) privates: Vec<(usize, KemPrivate)>,
    pub(super) secrets: EpochSecrets,
    pub(super) transcript: Transcript,
    pub(super) check: ElementCheck,
}

/// What a commit does, besides giving its sender a new path.
pub(super) struct Update<'u> {
    pub(super) operation: Operation,
    pub(super) epoch: Epoch,
    pub(super) committer: MemberId,
    pub(super) joining: Vec<(MemberId, &'u [u8])>,
    pub(super) leaving: &'u [MemberId],
    /// What a returning member encrypted; empty otherwise.
    pub(super) kem_output: &'u [u8],
}

/// What follows from a commit that was made here.
pub(super) struct Made {
    /// Its path in bytes; empty without one.
    pub(super) path: Vec<u8>,
    pub(super) joiner_secret: Key,
    pub(super) context: Vec<u8>,
    /// The secrets of the nodes of the path, from below, and the nodes.
    pub(super) path_secrets: List<Key>,
    pub(super) steps: Vec<FilteredNode>,
}

/// Private keys that a path gave, from the lowest node that this member is below, and the secret
/// of the commit.
struct Climb {
    privates: Vec<(usize, KemPrivate)>,
    commit_secret: Key,
}

impl<'u> Update<'u> {
    /// The update of an event.
    pub(super) fn of(change: &'u Change, committer: MemberId) -> Self {
        let joining = change.joining.heard().map(|(member, package)| (member, &package.leaf[..]));
        Self {
            operation: change.operation,
            epoch: change.epoch,
            committer,
            joining: joining.collect(),
            leaving: &change.leaving,
            kem_output: &[],
        }
    }

    /// Whether its commit has a path: unless it only adds members (RFC 9420 section 12.4).
    fn has_path(&self) -> bool {
        self.joining.is_empty() || !self.leaving.is_empty()
    }

    /// What the transcript has of it.
    fn content(&self, path: &[u8]) -> Vec<u8> {
        let mut content = Vec::with_capacity(path.len() + 64);
        content.push(self.operation as u8);
        content.extend_from_slice(&self.committer.0.to_be_bytes());
        content.extend_from_slice(&(self.joining.len() as u32).to_be_bytes());
        for (member, leaf) in &self.joining {
            content.extend_from_slice(&member.0.to_be_bytes());
            content.extend_from_slice(leaf);
        }
        content.extend_from_slice(&(self.leaving.len() as u32).to_be_bytes());
        self.leaving.iter().for_each(|gone| content.extend_from_slice(&gone.0.to_be_bytes()));
        content.extend_from_slice(&(self.kem_output.len() as u32).to_be_bytes());
        content.extend_from_slice(self.kem_output);
        content.extend_from_slice(path);
        content
    }
}

impl Group {
    /// Founds a group: the tree has leaves alone.
    pub(super) fn found(
        cx: &mut Context<'_>,
        change: &Change,
        me: MemberId,
        check: ElementCheck,
    ) -> (Self, Made) {
        let private = cx.random_private_key();
        let mut public = Vec::with_capacity(public_bytes(cx));
        cx.encode_public_keys(core::slice::from_ref(&private), &mut public);
        let update = Update::of(change, me);
        let members: Vec<_> =
            [(me, &public[..])].into_iter().chain(update.joining.iter().copied()).collect();
        let mut tree = RatchetTree::of_leaves(public_bytes(cx), members.into_iter());
        let tree_hash = tree.tree_hash(cx);
        let confirmed = Transcript::default().with(cx, &update.content(&[]));
        let context = epoch_context(cx, change.epoch, &tree_hash, &confirmed);
        let init = cx.random_key();
        let joiner_secret = cx.joiner_secret(&init, None, &context);
        let (secrets, confirmation) = EpochSecrets::of(cx, &joiner_secret, &context, &confirmed);
        let transcript = Transcript::after(cx, confirmed, confirmation);
        let (epoch, leaf, privates) = (change.epoch, 0, alloc::vec![(0, private)]);
        let group = Self { epoch, tree, leaf, privates, secrets, transcript, check };
        let (path_secrets, steps, path) = (List::new(), Vec::new(), Vec::new());
        (group, Made { path, joiner_secret, context, path_secrets, steps })
    }

    /// Makes the commit of an update. `init` is the secret of the epoch before it.
    pub(super) fn commit(
        &mut self,
        cx: &mut Context<'_>,
        update: &Update<'_>,
        init: &Key,
    ) -> Result<Made, Error> {
        self.tree.begin();
        let result = self.make(cx, update, init);
        self.settle(result.is_ok());
        result
    }

    /// Takes a commit of another member. An error changes nothing.
    pub(super) fn process(
        &mut self,
        cx: &mut Context<'_>,
        update: &Update<'_>,
        init: &Key,
        path: &[u8],
        confirmation: &[u8; 32],
    ) -> Result<(), Error> {
        self.tree.begin();
        let result = self.take(cx, update, init, path, confirmation);
        self.settle(result.is_ok());
        result
    }

    /// Returns how many bytes of keys it holds.
    pub(super) fn stored_bytes(&self) -> usize {
        let privates = self.privates.iter().map(|(_, private)| private.stored_bytes());
        privates.sum::<usize>() + 3 * Key::BYTES + self.tree.stored_bytes()
    }

    fn settle(&mut self, is_done: bool) {
        if !is_done {
            self.tree.undo();
            return;
        }
        self.tree.keep();
        let tree = &self.tree;
        self.privates.retain(|&(node, _)| tree.public(node).is_some());
    }

    fn make(
        &mut self,
        cx: &mut Context<'_>,
        update: &Update<'_>,
        init: &Key,
    ) -> Result<Made, Error> {
        let added = self.alter(update);
        let mut made = Made {
            path: Vec::new(),
            joiner_secret: Key::default(),
            context: Vec::new(),
            path_secrets: List::new(),
            steps: Vec::new(),
        };
        let mut climb = None;
        if update.has_path() {
            made.steps = self.tree.filtered_path(self.leaf);
            let first = cx.random_key();
            let length = made.steps.len();
            let leaf_private = cx.random_private_key();
            let (path_secrets, mut privates, commit_secret) = ratchet(cx, first, length)?;
            privates.insert(0, leaf_private);
            let mut publics = Vec::with_capacity((length + 1) * public_bytes(cx));
            cx.encode_public_keys(&privates, &mut publics);
            let (leaf_public, publics) = publics.split_at(public_bytes(cx));
            self.tree.set_path(cx, self.leaf, leaf_public, &made.steps, publics);
            made.path.extend_from_slice(leaf_public);
            let context = self.provisional_context(cx, update.epoch);
            let info = cx.hpke_info("UpdatePathNode", &context);
            let publics = publics.chunks_exact(public_bytes(cx));
            for ((step, public), secret) in made.steps.iter().zip(publics).zip(&path_secrets) {
                made.path.extend_from_slice(public);
                for node in self.recipients(step, &added) {
                    let public = self.tree.public(node).ok_or(Misbehaviour::InvalidElement)?;
                    let key = cx.encapsulate(public, &info, self.check, &mut made.path)?;
                    cx.wrap_keys(&key, update.epoch, 0, [secret], &mut made.path);
                }
            }
            let nodes = core::iter::once(self.leaf).chain(made.steps.iter().map(|step| step.node));
            let privates = nodes.zip(privates).collect();
            made.path_secrets = path_secrets;
            climb = Some(Climb { privates, commit_secret });
        }
        let confirmed = self.transcript.with(cx, &update.content(&made.path));
        let tree_hash = self.tree.tree_hash(cx);
        made.context = epoch_context(cx, update.epoch, &tree_hash, &confirmed);
        let commit_secret = climb.as_ref().map(|climb| &climb.commit_secret);
        made.joiner_secret = cx.joiner_secret(init, commit_secret, &made.context);
        let (secrets, confirmation) =
            EpochSecrets::of(cx, &made.joiner_secret, &made.context, &confirmed);
        self.transcript = Transcript::after(cx, confirmed, confirmation);
        self.enter(update.epoch, secrets, climb);
        Ok(made)
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        update: &Update<'_>,
        init: &Key,
        path: &[u8],
        confirmation: &[u8; 32],
    ) -> Result<(), Error> {
        let added = self.alter(update);
        let climb = match update.has_path() {
            true => Some(self.follow(cx, update, path, &added)?),
            false if path.is_empty() => None,
            false => return Err(Misbehaviour::Malformed.into()),
        };
        let confirmed = self.transcript.with(cx, &update.content(path));
        let tree_hash = self.tree.tree_hash(cx);
        let context = epoch_context(cx, update.epoch, &tree_hash, &confirmed);
        let commit_secret = climb.as_ref().map(|climb| &climb.commit_secret);
        let joiner_secret = cx.joiner_secret(init, commit_secret, &context);
        let (secrets, own) = EpochSecrets::of(cx, &joiner_secret, &context, &confirmed);
        require_confirmed(&own, confirmation)?;
        self.transcript = Transcript::after(cx, confirmed, own);
        self.enter(update.epoch, secrets, climb);
        Ok(())
    }

    /// Takes the path of a commit into the tree, and opens the secret of the lowest node on it
    /// that this member is below. All keys above must follow from it.
    fn follow(
        &mut self,
        cx: &mut Context<'_>,
        update: &Update<'_>,
        path: &[u8],
        added: &[usize],
    ) -> Result<Climb, Error> {
        let committer =
            self.tree.leaf_of(update.committer).ok_or(Misbehaviour::UnexpectedSender)?;
        let steps = self.tree.filtered_path(committer);
        let (public, sealed) = (public_bytes(cx), encapsulated_bytes(cx) + cx.wrapped_length(1));
        let recipients: Vec<_> = steps.iter().map(|step| self.recipients(step, added)).collect();
        let count: usize = recipients.iter().map(Vec::len).sum();
        if path.len() != (1 + steps.len()) * public + count * sealed {
            return Err(Misbehaviour::Malformed.into());
        }
        let (leaf_public, mut rest) = path.split_at(public);
        let mut publics = Vec::with_capacity(steps.len() * public);
        let mut encrypted = Vec::with_capacity(steps.len());
        for nodes in &recipients {
            let (key, after) = rest.split_at(public);
            let (secrets, after) = after.split_at(nodes.len() * sealed);
            publics.extend_from_slice(key);
            encrypted.push(secrets);
            rest = after;
        }
        let place = self.place_of(self.leaf, &steps).ok_or(Misbehaviour::NothingForUs)?;
        let mine = recipients[place].iter().enumerate().find_map(|(at, node)| {
            let private = self.privates.iter().find(|(known, _)| known == node);
            private.map(|(_, private)| (at, *node, private.clone()))
        });
        let (at, node, private) = mine.ok_or(Misbehaviour::NothingForUs)?;
        let own = self.tree.public(node).ok_or(Misbehaviour::NothingForUs)?.to_vec();
        self.tree.set_path(cx, committer, leaf_public, &steps, &publics);
        let context = self.provisional_context(cx, update.epoch);
        let info = cx.hpke_info("UpdatePathNode", &context);
        let mine = &encrypted[place][at * sealed..][..sealed];
        let (encapsulated, wrapped) = mine.split_at(encapsulated_bytes(cx));
        let key = cx.decapsulate(&private, &own, &info, encapsulated, self.check)?;
        let secret = cx.unwrap_key(&key, update.epoch, 0, wrapped)?;
        climb(cx, secret, &steps[place..], &publics[place * public..])
    }

    /// Takes members out of the tree, and others in. Returns the new leaves.
    fn alter(&mut self, update: &Update<'_>) -> Vec<usize> {
        for &gone in update.leaving {
            if let Some(leaf) = self.tree.leaf_of(gone) {
                self.tree.remove(leaf);
            }
        }
        if !update.leaving.is_empty() {
            self.tree.shrink();
        }
        update.joining.iter().map(|&(member, public)| self.tree.add(member, public)).collect()
    }

    /// The nodes to which the secret of a step is encrypted. New members get it with their
    /// welcome.
    fn recipients(&self, step: &FilteredNode, added: &[usize]) -> Vec<usize> {
        let mut nodes = self.tree.resolution(step.beside);
        nodes.retain(|node| !added.contains(node));
        nodes
    }

    pub(super) fn place_of(&self, leaf: usize, steps: &[FilteredNode]) -> Option<usize> {
        steps.iter().position(|step| self.tree.covers(step.beside, leaf))
    }

    /// What path secrets are bound to: the new epoch and its tree, and the transcript before.
    fn provisional_context(&mut self, cx: &mut Context<'_>, epoch: Epoch) -> Vec<u8> {
        let tree_hash = self.tree.tree_hash(cx);
        epoch_context(cx, epoch, &tree_hash, &self.transcript.confirmed)
    }

    fn enter(&mut self, epoch: Epoch, secrets: EpochSecrets, climb: Option<Climb>) {
        self.epoch = epoch;
        self.secrets = secrets;
        if let Some(climb) = climb {
            self.privates.retain(|(node, _)| !climb.privates.iter().any(|(new, _)| new == node));
            self.privates.extend(climb.privates);
        }
    }
}

/// Refuses another confirmation than this. Compares in constant time.
pub(super) fn require_confirmed(own: &[u8; 32], received: &[u8; 32]) -> Result<(), Error> {
    match bool::from(own.ct_eq(received)) {
        true => Ok(()),
        false => Err(Misbehaviour::Forged.into()),
    }
}

/// Computes the private keys of nodes from the secret of the lowest, and compares what is public.
pub(super) fn climb_privates(
    cx: &mut Context<'_>,
    secret: Key,
    steps: &[FilteredNode],
    publics: &[u8],
) -> Result<Vec<(usize, KemPrivate)>, Error> {
    climb(cx, secret, steps, publics).map(|climb| climb.privates)
}

fn climb(
    cx: &mut Context<'_>,
    secret: Key,
    steps: &[FilteredNode],
    publics: &[u8],
) -> Result<Climb, Error> {
    let (_, privates, commit_secret) = ratchet(cx, secret, steps.len())?;
    let mut own = Vec::with_capacity(publics.len());
    cx.encode_public_keys(&privates, &mut own);
    if own != publics {
        return Err(Misbehaviour::WrongKey.into());
    }
    let privates = steps.iter().map(|step| step.node).zip(privates).collect();
    Ok(Climb { privates, commit_secret })
}

/// The secrets of a path, the private keys that follow from them, and the secret of the commit
/// (RFC 9420 section 7.4).
fn ratchet(
    cx: &mut Context<'_>,
    first: Key,
    length: usize,
) -> Result<(List<Key>, Vec<KemPrivate>, Key), Error> {
    let mut path_secrets = List::with_capacity(length);
    let mut privates = Vec::with_capacity(length + 1);
    let mut secret = first;
    for _ in 0..length {
        let node_secret = cx.derive_secret(&secret, "node");
        privates.push(cx.private_key(&node_secret)?);
        let next = cx.derive_secret(&secret, "path");
        path_secrets.push(secret);
        secret = next;
    }
    Ok((path_secrets, privates, secret))
}
