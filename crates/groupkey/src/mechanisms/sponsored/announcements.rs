//! What the joining members of a change announced: the keys by which they are welcomed.

use alloc::vec::Vec;

use crate::error::{Error, Misbehaviour};
use crate::identity::MemberId;
use crate::operation::Operation;
use crate::wire::Message;

/// The joining members, in an order that all members know, each with what it announced.
#[derive(Clone, Debug)]
pub struct Announcements<T>(Vec<(MemberId, Option<T>)>);

impl<T> Announcements<T> {
    /// Awaits an announcement of each of these members.
    pub fn awaited(joining: &[MemberId]) -> Self {
        Self(joining.iter().map(|&member| (member, None)).collect())
    }

    /// Takes note of what this member itself announced, if it joins.
    pub fn announced(mut self, me: MemberId, own: Option<T>) -> Self {
        if let Some((_, announced)) = self.0.iter_mut().find(|(member, _)| *member == me) {
            *announced = own;
        }
        self
    }

    /// Returns the joining members.
    pub fn members(&self) -> impl Iterator<Item = MemberId> {
        self.0.iter().map(|(member, _)| *member)
    }

    /// Returns the joining members, each with what it announced so far.
    pub fn iter(&self) -> impl Iterator<Item = (MemberId, Option<&T>)> {
        self.0.iter().map(|(member, announced)| (*member, announced.as_ref()))
    }

    /// Returns the members that have announced something, with that.
    pub fn heard(&self) -> impl Iterator<Item = (MemberId, &T)> {
        self.iter().filter_map(|(member, announced)| Some((member, announced?)))
    }

    /// Returns whether nobody joins.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether each has announced itself.
    pub fn are_complete(&self) -> bool {
        self.0.iter().all(|(_, announced)| announced.is_some())
    }

    /// Takes note of what a message announces, as `read` finds it. The message must be of this
    /// operation, from one of the joining members, and the first one of it.
    pub fn note(
        &mut self,
        message: &Message<'_>,
        operation: Operation,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(), Error> {
        if message.header().operation != operation {
            return Err(Misbehaviour::UnexpectedMessage.into());
        }
        let sender = message.from_member()?;
        let announced = self.0.iter_mut().find(|(member, _)| *member == sender);
        let (_, announced) = announced.ok_or(Misbehaviour::UnexpectedSender)?;
        if announced.is_some() {
            return Err(Misbehaviour::Replayed.into());
        }
        *announced = Some(read()?);
        Ok(())
    }

    /// Drops what a member announced: it can announce again.
    pub fn forget(&mut self, member: MemberId) {
        let announced = self.0.iter_mut().filter(|(joining, _)| *joining == member);
        announced.for_each(|(_, announced)| *announced = None);
    }
}
