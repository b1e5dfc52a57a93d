//! How a member comes in: its keys, the welcome it is sent, and what it checks before it believes
//! it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::epoch::{EpochSecrets, Transcript, bytes32, epoch_context};
use super::event::{Change, KeyPackage, Part, encapsulated_bytes, public_bytes};
use super::group::{Group, Made, climb_privates, require_confirmed};
use super::offers::WelcomeOffers;
use super::{KEY_PACKAGE, WELCOME};
use crate::context::Context;
use crate::crypto::kem::KemPrivate;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::ratchet_tree::RatchetTree;
use crate::mechanisms::sponsored::{SponsoredChange, require_size, require_welcome, sorted};
use crate::operation::Operation;
use crate::outbox::Recipient;
use crate::scheme::Configuration;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A member that waits for its welcome.
#[derive(Debug)]
pub(super) struct Joiner {
    /// The only member that may send it, if the group is new.
    founder: Option<MemberId>,
    /// The members of the group, if this one is told them: of a new group from left to right.
    told: Vec<MemberId>,
    leaf: KemPrivate,
    init: KemPrivate,
    keys: KeyPackage,
    /// What members have sent.
    offers: WelcomeOffers,
}

/// What a joining member is told.
struct Welcome<'w> {
    tree: &'w [u8],
    /// The transcript of the change that brings it in.
    confirmed: [u8; 32],
    confirmation: [u8; 32],
    /// The secrets for the members that join by this message.
    secrets: &'w [u8],
}

impl Joiner {
    pub(super) fn new(
        cx: &mut Context<'_>,
        founder: Option<MemberId>,
        told: Vec<MemberId>,
    ) -> Box<Self> {
        let privates = [cx.random_private_key(), cx.random_private_key()];
        let mut publics = Vec::with_capacity(2 * public_bytes(cx));
        cx.encode_public_keys(&privates, &mut publics);
        let (leaf_public, init_public) = publics.split_at(public_bytes(cx));
        let keys = KeyPackage { leaf: leaf_public.to_vec(), init: init_public.to_vec() };
        let [leaf, init] = privates;
        Box::new(Self { founder, told, leaf, init, keys, offers: WelcomeOffers::default() })
    }

    /// Sends the public keys: to the founder, or to all.
    pub(super) fn announce(&self, cx: &mut Context<'_>, plan: &SponsoredChange) {
        let to = self.founder.map_or(Recipient::Group, Recipient::Member);
        let mut draft = cx.draft(to, plan.epoch, plan.operation, KEY_PACKAGE);
        draft.bytes(&self.keys.leaf).bytes(&self.keys.init).send();
    }

    pub(super) const fn keys(&self) -> &KeyPackage {
        &self.keys
    }

    /// Returns the length of its private keys in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        self.leaf.stored_bytes() + self.init.stored_bytes()
    }
}

/// Takes a message of a sponsor to a joining member. Returns the group once the member is in.
///
/// In a change the welcome is for one member, and the commit for all: a sponsor that shows a
/// joining member another tree than the others is found out by the confirmation, which depends on
/// it.
pub(super) fn receive_offer(
    cx: &mut Context<'_>,
    change: &mut Change,
    message: &Message<'_>,
    (me, configuration): (MemberId, &Configuration),
    confirmation: Option<[u8; 32]>,
) -> Result<Option<Group>, Error> {
    let (operation, awaited) = (change.operation, change.epoch);
    let Part::Joins(joiner) = &mut change.part else {
        return Err(Misbehaviour::UnexpectedMessage.into());
    };
    let terms = (joiner.founder, &joiner.told[..]);
    require_welcome(message, (operation, awaited), terms, configuration.epoch_before())?;
    let (sender, epoch) = (message.from_member()?, message.header().epoch);
    let welcome = confirmation.is_none().then(|| message.content());
    if let Some(welcome) = welcome {
        Welcome::read(welcome)?;
    }
    if operation == Operation::Create {
        let welcome = Welcome::read(message.content())?;
        return enter(cx, change, (sender, epoch), &welcome, (me, configuration)).map(Some);
    }
    let claim = (sender, epoch);
    if let Some(offer) = joiner.offers.hear(claim, welcome, confirmation)?
        && change.joining.are_complete()
    {
        let welcome = Welcome::read(offer.welcome.as_deref().unwrap_or_default())?;
        if offer.confirmation != Some(welcome.confirmation) {
            return Err(Misbehaviour::Forged.into());
        }
        return enter(cx, change, claim, &welcome, (me, configuration)).map(Some);
    }
    if let Part::Joins(joiner) = &mut change.part {
        joiner.offers.keep(claim, welcome, confirmation);
    }
    Ok(None)
}

/// Enters by an offer that is complete, once all key packages are there. Offers that turn out to
/// be wrong are passed over, as if they had been refused when they came.
pub(super) fn enter_if_offered(
    cx: &mut Context<'_>,
    change: &Change,
    (me, configuration): (MemberId, &Configuration),
) -> Option<Group> {
    let Part::Joins(joiner) = &change.part else { return None };
    let mut offers = joiner.offers.complete().filter(|_| change.joining.are_complete());
    offers.find_map(|(offer, welcome, confirmation)| {
        let welcome = Welcome::read(welcome).ok()?;
        let is_confirmed = *confirmation == welcome.confirmation;
        let claim = (offer.sender, offer.epoch);
        let entered = is_confirmed.then(|| enter(cx, change, claim, &welcome, (me, configuration)));
        entered?.ok()
    })
}

/// Sends the welcomes of a group or a change that was made here.
pub(super) fn send_welcomes(
    cx: &mut Context<'_>,
    group: &Group,
    change: &Change,
    made: &Made,
) -> Result<(), Error> {
    let info = cx.hpke_info("Welcome", &made.context);
    let tree = group.tree.to_bytes();
    let mut secrets = Vec::new();
    for (member, package) in change.joining.iter() {
        let package = package.ok_or(Misbehaviour::UnexpectedMessage)?;
        let key = cx.encapsulate(&package.init, &info, group.check, &mut secrets)?;
        let mut shared = alloc::vec![&made.joiner_secret];
        if !made.steps.is_empty() {
            let leaf = group.tree.leaf_of(member).ok_or(Misbehaviour::InvalidRoster)?;
            let place = group.place_of(leaf, &made.steps).ok_or(Misbehaviour::InvalidRoster)?;
            shared.push(&made.path_secrets[place]);
        }
        cx.wrap_keys(&key, change.epoch, 0, shared, &mut secrets);
        if change.operation != Operation::Create {
            let to = Recipient::Member(member);
            send_welcome(cx, to, group, change, &tree, &secrets);
            secrets.clear();
        }
    }
    if change.operation == Operation::Create {
        send_welcome(cx, Recipient::Group, group, change, &tree, &secrets);
    }
    Ok(())
}

fn send_welcome(
    cx: &mut Context<'_>,
    to: Recipient,
    group: &Group,
    change: &Change,
    tree: &[u8],
    secrets: &[u8],
) {
    let mut draft = cx.draft(to, change.epoch, change.operation, WELCOME);
    let transcript = &group.transcript;
    draft.bytes(tree).bytes(&transcript.confirmed).bytes(&transcript.confirmation);
    draft.bytes(secrets).send();
}

/// Enters a group, after all checks of RFC 9420 section 12.4.3.1 that have a meaning here.
fn enter(
    cx: &mut Context<'_>,
    change: &Change,
    (sender, epoch): (MemberId, Epoch),
    welcome: &Welcome<'_>,
    (me, configuration): (MemberId, &Configuration),
) -> Result<Group, Error> {
    let Part::Joins(joiner) = &change.part else {
        return Err(Misbehaviour::UnexpectedMessage.into());
    };
    let check = configuration.check();
    let mut tree = read_tree(cx, configuration, welcome.tree)?;
    let members: Vec<_> = tree.members().collect();
    let is_told = match change.operation {
        Operation::Create => joiner.told == members,
        _ => joiner.told.is_empty() || joiner.told == sorted(&members),
    };
    let expected = configuration.expects(members.iter().copied());
    if !is_told || !expected || tree.leaf_of(sender).is_none() {
        return Err(Misbehaviour::InvalidRoster.into());
    }
    let leaf = tree.leaf_of(me).ok_or(Misbehaviour::InvalidRoster)?;
    let are_as_announced = change.joining.iter().all(|(member, package)| match package {
        Some(package) => {
            let leaf = tree.leaf_of(member);
            leaf.and_then(|leaf| tree.public(leaf)) == Some(&package.leaf[..])
        }
        None => change.operation == Operation::Create,
    });
    let is_gone = change.leaving.iter().all(|&gone| tree.leaf_of(gone).is_none());
    if !are_as_announced || !is_gone || tree.public(leaf) != Some(&joiner.keys.leaf[..]) {
        return Err(Misbehaviour::InvalidRoster.into());
    }
    if !tree.has_valid_parent_hashes(cx) {
        return Err(Misbehaviour::Forged.into());
    }
    let tree_hash = tree.tree_hash(cx);
    let context = epoch_context(cx, epoch, &tree_hash, &welcome.confirmed);
    let mut shared = [const { Key::from_bytes([0; Key::BYTES]) }; 2];
    // A commit with a path shares the secret of a node with each member that it brings in.
    let has_path = !change.leaving.is_empty();
    let shared = &mut shared[..1 + usize::from(has_path)];
    let encapsulated = encapsulated_bytes(cx);
    let each = encapsulated + cx.wrapped_length(shared.len());
    let (count, place) = match change.operation {
        Operation::Create => (members.len() - 1, members.iter().skip(1).position(|&id| id == me)),
        _ => (1, Some(0)),
    };
    let place = place.ok_or(Misbehaviour::InvalidRoster)?;
    if welcome.secrets.len() != count * each {
        return Err(Misbehaviour::Malformed.into());
    }
    let (encapsulated, sealed) = welcome.secrets[place * each..][..each].split_at(encapsulated);
    let info = cx.hpke_info("Welcome", &context);
    let key = cx.decapsulate(&joiner.init, &joiner.keys.init, &info, encapsulated, check)?;
    cx.unwrap_keys(&key, epoch, 0, sealed, shared)?;
    let (secrets, own) = EpochSecrets::of(cx, &shared[0], &context, &welcome.confirmed);
    require_confirmed(&own, &welcome.confirmation)?;
    let transcript = Transcript::after(cx, welcome.confirmed, own);
    let privates = alloc::vec![(leaf, joiner.leaf.clone())];
    let mut group = Group { epoch, tree, leaf, privates, secrets, transcript, check };
    if let Some(secret) = shared.get(1) {
        let sponsor = group.tree.leaf_of(sender).ok_or(Misbehaviour::InvalidRoster)?;
        let steps = group.tree.filtered_path(sponsor);
        let place = group.place_of(leaf, &steps).ok_or(Misbehaviour::InvalidRoster)?;
        let mut publics = Vec::with_capacity(steps.len() * public_bytes(cx));
        for step in &steps[place..] {
            let public = group.tree.public(step.node).ok_or(Misbehaviour::InvalidRoster)?;
            publics.extend_from_slice(public);
        }
        let above = climb_privates(cx, secret.clone(), &steps[place..], &publics)?;
        group.privates.extend(above);
    }
    Ok(group)
}

/// Reads a tree that another member sent, of a size that a group can have.
pub(super) fn read_tree(
    cx: &Context<'_>,
    configuration: &Configuration,
    bytes: &[u8],
) -> Result<RatchetTree, Error> {
    let tree = RatchetTree::from_bytes(public_bytes(cx), bytes)?;
    require_size(configuration, tree.members().count()).map_err(|_| Misbehaviour::InvalidRoster)?;
    Ok(tree)
}

impl<'w> Welcome<'w> {
    fn read(body: &'w [u8]) -> Result<Self, Error> {
        let mut body = Reader::new(body);
        let tree = body.bytes()?;
        let (confirmed, confirmation) = (bytes32(body.bytes()?)?, bytes32(body.bytes()?)?);
        let secrets = body.bytes()?;
        body.finish()?;
        Ok(Self { tree, confirmed, confirmation, secrets })
    }
}
