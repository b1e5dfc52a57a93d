//! BD (Burmester and Desmedt): members in a circle, two broadcasts of one element each, and the same
//! work for everybody.
//!
//! Source: Burmester and Desmedt, EUROCRYPT 1994; authentication after Katz and Yung, CRYPTO 2003.
//! Class: distributed. Provenance: reconstructed: the originals could not be read; elements and key
//! are the published ones, layouts are ours.
//!
//! Members `M_1 .. M_n` stand in a circle, indices are modulo n, `r_i` is a secret exponent. The key
//! is derived from `K = g^(r_1 r_2 + r_2 r_3 + .. + r_n r_1)`, which `M_i` computes without small
//! exponents: `T_0 = Z_i-1^r_i`, `T_j = T_j-1 X_i+j-1`, `K = T_0 T_1 .. T_n-1`.
//!
//! | create, n members | messages | elements sent | each member: exponentiations; products; quotients; checks |
//! |---|---|---|---|
//! | sound, n > 2 | 4n broadcasts in 4 rounds | 2n | 3; 2n - 1; 1; n + 1 |
//! | published, n > 2 | 2n broadcasts in 2 rounds | 2n | 3; 2n - 2; 1; n + 1 |
//! | sound, n = 2 | 6 broadcasts in 3 rounds | 2 | 2; 1; 0; 1 |
//! | published, n = 2 | 2 broadcasts in 1 round | 2 | 2; 1; 0; 1 |
//!
//! There is no other operation. Keys held: 1, the group key. The exponent is wiped when
//! the run ends. Profiles: in `published` there are no nonces and no confirmation, the product of all
//! `X_i` is not looked at, and elements are not checked to be in the subgroup.
//!
//! ```text
//! NONCE,   M_i to all, sound:   N_i, 16 bytes
//! SHARE,   M_i to all:          [session,] Z_i = g^r_i
//! RATIO,   M_i to all, n > 2:   [session,] X_i = (Z_i+1 / Z_i-1)^r_i
//! CONFIRM, M_i to all, sound:   a MAC of M_i's id under a key derived from K, 16 bytes
//! ```
//!
//! `session` stands in the sound profile only: a digest of group, epoch, members and all nonces. With
//! it a signed message says for which run it was signed, as Katz and Yung have it, and not only for
//! which epoch: every group begins with epoch 1, also the one that is made anew under an old name.
//! The group key is taken once everybody has confirmed it, so that a member that cheats cannot leave
//! the others with different keys.
//!
//! Deviations: with two members `X_i` would be the identity, so it is not sent. A member looks at the
//! shares of its two neighbours only. Equal shares of the neighbours are refused. The group key is
//! derived from `K`. Signatures are the messages' protection, not part of the body. Who misses a run
//! cannot catch up, and a run needs everybody awake.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::context::Context;
use crate::crypto::group::Check;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::schemes::catalogue::{Configuration, Profile, Provenance, Recovery, Scheme};
use crate::schemes::distributed::gdh::{self, View};
use crate::secret::Key;
use crate::wire::{Header, Message};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    operations: &[Operation::Create],
    ..gdh::entry(
        "bd",
        "BD, Burmester-Desmedt in a circle",
        Provenance::Reconstructed,
        "Burmester and Desmedt 1994; Katz and Yung 2003",
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
        Self { view: View::new(me), check, sound, run: None, group_key: None, temporary: 0 }
    }

    fn create(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let change = self.view.creation(members)?;
        let me = self.view.me();
        let me = change.roster().place(me).ok_or(Misuse::NotMember(me))?;
        let epoch = self.view.epoch().next();
        self.run = Some(Run::begin(cx, epoch, self.sound, me, members.len()));
        self.view.begin(change);
        Ok(())
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let Header { epoch, kind, .. } = *message.header();
        let roster = self.view.expect(message)?;
        let sender = message.from_member()?;
        let place = roster.place(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        let run = self.run.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        run.take(cx, message, sender, place, self.check)?;
        if let Err(error) = run.proceed(cx, epoch, roster) {
            run.forget(kind, place);
            return Err(error);
        }
        let Some(key) = run.confirmed_key().cloned() else { return Ok(()) };
        self.group_key = Some(key);
        self.temporary = run.most_held();
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

    /// Permanent: the group key. Temporary: what the run needed, most of all when it came to the key.
    fn footprint(&self) -> Footprint {
        let permanent = if self.group_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent, temporary: self.temporary }
    }
}
