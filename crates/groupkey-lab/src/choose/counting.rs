//! Counts what an operation takes: a whole group runs, and its messages arrive in waves.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use groupkey::crypto::meter::Primitive;
use groupkey::protection::Guard;
use groupkey::{MemberId, Operation, PartyId, Suite};
use groupkey_choose::Moment;
use groupkey_choose::evidence::{Load, ProtocolTraffic, Sample, Uses};
use groupkey_sim::group::{
    GroupError, GroupSettings, OperationResult, Rest, SimulatedGroup, Station,
};
use groupkey_sim::{Duration, LinkProfile, LinkSettings, NetworkConfig, Processing};

use super::variants::CountedScheme;
use super::wave_carrier::{CountedWork, Waves};
use crate::device::DeviceProfile;
use crate::plan::{BATCH, turn_over};

/// The operations that are counted, each in a group of its own. The creation of the first one's
/// group is counted, too.
pub(super) const OPERATIONS: [Operation; 4] =
    [Operation::Add, Operation::Remove, Operation::Rekey, Operation::Batch];

/// Counts an operation of a group at a moment of its life, after its creation if that is wanted,
/// too. Nothing of what cannot be at this size is counted.
pub(super) fn count(
    subject: &CountedScheme,
    operation: Operation,
    with_creation: bool,
    moment: Moment,
    guard: Guard,
    seed: u64,
) -> Result<Vec<Sample>, GroupError> {
    let mut samples = Vec::new();
    let Moment { members, departed } = moment;
    let fits = match operation {
        Operation::Add => members < subject.scheme.members.1,
        Operation::Remove => members > subject.scheme.members.0.max(2),
        Operation::Batch => members > 2 * BATCH,
        _ => true,
    };
    let fits = fits && subject.scheme.operations.contains(&operation);
    let is_creation = operation == Operation::Create;
    if !fits && !with_creation {
        return Ok(samples);
    }
    let mut group =
        SimulatedGroup::on(Waves::new(effort(subject.suite)), settings(subject, guard, seed));
    group.create(members)?;
    if with_creation || is_creation {
        samples.push(sample(&group, Operation::Create, Moment::fresh(members)));
    }
    if !fits || is_creation {
        return Ok(samples);
    }
    if departed > 0 {
        turn_over(subject.scheme, departed, &mut group)?;
    }
    group.carrier_mut().forget();
    match perform(&mut group, operation) {
        Ok(_) => samples.push(sample(&group, operation, moment)),
        // The scheme has no place for what it was asked for.
        Err(GroupError::Refused(_, groupkey::Error::Unsupported(_))) => {}
        Err(error) => return Err(error),
    }
    Ok(samples)
}

fn perform(
    group: &mut SimulatedGroup<Waves>,
    operation: Operation,
) -> Result<OperationResult, GroupError> {
    match operation {
        Operation::Add => group.add(),
        Operation::Remove => group.remove(None),
        Operation::Batch => {
            let leaving = group.members_in_the_middle(BATCH as usize);
            group.batch(BATCH, &leaving)
        }
        _ => group.rekey(),
    }
}

/// Returns what the group's last operation took, since the carrier forgot what was before.
pub(super) fn sample(
    group: &SimulatedGroup<Waves>,
    operation: Operation,
    Moment { members, departed }: Moment,
) -> Sample {
    // Who joins now has a later number than all that joined before.
    let next = members.saturating_add(departed);
    let waves = group.carrier();
    let kept: BTreeMap<PartyId, usize> =
        group.footprints().map(|(party, footprint)| (party, footprint.permanent)).collect();
    let mut loads = (Average::default(), Most::default(), Load::default(), Most::default());
    for (place, party) in waves.parties().iter().enumerate() {
        // A member that has left keeps nothing.
        let Some(keys) = kept.get(party) else { continue };
        let (mut load, effort) = waves.load(place);
        load.keys = *keys as f64;
        match party {
            PartyId::Controller => {
                without_protection(&mut load);
                loads.2 = load;
            }
            PartyId::SubgroupController(_) => loads.3.take(&load, effort),
            PartyId::Member(MemberId(member)) if *member < next => {
                loads.1.take(&load, effort);
                without_protection(&mut load);
                loads.0.take(&load);
            }
            PartyId::Member(_) => {}
        }
    }
    Sample {
        operation: operation.name().to_owned(),
        members,
        member: loads.0.mean(),
        busiest: loads.1.load,
        controller: loads.2,
        gateway: loads.3.load,
        stages: waves.stages(),
        finish: waves.finish(),
        largest: waves.largest(),
    }
}

fn without_protection(load: &mut Load) {
    for open in [Uses::SEND, Uses::RECEIVE] {
        load.uses.0.remove(open);
    }
}

#[derive(Default)]
struct Average {
    count: f64,
    sum: Load,
}

#[derive(Default)]
struct Most {
    effort: u64,
    load: Load,
}

impl Average {
    fn take(&mut self, load: &Load) {
        self.count += 1.0;
        for (primitive, count) in &load.uses.0 {
            let sum = self.sum.uses.0.entry(primitive.clone()).or_default();
            sum.calls += count.calls;
            sum.amount += count.amount;
        }
        let add = |sum: &mut ProtocolTraffic, traffic: &ProtocolTraffic| {
            sum.messages += traffic.messages;
            sum.bytes += traffic.bytes;
        };
        add(&mut self.sum.sent, &load.sent);
        add(&mut self.sum.received, &load.received);
        add(&mut self.sum.copies, &load.copies);
        self.sum.keys += load.keys;
    }

    fn mean(mut self) -> Load {
        let count = self.count.max(1.0);
        for sum in self.sum.uses.0.values_mut() {
            sum.calls /= count;
            sum.amount /= count;
        }
        for sum in [&mut self.sum.sent, &mut self.sum.received, &mut self.sum.copies] {
            sum.messages /= count;
            sum.bytes /= count;
        }
        self.sum.keys /= count;
        self.sum
    }
}

impl Most {
    fn take(&mut self, load: &Load, effort: u64) {
        if effort > self.effort || self.load.uses.0.is_empty() {
            self.effort = effort;
            self.load.uses = load.uses.clone();
        }
        let most = |most: &mut ProtocolTraffic, traffic: &ProtocolTraffic| {
            most.messages = most.messages.max(traffic.messages);
            most.bytes = most.bytes.max(traffic.bytes);
        };
        most(&mut self.load.sent, &load.sent);
        most(&mut self.load.received, &load.received);
        most(&mut self.load.copies, &load.copies);
        self.load.keys = self.load.keys.max(load.keys);
    }
}

fn settings(subject: &CountedScheme, guard: Guard, seed: u64) -> GroupSettings {
    let link = LinkProfile::constant(LinkSettings::default());
    let station = Station {
        up: link.clone(),
        down: link,
        outages: None,
        processing: Processing::default(),
        computation: Arc::new(|_| 0),
    };
    GroupSettings {
        configuration: subject.configuration(),
        suite: subject.suite,
        protection: guard,
        seed,
        network: NetworkConfig::default(),
        controller: station.clone(),
        member: station.clone(),
        subgroup_controller: station,
        subgroup_exceptions: Vec::new(),
        exceptions: Vec::new(),
        request_bytes: None,
        rest: Rest::Idle(Duration::ZERO),
    }
}

/// Returns how parties are ordered by their work: the time on a Cortex-M4, messages signed.
pub(super) fn effort(suite: Suite) -> fn(&CountedWork) -> u64 {
    match suite {
        Suite::Constrained => |work| time(Suite::Constrained, work),
        _ => |work| time(Suite::Standard, work),
    }
}

fn time(suite: Suite, work: &CountedWork) -> u64 {
    static DEVICE: LazyLock<DeviceProfile> =
        LazyLock::new(|| DeviceProfile::named("cortex-m4").expect("it is built in"));
    let costs = DEVICE.costs(suite).expect("it has figures of all suites");
    let (sign, verify) = (costs.of(Primitive::Sign), costs.of(Primitive::Verify));
    costs.computation(&work.meter)
        + work.sent.messages * sign.per_call_ns as u64
        + work.received.messages * verify.per_call_ns as u64
}
