//! Groups over real brokers: the embedded one, and Mosquitto where it is installed.

mod access;
mod authority;
mod brokers;
mod certificates;
mod change;
mod expiry;
mod refusals;
mod relay;
mod resuming;
mod scripted;
#[cfg(feature = "websocket")]
mod websocket;

use std::path::Path;
use std::time::{Duration, Instant};

use groupkey::{Epoch, Key, MemberId, catalogue};
use groupkey_mqtt::disk::DiskStore;
use groupkey_mqtt::driver::{Connection, Quality, Running, fresh_rng, now, run};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::store::{MemoryStore, Store};
use groupkey_mqtt::{GroupForm, Member, Peer, Policy, Service, Version, member, peer};

use self::brokers::{Access, Broker, Rights};
use self::relay::Relay;

/// Members that a test may have.
const DEVICES: u32 = 64;

struct Group {
    prefix: String,
    qos: Quality,
    access: Access,
    service_key: [u8; 32],
    service: Running<Service>,
    members: Vec<(u32, Running<Member>)>,
}

impl Group {
    fn policy(scheme: &str, parameters: &[(&str, u32)], prefix: &str, founders: usize) -> Policy {
        let mut form = GroupForm::of(catalogue::scheme(scheme).unwrap());
        for &(name, value) in parameters {
            form.configuration.set(name, value).unwrap();
        }
        let mut policy = Policy { founders, prefix: prefix.to_owned(), ..Policy::of(form) };
        for number in 0..DEVICES {
            policy.keys.insert(name(number), key(number));
        }
        policy
    }

    fn new(policy: Policy, store: Box<dyn Store>, access: Access, qos: Quality) -> Self {
        let prefix = policy.prefix.clone();
        let service = Service::open(policy, store, now(), &mut fresh_rng().unwrap()).unwrap();
        let service_key = service.public();
        let service = run(service, access.connection(&prefix, SERVICE, qos));
        Self { prefix, qos, access, service_key, service, members: Vec::new() }
    }

    fn arrive(&mut self, number: u32) {
        self.arrive_at(number, &self.access.clone());
    }

    /// A device with a connection of its own.
    fn arrive_at(&mut self, number: u32, access: &Access) {
        let member = Member::new(member::MemberSettings {
            prefix: self.prefix.clone(),
            name: name(number),
            identity: Secret::from_bytes([number as u8 + 100; 32]),
            shared: Some(key(number)),
            service: Some(self.service_key),
            allowed: Default::default(),
            messages: Default::default(),
            freshness: Default::default(),
        })
        .unwrap();
        let connection = access.connection(&self.prefix, &name(number), self.qos);
        self.members.push((number, run(member, connection)));
    }

    async fn evict(&self, number: u32) {
        let name = name(number);
        let evicted = self.service.handle.call(move |service, now, rng| {
            service.evict(&name, now, rng).map_err(|error| error.to_string())
        });
        evicted.await.unwrap().unwrap();
    }

    /// Waits until exactly these members have the service's key.
    async fn agree(&self, numbers: &[u32]) -> Epoch {
        let begin = Instant::now();
        loop {
            let state = self.state().await;
            let (expected, held) = &state;
            let agreed = expected.is_some()
                && held.iter().all(|(number, key)| {
                    if numbers.contains(number) { key == expected } else { key != expected }
                });
            if agreed {
                return expected.as_ref().unwrap().0;
            }
            let epochs: Vec<_> =
                held.iter().map(|(id, key)| (id, key.as_ref().map(|key| key.0.0))).collect();
            assert!(
                begin.elapsed() < PATIENCE,
                "no agreement: service {:?}, members {epochs:?}",
                expected.as_ref().map(|key| key.0.0)
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn state(&self) -> (Option<(Epoch, Key)>, Vec<(u32, Option<(Epoch, Key)>)>) {
        let own = |key: Option<(Epoch, &Key)>| key.map(|(epoch, key)| (epoch, key.clone()));
        let service = self.service.handle.call(move |service, _, _| own(service.group_key()));
        let service = service.await.unwrap();
        let mut members = Vec::new();
        for (number, running) in &self.members {
            let key = running.handle.call(move |member, _, _| own(member.group_key()));
            members.push((*number, key.await.unwrap()));
        }
        (service, members)
    }

    async fn say(&self, index: usize, what: &'static [u8]) {
        let said = self.members[index].1.handle.call(move |member, now, rng| {
            member.say(what, now, rng).map_err(|error| error.to_string())
        });
        said.await.unwrap().unwrap();
    }

    /// Waits until a member hears this.
    async fn hears(&mut self, index: usize, what: &[u8]) {
        let events = &mut self.members[index].1.events;
        let heard = async {
            while let Some(event) = events.recv().await {
                if matches!(event, MemberEvent::Heard(received) if received.content == what) {
                    return;
                }
            }
            panic!("the member ended");
        };
        tokio::time::timeout(PATIENCE, heard).await.expect("the member hears");
    }
}

fn name(number: u32) -> String {
    format!("device-{number}")
}

fn key(number: u32) -> Secret {
    Secret::from_bytes([number as u8 + 1; 32])
}

async fn life(
    scheme: &str,
    parameters: &[(&str, u32)],
    broker: &mut Broker,
    version: Version,
    qos: Quality,
) {
    broker.forget();
    let access = broker.access().in_version(version);
    let prefix = access.prefix(&format!("t/{scheme}-{qos:?}"));
    let policy = Group::policy(scheme, parameters, &prefix, 5);
    let mut group = Group::new(policy, Box::new(MemoryStore::default()), access, qos);
    (0..5).for_each(|number| group.arrive(number));
    group.agree(&[0, 1, 2, 3, 4]).await;
    group.arrive(5);
    group.agree(&[0, 1, 2, 3, 4, 5]).await;
    group.evict(2).await;
    group.agree(&[0, 1, 3, 4, 5]).await;
    group.say(5, b"slippery road").await;
    for index in [0, 1, 3, 4] {
        group.hears(index, b"slippery road").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_live_over_every_broker() {
    for mut broker in brokers::all() {
        for (scheme, parameters) in [
            ("lkh-group", &[][..]),
            ("lkh-key", &[]),
            ("skdc", &[]),
            ("igkmp", &[("subgroups", 2)]),
            ("dep", &[("subgroups", 2)]),
        ] {
            life(scheme, parameters, &mut broker, Version::V5, Quality::AtLeastOnce).await;
        }
        for qos in [Quality::AtMostOnce, Quality::ExactlyOnce] {
            life("lkh-group", &[], &mut broker, Version::V5, qos).await;
        }
        for qos in [Quality::AtMostOnce, Quality::AtLeastOnce, Quality::ExactlyOnce] {
            life("lkh-group", &[], &mut broker, Version::V3, qos).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_may_speak_both_versions() {
    for broker in brokers::all().into_iter().filter(Broker::mixes_versions) {
        let access = broker.access();
        let prefix = access.prefix("t/both");
        let policy = Group::policy("lkh-group", &[], &prefix, 4);
        let store = Box::new(MemoryStore::default());
        let mut group = Group::new(policy, store, access.clone(), Quality::AtLeastOnce);
        for number in 0..4 {
            let version = Version::ALL[number as usize % 2];
            group.arrive_at(number, &access.in_version(version));
        }
        group.agree(&[0, 1, 2, 3]).await;
        group.evict(1).await;
        group.agree(&[0, 2, 3]).await;
        group.say(0, b"slippery road").await;
        group.hears(3, b"slippery road").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_service_goes_on_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("group.redb");
    for mut broker in brokers::all() {
        for version in Version::ALL {
            broker.forget();
            restart(broker.access().in_version(version), &path).await;
            std::fs::remove_file(&path).unwrap();
        }
    }
}

async fn restart(access: Access, path: &Path) {
    let prefix = access.prefix("t/restart");
    let policy = Group::policy("lkh-group", &[], &prefix, 3);
    let store = || Box::new(DiskStore::open(path).unwrap());
    let mut group = Group::new(policy.clone(), store(), access, Quality::AtLeastOnce);
    (0..3).for_each(|number| group.arrive(number));
    let before = group.agree(&[0, 1, 2]).await;

    // The service ends without a DISCONNECT, and restarts.
    group.service.end.abort();
    let _ = (&mut group.service.end).await;
    let service = Service::open(policy, store(), now(), &mut fresh_rng().unwrap()).unwrap();
    assert_eq!(service.public(), group.service_key);
    let connection = group.access.connection(&group.prefix, SERVICE, group.qos);
    group.service = run(service, connection);
    assert_eq!(group.agree(&[0, 1, 2]).await, before);
    group.arrive(3);
    assert!(group.agree(&[0, 1, 2, 3]).await > before);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: two minutes, a broker that stops again and again"]
async fn a_broker_that_restarts_loses_nobody() {
    // The embedded broker cannot be stopped.
    let Some(mut broker) = brokers::mosquitto() else { return };
    for (version, qos) in WAYS {
        let access = broker.access().in_version(version);
        let prefix = access.prefix(&format!("t/broker-{qos:?}"));
        let policy = Group::policy("lkh-group", &[], &prefix, 4);
        let mut group = Group::new(policy, Box::new(MemoryStore::default()), access, qos);
        (0..4).for_each(|number| group.arrive(number));
        group.agree(&[0, 1, 2, 3]).await;
        broker.stop();
        group.evict(1).await;
        group.arrive(4);
        broker.restart();
        group.agree(&[0, 2, 3, 4]).await;
        group.evict(0).await;
        group.agree(&[2, 3, 4]).await;
        // And in the middle of an operation, a little later each time.
        for round in 0..4 {
            group.arrive(5 + round);
            group.evict(4 + round).await;
            tokio::time::sleep(Duration::from_millis(u64::from(round) * 20)).await;
            broker.stop();
            broker.restart();
            group.agree(&[2, 3, 5 + round]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_cut_off_for_many_epochs_comes_back() {
    let Some(broker) = brokers::mosquitto() else { return };
    for (version, qos) in WAYS {
        let access = broker.access().in_version(version);
        let prefix = access.prefix(&format!("t/cut-{qos:?}"));
        let policy = Group::policy("lkh-group", &[], &prefix, 4);
        let store = Box::new(MemoryStore::default());
        let mut group = Group::new(policy, store, access.clone(), qos);
        let relay = Relay::before(access.port()).await;
        group.arrive_at(0, &access.through(relay.port));
        (1..4).for_each(|number| group.arrive(number));
        let mut epoch = group.agree(&[0, 1, 2, 3]).await;
        let (mut there, mut newcomer) = (vec![1, 2, 3], 4);
        let absences: &[u32] = if version == Version::V5 { &[1, 5, 20] } else { &[1, 5] };
        for &epochs in absences {
            relay.cut();
            for _ in 0..epochs {
                if there.len() == 3 {
                    group.arrive(newcomer);
                    there.push(newcomer);
                    newcomer += 1;
                } else {
                    group.evict(there.pop().unwrap()).await;
                }
                let next = group.agree(&there).await;
                assert!(next > epoch);
                epoch = next;
            }
            relay.mend();
            assert_eq!(group.agree(&[&[0], &there[..]].concat()).await, epoch);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_need_no_service() {
    // The access list has lines that only groups without a controller need.
    let open = brokers::all().into_iter().filter(|broker| broker.access().authority.is_none());
    let brokers: Vec<_> = open.chain(brokers::guarded_mosquitto(Rights::OfPeers)).collect();
    let mut accesses: Vec<_> = brokers.iter().map(Broker::access).collect();
    // And one of them in the other version.
    accesses.push(brokers[0].access().in_version(Version::V3));
    for access in accesses {
        let prefix = access.prefix("t/peers");
        let identity = |number: u32| Secret::from_bytes([number as u8 + 1; 32]);
        let directory: Vec<_> =
            (0..5).map(|number| (MemberId(number), identity(number).public())).collect();
        let peer = |number: u32| {
            let settings = peer::PeerSettings {
                prefix: prefix.clone(),
                me: MemberId(number),
                identity: identity(number),
                form: GroupForm::of(catalogue::scheme("tgdh").unwrap()),
                directory: directory.clone(),
                founders: (0..4).map(MemberId).collect(),
                rules: Default::default(),
                operators: Vec::new(),
                words: Vec::new(),
                messages: Default::default(),
                period: None,
            };
            let connection = access.connection(&prefix, &name(number), Quality::AtLeastOnce);
            run(Peer::new(settings).unwrap(), connection)
        };
        let mut peers: Vec<_> = (0..4).map(peer).collect();
        let first = peers_agree(&peers).await;
        peers.push(peer(4));
        let second = peers_agree(&peers).await;
        assert!(second > first);
        let left = peers.remove(1);
        let asked = peers[0].handle.call(|peer, now, rng| peer.remove(MemberId(1), now, rng));
        asked.await.unwrap().unwrap();
        loop {
            let epoch = peers_agree(&peers).await;
            if epoch > second {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        drop(left);
        let said = peers[3].handle.call(|peer, now, rng| peer.say(b"clear road", now, rng));
        said.await.unwrap().unwrap();
        let heard = async {
            while let Some(event) = peers[0].events.recv().await {
                if matches!(event, MemberEvent::Heard(received) if received.content == b"clear road")
                {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, heard).await.expect("the peer hears");
    }
}

/// Nobody says so but the broker, which publishes the last will. The group is quiet.
#[tokio::test(flavor = "multi_thread")]
async fn a_peer_whose_process_ends_is_taken_out() {
    let all = brokers::all();
    let broker = all.iter().find(|broker| broker.access().authority.is_none()).unwrap();
    for version in [Version::V5, Version::V3] {
        let access = broker.access().in_version(version);
        let prefix = access.prefix("t/gone");
        let identity = |number: u32| Secret::from_bytes([number as u8 + 1; 32]);
        let peer = |number: u32| {
            let settings = peer::PeerSettings {
                prefix: prefix.clone(),
                me: MemberId(number),
                identity: identity(number),
                form: GroupForm::of(catalogue::scheme("tgdh").unwrap()),
                directory: (0..3).map(|id| (MemberId(id), identity(id).public())).collect(),
                founders: (0..3).map(MemberId).collect(),
                rules: Default::default(),
                operators: Vec::new(),
                words: Vec::new(),
                messages: Default::default(),
                period: None,
            };
            let will = settings.will();
            let connection = access.connection(&prefix, &name(number), Quality::AtLeastOnce);
            run(Peer::new(settings).unwrap(), Connection { will, ..connection })
        };
        let mut peers: Vec<_> = (0..3).map(peer).collect();
        let first = peers_agree(&peers).await;
        let gone = peers.remove(1);
        gone.end.abort();
        drop(gone);
        let begin = Instant::now();
        while peers_agree(&peers).await <= first {
            assert!(begin.elapsed() < PATIENCE, "nobody notices");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn peers_agree(peers: &[Running<Peer>]) -> Epoch {
    let begin = Instant::now();
    loop {
        let mut keys = Vec::new();
        for peer in peers {
            let key = peer
                .handle
                .call(|peer, _, _| peer.group_key().map(|(epoch, key)| (epoch, key.clone())));
            keys.push(key.await.unwrap());
        }
        if let Some((epoch, _)) =
            keys[0].as_ref().filter(|_| keys.iter().all(|key| *key == keys[0]))
        {
            return *epoch;
        }
        let epochs: Vec<_> = keys.iter().map(|key| key.as_ref().map(|key| key.0.0)).collect();
        assert!(begin.elapsed() < PATIENCE, "no agreement: {epochs:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The kinds of connections. QoS 0 is missing, because it guarantees nothing that these tests could
/// assert.
const WAYS: [(Version, Quality); 4] = [
    (Version::V5, Quality::AtLeastOnce),
    (Version::V5, Quality::ExactlyOnce),
    (Version::V3, Quality::AtLeastOnce),
    (Version::V3, Quality::ExactlyOnce),
];

/// The service's name at the broker.
const SERVICE: &str = "groupkey-service";

/// Far longer than an idle machine needs.
const PATIENCE: Duration = Duration::from_secs(60);
