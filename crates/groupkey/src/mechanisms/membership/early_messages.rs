//! Messages that arrived before the one that they belong to. They come on another topic, which may
//! be faster.

use alloc::vec::Vec;

use crate::identity::Epoch;
use crate::mechanisms::membership::MEMBERS;
use crate::wire::{Header, Message};

#[derive(Debug, Default)]
pub(crate) struct Early(Vec<(Header, Vec<u8>)>);

/// No scheme sends more to one member before that member has sent something.
const PER_SENDER: usize = 2;

impl Early {
    /// Keeps a message. If a sender sends many, only its own older messages are dropped.
    pub(crate) fn keep(&mut self, message: &Message<'_>) {
        let header = *message.header();
        let of_sender = |(kept, _): &(Header, Vec<u8>)| kept.sender == header.sender;
        if self.0.iter().filter(|kept| of_sender(kept)).count() == PER_SENDER
            && let Some(oldest) = self.0.iter().position(of_sender)
        {
            self.0.remove(oldest);
        }
        if self.0.len() < PER_SENDER * MEMBERS.1 as usize {
            self.0.push((header, message.content().to_vec()));
        }
    }

    /// Keeps a message that is new, if fewer than `most` are kept. Returns whether it did.
    pub(crate) fn add(&mut self, message: &Message<'_>, most: usize) -> bool {
        let kept = (*message.header(), message.content().to_vec());
        let has_room = self.0.len() < most && !self.0.contains(&kept);
        if has_room {
            self.0.push(kept);
        }
        has_room
    }

    /// Takes out all messages, in the order in which they arrived.
    pub(crate) fn take_all(&mut self) -> Vec<(Header, Vec<u8>)> {
        core::mem::take(&mut self.0)
    }

    /// Takes out the messages of the event that leads to `epoch`, in the order in which they
    /// arrived. Drops older ones.
    pub(crate) fn take(&mut self, epoch: Epoch) -> Vec<(Header, Vec<u8>)> {
        let (due, later) =
            core::mem::take(&mut self.0).into_iter().partition(|(header, _)| header.epoch <= epoch);
        self.0 = later;
        let mut due: Vec<_> = due;
        due.retain(|(header, _)| header.epoch == epoch);
        due
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{GroupId, MemberId};
    use crate::operation::Operation;
    use crate::outbox::Recipient;

    fn message(sender: u32, kind: u8) -> Message<'static> {
        let header = Header {
            group: GroupId(1),
            epoch: Epoch(5),
            operation: Operation::Add,
            kind,
            sender: MemberId(sender).into(),
            to: Recipient::Group,
            nonce: None,
        };
        Message::new(header, &[])
    }

    #[test]
    fn of_each_sender_the_last_two_are_kept() {
        let mut early = Early::default();
        let sent = [(1, 0), (2, 0), (1, 1), (1, 2), (2, 1)];
        sent.iter().for_each(|&(sender, kind)| early.keep(&message(sender, kind)));
        let kept = early.take_all().into_iter().map(|(header, _)| (header.sender, header.kind));
        let expected = sent[1..].iter().map(|&(sender, kind)| (MemberId(sender).into(), kind));
        assert!(kept.eq(expected));
    }

    #[test]
    fn two_of_each_member_of_the_largest_group_have_room() {
        let mut early = Early::default();
        (0..3_000).for_each(|sender| early.keep(&message(sender, 0)));
        assert_eq!(early.take_all().len(), 2_000);
        (0..3).for_each(|sender| early.keep(&message(sender, 0)));
        early.clear();
        assert!(early.take_all().is_empty());
    }

    #[test]
    fn a_message_is_added_once_if_there_is_room() {
        let (mut early, one, other) = (Early::default(), message(1, 0), message(2, 0));
        assert!(early.add(&one, 1) && !early.add(&other, 1) && !early.add(&one, 2));
        assert!(early.add(&other, 2) && !early.add(&message(3, 0), 2));
        assert_eq!(early.take(Epoch(5)).len(), 2);
    }
}
