//! Groups of plans through a real broker, and the resulting rows.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use groupkey_lab::campaign::{self, CampaignError, CampaignOutcome, Progress};
use groupkey_lab::plan::Plan;
use groupkey_lab::results::NetworkRow;
use groupkey_sim::Qos;
use groupkey_sim::group::GroupError;
use groupkey_testbed::study::{LiveNetwork, StudySettings};
use serde::Serialize;
use serde_json::Value;

use crate::address::HostAndPort;
use crate::commands::impaired_broker::{
    Emulation, EmulatorWatch, FirewalledBroker, ImpairedBroker, link,
};
use crate::failure::Failure;
use crate::interruption;
use crate::progress::ProgressBar;

/// Most members of a live group: each has a connection, and all share this machine.
pub(crate) const MOST_LIVE_MEMBERS: u32 = 1_000;

/// A broker for live groups, and the emulator before it.
#[derive(Debug)]
pub(crate) struct LiveBroker {
    name: String,
    address: SocketAddr,
    between: Between,
}

/// What is between clients and broker.
#[derive(Debug)]
enum Between {
    /// The emulator, and the congestion control of its links.
    Emulator(ImpairedBroker, String),
    /// A packet filter in each client.
    Firewall(FirewalledBroker),
    Nothing,
}

/// A measured row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LiveRow {
    live: bool,
    broker: String,
    /// As the simulator's. A value that was not counted is NaN, which is written as null.
    #[serde(flatten)]
    pub(crate) network: NetworkRow,
    /// Absent without an emulator.
    #[serde(flatten)]
    pub(crate) emulated: Option<Emulated>,
}

/// The emulated network before the broker.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Emulated {
    /// The congestion control of the links.
    pub(crate) congestion: String,
    /// Over all runs of the row's group, and all its operations.
    #[serde(flatten)]
    pub(crate) emulation: Emulation,
}

impl LiveBroker {
    /// Starts a Mosquitto behind the emulator.
    pub(crate) fn mosquitto(seed: u64, congestion: &str) -> Result<Self, Failure> {
        let impaired = ImpairedBroker::mosquitto(seed, congestion)?;
        Ok(Self::behind(impaired, "Mosquitto".to_owned(), congestion))
    }

    /// Starts a Mosquitto whose clients drop packets themselves.
    pub(crate) fn firewalled() -> Result<Self, Failure> {
        let broker = FirewalledBroker::start()?;
        let (name, address) = ("Mosquitto".to_owned(), broker.address().into());
        Ok(Self { name, address, between: Between::Firewall(broker) })
    }

    /// Takes an existing broker, with the emulator before it if the plans have loss or delay.
    pub(crate) fn elsewhere(
        broker: &HostAndPort,
        plans: &[Plan],
        seed: u64,
        congestion: &str,
    ) -> Result<Self, Failure> {
        let (name, address) = (broker.to_string(), broker.reach()?);
        let is_perfect = |plan: &Plan| {
            (plan.link.initial.loss_percent, plan.link.initial.delay_ms) == (0.0, 0.0)
        };
        if plans.iter().all(is_perfect) {
            return Ok(Self { name, address, between: Between::Nothing });
        }
        let impaired = ImpairedBroker::elsewhere(address, seed, congestion)?;
        Ok(Self::behind(impaired, name, congestion))
    }

    /// Runs the plans one after the other and hands over each row as it is done.
    pub(crate) fn run(
        &self,
        plans: &[Plan],
        mut on_row: impl FnMut(LiveRow) -> io::Result<()>,
    ) -> Result<CampaignOutcome, Failure> {
        let bar = ProgressBar::new();
        let stop = interruption::requested();
        let (mut runs_done, plans_total) = (0, plans.len());
        let runs_total = plans.iter().map(|plan| plan.runs as usize).sum();
        for (plans_done, plan) in plans.iter().enumerate() {
            let watch = self.watch();
            let qos = plan.quality_of_service().map_err(|error| {
                failure(CampaignError::Plan { plan: plan.description(), error })
            })?;
            let mut runs = Vec::new();
            for run in 0..plan.runs {
                let network = LiveNetwork::new(self.settings(plan, qos))
                    .map_err(|error| Failure::running(format!("no event queue: {error}")))?;
                let outcome = campaign::run_on(plan, run, network);
                // Ctrl-C also ends our own Mosquitto, and with it the run.
                if stop.load(Ordering::Relaxed) {
                    return Ok(CampaignOutcome::Interrupted {
                        done: plans_done,
                        total: plans_total,
                    });
                }
                runs.push(outcome.map_err(failure)?);
                runs_done += 1;
                bar.update(Progress { runs_done, runs_total, plans_done, plans_total });
            }
            let emulated = self.emulated(watch);
            for row in campaign::rows(plan, &runs) {
                on_row(self.row(row, emulated.clone())).map_err(CampaignError::Sink)?;
            }
        }
        Ok(CampaignOutcome::Finished)
    }

    /// Describes the broker and the network before it.
    pub(crate) fn description(&self) -> String {
        let name = &self.name;
        match &self.between {
            Between::Emulator(_, congestion) => {
                format!("{name} behind the emulator, TCP with {congestion}")
            }
            Between::Firewall(_) => {
                format!("{name}, whose clients drop packets by their own rules (nft), in and out")
            }
            Between::Nothing => format!("{name}, with nothing in between"),
        }
    }

    fn watch(&self) -> Option<EmulatorWatch<'_>> {
        match &self.between {
            Between::Emulator(broker, _) => Some(broker.watch()),
            Between::Firewall(_) | Between::Nothing => None,
        }
    }

    fn behind(impaired: ImpairedBroker, name: String, congestion: &str) -> Self {
        let address = impaired.address().into();
        Self { name, address, between: Between::Emulator(impaired, congestion.to_owned()) }
    }

    fn settings(&self, plan: &Plan, qos: Qos) -> StudySettings<'_> {
        let link = link(&plan.link.initial);
        StudySettings {
            broker: self.address,
            qos,
            hand_over: plan.hand_over,
            impaired: match &self.between {
                Between::Emulator(broker, _) => Some((broker.emulator(), link)),
                Between::Firewall(broker) => Some((broker.firewall(), link)),
                Between::Nothing => None,
            },
        }
    }

    fn emulated(&self, watch: Option<EmulatorWatch<'_>>) -> Option<Emulated> {
        let Between::Emulator(_, congestion) = &self.between else { return None };
        Some(Emulated { congestion: congestion.clone(), emulation: watch?.end() })
    }

    fn row(&self, mut network: NetworkRow, emulated: Option<Emulated>) -> LiveRow {
        if emulated.is_none() {
            (network.wire_bytes, network.retransmissions) = (f64::NAN, f64::NAN);
        }
        LiveRow { live: true, broker: self.name.clone(), network, emulated }
    }
}

impl LiveRow {
    /// Returns what the emulator did, if there was one.
    pub(crate) fn emulation(&self) -> Option<&Emulation> {
        self.emulated.as_ref().map(|emulated| &emulated.emulation)
    }

    /// Returns the row as it is printed, with its runs or without.
    pub(crate) fn object(&self, with_samples: bool) -> Value {
        let mut row = serde_json::to_value(self).expect("a row is plain data");
        if !with_samples {
            row.as_object_mut().expect("a row has fields").remove("samples");
        } else if self.emulated.is_none() {
            for sample in row["samples"].as_array_mut().into_iter().flatten() {
                (sample["wire_bytes"], sample["retransmissions"]) = (Value::Null, Value::Null);
            }
        }
        row
    }
}

fn failure(error: CampaignError) -> Failure {
    let told = error.to_string();
    match error {
        CampaignError::Run { error: GroupError::Broken(_), .. } => Failure::running(told).with_help(
            "every party has a connection of its own: are that many allowed (ulimit -n), here and \
             at the broker, without a password?",
        ),
        error => error.into(),
    }
}
