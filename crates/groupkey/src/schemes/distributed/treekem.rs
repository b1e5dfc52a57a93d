//! TreeKEM: the ratchet tree and the key schedule of MLS. Whoever changes the group gives its path
//! to the root new keys, and encrypts a secret to each subtree beside the path.
//!
//! Source: RFC 9420 (MLS), sections 4, 5, 7, 8, 12.4 and appendix C; RFC 9180 (HPKE). Class:
//! distributed. Provenance: reconstructed: tree, path secrets, key schedule and HPKE are
//! specified, framing is ours.
//!
//! The tree is `mechanisms/ratchet_tree.rs`. Of the n members that stay, the *sponsor* is at place
//! `epoch mod n` from the left: so after n changes the whole tree has keys. d is the length of the
//! sponsor's filtered direct path, at most ⌈log_2 n⌉. r is the number of nodes that the secrets of
//! that path are encrypted to: d in a tree full of keys, up to n - 1 in one without. a is the
//! number of nodes on that path that are above a member. j join:
//!
//! | operation | rounds | messages | exponentiations |
//! |---|---|---|---|
//! | create, n members | 2 | n - 1 unicasts, 1 broadcast | founder 2n - 1, others 3 |
//! | add | 2 | 2 broadcasts, 1 unicast | new member 3, sponsor 2, others none |
//! | batch, without a leave; merge | 2 | j + 1 broadcasts, j unicasts | new member 3, sponsor 2j, others none |
//! | batch, with a leave | 2 | j + 1 broadcasts, j unicasts | new member 3 + a, sponsor 1 + d + 2r + 2j, others 1 + a |
//! | remove, partition, rekey | 1 | 1 broadcast | sponsor 1 + d + 2r, others 1 + a |
//! | catch up | 3 | 2 broadcasts, 1 unicast | asking member 3 + d + 2r, answerer 1, others 3 + a |
//!
//! Every element that is used is read and checked first: two of each joining member, one of each
//! node that a secret is encrypted to, and one by each member that opens a secret. Joining members
//! hash the whole tree, 2n - 1 nodes. Others hash what is above a changed leaf.
//!
//! Keys held: the group key, the epoch's init and external secrets, and the private keys of this
//! member's leaf and of the nodes above it that it knows, at most 1 + ⌈log_2 n⌉; in addition the
//! public keys and hashes of 2n - 1 nodes. Profiles: in `published`, elements are not checked to be
//! in the subgroup. Nothing else differs.
//!
//! ```text
//! KEY_PACKAGE, joining member to the founder or to all: public keys of its leaf and for its welcome
//! COMMIT,      sponsor to all:       path (empty if it only adds), confirmation (32)
//! WELCOME,     founder to all, sponsor to a joining member:
//!                                    tree, transcript (32), confirmation (32), secrets
//! REQUEST,     member that missed something to all: how often it asked
//! GROUP_INFO,  its answer:           tree, transcript (32), confirmation (32), public key
//! RETURN,      asking member to all: encapsulated init secret, path, confirmation (32)
//! ```
//!
//! The path is the leaf's new public key; then, for each node of the filtered direct path from
//! below, its new public key and its secret, encrypted to each node of the resolution beside it,
//! without new leaves. The secrets of a WELCOME are the joiner secret and, where the commit has a
//! path, the secret of the lowest node above both: of one member, or of all founders but the
//! first.
//!
//! **What is checked.** Whoever opens a path secret computes all private keys above it, and
//! compares their public keys with the path's: a sponsor cannot give one half another secret than
//! it says. The confirmation is a MAC of 32 bytes under a key of the epoch. It covers the
//! transcript, that is all changes and their confirmations, and the key depends on the tree hash.
//! So members with one key see the same tree and the same history. A joining member checks the
//! tree: no member and no key twice, unmerged leaves where they can be, and by the parent hashes
//! that every node got its key with the path of a member below it. In a change it waits for the
//! COMMIT, too, which all members hear, and enters only if it has the WELCOME's confirmation.
//!
//! A member that was asleep asks for the tree. The next member on its right answers, and if it
//! asks again the one after that. It enters by an external commit that keeps its leaf. The group's
//! order of messages must include it, as any commit. Until others answer, nobody has confirmed the
//! tree that it was told.
//!
//! **Algorithms.** HPKE is bit for bit that of RFC 9180 in base mode with the export-only AEAD,
//! over the suite's group and hash; what is exported wraps the secret by the suite's key wrap. So
//! everything is counted, and computed by the same primitives as in other schemes. Labels,
//! `GroupContext` and the key schedule are those of RFC 9420. With SHA-2, tests compare them with
//! the RFCs' vectors.
//!
//! In suite `pq` the encapsulation is X-Wing, of ML-KEM-768 and X25519, in the same HPKE. Public keys have
//! 1,216 bytes, and what is encapsulated 1,120. An exponentiation then is a key pair, an encapsulation or a
//! decapsulation (`context/labelled.rs` has which counts as what).
//!
//! Deviations from RFC 9420: secrets have 16 bytes instead of 32, as every key here. The group is
//! not X25519, but the suite's, and X-Wing's private keys are derived as other groups'. Messages, leaves and tree are encoded in our way, and so are the
//! inputs of tree hash, parent hash and transcript. Leaves have no credential and no signature:
//! each was announced in a signed message, and who sent it is checked then. So a joining member
//! believes the sponsor who the members are, until the confirmation shows that the others see the
//! same tree. There are no proposals, extensions, lifetimes, pre-shared keys, message encryption,
//! sender data, membership tags and resumption: adds and removals follow from the command. A
//! welcome's contents are in the clear, except for the secrets. The group key is the exporter
//! secret. Returning, the asking member binds the init secret to the epoch. Merging is ours: the
//! members of the smaller part join.

mod epoch;
mod event;
mod group;
mod joining;
mod offers;
mod returning;

use alloc::boxed::Box;
use alloc::vec::Vec;

use self::epoch::bytes32;
use self::event::{Change, Commit, Part};
use self::group::{Group, Update};
use self::joining::{Joiner, enter_if_offered, receive_offer, send_welcomes};
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::sponsored::{
    Announcements, GroupStanding, SponsoredChange, SponsoredPart, require_part,
};
use crate::outbox::{Event, Recipient};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Assumption, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "treekem",
    "TreeKEM, the ratchet tree of MLS",
    Provenance::Reconstructed,
    "RFC 9420",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_assumption(Assumption::Encapsulation)
.with_operations(OPERATIONS)
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Member, Form::Logarithmic, &[Operation::Add, Operation::Remove]),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create, Operation::Remove]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &[Operation::Add]),
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

#[derive(Debug)]
pub(crate) struct Member {
    me: MemberId,
    configuration: Configuration,
    group: Option<Group>,
    change: Option<Change>,
    asked: CatchUpRequest,
    /// How often it has asked for what it missed: each time another member answers.
    times_asked: u32,
    /// Whether it entered by a commit of its own, which nobody has confirmed.
    is_alone: bool,
    temporary: usize,
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
            is_alone: false,
            temporary: 0,
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
        let plan = standing.change(command)?;
        let mut change = self.begin(cx, plan);
        if self.proceed(cx, &mut change)? {
            self.settled();
        } else {
            self.change = Some(change);
        }
        Ok(())
    }

    fn begin(&self, cx: &mut Context<'_>, plan: SponsoredChange) -> Change {
        let part = match &plan.part {
            SponsoredPart::Sponsors => Part::Sponsors,
            &SponsoredPart::Stays { sponsor } => Part::Stays { sponsor },
            SponsoredPart::Joins { founder, told } => {
                let joiner = Joiner::new(cx, *founder, told.clone());
                joiner.announce(cx, &plan);
                Part::Joins(joiner)
            }
        };
        let own = match &part {
            Part::Joins(joiner) => Some(joiner.keys().clone()),
            _ => None,
        };
        Change {
            operation: plan.operation,
            epoch: plan.epoch,
            joining: Announcements::awaited(&plan.joining).announced(self.me, own),
            part,
            leaving: plan.leaving,
            commit: None,
        }
    }

    /// Does what can be done. Returns whether the event is over.
    fn proceed(&mut self, cx: &mut Context<'_>, change: &mut Change) -> Result<bool, Error> {
        if !change.joining.are_complete() {
            return Ok(false);
        }
        match (&change.part, &change.commit) {
            (Part::Sponsors, _) => self.sponsor(cx, change).map(|()| true),
            (&Part::Stays { sponsor }, Some(commit)) => {
                let group = self.group.as_mut().ok_or(Misuse::NotCreated)?;
                let init = group.secrets.init.clone();
                let update = Update::of(change, sponsor);
                group.process(cx, &update, &init, &commit.path, &commit.confirmation)?;
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

    /// Makes a group or the commit of a change, and sends what the others need.
    fn sponsor(&mut self, cx: &mut Context<'_>, change: &Change) -> Result<(), Error> {
        let check = self.configuration.check();
        if change.operation == Operation::Create {
            let (group, made) = Group::found(cx, change, self.me, check);
            send_welcomes(cx, &group, change, &made)?;
            self.entered(cx, group);
            return Ok(());
        }
        let group = self.group.as_mut().ok_or(Misuse::NotCreated)?;
        let init = group.secrets.init.clone();
        // All that is sent to joining members can be made, because their keys were checked.
        let made = group.commit(cx, &Update::of(change, self.me), &init)?;
        self.temporary = self.temporary.max(made.path_secrets.len() * Key::BYTES);
        let mut draft = cx.draft(Recipient::Group, change.epoch, change.operation, COMMIT);
        draft.bytes(&made.path).bytes(&group.transcript.confirmation).send();
        if !change.joining.is_empty() {
            send_welcomes(cx, group, change, &made)?;
        }
        cx.event(Event::Rekeyed(change.epoch));
        Ok(())
    }

    fn message(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        match (header.operation, header.kind) {
            (Operation::CatchUp, REQUEST) => self.answer(cx, message),
            (Operation::CatchUp, GROUP_INFO) => self.return_to_group(cx, message),
            (Operation::Rekey, RETURN) => self.receive_return(cx, message),
            (Operation::CatchUp, _) => Err(Misbehaviour::UnexpectedMessage.into()),
            (_, KEY_PACKAGE) => self.receive_key_package(cx, message),
            (_, COMMIT) => self.receive_commit(cx, message),
            (_, WELCOME) => self.receive_welcome(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn receive_key_package(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let sender = message.from_member()?;
        let Some(mut change) = self.change.take() else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        if let Err(error) = change.note(cx, message, self.configuration.check()) {
            self.change = Some(change);
            return Err(error);
        }
        match self.proceed(cx, &mut change) {
            Ok(true) => self.settled(),
            Ok(false) => self.change = Some(change),
            Err(error) => {
                change.joining.forget(sender);
                self.change = Some(change);
                return Err(error);
            }
        }
        Ok(())
    }

    fn receive_commit(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let (epoch, current) = (message.header().epoch, self.epoch());
        let mut body = message.body();
        let (path, confirmation) = (body.bytes()?, bytes32(body.bytes()?)?);
        body.finish()?;
        let Some(mut change) = self.change.take() else {
            // Whoever entered alone, and hears another commit to the same epoch, was not heard.
            if self.is_alone && epoch == current {
                return Err(Misbehaviour::SkippedEpoch { got: epoch, current }.into());
            }
            if self.group.is_some() {
                message.require_next_epoch(current)?;
            }
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        let awaited = (change.operation, change.epoch);
        let result = match change.part {
            Part::Joins(_) => self.hear_offer(cx, &mut change, message, Some(confirmation)),
            Part::Sponsors => Err(Misbehaviour::UnexpectedSender.into()),
            Part::Stays { sponsor } => require_part(message, awaited, current).and_then(|()| {
                if sponsor != sender {
                    return Err(Misbehaviour::UnexpectedSender.into());
                }
                if change.commit.is_some() {
                    return Err(Misbehaviour::Replayed.into());
                }
                change.commit = Some(Commit { path: path.to_vec(), confirmation });
                self.proceed(cx, &mut change).inspect_err(|_| change.commit = None)
            }),
        };
        self.conclude(change, result)
    }

    fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
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
        confirmation: Option<[u8; 32]>,
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
        match result {
            Ok(true) => self.settled(),
            Ok(false) => self.change = Some(change),
            Err(error) => {
                self.change = Some(change);
                return Err(error);
            }
        }
        Ok(())
    }

    fn entered(&mut self, cx: &mut Context<'_>, group: Group) {
        cx.event(Event::Rekeyed(group.epoch));
        self.group = Some(group);
    }

    /// Nothing is under way any more.
    fn settled(&mut self) {
        self.change = None;
        self.is_alone = false;
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
        self.group.as_ref().map(|group| (group.epoch, &group.secrets.group_key))
    }

    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    /// Permanent: private keys, the secrets of the epoch, and the public keys of the tree, which
    /// must be kept. Temporary: the path secrets of a
    /// commit that was made here, and the keys of a member that is not in yet.
    fn footprint(&self) -> Footprint {
        let joining = match &self.change {
            Some(Change { part: Part::Joins(joiner), .. }) => joiner.stored_bytes(),
            _ => 0,
        };
        let permanent = self.group.as_ref().map_or(0, Group::stored_bytes);
        Footprint { permanent, temporary: self.temporary.max(joining) }
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        self.group.as_ref().map(|group| group.tree.shown(cx)).unwrap_or_default()
    }
}

const KEY_PACKAGE: u8 = 0;
const COMMIT: u8 = 1;
const WELCOME: u8 = 2;
const REQUEST: u8 = 3;
const GROUP_INFO: u8 = 4;
const RETURN: u8 = 5;
