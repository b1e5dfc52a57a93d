//! What the operator wants: evictions, readmissions, other keys and other schemes.

use groupkey::event_order::{self, Evict};
use groupkey::{Epoch, MemberId, SubgroupId};
use groupkey_mqtt::service::OperationError;

use super::{DEAF, Runs, SERVICE, SoakDevice, Wanted, World, processes};
use crate::adversary::signed_in;
use crate::history::{MILLISECOND, Obedient, SECOND};
use crate::ledger::Violation;
use crate::live_scheme::LiveScheme;

impl World {
    pub(super) fn evict(&mut self, device: u32, obedient: Obedient) -> Result<bool, Violation> {
        // A group of two cannot evict.
        let stay = self.honest().filter(|&other| other != device).count();
        let is_possible = stay > 2 && self.present().any(|other| other == device);
        // Peers evict members only.
        let has_key = |other: u32| self.devices[&other].process.key.is_some();
        let is_member = || self.honest().any(|other| has_key(other) && self.counts(other, device));
        if !is_possible || self.subject.has_peers() && !is_member() {
            return Ok(false);
        }
        let until = self.network.now + DEAF;
        if let Some(seat) = self.devices.get_mut(&device) {
            seat.is_evicted = true;
            seat.is_adversary = obedient == Obedient::No;
            seat.deaf_until = if self.subject.has_peers() { until } else { u64::MAX };
        }
        self.readmitted.remove(&device);
        if self.subject.has_peers() {
            self.expel(device)?;
        } else {
            self.want(Wanted::Evict(device))?;
        }
        Ok(true)
    }

    pub(super) fn readmit(&mut self) -> bool {
        let is_out = |(&device, seat): (&u32, &SoakDevice)| {
            (seat.is_evicted && self.ledger.is_out(device)).then_some(device)
        };
        let Some(device) = self.devices.iter().find_map(is_out) else { return false };
        if self.subject.has_peers() {
            // Nobody readmits peers.
            return false;
        }
        self.wanted.push(Wanted::Readmit(device));
        true
    }

    pub(super) fn want(&mut self, wanted: Wanted) -> Result<(), Violation> {
        if !self.subject.has_peers() {
            self.wanted.push(wanted);
            self.operate()?;
        }
        Ok(())
    }

    /// The operator gives its commands until the service acknowledges them.
    pub(super) fn operate(&mut self) -> Result<(), Violation> {
        for wanted in std::mem::take(&mut self.wanted) {
            let mut rng = self.fresh();
            let now = self.service.clock(self.network.now);
            let Some(service) = &mut self.service.runtime else {
                self.wanted.push(wanted);
                continue;
            };
            if let Wanted::Readmit(device) = wanted {
                // The commit may be in the store although nobody acknowledges it.
                self.ledger.evicted(device, None);
            }
            let done = match wanted {
                Wanted::Evict(device) => service.evict(&processes::name(device), now, &mut rng),
                Wanted::Readmit(device) => {
                    service.readmit(&processes::name(device), now).map(|()| Epoch(0))
                }
                Wanted::Rekey => service.rekey(now, &mut rng),
                Wanted::Change(which) => {
                    let form = LiveScheme::other(which).form().clone();
                    service.change_scheme(form, now, &mut rng).map(|()| Epoch(0))
                }
            };
            match done {
                Ok(epoch) => {
                    self.acknowledged = self.acknowledged.max(epoch.0);
                    if let Wanted::Readmit(device) = wanted {
                        self.take_back(device);
                    }
                }
                Err(OperationError::Fatal(fatal)) => {
                    self.wanted.push(wanted);
                    self.service_ended(&fatal);
                }
                // The service does not know yet whether its store is the last one.
                Err(OperationError::Unconfirmed) => self.wanted.push(wanted),
                // A device that never joined cannot, from now on.
                Err(OperationError::Unknown(name)) => self.configure(wanted, name),
                Err(OperationError::Refused(_)) if wanted == Wanted::Rekey => {}
                // It is the present scheme, or another change is under way.
                Err(OperationError::CannotChange(_)) => {}
                Err(_) => self.wanted.push(wanted),
            }
            self.observe_service()?;
            self.flush(SERVICE)?;
        }
        Ok(())
    }

    /// The service does not know the device, so the operator changes the configuration.
    pub(super) fn configure(&mut self, wanted: Wanted, name: String) {
        match wanted {
            Wanted::Evict(_) => drop(self.policy.keys.remove(&name)),
            Wanted::Readmit(device) => {
                self.policy.keys.insert(name, processes::shared(device));
                self.take_back(device);
            }
            Wanted::Change(_) | Wanted::Rekey => {}
        }
        self.stop_service();
        self.network.start_at(SERVICE, self.network.now + 100 * MILLISECOND);
    }

    pub(super) fn take_back(&mut self, device: u32) {
        let Some(seat) = self.devices.get_mut(&device) else { return };
        (seat.is_evicted, seat.is_adversary) = (false, false);
        seat.process.stop();
        self.ledger.evicted(device, None);
        self.readmitted.insert(device);
        self.network.end(device + 1);
        self.network.start_at(device + 1, self.network.now + SECOND);
    }

    /// A peer asks to remove another, as many do as must, or an operator says so.
    pub(super) fn expel(&mut self, device: u32) -> Result<(), Violation> {
        let member = MemberId(device + 1);
        if self.rules.evict == Evict::Operators {
            // The word must not name an epoch that the group has not come to.
            let held = self.honest().filter_map(|other| self.key(other));
            let epoch = Epoch(held.map(|(epoch, _)| epoch).max().unwrap_or(0));
            let (name, operator) = (SubgroupId(0).into(), Self::identity(u32::MAX));
            let word = signed_in(self.setting(), &operator, name, |cx| {
                event_order::eviction(cx, epoch, member, Epoch(epoch.0 + 1));
            });
            self.network.intrude(self.topic("all"), word);
            return Ok(());
        }
        let asking: Vec<_> = self.honest().collect();
        for other in asking {
            let mut rng = self.fresh();
            let Some(seat) = self.devices.get_mut(&other) else { continue };
            let now = seat.process.clock(self.network.now);
            if let Some(Runs::Peer(peer)) = &mut seat.process.runtime
                && peer.counts_as_member(member)
                && peer.group_key().is_some()
                && peer.remove(member, now, &mut rng).is_ok()
            {
                self.observe(other)?;
                self.flush(other + 1)?;
                if self.rules.evict == Evict::One {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Somebody asks again where an eviction did not come through.
    pub(super) fn expel_again(&mut self) -> Result<(), Violation> {
        if !(self.network.now / SECOND).is_multiple_of(10) {
            return Ok(());
        }
        let evicted: Vec<_> = self.evicted().collect();
        evicted.into_iter().try_for_each(|device| self.expel(device))
    }
}
