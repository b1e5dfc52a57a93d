//! What members and peers report to their applications.

use groupkey::messages::Received;
use groupkey::{Epoch, MemberId};

use crate::group_form::Weakness;
use crate::store::StoreError;

/// An event that a member or peer reports to its application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// The device sends under the key of this epoch, which has waited since [`Self::Rekeyed`]: the group
    /// distributes new keys before members send under them.
    Activated(Epoch),
    /// The service has announced this epoch, and the device has missed the message with its key. The
    /// device asks for the key, and sends nothing under the old one.
    Behind(Epoch),
    /// The device has asked for some time and is not admitted.
    NotIn(Hint),
    /// The device cannot catch up. It has dropped its key and asks to join again.
    JoinsAgain,
    /// The device is no longer a member, because it was evicted or had asked to leave. It does not
    /// ask to rejoin.
    Evicted,
    /// Another member sent a message.
    Heard(Received),
    /// The device is a member of the group that succeeds its own, with another scheme or other
    /// parameters. It keeps its key until it has the new one.
    Changed {
        /// The scheme's name.
        scheme: &'static str,
        /// When the group was founded, ms since 1970. Its epochs begin at 1.
        founded: u64,
    },
    /// The device is a member. The group key follows.
    Joined {
        /// Its number.
        member: MemberId,
        /// When the group was founded, ms since 1970.
        founded: u64,
    },
    /// The device has had no proof for too long that its key is the group's latest
    /// ([`Freshness`](crate::member::Freshness)). It sends nothing until it has.
    Unproven,
    /// There is proof again after [`Self::Unproven`].
    Proven,
    /// The device has the group key of this epoch.
    Rekeyed(Epoch),
    /// The device started again and goes on with its membership. The group key follows.
    Resumed {
        /// Its number.
        member: MemberId,
        /// When the group was founded, ms since 1970.
        founded: u64,
    },
    /// The device could not keep its membership, or read the one that it kept. It goes on, and joins again
    /// after a restart.
    Unkept(StoreError),
}

/// The reason why a device is not admitted, as far as the device can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// No answer has arrived.
    NoAnswer,
    /// The service knows the device and has not admitted it.
    Known,
    /// An answer arrived that the device cannot verify or decrypt.
    Unopened,
    /// The group has a scheme, or a parameter of it, that this device does not have.
    OtherScheme,
    /// The group is weaker than the device accepts.
    TooWeak(Weakness),
}
