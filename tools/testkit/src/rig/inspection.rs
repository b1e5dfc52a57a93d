//! What a rig reports about its parties, and what must hold for them.

use alloc::vec::Vec;

use groupkey::catalogue::{Class, Law, Recovery};
use groupkey::protection::{Protection, PublicIdentity};
use groupkey::{Context, Epoch, Key, KeyNode, MemberId, Outbox, Party, PartyId};
use rand_core::CryptoRng;

use crate::rig::parties::{RigParty, RigPresence};
use crate::rig::report::RigError;
use crate::rig::state::Rig;

impl Rig {
    /// Returns the key that the controller and all current members that are awake hold: the group
    /// key or, if there is none, the key of the last message. A subgroup controller need not hold
    /// it, but must not hold another key of the same epoch. If members hand keys on and a party
    /// sleeps, this applies to all parties: the key is that of the latest epoch, and a party that
    /// is held up is in an earlier epoch. Members whose subgroup controller sleeps do not count.
    pub fn agreed_key(&self) -> Result<&Key, RigError> {
        let hybrid = self.configuration.scheme().class() == Class::Hybrid;
        let held_up = self.configuration.scheme().recovery == Recovery::Relay
            && self.seats.iter().any(|(_, seat)| seat.standing == RigPresence::Asleep);
        let mut agreed: Option<(Epoch, &Key)> = None;
        let mut held = Vec::new();
        for (id, seat) in self.seats.iter().filter(|&(id, seat)| self.is_at_hand(id, seat)) {
            if self.has_no_server(id, seat) {
                continue;
            }
            match self.held_key(seat) {
                Some(own) => held.push((id, own)),
                None if hybrid && !matches!(id, PartyId::Member(_)) => {}
                // The party has no key in this period.
                None if self.configuration.scheme().law == Law::PlannedPeriods => {}
                None => return Err(RigError::Disagreement(id)),
            }
        }
        for &(id, own) in &held {
            if held_up && agreed.is_none_or(|(latest, _)| latest < own.0) {
                agreed = Some(own);
            } else if !hybrid || matches!(id, PartyId::Member(_)) {
                agreed.get_or_insert(own);
            }
        }
        // In a period that was promised to no member, only the controllers have the key.
        let agreed = agreed.or_else(|| held.first().map(|&(_, own)| own));
        let (epoch, key) = agreed.ok_or(RigError::Disagreement(PartyId::Controller))?;
        for (id, (its_epoch, its_key)) in held {
            let may_be_behind = held_up || hybrid && !matches!(id, PartyId::Member(_));
            let outdated = may_be_behind && its_epoch < epoch;
            if !outdated && (its_epoch, its_key) != (epoch, key) {
                return Err(RigError::Disagreement(id));
            }
        }
        Ok(key)
    }

    /// Returns whether an evicted party holds the key that the group agreed on.
    pub fn outsider_knows_key(&self) -> bool {
        let agreed = self.agreed_key().ok();
        self.seats
            .iter()
            .filter(|(_, seat)| seat.standing == RigPresence::Former)
            .filter_map(|(_, seat)| self.held_key(seat))
            .any(|(_, key)| Some(key) == agreed)
    }

    /// Returns the current members, in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = u32> {
        self.current.iter().map(|member| member.0)
    }

    /// Returns the key that a party holds.
    pub fn key_of(&self, party: PartyId) -> Option<(Epoch, &Key)> {
        self.seats.get(party).and_then(|seat| seat.party.group_key())
    }

    /// Returns the key that a party has for an epoch, in self-healing schemes.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn past_key_of(&mut self, party: PartyId, epoch: Epoch) -> Option<Key> {
        self.ask(party, |cx, party| party.knowledge()?.past_key(cx, epoch))
    }

    /// Returns the key tree as a party knows it; empty if the scheme has none.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn key_tree_of(&mut self, party: PartyId) -> Vec<KeyNode> {
        self.ask(party, |cx, party| {
            party.knowledge().map_or_else(Vec::new, |knowledge| knowledge.key_tree(cx))
        })
    }

    /// Returns a party's state machine.
    ///
    /// # Panics
    ///
    /// If there is no such party.
    pub fn party(&self, party: PartyId) -> &dyn Party {
        &*self.seats[party].party
    }

    /// Runs code at a member outside a step of its party, in the member's present context, with its
    /// long-term key.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn at<T>(
        &mut self,
        member: MemberId,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
    ) -> T {
        let mut rng = self.rng.clone();
        let result = self.at_drawing(member, &mut rng, what);
        self.rng = rng;
        result
    }

    /// Does the same with another generator.
    ///
    /// # Panics
    ///
    /// If there is no such member.
    pub fn at_drawing<T>(
        &mut self,
        member: MemberId,
        rng: &mut dyn CryptoRng,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
    ) -> T {
        let id = member.into();
        self.credentials.issue(id);
        let setting = self.setting();
        let (mut outbox, mut probe) = (Outbox::new(), ());
        let peer_keys = self.credentials.peer_keys(id, setting.suite);
        let protection = self.credentials.protection(id);
        let mut cx = Context::new(setting, id, protection, rng, self.now, &mut outbox, &mut probe)
            .with_peer_keys(&peer_keys);
        what(&mut cx, &*self.seats[id].party)
    }

    /// Returns the key that a member's signatures verify under, if signatures protect the group.
    pub fn public_identity(&mut self, member: MemberId) -> Option<PublicIdentity> {
        self.credentials.issue(member.into());
        let identities = self.credentials.protection(member.into()).identities();
        identities.map(|(identity, _)| identity.public())
    }

    /// Asks a party for information that needs no protection and sends nothing.
    fn ask<T>(
        &mut self,
        party: PartyId,
        what: impl FnOnce(&mut Context<'_>, &dyn Party) -> T,
    ) -> T {
        let setting = self.setting();
        let (protection, mut outbox) = (Protection::None, Outbox::new());
        let (rng, mut probe) = (&mut self.rng, ());
        let mut cx =
            Context::new(setting, party, protection, rng, self.now, &mut outbox, &mut probe);
        what(&mut cx, &*self.seats[party].party)
    }

    /// Returns the group key that a party holds or, if there is none, the key of the last message.
    pub(super) fn held_key<'s>(&self, seat: &'s RigParty) -> Option<(Epoch, &'s Key)> {
        match self.configuration.scheme().law {
            Law::OneKey | Law::PlannedPeriods => seat.party.group_key(),
            Law::OneMessage => {
                seat.party.messages().last_key().map(|message| (Epoch(0), message.key))
            }
        }
    }
}
