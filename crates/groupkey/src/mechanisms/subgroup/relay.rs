//! The common part of schemes in which members hand keys on.
//!
//! The members of a subgroup form a line, which may fork. Each member has a giver, and takers to
//! which it hands on what it was given. The subgroup's controller gives keys to the first member.
//! Neighbours share an edge key, which the subgroup's controller makes of the individual keys of
//! both, so that it stores none. Any other member that gets a place beside one of them has another
//! edge key. A device that was evicted and joins again has new ones.
//!
//! A letter brings the group key down the line, from member to member, each time under an edge key.
//! It carries envelopes for members whose place changed. Each is under a key made of the member's
//! individual key, and contains the group key and all edge keys of the new place. So no member
//! needs edge keys that are still on their way. The envelope's key covers everything beside it in
//! the clear: epoch, operation, place, and since when the other places are unchanged. Members hand
//! envelopes on. A member that kept an envelope from before its eviction cannot make another of it.
//!
//! A member that slept does not know whether its takers are still members, and must not hand on to
//! an evicted one. So a letter says since when all places that are not in its envelopes are
//! unchanged. A member of that epoch or a later one takes the key, whatever else it missed, and
//! hands it on. An older one asks the subgroup's controller for its place, and hands on then. **At
//! its epoch, a member's place is right.**

pub(crate) mod parties;

use alloc::vec::Vec;

use crate::context::{Context, Draft};
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId};
use crate::mechanisms::key_server::ServedMembership;
use crate::mechanisms::key_server::enrolment::SlotRoster;
use crate::mechanisms::subgroup::Subgroup;
use crate::outbox::Recipient;
use crate::party::Operation;
use crate::saved_state::state;
use crate::secret::Key;
use crate::wire::{Message, Reader};

/// The order of a subgroup's members, as its controller keeps it.
#[derive(Debug)]
pub(crate) struct RelayOrder {
    /// Maximum number of takers of a member.
    width: u32,
    /// The slots, by position. The takers of p are at width p + 1 and the following positions.
    pub(crate) order: Vec<u32>,
    /// The epoch of the last join or leave.
    pub(crate) changed: Epoch,
}

state!(RelayOrder { order, changed });

/// A member's place in the line.
#[derive(Debug, Default)]
pub(crate) struct RelayPlace {
    pub(crate) position: u32,
    giver: Option<Neighbour>,
    takers: [Option<Neighbour>; 2],
}

/// A member next to another one, and the key that the two share.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) id: MemberId,
    pub(crate) key: Key,
}

/// A member that hands keys on.
#[derive(Debug)]
pub(crate) struct RelayLink {
    pub(crate) membership: ServedMembership,
    pub(crate) place: RelayPlace,
    /// The epoch of the token that made it ask for its place. The same token again makes no other
    /// request.
    asked_for: Epoch,
    /// The epoch of the last envelope. Only members vouch for later epochs, and one of them may
    /// have been evicted. So an answer of the subgroup's controller takes precedence.
    vouched: Epoch,
}

/// A message that goes down the line, as received.
#[derive(Debug)]
pub(crate) struct Letter<'m> {
    since: Epoch,
    /// The position of a joining member that has a letter of its own; 0 if there is none.
    pub(crate) newcomer: u32,
    envelopes: [Option<Envelope<'m>>; ENVELOPES],
    /// The group key under the edge key of giver and taker. Absent if the sender is no member.
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

/// Begins a letter, with an envelope for its receiver. Sent by the subgroup's controller.
pub(crate) const LETTER: u8 = 0;
/// Hands a letter on. Sent by a member.
pub(crate) const TOKEN: u8 = 1;
/// Asks for the current place and key.
pub(crate) const REQUEST: u8 = 2;

/// Maximum number of envelopes of a letter: the first member's, and five if a member leaves a tree.
pub(crate) const ENVELOPES: usize = 6;

/// Maximum number of keys in an envelope: the group key, and those shared with three neighbours.
const KEYS: usize = 4;

/// The label of the hash that makes an envelope's key.
const PLACE: &str = "place";

/// Bytes of context in that hash: two epochs, the operation, four numbers. With the label they are
/// just short enough for a hash of one block.
const CONTEXT: usize = 33;

impl RelayOrder {
    /// A line without members, in which each member has this many takers.
    pub(crate) const fn new(width: u32) -> Self {
        Self { width, order: Vec::new(), changed: Epoch(0) }
    }

    pub(crate) fn position_of(&self, slot: u32) -> Option<u32> {
        self.order.iter().position(|&other| other == slot).map(|position| position as u32)
    }

    /// The position of the member that gives keys to a position. `None` for the first position.
    pub(crate) fn giver(&self, position: u32) -> Option<u32> {
        position.checked_sub(1).map(|before| before / self.width)
    }

    pub(crate) fn takers(&self, position: u32) -> impl Iterator<Item = u32> {
        let (first, end) = (position * self.width + 1, self.order.len() as u32);
        first.min(end)..(first + self.width).min(end)
    }

    /// Sends a letter to the member at the first of these positions, with an envelope for each.
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

    /// Sends every member a letter of its own, as in a creation. No member hands it on.
    pub(crate) fn send_to_all(&self, cx: &mut Context<'_>, subgroup: &Subgroup) {
        cx.reserve(self.order.len(), cx.wrapped_length(KEYS) + 24);
        let (operation, news) = (Operation::Create, (self.changed, 0));
        (0..self.order.len() as u32)
            .for_each(|position| self.send(cx, subgroup, operation, news, &[position]));
    }

    fn place(&self, cx: &mut Context<'_>, roster: &SlotRoster, position: u32) -> RelayPlace {
        let slot = self.order[position as usize];
        let mut neighbour = |position: u32| {
            let other = self.order[position as usize];
            let both = cx.xor(roster.key(slot), roster.key(other));
            Neighbour { id: roster.member(other), key: cx.hash(&both, "edge") }
        };
        let giver = self.giver(position).map(&mut neighbour);
        let mut takers = self.takers(position).map(neighbour);
        RelayPlace { position, giver, takers: [takers.next(), takers.next()] }
    }
}

impl RelayPlace {
    pub(crate) fn takers(&self) -> impl Iterator<Item = &Neighbour> {
        self.takers.iter().flatten()
    }

    /// The neighbours with which the member shares edge keys: the giver, then the takers.
    pub(crate) fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.giver.iter().chain(self.takers())
    }

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

impl RelayLink {
    /// A member that is not enrolled yet.
    pub(crate) fn new() -> Self {
        Self {
            membership: ServedMembership::of_a_subgroup(),
            place: RelayPlace::default(),
            asked_for: Epoch(0),
            vouched: Epoch(0),
        }
    }

    /// Takes a letter. Returns whether it brought a key that the member must hand on now.
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
        // In a creation every member has a letter of its own.
        Ok(header.operation != Operation::Create)
    }

    /// Refuses a message that is not the awaited answer or tells nothing new. If only members
    /// vouched for the current key, its epoch proves nothing, and an answer may be older.
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
        // A member that woke hands on without knowing which members have the key already.
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
        self.place = RelayPlace { position: envelope.position, giver, takers };
        self.membership.enter(cx, epoch, group_key);
        self.vouched = epoch;
        if operation == Operation::CatchUp && epoch < self.asked_for {
            // The answer was on its way when the member repeated the request.
            self.membership.expect_another(cx);
        }
        Ok(())
    }

    pub(crate) fn key_bytes(&self) -> usize {
        self.membership.key_bytes() + self.place.neighbours().count() * Key::BYTES
    }
}

impl<'m> Letter<'m> {
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

    /// Begins to hand the letter on, with the envelopes for which `goes` is true.
    pub(crate) fn draft<'d, 'a>(
        &self,
        cx: &'d mut Context<'a>,
        message: &Message<'_>,
        link: &RelayLink,
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

    /// Refuses an envelope unless its sender is the member that now gives keys to its receiver.
    /// Also refuses an answer to a request: it must come from the party that was asked.
    fn require_for_handing_on(&self, message: &Message<'_>) -> Result<(), Error> {
        if matches!(message.header().operation, Operation::CatchUp | Operation::Create) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let giver = self.giver.ok_or(Misbehaviour::UnexpectedSender)?;
        message.require_sender(giver.into())
    }

    /// The values that the envelope's key is bound to. The member's own id stands for a neighbour
    /// that it does not have: the length of the wrapped keys shows how many neighbours there are.
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

    /// Writes everything except the wrapped keys.
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
pub(crate) mod fixture;
