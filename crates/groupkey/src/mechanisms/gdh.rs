//! What the schemes of the G-DH family share: an entry in the catalogue and, for GDH.2 and GDH.3,
//! the partial keys.
//!
//! Members `M_1 ... M_n` have a fixed order and secret exponents `r_1 ... r_n`. The group key is
//! derived from `K = g^(r_1 ... r_n)`. The partial key `P_i` is `K` without `r_i` in its exponent.
//! It is public: only `M_i` can compute `K` from it. The last member is the controller. Every
//! member keeps all partial keys, so that it can act when it becomes the last member:
//!
//! - it multiplies its own secret by a fresh factor `f`, which makes the key `K' = K^f`;
//! - the partial keys of all others become `P_i^f`, and its own stays as it is.
//!
//! The members that leave lose their partial keys. If no member leaves, this refreshes the key. So
//! removal, partition and rekey cost the same, with n members left:
//!
//! | messages | elements sent | exponentiations |
//! |---|---|---|
//! | 1 broadcast | n | controller n, others 1; in all 2n - 1 |
//!
//! In `sound` the key also depends on the hash of all partial keys, and who sends them confirms the
//! key with 16 bytes. So a member refuses a list from which others would get another key, and keeps
//! its state. This does not stop a dishonest controller that sends two lists, each with its own
//! confirmation: no other member speaks in the same operation. The parts then refuse each other's
//! next list.
//!
//! ```text
//! Remove .. Rekey, from the controller to all: LIST     P'_1 .. P'_n            (one byte string)
//! CatchUp, from a member to all:               REQUEST
//! CatchUp, from the controller to the member:  ANSWER   [id, ..], P_1 .. P_n    (one byte string)
//! LIST and ANSWER, sound, at the end:          confirmation, 16 bytes
//! ```
//!
//! A member that was asleep asks all members, and the current controller answers with public
//! values. That is enough, because a member's own secret changes only when it acts itself. Two
//! members must rejoin instead. One was asleep when it was its turn to act: the operation cannot
//! complete without it. The other is a controller that was evicted in its sleep: no member answers
//! it.

use alloc::vec::Vec;

use zeroize::Zeroize;

use crate::catching_up::CatchUpRequest;
use crate::context::Context;
use crate::crypto::group::{Element, ElementCheck, Exponent};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::membership::{MembershipChange, Merger, Roster, View, circumstances};
use crate::outbox::Recipient;
use crate::party::{Footprint, Operation};
use crate::scheme::{Configuration, Profile};
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The partial keys of all members, to all members.
pub(crate) const LIST: u8 = 0;
/// Asks for the current roster and partial keys.
pub(crate) const REQUEST: u8 = 1;
/// The current roster and partial keys.
pub(crate) const ANSWER: u8 = 2;

/// What a member of GDH.2 or GDH.3 holds.
#[derive(Debug)]
pub(crate) struct GdhPeer {
    view: View,
    profile: Profile,
    check: ElementCheck,
    share: Option<GdhShare>,
    /// This member's secret after the operation under way, if it differs from the current one.
    fresh: Option<Exponent>,
    asked: CatchUpRequest,
    temporary: usize,
}

/// The change of a controller's own secret, which changes the key.
pub(crate) struct Refreshment {
    factor: Exponent,
    /// This member's secret after the change.
    pub(crate) secret: Exponent,
    /// `K'`: the current shared element raised to the factor.
    pub(crate) shared: Element,
}

/// What an operation ends in, before a member adopts it.
pub(crate) struct PendingState {
    epoch: Epoch,
    roster: Roster,
    share: GdhShare,
    encoded: Vec<u8>,
}

pub(crate) struct PartialKeyList {
    partial_keys: Vec<Element>,
    /// The encodings of those that are sent: of all, or of all but the last. An encoding costs a
    /// thirteenth of an exponentiation, so each is made once.
    encoded: Vec<u8>,
}

#[derive(Debug)]
struct GdhShare {
    /// The partial keys of all members in the order of the roster, this member's included.
    partial_keys: Vec<Element>,
    secret: Exponent,
    group_key: Key,
}

impl GdhPeer {
    /// A member that is in no group yet.
    pub(crate) fn new(configuration: &Configuration, me: MemberId) -> Self {
        Self {
            view: View::new(configuration, me),
            profile: configuration.profile(),
            check: configuration.check(),
            share: None,
            fresh: None,
            asked: CatchUpRequest::default(),
            temporary: 0,
        }
    }

    pub(crate) const fn view(&self) -> &View {
        &self.view
    }

    pub(crate) const fn check(&self) -> ElementCheck {
        self.check
    }

    /// The secret of this member that the operation under way builds on.
    pub(crate) fn secret(&self) -> Result<&Exponent, Error> {
        let current = self.share.as_ref().map(|share| &share.secret);
        self.fresh.as_ref().or(current).ok_or_else(|| Misbehaviour::UnexpectedMessage.into())
    }

    /// This member's partial key. A change of this member's secret does not change it.
    pub(crate) fn own_partial_key(&self) -> Result<&Element, Error> {
        let place = self.view.roster().place(self.view.me());
        let share = self.share.as_ref();
        place.zip(share).map(|(place, share)| &share.partial_keys[place]).ok_or_else(not_created)
    }

    /// Begins an event. Its messages are expected from now on. `fresh` is this member's secret
    /// after the event, if it differs from the current one.
    pub(crate) fn begin(&mut self, change: MembershipChange, fresh: Option<Exponent>) {
        self.view.begin(change);
        self.fresh = fresh;
    }

    /// Begins a merger at a guest, which waits until it is told the roster.
    pub(crate) fn await_welcome(&mut self, merger: Merger) {
        self.view.await_welcome(merger);
    }

    pub(crate) fn welcome(&mut self, epoch: Epoch, roster: Roster, secret: Exponent) {
        self.view.welcome(epoch, roster);
        self.fresh = Some(secret);
    }

    /// Makes the controller's new secret and shared element. Changes nothing yet.
    pub(crate) fn refreshment(&self, cx: &mut Context<'_>) -> Result<Refreshment, Error> {
        let factor = cx.random_exponent();
        let secret = cx.exponent_product(self.secret()?, &factor);
        let shared = cx.power(self.own_partial_key()?, &secret);
        Ok(Refreshment { factor, secret, shared })
    }

    /// The partial keys after a refreshment, of members that are still in `roster`.
    pub(crate) fn refreshed_partial_keys(
        &self,
        cx: &mut Context<'_>,
        refreshment: &Refreshment,
        roster: &Roster,
    ) -> Result<Vec<Element>, Error> {
        let share = self.share.as_ref().ok_or_else(not_created)?;
        let members = self.view.roster().iter().zip(&share.partial_keys);
        Ok(members
            .filter(|&(member, _)| roster.place(member).is_some())
            .map(|(member, partial_key)| {
                if member == self.view.me() {
                    partial_key.clone()
                } else {
                    cx.power(partial_key, &refreshment.factor)
                }
            })
            .collect())
    }

    /// Begins an event that adds no member. The last of the remaining members changes the key.
    pub(crate) fn exclude(
        &mut self,
        cx: &mut Context<'_>,
        change: MembershipChange,
    ) -> Result<(), Error> {
        if change.roster().last() != Some(self.view.me()) {
            self.begin(change, None);
            return Ok(());
        }
        let refreshment = self.refreshment(cx)?;
        let partial_keys = self.refreshed_partial_keys(cx, &refreshment, change.roster())?;
        let Refreshment { secret, shared, .. } = refreshment;
        let (epoch, roster) = (change.epoch(), change.roster().clone());
        let list = PartialKeyList::to_send(cx, partial_keys, usize::MAX);
        let outcome = self.outcome(cx, epoch, roster, list, secret, shared);
        self.send_list(cx, Recipient::Group, change.operation(), &outcome);
        self.install(cx, outcome);
        Ok(())
    }

    /// Takes the list of all partial keys that `sender` sends to complete the operation under way.
    pub(crate) fn receive_list(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        sender: MemberId,
    ) -> Result<(), Error> {
        let roster = self.view.require_under_way(message)?.clone();
        message.require_sender(sender.into())?;
        let mut body = message.body();
        let list = PartialKeyList::read(cx, &mut body, roster.len(), self.check)?;
        self.adopt(cx, message.header().epoch, roster, list, body)
    }

    /// Computes the key from the partial keys and completes the operation. The rest of the body
    /// must confirm the key.
    pub(crate) fn adopt(
        &mut self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: Roster,
        list: PartialKeyList,
        mut rest: Reader<'_>,
    ) -> Result<(), Error> {
        let place = roster.place(self.view.me()).ok_or(Misbehaviour::NothingForUs)?;
        let confirmation = Confirmation::read(self.profile, &mut rest)?;
        rest.finish()?;
        let secret = self.secret()?.clone();
        let shared = cx.power(&list.partial_keys[place], &secret);
        let outcome = self.outcome(cx, epoch, roster, list, secret, shared);
        confirmation.verify(cx, self.profile, epoch, &outcome.share.group_key)?;
        self.install(cx, outcome);
        Ok(())
    }

    /// Derives the group key, once this member has computed the shared element.
    pub(crate) fn outcome(
        &self,
        cx: &mut Context<'_>,
        epoch: Epoch,
        roster: Roster,
        list: PartialKeyList,
        secret: Exponent,
        shared: Element,
    ) -> PendingState {
        let digest = if self.profile.is_published() { None } else { Some(list.digest(cx)) };
        let group_key = group_key(cx, shared, epoch, &roster, digest.as_ref());
        let PartialKeyList { partial_keys, encoded } = list;
        PendingState { epoch, roster, share: GdhShare { partial_keys, secret, group_key }, encoded }
    }

    /// Sends the partial keys of a list that is [to be sent](PartialKeyList::to_send), and confirms
    /// the key.
    pub(crate) fn send_list(
        &self,
        cx: &mut Context<'_>,
        to: Recipient,
        operation: Operation,
        outcome: &PendingState,
    ) {
        let PendingState { epoch, share, encoded, .. } = outcome;
        let confirmation = Confirmation::of(cx, self.profile, *epoch, &share.group_key);
        let mut draft = cx.draft(to, *epoch, operation, LIST);
        draft.bytes(encoded);
        confirmation.write(&mut draft);
        draft.send();
    }

    /// Passes a list on as it came, with its confirmation.
    pub(crate) fn pass_on(
        &self,
        cx: &mut Context<'_>,
        to: Recipient,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        let header = message.header();
        let mut body = message.body();
        let list = body.bytes()?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        let mut draft = cx.draft(to, header.epoch, header.operation, LIST);
        draft.bytes(list);
        confirmation.write(&mut draft);
        draft.send();
        Ok(())
    }

    /// Completes the operation.
    pub(crate) fn install(&mut self, cx: &mut Context<'_>, outcome: PendingState) {
        let PendingState { epoch, roster, share, .. } = outcome;
        let list: usize = share.partial_keys.iter().map(Element::stored_bytes).sum();
        let shared = Element::length(cx.suite());
        self.note_temporary(share.secret.stored_bytes() + shared + list);
        self.share = Some(share);
        self.fresh = None;
        self.asked.forget();
        self.view.settle(cx, epoch, roster);
    }

    pub(crate) fn ask(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        if self.share.is_none() && !self.view.is_creating() {
            return Err(not_created());
        }
        self.asked.request(cx, Recipient::Group, self.view.epoch(), REQUEST).send();
        Ok(())
    }

    /// Answers a request if this member is the controller. Every member receives a request.
    pub(crate) fn answer(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let member = message.from_member()?;
        message.body().finish()?;
        let Some(share) = self.share.as_ref().filter(|_| self.view.is_controller()) else {
            return Ok(());
        };
        if self.view.roster().place(member).is_none() || member == self.view.me() {
            return Err(Misbehaviour::UnexpectedSender.into());
        }
        let to = Recipient::Member(member);
        let epoch = self.view.epoch();
        let confirmation = Confirmation::of(cx, self.profile, epoch, &share.group_key);
        let mut draft = cx.draft(to, epoch, Operation::CatchUp, ANSWER);
        self.view.roster().write(&mut draft);
        draft.elements(&share.partial_keys);
        confirmation.write(&mut draft);
        draft.send();
        Ok(())
    }

    /// Takes the answer to this member's request.
    pub(crate) fn catch_up(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
    ) -> Result<(), Error> {
        self.asked.require_fresh(message)?;
        message.require_later_epoch(self.view.epoch())?;
        let mut body = message.body();
        let roster = Roster::read(&mut body)?;
        message.require_sender(roster.at(roster.len() - 1).into())?;
        let list = PartialKeyList::read(cx, &mut body, roster.len(), self.check)?;
        self.adopt(cx, message.header().epoch, roster, list, body)
    }

    /// Records how many additional bytes were held while an operation was under way.
    pub(crate) fn note_temporary(&mut self, bytes: usize) {
        self.temporary = self.temporary.max(bytes);
    }

    pub(crate) fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.share.as_ref().map(|share| (self.view.epoch(), &share.group_key))
    }

    /// Permanent: this member's secret, the group key, and the partial keys, which are public but
    /// must be kept (S002 counts them). Temporary: this member's new secret, the shared element and
    /// the list that replaces the old one.
    pub(crate) fn footprint(&self) -> Footprint {
        let permanent = self.share.as_ref().map_or(0, |share| {
            let list: usize = share.partial_keys.iter().map(Element::stored_bytes).sum();
            share.secret.stored_bytes() + Key::BYTES + list
        });
        Footprint { permanent, temporary: self.temporary }
    }
}

impl PartialKeyList {
    /// A list whose first `count` partial keys will be sent.
    pub(crate) fn to_send(cx: &mut Context<'_>, partial_keys: Vec<Element>, count: usize) -> Self {
        let sent = &partial_keys[..count.min(partial_keys.len())];
        let mut encoded = Vec::with_capacity(sent.len() * Element::length(cx.suite()));
        sent.iter().for_each(|partial_key| cx.encode_element(partial_key, &mut encoded));
        Self { partial_keys, encoded }
    }

    pub(crate) fn read(
        cx: &mut Context<'_>,
        body: &mut Reader<'_>,
        count: usize,
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let encoded = body.bytes()?;
        Ok(Self { partial_keys: cx.elements(encoded, count, check)?, encoded: encoded.to_vec() })
    }

    /// Appends the last partial key, which was not sent with the others.
    pub(crate) fn push(&mut self, partial_key: Element) {
        self.partial_keys.push(partial_key);
    }

    /// The hash of all partial keys. With it in the key, no two members have one key and different
    /// lists, so that no later event builds on different ones.
    fn digest(&self, cx: &mut Context<'_>) -> [u8; 32] {
        let mut all = self.encoded.clone();
        let sent = all.len() / Element::length(cx.suite());
        self.partial_keys[sent..].iter().for_each(|partial_key| partial_key.encode(&mut all));
        cx.digest("groupkey gdh list", &[&all])
    }
}

/// The group key. It is never the shared element itself, but derived from it for this group, this
/// epoch, these members and, where a list is common to all, the digest of that list. The element is
/// wiped.
pub(crate) fn group_key(
    cx: &mut Context<'_>,
    mut shared: Element,
    epoch: Epoch,
    roster: &Roster,
    list: Option<&[u8; 32]>,
) -> Key {
    let mut context = circumstances(cx, epoch, roster);
    context.extend(list.into_iter().flatten());
    let key = cx.derive_from_element(&shared, "groupkey gdh", &context);
    shared.zeroize();
    key
}

fn not_created() -> Error {
    Misuse::NotCreated.into()
}

#[cfg(test)]
mod tests;
