//! A member of a group with a tree of Diffie-Hellman keys.

use alloc::vec::Vec;

use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::dh_tree::change::TreeChange;
use crate::mechanisms::dh_tree::climb::Ladder;
use crate::mechanisms::dh_tree::key_tree::{DhKeyTree, Shape};
use crate::mechanisms::dh_tree::merging::TreeMerger;
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, KeyNode, Operation};
use crate::scheme::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::Message;

/// The blinded keys that a sponsor has made, after a change.
pub(crate) const PATH: u8 = 0;
/// Asks for the current tree.
pub(crate) const REQUEST: u8 = 1;
pub(crate) const TREE: u8 = 2;
/// The blinded key of a joining member.
pub(crate) const JOIN: u8 = 3;
/// What a sponsor has made in a creation: one of its parts, or one of the creation's changes.
pub(crate) const STEP: u8 = 4;
/// The tree of a group that merges with another one.
pub(crate) const BRANCH: u8 = 5;

/// The smallest and the largest group of a tree whose paths are short.
pub(crate) const MEMBERS: (u32, u32) = (2, 1 << 16);

/// What a member holds.
#[derive(Debug)]
pub(crate) struct TreePeer {
    pub(super) me: MemberId,
    pub(super) shape: Shape,
    pub(super) configuration: Configuration,
    pub(super) profile: Profile,
    pub(super) check: ElementCheck,
    /// The largest group.
    pub(super) most: u32,
    pub(super) epoch: Epoch,
    /// The tree after the change under way.
    pub(super) tree: Option<DhKeyTree>,
    pub(super) share: Option<TreeShare>,
    pub(super) change: Option<TreeChange>,
    pub(super) merger: Option<TreeMerger>,
    /// What came before what it must be checked against.
    pub(super) early: Option<EarlyPath>,
    /// The secrets of a member that has sent its blinded key but is in no group yet.
    pub(super) joining: Option<Ladder>,
    pub(super) asked: CatchUpRequest,
    /// Whether the current tree arrived whole. Messages that led to it may then still arrive.
    pub(super) came_whole: bool,
    pub(super) temporary: usize,
}

#[derive(Debug)]
pub(super) struct TreeShare {
    pub(super) ladder: Ladder,
    pub(super) group_key: Key,
}

/// What a sponsor has made of a tree of which something else is missing.
#[derive(Debug)]
pub(super) struct EarlyPath {
    pub(super) sender: MemberId,
    pub(super) made: Vec<u8>,
    pub(super) confirmation: Option<Key>,
}

impl TreePeer {
    /// A member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId, shape: Shape) -> Self {
        Self {
            me,
            shape,
            configuration: configuration.clone(),
            profile: configuration.profile(),
            check: configuration.check(),
            most: configuration.scheme().members.1,
            epoch: configuration.epoch_before(),
            tree: None,
            share: None,
            change: None,
            merger: None,
            early: None,
            joining: None,
            asked: CatchUpRequest::default(),
            came_whole: false,
            temporary: 0,
        }
    }

    pub(crate) const fn me(&self) -> MemberId {
        self.me
    }

    pub(crate) const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Takes every input except those of a creation.
    pub(crate) fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::CatchUp) => self.ask(cx),
            Input::Command(Command::Merge { members, epoch }) => self.merge(cx, members, epoch),
            Input::Command(Command::Partition(apart)) => self.partition(cx, apart),
            Input::Command(Command::Rekey) => self.rekey(cx),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Command(Command::Create(_) | Command::Enroll(_)) => {
                Err(Misuse::WrongRole.into())
            }
            Input::Command(Command::Batch { .. } | Command::Grant { .. } | Command::Send) => {
                Err(Unsupported::Operation.into())
            }
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::Create | Operation::Add, JOIN) => self.receive_join(cx, &message),
                (Operation::Add, TREE) => self.receive_first_tree(cx, &message),
                (Operation::CatchUp, REQUEST) => self.answer(cx, &message),
                (Operation::CatchUp, TREE) => self.catch_up(cx, &message),
                (Operation::Merge, BRANCH) => self.receive_branch(cx, &message),
                (Operation::Create, STEP) => self.receive_step(cx, &message),
                (_, PATH) => self.receive_path(cx, &message),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            },
        }
    }

    /// Refuses a creation that is not possible.
    pub(crate) fn require_creatable(&self, members: &[MemberId]) -> Result<(), Error> {
        if self.share.is_some() {
            return Err(Misuse::AlreadyCreated.into());
        }
        self.require_idle()?;
        if members.len() < 2 {
            return Err(Misuse::TooFewMembers.into());
        }
        self.require_room(members.len())?;
        if let Some(member) = repetition(members) {
            return Err(Misuse::AlreadyMember(member).into());
        }
        if !members.contains(&self.me) {
            return Err(Misuse::NotMember(self.me).into());
        }
        Ok(())
    }

    /// Begins a change that leads to this tree, and does this member's part in it.
    pub(crate) fn begin(
        &mut self,
        cx: &mut Context<'_>,
        mut tree: DhKeyTree,
        mut change: TreeChange,
    ) -> Result<(), Error> {
        let key = self.advance(cx, &mut tree, &mut change)?;
        self.commit(cx, tree, change, key);
        Ok(())
    }

    /// Draws a secret and sends its blinded key to all members.
    pub(crate) fn tell_leaf(&self, cx: &mut Context<'_>, operation: Operation) -> Ladder {
        let (ladder, blinded) = Ladder::drawn(cx);
        // A member that joins a running group cannot know its epoch, unless it was told.
        let told = operation == Operation::Create || self.epoch != Epoch::default();
        let epoch = if told { self.epoch.next() } else { self.epoch };
        cx.draft(Recipient::Group, epoch, operation, JOIN).element(&blinded).send();
        ladder
    }

    /// The confirmation that this member has the group key, in the `sound` profile.
    pub(super) fn confirmation(&self, cx: &mut Context<'_>, group_key: &Key) -> Option<Key> {
        let sound = self.profile == Profile::Sound;
        sound.then(|| cx.derive(group_key, "groupkey dh tree confirmation", &[]))
    }

    pub(crate) fn read_confirmation(&self, bytes: &[u8]) -> Result<Option<Key>, Error> {
        if bytes.is_empty() {
            return Ok(None);
        }
        match bytes.try_into() {
            Ok(key) if !self.profile.is_published() => Ok(Some(Key::from_bytes(key))),
            _ => Err(Misbehaviour::Malformed.into()),
        }
    }

    /// Reads the blinded key of a joining member. Returns it as received.
    pub(crate) fn read_blinded<'m>(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'m>,
    ) -> Result<&'m [u8], Error> {
        let mut body = message.body();
        let bytes = body.bytes()?;
        body.finish()?;
        cx.element(bytes, self.check)?;
        Ok(bytes)
    }

    /// Refuses a message that is not of the change under way.
    pub(crate) fn require_under_way(&self, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let is_of = |change: &TreeChange| {
            (change.epoch, change.operation) == (header.epoch, header.operation)
        };
        if self.change.as_ref().is_some_and(is_of) {
            return Ok(());
        }
        // A member must learn that it missed something.
        if self.share.is_some() {
            message.require_next_epoch(self.epoch)?;
        }
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    /// Whether a message led to the tree that arrived whole, or leads to one that will.
    pub(super) fn is_late(&self, message: &Message<'_>, sender: MemberId) -> bool {
        let known = self.tree.as_ref().is_some_and(|tree| tree.has(sender));
        self.joining.is_some() && self.tree.is_none()
            || self.came_whole && known && message.header().epoch == self.epoch
    }

    /// Whether this member joins in the change under way, and its blinded key has not arrived.
    pub(super) fn awaits_newcomer(&self, member: MemberId) -> bool {
        self.change.as_ref().is_some_and(|change| change.awaits_newcomer(member))
    }

    /// Whether the blinded key of a joining member has not arrived.
    pub(super) fn awaits_newcomers(&self) -> bool {
        self.change.as_ref().is_some_and(TreeChange::awaits_newcomers)
    }

    /// Takes out the change under way and its tree. The caller must put them back.
    pub(super) fn take_change(&mut self) -> Option<(DhKeyTree, TreeChange)> {
        self.tree.take_if(|_| self.change.is_some()).zip(self.change.take())
    }

    /// Puts tree and change back after a message was taken or refused.
    pub(super) fn settle(
        &mut self,
        cx: &mut Context<'_>,
        tree: DhKeyTree,
        change: TreeChange,
        taken: Result<Option<Key>, Error>,
    ) -> Result<(), Error> {
        let (key, result) = match taken {
            Ok(key) => (key, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.commit(cx, tree, change, key);
        result
    }

    /// Makes this tree the current one. If there is a key, the change is over.
    pub(super) fn commit(
        &mut self,
        cx: &mut Context<'_>,
        tree: DhKeyTree,
        change: TreeChange,
        key: Option<Key>,
    ) {
        let Some(group_key) = key else {
            (self.tree, self.change) = (Some(tree), Some(change));
            return;
        };
        if let Some(newcomer) = change.newcomer
            && tree.leftmost_but(&[newcomer, change.closer]) == Some(self.me)
        {
            let to = (newcomer, change.epoch, Operation::Add);
            self.send_tree(cx, to, &tree, &group_key);
        }
        let all_is_new = change.operation == Operation::Merge;
        let fresh = if all_is_new { 2 * tree.len() - 2 } else { change.len() };
        self.install(cx, change.epoch, tree, change.ladder, group_key, fresh);
    }

    /// Installs the group key. `fresh` is the number of new blinded keys.
    pub(super) fn install(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        tree: DhKeyTree,
        ladder: Ladder,
        group_key: Key,
        fresh: usize,
    ) {
        let held = ladder.stored_bytes() + (fresh + 1) * Element::length(cx.suite());
        self.temporary = self.temporary.max(held);
        self.came_whole = false;
        self.epoch = epoch;
        self.tree = Some(tree);
        self.share = Some(TreeShare { ladder, group_key });
        self.change = None;
        self.merger = None;
        self.early = None;
        self.joining = None;
        self.asked.forget();
        cx.event(Event::Rekeyed(epoch));
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.share.as_ref().map(|share| (self.epoch, &share.group_key))
    }

    pub(crate) fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        let settled = self.tree.as_ref().zip(self.share.as_ref());
        settled.map(|(tree, share)| tree.shown(cx, &share.group_key)).unwrap_or_default()
    }

    /// Permanent: this member's secret and those above it, the group key, and the blinded keys,
    /// which are public but must be kept. Temporary: the secrets and blinded keys that replace
    /// others, and the shared element.
    pub(crate) fn footprint(&self) -> Footprint {
        let permanent = self.share.as_ref().map_or(0, |share| {
            let tree = self.tree.as_ref().map_or(0, DhKeyTree::stored_bytes);
            share.ladder.stored_bytes() + Key::BYTES + tree
        });
        Footprint { permanent, temporary: self.temporary }
    }

    pub(super) fn require_idle(&self) -> Result<(), Error> {
        if self.change.is_some() || self.joining.is_some() {
            return Err(Misuse::OperationUnderWay.into());
        }
        Ok(())
    }

    pub(super) fn require_room(&self, members: usize) -> Result<(), Error> {
        if members > self.most as usize {
            return Err(Unsupported::TooManyMembers { limit: self.most }.into());
        }
        Ok(())
    }
}

pub(super) fn repetition(members: &[MemberId]) -> Option<MemberId> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

pub(super) fn stranger() -> Result<(), Error> {
    Err(Misbehaviour::UnexpectedSender.into())
}

pub(super) fn not_created() -> Error {
    Misuse::NotCreated.into()
}
