//! A change of a plan's group as a flow of messages, which goes over the simulated network again
//! and again without computing any key.
//!
//! A flow is recorded from a group that ran. When it is replayed, a party takes a step as soon as it
//! has the messages that it had when it took the step in the recording. The step takes as long as
//! its primitives do on the party's device. So a thousand changes of a large group take seconds.
//!
//! The replays are of a settled group, with the plan's stations and the seeds of its runs. So they
//! take as long, to the nanosecond, as those of [`campaign::run`](crate::campaign::run), unless what
//! a party does depends on which of two senders it hears first.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use groupkey::crypto::meter::{Meter, Primitive, Probe};
use groupkey::protection::Guard;
use groupkey::{Operation, PartyId};
use groupkey_choose::evidence::GuardCost;
use groupkey_sim::group::{
    GroupError, GroupSettings, SimulatedGroup, Station, seed_of_operation, topic_bytes,
};
use groupkey_sim::{ClientId, Duration, MessageId, Network, NetworkEvent, Time, Topic};

use super::counting::effort;
use super::late_receivers::LateReceivers;
use super::wave_carrier::{RecordedMessage, RecordedStep, StepRecord, Waves};
use crate::campaign::perform;
use crate::plan::{Plan, PlanError};

/// A change's steps and messages.
pub(super) struct MessageFlow {
    /// Its number among the operations of the group, of which the creation is 1.
    operation: u64,
    parties: Vec<PartyId>,
    pub(super) steps: Vec<FlowStep>,
    pub(super) messages: Vec<RecordedMessage>,
    /// For each party, the messages that it waits for, in their order.
    pub(super) arrivals: Vec<Vec<u32>>,
}

pub(super) struct FlowStep {
    pub(super) place: u32,
    pub(super) after: u32,
    meter: Meter,
    pub(super) messages: Range<u32>,
    brings_key: bool,
}

/// Why there is no flow.
pub(super) enum NoFlow {
    /// The plan cannot be run.
    Plan(PlanError),
    /// A step of its group failed.
    Group(GroupError),
}

impl MessageFlow {
    /// Records the steps of the plan that are reported, in their order. `count` is told what each of
    /// them took, without the protection of messages.
    ///
    /// The group runs without protection, which adds a known tag and primitive to each message
    /// ([`GuardCost`]): to sign the messages of a large group's creation takes longer than all else.
    pub(super) fn record(
        plan: &Plan,
        count: &mut dyn FnMut(&SimulatedGroup<Waves>, Operation),
    ) -> Result<Vec<Self>, NoFlow> {
        plan.validate().map_err(NoFlow::Plan)?;
        let open = Plan { protection: Guard::None, ..plan.clone() };
        let waves = Waves::new(effort(plan.suite));
        let mut group = SimulatedGroup::on(waves, without_time(settings(&open)?));
        let mut flows = Vec::new();
        for (place, step) in plan.steps.iter().enumerate() {
            group.carrier_mut().forget();
            if step.reported {
                group.carrier_mut().record();
            }
            perform(&open, step.action, &mut group).map_err(NoFlow::Group)?;
            if step.reported {
                count(&group, step.action.operation());
                let record = group.carrier_mut().take_record();
                let parties = group.carrier().parties().to_vec();
                let before = plan.changes_before(place);
                let protection = GuardCost::named(plan.suite.name(), plan.protection.name());
                flows.push(Self::of(record, parties, before, protection));
            }
        }
        Ok(flows)
    }

    /// Makes a flow of what was recorded of the step after so many changes, and protects its messages.
    fn of(
        mut record: StepRecord,
        parties: Vec<PartyId>,
        before: u64,
        cost: Option<GuardCost>,
    ) -> Self {
        let primitive = |name: &str| Primitive::ALL.into_iter().find(|one| one.name() == name);
        let [sign, verify] = cost.map_or([None; 2], |cost| cost.primitives.map(primitive));
        let steps = record.steps.into_iter().map(|step| {
            let RecordedStep { place, after, work, messages, brings_key } = step;
            let mut meter = work.meter;
            if let Some(sign) = sign {
                for message in messages.clone() {
                    meter.record(sign, record.messages[message as usize].bytes as usize);
                }
            }
            if let Some(verify) = verify.filter(|_| work.received.messages > 0) {
                meter.record(verify, work.received.bytes as usize);
            }
            FlowStep { place, after, meter, messages, brings_key }
        });
        let steps = steps.collect();
        for message in &mut record.messages {
            message.bytes += cost.map_or(0, |cost| cost.tag as u32);
        }
        let mut arrivals = record.arrivals;
        arrivals.resize(parties.len(), Vec::new());
        let operation = before + 1;
        Self { operation, parties, steps, messages: record.messages, arrivals }
    }

    /// Returns how many messages a replay of the whole group hands over.
    pub(super) fn deliveries(&self) -> u64 {
        self.messages.iter().map(|message| message.hearers.len() as u64).sum()
    }

    /// Returns how many messages a run of the plan hands over, on average: what its time goes with.
    pub(super) fn deliveries_of_a_run(&self, plan: &Plan) -> Result<u64, NoFlow> {
        let settings = settings(plan)?;
        let stations = self.stations(&settings);
        let prepared = self.prepared(plan, &stations);
        let late = LateReceivers::of(&prepared, &settings, &stations);
        Ok(late.map_or_else(|| self.deliveries(), |late| late.deliveries()))
    }

    /// Replays the flow in these runs of the plan, and returns the times until the last member has
    /// the key (ms). A time is infinite if a connection broke. The plan has the schemes, parameters,
    /// members, suite, protection and steps of the recording.
    pub(super) fn replay(&self, plan: &Plan, runs: Range<u32>) -> Result<Vec<f64>, NoFlow> {
        let settings = settings(plan)?;
        let stations = self.stations(&settings);
        let prepared = self.prepared(plan, &stations);
        let late = LateReceivers::of(&prepared, &settings, &stations);
        let everybody: Vec<u32> = (0..self.parties.len() as u32).collect();
        let mut all: Option<(Network, Cast)> = None;
        let replay = |run: u32| {
            let seed = self.seed(plan, run);
            if let Some(time) = late.as_ref().and_then(|late| late.replay(seed)) {
                return time;
            }
            let (network, cast) =
                all.get_or_insert_with(|| self.network(&settings, &stations, &everybody));
            network.settle(Time::ZERO, seed);
            let ended = prepared.run(network, cast);
            ended.unwrap_or_else(|| {
                // The network has lost a client, so it is made anew.
                all = None;
                f64::INFINITY
            })
        };
        Ok(runs.map(replay).collect())
    }

    /// Returns the times of those of these runs that [`LateReceivers`] can tell.
    #[cfg(test)]
    pub(super) fn replay_late(
        &self,
        plan: &Plan,
        runs: Range<u32>,
    ) -> Result<Vec<Option<f64>>, NoFlow> {
        let settings = settings(plan)?;
        let stations = self.stations(&settings);
        let prepared = self.prepared(plan, &stations);
        let late = LateReceivers::of(&prepared, &settings, &stations);
        Ok(runs.map(|run| late.as_ref()?.replay(self.seed(plan, run))).collect())
    }

    fn seed(&self, plan: &Plan, run: u32) -> u64 {
        seed_of_operation(plan.run_seed(run), self.operation)
    }

    fn stations<'s>(&self, settings: &'s GroupSettings) -> Vec<&'s Station> {
        self.parties.iter().map(|party| settings.station(*party)).collect()
    }

    fn prepared(&self, plan: &Plan, stations: &[&Station]) -> PreparedFlow<'_> {
        let costs = self.steps.iter().map(|step| {
            let station = stations[step.place as usize];
            (station.computation)(&step.meter)
        });
        let costs = costs.collect();
        let mut places = HashMap::new();
        for (party, arrivals) in self.arrivals.iter().enumerate() {
            for (place, message) in arrivals.iter().enumerate() {
                places.insert((party as u32, *message), place as u32);
            }
        }
        let mut by_party = vec![Vec::new(); self.parties.len()];
        for (index, step) in self.steps.iter().enumerate() {
            by_party[step.place as usize].push(index as u32);
        }
        let connections_end = plan.connections_end();
        PreparedFlow { flow: self, costs, places, by_party, connections_end }
    }

    /// Returns a network with a client for each of these parties, and a topic for each message.
    pub(super) fn network(
        &self,
        settings: &GroupSettings,
        stations: &[&Station],
        parties: &[u32],
    ) -> (Network, Cast) {
        let mut network = Network::new(settings.network.clone());
        let mut clients = vec![None; self.parties.len()];
        for &party in parties {
            let Station { up, down, outages, processing, .. } = stations[party as usize];
            let client = network.add_client_drawn_as(party, up.clone(), down.clone());
            if let Some(outages) = outages {
                network.set_outages(client, *outages);
            }
            network.set_processing(client, *processing);
            clients[party as usize] = Some(client);
        }
        let mut topics: HashMap<&[u32], Topic> = HashMap::new();
        for message in &self.messages {
            topics.entry(&message.hearers).or_insert_with(|| match message.hearers[..] {
                [one] if message.to.party().is_some() && clients[one as usize].is_some() => {
                    Topic::Client(clients[one as usize].expect("it is there"))
                }
                _ => {
                    let topic = network.add_topic();
                    let hearers = message.hearers.iter().filter_map(|&one| clients[one as usize]);
                    hearers.for_each(|client| network.subscribe(topic, client));
                    Topic::Shared(topic)
                }
            });
        }
        let topics = self.messages.iter().map(|message| topics[&message.hearers[..]]).collect();
        (network, Cast { parties: parties.to_vec(), clients, topics })
    }
}

/// The parties that take part in a replay.
pub(super) struct Cast {
    /// By client.
    parties: Vec<u32>,
    /// By party.
    clients: Vec<Option<ClientId>>,
    /// By message.
    topics: Vec<Topic>,
}

/// Returns whether a scheme has no place for what it was asked for.
pub(super) const fn is_impossible(error: &GroupError) -> bool {
    matches!(error, GroupError::Refused(_, groupkey::Error::Unsupported(_)))
}

fn settings(plan: &Plan) -> Result<GroupSettings, NoFlow> {
    plan.group_settings(0).map_err(NoFlow::Plan)
}

/// Lets no step take time.
fn without_time(mut settings: GroupSettings) -> GroupSettings {
    let GroupSettings {
        controller,
        member,
        subgroup_controller,
        exceptions,
        subgroup_exceptions,
        ..
    } = &mut settings;
    let others = exceptions.iter_mut().chain(subgroup_exceptions);
    let others = others.map(|(_, station)| station);
    for station in [controller, member, subgroup_controller].into_iter().chain(others) {
        station.computation = Arc::new(|_| 0);
    }
    settings
}

/// A flow with what does not change between replays.
pub(super) struct PreparedFlow<'a> {
    pub(super) flow: &'a MessageFlow,
    /// How long each step takes (ns).
    pub(super) costs: Vec<u64>,
    /// The place of a message among those that a party waits for.
    places: HashMap<(u32, u32), u32>,
    by_party: Vec<Vec<u32>>,
    pub(super) connections_end: bool,
}

#[derive(Clone, Default)]
struct PartyProgress {
    arrived: Vec<bool>,
    /// How many messages have arrived without a gap.
    in_order: u32,
    done: usize,
    busy_until: Time,
}

/// A replay under way.
struct Replay<'n> {
    network: &'n mut Network,
    cast: &'n Cast,
    /// When the last member had the key, and how many of those that take part lack it.
    last: Time,
    missing: usize,
}

impl PreparedFlow<'_> {
    /// Replays the flow among those that take part, and returns the time until the last of them has
    /// the key (ms). `None` if a connection broke.
    pub(super) fn run(&self, network: &mut Network, cast: &Cast) -> Option<f64> {
        let began = network.now();
        let takes_part = |step: &&FlowStep| cast.clients[step.place as usize].is_some();
        let mut parties: Vec<PartyProgress> = cast
            .parties
            .iter()
            .map(|party| PartyProgress {
                arrived: vec![false; self.flow.arrivals[*party as usize].len()],
                ..PartyProgress::default()
            })
            .collect();
        let missing =
            self.flow.steps.iter().filter(takes_part).filter(|step| step.brings_key).count();
        let mut replay = Replay { network, cast, last: began, missing };
        // Commands come in the order of the recording.
        for (index, step) in self.flow.steps.iter().enumerate() {
            if let (0, Some(client)) = (step.after, cast.clients[step.place as usize]) {
                let party = &mut parties[client.index()];
                party.done += 1;
                self.take(index, party, &mut replay);
            }
        }
        while let Some(event) = replay.network.poll() {
            match event {
                NetworkEvent::Delivered { client, message, .. } => {
                    let place = cast.parties[client.index()];
                    let Some(&arrival) = self.places.get(&(place, message.0)) else { continue };
                    let party = &mut parties[client.index()];
                    party.arrived[arrival as usize] = true;
                    while party.arrived.get(party.in_order as usize) == Some(&true) {
                        party.in_order += 1;
                    }
                    let steps = &self.by_party[place as usize];
                    while let Some(&index) = steps.get(party.done) {
                        if self.flow.steps[index as usize].after > party.in_order {
                            break;
                        }
                        party.done += 1;
                        self.take(index as usize, party, &mut replay);
                    }
                }
                NetworkEvent::Connected { .. } => {}
                // It comes back, with its session.
                NetworkEvent::Disconnected { .. } if self.connections_end => {}
                NetworkEvent::Wake { token } => self.send(token as usize, &mut replay),
                NetworkEvent::Disconnected { .. } | NetworkEvent::Unsettled => return None,
            }
        }
        (replay.missing == 0).then(|| replay.last.since(began).as_millis_f64())
    }

    fn take(&self, index: usize, party: &mut PartyProgress, replay: &mut Replay<'_>) {
        let step = &self.flow.steps[index];
        let start = party.busy_until.max(replay.network.now());
        let end = start + Duration::from_nanos(self.costs[index]);
        party.busy_until = end;
        if step.brings_key {
            replay.last = replay.last.max(end);
            replay.missing -= 1;
        }
        if step.messages.is_empty() {
            return;
        }
        if end > replay.network.now() {
            replay.network.wake_at(end, index as u64);
        } else {
            self.send(index, replay);
        }
    }

    fn send(&self, index: usize, replay: &mut Replay<'_>) {
        for message in self.flow.steps[index].messages.clone() {
            let RecordedMessage { from, to, bytes, .. } = &self.flow.messages[message as usize];
            let client = replay.cast.clients[*from as usize].expect("who sends takes part");
            let topic = replay.cast.topics[message as usize];
            replay.network.publish(client, topic, MessageId(message), *bytes, topic_bytes(*to));
        }
    }
}
