//! The controller of most hybrid schemes. At every change it draws the group key and hands it to
//! each subgroup's controller under the key that the two share. Schemes differ in what happens
//! below.
//!
//! Body, after the list of members that `domain` describes: `{GK'}shared`.

use crate::context::Context;
use crate::error::Error;
use crate::identity::Epoch;
use crate::mechanisms::subgroup::domain::{
    self, Domain, DomainChange, DomainServer, ServedSubgroup,
};
use crate::party::{Footprint, Input, Party};
use crate::saved_state::{party_state, state};
use crate::secret::Key;

/// The controller.
#[derive(Debug)]
pub(crate) struct Distributor {
    pub(crate) domain: Domain,
}

state!(Distributor { domain });

/// Carries the group key to a subgroup's controller.
pub(crate) const GROUP_KEY: u8 = 0;

impl Distributor {
    /// A controller without members, for this many subgroups.
    pub(crate) fn new(subgroups: u32) -> Self {
        Self { domain: Domain::new(subgroups) }
    }
}

impl DomainServer for Distributor {
    fn domain(&self) -> &Domain {
        &self.domain
    }

    fn domain_mut(&mut self) -> &mut Domain {
        &mut self.domain
    }

    fn change(&mut self, cx: &mut Context<'_>, change: &DomainChange) {
        let group_key = cx.random_key();
        self.domain.enter_next(cx, group_key);
        self.domain.stations().for_each(|station| self.tell(cx, station, change));
    }

    fn tell(&self, cx: &mut Context<'_>, station: &ServedSubgroup, change: &DomainChange) {
        let Some((epoch, group_key)) = self.domain.group_key() else { return };
        self.domain
            .draft(cx, station, change, GROUP_KEY)
            .wrapped(&station.key, epoch, 0, [group_key])
            .send();
    }

    fn period(&mut self, cx: &mut Context<'_>) -> Result<(), Error> {
        self.change(cx, &DomainChange::period());
        Ok(())
    }
}

impl Party for Distributor {
    fn step(&mut self, cx: &mut Context<'_>, input: Input<'_>) -> Result<(), Error> {
        domain::step(self, cx, input)
    }

    fn group_key(&self) -> Option<(Epoch, &Key)> {
        self.domain.group_key()
    }

    fn footprint(&self) -> Footprint {
        Footprint { permanent: self.domain.key_bytes(), temporary: Key::BYTES }
    }

    party_state!();
}
