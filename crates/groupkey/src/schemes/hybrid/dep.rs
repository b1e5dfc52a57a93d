//! DEP, the dual encryption protocol: the group key is encrypted twice, and a subgroup's controller
//! can remove only one of the two layers. It serves its members without being trusted with their
//! data.
//!
//! Source: Dondeti, Mukherjee, Samal, "A dual encryption protocol for scalable secure
//! multicasting", ISCC 1999, and US 6,263,435; how it was measured: S002. Class: hybrid; the
//! paper's subgroup managers are the subgroup controllers, all of them participants, not members.
//! Provenance: reconstructed: the keys and their holders from descriptions; messages, and how KEK_2
//! travels, are ours.
//!
//! For subgroup i, the subgroup's controller and its members share KEK_1. The controller and these
//! members share KEK_2. The controller and the subgroup's controller share KEK_3. The group key
//! goes as `{{GK}KEK_2}KEK_3` to the subgroup's controller and as `{{GK}KEK_2}KEK_1` on to the
//! members.
//!
//! S subgroups with members; n members. m is the number of members in the subgroup that changes,
//! after a join or before a leave. The inner layer is a wrap of 1 key, the outer of 2 keys:
//!
//! | operation | messages | controller | its subgroup controller | every other | member |
//! |---|---|---|---|---|---|
//! | create | S + n unicasts | 2S + n wraps, n derivations, S + n hashes | m + 1 wraps of m + 2 keys | m + 1 wraps of m + 2 keys | 4 unwraps, 2 hashes |
//! | add | S + m unicasts, S - 1 multicasts | 2S + m wraps, m derivations, S + m hashes | m + 1 wraps of m + 2 keys | 1 wrap of 2 keys | 4 or 2 unwraps, 2 hashes or 1 |
//! | remove | S + m - 1 unicasts, S - 1 multicasts | 2S + m - 1 wraps, m - 1 derivations, S + m - 1 hashes | m wraps of m + 1 keys | 1 wrap of 2 keys | 4 or 2 unwraps, 2 hashes or 1 |
//! | rekey | S unicasts, S multicasts | 2S wraps, S hashes | | 1 wrap of 2 keys | 2 unwraps, 1 hash |
//! | catch up | 4 unicasts | 1 wrap, 1 derivation, 1 hash | 2 wraps of 3 keys | | 4 unwraps, 2 hashes |
//! | resume | 2 + m unicasts | m + 2 wraps, m derivations, m + 1 hashes | m + 1 wraps of m + 2 keys | | 4 unwraps, 2 hashes |
//!
//! Resume: a subgroup controller with m members missed changes and comes back (`resumption.rs`).
//!
//! A subgroup controller also removes one layer. Enrolment takes a derivation for each member.
//!
//! Profiles: `published` is what S002 measured. KEK_2 is handed out in the deployment phase and
//! stays, and a member opens 3 wraps. At every change, every subgroup controller sends to each of
//! its members singly: S + n messages, 2S wraps at the controller. Two unicasts catch a member up.
//! `sound`, above, renews the KEK_2 of a subgroup whenever a member joins or leaves it. The
//! controller hands it to the members under end-to-end keys, through the subgroup's controller,
//! which cannot open it. A layer or a KEK_2 is not wrapped under the key itself but under that
//! key's hash with the epoch. So a subgroup's controller cannot hand on an old layer, with a
//! group key that an evicted member has, in a later epoch.
//!
//! Keys held: controller 2S + 2; subgroup controller m + 2; member 5. S002 counts 16 B at a member, the
//! group key alone.
//!
//! What breaks `published`: an evicted member has KEK_2, and its subgroup's controller has the
//! group key under KEK_2. Together they get the group key of every later epoch. The tests show
//! this, and that neither of them can do it alone.
//!
//! Bodies: enrolment `end-to-end key, KEK_2 or nothing` from the controller to the member. To a
//! subgroup controller, after the list of members that `domain` describes: `{layer}KEK_3` and a
//! packed byte string of `member id, {KEK_2}end-to-end`. The string is sorted by id, and empty if
//! KEK_2 stays. To one member: `{KEK_1}_individual, {layer}KEK_1, {KEK_2}end-to-end or nothing`. To
//! all: `{layer}KEK_1`. A layer is `{GK}KEK_2`, padded to 32 bytes. In `sound`, KEK_2 and the
//! end-to-end key as wrapping keys mean their hashes with the epoch.
//!
//! Deviations: every change renews the group key. KEK_1 goes out in the layer's message. In
//! `sound`, KEK_2 is drawn at the creation. A member that missed rekeys asks.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::context::Context;
use crate::error::{Error, Misbehaviour};
use crate::identity::{Epoch, MemberId, PartyId, SubgroupId};
use crate::mechanisms::key_server::{Continuation, ServedMembership};
use crate::mechanisms::sorted_records::SortedRecords;
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::mechanisms::subgroup::{
    self, LocalChange, Subgroup, SubgroupServer, is_opening, take_enrolment, unwrap_own,
};
use crate::outbox::Recipient;
use crate::party::{Footprint, Input, Operation, Party};
use crate::saved_state::{party_state, saved, state};
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, MEMBERS, Parties, Profile, Provenance, Recovery, SUBGROUPS, Scheme};
use crate::secret::{Key, List};
use crate::wire::{Message, Reader};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "dep",
    "DEP, dual encryption protocol",
    Provenance::Reconstructed,
    "Dondeti, Mukherjee and Samal 1999 and 2000; S002",
    Parties::Hybrid {
        controller: |configuration| {
            Box::new(Controller::new(configuration.profile(), configuration.value(&SUBGROUPS)))
        },
        subgroup_controller: |configuration, id| {
            Box::new(SubgroupController::new(configuration.profile(), id))
        },
        member: |configuration, _| Box::new(Member::new(configuration.profile())),
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_claims(Claims::ALL)
.with_published_claims(Claims { collusion_resistance: false, ..Claims::ALL })
.with_parameters(&[SUBGROUPS])
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED).only_sound(),
    Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED).only_published(),
    Growth::of(Role::SubgroupController, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    domain: Domain,
    /// The master key from which the end-to-end keys are derived.
    master: Key,
    /// KEK_2 of each subgroup.
    inner_keys: List<Key>,
}

state!(Controller { domain, master, inner_keys } if is_whole);

#[derive(Debug)]
pub(crate) struct SubgroupController {
    profile: Profile,
    /// Holds KEK_3, and no group key.
    subgroup: Subgroup,
    /// KEK_1.
    outer_key: Option<Key>,
    layer: Layer,
}

state!(SubgroupController { subgroup, outer_key, layer });

#[derive(Debug)]
pub(crate) struct Member {
    profile: Profile,
    membership: ServedMembership,
    end_to_end: Option<Key>,
    /// KEK_1.
    outer_key: Option<Key>,
    /// KEK_2.
    inner_key: Option<Key>,
}

/// Hands a member its end-to-end key. This kind is additional to those of every enrolment.
const END_TO_END: u8 = 2;

/// Carries the group key to a subgroup's controller, in two layers.
const LAYERS: u8 = 0;
/// Carries one member's KEK_2 to its subgroup's controller, which passes it on.
const PIECE: u8 = 1;
/// Asks the controller for a member's KEK_2.
const FETCH: u8 = 2;

/// Carries all that a member needs, with KEK_1 under its individual key.
const KEYS: u8 = 0;
/// Carries the group key under the subgroup's KEK_1.
const REKEY: u8 = 1;
/// Asks for the current keys.
const REQUEST: u8 = 3;

impl Controller {
    /// Creates a controller without members, for this many subgroups.
    pub(crate) fn new(profile: Profile, subgroups: u32) -> Self {
        Self {
            profile,
            domain: Domain::new(subgroups),
            master: Key::default(),
            inner_keys: List::zeros(subgroups as usize),
        }
    }

    /// Whether there is a place for the KEK_2 of each subgroup.
    fn is_whole(&self) -> bool {
        self.inner_keys.len() == self.domain.subgroups()
    }

    /// Derives the end-to-end key of a member. A member that comes back gets another one.
    fn end_to_end(&self, cx: &mut Context<'_>, member: MemberId) -> Key {
        let subgroup = self.domain.subgroup_of(member).unwrap_or(SubgroupId(0));
        let enrolment = self.domain.enrolment_of(member).unwrap_or_default();
        let context = [subgroup.0.to_be_bytes(), enrolment.to_be_bytes()];
        cx.derive(&self.master, "groupkey dep end to end", context.as_flattened())
    }

    /// Returns whether a change brings the members of a subgroup a new KEK_2, or one that they
    /// missed.
    fn renews(&self, station: &ServedSubgroup, change: &DomainChange) -> bool {
        self.profile == Profile::Sound
            && (change.operation == Operation::Create
                || change.named_in(station.id).next().is_some())
    }

    /// Sends a subgroup's controller the group key, and KEK_2 for these members.
    fn hand_down(
        &self,
        cx: &mut Context<'_>,
        station: &ServedSubgroup,
        change: &DomainChange,
        members: impl ExactSizeIterator<Item = MemberId>,
    ) {
        let Some((epoch, group_key)) = self.domain.group_key() else { return };
        let pieces = self.pieces(cx, station.id, members);
        let inner_key = &self.inner_keys[station.id.0 as usize];
        let layer_key = key_of_epoch(cx, self.profile, epoch, inner_key, LAYER);
        let layer = Layer::new(cx, &layer_key, epoch, group_key);
        self.domain
            .draft(cx, station, change, LAYERS)
            .wrapped(&station.key, epoch, 0, &layer.0)
            .bytes(&pieces)
            .send();
    }

    /// Returns KEK_2 under the end-to-end key of each of these members.
    fn pieces(
        &self,
        cx: &mut Context<'_>,
        subgroup: SubgroupId,
        members: impl ExactSizeIterator<Item = MemberId>,
    ) -> Vec<u8> {
        let epoch = self.domain.epoch();
        let inner_key = &self.inner_keys[subgroup.0 as usize];
        let mut pieces = Vec::with_capacity(piece_length(cx) * members.len());
        for member in members {
            let end_to_end = self.end_to_end(cx, member);
            let piece_key = key_of_epoch(cx, self.profile, epoch, &end_to_end, OWN_PIECE);
            pieces.extend_from_slice(&member.0.to_be_bytes());
            cx.wrap_keys(&piece_key, epoch, 0, [inner_key], &mut pieces);
        }
        pieces
    }
}

impl DomainServer for Controller {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn domain_mut(&mut self) -> &mut Domain {
        &mut self.domain
    }

    fn enrolled(&mut self, cx: &mut Context<'_>, members: &[MemberId]) {
        if self.master == Key::default() {
            self.master = cx.random_key();
        }
        let epoch = self.domain.epoch();
        for &member in members {
            let Ok(subgroup) = self.domain.subgroup_of(member) else { continue };
            let end_to_end = self.end_to_end(cx, member);
            let inner_key = &mut self.inner_keys[subgroup.0 as usize];
            if self.profile.is_published() && *inner_key == Key::default() {
                *inner_key = cx.random_key();
            }
            let to = Recipient::Member(member);
            let mut draft = cx.confidential_draft(to, epoch, Operation::Enroll, END_TO_END);
            draft.secret(&end_to_end);
            if self.profile.is_published() {
                draft.secret(&self.inner_keys[subgroup.0 as usize])
            } else {
                draft.bytes(&[])
            };
            draft.send();
        }
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange) {
        let group_key = cx.random_key();
        self.domain.enter_next(cx, group_key);
        for station in self.domain.stations() {
            if self.renews(station, change) {
                self.inner_keys[station.id.0 as usize] = cx.random_key();
            }
        }
        if change.operation == Operation::Create && self.profile == Profile::Sound {
            // All subgroups are served in one pass over the members.
            let members = self.domain.members();
            for station in self.domain.stations() {
                let start = members.partition_point(|&(subgroup, _)| subgroup < station.id);
                let end = members.partition_point(|&(subgroup, _)| subgroup <= station.id);
                let here = members[start..end].iter().map(|&(_, member)| member);
                self.hand_down(cx, station, change, here);
            }
        } else {
            self.domain.stations().for_each(|station| self.tell(cx, station, change));
        }
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, change: &DomainChange) {
        let renews = self.renews(station, change);
        let members = if renews { self.domain.members_of(station.id) } else { Vec::new() };
        self.hand_down(cx, station, change, members.into_iter());
    }

    /// Answers a subgroup's controller that asks for the KEK_2 of a member that catches up.
    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        let PartyId::SubgroupController(subgroup) = header.sender else {
            return Err(Misbehaviour::UnexpectedSender.into());
        };
        let expected = (Operation::CatchUp, FETCH);
        if (header.operation, header.kind) != expected || self.profile.is_published() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let mut body = message.body();
        let member = MemberId(body.number32()?);
        body.finish()?;
        if self.domain.current(member) != Ok(subgroup) {
            return Err(Misbehaviour::InvalidRoster.into());
        }
        let piece = self.pieces(cx, subgroup, [member].into_iter());
        cx.draft(subgroup_controller(subgroup), self.domain.epoch(), Operation::CatchUp, PIECE)
            .bytes(&piece)
            .send();
        Ok(())
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.change(cx, &DomainChange::period());
        Ok(())
    }
}

impl Party for Controller {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        domain::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.domain.group_key()
    }

    fn footprint(&self) -> Footprint {
        let zero = Key::default();
        let inner_keys = self.inner_keys.iter().filter(|&key| *key != zero).count();
        let own = usize::from(self.master != zero) + inner_keys;
        Footprint { permanent: self.domain.key_bytes() + own * Key::BYTES, temporary: Key::BYTES }
    }

    party_state!();
}

impl SubgroupController {
    /// Creates the controller of a subgroup without members.
    pub(crate) fn new(profile: Profile, id: SubgroupId) -> Self {
        Self { profile, subgroup: Subgroup::new(id), outer_key: None, layer: Layer::default() }
    }

    /// Sends a member all that it needs, with KEK_1 under its individual key. Only the member can
    /// open `piece`.
    fn send_keys(
        &self,
        cx: &mut Context<'_>,
        slot: u32,
        operation: Operation,
        layers: &[u8],
        piece: &[u8],
    ) {
        let Some(outer_key) = &self.outer_key else { return };
        let roster = &self.subgroup.roster;
        let epoch = self.subgroup.membership.epoch();
        cx.draft(Recipient::Member(roster.member(slot)), epoch, operation, KEYS)
            .wrapped(roster.key(slot), epoch, 0, [outer_key])
            .bytes(layers)
            .bytes(piece)
            .send();
    }

    /// Returns the group key in both layers, the same for all members, if there is a KEK_1.
    fn layers(&self, cx: &mut Context<'_>) -> Option<Vec<u8>> {
        let outer_key = self.outer_key.as_ref()?;
        let mut layers = Vec::with_capacity(cx.wrapped_length(2));
        let epoch = self.subgroup.membership.epoch();
        cx.wrap_keys(outer_key, epoch, 0, &self.layer.0, &mut layers);
        Some(layers)
    }

    /// Takes the piece of one member, for which it had asked, and passes it on.
    fn pass_on(&self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        message.require_epoch(self.subgroup.membership.epoch())?;
        let mut body = message.body();
        let piece = body.bytes()?;
        body.finish()?;
        let mut ids = read_pieces(cx, piece)?.ids();
        let (Some(member), None) = (ids.next().map(MemberId), ids.next()) else {
            return Err(Misbehaviour::Malformed.into());
        };
        let slot = self.subgroup.roster.current(member);
        let slot = slot.map_err(|_| Misbehaviour::InvalidRoster)?;
        let layers = self.layers(cx).ok_or(Misbehaviour::UnexpectedMessage)?;
        self.send_keys(cx, slot, Operation::CatchUp, &layers, &piece[4..]);
        Ok(())
    }
}

/// The content of the controller's message to a subgroup's controller.
pub(crate) struct News {
    layer: Layer,
    /// Empty if KEK_2 stays.
    pieces: Vec<u8>,
}

impl SubgroupServer for SubgroupController {
    type News = News;

    const REQUEST: u8 = REQUEST;

    fn subgroup(&self) -> &Subgroup {
        &self.subgroup
    }

    fn subgroup_mut(&mut self) -> &mut Subgroup {
        &mut self.subgroup
    }

    fn open(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        mut body: Reader<'_>,
    ) -> Result<News, Error> {
        let wrapped = body.bytes()?;
        let pieces = body.bytes()?;
        body.finish()?;
        if message.header().kind != LAYERS && !is_opening(message) {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        if !read_pieces(cx, pieces)?.ids().is_sorted_by(|a, b| a < b) {
            return Err(Misbehaviour::Malformed.into());
        }
        let layer = unwrap_own(&self.subgroup.membership, cx, message, 0, wrapped)?;
        Ok(News { layer: Layer(layer), pieces: pieces.into() })
    }

    fn distribute(
        &mut self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        change: LocalChange,
        News { layer, pieces }: News,
    ) {
        let (epoch, operation) = (message.header().epoch, change.operation(message));
        self.subgroup.membership.enter_without_key(cx, epoch);
        self.layer = layer;
        if change != LocalChange::Nobody {
            self.outer_key = Some(cx.random_key());
        }
        let Some(layers) = self.layers(cx) else { return };
        if change == LocalChange::Nobody && self.profile == Profile::Sound {
            let everybody = self.subgroup.everybody();
            cx.draft(everybody, epoch, operation, REKEY).bytes(&layers).send();
            return;
        }
        let keys_length = cx.wrapped_length(1) + layers.len() + piece_length(cx) + 6;
        // The pieces were parsed before, when the message was opened.
        let pieces = read_pieces(cx, &pieces).ok();
        cx.reserve(self.subgroup.roster.len(), keys_length);
        for slot in self.subgroup.slots() {
            let member = self.subgroup.roster.member(slot);
            let piece = pieces.and_then(|pieces| pieces.find(member.0)).unwrap_or_default();
            self.send_keys(cx, slot, operation, &layers, piece);
        }
    }

    /// Sends a member its keys in `published`. In `sound`, asks the controller for the member's
    /// KEK_2 first.
    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        if self.profile.is_published() {
            let Some(layers) = self.layers(cx) else { return };
            self.send_keys(cx, slot, Operation::CatchUp, &layers, &[]);
        } else {
            let member = self.subgroup.roster.member(slot);
            let epoch = self.subgroup.membership.epoch();
            cx.draft(Recipient::Controller, epoch, Operation::CatchUp, FETCH)
                .number(u64::from(member.0))
                .send();
        }
    }
}

impl Party for SubgroupController {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Message(message)
                if message.header().operation == Operation::CatchUp
                    && message.header().sender == PartyId::Controller
                    && message.header().kind == PIECE =>
            {
                self.pass_on(cx, &message)
            }
            _ => subgroup::step(self, cx, input),
        }
    }

    /// Returns `None`: a subgroup's controller must not know the group key.
    fn group_key(&self) -> Option<(Epoch, &Key)> {
        None
    }

    fn footprint(&self) -> Footprint {
        let outer_key = if self.outer_key.is_some() { Key::BYTES } else { 0 };
        Footprint { permanent: self.subgroup.key_bytes() + outer_key, temporary: 0 }
    }

    party_state!();
}

impl Member {
    /// Creates a member that is not enrolled yet.
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile,
            membership: ServedMembership::of_a_subgroup(),
            end_to_end: None,
            outer_key: None,
            inner_key: None,
        }
    }

    /// Takes the end-to-end key that it shares with the controller, and KEK_2 if it is sent.
    fn take_end_to_end(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let mut body = message.body();
        let end_to_end = body.key()?;
        let inner_key = match body.bytes()? {
            [] => None,
            bytes => Some(bytes.try_into().map_err(|_| Misbehaviour::Malformed)?),
        };
        body.finish()?;
        if message.header().kind != END_TO_END || self.end_to_end.is_some() {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        self.end_to_end = Some(end_to_end);
        self.inner_key = inner_key.map(Key::from_bytes);
        Ok(())
    }

    /// Removes both layers, with KEK_1 and KEK_2.
    fn open_layers(
        &self,
        cx: &mut Context<'_>,
        message: &Message<'_>,
        [outer_key, inner_key]: [&Key; 2],
        layers: &[u8],
    ) -> Result<Key, Error> {
        let epoch = message.header().epoch;
        let mut layer = Layer::default();
        cx.unwrap_keys(outer_key, epoch, 0, layers, &mut layer.0)?;
        let layer_key = key_of_epoch(cx, self.profile, epoch, inner_key, LAYER);
        layer.open(cx, &layer_key, epoch)
    }

    fn receive(&mut self, cx: &mut Context<'_>, message: &Message<'_>) -> Result<(), Error> {
        let header = message.header();
        if (header.operation, header.sender) == (Operation::Enroll, PartyId::Controller) {
            return self.take_end_to_end(message);
        }
        if take_enrolment(&mut self.membership, cx, message)? {
            return Ok(());
        }
        self.membership.enrolment()?;
        let mut body = message.body();
        let outer_key = if header.kind == KEYS { body.bytes()? } else { &[] };
        let layers = body.bytes()?;
        let piece = if header.kind == KEYS { body.bytes()? } else { &[] };
        body.finish()?;
        let admission = self.membership.admit(message)?;
        match (header.kind, admission) {
            (KEYS, _) => {
                let [outer_key] = unwrap_own(&self.membership, cx, message, 0, outer_key)?;
                let inner_key = match piece {
                    [] => self.inner_key.clone().ok_or(Misbehaviour::NothingForUs)?,
                    _ => {
                        let end_to_end = self.end_to_end.as_ref();
                        let end_to_end = end_to_end.ok_or(Misbehaviour::UnexpectedMessage)?;
                        let piece_key =
                            key_of_epoch(cx, self.profile, header.epoch, end_to_end, OWN_PIECE);
                        cx.unwrap_key(&piece_key, header.epoch, 0, piece)?
                    }
                };
                let group_key = self.open_layers(cx, message, [&outer_key, &inner_key], layers)?;
                self.outer_key = Some(outer_key);
                self.inner_key = Some(inner_key);
                self.membership.enter(cx, header.epoch, group_key);
            }
            (REKEY, Continuation::Continues) => {
                let inner_key = self.inner_key.as_ref().ok_or(Misbehaviour::NothingForUs)?;
                let outer_key = self.outer_key.as_ref().ok_or(Misbehaviour::NothingForUs)?;
                let group_key = self.open_layers(cx, message, [outer_key, inner_key], layers)?;
                self.membership.enter(cx, header.epoch, group_key);
            }
            _ => return Err(Misbehaviour::UnexpectedMessage.into()),
        }
        Ok(())
    }
}

impl Party for Member {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        match input {
            Input::Command(command) => self.membership.command(cx, command, REQUEST),
            Input::Message(message) => self.receive(cx, &message),
        }
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.membership.group_key()
    }

    fn footprint(&self) -> Footprint {
        let outer_key = usize::from(self.outer_key.is_some());
        let shared = usize::from(self.end_to_end.is_some()) + usize::from(self.inner_key.is_some());
        let permanent = self.membership.key_bytes() + (outer_key + shared) * Key::BYTES;
        Footprint { permanent, temporary: 2 * Key::BYTES }
    }
}

/// The group key wrapped under KEK_2, padded so that it can be wrapped again like two keys.
#[derive(Clone, Debug, Default)]
struct Layer([Key; 2]);

saved!(Layer { 0 });

impl Layer {
    fn new(cx: &mut Context<'_>, layer_key: &Key, epoch: Epoch, group_key: &Key) -> Self {
        let mut wrapped = Vec::with_capacity(2 * Key::BYTES);
        cx.wrap_keys(layer_key, epoch, 0, [group_key], &mut wrapped);
        wrapped.resize(2 * Key::BYTES, 0);
        let inner = wrapped[..cx.wrapped_length(1)].to_vec();
        let mut halves = wrapped.chunks_exact(Key::BYTES).map(|half| {
            let mut bytes = [0; Key::BYTES];
            bytes.copy_from_slice(half);
            Key::from_bytes(bytes)
        });
        let halves = core::array::from_fn(|_| halves.next().unwrap_or_default());
        cx.assembled(&halves.each_ref(), &inner);
        Self(halves)
    }

    fn open(&self, cx: &mut Context<'_>, layer_key: &Key, epoch: Epoch) -> Result<Key, Error> {
        let [first, second] = &self.0;
        let bytes = [*first.as_bytes(), *second.as_bytes()];
        let (wrapped, padding) = bytes.as_flattened().split_at(cx.wrapped_length(1));
        if padding.iter().any(|&byte| byte != 0) {
            return Err(Misbehaviour::Malformed.into());
        }
        cx.assembled(&[first, second], wrapped);
        cx.unwrap_key(layer_key, epoch, 0, wrapped)
    }
}

/// Returns the key with which `key`, which stays for several epochs, wraps in this epoch.
fn key_of_epoch(
    cx: &mut Context<'_>,
    profile: Profile,
    epoch: Epoch,
    key: &Key,
    label: &'static str,
) -> Key {
    if profile.is_published() { key.clone() } else { cx.hash_for(epoch, key, label) }
}

/// Labels of the hashes that make the key of a layer and the key of a member's KEK_2.
const LAYER: &str = "dep layer";
const OWN_PIECE: &str = "dep piece";

/// Returns the length of a member's id and its KEK_2.
const fn piece_length(cx: &Context<'_>) -> usize {
    4 + cx.wrapped_length(1)
}

fn read_pieces<'p>(cx: &Context<'_>, pieces: &'p [u8]) -> Result<SortedRecords<'p>, Error> {
    SortedRecords::parse(pieces, cx.wrapped_length(1))
}

const fn subgroup_controller(subgroup: SubgroupId) -> Recipient {
    Recipient::SubgroupController(subgroup)
}

#[cfg(test)]
mod tests;
