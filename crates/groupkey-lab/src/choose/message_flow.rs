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

use groupkey::PartyId;
use groupkey::crypto::meter::Meter;
use groupkey_sim::group::{
    GroupError, GroupSettings, SimulatedGroup, Station, seed_of_operation, topic_bytes,
};
use groupkey_sim::{ClientId, Duration, MessageId, Network, NetworkEvent, Time, Topic};

use super::counting::effort;
use super::wave_carrier::{RecordedMessage, RecordedStep, Waves};
use crate::campaign::perform;
use crate::plan::{Plan, PlanError};

/// A change's steps and messages.
pub(super) struct MessageFlow {
    /// Its number among the operations of the group, of which the creation is 1.
    operation: u64,
    parties: Vec<PartyId>,
    steps: Vec<FlowStep>,
    messages: Vec<RecordedMessage>,
    /// For each party, the messages that it waits for, in their order.
    arrivals: Vec<Vec<u32>>,
}

struct FlowStep {
    place: u32,
    after: u32,
    meter: Meter,
    messages: Range<u32>,
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
    /// Records a step of the plan, after those before it.
    pub(super) fn record(plan: &Plan, step: usize) -> Result<Self, NoFlow> {
        plan.validate().map_err(NoFlow::Plan)?;
        let waves = Waves::new(effort(plan.suite));
        let mut group = SimulatedGroup::on(waves, without_time(settings(plan)?));
        for step in &plan.steps[..step] {
            perform(plan, step.action, &mut group).map_err(NoFlow::Group)?;
        }
        group.carrier_mut().forget();
        group.carrier_mut().record();
        perform(plan, plan.steps[step].action, &mut group).map_err(NoFlow::Group)?;
        let record = group.carrier_mut().take_record();
        let parties = group.carrier().parties().to_vec();
        let steps = record.steps.into_iter().map(|step| {
            let RecordedStep { place, after, work, messages, brings_key } = step;
            FlowStep { place, after, meter: work.meter, messages, brings_key }
        });
        let steps = steps.collect();
        let mut arrivals = record.arrivals;
        arrivals.resize(parties.len(), Vec::new());
        let operation = step as u64 + 1;
        Ok(Self { operation, parties, steps, messages: record.messages, arrivals })
    }

    /// Replays the flow as often as the plan says, and returns the times until the last member has
    /// the key (ms). A time is infinite if a connection broke. The plan has the schemes, parameters,
    /// members, suite, protection and steps of the recording.
    pub(super) fn replay(&self, plan: &Plan) -> Result<Vec<f64>, NoFlow> {
        let settings = settings(plan)?;
        let stations: Vec<&Station> =
            self.parties.iter().map(|party| settings.station(*party)).collect();
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
        let (mut network, clients, topics) = self.network(&settings, &stations);
        let connections_end = plan.connections_end();
        let mut stage =
            PreparedFlow { flow: self, costs, clients, topics, places, by_party, connections_end };
        let replay = |run: u32| {
            network.settle(Time::ZERO, seed_of_operation(plan.run_seed(run), self.operation));
            stage.run(&mut network).unwrap_or_else(|| {
                // The network has lost a client, so it is made anew.
                (network, stage.clients, stage.topics) = self.network(&settings, &stations);
                f64::INFINITY
            })
        };
        Ok((0..plan.runs).map(replay).collect())
    }

    /// Returns a network with a client for each party and a topic for each message.
    fn network(
        &self,
        settings: &GroupSettings,
        stations: &[&Station],
    ) -> (Network, Vec<ClientId>, Vec<Topic>) {
        let mut network = Network::new(settings.network.clone());
        let client = |station: &&Station| {
            let Station { up, down, outages, processing, .. } = station;
            let client = network.add_client(up.clone(), down.clone());
            if let Some(outages) = outages {
                network.set_outages(client, *outages);
            }
            network.set_processing(client, *processing);
            client
        };
        let clients: Vec<ClientId> = stations.iter().map(client).collect();
        let mut topics: HashMap<&[u32], Topic> = HashMap::new();
        for message in &self.messages {
            topics.entry(&message.hearers).or_insert_with(|| match message.hearers[..] {
                [one] if message.to.party().is_some() => Topic::Client(clients[one as usize]),
                _ => {
                    let topic = network.add_topic();
                    let hearers = message.hearers.iter();
                    hearers.for_each(|&one| network.subscribe(topic, clients[one as usize]));
                    Topic::Shared(topic)
                }
            });
        }
        let topics = self.messages.iter().map(|message| topics[&message.hearers[..]]).collect();
        (network, clients, topics)
    }
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
struct PreparedFlow<'a> {
    flow: &'a MessageFlow,
    costs: Vec<u64>,
    clients: Vec<ClientId>,
    topics: Vec<Topic>,
    /// The place of a message among those that a party waits for.
    places: HashMap<(u32, u32), u32>,
    by_party: Vec<Vec<u32>>,
    /// Whether connections end and are made again.
    connections_end: bool,
}

/// What a party has in one replay.
#[derive(Clone, Default)]
struct PartyProgress {
    arrived: Vec<bool>,
    /// How many messages have arrived without a gap.
    in_order: u32,
    /// Steps that are done.
    done: usize,
    busy_until: Time,
}

impl PreparedFlow<'_> {
    fn run(&self, network: &mut Network) -> Option<f64> {
        let began = network.now();
        let arrivals = self.flow.arrivals.iter();
        let mut parties: Vec<PartyProgress> = arrivals
            .map(|arrivals| PartyProgress {
                arrived: vec![false; arrivals.len()],
                ..PartyProgress::default()
            })
            .collect();
        let (mut last, mut missing) =
            (began, self.flow.steps.iter().filter(|s| s.brings_key).count());
        // Commands come in the order of the recording.
        for (index, step) in self.flow.steps.iter().enumerate() {
            if step.after == 0 {
                let party = &mut parties[step.place as usize];
                party.done += 1;
                self.take(index, party, network, &mut last, &mut missing);
            }
        }
        while let Some(event) = network.poll() {
            match event {
                NetworkEvent::Delivered { client, message, .. } => {
                    let place = client.index() as u32;
                    let Some(&arrival) = self.places.get(&(place, message.0)) else { continue };
                    let party = &mut parties[place as usize];
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
                        self.take(index as usize, party, network, &mut last, &mut missing);
                    }
                }
                NetworkEvent::Connected { .. } => {}
                // It comes back, with its session.
                NetworkEvent::Disconnected { .. } if self.connections_end => {}
                NetworkEvent::Wake { token } => self.send(token as usize, network),
                NetworkEvent::Disconnected { .. } | NetworkEvent::Unsettled => return None,
            }
        }
        (missing == 0).then(|| last.since(began).as_millis_f64())
    }

    fn take(
        &self,
        index: usize,
        party: &mut PartyProgress,
        network: &mut Network,
        last: &mut Time,
        missing: &mut usize,
    ) {
        let step = &self.flow.steps[index];
        let start = party.busy_until.max(network.now());
        let end = start + Duration::from_nanos(self.costs[index]);
        party.busy_until = end;
        if step.brings_key {
            *last = (*last).max(end);
            *missing -= 1;
        }
        if step.messages.is_empty() {
            return;
        }
        if end > network.now() {
            network.wake_at(end, index as u64);
        } else {
            self.send(index, network);
        }
    }

    fn send(&self, index: usize, network: &mut Network) {
        for message in self.flow.steps[index].messages.clone() {
            let RecordedMessage { from, to, bytes, .. } = &self.flow.messages[message as usize];
            let client = self.clients[*from as usize];
            let topic = self.topics[message as usize];
            network.publish(client, topic, MessageId(message), *bytes, topic_bytes(*to));
        }
    }
}
