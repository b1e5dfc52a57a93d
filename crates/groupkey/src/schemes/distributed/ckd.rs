//! CKD (centralized key distribution): the oldest member draws the key and wraps it for each other
//! one under a key that the two made by Diffie-Hellman.
//!
//! Source: Cliques and Secure Spread (Amir, Kim, Nita-Rotaru, Tsudik). Class: distributed: a party
//! that is the oldest is the controller, and nobody enrols anybody. Provenance: reconstructed: the
//! papers could not be read; rounds and messages are the published ones, bodies are ours.
//!
//! | operation | messages | exponentiations, sound | published |
//! |---|---|---|---|
//! | create, n members | 1 broadcast, n - 1 unicasts, 1 broadcast | controller n, others 2 | the same |
//! | add, to n members | 2 unicasts, 1 broadcast | controller n + 1, new member 2, others 1 | 1, 2, 0 |
//! | merge, n hosts and m guests | 1 broadcast, m unicasts, 1 broadcast | controller n + m, guests 2, others 1 | m, 2, 0 |
//! | remove, partition, rekey: n are left | 1 broadcast | controller n, others 1 | 0, 0 |
//! | if the controller leaves | as creation of those who are left | | |
//! | catch up | 1 request, 1 unicast | controller 1, asking member 1 | 0, 0 |
//!
//! Keys wrapped: one for each member but the controller. Keys held: the controller the group key, its
//! exponent and element, and of each other member its element (published: the key of the pair);
//! others the group key and their exponent (published: the key of the pair). Profiles: in `published`
//! the keys of pairs last as long as both are members, and elements are not checked to be in the
//! subgroup. In `sound` the controller has a new exponent in every operation, so that who takes its
//! state later opens no key that was wrapped before.
//!
//! ```text
//! OFFER,   controller to all:         g^c
//! WELCOME, controller to new member, or to all for the guests of a merger:  [id, ..], g^c
//! SHARE,   member to controller:      g^r_i
//! KEYS,    controller to all:         [g^c,] the group key wrapped for each other member, in order
//! REQUEST, member to controller
//! ANSWER,  controller to member:      [id, ..], [g^c,] the group key wrapped
//! ```
//!
//! `g^c` is in `KEYS` in the sound profile, where no offer to all went before; in `ANSWER` in the
//! sound profile. The key of a pair is derived from `g^(c r_i)` for the group and these two; in the
//! sound profile also for a session, a digest of group, epoch, all members and `g^c`, so that
//! nobody that has other members in mind opens a key: 1 derivation for every member. A wrapped key
//! is bound to epoch and member.
//!
//! Deviations: wrapping takes the place of an exponentiation by the pair's secret. The refreshing and
//! the catching up are ours. Two must rejoin: a member that was asleep while the controller
//! changed, without which that cannot complete, and a controller that was evicted in its sleep.

mod bonds;
mod controller;
mod member;

use alloc::boxed::Box;

use self::bonds::{Bonds, Other, Own, Session};
use crate::catching_up::Asked;
use crate::context::Context;
use crate::crypto::group::{Check, Element, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::event::Event;
use crate::mechanisms::membership::{Change, Roster, View};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};

/// The scheme in the catalogue.
pub(crate) const SCHEME: Scheme = Scheme {
    operations: CONTRIBUTORY,
    growth: &[
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
        Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
    ],
    ..Scheme::contributory(
        "ckd",
        "CKD, central distribution by the oldest member",
        Provenance::Reconstructed,
        "Amir, Kim, Nita-Rotaru and Tsudik, Secure Spread",
        Recovery::Request,
        |configuration, me| Box::new(Member::new(configuration, me)),
    )
};

/// A member.
#[derive(Debug)]
pub struct Member {
    view: View,
    check: Check,
    sound: bool,
    run: Run,
    group_key: Option<Key>,
    bonds: Option<Bonds>,
    asked: Asked,
    temporary: usize,
}

const OFFER: u8 = 0;
const WELCOME: u8 = 1;
const SHARE: u8 = 2;
const KEYS: u8 = 3;
const REQUEST: u8 = 4;
const ANSWER: u8 = 5;

/// What a member waits for.
#[derive(Debug)]
enum Run {
    /// Nothing, or the keys alone.
    None,
    /// An offer.
    Offer,
    /// The keys, after an offer was answered.
    Paired { offer: Element, secret: Exponent, key: Key },
    /// The shares of members that come after the members that are paired already, or of every
    /// member; each is there with the key of the pair.
    Shares(Own, Session, List<Option<(Other, Key)>>),
}

impl Member {
    /// A member that is in no group yet.
    pub fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            check: configuration.check(),
            sound: configuration.profile() == Profile::Sound,
            run: Run::None,
            group_key: None,
            bonds: None,
            asked: Asked::default(),
            temporary: 0,
        }
    }

    /// Begins an operation in which a new controller pairs with every member.
    fn pair(&mut self, cx: &mut Context<'_>, change: Change) {
        self.run = if change.roster().first() == Some(self.view.me()) {
            let own = Own::draw(cx);
            let mut draft = cx.draft(Recipient::Group, change.epoch(), change.operation(), OFFER);
            draft.element(&own.offer).send();
            let session = self.session(cx, &own, &change);
            Run::Shares(own, session, List::filled(None, change.roster().len() - 1))
        } else {
            Run::Offer
        };
        self.view.begin(change);
    }

    /// Begins an event in which others come to the present members.
    fn take_in(&mut self, cx: &mut Context<'_>, change: Change, to: Recipient) {
        self.run = match &self.bonds {
            Some(Bonds::Controller { own, others }) => {
                let own = if self.sound { Own::draw(cx) } else { own.clone() };
                let newcomers = change.roster().len() - 1 - others.len();
                change.welcome(cx, to, WELCOME).element(&own.offer).send();
                let session = self.session(cx, &own, &change);
                Run::Shares(own, session, List::filled(None, newcomers))
            }
            _ => Run::None,
        };
        self.view.begin(change);
    }

    /// Begins an event that leaves no other members than there are. If the controller is not among
    /// them, the next one pairs with every member.
    fn exclude(&mut self, cx: &mut Context<'_>, change: Change) {
        if self.view.roster().first() != change.roster().first() {
            self.pair(cx, change);
            return;
        }
        let Some(Bonds::Controller { own, others }) = &self.bonds else {
            self.view.begin(change);
            return;
        };
        let own = if self.sound { Own::draw(cx) } else { own.clone() };
        let members = self.view.roster().iter().skip(1).zip(others);
        let staying = members.filter(|&(member, _)| change.roster().place(member).is_some());
        let others: List<_> = staying.map(|(_, other)| other.clone()).collect();
        let session = self.session(cx, &own, &change);
        let keys = self.keys_of(cx, &own, &session, change.roster(), &others);
        self.distribute(cx, change, own, others, &keys, self.sound);
    }

    /// As the controller, for what it makes pairs in an event.
    fn session(&self, cx: &mut Context<'_>, own: &Own, change: &Change) -> Session {
        Session::of(cx, self.sound, &own.offer, change.epoch(), change.roster())
    }

    fn install(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: Roster,
        group_key: Key,
        bonds: Bonds,
    ) {
        self.group_key = Some(group_key);
        self.bonds = Some(bonds);
        self.run = Run::None;
        self.asked.forget();
        self.view.settle(cx, epoch, roster);
    }

    fn note(&mut self, bytes: usize) {
        self.temporary = self.temporary.max(bytes);
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => {
                match self.view.event(command)? {
                    Event::CatchUp => return self.ask(cx),
                    Event::Create(change) => self.pair(cx, change),
                    Event::Add(change) if self.bonds.is_some() => {
                        let newcomer = change.roster().at(change.roster().len() - 1);
                        self.take_in(cx, change, Recipient::Member(newcomer));
                    }
                    Event::Add(change) => {
                        self.run = Run::Offer;
                        self.view.begin(change);
                    }
                    Event::Merge(merger) if merger.is_host() => {
                        self.take_in(cx, merger.change(merger.roster()), Recipient::Group);
                    }
                    Event::Merge(merger) => {
                        self.run = Run::Offer;
                        self.view.await_welcome(merger);
                    }
                    Event::Exclude(change) => self.exclude(cx, change),
                }
                Ok(())
            }
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::CatchUp, REQUEST) => self.answer(cx, &message),
                (Operation::CatchUp, ANSWER) => self.catch_up(cx, &message),
                (Operation::Merge, WELCOME) if !self.view.is_joining() => self.overhear(&message),
                (Operation::Add | Operation::Merge, WELCOME)
                | (Operation::Create | Operation::Remove | Operation::Partition, OFFER) => {
                    self.receive_offer(cx, &message)
                }
                (_, SHARE) => self.receive_share(cx, &message),
                (_, KEYS) => self.receive_keys(cx, &message),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            },
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the group key and what the header says beside it. Temporary: what an operation
    /// draws, makes of it and wraps with.
    fn footprint(&self) -> Footprint {
        let bonds = self.bonds.as_ref().map_or(0, Bonds::stored_bytes);
        let group_key = self.group_key.as_ref().map_or(0, |_| Key::BYTES);
        Footprint { permanent: group_key + bonds, temporary: self.temporary }
    }
}
