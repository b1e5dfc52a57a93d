//! The decisions of a service's operator: the form of the group, which devices may join, and when
//! the key changes.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use crate::group_form::{Allowed, GroupForm};
use crate::keyring::Secret;
use crate::notice::Expectations;

/// An operator's decisions.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Scheme, parameters, algorithms. From the founding on, only
    /// [`Service::change_scheme`](crate::Service::change_scheme) changes them.
    pub form: GroupForm,
    /// Which weak forms may run.
    pub allowed: Allowed,
    /// The service's identity, if it was made beforehand, so that devices can be given its public
    /// key. Without it, the service draws an identity when the group is founded.
    pub identity: Option<Secret>,
    /// Whether the identity was drawn for this opening, so that it has no group yet. Otherwise a
    /// service with an empty store waits for the broker's notice before it founds a group.
    pub is_identity_new: bool,
    /// The prefix of all topics.
    pub prefix: String,
    /// Pre-shared keys of devices, by name. A device proves its key at every join.
    pub keys: BTreeMap<String, Secret>,
    /// Enrolment tokens. Each token lets one unknown device join. From then on the device joins
    /// with its identity, until [`Service::evict`](crate::Service::evict) bars it. Another identity
    /// can have its name only after [`Service::readmit`](crate::Service::readmit).
    pub tokens: Vec<Secret>,
    /// Identities (Ed25519 public keys) of devices that are known beforehand, by name.
    pub identities: BTreeMap<String, [u8; 32]>,
    /// How many devices create the group: at least two.
    pub founders: usize,
    /// How long joins are collected after the first, and evictions after a change of the key, so that
    /// they become one change. An eviction after a longer pause changes the key at once, and waits
    /// for a second at most.
    pub batch: Duration,
    /// The time after which the key changes without a join or leave. It needs a scheme that has
    /// [`Operation::Rekey`](groupkey::Operation::Rekey).
    pub period: Option<Duration>,
    /// How long a change of scheme waits for members. Those that have not asked for their places by
    /// then join again.
    pub change: Duration,
    /// How long a broker of MQTT 5 keeps rekey messages for members that are offline, in s: 1 or
    /// more. A member that is offline for longer catches up with one request.
    pub rekey_expiry_s: u32,
    /// How long members may take to confirm a new epoch. Each confirmation is a request and its answer.
    /// Without it, members say which epoch they have when they ask anyway.
    pub confirm: Option<Duration>,
    /// How a new key is distributed before members send under it. Without it, they do so at once.
    pub activate: Option<Activation>,
    /// How long a member may be silent before it is evicted. Members ask at least three times in it.
    pub evict_silent_after: Option<Duration>,
    /// Limits of memory and storage.
    pub limits: ServiceLimits,
}

/// When members send under a key that a join or a new period has made. The service's word ends the wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation {
    /// After how long it does at the latest: two seconds or more.
    pub after: Duration,
    /// The share of the members that must have confirmed the epoch for an earlier word, 0 to 1. They
    /// confirm it within half of that time. Without a share, there is no earlier word.
    pub when: Option<f64>,
}

/// Limits of memory and storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceLimits {
    /// The maximum number of entries of the log since its last checkpoint. An operation adds two to
    /// four. A service whose log is full refuses all operations (see ADR 13). That can happen only
    /// if checkpoints are rarer than this.
    pub log: u64,
    /// After how many entries the state replaces the log.
    pub checkpoint: u64,
    /// The maximum number of devices that wait to be admitted.
    pub waiting: usize,
    /// The maximum number of requests of one member in [`ServiceLimits::ALLOWANCE_TIME`].
    pub allowance: u32,
}

impl Policy {
    /// Returns a policy that admits no device yet. It has topics under `groupkey/1`, two founders,
    /// and joins and evictions collected for 50 ms. The key does not change periodically, and rekey messages
    /// expire after a minute.
    pub fn of(form: GroupForm) -> Self {
        Self {
            form,
            allowed: Allowed::default(),
            identity: None,
            is_identity_new: false,
            prefix: "groupkey/1".to_owned(),
            keys: BTreeMap::new(),
            tokens: Vec::new(),
            identities: BTreeMap::new(),
            founders: 2,
            batch: Duration::from_millis(50),
            period: None,
            change: Duration::from_secs(60),
            rekey_expiry_s: 60,
            confirm: None,
            activate: None,
            evict_silent_after: None,
            limits: ServiceLimits::default(),
        }
    }

    /// Returns how long members have to confirm a new epoch, if they have to.
    pub(crate) fn confirm_window(&self) -> Option<Duration> {
        let counted = self.activate.filter(|activation| activation.when.is_some());
        self.confirm.into_iter().chain(counted.map(|activation| activation.after / 2)).min()
    }

    /// Returns what the notice tells members to do.
    pub(crate) fn expectations(&self) -> Expectations {
        let seconds = |time: Duration| u32::try_from(time.as_secs().max(1)).unwrap_or(u32::MAX);
        let ask = self.evict_silent_after.map(|silence| silence / QUESTIONS_IN_SILENCE);
        Expectations {
            confirm_s: self.confirm_window().map_or(0, seconds),
            ask_s: ask.map_or(0, seconds),
            activate_s: self.activate.map_or(0, |activation| seconds(activation.after)),
        }
    }
}

/// How often a member asks before it counts as silent: one answer may be lost, and the next.
const QUESTIONS_IN_SILENCE: u32 = 3;

impl ServiceLimits {
    /// The time in which the requests of [`Self::allowance`] are counted.
    pub const ALLOWANCE_TIME: Duration = Duration::from_secs(10);
}

impl Default for ServiceLimits {
    /// Returns the default limits: a million entries with a checkpoint after ten thousand, ten
    /// thousand waiting devices, and twenty requests in ten seconds.
    fn default() -> Self {
        Self { log: 1_000_000, checkpoint: 10_000, waiting: 10_000, allowance: 20 }
    }
}
