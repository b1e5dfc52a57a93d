//! The error codes of the header, and what they say.

#![forbid(unsafe_code)]

use core::ffi::CStr;

use groupkey::error::{Misbehaviour, Misuse, Unsupported};

/// The outcome of a call. A call that fails has changed nothing, except where it is said.
///
/// From 100: how the library was called. From 200: a message was refused; do not branch on these, but
/// on `SKIPPED_EPOCH` call `groupkey_catch_up`. From 300: the call makes no sense in the present
/// state. From 400: the scheme does not have it.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The call succeeded.
    None = 0,
    /// Nothing is left to fetch.
    Empty = 1,

    /// The buffer is too short. The length that it needs was returned.
    BufferTooSmall = 100,
    /// The pool has less free memory than this call may take.
    OutOfMemory = 101,
    /// The source of randomness failed.
    NoRandomness = 102,
    /// Another call is running: only one at a time.
    Busy = 103,
    /// `groupkey_init` was not called, or `groupkey_finish` was.
    NotInitialised = 104,
    /// `groupkey_init` was called before.
    AlreadyInitialised = 105,
    /// A pointer is null or not aligned, or a length is impossible.
    BadPointer = 106,
    /// The handle is of no device, or its device was destroyed.
    NoSuchDevice = 107,
    /// The library has no such scheme, or was built without its family.
    UnknownScheme = 108,
    /// There is no such suite.
    UnknownSuite = 109,
    /// There is no such profile.
    UnknownProfile = 110,
    /// The scheme has no such parameter.
    UnknownParameter = 111,
    /// The value of a parameter is out of its range.
    ParameterOutOfRange = 112,
    /// The settings need a MAC key or a signing key, and not both, as their protection says.
    OneKeyNeeded = 113,
    /// A public key is not valid, or the library was built without signatures.
    BadPublicKey = 114,
    /// An address that is not the address of one party.
    BadAddress = 115,
    /// The scheme has no such party.
    NoSuchParty = 116,
    /// Devices still exist.
    DevicesLeft = 117,
    /// All handles were used.
    HandlesUsedUp = 118,
    /// The device has no group key yet.
    NoGroupKey = 119,
    /// The library panicked, which is a defect. Nothing can be done but `groupkey_finish`.
    Panicked = 120,

    /// The message is not well-formed.
    Malformed = 200,
    /// The signature or MAC of the message does not verify.
    Forged = 201,
    /// The message belongs to another group.
    ForeignGroup = 202,
    /// The message is addressed to another party.
    NotForUs = 203,
    /// The sender of the message may not send it.
    UnexpectedSender = 204,
    /// The message is not expected in the current state.
    UnexpectedMessage = 205,
    /// The epoch of the message is over.
    StaleEpoch = 206,
    /// The device missed an epoch: call `groupkey_catch_up`.
    SkippedEpoch = 207,
    /// The message came over the wrong kind of channel.
    WrongChannel = 208,
    /// A wrapped key does not open.
    WrongKey = 209,
    /// The message is a replay, or came too late.
    Replayed = 210,
    /// The message does not answer the last request to catch up.
    StaleAnswer = 211,
    /// The message carries no key for this member.
    NothingForUs = 212,
    /// A group element of the message is not valid.
    InvalidElement = 213,
    /// The list of members in the message is not valid.
    InvalidRoster = 214,
    /// The message was refused for another reason.
    Refused = 299,

    /// The member is in the group already, or is named twice.
    AlreadyMember = 300,
    /// The member is enrolled already.
    AlreadyEnrolled = 301,
    /// The group exists already.
    AlreadyCreated = 302,
    /// The group has not been created.
    NotCreated = 303,
    /// The member must be enrolled first.
    NotEnrolled = 304,
    /// The member is not in the group.
    NotMember = 305,
    /// All counters of this key are used: change it first.
    CountersUsedUp = 306,
    /// The message is too long: send it in parts.
    MessageTooLong = 307,
    /// An operation is still under way.
    OperationUnderWay = 308,
    /// A group needs at least two members.
    TooFewMembers = 309,
    /// This party does not take this command.
    WrongRole = 310,
    /// The scheme needs the members' long-term keys, which this interface does not have.
    NoPeerKeys = 311,
    /// The time for which keys were planned is over: make a new group.
    SessionOver = 312,
    /// Signatures do not protect this group.
    NoIdentity = 313,
    /// The batch names no member.
    EmptyBatch = 314,
    /// The library was built without messages to the group.
    NoMessages = 315,
    /// The call is not possible now.
    NotNow = 399,

    /// All places were given away: make a new group with a larger capacity.
    CapacityUsedUp = 400,
    /// The scheme has no such operation.
    NoSuchOperation = 401,
    /// The scheme's parameters do not allow so many members.
    TooManyMembers = 402,
    /// Too many senders in one epoch: change the key first.
    TooManySources = 403,
    /// The scheme does not support this.
    Unsupported = 499,
}

impl From<groupkey::Error> for Error {
    fn from(error: groupkey::Error) -> Self {
        match error {
            groupkey::Error::Misbehaved(what) => what.into(),
            groupkey::Error::Misuse(what) => what.into(),
            groupkey::Error::Unsupported(what) => what.into(),
        }
    }
}

impl From<Misbehaviour> for Error {
    fn from(what: Misbehaviour) -> Self {
        match what {
            Misbehaviour::Malformed => Self::Malformed,
            Misbehaviour::Forged => Self::Forged,
            Misbehaviour::ForeignGroup => Self::ForeignGroup,
            Misbehaviour::NotForUs => Self::NotForUs,
            Misbehaviour::UnexpectedSender => Self::UnexpectedSender,
            Misbehaviour::UnexpectedMessage => Self::UnexpectedMessage,
            Misbehaviour::StaleEpoch { .. } => Self::StaleEpoch,
            Misbehaviour::SkippedEpoch { .. } => Self::SkippedEpoch,
            Misbehaviour::WrongChannel => Self::WrongChannel,
            Misbehaviour::WrongKey => Self::WrongKey,
            Misbehaviour::Replayed => Self::Replayed,
            Misbehaviour::StaleAnswer => Self::StaleAnswer,
            Misbehaviour::NothingForUs => Self::NothingForUs,
            Misbehaviour::InvalidElement => Self::InvalidElement,
            Misbehaviour::InvalidRoster => Self::InvalidRoster,
            _ => Self::Refused,
        }
    }
}

impl From<Misuse> for Error {
    fn from(what: Misuse) -> Self {
        match what {
            Misuse::AlreadyMember(_) | Misuse::NamedTwice(_) => Self::AlreadyMember,
            Misuse::AlreadyEnrolled(_) => Self::AlreadyEnrolled,
            Misuse::AlreadyCreated => Self::AlreadyCreated,
            Misuse::NoMessages => Self::NoMessages,
            Misuse::NotCreated => Self::NotCreated,
            Misuse::NotEnrolled(_) => Self::NotEnrolled,
            Misuse::NotMember(_) => Self::NotMember,
            Misuse::CountersUsedUp => Self::CountersUsedUp,
            Misuse::MessageTooLong { .. } => Self::MessageTooLong,
            Misuse::OperationUnderWay => Self::OperationUnderWay,
            Misuse::TooFewMembers => Self::TooFewMembers,
            Misuse::WrongRole => Self::WrongRole,
            Misuse::NoPeerKeys | Misuse::UnknownPeer(_) => Self::NoPeerKeys,
            Misuse::SessionOver => Self::SessionOver,
            Misuse::NoIdentity => Self::NoIdentity,
            Misuse::EmptyBatch => Self::EmptyBatch,
            _ => Self::NotNow,
        }
    }
}

impl From<Unsupported> for Error {
    fn from(what: Unsupported) -> Self {
        match what {
            Unsupported::CapacityUsedUp { .. } => Self::CapacityUsedUp,
            Unsupported::Operation => Self::NoSuchOperation,
            Unsupported::TooManyMembers { .. } => Self::TooManyMembers,
            Unsupported::TooManySources { .. } => Self::TooManySources,
            _ => Self::Unsupported,
        }
    }
}

/// Returns what a code says.
pub(crate) fn text(code: i32) -> &'static CStr {
    TEXTS.iter().find(|(error, _)| *error as i32 == code).map_or(c"no such error", |(_, text)| text)
}

static TEXTS: &[(Error, &CStr)] = &[
    (Error::None, c"no error"),
    (Error::Empty, c"nothing is left to fetch"),
    (Error::BufferTooSmall, c"the buffer is too short"),
    (
        Error::OutOfMemory,
        c"the pool has less free memory than this call may take: give a larger one",
    ),
    (Error::NoRandomness, c"the source of randomness failed"),
    (Error::Busy, c"another call is running: only one at a time"),
    (Error::NotInitialised, c"call groupkey_init first"),
    (Error::AlreadyInitialised, c"groupkey_init was called before: call groupkey_finish first"),
    (Error::BadPointer, c"a pointer is null or not aligned, or a length is impossible"),
    (Error::NoSuchDevice, c"the handle is of no device, or its device was destroyed"),
    (Error::UnknownScheme, c"the library has no such scheme, or was built without its family"),
    (Error::UnknownSuite, c"there is no such suite"),
    (
        Error::UnknownProfile,
        c"the profile is sound, or published in a build with the feature research",
    ),
    (Error::UnknownParameter, c"the scheme has no such parameter"),
    (Error::ParameterOutOfRange, c"the value of a parameter is out of its range"),
    (
        Error::OneKeyNeeded,
        c"the settings need a MAC key or a signing key, and not both, as their protection says",
    ),
    (Error::BadPublicKey, c"a public key is not valid, or the library has no signatures"),
    (Error::BadAddress, c"this is not the address of one party"),
    (Error::NoSuchParty, c"the scheme has no such party"),
    (Error::DevicesLeft, c"devices still exist: destroy them first"),
    (Error::HandlesUsedUp, c"all handles were used: call groupkey_finish and groupkey_init"),
    (Error::NoGroupKey, c"the device has no group key yet"),
    (Error::Panicked, c"the library panicked, which is a defect: call groupkey_finish"),
    (Error::Malformed, c"message refused: it is not well-formed"),
    (Error::Forged, c"message refused: its signature or MAC does not verify"),
    (Error::ForeignGroup, c"message refused: it belongs to another group"),
    (Error::NotForUs, c"message refused: it is addressed to another party"),
    (Error::UnexpectedSender, c"message refused: its sender may not send this"),
    (Error::UnexpectedMessage, c"message refused: it is not expected in the current state"),
    (Error::StaleEpoch, c"message refused: its epoch is over"),
    (Error::SkippedEpoch, c"message refused: an epoch was missed: catch up first"),
    (Error::WrongChannel, c"message refused: it came over the wrong kind of channel"),
    (Error::WrongKey, c"message refused: a wrapped key does not open"),
    (Error::Replayed, c"message refused: it is a replay, or came too late"),
    (Error::StaleAnswer, c"message refused: it does not answer the last request to catch up"),
    (Error::NothingForUs, c"message refused: it carries no key for this member"),
    (Error::InvalidElement, c"message refused: a group element is not valid"),
    (Error::InvalidRoster, c"message refused: its list of members is not valid"),
    (Error::Refused, c"message refused"),
    (Error::AlreadyMember, c"not possible now: the member is in the group, or is named twice"),
    (Error::AlreadyEnrolled, c"not possible now: the member is enrolled already"),
    (Error::AlreadyCreated, c"not possible now: the group exists already"),
    (Error::NotCreated, c"not possible now: the group has not been created"),
    (Error::NotEnrolled, c"not possible now: the member must be enrolled first"),
    (Error::NotMember, c"not possible now: the member is not in the group"),
    (Error::CountersUsedUp, c"not possible now: all counters of this key are used: change it"),
    (Error::MessageTooLong, c"not possible: the message is too long: send it in parts"),
    (Error::OperationUnderWay, c"not possible now: an operation is still under way"),
    (Error::TooFewMembers, c"not possible: a group needs at least two members"),
    (Error::WrongRole, c"not possible: this party does not take this command"),
    (Error::NoPeerKeys, c"not possible: the scheme needs the members' long-term keys"),
    (Error::SessionOver, c"not possible now: planned keys are used up: make a new group"),
    (Error::NoIdentity, c"not possible: signatures do not protect this group"),
    (Error::EmptyBatch, c"not possible: the batch names no member"),
    (Error::NoMessages, c"not possible: the library was built without messages to the group"),
    (Error::NotNow, c"not possible now"),
    (Error::CapacityUsedUp, c"not supported: all places were given away: make a new group"),
    (Error::NoSuchOperation, c"not supported: the scheme has no such operation"),
    (Error::TooManyMembers, c"not supported: the parameters do not allow so many members"),
    (Error::TooManySources, c"not supported: too many senders in one epoch: change the key"),
    (Error::Unsupported, c"not supported by the scheme"),
];
