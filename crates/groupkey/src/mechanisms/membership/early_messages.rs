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
