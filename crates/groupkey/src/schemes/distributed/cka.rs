//! CKA (Boyd's conference key agreement): a leader encrypts a secret nonce to each other member,
//! who all send theirs in the clear; the key follows from the secret one, keyed with the others.
//!
//! Source: Boyd, "On key agreement and conference key agreement", ACISP 1997; the flaw that
//! `sound` repairs is after Choo, Boyd and Hitchcock, ASIACRYPT 2005. Class: distributed.
//! Provenance: reconstructed: the papers could not be read; who sends what is published, all
//! encodings are ours.
//!
//! The leader `M_1`, the first in the order of the members, draws `N_1`; `M_i` draws `N_i`. The
//! key is `K = f(N_1, h(N_2), .., h(N_n))`. Members know each other's certified public elements.
//!
//! | create, n members | messages | exponentiations: leader; others | each member: hashes; derivations |
//! |---|---|---|---|
//! | published | n broadcasts in 1 round | 2n - 2; 1 | n - 1; 2, leader n |
//! | sound | 2n - 1 broadcasts in 3 rounds | 2n - 2; 1 | n - 1; n + 4, leader 2n + 2 |
//!
//! There is no other operation. Keys held: 1, the group key. Profiles: in `published` the key
//! depends on the nonces alone, nothing is confirmed, and elements are not checked to be in the
//! subgroup.
//!
//! ```text
//! NONCE,   M_i to all, i > 1:         N_i, 16 bytes
//! SECRET,  M_1 to all:                [session,] N_1 encrypted to M_2, .. M_n, in order, [confirmation]
//! CONFIRM, M_i to all, i > 1, sound:  confirmation
//! ```
//!
//! `session` and confirmations are in the sound profile only, 16 bytes each. The session is a
//! digest of group, epoch, members and nonces: the leader sends its secret when it has all nonces,
//! encrypted for this session, and the key is derived for group, epoch and members. A confirmation
//! is derived from `N_1` in the same way, for its sender; the key is taken when all have confirmed
//! it.
//!
//! **As published, members can share a key without agreeing on whom they share it with**: nothing
//! but the order of the encrypted secrets says for whom they are. A test shows how a stranger
//! takes the place of an honest member, with every message signed, and that `sound` refuses it.
//!
//! Deviations: encryption is DHIES in the suite's group, the papers leave it open. The leader
//! sends its secret after the nonces in the sound profile, at once in the published one.
//! Signatures are the messages' protection. A member that misses a run cannot catch up, and a run
//! needs everybody awake.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::context::Context;
use crate::crypto::group::Check;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::View;
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::{Header, Message};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    operations: &[Operation::Create],
    growth: &[
        Growth::of(Role::Member, Form::Linear, &[Operation::Create]),
        Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create]),
    ],
    ..Scheme::contributory(
        "cka",
        "CKA, Boyd's conference key agreement",
        Provenance::Reconstructed,
        "Boyd 1997; Choo, Boyd and Hitchcock 2005",
        Recovery::Rejoin,
        |configuration, me| Box::new(Member::new(configuration, me)),
    )
};

/// A member.
#[derive(Debug)]
pub struct Member {
    view: View,
    check: Check,
    sound: bool,
    run: Option<Run>,
    group_key: Option<Key>,
    temporary: usize,
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        let sound = configuration.profile() == Profile::Sound;
        let check = configuration.check();
        Self {
            view: View::new(configuration, me),
            check,
            sound,
            run: None,
            group_key: None,
            temporary: 0,
        }
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let change = self.view.creation(members)?;
        let me = self.view.me();
        let me = change.roster().place(me).ok_or(Misuse::NotMember(me))?;
        let epoch = self.view.epoch().next();
        self.run = Some(Run::begin(cx, epoch, self.sound, me, change.roster())?);
        self.view.begin(change);
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let Header { epoch, kind, .. } = *message.header();
        let roster = self.view.require_under_way(message)?;
        let sender = message.from_member()?;
        let place = roster.place(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        let run = self.run.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        run.take(cx, message, sender, place)?;
        if let Err(error) = run.proceed(cx, epoch, roster, self.check) {
            run.forget(kind, place);
            return Err(error);
        }
        let Some(key) = run.confirmed_key().cloned() else { return Ok(()) };
        self.group_key = Some(key);
        self.temporary = run.most_held(cx);
        let roster = roster.clone();
        self.run = None;
        self.view.settle(cx, epoch, roster);
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(Command::Create(members)) => self.create(cx, members),
            Input::Command(Command::Enroll(_)) => Err(Misuse::WrongRole.into()),
            Input::Command(
                Command::Add(_)
                | Command::Batch { .. }
                | Command::CatchUp
                | Command::Grant { .. }
                | Command::Merge { .. }
                | Command::Partition(_)
                | Command::Rekey
                | Command::Remove(_)
                | Command::Send,
            ) => Err(Unsupported::Operation.into()),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the group key. Temporary: nonces, what confirms the key, and what an encryption
    /// takes. The long-term key is the deployment's.
    fn footprint(&self) -> Footprint {
        let permanent = if self.group_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent, temporary: self.temporary }
    }
}
