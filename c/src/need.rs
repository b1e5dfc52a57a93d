//! How much memory a call may take, in bytes of the pool.
//!
//! Rust's lists end the program if there is no memory. So a call is refused before it begins if
//! less is free than here. The figures are at least twice what was measured for every scheme with 2
//! to 100 members, in both profiles, on a host of 64 bits (`tests/programs/memory.c` measures
//! again). The rest is for blocks that do not fit where others were. They are not proven: see
//! `docs/c.md`.

#![forbid(unsafe_code)]

use groupkey::PartyId;
use groupkey::catalogue::{Class, Configuration, Departures, Scheme};

/// What the memory of a device's calls depends on.
pub(crate) struct Need {
    /// What every call may take.
    base: usize,
    /// More for each member, in a call that concerns all of them.
    per_member: usize,
    /// More for each member, in a call that changes the keys that some of them have.
    per_member_of_change: usize,
}

/// A call, as far as its memory is concerned.
pub(crate) enum Call {
    /// Members are enrolled, or make a group, or several join and leave at once.
    Roster,
    /// One member at most joins or leaves.
    Change,
    /// A message of so many bytes arrives.
    Message(usize),
    /// A message of so many bytes is sent to the group.
    Send(usize),
}

impl Need {
    /// Returns the need of a party.
    pub(crate) fn of(configuration: &Configuration, me: PartyId) -> Self {
        let scheme = configuration.scheme();
        // Powers of numbers in a table, and pairings.
        let base = if scheme.computes_pairings() { 640_usize << 10 } else { 3 << 10 };
        let base = base.saturating_add(keys_ahead(configuration));
        match (scheme.class(), me) {
            // Each computes for all others, with elements of a Diffie-Hellman group.
            (Class::Distributed, _) => Self { base, per_member: 2304, per_member_of_change: 2304 },
            // Messages say all, and name what concerns this member only.
            (Class::Centralized | Class::Hybrid, PartyId::Member(_)) => {
                Self { base, per_member: 0, per_member_of_change: 0 }
            }
            // Each member that enrolls gets keys or labels for all covers that may concern it.
            _ if scheme.departures != Departures::Forgotten => {
                let base = base.saturating_add(16 << 10);
                Self { base, per_member: 20 << 10, per_member_of_change: 1024 }
            }
            (Class::Centralized | Class::Hybrid, _) => {
                Self { base, per_member: 2048, per_member_of_change: 1024 }
            }
        }
    }

    /// Returns how much must be free for a call, at a device that knows of so many members.
    pub(crate) const fn for_call(&self, call: &Call, members: usize) -> usize {
        let (each, bytes) = match *call {
            Call::Roster => (self.per_member, 0),
            Call::Change => (self.per_member_of_change, 0),
            Call::Message(length) => (self.per_member, length),
            Call::Send(length) => (0, length),
        };
        self.base
            .saturating_add(members.saturating_mul(each))
            .saturating_add(bytes.saturating_mul(8))
    }
}

/// Returns what the keys take that a party computes ahead: one for each period of a session in MARKS as
/// published, and two for each session of a generation in SGCSH, if it stores its chains.
fn keys_ahead(configuration: &Configuration) -> usize {
    let scheme = configuration.scheme();
    let value = |name: &str| {
        let parameter = scheme.parameters.iter().find(|parameter| parameter.name == name);
        parameter.map_or(0, |parameter| configuration.value(parameter) as usize)
    };
    match (scheme.id, configuration.profile()) {
        ("marks", profile) if profile.is_published() => 80 << value("depth"),
        ("sgcsh", _) if value("chain") == 0 => 66 * value("sessions"),
        _ => 0,
    }
}

/// What the library itself takes.
pub(crate) const LIBRARY: usize = 1024;

/// Returns what one device more takes, beside so many others, with so many public keys.
pub(crate) fn device(scheme: &Scheme, others: usize, public_keys: usize) -> usize {
    let base: usize = if scheme.computes_pairings() { 10 << 10 } else { 5 << 10 };
    base.saturating_add(others.saturating_mul(64)).saturating_add(public_keys.saturating_mul(1024))
}
