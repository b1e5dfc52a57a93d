//! Forgeries and replays that accompany every message in a hostile rig.

use alloc::vec;

use rand_core::Rng;

use crate::rig::report::RigError;
use crate::rig::state::Rig;
use crate::rig::transit::{RigInput, ScheduledDelivery};

impl Rig {
    /// Offers changed copies of a message. The party must refuse each copy.
    pub(super) fn tamper(&mut self, delivery: &ScheduledDelivery) -> Result<(), RigError> {
        let bytes = &delivery.bytes;
        let mut copies = vec![bytes[..bytes.len() - 1].to_vec(), [bytes, &[0][..]].concat()];
        for _ in 0..4 {
            let mut copy = bytes.to_vec();
            let bit = self.rng.next_u32() as usize % (copy.len() * 8);
            copy[bit / 8] ^= 1 << (bit % 8);
            copies.push(copy);
        }
        for copy in copies {
            if self.step(delivery.to, RigInput::Bytes(delivery.channel, &copy)).is_ok() {
                return Err(RigError::AcceptedForgery(delivery.to));
            }
        }
        Ok(())
    }

    /// Offers a message again. The key must not change. Messages sent in return are dropped.
    pub(super) fn replay(&mut self, delivery: &ScheduledDelivery) -> Result<(), RigError> {
        let key = |rig: &Self| {
            let party = rig.party(delivery.to);
            let group_key = party.group_key().map(|(epoch, key)| (epoch, key.clone()));
            (group_key, party.messages().last_key().map(|message| message.key.clone()))
        };
        let before = key(self);
        let _ = self.step(delivery.to, RigInput::Bytes(delivery.channel, &delivery.bytes));
        if before != key(self) {
            return Err(RigError::AcceptedForgery(delivery.to));
        }
        Ok(())
    }
}
