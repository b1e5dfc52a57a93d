//! A searched model of one device's membership in a group with a service: how it joins, is evicted,
//! readmitted, and joins again, while somebody repeats all that was ever said.
//!
//! `docs/order.md` has the result, beside that of the other model.

pub mod invariants;
pub mod member;
pub mod messages;
pub mod model;
pub mod searches;
pub mod service;

/// What keeps a recording from counting. Each can be taken away alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MembershipMends {
    /// The welcome has the epoch before the admission, and no farewell up to it counts:
    /// `Member::dismissed`.
    pub farewells: bool,
    /// Offers and welcomes answer one request: `WaitingRequest::open`.
    pub answers: bool,
    /// Each stamp counts once: `Service::apply`.
    pub stamps: bool,
    /// A service acts only on the last state of its store: `Continuity`.
    pub continuity: bool,
}

impl MembershipMends {
    /// The rules of now.
    pub const ALL: Self = Self { farewells: true, answers: true, stamps: true, continuity: true };
}
