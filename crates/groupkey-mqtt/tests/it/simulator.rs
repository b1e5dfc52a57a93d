//! For one seed, the simulator and the live service send the same bytes to the same topics in each
//! operation.

use std::sync::Arc;

use groupkey::catalogue;
use groupkey::protection::Guard;
use groupkey::{Recipient, Setting, Suite};
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{Member, MemberSettings};
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::store::Publish;
use groupkey_mqtt::topics::TopicKind;
use groupkey_mqtt::{GroupForm, Input, Output, Policy, Runtime, Service, Topics};
use groupkey_sim::group::{GroupSettings, GroupSimulation, Rest, Station};
use groupkey_sim::{Duration, LinkProfile, NetworkConfig, Processing};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 7;

fn simulation(form: &GroupForm) -> GroupSimulation {
    let link = LinkProfile::delay_and_loss(Duration::from_millis(1), 0.0);
    let station = Station {
        up: link.clone(),
        down: link,
        outages: None,
        processing: Processing::default(),
        computation: Arc::new(|_| 0),
    };
    GroupSimulation::new(GroupSettings {
        configuration: form.configuration.clone(),
        suite: Suite::Standard,
        protection: Guard::Signature,
        seed: SEED,
        network: NetworkConfig::default(),
        controller: station.clone(),
        subgroup_controller: station.clone(),
        subgroup_exceptions: Vec::new(),
        member: station,
        exceptions: Vec::new(),
        request_bytes: None,
        rest: Rest::Idle(Duration::from_secs(1)),
    })
}

/// A service that draws what the simulated controller draws, and members that only join.
struct Live {
    service: Service,
    members: Vec<Member>,
    topics: Topics,
    now: u64,
    rng: ChaCha20Rng,
    others_rng: ChaCha20Rng,
}

impl Live {
    fn new(form: &GroupForm, founders: usize) -> Self {
        // The controller's identity among the simulator's credentials: the seed, and zero for its number.
        let mut identity = [0; 32];
        identity[..8].copy_from_slice(&SEED.to_be_bytes());
        let mut policy = Policy { founders, ..Policy::of(form.clone()) };
        policy.identity = Some(Secret::from_bytes(identity));
        policy.is_identity_new = true;
        for number in 0..100 {
            policy.keys.insert(format!("d{number}"), Secret::from_bytes([number; 32]));
        }
        let topics = Topics::new(&policy.prefix).unwrap();
        let rng = ChaCha20Rng::seed_from_u64(SEED);
        let mut others_rng = ChaCha20Rng::seed_from_u64(99);
        let store = Box::new(MemoryStore::default());
        let service = Service::open(policy, store, 1 << 60, &mut others_rng).unwrap();
        Self { service, members: Vec::new(), topics, now: 1 << 60, rng, others_rng }
    }

    fn arrive(&mut self) {
        let number = self.members.len() as u8;
        let mut member = Member::new(MemberSettings {
            prefix: "groupkey/1".to_owned(),
            name: format!("d{number}"),
            identity: Secret::from_bytes([number + 100; 32]),
            shared: Some(Secret::from_bytes([number; 32])),
            service: Some(self.service.public()),
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        })
        .unwrap();
        member.handle(Input::Connected, self.now, &mut self.others_rng).unwrap();
        self.members.push(member);
        self.exchange();
    }

    /// Hands requests to the service and offers to members, in the order in which they came.
    fn exchange(&mut self) -> Vec<Publish> {
        let mut sent = Vec::new();
        for _ in 0..4 {
            for member in &mut self.members {
                while let Some(output) = member.poll().unwrap() {
                    if let Output::Publish(Publish { topic, payload, .. }) = output {
                        let input = Input::Arrived { topic: &topic, payload: &payload };
                        self.service.handle(input, self.now, &mut self.rng).unwrap();
                    }
                }
            }
            while let Some(output) = self.service.poll().unwrap() {
                let Output::Publish(publish) = output else { continue };
                if let Some(TopicKind::Welcome(name)) = self.topics.place(&publish.topic) {
                    let member = &mut self.members[name[1..].parse::<usize>().unwrap()];
                    let input = Input::Arrived { topic: &publish.topic, payload: &publish.payload };
                    member.handle(input, self.now, &mut self.others_rng).unwrap();
                }
                sent.push(publish);
            }
        }
        sent
    }

    /// The parties' messages since the last call.
    fn sent(&mut self) -> Vec<(Recipient, Vec<u8>)> {
        self.now += 1_000_000_000;
        self.service.handle(Input::Tick, self.now, &mut self.rng).unwrap();
        let sent = self.exchange().into_iter();
        sent.filter_map(|publish| match self.topics.place(&publish.topic) {
            Some(TopicKind::To(to)) => Some((to, publish.payload)),
            _ => None,
        })
        .collect()
    }
}

#[test]
fn the_same_operations_send_the_same_bytes() {
    for scheme in ["lkh-group", "lkh-key", "skdc", "oft"] {
        let form = GroupForm::of(catalogue::scheme(scheme).unwrap());
        let mut live = Live::new(&form, 5);
        // The service drew an instance, so all its keys and signatures belong to that.
        let context = *live.service.context();
        let setting = Setting::new(form.group, Suite::Standard).with_context(context);
        let mut simulation = simulation(&form).in_setting(setting);
        let simulated = |simulation: &GroupSimulation| -> Vec<_> {
            simulation.sent().map(|(to, bytes)| (to, bytes.to_vec())).collect()
        };

        simulation.create(5).unwrap();
        (0..5).for_each(|_| live.arrive());
        let created = live.sent();
        assert!(!created.is_empty());
        assert_eq!(created, simulated(&simulation), "{scheme}: create");

        simulation.add().unwrap();
        live.arrive();
        assert_eq!(live.sent(), simulated(&simulation), "{scheme}: add");

        simulation.remove(Some(2)).unwrap();
        live.service.evict("d2", live.now, &mut live.rng).unwrap();
        assert_eq!(live.sent(), simulated(&simulation), "{scheme}: remove");
    }
}
