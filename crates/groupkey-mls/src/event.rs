//! A membership event under way: what a command asks of a member, and what it waits for.

use groupkey::author::sponsored::{Announcements, GroupStanding, SponsoredChange, SponsoredPart};
use groupkey::error::Error;
use groupkey::{Command, Epoch, MemberId, Operation};

use crate::library::Identity;

/// An event under way.
#[derive(Debug)]
pub(crate) struct MlsEvent {
    pub(crate) operation: Operation,
    /// The epoch that it leads to; a joining member may learn a later one.
    pub(crate) epoch: Epoch,
    pub(crate) part: SponsoredPart,
    /// Who joins, in the order of the commit, with key package and the identity in it.
    pub(crate) joining: Announcements<(Vec<u8>, Identity)>,
    /// Who leaves, in the order of the commit.
    pub(crate) leaving: Vec<MemberId>,
    /// The sponsor's commit, if it came before all key packages.
    pub(crate) commit: Option<Vec<u8>>,
}

impl MlsEvent {
    /// The event that a command asks for.
    pub(crate) fn of(standing: &GroupStanding<'_>, command: Command<'_>) -> Result<Self, Error> {
        let SponsoredChange { operation, epoch, part, joining, leaving } =
            standing.change(command)?;
        let joining = Announcements::awaited(&joining);
        Ok(Self { operation, epoch, part, joining, leaving, commit: None })
    }

    pub(crate) fn identities(&self) -> Vec<Identity> {
        self.joining.heard().map(|(_, (_, identity))| identity.clone()).collect()
    }

    pub(crate) fn key_packages(&self) -> Vec<&[u8]> {
        self.joining.heard().map(|(_, (key_package, _))| &key_package[..]).collect()
    }
}
