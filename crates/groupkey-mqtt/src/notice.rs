//! What the service tells members beside the scheme: the current epoch, and that one of them is
//! out.
//!
//! A scheme's message that a member missed may have been the last for a long time, or have gone to a
//! subset that the member was still subscribing to. So the service keeps a signed notice of the
//! current epoch on a topic of its own, retained by the broker: whoever connects learns at once
//! whether it is behind, and catches up.
//!
//! ```text
//! notice:    [group, epoch, members, signature]
//! farewell:  [member, epoch, signature]
//! ```

use minicbor::bytes::ByteArray;
use minicbor::{Decode, Encode};

use crate::join::{decoded, encoded};
use crate::keyring::{self, Secret};

/// The current epoch of a group.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Notice {
    #[n(0)]
    pub(crate) group: u64,
    #[n(1)]
    pub(crate) epoch: u64,
    #[n(2)]
    pub(crate) members: u64,
    #[n(3)]
    signature: ByteArray<64>,
}

/// A member is out, since the change that led to this epoch.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub(crate) struct Farewell {
    #[n(0)]
    pub(crate) member: u32,
    #[n(1)]
    pub(crate) epoch: u64,
    #[n(2)]
    signature: ByteArray<64>,
}

/// Not a notice of the service about the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign;

impl Notice {
    /// Signs a notice.
    pub(crate) fn write(group: u64, epoch: u64, members: u64, service: &Secret) -> Vec<u8> {
        let parts = [group, epoch, members].map(u64::to_be_bytes);
        let signature = service.sign(NOTICE, &[parts.as_flattened()]).into();
        encoded(&Self { group, epoch, members, signature })
    }

    /// Reads a notice that this service signed; it may have several groups, of which this is one, if it is
    /// known. One that tells a member nothing new, because it has the key of that epoch, is not worth
    /// checking a signature: most notices are of that kind.
    pub(crate) fn read(
        bytes: &[u8],
        group: Option<u64>,
        reached: u64,
        service: &[u8; 32],
    ) -> Result<Option<Self>, Foreign> {
        let notice: Self = decoded(bytes).ok_or(Foreign)?;
        if group.is_some_and(|group| group != notice.group) {
            return Err(Foreign);
        }
        if notice.epoch <= reached {
            return Ok(None);
        }
        let parts = [notice.group, notice.epoch, notice.members].map(u64::to_be_bytes);
        keyring::verifies(service, NOTICE, &[parts.as_flattened()], &notice.signature)
            .then_some(Some(notice))
            .ok_or(Foreign)
    }
}

impl Farewell {
    /// Signs a farewell, for the group under this prefix of topics.
    pub(crate) fn write(prefix: &str, member: u32, epoch: u64, service: &Secret) -> Vec<u8> {
        let parts = [prefix.as_bytes(), &member.to_be_bytes(), &epoch.to_be_bytes()];
        let signature = service.sign(FAREWELL, &parts).into();
        encoded(&Self { member, epoch, signature })
    }

    /// Reads a farewell that this service signed.
    pub(crate) fn read(bytes: &[u8], prefix: &str, service: &[u8; 32]) -> Option<Self> {
        let farewell: Self = decoded(bytes)?;
        let Self { member, epoch, signature } = &farewell;
        let parts = [prefix.as_bytes(), &member.to_be_bytes(), &epoch.to_be_bytes()];
        keyring::verifies(service, FAREWELL, &parts, signature).then_some(farewell)
    }
}

const NOTICE: &str = "groupkey epoch 1";
const FAREWELL: &str = "groupkey farewell 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_service_can_say_which_epoch_it_is_and_who_is_out() {
        let (service, other) = (Secret::from_bytes([1; 32]), Secret::from_bytes([2; 32]));
        let notice = Notice::write(1, 7, 3, &service);
        for group in [Some(1), None] {
            let read = Notice::read(&notice, group, 6, &service.public()).unwrap();
            assert_eq!(read.map(|notice| notice.epoch), Some(7));
            assert_eq!(Notice::read(&notice, group, 6, &other.public()), Err(Foreign));
            assert_eq!(Notice::read(&notice, group, 7, &other.public()), Ok(None));
        }
        assert_eq!(Notice::read(&notice, Some(2), 6, &service.public()), Err(Foreign));
        let farewell = Farewell::write("a", 5, 7, &service);
        assert_eq!(Farewell::read(&farewell, "a", &service.public()).unwrap().member, 5);
        assert_eq!(Farewell::read(&farewell, "b", &service.public()), None);
        for bytes in [&notice, &farewell] {
            for index in 0..bytes.len() {
                let mut forged = bytes.clone();
                forged[index] ^= 1;
                let read = Notice::read(&forged, None, 0, &service.public());
                assert!(!matches!(read, Ok(Some(_))));
                assert_eq!(Farewell::read(&forged, "a", &service.public()), None);
            }
        }
    }
}
