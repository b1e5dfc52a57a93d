//! Boneh+, broadcast encryption from pairings, with members that join and leave. The fat client
//! computes its decryption element from a public key. The thin client is sent its element.
//!
//! Source: S003 section 2, after Boneh, Gentry and Waters, CRYPTO 2005. Class: centralized.
//! Provenance: specified, with errata (below). Let g_k = g^(alpha^k), v = g^gamma and SK_i =
//! v^(alpha^i). S is the set of members. h is the hole: the index of the element that no party
//! except the controller may have:
//!
//! ```text
//! C_0 = g^t, C_1 = u_s^t          u_s = v * product of g_(h - m), m in S
//! u_(c,i) = SK_i * a_i            a_i = product of g_(h - m + i), m in S but i
//! K = e(g_h, g)^t = e(g_i, C_1) / e(u_(c,i), C_0)
//! ```
//!
//! The group key is derived from K for the group and the epoch. Members' elements are in G1, C_0
//! and C_1 in G2.
//!
//! **`sound`:** h = N + 1, fixed. At most N (`capacity`) members can ever be enrolled. An index is
//! never used again, because a former member keeps its SK_i. The controller computes every product
//! as one power of g. Costs in a group of n: E1, E2 are exponentiations in G1 and G2, E1' is one
//! with a table, M are products in G1, P Miller loops, F final exponentiations, V checks of
//! received elements:
//!
//! | operation | messages | controller | member |
//! |---|---|---|---|
//! | enrol n, fat | n confidential | n E1' | 1 V |
//! | enrol n, thin | n confidential | 2n E1' | 2 V |
//! | create, fat | 1 broadcast | 2N - 1 E1', head | 2N + 1 V, n - 1 M, 2 P, F |
//! | create, thin | n unicasts | n E1', head | 3 V, 1 M, 2 P, F |
//! | add, fat | 1 broadcast, 1 unicast | head | 2 V, 1 M, 2 P, F; joining member as in create |
//! | add, thin | n + 1 unicasts | n + 1 E1', head | 3 V, 1 M, 2 P, F |
//! | remove, fat | 1 broadcast | head | 2 V, 1 M, 2 P, F |
//! | remove, thin | n - 1 unicasts | n - 1 E1', head | 3 V, 1 M, 2 P, F |
//! | rekey, fat | 1 broadcast | head | 2 V, 2 P, F |
//! | rekey, thin | n unicasts | n E1', head | 3 V, 1 M, 2 P, F |
//! | catch up, fat | 1 request, 1 unicast | none | as in remove, up to n - 1 M |
//! | catch up, thin | 1 request, 1 unicast | 1 E1 | as in remove |
//!
//! where head is 2 E2, 1 E1, 1 P, 1 F. If fewer than 16 powers are due, each costs E1, not E1'.
//! Held: the controller holds 3 scalars, the header, the set S and, for fat clients, the public key
//! (public). A fat member holds SK_i, u_(c,i) and 2N - 1 elements; a thin member holds SK_i, g_i
//! and u_(c,i). Both hold the header, from which they make the headers of their own messages.
//!
//! Bodies: an enrolment is `i, SK_i`, for thin clients `i, SK_i g_i`. Fat clients get `g_1 .. g_2N
//! without g_h, S, C_0, C_1`, and if they have the public key `joining member or 0, S, C_0, C_1`.
//! Thin clients get `a_i, C_0, C_1`. All of these end with a confirmation of the group key, 16 bytes,
//! which receivers check before they change their state. Receivers have no state that ages. Whatever they missed, a fat
//! client takes any later header, and a thin client any later message.
//!
//! **`published`:** as S003 describes it. h = n + 1 moves up with every joining member, which gets
//! the index n + 1. Fat: the controller broadcasts the whole public key (with g and v) and S with
//! every change. Thin: it sends `g_i u_(c,i), C_0, C_1` in the open, and later the factor by which
//! u_(c,i) changes instead. **It is broken.** The element at the next hole is public before the
//! hole moves there. So any party computes K' = e(g_(n+2), C'_0) after an add. A joining member
//! computes the previous key from g_(n+1). A party that hears the thin client's g_i and u_(c,i) can
//! compute the keys of member i. `tests/schemes/boneh.rs` performs all three attacks.
//!
//! Errata of S003. As printed, no member or not all members could decrypt, or every member could:
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
//! Other deviations: the pairings are of Type 3, where S003 has symmetric ones. The group key is
//! derived from K. The header is sent together with the elements that open it. A member that missed
//! something asks (S003 assumes that nothing is lost). In `sound` members get a_i, not u_(c,i)
//! (S003 sends SK_i times a_i in the open), and the key is confirmed. The thin client gets a new a_i with every change
//! instead of a factor, for the same number of bytes.

mod controller;
mod encapsulation;
mod index_set;
mod member;
mod messages;
mod setup;

pub(crate) use self::messages::Client;

use alloc::boxed::Box;

pub(crate) use self::controller::Controller;
pub(crate) use self::member::{FatMember, ThinMember};
use crate::party::Operation;
use crate::scheme::growth::{Form, Growth, Role};
use crate::scheme::{
    Assumption, Claims, MEMBERS, Parameter, Parties, Provenance, Recovery, Scheme,
};

/// The fat client in the catalogue.
pub(crate) const FAT: Scheme = entry(
    "boneh-fat",
    "Boneh+, fat client",
    &[FAT_CAPACITY],
    (2, FAT_CAPACITY.range.1),
    &[
        Growth::of(Role::Controller, Form::Constant, &Operation::MEASURED).only_sound(),
        Growth::of(Role::Controller, Form::Linear, &Operation::MEASURED).only_published(),
        Growth::of(Role::Member, Form::Constant, &Operation::MEASURED).only_sound(),
        Growth::of(Role::Member, Form::Linear, &Operation::MEASURED).only_published(),
        Growth::of(Role::NewMember, Form::Constant, &[Operation::Add]).only_sound(),
        Growth::of(Role::NewMember, Form::Linear, &[Operation::Add]).only_published(),
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

/// Builds a client's catalogue entry. The arguments are the values in which the clients differ.
const fn entry(
    id: &'static str,
    name: &'static str,
    parameters: &'static [Parameter],
    members: (u32, u32),
    growth: &'static [Growth],
    parties: Parties,
) -> Scheme {
    Scheme::new(
        id,
        name,
        Provenance::Specified,
        "S003 section 2; Boneh, Gentry and Waters 2005",
        parties,
    )
    .with_operations(&Operation::CHANGES)
    .with_recovery(Recovery::Request)
    .with_assumption(Assumption::Pairing)
    .with_claims(Claims::ALL)
    .with_published_claims(Claims::NONE)
    .with_parameters(parameters)
    .with_members(members)
    .with_growth(growth)
}

/// The size of the public key. Every member holds and checks twice as many elements.
const FAT_CAPACITY: Parameter = Parameter {
    name: "capacity",
    meaning: "members that can ever be enrolled; a member holds twice as many elements",
    sound: 128,
    published: 128,
    range: (64, 65_536),
};

/// The number of members that can ever be enrolled. A larger one costs nothing.
const THIN_CAPACITY: Parameter = Parameter {
    name: "capacity",
    meaning: "members that can ever be enrolled; a larger one costs nothing",
    sound: MEMBERS.1,
    published: MEMBERS.1,
    range: (64, MEMBERS.1),
};

#[cfg(test)]
mod tests;
