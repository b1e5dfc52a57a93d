//! What TGDH and STR share: a binary tree with the members at its leaves and a Diffie-Hellman
//! exchange at every node, and the sponsor who makes a part of it anew when somebody comes or goes.
//!
//! Each node has a secret exponent `k` and a blinded key `b = g^k`, which everybody knows. A leaf's
//! secret is its member's own. A node above two others has the shared element `b_left^k_right =
//! b_right^k_left`, and its secret is the hash of that, reduced modulo the order. So a member gets
//! from its own secret, with the blinded keys beside its path, up to the root's element, of which
//! the group key is derived. The two schemes differ in where a new leaf goes and in how they create.
//!
//! ```text
//! JOIN,    new member to all:              its blinded key
//! TREE,    sponsor to all:                 [id, ..], form, b_1 .. b_2n-2 (one byte string), confirmation
//! REQUEST, from a member to all, ANSWER, to the member:  as TREE
//! ```
//!
//! The sponsor is the rightmost leaf beside the one that comes or goes. It draws a new secret and
//! computes every key above it. The blinded keys stand in the order of the tree's array; the root's
//! is not among them. The form is in TGDH the depth of each leaf, a byte each; STR needs none. Old
//! members know the tree that must come, but for what is new; in the `sound` profile, the
//! confirmation (a key derived from the group key, 16 bytes) shows that the sponsor has the same key
//! before anybody takes it, and the group key depends on the whole tree. In `published` it is empty.
//!
//! A member keeps the secrets on its path: those below the lowest node that it shares with the
//! sponsor stay, as their blinded keys tell. So it raises to a power once for each node from that one
//! up: a + 1 times, if that is at depth a.
//!
//! A member that was asleep asks all; of the others, the rightmost answers with what is public. That
//! is enough, because a member's own secret changes only when it acts itself. Who was asleep when it
//! was the sponsor must join anew (the operation cannot complete without it).

mod climb;
mod expectation;
mod key_tree;

use alloc::vec;
use alloc::vec::Vec;

use self::climb::{incomplete, stored_bytes};
pub(crate) use self::expectation::{Awaited, Received};
pub(crate) use self::key_tree::{KeyTree, Shape};
use crate::context::{Context, Draft};
use crate::crypto::group::{Check, Element, Exponent};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::{Footprint, Operation};
use crate::schemes::catalogue::{Configuration, Profile};
use crate::schemes::distributed::gdh::{Change, View, require_sender};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The tree after a change, from the sponsor.
pub(crate) const TREE: u8 = 0;
/// Asks for the present tree.
pub(crate) const REQUEST: u8 = 1;
/// The present tree.
pub(crate) const ANSWER: u8 = 2;
/// The blinded key of somebody who joins.
pub(crate) const JOIN: u8 = 3;

/// What a member holds.
#[derive(Debug)]
pub(crate) struct Peer {
    view: View,
    shape: Shape,
    profile: Profile,
    check: Check,
    share: Option<Share>,
    /// The own leaf of one that has no group key yet.
    fresh: Option<Leaf>,
    awaited: Option<Awaited>,
    asked: bool,
    temporary: usize,
}

#[derive(Debug)]
struct Share {
    tree: KeyTree,
    /// From the own leaf up to below the root.
    secrets: Vec<Exponent>,
    group_key: Key,
}

#[derive(Debug)]
struct Leaf {
    secret: Exponent,
    blinded: Element,
}

impl Peer {
    /// A member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId, shape: Shape) -> Self {
        Self {
            view: View::new(configuration, me),
            shape,
            profile: configuration.profile(),
            check: configuration.check(),
            share: None,
            fresh: None,
            awaited: None,
            asked: false,
            temporary: 0,
        }
    }

    pub(crate) const fn view(&self) -> &View {
        &self.view
    }

    pub(crate) const fn awaited(&self) -> Option<&Awaited> {
        self.awaited.as_ref()
    }

    /// The event's messages are expected from now on.
    pub(crate) fn begin(&mut self, change: Change, awaited: Option<Awaited>) {
        self.view.begin(change);
        if let Some(awaited) = awaited {
            self.expect_tree(awaited);
        }
    }

    /// This tree must come next. If the own leaf was told, it must be in it as it is.
    pub(crate) fn expect_tree(&mut self, mut awaited: Awaited) {
        if let Some(leaf) = self.fresh.as_ref().filter(|_| awaited.sponsor != self.view.me()) {
            awaited.tree = awaited.with(self.view.me(), leaf.blinded.clone());
        }
        self.awaited = Some(awaited);
    }

    /// Draws a secret and tells all its blinded key.
    pub(crate) fn join(&mut self, cx: &mut Context<'_>, operation: Operation) {
        let secret = cx.random_exponent();
        let blinded = cx.generator_power(&secret);
        // Somebody who joins a running group cannot know its epoch, unless it was told.
        let told = operation == Operation::Create || self.view.epoch() != Epoch::default();
        let epoch = if told { self.view.epoch().next() } else { self.view.epoch() };
        cx.draft(Recipient::Group, epoch, operation, JOIN).element(&blinded).send();
        self.fresh = Some(Leaf { secret, blinded });
    }

    /// Whether the own leaf was told, or made anew as the sponsor.
    pub(crate) const fn has_joined(&self) -> bool {
        self.fresh.is_some()
    }

    /// Takes the command `Add`: the new member tells its blinded key, the others wait for it.
    pub(crate) fn add(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.addition(member)?;
        let awaited = match &self.share {
            Some(share) => Some(Awaited::joining(share.tree.clone(), member)?),
            None => {
                self.join(cx, Operation::Add);
                None
            }
        };
        self.begin(change, awaited);
        Ok(())
    }

    /// Takes the command `Remove`: the sponsor changes the key at once.
    pub(crate) fn remove(&mut self, cx: &mut Context<'_>, member: MemberId) -> Result<(), Error> {
        let change = self.view.removal(member)?;
        let share = self.share.as_ref().ok_or_else(not_created)?;
        let awaited = Awaited::leaving(share.tree.clone(), member)?;
        if awaited.sponsor == self.view.me() {
            return self.lead(cx, Operation::Remove, awaited.tree);
        }
        self.begin(change, Some(awaited));
        Ok(())
    }

    /// Everybody hears who joins; the sponsor takes it in.
    pub(crate) fn receive_join(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let member = message.from_member()?;
        let awaited = self.awaited.as_ref().filter(|_| !self.view.is_creating());
        match awaited.filter(|awaited| awaited.sponsor == self.view.me() && awaited.lacks(member)) {
            Some(awaited) => {
                let tree = awaited.with(member, self.read_blinded(cx, message)?);
                self.lead(cx, Operation::Add, tree)
            }
            None => self.overhear(member),
        }
    }

    /// A blinded key that is for the sponsor, from a member who is or comes here.
    pub(crate) fn overhear(&self, member: MemberId) -> Result<(), Error> {
        let concerned = [Some(self.view.roster()), self.view.under_way()];
        if concerned.into_iter().flatten().any(|roster| roster.place(member).is_some()) {
            Ok(())
        } else {
            Err(Misbehaviour::UnexpectedSender.into())
        }
    }

    pub(crate) fn read_blinded(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<Element, Error> {
        let mut body = message.body();
        let bytes = body.bytes()?;
        body.finish()?;
        cx.element(bytes, self.check)
    }

    /// As the sponsor, makes the own path anew, tells all, and has the group key.
    pub(crate) fn lead(
        &mut self,
        cx: &mut Context<'_>,
        operation: Operation,
        mut tree: KeyTree,
    ) -> Result<(), Error> {
        let mut secrets = climb::renew_path(cx, &mut tree, self.view.me())?;
        let packed = tree.packed().ok_or_else(incomplete)?;
        let epoch = self.view.epoch().next();
        let me = self.view.me();
        let group_key = climb::complete(cx, epoch, &tree, &packed, me, &mut secrets)?;
        let confirmation = self.confirmation(cx, &group_key);
        let draft = cx.draft(Recipient::Group, epoch, operation, TREE);
        send(draft, &tree, &packed, confirmation.as_ref());
        self.install(cx, epoch, tree, secrets, group_key);
        Ok(())
    }

    /// As the sponsor of a tree that will grow before there is a key, makes the own path anew and
    /// tells all. Returns the tree.
    pub(crate) fn lead_on(
        &mut self,
        cx: &mut Context<'_>,
        mut tree: KeyTree,
    ) -> Result<KeyTree, Error> {
        let secrets = climb::renew_path(cx, &mut tree, self.view.me())?;
        let packed = tree.packed().ok_or_else(incomplete)?;
        let leaf = tree.leaf(self.view.me()).and_then(|leaf| tree.blinded(leaf));
        let blinded = leaf.ok_or_else(incomplete)?.clone();
        let secret = secrets.into_iter().next().ok_or_else(incomplete)?;
        let epoch = self.view.epoch().next();
        send(cx.draft(Recipient::Group, epoch, Operation::Create, TREE), &tree, &packed, None);
        self.fresh = Some(Leaf { secret, blinded });
        Ok(tree)
    }

    /// Takes the tree that completes the operation under way.
    pub(crate) fn receive_tree(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if self.view.is_joining() {
            return self.receive_first_tree(cx, message);
        }
        self.view.expect(message)?;
        let awaited = self.awaited.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        require_sender(message, awaited.sponsor)?;
        let received = self.read_tree(cx, message.body())?;
        received.must_be(awaited, message)?;
        self.adopt(cx, message.header().epoch, received)
    }

    /// A new member learns from the tree who is in the group.
    fn receive_first_tree(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let header = message.header();
        if header.operation != Operation::Add {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.is_later_than(self.view.epoch())?;
        let received = self.read_tree(cx, message.body())?;
        let sponsor = received.tree.sponsor_beside(self.view.me());
        require_sender(message, sponsor.ok_or(Misbehaviour::NothingForUs)?)?;
        self.adopt(cx, header.epoch, received)
    }

    /// Reads a tree from a message.
    pub(crate) fn read_tree<'m>(
        &self,
        cx: &mut Context<'_>,
        mut body: Reader<'m>,
    ) -> Result<Received<'m>, Error> {
        let mut tree = KeyTree::read(self.shape, &mut body)?;
        let packed = body.bytes()?;
        let confirmation = body.bytes()?;
        body.finish()?;
        tree.unpack(cx, packed, self.check)?;
        Ok(Received { tree, packed, confirmation })
    }

    /// Computes the key of a tree and completes the operation, if the sender has the same key.
    pub(crate) fn adopt(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        received: Received<'_>,
    ) -> Result<(), Error> {
        let Received { tree, packed, confirmation } = received;
        let mut secrets = self.known_secrets(&tree);
        let me = self.view.me();
        let group_key = climb::complete(cx, epoch, &tree, packed, me, &mut secrets)?;
        match self.confirmation(cx, &group_key) {
            Some(expected) => {
                let confirmation = confirmation.try_into().map_err(|_| Misbehaviour::Malformed)?;
                if expected != Key::from_bytes(confirmation) {
                    return Err(Misbehaviour::Forged.into());
                }
            }
            None if !confirmation.is_empty() => return Err(Misbehaviour::Malformed.into()),
            None => {}
        }
        self.install(cx, epoch, tree, secrets, group_key);
        Ok(())
    }

    /// Asks for what was missed.
    pub(crate) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.share.is_none() && !self.has_joined() {
            return Err(not_created());
        }
        cx.draft(Recipient::Group, self.view.epoch(), Operation::CatchUp, REQUEST).send();
        self.asked = true;
        Ok(())
    }

    /// Everybody hears a request; the rightmost of the others answers it.
    pub(crate) fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let Some(share) = self.share.as_ref() else { return Ok(()) };
        if share.tree.leaf(member).is_none() || member == self.view.me() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        if responder(&share.tree, member) == Some(self.view.me()) {
            let packed = share.tree.packed().ok_or_else(incomplete)?;
            let confirmation = self.confirmation(cx, &share.group_key);
            let to = Recipient::Member(member);
            let draft = cx.draft(to, self.view.epoch(), Operation::CatchUp, ANSWER);
            send(draft, &share.tree, &packed, confirmation.as_ref());
        }
        Ok(())
    }

    /// Takes the answer to an own request.
    pub(crate) fn catch_up(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if !self.asked {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.is_later_than(self.view.epoch())?;
        let received = self.read_tree(cx, message.body())?;
        let sender = responder(&received.tree, self.view.me());
        require_sender(message, sender.ok_or(Misbehaviour::NothingForUs)?)?;
        self.adopt(cx, message.header().epoch, received)
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.share.as_ref().map(|share| (self.view.epoch(), &share.group_key))
    }

    /// Permanent: the own secret and those above it, the group key, and the blinded keys, which are
    /// public but must be kept. Temporary: the tree that must come, that which comes, the secrets in
    /// it, and the shared element.
    pub(crate) fn footprint(&self) -> Footprint {
        let permanent = self.share.as_ref().map_or(0, |share| {
            stored_bytes(&share.secrets) + Key::BYTES + share.tree.stored_bytes()
        });
        Footprint { permanent, temporary: self.temporary }
    }

    /// The own secrets that are in this tree, too, as their blinded keys tell.
    fn known_secrets(&self, tree: &KeyTree) -> Vec<Exponent> {
        let me = self.view.me();
        let path = tree.path(me);
        if let Some(leaf) = &self.fresh {
            let told = path.first().and_then(|step| tree.blinded(step.node));
            return told
                .filter(|&told| *told == leaf.blinded)
                .map_or_else(Vec::new, |_| vec![leaf.secret.clone()]);
        }
        self.share
            .as_ref()
            .map_or_else(Vec::new, |share| climb::kept(&share.tree, tree, me, &share.secrets))
    }

    /// What shows that one has the group key, in the `sound` profile.
    fn confirmation(&self, cx: &mut Context<'_>, group_key: &Key) -> Option<Key> {
        let sound = self.profile == Profile::Sound;
        sound.then(|| cx.derive(group_key, "groupkey dh tree confirmation", &[]))
    }

    fn install(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        tree: KeyTree,
        secrets: Vec<Exponent>,
        group_key: Key,
    ) {
        let awaited = self.awaited.take().map_or(0, |awaited| awaited.tree.stored_bytes());
        let element = Element::length(cx.suite());
        let held = awaited + tree.stored_bytes() + stored_bytes(&secrets) + element;
        self.temporary = self.temporary.max(held);
        let roster = tree.roster();
        self.share = Some(Share { tree, secrets, group_key });
        self.fresh = None;
        self.asked = false;
        self.view.settle(cx, epoch, roster);
    }
}

/// Who answers a member that catches up.
fn responder(tree: &KeyTree, asking: MemberId) -> Option<MemberId> {
    tree.members().filter(|&member| member != asking).last()
}

/// Completes a message that carries a tree.
fn send(mut draft: Draft<'_, '_>, tree: &KeyTree, packed: &[u8], confirmation: Option<&Key>) {
    tree.write(&mut draft);
    draft.bytes(packed).bytes(confirmation.map_or(&[], |key| key.as_bytes().as_slice())).send();
}

fn not_created() -> Error {
    Misuse::NotCreated.into()
}

#[cfg(test)]
mod tests;
