//! When a member changes over to a key that was distributed first.
//!
//! The service's notice says under which epoch members send, and how long a new key waits at most. A member
//! that has the new key goes on under the one before until the notice says otherwise, or that time is over.

use core::time::Duration;

use super::{Member, MemberState};
use crate::participant::Staged;
use crate::runtime::after;

impl Member {
    /// Changes over if the service has said so, or the time is over. Tells the participant what the
    /// service said last.
    pub(super) fn follow_staging(&mut self, now: u64) {
        let wait = Duration::from_secs(self.proof.expectations().activate_s.into());
        let MemberState::Inside(participant) = &mut self.state else {
            self.change_over_due = None;
            return;
        };
        let group = (participant.group(), self.founded);
        let staged = self.catching_up.staged(group);
        participant.stage(staged.filter(|_| !wait.is_zero()));
        let Some(held) = participant.held() else {
            self.change_over_due = None;
            return;
        };
        // The clock may have been set back.
        let latest = after(now, wait);
        let due = self.change_over_due.map_or(latest, |due| due.min(latest));
        self.change_over_due = Some(due);
        let Staged { epoch, active } = staged.unwrap_or_default();
        if active <= held && now < due {
            return;
        }
        // The others change over at that time at the latest. But who was removed since has no grace beyond
        // the usual.
        let from = if epoch <= participant.epoch() { due } else { now };
        participant.activate(&mut self.queue, from.max(now));
        if now >= due {
            // The service has said so, and we did not hear it.
            let active = participant.epoch();
            self.catching_up.note_staged(group, Staged { epoch: active, active });
            participant.stage(self.catching_up.staged(group));
        }
        self.change_over_due = None;
    }
}
