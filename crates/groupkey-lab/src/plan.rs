//! A plan: one group in one network, to be run a number of times.

mod error;
mod setting;
mod step;
mod turnover;
mod validation;

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use groupkey::Suite;
use groupkey::catalogue::{Class, Configuration, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey_sim::group::{GroupSettings, Rest, Station};
use groupkey_sim::{Duration, HandOver, NetworkConfig, Qos, Reconnection, SessionState};

use crate::conditions::{Conditions, OutageRate, Timeline};
use crate::device::DeviceProfile;

pub use self::error::PlanError;
pub use self::step::{BATCH, MOST_DEPARTURES, PlanAction, PlanStep};
pub(crate) use self::turnover::turn_over;

/// One group in one network, to be run a number of times. [`Plan::new`] gives a plan to change.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// The profile of the scheme.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(String, u32)>,
    /// The suite of algorithms.
    pub suite: Suite,
    /// How messages are protected.
    pub protection: Guard,
    /// Number of members with which the group is created.
    pub members: u32,
    /// What happens to the group, beginning with its creation.
    pub steps: Vec<PlanStep>,
    /// The link of every client over time, including the controller's.
    pub link: Timeline,
    /// Members that differ from the rest. The last exception that covers a member applies to it.
    pub exceptions: Vec<Exception>,
    /// Subgroup controllers that differ from the rest, in a hybrid scheme. The last exception that
    /// covers a subgroup applies to it.
    pub subgroup_exceptions: Vec<Exception>,
    /// Bytes of the request with which a member asks the controller to join or leave; `None` if the
    /// controller acts without a request.
    pub request_bytes: Option<u32>,
    /// What lies between two operations.
    pub rest: Rest,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// When a subscriber delivers a QoS 2 message.
    pub hand_over: HandOver,
    /// Largest number of exchanges in flight at one end of a connection.
    pub max_in_flight: u16,
    /// How often the broker restarts, and how long it is away.
    pub restarts: Option<OutageRate>,
    /// What is left of a session when its connection has ended.
    pub session: SessionState,
    /// MQTT's keep-alive (s), of every client.
    pub keep_alive_s: u16,
    /// The members' device.
    pub device: Arc<DeviceProfile>,
    /// The device of the controller and of the broker.
    pub controller_device: Arc<DeviceProfile>,
    /// The device of the subgroup controllers, in a hybrid scheme.
    pub subgroup_device: Arc<DeviceProfile>,
    /// How often the plan is run.
    pub runs: u32,
    /// Seed from which each run's own seed is derived.
    pub seed: u64,
}

/// Members or subgroup controllers that differ from the rest.
#[derive(Clone, Debug)]
pub struct Exception {
    /// Their numbers. Members are numbered in the order of joining, subgroups as the scheme numbers
    /// them.
    pub numbers: Range<u32>,
    /// Their link over time.
    pub link: Timeline,
    /// Their device.
    pub device: Arc<DeviceProfile>,
}

impl Plan {
    /// The largest group that a file may ask for (members). A simulated group of this size takes
    /// about a gigabyte, and some seconds if its whole key tree is broadcast.
    pub const MOST_MEMBERS: u32 = 100_000;
    /// The most runs that a file may ask for. A larger number is treated as a typing error.
    pub const MOST_RUNS: u32 = 1_000_000;
    /// The longest request that a file may ask for (bytes). A larger number is treated as a typing
    /// error.
    pub const MOST_REQUEST_BYTES: u32 = 1_000_000;
    /// The usual keep-alive (s): that of Mosquitto's and paho's clients.
    pub const KEEP_ALIVE_S: u16 = 60;

    /// Creates a plan for ten runs of all operations of the scheme. The group has the default
    /// profile and this many members, on hosts in a perfect network.
    pub fn new(scheme: &'static Scheme, members: u32) -> Self {
        let host = Arc::new(DeviceProfile::named("host").expect("it is built in"));
        Self {
            scheme,
            profile: Profile::default(),
            parameters: Vec::new(),
            suite: Suite::Standard,
            protection: scheme.default_protection(Profile::default()),
            members,
            steps: PlanStep::history(scheme, scheme.operations),
            link: Timeline::default(),
            exceptions: Vec::new(),
            subgroup_exceptions: Vec::new(),
            request_bytes: None,
            rest: Rest::Idle(Duration::from_secs(60)),
            qos: 2,
            hand_over: HandOver::default(),
            max_in_flight: u16::MAX,
            restarts: None,
            session: SessionState::default(),
            keep_alive_s: Self::KEEP_ALIVE_S,
            device: Arc::clone(&host),
            controller_device: Arc::clone(&host),
            subgroup_device: host,
            runs: 10,
            seed: 0,
        }
    }

    /// Gives every client the same link, which does not change.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.link = Timeline::constant(conditions);
    }

    /// Lets this many members leave between the creation and the next step, each of them replaced by
    /// another one. What follows is then measured in a group with a past.
    pub fn set_departed(&mut self, departures: u32) {
        let turnover = PlanStep { action: PlanAction::Turnover(departures), reported: false };
        let created = self.steps.iter().position(|step| step.action == PlanAction::Create);
        if let (1.., Some(created)) = (departures, created) {
            self.steps.insert(created + 1, turnover);
        }
    }

    /// Returns the steps that become rows, each with its place among all steps.
    pub fn reported(&self) -> impl Iterator<Item = (usize, PlanAction)> {
        let steps = self.steps.iter().enumerate();
        steps.filter(|(_, step)| step.reported).map(|(place, step)| (place, step.action))
    }

    /// Returns how many changes of the group precede a step: one for each step, and those of a
    /// [turnover](PlanAction::Turnover).
    pub(crate) fn changes_before(&self, step: usize) -> u64 {
        let changes = self.steps[..step].iter().map(|step| match step.action {
            PlanAction::Turnover(departures) => {
                turnover::changes(self.scheme, self.members, departures)
            }
            _ => 1,
        });
        changes.sum()
    }

    /// Returns how long the network is idle between two operations (ms). `None` if it settles.
    pub const fn rest_ms(&self) -> Option<u64> {
        match self.rest {
            Rest::Idle(time) => Some(time.as_nanos() / 1_000_000),
            Rest::Settled => None,
        }
    }

    /// Returns whether connections end: a link or the broker fails.
    pub fn connections_end(&self) -> bool {
        let exceptions = self.exceptions.iter().chain(&self.subgroup_exceptions);
        let mut links = exceptions.map(|exception| &exception.link).chain([&self.link]);
        self.restarts.is_some() || links.any(|link| link.initial.outages.is_some())
    }

    /// Returns whether no link changes with time.
    pub(crate) fn links_stay(&self) -> bool {
        let exceptions = self.exceptions.iter().chain(&self.subgroup_exceptions);
        let mut links = exceptions.map(|exception| &exception.link).chain([&self.link]);
        links.all(|link| link.changes.is_empty())
    }

    /// Returns whether any member sends [requests](Self::request_bytes): the scheme has a
    /// controller to ask, and a member joins or leaves.
    pub fn heeds_request(&self) -> bool {
        let asks = |step: &PlanStep| matches!(step.action, PlanAction::Add | PlanAction::Remove(_));
        self.scheme.has_controller() && self.steps.iter().any(asks)
    }

    /// Describes the plan for a person: the scheme, the number of members, the network and the
    /// parameters.
    pub fn description(&self) -> String {
        let Self { scheme, members, link, qos, .. } = self;
        let mut description = format!("{}, {members} members, {link}, QoS {qos}", scheme.id);
        for (name, value) in &self.parameters {
            let _ = write!(description, ", {name}={value}");
        }
        description
    }

    /// Returns a stable text of everything that the outcome of a run depends on, except the seed
    /// and the steps.
    pub fn key(&self) -> String {
        let rest = match self.rest_ms() {
            Some(ms) => format!("{ms} ms rest"),
            None => "settled".to_owned(),
        };
        let mut key = format!(
            "{}, {} profile, {} suite, {:?}, {} members, {}, QoS {} at {:?}, {} in flight, {rest}, \
             {}, {}",
            self.scheme.id,
            self.profile.name(),
            self.suite.name(),
            self.protection,
            self.members,
            self.link,
            self.qos,
            self.hand_over,
            self.max_in_flight,
            self.device.name,
            self.controller_device.name,
        );
        if let Some(bytes) = self.request_bytes {
            let _ = write!(key, ", request of {bytes}");
        }
        if self.connections_end() {
            let _ = write!(
                key,
                ", {} sessions, keep-alive {} s",
                self.session.name(),
                self.keep_alive_s
            );
        }
        if let Some(restarts) = self.restarts {
            let _ = write!(key, ", restarts {restarts}");
        }
        for (name, value) in &self.parameters {
            let _ = write!(key, ", {name} {value}");
        }
        for Exception { numbers, link, device } in &self.exceptions {
            let _ = write!(key, ", {numbers:?}: {link}, {}", device.name);
        }
        if self.scheme.class() == Class::Hybrid {
            let _ = write!(key, ", {}", self.subgroup_device.name);
        }
        for Exception { numbers, link, device } in &self.subgroup_exceptions {
            let _ = write!(key, ", subgroups {numbers:?}: {link}, {}", device.name);
        }
        key
    }

    /// Returns the seed of a run, counted from 0. It does not depend on what else is run. Settled
    /// groups meet the same luck whatever they are, so that a difference is one between the groups.
    pub fn run_seed(&self, run: u32) -> u64 {
        let key = match self.rest {
            Rest::Idle(_) => self.key(),
            Rest::Settled => String::new(),
        };
        let bytes = self.seed.to_le_bytes().into_iter().chain(run.to_le_bytes()).chain(key.bytes());
        // FNV-1a, then the finaliser of SplitMix64 so that every bit depends on every byte.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }

    /// Returns the quality of service that [its number](Self::qos) means.
    pub fn quality_of_service(&self) -> Result<Qos, PlanError> {
        Qos::from_number(self.qos).ok_or(PlanError::Qos(self.qos))
    }

    /// Returns the simulator's settings for a run. The plan must be valid.
    pub fn group_settings(&self, run: u32) -> Result<GroupSettings, PlanError> {
        let seed = self.run_seed(run);
        let network = NetworkConfig {
            qos: self.quality_of_service()?,
            hand_over: self.hand_over,
            max_in_flight: self.max_in_flight,
            broker: (&self.controller_device.processing).into(),
            client: (&self.device.processing).into(),
            reconnection: self.connections_end().then(|| Reconnection {
                keep_alive: Duration::from_secs(self.keep_alive_s.into()),
                session: self.session,
                broker: self.restarts.map(|restarts| restarts.settings()),
                ..Reconnection::default()
            }),
            seed,
            ..NetworkConfig::default()
        };
        Ok(GroupSettings {
            configuration: self.configuration()?,
            suite: self.suite,
            protection: self.protection,
            seed,
            network,
            controller: self.station(&self.link, &self.controller_device)?,
            subgroup_controller: self.station(&self.link, &self.subgroup_device)?,
            subgroup_exceptions: self.stations(&self.subgroup_exceptions)?,
            member: self.station(&self.link, &self.device)?,
            exceptions: self.stations(&self.exceptions)?,
            request_bytes: self.request_bytes,
            rest: self.rest,
        })
    }

    pub(crate) fn configuration(&self) -> Result<Configuration, PlanError> {
        let mut configuration = self.scheme.configuration(self.profile);
        for (name, value) in &self.parameters {
            configuration.set(name, *value).map_err(|error| {
                let known = self.scheme.parameters.iter().map(|parameter| parameter.name);
                let known = known.collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none".to_owned() } else { known };
                let problem = format!("{error}; parameters of {}: {known}", self.scheme.id);
                PlanError::Parameter { name: name.clone(), problem }
            })?;
        }
        Ok(configuration)
    }

    fn stations(&self, exceptions: &[Exception]) -> Result<Vec<(Range<u32>, Station)>, PlanError> {
        let station = |Exception { numbers, link, device }: &Exception| {
            Ok((numbers.clone(), self.station(link, device)?))
        };
        exceptions.iter().map(station).collect()
    }

    fn station(&self, link: &Timeline, device: &DeviceProfile) -> Result<Station, PlanError> {
        let (up, down) = link.up_and_down();
        let costs = device.costs(self.suite).ok_or_else(|| self.without_figures(device))?.clone();
        Ok(Station {
            up,
            down,
            outages: link.initial.outages.map(|outages| outages.settings()),
            processing: (&device.processing).into(),
            computation: Arc::new(move |meter| costs.computation(meter)),
        })
    }

    fn without_figures(&self, device: &DeviceProfile) -> PlanError {
        PlanError::Device {
            device: device.name.clone(),
            suite: self.suite,
            suites: device.suites().map(Suite::name).collect(),
        }
    }
}
