//! ART, asynchronous ratcheting trees: a tree of Diffie-Hellman keys in which one member can set
//! up the leaves of all others by their prekeys, and change its own leaf, while they sleep.
//!
//! Source: Cohn-Gordon, Cremers, Garratt, Millican and Milner, "On Ends-to-Ends Encryption:
//! Asynchronous Group Messaging with Strong Security Guarantees", ACM CCS 2018 (ePrint 2017/666);
//! removal: draft-ietf-mls-protocol-00 and -01, which were built on it; the exchange: X3DH
//! (Marlinspike and Perrin 2016). Class: distributed. Provenance: reconstructed: the tree, its
//! creation, the update and the chain of stage keys are the paper's; adding, removing and all else
//! is ours.
//!
//! Of the n members that stay, the *sponsor* is at place `epoch mod n` from the left. It makes r
//! leaves anew, s of them for other members, which it *sets up*, and the v nodes above these
//! leaves, the root included. If the tree becomes higher, the root that it had counts among the v,
//! too. a is the number of these nodes above a member. d is the number of all nodes above it, at
//! most ⌈log_2 l⌉, where l is the largest number of members that the group ever had. j join:
//!
//! | operation | rounds | messages | exponentiations |
//! |---|---|---|---|
//! | create, n members | 2 | n - 1 unicasts, 1 broadcast | creator 6n - 5, others 4 + d |
//! | add, batch, merge | 2 | j + 1 broadcasts, j unicasts | sponsor r + 3s + 2v + j, new member 5 + d, others a, or 3 + a if the leaf is set up again |
//! | remove, partition, rekey | 1 | 1 broadcast | sponsor r + 2v - 1, others a |
//! | the same, if leaves are set up again | 1 | 1 broadcast | sponsor r + 3s + 2v, owners of these leaves 3 + a, others a |
//! | catch up | 2 | 1 broadcast, 1 unicast | asking member 1 + d, or 4 + d if its leaf was set up again; answerer 1 |
//!
//! A leaf that is set up is known to two: its member, and who set it up, until the member makes it
//! its own. A vacant leaf was known to who made it so. A change makes anew the leaf of each member
//! that leaves, which becomes vacant, and of each that joins, which takes the leftmost vacant leaf,
//! or the next place on the right; a rekey the sponsor's own leaf. In `sound` it makes anew, too,
//! all leaves that a leaving member knows, those that it set up and those that it made vacant: the
//! sponsor sets them up again, by the prekeys that are in the tree. And it makes the sponsor's own
//! leaf anew, if another knows it.
//!
//! So r is 1 at a rekey, and in `sound` at most j + 1 at a change without a leave. An eviction
//! costs as much as a creation if the member had set up all leaves and nobody has acted since:
//! that of the creator from a new group. After n changes every member has acted, and it makes a
//! path, as any other.
//!
//! Every element that is used is read and checked first: a prekey by all, others by who computes
//! with them. Joining members hash the whole tree; others what is above a changed leaf.
//!
//! Keys held: the group key, two keys of the stage, d exponents of this member's path, and the
//! prekey as long as another knows the leaf; in addition 2l - 2 public keys, 2l - 1 hashes, and
//! prekey and setup key of each leaf that is set up. Profiles: in `published`, only the leaves of
//! those that leave and join are made anew, elements are not checked to be in the subgroup, and
//! nothing is confirmed.
//!
//! ```text
//! PREKEY,  joining member to the creator or to all: public key
//! SETUP,   creator to all:                          tree, confirmation
//! UPDATE,  sponsor to all:                          setup key, public keys, MAC (32), confirmation
//! TREE,    to a joining member or who asked:        tree, random bytes (16), wrapped key, confirmation
//! REQUEST, member that missed something to all:     how often it asked
//! ```
//!
//! The public keys of an UPDATE are those of the leaves that are made anew, from left to right,
//! then of the nodes above them from below, without the root. The setup key is empty if no leaf is
//! set up. The confirmation, 16 bytes, is there in `sound` only.
//!
//! **Keys.** To set up a leaf, the sponsor draws a setup key, one for all leaves of the change.
//! The leaf's secret is a hash of three shared elements: own identity key and prekey, setup key
//! and identity key, setup key and prekey. A node's secret is a hash of the element that its
//! children share. The tree key follows from the root's element. The stage key follows from the
//! tree key, from what the stage before gives to it, and from the hash of the tree, in which the
//! members are. From the stage key follow the group key and what the next stage gets. The MAC of
//! an UPDATE is under a key of the stage before.
//!
//! Whoever joins or comes back is told what the stage before gave, wrapped under the key of the
//! pair: it is worth nothing without the tree key. A joining member waits for the UPDATE, too, and
//! in `sound` takes the TREE only if the confirmations are one. Then it has the tree of all
//! others.
//!
//! Deviations from the paper: prekeys come in messages, not from a server, and are signed with
//! these; there is one setup key in each change that sets up leaves. The group is not X25519, but
//! the suite's. The exchange has no one-time prekey. Stages follow operations of the group, and an
//! update is a rekey of the member whose turn it is. The tree's shape is that of the paper,
//! left-balanced. Adding, the repair of leaves that a leaving member knows, confirmation, merging
//! and catching up are ours.

mod encoding;
mod event;
mod group;
mod joining;
mod renewal;
mod stage;
mod tree;

use alloc::boxed::Box;
use alloc::vec::Vec;

use self::event::{Change, Part, ReceivedUpdate};
use self::group::Group;
use self::joining::{Joiner, come_back, enter_if_offered, receive_offer, send_setup, send_tree};
use self::renewal::Update;
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::sponsored::{
    Announcements, GroupStanding, SponsoredChange, SponsoredPart, has_turn_to_answer, require_part,
};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "art",
    "ART, asynchronous ratcheting trees",
    Provenance::Reconstructed,
    "Cohn-Gordon, Cremers, Garratt, Millican and Milner 2018",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(OPERATIONS)
.with_published_claims(Claims {
    forward_secrecy: false,
    collusion_resistance: false,
    agreement: false,
    ..Claims::ALL
})
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Member, Form::LogarithmSquared, &[Operation::Create]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
]);

/// The smallest and the largest group.
const MEMBERS: (u32, u32) = (2, 1 << 16);

const OPERATIONS: &[Operation] = &[
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Batch,
    Operation::Rekey,
    Operation::Merge,
    Operation::Partition,
];

/// A member.
#[derive(Debug)]
pub(crate) struct Member {
    me: MemberId,
    configuration: Configuration,
    group: Option<Group>,
    change: Option<Change>,
    asked: CatchUpRequest,
    /// How often it has asked for what it missed: each time another member answers.
    times_asked: u32,
}

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            me,
            configuration: configuration.clone(),
            group: None,
            change: None,
            asked: CatchUpRequest::default(),
            times_asked: 0,
        }
    }

    fn epoch(&self) -> Epoch {
        self.group.as_ref().map_or_else(|| self.configuration.epoch_before(), |group| group.epoch)
    }

    fn command(&mut self, cx: &mut Context<'_>, command: Command<'_>) -> Result<(), Error> {
        if command == Command::CatchUp {
            return self.ask(cx);
        }
        let members = self.group.as_ref().map(|group| group.tree.members().collect::<Vec<_>>());
        let standing = GroupStanding {
            me: self.me,
            configuration: &self.configuration,
            group: self.group.as_ref().map(|group| group.epoch).zip(members.as_deref()),
            is_busy: self.change.is_some(),
        };
        let change = standing.change(command)?;
        let mut change = self.begin(cx, change);
        if self.proceed(cx, &mut change)? {
            self.settled();
        } else {
            self.change = Some(change);
        }
        Ok(())
    }

    fn begin(&self, cx: &mut Context<'_>, change: SponsoredChange) -> Change {
        let part = match &change.part {
            SponsoredPart::Sponsors => Part::Sponsors,
            &SponsoredPart::Stays { sponsor } => Part::Stays { sponsor },
            SponsoredPart::Joins { founder, told } => {
                let joiner = Joiner::new(cx, *founder, told.clone());
                joiner.announce(cx, &change);
                Part::Joins(joiner)
            }
        };
        let own = match &part {
            Part::Joins(joiner) => Some(joiner.prekey()),
            _ => None,
        };
        Change {
            operation: change.operation,
            epoch: change.epoch,
            joining: Announcements::awaited(&change.joining).announced(self.me, own),
            part,
            leaving: change.leaving,
            update: None,
        }
    }

    /// Does what can be done. Returns whether the event is over.
    fn proceed(&mut self, cx: &mut Context<'_>, change: &mut Change) -> Result<bool, Error> {
        if !change.joining.are_complete() {
            return Ok(false);
        }
        match (&change.part, &change.update) {
            (Part::Sponsors, _) => self.sponsor(cx, change).map(|()| true),
            (&Part::Stays { sponsor }, Some(received)) => {
                let group = self.group.as_mut().ok_or(Misuse::NotCreated)?;
                group.take(cx, change.epoch, &Update::of(change, sponsor), received)?;
                cx.event(Event::Rekeyed(change.epoch));
                Ok(true)
            }
            (Part::Joins(_), _) => {
                let group = enter_if_offered(cx, change, (self.me, &self.configuration));
                let is_in = group.is_some();
                group.into_iter().for_each(|group| self.entered(cx, group));
                Ok(is_in)
            }
            _ => Ok(false),
        }
    }

    /// Makes a group or the update of a change, and sends what the others need.
    fn sponsor(&mut self, cx: &mut Context<'_>, change: &Change) -> Result<(), Error> {
        if change.operation == Operation::Create {
            let (group, confirmation) = Group::found(cx, change, self.me, &self.configuration)?;
            send_setup(cx, &group, &confirmation);
            self.entered(cx, group);
            return Ok(());
        }
        let group = self.group.as_mut().ok_or(Misuse::NotCreated)?;
        let made = group.make(cx, change.epoch, &Update::of(change, self.me))?;
        let mut draft = cx.draft(Recipient::Group, change.epoch, change.operation, UPDATE);
        draft.bytes(&made.setup).bytes(&made.publics).bytes(&made.mac);
        made.confirmation.write(&mut draft);
        draft.send();
        if !change.joining.is_empty() {
            let tree = group.tree.to_bytes();
            for member in change.joining.members() {
                send_tree(cx, group, change.operation, (member, &tree))?;
            }
        }
        cx.event(Event::Rekeyed(change.epoch));
        Ok(())
    }

    fn message(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::CatchUp, REQUEST) => self.answer(cx, message),
            (Operation::CatchUp, TREE) => self.receive_answer(cx, message),
            (Operation::CatchUp, _) => Err(Misbehaviour::UnexpectedMessage.into()),
            (_, PREKEY) => self.receive_prekey(cx, message),
            (Operation::Create, SETUP) => self.receive_tree(cx, message),
            (Operation::Create, _) => Err(Misbehaviour::UnexpectedMessage.into()),
            (_, UPDATE) => self.receive_update(cx, message),
            (_, TREE) => self.receive_tree(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn receive_prekey(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let Some(mut change) = self.change.take() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        if let Err(error) = change.note(cx, message, self.configuration.check()) {
            self.change = Some(change);
            return Err(error);
        }
        let result = self.proceed(cx, &mut change).inspect_err(|_| change.joining.forget(sender));
        self.conclude(change, result)
    }

    fn receive_update(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let current = self.epoch();
        let received = ReceivedUpdate::read(message, self.configuration.profile())?;
        let Some(mut change) = self.change.take() else {
            if self.group.is_some() {
                message.require_next_epoch(current)?;
            }
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let awaited = (change.operation, change.epoch);
        let result = match change.part {
            Part::Joins(_) => {
                self.hear_offer(cx, &mut change, message, Some(received.confirmation))
            }
            Part::Sponsors => Err(Misbehaviour::UnexpectedSender.into()),
            Part::Stays { sponsor } => require_part(message, awaited, current).and_then(|()| {
                if sponsor != sender {
                    return Err(Misbehaviour::UnexpectedSender.into());
                }
                if change.update.is_some() {
                    return Err(Misbehaviour::Replayed.into());
                }
                change.update = Some(received);
                self.proceed(cx, &mut change).inspect_err(|_| change.update = None)
            }),
        };
        self.conclude(change, result)
    }

    fn receive_tree(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let Some(mut change) = self.change.take_if(|change| matches!(change.part, Part::Joins(_)))
        else {
            if self.group.is_some() {
                message.require_next_epoch(self.epoch())?;
            }
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let result = self.hear_offer(cx, &mut change, message, None);
        self.conclude(change, result)
    }

    fn hear_offer(
        &mut self,
        cx: &mut Context<'_>,
        change: &mut Change,
        message: &Message<'_>,
        confirmation: Option<Confirmation>,
    ) -> Result<bool, Error> {
        let about_me = (self.me, &self.configuration);
        match receive_offer(cx, change, message, about_me, confirmation)? {
            Some(group) => {
                self.entered(cx, group);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn conclude(&mut self, change: Change, result: Result<bool, Error>) -> Result<(), Error> {
        if result != Ok(true) {
            self.change = Some(change);
            return result.map(|_| ());
        }
        self.settled();
        Ok(())
    }

    /// Asks the others, and says how often it has asked. It does not know who they are by now.
    fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        let group = self.group.as_ref().ok_or(Misuse::NotCreated)?;
        // What was under way went on without this member.
        self.change = None;
        let mut draft = self.asked.request(cx, Recipient::Group, group.epoch, REQUEST);
        draft.number(u64::from(self.times_asked)).send();
        self.times_asked = self.times_asked.saturating_add(1);
        Ok(())
    }

    /// Answers with the tree, if it is this member's turn. In the middle of a change nobody does.
    fn answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let mut body = message.body();
        let times = body.number32()? as usize;
        body.finish()?;
        let sender = message.from_member()?;
        let Some(group) = &self.group else { return Ok(()) };
        let members: Vec<_> = group.tree.members().collect();
        let is_turn = has_turn_to_answer(&members, self.me, sender, times)?;
        if !is_turn || self.change.is_some() {
            return Ok(());
        }
        let tree = group.tree.to_bytes();
        send_tree(cx, group, Operation::CatchUp, (sender, &tree))
    }

    fn receive_answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        let own = self.group.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_later_epoch(own.epoch)?;
        let group = come_back(cx, own, message, (self.me, &self.configuration))?;
        self.asked.settle(cx);
        self.entered(cx, group);
        self.settled();
        Ok(())
    }

    fn entered(&mut self, cx: &mut Context<'_>, group: Group) {
        cx.event(Event::Rekeyed(group.epoch));
        self.group = Some(group);
    }

    /// Nothing is under way any more.
    fn settled(&mut self) {
        self.change = None;
        self.times_asked = 0;
        self.asked.forget();
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.command(cx, command),
            Input::Message(message) => self.message(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group.as_ref().map(|group| (group.epoch, &group.stage.group_key))
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    /// Permanent: the secrets of its path, its prekey, three keys of the stage, and the public keys
    /// of the tree, which must be kept. Temporary: the prekey of a member that is not in yet.
    fn footprint(&self) -> Footprint {
        let temporary = match &self.change {
            Some(Change { part: Part::Joins(joiner), .. }) => joiner.stored_bytes(),
            _ => 0,
        };
        let permanent = self.group.as_ref().map_or(0, Group::stored_bytes);
        Footprint { permanent, temporary }
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        let group = self.group.as_ref();
        group.map(|group| group.tree.shown(cx, &group.stage.group_key)).unwrap_or_default()
    }
}

const PREKEY: u8 = 0;
const SETUP: u8 = 1;
const UPDATE: u8 = 2;
const TREE: u8 = 3;
const REQUEST: u8 = 4;
