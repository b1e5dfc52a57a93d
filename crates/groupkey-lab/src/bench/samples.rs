//! The samples of one activity: those of each part over the repetitions, and their rows.

use std::collections::{BTreeMap, BTreeSet};

use groupkey::crypto::meter::{Meter, Primitive};
use groupkey::{PartyId, Suite};

use super::role_party::{RolePart, parts};
use super::rounds::independent;
use super::state::{Circumstances, PartyShare, PhaseRecord, Work};
use super::{
    Activity, BenchError, BenchPlan, BenchRow, CountedPrimitive, HostPrices, Phase, Warning,
};
use crate::device::DeviceProfile;
use crate::results::told_parameters;
use crate::statistics::Summary;

/// The record of all repetitions of one activity.
pub(crate) struct ActivitySamples<'p> {
    plan: &'p BenchPlan,
    members: u32,
    activity: Activity,
    series: Vec<PartSamples>,
}

struct PartSamples {
    phase: Phase,
    part: RolePart,
    /// The work, which is the same in every repetition.
    work: Work,
    /// Times (ns), in the order in which they were taken.
    samples: Vec<u64>,
}

impl<'p> ActivitySamples<'p> {
    /// Returns no samples yet. A first repetition decides which party plays which part.
    pub(crate) fn new(
        plan: &'p BenchPlan,
        members: u32,
        activity: Activity,
        first: &[PhaseRecord],
    ) -> Self {
        let effort = effort(plan.suite);
        let own = first.iter().filter(|episode| episode.activity == activity);
        let series = own.flat_map(|episode| {
            let parts = parts(plan.scheme.class(), members, episode, &effort);
            parts.into_iter().map(|part| PartSamples {
                phase: episode.phase,
                part,
                work: episode.shares[&part.party].work,
                samples: Vec::with_capacity(plan.repetitions as usize),
            })
        });
        Self { plan, members, activity, series: series.collect() }
    }

    pub(crate) fn parties(&self) -> BTreeSet<PartyId> {
        self.series.iter().map(|series| series.part.party).collect()
    }

    /// Records another repetition. Every party must have done the same work as in the first.
    pub(crate) fn take(&mut self, episodes: &[PhaseRecord]) -> Result<(), BenchError> {
        for PartSamples { phase, part, work, samples } in &mut self.series {
            let episode = episodes
                .iter()
                .find(|episode| episode.activity == self.activity && episode.phase == *phase);
            match episode.and_then(|episode| episode.shares.get(&part.party)) {
                Some(share) if share.work == *work => samples.push(share.nanoseconds),
                _ => return Err(BenchError::Unsteady(part.party)),
            }
        }
        Ok(())
    }

    /// Returns the rows. Measures the prices of primitives that have not occurred before.
    pub(crate) fn rows(
        &self,
        circumstances: Circumstances,
        prices: &mut HostPrices,
    ) -> Vec<BenchRow> {
        self.series.iter().map(|series| self.row(series, circumstances, prices)).collect()
    }

    fn row(
        &self,
        series: &PartSamples,
        circumstances: Circumstances,
        prices: &mut HostPrices,
    ) -> BenchRow {
        let Self { plan, members, activity, .. } = self;
        let BenchPlan { workload, scheme, profile, parameters, suite, protection, device, .. } =
            plan;
        let PartSamples { phase, part, work, samples } = series;
        prices.learn(*suite, &work.meter);
        let counted_ns = prices.cost(*suite, &work.meter);
        let times: Vec<f64> = samples.iter().map(|&ns| ns as f64).collect();
        let summary = Summary::of(&times);
        let warnings = Warning::of_samples(&times, circumstances.clock).into_iter();
        let traffic = work.traffic();
        let radio = device.as_ref().and_then(|device| device.radio.as_ref());
        let device_ns = |device: &DeviceProfile| device.time_ns(*suite, &work.meter, &work.handled);
        BenchRow {
            scheme: scheme.id.to_owned(),
            profile: profile.name().to_owned(),
            parameters: told_parameters(parameters),
            suite: suite.name().to_owned(),
            security_bits: circumstances.security_bits,
            class: scheme.class().name().to_owned(),
            provenance: scheme.provenance.name().to_owned(),
            protection: protection.name().to_owned(),
            workload: workload.clone(),
            operation: activity.name().to_owned(),
            role: part.role.name().to_owned(),
            phase: phase.name().to_owned(),
            members: *members,
            subgroups: circumstances.subgroups,
            message_bytes: activity.operation().is_none().then_some(plan.message_bytes),
            nonces: activity.operation().is_none().then(|| plan.nonces.name().to_owned()),
            repetitions: samples.len() as u32,
            seed: plan.seed,
            clock: circumstances.clock.clock.name().to_owned(),
            mean_ns: summary.mean,
            ci95_ns: Summary::of(&independent(&times)).ci95,
            sd_ns: summary.sd,
            p50_ns: summary.p50,
            p90_ns: summary.p90,
            p99_ns: summary.p99,
            counted_ns,
            measured_over_counted: (counted_ns > 0.0).then(|| summary.min / counted_ns),
            primitives: counts(&work.meter),
            permanent_bytes: work.permanent,
            temporary_bytes: work.temporary,
            messages: traffic.messages,
            payload_bytes: traffic.payload_bytes,
            wire_bytes: traffic.wire_bytes,
            unicast: work.unicast,
            multicast: work.multicast,
            broadcast: work.broadcast,
            device: device.as_ref().map(|device| device.name.clone()),
            device_ns: device.as_deref().and_then(device_ns),
            device_joule: device
                .as_ref()
                .and_then(|device| device.energy(*suite, &work.meter).map(|energy| energy.gross)),
            radio: radio.map(|radio| radio.name.clone()),
            radio_joule: radio.map(|radio| radio.energy(&work.handled)),
            samples_ns: samples.clone(),
            warnings: warnings.map(|warning| warning.to_string()).collect(),
        }
    }
}

/// Returns how much work a share is. The prices come from a file, so they do not depend on the
/// machine.
pub(super) fn effort(suite: Suite) -> impl Fn(&PartyShare) -> u64 {
    let host = DeviceProfile::named("host").expect("it is built in");
    move |share: &PartyShare| match host.costs(suite) {
        Some(costs) => costs.computation(&share.work.meter),
        None => share.work.meter.exponentiations(),
    }
}

pub(super) fn counts(meter: &Meter) -> BTreeMap<String, CountedPrimitive> {
    let counted = Primitive::ALL.into_iter().map(|primitive| (primitive, meter.tally(primitive)));
    counted
        .filter(|(_, tally)| tally.calls > 0)
        .map(|(primitive, tally)| {
            let count = CountedPrimitive { calls: tally.calls as f64, amount: tally.amount as f64 };
            (primitive.name().to_owned(), count)
        })
        .collect()
}
