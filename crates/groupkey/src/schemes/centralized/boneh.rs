//! Boneh+, broadcast encryption from pairings, with members that join and leave: the fat client works
//! its decryption element out of a public key, the thin client is sent it.
//!
//! Source: S003 section 2, after Boneh, Gentry and Waters, CRYPTO 2005. Class: centralized.
//! Provenance: specified, with errata (below). With g_k = g^(alpha^k), v = g^gamma, SK_i = v^(alpha^i),
//! members S and a hole h, the index of the element that nobody may have:
//!
//! ```text
//! C_0 = g^t, C_1 = u_s^t          u_s = v * product of g_(h - m), m in S
//! u_(c,i) = SK_i * a_i            a_i = product of g_(h - m + i), m in S but i
//! K = e(g_h, g)^t = e(g_i, C_1) / e(u_(c,i), C_0)
//! ```
//!
//! and the group key is derived from K for the group and the epoch. Members' elements are in G1, C_0 and
//! C_1 in G2.
//!
//! **`sound`:** h = N + 1, fixed; N (`capacity`) members can ever be enrolled, for an index is never used
//! again: a former member keeps its SK_i. The controller makes every product as one power of g. In
//! a group of n, with E1, E2 exponentiations in G1 and G2, E1' with a table, M products in G1, P
//! Miller loops, F final exponentiations, V checks of received elements:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol n, fat | n confidential | n E1' | 1 V |
//! | enrol n, thin | n confidential | 2n E1' | 2 V |
//! | create, fat | 1 broadcast | 2N - 1 E1', head | 2N + 1 V, n - 1 M, 2 P, F |
//! | create, thin | n unicasts | n E1', head | 3 V, 1 M, 2 P, F |
//! | add, fat | 1 broadcast, 1 unicast | head | 2 V, 1 M, 2 P, F; newcomer as in create |
//! | add, thin | n + 1 unicasts | n + 1 E1', head | 3 V, 1 M, 2 P, F |
//! | remove, fat | 1 broadcast | head | 2 V, 1 M, 2 P, F |
//! | remove, thin | n - 1 unicasts | n - 1 E1', head | 3 V, 1 M, 2 P, F |
//! | catch up, fat | 1 request, 1 unicast | none | as in remove, up to n - 1 M |
//! | catch up, thin | 1 request, 1 unicast | 1 E1 | as in remove |
//!
//! where head is 2 E2, 1 E1, 1 P, 1 F. Powers are E1 where fewer than 16 are due. Held: controller 3
//! scalars, the header, the set S, and fat the public key (public); member fat SK_i, u_(c,i) and 2N - 1
//! elements, thin SK_i, g_i and u_(c,i); both the header, which own messages start from.
//!
//! Bodies: enrolment `i, SK_i`, thin `i, SK_i g_i`; fat `g_1 .. g_2N without g_h, S, C_0, C_1`, to members
//! that have that `joining member or 0, S, C_0, C_1`; thin `a_i, C_0, C_1`. Receivers have no state that
//! ages: a fat client takes any later header, a thin one any later message, whatever it missed.
//!
//! **`published`:** as S003 describes it: h = n + 1 moves up with every joining member, to whom the
//! index n + 1 falls. Fat: the whole public key (with g and v) and S are broadcast with every change. Thin: `g_i
//! u_(c,i), C_0, C_1` in the open, later the factor by which u_(c,i) changes instead. **It is broken:** an
//! element at the next hole is public before it is the hole, so anybody computes K' = e(g_(n+2), C'_0) after
//! an add; a joining member computes the key before it from g_(n+1); and a party that hears the thin
//! client's g_i and u_(c,i) is as good as member i. `tests/schemes/boneh.rs` does all three.
//!
//! Errata of S003 without which nobody, or not every member, could decrypt, or every member could:
//!
//! | equation | printed | here |
//! |---|---|---|
//! | 1, 11 | all of g_0 .. g_2n | without g_h, from which K follows at once; in 11 v, not g^(alpha^v) |
//! | 4 | divides by g_(n+1) | the product leaves out m = i |
//! | 9 | u_s / g_r | u_s / g_(n+1-r) |
//! | 10 | starts from u'_(c,i) | starts from u_(c,i) |
//! | 14 | u_s g_(n+1) | and g_(n+1-r) / g_(n+2-r) for every r removed before |
//! | 15, 17 | g_(n+1) g_(n+1+i) / delta_i | as the products say, for every r removed before |
//! | 19 | from u'_(c,n) | from SK_(n+1): the product of equation 3 |
//!
//! Deviations, beside these: Type 3 pairings, where S003 has symmetric ones; the group key is
//! derived from K, the header is sent together with what opens it, and a member that missed something
//! asks (S003 assumes that nothing is lost). `sound`: members get a_i, not u_(c,i) (S003 sends
//! SK_i times a_i in the open); the thin one gets a new one with every change instead of a factor,
//! for the same bytes.

mod controller;
mod encapsulation;
mod index_set;
mod member;
mod messages;
mod setup;

pub use self::messages::Client;

use alloc::boxed::Box;

pub use self::controller::Controller;
pub use self::member::{FatMember, ThinMember};
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Claims, Law, MEMBERS, Parameter, Parties, Profile, Provenance, Recovery, Scheme,
};

/// The fat client in the catalogue.
pub(crate) const FAT: Scheme = entry(
    "boneh-fat",
    "Boneh+, fat client",
    &[FAT_CAPACITY],
    (2, FAT_CAPACITY.range.1),
    &[
        Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED).only(Profile::Sound),
        Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED).only(Profile::Published),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED).only(Profile::Sound),
        Growth::of(Role::Member, Form::Linear, &Operation::MEASURED).only(Profile::Published),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]).only(Profile::Sound),
        Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]).only(Profile::Published),
    ],
    Parties::Centralized {
        controller: |configuration| {
            let capacity = configuration.value(&FAT_CAPACITY);
            Box::new(Controller::new(Client::Fat, configuration.profile(), capacity))
        },
        member: |configuration, _| {
            Box::new(FatMember::new(configuration.profile(), configuration.check()))
        },
    },
);

/// The thin client in the catalogue.
pub(crate) const THIN: Scheme = entry(
    "boneh-thin",
    "Boneh+, thin client",
    &[THIN_CAPACITY],
    MEMBERS,
    &[
        Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]),
    ],
    Parties::Centralized {
        controller: |configuration| {
            let capacity = configuration.value(&THIN_CAPACITY);
            Box::new(Controller::new(Client::Thin, configuration.profile(), capacity))
        },
        member: |configuration, _| {
            Box::new(ThinMember::new(configuration.profile(), configuration.check()))
        },
    },
);

/// What the two have in common.
const fn entry(
    id: &'static str,
    name: &'static str,
    parameters: &'static [Parameter],
    members: (u32, u32),
    growth: &'static [Growth],
    parties: Parties,
) -> Scheme {
    Scheme {
        id,
        name,
        provenance: Provenance::Specified,
        source: "S003 section 2; Boneh, Gentry and Waters 2005",
        operations: &Operation::MEASURED,
        law: Law::OneKey,
        recovery: Recovery::Request,
        claims: Claims::ALL,
        published_claims: Claims {
            forward_secrecy: false,
            backward_secrecy: false,
            collusion_resistance: false,
            key_independence: false,
        },
        parameters,
        members,
        growth,
        parties,
    }
}

/// Every member holds and checks twice as many elements.
const FAT_CAPACITY: Parameter = Parameter {
    name: "capacity",
    meaning: "members that can ever be enrolled; a member holds twice as many elements",
    sound: 128,
    published: 128,
    range: (64, 65_536),
};

/// It costs nothing.
const THIN_CAPACITY: Parameter = Parameter {
    name: "capacity",
    meaning: "members that can ever be enrolled; a larger one costs nothing",
    sound: MEMBERS.1,
    published: MEMBERS.1,
    range: (64, MEMBERS.1),
};

#[cfg(test)]
mod tests;
