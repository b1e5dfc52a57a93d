//! MLS (RFC 9420) by the libraries that people use, mls-rs and openmls, as schemes of groupkey: each
//! member is a [`Party`] that computes by one of them.
//!
//! Source: RFC 9420. Class: distributed. Provenance: foreign. Cipher suite 1
//! (`MLS_128_DHKEMX25519_AES128GCM_SHA256_Ed25519`) whatever the group's suite is, by the libraries' own
//! RustCrypto providers. Handshakes are plain messages (`PublicMessage`).
//!
//! Who changes the group is its *sponsor*: of the n members that stay, by ascending id, the one at place
//! `epoch mod n`. So the turns fill the tree. j join, l leave, n members were there:
//!
//! | operation | messages | signatures that the library makes and checks |
//! |---|---|---|
//! | create, n members | n - 1 unicasts of a key package, 1 broadcast of a welcome | joiner 2 and n + 1; founder 3 and 2n - 1 with mls-rs, 4 and 2n - 2 with openmls |
//! | add, to n members | 2 broadcasts (key package, commit), 1 unicast (welcome) | joiner 2 and n + 2; sponsor 2 and 2 with mls-rs, 3 and 2 with openmls; others check 3 |
//! | batch, merge | j + 1 broadcasts, j unicasts | as j adds in one commit |
//! | remove, partition, rekey | 1 broadcast | sponsor makes 3; others check 2 |
//! | catch up | 1 request, 1 answer, 1 broadcast | asker 4 with mls-rs, 3 with openmls, and n + 1; answerer 1 and 2; others check 2 |
//!
//! The group key of an epoch is `MLS-Exporter("groupkey", epoch, 16)`. An add has no path, as RFC 9420
//! allows; a commit that removes somebody has one, and so has a rekey. A member that missed changes asks
//! another for the group's information, and enters by an external commit that replaces its own leaf. As
//! any commit, that needs the order that the group's messages have.
//!
//! Keys held: 9 secrets of the epoch, the signature key, the leaf's key and those of at most ⌈log_2 n⌉
//! nodes above it, 32 bytes each, and the group key. That is what RFC 9420 says a member holds: what a
//! library holds beside it, nobody here can see.
//!
//! The contract adds at most 2 % to the processor time of a library's own calls: the least times of each step
//! in 165 rounds with 100 members, on one thread (`tools/beside` at commit f6d4911c).
//!
//! Bodies: one byte string, an `MLSMessage` of RFC 9420 in its own encoding. A REQUEST has none.
//!
//! ```text
//! KEY_PACKAGE, joining member to the founder or to all
//! COMMIT,      sponsor to all
//! WELCOME,     sponsor to each joining member; founder to all
//! REQUEST,     member that missed something to another
//! GROUP_INFO,  its answer
//! RETURN,      external commit of the asker to all (operation rekey)
//! ```
//!
//! Randomness follows from the context's, so the same seed gives the same bytes, with one exception: openmls
//! lists the members that one commit removes in the order of a hash map, which is another in each run. Leaves are valid at all
//! times: no clock is read that changes them. The library's signature keys are new for each party, and
//! what vouches for them is the signature under the message that brought the key package: all members
//! compare what they heard with what the sponsor commits. A joining member believes the sponsor's tree.

mod arrival;
mod event;
mod library;
mod member;
mod mls_rs_library;
mod openmls_library;
mod resources;

use groupkey::catalogue::{Claims, Configuration, Parties, Provenance, Recovery, Scheme};
use groupkey::{MemberId, Operation, Party};

use self::member::MlsMember;
use self::mls_rs_library::MlsRs;
use self::openmls_library::OpenMls;

/// Both schemes, in the order in which tables show them.
pub static SCHEMES: [&Scheme; 2] = [&MLS_RS, &OPENMLS];

/// MLS by mls-rs.
pub static MLS_RS: Scheme = scheme("mls-rs", "MLS by the library mls-rs", mls_rs_member);

/// MLS by openmls.
pub static OPENMLS: Scheme = scheme("openmls", "MLS by the library openmls", openmls_member);

/// Makes a member that computes by mls-rs.
pub fn mls_rs_member(configuration: &Configuration, me: MemberId) -> Box<dyn Party> {
    Box::new(MlsMember::<MlsRs>::new(configuration, me))
}

/// Makes a member that computes by openmls. It may be in one group with members of
/// [the other kind](mls_rs_member).
pub fn openmls_member(configuration: &Configuration, me: MemberId) -> Box<dyn Party> {
    Box::new(MlsMember::<OpenMls>::new(configuration, me))
}

/// The largest group: the tree of a larger one fits no welcome that a broker carries.
const MEMBERS: (u32, u32) = (2, 1000);

const OPERATIONS: &[Operation] = &[
    Operation::Create,
    Operation::Add,
    Operation::Remove,
    Operation::Batch,
    Operation::Rekey,
    Operation::Merge,
    Operation::Partition,
];

const fn scheme(
    id: &'static str,
    name: &'static str,
    member: fn(&Configuration, MemberId) -> Box<dyn Party>,
) -> Scheme {
    let parties = Parties::Distributed { member };
    Scheme::new(id, name, Provenance::Foreign, "RFC 9420", parties)
        .with_operations(OPERATIONS)
        .with_recovery(Recovery::Request)
        .with_claims(Claims { agreement: false, ..Claims::ALL })
        .with_members(MEMBERS)
}
