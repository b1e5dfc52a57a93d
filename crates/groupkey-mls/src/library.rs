//! What a member needs of an MLS library. All messages are an `MLSMessage` of RFC 9420, encoded.

use groupkey::error::{Error, Misbehaviour};
use groupkey::{Key, MemberId};

use crate::resources::Resources;

/// A member's side of a library: its identity and its keys before it is in a group.
///
/// A call that fails has changed nothing that later calls can see.
pub(crate) trait Library: Send + Sized {
    /// The library's state of one group.
    type Group: Send;

    fn new(me: MemberId, resources: &Resources) -> Result<Self, Error>;

    fn key_package(&mut self) -> Result<Vec<u8>, Error>;

    fn found(&mut self, group_id: &[u8]) -> Result<Self::Group, Error>;

    /// Enters the group that a welcome is for, if it has this id and these members are all right.
    fn join(
        &mut self,
        group_id: &[u8],
        welcome: &[u8],
        are_right: impl FnOnce(&[MemberId]) -> bool,
    ) -> Result<Self::Group, Error>;

    /// Adds and removes members in one commit, and is in the next epoch. A commit that adds nobody brings
    /// the committer new keys.
    fn commit(
        &mut self,
        group: &mut Self::Group,
        added: &[&[u8]],
        removed: &[MemberId],
    ) -> Result<Committed, Error>;

    /// Checks a commit, and is in the next epoch if it does exactly what is expected.
    fn process(
        &mut self,
        group: &mut Self::Group,
        commit: &[u8],
        expected: &Expected,
    ) -> Result<(), Error>;

    /// Makes what a party needs to enter the group by an external commit.
    fn group_info(&mut self, group: &Self::Group) -> Result<Vec<u8>, Error>;

    /// Enters a group in which this member is, with new keys. Returns the external commit as well.
    fn enter(
        &mut self,
        group_id: &[u8],
        group_info: &[u8],
    ) -> Result<(Self::Group, Vec<u8>), Error>;

    /// Returns the members, in any order.
    fn members(group: &Self::Group) -> Result<Vec<MemberId>, Error>;

    fn export(&self, group: &Self::Group, label: &str, context: &[u8]) -> Result<Key, Error>;

    /// Reads whose key package this is. Does not check its signatures.
    fn identity(key_package: &[u8]) -> Result<Identity, Error>;
}

/// A commit and, if it adds somebody, the welcome for all whom it adds.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) commit: Vec<u8>,
    pub(crate) welcome: Option<Vec<u8>>,
}

/// A member and the signature key that it uses in MLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) member: MemberId,
    pub(crate) signature_key: Vec<u8>,
}

/// What a commit must do.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    Change {
        sponsor: MemberId,
        added: Vec<Identity>,
        removed: Vec<MemberId>,
    },
    /// This member replaces its own leaf from outside.
    Return(MemberId),
}

#[derive(Debug)]
pub(crate) struct FoundCommit {
    /// The member that made it, or the identity that enters.
    pub(crate) by: Committer,
    pub(crate) added: Vec<Identity>,
    pub(crate) removed: Vec<Identity>,
    pub(crate) others: usize,
}

#[derive(Debug)]
pub(crate) enum Committer {
    Member(MemberId),
    Newcomer(Identity),
}

impl Expected {
    /// Refuses a commit that does anything else. In which order it does it is the sponsor's choice: openmls
    /// lists whom it removes in any order.
    pub(crate) fn require(&self, found: &FoundCommit) -> Result<(), Error> {
        let sorted = |mut members: Vec<MemberId>| {
            members.sort_unstable();
            members
        };
        let those_of = |identities: &[Identity]| {
            sorted(identities.iter().map(|identity| identity.member).collect())
        };
        let does = match (self, &found.by) {
            (Self::Change { sponsor, added, removed }, Committer::Member(by)) => {
                by == sponsor
                    && found.added == *added
                    && found.others == 0
                    && those_of(&found.removed) == sorted(removed.clone())
            }
            // It takes the place of its own leaf, with the same signature key.
            (Self::Return(member), Committer::Newcomer(identity)) => {
                identity.member == *member
                    && found.added.is_empty()
                    && found.others == 1
                    && found.removed == [identity.clone()]
            }
            _ => false,
        };
        if does { Ok(()) } else { Err(Misbehaviour::InvalidRoster.into()) }
    }
}

impl Identity {
    pub(crate) fn read(identity: &[u8], signature_key: &[u8]) -> Result<Self, Error> {
        Ok(Self { member: member(identity)?, signature_key: signature_key.to_vec() })
    }
}

pub(crate) fn name(member: MemberId) -> [u8; 4] {
    member.0.to_be_bytes()
}

pub(crate) fn member(name: &[u8]) -> Result<MemberId, Error> {
    let number = name.try_into().map_err(|_| Misbehaviour::Malformed)?;
    Ok(MemberId(u32::from_be_bytes(number)))
}

/// A message that is not what it should be.
pub(crate) fn malformed<T>(_: T) -> Error {
    Misbehaviour::Malformed.into()
}

pub(crate) fn refused<T>(_: T) -> Error {
    Misbehaviour::Forged.into()
}
