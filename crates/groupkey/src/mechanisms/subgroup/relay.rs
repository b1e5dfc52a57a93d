//! What schemes do alike in which members hand keys on.
//!
//! The members of a subgroup form a line, which may fork: each has a giver, and takers to whom it
//! hands on what it was given. The first is given keys by the subgroup's controller. Neighbours
//! share an edge key, which the controller makes of the individual keys of both: it stores none,
//! any other member that gets a place beside one of them has another edge, and a device that was
//! evicted and comes back has new ones.
//!
//! A letter brings the group key down the line, from hand to hand, each time under an edge key.
//! For those whose place is another than before it carries envelopes, each under a key made of an
//! individual one, with the group key and all edges of the new place: nobody needs edges that are
//! still on their way. Into the envelope's key goes all that is beside it in the clear: epoch,
//! operation, place, and since when the others' places are what they are. Members hand envelopes
//! on, and who kept one from before its eviction can make no other of it.
//!
//! Who slept does not know whether its takers still are members, and must not hand on to one who
//! was evicted. So a letter tells since when all places that are not in its envelopes are what
//! they are. A member that was there then takes the key, whatever else it missed, and hands it on.
//! One that was not asks the subgroup's controller for its place, and hands on then. **At its
//! epoch, a member's place is right.**

pub(crate) mod parties;

use alloc::vec::Vec;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::mechanisms::key_server::Membership;
use crate::mechanisms::key_server::enrolment::Roster;
use crate::mechanisms::subgroup::Subgroup;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The order of a subgroup's members, as its controller keeps it.
#[derive(Debug)]
pub(crate) struct Line {
    /// How many takers a member has, at most.
    width: u32,
    /// The slots, by position; the takers of p are at width p + 1 and what follows.
    pub(crate) order: Vec<u32>,
    /// The epoch in which a member joined or left the last time.
    pub(crate) changed: Epoch,
}

/// Where a member is.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) position: u32,
    giver: Option<Neighbour>,
    takers: [Option<Neighbour>; 2],
}

/// Who is next to a member, and the key that the two share.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) id: MemberId,
    pub(crate) key: Key,
}

/// A member that hands keys on.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) membership: Membership,
    pub(crate) place: Place,
    /// The epoch of the token that made it ask for its place: the same one again makes no other request.
    asked_for: Epoch,
    /// The epoch of the last envelope. For later ones there is nothing but the word of members, one of
    /// which may have been evicted: an answer of the subgroup's controller goes before it.
    vouched: Epoch,
}

/// What goes down the line, as it was received.
#[derive(Debug)]
pub(crate) struct Letter<'m> {
    since: Epoch,
    /// The position of a joining member that has a letter of its own; 0 if nobody has.
    pub(crate) newcomer: u32,
    envelopes: [Option<Envelope<'m>>; ENVELOPES],
    /// The group key under the edge key of giver and taker; not where the controller writes.
    token: Option<&'m [u8]>,
}

/// A member's new place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Envelope<'m> {
    member: MemberId,
    pub(crate) position: u32,
    giver: Option<MemberId>,
    takers: [Option<MemberId>; 2],
    wrapped: &'m [u8],
}

/// The subgroup's controller begins a letter, with an envelope for its receiver.
pub(crate) const LETTER: u8 = 0;
/// A member hands a letter on.
pub(crate) const TOKEN: u8 = 1;
/// Asks for the present place and key.
pub(crate) const REQUEST: u8 = 2;

/// Envelopes of a letter, at most: the first member's, and five where one leaves a tree.
pub(crate) const ENVELOPES: usize = 6;

/// Keys that an envelope brings, at most: the group key, and those shared with three neighbours.
const KEYS: usize = 4;

/// Of the hash that makes an envelope's key.
const PLACE: &str = "place";

/// Bytes that go into it: two epochs, the operation, four numbers. With its label it is as long as
/// a hash in one block takes.
const CONTEXT: usize = 33;

impl Line {
    /// A line without members, in which each has this many takers.
    pub(crate) const fn new(width: u32) -> Self {
        Self { width, order: Vec::new(), changed: Epoch(0) }
    }

    /// Where a member is.
    pub(crate) fn position_of(&self, slot: u32) -> Option<u32> {
        self.order.iter().position(|&other| other == slot).map(|position| position as u32)
    }

    /// Who gives keys to the member at a position, if it is a member.
    pub(crate) fn giver(&self, position: u32) -> Option<u32> {
        position.checked_sub(1).map(|before| before / self.width)
    }

    /// To whom the member at a position hands keys on.
    pub(crate) fn takers(&self, position: u32) -> impl Iterator<Item = u32> {
        let (first, end) = (position * self.width + 1, self.order.len() as u32);
        first.min(end)..(first + self.width).min(end)
    }

    /// Sends a letter to the member at the first of these positions, with envelopes for all.
    pub(crate) fn send(
        &self,
        cx: &mut Context<'_>,
        subgroup: &Subgroup,
        operation: Operation,
        (since, newcomer): (Epoch, u32),
        positions: &[u32],
    ) {
        let Some((epoch, group_key)) = subgroup.membership.group_key() else { return };
        let roster = &subgroup.roster;
        let places: [_; ENVELOPES] = core::array::from_fn(|index| {
            positions.get(index).map(|&position| self.place(cx, roster, position))
        });
        let slot = |position: u32| self.order[position as usize];
        let to = Recipient::Member(roster.member(slot(positions[0])));
        let mut draft = cx.draft(to, epoch, operation, LETTER);
        draft.number(since.0).number(u64::from(newcomer)).array(positions.len());
        for place in places.iter().flatten() {
            let slot = slot(place.position);
            let (keys, count) = place.keys(group_key);
            let envelope = place.envelope(roster.member(slot));
            let context = envelope.context(epoch, operation, since);
            let key = draft.hash_with(roster.key(slot), PLACE, &context);
            envelope.write(&mut draft).wrapped(&key, epoch, 0, keys[..count].iter().copied());
        }
        draft.send();
    }

    /// Sends every member a letter of its own, as in a creation: nobody hands on.
    pub(crate) fn send_to_all(&self, cx: &mut Context<'_>, subgroup: &Subgroup) {
        cx.reserve(self.order.len(), cx.wrapped_length(KEYS) + 24);
        let (operation, news) = (Operation::Create, (self.changed, 0));
        (0..self.order.len() as u32)
            .for_each(|position| self.send(cx, subgroup, operation, news, &[position]));
    }

    fn place(&self, cx: &mut Context<'_>, roster: &Roster, position: u32) -> Place {
        let slot = self.order[position as usize];
        let mut neighbour = |position: u32| {
            let other = self.order[position as usize];
            let both = cx.xor(roster.key(slot), roster.key(other));
            Neighbour { id: roster.member(other), key: cx.hash(&both, "edge") }
        };
        let giver = self.giver(position).map(&mut neighbour);
        let mut takers = self.takers(position).map(neighbour);
        Place { position, giver, takers: [takers.next(), takers.next()] }
    }
}

impl Place {
    /// To whom it hands keys on.
    pub(crate) fn takers(&self) -> impl Iterator<Item = &Neighbour> {
        self.takers.iter().flatten()
    }

    /// With whom it shares edge keys: the giver, then the takers.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.giver.iter().chain(self.takers())
    }

    /// What an envelope brings, and how many keys that is.
    fn keys<'k>(&'k self, group_key: &'k Key) -> ([&'k Key; KEYS], usize) {
        let mut keys = [group_key; KEYS];
        let edges = self.neighbours();
        let count = keys[1..].iter_mut().zip(edges).map(|(key, edge)| *key = &edge.key).count();
        (keys, 1 + count)
    }

    fn envelope(&self, member: MemberId) -> Envelope<'static> {
        let id = |neighbour: &Option<Neighbour>| neighbour.as_ref().map(|neighbour| neighbour.id);
        let takers = [id(&self.takers[0]), id(&self.takers[1])];
        Envelope { member, position: self.position, giver: id(&self.giver), takers, wrapped: &[] }
    }
}

impl Link {
    /// A member that is not enrolled yet.
    pub(crate) fn new() -> Self {
        Self {
            membership: Membership::of_a_subgroup(),
            place: Place::default(),
            asked_for: Epoch(0),
            vouched: Epoch(0),
        }
    }

    /// Takes a letter; says whether it brought a key that is to be handed on now.
    pub(crate) fn take(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        letter: &Letter<'_>,
    ) -> Result<bool, Error> {
        self.membership.enrolment()?;
        let header = message.header();
        if matches!(header.operation, Operation::Batch | Operation::Grant | Operation::Send) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let own = letter.envelopes().find(|envelope| cx.me() == envelope.member.into());
        match (own, letter.token) {
            (Some(envelope), token) => {
                match header.operation {
                    Operation::CatchUp => self.require_answer(message)?,
                    _ => self.membership.require_lead(message)?,
                }
                if token.is_some() {
                    envelope.require_for_handing_on(message)?;
                }
                self.open(cx, message, letter.since, envelope)?;
            }
            (None, None) => return Err(Misbehaviour::NothingForUs.into()),
            (None, Some(token)) => return self.take_token(cx, message, letter.since, token),
        }
        // In a creation all have letters of their own.
        Ok(header.operation != Operation::Create)
    }

    /// Refuses what is no answer, or tells nothing new: but a key that only members vouched for may
    /// be of any epoch.
    fn require_answer(&self, message: &Message<'_>) -> Result<(), Error> {
        let current = self.membership.epoch();
        let first = if current == self.vouched { current.next() } else { self.vouched };
        self.membership.require_answer(message, first)
    }

    fn take_token(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        since: Epoch,
        token: &[u8],
    ) -> Result<bool, Error> {
        let (epoch, current) = (message.header().epoch, self.membership.epoch());
        if epoch > current && current < since {
            if epoch != self.asked_for {
                self.membership.ask_again(cx, REQUEST);
                self.asked_for = epoch;
            }
            return Ok(false);
        }
        let giver = self.place.giver.as_ref().ok_or(Misbehaviour::UnexpectedSender)?;
        message.require_sender(giver.id.into())?;
        if epoch != current {
            message.require_later_epoch(current)?;
        }
        let group_key = cx.unwrap_key(&giver.key, epoch, 0, token)?;
        if epoch > current {
            self.membership.enter(cx, epoch, group_key);
            return Ok(true);
        }
        // Who woke hands on without knowing who has the key already.
        match self.membership.group_key() {
            Some((_, own)) if *own == group_key => Ok(false),
            _ => Err(Misbehaviour::StaleEpoch { got: epoch, current }.into()),
        }
    }

    fn open(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        since: Epoch,
        envelope: &Envelope<'_>,
    ) -> Result<(), Error> {
        let (epoch, operation) = (message.header().epoch, message.header().operation);
        let neighbours = envelope.giver.iter().chain(envelope.takers.iter().flatten()).count();
        let mut keys: [Key; KEYS] = core::array::from_fn(|_| Key::default());
        let context = envelope.context(epoch, operation, since);
        let key = cx.hash_with(&self.membership.enrolment()?.key, PLACE, &context);
        cx.unwrap_keys(&key, epoch, 0, envelope.wrapped, &mut keys[..=neighbours])?;
        let mut keys = keys.into_iter();
        let mut key = || keys.next().unwrap_or_default();
        let group_key = key();
        let mut neighbour = |id: MemberId| Neighbour { id, key: key() };
        let giver = envelope.giver.map(&mut neighbour);
        let takers = envelope.takers.map(|id| id.map(&mut neighbour));
        self.place = Place { position: envelope.position, giver, takers };
        self.membership.enter(cx, epoch, group_key);
        self.vouched = epoch;
        if operation == Operation::CatchUp && epoch < self.asked_for {
            // It was on its way when the request was repeated.
            self.membership.expect_another(cx);
        }
        Ok(())
    }

    /// Bytes of all keys held.
    pub(crate) fn key_bytes(&self) -> usize {
        self.membership.key_bytes() + self.place.neighbours().count() * Key::BYTES
    }
}

impl<'m> Letter<'m> {
    /// Reads a letter.
    pub(crate) fn read(message: &Message<'_>, body: &mut Reader<'m>) -> Result<Self, Error> {
        let from_member = matches!(message.header().sender, PartyId::Member(_));
        if message.header().kind != if from_member { TOKEN } else { LETTER } {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let since = Epoch(body.number()?);
        let newcomer = body.number32()?;
        let count = body.array()?;
        let mut envelopes = [None; ENVELOPES];
        if count > ENVELOPES as u64 {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        for envelope in envelopes.iter_mut().take(count as usize) {
            *envelope = Some(Envelope::read(body)?);
        }
        let token = if from_member { Some(body.bytes()?) } else { None };
        Ok(Self { since, newcomer, envelopes, token })
    }

    /// Begins to hand the letter on, with those envelopes that `goes` there.
    pub(crate) fn draft<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        message: &Message<'_>,
        link: &Link,
        taker: &Neighbour,
        goes: impl Fn(&Envelope<'_>) -> bool,
    ) -> Draft<'d, 'a> {
        let (epoch, operation) = (message.header().epoch, message.header().operation);
        let me = cx.me();
        let going = || self.envelopes().filter(|one| me != one.member.into() && goes(one));
        let mut draft = cx.draft(Recipient::Member(taker.id), epoch, operation, TOKEN);
        draft.number(self.since.0).number(u64::from(self.newcomer)).array(going().count());
        for envelope in going() {
            envelope.write(&mut draft).bytes(envelope.wrapped);
        }
        if let Some((_, group_key)) = link.membership.group_key() {
            draft.wrapped(&taker.key, epoch, 0, [group_key]);
        }
        draft
    }

    fn envelopes(&self) -> impl Iterator<Item = &Envelope<'m>> {
        self.envelopes.iter().flatten()
    }
}

impl<'m> Envelope<'m> {
    fn read(body: &mut Reader<'m>) -> Result<Self, Error> {
        if body.array()? != 5 {
            return Err(Misbehaviour::Malformed.into());
        }
        let member = MemberId(body.number32()?);
        let position = body.number32()?;
        let giver = match body.number()?.checked_sub(1) {
            None => None,
            Some(id) => Some(MemberId(u32::try_from(id).map_err(|_| Misbehaviour::Malformed)?)),
        };
        let count = body.array()?;
        let mut takers = [None; 2];
        if count > takers.len() as u64 {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        for taker in takers.iter_mut().take(count as usize) {
            *taker = Some(MemberId(body.number32()?));
        }
        Ok(Self { member, position, giver, takers, wrapped: body.bytes()? })
    }

    /// Refuses an envelope from a member unless that is who now gives keys to its receiver, and
    /// unless it goes down the line: what answers a request comes from the party that was asked.
    fn require_for_handing_on(&self, message: &Message<'_>) -> Result<(), Error> {
        if matches!(message.header().operation, Operation::CatchUp | Operation::Create) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let giver = self.giver.ok_or(Misbehaviour::UnexpectedSender)?;
        message.require_sender(giver.into())
    }

    /// What it is bound to. The member itself takes the place of a neighbour that it does not have:
    /// the length of what is wrapped shows how many there are.
    fn context(&self, epoch: Epoch, operation: Operation, since: Epoch) -> [u8; CONTEXT] {
        let mut context = [0; CONTEXT];
        let (epochs, others) = context.split_at_mut(17);
        epochs[..8].copy_from_slice(&epoch.0.to_be_bytes());
        epochs[8..16].copy_from_slice(&since.0.to_be_bytes());
        epochs[16] = operation as u8;
        let neighbours = [self.giver, self.takers[0], self.takers[1]];
        let ids = neighbours.map(|neighbour| neighbour.unwrap_or(self.member).0);
        let numbers = [self.position].into_iter().chain(ids);
        for (place, number) in others.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        context
    }

    /// Writes all but the wrapped keys.
    fn write<'w, 'd, 'a>(&self, draft: &'w mut Draft<'d, 'a>) -> &'w mut Draft<'d, 'a> {
        let takers = self.takers.iter().flatten();
        draft
            .array(5)
            .number(u64::from(self.member.0))
            .number(u64::from(self.position))
            .number(self.giver.map_or(0, |giver| 1 + u64::from(giver.0)))
            .array(takers.clone().count());
        for taker in takers {
            draft.number(u64::from(taker.0));
        }
        draft
    }
}

#[cfg(test)]
pub(crate) mod stage;
