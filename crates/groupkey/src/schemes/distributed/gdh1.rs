//! GDH.1: a list of elements goes from the first member up to the last, and another list back down.
//!
//! Source: Steiner, Tsudik and Waidner 1996. Class: distributed. Provenance: reconstructed:
//! creation is specified there; how GDH.1 adds and removes members is not, see the deviations.
//!
//! | operation | messages | elements sent | exponentiations |
//! |---|---|---|---|
//! | create, n members | 2(n - 1) unicasts | n(n - 1) | `M_i`: i + 1, `M_n`: n; in all (n² + 3n)/2 - 1 |
//! | add, to n members | as creation of n + 1 | | |
//! | remove, partition, rekey, merge | as creation of the members after it | | |
//!
//! Keys held: 1, the group key. Secret exponents are drawn for each run and wiped after it.
//! Profiles: in `published`, elements are not checked to be in the subgroup, and the key is
//! not confirmed.
//!
//! ```text
//! UPFLOW,   M_i to M_i+1, i < n:  g^r_1, g^(r_1 r_2), .. g^(r_1 .. r_i)               (one byte string)
//! WELCOME,  an upflow message when the receiver joins, or is the guest of a merger:  [id, ..], the same
//! DOWNFLOW, M_i+1 to M_i, i < n:  with e = r_i+1 .. r_n:  g^e, g^(r_1 e), .. g^(r_1 .. r_i-1 e)
//! DOWNFLOW, sound, at the end:  M_n's confirmation of the key, 16 bytes
//! ```
//!
//! `M_i` raises the last element of either message to `r_i`. On the way up, this is the next
//! element; on the way down, it is the shared element. `M_i` raises the other elements that come
//! down and passes them on.
//!
//! Deviations: no list of partial keys is left at the end, so there is nothing to join or leave
//! with. All other operations are new runs among the new members, with fresh exponents. Joining
//! members come last and learn the members from `WELCOME`. The group key is derived from the shared
//! element. Without partial keys a member that missed a run cannot catch up. A run needs every
//! member awake: remove a sleeping member and add it again. On the way up a member checks only the
//! element that it raises; the last member checks them all.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::gdh::group_key;
use crate::mechanisms::membership::transition::Transition;
use crate::mechanisms::membership::{MembershipChange, Roster, View};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Configuration, Profile, Provenance, Recovery, Scheme};
use crate::secret::Key;
use crate::wire::{Header, Message};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "gdh1",
    "GDH.1, group Diffie-Hellman, up and down",
    Provenance::Reconstructed,
    "Steiner, Tsudik and Waidner 1996",
    Recovery::Rejoin,
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
    view: View,
    profile: Profile,
    check: ElementCheck,
    run: Option<Run>,
    group_key: Option<Key>,
    temporary: usize,
}

pub(crate) const UPFLOW: u8 = 0;
const DOWNFLOW: u8 = 1;
const WELCOME: u8 = 2;

/// A member's part in a run that is under way.
#[derive(Debug)]
struct Run {
    secret: Exponent,
    /// The message that it waits for: `UPFLOW` (a new member: `WELCOME`) or `DOWNFLOW`.
    awaited: u8,
}

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            profile: configuration.profile(),
            check: configuration.check(),
            run: None,
            group_key: None,
            temporary: 0,
        }
    }

    /// Begins a run among the members after a membership event.
    fn begin(&mut self, cx: &mut Context<'_>, change: MembershipChange) {
        let secret = cx.random_exponent();
        let first = change.roster().first() == Some(self.view.me());
        if first {
            let element = cx.generator_power(&secret);
            let to = Recipient::Member(change.roster().at(1));
            cx.draft(to, change.epoch(), change.operation(), UPFLOW).elements(&[element]).send();
        }
        self.run = Some(Run { secret, awaited: if first { DOWNFLOW } else { UPFLOW } });
        self.view.begin(change);
    }

    fn receive_upflow(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let mut body = message.body();
        let roster = if header.kind == WELCOME {
            self.view.read_welcome(message, &mut body)?
        } else {
            self.view.require_under_way(message)?.clone()
        };
        let run = awaiting(&self.run, UPFLOW)?;
        let place = roster.place(self.view.me()).ok_or(Misbehaviour::NothingForUs)?;
        let before = place.checked_sub(1).ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_sender(roster.at(before).into())?;
        let packed = body.bytes()?;
        body.finish()?;
        if place + 1 < roster.len() {
            let length = Element::length(cx.suite());
            if packed.len() != place * length {
                return Err(Misbehaviour::InvalidRoster.into());
            }
            let last = cx.element(&packed[packed.len() - length..], self.check)?;
            let own = cx.power(&last, &run.secret);
            let known = self.view.roster();
            let newcomers = matches!(header.operation, Operation::Add | Operation::Merge);
            let told = [0, place + 1].map(|place| known.place(roster.at(place)).is_some());
            let welcome = newcomers && told != [true; 2];
            send_upflow(cx, &roster, place, header, welcome, packed, &own);
            if let Some(run) = &mut self.run {
                run.awaited = DOWNFLOW;
            }
            if header.kind == WELCOME {
                self.view.welcome(header.epoch, roster);
            }
            return Ok(());
        }
        let mut elements = cx.elements(packed, place, self.check)?;
        let shared = elements.pop().map(|last| cx.power(&last, &run.secret));
        let shared = shared.ok_or(Misbehaviour::InvalidRoster)?;
        let mut raised = Vec::with_capacity(roster.len() - 1);
        raised.push(cx.generator_power(&run.secret));
        raised.extend(elements.iter().map(|element| cx.power(element, &run.secret)));
        let group_key = group_key(cx, shared, header.epoch, &roster, None);
        let confirmation = Confirmation::of(cx, self.profile, header.epoch, &group_key);
        send_downflow(cx, roster.at(before), header, &raised, &confirmation);
        self.complete(cx, header.epoch, roster, group_key);
        Ok(())
    }

    fn receive_downflow(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let header = message.header();
        let roster = self.view.require_under_way(message)?.clone();
        let run = awaiting(&self.run, DOWNFLOW)?;
        let place = roster.place(self.view.me()).ok_or(Misbehaviour::NothingForUs)?;
        if place + 1 == roster.len() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        message.require_sender(roster.at(place + 1).into())?;
        let mut body = message.body();
        let mut elements = cx.elements(body.bytes()?, place + 1, self.check)?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        let shared = elements.pop().map(|last| cx.power(&last, &run.secret));
        let shared = shared.ok_or(Misbehaviour::InvalidRoster)?;
        let group_key = group_key(cx, shared, header.epoch, &roster, None);
        confirmation.verify(cx, self.profile, header.epoch, &group_key)?;
        if place > 0 {
            let raised: Vec<_> =
                elements.iter().map(|element| cx.power(element, &run.secret)).collect();
            send_downflow(cx, roster.at(place - 1), header, &raised, &confirmation);
        }
        self.complete(cx, header.epoch, roster, group_key);
        Ok(())
    }

    fn complete(&mut self, cx: &mut Context<'_>, epoch: Epoch, roster: Roster, group_key: Key) {
        let secret = self.run.take().map_or(0, |run| run.secret.stored_bytes());
        self.temporary = secret + Element::length(cx.suite());
        self.group_key = Some(group_key);
        self.view.settle(cx, epoch, roster);
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => {
                match self.view.event(command)? {
                    Transition::CatchUp => return Err(Unsupported::Operation.into()),
                    Transition::Create(change)
                    | Transition::Add(change)
                    | Transition::Exclude(change) => {
                        self.begin(cx, change);
                    }
                    Transition::Merge(merger) if merger.is_host() => {
                        self.begin(cx, merger.change(merger.roster()));
                    }
                    Transition::Merge(merger) => {
                        self.run = Some(Run { secret: cx.random_exponent(), awaited: UPFLOW });
                        self.view.await_welcome(merger);
                    }
                }
                Ok(())
            }
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (_, UPFLOW) | (Operation::Add | Operation::Merge, WELCOME) => {
                    self.receive_upflow(cx, &message)
                }
                (_, DOWNFLOW) => self.receive_downflow(cx, &message),
                _ => Err(Misbehaviour::UnexpectedMessage.into()),
            },
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.group_key.as_ref().map(|key| (self.view.epoch(), key))
    }

    /// Permanent: the group key. Temporary: this member's secret and the shared element.
    fn footprint(&self) -> Footprint {
        let permanent = if self.group_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent, temporary: self.temporary }
    }
}

fn awaiting(run: &Option<Run>, kind: u8) -> Result<&Run, Error> {
    run.as_ref()
        .filter(|run| run.awaited == kind)
        .ok_or_else(|| Misbehaviour::UnexpectedMessage.into())
}

/// Sends elements down to the member before, with the last member's confirmation of the key.
fn send_downflow(
    cx: &mut Context<'_>,
    to: MemberId,
    header: &Header,
    elements: &[Element],
    confirmation: &Confirmation,
) {
    let mut draft = cx.draft(Recipient::Member(to), header.epoch, header.operation, DOWNFLOW);
    draft.elements(elements);
    confirmation.write(&mut draft);
    draft.send();
}

/// Passes the elements that came up on to the next member, with one element more. Adds the roster
/// if the next member does not know it.
fn send_upflow(
    cx: &mut Context<'_>,
    roster: &Roster,
    place: usize,
    header: &Header,
    welcome: bool,
    received: &[u8],
    own: &Element,
) {
    let next = Recipient::Member(roster.at(place + 1));
    let kind = if welcome { WELCOME } else { UPFLOW };
    let length = received.len() + own.stored_bytes();
    let mut draft = cx.draft(next, header.epoch, header.operation, kind);
    if welcome {
        roster.write(&mut draft);
    }
    draft.packed(length).packed_bytes(received).packed_element(own).send();
}
