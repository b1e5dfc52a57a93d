//! A rig: its settings and its state.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::crypto::Suite;
use groupkey::protection::Guard;
use groupkey::{Epoch, GroupId, Instance, MemberId, PartyId, Setting};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::credentials::Credentials;
use crate::rig::parties::{RigParties, RigParty, RigPresence};
use crate::rig::report::{OperationReport, SentMessage};
use crate::rig::trace::OperationTrace;
use crate::rig::transit::{MessageFilter, ScheduledDelivery};

/// The settings of a rig.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The form of the scheme.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(&'static str, u32)>,
    /// The algorithms.
    pub suite: Suite,
    /// How messages are protected. The default is a MAC for every scheme, so that sizes are
    /// comparable. [`Scheme::default_protection`] says what is usual for a scheme.
    pub protection: Guard,
    /// The founding of the group. With another one and the same seed, the same parties make a group
    /// in which nothing from the first one counts.
    pub instance: Instance,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The largest random latency of a message, in ns. Messages from one party to another keep
    /// their order.
    pub latency: u64,
    /// Whether tampered and replayed messages accompany every message.
    pub hostile: bool,
}

/// A group in virtual time.
pub struct Rig {
    pub(super) configuration: Configuration,
    pub(super) settings: Settings,
    pub(super) credentials: Credentials,
    pub(super) rng: ChaCha20Rng,
    pub(super) now: u64,
    pub(super) sequence: u64,
    pub(super) queue: BinaryHeap<Reverse<ScheduledDelivery>>,
    /// The latest arrival by sender and receiver, so that no message overtakes another.
    pub(super) latest: BTreeMap<(PartyId, PartyId), u64>,
    pub(super) seats: RigParties,
    pub(super) current: BTreeSet<MemberId>,
    /// Members that are out of the other members' reach and continue by themselves.
    pub(super) apart: BTreeSet<MemberId>,
    pub(super) report: OperationReport,
    pub(super) deployment: Vec<SentMessage>,
    pub(super) adversary: Option<MessageFilter>,
    pub(super) trace: Option<Box<OperationTrace>>,
    /// Whether controllers are restored from their saved state after every step.
    pub(super) restarts: bool,
}

/// One suite for every kind of key wrapping, each with its smallest group. Schemes can distinguish
/// groups only by lengths, so tests of schemes run these; `tests/laws/groups.rs` runs all.
pub const SUITES: [Suite; 3] = [Suite::Standard, Suite::Constrained, Suite::Published];

impl Default for Settings {
    fn default() -> Self {
        Self {
            profile: Profile::Sound,
            parameters: Vec::new(),
            suite: Suite::Standard,
            protection: Guard::Mac,
            instance: Instance::default(),
            seed: 1,
            latency: 1_000_000,
            hostile: false,
        }
    }
}

impl Rig {
    /// Creates a rig for a scheme, with no members yet.
    ///
    /// # Panics
    ///
    /// If the scheme does not have one of the parameters, or not with that value.
    pub fn new(scheme: &'static Scheme, settings: Settings) -> Self {
        let mut configuration = scheme.configuration(settings.profile);
        for &(name, value) in &settings.parameters {
            configuration.set(name, value).expect("the scheme has this parameter");
        }
        let mut seats = RigParties::default();
        if let Some(controller) = configuration.controller() {
            seats.take_in(PartyId::Controller, controller);
        }
        for (subgroup, party) in configuration.subgroup_controllers() {
            seats.take_in(subgroup.into(), party);
        }
        Self {
            credentials: Credentials::for_suite(settings.suite, settings.protection, settings.seed),
            rng: ChaCha20Rng::seed_from_u64(settings.seed),
            configuration,
            settings,
            now: 0,
            sequence: 0,
            queue: BinaryHeap::new(),
            latest: BTreeMap::new(),
            seats,
            current: BTreeSet::new(),
            apart: BTreeSet::new(),
            report: OperationReport::default(),
            deployment: Vec::new(),
            adversary: None,
            trace: None,
            restarts: false,
        }
    }

    /// Returns the setting that all parties have in common.
    pub fn setting(&self) -> Setting {
        let Settings { suite, protection, instance, .. } = self.settings;
        self.configuration.setting(GROUP, suite, protection, "", instance)
    }

    /// Traces all operations from now on: the byte strings that every party used and computed.
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.trace = Some(Box::default());
        self
    }

    /// Returns the trace so far, if [`Self::traced`] asked for it.
    pub fn trace(&mut self) -> Option<&mut OperationTrace> {
        self.trace.as_deref_mut()
    }

    pub(super) fn is_at_hand(&self, id: PartyId, seat: &RigParty) -> bool {
        seat.standing == RigPresence::Awake && !self.is_apart(id)
    }

    pub(super) fn is_apart(&self, id: PartyId) -> bool {
        matches!(id, PartyId::Member(member) if self.apart.contains(&member))
    }

    pub(super) fn latest_epoch(&self) -> Epoch {
        let keys = self.seats.iter().filter_map(|(_, seat)| seat.party.group_key());
        keys.map(|(epoch, _)| epoch).max().unwrap_or_default()
    }

    pub(super) fn seat(&mut self, party: PartyId) -> &mut RigParty {
        self.seats.get_mut(party).expect("the party is in the rig")
    }
}

impl fmt::Debug for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rig")
            .field("scheme", &self.configuration.scheme().id)
            .field("members", &self.current)
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

/// The group of every rig.
pub(super) const GROUP: GroupId = GroupId(7);
