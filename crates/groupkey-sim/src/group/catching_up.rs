//! Members that missed messages, because their connection ended.
//!
//! They do what the live member does (`groupkey-mqtt`, `member/catching_up.rs`). A member suspects
//! that it missed something when it comes back and the broker has not kept its session, or when a
//! message of a later epoch comes. It waits for 200 to 400 ms, because the message may be on its
//! way. Then it asks with the scheme's own request, at most eight times. A member whose session was
//! kept relies on it. So whatever the broker does not keep, such as a message of QoS 0, is missed
//! unnoticed until the next change.
//!
//! The live member learns from a retained notice, after a reconnection, how far the group is. Here it
//! knows that from the group, and the notice has no bytes.

use groupkey::catalogue::Law;
use groupkey::error::Misbehaviour;
use groupkey::{Command, Error, PartyId};

use super::{Carrier, GroupError, SimulatedGroup, StepInput, seed_of_operation};
use crate::time::Duration;

impl<C: Carrier> SimulatedGroup<C> {
    pub(super) const fn connections_end(&self) -> bool {
        self.settings.network.reconnection.is_some()
    }

    /// Returns whether a current member lacks the key and is not connected: it may learn of that.
    pub(super) fn awaits_connections(&self) -> bool {
        self.connections_end()
            && (0..self.seats.len()).any(|seat| {
                self.lacks_key(seat) && !self.carrier.is_connected(self.seats[seat].client)
            })
    }

    /// Sends a request to join or leave again that was lost, as the live member does. Returns whether
    /// it was sent.
    pub(super) fn repeat_request(&mut self) -> bool {
        let is_lost = self.connections_end() && !self.operation.has_begun;
        let Some(request) = self.operation.request.filter(|_| is_lost) else { return false };
        self.operation.repeats += 1;
        if self.operation.repeats > TRIES {
            return false;
        }
        self.send_request(request);
        true
    }

    /// Passes on an error of a step, unless it is due to a message that came twice, late, or after
    /// one that was lost. The party has refused it.
    pub(super) fn forgive(
        &mut self,
        seat: usize,
        result: Result<(), GroupError>,
    ) -> Result<(), GroupError> {
        let Err(GroupError::Refused(party, error)) = &result else { return result };
        if !self.connections_end() {
            return result;
        }
        match error {
            Error::Misbehaved(Misbehaviour::SkippedEpoch { .. }) => self.suspect(seat),
            Error::Misbehaved(_) => {}
            // A member that is behind cannot take part in what its group does next.
            _ if matches!(party, PartyId::Member(_)) => self.suspect(seat),
            _ => return result,
        }
        Ok(())
    }

    /// Lets a party ask soon for what it may have missed.
    pub(super) fn suspect(&mut self, seat: usize) {
        if !self.may_lack(seat) || self.asking.contains_key(&seat) {
            return;
        }
        self.asking.insert(seat, 0);
        let wait = PATIENCE.as_nanos() + self.drawn_for(seat) % PATIENCE.as_nanos();
        self.ask_after(seat, Duration::from_nanos(wait));
    }

    /// Lets a party ask for what it has missed, if it still lacks it and has not asked too often.
    pub(super) fn ask(&mut self, seat: usize) -> Result<(), GroupError> {
        let tries = self.asking.get(&seat).copied().unwrap_or(TRIES);
        if !self.may_lack(seat) || tries >= TRIES {
            self.asking.remove(&seat);
            return Ok(());
        }
        let now = self.carrier.now();
        match self.work(seat, StepInput::Command(Command::CatchUp), now, 0) {
            Ok(()) => {
                self.operation.catch_ups += 1;
                // Who cannot tell whether it is behind asks once.
                let is_member = matches!(self.seats[seat].id, PartyId::Member(_));
                let tries = if is_member { tries + 1 } else { TRIES };
                self.asking.insert(seat, tries);
                self.ask_after(seat, Duration::from_secs(1 << tries.min(4)));
                Ok(())
            }
            // Its scheme has no such request: it stays behind.
            Err(GroupError::Refused(..)) => {
                self.asking.remove(&seat);
                Ok(())
            }
            Err(other) => Err(other),
        }
    }

    /// Returns whether a seat's party is a current member without the operation's key.
    fn lacks_key(&self, seat: usize) -> bool {
        let has_key = match self.settings.configuration.scheme().law {
            Law::OneKey | Law::PlannedPeriods => self.operation.has_key(seat),
            Law::OneMessage => true,
        };
        self.seats[seat].is_current_member() && !has_key
    }

    /// Returns whether a seat's party may have missed a message of the operation: controllers of
    /// subgroups cannot tell.
    fn may_lack(&self, seat: usize) -> bool {
        let party = &self.seats[seat];
        let may_lack = match party.id {
            PartyId::Controller => false,
            PartyId::Member(_) => self.lacks_key(seat),
            PartyId::SubgroupController(_) => true,
        };
        party.current && self.operation.has_begun && may_lack
    }

    fn ask_after(&mut self, seat: usize, wait: Duration) {
        self.carrier.wake_at(self.carrier.now() + wait, ASK | seat as u64);
    }

    fn drawn_for(&self, seat: usize) -> u64 {
        seed_of_operation(seed_of_operation(self.settings.seed, self.epoch.0), seat as u64)
    }
}

/// Returns the seat of the wake-up call with which it asks. Other calls have other tokens.
pub(super) fn seat_of(token: u64) -> Option<usize> {
    (token & ASK != 0).then_some((token & !ASK) as usize)
}

/// How long a missed message may still be on its way.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often a party asks for what it missed, or repeats a request that was lost.
const TRIES: u32 = 8;
const ASK: u64 = 1 << 62;
