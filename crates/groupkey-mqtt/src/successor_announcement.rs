//! The announcement of a change of scheme: the service tells the members of a group that another
//! group will succeed it, with another scheme or other parameters.
//!
//! The service signs it for the context of the present group, so nobody else's word counts, and no
//! other group's. It is good in the epoch that it names, so a recording of an earlier epoch says
//! nothing. It has no secret. A member that takes it asks for its place in the successor
//! ([`join`](crate::join)), and keeps its key until it has the successor's.
//!
//! ```text
//! announcement:  [body, signature]
//! body:          [epoch, form, founded, founding, seconds]
//! ```

use alloc::vec::Vec;

use groupkey::GroupContext;
use minicbor::bytes::{ByteArray, ByteVec};
use minicbor::{Decode, Encode};

use crate::codec::{decoded, encoded};
use crate::group_form::EncodedForm;
use crate::join::Place;
use crate::keyring::{self, Secret};

/// What a service says about the group that will succeed the present one.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct SuccessorAnnouncement {
    #[n(0)]
    pub(crate) epoch: u64,
    #[n(1)]
    pub(crate) form: EncodedForm,
    /// When the successor is founded, ms since 1970. It is later than the present group.
    #[n(2)]
    pub(crate) founded: u64,
    /// Which founding the successor is, to those who do not know its instance.
    #[n(3)]
    pub(crate) founding: ByteArray<16>,
    /// How long the service waits for members, s.
    #[n(4)]
    pub(crate) seconds: u32,
}

impl SuccessorAnnouncement {
    pub(crate) fn write(&self, group: &GroupContext, service: &Secret) -> Vec<u8> {
        let body = encoded(self);
        let signature = service.sign(ANNOUNCEMENT, &[group.as_bytes(), &body]);
        encoded(&(ByteVec::from(body), ByteArray::from(signature)))
    }

    /// Reads an announcement. Returns `None` if the bytes are none. The signature is not verified.
    pub(crate) fn read(bytes: &[u8]) -> Option<Signed> {
        let (body, signature): (ByteVec, ByteArray<64>) = decoded(bytes)?;
        let announcement = decoded(&body)?;
        Some(Signed { announcement, body, signature: signature.into() })
    }

    pub(crate) fn place(&self, number: u32) -> Place {
        Place::in_founding(number, self.founding)
    }
}

/// A parsed announcement whose signature is not verified yet.
#[derive(Clone, Debug)]
pub(crate) struct Signed {
    announcement: SuccessorAnnouncement,
    body: ByteVec,
    signature: [u8; 64],
}

impl Signed {
    pub(crate) fn verified(
        self,
        group: &GroupContext,
        service: &[u8; 32],
    ) -> Option<SuccessorAnnouncement> {
        let parts = [&group.as_bytes()[..], &self.body];
        keyring::verifies(service, ANNOUNCEMENT, &parts, &self.signature)
            .then_some(self.announcement)
    }
}

const ANNOUNCEMENT: &str = "groupkey succession 1";

#[cfg(test)]
mod tests {
    use groupkey::catalogue;
    use proptest::prelude::*;

    use super::*;
    use crate::group_form::GroupForm;

    #[test]
    fn only_the_service_of_the_group_announces_its_successor() {
        let (service, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let (ours, others) = (GroupContext::of(&[b"a"]), GroupContext::of(&[b"b"]));
        let announcement = announcement(7, 100);
        let bytes = announcement.write(&ours, &service);
        let read = |bytes: &[u8], group, service: &Secret| {
            SuccessorAnnouncement::read(bytes)?.verified(group, &service.public())
        };
        assert_eq!(read(&bytes, &ours, &service), Some(announcement));
        assert_eq!(read(&bytes, &others, &service), None);
        assert_eq!(read(&bytes, &ours, &other), None);
        for index in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[index] ^= 1;
            assert_eq!(read(&forged, &ours, &service), None, "byte {index}");
            assert_eq!(read(&bytes[..index], &ours, &service), None, "{index} bytes");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_read_has_one_encoding_and_no_signature(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            at in any::<prop::sample::Index>(),
            epoch in any::<u64>(),
        ) {
            let group = GroupContext::of(&[b"a"]);
            let service = Secret::from_bytes([1; 32]);
            let mut mixed = announcement(epoch, epoch / 2).write(&group, &service);
            let at = at.index(mixed.len());
            mixed.splice(at.., bytes.iter().copied());
            for bytes in [&bytes, &mixed] {
                if let Some(read) = SuccessorAnnouncement::read(bytes) {
                    let again = (read.body.clone(), ByteArray::from(read.signature));
                    prop_assert_eq!(&encoded(&again), bytes);
                    prop_assert_eq!(encoded(&read.announcement), read.body.to_vec());
                    prop_assert_eq!(read.verified(&group, &[9; 32]), None);
                }
            }
        }
    }

    fn announcement(epoch: u64, founded: u64) -> SuccessorAnnouncement {
        let form = GroupForm::of(catalogue::scheme("skdc").unwrap()).write();
        SuccessorAnnouncement { epoch, form, founded, founding: [3; 16].into(), seconds: 60 }
    }
}
