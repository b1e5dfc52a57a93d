//! Messages that the service adds to the scheme's: the notice of the current epoch, and the
//! farewell to an evicted member.
//!
//! A member may miss the scheme's last message for a long time. It may also miss a message to a
//! subset to which it was still subscribing. So the broker retains a signed notice of the current
//! epoch on a topic of its own. A member that connects learns at once whether it is behind, and
//! catches up.
//!
//! The notice is also what a service compares its store with when it begins again. So it has the
//! number of the log's entries and a hash of them all.
//!
//! A service that lost its store founds another group with the same name and service key. So both
//! messages have the time when their group was founded. From a notice with another time members
//! learn that there may be another group. A notice may be a recording, and clocks may be wrong: so
//! they ask the service.
//!
//! A change's first publish is the same notice on a topic that only the service reads. So a broker
//! that has forwarded any of the change's messages has the notice that shows an older store.
//!
//! ```text
//! notice:    [group, founded, epoch, resumptions, valid from, members, entries, state, expectations, active,
//!             signature]
//! expectations: [confirm within s, ask every s, activate after s]; 0 for nothing
//! farewell:  [founded, member, epoch, signature]
//! ```

use alloc::vec::Vec;

use groupkey::GroupContext;
use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use crate::codec::{decoded, encoded};
use crate::keyring::{self, Secret};

/// The current epoch of a group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Notice {
    #[n(0)]
    pub(crate) group: u64,
    /// When the group was founded, ms since 1970.
    #[n(1)]
    pub(crate) founded: u64,
    #[n(2)]
    pub(crate) epoch: u64,
    #[n(3)]
    pub(crate) resumptions: u32,
    /// The first epoch whose key counts: members refuse messages under earlier ones.
    #[n(4)]
    pub(crate) valid_from: u64,
    #[n(5)]
    pub(crate) members: u64,
    /// How many entries the service's log ever had.
    #[n(6)]
    pub(crate) entries: u64,
    /// A hash of these entries.
    #[n(7)]
    pub(crate) state: ByteArray<32>,
    #[n(8)]
    pub(crate) expectations: Expectations,
    /// The epoch under whose key members send. It is earlier than the last one while that waits.
    #[n(9)]
    pub(crate) active: u64,
    #[n(10)]
    signature: ByteArray<64>,
}

/// What the service expects of its members. Its members need no settings for that. 0 stands for nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Expectations {
    /// Within how long they confirm a new epoch, s.
    #[n(0)]
    pub(crate) confirm_s: u32,
    /// How long they go without a question at most, s.
    #[n(1)]
    pub(crate) ask_s: u32,
    /// How long they send under the key before, if a new one waits, s.
    #[n(2)]
    pub(crate) activate_s: u32,
}

/// A farewell: the change that led to this epoch removed the member.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Farewell {
    /// When the group was founded, ms since 1970.
    #[n(0)]
    pub(crate) founded: u64,
    #[n(1)]
    pub(crate) member: u32,
    #[n(2)]
    pub(crate) epoch: u64,
    #[n(3)]
    signature: ByteArray<64>,
}

/// A state of a group: its number and founding time, its epoch, how often members resumed, the first
/// epoch whose key counts, and what the service expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReachedEpoch {
    pub(crate) group: u64,
    pub(crate) founded: u64,
    pub(crate) epoch: u64,
    pub(crate) resumptions: u32,
    pub(crate) valid_from: u64,
    /// The epoch under whose key members send.
    pub(crate) active: u64,
    pub(crate) expectations: Expectations,
}

/// The message is not a notice of this service about this group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

impl Notice {
    /// Signs a notice, for the group under this prefix of topics.
    pub(crate) fn write(
        prefix: &str,
        reached: ReachedEpoch,
        members: u64,
        (entries, state): (u64, [u8; 32]),
        service: &Secret,
    ) -> Vec<u8> {
        let ReachedEpoch { group, founded, epoch, resumptions, valid_from, active, expectations } =
            reached;
        let mut notice = Self {
            group,
            founded,
            epoch,
            resumptions,
            valid_from,
            members,
            entries,
            state: state.into(),
            expectations,
            active,
            signature: [0; 64].into(),
        };
        let content = notice.content();
        let parts = [prefix.as_bytes(), content.as_flattened(), &*notice.state];
        notice.signature = service.sign(NOTICE, &parts).into();
        encoded(&notice)
    }

    /// Reads a notice that this service signed. Returns `Ok(None)` if it has nothing new for a
    /// member that has reached `reached`. In that case its signature is not verified, because most
    /// notices are of that kind.
    pub(crate) fn read(
        bytes: &[u8],
        prefix: &str,
        reached: Option<ReachedEpoch>,
        service: &[u8; 32],
    ) -> Result<Option<Self>, Foreign> {
        let notice: Self = decoded(bytes).ok_or(Foreign)?;
        if let Some(ours) = reached {
            if ours.group != notice.group {
                return Err(Foreign);
            }
            let is_old = notice.epoch <= ours.epoch
                && notice.resumptions <= ours.resumptions
                && notice.valid_from <= ours.valid_from
                && notice.active <= ours.active
                && notice.expectations == ours.expectations;
            if notice.founded == ours.founded && is_old {
                return Ok(None);
            }
        }
        notice.is_signed(prefix, service).then_some(Some(notice)).ok_or(Foreign)
    }

    pub(crate) fn verified(bytes: &[u8], prefix: &str, service: &[u8; 32]) -> Option<Self> {
        decoded(bytes).filter(|notice: &Self| notice.is_signed(prefix, service))
    }

    fn is_signed(&self, prefix: &str, service: &[u8; 32]) -> bool {
        let content = self.content();
        let parts = [prefix.as_bytes(), content.as_flattened(), &*self.state];
        keyring::verifies(service, NOTICE, &parts, &self.signature)
    }

    /// Returns the signed numbers.
    fn content(&self) -> [[u8; 8]; 11] {
        let &Self { group, founded, epoch, resumptions, valid_from, members, entries, .. } = self;
        let Expectations { confirm_s, ask_s, activate_s } = self.expectations;
        let (resumptions, active) = (resumptions.into(), self.active);
        let [confirm, ask, activate] = [confirm_s, ask_s, activate_s].map(u64::from);
        let numbers = [group, founded, epoch, resumptions, valid_from, members, entries, active];
        let mut content = [[0; 8]; 11];
        let values = numbers.into_iter().chain([confirm, ask, activate]);
        content.iter_mut().zip(values).for_each(|(bytes, value)| *bytes = value.to_be_bytes());
        content
    }
}

impl Farewell {
    pub(crate) fn write(
        group: &GroupContext,
        founded: u64,
        member: u32,
        epoch: u64,
        service: &Secret,
    ) -> Vec<u8> {
        let mut farewell = Self { founded, member, epoch, signature: [0; 64].into() };
        let content = farewell.content();
        let parts = [&group.as_bytes()[..], content.as_flattened()];
        farewell.signature = service.sign(FAREWELL, &parts).into();
        encoded(&farewell)
    }

    pub(crate) fn read(bytes: &[u8], group: &GroupContext, service: &[u8; 32]) -> Option<Self> {
        let farewell: Self = decoded(bytes)?;
        let content = farewell.content();
        let parts = [&group.as_bytes()[..], content.as_flattened()];
        keyring::verifies(service, FAREWELL, &parts, &farewell.signature).then_some(farewell)
    }

    /// Returns the signed content, without the group's context.
    fn content(&self) -> [[u8; 8]; 3] {
        [self.founded, self.member.into(), self.epoch].map(u64::to_be_bytes)
    }
}

const NOTICE: &str = "groupkey epoch 6";
const FAREWELL: &str = "groupkey farewell 2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_service_can_say_which_epoch_it_is_and_who_is_out() {
        let (service, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let reached = |founded, epoch| ReachedEpoch {
            group: 1,
            founded,
            epoch,
            resumptions: 2,
            valid_from: 5,
            active: 7,
            expectations: Expectations { confirm_s: 60, ask_s: 600, activate_s: 10 },
        };
        let notice = Notice::write("a", reached(100, 7), 3, (9, [4; 32]), &service);
        for known in [Some(reached(100, 6)), Some(reached(99, 70)), Some(reached(101, 1)), None] {
            let read = Notice::read(&notice, "a", known, &service.public()).unwrap();
            assert_eq!(read.map(|notice| (notice.founded, notice.epoch)), Some((100, 7)));
            assert_eq!(Notice::read(&notice, "a", known, &other.public()), Err(Foreign));
            assert_eq!(Notice::read(&notice, "b", known, &service.public()), Err(Foreign));
        }
        let known = Some(reached(100, 7));
        assert_eq!(Notice::read(&notice, "a", known, &other.public()), Ok(None));
        let before_hard = ReachedEpoch { valid_from: 4, ..reached(100, 7) };
        let read = Notice::read(&notice, "a", Some(before_hard), &service.public()).unwrap();
        assert_eq!(read.map(|notice| notice.valid_from), Some(5), "it says more than the epoch");
        let waits = ReachedEpoch { active: 6, ..reached(100, 7) };
        assert!(Notice::read(&notice, "a", Some(waits), &service.public()).unwrap().is_some());
        let unasked = ReachedEpoch { expectations: Expectations::default(), ..reached(100, 7) };
        assert!(Notice::read(&notice, "a", Some(unasked), &service.public()).unwrap().is_some());
        let elsewhere = ReachedEpoch { group: 2, ..reached(100, 6) };
        assert_eq!(Notice::read(&notice, "a", Some(elsewhere), &service.public()), Err(Foreign));
        let (ours, others) = (GroupContext::of(&[b"a"]), GroupContext::of(&[b"b"]));
        let farewell = Farewell::write(&ours, 100, 5, 7, &service);
        assert_eq!(Farewell::read(&farewell, &ours, &service.public()).unwrap().member, 5);
        assert_eq!(Farewell::read(&farewell, &others, &service.public()), None);
        for bytes in [&notice, &farewell] {
            for index in 0..bytes.len() {
                let mut forged = bytes.clone();
                forged[index] ^= 1;
                let read = Notice::read(&forged, "a", None, &service.public());
                assert!(!matches!(read, Ok(Some(_))));
                assert_eq!(Farewell::read(&forged, &ours, &service.public()), None);
            }
        }
    }
}
