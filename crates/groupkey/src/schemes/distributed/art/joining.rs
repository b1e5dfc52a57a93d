//! How a member comes in, or back: its prekey, the tree that it is told, and what it checks before it
//! believes it.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::event::{Change, Part, Prekey, element_bytes};
use super::group::Group;
use super::stage::Stage;
use super::tree::{ArtTree, Leaf, Setup};
use super::{PREKEY, SETUP, TREE};
use crate::context::Context;
use crate::crypto::group::Exponent;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::membership::pairs::{self, Pairs};
use crate::mechanisms::sponsored::{
    SponsoredChange, WelcomeOffers, require_size, require_welcome, sorted,
};
use crate::operation::Operation;
use crate::outbox::Recipient;
use crate::scheme::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// A member that waits to be welcomed.
#[derive(Debug)]
pub(super) struct Joiner {
    /// The only member that may welcome it, if the group is new.
    founder: Option<MemberId>,
    /// The members of the group, if this one is told them: of a new group from left to right.
    told: Vec<MemberId>,
    prekey: Prekey,
    /// What members have sent.
    offers: WelcomeOffers<Confirmation>,
}

/// What a member is told that comes in, or back.
struct Welcome<'w> {
    tree: &'w [u8],
    /// Random bytes, and what the stage before gives to this one, wrapped; none in a new group.
    joiner: Option<(Key, &'w [u8])>,
    confirmation: Confirmation,
}

impl Joiner {
    /// Draws the prekey of a joining member.
    pub(super) fn new(
        cx: &mut Context<'_>,
        founder: Option<MemberId>,
        told: Vec<MemberId>,
    ) -> Box<Self> {
        let prekey = Prekey::drawn(cx);
        Box::new(Self { founder, told, prekey, offers: WelcomeOffers::default() })
    }

    /// Sends the prekey: to the founder, or to all.
    pub(super) fn announce(&self, cx: &mut Context<'_>, change: &SponsoredChange) {
        let to = self.founder.map_or(Recipient::Group, Recipient::Member);
        let mut draft = cx.draft(to, change.epoch, change.operation, PREKEY);
        draft.bytes(&self.prekey.public).send();
    }

    /// The prekey's public key.
    pub(super) fn prekey(&self) -> Box<[u8]> {
        self.prekey.public.clone()
    }

    /// Returns the length of its private key in bytes.
    pub(super) fn stored_bytes(&self) -> usize {
        self.prekey.secret.stored_bytes()
    }
}

/// Takes a message of a sponsor to a joining member: the tree, or with a confirmation the update of
/// all. Returns the group once the member is in.
///
/// A sponsor that shows a joining member another tree than the others is found out by the
/// confirmation, which depends on it.
pub(super) fn receive_offer(
    cx: &mut Context<'_>,
    change: &mut Change,
    message: &Message<'_>,
    (me, configuration): (MemberId, &Configuration),
    confirmation: Option<Confirmation>,
) -> Result<Option<Group>, Error> {
    let (operation, awaited) = (change.operation, change.epoch);
    let is_announced = change.joining.are_complete();
    let Part::Joins(joiner) = &mut change.part else {
        return Err(Misbehaviour::UnexpectedMessage.into());
    };
    let terms = (joiner.founder, &joiner.told[..]);
    require_welcome(message, (operation, awaited), terms, configuration.epoch_before())?;
    let claim = (message.from_member()?, message.header().epoch);
    let content = confirmation.is_none().then(|| message.content());
    let kind = (operation, configuration.profile());
    if let Some(content) = content {
        let welcome = Welcome::read(content, kind)?;
        if operation == Operation::Create {
            return enter(cx, change, claim, &welcome, (me, configuration)).map(Some);
        }
    }
    if let Some(offer) = joiner.offers.hear(claim, content, confirmation.clone())?
        && is_announced
    {
        let welcome = Welcome::read(offer.welcome.as_deref().unwrap_or_default(), kind)?;
        if offer.confirmation.as_ref() != Some(&welcome.confirmation) {
            return Err(Misbehaviour::Forged.into());
        }
        return enter(cx, change, claim, &welcome, (me, configuration)).map(Some);
    }
    joiner.offers.keep(claim, content, confirmation);
    Ok(None)
}

/// Enters by an offer that is complete, once all prekeys are there. Offers that turn out to be wrong
/// are passed over, as if they had been refused when they came.
pub(super) fn enter_if_offered(
    cx: &mut Context<'_>,
    change: &Change,
    (me, configuration): (MemberId, &Configuration),
) -> Option<Group> {
    let Part::Joins(joiner) = &change.part else { return None };
    let kind = (change.operation, configuration.profile());
    let mut offers = joiner.offers.complete().filter(|_| change.joining.are_complete());
    offers.find_map(|(offer, welcome, confirmation)| {
        let welcome = Welcome::read(welcome, kind).ok()?;
        let is_confirmed = *confirmation == welcome.confirmation;
        let claim = (offer.sender, offer.epoch);
        let entered = is_confirmed.then(|| enter(cx, change, claim, &welcome, (me, configuration)));
        entered?.ok()
    })
}

/// Sends the tree of a new group to all.
pub(super) fn send_setup(cx: &mut Context<'_>, group: &Group, confirmation: &Confirmation) {
    let mut draft = cx.draft(Recipient::Group, group.epoch, Operation::Create, SETUP);
    draft.bytes(&group.tree.to_bytes());
    confirmation.write(&mut draft);
    draft.send();
}

/// Sends the tree to a member that comes in, or back, with what the stage before gives to this one.
pub(super) fn send_tree(
    cx: &mut Context<'_>,
    group: &Group,
    operation: Operation,
    (to, tree): (MemberId, &[u8]),
) -> Result<(), Error> {
    let confirmation = Confirmation::of(cx, group.profile, group.epoch, &group.stage.group_key);
    let pair = Pairs::new(PAIR).with(cx, to)?;
    let (salt, key) = pair.message_key(cx, group.epoch);
    let mut draft = cx.draft(Recipient::Member(to), group.epoch, operation, TREE);
    draft.bytes(tree);
    pairs::write(&mut draft, &(salt, key), group.epoch, core::slice::from_ref(&group.stage.joiner));
    confirmation.write(&mut draft);
    draft.send();
    Ok(())
}

/// Comes back into a group that went on, by the answer of a member.
pub(super) fn come_back(
    cx: &mut Context<'_>,
    group: &Group,
    message: &Message<'_>,
    (me, configuration): (MemberId, &Configuration),
) -> Result<Group, Error> {
    let (sender, epoch) = (message.from_member()?, message.header().epoch);
    let profile = configuration.profile();
    let welcome = Welcome::read(message.content(), (Operation::CatchUp, profile))?;
    let tree = read_tree(cx, configuration, welcome.tree)?;
    let place = tree.place_of(me).filter(|_| tree.place_of(sender).is_some());
    let place = place.ok_or(Misbehaviour::InvalidRoster)?;
    let is_as_before = place == group.place && tree.leaf(place) == group.tree.leaf(place);
    let leaf = match (tree.leaf(place), &group.prekey) {
        (Some(leaf), _) if is_as_before => {
            let is_known = tree.public(2 * place) == group.tree.public(2 * place);
            group.leaf_secret().filter(|_| is_known).map(|secret| (secret.clone(), leaf))
        }
        // Another member set it up anew, because who had done so left.
        (Some(leaf @ Leaf::SetUp(_, setup)), Some(prekey)) if setup.prekey == prekey.public => {
            Some((leaf_secret(cx, setup, prekey, configuration)?, leaf))
        }
        _ => None,
    };
    let (secret, _) = leaf.ok_or(Misbehaviour::InvalidRoster)?;
    let leaf = (secret, group.prekey.clone());
    welcome.enter(cx, (sender, epoch, configuration), tree, place, leaf)
}

/// Enters a group.
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
    let tree = read_tree(cx, configuration, welcome.tree)?;
    let members: Vec<_> = tree.members().collect();
    let is_told = match change.operation {
        Operation::Create => joiner.told == members,
        _ => joiner.told.is_empty() || joiner.told == sorted(&members),
    };
    let expected = configuration.expects(members.iter().copied());
    let is_gone = change.leaving.iter().all(|&gone| !members.contains(&gone));
    if !is_told || !expected || !is_gone || !members.contains(&sender) {
        return Err(Misbehaviour::InvalidRoster.into());
    }
    // Each was set up by the sponsor, with the prekey that it announced to all.
    let are_set_up = change.joining.iter().all(|(member, prekey)| {
        let Some(prekey) = prekey else { return change.operation == Operation::Create };
        let leaf = tree.place_of(member).and_then(|place| tree.leaf(place));
        let is_as_announced = |setup: &Setup| setup.by == sender && setup.prekey == *prekey;
        matches!(leaf, Some(Leaf::SetUp(_, setup)) if is_as_announced(setup))
    });
    let place = tree.place_of(me).filter(|_| are_set_up).ok_or(Misbehaviour::InvalidRoster)?;
    let Some(Leaf::SetUp(_, setup)) = tree.leaf(place) else {
        return Err(Misbehaviour::InvalidRoster.into());
    };
    let secret = leaf_secret(cx, setup, &joiner.prekey, configuration)?;
    let leaf = (secret, Some(joiner.prekey.clone()));
    welcome.enter(cx, (sender, epoch, configuration), tree, place, leaf)
}

/// The secret of a leaf that another member set up by this member's prekey.
fn leaf_secret(
    cx: &mut Context<'_>,
    setup: &Setup,
    prekey: &Prekey,
    configuration: &Configuration,
) -> Result<Exponent, Error> {
    let own = (&prekey.secret, &prekey.public[..]);
    cx.complete_exchange(setup.by.into(), &setup.key, own, configuration.check())
}

/// Reads a tree that another member sent, of a size that a group can have. In the sound form nobody
/// but members knows the secret of a leaf.
fn read_tree(
    cx: &Context<'_>,
    configuration: &Configuration,
    bytes: &[u8],
) -> Result<ArtTree, Error> {
    let tree = ArtTree::from_bytes(element_bytes(cx), bytes)?;
    let members = sorted(&tree.members().collect::<Vec<_>>());
    require_size(configuration, members.len()).map_err(|_| Misbehaviour::InvalidRoster)?;
    let is_present = |by| members.binary_search(&by).is_ok();
    let are_present = configuration.profile().is_published()
        || tree.places().filter_map(|(_, leaf)| leaf.known_by()).all(is_present);
    if are_present { Ok(tree) } else { Err(Misbehaviour::InvalidRoster.into()) }
}

impl<'w> Welcome<'w> {
    fn read(body: &'w [u8], (operation, profile): (Operation, Profile)) -> Result<Self, Error> {
        let mut body = Reader::new(body);
        let tree = body.bytes()?;
        let joiner = match operation {
            Operation::Create => None,
            _ => Some((body.key()?, body.bytes()?)),
        };
        let confirmation = Confirmation::read(profile, &mut body)?;
        body.finish()?;
        Ok(Self { tree, joiner, confirmation })
    }

    /// The group by the secret of this member's leaf.
    fn enter(
        &self,
        cx: &mut Context<'_>,
        (sender, epoch, configuration): (MemberId, Epoch, &Configuration),
        tree: ArtTree,
        place: usize,
        leaf: (Exponent, Option<Prekey>),
    ) -> Result<Group, Error> {
        let joiner = match &self.joiner {
            Some((salt, wrapped)) => {
                let pair = Pairs::new(PAIR).with(cx, sender)?;
                let key = pair.key_of(cx, salt, epoch, sender.into());
                Some(cx.unwrap_key(&key, epoch, 0, wrapped)?)
            }
            None => None,
        };
        let profile = configuration.profile();
        Group::enter(cx, (epoch, configuration), tree, place, leaf, |cx, shared, context| {
            let stage = match joiner {
                Some(joiner) => Stage::told(cx, joiner, shared, context),
                None => Stage::after(cx, None, shared, context),
            };
            self.confirmation.verify(cx, profile, epoch, &stage.group_key)?;
            Ok(stage)
        })
    }
}

const PAIR: &str = "groupkey art pair";
