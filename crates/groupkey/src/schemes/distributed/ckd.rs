//! CKD (centralized key distribution): the oldest member draws the group key. It wraps the key for
//! each other member under a key that the two made by Diffie-Hellman.
//!
//! Source: Cliques and Secure Spread (Amir, Kim, Nita-Rotaru, Tsudik). Class: distributed: the
//! oldest party is the controller, and no party enrols another. Provenance: reconstructed: the
//! papers could not be read; rounds and messages are the published ones, bodies are ours.
//!
//! | operation | messages | exponentiations, sound | published |
//! |---|---|---|---|
//! | create, n members | 1 broadcast, n - 1 unicasts, 1 broadcast | controller n, others 2 | the same |
//! | add, to n members | 2 unicasts, 1 broadcast | controller n + 1, new member 2, others 1 | 1, 2, 0 |
//! | merge, n hosts and m guests | 1 broadcast, m unicasts, 1 broadcast | controller n + m, guests 2, others 1 | m, 2, 0 |
//! | remove, partition, rekey: n remain | 1 broadcast | controller n, others 1 | 0, 0 |
//! | if the controller leaves | as creation of the remaining members | | |
//! | catch up | 1 request, 1 unicast | controller 1, asking member 1 | 0, 0 |
//!
//! Keys wrapped: one for each member but the controller. Keys held by the controller: the group
//! key, its exponent and element, and the element of each other member (published: the key of the
//! pair). Keys held by others: the group key and their exponent (published: the key of the pair).
//! Profiles: in `published` the keys of pairs last as long as both are members, and elements are
//! not checked to be in the subgroup. In `sound` the controller has a new exponent in every
//! operation. So an attacker that takes its state later opens no key that was wrapped before.
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
//! In the sound profile, `g^c` is in `KEYS` if no offer to all went before, and in `ANSWER`. The
//! key of a pair is derived from `g^(c r_i)` for the group and these two members. In the sound
//! profile it is also derived for a session, a digest of group, epoch, all members and `g^c`: 1
//! derivation for every member. So a member that assumes other members opens no key. A wrapped key
//! is bound to epoch and member.
//!
//! Deviations: wrapping takes the place of an exponentiation by the pair's secret. The refreshing
//! and the catching up are ours. Two parties must rejoin: a member that was asleep while the
//! controller changed, because that change needs every member, and a controller that was evicted in
//! its sleep.

mod bonds;
mod controller;
mod member;

use alloc::boxed::Box;

use self::bonds::{Bonds, Other, Own, Session};
use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::membership::transition::Transition;
use crate::mechanisms::membership::{MembershipChange, Roster, View};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::{Key, List};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "ckd",
    "CKD, central distribution by the oldest member",
    Provenance::Reconstructed,
    "Amir, Kim, Nita-Rotaru and Tsudik, Secure Spread",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_growth(&[
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

#[derive(Debug)]
pub(crate) struct Member {
    view: View,
    check: ElementCheck,
    sound: bool,
    run: Run,
    group_key: Option<Key>,
    bonds: Option<Bonds>,
    asked: CatchUpRequest,
    temporary: usize,
}

const OFFER: u8 = 0;
const WELCOME: u8 = 1;
const SHARE: u8 = 2;
const KEYS: u8 = 3;
const REQUEST: u8 = 4;
const ANSWER: u8 = 5;

/// The messages that a member waits for.
#[derive(Debug)]
enum Run {
    /// None, or the keys alone.
    None,
    Offer,
    /// The keys, after it answered an offer.
    Paired {
        offer: Element,
        secret: Exponent,
        key: Key,
    },
    /// The shares of the members that are not paired yet, which are last in the roster, or of all
    /// other members. Each share is stored with the key of the pair.
    Shares(Own, Session, List<Option<(Other, Key)>>),
}

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            check: configuration.check(),
            sound: configuration.profile() == Profile::Sound,
            run: Run::None,
            group_key: None,
            bonds: None,
            asked: CatchUpRequest::default(),
            temporary: 0,
        }
    }

    fn pair(&mut self, cx: &mut Context<'_>, change: MembershipChange) {
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

    /// Begins an event in which joining members or guests come to the present members.
    fn take_in(&mut self, cx: &mut Context<'_>, change: MembershipChange, to: Recipient) {
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

    /// Begins an event after which only present members remain. If the controller is not among
    /// them, the next member pairs with every other.
    fn exclude(&mut self, cx: &mut Context<'_>, change: MembershipChange) {
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

    /// As the controller, returns the session for which an event makes the keys of pairs.
    fn session(&self, cx: &mut Context<'_>, own: &Own, change: &MembershipChange) -> Session {
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
                    Transition::CatchUp => return self.ask(cx),
                    Transition::Create(change) => self.pair(cx, change),
                    Transition::Add(change) if self.bonds.is_some() => {
                        let newcomer = change.roster().at(change.roster().len() - 1);
                        self.take_in(cx, change, Recipient::Member(newcomer));
                    }
                    Transition::Add(change) => {
                        self.run = Run::Offer;
                        self.view.begin(change);
                    }
                    Transition::Merge(merger) if merger.is_host() => {
                        self.take_in(cx, merger.change(merger.roster()), Recipient::Group);
                    }
                    Transition::Merge(merger) => {
                        self.run = Run::Offer;
                        self.view.await_welcome(merger);
                    }
                    Transition::Exclude(change) => self.exclude(cx, change),
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

    /// Permanent: the group key and the other keys that the top of this file lists. Temporary: what
    /// an operation draws, computes and wraps with.
    fn footprint(&self) -> Footprint {
        let bonds = self.bonds.as_ref().map_or(0, Bonds::stored_bytes);
        let group_key = self.group_key.as_ref().map_or(0, |_| Key::BYTES);
        Footprint { permanent: group_key + bonds, temporary: self.temporary }
    }
}
