//! Controllers that are saved and restored while a group is driven.

use alloc::vec::Vec;

use groupkey::error::{Error, Misuse};
use groupkey::{PartyId, SavedState};

use crate::rig::state::Rig;

impl Rig {
    /// From now on, after every step of the controller or of a subgroup's controller, replaces the
    /// party by one that is restored from its saved state. A party whose restored form would be
    /// saved as other bytes has its step fail with [`Misuse::MalformedState`].
    #[must_use]
    pub const fn restarting(mut self) -> Self {
        self.restarts = true;
        self
    }

    /// Returns the saved states of the controller and of the subgroup controllers.
    pub fn saved_states(&self) -> Result<Vec<(PartyId, SavedState)>, Error> {
        let controllers = self.seats.iter().filter(|(id, _)| is_controller(*id));
        controllers.map(|(id, _)| Ok((id, self.saved_state(id)?))).collect()
    }

    /// Replaces a controller that took a step, if [`Self::restarting`] asked for it.
    pub(super) fn restart(&mut self, id: PartyId) -> Result<(), Error> {
        if !self.restarts || !is_controller(id) {
            return Ok(());
        }
        let state = self.saved_state(id)?;
        let restored = match id {
            PartyId::SubgroupController(subgroup) => {
                self.configuration.restore_subgroup_controller(subgroup, state.as_bytes())?
            }
            _ => self.configuration.restore_controller(state.as_bytes())?,
        };
        self.seat(id).party = restored;
        if self.saved_state(id)?.as_bytes() != state.as_bytes() {
            return Err(Misuse::MalformedState.into());
        }
        Ok(())
    }

    fn saved_state(&self, id: PartyId) -> Result<SavedState, Error> {
        SavedState::of(&self.configuration, id, &*self.seats[id].party)
    }
}

const fn is_controller(id: PartyId) -> bool {
    !matches!(id, PartyId::Member(_))
}
