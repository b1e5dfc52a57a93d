//! Groups that are founded anew, and old copies of a store.

use groupkey::MemberId;
use groupkey::event_order::Evict;

use super::{SERVICE, SoakDevice, Wanted, World, processes};
use crate::history::{MILLISECOND, SECOND, below};
use crate::ledger::Violation;

impl World {
    pub(super) fn anew(&mut self) -> Result<bool, Violation> {
        // A group of one is none.
        if self.subject.has_peers() && self.honest().count() < 2 {
            return Ok(false);
        }
        self.network.life += 1;
        (self.acknowledged, self.is_founded) = (0, false);
        let now = self.network.now;
        if self.subject.has_peers() {
            if self.rules.evict != Evict::Operators {
                self.forget_requests();
            }
            self.founders = self.present().collect();
            let all: Vec<_> = self.devices.keys().copied().collect();
            for device in all {
                if let Some(seat) = self.devices.get_mut(&device) {
                    seat.process.stop();
                }
                self.network.end(device + 1);
                let at = now + below(&mut self.rng, 3 * SECOND);
                self.network.start_at(device + 1, at);
            }
        } else {
            self.stop_service();
            self.found_anew();
            self.network.start_at(SERVICE, now + SECOND);
        }
        Ok(true)
    }

    /// Peers that were asked to evict a device, and lose everything before anybody has decided it,
    /// have it as a member.
    pub(super) fn forget_requests(&mut self) {
        let is_lost = |(&device, seat): (&u32, &SoakDevice)| {
            let evicted = MemberId(device + 1);
            let is_decided = self.devices.values().any(|seat| seat.memory.has_evicted(evicted));
            (seat.is_evicted && !is_decided).then_some(device)
        };
        let lost: Vec<_> = self.devices.iter().filter_map(is_lost).collect();
        lost.into_iter().for_each(|device| self.take_back(device));
    }

    /// An empty store, for a later group.
    pub(super) fn found_anew(&mut self) {
        self.journal.put_back(Vec::new());
        (self.is_old, self.last_copy) = (false, None);
        self.policy.is_identity_new = false;
        self.begin_life();
    }

    /// Only those devices are in the configuration of a later group that may join.
    pub(super) fn begin_life(&mut self) {
        self.network.life += 1;
        (self.acknowledged, self.is_founded) = (0, false);
        for (&device, seat) in &self.devices {
            if seat.is_evicted {
                self.policy.keys.remove(&processes::name(device));
            }
        }
        self.wanted.retain(|wanted| matches!(wanted, Wanted::Change(_) | Wanted::Rekey));
    }

    pub(super) fn old_store(&mut self, age: usize, lost: bool) -> bool {
        let commits = self.journal.copy();
        let kept = commits.len().saturating_sub(age).max(1);
        if kept >= commits.len() || self.subject.has_peers() {
            return false;
        }
        self.stop_service();
        self.journal.put_back(commits[..kept].to_vec());
        if !self.is_old && !lost {
            self.last_copy = Some(commits);
        }
        self.is_old = true;
        self.network.start_at(SERVICE, self.network.now + 100 * MILLISECOND);
        true
    }
}
