//! BD (Burmester and Desmedt): members in a circle, two broadcasts of one element each, and the same
//! work for everybody.
//!
//! Source: Burmester and Desmedt, EUROCRYPT 1994; authentication after Katz and Yung, CRYPTO 2003.
//! Class: distributed. Provenance: reconstructed: the originals could not be read; elements and key
//! are the published ones, layouts are ours.
//!
//! Members `M_1 .. M_n` form a circle, indices are modulo n, `r_i` is a secret exponent. The key
//! is derived from `K = g^(r_1 r_2 + r_2 r_3 + .. + r_n r_1)`, which `M_i` computes without small
//! exponents: `T_0 = Z_i-1^r_i`, `T_j = T_j-1 X_i+j-1`, `K = T_0 T_1 .. T_n-1`.
//!
//! | create, or any other event that leads to n members | messages | elements sent | each member: exponentiations; products; quotients; checks |
//! |---|---|---|---|
//! | sound, n > 2 | 4n broadcasts in 4 rounds | 2n | 3; 2n - 1; 1; n + 1 |
//! | published, n > 2 | 2n broadcasts in 2 rounds | 2n | 3; 2n - 2; 1; n + 1 |
//! | sound, n = 2 | 6 broadcasts in 3 rounds | 2 | 2; 1; 0; 1 |
//! | published, n = 2 | 2 broadcasts in 1 round | 2 | 2; 1; 0; 1 |
//!
//! Every event is a new run among those that are there afterwards, all of which draw again: as the
//! source has no other operation, and Kim, Perrig and Tsudik 2004 (table 1) count it. Keys held: 1,
//! the group key. The exponent is wiped when the run ends. Profiles: in `published` there are no
//! nonces and no confirmation, the product of all `X_i` is not looked at, and elements are not
//! checked to be in the subgroup.
//!
//! ```text
//! NONCE,   M_i to all, sound:   [roster,] N_i, 16 bytes
//! SHARE,   M_i to all:          [roster or session,] Z_i = g^r_i
//! RATIO,   M_i to all, n > 2:   [session,] X_i = (Z_i+1 / Z_i-1)^r_i
//! CONFIRM, M_i to all, sound:   a MAC of M_i's id under a key derived from K, 16 bytes
//! ```
//!
//! When somebody joins, the first message of each carries the roster, which the new member learns from
//! whichever comes first, and only then sends its own. In a merger the members are ordered by
//! ascending id. `session` is in the sound profile only: a digest of group, epoch, members and all
//! nonces. With it a signed message says for which run it was signed, as Katz and Yung have it, and
//! not only for which epoch: every group begins with epoch 1, also one that is made again under an
//! old name. The group key is taken once everybody has confirmed it, so that a member that cheats
//! cannot leave the others with different keys.
//!
//! Deviations: with two members `X_i` would be the identity, so it is not sent. A member looks at the
//! shares of its two neighbours only. Equal shares of the neighbours are refused. The group key is
//! derived from `K`. Signatures are the messages' protection, not part of the body. A member that
//! misses a run cannot catch up, and a run needs everybody awake.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::context::Context;
use crate::crypto::group::Check;
use crate::error::{Error, Misbehaviour, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::{Change, View};
use crate::party::{Command, Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::{Header, Message};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    operations: CONTRIBUTORY,
    growth: &[
        Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
        Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
    ],
    ..Scheme::contributory(
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
        Self {
            view: View::new(configuration, me),
            check,
            sound,
            run: None,
            group_key: None,
            temporary: 0,
        }
    }

    /// Begins a run among the members that an event leads to. One who joins does not know them yet.
    fn begin(&mut self, cx: &mut Context<'_>, change: Change) {
        let me = change.roster().place(self.view.me());
        self.run = me.map(|me| Run::begin(cx, &change, self.sound, me));
        self.view.begin(change);
    }

    /// Takes the first message that one who joins gets, from whomever.
    fn receive_first(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.view.read_first_roster(message, &mut message.body())?;
        let sender = message.from_member()?;
        let place = roster.place(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        let change = Change::addition_to(message.header().epoch, roster);
        let mut run = Run::begin(cx, &change, self.sound, change.roster().len() - 1);
        run.take(cx, message, sender, place, self.check, change.roster())?;
        run.proceed(cx, change.epoch(), change.roster())?;
        self.run = Some(run);
        self.view.welcome(change.epoch(), change.into_roster());
        Ok(())
    }

    /// The event that a command is.
    fn change(&self, command: Command<'_>) -> Result<Change, Error> {
        match command {
            Command::Add(member) => self.view.addition(member),
            Command::Batch { .. } | Command::CatchUp | Command::Grant { .. } | Command::Send => {
                Err(Unsupported::Operation.into())
            }
            Command::Create(members) => self.view.creation(members),
            Command::Enroll(_) => Err(Misuse::WrongRole.into()),
            Command::Merge { members, epoch } => {
                let merger = self.view.merger(members, epoch)?;
                // Guests do not know the hosts' order, and here no place is better than another.
                Ok(merger.change(merger.roster().sorted()))
            }
            Command::Partition(apart) => self.view.partition(apart),
            Command::Rekey => self.view.refreshment(),
            Command::Remove(member) => self.view.removal(member),
        }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        if self.view.is_joining() {
            return self.receive_first(cx, message);
        }
        let Header { epoch, kind, .. } = *message.header();
        let roster = self.view.require_under_way(message)?;
        let sender = message.from_member()?;
        let place = roster.place(sender).ok_or(Misbehaviour::UnexpectedSender)?;
        let run = self.run.as_mut().ok_or(Misbehaviour::UnexpectedMessage)?;
        run.take(cx, message, sender, place, self.check, roster)?;
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
            Input::Command(command) => {
                let change = self.change(command)?;
                self.begin(cx, change);
                Ok(())
            }
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
