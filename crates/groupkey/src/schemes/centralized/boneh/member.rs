//! Members: the fat client, which computes its element from the public key, and the thin client,
//! which is sent its element.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::encapsulation::{Opening, shared};
use super::index_set::IndexSet;
use super::messages::{Header, LABEL, MEMBER, PUBLIC_KEY, REKEY, REQUEST, context};
use crate::context::Context;
use crate::crypto::pairing::{ElementCheck, G1};
use crate::error::{Error, Misbehaviour, Misuse};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::ServedMembership;
use crate::party::{Encapsulation, Footprint, Input, Messages, Operation, Party};
use crate::scheme::Profile;
use crate::secret::Key;
use crate::wire::{Message, Reader};

#[derive(Debug)]
pub(crate) struct FatMember {
    profile: Profile,
    check: ElementCheck,
    membership: ServedMembership,
    own: Option<Own>,
    /// Kept in the sound form; in the growing design every change brings a new one.
    public_key: Option<PublicKey>,
    state: Option<FatState>,
    /// The header of the current epoch, from which the headers of own messages are made.
    header: Option<Header>,
}

#[derive(Debug)]
pub(crate) struct ThinMember {
    profile: Profile,
    check: ElementCheck,
    membership: ServedMembership,
    own: Option<Own>,
    base: Option<G1>,
    /// u_(c,i).
    combined: Option<Zeroizing<G1>>,
    /// The header of the current epoch, from which the headers of own messages are made.
    header: Option<Header>,
}

/// The index and the key that a member gets at its enrolment.
#[derive(Debug)]
struct Own {
    index: u32,
    /// SK_i.
    key: Zeroizing<G1>,
}

/// The element that a fat client computed last, and the members and hole that it is for.
#[derive(Debug)]
struct FatState {
    members: IndexSet,
    hole: u32,
    /// u_(c,i).
    combined: Zeroizing<G1>,
    /// Growing design: g_i, because the public key is not kept.
    base: Option<G1>,
    /// Growing design: g_(hole + 1). No later public key has it, but the next add needs it.
    next_hole: Option<G1>,
}

/// The elements g_k, k from 1 on, except the one at the hole.
#[derive(Debug)]
struct PublicKey {
    elements: Vec<G1>,
    hole: u32,
}

impl FatMember {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, check: ElementCheck) -> Self {
        let membership = ServedMembership::default();
        Self { profile, check, membership, own: None, public_key: None, state: None, header: None }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let taken = self.own.is_some();
        let enrolment = take_enrolment(cx, &self.membership, taken, message, 1, self.check)?;
        if let Some((own, _)) = enrolment {
            self.own = Some(own);
            return Ok(());
        }
        let header = message.header();
        let own = self.own.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let received = match (header.kind, header.operation) {
            (PUBLIC_KEY, Operation::Create | Operation::Add | Operation::CatchUp) => {
                self.membership.require_lead(message)?;
                Some(PublicKey::read(cx, &mut body, self.profile, self.check)?)
            }
            (PUBLIC_KEY, Operation::Remove | Operation::Rekey) if self.profile.is_published() => {
                self.membership.require_lead(message)?;
                Some(PublicKey::read(cx, &mut body, self.profile, self.check)?)
            }
            (REKEY, Operation::Add | Operation::Remove | Operation::Rekey | Operation::CatchUp)
                if self.profile == Profile::Sound =>
            {
                let newcomer = body.number32()?;
                match self.membership.group_key() {
                    _ if newcomer != own.index => {}
                    Some((current, _)) if header.epoch != current => {
                        let got = header.epoch;
                        return Err(Misbehaviour::StaleEpoch { got, current }.into());
                    }
                    // The message is for the other members.
                    _ => return Ok(()),
                }
                self.membership.require_lead(message)?;
                None
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let public_key = received.as_ref().or(self.public_key.as_ref());
        let public_key = public_key.ok_or(Misbehaviour::UnexpectedMessage)?;
        let members = IndexSet::read(&mut body, public_key.hole - 1)?;
        if !members.contains(own.index) {
            return Err(Misbehaviour::NothingForUs.into());
        }
        let sealed = Header::read(cx, &mut body, self.check)?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        let growing = self.profile.is_published();
        let state = FatState::next(cx, own, public_key, members, self.state.as_ref(), growing);
        let group_key =
            open(cx, header.epoch, public_key.element(own.index), &state.combined, &sealed);
        confirmation.verify(cx, self.profile, header.epoch, &group_key)?;
        self.state = Some(state);
        self.header = Some(sealed);
        if self.profile == Profile::Sound && received.is_some() {
            self.public_key = received;
        }
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }
}

impl FatMember {
    fn opening(&self) -> Result<(Epoch, Opening<'_>), Error> {
        let opening = || {
            let (own, state) = (self.own.as_ref()?, self.state.as_ref()?);
            let kept = || Some(self.public_key.as_ref()?.element(own.index));
            let base = state.base.as_ref().or_else(kept)?;
            let (combined, header) = (&*state.combined, self.header.as_ref()?);
            Some((self.membership.epoch(), Opening { base, combined, header }))
        };
        opening().ok_or_else(|| Misuse::NotCreated.into())
    }
}

impl ThinMember {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile, check: ElementCheck) -> Self {
        let membership = ServedMembership::default();
        Self { profile, check, membership, own: None, base: None, combined: None, header: None }
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let elements = if self.profile == Profile::Sound { 2 } else { 1 };
        let taken = self.own.is_some();
        let enrolment = take_enrolment(cx, &self.membership, taken, message, elements, self.check)?;
        if let Some((own, base)) = enrolment {
            self.own = Some(own);
            self.base = base;
            return Ok(());
        }
        let header = message.header();
        let own = self.own.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
        let mut body = message.body();
        let elements = body.bytes()?;
        let (base, combined) = match (self.profile.is_published(), header.kind, header.operation) {
            (
                false,
                REKEY,
                Operation::Create
                | Operation::Add
                | Operation::Remove
                | Operation::Rekey
                | Operation::CatchUp,
            ) => {
                // This message is enough, whatever the member missed.
                self.membership.require_lead(message)?;
                let share = cx.g1(elements, self.check)?;
                (None, cx.g1_product(&own.key, [&share]))
            }
            (
                true,
                MEMBER,
                Operation::Create | Operation::Add | Operation::Rekey | Operation::CatchUp,
            ) => {
                self.membership.admit(message)?;
                let pair = cx.g1s(elements, self.check)?;
                let [base, combined] =
                    <[G1; 2]>::try_from(pair).map_err(|_| Misbehaviour::InvalidRoster)?;
                (Some(base), combined)
            }
            (true, REKEY, Operation::Add | Operation::Remove) => {
                message.require_next_epoch(self.membership.epoch())?;
                let old = self.combined.as_ref().ok_or(Misbehaviour::UnexpectedMessage)?;
                let change = cx.g1(elements, self.check)?;
                let factor = match header.operation {
                    Operation::Add => change,
                    _ => cx.g1_inverse(&change),
                };
                (None, cx.g1_product(old, [&factor]))
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        };
        let sealed = Header::read(cx, &mut body, self.check)?;
        let confirmation = Confirmation::read(self.profile, &mut body)?;
        body.finish()?;
        let own_base = base.as_ref().or(self.base.as_ref());
        let own_base = own_base.ok_or(Misbehaviour::UnexpectedMessage)?;
        let group_key = open(cx, header.epoch, own_base, &combined, &sealed);
        confirmation.verify(cx, self.profile, header.epoch, &group_key)?;
        if base.is_some() {
            self.base = base;
        }
        self.combined = Some(Zeroizing::new(combined));
        self.header = Some(sealed);
        self.membership.enter(cx, header.epoch, group_key);
        Ok(())
    }
}

impl ThinMember {
    fn opening(&self) -> Result<(Epoch, Opening<'_>), Error> {
        let opening = || {
            let (base, combined) = (self.base.as_ref()?, self.combined.as_deref()?);
            let header = self.header.as_ref()?;
            Some((self.membership.epoch(), Opening { base, combined, header }))
        };
        opening().ok_or_else(|| Misuse::NotCreated.into())
    }
}

impl Party for FatMember {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn messages(&self) -> Messages<'_> {
        Messages::Encapsulated(self)
    }

    fn footprint(&self) -> Footprint {
        let element = self.own.as_ref().map_or(0, |own| own.key.stored_bytes());
        let elements = self.own.iter().len()
            + self.public_key.as_ref().map_or(0, |key| key.elements.len())
            + self
                .state
                .as_ref()
                .map_or(0, |state| 1 + state.base.iter().len() + state.next_hole.iter().len());
        let header = self.header.as_ref().map_or(0, Header::stored_bytes);
        let permanent = self.membership.key_bytes() + elements * element + header;
        Footprint { permanent, temporary: Key::BYTES }
    }
}

impl Encapsulation for FatMember {
    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        let (epoch, opening) = self.opening()?;
        Ok(opening.encapsulate(cx, epoch))
    }

    fn decapsulate(&self, cx: &mut Context<'_>, ciphertext: &[u8]) -> Result<Key, Error> {
        let (epoch, opening) = self.opening()?;
        opening.decapsulate(cx, epoch, ciphertext, self.check)
    }
}

impl Party for ThinMember {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn messages(&self) -> Messages<'_> {
        Messages::Encapsulated(self)
    }

    fn footprint(&self) -> Footprint {
        let own = self.own.as_ref().map(|own| &*own.key);
        let elements = own.into_iter().chain(&self.base).chain(self.combined.as_deref());
        let elements: usize = elements.map(G1::stored_bytes).sum();
        let header = self.header.as_ref().map_or(0, Header::stored_bytes);
        let permanent = self.membership.key_bytes() + elements + header;
        Footprint { permanent, temporary: Key::BYTES }
    }
}

impl Encapsulation for ThinMember {
    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        let (epoch, opening) = self.opening()?;
        Ok(opening.encapsulate(cx, epoch))
    }

    fn decapsulate(&self, cx: &mut Context<'_>, ciphertext: &[u8]) -> Result<Key, Error> {
        let (epoch, opening) = self.opening()?;
        opening.decapsulate(cx, epoch, ciphertext, self.check)
    }
}

impl FatState {
    /// Computes u_(c,i) for these members: from the previous one, if that takes fewer products.
    fn next(
        cx: &mut Context<'_>,
        own: &Own,
        public_key: &PublicKey,
        members: IndexSet,
        old: Option<&Self>,
        growing: bool,
    ) -> Self {
        let hole = public_key.hole;
        let wanted = factors(own.index, &members, hole);
        let update = old.filter(|old| hole == old.hole || hole == old.hole + 1);
        let update = update.and_then(|old| {
            let had = factors(own.index, &old.members, old.hole);
            let gone: Vec<_> = had.iter().filter(|&k| !wanted.contains(k)).collect();
            let come: Vec<_> = wanted.iter().filter(|&k| !had.contains(k)).collect();
            let known = |k: &u32| *k != hole || old.next_hole.is_some();
            let fewer = gone.len() + come.len() <= wanted.len() as usize;
            (fewer && gone.iter().all(known)).then_some((old, gone, come))
        });
        let combined = match update {
            Some((old, gone, come)) => {
                let element = |k| match &old.next_hole {
                    Some(element) if k == hole => element,
                    _ => public_key.element(k),
                };
                let inverse = |k| cx.g1_inverse(element(k));
                let gone: Vec<_> = gone.into_iter().map(inverse).collect();
                let come = come.into_iter().map(element);
                cx.g1_product(&old.combined, gone.iter().chain(come))
            }
            None => cx.g1_product(&own.key, wanted.iter().map(|k| public_key.element(k))),
        };
        let [base, next_hole] =
            [own.index, hole + 1].map(|k| growing.then(|| public_key.element(k).clone()));
        Self { members, hole, combined: Zeroizing::new(combined), base, next_hole }
    }
}

impl PublicKey {
    fn read(
        cx: &mut Context<'_>,
        body: &mut Reader<'_>,
        profile: Profile,
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let mut elements = cx.g1s(body.bytes()?, check)?;
        let growing = profile.is_published();
        if growing {
            // g and v; no member needs them.
            elements.pop();
            elements.drain(..elements.len().min(1));
        }
        // 2n - 1 elements. A group of one needs none of them.
        if elements.len() < 3 || elements.len().is_multiple_of(2) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let hole = (elements.len() as u32).div_ceil(2) + 1;
        Ok(Self { elements, hole })
    }

    fn element(&self, k: u32) -> &G1 {
        let place = if k < self.hole { k - 1 } else { k - 2 };
        &self.elements[place as usize]
    }
}

impl Header {
    fn read(
        cx: &mut Context<'_>,
        body: &mut Reader<'_>,
        check: ElementCheck,
    ) -> Result<Self, Error> {
        let (c0, c1) = (body.bytes()?, body.bytes()?);
        Ok(Self { c0: cx.g2(c0, check)?, c1: cx.g2(c1, check)? })
    }
}

/// Takes the index, SK_i and, if `elements` is 2, g_i.
fn take_enrolment(
    cx: &mut Context<'_>,
    membership: &ServedMembership,
    taken: bool,
    message: &Message<'_>,
    elements: usize,
    check: ElementCheck,
) -> Result<Option<(Own, Option<G1>)>, Error> {
    membership.take_enrolment_by(message, taken, |body| {
        let index = body.number32()?;
        let own = cx.g1s(body.bytes()?, check)?;
        let mut own = own.into_iter();
        let (Some(key), base) = (own.next(), own.next()) else {
            return Err(Misbehaviour::InvalidRoster.into());
        };
        if own.next().is_some() || base.is_some() != (elements == 2) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        Ok((Own { index, key: Zeroizing::new(key) }, base))
    })
}

/// Returns the indices of the elements whose product is a_i: hole - m + i for every member m except
/// i.
fn factors(index: u32, members: &IndexSet, hole: u32) -> IndexSet {
    let mut factors = IndexSet::default();
    for member in members.iter().filter(|&member| member != index) {
        factors.insert(hole - member + index);
    }
    factors
}

/// Derives the group key from K = e(g_i, C_1) / e(u_(c,i), C_0).
fn open(cx: &mut Context<'_>, epoch: Epoch, base: &G1, combined: &G1, header: &Header) -> Key {
    let shared = shared(cx, base, combined, header);
    let context = context(cx, epoch);
    cx.derive_from_gt(&shared, LABEL, &context)
}
