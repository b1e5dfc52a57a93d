//! All members of a street start again at once, over real brokers.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use groupkey_mqtt::driver::{Quality, Running, run};
use groupkey_mqtt::event::MemberEvent;
use groupkey_mqtt::keyring::Secret;
use groupkey_mqtt::member::{MemberSettings, MembershipFile};
use groupkey_mqtt::store::MemoryStore;
use groupkey_mqtt::{Member, Policy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::live::brokers::{self, Access, Broker};
use crate::live::{Group, PATIENCE, name};

#[tokio::test(flavor = "multi_thread")]
async fn a_power_cut_changes_no_key() {
    for broker in brokers::all() {
        power_cut(&broker, 24).await;
    }
}

/// `cargo test -p groupkey-mqtt --test live four_hundred -- --ignored --nocapture` prints how long it takes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 400 members start again at once, as the lamps of a street do after a power cut"]
async fn four_hundred_members_start_again_at_once() {
    let broker = brokers::mosquitto().unwrap_or_else(|| brokers::all().remove(0));
    power_cut(&broker, 400).await;
}

async fn power_cut(broker: &Broker, members: u32) {
    let (access, folder) = (broker.access(), tempfile::tempdir().unwrap());
    let prefix = access.prefix("t/power");
    let mut policy = Group::policy("lkh-group", &[], &prefix, members as usize);
    name_all(&mut policy, members);
    let mut group =
        Group::new(policy, Box::new(MemoryStore::default()), access, Quality::AtLeastOnce);
    let numbers: Vec<_> = (0..members).collect();
    numbers.iter().for_each(|&number| begin(&mut group, number, folder.path()));
    let epoch = group.agree(&numbers).await;
    for (_, member) in &mut group.members {
        member.end.abort();
        let _ = (&mut member.end).await;
    }
    group.members.clear();
    let bare = bare_connections(&group.access, members).await;
    let started = Instant::now();
    numbers.iter().for_each(|&number| begin(&mut group, number, folder.path()));
    let (mut connected, mut back) = (JoinSet::new(), Vec::new());
    for (_, member) in &mut group.members {
        let mut status = member.handle.status();
        connected.spawn(async move {
            timeout(PATIENCE, status.wait_for(|status| status.connected)).await.unwrap().unwrap();
            started.elapsed()
        });
    }
    for (_, member) in &mut group.members {
        back.push(timeout(PATIENCE, has_key(member, started)).await.expect("it comes back"));
    }
    let connected = connected.join_all().await.into_iter().max().unwrap();
    let back = back.into_iter().max().unwrap();
    assert_eq!(group.agree(&numbers).await, epoch, "no key was changed");
    let by_broker = |time: Duration| {
        bare.map_or_else(|| "?".to_owned(), |bare| format!("{:.2}", time.div_duration_f64(bare)))
    };
    println!(
        "{members} members: the broker accepts bare connections in {bare:?}; connected after {connected:?} \
         ({} times that), all had the key after {back:?} ({} times)",
        by_broker(connected),
        by_broker(back),
    );
    assert_eq!(group.agree(&numbers).await, epoch);
    group.say(0, b"the light is on").await;
    group.hears(1, b"the light is on").await;
}

/// Waits until a member has a key, and returns when that was noticed.
async fn has_key(member: &mut Running<Member>, started: Instant) -> Duration {
    while let Some(event) = member.events.recv().await {
        if matches!(event, MemberEvent::Rekeyed(_)) {
            return started.elapsed();
        }
    }
    panic!("the member ended");
}

/// Returns the time in which a broker without TLS accepts so many connections, which do nothing more.
async fn bare_connections(access: &Access, count: u32) -> Option<Duration> {
    access.authority.is_none().then_some(())?;
    let started = Instant::now();
    let mut accepted = JoinSet::new();
    for number in 0..count {
        let port = access.port();
        accepted.spawn(async move {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
            let client = format!("bare-{number}");
            // MQTT 3.1.1, a clean session, a keep-alive of 60 s.
            let mut connect = vec![0x10, 12 + client.len() as u8, 0, 4];
            connect.extend_from_slice(b"MQTT\x04\x02\0\x3c\0");
            connect.push(client.len() as u8);
            connect.extend_from_slice(client.as_bytes());
            stream.write_all(&connect).await.unwrap();
            let mut accepted = [0; 4];
            stream.read_exact(&mut accepted).await.unwrap();
            assert_eq!(accepted, [0x20, 2, 0, 0]);
            stream
        });
    }
    let streams = accepted.join_all().await;
    let time = started.elapsed();
    drop(streams);
    Some(time)
}

fn begin(group: &mut Group, number: u32, folder: &Path) {
    let settings = MemberSettings {
        prefix: group.prefix.clone(),
        name: name(number),
        identity: identity(number),
        shared: None,
        service: Some(group.service_key),
        allowed: Default::default(),
        messages: Default::default(),
        freshness: Default::default(),
    };
    let memory = MembershipFile::at(folder.join(name(number)));
    let member = Member::new(settings).unwrap().remembering(Box::new(memory));
    let connection = group.access.connection(&group.prefix, &name(number), group.qos);
    group.members.push((number, run(member, connection)));
}

/// Lets these devices join by their identities.
fn name_all(policy: &mut Policy, members: u32) {
    policy.keys.clear();
    policy.identities.extend((0..members).map(|number| (name(number), identity(number).public())));
}

fn identity(number: u32) -> Secret {
    let mut bytes = [7; 32];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Secret::from_bytes(bytes)
}
