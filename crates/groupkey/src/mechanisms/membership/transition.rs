//! Membership events: what a command asks of a member, checked against what the member knows.

use crate::error::{Error, Misuse, Unsupported};
use crate::mechanisms::membership::{MembershipChange, Merger, View};
use crate::party::{Command, Operation};
use crate::scheme::Recovery;

/// What a member must do.
#[derive(Debug)]
pub(crate) enum Transition {
    /// Ask for what it missed.
    CatchUp,
    Create(MembershipChange),
    Add(MembershipChange),
    /// Merge two groups.
    Merge(Merger),
    /// Change the key of the members that stay after an eviction or a partition, or of all members.
    Exclude(MembershipChange),
}

impl View {
    /// The event that a command asks for.
    ///
    /// # Errors
    ///
    /// [`Unsupported::Operation`] if the scheme has no such operation, and [`Misuse`] if the
    /// group's state does not allow it.
    pub(crate) fn event(&self, command: Command<'_>) -> Result<Transition, Error> {
        match command {
            Command::Add(member) => {
                self.require(Operation::Add)?;
                self.addition(member).map(Transition::Add)
            }
            Command::CatchUp if self.scheme().recovery == Recovery::Request => {
                Ok(Transition::CatchUp)
            }
            Command::Create(members) => self.creation(members).map(Transition::Create),
            Command::Enroll(_) => Err(Misuse::WrongRole.into()),
            Command::Merge { members, epoch } => {
                self.require(Operation::Merge)?;
                self.merger(members, epoch).map(Transition::Merge)
            }
            Command::Partition(apart) => {
                self.require(Operation::Partition)?;
                self.partition(apart).map(Transition::Exclude)
            }
            Command::Rekey => {
                self.require(Operation::Rekey)?;
                self.refreshment().map(Transition::Exclude)
            }
            Command::Remove(member) => {
                self.require(Operation::Remove)?;
                self.removal(member).map(Transition::Exclude)
            }
            Command::Batch { .. } | Command::CatchUp | Command::Grant { .. } | Command::Send => {
                Err(Unsupported::Operation.into())
            }
        }
    }

    /// Refuses an operation that the scheme does not have.
    fn require(&self, operation: Operation) -> Result<(), Error> {
        match self.scheme().operations.contains(&operation) {
            true => Ok(()),
            false => Err(Unsupported::Operation.into()),
        }
    }
}
