//! Errors of three kinds: the peer misbehaved, the scheme does not support the request, or the
//! caller misused the interface. An error never changes the state of a party.

use core::fmt;

use crate::identity::{Epoch, MemberId, PartyId};

/// Why a step was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A message was malformed, forged, stale or out of place.
    Misbehaved(Misbehaviour),
    /// The caller asked for something that makes no sense in the present state.
    Misuse(Misuse),
    /// The scheme does not have this operation, or not for this many members.
    Unsupported(Unsupported),
}

/// Why a message was refused. Callers report these errors. They should not branch on them, except
/// on [`Misbehaviour::SkippedEpoch`], which calls for
/// [`Command::CatchUp`](crate::Command::CatchUp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// Bytes that are not the canonical encoding of a message.
    Malformed,
    /// A signature or MAC that does not verify, or is missing.
    Forged,
    /// A message for another group.
    ForeignGroup,
    /// A message for another party.
    NotForUs,
    /// A sender that may not send this.
    UnexpectedSender,
    /// A message of this kind is not expected in the current state.
    UnexpectedMessage,
    /// The message's epoch is over, or the message was seen before.
    StaleEpoch {
        /// The epoch of the message.
        got: Epoch,
        /// The epoch that the receiver is in.
        current: Epoch,
    },
    /// The message's epoch is too far ahead: the receiver missed something.
    SkippedEpoch {
        /// The epoch of the message.
        got: Epoch,
        /// The epoch that the receiver is in.
        current: Epoch,
    },
    /// An enrolment over an open channel, or another message over the confidential channel.
    WrongChannel,
    /// A wrapped key did not open under the key that should open it.
    WrongKey,
    /// The message, or one that was sent after it, was received before.
    Replayed,
    /// The answer is not for the last request to catch up, but for an earlier one or another
    /// party's.
    StaleAnswer,
    /// The message carries no key for this member.
    NothingForUs,
    /// A group element that is not canonical, not in the group, or the identity.
    InvalidElement,
    /// A list of members or elements of the wrong length or with repetitions.
    InvalidRoster,
    /// A signed message of a sender that has not introduced itself yet.
    UnknownSender,
}

/// How the caller misused the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// The member is in the group already, or is named twice.
    AlreadyMember(MemberId),
    /// The member has an individual key already.
    AlreadyEnrolled(MemberId),
    /// The group exists already.
    AlreadyCreated,
    /// A batch in which no member joins or leaves.
    EmptyBatch,
    /// The epoch that a merger must lead to is not later than the present one.
    EpochOver(Epoch),
    /// The saved state is of another version, configuration or party.
    ForeignState,
    /// The saved state is incomplete, or its parts do not fit together.
    MalformedState,
    /// The member is to be evicted twice at once.
    NamedTwice(MemberId),
    /// The scheme needs long-term keys
    /// ([`Context::with_peer_keys`](crate::Context::with_peer_keys)), and the caller gave none.
    NoPeerKeys,
    /// The device was made without messages
    /// ([`Device::with_messages`](crate::device::Device::with_messages)).
    NoMessages,
    /// The group has not been created.
    NotCreated,
    /// Too many messages were sent under one key: change it first.
    CountersUsedUp,
    /// A message is too long to be sent as one.
    MessageTooLong {
        /// The largest length, in bytes.
        limit: usize,
    },
    /// There are no identities, because signatures do not protect this group.
    NoIdentity,
    /// The member has no individual key: enrol it first.
    NotEnrolled(MemberId),
    /// The member is not in the group.
    NotMember(MemberId),
    /// The operation before this one is still under way at this party.
    OperationUnderWay,
    /// Keys can be promised only for periods of the session that are not over. The first period
    /// must not come after the last one.
    OutsideSession,
    /// The time for which keys were planned is over: make a new group.
    SessionOver,
    /// A group needs at least two members.
    TooFewMembers,
    /// The directory of long-term keys has no key of this party.
    UnknownPeer(PartyId),
    /// The member has had no proof for too long that its key is the group's latest. It can send when
    /// its service has answered.
    UnprovenEpoch,
    /// This party does not take this command.
    WrongRole,
}

/// A request that the scheme does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// This many members were enrolled since the group began. No place is given twice, because the
    /// keys of a former member stay valid. Make a new group, with a larger capacity.
    CapacityUsedUp {
        /// How many members can be enrolled.
        capacity: u32,
    },
    /// The scheme has no such operation.
    Operation,
    /// This party's state cannot be saved. Those of controllers and of subgroup controllers can.
    SavedState,
    /// The suite does not have what the scheme is built on
    /// ([`Scheme::unsuited_to`](crate::catalogue::Scheme::unsuited_to)).
    Suite,
    /// More members than the scheme's parameters allow.
    TooManyMembers {
        /// The largest number of members.
        limit: u32,
    },
    /// More senders in one epoch than a member remembers.
    TooManySources {
        /// How many senders a member remembers.
        limit: usize,
    },
}

impl From<Misbehaviour> for Error {
    fn from(misbehaviour: Misbehaviour) -> Self {
        Self::Misbehaved(misbehaviour)
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<Unsupported> for Error {
    fn from(unsupported: Unsupported) -> Self {
        Self::Unsupported(unsupported)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misbehaved(what) => write!(f, "message refused: {what}"),
            Self::Misuse(what) => write!(f, "not possible now: {what}"),
            Self::Unsupported(what) => write!(f, "not supported: {what}"),
        }
    }
}

impl fmt::Display for Misbehaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => write!(f, "it is not a well-formed message"),
            Self::Forged => write!(f, "its signature or MAC does not verify"),
            Self::ForeignGroup => write!(f, "it belongs to another group"),
            Self::NotForUs => write!(f, "it is addressed to another party"),
            Self::UnexpectedSender => write!(f, "its sender may not send this"),
            Self::UnexpectedMessage => write!(f, "it is not expected in the current state"),
            Self::StaleEpoch { got, current } => {
                write!(f, "epoch {got} is over (the group is in epoch {current})")
            }
            Self::SkippedEpoch { got, current } => {
                write!(f, "epoch {got} does not follow epoch {current}: catch up first")
            }
            Self::WrongChannel => write!(f, "it came over the wrong kind of channel"),
            Self::Replayed => write!(f, "it is a replay, or came too late"),
            Self::StaleAnswer => write!(f, "it does not answer the last request to catch up"),
            Self::WrongKey => write!(f, "a wrapped key does not open"),
            Self::NothingForUs => write!(f, "it carries no key for this member"),
            Self::InvalidElement => write!(f, "a group element is not valid"),
            Self::InvalidRoster => write!(f, "its list of members is not valid"),
            Self::UnknownSender => write!(f, "its sender has not introduced itself yet"),
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyMember(member) => write!(f, "member {member} is in the group already"),
            Self::AlreadyEnrolled(member) => write!(f, "member {member} is enrolled already"),
            Self::AlreadyCreated => write!(f, "the group exists already"),
            Self::CountersUsedUp => write!(f, "all counters of this key are used: change it first"),
            Self::EmptyBatch => write!(f, "the batch names no member"),
            Self::MessageTooLong { limit } => {
                write!(f, "a message has at most {limit} bytes: send it in parts")
            }
            Self::EpochOver(epoch) => write!(f, "epoch {epoch} is over"),
            Self::ForeignState => {
                write!(f, "the saved state is of another version, configuration or party")
            }
            Self::MalformedState => write!(f, "the saved state is damaged"),
            Self::NamedTwice(member) => write!(f, "member {member} is named twice"),
            Self::NoIdentity => {
                write!(f, "there are no identities: signatures do not protect this group")
            }
            Self::NoPeerKeys => write!(f, "the scheme needs the members' long-term keys"),
            Self::NoMessages => write!(f, "the device was made without messages to the group"),
            Self::NotCreated => write!(f, "the group has not been created"),
            Self::NotEnrolled(member) => write!(f, "member {member} must be enrolled first"),
            Self::NotMember(member) => write!(f, "member {member} is not in the group"),
            Self::OperationUnderWay => write!(f, "an operation is still under way"),
            Self::OutsideSession => {
                write!(f, "keys can be promised for periods of the session that are not over")
            }
            Self::SessionOver => {
                write!(f, "the time for which keys were planned is over: make a new group")
            }
            Self::TooFewMembers => write!(f, "a group needs at least two members"),
            Self::UnknownPeer(party) => write!(f, "there is no long-term key of {party}"),
            Self::UnprovenEpoch => write!(
                f,
                "for too long nothing has proved that the key is the group's latest; the service must answer \
                 first"
            ),
            Self::WrongRole => write!(f, "this party does not take this command"),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CapacityUsedUp { capacity } => {
                write!(
                    f,
                    "all {capacity} places were given away, and none is given twice: make a new \
                     group with a larger capacity"
                )
            }
            Self::Operation => write!(f, "the scheme has no such operation"),
            Self::SavedState => write!(f, "only the state of controllers can be saved"),
            Self::Suite => write!(f, "the suite does not have what the scheme is built on"),
            Self::TooManyMembers { limit } => {
                write!(f, "the scheme's parameters allow at most {limit} members")
            }
            Self::TooManySources { limit } => {
                write!(f, "messages of {limit} senders are remembered: change the key first")
            }
        }
    }
}

impl core::error::Error for Error {}
