//! D-OFT (DISEC): the one-way function tree without a key server. Each member holds the secret of
//! its own leaf and, for each node above it, the blinded secret of the half that it is not in.
//! Members send these to each other. **As published, an evicted party and a party that joined later
//! together have the keys of the time between.**
//!
//! Source: Dondeti, Mukherjee, Samal, "DISEC: a distributed framework for scalable secure
//! many-to-many communication", ISCC 2000; the attack is Horng's, 2002, and Ku and Chen's, 2003,
//! whose repair `sound` follows. Class: distributed. Provenance: reconstructed: the papers could
//! not be read; tree and associates are published, encodings, sponsors and the details of the
//! repair are ours.
//!
//! With the secret k_v of a node: b_v = g(k_v) is its blinded secret, k_v = f(b_left XOR b_right).
//! Leaf secrets are random. The group key is derived from the root's secret for this epoch.
//! Messages to the members below v are wrapped under a key derived from k_v and the epoch.
//!
//! **Creation:** for every node, each member of one half gets the other half's blinded secret from
//! its associate there. The i-th member of a half has the i-th of the other half as its associate.
//! The surplus member of a larger half has the first. **A change:** the sponsor is the joining
//! member's neighbour, or the leader (the leftmost member) of the half beside the leaving member. At
//! a rekey it is the member whose turn it is.
//! It draws a new leaf secret. It sends each half beside its path, through the half's leader, the
//! blinded secret that changed for it.
//!
//! | operation | unicasts | multicasts | each member: hashes |
//! |---|---|---|---|
//! | create, n members | the sum of all depths, n log_2 n in a complete tree | 0 | 2 a level |
//! | add, joining member at depth h | h + 1 | halves of 2 or more beside the path | 2 a level from the changed one; sponsor 1 more |
//! | remove, published, sponsor at depth d | d | the same | 2 a level from the changed one |
//! | remove, sound, h nodes above the sponsor's half | d + h | the same | the same; in a renewed half 1 more, its leader 3 |
//! | rekey, sponsor at depth d | d | the same | as in a published remove |
//! | catch up | 1 | 1 request | 0, answering member 1 |
//!
//! The sound profile has two broadcasts more, or one in a group of two. The sponsor, in a creation the
//! first member, confirms the key, and so does the witness. The witness is the leader of the half of
//! the tree that the sponsor is not in; it acts in every operation anyway. Each unicast takes 1 exponentiation at both ends if the two members never met.
//! Keys held at depth d: d + 1 secrets, d blinded ones, the group key, and one for each member met.
//!
//! ```text
//! BLIND,   member to its associate, newcomer or leader to sponsor:  salt, {b of its half}_pair
//! KEYS,    sponsor to a leader:       salt, {b, b, ..}_pair
//! SPREAD,  leader to all:             width of its half, {[w,] b, b, ..}_half
//! WELCOME, sponsor to newcomer:       [id, ..], depths, salt, {b, b, ..}_pair
//! CONFIRM, sponsor, then witness, to all, sound:  confirmation, 16 bytes
//! REQUEST, member to all
//! ANSWER,  neighbour to member:       [id, ..], depths, salt, {k, .., b, ..}_pair
//! ```
//!
//! **The repair.** Besides its own secrets, an evicted member knows the blinded secrets of the
//! halves beside its path. `published` changes the lowest of them, the sponsor's half. In `sound`
//! the leader of each other half draws a random `w`, and the half's secret becomes f(k XOR w). The
//! sponsor is sent its blinded form first (`BLIND`), and then every member what changed for it. So
//! nothing that an evicted member knew is a part of any later key. It has nothing to bring to a
//! joining member, which knows only blinded secrets of its own path's time. Because of `w`, secrets
//! depend on more than the leaves, so members keep the secrets above their leaves.
//!
//! Only members are trusted. The confirmation is derived from the root's secret for group, epoch,
//! members and tree. A wrong blinded secret gives a wrong key, and only the confirmation shows it. A
//! member takes the key when both confirmations fit, so no single member gives two of them different
//! keys: at least one of sponsor and witness is honest, and confirms one key to all.
//! `SPREAD` goes to all, for the same reason as in D-LKH.
//!
//! Deviations: the sponsor sends a joining member the whole path, where each associate would send
//! its part. It does the same for leaders. Confirmation and catching up are ours. Three parties
//! must rejoin: a member that was asleep when it had to act or hand on, a sponsor that was asleep,
//! and a member evicted in its sleep.

mod change;
mod creation;
mod secrets;
mod state;

use alloc::boxed::Box;
use alloc::vec::Vec;

use self::secrets::Secrets;
pub(crate) use self::state::Member;
use self::state::*;
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::member_tree::{self, Confirming, MemberTree, TreeSession};
use crate::mechanisms::membership::pairs::Pairs;
use crate::mechanisms::membership::{MembershipChange as Event, View};
use crate::party::{Command, Footprint, Input, KeyNode, Knowledge, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::Message;

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "d-oft",
    "D-OFT, a one-way function tree without a key server",
    Provenance::Reconstructed,
    "Dondeti, Mukherjee and Samal 2000; Ku and Chen 2003",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(&Operation::CHANGES)
.with_claims(Claims::ALL)
.with_published_claims(Claims { collusion_resistance: false, agreement: false, ..Claims::ALL })
.with_growth(&[
    Growth::of(Role::Member, Form::Logarithmic, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Logarithmic, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Logarithmic, &Operation::MEASURED),
]);

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        let sound = configuration.profile() == Profile::Sound;
        let label = "groupkey d-oft confirmation";
        Self {
            view: View::new(configuration, me),
            sound,
            confirming: Confirming {
                is_due: sound,
                kind: CONFIRM,
                label,
                session: TreeSession::None,
            },
            pairs: Pairs::new("groupkey d-oft pair"),
            share: None,
            run: Run::None,
            asked: CatchUpRequest::default(),
            awaited_witness: None,
            temporary: 0,
        }
    }

    fn take(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        match (message.header().operation, message.header().kind) {
            (Operation::Create, BLIND) => self.receive_counterpart(cx, message),
            (Operation::Add | Operation::Remove, BLIND) => self.receive_blinded(cx, message),
            (Operation::Add | Operation::Remove | Operation::Rekey, KEYS) => {
                self.receive_keys(cx, message)
            }
            (Operation::Add | Operation::Remove | Operation::Rekey, SPREAD) => {
                self.receive_spread(cx, message)
            }
            (Operation::Add, WELCOME) => self.receive_welcome(cx, message),
            (
                Operation::Create | Operation::Add | Operation::Remove | Operation::Rekey,
                CONFIRM,
            ) => self.receive_confirmation(cx, message),
            (Operation::CatchUp, REQUEST) => self.answer(cx, message),
            (Operation::CatchUp, ANSWER) => self.catch_up(cx, message),
            _ => Err(Misbehaviour::UnexpectedMessage.into()),
        }
    }

    fn receive_confirmation(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        if self.is_of_awaited_witness(message) {
            let confirmation = self.confirming.read(message)?;
            let share = self.share.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
            let (epoch, tree) = (self.view.epoch(), &share.tree);
            self.confirming.verify(cx, epoch, tree, &share.secrets, &confirmation)?;
            self.awaited_witness = None;
            return Ok(());
        }
        self.view.require_under_way(message)?;
        let outcome = self.run.outcome().ok_or(Misbehaviour::UnexpectedMessage)?;
        outcome.confirm(cx, message, self.confirming.read(message)?)?;
        let epoch = message.header().epoch;
        self.settle_if_complete(cx, epoch);
        Ok(())
    }

    fn is_of_awaited_witness(&self, message: &Message<'_>) -> bool {
        let header = message.header();
        let is_witness = |witness: MemberId| header.sender == witness.into();
        self.awaited_witness.is_some_and(is_witness) && header.epoch == self.view.epoch()
    }

    /// What this member waits for when another one is the sponsor: its confirmation, and that of the
    /// witness. A witness waits for the sponsor's alone.
    fn outcome(&self, tree: MemberTree, sponsor: MemberId) -> Outcome {
        let witness = tree.witness_of(sponsor).filter(|&witness| witness != self.view.me());
        Outcome::awaited(self.confirming.clone(), tree, sponsor).witnessed_by(witness)
    }

    /// Takes the group key if the secrets are there, and the confirmations where they are due. The
    /// witness then confirms it.
    fn settle_if_complete(&mut self, cx: &mut Context<'_>, epoch: Epoch) {
        let Some(outcome) = self.run.outcome() else { return };
        let sponsor = outcome.sponsor;
        let Some((tree, secrets)) = outcome.complete() else { return };
        let operation = self.view.change().map(Event::operation);
        if let Some(operation) = operation
            && tree.witness_of(sponsor) == Some(self.view.me())
        {
            self.confirming.send(cx, epoch, operation, &tree, &secrets);
        }
        self.install(cx, epoch, tree, secrets);
    }

    /// As the sponsor, confirms the key and takes it. It knows what it sent, so it need not wait for
    /// the witness.
    fn confirm_as_sponsor(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
        tree: MemberTree,
        secrets: Secrets,
    ) {
        self.confirming.send(cx, epoch, operation, &tree, &secrets);
        let witness = tree.witness_of(self.view.me()).filter(|_| self.sound);
        self.install(cx, epoch, tree, secrets);
        self.awaited_witness = witness;
    }

    fn install(&mut self, cx: &mut Context<'_>, epoch: Epoch, tree: MemberTree, secrets: Secrets) {
        let roster = tree.roster().clone();
        let group_key = cx.derive_for(epoch, secrets.highest(), "groupkey d-oft group key");
        self.pairs.retain(&roster);
        self.temporary = self.temporary.max(secrets.stored_bytes());
        self.share = Some(Share { tree, secrets, group_key });
        self.run = Run::None;
        self.awaited_witness = None;
        self.asked.forget();
        self.view.settle(cx, epoch, roster);
    }

    /// Answers a request, which every member receives, if this party has what the member needs.
    fn answer(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let Some(Share { tree, secrets, .. }) = &self.share else { return Ok(()) };
        let Some((member, height)) = tree.asked(self.view.me(), message)? else { return Ok(()) };
        let epoch = self.view.epoch();
        let keys = secrets.of_neighbour(cx, height);
        let pair = self.pairs.with(cx, member)?;
        tree.send_answer(cx, (member, &pair), epoch, ANSWER, &keys);
        self.pairs.keep(pair);
        Ok(())
    }

    fn catch_up(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        let share = self.share.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let (me, current) = (self.view.me(), self.view.epoch());
        let (tree, sender, height) = MemberTree::read_answer(message, &mut body, me, current)?;
        let epoch = message.header().epoch;
        let pair = self.pairs.with(cx, sender)?;
        let keys = pair.read(cx, &mut body, epoch, 2 * height)?;
        body.finish()?;
        let secrets = share.secrets.caught_up(&keys);
        self.pairs.keep(pair);
        self.install(cx, epoch, tree, secrets);
        Ok(())
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
                | Command::Send,
            ) => Err(Unsupported::Operation.into()),
            Input::Command(Command::CatchUp) => {
                member_tree::ask(cx, &self.view, &mut self.asked, REQUEST)
            }
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(_)) => Err(Misuse::WrongRole.into()),
            Input::Command(Command::Rekey) => self.rekey(cx),
            Input::Command(Command::Remove(member)) => self.remove(cx, member),
            Input::Message(message) => self.take(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.share.as_ref().map(|share| (self.view.epoch(), &share.group_key))
    }

    /// Permanent: the secrets on this member's path, the blinded ones beside it, the group key, and
    /// the keys of pairs that have met. Temporary: as many new secrets.
    fn knowledge(&self) -> Option<&dyn Knowledge> {
        Some(self)
    }

    fn footprint(&self) -> Footprint {
        let own = self.share.as_ref().map_or(0, |share| share.secrets.stored_bytes() + Key::BYTES);
        Footprint { permanent: own + self.pairs.stored_bytes(), temporary: self.temporary }
    }
}

impl Knowledge for Member {
    fn key_tree(&self, cx: &mut Context<'_>) -> Vec<KeyNode> {
        let Some(share) = &self.share else { return Vec::new() };
        share.tree.shown(cx, self.view.me(), share.secrets.own())
    }
}

#[cfg(test)]
mod tests;
