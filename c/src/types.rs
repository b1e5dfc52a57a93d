//! The types of the header.

#![forbid(unsafe_code)]

use core::ffi::{c_char, c_int, c_void};

use groupkey::{MemberId, PartyId, Recipient, SubgroupId, SubsetId};

use crate::error::Error;

/// A device: one party of a group. The handle of a destroyed device is refused. No device has the
/// handle 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Not for the caller.
    pub id: u32,
}

/// The key server. Its number is 0.
pub const GROUPKEY_CONTROLLER: u32 = 0;
/// A member, by its number.
pub const GROUPKEY_MEMBER: u32 = 1;
/// The controller of a subgroup, by the subgroup's number.
pub const GROUPKEY_SUBGROUP_CONTROLLER: u32 = 2;
/// All members (broadcast). The number is 0.
pub const GROUPKEY_GROUP: u32 = 3;
/// The parties that subscribed to a subset (multicast), by the subset's number.
pub const GROUPKEY_SUBSET: u32 = 4;

/// By the key that is there: a MAC, or a signature on each message.
pub const GROUPKEY_PROTECTION_BY_KEY: u32 = 0;
/// A MAC under one key of all devices: 16 bytes a message.
pub const GROUPKEY_PROTECTION_MAC: u32 = 1;
/// A signature on each message: 64 bytes.
pub const GROUPKEY_PROTECTION_SIGNATURE: u32 = 2;
/// One signature for all messages of a step, over a hash tree: 88 bytes a message, and 16 for each
/// level of the tree. For controllers that send many messages at once.
pub const GROUPKEY_PROTECTION_MERKLE: u32 = 3;

/// A party, or several: where a message goes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// `GROUPKEY_CONTROLLER` or another of these.
    pub kind: u32,
    /// Which one of its kind.
    pub number: u32,
}

/// A parameter of a scheme, such as the degree of its key tree.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: *const c_char,
    /// Its value.
    pub value: u32,
}

/// The public key of a party whose messages are accepted.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PublicKey {
    /// The controller, a member or the controller of a subgroup.
    pub party: Address,
    /// Its Ed25519 key (RFC 8032).
    pub key: [u8; 32],
}

/// What a device is made of. Everything but the signing key must be the same at all devices of the
/// group. The library keeps copies.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The scheme's id in the catalogue, such as "lkh-group".
    pub scheme: *const c_char,
    /// "sound", or "published" in a build with the feature `research`; null is "sound".
    pub profile: *const c_char,
    /// The suite, such as "constrained"; null is "standard".
    pub suite: *const c_char,
    /// Parameters that are not as the profile has them; null if there are none.
    pub parameters: *const Parameter,
    /// How many parameters.
    pub parameter_count: usize,
    /// How many members the group has at most. A call must find memory for so many, except at members
    /// of centralized and hybrid schemes. 0: as many as commands have named.
    pub most_members: u32,
    /// The number of the group.
    pub group: u64,
    /// New whenever the group is founded: 16 random bytes. They are not secret.
    pub instance: [u8; 16],
    /// The key of the MAC: 32 random bytes that all devices have; null with signatures. Any device
    /// can then send in the name of any other.
    pub mac_key: *const u8,
    /// The key with which this device signs: 32 random bytes of its own; null with a MAC.
    pub signing_key: *const u8,
    /// The public keys of the other devices; null with a MAC.
    pub public_keys: *const PublicKey,
    /// How many public keys.
    pub public_key_count: usize,
    /// `GROUPKEY_PROTECTION_BY_KEY` or another of these: how messages are protected. It must fit the
    /// key that is there.
    pub protection: u32,
}

/// What happened at a device.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The device has the group key of this epoch.
    Rekeyed = 1,
    /// Another member sent a message to the group.
    Message = 2,
    /// The group continues without this device.
    Removed = 3,
    /// From now on, the device must receive messages to this subset.
    Subscribed = 4,
    /// The device no longer needs to receive messages to this subset.
    Unsubscribed = 5,
    /// The device has the key of a message.
    MessageKey = 6,
    /// A later version of the library has more events.
    Other = 7,
}

/// An event. Fields without a meaning for its kind are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// `REKEYED`: the epoch. `MESSAGE`: the epoch whose key encrypted the message.
    pub epoch: u64,
    /// `MESSAGE`: the sender. It is proven with signatures; with a MAC any member may have sent it.
    pub sender: u32,
    /// `SUBSCRIBED`, `UNSUBSCRIBED`: the subset.
    pub subset: u32,
    /// `MESSAGE`: its length in bytes.
    pub length: usize,
}

/// Memory of the pool, in bytes, with what the allocator adds to each block.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// In use now.
    pub used: usize,
    /// The most that was in use since `groupkey_init`.
    pub peak: usize,
    /// The most that the last call that may take memory took in addition.
    pub call_peak: usize,
    /// How much had to be free for that call.
    pub call_need: usize,
}

/// Fills `bytes` with `length` random bytes of cryptographic quality. Returns 0, or anything else if
/// it cannot. It must not call the library.
pub type Random =
    Option<extern "C" fn(context: *mut c_void, bytes: *mut u8, length: usize) -> c_int>;

/// Ends the program, or resets the device: the library cannot continue. It must not return, and must
/// not jump out of the call.
pub type Fatal = Option<extern "C" fn(error: Error)>;

impl Address {
    /// Returns the one party that has this address.
    pub(crate) const fn party(self) -> Result<PartyId, Error> {
        Ok(match (self.kind, self.number) {
            (GROUPKEY_CONTROLLER, 0) => PartyId::Controller,
            (GROUPKEY_MEMBER, number) => PartyId::Member(MemberId(number)),
            (GROUPKEY_SUBGROUP_CONTROLLER, number) => {
                PartyId::SubgroupController(SubgroupId(number))
            }
            _ => return Err(Error::BadAddress),
        })
    }
}

impl From<Recipient> for Address {
    fn from(to: Recipient) -> Self {
        let (kind, number) = match to {
            Recipient::Controller => (GROUPKEY_CONTROLLER, 0),
            Recipient::Member(MemberId(number)) => (GROUPKEY_MEMBER, number),
            Recipient::SubgroupController(SubgroupId(number)) => {
                (GROUPKEY_SUBGROUP_CONTROLLER, number)
            }
            Recipient::Group => (GROUPKEY_GROUP, 0),
            Recipient::Subset(SubsetId(number)) => (GROUPKEY_SUBSET, number),
        };
        Self { kind, number }
    }
}

impl Event {
    /// An event without anything.
    pub(crate) const fn of(kind: EventKind) -> Self {
        Self { kind, epoch: 0, sender: 0, subset: 0, length: 0 }
    }
}
