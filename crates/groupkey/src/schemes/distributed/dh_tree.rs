//! What TGDH, STR and DH-LKH share: a binary tree with the members at its leaves and a Diffie-Hellman
//! exchange at every node, and sponsors who make a part of it anew when somebody comes or goes.
//!
//! Each node has a secret exponent `k` and a blinded key `b = g^k`, which everybody knows. A leaf's
//! secret is its member's own. A node above two others has the shared element `b_left^k_right =
//! b_right^k_left`, and its secret is the hash of that, reduced modulo the order. So a member gets
//! from its own secret, with the blinded keys beside its path, up to the root's element, of which
//! the group key is derived. The schemes differ in where a new leaf goes and in how they create.
//!
//! ```text
//! JOIN,    new member to all:              its blinded key
//! PATH,    sponsor to all:                 its blinded keys, from the leaf up (one byte string), confirmation
//! STEP,    sponsor to all, in a creation:  a number, then as PATH
//! TREE,    to a newcomer or who asked:     [id, ..], form, b_1 .. b_2n-2 (one byte string), confirmation
//! REQUEST, from a member to all:           asks for the present tree
//! BRANCH,  when two groups merge, to all:  [id, ..], form, b_0 .. b_2n-2 (one byte string)
//! ```
//!
//! **Every change goes the same way** (`change.rs`). An event of membership tells everybody, without a
//! message, how the tree looks from now on, which blinded keys are missing and who makes which of
//! them. A sponsor tells its own all at once, when nothing is missing that it needs. When all are there,
//! everybody has the key. A member keeps the secrets below what has changed, so it raises to a power
//! once for each node from the lowest changed one up: a + 1 times, if that is at depth a.
//!
//! - **Join:** the sponsor is the rightmost leaf beside the newcomer. It draws a new secret and makes its
//!   path anew; PATH has the newcomer's blinded key, too, before its own. When the leftmost of the
//!   others has the key, it sends the newcomer the whole TREE.
//! - **Leave:** the rightmost leaf beside the old one draws a new secret and makes its path anew.
//! - **Rekey:** the same for the member whose turn it is: leaves from left to right, by the epoch. So all
//!   secrets are new after n of them.
//! - **Partition:** every leaf that goes leaves a sponsor behind. Of them the shallowest, of several the
//!   rightmost, draws a new secret; each makes what of its path no other one further right makes. In a
//!   skinny tree the lowest one makes everything.
//! - **Merge** (`merging.rs`): in each group the rightmost draws a new secret, makes its path anew and
//!   tells the whole tree, as BRANCH. Then the trees are put together, and a sponsor makes what is
//!   missing above the lower one.
//!
//! In the order of the tree, each node stands before those below it, the left half before the right;
//! the root's blinded key is told in BRANCH only. The form is the depth of each leaf, a byte each; STR
//! needs none. In the `sound` profile the confirmation (a key derived from the group key, 16 bytes) shows
//! that the sender has the same key before anybody takes it; of several sponsors, the rightmost sends it.
//! In `published` it is empty. The group key depends on the hash of the whole tree, each node's over
//! those of its halves (`key_tree/blinded.rs`), so that who computed it knows that all see the same tree.
//!
//! Blinded keys are kept as they came, and read, with all checks, by whoever uses them: at each change a
//! member uses those beside its path, which are few.
//!
//! A member that was asleep asks all; of the others, the leftmost answers with what is public. That
//! is enough, because a member's own secret changes only when it acts itself. Who was asleep when it
//! was the sponsor must join anew (the operation cannot complete without it).

mod arrival;
mod chain;
mod change;
mod climb;
mod events;
mod key_tree;
mod merging;

use alloc::vec::Vec;

pub(crate) use self::chain::Chain;
pub(crate) use self::change::{Change, Pace, Stage};
pub(crate) use self::climb::Ladder;
pub(crate) use self::key_tree::{KeyTree, Shape};
use self::change::Segment;
use self::merging::Merger;
use crate::context::Context;
use crate::crypto::group::{Check, Element};
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, Operation};
use crate::schemes::catalogue::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::Message;

/// What a sponsor has made, after a change.
pub(crate) const PATH: u8 = 0;
/// Asks for the present tree.
pub(crate) const REQUEST: u8 = 1;
/// The present tree.
pub(crate) const TREE: u8 = 2;
/// The blinded key of somebody who joins.
pub(crate) const JOIN: u8 = 3;
/// What a sponsor has made, in a creation: one of its parts, or one of the changes that it takes.
pub(crate) const STEP: u8 = 4;
/// The tree of a group that merges with another one.
pub(crate) const BRANCH: u8 = 5;

/// What a group can do once it is there.
pub(crate) const OPERATIONS: &[Operation] = &[
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Rekey,
    Operation::Merge,
    Operation::Partition,
];

/// The smallest and the largest group of a tree whose paths are short.
pub(crate) const MEMBERS: (u32, u32) = (2, 1 << 16);

/// What a member holds.
#[derive(Debug)]
pub(crate) struct Peer {
    me: MemberId,
    shape: Shape,
    profile: Profile,
    check: Check,
    /// The largest group.
    most: u32,
    epoch: Epoch,
    /// As it is after the change under way.
    tree: Option<KeyTree>,
    share: Option<Share>,
    change: Option<Change>,
    merger: Option<Merger>,
    /// Of one that has told its blinded key but is in no group yet.
    joining: Option<Ladder>,
    asked: bool,
    /// Whether the present tree came whole, so that what led to it may still come.
    came_whole: bool,
    temporary: usize,
}

#[derive(Debug)]
struct Share {
    ladder: Ladder,
    group_key: Key,
}

impl Peer {
    /// A member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId, shape: Shape) -> Self {
        Self {
            me,
            shape,
            profile: configuration.profile(),
            check: configuration.check(),
            most: configuration.scheme().members.1,
            epoch: configuration.epoch_before(),
            tree: None,
            share: None,
            change: None,
            merger: None,
            joining: None,
            asked: false,
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

    /// Takes every input but those of a creation.
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

    /// Refuses a creation that cannot be.
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

    /// Begins a change that leads to this tree, and does the own part in it.
    pub(crate) fn begin(
        &mut self,
        cx: &mut Context<'_>,
        mut tree: KeyTree,
        mut change: Change,
    ) -> Result<(), Error> {
        let key = self.advance(cx, &mut tree, &mut change)?;
        self.commit(cx, tree, change, key);
        Ok(())
    }

    /// Draws a secret and tells all its blinded key.
    pub(crate) fn tell_leaf(&self, cx: &mut Context<'_>, operation: Operation) -> Ladder {
        let (ladder, blinded) = Ladder::drawn(cx);
        // Somebody who joins a running group cannot know its epoch, unless it was told.
        let told = operation == Operation::Create || self.epoch != Epoch::default();
        let epoch = if told { self.epoch.next() } else { self.epoch };
        cx.draft(Recipient::Group, epoch, operation, JOIN).element(&blinded).send();
        ladder
    }

    /// Everybody hears who joins; the sponsor takes it in.
    fn receive_join(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        let awaited = self.tree.as_ref().zip(self.change.as_ref()).is_some_and(|(tree, change)| {
            let leaf = tree.leaf(member).filter(|&leaf| !tree.is_known(leaf) && member != self.me);
            let own = change.segment_of(self.me).map(Segment::left);
            let of_ours = leaf.zip(own).is_some_and(|(leaf, own)| own.contains(&leaf));
            of_ours && message.header().operation == change.operation
        });
        if awaited {
            let blinded = self.read_blinded(cx, message)?;
            return self.take_leaf(cx, member, blinded);
        }
        // It is for the sponsor.
        let known = self.tree.as_ref().map_or(self.joining.is_some(), |tree| tree.has(member));
        if known { Ok(()) } else { Err(Misbehaviour::UnexpectedSender.into()) }
    }

    /// As the sponsor, takes a member's blinded key, and does what is possible then.
    fn take_leaf(
        &mut self,
        cx: &mut Context<'_>,
        member: MemberId,
        blinded: &[u8],
    ) -> Result<(), Error> {
        let (mut tree, mut change) = self.take_change().ok_or(Misbehaviour::UnexpectedMessage)?;
        let leaf: Vec<_> = tree.leaf(member).into_iter().collect();
        tree.fill(&leaf, blinded);
        let mark = change.mark([self.me; 2]);
        let taken = self.advance(cx, &mut tree, &mut change);
        if taken.is_err() {
            change.roll_back(mark, &mut tree);
            tree.empty(&leaf);
        }
        self.settle(cx, tree, change, taken)
    }

    /// Takes what a sponsor has made.
    fn receive_path(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        if self.is_late(message, sender) {
            return Ok(());
        }
        self.expect(message)?;
        let mut body = message.body();
        let made = body.bytes()?;
        let confirmation = self.read_confirmation(body.bytes()?)?;
        body.finish()?;
        if self.merger.is_some() {
            return self.keep_early(sender, made, confirmation);
        }
        self.take_path(cx, sender, made, confirmation)
    }

    /// Takes a part of what a sponsor has to make in a creation.
    fn receive_step(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        self.expect(message)?;
        let mut body = message.body();
        let told = body.number()?;
        let made = body.bytes()?;
        let confirmation = self.read_confirmation(body.bytes()?)?;
        body.finish()?;
        let expected = |change: &Change| change.is_eager() && change.told_by(sender) as u64 == told;
        if !self.change.as_ref().is_some_and(expected) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.take_path(cx, sender, made, confirmation)
    }

    /// Takes the blinded keys that a sponsor has made, and does what is possible then.
    pub(crate) fn take_path(
        &mut self,
        cx: &mut Context<'_>,
        sender: MemberId,
        made: &[u8],
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        let (mut tree, mut change) = self.take_change().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mark = change.mark([sender, self.me]);
        let taken = self
            .enter(&mut tree, &mut change, sender, made, confirmation)
            .and_then(|()| self.advance(cx, &mut tree, &mut change));
        if taken.is_err() {
            change.roll_back(mark, &mut tree);
        }
        self.settle(cx, tree, change, taken)
    }

    /// Enters into the tree what a sponsor has made.
    fn enter(
        &self,
        tree: &mut KeyTree,
        change: &mut Change,
        sender: MemberId,
        made: &[u8],
        confirmation: Option<Key>,
    ) -> Result<(), Error> {
        let nodes = change.expect(sender, made.len(), tree.width())?;
        let closes = sender == change.closer && !matches!(change.stage, Stage::Inner(_));
        let must_confirm = closes && !change.is_eager() && self.profile == Profile::Sound;
        let is_last = change.segment_of(sender).map_or(0, |own| own.left().len()) == nodes.len();
        if confirmation.is_some() && (!closes || !is_last || change.confirmation.is_some())
            || confirmation.is_none() && (must_confirm || made.is_empty())
        {
            return Err(Misbehaviour::Malformed.into());
        }
        // Who told its blinded key will not let others tell another one.
        let own = tree.leaf(self.me).and_then(|leaf| nodes.iter().position(|&node| node == leaf));
        if let Some(place) = own
            && change.ladder.leaf != made[place * tree.width()..][..tree.width()]
        {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        tree.fill(&nodes, made);
        change.proceed(sender, nodes.len());
        change.confirmation = change.confirmation.take().or(confirmation);
        Ok(())
    }

    /// Makes and tells the own part of a change, if it is time, and returns the key, if all is there and
    /// the key was confirmed. What it did to tree and change on an error, its caller takes back.
    fn advance(
        &self,
        cx: &mut Context<'_>,
        tree: &mut KeyTree,
        change: &mut Change,
    ) -> Result<Option<Key>, Error> {
        let told = change.told_by(self.me);
        let made = self.make_own(cx, tree, change)?;
        let sound = self.profile == Profile::Sound;
        let closes = change.closer == self.me;
        let confirmed = closes || !sound || change.confirmation.is_some();
        let inner = matches!(change.stage, Stage::Inner(_));
        let key = if change.has_all() && confirmed && !inner {
            Some(self.complete(cx, tree, &mut change.ladder, change.epoch)?)
        } else {
            None
        };
        let proof = key.as_ref().and_then(|key| self.confirmation(cx, key));
        if !closes && proof != change.confirmation && key.is_some() {
            return Err(Misbehaviour::Forged.into());
        }
        let proof = proof.filter(|_| closes);
        if !made.is_empty() || proof.is_some() {
            let step = match change.stage {
                Stage::Inner(leaves) | Stage::Last(leaves) => Some(leaves),
                Stage::Only => change.is_eager().then_some(told),
            };
            let kind = if step.is_some() { STEP } else { PATH };
            let mut draft = cx.draft(Recipient::Group, change.epoch, change.operation, kind);
            if let Some(step) = step {
                draft.number(step as u64);
            }
            draft.bytes(&made).bytes(proof.as_ref().map_or(&[], |key| key.as_bytes())).send();
        }
        Ok(key)
    }

    /// Makes the blinded keys that are the own part of a change, as far as can be and should be.
    fn make_own(
        &self,
        cx: &mut Context<'_>,
        tree: &mut KeyTree,
        change: &mut Change,
    ) -> Result<Vec<u8>, Error> {
        let mut made = Vec::new();
        let Some(segment) = change.segment_of(self.me) else { return Ok(made) };
        let left = segment.left().to_vec();
        let path = tree.path(self.me);
        let beside_is_known =
            |node: &&usize| tree.sibling(**node).is_some_and(|node| tree.is_known(node));
        // How many secrets can be there, the root's included, and how many are needed.
        let possible = path.iter().take_while(beside_is_known).count() + 1;
        let needed = path.iter().position(|node| left.last() == Some(node)).map_or(1, |top| top + 1);
        let height = possible.min(needed);
        let is_ready = if change.is_eager() {
            true
        } else if change.closer == self.me {
            possible == path.len() && change.waits_only_for(self.me)
        } else {
            height == needed
        };
        if !is_ready {
            return Ok(made);
        }
        let from = change.ladder.height().max(1);
        let beside = path.get(from - 1..height - 1).unwrap_or(&[]);
        let beside = climb::beside(cx, tree, beside, self.check)?;
        change.ladder.draw(cx);
        change.ladder.climb(cx, &beside);
        let mut count = 0;
        for &node in &left {
            match path.iter().position(|&other| other == node) {
                Some(place) if place < height => change.ladder.blind(cx, place, &mut made),
                Some(_) => break,
                // Its member told it.
                None => made.extend_from_slice(tree.blinded(node).unwrap_or(&[])),
            }
            count += 1;
        }
        tree.fill(&left[..count], &made);
        change.proceed(self.me, count);
        Ok(made)
    }

    /// Goes up to the root of a tree in which nothing is missing, and derives the group key.
    fn complete(
        &self,
        cx: &mut Context<'_>,
        tree: &mut KeyTree,
        ladder: &mut Ladder,
        epoch: Epoch,
    ) -> Result<Key, Error> {
        let path = tree.path(self.me);
        let from = ladder.height().checked_sub(1).ok_or(Misbehaviour::NothingForUs)?;
        let way = path.get(from..path.len() - 1).ok_or(Misbehaviour::NothingForUs)?;
        let beside = climb::beside(cx, tree, way, self.check)?;
        let (last, beside) = beside.split_last().ok_or(Misbehaviour::NothingForUs)?;
        ladder.climb(cx, beside);
        let shared = ladder.reach(cx, last);
        let digest = tree.digest(cx);
        Ok(climb::group_key(cx, shared, epoch, &digest))
    }

    /// What shows that one has the group key, in the `sound` profile.
    fn confirmation(&self, cx: &mut Context<'_>, group_key: &Key) -> Option<Key> {
        let sound = self.profile == Profile::Sound;
        sound.then(|| cx.derive(group_key, "groupkey dh tree confirmation", &[]))
    }

    pub(crate) fn read_confirmation(&self, bytes: &[u8]) -> Result<Option<Key>, Error> {
        match (bytes.is_empty(), self.profile) {
            (true, _) => Ok(None),
            (false, Profile::Published) => Err(Misbehaviour::Malformed.into()),
            (false, Profile::Sound) => {
                let key = bytes.try_into().map_err(|_| Misbehaviour::Malformed)?;
                Ok(Some(Key::from_bytes(key)))
            }
        }
    }

    /// Reads the blinded key of somebody who joins; returns it as it came.
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
    pub(crate) fn expect(&self, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let is_of = |change: &Change| {
            (change.epoch, change.operation) == (header.epoch, header.operation)
        };
        if self.change.as_ref().is_some_and(is_of) {
            return Ok(());
        }
        // Whoever is in the group must learn that it has missed something.
        if self.share.is_some() {
            message.follows(self.epoch)?;
        }
        Err(Misbehaviour::UnexpectedMessage.into())
    }

    /// Whether a message led to the tree that came whole, or will.
    fn is_late(&self, message: &Message<'_>, sender: MemberId) -> bool {
        let known = self.tree.as_ref().is_some_and(|tree| tree.has(sender));
        self.joining.is_some() && self.tree.is_none()
            || self.came_whole && known && message.header().epoch == self.epoch
    }

    /// Takes out the change under way and its tree, which must be put back.
    fn take_change(&mut self) -> Option<(KeyTree, Change)> {
        self.tree.take_if(|_| self.change.is_some()).zip(self.change.take())
    }

    /// Puts tree and change back, as they are after what was taken or refused.
    fn settle(
        &mut self,
        cx: &mut Context<'_>,
        tree: KeyTree,
        change: Change,
        taken: Result<Option<Key>, Error>,
    ) -> Result<(), Error> {
        let (key, result) = match taken {
            Ok(key) => (key, Ok(())),
            Err(error) => (None, Err(error)),
        };
        self.commit(cx, tree, change, key);
        result
    }

    /// The tree is this one now; with a key, the change is over.
    fn commit(
        &mut self,
        cx: &mut Context<'_>,
        tree: KeyTree,
        change: Change,
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

    /// The group has this key now; so many blinded keys were new.
    fn install(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        tree: KeyTree,
        ladder: Ladder,
        group_key: Key,
        fresh: usize,
    ) {
        let held = ladder.stored_bytes() + (fresh + 1) * Element::length(cx.suite());
        self.temporary = self.temporary.max(held);
        self.came_whole = false;
        self.epoch = epoch;
        self.tree = Some(tree);
        self.share = Some(Share { ladder, group_key });
        self.change = None;
        self.merger = None;
        self.joining = None;
        self.asked = false;
        cx.event(Event::Rekeyed(epoch));
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.share.as_ref().map(|share| (self.epoch, &share.group_key))
    }

    /// Permanent: the own secret and those above it, the group key, and the blinded keys, which are
    /// public but must be kept. Temporary: the secrets and blinded keys that replace others, and the
    /// shared element.
    pub(crate) fn footprint(&self) -> Footprint {
        let permanent = self.share.as_ref().map_or(0, |share| {
            let tree = self.tree.as_ref().map_or(0, KeyTree::stored_bytes);
            share.ladder.stored_bytes() + Key::BYTES + tree
        });
        Footprint { permanent, temporary: self.temporary }
    }

    fn require_idle(&self) -> Result<(), Error> {
        if self.change.is_some() || self.joining.is_some() {
            return Err(Misuse::OperationUnderWay.into());
        }
        Ok(())
    }

    fn require_room(&self, members: usize) -> Result<(), Error> {
        if members > self.most as usize {
            return Err(Unsupported::TooManyMembers { limit: self.most }.into());
        }
        Ok(())
    }
}

/// A member that is named twice.
fn repetition(members: &[MemberId]) -> Option<MemberId> {
    let mut sorted = members.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn stranger() -> Result<(), Error> {
    Err(Misbehaviour::UnexpectedSender.into())
}

fn not_created() -> Error {
    Misuse::NotCreated.into()
}

#[cfg(test)]
mod tests;
