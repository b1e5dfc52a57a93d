//! Whether all agree once everything works again, and what was acknowledged holds.

use std::collections::BTreeSet;

use groupkey::MemberId;

use super::{QUIET, REST, Runs, SERVICE, World, processes, roster};
use crate::history::SECOND;
use crate::insider::Liar;
use crate::ledger::{Invariant, Violation, violated};

impl World {
    /// Everything works again. Within the bound all honest parties have one key.
    pub(super) fn settle(&mut self) -> Result<(), Violation> {
        self.network.heal();
        self.liar.iter_mut().for_each(Liar::end);
        self.journal.fill(false);
        self.journal.tear(None);
        for seat in self.devices.values_mut() {
            seat.flash_full_until = 0;
            if seat.process.runtime.is_some() {
                seat.flash.revive();
            }
        }
        if let Some(service) = &mut self.service.runtime {
            service.crash_at(u64::MAX);
        } else if !self.subject.has_peers() {
            self.network.start_at(SERVICE, self.network.now);
        }
        let begin = self.network.now;
        let mut agreed_since = None;
        loop {
            self.advance(self.network.now + SECOND)?;
            if self.subject.has_peers() {
                self.expel_again()?;
            }
            let now = self.network.now;
            match self.disagreement() {
                None => {
                    let since = *agreed_since.get_or_insert(now);
                    if now - since >= QUIET {
                        self.longest = self.longest.max(since - begin);
                        break;
                    }
                }
                Some(_) if now - begin < self.subject.bound() => agreed_since = None,
                Some(why) => return violated(Invariant::Stuck, why),
            }
        }
        self.check_acknowledged()?;
        self.check_decided()?;
        let now = self.network.now;
        for (&device, seat) in &self.devices {
            if seat.is_evicted && self.is_decided(device) {
                self.ledger.evicted(device, Some(now));
            }
        }
        self.talk()
    }

    /// Returns whether all know of an eviction. Peers that lose everything right after one of them
    /// asked for it know nothing. Whoever asked must ask again when the device is back.
    pub(super) fn is_decided(&self, device: u32) -> bool {
        let evicted = MemberId(device + 1);
        !self.subject.has_peers()
            || self.honest().all(|other| self.devices[&other].memory.has_evicted(evicted))
    }

    /// Nothing fails any more, so nobody may drop out, and the key must not change by itself.
    pub(super) fn rest(&mut self) -> Result<(), Violation> {
        self.restless = None;
        let key = self.group_key();
        self.advance(self.network.now + REST)?;
        if let Some(who) = self.restless.take() {
            return violated(Invariant::Restless, who);
        }
        // Nobody waits for a dishonest member, which may come back later.
        let may_return = self.present().any(|device| self.is_dishonest(device));
        let changes = may_return || self.policy.period.is_some() && !self.subject.has_peers();
        let (before, after) = (key, self.group_key());
        if !changes && before != after {
            let epochs = [before, after].map(|key| key.map(|(epoch, _)| epoch));
            return violated(
                Invariant::Restless,
                format!("the epoch goes from {epochs:?} by itself"),
            );
        }
        // A periodic change may be under way.
        self.settle()
    }

    /// Every honest device says something, and all others hear it. One that has not heard of messages
    /// in its name cannot do anything about them until the key changes.
    fn talk(&mut self) -> Result<(), Violation> {
        let honest: Vec<_> = self.honest().collect();
        for &device in &honest {
            if self.is_unaware(device) || !self.say(device)? {
                continue;
            }
            let message = self.said;
            self.advance(self.network.now + SECOND)?;
            let others = honest.iter().copied().filter(|&other| other != device);
            self.ledger.require_heard(message, others)?;
        }
        Ok(())
    }

    pub(super) fn group_key(&self) -> Option<(u64, Vec<u8>)> {
        match self.subject.has_peers() {
            true => self.honest().find_map(|device| self.devices[&device].process.key.clone()),
            false => self.service.key.clone(),
        }
    }

    /// Returns who is in the way of agreement, if anybody is.
    pub(super) fn disagreement(&self) -> Option<String> {
        if let Some(wanted) = self.wanted.first() {
            return Some(format!("the operator's command {wanted:?} is not done"));
        }
        let wanted: BTreeSet<u32> = self.honest().collect();
        if wanted.len() < 2 {
            return None;
        }
        let held = |device: u32| self.devices[&device].process.key.clone();
        let key = if self.subject.has_peers() {
            wanted.iter().find_map(|&device| held(device))
        } else {
            let Some(service) = &self.service.runtime else {
                return Some("the service does not run".to_owned());
            };
            if !self.network.is_connected(SERVICE) {
                return Some("the service is not connected".to_owned());
            }
            if let Some(change) = service.change_under_way() {
                return Some(format!("the change to {} is under way", change.form));
            }
            let mut members = roster(service);
            members.retain(|&member| !self.is_dishonest(member));
            if members != wanted {
                return Some(format!("the service's members are {members:?}, not {wanted:?}"));
            }
            self.service.key.clone()
        };
        let Some(key) = key else { return Some("there is no key".to_owned()) };
        for &device in &wanted {
            let held = held(device);
            if held.as_ref() != Some(&key) {
                let held = held.map(|(epoch, _)| epoch);
                return Some(format!(
                    "device {device} has the key of epoch {held:?}, others that of {:?}",
                    Some(key.0)
                ));
            }
            if let Some(Runs::Peer(peer)) = &self.devices[&device].process.runtime
                && !peer.is_settled()
            {
                return Some(format!("an event is under way at device {device}"));
            }
            let wrong = (self.devices.iter()).find(|(other, seat)| {
                let is_free = **other == device || self.is_dishonest(**other);
                seat.is_evicted && self.counts(device, **other)
                    || !seat.is_evicted && !self.counts(device, **other) && !is_free
            });
            if let Some((other, _)) = wrong {
                return Some(format!("device {device} is wrong about device {other}"));
            }
        }
        None
    }

    /// Returns whether a peer counts another as a member.
    pub(super) fn counts(&self, device: u32, other: u32) -> bool {
        match &self.devices[&device].process.runtime {
            Some(Runs::Peer(peer)) => peer.counts_as_member(MemberId(other + 1)),
            _ => !self.devices[&other].is_evicted,
        }
    }

    /// Returns the devices that the operator does not want out.
    pub(crate) fn present(&self) -> impl Iterator<Item = u32> + '_ {
        let present = self.devices.iter().filter(|(_, seat)| !seat.is_evicted);
        present.map(|(&device, _)| device)
    }

    pub(super) fn honest(&self) -> impl Iterator<Item = u32> + '_ {
        self.present().filter(|&device| !self.is_dishonest(device))
    }

    pub(super) fn is_dishonest(&self, device: u32) -> bool {
        self.liar.as_ref().is_some_and(|liar| liar.device == device)
    }

    /// Requires that honest peers count nobody as evicted whom nobody wanted out.
    fn check_decided(&self) -> Result<(), Violation> {
        for device in self.honest() {
            let memory = &self.devices[&device].memory;
            let undecided = self.present().find(|&other| memory.has_evicted(MemberId(other + 1)));
            if let Some(other) = undecided {
                let seen = format!("device {device} counts device {other} as evicted");
                return violated(Invariant::NotDecided, seen);
            }
        }
        Ok(())
    }

    /// What the service acknowledged must hold.
    pub(super) fn check_acknowledged(&self) -> Result<(), Violation> {
        let Some(service) = &self.service.runtime else { return Ok(()) };
        let epoch = self.service.key.as_ref().map_or(0, |(epoch, _)| *epoch);
        if epoch < self.acknowledged {
            return violated(
                Invariant::AcknowledgedLost,
                format!("epoch {} was acknowledged, and now it is {epoch}", self.acknowledged),
            );
        }
        for device in service.devices(MemberId(0)) {
            let number = processes::number(device.name);
            if self.devices.get(&number).is_some_and(|seat| seat.is_evicted) {
                if device.is_current || !device.is_barred {
                    return violated(
                        Invariant::AcknowledgedLost,
                        format!("the eviction of device {number} is undone"),
                    );
                }
            } else if device.is_barred && self.readmitted.contains(&number) {
                return violated(
                    Invariant::AcknowledgedLost,
                    format!("the readmission of device {number} is undone"),
                );
            }
        }
        Ok(())
    }
}
