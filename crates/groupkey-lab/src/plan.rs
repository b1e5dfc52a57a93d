//! A plan: one group in one network, to be run so many times.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use groupkey::catalogue::{Configuration, Profile, Scheme};
use groupkey::protection::Guard;
use groupkey::{Operation, Suite};
use groupkey_sim::group::{GroupSettings, Station};
use groupkey_sim::{HandOver, NetworkConfig, Qos};

use crate::conditions::{Conditions, ConditionsError, Timeline};
use crate::device::Device;
use crate::results::Setting;

/// One group in one network, to be run so many times. [`Plan::new`] gives one to change.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// Its form.
    pub profile: Profile,
    /// Parameters that differ from the profile's.
    pub parameters: Vec<(String, u32)>,
    /// The algorithms.
    pub suite: Suite,
    /// How messages are protected.
    pub protection: Guard,
    /// Members with which the group is created.
    pub members: u32,
    /// What happens to the group, beginning with its creation.
    pub steps: Vec<Step>,
    /// The link of every client, the controller's too, over time.
    pub link: Timeline,
    /// Members that differ; the last that fits counts.
    pub exceptions: Vec<Exception>,
    /// Bytes of the request with which a member asks the controller to join or leave; `None` if the
    /// controller acts of its own accord.
    pub request_bytes: Option<u32>,
    /// MQTT quality of service: 0, 1 or 2.
    pub qos: u8,
    /// When a subscriber hands a QoS 2 message over.
    pub hand_over: HandOver,
    /// Exchanges that one end of a connection may have under way.
    pub max_in_flight: u16,
    /// The members' device.
    pub device: Arc<Device>,
    /// The device of the controller and of the broker.
    pub controller_device: Arc<Device>,
    /// How often the plan is run.
    pub runs: u32,
    /// Seed from which each run's own is derived.
    pub seed: u64,
}

/// Something that happens to the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happens.
    pub action: Action,
    /// Whether it becomes a row of the results.
    pub reported: bool,
}

/// What can happen to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new member joins; it gets the next number.
    Add,
    /// The group is created of members 0, 1, ...
    Create,
    /// This member leaves; `None` is one in the middle.
    Remove(Option<u32>),
}

/// Members that differ from the rest.
#[derive(Clone, Debug)]
pub struct Exception {
    /// Their numbers, in the order of joining.
    pub members: Range<u32>,
    /// Their link over time.
    pub link: Timeline,
    /// Their device.
    pub device: Arc<Device>,
}

/// Why a plan cannot be run, and what to do about it.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanError {
    /// A link that there cannot be.
    Conditions(ConditionsError),
    /// A device without figures for the suite.
    Device {
        /// The device.
        device: String,
        /// The suite it has no figures for.
        suite: Suite,
        /// The suites it has figures for.
        suites: Vec<&'static str>,
    },
    /// No room for a single exchange.
    InFlight,
    /// Members below two, or more than the scheme takes.
    Members {
        /// The number asked for.
        members: u32,
        /// What the scheme takes.
        range: (u32, u32),
    },
    /// A parameter that the scheme does not have, or not with this value.
    Parameter {
        /// Its name.
        name: String,
        /// What is wrong, and what there is.
        problem: String,
    },
    /// A quality of service that MQTT does not have.
    Qos(u8),
    /// No runs.
    Runs,
    /// Steps that cannot happen in this order.
    Steps {
        /// The place of the first that cannot, from 0.
        index: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// An operation that the scheme does not have.
    Unsupported {
        /// The scheme.
        scheme: &'static str,
        /// The operation.
        operation: Operation,
        /// What the scheme has.
        operations: &'static [Operation],
    },
}

impl Plan {
    /// A sound group of so many members on hosts in a perfect network, for ten runs of all that the
    /// scheme can do.
    pub fn new(scheme: &'static Scheme, members: u32) -> Self {
        let host = Arc::new(Device::named("host").expect("it is built in"));
        Self {
            scheme,
            profile: Profile::default(),
            parameters: Vec::new(),
            suite: Suite::default(),
            protection: Guard::Signature,
            members,
            steps: Self::history(scheme, scheme.operations),
            link: Timeline::default(),
            exceptions: Vec::new(),
            request_bytes: None,
            qos: 2,
            hand_over: HandOver::default(),
            max_in_flight: u16::MAX,
            device: Arc::clone(&host),
            controller_device: host,
            runs: 10,
            seed: 0,
        }
    }

    /// Steps that measure these operations: creation, a join and a leave, in this order and as far as
    /// needed. What comes before an operation does not depend on which are asked for: so a row can be
    /// replayed alone.
    pub fn history(scheme: &Scheme, operations: &[Operation]) -> Vec<Step> {
        let steps = [
            (Operation::Create, Action::Create),
            (Operation::Add, Action::Add),
            (Operation::Remove, Action::Remove(None)),
        ];
        let last = steps.iter().rposition(|(operation, _)| operations.contains(operation));
        steps
            .into_iter()
            .take(last.map_or(0, |last| last + 1))
            .map(|(operation, action)| (operations.contains(&operation), operation, action))
            .filter(|(asked, operation, _)| *asked || scheme.operations.contains(operation))
            .map(|(reported, _, action)| Step { action, reported })
            .collect()
    }

    /// The same link, which does not change, for every client.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.link = Timeline::constant(conditions);
    }

    /// Checks everything that can be checked without running.
    pub fn validate(&self) -> Result<(), PlanError> {
        let (least, most) = self.scheme.members;
        if !(least.max(2)..=most).contains(&self.members) {
            let range = (least.max(2), most);
            return Err(PlanError::Members { members: self.members, range });
        }
        self.configuration()?;
        self.validate_steps()?;
        self.link.validate().map_err(PlanError::Conditions)?;
        for exception in &self.exceptions {
            exception.link.validate().map_err(PlanError::Conditions)?;
        }
        if self.qos > 2 {
            return Err(PlanError::Qos(self.qos));
        }
        if self.max_in_flight == 0 {
            return Err(PlanError::InFlight);
        }
        if self.runs == 0 {
            return Err(PlanError::Runs);
        }
        let devices = [&self.device, &self.controller_device];
        let devices = devices.into_iter().chain(self.exceptions.iter().map(|e| &e.device));
        devices.into_iter().try_for_each(|device| self.validate_device(device))
    }

    /// What a row of this plan measures.
    pub fn setting(&self, operation: Operation) -> Setting {
        Setting {
            scheme: self.scheme.id.to_owned(),
            profile: self.profile.name().to_owned(),
            suite: self.suite.name().to_owned(),
            provenance: self.scheme.provenance.name().to_owned(),
            operation: operation.name().to_owned(),
            members: self.members,
            loss_percent: self.link.initial.loss_percent,
            delay_ms: self.link.initial.delay_ms,
            qos: self.qos,
            device: self.device.name.clone(),
            seed: self.seed,
        }
    }

    /// The steps that become rows.
    pub fn reported(&self) -> impl Iterator<Item = Action> {
        self.steps.iter().filter(|step| step.reported).map(|step| step.action)
    }

    /// A stable text of everything that the outcome of a run depends on, but the seed and the steps.
    pub fn key(&self) -> String {
        let mut key = format!(
            "{}, {} profile, {} suite, {:?}, {} members, {}, QoS {} at {:?}, {} in flight, {}, {}",
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
        for (name, value) in &self.parameters {
            let _ = write!(key, ", {name} {value}");
        }
        for Exception { members, link, device } in &self.exceptions {
            let _ = write!(key, ", {members:?}: {link}, {}", device.name);
        }
        key
    }

    /// The seed of a run, counted from 0: of its own, whatever else is run.
    pub fn run_seed(&self, run: u32) -> u64 {
        let key = self.key();
        let bytes = self.seed.to_le_bytes().into_iter().chain(run.to_le_bytes()).chain(key.bytes());
        // FNV-1a, then the finaliser of SplitMix64 so that every bit depends on every byte.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    }

    /// What the simulator needs for a run. The plan must be valid.
    pub(crate) fn group_settings(&self, run: u32) -> Result<GroupSettings, PlanError> {
        let seed = self.run_seed(run);
        let network = NetworkConfig {
            qos: [Qos::AtMostOnce, Qos::AtLeastOnce, Qos::ExactlyOnce][usize::from(self.qos.min(2))],
            hand_over: self.hand_over,
            max_in_flight: self.max_in_flight,
            broker: (&self.controller_device.processing).into(),
            client: (&self.device.processing).into(),
            seed,
            ..NetworkConfig::default()
        };
        let station = |link: &Timeline, device: &Device| -> Result<Station, PlanError> {
            let (up, down) = link.up_and_down();
            let costs = device.costs(self.suite).ok_or_else(|| self.without_figures(device))?;
            let costs = costs.clone();
            Ok(Station {
                up,
                down,
                processing: (&device.processing).into(),
                computation: Arc::new(move |meter| costs.computation(meter)),
            })
        };
        let exceptions = self
            .exceptions
            .iter()
            .map(|e| Ok((e.members.clone(), station(&e.link, &e.device)?)))
            .collect::<Result<_, _>>()?;
        Ok(GroupSettings {
            configuration: self.configuration()?,
            suite: self.suite,
            protection: self.protection,
            seed,
            network,
            controller: station(&self.link, &self.controller_device)?,
            member: station(&self.link, &self.device)?,
            exceptions,
            request_bytes: self.request_bytes,
        })
    }

    fn configuration(&self) -> Result<Configuration, PlanError> {
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

    /// Members leave and join in thought, so that a scenario fails before it runs.
    fn validate_steps(&self) -> Result<(), PlanError> {
        let most = self.scheme.members.1;
        let mut next = self.members;
        let mut members: Vec<u32> = (0..self.members).collect();
        for (index, step) in self.steps.iter().enumerate() {
            let operation = step.action.operation();
            if !self.scheme.operations.contains(&operation) {
                let (scheme, operations) = (self.scheme.id, self.scheme.operations);
                return Err(PlanError::Unsupported { scheme, operation, operations });
            }
            let problem = match step.action {
                Action::Create if index > 0 => "the group exists already".to_owned(),
                Action::Add | Action::Remove(_) if index == 0 => {
                    "the group must be created first".to_owned()
                }
                Action::Create => continue,
                Action::Add if members.len() as u32 == most => {
                    format!("the scheme takes {most} members at most")
                }
                Action::Add => {
                    members.push(next);
                    next += 1;
                    continue;
                }
                Action::Remove(_) if members.len() == 2 => "two members must remain".to_owned(),
                Action::Remove(None) => {
                    members.remove(members.len() / 2);
                    continue;
                }
                Action::Remove(Some(member)) => match members.binary_search(&member) {
                    Ok(place) => {
                        members.remove(place);
                        continue;
                    }
                    Err(_) => format!("member {member} is not in the group (the first is 0)"),
                },
            };
            return Err(PlanError::Steps { index, problem });
        }
        if self.reported().next().is_none() {
            let problem = "nothing is measured; ask for create, add or remove".to_owned();
            return Err(PlanError::Steps { index: 0, problem });
        }
        Ok(())
    }

    fn validate_device(&self, device: &Device) -> Result<(), PlanError> {
        match device.costs(self.suite) {
            Some(_) => Ok(()),
            None => Err(self.without_figures(device)),
        }
    }

    fn without_figures(&self, device: &Device) -> PlanError {
        PlanError::Device {
            device: device.name.clone(),
            suite: self.suite,
            suites: device.suites().map(Suite::name).collect(),
        }
    }
}

impl Action {
    /// The operation that it is.
    pub const fn operation(self) -> Operation {
        match self {
            Self::Add => Operation::Add,
            Self::Create => Operation::Create,
            Self::Remove(_) => Operation::Remove,
        }
    }
}

/// `create`, `add`, `remove` or `remove 3`.
impl FromStr for Action {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["add"] => Ok(Self::Add),
            ["create"] => Ok(Self::Create),
            ["remove"] => Ok(Self::Remove(None)),
            ["remove", member] => match member.parse() {
                Ok(member) => Ok(Self::Remove(Some(member))),
                Err(_) => Err(format!("{member:?} is not a member's number; write remove 3")),
            },
            _ => Err(format!("{text:?} is not an operation; write create, add, remove or remove 3")),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation().name())?;
        match self {
            Self::Remove(Some(member)) => write!(f, " {member}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conditions(error) => error.fmt(f),
            Self::Device { device, suite, suites } => write!(
                f,
                "the device {device} has no figures for the suite {}; choose the suite {}, or \
                 another device",
                suite.name(),
                suites.join(" or "),
            ),
            Self::InFlight => write!(f, "no message may be in flight; give at least 1"),
            Self::Members { members, range: (least, most) } => {
                write!(f, "a group of {members} members cannot be; give {least} to {most}")
            }
            Self::Parameter { name, problem } => write!(f, "parameter {name}: {problem}"),
            Self::Qos(qos) => {
                write!(f, "MQTT has no quality of service {qos}; give 0, 1 or 2")
            }
            Self::Runs => write!(f, "nothing would be run; give at least 1 run"),
            Self::Steps { index, problem } => write!(f, "step {}: {problem}", index + 1),
            Self::Unsupported { scheme, operation, operations } => {
                let known: Vec<&str> = operations.iter().map(|known| known.name()).collect();
                write!(
                    f,
                    "{scheme} has no operation {}; it has {}",
                    operation.name(),
                    known.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for PlanError {}
