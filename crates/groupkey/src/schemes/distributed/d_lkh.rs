//! D-LKH (Rodeh, Birman and Dolev): LKH's key tree without a key server. Members merge subtrees,
//! and the leaders of two agree on the key above them; everybody knows the keys above itself,
//! nobody the whole tree's.
//!
//! Source: Rodeh, Birman, Dolev, "Optimized rekey for group communication systems", NDSS 2000.
//! Class: distributed. Provenance: reconstructed: the paper could be read in outline only; who
//! draws what for whom is published, the optimized change follows what is said of it, all
//! encodings are ours.
//!
//! The members are the leaves of a binary tree; the group key is the root's. A node's leader is
//! the leftmost leaf below it. Two members exchange keys over the confidential channel of their
//! pair; the members below a node are sent keys wrapped under the node's key.
//!
//! **Merging**, in a creation at every node: the left half's leader draws the node's key, sends it
//! to the right half's, and each sends it to its own half. **A change:** the sponsor is the
//! neighbour of who joins, or the leader of the half beside who leaves. It draws all keys above
//! itself anew (those above that half), and sends each half beside its path, through its leader,
//! the keys above it.
//!
//! | operation | unicasts | multicasts | most keys wrapped: sponsor; another leader |
//! |---|---|---|---|
//! | create, n members | n - 1 | n - 2 | 2 a level that it leads, and 1; the same |
//! | add, newcomer at depth h | h | halves of 2 or more beside the path | h(h + 1) / 2; h - 1 |
//! | remove, h nodes above the half S | h | the same, and 1 if S has 2 or more | h(h + 3) / 2; h |
//! | catch up | 1 | 1 request | h |
//!
//! In the sound profile one broadcast more: the sponsor confirms the key. Where who leaves was one
//! half of the whole group, the other half's key, which is the root's then, is new: 1 multicast. A
//! member unwraps once in a change, once a level in a creation. Each unicast takes 1
//! exponentiation at both ends if the two never met, and a derivation at both. Keys held: one for
//! each level, at most ⌈log_2 n⌉ in a tree that only grew, the root's being the group key, and one
//! for each member met.
//!
//! ```text
//! KEYS,    sponsor or left leader to a leader:  salt, {keys}_pair
//! SPREAD,  leader to all:                       width of its half, {keys}_half
//! WELCOME, sponsor to newcomer:                 [id, ..], depths, salt, {keys}_pair
//! CONFIRM, sponsor to all, sound:               confirmation, 16 bytes
//! REQUEST, member to all
//! ANSWER,  neighbour to member:                 [id, ..], depths, salt, {keys}_pair
//! ```
//!
//! Keys stand from the lowest node to the root. `SPREAD` goes to all, and whoever is not below the
//! node that sender and width name lets it pass: a subset's topic would have to be there before
//! the message that makes the subset. The confirmation is derived from the group key for group,
//! epoch, members and tree; the sponsor of a creation is the first member. What is drawn for one
//! change fits no other: a pair's message is wrapped under a key of its own, a half's with the
//! confirmation of this epoch.
//!
//! Nobody is known to be trusted but who is a member: leaders are believed. With the confirmation,
//! one that hands on other keys than it got is noticed by those that it betrays.
//!
//! Deviations: in a creation leaders draw at once, so it takes two rounds instead of two a level.
//! The tree is kept as flat as insertion can, not as an AVL tree. Confirmation and catching up are
//! ours. Merging and splitting groups is left out. Three must join anew: who was asleep when it
//! had to hand keys on, a sponsor that was asleep, and who was evicted in its sleep.

mod change;
mod creation;

use alloc::boxed::Box;
use alloc::vec::Vec;

use self::change::Change;
use self::creation::Creation;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::outbox::Recipient;
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{Configuration, Profile, Provenance, Recovery, Scheme};
use crate::schemes::distributed::gdh::{self, View, require_sender};
use crate::schemes::distributed::member_tree::MemberTree;
use crate::schemes::distributed::pairs::{self, Pair, Pairs};
use crate::schemes::growth::{Form, Growth, Role};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    growth: &[
        Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
        Growth::of(Role::Sponsor, Form::Logarithmic, &Operation::MEASURED),
    ],
    ..gdh::entry(
        "d-lkh",
        "D-LKH, a key tree without a key server",
        Provenance::Reconstructed,
        "Rodeh, Birman and Dolev 2000",
        Recovery::Request,
        |configuration, me| Box::new(Member::new(configuration, me)),
    )
};

/// A member.
#[derive(Debug)]
pub struct Member {
    view: View,
    sound: bool,
    pairs: Pairs,
    share: Option<Share>,
    run: Run,
    /// A confirmation that came to a newcomer before its welcome: of whom, for which epoch.
    early: Option<(MemberId, Epoch, Key)>,
    asked: bool,
    temporary: usize,
}

const KEYS: u8 = 0;
const SPREAD: u8 = 1;
const WELCOME: u8 = 2;
const CONFIRM: u8 = 3;
const REQUEST: u8 = 4;
const ANSWER: u8 = 5;

/// What lasts between operations.
#[derive(Debug)]
struct Share {
    tree: MemberTree,
    /// From the lowest node above the own leaf to the root.
    keys: Vec<Key>,
}

/// What is under way.
#[derive(Debug)]
enum Run {
    Change(Change),
    Creation(Creation),
    None,
}

/// What must still come before the group key is taken: the keys, the sponsor's confirmation, or
/// both.
#[derive(Debug)]
struct Outcome {
    tree: MemberTree,
    sponsor: MemberId,
    keys: Option<Vec<Key>>,
    confirmation: Option<Key>,
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            sound: configuration.profile() == Profile::Sound,
            pairs: Pairs::new("groupkey d-lkh pair"),
            share: None,
            run: Run::None,
            early: None,
            asked: false,
            temporary: 0,
        }
    }

    fn take(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        match (message.header().operation, message.header().kind) {
            (Operation::Create | Operation::Add | Operation::Remove, SPREAD) => {
                self.receive_spread(cx, message)
            }
            (Operation::Create, KEYS) => self.receive_offer(cx, message),
            (Operation::Add | Operation::Remove, KEYS) => self.receive_keys(cx, message),
            (Operation::Add, WELCOME) => self.receive_welcome(cx, message),
            (Operation::Create | Operation::Add | Operation::Remove, CONFIRM) => {
                self.receive_confirmation(cx, message)
            }
            (Operation::CatchUp, REQUEST) => self.answer(cx, message),
            (Operation::CatchUp, ANSWER) => self.catch_up(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Everybody hears what a leader sends to its half; whoever is not in it lets it pass.
    fn receive_spread(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let mut body = message.body();
        let width = body.number32()? as usize;
        let wrapped = body.bytes()?;
        body.finish()?;
        let tree = match (&self.run, &self.share) {
            (Run::Change(change), _) => change.tree(),
            (Run::Creation(creation), _) => creation.tree(),
            (Run::None, Some(share)) => &share.tree,
            // A newcomer that was not told yet who is there: it is in no half.
            (Run::None, None) if self.view.is_joining() => return Ok(()),
            (Run::None, None) => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        if !tree.is_heard(self.view.me(), sender, width, self.view.roster())? {
            let missed = message.header().epoch > self.view.epoch();
            return if missed { message.follows(self.view.epoch()) } else { Ok(()) };
        }
        let node = tree.led_by(sender, width).ok_or(Misbehaviour::UnexpectedSender)?;
        self.view.expect(message)?;
        match &self.run {
            Run::Change(_) => self.take_spread_keys(cx, message, sender, node, wrapped),
            Run::Creation(_) => self.take_merged_key(cx, message, node, wrapped),
            Run::None => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn receive_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if !self.sound {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let bytes = body.bytes()?.try_into().map_err(|_| Misbehaviour::Malformed)?;
        body.finish()?;
        let epoch = message.header().epoch;
        if self.view.is_joining() && epoch > self.view.epoch() {
            // What goes to all may overtake what goes to the newcomer alone.
            self.early = Some((message.from_member()?, epoch, Key::from_bytes(bytes)));
            return Ok(());
        }
        self.view.expect(message)?;
        let outcome = match &mut self.run {
            Run::Change(change) => change.outcome_mut(),
            Run::Creation(creation) => creation.outcome_mut(),
            Run::None => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        require_sender(message, outcome.sponsor)?;
        if outcome.confirmation.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let confirmation = Key::from_bytes(bytes);
        if let Some(keys) = &outcome.keys {
            verify(cx, epoch, &outcome.tree, keys, &confirmation)?;
        }
        outcome.confirmation = Some(confirmation);
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    /// Takes the group key if keys and, where it must be, confirmation are there.
    fn settle_if_complete(&mut self, cx: &mut Context<'_>, epoch: Epoch) {
        let sound = self.sound;
        let outcome = match &mut self.run {
            Run::Change(change) => change.outcome_mut(),
            Run::Creation(creation) => creation.outcome_mut(),
            Run::None => return,
        };
        if sound && outcome.confirmation.is_none() {
            return;
        }
        let Some(keys) = outcome.keys.take() else { return };
        let tree = outcome.tree.clone();
        self.install(cx, epoch, tree, keys);
    }

    fn install(&mut self, cx: &mut Context<'_>, epoch: Epoch, tree: MemberTree, keys: Vec<Key>) {
        let roster = tree.roster();
        self.pairs.retain(&roster);
        self.temporary = self.temporary.max(keys.len() * Key::BYTES);
        self.share = Some(Share { tree, keys });
        self.run = Run::None;
        self.early = None;
        self.asked = false;
        self.view.settle(cx, epoch, roster);
    }

    /// As the sponsor, which has the key already, tells everybody that it has.
    fn confirm(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        tree: &MemberTree,
        keys: &[Key],
    ) {
        if self.sound {
            let confirmation = confirmation(cx, epoch, tree, keys);
            let mut draft = cx.draft(Recipient::Group, epoch, operation, CONFIRM);
            draft.bytes(confirmation.as_bytes()).send();
        }
    }

    fn keep(&mut self, met: Vec<Pair>) {
        met.into_iter().for_each(|pair| self.pairs.keep(pair));
    }

    /// Asks for what was missed.
    fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.share.is_none() {
            return Err(Misuse::NotCreated.into());
        }
        cx.draft(Recipient::Group, self.view.epoch(), Operation::CatchUp, REQUEST).send();
        self.asked = true;
        Ok(())
    }

    /// Everybody hears a request; the leader of the half beside the asking member has its keys.
    fn answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let Some(Share { tree, keys }) = &self.share else { return Ok(()) };
        let path = tree.path(member);
        let Some(lowest) = path.first().filter(|_| member != self.view.me()) else {
            return Err(Misbehaviour::UnexpectedSender.into());
        };
        if tree.leader(lowest.sibling) != Some(self.view.me()) {
            return Ok(());
        }
        let epoch = self.view.epoch();
        let pair = self.pairs.with(cx, member)?;
        let key = pair.message_key(cx, epoch);
        let to = Recipient::Member(member);
        let mut draft = cx.draft(to, epoch, Operation::CatchUp, ANSWER);
        tree.write(&mut draft);
        pairs::write(&mut draft, &key, epoch, &keys[keys.len() - path.len()..]);
        draft.send();
        self.pairs.keep(pair);
        Ok(())
    }

    fn catch_up(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if !self.asked {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.is_later_than(self.view.epoch())?;
        let mut body = message.body();
        let tree = MemberTree::read(&mut body)?;
        let path = tree.path(self.view.me());
        let lowest = path.first().ok_or(Misbehaviour::NothingForUs)?;
        let sender = message.from_member()?;
        if tree.leader(lowest.sibling) != Some(sender) {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, sender)?;
        let keys = pair.read(cx, &mut body, epoch, path.len())?;
        body.finish()?;
        self.pairs.keep(pair);
        self.install(cx, epoch, tree, keys);
        Ok(())
    }
}

impl Outcome {
    /// Nothing is there yet.
    fn awaited(tree: MemberTree, sponsor: MemberId) -> Self {
        Self { tree, sponsor, keys: None, confirmation: None }
    }

    /// Refuses keys that a confirmation, if it is there, does not fit.
    fn must_fit(&self, cx: &mut Context<'_>, epoch: Epoch, keys: &[Key]) -> Result<(), Error> {
        match &self.confirmation {
            Some(confirmation) => verify(cx, epoch, &self.tree, keys, confirmation),
            None => Ok(()),
        }
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(
                Command::Batch { .. }
                | Command::Grant { .. }
                | Command::Merge { .. }
                | Command::Partition(_)
                | Command::Rekey
                | Command::Send,
            ) => Err(Unsupported::Operation.into()),
            Input::Command(Command::CatchUp) => self.ask(cx),
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(_)) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.take(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        let key = self.share.as_ref().and_then(|share| share.keys.last());
        key.map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the keys above the own leaf, the last of which is the group key, and those of
    /// pairs that have met. Temporary: as many keys as come anew.
    fn footprint(&self) -> Footprint {
        let keys = self.share.as_ref().map_or(0, |share| share.keys.len() * Key::BYTES);
        Footprint { permanent: keys + self.pairs.stored_bytes(), temporary: self.temporary }
    }
}

/// Shows who has the group key, and in which tree.
fn confirmation(cx: &mut Context<'_>, epoch: Epoch, tree: &MemberTree, keys: &[Key]) -> Key {
    let root = keys.last().cloned().unwrap_or_default();
    tree.confirmation(cx, epoch, &root, "groupkey d-lkh confirmation")
}

fn verify(
    cx: &mut Context<'_>,
    epoch: Epoch,
    tree: &MemberTree,
    keys: &[Key],
    claimed: &Key,
) -> Result<(), Error> {
    if confirmation(cx, epoch, tree, keys) == *claimed {
        Ok(())
    } else {
        Err(Misbehaviour::Forged.into())
    }
}

/// Sends keys to the members below a node that this one leads, under that node's key.
fn spread(
    cx: &mut Context<'_>,
    epoch: Epoch,
    operation: Operation,
    width: usize,
    half: &Key,
    keys: &[Key],
) {
    let mut draft = cx.draft(Recipient::Group, epoch, operation, SPREAD);
    draft.number(width as u64).wrapped(half, epoch, 0, keys).send();
}
