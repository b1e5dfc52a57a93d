//! GDH.2: a list of partial keys grows from the first member up to the last. The last member
//! completes it and hands it to all, by broadcast (`gdh2`) or from member to member (`gdh2-relay`).
//!
//! Source: Steiner, Tsudik and Waidner 1996, known as CLIQUES IKA.1, with the AKA operations for
//! join and leave. Class: distributed. Provenance: `gdh2` specified; `gdh2-relay` reconstructed:
//! S000 measured creation as 2(n - 1) messages one after the other, and join and leave as below.
//! This fits GDH.2 with the list handed back hop by hop.
//!
//! | operation | messages | elements sent | exponentiations |
//! |---|---|---|---|
//! | create, n members | n - 1 unicasts, then 1 broadcast or n - 1 unicasts | (n - 1)(n + 2)/2 - 1 up, then n each | `M_i`: i + 1, `M_n`: n; in all (n² + 3n)/2 - 1 |
//! | add, to n members | 1 unicast, 1 broadcast | 2(n + 1) | controller n + 1, new member n + 1, others 1; in all 3n + 1 |
//! | merge, n hosts and m guests | m unicasts, 1 broadcast | m(n + 1) + m(m - 1)/2 + n + m | controller n + 1, j-th guest n + j + 1, the last n + m, others 1 |
//! | remove, partition, rekey: n remain | 1 broadcast | n | controller n, others 1; in all 2n - 1 |
//! | catch up | 1 request, 1 unicast | n | asking member 1 |
//!
//! Keys held: the group key and this member's exponent; in addition n partial keys, which are
//! public. Profiles: in `published`, elements are not checked to be in the subgroup, lists carry no
//! confirmation, and the key does not depend on the hash of the list.
//!
//! ```text
//! UPFLOW,  M_i to M_i+1, i < n:  intermediates .., cardinal         (i + 1 elements; i = 1: cardinal)
//! LIST,    M_n to all, or M_i+1 to M_i:  P_1 .. P_n                             (one byte string)
//! LIST, sound, at the end:  confirmation, 16 bytes
//! WELCOME, controller to new member, or from guest to guest:  [id, ..], P'_1 .. P'_n, K^f
//! LIST,    new member or last guest to all:  P''_1 .. P''_n+1
//! ```
//!
//! The cardinal of `M_i` is `g^(r_1 .. r_i)`; its j-th intermediate is the cardinal without `r_j`.
//! `M_n` does not raise the cardinal for the list, so the cardinal is `P_n`. In a join, the
//! controller's own partial key stays as it is and the cardinal is `K^f`: the new member never sees
//! `K`. In a merger, the list for the first guest goes on through all guests, each with a new
//! exponent, as in a creation. `gdh.rs` describes the messages of removal, partition, rekey and
//! catching up.
//!
//! Deviations: the first message does not carry the generator, which is the first member's only
//! intermediate. `P_n` is part of the list, so that any member can become the controller. For the
//! same reason, every member in the relay passes on the whole list and takes nothing out. The group
//! key is derived from the shared element. Catching up is ours.
//!
//! Why the relay: S000 measured 22.8 s for 20 members at 100 ms delay, which is 38 messages of six
//! one-way delays, one after the other.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use crate::context::Context;
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

/// The broadcasting form in the catalogue.
pub(crate) const BROADCAST: Scheme = Scheme::contributory(
    "gdh2",
    "GDH.2, group Diffie-Hellman, partial keys broadcast (CLIQUES)",
    Provenance::Specified,
    "Steiner, Tsudik and Waidner 1996 and 2000",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me, Distribution::Broadcast)),
)
.with_operations(CONTRIBUTORY)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

/// The relaying form in the catalogue.
pub(crate) const RELAY: Scheme = Scheme::contributory(
    "gdh2-relay",
    "GDH.2, group Diffie-Hellman, partial keys handed on",
    Provenance::Reconstructed,
    "S000 section 5.3; Steiner, Tsudik and Waidner 1996 and 2000",
    Recovery::Request,
    |configuration, me| Box::new(Member::new(configuration, me, Distribution::Relay)),
)
.with_operations(CONTRIBUTORY)
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

/// How the list of a new group gets from the last member to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distribution {
    /// In one message to all.
    Broadcast,
    /// From each member to the one before it.
    Relay,
}

#[derive(Debug)]
pub(crate) struct Member {
    peer: GdhPeer,
    distribution: Distribution,
    /// Whether the member has put its secret into the upflow of the creation under way.
    contributed: bool,
}

const UPFLOW: u8 = 3;
const WELCOME: u8 = 4;

impl Member {
    /// Creates a member that is in no group yet.
    pub(crate) fn new(
        configuration: &Configuration,
        me: MemberId,
        distribution: Distribution,
    ) -> Self {
        Self { peer: GdhPeer::new(configuration, me), distribution, contributed: false }
    }

    fn create(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        let secret = cx.random_exponent();
        self.contributed = change.roster().first() == Some(self.peer.view().me());
        if self.contributed {
            let cardinal = cx.generator_power(&secret);
            let to = Recipient::Member(change.roster().at(1));
            let epoch = self.peer.view().epoch().next();
            cx.draft(to, epoch, Operation::Create, UPFLOW).elements(&[cardinal]).send();
        }
        self.peer.begin(change, Some(secret));
        Ok(())
    }

    fn receive_upflow(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let roster = self.peer.view().require_under_way(message)?.clone();
        let (place, before) = self.place(&roster)?;
        let before = before.filter(|_| !self.contributed).ok_or(Misbehaviour::UnexpectedMessage)?;
        message.require_sender(roster.at(before).into())?;
        // The first member's intermediate is the generator, which need not be sent.
        let count = if place == 1 { 1 } else { place + 1 };
        let mut body = message.body();
        let mut received = cx.elements(body.bytes()?, count, self.peer.check())?;
        body.finish()?;
        let cardinal = received.pop().ok_or(Misbehaviour::InvalidRoster)?;
        let secret = self.peer.secret()?.clone();
        let mut raised = if place == 1 {
            vec![cx.generator_power(&secret)]
        } else {
            received.iter().map(|element| cx.power(element, &secret)).collect()
        };
        let own = cx.power(&cardinal, &secret);
        raised.push(cardinal);
        let epoch = message.header().epoch;
        if place + 1 < roster.len() {
            raised.push(own);
            let next = Recipient::Member(roster.at(place + 1));
            cx.draft(next, epoch, Operation::Create, UPFLOW).elements(&raised).send();
            self.contributed = true;
            return Ok(());
        }
        let to = match self.distribution {
            Distribution::Broadcast => Recipient::Group,
            Distribution::Relay => Recipient::Member(roster.at(before)),
        };
        let list = PartialKeyList::to_send(cx, raised, usize::MAX);
        let outcome = self.peer.outcome(cx, epoch, roster, list, secret, own);
        self.peer.send_list(cx, to, Operation::Create, &outcome);
        self.peer.install(cx, outcome);
        Ok(())
    }

    fn receive_list(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let roster = self.peer.view().require_under_way(message)?;
        let creation = header.operation == Operation::Create;
        if creation && !self.contributed {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if !creation || self.distribution == Distribution::Broadcast {
            let last = roster.at(roster.len() - 1);
            return self.peer.receive_list(cx, message, last);
        }
        // The last member never counts as having contributed, so a member comes after this one.
        let (place, before) = self.place(roster)?;
        let after = roster.at(place + 1);
        let before = before.map(|before| Recipient::Member(roster.at(before)));
        self.peer.receive_list(cx, message, after)?;
        if let Some(to) = before {
            self.peer.pass_on(cx, to, message)?;
        }
        Ok(())
    }

    /// Begins an event in which joining members or guests come to the present members.
    fn take_in(&mut self, cx: &mut Context<'_>, change: MembershipChange) -> Result<(), Error> {
        if !self.peer.view().is_controller() {
            self.peer.begin(change, None);
            return Ok(());
        }
        let refreshment = self.peer.refreshment(cx)?;
        let mut elements = self.peer.refreshed_partial_keys(cx, &refreshment, change.roster())?;
        elements.push(refreshment.shared);
        let first = Recipient::Member(change.roster().at(self.peer.view().roster().len()));
        change.welcome(cx, first, WELCOME).elements(&elements).send();
        self.peer.begin(change, Some(refreshment.secret));
        Ok(())
    }

    fn receive_welcome(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let mut body = message.body();
        let roster = self.peer.view().read_welcome(message, &mut body)?;
        let (place, _) = self.place(&roster)?;
        let mut received = cx.elements(body.bytes()?, place + 1, self.peer.check())?;
        body.finish()?;
        let cardinal = received.pop().ok_or(Misbehaviour::InvalidRoster)?;
        let secret = cx.random_exponent();
        let mut partial_keys: Vec<_> =
            received.iter().map(|element| cx.power(element, &secret)).collect();
        let shared = cx.power(&cardinal, &secret);
        partial_keys.push(cardinal);
        let Header { epoch, operation, .. } = *message.header();
        if place + 1 < roster.len() {
            partial_keys.push(shared);
            let next = Recipient::Member(roster.at(place + 1));
            self.peer.welcome(epoch, roster, secret);
            if let Some(change) = self.peer.view().change() {
                change.welcome(cx, next, WELCOME).elements(&partial_keys).send();
            }
            return Ok(());
        }
        let list = PartialKeyList::to_send(cx, partial_keys, usize::MAX);
        let outcome = self.peer.outcome(cx, epoch, roster, list, secret, shared);
        self.peer.send_list(cx, Recipient::Group, operation, &outcome);
        self.peer.install(cx, outcome);
        Ok(())
    }

    /// Returns this member's place among these members, and the place before it.
    fn place(&self, roster: &Roster) -> Result<(usize, Option<usize>), Error> {
        let place = roster.place(self.peer.view().me()).ok_or(Misbehaviour::NothingForUs)?;
        Ok((place, place.checked_sub(1)))
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
                    Ok(())
                }
                Transition::Exclude(change) => self.peer.exclude(cx, change),
            },
            Input::Message(message) => match (message.header().operation, message.header().kind) {
                (Operation::Create, UPFLOW) => self.receive_upflow(cx, &message),
                (Operation::CatchUp, REQUEST) => self.peer.answer(cx, &message),
                (Operation::CatchUp, ANSWER) => self.peer.catch_up(cx, &message),
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
