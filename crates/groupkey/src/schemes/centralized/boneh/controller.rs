//! The controller of fat and thin clients, in both profiles.

use alloc::vec::Vec;

use super::encapsulation::message_key;
use super::index_set::IndexSet;
use super::messages::{Client, Header, LABEL, MEMBER, PUBLIC_KEY, REKEY, REQUEST, context};
use super::setup::{BATCH, Powers, Setup};
use crate::context::{Context, Draft};
use crate::crypto::pairing::{G1, G2, Gt, Scalar};
use crate::error::{Error, Misuse, Unsupported};
use crate::identity::{Epoch, MemberId};
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::enrolment::ENROLMENT;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::outbox::Recipient;
use crate::party::{Encapsulation, Footprint, Messages, Operation};
use crate::saved_state::state;
use crate::scheme::Profile;
use crate::secret::Key;

#[derive(Debug)]
pub(crate) struct Controller {
    client: Client,
    /// `None` in the growing design (`published`).
    capacity: Option<u32>,
    group: ServedGroup,
    /// Drawn at the first enrolment.
    setup: Option<Setup>,
    /// The index of the member in each slot. Indices are never used again, slots are.
    indices: Vec<u32>,
    /// The last index that was assigned.
    last: u32,
    members: IndexSet,
    header: Option<Header>,
    /// The encoded public key, in the sound form of the fat client.
    public_key: Vec<u8>,
}

state!(Controller { group, setup, indices, last, members, header, public_key } if is_whole);

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(client: Client, profile: Profile, capacity: u32) -> Self {
        Self {
            client,
            capacity: (profile == Profile::Sound).then_some(capacity),
            group: ServedGroup::with_derived_keys(),
            setup: None,
            indices: Vec::new(),
            last: 0,
            members: IndexSet::default(),
            header: None,
            public_key: Vec::new(),
        }
    }

    /// Whether there is a set-up once there are members, and whether their indices are below the
    /// hole.
    fn is_whole(&self) -> bool {
        let Some(setup) = &self.setup else { return self.group.roster.slots() == 0 };
        let hole_fits = match self.capacity {
            Some(capacity) => setup.hole == capacity + 1 && self.last <= capacity,
            None => (1..=u64::from(self.last) + 1).contains(&u64::from(setup.hole)),
        };
        let index = |slot: u32| self.indices.get(slot as usize).copied().unwrap_or_default();
        let mut slots = 0..self.group.roster.slots() as u32;
        let mut joined = self.group.roster.current_slots();
        setup.is_of_one_pairing()
            && hole_fits
            && slots.all(|slot| (1..=self.last).contains(&index(slot)))
            && joined.all(|slot| index(slot) < setup.hole)
    }

    fn setup(&self) -> &Setup {
        self.setup.as_ref().expect("a joining member was enrolled, which made the set-up")
    }

    fn setup_mut(&mut self) -> &mut Setup {
        self.setup.as_mut().expect("a joining member was enrolled, which made the set-up")
    }

    /// Draws the header and the group key of the next epoch.
    fn renew(&mut self, cx: &mut Context<'_>) {
        let (header, shared) = self.draw_header(cx);
        let group_key = cx.derive_from_gt(&shared, LABEL, &context(cx, self.group.epoch.next()));
        self.header = Some(header);
        self.group.enter_next(cx, group_key);
    }

    fn draw_header(&self, cx: &mut Context<'_>) -> (Header, Gt) {
        let t = cx.random_scalar();
        let setup = self.setup();
        let generator = cx.g2_generator();
        let header = Header {
            c0: cx.g2_power(&generator, &t),
            c1: cx.g2_power(&generator, &setup.seal().times(&t)),
        };
        let first = cx.g1_generator();
        let secret = cx.g1_power(&first, &setup.power(setup.hole).times(&t));
        (header, cx.pairings(&[(&secret, &generator)]))
    }

    /// Confirms the group key, in the sound form.
    fn confirmation(&self, cx: &mut Context<'_>) -> Confirmation {
        match (self.capacity, self.group.group_key()) {
            (Some(_), Some((epoch, key))) => Confirmation::of(cx, Profile::Sound, epoch, key),
            _ => Confirmation::default(),
        }
    }

    fn current(&self) -> Option<(Epoch, &Header)> {
        let (epoch, _) = self.group.group_key()?;
        Some((epoch, self.header.as_ref()?))
    }

    /// Sends the public key, the members and the header to all members, or to one that lacks them.
    fn send_public_key(&self, cx: &mut Context<'_>, to: Recipient, operation: Operation) {
        let Some((epoch, header)) = self.current() else { return };
        let confirmation = self.confirmation(cx);
        let made;
        let public_key = if self.capacity.is_some() {
            &self.public_key
        } else {
            made = self.make_public_key(cx);
            &made
        };
        let mut draft = cx.draft(to, epoch, operation, PUBLIC_KEY);
        draft.bytes(public_key);
        self.members.write(&mut draft);
        header.write(&mut draft);
        confirmation.write(&mut draft);
        draft.send();
    }

    /// Returns the encoded elements g_k that are published. S003 also lists g and v.
    fn make_public_key(&self, cx: &mut Context<'_>) -> Vec<u8> {
        let setup = self.setup();
        let mut exponents: Vec<_> = setup.published().map(|k| setup.power(k)).collect();
        if self.capacity.is_none() {
            exponents.insert(0, setup.power(0));
            exponents.push(setup.gamma().clone());
        }
        let mut encoded = Vec::with_capacity(exponents.len() * G1::length(cx.suite()));
        let powers = Powers::new(cx, exponents.len());
        for exponents in exponents.chunks(BATCH) {
            for element in powers.of(cx, exponents) {
                cx.append_g1(&element, &mut encoded);
            }
        }
        encoded
    }

    /// Sends each of these members, given by slot, its own element and the header. `exponent` gets
    /// the member's place in `slots` and its index.
    fn send_elements(
        &self,
        cx: &mut Context<'_>,
        slots: &[u32],
        operation: Operation,
        exponent: impl Fn(usize, u32) -> Scalar,
    ) {
        let Some((epoch, header)) = self.current() else { return };
        let confirmation = self.confirmation(cx);
        cx.reserve(slots.len(), header.length(cx) + G1::length(cx.suite()) + 3 + Key::BYTES + 1);
        let powers = Powers::new(cx, slots.len());
        let mut exponents = Vec::with_capacity(BATCH);
        for (first, slots) in (0..).step_by(BATCH).zip(slots.chunks(BATCH)) {
            exponents.clear();
            let indices = slots.iter().map(|&slot| self.indices[slot as usize]);
            exponents.extend((first..).zip(indices).map(|(place, index)| exponent(place, index)));
            let elements = powers.of(cx, &exponents);
            for (element, &slot) in elements.iter().zip(slots) {
                let to = Recipient::Member(self.group.roster.member(slot));
                let mut draft = cx.draft(to, epoch, operation, REKEY);
                draft.g1(element);
                header.write(&mut draft);
                confirmation.write(&mut draft);
                draft.send();
            }
        }
    }

    /// Sends g_i and u_(c,i) in the open, as S003 says, and the header (growing design).
    fn send_own_elements(&self, cx: &mut Context<'_>, slots: &[u32], operation: Operation) {
        let Some((epoch, header)) = self.current() else { return };
        let confirmation = self.confirmation(cx);
        let setup = self.setup();
        let powers = Powers::new(cx, 2 * slots.len());
        for slots in slots.chunks(BATCH) {
            let exponents = slots.iter().flat_map(|&slot| {
                let index = self.indices[slot as usize];
                let own = setup.secret_key(index).plus(&setup.share(index));
                [setup.power(index), own]
            });
            let elements = powers.of(cx, &exponents.collect::<Vec<_>>());
            for (pair, &slot) in elements.chunks_exact(2).zip(slots) {
                let to = Recipient::Member(self.group.roster.member(slot));
                let mut draft = cx.draft(to, epoch, operation, MEMBER);
                draft.g1s(pair);
                header.write(&mut draft);
                confirmation.write(&mut draft);
                draft.send();
            }
        }
    }

    fn current_slots(&self) -> Vec<u32> {
        self.group.roster.current_slots().collect()
    }

    /// Sends every member its a_i (sound form of the thin client).
    fn send_shares(&self, cx: &mut Context<'_>, slots: &[u32], operation: Operation) {
        self.send_elements(cx, slots, operation, |_, index| self.setup().share(index));
    }

    /// Sends the set of members and the header (sound form of the fat client).
    fn send_header(&self, cx: &mut Context<'_>, to: Recipient, operation: Operation, new: u32) {
        let Some((epoch, header)) = self.current() else { return };
        let confirmation = self.confirmation(cx);
        let mut draft = cx.draft(to, epoch, operation, REKEY);
        draft.number(new.into());
        self.members.write(&mut draft);
        header.write(&mut draft);
        confirmation.write(&mut draft);
        draft.send();
    }
}

impl KeyServer for Controller {
    const REQUEST: u8 = REQUEST;

    fn group(&self) -> &ServedGroup {
        &self.group
    }

    fn group_mut(&mut self) -> &mut ServedGroup {
        &mut self.group
    }

    fn enroll(&mut self, cx: &mut Context<'_>, members: &[MemberId]) -> Result<(), Error> {
        let all = u64::from(self.last) + members.len() as u64;
        // The public key of the growing design has twice as many indices, which are 32-bit numbers.
        let limit = self.capacity.unwrap_or(u32::MAX / 4);
        if all > u64::from(limit) {
            return Err(match self.capacity {
                Some(capacity) => Unsupported::CapacityUsedUp { capacity }.into(),
                None => Unsupported::TooManyMembers { limit }.into(),
            });
        }
        let slots = self.group.roster.admit(members)?;
        let hole = self.capacity.map_or(1, |capacity| capacity + 1);
        let setup = self.setup.get_or_insert_with(|| Setup::new(cx, hole));
        // A thin client in the sound form gets its g_i too, because g_i never changes.
        let each = if self.client == Client::Thin && self.capacity.is_some() { 2 } else { 1 };
        let powers = Powers::new(cx, each * members.len());
        for (slots, members) in slots.chunks(BATCH).zip(members.chunks(BATCH)) {
            let mut exponents = Vec::with_capacity(each * slots.len());
            for (index, &slot) in (self.last + 1..).zip(slots) {
                if self.indices.len() <= slot as usize {
                    self.indices.resize(slot as usize + 1, 0);
                }
                self.indices[slot as usize] = index;
                let all = [setup.secret_key(index), setup.power(index)];
                exponents.extend(all.into_iter().take(each));
            }
            let mut elements = powers.of(cx, &exponents);
            let numbered = (self.last + 1..).zip(members);
            for ((index, &member), own) in numbered.zip(elements.chunks_exact(each)) {
                let (to, epoch) = (Recipient::Member(member), self.group.epoch);
                cx.confidential_draft(to, epoch, Operation::Enroll, ENROLMENT)
                    .number(index.into())
                    .g1s(own)
                    .send();
            }
            elements.iter_mut().for_each(zeroize::Zeroize::zeroize);
            self.last += slots.len() as u32;
        }
        Ok(())
    }

    fn create(&mut self, cx: &mut Context<'_>) {
        let slots = self.current_slots();
        if self.capacity.is_none() {
            let hole = self.last + 1;
            self.setup_mut().move_hole(hole);
        }
        for &slot in &slots {
            let index = self.indices[slot as usize];
            self.members.insert(index);
            self.setup_mut().insert(index);
        }
        self.renew(cx);
        match (self.client, self.capacity) {
            (Client::Fat, capacity) => {
                if capacity.is_some() {
                    self.public_key = self.make_public_key(cx);
                }
                self.send_public_key(cx, Recipient::Group, Operation::Create);
            }
            (Client::Thin, Some(_)) => self.send_shares(cx, &slots, Operation::Create),
            (Client::Thin, None) => self.send_own_elements(cx, &slots, Operation::Create),
        }
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        let index = self.indices[slot as usize];
        let newcomer = Recipient::Member(self.group.roster.member(slot));
        let mut others = self.current_slots();
        others.retain(|&other| other != slot);
        // Exponents of the old a_i, for members that update u_(c,i) by a quotient.
        let before: Vec<_> = match (self.client, self.capacity) {
            (Client::Thin, None) => {
                let old = |&slot: &u32| self.setup().share(self.indices[slot as usize]);
                others.iter().map(old).collect()
            }
            _ => Vec::new(),
        };
        if self.capacity.is_none() {
            let hole = self.setup().hole.max(index + 1);
            self.setup_mut().move_hole(hole);
        }
        self.members.insert(index);
        self.setup_mut().insert(index);
        self.renew(cx);
        match (self.client, self.capacity) {
            (Client::Fat, Some(_)) => {
                self.send_public_key(cx, newcomer, Operation::Add);
                self.send_header(cx, Recipient::Group, Operation::Add, index);
            }
            (Client::Fat, None) => self.send_public_key(cx, Recipient::Group, Operation::Add),
            (Client::Thin, Some(_)) => {
                others.push(slot);
                self.send_shares(cx, &others, Operation::Add);
            }
            (Client::Thin, None) => {
                let change = |place: usize, index| self.setup().share(index).minus(&before[place]);
                self.send_elements(cx, &others, Operation::Add, change);
                self.send_own_elements(cx, &[slot], Operation::Add);
            }
        }
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        let index = self.indices[slot as usize];
        let slots = self.current_slots();
        self.members.remove(index);
        self.setup_mut().remove(index);
        self.renew(cx);
        match (self.client, self.capacity) {
            (Client::Fat, Some(_)) => {
                self.send_header(cx, Recipient::Group, Operation::Remove, 0);
            }
            (Client::Fat, None) => self.send_public_key(cx, Recipient::Group, Operation::Remove),
            (Client::Thin, Some(_)) => self.send_shares(cx, &slots, Operation::Remove),
            (Client::Thin, None) => {
                let setup = self.setup();
                let divisor = |_, member: u32| setup.power(setup.hole + member - index);
                self.send_elements(cx, &slots, Operation::Remove, divisor);
            }
        }
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        self.renew(cx);
        let slots = self.current_slots();
        match (self.client, self.capacity) {
            (Client::Fat, Some(_)) => self.send_header(cx, Recipient::Group, Operation::Rekey, 0),
            (Client::Fat, None) => self.send_public_key(cx, Recipient::Group, Operation::Rekey),
            (Client::Thin, Some(_)) => self.send_shares(cx, &slots, Operation::Rekey),
            (Client::Thin, None) => self.send_own_elements(cx, &slots, Operation::Rekey),
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.bring_up_to_date_from(cx, slot, Epoch(0));
    }

    fn bring_up_to_date_from(&self, cx: &mut Context<'_>, slot: u32, from: Epoch) {
        let to = Recipient::Member(self.group.roster.member(slot));
        match (self.client, self.capacity) {
            (Client::Fat, Some(_)) if from > Epoch(0) => {
                self.send_header(cx, to, Operation::CatchUp, 0);
            }
            (Client::Fat, _) => self.send_public_key(cx, to, Operation::CatchUp),
            (Client::Thin, Some(_)) => self.send_shares(cx, &[slot], Operation::CatchUp),
            (Client::Thin, None) => self.send_own_elements(cx, &[slot], Operation::CatchUp),
        }
    }

    fn messages(&self) -> Messages<'_> {
        Messages::Encapsulated(self)
    }

    fn held(&self) -> Footprint {
        let exponents = self.setup.as_ref().map_or(0, Setup::stored_bytes);
        let header = self.header.as_ref().map_or(0, Header::stored_bytes);
        let permanent = self.group.key_bytes() + exponents + header + self.public_key.len();
        Footprint { permanent, temporary: Key::BYTES }
    }
}

impl Encapsulation for Controller {
    fn encapsulate(&self, cx: &mut Context<'_>) -> Result<(Key, Vec<u8>), Error> {
        let (epoch, _) = self.current().ok_or(Misuse::NotCreated)?;
        let (header, shared) = self.draw_header(cx);
        Ok((message_key(cx, epoch, &shared), header.encode()))
    }
}

impl Header {
    fn write(&self, draft: &mut Draft<'_, '_>) {
        draft.g2(&self.c0).g2(&self.c1);
    }

    fn length(&self, cx: &Context<'_>) -> usize {
        2 * (G2::length(cx.suite()) + 2)
    }

    pub(super) fn stored_bytes(&self) -> usize {
        self.c0.stored_bytes() + self.c1.stored_bytes()
    }
}
