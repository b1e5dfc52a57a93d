//! What a candidate costs a group: figures from counts, prices and the model of completion times.

use groupkey::catalogue::Scheme;

use crate::choice::ChooseError;
use crate::completion::{ACKNOWLEDGEMENT, Completion, Model, Situation};
use crate::decision::{Assessment, Candidate, Figure, Ground, Quantity};
use crate::device::{DevicePrices, MESSAGE_HEADERS, MemberMemory, OnAir, RadioPrices};
use crate::evidence::{Estimate, Evidence, Load, ProtocolTraffic, Sample};
use crate::moment::Moment;
use crate::periods::ExpectedChanges;
use crate::registry;
use crate::requirements::{Devices, NetworkConditions, Requirements};
use crate::working_memory::{WorkingMemory, sends};

/// What a choice rests on.
#[derive(Clone, Copy, Debug)]
pub struct Grounds<'a> {
    /// Counts, and what the audit found.
    pub evidence: &'a Evidence,
    /// The model of completion times.
    pub model: &'a Model,
    /// What members take of memory.
    pub memories: &'a [MemberMemory],
}

/// The devices of a group, the member's with the radio that is named.
#[derive(Clone, Debug)]
pub(crate) struct GroupDevices {
    pub(crate) member: DevicePrices,
    pub(crate) gateway: DevicePrices,
    pub(crate) controller: DevicePrices,
}

impl GroupDevices {
    /// Looks them up.
    pub(crate) fn of(devices: &Devices) -> Result<Self, ChooseError> {
        let unknown = |field, kind, name: &str, known: Vec<String>| ChooseError::UnknownName {
            field,
            kind,
            name: name.to_owned(),
            known,
        };
        let device = |field, name: &str| {
            let prices = devices.prices(name).cloned();
            prices.ok_or_else(|| {
                let known = DevicePrices::shipped().iter().map(|device| device.name.clone());
                unknown(field, "device with prices", name, known.collect())
            })
        };
        let mut member = device("devices.member", &devices.member)?;
        if let Some(name) = &devices.radio {
            let radio = devices.radio_prices(name).cloned();
            member.radio = Some(radio.ok_or_else(|| {
                let known = RadioPrices::shipped().iter().map(|radio| radio.name.clone());
                unknown("devices.radio", "radio", name, known.collect())
            })?);
        }
        if member.active.is_none() {
            return Err(ChooseError::NoGround { field: "devices.member", why: NO_POWER });
        }
        Ok(Self {
            member,
            gateway: device("devices.gateway", &devices.gateway)?,
            controller: device("devices.controller", &devices.controller)?,
        })
    }
}

const NO_POWER: &str = "its profile has no power; give it [power.idle] and [power.active] \
                        (docs/devices.md), or take a board";

/// A change of the key, and how often it happens.
struct ChangeRate {
    sample: Estimate<Sample>,
    rate: f64,
}

/// A variant in a group of one size, whose network is not chosen yet.
pub(crate) struct Prospect<'a> {
    candidate: Candidate,
    scheme: &'static Scheme,
    changes: Vec<ChangeRate>,
    devices: &'a GroupDevices,
    model: &'a Model,
    /// Working memory where it is known, and program memory (bytes) where it was weighed.
    memory: (Option<WorkingMemory>, Option<f64>),
}

impl Grounds<'static> {
    /// Returns the grounds that come with the program.
    pub fn shipped() -> Self {
        Self {
            evidence: Evidence::shipped(),
            model: Model::shipped(),
            memories: MemberMemory::shipped(),
        }
    }
}

impl Grounds<'_> {
    /// Returns the operations by which a candidate follows the changes of a group of this many
    /// members, and how often each happens in a day. `None` if one of them was not counted.
    pub fn changes(
        &self,
        requirements: &Requirements,
        candidate: &Candidate,
        members: u32,
    ) -> Option<Vec<(String, f64)>> {
        let changes = changes(self, requirements, candidate, Moment::fresh(members))?;
        let told = changes.into_iter().map(|change| (change.sample.value.operation, change.rate));
        Some(told.collect())
    }
}

impl<'a> Prospect<'a> {
    /// Looks up what the variant does in a group at this moment. `None` if an operation that the
    /// group needs was not counted for it.
    pub(crate) fn new(
        grounds: &Grounds<'a>,
        devices: &'a GroupDevices,
        requirements: &Requirements,
        candidate: &Candidate,
        moment: Moment,
    ) -> Option<Self> {
        let scheme = registry::scheme(&candidate.variant.scheme)?;
        let changes = changes(grounds, requirements, candidate, moment)?;
        let sends =
            sends(&requirements.presence, changes.iter().map(|change| &change.sample.value));
        let mut memory = memory(grounds, &devices.member, candidate, moment.members, sends);
        if let Some(working) = &mut memory.0 {
            // It was counted in groups that nobody has left; a member has the message in memory.
            let fresh = Moment::fresh(moment.members);
            let before = self::changes(grounds, requirements, candidate, fresh)?;
            working.bytes.value += largest(&changes) - largest(&before);
        } else {
            let keys = changes.iter().map(|change| change.sample.value.busiest.keys);
            let beside = keys.fold(0.0, f64::max) + largest(&changes);
            memory.0 = WorkingMemory::of_signatures(&candidate.variant, sends, beside);
        }
        let (candidate, model) = (candidate.clone(), grounds.model);
        Some(Self { candidate, scheme, changes, devices, model, memory })
    }

    /// Returns the figures with this quality of service. `None` if a device has no price for
    /// something that the variant does.
    pub(crate) fn assess(&self, requirements: &Requirements, qos: u8) -> Option<Assessment> {
        let network = &requirements.network;
        let GroupDevices { member, gateway, controller } = &self.devices;
        let suite = &self.candidate.variant.suite;
        let (working, flash) = self.memory;
        let mut day = Day { working, flash, ..Day::default() };
        let mut error = 0.0_f64;
        // The radio wakes for changes that the busiest member takes part in.
        let wakes = self.changes.iter().filter(|change| change.sample.value.busiest.is_on_air());
        let wakes: f64 = wakes.map(|change| change.rate).sum::<f64>() / DAY;
        for ChangeRate { sample: Estimate { value: sample, is_extrapolated }, rate } in
            &self.changes
        {
            day.is_extrapolated |= is_extrapolated;
            let completion = self.model.completion(&Situation {
                class: self.scheme.class().name(),
                sample,
                suite,
                member,
                gateway,
                controller,
                network,
                qos,
            })?;
            day.complete(&completion, *rate);
            error = error.max(completion.error);
            let busiest = Exchange::of(&sample.busiest, member, network, qos);
            let energy = MemberEnergy::of(member, suite, &sample.busiest, &busiest, wakes)?;
            day.energy.add(*rate, &energy);
            day.sent += rate * busiest.sent.bytes;
            day.received += rate * busiest.received.bytes;
            day.keys = day.keys.max(sample.busiest.keys);
            day.largest = day.largest.max(f64::from(sample.largest));
            day.controller += rate * controller.time(suite, &sample.controller.uses)? / 1e6;
            let sent = Exchange::of(&sample.controller, controller, network, qos).sent;
            day.controller_sent += rate * sent.bytes;
        }
        let mut candidate = self.candidate.clone();
        candidate.qos = qos;
        let weights = &requirements.weights;
        let cost = weights.joule * day.energy.joule()
            + weights.second * day.waiting / 1e3
            + weights.kilobyte * (day.sent + day.received) / 1e3;
        Some(Assessment { candidate, cost, error, figures: day.figures() })
    }
}

/// Returns the largest message of these changes (bytes).
fn largest(changes: &[ChangeRate]) -> f64 {
    let largest = changes.iter().map(|change| change.sample.value.largest).max();
    f64::from(largest.unwrap_or_default())
}

/// Returns the working memory and the program memory of a candidate's member that sends, or of one that
/// does not, where they were counted.
fn memory(
    grounds: &Grounds<'_>,
    member: &DevicePrices,
    candidate: &Candidate,
    members: u32,
    sends: bool,
) -> (Option<WorkingMemory>, Option<f64>) {
    let of = |counts: &String| MemberMemory::of(grounds.memories, &candidate.variant, counts);
    let known = member.counts.as_ref().and_then(|counts| of(&counts.device));
    let working = known.and_then(|known| known.at(members, sends));
    (working.map(WorkingMemory::counted), known.and_then(|known| known.flash))
}

#[derive(Default)]
struct Day {
    changes: f64,
    /// Time that changes take (ms), and the ends of its interval.
    waiting: f64,
    waiting_between: (f64, f64),
    of_99: f64,
    of_99_between: (f64, f64),
    energy: MemberEnergy,
    sent: f64,
    received: f64,
    keys: f64,
    largest: f64,
    controller: f64,
    controller_sent: f64,
    is_extrapolated: bool,
    is_time_extrapolated: bool,
    working: Option<WorkingMemory>,
    flash: Option<f64>,
}

impl Day {
    fn complete(&mut self, completion: &Completion, rate: f64) {
        // Without changes, each kind counts once.
        let share = if rate > 0.0 { rate } else { f64::MIN_POSITIVE };
        self.changes += share;
        self.waiting += share * completion.mean;
        self.waiting_between.0 += share * completion.interval.0;
        self.waiting_between.1 += share * completion.interval.1;
        if completion.of_99 > self.of_99 {
            self.of_99 = completion.of_99;
            self.of_99_between = completion.interval_of_99;
        }
        self.is_time_extrapolated |= completion.is_extrapolated;
    }

    fn figures(&self) -> Vec<Figure> {
        let mean = |sum: f64| sum / self.changes;
        let figure = |quantity, value, interval, ground| Figure {
            quantity,
            value,
            interval,
            ground,
            is_extrapolated: self.is_extrapolated
                || (ground == Ground::Fitted && self.is_time_extrapolated),
        };
        let exact = |quantity, value, ground| figure(quantity, value, (value, value), ground);
        let (low, high) = self.waiting_between;
        let working = self.working.map(WorkingMemory::figure);
        let flash = self.flash.map(|value| Figure {
            is_extrapolated: false,
            ..exact(Quantity::Flash, value, Ground::Counted)
        });
        let figures = vec![
            figure(
                Quantity::Completion,
                mean(self.waiting),
                (mean(low), mean(high)),
                Ground::Fitted,
            ),
            figure(Quantity::CompletionOf99, self.of_99, self.of_99_between, Ground::Fitted),
            figure(Quantity::Energy, self.energy.joule(), self.energy.interval(), Ground::Modelled),
            exact(Quantity::Sent, self.sent, Ground::Counted),
            exact(Quantity::Received, self.received, Ground::Counted),
            exact(Quantity::Keys, self.keys, Ground::Counted),
        ];
        let others = [
            exact(Quantity::LargestMessage, self.largest, Ground::Counted),
            exact(Quantity::Controller, self.controller, Ground::Modelled),
            exact(Quantity::ControllerSent, self.controller_sent, Ground::Counted),
        ];
        figures.into_iter().chain(working).chain(flash).chain(others).collect()
    }
}

/// The energy that a member takes, each part with half the width of its interval (J). The parts'
/// errors do not depend on each other: a power, sending, receiving, and waking the radio.
#[derive(Clone, Copy, Debug, Default)]
struct MemberEnergy([(f64, f64); 4]);

impl MemberEnergy {
    /// Returns what a change takes with this load and this exchange, if the radio wakes so often a
    /// second. `None` if the device has no price for a primitive, or no power.
    fn of(
        device: &DevicePrices,
        suite: &str,
        load: &Load,
        exchange: &Exchange,
        wakes: f64,
    ) -> Option<Self> {
        let seconds = device.time(suite, &load.uses)? / 1e9;
        let (watt, error) = device.active?;
        let computation = (seconds * watt, seconds * error);
        let Some(radio) = &device.radio else { return Some(Self([computation, NONE, NONE, NONE])) };
        let Exchange { sent, received } = exchange;
        let part = |on_link: &OnLink, on_air: OnAir| {
            let joule = on_link.energy(on_air);
            (joule, joule * on_air.error)
        };
        let is_on_air = sent.packets + received.packets > 0.0;
        let waking = if is_on_air { radio.waking(wakes) } else { NONE };
        Some(Self([computation, part(sent, radio.send), part(received, radio.receive), waking]))
    }

    /// Adds so many times as much. The error of a part is the same each time.
    fn add(&mut self, times: f64, other: &Self) {
        for ((joule, error), (more, more_error)) in self.0.iter_mut().zip(other.0) {
            *joule += times * more;
            *error += times * more_error;
        }
    }

    fn joule(&self) -> f64 {
        self.0.iter().map(|(joule, _)| joule).sum()
    }

    /// The ends are the value if no source gives an error.
    fn interval(&self) -> (f64, f64) {
        let error = self.0.iter().map(|(_, error)| error.powi(2)).sum::<f64>().sqrt();
        ((self.joule() - error).max(0.0), self.joule() + error)
    }
}

const NONE: (f64, f64) = (0.0, 0.0);

const DAY: f64 = 86_400.0;

/// What a party sends and receives in an operation, headers of MQTT, TCP and IP and the
/// acknowledgements of MQTT included. Each is sent again as often as it is lost, on average.
struct Exchange {
    sent: OnLink,
    received: OnLink,
}

/// What passes a link in one direction.
#[derive(Clone, Copy)]
struct OnLink {
    packets: f64,
    bytes: f64,
}

impl Exchange {
    fn of(load: &Load, device: &DevicePrices, network: &NetworkConditions, qos: u8) -> Self {
        let sent = if network.multicast { load.sent } else { load.copies };
        // With QoS 1 the receiver acknowledges; with QoS 2 each end sends two packets.
        let (by_receiver, by_sender) =
            [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0)][usize::from(qos.min(2))];
        let again = 1.0 / (1.0 - network.loss / 100.0);
        let on_link = |traffic: ProtocolTraffic, of_own: f64, of_others: f64| {
            let acknowledgements = sent.messages * of_own + load.received.messages * of_others;
            let bytes = traffic.bytes + traffic.messages * MESSAGE_HEADERS;
            let mean = if traffic.messages > 0.0 { bytes / traffic.messages } else { 0.0 };
            let packets = traffic.messages * (mean / packet_of(device)).ceil();
            OnLink {
                packets: again * (packets + acknowledgements),
                bytes: again * (bytes + ACKNOWLEDGEMENT * acknowledgements),
            }
        };
        Self {
            sent: on_link(sent, by_sender, by_receiver),
            received: on_link(load.received, by_receiver, by_sender),
        }
    }
}

impl OnLink {
    fn energy(self, on_air: OnAir) -> f64 {
        on_air.energy(self.packets, self.bytes)
    }
}

/// Returns the longest payload of a device's packets (bytes).
fn packet_of(device: &DevicePrices) -> f64 {
    device.radio.as_ref().map_or(f64::INFINITY, |radio| radio.packet)
}

/// Members that join, and members that leave, in a counted batch.
const BATCH: f64 = 2.0;

/// Returns the operations that a group needs, and how often each happens in a day. A group in which
/// nothing changes may still change, so it needs them, too.
fn rates(requirements: &Requirements) -> Vec<(&'static str, f64)> {
    let members = &requirements.members;
    let rates = [("add", members.joins), ("remove", members.leaves), ("rekey", members.rekeys)];
    let mut rates: Vec<_> = rates
        .into_iter()
        .filter(|(_, hourly)| *hourly > 0.0)
        .map(|(what, hourly)| (what, hourly * 24.0))
        .collect();
    if rates.is_empty() {
        rates = vec![("add", 0.0), ("remove", 0.0)];
    }
    rates
}

/// Returns the changes of a group: several at once if the scheme has batches and they pay. `None` if
/// one of them was not counted.
fn changes(
    grounds: &Grounds<'_>,
    requirements: &Requirements,
    candidate: &Candidate,
    moment: Moment,
) -> Option<Vec<ChangeRate>> {
    in_batches(grounds, requirements, candidate, moment)
        .or_else(|| one_by_one(grounds, requirements, candidate, moment))
}

/// Returns the changes of a group whose members come and go one by one. `None` if one of them was
/// not counted.
fn one_by_one(
    grounds: &Grounds<'_>,
    requirements: &Requirements,
    candidate: &Candidate,
    moment: Moment,
) -> Option<Vec<ChangeRate>> {
    let change = |(operation, rate)| {
        // Of two members nobody leaves before a third has joined.
        let least = if operation == "remove" { 3 } else { 2 };
        let moment = Moment { members: moment.members.max(least), ..moment };
        let sample = grounds.evidence.counts(&candidate.variant, operation, moment)?;
        Some(ChangeRate { sample, rate })
    };
    rates(requirements).into_iter().map(change).collect()
}

/// Returns the changes of a group whose members come and go several at once, if the scheme has
/// batches and they pay.
fn in_batches(
    grounds: &Grounds<'_>,
    requirements: &Requirements,
    candidate: &Candidate,
    moment: Moment,
) -> Option<Vec<ChangeRate>> {
    let of = &requirements.members;
    let waited = ExpectedChanges::of(of).map_or(0.0, |expected| expected.members);
    if of.burst.max(waited) < 2.0 * BATCH || of.joins == 0.0 || of.leaves == 0.0 {
        return None;
    }
    let counts = |operation| grounds.evidence.counts(&candidate.variant, operation, moment);
    let batches = (of.joins + of.leaves) * 24.0 / (2.0 * BATCH);
    let mut changes = vec![ChangeRate { sample: counts("batch")?, rate: batches }];
    if of.rekeys > 0.0 {
        changes.push(ChangeRate { sample: counts("rekey")?, rate: of.rekeys * 24.0 });
    }
    Some(changes)
}
