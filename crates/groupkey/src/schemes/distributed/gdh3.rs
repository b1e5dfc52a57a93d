//! GDH.3: one element goes up instead of a list, at a constant number of exponentiations for all
//! but the last member. The last member collects an element from every member and makes the list
//! from them.
//!
//! Source: Steiner, Tsudik and Waidner 1996, known as IKA.3; merge and costs after Kim, Perrig and
//! Tsudik 2004, table 1. Class: distributed. Provenance: reconstructed: the originals could not be
//! read; message layouts are ours, the counts are the published ones.
//!
//! | operation | messages | elements sent | exponentiations; inversions |
//! |---|---|---|---|
//! | create, n members | n - 2 unicasts, 1 broadcast, n - 1 unicasts, 1 broadcast | 3n - 3 | `M_i`: 3; 1, `M_n-1`: 2, `M_n`: n; in all 4n - 4; n - 2 (5n - 6) |
//! | add, to n members | 1 unicast, 1 broadcast, n unicasts, 1 broadcast | 2n + 2 | controller 2, new member n + 1, others 2; 1; in all 3n + 1; n - 1 |
//! | merge, n hosts and m > 1 guests | m unicasts, 1 broadcast, n + m - 1 unicasts, 1 broadcast | 2n + 3m - 1 | controller and guests 3; 1, last but one 2; 0, last n + m; 0, other hosts 2; 1 |
//! | remove, partition, rekey: n remain | 1 broadcast | n | controller n, others 1; in all 2n - 1 |
//! | catch up | 1 request, 1 unicast | n | asking member 1 |
//!
//! Keys held: the group key and this member's exponent; in addition n partial keys, which are
//! public. Profiles: in `published`, elements are not checked to be in the subgroup, lists carry no
//! confirmation, and the key does not depend on the hash of the list.
//!
//! ```text
//! TOKEN,   M_i to M_i+1, i < n - 1:  g^(r_1 .. r_i)
//! WELCOME, controller to new member: [id, ..], v = K^f
//! WELCOME, j-th of m guests to the next: [id, ..], K^(f s_1 .. s_j); the last one receives v
//! VALUE,   M_n-1, the new member or the last guest to all:  v, in a creation g^(r_1 .. r_n-1)
//! FACTOR,  everybody else to the last member:  v^(1 / r_i)
//! LIST,    last member to all:  v^(r_n / r_1), .. v^(r_n / r_n-1)              (one byte string)
//! LIST, sound, at the end:  confirmation, 16 bytes
//! ```
//!
//! The list of a creation or a join lacks the last member's entry, which is `v`. A new member takes
//! the last place. It passes `v` on without a part of its own, and raises the factors only. `M_n-1`
//! knows its factor without exponentiation, because it made `v` from it. So does the controller of
//! a join, whose factor is its partial key. With 3 members there is 1 token. With 2, `M_1` is
//! `M_n-1`. Its factor is the generator, which it need not send: 2 messages instead of 2n - 1 = 3.
//! `gdh.rs` describes the messages of removal, partition, rekey and catching up. A merger of one
//! guest is a join.
//!
//! Deviations: the factor of two members is not sent. The group key is derived from the shared
//! element. Catching up is ours. A join needs every member awake, because all of them must send a
//! factor. A member that was asleep catches up first.
//!
//! The literature counts an inversion as an exponentiation. Modulo a prime order of 160 or 252 bits
//! it costs far less, so the table has the two apart.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::Element;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::gdh::{ANSWER, GdhPeer, LIST, PartialKeyList, REQUEST};
use crate::mechanisms::membership::transition::Transition;
use crate::mechanisms::membership::{MembershipChange, Roster};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::{Header, Message};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "gdh3",
    "GDH.3, group Diffie-Hellman, factored out",
    Provenance::Reconstructed,
    "Steiner, Tsudik and Waidner 1996; Kim, Perrig and Tsudik 2004",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

#[derive(Debug)]
pub(crate) struct Member {
    peer: GdhPeer,
    progress: Progress,
}

const TOKEN: u8 = 3;
pub(crate) const VALUE: u8 = 4;
pub(crate) const FACTOR: u8 = 5;
const WELCOME: u8 = 6;

/// How far a creation or a join has come.
#[derive(Debug)]
enum Progress {
    /// No operation is under way, or a removal.
    Idle,
    /// The token has not come yet.
    Token,
    /// The value has not come yet. The member that made it knows it already, and its own factor.
    Value { made: Option<Made> },
    /// The list, which lacks the value, has not come yet.
    List { value: Element },
    /// The last member collects the value and every other member's factors.
    Factors { value: Option<Element>, factors: Vec<Option<Element>> },
}

/// The value and the factor of the member that made it.
#[derive(Debug)]
struct Made {
    value: Element,
    factor: Element,
}

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self { peer: GdhPeer::new(configuration, me), progress: Progress::Idle }
    }

    fn create(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        let secret = cx.random_exponent();
        let epoch = self.peer.view().epoch().next();
        let roster = change.roster();
        let last = roster.len() - 1;
        self.progress = match roster.place(self.peer.view().me()) {
            Some(0) => {
                let element = cx.generator_power(&secret);
                if last == 1 {
                    send(cx, Recipient::Group, epoch, Operation::Create, VALUE, &element);
                    Progress::List { value: element }
                } else {
                    let next = Recipient::Member(roster.at(1));
                    send(cx, next, epoch, Operation::Create, TOKEN, &element);
                    Progress::Value { made: None }
                }
            }
            // With two members the only factor is the generator, and no member sends it.
            Some(place) if place == last => Progress::Factors {
                value: None,
                factors: if last == 1 { Vec::new() } else { vec![None; last] },
            },
            _ => Progress::Token,
        };
        self.peer.begin(change, Some(secret));
        Ok(())
    }

    fn receive_token(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.peer.view().require_under_way(message)?;
        if !matches!(self.progress, Progress::Token) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let place = self.place(roster)?;
        let before = place.checked_sub(1).ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_sender(roster.at(before).into())?;
        let (next, last) = (roster.at(place + 1), roster.len() - 1);
        let token = self.read_element(cx, message)?;
        let epoch = message.header().epoch;
        let element = cx.power(&token, self.peer.secret()?);
        let next = Recipient::Member(next);
        self.progress = if place + 1 < last {
            send(cx, next, epoch, Operation::Create, TOKEN, &element);
            Progress::Value { made: None }
        } else {
            send(cx, Recipient::Group, epoch, Operation::Create, VALUE, &element);
            send(cx, next, epoch, Operation::Create, FACTOR, &token);
            Progress::List { value: element }
        };
        Ok(())
    }

    fn receive_value(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = *message.header();
        let roster = self.peer.view().require_under_way(message)?;
        let last = roster.at(roster.len() - 1);
        let sender = match header.operation {
            Operation::Create => roster.at(roster.len() - 2),
            _ => last,
        };
        message.require_sender(sender.into())?;
        let value = self.read_element(cx, message)?;
        match &mut self.progress {
            Progress::Value { made } => {
                let factor = match made {
                    Some(made) if made.value == value => made.factor.clone(),
                    Some(_) => return Err(Misbehaviour::InvalidElement.into()),
                    None => {
                        let inverse = cx.inverse(self.peer.secret()?);
                        cx.power(&value, &inverse)
                    }
                };
                let to = Recipient::Member(last);
                send(cx, to, header.epoch, header.operation, FACTOR, &factor);
                self.progress = Progress::List { value };
            }
            Progress::Factors { value: missing, .. } if missing.is_none() => {
                *missing = Some(value);
                self.complete(cx, header.epoch, header.operation)?;
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        Ok(())
    }

    fn receive_factor(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = *message.header();
        let roster = self.peer.view().require_under_way(message)?;
        let place = roster.place(message.from_member()?).ok_or(Misbehaviour::UnexpectedSender)?;
        let factor = self.read_element(cx, message)?;
        let Progress::Factors { factors, .. } = &mut self.progress else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        match factors.get_mut(place) {
            Some(slot @ None) => *slot = Some(factor),
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        self.complete(cx, header.epoch, header.operation)
    }

    /// As the last member, makes the list if the value and all factors are there.
    fn complete(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        operation: Operation,
    ) -> Result<(), Error> {
        let Progress::Factors { value: Some(value), factors } = &self.progress else {
            return Ok(());
        };
        if factors.iter().any(Option::is_none) {
            return Ok(());
        }
        let Some(roster) = self.peer.view().under_way().cloned() else { return Ok(()) };
        let secret = self.peer.secret()?.clone();
        let mut partial_keys: Vec<_> =
            factors.iter().flatten().map(|factor| cx.power(factor, &secret)).collect();
        if partial_keys.is_empty() {
            partial_keys.push(cx.generator_power(&secret));
        }
        let shared = cx.power(value, &secret);
        let sent = partial_keys.len();
        partial_keys.push(value.clone());
        // Secret, shared element, the collected elements, and the list made from them.
        let elements = 1 + factors.len() + 1 + partial_keys.len();
        let temporary = secret.stored_bytes() + elements * value.stored_bytes();
        self.peer.note_temporary(temporary);
        let list = PartialKeyList::to_send(cx, partial_keys, sent);
        let outcome = self.peer.outcome(cx, epoch, roster, list, secret, shared);
        self.peer.send_list(cx, Recipient::Group, operation, &outcome);
        self.peer.install(cx, outcome);
        self.progress = Progress::Idle;
        Ok(())
    }

    fn receive_list(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let roster = self.peer.view().require_under_way(message)?.clone();
        let last = roster.at(roster.len() - 1);
        if !matches!(header.operation, Operation::Create | Operation::Add | Operation::Merge) {
            return self.peer.receive_list(cx, message, last);
        }
        let Progress::List { value } = &self.progress else {
            return Err(Misbehaviour::UnexpectedMessage.into());
        };
        message.require_sender(last.into())?;
        let mut body = message.body();
        let mut list = PartialKeyList::read(cx, &mut body, roster.len() - 1, self.peer.check())?;
        list.push(value.clone());
        self.peer.adopt(cx, header.epoch, roster, list, body)?;
        self.progress = Progress::Idle;
        Ok(())
    }

    /// Begins an event in which joining members or guests come to the present members.
    fn take_in(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        let mut made = None;
        let mut secret = None;
        if self.peer.view().is_controller() {
            let refreshment = self.peer.refreshment(cx)?;
            let members = self.peer.view().roster().len();
            let first = Recipient::Member(change.roster().at(members));
            change.welcome(cx, first, WELCOME).element(&refreshment.shared).send();
            secret = Some(refreshment.secret);
            // A single joining member passes it on as it is. Several members each add a part.
            if change.roster().len() == members + 1 {
                let factor = self.peer.own_partial_key()?.clone();
                made = Some(Made { value: refreshment.shared, factor });
            }
        }
        self.peer.begin(change, secret);
        self.progress = Progress::Value { made };
        Ok(())
    }

    fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let Header { epoch, operation, .. } = *message.header();
        let mut body = message.body();
        let roster = self.peer.view().read_welcome(message, &mut body)?;
        let received = cx.element(body.bytes()?, self.peer.check())?;
        body.finish()?;
        let secret = cx.random_exponent();
        let (place, last) = (self.place(&roster)?, roster.len() - 1);
        if place == last {
            send(cx, Recipient::Group, epoch, operation, VALUE, &received);
            let factors = vec![None; last];
            self.progress = Progress::Factors { value: Some(received), factors };
            self.peer.welcome(epoch, roster, secret);
            return Ok(());
        }
        let value = cx.power(&received, &secret);
        let next = Recipient::Member(roster.at(place + 1));
        self.peer.welcome(epoch, roster, secret);
        if let Some(change) = self.peer.view().change() {
            change.welcome(cx, next, WELCOME).element(&value).send();
        }
        let made = (place + 1 == last).then_some(Made { value, factor: received });
        self.progress = Progress::Value { made };
        Ok(())
    }

    fn catch_up(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        self.peer.catch_up(cx, message)?;
        self.progress = Progress::Idle;
        Ok(())
    }

    fn read_element(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<Element, Error> {
        let mut body = message.body();
        let element = cx.element(body.bytes()?, self.peer.check())?;
        body.finish()?;
        Ok(element)
    }

    fn place(&self, roster: &Roster) -> Result<usize, Error> {
        roster.place(self.peer.view().me()).ok_or_else(|| Misbehaviour::NothingForUs.into())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => match self.peer.view().event(command)? {
                Transition::CatchUp => self.peer.ask(cx),
                Transition::Create(change) => self.create(cx, change),
                Transition::Add(change) => self.take_in(cx, change),
                Transition::Merge(merger) if merger.is_host() => {
                    self.take_in(cx, merger.change(merger.roster()))
                }
                Transition::Merge(merger) => {
                    self.peer.await_welcome(merger);
                    self.progress = Progress::Idle;
                    Ok(())
                }
                Transition::Exclude(change) => self.peer.exclude(cx, change),
            },
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::Create, TOKEN) => self.receive_token(cx, &message),
                (Operation::CatchUp, REQUEST) => self.peer.answer(cx, &message),
                (Operation::CatchUp, ANSWER) => self.catch_up(cx, &message),
                (_, VALUE) => self.receive_value(cx, &message),
                (_, FACTOR) => self.receive_factor(cx, &message),
                (_, LIST) => self.receive_list(cx, &message),
                (Operation::Add | Operation::Merge, WELCOME) => self.receive_welcome(cx, &message),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            },
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.peer.group_key()
    }

    fn footprint(&self) -> Footprint {
        self.peer.footprint()
    }
}

fn send(
    cx: &mut Context<'_>,
    to: Recipient,
    epoch: Epoch,
    operation: Operation,
    kind: u8,
    element: &Element,
) {
    cx.draft(to, epoch, operation, kind).element(element).send();
}
