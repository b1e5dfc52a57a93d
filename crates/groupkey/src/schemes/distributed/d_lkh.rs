//! D-LKH (Rodeh, Birman and Dolev): LKH's key tree without a key server. Members merge subtrees,
//! and the leaders of two subtrees agree on the key above them. Every member knows the keys above
//! itself; no member knows the keys of the whole tree.
//!
//! Source: Rodeh, Birman, Dolev, "Optimized rekey for group communication systems", NDSS 2000.
//! Class: distributed. Provenance: reconstructed: the paper could be read in outline only;
//! which member draws which keys is published, the optimized change follows descriptions of it, all
//! encodings are ours.
//!
//! The members are the leaves of a binary tree; the group key is the root's key. A node's leader is
//! the leftmost leaf below it. Two members exchange keys over the confidential channel of their
//! pair. The members below a node are sent keys wrapped under the node's key.
//!
//! **Merging:** the leader of a node's left half draws the node's key and sends it to the leader of
//! the right half. Each leader sends it to its own half. A creation does this at every node. A
//! partition does it at the nodes below which a member is gone, and a merger at the nodes that
//! differ from before. A merger brings **two parts** into one tree. The guests are the smaller
//! part. Their tree goes beside the shallowest node of the hosts' tree, of several the rightmost,
//! where this does not make the tree higher. Otherwise it goes beside the root. Each part's leader
//! first sends its tree.
//!
//! **A change** above one place is quicker. The sponsor draws the keys of all nodes above the
//! place. It sends each half beside the path, through the half's leader, the keys above that half.
//! In a join the sponsor is the joining member's neighbour. In a leave it is the leader of the half
//! beside the leaving member, and the nodes are those above that half. In a new period members take
//! turns.
//!
//! **No member draws the key of a node that it is not below.** When a member is evicted, the keys
//! above it are renewed, and no others.
//!
//! | operation | unicasts | multicasts | most keys wrapped: sponsor; another leader |
//! |---|---|---|---|
//! | create, n members | n - 1 | n - 2 | 2 a level that it leads, and 1; the same |
//! | add, joining member at depth h | h | halves of 2 or more beside the path | h(h + 1) / 2; h - 1 |
//! | remove, h nodes above the half S | h | the same, and 1 if S has 2 or more | h(h + 3) / 2; h |
//! | rekey, sponsor at depth h | h | halves of 2 or more beside the path | h(h + 1) / 2; h - 1 |
//! | partition, s halves stay | s - 1 | halves of 2 or more, and s - 2 | 2 a level that it leads, and 1; the same |
//! | merge, s halves stay | s - 1 | the same, and 2 broadcasts of a tree | the same |
//! | catch up | 1 | 1 request | h |
//!
//! In a creation the halves that stay are the n leaves. In a merger of equals, s = 2 in the
//! published profile: 1 unicast and 2 multicasts, the paper's primitive on the roots. But each part
//! then gets its keys under its group key, and a party that gets hold of that key has the next one.
//! So in `sound` the roots are renewed, too, and s = 4.
//!
//! The sound profile has one broadcast more: the sponsor confirms the key. A creation has n more
//! besides, a nonce from every member, and a join 1 more, a nonce from the joining member. If the
//! members that leave, or are gone, were one half of the whole group, the other half's key becomes
//! the root's and is renewed: 1 multicast. A member unwraps once in a change, and once a level in a
//! merging. Each unicast takes 1 exponentiation at both ends if the two members never met, and a
//! derivation at both. Keys held: one for each level, at most ⌈log_2 n⌉ in a tree that only grew,
//! and one for each member met. The root's key is the group key.
//!
//! ```text
//! KEYS,    sponsor or left leader to a leader:  salt, {keys}_pair
//! SPREAD,  leader to all:                       width of its half, {keys}_half
//! WELCOME, sponsor to newcomer:                 [id, ..], depths, [session,] salt, {keys}_pair
//! CONFIRM, sponsor to all, sound:               confirmation, 16 bytes
//! NONCE,   member or newcomer to all, sound:    16 bytes
//! BRANCH,  each part's leader to all, merger:   [id, ..], depths
//! REQUEST, member to all
//! ANSWER,  neighbour to member:                 [id, ..], depths, salt, {keys}_pair
//! ```
//!
//! Keys are ordered from the lowest node to the root. `SPREAD` goes to all, and a party that is not
//! below the node that sender and width name ignores it. A subset's topic would have to exist
//! before the message that makes the subset. Messages that come in a merger before the other part's
//! tree are kept. The confirmation is derived from the group key for group, epoch, members, tree
//! and session. The sponsor of a merging is the tree's first member.
//!
//! The session, sound profile only, is a digest of group, epoch, members and nonces of the
//! creation. Pairs' keys last longer than groups. Without the session, all signed messages of a
//! group would be valid in the next group of its name. An answer, which nothing confirms, is
//! wrapped for the session. A welcome is wrapped for the joining member's nonce, which is not in
//! the session. Keys drawn for one change are not valid in another: a pair's message is wrapped
//! under a key of its own, and a half's message must fit the confirmation of this epoch.
//!
//! Only members are trusted, and leaders are believed. With the confirmation, members notice a
//! leader that hands them other keys than it got. They do not notice a sponsor that sends the two
//! halves of the tree different keys, each with its confirmation.
//!
//! Deviations: in a merging leaders draw at once, so it takes two rounds instead of two a level.
//! The tree is kept as flat as insertion can, not as an AVL tree. Confirmation and catching up are
//! ours, and so are the new period and the choice of nodes to merge in a partition and a merger.
//! Three parties must rejoin: a member that was asleep when it had to lead or hand keys on, a
//! sponsor that was asleep, and a member evicted in its sleep.

mod change;
mod creation;
mod merging;
mod parts;
mod state;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub(crate) use self::state::Member;
use self::state::*;
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{self, Confirming, MemberTree, TreeSession};
use crate::mechanisms::membership::View;
use crate::mechanisms::membership::early_messages::Early;
use crate::mechanisms::membership::pairs::{Pair, Pairs};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Claims, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "d-lkh",
    "D-LKH, a key tree without a key server",
    Provenance::Reconstructed,
    "Rodeh, Birman and Dolev 2000",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_published_claims(Claims { key_independence: false, agreement: false, ..Claims::ALL })
.with_growth(&[
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &Operation::MEASURED),
]);

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        let sound = configuration.profile() == Profile::Sound;
        let label = "groupkey d-lkh confirmation";
        Self {
            view: View::new(configuration, me),
            sound,
            confirming: Confirming {
                is_due: sound,
                kind: CONFIRM,
                label,
                session: TreeSession::None,
            },
            pairs: Pairs::new("groupkey d-lkh pair"),
            share: None,
            run: Run::None,
            early: Early::default(),
            asked: CatchUpRequest::default(),
            temporary: 0,
        }
    }

    fn take(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        use Operation::{Add, CatchUp, Create, Merge, Partition, Rekey, Remove};
        match (message.header().operation, message.header().kind) {
            (Merge, BRANCH) => self.receive_branch(cx, message),
            (Merge, KEYS | SPREAD | CONFIRM) if matches!(self.run, Run::Merger(_)) => {
                self.keep_early(cx, message)
            }
            (Create | Add | Remove | Rekey | Merge | Partition, SPREAD) => {
                self.receive_spread(cx, message)
            }
            (Create | Add | Remove | Rekey | Merge | Partition, KEYS) => match self.run {
                Run::Merging(_) => self.receive_offer(cx, message),
                _ => self.receive_keys(cx, message),
            },
            (Create, NONCE) if self.sound => self.receive_nonce(cx, message),
            (Add, NONCE) if self.sound => self.receive_newcomers_nonce(cx, message),
            (Add, WELCOME) => self.receive_welcome(cx, message),
            (Create | Add | Remove | Rekey | Merge | Partition, CONFIRM) => {
                self.receive_confirmation(cx, message)
            }
            (CatchUp, REQUEST) => self.answer(cx, message),
            (CatchUp, ANSWER) => self.catch_up(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Takes the keys that a leader sends to its half. Every member receives the message; a party
    /// outside the half ignores it.
    fn receive_spread(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let sender = message.from_member()?;
        let mut body = message.body();
        let width = body.number32()? as usize;
        let wrapped = body.bytes()?;
        body.finish()?;
        let tree = match (&self.run, &self.share) {
            (Run::Change(change), _) => change.tree(),
            (Run::Merging(merging), _) => merging.tree(),
            (_, Some(share)) => &share.tree,
            // A joining member that does not know the members yet is in no half.
            (_, None) if self.view.is_joining() => return Ok(()),
            (_, None) => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        if !tree.is_heard(self.view.me(), sender, width, self.view.roster())? {
            return self.let_pass(message);
        }
        let node = tree.led_by(sender, width).ok_or(Misbehaviour::UnexpectedSender)?;
        self.view.require_under_way(message)?;
        match &self.run {
            Run::Change(_) => self.take_spread_keys(cx, message, sender, node, wrapped),
            Run::Merging(_) => self.take_merged_key(cx, message, node, wrapped),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    /// Ignores a message for others. Refuses it if it shows that this member missed a change.
    fn let_pass(&self, message: &Message<'_>) -> Result<(), Error> {
        if message.header().epoch <= self.view.epoch() {
            Ok(())
        } else if self.view.change().is_some() {
            self.view.require_under_way(message).map(drop)
        } else {
            message.require_next_epoch(self.view.epoch())
        }
    }

    fn receive_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let confirmation = self.confirming.read(message)?;
        let epoch = message.header().epoch;
        if self.view.is_joining() && epoch > self.view.epoch() {
            // A broadcast may overtake a unicast. It is not known yet whose confirmation counts.
            self.early.keep(message);
            return Ok(());
        }
        self.view.require_under_way(message)?;
        let outcome = self.run.outcome_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        if outcome.sponsor == self.view.me() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        outcome.confirm(cx, message, confirmation)?;
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    /// Takes the group key if the keys are there, and session and confirmation where they are due.
    fn settle_if_complete(&mut self, cx: &mut Context<'_>, epoch: Epoch) {
        let Some(outcome) = self.run.outcome_mut() else { return };
        if let Some((tree, keys)) = outcome.complete() {
            self.confirming = outcome.confirming().clone();
            self.install(cx, epoch, tree, keys);
        }
    }

    /// Takes the messages that were kept. Drops wrong ones, as if it had refused them on arrival.
    fn take_early(&mut self, cx: &mut Context<'_>) {
        for (header, body) in self.early.take_all() {
            let _ = cx.message(self, Message::new(header, &body));
        }
    }

    fn install(&mut self, cx: &mut Context<'_>, epoch: Epoch, tree: MemberTree, keys: List<Key>) {
        let roster = tree.roster().clone();
        self.pairs.retain(&roster);
        self.temporary = self.temporary.max(keys.len() * Key::BYTES);
        self.share = Some(Share { tree, keys });
        self.run = Run::None;
        self.early.clear();
        self.asked.forget();
        self.view.settle(cx, epoch, roster);
    }

    fn keep(&mut self, met: &[Pair]) {
        met.iter().for_each(|pair| self.pairs.keep(pair.clone()));
    }

    /// Answers a request, which every member receives, if this party has the asking member's keys.
    fn answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let Some(Share { tree, keys }) = &self.share else { return Ok(()) };
        let Some((member, height)) = tree.asked(self.view.me(), message)? else { return Ok(()) };
        let epoch = self.view.epoch();
        let pair = self.pairs.with(cx, member)?.within(self.confirming.session.key());
        tree.send_answer(cx, (member, &pair), epoch, ANSWER, &keys[keys.len() - height..]);
        self.pairs.keep(pair);
        Ok(())
    }

    fn catch_up(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        let mut body = message.body();
        let (me, current) = (self.view.me(), self.view.epoch());
        let (tree, sender, height) = MemberTree::read_answer(message, &mut body, me, current)?;
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, sender)?.within(self.confirming.session.key());
        let keys = pair.read(cx, &mut body, epoch, height)?;
        body.finish()?;
        self.pairs.keep(pair);
        self.install(cx, epoch, tree, keys);
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Add(member)) => self.add(cx, member),
            Input::Command(Command::Batch { .. } | Command::Grant { .. } | Command::Send) => {
                Err(Unsupported::Operation.into())
            }
            Input::Command(Command::CatchUp) => {
                member_tree::ask(cx, &self.view, &mut self.asked, REQUEST)
            }
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(_)) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Merge { members, epoch }) => self.merge(cx, members, epoch),
            Input::Command(Command::Partition(apart)) => self.partition(cx, apart),
            Input::Command(Command::Rekey) => self.rekey(cx),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.take(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        let key = self.share.as_ref().and_then(|share| share.keys.last());
        key.map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the keys above this member's leaf, the last of which is the group key, and the
    /// keys of pairs that have met. Temporary: as many keys as are new.
    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn footprint(&self) -> Footprint {
        let keys = self.share.as_ref().map_or(0, |share| share.keys.len() * Key::BYTES);
        Footprint { permanent: keys + self.pairs.stored_bytes(), temporary: self.temporary }
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        let Some(share) = &self.share else { return Vec::new() };
        share.tree.shown(cx, self.view.me(), share.keys.iter())
    }
}
