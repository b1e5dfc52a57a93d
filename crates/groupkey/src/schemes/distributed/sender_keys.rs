//! Sender keys, as messengers use them: each member has a chain key of its own and hands it to every
//! other over their pairwise channel. Here the group key of an epoch follows from all chain keys.
//!
//! Source: the libraries of Signal and WhatsApp, as modelled by Balbas, Collins and Gajland,
//! "WhatsUpp with Sender Keys?", ASIACRYPT 2023, and "Analysis and improvements of the Sender Keys
//! protocol", arXiv 2301.07045. Class: distributed. Provenance: reconstructed: who sends which key
//! to whom, and when, is published; the group key, the encodings and the repair are ours.
//!
//! `c_i` is the chain key of `M_i`. A chain moves on by a hash. The key of an epoch is derived from
//! the XOR of one hash of each chain key, for group, epoch and members.
//!
//! | event, n members after it | messages | exponentiations | wraps; unwraps | hashes | derivations |
//! |---|---|---|---|---|---|
//! | create, remove, merge, partition, published | n broadcasts | 1 for each member not met | n - 1; n - 1 | n | 2n - 1, and 1 for each not met |
//! | add, published | n - 1 unicasts, 1 broadcast | 1, new member n - 1 | 1; 1, new member n - 1; n - 1 | 2n - 1, new member n | 4, new member 3n - 2 |
//! | rekey, published | none | 0 | 0; 0 | 2n | 1 |
//! | any event, sound | 2n broadcasts in 2 rounds | n - 1 | n - 1; n - 1 | n | 4n - 1 |
//!
//! Keys held: 1, the group key; published: also n chain keys, and the keys of pairs with the members
//! met. Profiles: in `published` only a removal, a partition and a merger make members draw new chain
//! keys. When somebody joins, and when a period ends, the old chains move on by one step, and nothing
//! is confirmed. In `sound` all draw in every event, all confirm, and no chain key and no key of a
//! pair outlasts its event.
//!
//! ```text
//! CHAIN,   M_i to all:                   [roster,] 16 random bytes, c_i wrapped for each other member, in order
//! CHAIN,   M_i to a new member:          roster, 16 random bytes, c_i wrapped, published
//! CONFIRM, M_i to all, sound:            16 bytes that follow from the new key, for M_i
//! ```
//!
//! The roster is in the chain message when somebody joins. A new member sends its chain key when it
//! has learned the roster.
//!
//! **As published, the group does not heal**: who saw the chain keys once, in a backup or a stolen
//! phone, computes every group key until somebody is removed. Nor do members know that they have the
//! same chain keys: a member that sends two others different ones splits the group. The audit does
//! both. In `sound`, what leaks between two events opens nothing after the next one, unless it is a
//! long-term key.
//!
//! Deviations: messengers have no group key. Each message has a key of its sender's chain, which then
//! moves on; here an epoch takes the place of a message, and one key speaks for all chains, because
//! that is what this contract's messages need. So a run needs every member awake, and a member that
//! misses one cannot catch up; messengers wait for nobody. A sender key has a signing key, too:
//! signatures here are the messages' protection, under keys that last. Pairwise channels rest on
//! long-term keys, where messengers have a double ratchet, which heals by itself. A merger is not
//! published. The members are those that the driver names: messengers take the server's word, or that
//! of any member, and this is one of their weaknesses.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::mechanisms::membership::agreement;
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{CONTRIBUTORY, Claims, Provenance, Recovery, Scheme};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "sender-keys",
    "Sender keys, as messengers use them",
    Provenance::Reconstructed,
    "Signal and WhatsApp; Balbas, Collins and Gajland 2023",
    Recovery::Rejoin,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(CONTRIBUTORY)
.with_claims(Claims::ALL)
.with_published_claims(Claims { agreement: false, key_independence: false, ..Claims::ALL })
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]),
    Growth::of(Role::Sponsor, Form::Linear, &Operation::MEASURED),
]);

pub(crate) type Member = agreement::AgreementMember<Run>;
