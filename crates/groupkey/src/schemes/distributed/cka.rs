//! CKA (Boyd's conference key agreement): a leader encrypts a secret nonce to each other member.
//! These send theirs in the clear. The key follows from the secret nonce, keyed with the others.
//!
//! Source: Boyd, "On key agreement and conference key agreement", ACISP 1997; `sound` repairs the
//! flaw after Choo, Boyd and Hitchcock, ASIACRYPT 2005. Class: distributed. Provenance:
//! reconstructed: the papers could not be read; which member sends what is published, all encodings
//! are ours.
//!
//! The leader `M_1`, the first in the order of the members, draws `N_1`; `M_i` draws `N_i`. The
//! key is `K = f(N_1, h(N_2), .., h(N_n))`. Members know each other's certified public elements.
//!
//! | create, n members | messages | exponentiations: leader; others | each member: hashes; derivations |
//! |---|---|---|---|
//! | published | n broadcasts in 1 round | 2n - 2; 1 | n - 1; 2, leader n |
//! | sound | 2n - 1 broadcasts in 3 rounds | 2n - 2; 1 | n - 1; n + 4, leader 2n + 2 |
//!
//! There is no other operation. Keys held: 1, the group key. Profiles: in `published` the key
//! depends on the nonces alone, nothing is confirmed, and elements are not checked to be in the
//! subgroup.
//!
//! ```text
//! NONCE,   M_i to all, i > 1:         N_i, 16 bytes
//! SECRET,  M_1 to all:                [session,] N_1 encrypted to M_2, .. M_n, in order, [confirmation]
//! CONFIRM, M_i to all, i > 1, sound:  confirmation
//! ```
//!
//! `session` and confirmations are in the sound profile only, 16 bytes each. The session is a
//! digest of group, epoch, members and nonces. The leader sends its secret when it has all nonces,
//! encrypted for this session. The key is derived for group, epoch and members. A confirmation is
//! derived from `N_1` in the same way, for its sender. The key is taken when all members have
//! confirmed it.
//!
//! **As published, members can share a key without agreeing on the members that share it**: only
//! the order of the encrypted secrets says for which members they are. A test shows how a stranger
//! takes the place of an honest member, with every message signed, and that `sound` refuses it.
//!
//! Deviations: encryption is DHIES in the suite's group; the papers leave it open. The leader sends
//! its secret after the nonces in the sound profile, at once in the published one. Signatures are
//! the messages' protection. A member that misses a run cannot catch up, and a run needs every
//! member awake.

mod run;

use alloc::boxed::Box;

use self::run::Run;
use crate::mechanisms::membership::agreement;
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Claims, Provenance, Recovery, Scheme};

pub(crate) const SCHEME: Scheme = Scheme::contributory(
    "cka",
    "CKA, Boyd's conference key agreement",
    Provenance::Reconstructed,
    "Boyd 1997; Choo, Boyd and Hitchcock 2005",
    Recovery::Rejoin,
    |configuration, me| Box::new(Member::new(configuration, me)),
)
.with_operations(&[Operation::Create])
.with_claims(Claims::ALL)
.with_published_claims(Claims { agreement: false, ..Claims::ALL })
.with_growth(&[
    Growth::of(Role::Member, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Sponsor, Form::Linear, &[Operation::Create]),
]);

pub(crate) type Member = agreement::AgreementMember<Run>;
