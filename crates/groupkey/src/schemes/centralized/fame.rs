//! FAME, attribute-based encryption with the policy "group and period": the group key goes out in one
//! broadcast, as long for two members as for ten thousand, and whoever has a key for both attributes
//! opens it. **As published, a removed member reads until the period ends, and a joining member reads
//! back to where it began.**
//!
//! Source: Agrawal and Chase, "FAME: Fast Attribute-based Message Encryption", CCS 2017, section 3
//! (CP-ABE); ePrint 2017/807. Revocation by attributes that expire: Bethencourt, Sahai and Waters,
//! IEEE Symposium on Security and Privacy 2007. Class: centralized. Provenance: specified: setup, keys,
//! ciphertexts and decryption are the paper's. What is encrypted to whom is ours, as it must be: the
//! paper has no groups.
//!
//! The master key is `a1, a2, b1, b2, d1, d2, d3`. H hashes to G1, g and h generate G1 and G2. A key
//! for the attributes y = "group" and "period p", with r1, r2 and a `s_y` for each drawn for it, and
//! `z1 = b1 r1, z2 = b2 r2, z3 = r1 + r2`, t = 1, 2:
//!
//! ```text
//! sk_0     = h^z1, h^z2, h^z3
//! sk_(y,t) = H(y,1,t)^(z1/a_t) H(y,2,t)^(z2/a_t) H(y,3,t)^(z3/a_t) g^(s_y/a_t)      sk_(y,3) = g^-s_y
//! sk'      = the same for the column 1, with g^d1, g^d2, g^d3
//! ```
//!
//! A ciphertext, for the matrix (1, 1), (0, -1) of the policy, l = 1, 2, 3:
//!
//! ```text
//! C_0     = h^(a1 s1), h^(a2 s2), h^(s1 + s2)
//! C_(1,l) = product of (H(group,l,t) H(column 1,l,t) H(column 2,l,t))^s_t,   t = 1, 2
//! C_(2,l) = product of (H(period p,l,t) / H(column 2,l,t))^s_t
//! K       = e(g, h)^((d1 a1 + d3) s1 + (d2 a2 + d3) s2)
//!         = product of e(sk'_t sk_(group,t) sk_(period,t), C_(0,t)) / e(C_(1,t) C_(2,t), sk_(0,t))
//! ```
//!
//! **`published`:** a rekey ends the period, and nothing else does: every member gets a key for the
//! next one. Who joins gets a key for the present one. A removal is a broadcast that the removed member
//! can open as well. **`sound`:** a removal ends the period. Who joins must not read what the period
//! brought before it came: the group key is K's XOR a mask from a link, a key that moves one way with
//! each epoch. The first link of a period comes with the keys for it, a later one with the key of who
//! joins.
//!
//! In a group of n. E1, E2 are powers in G1 and G2, E1' is one with a table (of g, and 18 more
//! for every 256 keys; for 2 to 11 keys of g alone, for 9 of the 27), M are products in G1, H hashes to
//! G1, V1 and V2 checks of received elements, P Miller loops, F final exponentiations:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol, each | 1 confidential | 0 | 0 |
//! | create, n members | n unicasts, 1 broadcast | keys for n, C | key, D |
//! | add, to n members | 1 unicast, 1 broadcast | key for 1, C | D; the joining member also key |
//! | remove, `published` | 1 broadcast | C | D |
//! | remove, from n members, `sound` | n - 1 unicasts, 1 broadcast | keys for n - 1, C | key, D |
//! | rekey, n members, `published` | n unicasts, 1 broadcast | keys for n, C | key, D |
//! | rekey, `sound` | 1 broadcast | C | D |
//! | catch up | 1 request, 1 unicast | key for 1 | key, D |
//!
//! Keys for n: 18 H, 2 inverses, and for each key 27 E1', 18 M, 3 E2, 2 wraps and 2 derivations. C: 24
//! H, 13 E1, 24 M, 3 E2, 1 P, 1 F, 1 derivation. Key: 9 V1, 3 V2, 6 M, 2 unwraps, 1 derivation. D: 6 V1,
//! 3 V2, 3 M, 6 P, 1 F, 1 derivation. In `sound` C and D also have 1 derivation and 1 or 2 hashes. H is
//! counted as two checks of elements of G1, each of which takes half as long.
//!
//! Keys held: the controller holds 7 scalars, a key from which individual keys follow, the group key
//! and the last ciphertext. A member holds 3 elements of each group, which it makes of the 12 that it
//! gets, its individual key and the group key. In `sound` both also hold the link.
//!
//! ```text
//! KEYS,       to a member:  period, salt, {sk_0, sk, sk', [link]}_individual
//! CIPHERTEXT, to all:       period, [removed], C_0, C, [confirmation]
//! REQUEST,    to the controller
//! ANSWER,     to a member:  what is in both of these
//! ```
//!
//! In `published` a removal says in which slot the removed member is, and a device that obeys stops. In
//! `sound` and the suite `standard` KEYS has 773 bytes and CIPHERTEXT 600, without header and tag, from
//! period 24 on one more. The salt and the individual key give the key that wraps.
//!
//! What the broadcast is worth: in `sound` a removal costs a message of 773 bytes to each member before
//! it. SKDC sends each member its key in 26 bytes and needs no broadcast. Only adds and rekeys cost the
//! same in groups of all sizes.
//!
//! Deviations: K is an encapsulated key, the paper multiplies a message with it. The controller
//! encrypts, with the master key: e(g, h) to a power is a pairing of a power of g. A member multiplies
//! the parts of its key once, as its policy never changes. The paper's security is for keys that are
//! whole when they are given out, so a period brings a new key, not a part that fits an old one. The
//! suite `published` has a symmetric pairing, where G1 is G2.
//!
//! The crate rabe 0.4.2 has FAME over BN254: keys and ciphertexts have the same numbers of elements,
//! and the equations of each hold for the other's values. Its hash of an attribute is g to a power
//! that everybody knows, so the paper's proof does not hold for it.

mod attributes;
mod ciphertext;
mod controller;
mod issuing;
mod key;
mod member;
mod messages;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;

pub(crate) use self::controller::Controller;
pub(crate) use self::member::Member;
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{Assumption, Claims, MEMBERS, Parties, Provenance, Recovery, Scheme};

pub(crate) const SCHEME: Scheme = Scheme::new(
    "fame",
    "FAME, attribute-based encryption by periods",
    Provenance::Specified,
    "Agrawal and Chase 2017",
    Parties::Centralized {
        controller: |configuration| Box::new(Controller::new(configuration.profile())),
        member: |configuration, _| {
            Box::new(Member::new(configuration.profile(), configuration.check()))
        },
    },
)
.with_operations(&Operation::CHANGES)
.with_recovery(Recovery::Request)
.with_assumption(Assumption::Pairing)
.with_claims(Claims::ALL)
.with_published_claims(Claims::NONE)
.with_members(MEMBERS)
.with_growth(&[
    Growth::of(Role::Controller, Form::Linear, &[Operation::Create]),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Add]),
    Growth::of(Role::Controller, Form::Linear, &[Operation::Remove]).only_sound(),
    Growth::of(Role::Controller, Form::Constant, &[Operation::Remove]).only_published(),
    Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
    Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
]);
