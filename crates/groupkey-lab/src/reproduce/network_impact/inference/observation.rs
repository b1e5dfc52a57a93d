//! What the study tells of single settings, and the runs that say what a test bed makes of it.

use std::sync::Arc;

use groupkey::Operation;
use groupkey::Suite;
use groupkey::catalogue::{self, Profile};
use groupkey::protection::Guard;

use super::super::schemes::GDH;
use super::super::{CONTROLLER, MEMBER, built_in};
use super::bed::{Devices, Reported, TestBed};
use crate::campaign::{CampaignError, run_on};
use crate::plan::{Plan, Step};
use crate::published::{self, Value};
use crate::report::Quantity;
use crate::results::RunSample;
use crate::statistics::Moments;

/// A value of the study that counts for a test bed.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    /// The value's name.
    pub(super) key: String,
    pub(super) scheme: &'static str,
    pub(super) members: u32,
    pub(super) loss_percent: f64,
    pub(super) delay_ms: f64,
    pub(super) quantity: Quantity,
    /// The study's figure, ms, and how far it may be off by the way in which it is told.
    pub(super) value: f64,
    pub(super) vague: f64,
    /// Whether a figure of the devices was solved for it.
    pub(super) calibrated: bool,
}

/// Returns what counts. A total and a share follow from a transmission and a computation that no
/// test bed changes, so they do not count a second time.
pub(super) fn observations() -> Vec<Observation> {
    let values = published::network_impact().values();
    let counts = |value: &Value| match value.quantity {
        Quantity::Transmission => true,
        Quantity::Total => value.scheme != "gdh",
        Quantity::TransmissionShare => false,
    };
    let told = values.into_iter().filter(counts).map(|value| Observation {
        scheme: if value.scheme == "gdh" { GDH } else { "skdc" },
        members: value.members,
        loss_percent: value.loss_percent,
        delay_ms: value.delay_ms,
        quantity: value.quantity,
        value: value.value,
        vague: 0.0,
        calibrated: super::super::CALIBRATED.contains(&value.key.as_str()),
        key: value.key,
    });
    told.chain([nearly_60_s()]).collect()
}

/// S000, section 5.4.1, of G-DH creation: a medium delay combined with extensive packet loss
/// causes a runtime of nearly 60 s.
fn nearly_60_s() -> Observation {
    Observation {
        key: "gdh_create_total_n20_loss10_delay100 (nearly 60 s)".to_owned(),
        scheme: GDH,
        members: 20,
        loss_percent: 10.0,
        delay_ms: 100.0,
        quantity: Quantity::Total,
        value: 57_500.0,
        vague: 2_500.0,
        calibrated: false,
    }
}

impl Observation {
    /// Returns the plan of its setting: one creation.
    pub(super) fn plan(&self, seed: u64) -> Plan {
        plan(self.scheme, self.members, &[Operation::Create], seed)
    }

    /// Returns what the run says of the observed quantity, ms.
    pub(super) fn of(&self, sample: &RunSample, reported: Reported) -> f64 {
        match (self.quantity, reported) {
            (Quantity::Transmission, _) => sample.transmission_ms,
            (_, Reported::MeanOfMembers) if self.scheme != GDH => sample.member_mean_ms,
            _ => sample.total_ms,
        }
    }

    /// Runs the setting once on a test bed.
    pub(super) fn run(
        &self,
        bed: &TestBed,
        devices: &Devices,
        plan: &Plan,
        run: u32,
    ) -> Result<f64, CampaignError> {
        let samples = run_once(bed, devices, plan, self.loss_percent, self.delay_ms, run)?;
        Ok(self.of(&samples[0], bed.reported))
    }

    /// Returns the logarithm of the likelihood of the value, given what a test bed made of the
    /// setting. The study's figure is a mean of 30 runs, the test bed's one of its own runs, and
    /// the simulator may be off by a tenth.
    pub(super) fn log_likelihood(&self, found: &Moments) -> f64 {
        let study = found.variance / f64::from(published::network_impact().setup.repetitions);
        let ours = found.variance / found.n.max(1.0);
        let model = (SIMULATOR_ERROR * found.mean).powi(2);
        let variance = study + ours + model + self.vague.powi(2);
        let error = self.value - found.mean;
        -0.5 * (error * error / variance + (2.0 * std::f64::consts::PI * variance).ln())
    }
}

/// Runs a plan once on a test bed, with its own losses and delays.
pub(super) fn run_once(
    bed: &TestBed,
    devices: &Devices,
    plan: &Plan,
    loss_percent: f64,
    delay_ms: f64,
    run: u32,
) -> Result<Vec<RunSample>, CampaignError> {
    let has_controller = plan.scheme.has_controller();
    let seed = plan.run_seed(run) ^ (loss_percent.to_bits() ^ delay_ms.to_bits().rotate_left(32));
    let network = bed.network(devices, loss_percent, delay_ms, has_controller, seed);
    run_on(plan, run, network)
}

/// Returns a plan of the study with these operations, in a perfect network of its own.
pub(super) fn plan(id: &str, members: u32, operations: &[Operation], seed: u64) -> Plan {
    let scheme = catalogue::scheme(id).expect("the catalogue has the study's schemes");
    Plan {
        profile: Profile::Published,
        suite: Suite::Published,
        protection: Guard::Mac,
        steps: Step::history(scheme, operations),
        device: Arc::new(built_in(MEMBER)),
        controller_device: Arc::new(built_in(CONTROLLER)),
        runs: 1,
        seed,
        ..Plan::new(scheme, members)
    }
}

/// How far the simulator may be from a real kernel (docs/network.md, docs/validation.md).
const SIMULATOR_ERROR: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_independent_value_counts_once() {
        let keys: Vec<String> = observations().into_iter().map(|seen| seen.key).collect();
        assert_eq!(keys.len(), 7);
        assert!(!keys.iter().any(|key| key.contains("total") && !key.contains("nearly")));
    }

    #[test]
    fn a_value_is_most_likely_where_it_is_predicted() {
        let seen = &observations()[0];
        let at = |ratio: f64| {
            let mean = seen.value * ratio;
            let found = Moments { n: 30.0, mean, variance: (0.2 * seen.value).powi(2) };
            seen.log_likelihood(&found)
        };
        assert!(at(1.0) > at(1.2) && at(1.2) > at(1.5));
        assert!(at(1.0) > at(0.8) && at(0.8) > at(0.5));
    }
}
