//! What a history runs: a scheme, and how many devices found the group.

use std::fmt;

use groupkey::Operation;
use groupkey::catalogue::{self, Class, Scheme};
use groupkey_mqtt::{Allowed, GroupForm};

use crate::history::SECOND;

/// A scheme in the form in which live groups run it.
#[derive(Clone, Debug)]
pub struct LiveScheme {
    form: GroupForm,
    members: u32,
}

/// A scheme that cannot be soaked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectError {
    /// No live group can run the scheme.
    NotLive(&'static str),
    /// The group has fewer than four or more than thirty-two members.
    Members,
}

impl LiveScheme {
    /// Takes the sound form of a scheme with signatures, and a group of 4 to 32 members at first.
    pub fn new(scheme: &'static Scheme, members: u32) -> Result<Self, SubjectError> {
        if !(4..=32).contains(&members) {
            return Err(SubjectError::Members);
        }
        let mut form = GroupForm::of(scheme);
        // Two subgroups, so that most groups have members in both. Schemes without the parameter
        // refuse it.
        let _ = form.configuration.set("subgroups", 2);
        if form.check(Allowed::default()).is_err() || NOT_LIVE.contains(&scheme.id) {
            return Err(SubjectError::NotLive(scheme.id));
        }
        Ok(Self { form, members })
    }

    /// Returns the scheme's id.
    pub fn scheme(&self) -> &'static str {
        self.form.configuration.scheme().id
    }

    /// Returns one of the subjects to which a group with a service may change, by its place among
    /// them. It has four members.
    pub(crate) fn other(which: u64) -> Self {
        let others = catalogue::SCHEMES.iter().filter(|scheme| {
            let has = |operation| scheme.operations.contains(&operation);
            scheme.has_controller()
                && has(Operation::Add)
                && has(Operation::Remove)
                && !HAVE_CLOCKS.contains(&scheme.id)
        });
        let others: Vec<_> = others.filter_map(|scheme| Self::new(scheme, 4).ok()).collect();
        others[(which % others.len() as u64) as usize].clone()
    }

    /// Returns whether the scheme changes the key without a join or leave.
    pub(crate) fn can_rekey(&self) -> bool {
        self.form.configuration.scheme().operations.contains(&Operation::Rekey)
    }

    /// Returns the number of devices that found the group.
    pub const fn members(&self) -> u32 {
        self.members
    }

    pub(crate) const fn most_devices(&self) -> u32 {
        self.members + NEWCOMERS
    }

    /// Returns the form of the group.
    pub const fn form(&self) -> &GroupForm {
        &self.form
    }

    /// Returns whether the group has no controller.
    pub fn has_peers(&self) -> bool {
        self.form.configuration.scheme().class() == Class::Distributed
    }

    /// Returns the virtual time within which all honest parties must have one key, once everything
    /// works again, ns. Members of a service ask in attempts of some 100 s. A peer without
    /// the key waits up to 900 s before it asks again.
    pub fn bound(&self) -> u64 {
        if self.has_peers() { PEERS_BOUND } else { SERVICE_BOUND }
    }
}

/// The maximum number of devices that arrive later.
const NEWCOMERS: u32 = 8;

/// Five minutes.
const SERVICE_BOUND: u64 = 300 * SECOND;

/// An hour.
const PEERS_BOUND: u64 = 3_600 * SECOND;

/// Members of these change the key by their clocks, which faults set wrong.
const HAVE_CLOCKS: [&str; 1] = ["kronos"];

/// Peers lack the long-term keys that these need.
const NOT_LIVE: [&str; 4] = ["cka", "d-lkh", "d-oft", "sender-keys"];

impl fmt::Display for SubjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLive(scheme) => write!(f, "{scheme} does not run in a live group"),
            Self::Members => write!(f, "a history begins with 4 to 32 members"),
        }
    }
}

impl std::error::Error for SubjectError {}
