//! An operation as a flow of messages, which goes over the simulated network again and again
//! without computing any key.
//!
//! A flow is recorded from a group that ran. When it is replayed, a party takes a step as soon as it
//! has the messages that it had when it took the step in the recording. The step takes as long as
//! its primitives do on the party's device. So a thousand changes of a large group take seconds.

use std::collections::HashMap;
use std::ops::Range;

use groupkey::{Operation, PartyId, Recipient};
use groupkey_choose::device::Device as Prices;
use groupkey_choose::evidence::{Uses, tag_bytes};
use groupkey_choose::requirements::Network as Conditions;
use groupkey_sim::group::GroupError;
use groupkey_sim::{
    ClientId, Duration, Event, LinkProfile, LinkSettings, Loss, MessageId, Network, NetworkConfig,
    Processing, Qos, Time, Topic,
};

use super::counting::record;
use super::latency::mixed;
use super::variants::Subject;
use super::waves::{RecordedMessage, RecordedStep, Work};

/// An operation's steps and messages, without the protection of messages.
pub(super) struct Flow {
    parties: Vec<PartyId>,
    steps: Vec<Step>,
    messages: Vec<RecordedMessage>,
    /// For each party, the messages that it waits for, in their order.
    arrivals: Vec<Vec<u32>>,
}

struct Step {
    place: u32,
    after: u32,
    uses: Uses,
    messages: Range<u32>,
    brings_key: bool,
}

/// Where a flow is replayed.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) suite: &'a str,
    pub(super) guard: &'a str,
    pub(super) member: &'a Prices,
    pub(super) gateway: &'a Prices,
    pub(super) controller: &'a Prices,
    pub(super) network: &'a Conditions,
    pub(super) qos: u8,
}

impl Flow {
    /// Records an operation of a group that has just been created. `None` if the operation cannot
    /// be at this size.
    pub(super) fn record(
        subject: &Subject,
        operation: Operation,
        members: u32,
        seed: u64,
    ) -> Result<Option<Self>, GroupError> {
        let Some((parties, record)) = record(subject, operation, members, seed)? else {
            return Ok(None);
        };
        let mut last: Option<(Work, Uses)> = None;
        let steps = record.steps.into_iter().map(|step| {
            let RecordedStep { place, after, work, messages, brings_key } = step;
            // Many members do the same one after the other.
            let uses = match &last {
                Some((known, uses)) if *known == work => uses.clone(),
                _ => work.uses(),
            };
            last = Some((work, uses.clone()));
            Step { place, after, uses, messages, brings_key }
        });
        let steps = steps.collect();
        let mut arrivals = record.arrivals;
        arrivals.resize(parties.len(), Vec::new());
        Ok(Some(Self { parties, steps, messages: record.messages, arrivals }))
    }

    /// Replays the flow some times, one after the other on the same connections, and returns the
    /// times until the last member has the key (ms). A time is infinite if a connection broke. The
    /// first of `warm_ups` replays are left out: TCP learns its round-trip times in them. `None`
    /// if a device lacks a price.
    pub(super) fn replay(
        &self,
        place: &Place<'_>,
        warm_ups: u32,
        runs: u32,
        seed: u64,
    ) -> Option<Vec<f64>> {
        let tag = tag_bytes(place.guard)? as u32;
        let device = |party: &PartyId| match party {
            PartyId::Controller => place.controller,
            PartyId::SubgroupController(_) => place.gateway,
            PartyId::Member(_) => place.member,
        };
        let mut costs = Vec::with_capacity(self.steps.len());
        let mut known: Option<(u32, &Uses, u64)> = None;
        for step in &self.steps {
            let party = &self.parties[step.place as usize];
            let cost = match known {
                Some((other, uses, cost))
                    if *uses == step.uses
                        && std::ptr::eq(device(&self.parties[other as usize]), device(party)) =>
                {
                    cost
                }
                _ => {
                    let uses = step.uses.clone().with_protection(place.guard)?;
                    device(party).time(place.suite, &uses)?.round() as u64
                }
            };
            known = Some((step.place, &step.uses, cost));
            costs.push(cost);
        }
        let mut network = Network::new(config(place, seed)?);
        let link = link(place.network);
        let clients: Vec<ClientId> = self
            .parties
            .iter()
            .map(|party| {
                let client = network.add_client(link.clone(), link.clone());
                network.set_processing(client, processing(device(party)));
                client
            })
            .collect();
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
        let stage = Stage { flow: self, costs, clients, topics, places, by_party, tag };
        let mut times = Vec::new();
        for run in 0..warm_ups + runs {
            let time = stage.run(&mut network);
            if run >= warm_ups {
                times.push(time.unwrap_or(f64::INFINITY));
            }
            if time.is_none() {
                // The network has lost a client, so it is made anew.
                let left = (warm_ups + runs).saturating_sub(run + 1).min(runs);
                let more = self.replay(place, warm_ups, left, mixed(seed, run));
                times.extend(more.into_iter().flatten().take(runs as usize - times.len()));
                break;
            }
            rest(&mut network);
        }
        Some(times)
    }
}

/// A flow with what does not change between replays.
struct Stage<'a> {
    flow: &'a Flow,
    costs: Vec<u64>,
    clients: Vec<ClientId>,
    topics: Vec<Topic>,
    /// The place of a message among those that a party waits for.
    places: HashMap<(u32, u32), u32>,
    by_party: Vec<Vec<u32>>,
    tag: u32,
}

/// What a party has in one replay.
#[derive(Clone, Default)]
struct Progress {
    arrived: Vec<bool>,
    /// How many messages have arrived without a gap.
    in_order: u32,
    /// Steps that are done.
    done: usize,
    busy_until: Time,
}

impl Stage<'_> {
    fn run(&self, network: &mut Network) -> Option<f64> {
        let began = network.now();
        let arrivals = self.flow.arrivals.iter();
        let mut parties: Vec<Progress> = arrivals
            .map(|arrivals| Progress {
                arrived: vec![false; arrivals.len()],
                ..Progress::default()
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
                Event::Delivered { client, message, .. } => {
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
                Event::Wake { token } => self.send(token as usize, network),
                Event::Disconnected { .. } | Event::Unsettled => return None,
            }
        }
        (missing == 0).then(|| last.since(began).as_millis_f64())
    }

    fn take(
        &self,
        index: usize,
        party: &mut Progress,
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
            network.publish(client, topic, MessageId(message), bytes + self.tag, topic_bytes(*to));
        }
    }
}

/// Lets the network rest for a minute, so that TCP's window falls back.
fn rest(network: &mut Network) {
    const TOKEN: u64 = u64::MAX;
    network.wake_at(network.now() + Duration::from_secs(60), TOKEN);
    while network.poll().is_some_and(|event| event != Event::Wake { token: TOKEN }) {}
}

fn config(place: &Place<'_>, seed: u64) -> Option<NetworkConfig> {
    Some(NetworkConfig {
        qos: Qos::from_number(place.qos)?,
        broker: processing(place.controller),
        client: processing(place.member),
        seed,
        ..NetworkConfig::default()
    })
}

fn processing(device: &Prices) -> Processing {
    let (publish, acknowledgement) = device.packets;
    let nanoseconds = |time: f64| Duration::from_nanos(time as u64);
    Processing {
        publish: nanoseconds(publish),
        acknowledgement: nanoseconds(acknowledgement),
        payload_handling: Duration::ZERO,
    }
}

fn link(network: &Conditions) -> LinkProfile {
    let milliseconds = |time: f64| Duration::from_nanos((time * 1e6).round() as u64);
    LinkProfile::constant(LinkSettings {
        delay: milliseconds(network.delay),
        jitter: milliseconds(network.jitter),
        loss: if network.loss > 0.0 { Loss::Random(network.loss / 100.0) } else { Loss::None },
        bandwidth: network.bandwidth.map(|kilobits| ((kilobits * 1e3).round() as u64).max(1)),
        ..LinkSettings::default()
    })
}

/// Returns the length of a recipient's topic name, such as `g/1/to/m000042`.
const fn topic_bytes(to: Recipient) -> u16 {
    match to {
        Recipient::Controller => 12,
        Recipient::Group => 7,
        Recipient::Member(_) | Recipient::SubgroupController(_) => 14,
        Recipient::Subset(_) => 18,
    }
}
