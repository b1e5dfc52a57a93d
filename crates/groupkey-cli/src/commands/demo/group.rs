//! A live group in one process: a service, and members that join and leave.

mod change;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use groupkey::{Epoch, Key};
use groupkey_mqtt::counters::Counters;
use groupkey_mqtt::driver::{Handle, Running, fresh_rng, now, run as drive};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::service::ServiceEvent;
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{GroupForm, Member, Policy, Service, member};
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tokio::sync::mpsc;

pub(super) use self::change::change;
use super::network::DemoBroker;
use crate::failure::Failure;

pub(super) struct DemoGroup {
    network: DemoBroker,
    seed: u64,
    service: Handle<Service>,
    service_key: [u8; 32],
    devices: BTreeMap<u32, DemoDevice>,
    /// When a member last got a key.
    latest: Instant,
    events: mpsc::UnboundedReceiver<TimedEvent>,
    teller: mpsc::UnboundedSender<TimedEvent>,
}

struct DemoDevice {
    handle: Handle<Member>,
    epoch: Epoch,
    /// Number of keys that arrived out of order or again.
    out_of_order: u32,
    heard: Option<String>,
}

/// A party's report, and when it arrived.
struct TimedEvent(Instant, PartyEvent);

enum PartyEvent {
    Service(ServiceEvent),
    Device(u32, MemberEvent),
}

/// A change of the key, from its cause to the last member.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangeTimes {
    pub(super) epoch: Epoch,
    /// Time until the service had the new key.
    pub(super) made: Duration,
    /// Time until the last member had the new key.
    pub(super) everywhere: Duration,
}

impl DemoGroup {
    /// Makes a service that accepts `devices` devices, and founds a group of the first `founders`.
    pub(super) fn new(
        form: GroupForm,
        founders: u32,
        devices: u32,
        seed: u64,
        network: DemoBroker,
    ) -> Result<Self, Failure> {
        let mut policy = Policy { founders: founders as usize, ..Policy::of(form) };
        for number in 0..devices {
            policy.keys.insert(name(number), secret(seed, number, 0));
        }
        let mut rng = fresh_rng().map_err(|error| Failure::running(error.to_string()))?;
        let service = Service::open(policy, Box::new(MemoryStore::default()), now(), &mut rng)
            .map_err(|error| Failure::running(error.to_string()))?;
        let service_key = service.public();
        let running = drive(service, network.connection("demo-service".to_owned()));
        let (teller, events) = mpsc::unbounded_channel();
        let Running { handle: service, events: mut own, .. } = running;
        let own_teller = teller.clone();
        tokio::spawn(async move {
            while let Some(event) = own.recv().await {
                let _ = own_teller.send(TimedEvent(Instant::now(), PartyEvent::Service(event)));
            }
        });
        let (devices, latest) = (BTreeMap::new(), Instant::now());
        Ok(Self { network, seed, service, service_key, devices, latest, events, teller })
    }

    /// Waits until the service hears requests. A device that asks earlier asks again two
    /// seconds later.
    pub(super) async fn ready(&self) -> Result<(), Failure> {
        let mut status = self.service.status();
        let connected = status.wait_for(|status| status.connected);
        let outcome = tokio::time::timeout(PATIENCE, connected).await.map(|known| known.is_ok());
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(ended()),
            Err(_) => Err(Failure::running("the service does not reach the broker")),
        }
    }

    /// Lets a device begin to join.
    pub(super) fn arrive(&mut self, number: u32) {
        let settings = member::MemberSettings {
            prefix: "groupkey/1".to_owned(),
            name: name(number),
            identity: secret(self.seed, number, 1),
            shared: Some(secret(self.seed, number, 0)),
            service: Some(self.service_key),
            allowed: Default::default(),
            messages: groupkey::messages::MessageSettings::default(),
            freshness: Default::default(),
        };
        let member = Member::new(settings).expect("the name is one, and there is a key");
        let connection = self.network.connection(format!("demo-{}", name(number)));
        let Running { handle, mut events, .. } = drive(member, connection);
        let device = DemoDevice { handle, epoch: Epoch(0), out_of_order: 0, heard: None };
        self.devices.insert(number, device);
        let teller = self.teller.clone();
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let _ = teller.send(TimedEvent(Instant::now(), PartyEvent::Device(number, event)));
            }
        });
    }

    pub(super) async fn evict(&self, number: u32) -> Result<(), Failure> {
        let evicted = self.service.call(move |service, now, rng| {
            service.evict(&name(number), now, rng).map_err(|error| error.to_string())
        });
        evicted.await.ok_or_else(ended)?.map_err(Failure::running)?;
        Ok(())
    }

    /// Waits until these members, and the service, have the key of an epoch after `before`.
    pub(super) async fn agree(
        &mut self,
        members: &BTreeSet<u32>,
        before: Epoch,
        begin: Instant,
    ) -> Result<ChangeTimes, Failure> {
        let mut epoch = before;
        let mut made = None;
        let mut waiting = members.clone();
        while made.is_none() || !waiting.is_empty() {
            let event = self.next_event().await.map_err(|failure| {
                failure.with_help(format!("{} members wait for a key", waiting.len()))
            })?;
            match event {
                TimedEvent(
                    at,
                    PartyEvent::Service(ServiceEvent::Rekeyed { epoch: next, members: count }),
                ) if next > epoch && count == members.len() => {
                    epoch = next;
                    made.get_or_insert(at);
                    let is_behind = |number: &u32| self.devices[number].epoch < epoch;
                    waiting = members.iter().copied().filter(is_behind).collect();
                }
                TimedEvent(_, PartyEvent::Device(number, MemberEvent::Rekeyed(reached)))
                    if reached >= epoch =>
                {
                    waiting.remove(&number);
                }
                _ => {}
            }
        }
        let made = made.unwrap_or(begin);
        let last = made.max(self.latest);
        Ok(ChangeTimes { epoch, made: made - begin, everywhere: last - begin })
    }

    /// Fails unless exactly these members have the service's key.
    pub(super) async fn assert_secret(&self, members: &BTreeSet<u32>) -> Result<(), Failure> {
        let held = self.service.call(|service, _, _| owned(service.group_key()));
        let expected = held.await.ok_or_else(ended)?;
        for (number, device) in &self.devices {
            let held = device.handle.call(|member, _, _| owned(member.group_key()));
            let has_key = held.await.ok_or_else(ended)? == expected;
            if has_key != members.contains(number) {
                let has = if has_key { "has" } else { "has not" };
                return Err(Failure::running(format!("{} {has} the group's key", name(*number))));
            }
        }
        Ok(())
    }

    pub(super) async fn say(&self, number: u32, what: impl Into<String>) -> Result<(), Failure> {
        let what = what.into();
        let said = self.devices[&number].handle.call(move |member, now, rng| {
            member.say(what.as_bytes(), now, rng).map_err(|error| error.to_string())
        });
        said.await.ok_or_else(ended)?.map_err(Failure::running)
    }

    pub(super) async fn heard(&mut self, number: u32) -> Result<String, Failure> {
        loop {
            let device = self.devices.get_mut(&number).ok_or_else(ended)?;
            if let Some(heard) = device.heard.take() {
                return Ok(heard);
            }
            self.next_event().await?;
        }
    }

    pub(super) async fn service_counters(&self) -> Result<Counters, Failure> {
        self.service.call(|service, _, _| service.counters()).await.ok_or_else(ended)
    }

    pub(super) async fn member_counters(&self) -> Result<Vec<Counters>, Failure> {
        let mut all = Vec::new();
        for device in self.devices.values() {
            let counters = device.handle.call(|member, _, _| member.counters());
            all.push(counters.await.ok_or_else(ended)?);
        }
        Ok(all)
    }

    /// Returns the number of keys that members did not get right after the key before.
    pub(super) fn out_of_order(&self) -> u32 {
        self.devices.values().map(|device| device.out_of_order).sum()
    }

    async fn next_event(&mut self) -> Result<TimedEvent, Failure> {
        let event = tokio::time::timeout(PATIENCE, self.events.recv()).await.ok().flatten();
        let event = event.ok_or_else(|| Failure::running("nothing happens anymore"))?;
        let TimedEvent(at, of_party) = &event;
        if let PartyEvent::Device(number, of_device) = of_party
            && let Some(device) = self.devices.get_mut(number)
        {
            match of_device {
                MemberEvent::Rekeyed(epoch) => {
                    let is_next = device.epoch == Epoch(0) || epoch.0 == device.epoch.0 + 1;
                    device.out_of_order += u32::from(!is_next);
                    device.epoch = *epoch;
                    self.latest = self.latest.max(*at);
                }
                MemberEvent::Heard(received) => {
                    device.heard = Some(String::from_utf8_lossy(&received.content).into_owned());
                }
                MemberEvent::Behind(_)
                | MemberEvent::Changed { .. }
                | MemberEvent::Joined { .. }
                | MemberEvent::Evicted
                | MemberEvent::JoinsAgain
                | MemberEvent::NotIn(_)
                | MemberEvent::Activated(_)
                | MemberEvent::Proven
                | MemberEvent::Resumed { .. }
                | MemberEvent::Unkept(_)
                | MemberEvent::Unproven => {}
            }
        }
        Ok(event)
    }
}

fn owned(key: Option<(Epoch, &Key)>) -> Option<(Epoch, Key)> {
    key.map(|(epoch, key)| (epoch, key.clone()))
}

fn ended() -> Failure {
    Failure::running("a party of the demonstration has ended")
}

fn name(number: u32) -> String {
    format!("device-{number}")
}

fn secret(seed: u64, number: u32, kind: u64) -> Secret {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(number) * 2 + kind);
    let mut bytes = [0; 32];
    rng.fill_bytes(&mut bytes);
    Secret::from_bytes(bytes)
}

/// Longest time in which nothing may happen.
const PATIENCE: Duration = Duration::from_secs(60);
