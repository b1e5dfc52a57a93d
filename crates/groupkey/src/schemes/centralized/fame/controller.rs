//! The controller: it has the master key, ends periods and encrypts group keys.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::ciphertext::AttributeCiphertext;
use super::issuing::{AttributeIssuer, AttributeMaster};
use super::messages::{ANSWER, CIPHERTEXT, KEYS, REQUEST, group_key, next_link, wrapping_key};
use crate::context::{Context, Draft};
use crate::identity::Epoch;
use crate::mechanisms::confirmation::Confirmation;
use crate::mechanisms::key_server::{KeyServer, ServedGroup};
use crate::outbox::Recipient;
use crate::party::{Footprint, Operation};
use crate::saved_state::state;
use crate::scheme::Profile;
use crate::secret::Key;

#[derive(Debug)]
pub(crate) struct Controller {
    profile: Profile,
    group: ServedGroup,
    /// Drawn with the first group.
    master: Option<AttributeMaster>,
    period: Epoch,
    /// The link of the epoch, in the sound form.
    link: Key,
    /// C_0 of the last broadcast and, below, its rows.
    begin: Vec<u8>,
    rows: Vec<u8>,
}

state!(Controller { group, master, period, link, begin, rows } if is_whole);

/// Number of keys that are made together: enough to share tables, few enough to need little memory.
const BATCH: usize = 256;

impl Controller {
    /// Creates a controller without members.
    pub(crate) fn new(profile: Profile) -> Self {
        Self {
            profile,
            group: ServedGroup::with_derived_keys(),
            master: None,
            period: Epoch(0),
            link: Key::default(),
            begin: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Whether there is a master key if there is a group, and the period is not of a later epoch.
    fn is_whole(&self) -> bool {
        let is_created = self.group.group_key().is_some();
        let is_ready = self.master.as_ref().map_or(!is_created, AttributeMaster::is_whole);
        is_ready && self.period <= self.group.epoch
    }

    /// Encrypts the key of the next epoch for a new period, and gives all members a key for it.
    fn begin_period(&mut self, cx: &mut Context<'_>, operation: Operation) {
        self.period = self.group.epoch.next();
        if !self.profile.is_published() {
            self.link = cx.random_key();
        }
        self.renew(cx);
        let slots: Vec<_> = self.group.roster.current_slots().collect();
        self.send_keys(cx, &slots, operation, KEYS);
        self.broadcast(cx, operation, None);
    }

    /// Encrypts the key of the next epoch for the same period. Who has just joined, in the slot
    /// `changed`, gets a key for it.
    fn go_on(&mut self, cx: &mut Context<'_>, operation: Operation, changed: Option<u32>) {
        if !self.profile.is_published() {
            self.link = next_link(cx, self.group.epoch.next(), &self.link);
        }
        self.renew(cx);
        let (joined, removed) = match operation {
            Operation::Remove => (None, changed),
            _ => (changed, None),
        };
        self.send_keys(cx, joined.as_slice(), operation, KEYS);
        self.broadcast(cx, operation, removed);
    }

    fn renew(&mut self, cx: &mut Context<'_>) {
        let Some(master) = &self.master else { return };
        let (sealed, shared) = AttributeCiphertext::draw(cx, master, self.period);
        let shared = Zeroizing::new(shared);
        [self.begin, self.rows] = sealed.encode();
        let epoch = self.group.epoch.next();
        let group_key = group_key(cx, epoch, &shared, self.link());
        self.group.enter_next(cx, group_key);
    }

    fn link(&self) -> Option<&Key> {
        (!self.profile.is_published()).then_some(&self.link)
    }

    /// Sends each of these members a key for the period: alone, or with the last ciphertext.
    fn send_keys(&self, cx: &mut Context<'_>, slots: &[u32], operation: Operation, kind: u8) {
        let (Some(master), false) = (&self.master, slots.is_empty()) else { return };
        let issuer = AttributeIssuer::new(cx, master, self.period, slots.len());
        let (roster, epoch) = (&self.group.roster, self.group.epoch);
        for slots in slots.chunks(BATCH) {
            let keys = issuer.keys(cx, slots.len());
            for (key, &slot) in keys.iter().zip(slots) {
                let salt = cx.random_key();
                let individual = roster.individual_key(cx, slot);
                let kek = wrapping_key(cx, &individual, salt.as_bytes());
                let wrapped = key.wrap(cx, &kek, epoch, self.link());
                let confirmation = self.confirmation(cx, kind);
                let to = Recipient::Member(roster.member(slot));
                let mut draft = cx.draft(to, epoch, operation, kind);
                draft.number(self.period.0).bytes(salt.as_bytes()).bytes(&wrapped);
                if kind == ANSWER {
                    self.write_ciphertext(&mut draft, &confirmation);
                }
                draft.send();
            }
        }
    }

    /// Broadcasts the ciphertext. Who was removed within a period is told to stop.
    fn broadcast(&self, cx: &mut Context<'_>, operation: Operation, removed: Option<u32>) {
        let confirmation = self.confirmation(cx, CIPHERTEXT);
        let epoch = self.group.epoch;
        let mut draft = cx.draft(Recipient::Group, epoch, operation, CIPHERTEXT);
        draft.number(self.period.0);
        if let Some(slot) = removed {
            draft.number(slot.into());
        }
        self.write_ciphertext(&mut draft, &confirmation);
        draft.send();
    }

    /// Confirms the group key in the messages that have a ciphertext.
    fn confirmation(&self, cx: &mut Context<'_>, kind: u8) -> Confirmation {
        match kind {
            KEYS => Confirmation::default(),
            _ => Confirmation::of_held(cx, self.profile, self.group.group_key()),
        }
    }

    fn write_ciphertext(&self, draft: &mut Draft<'_, '_>, confirmation: &Confirmation) {
        confirmation.write(draft.bytes(&self.begin).bytes(&self.rows));
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

    fn create(&mut self, cx: &mut Context<'_>) {
        self.master = Some(AttributeMaster::new(cx));
        self.begin_period(cx, Operation::Create);
    }

    fn add(&mut self, cx: &mut Context<'_>, slot: u32) {
        self.go_on(cx, Operation::Add, Some(slot));
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: u32) {
        if self.profile.is_published() {
            self.go_on(cx, Operation::Remove, Some(slot));
        } else {
            self.begin_period(cx, Operation::Remove);
        }
    }

    fn rekey(&mut self, cx: &mut Context<'_>) {
        if self.profile.is_published() {
            self.begin_period(cx, Operation::Rekey);
        } else {
            self.go_on(cx, Operation::Rekey, None);
        }
    }

    fn bring_up_to_date(&self, cx: &mut Context<'_>, slot: u32) {
        self.send_keys(cx, &[slot], Operation::CatchUp, ANSWER);
    }

    fn held(&self) -> Footprint {
        let master = self.master.as_ref().map_or(0, AttributeMaster::stored_bytes);
        let link = self.link().filter(|_| self.master.is_some()).map_or(0, |_| Key::BYTES);
        let sealed = self.begin.len() + self.rows.len();
        let permanent = self.group.key_bytes() + master + link + sealed;
        // A key has three elements more of G1 than a ciphertext.
        let key = sealed + self.rows.len() / 2;
        Footprint { permanent, temporary: self.group.roster.len().min(BATCH) * key }
    }
}
